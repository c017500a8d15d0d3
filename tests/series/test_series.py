"""Series: credit against brute force over all coalitions, trained networks with a planted signal, and what is refused."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import accredit
from accredit import Explainer, explain, explain_series
from accredit.explanation import kind_of
from accredit.series import SeriesExplanation
from accredit.series.players import change_points
from accredit.values.semivalues import shapley_from_table
from tests.wording import refused

RNG = np.random.default_rng(0)
SERIES, TRAIN = RNG.normal(size=(3, 12, 2)), RNG.normal(size=(7, 12, 2))


def model(x):
    """Two outputs that need steps and channels together."""
    return np.stack([x[:, 2, 0] * x[:, 9, 1] + x[:, :4].sum(axis=(1, 2)), np.sin(x[:, :, 1]).sum(axis=1)], axis=1)


def brute_force(one, background, owner, players):
    """All coalitions, each asked of the model itself: (players, outputs)."""
    v = []
    for plays in product([False, True], repeat=players):
        kept = np.array(plays[::-1])[owner]  # the first player is the lowest bit
        v.append(model(np.where(kept, one, background)).mean(axis=0))
    return np.stack([shapley_from_table(np.array(v)[:, k].copy()) for k in range(2)], axis=1)


@pytest.mark.parametrize(
    ("players", "count"),
    [
        ("segments:4", 4),
        ("windows:5", 3),
        ("channels", 2),
        ("segments:3 x channels", 6),
        ("change-points:4", 4),
        ({"early": range(6), "late": range(6, 12)}, 2),
        (np.arange(12) % 3, 3),
        (np.arange(24).reshape(12, 2) // 8, 3),
    ],
    ids=str,
)
def test_equals_brute_force(players, count):
    found = explain_series(SERIES, model, TRAIN, players=players)
    assert len(found.players) == count
    assert found.credit.shape == (3, count, 2)
    for r in range(3):
        assert_allclose(found.credit[r], brute_force(SERIES[r], TRAIN, found.owner[r], count), atol=1e-10)
    assert_allclose(found.unshared, 0, atol=1e-10)


@pytest.mark.parametrize(("players", "count"), [("steps", 12), ("cells", 24), (None, 10)])
def test_who_plays(players, count):
    found = explain_series(SERIES[:1], model, "zeros", players=players, budget=200)
    assert len(found.players) == count
    assert set(np.unique(found.owner)) == set(range(count))
    assert_allclose(found.unshared, 0, atol=1e-9)


def test_channels_first_is_the_same_question():
    swapped = explain_series(
        SERIES.swapaxes(1, 2),
        lambda x: model(x.swapaxes(1, 2)),
        TRAIN.swapaxes(1, 2),
        players="segments:3",
        channels_first=True,
    )
    assert_allclose(swapped.credit, explain_series(SERIES, model, TRAIN, players="segments:3").credit, atol=1e-12)


def test_a_background_is_series_one_series_or_zeros():
    one = TRAIN.mean(axis=0)
    assert_array_equal(
        explain_series(SERIES, model, one, players="segments:3").credit,
        explain_series(SERIES, model, one[None], players="segments:3").credit,
    )
    assert_array_equal(
        explain_series(SERIES, model, "zeros", players="segments:3").credit,
        explain_series(SERIES, model, 0 * one, players="segments:3").credit,
    )
    some = explain_series(SERIES, model, TRAIN, players="channels", most_background=3, seed=1)
    assert "3 of 7 background series were drawn" in some.notes[0].text
    assert "3 background series" in some.removal


def test_frames_lists_and_tensors_are_read_alike():
    torch = pytest.importorskip("torch")
    index = pd.MultiIndex.from_product([["a", "b", "c"], pd.date_range("2024-01-01", periods=12)], names=["series", "day"])
    frame = pd.DataFrame(SERIES.reshape(-1, 2), index=index, columns=["rain", "wind"])
    whole = explain_series(SERIES, model, TRAIN, players="channels")
    for given in (frame, list(SERIES), SERIES.tolist(), torch.tensor(SERIES)):
        assert_array_equal(explain_series(given, model, TRAIN, players="channels").credit, whole.credit)
    named = explain_series(frame, model, TRAIN, players="channels")
    assert named.players == ("rain", "wind")
    assert named.table.rows == ("a", "b", "c")


def test_the_kind_of_question_follows_from_background_and_axes():
    assert kind_of(SERIES, model, {"background": TRAIN}) == "series"
    assert kind_of(list(SERIES), model, {"background": TRAIN}) == "series"
    assert kind_of(SERIES[0], model, {"background": TRAIN[0]}) == "rows"
    assert kind_of(SERIES, model, {"channels_first": True}) == "series"
    assert kind_of(SERIES, model, {}) == "picture"
    assert kind_of(SERIES[0], model, {"background": TRAIN}) == "series"
    assert kind_of(SERIES[0], model, {"background": "zeros"}) == "series"
    assert kind_of(frame_of([("a", 0), ("a", 1)]), model, {"background": np.zeros((3, 2, 1))}) == "series"
    explainer = Explainer(model, background=TRAIN, players="channels")
    assert_array_equal(explainer(SERIES[1]).credit, explainer(SERIES).credit[1:2])
    assert_array_equal(explainer(SERIES).credit, explain(SERIES, model, background=TRAIN, players="channels").credit)


def test_change_points_are_the_best_cuts():
    """Against all cuts of a short series."""
    from itertools import combinations

    values = RNG.normal(size=(9, 2)).cumsum(axis=0)
    scaled = (values - values.mean(axis=0)) / values.std(axis=0)

    def cost(label):
        return sum(((scaled[label == k] - scaled[label == k].mean(axis=0)) ** 2).sum() for k in np.unique(label))

    every = [np.searchsorted(np.array(cuts), np.arange(9), side="right") for cuts in combinations(range(1, 9), 3)]
    assert cost(change_points(values, 4)) == pytest.approx(min(map(cost, every)))


# Networks that were trained on a planted signal


def train(net, x, y, steps, rng):
    import torch

    optimiser = torch.optim.Adam(net.parameters(), 1e-2)
    for _ in range(steps):
        some = torch.as_tensor(rng.integers(0, len(x), 64))
        optimiser.zero_grad()
        loss = ((net(x[some]) - y[some]) ** 2).mean()
        loss.backward()
        optimiser.step()
    return float(loss.detach()) / float(y.var())


def networks():
    from torch import nn

    class Last(nn.Module):
        def __init__(self, body, first):
            super().__init__()
            self.body, self.first, self.head = body, first, nn.Linear(16, 2)

        def forward(self, x):
            found = self.body(self.first(x))
            return self.head((found[0] if isinstance(found, tuple) else found).mean(dim=1))

    class Convolution(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.Conv1d(2, 16, 3, padding=1), nn.Linear(16 * 20, 2)

        def forward(self, x):
            return self.head(self.body(x.swapaxes(1, 2)).relu().flatten(1))

    yield "lstm", Last(nn.LSTM(2, 16, batch_first=True), nn.Identity())
    yield "gru", Last(nn.GRU(2, 16, batch_first=True), nn.Identity())
    yield "convolution", Convolution()
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
    yield "transformer", Last(nn.TransformerEncoder(layer, 1), nn.Linear(2, 16))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lstm", "gru", "convolution", "transformer"])
def test_networks_add_up_and_agree_with_brute_force(name):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    net = dict(networks())[name]
    x = torch.randn(300, 20, 2)
    y = torch.stack([x[:, 10:15, 0].sum(1), x[:, :, 1].sum(1)], dim=1)
    train(net, x, y, 20, np.random.default_rng(0))
    found = explain(x[:2].numpy(), net, background=x[100:104].numpy(), players="segments:4")
    assert net.training  # as it was found
    assert_allclose(found.unshared, 0, atol=1e-5)
    net.eval()
    background, owner = x[100:104], torch.as_tensor(found.owner[0])
    v = np.zeros((16, 2))
    with torch.inference_mode():
        for coalition in range(16):
            kept = (coalition >> owner) & 1 == 1
            v[coalition] = net(torch.where(kept, x[0], background)).mean(dim=0).numpy()
    truth = np.stack([shapley_from_table(v[:, k].copy()) for k in range(2)], axis=1)
    assert_allclose(found.credit[0], truth, atol=1e-5)


@pytest.mark.slow
def test_a_network_is_credited_where_the_signal_was_planted():
    """Steps 10 to 14 of the first channel alone decide; the network fits them to a few per cent, so its credit is there."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    net = dict(networks())["convolution"]
    x = torch.randn(800, 20, 2)
    y = torch.stack([x[:, 10:15, 0].sum(1), -x[:, 10:15, 0].sum(1)], dim=1)
    assert train(net, x, y, 300, np.random.default_rng(0)) < 0.1
    found = explain(x[:20].numpy(), net, background=x[100:110].numpy(), players="segments:4 x channels", outputs=["up", "down"])
    assert found.outputs == ("up", "down")
    assert found.top(1).players == ("channel 0 · 10–14",)
    share = np.abs(found.credit[..., 0]).mean(axis=0)
    assert share.max() > 3 * np.sort(share)[-2]
    assert_allclose(found.of("down").row(0).credit, -found.row(0).credit, atol=1.0)


def test_estimators_of_series_are_asked_for_their_probabilities():
    """As those of sktime and aeon, which read (series, channels, steps)."""

    class Classifier:
        classes_ = np.array(["calm", "storm"])

        def fit(self, x, y):
            return self

        def predict(self, x):
            return self.classes_[self.predict_proba(x).argmax(axis=1)]

        def predict_proba(self, x):
            assert x.shape[1:] == (2, 12)
            p = 1 / (1 + np.exp(-x[:, 1].max(axis=1)))
            return np.stack([1 - p, p], axis=1)

    found = explain(
        SERIES.swapaxes(1, 2), Classifier(), background=TRAIN.swapaxes(1, 2), channels_first=True, players="channels",
        payoff="probability",
    )  # fmt: skip
    assert found.outputs == ("calm", "storm")
    assert found.table.payoff == "probability"
    assert_allclose(found.of("storm").row(0)["channel 0"], 0, atol=1e-12)


# The result


def test_a_result_comes_back_from_json_and_can_be_taken_apart(tmp_path):
    found = explain(
        SERIES, model, background=TRAIN, players="change-points:3", methods="shapley,banzhaf", steps=range(100, 112)
    )
    assert SeriesExplanation.from_json(found.to_json()) == found
    assert found.methods == ("shapley", "banzhaf")
    assert found["banzhaf"].methods == ("banzhaf",)
    assert_array_equal(found[1:].credit, found.credit[1:])
    assert_array_equal(found[1:].owner, found.owner[1:])
    assert found[2].as_dict() == found.row(2).as_dict()
    assert_allclose(found.cells(1)[3], found.row(1).credit[found.owner[1, 3]])
    assert found.stretch(0, "segment 1").startswith("100")
    assert list(found.to_pandas().columns)[:3] == ["segment 1", "segment 2", "segment 3"]
    assert found.to_shap().values.shape == (3, 3, 2) if pytest.importorskip("shap") else True
    assert "segment 1 (100" in str(found)
    found.to_html(tmp_path / "series.html")
    page = (tmp_path / "series.html").read_text()
    assert page.count("<polyline") == 3 * 2 * 2  # series, channels, methods


def test_names_are_escaped(tmp_path):
    explain_series(SERIES, model, "zeros", players="channels", channels=["<b>x", "y"]).to_html(tmp_path / "series.html")
    assert "<b>x" not in (tmp_path / "series.html").read_text()


def test_figures():
    plt = pytest.importorskip("matplotlib.pyplot")
    several = explain_series(SERIES, model, TRAIN, players="segments:3 x channels")
    ax = several.plot.series(1)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["channel 0", "channel 1"]
    assert len(ax.lines) >= 2
    alone = explain_series(SERIES[:, :, :1], lambda x: x[:, 3, 0], "zeros", players="steps").plot.series(0)
    assert alone.get_title(loc="left").startswith("series 0: prediction = ")
    several.plot.bar()
    several.plot.waterfall(0)
    several.plot.heatmap()
    plt.close("all")


# What is refused


def frame_of(steps):
    index = pd.MultiIndex.from_tuples(steps, names=["series", "step"])
    return pd.DataFrame({"x": np.zeros(len(steps))}, index=index)


@pytest.mark.parametrize(
    ("given", "settings", "code", "argument"),
    [
        ([np.zeros((5, 1)), np.zeros((4, 1))], {}, "shape", "series"),
        ([[[1.0], [2.0, 3.0]]], {}, "shape", "series"),
        (np.zeros((5, 2)), {}, "shape", "series"),
        (np.zeros((0, 5, 2)), {}, "empty", "series"),
        (np.full((1, 5, 2), np.nan), {}, "not-finite", "series"),
        (np.array([[["a"]]]), {}, "type", "series"),
        (frame_of([("a", 0), ("a", 2), ("a", 1)]), {}, "conflict", "series"),
        (frame_of([("a", 0), ("a", 0)]), {}, "duplicate", "series"),
        (frame_of([("a", 0), ("a", 1), ("b", 0)]), {}, "missing", "series"),
        (frame_of([("a", 0), ("b", 0), ("b", 1)]), {}, "shape", "series"),
        (pd.DataFrame({"x": [1.0]}), {}, "shape", "series"),
        (SERIES, {"background": None}, "missing", "background"),
        (SERIES, {"background": np.zeros((4, 11, 2))}, "shape", "background"),
        (SERIES, {"background": "mean"}, "unknown", "background"),
        (SERIES, {"steps": [*range(11), 5]}, "conflict", "steps"),
        (SERIES, {"steps": range(5)}, "shape", "steps"),
        (SERIES, {"channels": ["a"]}, "shape", "channels"),
        (SERIES, {"outputs": ["a"]}, "shape", "outputs"),
        (SERIES, {"players": "weeks"}, "unknown", "players"),
        (SERIES, {"players": "windows:13"}, "range", "players"),
        (SERIES, {"players": 4}, "type", "players"),
    ],
)  # fmt: skip
def test_refusals(given, settings, code, argument):
    with refused(code, argument):
        explain_series(given, model, **{"background": "zeros", **settings})


def test_a_network_whose_axes_are_the_other_way_round_is_told_so():
    import torch
    from torch import nn

    reads_channels_first = nn.Sequential(nn.Conv1d(2, 4, 3), nn.Flatten(), nn.LazyLinear(1))
    reads_channels_first(torch.zeros(1, 2, 12))
    with refused("failed", "series", has="channels_first=True"):
        explain_series(SERIES, reads_channels_first, "zeros")
    with refused("type", "model", has="tuple of 2"):
        explain_series(SERIES, nn.LSTM(2, 3, batch_first=True), "zeros")


def test_a_class_of_ones_own_that_predicts_is_a_model():
    class Own:
        def predict(self, series):
            return model(series)

    own = explain_series(SERIES, Own(), TRAIN, players="channels")
    assert_array_equal(own.credit, explain_series(SERIES, model, TRAIN, players="channels").credit)


def test_a_model_is_needed():
    with refused("missing", "model"):
        accredit.explain(SERIES, background="zeros")
