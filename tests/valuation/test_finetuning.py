"""Fine-tuning on coalitions of sentences: tiny models of several architectures, and the real ones where they are there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.store import Journal, durable
from accredit.valuation import Recipe
from accredit.valuation.finetuning import FineTuned, fine_tuning
from accredit.values import Exact
from tests.wording import refused

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SENTENCES = ("a good film", "a bad film", "good good good", "bad bad plot")
LABELS = ("yes", "no", "yes", "no")
TESTS, TEST_LABELS = ("a good plot", "bad film", "good", "a bad bad plot"), ("yes", "no", "yes", "no")
WORDS = ("[UNK]", "[PAD]", "a", "good", "bad", "film", "plot")


def save(folder: Path, kind: str) -> Path:
    """A tiny model of one architecture with a tokenizer of seven words, as `save_pretrained` writes them."""
    import tokenizers

    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="[UNK]", pad_token="[PAD]", model_max_length=32
    )
    torch.manual_seed(0)
    small = {
        "vocab_size": len(WORDS),
        "hidden_size": 16,
        "intermediate_size": 24,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
    }
    if kind == "bert":
        model = transformers.BertModel(transformers.BertConfig(**small, max_position_embeddings=32))
    elif kind == "llama":
        config = transformers.LlamaConfig(**small, num_key_value_heads=1, max_position_embeddings=32, pad_token_id=1)
        model = transformers.LlamaForCausalLM(config)
    else:
        config = transformers.GPT2Config(
            vocab_size=len(WORDS),
            n_positions=32,
            n_embd=16,
            n_layer=3,
            n_head=2,
            bos_token_id=0,
            eos_token_id=0,
            pad_token_id=1,
        )
        model = transformers.GPT2LMHeadModel(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def game_of(folder: Any, **settings: Any) -> Any:
    return fine_tuning(folder, SENTENCES, LABELS, TESTS, TEST_LABELS, **settings)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bert", "llama", "gpt2"])
def test_is_fine_tuning_of_the_whole_model_with_the_lower_blocks_frozen(kind: str, tmp_path: Path) -> None:
    """Against the loop that everybody writes, with the whole model, for one coalition."""
    folder, recipe = save(tmp_path, kind), Recipe(4, 0.01, 0.01, None, "adamw")
    game = game_of(folder, blocks=1, recipe=recipe)
    coalition = np.array([True, True, True, False])
    body = transformers.AutoModel.from_pretrained(folder).eval().requires_grad_(False)
    last = {"bert": "encoder.layer.2.", "llama": "layers.2.", "gpt2": "h.2."}[kind]
    norm = {"bert": "none", "llama": "norm.", "gpt2": "ln_f."}[kind]
    for name, value in body.named_parameters():
        value.requires_grad_(name.startswith((last, norm)))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    head = torch.nn.Linear(16, 2)
    torch.nn.init.zeros_(head.weight)
    torch.nn.init.zeros_(head.bias)

    def answer(texts: Any) -> Any:
        tokens = tokenizer(list(texts), return_tensors="pt", padding=True)
        states = body(input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"]).last_hidden_state
        mask = tokens["attention_mask"][:, :, None]
        pooled = (states * mask).sum(dim=1) / mask.sum(dim=1)
        return head(torch.nn.functional.layer_norm(pooled, pooled.shape[1:]))

    classes = {"no": 0, "yes": 1}
    chosen = [i for i in range(4) if coalition[i]]
    labels = torch.tensor([classes[LABELS[i]] for i in chosen])
    trained = [p for p in (*body.parameters(), *head.parameters()) if p.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=0.01, weight_decay=0.01)
    for _ in range(4):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(answer([SENTENCES[i] for i in chosen]), labels).backward()
        optimiser.step()
    with torch.no_grad():
        wanted = -float(torch.nn.functional.cross_entropy(answer(TESTS), torch.tensor([classes[y] for y in TEST_LABELS])))
    assert float(game.payoff(coalition[None])[0]) == pytest.approx(wanted, abs=2e-4)


@pytest.mark.slow
def test_shapley_of_named_sentences_is_kept_in_a_journal(tmp_path: Path) -> None:
    folder = save(tmp_path / "model", "bert")
    with durable(game_of(folder), Journal(tmp_path / "run.db")) as kept:
        first = Exact().solve(kept)
        paid = kept.evaluated
    with durable(game_of(folder), Journal(tmp_path / "run.db")) as kept:
        again = Exact().solve(kept)
        assert kept.evaluated == 0 and kept.recalled == paid == 16
    assert first.players == SENTENCES
    assert_allclose(first.credit, again.credit)
    assert first.credit.sum() == pytest.approx(first.total)
    assert game_of(folder).payoff(np.zeros((1, 4), bool))[0] == pytest.approx(-np.log(2))


def test_other_weights_are_another_game(tmp_path: Path) -> None:
    from accredit.store.fingerprint import fingerprint_of

    folder = save(tmp_path, "bert")
    one, two = game_of(folder), game_of(folder, blocks=2)
    assert fingerprint_of(one) == fingerprint_of(game_of(folder)) != fingerprint_of(two)
    assert isinstance(one.build, FineTuned)


def test_bad_questions_are_refused(tmp_path: Path) -> None:
    folder = save(tmp_path, "bert")
    with refused("range", "blocks"):
        game_of(folder, blocks=3)
    with refused("too-many", "sentences"):
        fine_tuning(folder, ["good " * 40, "bad"], ["yes", "no"], TESTS, TEST_LABELS)
    with refused("duplicate", "names"):
        fine_tuning(folder, ["good", "good"], ["yes", "no"], TESTS, TEST_LABELS)
    with refused("type", "texts"):
        fine_tuning(folder, ["good", ""], ["yes", "no"], TESTS, TEST_LABELS)


@pytest.mark.slow
def test_the_command_shows_sentences_with_their_worth(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from accredit.cli import accredit

    folder = save(tmp_path / "model", "bert")
    for name, texts, labels in (("train", SENTENCES, LABELS), ("test", TESTS, TEST_LABELS)):
        lines = ["text,label", *(f"{text},{label}" for text, label in zip(texts, labels, strict=True))]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    asked = ["value", str(tmp_path / "train.csv"), "--text", "text", "--target", "label", "--test", str(tmp_path / "test.csv")]
    asked += ["--only", "values", "--method", "shapley", "--model", f"finetune:{folder}", "--html", str(tmp_path / "page.html")]
    said = CliRunner().invoke(accredit, asked)
    assert said.exit_code == 0, said.output
    page = (tmp_path / "page.html").read_text()
    assert all(text in page for text in SENTENCES)
    other = CliRunner().invoke(accredit, ["influence" if word == "shapley" else word for word in asked[:-2]])
    assert other.exit_code != 0 and "--method shapley" in str(other.exception)
