"""Explainers of any model: Hugging Face encoders, networks of one's own, regression."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

from accredit.errors import InvalidInput
from accredit.learned import PixelGrid, Tabular, Training, Words, l2x, load, recipe
from accredit.learned.encoders import Encoder
from tests.wording import refused

pytestmark = pytest.mark.slow
transformers = pytest.importorskip("transformers")
QUICK = Training(epochs=4, batch=64, optimiser="adam", rate=3e-3)
RNG = np.random.default_rng(0)


def bert():
    return transformers.BertConfig(
        vocab_size=30,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=12,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )


def vit():
    return transformers.ViTConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        image_size=8,
        patch_size=4,
        num_channels=1,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )


def texts(rows=500):
    x = RNG.integers(3, 30, size=(rows, 8))
    x[np.arange(rows), RNG.integers(0, 8, size=rows)] = RNG.integers(1, 3, size=rows)  # one telling word: 1 or 2
    x[:, 6:] *= RNG.random((rows, 1)) < 0.7  # some texts are short
    x[~np.isin(x, (1, 2)).any(axis=1), 0] = 1
    return x


def telling(x):
    one = (x == 2).any(axis=1) * 0.9 + 0.05
    return np.column_stack([1 - one, one])


def test_a_bert_selector_finds_the_telling_word_and_is_read_again(tmp_path):
    x = texts(500)
    explainer = l2x(Words(8, 30), 2, 1, encoder=bert(), training=Training(epochs=8, batch=32, optimiser="adam", rate=3e-3))
    explainer.fit(x, telling, seed=0)
    shown = np.isin(x[explainer.select(x)], (1, 2))
    assert shown.mean() > 0.8
    explainer.save(tmp_path / "bert")
    again = load(tmp_path / "bert")
    np.testing.assert_array_equal(again.select(x), explainer.select(x))
    assert again.settings()["encoder"]["model_type"] == "bert"


@pytest.mark.parametrize(
    ("inputs", "config"), [(Words(8, 30), bert), (PixelGrid((1, 8, 8), block=4), vit)], ids=["bert", "vit"]
)
def test_masking_inside_is_replacing_outside(inputs, config):
    torch.manual_seed(0)
    _, reader = Encoder.of(config()).networks(inputs, 3, False)
    x = texts(20) if isinstance(inputs, Words) else RNG.normal(size=(20, 1, 8, 8)).astype(np.float32)
    mask = (RNG.random((20, inputs.n)) < 0.5).astype(np.float32)
    mask[0] = 0  # nothing is shown
    with torch.no_grad():
        inside = reader.eval()(torch.from_numpy(x), torch.from_numpy(mask))
        outside = reader(torch.from_numpy(np.asarray(inputs.keep(x, mask), dtype=x.dtype)))
    torch.testing.assert_close(inside, outside, atol=1e-5, rtol=1e-4)


def test_a_vision_transformer_reads_patches_and_is_read_again(tmp_path):
    x = RNG.normal(size=(200, 1, 8, 8)).astype(np.float32)

    def bright(pictures):
        one = 1 / (1 + np.exp(-8 * pictures[:, 0, 4:, :4].mean(axis=(1, 2))))  # patch 2
        return np.column_stack([1 - one, one])

    explainer = l2x(PixelGrid((1, 8, 8), block=4), 2, 1, encoder=transformers.ViTModel(vit()), training=QUICK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # so few rows teach it little, and it says so
        explainer.fit(x, bright, seed=0)
    assert (explainer.select(x).sum(axis=1) == 1).all()
    explainer.save(tmp_path / "vit")
    np.testing.assert_allclose(load(tmp_path / "vit").scores(x), explainer.scores(x), atol=1e-5)


def test_a_given_model_lends_its_weights():
    head = transformers.BertForSequenceClassification(bert())
    selector, _ = Encoder.of(head).networks(Words(8, 30), 2, True)
    torch.testing.assert_close(selector.body.embeddings.word_embeddings.weight, head.bert.embeddings.word_embeddings.weight)
    assert selector(torch.from_numpy(texts(4)), torch.ones(4, 2) / 2).shape == (4, 8)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: Encoder.of(7), "give a Hugging Face model or configuration"),
        (lambda: Encoder.of({"model_type": "nonsense"}).body(), "makes no encoder"),
        (lambda: Encoder.of(bert()).networks(Words(40, 30), 2, False), "reads 12 words of 30"),
        (lambda: Encoder.of(vit()).networks(Words(8, 30), 2, False), "does not read words"),
        (lambda: Encoder.of(vit()).networks(PixelGrid((1, 8, 8), block=2), 2, False), "block=4"),
        (lambda: Encoder.of(vit()).networks(Tabular(4), 2, False), "read Words or PixelGrid"),
        (lambda: l2x(Tabular(4), 2, 1, encoder=bert(), networks=lambda: None), "leave one of them out"),
        (lambda: Training(device="cuda:99"), "device is 'cuda:99'"),
        (lambda: Training(device="teapot"), "device is 'teapot'"),
    ],
)
def test_what_does_not_fit_is_refused(made, said):
    with pytest.raises(InvalidInput, match=said):
        made()


class Choosing(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.line = torch.nn.Linear(n, n)

    def forward(self, x, answer=None):
        return self.line(x)


class Reading(torch.nn.Module):
    def __init__(self, n, classes):
        super().__init__()
        self.line = torch.nn.Linear(n, classes)

    def forward(self, x, mask=None):
        return self.line(x if mask is None else x * mask)


TABLE = RNG.normal(size=(800, 5)).astype(np.float32)


def one_column(x):
    one = 1 / (1 + np.exp(-4 * x[:, 3]))
    return np.column_stack([1 - one, one])


def test_networks_of_ones_own_are_trained_saved_and_asked_for(tmp_path):
    made = lambda: (Choosing(5), Reading(5, 2))  # noqa: E731
    explainer = l2x(Tabular(5), 2, 1, networks=made, training=replace(QUICK, rate=3e-2, epochs=10)).fit(TABLE, one_column)
    assert explainer.select(TABLE)[:, 3].mean() > 0.9
    explainer.save(tmp_path / "own")
    with pytest.raises(InvalidInput, match="networks=the_function_that_makes_them"):
        load(tmp_path / "own")
    np.testing.assert_array_equal(load(tmp_path / "own", networks=made).select(TABLE), explainer.select(TABLE))
    with refused("shape", "networks"):
        l2x(Tabular(5), 2, 1, networks=lambda: (Choosing(5), Reading(5, 3)), training=QUICK).fit(TABLE, one_column)


@pytest.mark.parametrize("name", ["l2x", "invase", "realx", "l2x+answer+pretraining", "l2x+weighting"])
def test_a_regression_is_explained_in_its_own_units(name, tmp_path):
    def price(x):
        return 500.0 + 80.0 * x[:, 1] - 60.0 * x[:, 4]

    explainer = recipe(name, Tabular(5), 1, 2, training=Training(epochs=12, batch=64, optimiser="adam", rate=3e-3))
    explainer.fit(TABLE, price, seed=0)
    assert explainer.select(TABLE)[:, [1, 4]].mean() > 0.9
    missed = explainer.predict(TABLE)[:, 0] - price(TABLE)
    assert missed.std() < 0.4 * price(TABLE).std()
    explainer.save(tmp_path / "price")
    again = load(tmp_path / "price", price)
    np.testing.assert_allclose(again.predict(TABLE), explainer.predict(TABLE))


@pytest.mark.parametrize(
    ("black_box", "said"),
    [
        (lambda x: np.ones(len(x)), "says the same number"),
        (lambda x: np.column_stack([x[:, 0], x[:, 1]]), "one finite number for each"),
        (lambda x: np.full(len(x), np.nan), "one finite number for each"),
    ],
)
def test_a_regression_that_says_nothing_is_refused(black_box, said):
    with pytest.raises(InvalidInput, match=said):
        l2x(Tabular(5), 1, 2).fit(TABLE, black_box)
    with pytest.raises(InvalidInput, match="leave target out"):
        recipe("vibi", Tabular(5), 1, 2)
