"""A language model made from a config and trained on a few made-up facts: the text that states a fact is found for it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.errors import InvalidInput
from accredit.influence.gradient_store import GradientStore
from accredit.influence.losses import NextTokens, loss_named
from accredit.influence.network import network
from accredit.influence.trace import WordsAlone, add_in_spreads, answer_places, encode_question, encode_texts, trace
from accredit.views.terminal.trace_text import trace_text
from tests.valuation.small_models import COUNTRIES, FACTS, RIVERS, TOWNS, language_model
from tests.wording import refused, says

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

QUESTION = "the capital of kelu is"


@pytest.fixture(scope="module")
def learned() -> tuple[Any, Any, list[str]]:
    """A GPT-2 of one layer that knows eight capitals, its tokenizer, and what it read."""
    return *language_model(), FACTS


@pytest.mark.slow
def test_the_text_that_states_a_fact_comes_first(learned: Any, tmp_path: Path) -> None:
    model, tokenizer, texts = learned
    for row in range(len(COUNTRIES)):
        found = trace(model, tokenizer, texts, f"the capital of {COUNTRIES[row]} is", TOWNS[row], folder=tmp_path)
        assert found.order[0] == row
        assert found.probability > 0.5 and found.tokens == (TOWNS[row],)
    other = trace(model, tokenizer, texts, f"the river of {COUNTRIES[0]} is", RIVERS[0], folder=tmp_path)
    assert other.order[0] == 8  # the same country, another fact
    assert other.attribution().total is None and not other.facts["saturated"]
    assert other.facts["texts cut"] == 0 and "transformer.ln_f.weight" in other.facts["left out"]


@pytest.mark.slow
def test_only_the_answer_is_judged_and_its_tokens_add_up(learned: Any) -> None:
    model, tokenizer, texts = learned
    batch, tokens, first = encode_question(tokenizer, "the capital of", "kelu is bem", 16)
    assert first
    assert tokens == ("kelu", "is", "bem")
    assert (batch["labels"] != -100).sum(dim=1).tolist() == [1, 1, 1]
    net = network(model, loss=loss_named(None, model), embeddings=True)
    assert net.loss == NextTokens()
    losses = np.concatenate([losses.numpy() for _, losses, _ in net.passes(batch)])
    ids = torch.tensor([tokenizer("the capital of kelu is bem")["input_ids"]])
    logs = torch.log_softmax(model(ids).logits[0], dim=1).detach()
    assert_allclose(losses, [-float(logs[place - 1, ids[0, place]]) for place in (3, 4, 5)], rtol=1e-4, atol=1e-5)
    found = trace(model, tokenizer, texts, "the capital of", "kelu is bem")
    assert_allclose(found.by_token.sum(axis=1), found.scores)
    assert_allclose(found.probability, np.exp(-losses.sum()), rtol=1e-4)


CHAT_TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }} says {{ m['content'] }} end {% endfor %}"
    "{% if add_generation_prompt %}assistant says {% endif %}"
)


def test_only_what_was_learned_is_judged(learned: Any) -> None:
    """Completions without their prompts, the assistant's words without the user's: worked out by hand."""
    from tools.trace_planted_facts import word_tokenizer

    tokenizer = word_tokenizer(["user assistant says end the capital of kelu is bem river ib"])
    tokenizer.chat_template = CHAT_TEMPLATE
    chat = [
        {"role": "user", "content": "the capital"},
        {"role": "assistant", "content": "bem"},
        {"role": "user", "content": "the river"},
        {"role": "assistant", "content": "ib"},
    ]
    data, _ = encode_texts(tokenizer, ["kelu is bem", ("the capital of kelu is", "bem ib"), chat], 64)
    judged = [tokenizer.decode([token for token in row.tolist() if token != -100]) for row in data["labels"]]
    assert judged == ["kelu is bem", "bem ib", "bem end ib end"]
    batch, pieces, first = encode_question(tokenizer, chat[:1], "bem", 64)
    assert pieces == ("bem",) and first
    assert tokenizer.decode(batch["input_ids"][0]) == "user says the capital end assistant says bem"
    with refused("unsupported", "train_texts"):
        encode_texts(learned[1], [chat], 64)
    with refused("type", "train_texts"):
        encode_texts(tokenizer, [("the", "capital", "of")], 64)
    with refused("range", "train_texts"):
        encode_texts(tokenizer, [("the capital of kelu is", "bem")], 5)


@pytest.mark.slow
def test_words_alone_stand_beside_the_gradients(learned: Any, tmp_path: Path) -> None:
    model, tokenizer, texts = learned
    found = trace(model, tokenizer, texts, QUESTION, "bem", folder=tmp_path)
    row = texts.index("the capital of kelu is bem .")
    assert found.order[0] == row and int(found.bm25.argmax()) == row and found.words_alone is WordsAlone.ENOUGH
    assert json.loads(found.to_json())["words_alone"] == "enough" and says(trace_text(found), "BM25 alone is enough")
    other = replace(found, scores=np.roll(found.scores, 1))
    assert other.words_alone is WordsAlone.DIFFERENT and f"row {row + 1} first" in trace_text(other)
    alone = tuple(text if k == row else text.replace("kelu", "dru") for k, text in enumerate(texts))
    telling = replace(other, texts=alone)
    assert telling.words_alone is WordsAlone.TELLING and says(trace_text(telling), "shares a rare word")
    silent = replace(found, prompt="Κανένας", answer="ποτέ")
    assert silent.words_alone is WordsAlone.SILENT and not silent.bm25.any()
    twins = replace(found, texts=(texts[row],) * len(texts))
    assert twins.words_alone is WordsAlone.NARROW


@pytest.mark.slow
def test_a_store_keeps_little_and_says_which_texts_it_knows_in_part(learned: Any, tmp_path: Path) -> None:
    model, tokenizer, texts = learned
    long = "the capital of kelu is bem . " * 100  # longer than is kept
    whole = trace(model, tokenizer, [*texts, long], QUESTION, "bem", folder=tmp_path)
    kept = trace(model, tokenizer, None, QUESTION, "bem", folder=tmp_path)
    assert whole.facts["texts known in part"] == 0 and kept.facts["texts known in part"] == 1
    assert any(says(warning, "BM25 reads 1 of 17 texts") for warning in kept.warnings)
    sizes = {file.name: file.stat().st_size for file in tmp_path.iterdir()}
    assert sum(sizes.values()) < 50_000 * 17
    matrices = sizes["moments.safetensors"]
    assert matrices < 1.05 * 4 * sum(width**2 + width for width in GradientStore(tmp_path).about["widths"].values()) + 10_000
    side = GradientStore(tmp_path).about["side"]
    exact = trace(model, tokenizer, [*texts, long], QUESTION, "bem", side=side)  # four bytes per number
    assert whole.order[0] == exact.order[0] and np.corrcoef(whole.scores, exact.scores)[0, 1] > 0.999


def test_padding_changes_nothing(learned: Any, tmp_path: Path) -> None:
    """A long text in the same batch pads the others; their scores are the same without it."""
    model, tokenizer, texts = learned
    data, cut = encode_texts(tokenizer, [texts[0], " ".join([texts[1], texts[2]])], 12)
    assert cut == 1 and data["input_ids"].shape == (2, 12)
    net = network(model, embeddings=True)
    (_, together, seen), (_, alone, single) = (
        next(net.passes({name: value[:rows] for name, value in data.items()})) for rows in (2, 1)
    )
    assert_allclose(together[:1].numpy(), alone.numpy(), rtol=1e-5)
    for name in single:
        if not name.startswith(("transformer.wte", "transformer.wpe", "lm_head")):
            a, b = seen[name].gradients()[0], single[name].gradients()[0]
            assert_allclose(a.numpy(), b.numpy(), atol=1e-5)


def test_what_cannot_be_asked_is_refused(learned: Any) -> None:
    model, tokenizer, texts = learned
    with refused("empty", "answer"):
        trace(model, tokenizer, texts, "the capital of", " ")
    with pytest.raises(InvalidInput, match="row 1"):
        trace(model, tokenizer, [texts[0], ""], "the capital of", "kelu")
    with refused("range", "train_texts"):
        trace(model, tokenizer, ["kelu"], "the capital of", "kelu")
    with pytest.raises(InvalidInput, match="the model reads 16"):
        trace(model, tokenizer, texts, "the " * 20, "kelu")
    with refused("unknown", "answer"):
        trace(model, tokenizer, texts, "the capital of", "zzz")


def test_an_unknown_word_inside_an_answer_takes_nothing_off_its_end(learned: Any) -> None:
    _, tokenizer, _ = learned
    whole, first, last = answer_places(tokenizer, "the capital of", "zzz is kelu")
    assert last == len(whole) and [tokenizer.decode([token]) for token in whole[first:last]] == ["<unk>", "is", "kelu"]


def test_a_filled_store_answers_without_the_texts_and_an_unfilled_one_says_what_is_missing(
    learned: Any, tmp_path: Path
) -> None:
    model, tokenizer, texts = learned
    first = trace(model, tokenizer, texts, "the capital of kelu is", "bem", folder=tmp_path)
    again = trace(model, tokenizer, None, "the capital of kelu is", "bem", folder=tmp_path)
    assert again.texts == first.texts and again.facts == first.facts
    assert_allclose(again.scores, first.scores)
    with refused("missing", "train_texts"):
        trace(model, tokenizer, None, "the capital of kelu is", "bem")
    (tmp_path / "texts.json").unlink()
    with refused("missing", "train_texts"):
        trace(model, tokenizer, None, "the capital of kelu is", "bem", folder=tmp_path)


def test_the_gradient_norm_is_that_of_the_mean_gradient_and_a_moving_model_is_flagged(learned: Any, tmp_path: Path) -> None:
    """A side as wide as the layer projects nothing away, so the stored norms are the true ones."""
    model, tokenizer, texts = learned
    data, _ = encode_texts(tokenizer, texts, 16)
    net = network(model, loss=NextTokens(), layers=["*.attn.c_proj"])
    found = GradientStore.build(tmp_path, net, data, side=64).stationarity()
    gradients = torch.cat([seen["transformer.h.0.attn.c_proj"].gradients() for _, _, seen in net.passes(data)])
    assert_allclose(found["gradient norm"], float(gradients.mean(dim=0).norm()), rtol=1e-4)
    assert_allclose(found["gradient norm of a row"], float(gradients.flatten(1).norm(dim=1).square().mean().sqrt()), rtol=1e-4)
    early = trace(*language_model(steps=3), texts, "the capital of kelu is", "bem")
    assert not early.facts["stationary"] and any(says(warning, "at a minimum") for warning in early.warnings)
    assert trace(model, tokenizer, texts, QUESTION, "bem").facts["stationary"]


def test_what_cannot_be_known_is_said(learned: Any) -> None:
    model, tokenizer, texts = learned
    alone = trace(model, tokenizer, texts, "", "kelu is bem")
    assert alone.tokens == ("is", "bem") and any("first token" in warning for warning in alone.warnings)
    unsaid = trace(model, tokenizer, texts, "the capital of kelu is", "the the the")
    assert any("hardly say this" in warning for warning in unsaid.warnings)
    kept = json.loads(alone.to_json())
    assert kept["kind"] == "trace" and kept["texts"][0]["row"] == alone.order[0] + 1
    assert kept["warnings"] == list(alone.warnings)


def test_a_store_that_would_not_fit_is_refused_before_anything_is_written(
    learned: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokenizer, texts = learned
    with pytest.raises(InvalidInput, match="raise memory"):
        trace(model, tokenizer, texts, "the capital of", "kelu", folder=tmp_path / "new", memory=1e4)
    usage = type("Usage", (), {"free": 100})
    monkeypatch.setattr("accredit.influence.gradient_store.shutil.disk_usage", lambda place: usage)
    with pytest.raises(InvalidInput, match="choose another folder"):
        trace(model, tokenizer, texts, "the capital of", "kelu", folder=tmp_path / "new")
    assert not (tmp_path / "new").exists()
    with refused("range", "side"):
        trace(model, tokenizer, texts, "the capital of", "kelu", side=0)


@pytest.mark.slow
def test_scores_at_the_model_before_are_added_in_spreads(learned: Any, tmp_path: Path) -> None:
    import transformers

    model, tokenizer, texts = learned
    torch.manual_seed(1)
    before = transformers.GPT2LMHeadModel(model.config).eval()
    how: Any = {"prompt": QUESTION, "answer": "bem", "side": 4}
    apart = [trace(one, tokenizer, texts, **how).by_token for one in (model, before)]
    both = trace(model, tokenizer, texts, **how, base=before, folder=tmp_path / "both")
    assert_allclose(both.by_token, add_in_spreads(apart), rtol=1e-6)
    again = trace(model, tokenizer, None, **how, base=before, folder=tmp_path / "both")
    assert_allclose(again.by_token, both.by_token, rtol=1e-12)
    trace(model, tokenizer, texts, **how, folder=tmp_path / "one")
    with refused("missing", "base"):
        trace(model, tokenizer, None, **how, base=before, folder=tmp_path / "one")
