"""The verb-number study: its data, its model, its correlations, in small."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("torch")
pytest.importorskip("ortools")

from accredit_papers import agreement, verb_number
from accredit_papers.report import Report
from accredit_papers.verb_number import Prefix
from tests.real_data import real_data
from tests.wording import refused

AS_OFTEN_RIGHT = "Linzen, natural mix: the model is right as often as the published one"
ROLLOUT_OVER_RAW = "In the last layer rollout tracks blank-out better than raw"
FLOW_OVER_ROLLOUT = "In the last layer flow tracks blank-out better than rollout"
BEYOND_MOST_VERBS = "news: the model does better than one that knows the number of most verbs and nothing else"

SENTENCES = [
    "the dog near the trees is old .",
    "the dogs near the tree are old .",
    "a key was lost .",
    "two keys were lost .",
    "this house has a roof .",
    "these houses have roofs .",
]


@pytest.fixture
def folder(tmp_path):
    def write(name, header, rows):
        with gzip.open(tmp_path / name, "wt", encoding="utf-8") as file:
            file.write("\n".join([header, *rows]) + "\n")

    write(
        "agreement_linzen_wiki.tsv.gz",
        "verb_index\tverb\twrong_verb\tn_attractors\ttext",
        [
            "5\tis\tare\t1\tthe dog near the trees is old .",
            "2\truns\trun\t0\tthe dog runs .",
            "2\trun\truns\t0\tthe dogs run .",
            "2\tpasses\tpass\t0\tthe dog passes .",
            "2\tlie\tlie\t0\tthe dogs lie .",
        ],
    )
    write(
        "blimp_subject_verb.tsv.gz",
        "paradigm\tpair_id\tgood\tbad",
        [
            "distractor\t0\tA sketch of those trucks hasn't aged.\tA sketch of those trucks haven't aged.",
            "regular_1\t0\tThe dogs miss it.\tThe dogs misses it.",
            "regular_2\t0\tThe goose is here.\tThe geese is here.",
        ],
    )
    write("imdb_400.tsv.gz", "split\ttext", [f"train\t{s}" for s in SENTENCES])
    write("ag_news_10k.tsv.gz", "split\ttext", ["train\tIs it? No verb here. Today we are glad! Now there are two keys."])
    write("yelp_reviews_10k.tsv.gz", "split\ttext", ["train\tThe dogs to have are small. The dogs to have are small."])
    write("mr_sentence_polarity.tsv.gz", "label\ttext", ["1\tfine ."])
    words = ["the", "dog", "dogs", "key", "keys"]
    (tmp_path / "glove6b_100d_top30k_vocab.txt").write_text("\n".join(words))
    np.savez(tmp_path / "glove6b_100d_top30k.npz", vectors=np.random.default_rng(0).normal(size=(5, 100)).astype(np.float16))
    return tmp_path


def test_number_is_read_off_the_verb(folder):
    found = verb_number.linzen(folder)
    assert [p.plural for p in found] == [0, 0, 1, 0]  # "lie" against "lie" tells nothing and is left out
    assert found[0] == Prefix(("the", "dog", "near", "the", "trees"), 0, 1)


def test_plain_text_gives_as_many_singular_as_plural_subjects_that_are_nouns(folder):
    found = verb_number.from_plain_text(folder, 100)
    assert [p.plural for p in found] == [0, 1] * 2  # singular: dog, key; plural: the first two of three
    assert found[0] == Prefix(("the", "dog", "near", "the", "trees"), 0)
    assert found[1] == Prefix(("the", "dogs", "to", "have"), 1)  # once, though written twice
    assert not {"we", "there"} & {p.words[-1] for p in found}
    assert len(verb_number.from_plain_text(folder, 2)) == 2


def test_minimal_pairs_end_before_the_verb_that_differs(folder):
    assert verb_number.minimal_pairs(folder) == [
        Prefix(("a", "sketch", "of", "those", "trucks"), 0),
        Prefix(("the", "dogs"), 1),
    ]


def test_missing_data_are_named(tmp_path):
    with refused("missing", "data", has="agreement_linzen_wiki.tsv.gz"):
        verb_number.linzen(tmp_path)


@pytest.mark.slow
def test_a_model_learns_saves_loads_and_is_compared(folder, tmp_path):
    training = [Prefix(("the", "dog"), 0), Prefix(("the", "dogs"), 1)] * 64
    model = verb_number.train(folder, training, epochs=6, seed=0)
    assert verb_number.answers(model, [*training[:2], Prefix(("the", "dogs"), 0)]).tolist() == [True, True, False]
    model.save(tmp_path / "kept")
    again = verb_number.VerbNumberModel.load(tmp_path / "kept")
    sentence = Prefix(("the", "old", "dog", "the", "dogs"), 0)
    kept = [agreement._correlations(m, sentence) for m in (model, again)]
    first, second = (found.readings for found in kept)
    assert first.shape == (3, 2, 6)
    assert np.abs(first).max() <= 1
    assert_allclose(first, second, atol=1e-6)
    assert_allclose(first[1, 0, 0], first[2, 0, 0])  # after one layer rollout and flow are the same numbers
    blanked = agreement._blank_out(model, sentence)
    assert_allclose(kept[0].position[0], agreement.spearman(np.arange(5.0), blanked))
    assert blanked.argmax() == 4  # the last noun tells the number


@pytest.fixture
def encoder(tmp_path):
    """A folder with a BERT of six layers and the pieces of its tokenizer."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    words = ["[PAD]", "[UNK]", "[CLS]", "the", "dog", "##s", "key"]
    pieces = Tokenizer(models.WordPiece({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=pieces, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]")
    config = BertConfig(
        vocab_size=7, hidden_size=16, num_hidden_layers=6, num_attention_heads=2, intermediate_size=32, pad_token_id=0
    )
    folder = tmp_path / "encoder"
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.slow
def test_training_may_start_from_a_pretrained_encoder(folder, encoder, capfd):
    from transformers import BertModel

    training = [Prefix(("the", "dog"), 0), Prefix(("the", "dogs"), 1)] * 8
    model = verb_number.train(folder, training, epochs=1, seed=0, start=encoder)
    assert capfd.readouterr().err == ""  # a new classifier is meant: no report of missing weights, no progress bar
    pieces = BertModel.from_pretrained(encoder).get_input_embeddings().weight.detach().numpy()
    table = model.network.get_input_embeddings().weight.detach().numpy()
    assert table.shape == (6, 16)  # three special tokens, and the, dog, dogs
    assert_allclose(table[model.vocabulary["dogs"]], pieces[4:6].mean(axis=0), rtol=1e-6)  # dog, ##s; not trained
    assert_allclose(table[:3], pieces[:3])
    assert agreement._correlations(model, Prefix(("the", "dog", "the", "dogs"), 0)).readings.shape == (3, 2, 6)


def test_a_start_of_another_shape_is_refused(folder, encoder):
    import json

    config = encoder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"num_hidden_layers": 4}))
    for place in (encoder, folder):
        with refused("unreadable", "start"):
            verb_number.train(folder, [Prefix(("the", "dog"), 0)], epochs=1, seed=0, start=place)


def test_the_natural_mix_weighs_attractors_as_in_print():
    assert_allclose(agreement.natural_mix([0.75, 0.0]), 0.75 * 0.947 / (0.947 + 0.043))
    assert agreement.natural_mix([1.0]) == 1
    prefixes = [Prefix(("a",), 0, k) for k in (0, 1, 3)]
    assert agreement._attractors(prefixes) == [0, 1]


def measured(right: float, rollout: float) -> agreement.ModelRun:
    """A model that is right this often, and whose rollout tracks blank-out so well; its other readings are at 0.1."""
    readings = np.full((5, 3, 2, 6), 0.1)
    readings[:, 1] = rollout
    share = {"Linzen, all": np.array([right]), "news": np.array([right])}
    return agreement.ModelRun("", 9, share, dict.fromkeys(share, 0.6), (right, 0.6), readings, np.zeros((5, 2)))


def judged(runs: list[agreement.ModelRun]) -> dict[str, str]:
    report = Report("agreement", "")
    agreement._task(report, runs)
    agreement._tables(report, runs)
    return {verdict.said.split(" (")[0]: str(verdict.found) for verdict in report.verdicts}


def test_statements_are_judged_from_model_to_model():
    several = judged([measured(0.90, 0.3), measured(0.92, 0.34), measured(0.91, 0.32)])
    assert several[AS_OFTEN_RIGHT] == "refuted"
    assert several[ROLLOUT_OVER_RAW] == "holds"
    assert several[FLOW_OVER_ROLLOUT] == "refuted"
    assert several[BEYOND_MOST_VERBS] == "holds"
    apart = judged([measured(0.90, 0.7), measured(0.99, -0.4), measured(0.97, 0.3)])
    assert apart[ROLLOUT_OVER_RAW] == "cannot tell"
    assert apart[AS_OFTEN_RIGHT] == "cannot tell"
    assert set(judged([measured(0.9, 0.9)]).values()) == {"cannot tell"}  # one model judges nothing


def test_a_model_that_was_kept_is_not_trained_again(folder, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(agreement, "SENTENCES_HELD_OUT", 2)
    monkeypatch.setattr(agreement, "WORDS_NEEDED", 1)
    first = agreement._run(folder, tmp_path / "kept", True, 3, None)
    monkeypatch.setattr(agreement, "train", None)
    again = agreement._run(folder, tmp_path / "kept", True, 3, None)
    assert_allclose(first.readings, again.readings, atol=1e-6)
    assert [p.name for p in (tmp_path / "kept").iterdir()] == ["seed-3"]
    assert capfd.readouterr().err == ""  # no bars of another library


def test_the_real_sentences_are_read():
    found = verb_number.linzen(real_data("agreement_linzen_wiki.tsv.gz").parent)
    assert len(found) > 7000
    assert 0.3 < np.mean([p.plural for p in found]) < 0.8
