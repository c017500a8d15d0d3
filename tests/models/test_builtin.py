"""The built-in models load as any user's would, fit in the package, and are as accurate as their cards say."""

from __future__ import annotations

import gzip
import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from accredit.core import NoteKind  # noqa: E402
from accredit.models.builtin import load_text, load_vision, text_folder, vision_folder  # noqa: E402
from tests.real_data import FOLDER, real_data  # noqa: E402

FILM = "A gripping film that never lands."

SAFE = {".json", ".safetensors", ".md"}


@pytest.fixture(scope="module")
def text() -> tuple[Any, Any]:
    return load_text()


@pytest.fixture(scope="module")
def vision() -> tuple[Any, Any]:
    return load_vision()


@torch.no_grad()
def predictions(model: Any, tokenizer: Any, texts: list[str]) -> list[str]:
    """The label of each text, in order."""
    found = []
    for start in range(0, len(texts), 64):
        batch = tokenizer(texts[start : start + 64], padding=True, truncation=True, return_tensors="pt")
        found += [model.config.id2label[i] for i in model(**batch).logits.argmax(1).tolist()]
    return found


def figure_on_card(folder: Path, name: str) -> float:
    """The accuracy that a model card states in the row that begins with `name`."""
    match = re.search(rf"^\| {re.escape(name)}.*\| ([\d.]+) % \|$", (folder / "README.md").read_text(), re.MULTILINE)
    assert match, f"no row {name!r} on the card"
    return float(match[1]) / 100


@pytest.mark.parametrize(
    ("folder", "limit"), [(text_folder(), 5_000_000), (vision_folder(), 1_500_000)], ids=["text", "vision"]
)
def test_folders_are_small_and_hold_nothing_that_could_run(folder: Path, limit: int) -> None:
    files = list(folder.iterdir())
    assert {file.suffix for file in files} <= SAFE
    assert sum(file.stat().st_size for file in files) <= limit
    assert not any("auto_map" in file.read_text() for file in files if file.suffix == ".json")


def test_text_model_loads_through_the_auto_classes(text: tuple[Any, Any]) -> None:
    model, tokenizer = text
    plain = transformers.AutoModelForSequenceClassification.from_pretrained(text_folder(), local_files_only=True)
    plain_tokenizer = transformers.AutoTokenizer.from_pretrained(text_folder(), local_files_only=True)
    inputs = tokenizer("A gripping film that never lands.", return_tensors="pt")
    assert type(model).__name__ == "BertForSequenceClassification"
    assert plain_tokenizer(FILM)["input_ids"] == inputs["input_ids"][0].tolist()
    assert not model.training
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    assert model.config.id2label == {0: "NEGATIVE", 1: "POSITIVE"}
    torch.testing.assert_close(model(**inputs).logits, plain.eval()(**inputs).logits)


def test_vision_model_loads_through_the_auto_classes(vision: tuple[Any, Any]) -> None:
    model, _ = vision
    plain = transformers.AutoModelForImageClassification.from_pretrained(vision_folder(), local_files_only=True)
    pixels = torch.linspace(-1, 1, 28 * 28).reshape(1, 1, 28, 28)
    assert type(model).__name__ == "ViTForImageClassification"
    assert not model.training
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    assert len(set(model.config.id2label.values())) == 10
    torch.testing.assert_close(model(pixels).logits, plain.eval()(pixels).logits)


def test_tokenizer_has_the_special_tokens_that_removal_needs(text: tuple[Any, Any]) -> None:
    model, tokenizer = text
    names = [tokenizer.cls_token, tokenizer.sep_token, tokenizer.pad_token, tokenizer.mask_token, tokenizer.unk_token]
    assert names == ["[CLS]", "[SEP]", "[PAD]", "[MASK]", "[UNK]"]
    assert tokenizer.model_max_length == model.config.max_position_embeddings
    assert len(tokenizer) == model.config.vocab_size
    assert len(tokenizer("word " * 500, truncation=True)["input_ids"]) == tokenizer.model_max_length


@pytest.mark.parametrize(
    ("ordinary", "treebank"),
    [
        ("It's good, isn't it?", "it 's good , is n't it ?"),
        ("I can’t; we’ll see", "i ca n't ; we 'll see"),
        ("Amélie", "amelie"),
        ("“Fine”", '" fine "'),
    ],
)
def test_ordinary_spelling_and_treebank_spelling_give_the_same_tokens(
    text: tuple[Any, Any], ordinary: str, treebank: str
) -> None:
    _, tokenizer = text
    assert tokenizer(ordinary)["input_ids"] == tokenizer(treebank)["input_ids"]
    assert tokenizer.unk_token_id not in tokenizer(ordinary)["input_ids"]


def test_every_token_points_at_its_characters(text: tuple[Any, Any]) -> None:
    _, tokenizer = text
    sentence = "It's Amélie’s best — isn't it?"
    encoded = tokenizer(sentence, return_offsets_mapping=True, add_special_tokens=False)
    covered = "".join(sentence[start:end] for start, end in encoded["offset_mapping"])
    assert covered == sentence.replace(" ", "")


POSITIVE = (
    "I loved it.",
    "A moving, beautifully acted film.",
    "One of the best films of the year!",
    "Great food and friendly staff.",
)
NEGATIVE = (
    "I hated it.",
    "boring and far too long",
    "not good",
    "The worst movie I have ever seen.",
    "I don't like this film.",
)


def test_plain_opinions_are_read_right(text: tuple[Any, Any]) -> None:
    assert predictions(*text, list(POSITIVE)) == ["POSITIVE"] * len(POSITIVE)
    assert predictions(*text, list(NEGATIVE)) == ["NEGATIVE"] * len(NEGATIVE)


def test_a_text_with_every_token_masked_is_undecided(text: tuple[Any, Any]) -> None:
    # A trained answer to an empty coalition is near the base rate: neither class may claim nine in ten.
    model, tokenizer = text
    for length in (3, 12, 40):
        inputs = tokenizer(" ".join(["[MASK]"] * length), return_tensors="pt")
        assert (inputs["input_ids"] == tokenizer.mask_token_id).sum() == length
        assert model(**inputs).logits.softmax(1).max() < 0.9


def test_padding_changes_nothing(text: tuple[Any, Any]) -> None:
    model, tokenizer = text
    alone = model(**tokenizer("a fine film", return_tensors="pt")).logits[0]
    batch = tokenizer(["a fine film", "a film " * 30], padding=True, return_tensors="pt")
    torch.testing.assert_close(model(**batch).logits[0], alone, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_sst2_dev_accuracy_is_as_promised_and_as_on_the_card(text: tuple[Any, Any]) -> None:
    with gzip.open(real_data("sst2.tsv.gz"), "rt", encoding="utf-8") as lines:
        table = [line.rstrip("\n").split("\t") for line in lines]
    dev = [(sentence, label) for split, label, sentence in table if split == "dev"]
    assert len(dev) == 872
    found = predictions(*text, [sentence for sentence, _ in dev])
    right = np.mean([("NEGATIVE", "POSITIVE")[int(label)] == guess for (_, label), guess in zip(dev, found, strict=True)])
    assert right >= 0.82
    assert right == pytest.approx(figure_on_card(text_folder(), "SST-2 dev"), abs=0.003)  # two ties of 872 may tip


@pytest.mark.slow
def test_fashion_mnist_accuracy_is_as_promised_and_as_on_the_card(vision: tuple[Any, Any]) -> None:
    model, processor = vision
    with np.load(real_data("fashion_mnist.npz"), allow_pickle=False) as arrays:
        images, labels = arrays["x_test"], arrays["y_test"]
    prepared = processor(list(images[..., None]), input_data_format="channels_last", return_tensors="pt")["pixel_values"]
    with torch.no_grad():
        found = torch.cat([model(part).logits.argmax(1) for part in prepared.split(500)]).numpy()
    right = np.mean(found == labels)
    assert len(labels) == 10_000
    assert right >= 0.88
    assert right == pytest.approx(figure_on_card(vision_folder(), "Fashion-MNIST test"), abs=0.001)


@pytest.mark.slow
def test_training_texts_hold_no_sentence_that_is_measured_on() -> None:
    for name in ("sst2.tsv.gz", "mr_sentence_polarity.tsv.gz", "yelp_sentences.tsv.gz", "imdb_400.tsv.gz"):
        real_data(name)
    source = Path(__file__).parents[2] / "tools" / "sentiment_texts.py"
    spec = importlib.util.spec_from_file_location("sentiment_texts", source)
    assert spec and spec.loader
    texts = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = texts  # dataclasses look their module up by name
    spec.loader.exec_module(texts)
    found = texts.collect(FOLDER, phrases=70_000, yelp=0, imdb=0, passages=0, seed=0)
    measured = {texts.letters(example.text) for example in found.dev + found.test + found.heldout}
    everything = [texts.letters(row["text"]) for row in texts.rows(FOLDER / "mr_sentence_polarity.tsv.gz")]
    assert len(measured.intersection(everything)) > 2_000  # MR holds most of SST-2, so there is something to remove
    assert measured.isdisjoint(texts.letters(example.text) for example in found.train)
    assert {example.source for example in found.train} == {"sst2", "mr"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("这部电影很好。", list("这部电影很好。")),
        ("この映画は、長い", ["この映画は、長い"[k] for k in range(8)]),
        ("film很好!", ["film", "很", "好", "!"]),
        ("don't say it's T³", ["don't", "say", "it's", "T³"]),
    ],
)
def test_a_clause_without_spaces_is_not_one_word(text, words):
    """A token is the least that can play, so the tokenizer itself must part what is written without spaces."""
    from accredit.explanation.loading import builtin_model, subject_of

    players = subject_of(builtin_model("text"), text).players
    assert [re.sub(r" \(\d+\)$", "", player) for player in players] == words


def test_a_text_that_the_model_does_not_know_says_so():
    from accredit import explain

    (note,) = explain("这部电影很好", methods="loo").notes
    assert note.kind is NoteKind.NOTHING_KNOWN
    assert explain("A good film.", methods="loo").notes == ()
