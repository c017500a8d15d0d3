"""LIME: the fit is a weighted ridge, additive games are recovered, and it claims no more than it keeps."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from accredit.core import Holds
from accredit.errors import InvalidInput
from accredit.evaluate import check_claims
from accredit.evaluate.axioms import axioms_kept
from accredit.games import FunctionGame, TableGame, counted
from accredit.learned import PixelGrid, Tabular, Words
from accredit.learned.lime import LimeExplainer
from accredit.values.lime import Lime, draw, proximity, ridge_readout
from tests.random_games import random_games

RNG = np.random.default_rng


def names(n):
    return [f"p{i}" for i in range(n)]


def two_classes(logit):
    p = 1 / (1 + np.exp(-np.asarray(logit, dtype=float)))
    return np.stack([1 - p, p], axis=1)


@pytest.mark.parametrize(("count", "n"), [(40, 6), (8, 20)], ids=["more rows", "more players"])
def test_readout_minimises_the_weighted_ridge_loss(count, n):
    rng = RNG(0)
    z, w, y = draw(n, count, "sizes", rng), rng.random(count), rng.normal(size=count)
    # The loss as one least-squares problem: shrinkage is n more rows, and the intercept is a column they do not touch.
    root = np.sqrt(w)[:, None]
    design = np.block([[root * z, root], [np.sqrt(0.7) * np.eye(n), np.zeros((n, 1))]])
    by_hand = np.linalg.lstsq(design, np.concatenate([root[:, 0] * y, np.zeros(n)]), rcond=None)[0]
    assert_allclose(ridge_readout(z, w, 0.7) @ y, by_hand, atol=1e-9)


def test_readout_of_two_players_by_hand():
    # Coalitions {a, b}, {a}, {b}, ∅ with equal weights: centred columns are ±½ and uncorrelated, so
    # β = Σ z y / (Σ z² + λ) with Σ z² = 1: a gets ((9 + 4) − (6 + 1))/2 / (1 + λ) = 3 / 2 at λ = 1.
    z = np.array([[True, True], [True, False], [False, True], [False, False]])
    assert_allclose(ridge_readout(z, np.ones(4), 1.0) @ [9.0, 4.0, 6.0, 1.0], [1.5, 2.5, 5.0 - 0.75 - 1.25])


def test_readout_agrees_with_scikit_learn():
    ridge = pytest.importorskip("sklearn.linear_model").Ridge
    rng = RNG(1)
    z, y = draw(9, 60, "coins", rng), rng.normal(size=60)
    w = proximity(z, 0.25)
    peer = ridge(alpha=1.0).fit(z, y, sample_weight=w)
    assert_allclose(ridge_readout(z, w, 1.0) @ y, [*peer.coef_, peer.intercept_], atol=1e-9)


def test_the_kernel_is_that_of_the_reference():
    # √exp(−d²/25²) with d = 100 × cosine distance, and the cosine of a mask with the whole is √(|S|/n).
    z = np.array([[True] * 4, [True, False, False, False], [False] * 4])
    distance = 100 * (1 - np.array([1.0, 0.5, 0.0]))
    assert_allclose(proximity(z, 0.25), np.sqrt(np.exp(-(distance**2) / 25**2)))


@pytest.mark.parametrize("law", ["sizes", "coins"])
def test_an_additive_game_is_recovered(law):
    weights = RNG(2).normal(size=12)
    game = FunctionGame(names(12), lambda c: 5 + c @ weights)
    found = Lime(budget=100, ridge=1e-9, law=law).solve(game)
    assert_allclose(found.credit, weights, atol=1e-7)
    assert found.certificate["fit"] == pytest.approx(1)
    assert found.certificate["intercept"] == pytest.approx(5)
    assert found.total is None


def test_features_keep_the_largest_and_fit_again():
    weights = np.array([0.1, -5.0, 0.2, 3.0, 0.0, 1.0])
    game = FunctionGame(names(6), lambda c: c @ weights)
    found = Lime(budget=200, features=2).solve(game)
    assert_array_equal(found.credit != 0, [False, True, False, True, False, False])
    z = draw(6, 200, "sizes", RNG(0))
    again = ridge_readout(z[:, [1, 3]], proximity(z, 0.25), 1.0) @ (z @ weights)
    assert_allclose(found.credit[[1, 3]], again[:2])


def test_it_asks_exactly_its_budget_and_repeats_itself():
    game = counted(TableGame("abcd", RNG(3).normal(size=16)))
    first = Lime(budget=50, seed=3).solve(game)
    assert first.payoffs == game.payoffs == 50
    assert_array_equal(first.credit, Lime(budget=50, seed=3).solve(game).credit)
    assert (first.credit != Lime(budget=50, seed=4).solve(game).credit).any()


def test_it_keeps_every_claim_it_makes():
    for game in random_games(players=5, count=10, seed=2):
        for lime in (Lime(budget=60), Lime(budget=60, features=2), Lime(budget=60, features=5)):
            findings = check_claims(lime.solve(game), game, lime.solve)
            assert {f.axiom for f in findings} == {"efficiency", "symmetry", "null player", "linearity"}


def test_it_breaks_what_it_says_it_breaks():
    game = TableGame("abc", [0, 0, 0, 6, 0, 0, 0, 30])
    broken = {f.axiom for f in axioms_kept(Lime(budget=400).solve, game) if f.verdict == "broken"}
    assert {"efficiency", "null player"} <= broken
    assert "linearity" not in broken
    even = TableGame("abc", np.array([0, 3, 1, 4, 3, 6, 4, 7]))  # a and c earn 3 each, b earns 1
    few = {f.axiom for f in axioms_kept(Lime(budget=400, features=1).solve, even) if f.verdict == "broken"}
    assert {"efficiency", "linearity", "symmetry"} <= few


def test_a_null_player_leans_on_synergies_even_without_sampling_error():
    # Every coalition of four players once, weighted by the kernel: player d never matters, yet its slope is not 0.
    z = np.array([[bool(k >> i & 1) for i in range(4)] for k in range(16)])
    slopes = ridge_readout(z, proximity(z, 0.25), 1e-12) @ z[:, :3].all(axis=1)
    assert abs(slopes[3]) > 1e-3


def test_symmetry_holds_in_expectation():
    game = TableGame("abc", [0, 1, 1, 5, 0, 2, 2, 9])  # a and b are equal
    gaps = np.array([np.diff(Lime(budget=30, seed=s).solve(game).credit[:2])[0] for s in range(400)])
    # A normal mean leaves ±6 standard errors with probability 2e-9.
    assert abs(gaps.mean()) < 6 * gaps.std() / 20
    assert gaps.std() > 0
    assert Lime().solve(game).claim("symmetry").holds is Holds.IN_EXPECTATION


def test_sizes_are_uniform_and_the_whole_comes_first():
    z = draw(5, 20_001, "sizes", RNG(5))
    assert z[0].all()
    shares = np.bincount(5 - z[1:].sum(axis=1), minlength=6) / 20_000
    # Each share has a standard deviation of .0028; 6 of them are left with probability 2e-9.
    assert shares[0] == 0
    assert np.abs(shares[1:] - 0.2).max() < 6 * 0.0029
    assert np.abs(z[1:].mean(axis=0) - 0.4).max() < 6 * 0.0035  # every player alike


def test_the_explainer_finds_the_columns_of_a_linear_black_box():
    weights = np.array([0.1, -2.0, 0.0, 1.0])
    x = np.ones((3, 4))
    explainer = LimeExplainer(Tabular(4), k=2).fit(x, lambda rows: two_classes(rows @ weights))
    assert_array_equal(explainer.select(x)[0], [False, True, False, True])
    # The answer is class 0 (the logit is −0.9), so only the second column speaks for it.
    support = LimeExplainer(Tabular(4), k=1, rank="support").fit(x, lambda rows: two_classes(rows @ weights))
    assert_array_equal(support.select(x)[0], [False, True, False, False])
    assert support.lines(x)[0][0, 3] < 0


def test_the_explainer_is_the_solver_on_the_words_that_exist():
    worth = RNG(6).normal(size=20)
    worth[0] = 0

    def black_box(ids):
        return two_classes(worth[ids].sum(axis=1) + 3 * (ids == 7).any(axis=1) * (ids == 8).any(axis=1))

    texts = np.array([[7, 3, 8, 4, 0, 0], [7, 8, 5, 6, 9, 2], [0, 5, 6, 0, 7, 8], [0, 0, 0, 0, 0, 0]])
    inputs = Words(6, 20)
    explainer = LimeExplainer(inputs, k=3, lime=Lime(budget=80)).fit(texts, black_box, seed=4)
    slopes, fits = explainer.lines(texts)
    for row in range(3):
        there = np.flatnonzero(texts[row])
        target = black_box(texts[row : row + 1])[0].argmax()

        def worth_of(c, row=row, there=there, target=target):
            ids = np.zeros((len(c), 6), dtype=int)
            ids[:, there] = np.where(c, texts[row, there], 0)
            return black_box(ids)[:, target]

        alone = Lime(budget=80, seed=4).solve(FunctionGame(names(len(there)), worth_of))
        assert_allclose(slopes[row, there], alone.credit, atol=1e-12)
        assert fits[row] == pytest.approx(alone.certificate["fit"])
    assert not slopes[3].any()
    assert_array_equal(explainer.select(texts).sum(axis=1), [3, 3, 3, 0])
    assert_array_equal(explainer.select(texts, k=5).sum(axis=1), [4, 5, 4, 0])
    chosen = explainer.explain(texts[0], names=["not", "very", "good", "film", "-", "-"])
    assert_array_equal(chosen.chosen, explainer.select(texts[:1])[0, :4])  # padding is nobody's player
    assert chosen.players == ("not", "very", "good", "film")
    assert "pad" in chosen.rule and 0 <= chosen.certificate["fit"] <= 1


def test_pictures_by_blocks():
    pictures = RNG(7).random((2, 4, 4))
    inputs = PixelGrid((4, 4), block=2)
    explainer = LimeExplainer(inputs, k=1, lime=Lime(budget=100, law="coins"))
    explainer.fit(pictures, lambda x: two_classes(x[:, :2, 2:].sum(axis=(1, 2))))
    assert_array_equal(explainer.select(pictures), [[False, True, False, False]] * 2)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Lime(budget=0), "budget"),
        (lambda: Lime(features=0), "features"),
        (lambda: Lime(law="dice"), "law"),
        (lambda: Lime(width=0.0), "width"),
        (lambda: Lime(features=9).solve(TableGame("ab", [0, 1, 2, 3])), "2 players"),
        (lambda: LimeExplainer(Tabular(3), k=4), "from 1 to 3"),
        (lambda: LimeExplainer(Tabular(3), k=1, rank="size"), "rank"),
        (lambda: LimeExplainer(Tabular(3), k=1, lime=Lime(features=1)), "features"),
        (lambda: LimeExplainer(Tabular(3), k=1).scores(np.ones((1, 3))), "fit"),
        (lambda: LimeExplainer(PixelGrid((4, 4)), k=1).fit(np.ones((2, 3, 3)), two_classes), "shape"),
        (lambda: LimeExplainer(Tabular(3), k=1).fit(np.ones((1, 3)), lambda x: x).select(np.ones((1, 3))), "black_box"),
    ],
)
def test_bad_settings_are_named(make, told):
    with pytest.raises(InvalidInput, match=told):
        make()
