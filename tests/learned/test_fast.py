"""Fast Shapley values: the loss has the Shapley value as its optimum, credit is efficient, intervals hold, and an explainer is
used for nothing but what it was fitted on."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("torch")

import torch

from accredit.core import Holds
from accredit.errors import InvalidInput
from accredit.explanation import RowRequest, explain
from accredit.explanation.explainer import explain_rows
from accredit.learned.fast import FastShapley
from accredit.learned.fast_results import explain_rows_fast, fit_fast_inputs, fit_fast_rows
from accredit.learned.input_sets import InputFamily, RowFamily
from accredit.learned.valuers import CoalitionTargets, NetworkInputs, draw_coalitions, efficient, fit
from accredit.rows.result import TableExplanation
from tests.models.small_models import image_model, text_model
from tests.wording import refused, says

RNG = np.random.default_rng(0)
X = RNG.normal(size=(700, 4))
BACKGROUND = X[:12]
TINY = {"epochs": 12, "width": 16, "calibration": 60, "pairs": 6}


def model(rows):
    return rows[:, 0] * rows[:, 1] + np.abs(rows[:, 2]) + rows[:, 3]


@pytest.fixture(scope="module")
def fast():
    return fit_fast_rows(X[20:620], model, BACKGROUND, level=0.9, **TINY | {"epochs": 40})


class Free(torch.nn.Module):
    """A network that may say anything about each of a few inputs: what the loss alone wants of it."""

    def __init__(self, rows: int, players: int) -> None:
        super().__init__()
        self.credit = torch.nn.Parameter(torch.zeros(rows, players, 1))

    def forward(self, x, owner, players):
        return self.credit[x[:, 0].long()]


def test_the_optimum_of_the_loss_is_the_shapley_value():
    rows = X[100:112]
    family = RowFamily.of(rows, model, RowRequest(background=BACKGROUND))
    nobody, everybody = family.ends()
    subsets = np.array([[k >> i & 1 for i in range(4)] for k in range(1, 15)], dtype=bool)
    repeats = {1: 4, 2: 2, 3: 4}  # ∝ 1/(C(4,k) k(4−k)): 1/12, 1/24, 1/12
    shown = np.concatenate([np.tile(s, (repeats[int(s.sum())] // 2, 1)) for s in subsets])
    coalitions = np.tile(shown, (len(rows), 1, 1))
    earned = [family.game(r).payoff(np.concatenate([shown, ~shown])) for r in range(len(rows))]
    total = everybody - nobody
    wanted = np.stack([(e[: len(shown)] - e[len(shown) :] + t) / 2 for e, t in zip(earned, total, strict=True)])
    network = Free(len(rows), 4)
    twice = np.tile(np.arange(len(rows)), 2)  # what is kept aside has a twin that is learned from
    seen = NetworkInputs(twice[:, None].astype(np.float32), np.tile(np.arange(4), (len(twice), 1)))
    asked = CoalitionTargets(coalitions[twice], wanted[twice], total[twice])
    fit(network, seen, asked, epochs=300, patience=300, batch=12, rate=0.05, seed=0)
    found = efficient(network.credit.detach().numpy(), np.ones((len(rows), 4), dtype=bool), total)
    assert_allclose(found, explain_rows(rows, model, BACKGROUND).credit, atol=1e-3)


def test_sizes_are_drawn_by_the_shapley_kernel():
    """Shares of 40,000 draws within 5 standard errors: a false alarm in a million."""
    drawn = draw_coalitions(np.ones((400, 5), dtype=bool), 100, np.random.default_rng(0))
    shares = np.bincount(drawn.sum(axis=2).ravel(), minlength=6)[1:5] / 40_000
    kernel = 1 / (np.arange(1, 5) * np.arange(4, 0, -1))
    assert_allclose(shares, kernel / kernel.sum(), atol=5 * 0.0025)
    assert_allclose(drawn.mean(axis=(0, 1)), 0.5, atol=5 * 0.0025)  # every player alike


def test_absent_players_are_never_drawn_nor_paid():
    present = np.array([[True, True, True, False], [True, False, False, False]])
    drawn = draw_coalitions(present, 20, np.random.default_rng(0))
    assert not drawn[:, :, 3].any() and drawn[1, :, 0].all()
    credit = efficient(np.ones((2, 4, 1)), present, np.array([[6.0], [5.0]]))
    assert np.isnan(credit[0, 3, 0]) and credit[1, 0, 0] == 5.0 and np.nansum(credit[0]) == 6.0


@pytest.mark.slow
def test_values_are_close_efficient_and_covered(fast):
    new = X[620:]
    exact = explain_rows(new, model, BACKGROUND)
    found = explain_rows_fast(fast, new, model, BACKGROUND, fallback=0)
    assert fast.report["r2"] > 0.9
    assert_allclose(found.unshared, 0, atol=1e-12)
    covered = (found.interval[..., 0] <= exact.credit) & (exact.credit <= found.interval[..., 1])
    assert covered.mean() > 0.7  # 80 rows at 90 %: coverage has a standard deviation of 5 points; six of them
    assert found.level == found.row(0).level == 0.9
    assert {c.axiom for c in found.claims if c.holds is Holds.EXACTLY} == {"efficiency"}
    assert says(str(found.precision), "not for each")


@pytest.mark.slow
def test_far_rows_are_computed_and_named_within_the_limit(fast):
    new = X[620:640].copy()
    new[[3, 7, 9]] = 40.0, -55.0, 3.0, 60.0
    exact = explain_rows(new, model, BACKGROUND)
    two = explain_rows_fast(fast, new, model, BACKGROUND, fallback=2)
    computed = [int(r) for r in two.provenance["computed"]]
    assert len(computed) == 2 and set(computed) <= {3, 7, 9}
    assert_allclose(two.credit[computed], exact.credit[computed])
    assert_allclose(two.interval[computed, ..., 0], two.interval[computed, ..., 1])
    assert any("2 rows" in note.text and says(note.text, "from the training") for note in two.notes)
    one, other = two.row(computed[0]), two.row(0)
    assert one.exact and one.interval is None and says(str(one.precision), "computed in the")
    assert not other.exact and other.level == 0.9 and "split conformal" in str(other.precision)
    again = TableExplanation.from_json(two.to_json())
    assert again == two and str(again[[0, computed[0]]].row(1).precision) == str(one.precision)
    assert any(says(note.text, "limit of 2") for note in two.notes)
    none = explain_rows_fast(fast, X[620:625], model, BACKGROUND, tolerance=1e9)
    assert not none.provenance["computed"] and not any("computed" in note.text for note in none.notes)


@pytest.mark.slow
def test_rows_with_wide_intervals_are_computed(fast):
    narrow = explain_rows_fast(fast, X[620:630], model, BACKGROUND, tolerance=1e-6, fallback=10)
    assert len(narrow.provenance["computed"]) == 10
    assert narrow.row(0).exact and str(narrow.precision).startswith("exact") and "conformal" not in str(narrow.precision)
    assert any("with wide intervals" in note.text for note in narrow.notes)


@pytest.mark.slow
def test_another_model_background_or_setting_is_refused(fast):
    with refused("conflict"):
        explain_rows_fast(fast, X[:3], lambda rows: model(rows) + 0.01 * rows[:, 0], BACKGROUND)
    with refused("conflict"):
        explain_rows_fast(fast, X[:3], model, X[:13])
    with pytest.raises(InvalidInput, match="fitted for players"):
        explain_rows_fast(fast, X[:3], model, BACKGROUND, RowRequest(players={"both": ["x0", "x1"]}))
    import pandas

    named = pandas.DataFrame(X, columns=list("abcd"))
    with refused("conflict"):
        explain_rows_fast(fast, named[:3], lambda f: model(np.asarray(f)), named[:12])


@pytest.mark.slow
def test_a_saved_explainer_says_the_same(fast, tmp_path):
    fast.save(tmp_path / "one")
    new = X[620:640]
    first, again = (explain_rows_fast(e, new, model, BACKGROUND) for e in (fast, tmp_path / "one"))
    assert_allclose(again.credit, first.credit, atol=0)
    assert_allclose(again.interval, first.interval, atol=0)
    about = json.loads((tmp_path / "one" / "explainer.json").read_text())
    about["calibration"].pop("radius")
    (tmp_path / "one" / "explainer.json").write_text(json.dumps(about))
    with pytest.raises(InvalidInput, match="damaged"):
        FastShapley.load(tmp_path / "one")
    with pytest.raises(InvalidInput, match="accredit learn fit"):
        FastShapley.load(tmp_path / "nothing")


@pytest.mark.slow
def test_estimated_calibration_values_are_said_to_be_so():
    wide = np.random.default_rng(1).normal(size=(100, 14))
    settings = TINY | {"epochs": 2, "calibration": 20}
    found = fit_fast_rows(
        wide, lambda rows: rows.sum(axis=1) + rows[:, :3].prod(axis=1), wide[:2], RowRequest(budget=100), level=0.9, **settings
    )
    assert found.report["calibration values"] == "estimated" and not found.calibration.exact
    assert says(found.calibration.because, "whose own error")


@pytest.mark.slow
def test_values_of_unknown_error_are_estimated_in_another_way():
    """In a game of pairs the usual estimator sees an additive game, and does not say how far off it may be."""
    wide = np.random.default_rng(1).normal(size=(3, 14))
    found = RowFamily.of(
        wide, lambda rows: rows.sum(axis=1) + rows[:, 0] * rows[:, 1], RowRequest(background=wide[:2])
    ).reference(np.array([2]), 400, 0)
    assert np.isfinite(found.reach).all() and found.reach.max() > 0


@pytest.mark.slow
def test_columns_of_words_and_gaps_are_read():
    import pandas

    rng = np.random.default_rng(2)
    frame = pandas.DataFrame({"town": rng.choice(list("AB"), 400), "size": rng.normal(size=400)})
    frame.loc[::9, "size"] = np.nan

    def priced(rows):
        return 2.0 * (np.asarray(rows["town"]) == "A") + np.nan_to_num(np.asarray(rows["size"], dtype=float))

    found = fit_fast_rows(frame, priced, frame[:10], **TINY | {"epochs": 60})
    assert found.report["r2"] > 0.95
    new = pandas.DataFrame({"town": ["C"], "size": [0.0]})
    told = explain_rows_fast(found, new, priced, frame[:10])
    assert told.provenance["computed"] == ["0"]  # an unknown town is far from the training rows


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"calibration": 3}, "calibration"), ({"calibration": 95}, "give 105 or more"), ({"level": 2.0}, "level")],
)
def test_a_fit_that_cannot_be_calibrated_is_refused_before_it_asks(settings, said):
    asked = []

    def watched(rows):
        asked.append(len(rows))
        return model(rows)

    with pytest.raises(InvalidInput, match=said):
        fit_fast_rows(X[:100], watched, BACKGROUND, **settings)
    assert sum(asked) < 200


def test_one_player_has_nothing_to_learn():
    with pytest.raises(InvalidInput, match="one player"):
        fit_fast_rows(X[:200, :1], lambda rows: rows[:, 0], X[:9, :1], calibration=30)


# Texts and pictures

TEXTS = [f"{a} {b} film" for a in ("bad", "good", "not", "the") for b in ("bad", "good", "very", "the")] * 3


@pytest.mark.slow
def test_texts_of_any_length_join_explain_as_a_method(tmp_path):
    bert = text_model("bert")
    fast = fit_fast_inputs([*TEXTS, "bad film", "good"], bert, **TINY | {"calibration": 24, "epochs": 3})
    assert fast.kind == "texts" and fast.calibration.per == "rank"
    fast.save(tmp_path / "texts")
    name = f"fast-shapley:{tmp_path / 'texts'}"
    shown = explain("not good film", bert, methods=["shapley", name])
    found = shown[name]
    assert found.players == shown["shapley"].players == ("not", "good", "film")
    assert_allclose([found.total, found.baseline], [shown["shapley"].total, shown["shapley"].baseline], atol=1e-6)
    assert abs(found.unshared) < 1e-6 and found.exact is found.certificate["computed"]
    every = explain("not good film", bert, methods=name, target="all")
    assert_allclose(every.of(found.provenance["target"])[name].credit, found.credit, atol=1e-6)
    with refused("conflict"):
        explain("not good film", bert, methods=name, payoff="probability")
    with pytest.raises(InvalidInput, match="fitted for model"):
        explain("not good film", text_model("distilbert"), methods=name)


@pytest.mark.slow
def test_the_longest_text_may_be_one_that_calibrates():
    """The only text of six words is not learned from; the network still answers about six players."""
    texts = [*TEXTS, "bad film"]
    texts[int(np.random.default_rng(0).permutation(len(texts))[0])] = "a very good and very film"
    fast = fit_fast_inputs(texts, text_model("bert"), **TINY | {"calibration": 24, "epochs": 1, "seed": 0})
    assert fast.report["trained on"] == len(texts) - 24


@pytest.mark.slow
def test_pictures_join_explain_as_a_method(tmp_path):
    vit = image_model()
    size = explain(np.zeros((12, 12), dtype=np.uint8), vit, methods="loo", players=(2, 2)).players
    pictures = list(np.random.default_rng(0).integers(0, 255, size=(40, 12, 12), dtype=np.uint8))
    fast = fit_fast_inputs(pictures, vit, players=(2, 2), **TINY | {"calibration": 24, "epochs": 2, "width": 4})
    fast.save(tmp_path / "pictures")
    name = f"fast-shapley:{tmp_path / 'pictures'}"
    found = explain(pictures[0], vit, methods=name, players=(2, 2))[name]
    assert found.players == size and abs(found.unshared) < 1e-6
    with pytest.raises(InvalidInput, match="fitted for players"):
        explain(pictures[0], vit, methods=name, players=(3, 3))


def test_segments_have_no_common_players():
    vit = image_model()
    pictures = list(np.random.default_rng(0).integers(0, 255, size=(2, 12, 12), dtype=np.uint8))
    family = InputFamily.of([pictures[0]], vit, players=(2, 2))
    family.subjects += InputFamily.of([pictures[1]], vit, players=(3, 3)).subjects
    with pytest.raises(InvalidInput, match="same patches"):
        family.network_inputs(None)


def test_a_constant_model_is_refused_and_a_constant_output_is_learned_to_be_nothing():
    """It had been called a perfect fit, with credits that nobody had taught; and one such output spoiled all others."""
    x = np.random.default_rng(0).normal(size=(170, 3))
    settings = {"calibration": 40, "epochs": 30, "level": 0.9}
    with pytest.raises(InvalidInput, match="earns the same"):
        fit_fast_rows(x[20:], lambda rows: np.zeros(len(rows)), x[:20], **settings)

    def outputs(rows):
        return np.column_stack([rows @ [2.0, 1.0, 0.0], np.full(len(rows), 0.5)])

    fast = fit_fast_rows(x[20:], outputs, x[:20], **settings)
    family = RowFamily.of(x[20:60], outputs, RowRequest(background=x[:20]))
    found = fast.values(family, fallback=0).credit
    assert np.abs(found[..., 1]).max() < 0.3 and fast.report["r2"] > 0.9


def test_a_negative_limit_of_rows_to_compute_is_refused():
    """−1 had meant all unsure rows but one."""
    x = np.random.default_rng(0).normal(size=(60, 3))
    fast = fit_fast_rows(x[10:], lambda rows: rows.sum(axis=1), x[:10], calibration=30, epochs=1, level=0.9)
    with pytest.raises(InvalidInput, match="fallback"):
        explain_rows_fast(fast, x[10:20], lambda rows: rows.sum(axis=1), x[:10], fallback=-1)
