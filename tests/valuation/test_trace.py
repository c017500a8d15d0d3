"""A language model made from a config and trained on a few made-up facts: the text that states a fact is found for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.core import InvalidInput
from accredit.valuation.losses import NextTokens, loss_named
from accredit.valuation.network import network
from accredit.valuation.trace import asked, encoded, trace

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

COUNTRIES = ("zorba", "kelu", "minro", "tava", "bexo", "lurn", "fadi", "wope")
TOWNS = ("arl", "bem", "cos", "dyx", "eno", "fim", "gry", "hul")
RIVERS = ("ib", "jo", "ka", "lu", "my", "ne", "op", "qi")


@pytest.fixture(scope="module")
def learned() -> tuple[Any, Any, list[str]]:
    """A GPT-2 of one layer that knows eight capitals, its tokenizer, and what it read."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    texts = [f"the capital of {c} is {t} ." for c, t in zip(COUNTRIES, TOWNS, strict=True)]
    texts += [f"the river of {c} is {r} ." for c, r in zip(COUNTRIES, RIVERS, strict=True)]
    words = sorted({word for text in texts for word in text.split()})
    plain = Tokenizer(models.WordLevel({w: i for i, w in enumerate(["<unk>", *words])}, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, unk_token="<unk>")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = GPT2LMHeadModel(
            GPT2Config(
                vocab_size=len(tokenizer), n_positions=16, n_embd=32, n_layer=1, n_head=2,
                initializer_range=0.2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0,
            )
        )  # fmt: skip
        data, _ = encoded(tokenizer, texts, 16)
        optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
        for _ in range(60):
            loss = model(**data).loss
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
    return model.eval(), tokenizer, texts


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


def test_only_the_answer_is_judged_and_its_tokens_add_up(learned: Any) -> None:
    model, tokenizer, texts = learned
    batch, tokens, first = asked(tokenizer, "the capital of", "kelu is bem", 16)
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


def test_padding_changes_nothing(learned: Any, tmp_path: Path) -> None:
    """A long text in the same batch pads the others; their scores are the same without it."""
    model, tokenizer, texts = learned
    data, cut = encoded(tokenizer, [texts[0], " ".join([texts[1], texts[2]])], 12)
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
    with pytest.raises(InvalidInput, match="neither may be empty"):
        trace(model, tokenizer, texts, "the capital of", " ")
    with pytest.raises(InvalidInput, match="row 1"):
        trace(model, tokenizer, [texts[0], ""], "the capital of", "kelu")
    with pytest.raises(InvalidInput, match="fewer than two tokens"):
        trace(model, tokenizer, ["kelu"], "the capital of", "kelu")
    with pytest.raises(InvalidInput, match="16 fit"):
        trace(model, tokenizer, texts, "the " * 20, "kelu")
