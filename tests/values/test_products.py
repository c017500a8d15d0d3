"""Sums of products: the quadrature gives the values of the full table, and of exact fractions where no table fits."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.core import tabulate
from accredit.errors import BadPayoff, InvalidInput
from accredit.evaluate import check_claims
from accredit.games import TableGame
from accredit.values import ProductGame, banzhaf, banzhaf_interactions, beta, semivalue, shapley, shapley_interactions
from accredit.values.products import product_credit, product_rounding, scale_products
from accredit.values.semivalue_rules import SHAPLEY
from accredit.values.semivalues import leave_one_out_weights

KINDS = ("positive", "signed", "zeros", "wide", "opposite")


def random_products(seed: int, kind: str, players: int = 7, terms: int = 9) -> ProductGame:
    """Factors of every kind: of one sign, of both, with zeros, of sizes from 1e-6 to 1e6, and b = −a."""
    rng = np.random.default_rng(seed)
    sides = rng.uniform(0.1, 2.0, size=(2, terms, players))
    if kind in ("signed", "wide"):
        sides *= rng.choice([-1.0, 1.0], size=sides.shape)
    if kind == "zeros":
        sides *= rng.random(sides.shape) < 0.6
    if kind == "wide":
        sides *= 10.0 ** rng.integers(-3, 4, size=sides.shape)
    if kind == "opposite":
        sides[1] = -sides[0]
    return ProductGame([f"p{i}" for i in range(players)], rng.normal(size=terms), *sides, constant=rng.normal())


def from_table(game: ProductGame) -> TableGame:
    return TableGame(game.players, tabulate(game))


VALUES = {
    "shapley": shapley,
    "banzhaf": banzhaf,
    "beta": lambda game: beta(game, 2, 3),
    "leave one out": lambda game: semivalue(game, leave_one_out_weights(len(game.players))),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", VALUES)
def test_the_closed_form_is_the_value_of_the_table_and_keeps_its_claims(value, kind):
    for seed in range(6):
        game = random_products(seed, kind)
        closed, tabled = VALUES[value](game), VALUES[value](from_table(game))
        assert_allclose(closed.credit, tabled.credit, atol=1e-12 * np.abs(tabulate(game)).max())
        assert closed.exact and closed.payoffs == 0 and closed.method.closed_form and closed.method.solver == "products"
        assert (closed.total, closed.baseline) == pytest.approx((tabled.total, tabled.baseline))
        assert [c.holds for c in closed.claims] == [c.holds for c in tabled.claims]
        check_claims(closed, game)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("index", [shapley_interactions, banzhaf_interactions])
def test_interactions_in_closed_form_are_those_of_the_table(index, order):
    for seed, kind in enumerate(KINDS):
        game = random_products(seed, kind)
        closed, tabled = index(game, order), index(from_table(game), order)
        assert closed.values.keys() == tabled.values.keys()
        assert closed.payoffs == (0 if order < 3 else 128)
        largest = np.abs(tabulate(game)).max()
        assert_allclose(list(closed.values.values()), list(tabled.values.values()), atol=1e-12 * largest)


def in_fractions(game: ProductGame) -> list[Fraction]:
    """The Shapley value by the sizes of coalitions, without rounding: e_k sums the products of all coalitions of k others."""
    _, weight, present, absent = game.products
    n = len(game.players)
    credit = [Fraction(0)] * n
    for c, a, b in zip(weight.tolist(), present.tolist(), absent.tolist(), strict=True):
        for i in range(n):
            by_size = [Fraction(c)]
            for j in set(range(n)) - {i}:
                plays, stays = Fraction(a[j]), Fraction(b[j])
                by_size = [
                    (stays * by_size[k] if k < len(by_size) else 0) + (plays * by_size[k - 1] if k else 0)
                    for k in range(len(by_size) + 1)
                ]
            share = sum(e / comb(n - 1, k) for k, e in enumerate(by_size)) / n
            credit[i] += (Fraction(a[i]) - Fraction(b[i])) * share
    return credit


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_rounding_bound_covers_what_exact_fractions_show(kind):
    for players in (2, 17, 28):
        game = random_products(players, kind, players, terms=2)
        _, weight, present, absent = game.products
        scaled = scale_products(weight[:, None], present.T, absent.T)
        found = product_credit(scaled, SHAPLEY)[:, 0]
        off = max(abs(float(Fraction(x) - y)) for x, y in zip(found.tolist(), in_fractions(game), strict=True))
        assert off <= product_rounding(scaled, SHAPLEY)
        assert shapley(game).blur >= off


def test_two_hundred_players_with_factors_of_any_size():
    """Half of them multiply by 1e8 when they play, half by 1e-8: all together change nothing, and who is alike earns alike."""
    names = [f"p{i}" for i in range(200)]
    grow = np.where(np.arange(200) % 2, 1e-8, 1e8)
    small = ProductGame(names, [3.0], [1 + 1e-3 * np.log10(grow)], [np.ones(200)])
    found = shapley(small)
    assert_allclose(found.credit.sum(), found.total, rtol=1e-11)
    assert_allclose(found.credit[::2], found.credit[0], rtol=1e-12)
    even = ProductGame(names[:30], [1e-120], [grow[:30]], [np.ones(30)])  # up to 1e120 at worst
    assert np.isfinite(shapley(even).credit).all()
    assert_allclose(shapley(even).credit.sum(), 0.0, atol=shapley(even).blur * 30)


def test_a_unanimity_game_is_a_product():
    names = [f"p{i}" for i in range(150)]
    needed = np.arange(150) < 100
    game = ProductGame(names, [7.0], [np.ones(150)], [np.where(needed, 0.0, 1.0)])
    assert_allclose(shapley(game).credit, np.where(needed, 0.07, 0.0), rtol=1e-12)


def test_weights_that_quadrature_cannot_follow_are_asked_of_the_table():
    """Only coalitions of middle size count: no density is like that, and the nodes' weights would grow beyond all bounds."""
    game = random_products(0, "positive", players=24)
    middle = np.zeros(24)
    middle[12] = 1 / comb(23, 12)
    assert not semivalue(random_products(0, "positive", players=24, terms=1), middle, budget=500).method.closed_form
    assert shapley(game).method.closed_form


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (([1.0], [[1.0, 2.0]], [[1.0]]), "shape"),
        (([[1.0]], [[1.0, 2.0]], [[1.0, 2.0]]), "shape"),
        (([1.0], [[1.0, np.inf]], [[1.0, 2.0]]), "not-finite"),
    ],
)
def test_what_is_not_a_product_is_refused(arguments, code):
    with pytest.raises(InvalidInput) as caught:
        ProductGame("ab", *arguments)
    assert caught.value.code == code


def test_products_too_large_to_compute_with_are_refused():
    with pytest.raises(BadPayoff):
        ProductGame("ab", [1.0], [[1e100, 1e100]], [[1.0, 1.0]])
