"""Games with known Shapley values: what estimators are measured on.

`DEVELOPMENT` holds the kinds of game the default estimator was developed against, `HELD_OUT` games that were written
down afterwards and never used to choose anything. Up to 16 players the values come from the full table, beyond that
from closed forms. Each builder is deterministic; models are small scikit-learn fits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb, lgamma
from typing import Any

import numpy as np

from accredit.checks.numbers import BoolArray, FloatArray
from accredit.core.coalitions import all_coalitions
from accredit.games import FunctionGame
from accredit.values.semivalues import shapley_from_table

Payoff = Callable[[BoolArray], FloatArray]


@dataclass(frozen=True)
class Known:
    """A game and its exact Shapley values."""

    name: str
    game: FunctionGame
    values: FloatArray  # (n,)

    @property
    def players(self) -> int:
        """n."""
        return len(self.values)


def _names(n: int) -> tuple[str, ...]:
    return tuple(f"p{i}" for i in range(n))


class _Looked:
    """Payoffs read from a table, so that a slow model is asked once a coalition."""

    def __init__(self, table: FloatArray, n: int) -> None:
        self._table, self._bits = table, 1 << np.arange(n)

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        return self._table[coalitions @ self._bits]


def tabled(name: str, n: int, payoff: Payoff) -> Known:
    """A small game, its values from the full table."""
    table = np.concatenate([np.asarray(payoff(chunk), dtype=np.float64) for chunk in all_coalitions(n)])
    return Known(name, FunctionGame(_names(n), _Looked(table, n)), shapley_from_table(table))


def closed(name: str, payoff: Payoff, values: FloatArray) -> Known:
    """A large game with values in closed form."""
    return Known(name, FunctionGame(_names(len(values)), payoff), values)


# --- sums of simple terms ---------------------------------------------------------------------------------------------


def conjunctions(n: int, terms: list[tuple[tuple[int, ...], float]]) -> tuple[Payoff, FloatArray]:
    """v(S) = Σ c·1[A ⊆ S]: each term is shared equally by A."""
    inside = np.zeros((n, len(terms)))
    weight = np.array([c for _, c in terms])
    values = np.zeros(n)
    for column, (members, c) in enumerate(terms):
        inside[list(members), column] = 1
        values[list(members)] += c / len(members)
    need = inside.sum(axis=0)
    return lambda s: (s @ inside >= need) @ weight, values


def random_terms(rng: np.random.Generator, n: int, count: int, largest: int, signed: bool) -> list[Any]:
    """Random conjunctions of 1 … `largest` players."""
    terms = []
    for _ in range(count):
        members = tuple(rng.choice(n, int(rng.integers(1, largest + 1)), replace=False).tolist())
        terms.append((members, float(rng.normal() if signed else rng.random())))
    return terms


def of_weighted_sum(weights: np.ndarray[Any, Any], payoff: Callable[[FloatArray], FloatArray]) -> tuple[Payoff, FloatArray]:
    """v(S) = f(Σ_{i ∈ S} w_i) with integer weights: values by counting coalitions of each size and sum, O(n³·Σw)."""
    n, most = len(weights), int(weights.sum())
    f = np.asarray(payoff(np.arange(most + 1.0)), dtype=np.float64)
    values = np.zeros(n)
    for i in range(n):
        share = np.zeros((n, most + 1))  # share of the coalitions of each size that have each sum, among the others
        share[0, 0] = 1.0
        for count, w in enumerate(np.delete(weights, i).tolist(), start=1):
            with_w = np.zeros_like(share)
            with_w[1:, w:] = share[:-1, : most + 1 - w]
            sizes = np.arange(n)[:, None]
            share = share * np.maximum(1 - sizes / count, 0) + with_w * (sizes / count)
        gain = f[np.minimum(np.arange(most + 1) + weights[i], most)] - f
        values[i] = float((share @ gain).mean())
    return lambda s: np.asarray(payoff(s @ weights.astype(float)), dtype=np.float64), values


def of_maxima(heights: FloatArray) -> tuple[Payoff, FloatArray]:
    """v(S) = Σ_c max_{i ∈ S} heights[i, c]: a sum of airport games (Littlechild & Owen, 1973)."""
    n = len(heights)
    values = np.zeros(n)
    for column in heights.T:
        order = np.argsort(column)
        steps = np.diff(column[order], prepend=0.0) / np.arange(n, 0, -1)
        values[order] += np.cumsum(steps)

    def payoff(s: BoolArray) -> FloatArray:
        return np.stack([np.where(s, column, 0.0).max(axis=1, initial=0.0) for column in heights.T]).sum(axis=0)

    return payoff, values


def of_product(factors: FloatArray) -> tuple[Payoff, FloatArray]:
    """v(S) = Π_{i ∈ S} (1 + a_i): values by the multilinear extension, Gauss–Legendre exact in its degree."""
    nodes, weights = np.polynomial.legendre.leggauss(len(factors) // 2 + 2)
    x, dx = (nodes + 1) / 2, weights / 2
    whole = np.prod(1 + np.outer(x, factors), axis=1)
    values = (dx * whole) @ (factors / (1 + np.outer(x, factors)))
    return lambda s: np.exp(s @ np.log1p(factors)), values


# --- models -----------------------------------------------------------------------------------------------------------


def masked(predict: Callable[[FloatArray], FloatArray], x: FloatArray, background: FloatArray) -> Payoff:
    """v(S) = mean prediction when the features in S are those of x and the others a background row's."""

    def payoff(s: BoolArray) -> FloatArray:
        parts = []
        for chunk in np.array_split(s, max(1, len(s) * len(background) // 50_000)):
            rows = np.where(chunk[:, None, :], x, background[None])
            parts.append(predict(rows.reshape(-1, len(x))).reshape(len(chunk), -1).mean(axis=1))
        return np.concatenate(parts)

    return payoff


def _forest_parts(
    trees: list[Any], scale: float, x: FloatArray, background: FloatArray
) -> list[tuple[list[int], list[int], float]]:
    """Every leaf of every tree at every background row as a conjunction: in-players, out-players, value."""
    parts = []
    for tree in trees:
        t = tree.tree_
        leaf_values = t.value[:, 0, -1]
        for b in background:
            stack: list[tuple[int, frozenset[int], frozenset[int]]] = [(0, frozenset(), frozenset())]
            while stack:
                node, inside, outside = stack.pop()
                if t.children_left[node] < 0:
                    parts.append((sorted(inside), sorted(outside), float(leaf_values[node]) * scale / len(background)))
                    continue
                feature, threshold = int(t.feature[node]), t.threshold[node]
                goes = {np.float32(x[feature]) <= threshold: "x", np.float32(b[feature]) <= threshold: "b"}
                if len(goes) == 1:
                    stack.append((t.children_left[node] if True in goes else t.children_right[node], inside, outside))
                    continue
                for left, who in goes.items():
                    child = t.children_left[node] if left else t.children_right[node]
                    if who == "x" and feature not in outside:
                        stack.append((child, inside | {feature}, outside))
                    if who == "b" and feature not in inside:
                        stack.append((child, inside, outside | {feature}))
    return parts


def forest_values(trees: list[Any], scale: float, x: FloatArray, background: FloatArray) -> FloatArray:
    """Exact interventional Shapley values of a sum of trees: each leaf is a conjunction of p present and q absent players."""
    values = np.zeros(len(x))
    for inside, outside, value in _forest_parts(trees, scale, x, background):
        p, q = len(inside), len(outside)
        for i in inside:
            values[i] += value / (p * comb(p + q, q))
        for i in outside:
            values[i] -= value / (q * comb(p + q, p))
    return values


def retrained(x: FloatArray, y: Any, x_test: FloatArray, y_test: Any, fit: Callable[[Any, Any], Any]) -> Payoff:
    """v(S) = test accuracy of a model fitted on the training rows in S; without two classes, of the only one (or a half)."""

    def worth(rows: BoolArray) -> float:
        labels = y[rows]
        if len(np.unique(labels)) < 2:
            return 0.5 if len(labels) == 0 else float((y_test == labels[0]).mean())
        return float((fit(x[rows], labels).predict(x_test) == y_test).mean())

    return lambda s: np.array([worth(rows) for rows in s])


def _cancer(features: int) -> tuple[FloatArray, Any]:
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    x = data.data[:, :features]
    return (x - x.mean(axis=0)) / x.std(axis=0), data.target


# --- the development games --------------------------------------------------------------------------------------------


def forest_cancer(features: int) -> Known:
    """A random forest's probability on breast cancer, against 10 background rows."""
    from sklearn.ensemble import RandomForestClassifier

    x, y = _cancer(features)
    model = RandomForestClassifier(50, random_state=0).fit(x[100:], y[100:])
    row = x[np.argmin(np.abs(model.predict_proba(x[:100])[:, 1] - 0.5))]  # the least certain case
    payoff = masked(lambda rows: model.predict_proba(rows)[:, 1], row, x[100:110])
    if features <= 16:
        return tabled(f"rf_bc{features}", features, payoff)
    return closed(f"rf_bc{features}", payoff, forest_values(model.estimators_, 1 / 50, row, x[100:110]))


def net_cancer() -> Known:
    """A small neural network's probability on breast cancer."""
    from sklearn.neural_network import MLPClassifier

    x, y = _cancer(14)
    model = MLPClassifier((32, 16), max_iter=1000, random_state=0).fit(x[100:], y[100:])
    row = x[np.argmin(np.abs(model.predict_proba(x[:100])[:, 1] - 0.5))]
    return tabled("mlp_bc14", 14, masked(lambda rows: model.predict_proba(rows)[:, 1], row, x[100:110]))


def net_friedman() -> Known:
    """A neural network's regression of Friedman's function, 12 features of which 5 matter."""
    from sklearn.datasets import make_friedman1
    from sklearn.neural_network import MLPRegressor

    x, y = make_friedman1(500, 12, random_state=0)
    model = MLPRegressor(hidden_layer_sizes=(32, 32), max_iter=2000, random_state=0).fit(x, y)
    return tabled("mlp_fried12", 12, masked(model.predict, x[0], x[100:110]))


def data_valuation() -> Known:
    """Test accuracy of logistic regression as a function of which of 12 training points it sees."""
    from sklearn.linear_model import LogisticRegression

    x, y = _cancer(10)
    rows = np.random.default_rng(0).permutation(len(y))
    train, test = rows[:12], rows[12:212]
    fit = LogisticRegression(max_iter=200)
    return tabled("datval12", 12, retrained(x[train], y[train], x[test], y[test], fit.fit))


def text_like() -> Known:
    """Tokens that matter together (AND) or in each other's place (OR), through a sigmoid."""

    def payoff(s: BoolArray) -> FloatArray:
        t = [s[:, i].astype(float) for i in range(14)]
        score = 1.5 * t[0] * t[1] + 2.0 * np.maximum(t[2], t[3]) - 2.5 * t[4] * t[5] * t[6] + 0.8 * t[7] - 0.5 * t[8]
        score += 1.2 * t[9] * np.maximum(t[10], t[11]) - 1.0 + 0.2 * t[12]
        return 1 / (1 + np.exp(-1.5 * score))

    return tabled("text14", 14, payoff)


def _corners(s: BoolArray) -> BoolArray:
    """Which 2×2 blocks of the 4×4 image are lit: (batch, 9)."""
    image = s.reshape(-1, 4, 4)
    return (image[:, :-1, :-1] & image[:, 1:, :-1] & image[:, :-1, 1:] & image[:, 1:, 1:]).reshape(-1, 9)


def corner_any() -> Known:
    """1 if any 2×2 block of a 4×4 image is lit."""
    return tabled("corner16_any", 16, lambda s: _corners(s).any(axis=1).astype(float))


def corner_one() -> Known:
    """1 if the one top-left block is lit: a single AND, 12 null players."""
    return tabled("corner16_one", 16, lambda s: _corners(s)[:, 0].astype(float))


def unanimity(n: int, count: int, largest: int, seed: int) -> Known:
    """Random signed unanimity games."""
    payoff, values = conjunctions(n, random_terms(np.random.default_rng(seed), n, count, largest, signed=True))
    return closed(f"unan{n}", payoff, values)


def voting(n: int, largest: int, seed: int) -> Known:
    """Weighted majority."""
    weights = np.random.default_rng(seed).integers(1, largest + 1, n)
    payoff, values = of_weighted_sum(weights, lambda total: (total > weights.sum() / 2).astype(float))
    return closed(f"vote{n}", payoff, values)


def airport() -> Known:
    """A runway for 100 planes costs what the largest needs."""
    payoff, values = of_maxima(np.sort(np.random.default_rng(4).gamma(2.0, 2.0, 100))[:, None])
    return closed("airport100", payoff, values)


def product() -> Known:
    """A product of 80 factors around 1."""
    payoff, values = of_product(np.random.default_rng(5).normal(0.0, 0.15, 80))
    return closed("product80", payoff, values)


DEVELOPMENT: dict[str, Callable[[], Known]] = {
    "rf_bc14": lambda: forest_cancer(14),
    "mlp_bc14": net_cancer,
    "mlp_fried12": net_friedman,
    "datval12": data_valuation,
    "text14": text_like,
    "corner16_any": corner_any,
    "corner16_one": corner_one,
    "unan16": lambda: unanimity(16, 40, 6, 1),
    "vote16": lambda: voting(16, 20, 2),
    "unan60": lambda: unanimity(60, 200, 6, 3),
    "airport100": airport,
    "vote50": lambda: voting(50, 20, 3),
    "rf_bc30": lambda: forest_cancer(30),
    "product80": product,
}


# --- the held-out games -----------------------------------------------------------------------------------------------


def boosted_wine() -> Known:
    """Boosted trees' log-odds of one wine class, 13 features."""
    from sklearn.datasets import load_wine
    from sklearn.ensemble import GradientBoostingClassifier

    data = load_wine()
    model = GradientBoostingClassifier(n_estimators=60, max_depth=4, random_state=1).fit(data.data, data.target == 1)
    return tabled("gbm_wine13", 13, masked(model.decision_function, data.data[80], data.data[5:165:16]))


def kernel_machine() -> Known:
    """A support vector machine's decision value, 15 features."""
    from sklearn.datasets import make_classification
    from sklearn.svm import SVC

    x, y = make_classification(400, 15, n_informative=8, random_state=3)
    model = SVC(C=3.0, gamma=0.1).fit(x, y)
    return tabled("svm15", 15, masked(model.decision_function, x[1], x[50:55]))


def neighbour_valuation() -> Known:
    """Test accuracy of 3 nearest neighbours, 13 training points."""
    from sklearn.datasets import make_moons

    x, y = make_moons(200, noise=0.3, random_state=4)

    def payoff(s: BoolArray) -> FloatArray:
        near = np.argsort(((x[13:, None] - x[None, :13]) ** 2).sum(-1), axis=1)  # (test, 13)
        sorted_in = s[:, near]  # (batch, test, 13)
        counted = sorted_in & (np.cumsum(sorted_in, axis=2) <= 3)
        votes = (counted * (2.0 * y[near] - 1)).sum(axis=2)
        return np.where(votes == 0, 0.5, (votes > 0) == y[13:]).mean(axis=1)

    return tabled("knn13", 13, lambda s: np.concatenate([payoff(c) for c in np.array_split(s, max(1, len(s) // 1000))]))


def clique_count() -> Known:
    """Largest connected group of a random graph on 14 vertices."""
    n = 14
    graph = np.triu(np.random.default_rng(6).random((n, n)) < 0.2, 1)
    graph = graph | graph.T

    def payoff(s: BoolArray) -> FloatArray:
        label = np.where(s, np.arange(n), -1)
        for _ in range(n):
            spread = np.where(s[:, :, None] & s[:, None, :] & graph, label[:, None, :], -1).max(axis=2)
            label = np.where(s, np.maximum(label, spread), -1)
        return np.stack([(label == j).sum(axis=1) for j in range(n)]).max(axis=0).astype(float)

    return tabled("graph14", n, lambda s: np.concatenate([payoff(c) for c in np.array_split(s, max(1, len(s) // 2000))]))


def facility(n: int, customers: int, seed: int) -> Known:
    """Facility location: every customer is served by the best open facility."""
    rng = np.random.default_rng(seed)
    places, homes = rng.random((n, 2)), rng.random((customers, 2))
    payoff, values = of_maxima(np.exp(-4 * np.linalg.norm(places[:, None] - homes, axis=2)))
    return closed(f"facility{n}", payoff, values)


def logic() -> Known:
    """A random DNF of 8 clauses with negations over 15 variables."""
    rng = np.random.default_rng(8)
    clauses = [(rng.choice(15, 4, replace=False), rng.random(4) < 0.3) for _ in range(8)]
    return tabled("dnf15", 15, lambda s: np.any([(s[:, c] ^ neg).all(axis=1) for c, neg in clauses], axis=0).astype(float))


def gloves(left: int, right: int) -> Known:
    """Left and right gloves: only pairs sell."""
    n = left + right
    is_left = np.arange(n) < left

    def mean_gain(same: int, other: int) -> float:
        """P(others of my kind < others of the opposite kind) at a uniform arrival time."""
        nodes, weights = np.polynomial.legendre.leggauss(n // 2 + 2)
        x, dx = (nodes + 1) / 2, weights / 2
        mine, theirs = _binomial(same - 1, x), _binomial(other, x)
        below = np.cumsum(mine, axis=0)  # P(mine ≤ j)
        reach = np.vstack([np.zeros((1, len(x))), below])  # P(mine < j)
        chance = sum(theirs[j] * reach[min(j, same)] for j in range(other + 1))
        return float(dx @ chance)

    values = np.where(is_left, mean_gain(left, right), mean_gain(right, left))
    payoff = lambda s: np.minimum(s[:, is_left].sum(axis=1), s[:, ~is_left].sum(axis=1)).astype(float)  # noqa: E731
    return closed(f"gloves{n}", payoff, values)


def _binomial(trials: int, x: FloatArray) -> FloatArray:
    """P(Bin(trials, x) = j): (trials + 1, len(x))."""
    j = np.arange(trials + 1)[:, None]
    log = np.array([lgamma(trials + 1) - lgamma(i + 1) - lgamma(trials - i + 1) for i in range(trials + 1)])[:, None]
    return np.exp(log + j * np.log(x) + (trials - j) * np.log1p(-x))


def capped(n: int, largest: int, seed: int) -> Known:
    """A market that absorbs no more than 40 % of what all offer."""
    weights = np.random.default_rng(seed).integers(1, largest + 1, n)
    payoff, values = of_weighted_sum(weights, lambda total: np.minimum(total, 0.4 * weights.sum()))
    return closed(f"capped{n}", payoff, values)


def coverage(n: int, items: int, seed: int) -> Known:
    """Weighted items, each counted once however many players cover it."""
    rng = np.random.default_rng(seed)
    covers = rng.random((n, items)) < 4 / n
    worth = rng.gamma(1.0, 1.0, items) * covers.any(axis=0)
    values = (covers / np.maximum(covers.sum(axis=0), 1)) @ worth
    return closed(f"coverage{n}", lambda s: (s.astype(float) @ covers > 0) @ worth, values)


def neighbours_closed() -> Known:
    """KNN utility of 70 training points, each test point counting its nearest neighbour's agreement: closed form."""
    from sklearn.datasets import make_moons

    x, y = make_moons(130, noise=0.3, random_state=9)
    n, tests = 70, range(70, 130)
    values, orders = np.zeros(n), []
    for t in tests:
        order = np.argsort(((x[:n] - x[t]) ** 2).sum(axis=1))
        agree = (y[order] == y[t]).astype(float)
        orders.append((order, agree))
        share = np.zeros(n)
        share[-1] = agree[-1] / n
        for j in range(n - 2, -1, -1):
            share[j] = share[j + 1] + (agree[j] - agree[j + 1]) / (j + 1)
        values[order] += share / len(tests)

    def payoff(s: BoolArray) -> FloatArray:
        total = np.zeros(len(s))
        for order, agree in orders:
            total += np.where(s.any(axis=1), agree[np.argmax(s[:, order], axis=1)], 0.0)
        return total / len(orders)

    return closed("knn70", payoff, values)


def boosted_regression() -> Known:
    """Boosted trees on 40 features of which 15 matter: values leaf by leaf."""
    from sklearn.datasets import make_regression
    from sklearn.ensemble import GradientBoostingRegressor

    x, y = make_regression(400, 40, n_informative=15, random_state=5)
    y = (y - y.mean()) / y.std() + np.sign(x[:, 0] * x[:, 1])
    model = GradientBoostingRegressor(n_estimators=60, max_depth=4, random_state=2).fit(x, y)
    trees = [tree for stage in model.estimators_ for tree in stage]
    values = forest_values(trees, model.learning_rate, x[2], x[100:106])
    return closed("gbm40", masked(model.predict, x[2], x[100:106]), values)


def noise() -> Known:
    """Twelve additive players plus payoff noise without structure."""
    rng = np.random.default_rng(10)
    table = rng.normal(0, 0.3, 1 << 12)
    weights = rng.random(12)
    return tabled("noise12", 12, lambda s: s @ weights + table[s @ (1 << np.arange(12))])


HELD_OUT: dict[str, Callable[[], Known]] = {
    "gbm_wine13": boosted_wine,
    "svm15": kernel_machine,
    "knn13": neighbour_valuation,
    "graph14": clique_count,
    "facility15": lambda: facility(15, 10, 7),
    "dnf15": logic,
    "gloves16": lambda: gloves(7, 9),
    "capped16": lambda: capped(16, 20, 11),
    "noise12": noise,
    "facility60": lambda: facility(60, 30, 12),
    "capped50": lambda: capped(50, 12, 13),
    "coverage80": lambda: coverage(80, 120, 14),
    "knn70": neighbours_closed,
    "gbm40": boosted_regression,
    "gloves90": lambda: gloves(40, 50),
    "unan90": lambda: unanimity(90, 120, 8, 15),
}
