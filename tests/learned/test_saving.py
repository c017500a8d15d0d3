"""Explainers in files: they come back the same, and what is not one is refused before memory is taken."""

import json

import numpy as np
import pytest
import safetensors.numpy
import torch

from accredit.errors import AccreditError, InvalidInput
from accredit.learned import CXPlain, PixelGrid, Tabular, Training, Words, load, recipe
from accredit.learned.recipes import RECIPES
from accredit.learned.saving import load_trained
from tests.wording import refused

ONCE = Training(epochs=1, batch=16, optimiser="adam")


def box(x):
    one = np.clip(1 / (1 + np.exp(-x.reshape(len(x), -1)[:, 0].astype(float) + np.median(x))), 0.01, 0.99)
    return np.column_stack([1 - one, one])


def fitted(name="l2x", inputs=Tabular(4), **settings):
    rng = np.random.default_rng(0)
    if isinstance(inputs, Words):
        x = rng.integers(0, inputs.vocabulary, (40, *inputs.shape))
    else:
        x = rng.normal(size=(40, *inputs.shape)).astype(np.float32)
    return recipe(name, inputs, 2, 2, selector_width=4, surrogate_width=4, training=ONCE, **settings).fit(x, box, seed=2), x


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("inputs", [Tabular(4, (0.0, 1.0, 2.0, 3.0)), Words(6, 20), PixelGrid((4, 4), 2)], ids=repr)
def test_an_explainer_comes_back_the_same(name, inputs, tmp_path):
    explainer, x = fitted(name, inputs)
    explainer.save(tmp_path / "deep" / "folder")
    again = load(tmp_path / "deep" / "folder", box)
    np.testing.assert_array_equal(again.scores(x), explainer.scores(x))
    np.testing.assert_array_equal(again.predict(x), explainer.predict(x))
    assert again.history == explainer.history and again.seed == 2
    assert again.settings() == explainer.settings()
    assert again.explain(x[1]) == explainer.explain(x[1])
    assert sorted(p.name for p in (tmp_path / "deep" / "folder").iterdir()) == [
        "explainer.json",
        "explainer.safetensors",
    ]
    again.fit(x, box, seed=2)  # trainable as before
    np.testing.assert_array_equal(again.scores(x), explainer.scores(x))


@pytest.mark.parametrize("rows", [1, 2, 3, 40])
def test_scores_do_not_depend_on_where_the_rows_lie(rows):
    """A view may begin at any address, and kernels answer unaligned numbers with other last digits."""
    x = np.random.default_rng(1).normal(size=(40, 5)).astype(np.float32)
    trained = recipe("l2x", Tabular(5), 2, 2, training=ONCE).fit(x, box, seed=2)
    causal = CXPlain(Tabular(5), 2, models=1, epochs=1).fit(x, box, box(x).argmax(axis=1))
    moved = np.empty(x.size + 1, dtype=np.float32)[1:].reshape(x.shape)
    moved[...] = x
    for explainer in (trained, causal):
        np.testing.assert_array_equal(explainer.scores(moved[:rows]), explainer.scores(x[:rows]))


def test_one_call_loads_every_kind(tmp_path):
    x = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    explainer = CXPlain(Tabular(4), 2, models=1, epochs=1).fit(x, box, box(x).argmax(axis=1))
    explainer.save(tmp_path)
    np.testing.assert_array_equal(load(tmp_path).scores(x), explainer.scores(x))
    with pytest.raises(InvalidInput, match="cxplain"):
        load_trained(tmp_path)


def test_a_query_needs_its_black_box(tmp_path):
    explainer, x = fitted("l2x+answer")
    explainer.save(tmp_path)
    with refused("missing", "black_box"):
        load(tmp_path).scores(x)


def test_an_untrained_explainer_is_not_saved(tmp_path):
    with pytest.raises(InvalidInput, match="not trained"):
        recipe("l2x", Tabular(3), 2, 1).save(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def edited(folder, change):
    place = folder / "explainer.json"
    about = json.loads(place.read_text())
    change(about)
    place.write_text(json.dumps(about))


def put(about, *path, value):
    for part in path[:-1]:
        about = about[part]
    about[path[-1]] = value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (("format",), 99, "format"),
        (("kind",), "pickle", "holds a 'pickle'"),
        (("sha256",), "0" * 64, "describes"),
        (("settings", "inputs", "n"), 5, "shape"),
        (("settings", "inputs", "n"), 10**30, "n must be"),
        (("settings", "inputs", "n"), 1 << 24, "shape"),  # a selector of gigabytes: refused without being made
        (("settings", "selector_width"), 1 << 14, "shape"),
        (("settings", "surrogate_width"), 10**9, "width"),
        (("settings", "inputs", "kind"), "words", "damaged"),
        (("settings", "law", "k"), "many", "k must be"),
        (("settings", "k"), 9, "k must be"),
        (("settings", "classes"), 3, "shape"),
        (("settings", "training", "epochs"), 0, "epochs"),
        (("settings", "schedule"), {"kind": "os.system"}, "unknown"),
        (("settings", "colour"), "red", "damaged"),
        (("settings",), None, "damaged"),
        (("history",), {}, "damaged"),
        (("seed",), "abc", "seed must be"),
        (("settings",), "abc", "damaged"),
        (("settings", "inputs"), "abc", "unknown"),
        (("settings", "inputs", "replace"), "abc", "replace must be"),
        (("settings", "classes"), None, "classes must be"),
        (("settings", "law"), "abc", "unknown"),
        (("settings", "schedule"), "abc", "unknown"),
        (("settings", "selector_width"), True, "width must be"),
        (("settings", "surrogate_width"), 1.5, "width must be"),
    ],
)
def test_damaged_settings_are_refused(tmp_path, path, value, says):
    fitted()[0].save(tmp_path)
    edited(tmp_path, lambda about: put(about, *path, value=value))
    with pytest.raises(InvalidInput, match=says):
        load(tmp_path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda state: state | {"selector.extra": np.zeros(3, np.float32)}, "unknown: selector.extra"),
        (lambda state: {k: v for k, v in state.items() if "logit" not in k and "layers.0.weight" not in k}, "missing"),
        (lambda state: state | {"selector.layers.0.bias": np.zeros(99, np.float32)}, "shape"),
        (lambda state: state | {"selector.layers.0.bias": np.zeros(4, np.float64)}, "F64"),
        (lambda state: state | {"selector.layers.0.bias": np.full(4, np.nan, np.float32)}, "NaN"),
    ],
)
def test_weights_of_another_shape_are_refused(tmp_path, change, says):
    import hashlib

    fitted()[0].save(tmp_path)
    place = tmp_path / "explainer.safetensors"
    content = safetensors.numpy.save(change(safetensors.numpy.load(place.read_bytes())))
    place.write_bytes(content)
    edited(tmp_path, lambda about: put(about, "sha256", value=hashlib.sha256(content).hexdigest()))
    with pytest.raises(InvalidInput, match=says):
        load(tmp_path)


def test_what_is_no_explainer_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="no saved explainer"):
        load(tmp_path / "nowhere")
    fitted()[0].save(tmp_path)
    (tmp_path / "explainer.safetensors").write_bytes(b"rubbish")
    with pytest.raises(InvalidInput, match="describes"):
        load(tmp_path)
    (tmp_path / "explainer.json").write_text("{")
    with pytest.raises(InvalidInput, match="no saved explainer"):
        load(tmp_path)


def test_a_place_that_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises((AccreditError, OSError)):
        fitted()[0].save(tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "a file" and len(list(tmp_path.iterdir())) == 1


def test_loading_leaves_the_random_state_alone(tmp_path):
    fitted()[0].save(tmp_path)
    before = torch.random.get_rng_state()
    load(tmp_path)
    assert torch.equal(before, torch.random.get_rng_state())
