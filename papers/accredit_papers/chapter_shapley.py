"""Sections 10.2 to 10.4 of the chapter: Shapley values, their estimation, datamodels, integrated gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import permutations

import numpy as np

from accredit.core import FloatArray
from accredit.core.coalitions import from_index
from accredit.games import TableGame
from accredit.values import Solver, banzhaf, shapley
from accredit.values.differences import Differences, DifferencesHint
from accredit.values.interactions import mobius_from_table
from accredit.values.orders import Permutations
from accredit_papers.report import Report, Whose
from accredit_papers.verdicts import all_of, over_runs


def random_game(rng: np.random.Generator, players: int) -> TableGame:
    """A game of independent normal payoffs, v(∅) = 0."""
    table = rng.normal(size=1 << players)
    table[0] = 0.0
    return TableGame(tuple(f"player {i + 1}" for i in range(players)), table)


def by_orders(game: TableGame) -> FloatArray:
    """Definition 10.2.2: the mean gain on arrival over all n! orders."""
    n, v = len(game.players), game.table
    total = np.zeros(n)
    for order in permutations(range(n)):
        before = 0
        for i in order:
            total[i] += v[before | 1 << i] - v[before]
            before |= 1 << i
    return total / math.factorial(n)


def by_sizes(game: TableGame) -> FloatArray:
    """Definition 10.2.3: a size drawn uniformly, then a coalition of that size without the player."""
    n, v = len(game.players), game.table
    masks = np.arange(v.size)
    size = np.bitwise_count(masks)
    value = np.zeros(n)
    for i in range(n):
        without = masks >> i & 1 == 0
        gains = v[masks | 1 << i] - v
        value[i] = np.mean([gains[without & (size == k)].mean() for k in range(n)])
    return value


def by_formula(game: TableGame) -> FloatArray:
    """Theorem 10.2.4, (10.13)."""
    n, v = len(game.players), game.table
    value = np.zeros(n)
    for i in range(n):
        for mask in range(v.size):
            if not mask >> i & 1:
                value[i] += (v[mask | 1 << i] - v[mask]) / (n * math.comb(n - 1, mask.bit_count()))
    return value


def by_unanimity(game: TableGame) -> FloatArray:
    """The proof of Theorem 10.2.5: split the game into unanimity games, share each evenly among its members."""
    dividends = mobius_from_table(game.table)
    members = from_index(np.arange(1, dividends.size), len(game.players))
    return np.asarray((dividends[1:] / members.sum(axis=1)) @ members)


def differences(game: TableGame) -> FloatArray:
    """Theorem 10.2.8: φ_i − φ_j for every pair, (n, n)."""
    n, v = len(game.players), game.table
    gap = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j:
                free = [m for m in range(v.size) if not (m >> i | m >> j) & 1]
                gap[i, j] = sum((v[m | 1 << i] - v[m | 1 << j]) / math.comb(n - 2, m.bit_count()) for m in free) / (n - 1)
    return gap


def definitions(report: Report, seed: int, games: int) -> None:
    """Cookies; Definitions 10.2.2 and 10.2.3, Theorems 10.2.4, 10.2.5, 10.2.8."""
    report.heading("10.2 One value, four ways")
    cookies = TableGame(("Alice", "Bob"), [0, 5, 3, 10])
    credit = shapley(cookies).credit
    report.verdict(
        "Alice alone bakes 5, Bob 3, both 10: fair shares are (6, 4)",
        np.allclose(credit, [6, 4]),
        f"computed ({credit[0]:g}, {credit[1]:g})",
    )
    rng = np.random.default_rng(seed)
    worst = dict.fromkeys(["random orders", "random size, then coalition", "formula (10.13)", "unanimity games"], 0.0)
    apart = 0.0
    for _ in range(games):
        game = random_game(rng, 5)
        exact = shapley(game).credit
        for name, way in zip(worst, (by_orders, by_sizes, by_formula, by_unanimity), strict=True):
            worst[name] = max(worst[name], float(np.abs(way(game) - exact).max()))
        apart = max(apart, float(np.abs(differences(game) - (exact[:, None] - exact)).max()))
    report.table(["way", "largest gap to accredit.shapley"], [[name, f"{gap:.1e}"] for name, gap in worst.items()], detail=True)
    report.verdict(
        "Definitions 10.2.2 and 10.2.3, Theorem 10.2.4 and the proof of 10.2.5 give one and the same value",
        max(worst.values()) < 1e-12,
        f"{games} random games of five players",
    )
    report.verdict("Theorem 10.2.8: the formula for differences s_i − s_j", apart < 1e-12, f"largest gap {apart:.1e}")


def estimation(report: Report, seed: int, repeats: int) -> None:
    """Lemma 10.2.6 and Problem 10.2.7."""
    report.heading("10.2.6 and 10.2.7 Estimating all values at once")
    rng = np.random.default_rng(seed)
    n = 12
    weights = rng.uniform(0.2, 1, n)
    members = from_index(np.arange(1 << n), n)
    players = tuple(f"player {i + 1}" for i in range(n))
    game = TableGame(players, np.tanh(members @ weights))
    rough = TableGame(players, members.sum(axis=1) % 2 - 0.5)  # every gain is R or −R: nothing varies more
    epsilon, told, most = 0.1, [], 0.0
    for name, one in (("tanh game", game), ("parity, whose gains are all R or −R", rough)):
        reach = float(max(np.abs(np.diff(one.table.reshape(-1, 2, 1 << i), axis=1)).max() for i in range(n)))
        orders = math.ceil(reach**2 * n * math.log(n) / epsilon**2)
        truth = shapley(one).credit
        errors = [_error(Permutations(orders=orders, seed=seed + k).solve(one).credit, truth) for k in range(repeats)]
        told.append(f"{name}, R = {reach:.2f}: {orders} orders, the largest error of {repeats} runs was {max(errors):.3f}")
        most = max(most, *errors)
    report.verdict(
        "Lemma 10.2.6: R²N log N/ε² random orders give all values within ε in the Euclidean norm, with high probability",
        most <= epsilon,
        f"N = {n}, ε = {epsilon}; {'; '.join(told)}. A gain has a variance of at most R², so the mean square of the error is "
        "at most ε²/log N in any game",
    )
    report.say(
        "Problem 10.2.7 asks for the differences s_1 − s_j from shared coalitions. Taken literally, one set S serves every j, "
        "but a payoff v(S ∪ j) must still be asked for each j: a payoff buys one difference, as it buys one gain along an "
        "order. What the hint gains, it gains only where differences vary less than gains. `Differences` uses each payoff for "
        "*all* pairs of players, with an additive control variate:"
    )
    noise = random_game(rng, n)
    budget = 602
    ways: dict[str, Callable[[int], Solver]] = {
        "random orders": lambda s: Permutations(budget=budget, seed=s),
        "differences, the hint taken literally": lambda s: DifferencesHint(budget=budget, seed=s),
        "differences of all pairs": lambda s: Differences(budget=budget, seed=s),
    }
    squares = {name: [_squared_errors(make, played, seed, repeats) for played in (game, noise)] for name, make in ways.items()}
    found = {name: [float(np.sqrt(one.mean())) for one in both] for name, both in squares.items()}
    report.table(
        [f"root mean squared error, {budget} payoffs", "tanh game", "noise"],
        [[name, *off] for name, off in found.items()],
    )
    orders_off, hint_off, pairs_off = (np.array(off) for off in found.values())
    by_orders_off, _, by_pairs_off = squares.values()
    report.verdict(
        "Problem 10.2.7: coalitions shared between players save payoffs",
        all_of(
            over_runs(one - other, low=0, unit="run", family=2) for one, other in zip(by_orders_off, by_pairs_off, strict=True)
        ),
        f"all pairs: {orders_off[0] / pairs_off[0]:.1f} times less error than random orders at equal payoffs in the tanh game, "
        f"{orders_off[1] / pairs_off[1]:.1f} times in pure noise; the literal hint: {orders_off[0] / hint_off[0]:.1f} and "
        f"{orders_off[1] / hint_off[1]:.1f} times",
    )


def _squared_errors(make: Callable[[int], Solver], game: TableGame, seed: int, repeats: int) -> FloatArray:
    exact = shapley(game).credit
    return np.array([_error(make(seed + k).solve(game).credit, exact) ** 2 for k in range(repeats)])


def _error(estimate: FloatArray, exact: FloatArray) -> float:
    return float(np.linalg.norm(estimate - exact))


def datamodels_and_gradients(report: Report, seed: int) -> None:
    """Section 10.3: what a linear datamodel estimates; section 10.4.1: integrated gradients and Shapley."""
    report.heading("10.3 What a datamodel estimates")
    rng = np.random.default_rng(seed)
    game = random_game(rng, 8)
    signs = 2.0 * from_index(np.arange(256), 8) - 1
    design = np.column_stack([np.ones(256), signs])
    theta = np.linalg.lstsq(design, game.table, rcond=None)[0][1:]
    gap = float(np.abs(2 * theta - banzhaf(game).credit).max())
    report.verdict(
        "The least-squares datamodel at p = ½ is half the Banzhaf value of each row",
        gap < 1e-12,
        f"random game of eight rows, all 256 subsets: largest gap {gap:.1e}. Lasso shrinks it and keeps no axiom",
        whose=Whose.OURS,
    )
    report.heading("10.4.1 Integrated gradients")
    nodes, weights = np.polynomial.legendre.leggauss(16)
    along = (nodes + 1) / 2
    dividends = mobius_from_table(game.table)
    members = from_index(np.arange(256), 8)
    size = members.sum(axis=1)
    # ∂/∂x_i Σ_T m(T) Π_{j∈T} x_j on the diagonal x = α is Σ_{T∋i} m(T) α^{|T|−1}.
    slope = np.where(size > 0, dividends, 0.0) * along[:, None] ** np.maximum(size - 1, 0)
    integrated = (weights / 2) @ slope @ members
    exact = shapley(game)
    off = float(np.abs(integrated - exact.credit).max())
    report.verdict(
        "Integrated gradients of the multilinear extension, from nobody to everybody, are the Shapley values",
        off < 1e-12,
        f"random game of eight players: largest gap {off:.1e}. For a model that is not multilinear they are Aumann–Shapley "
        "values of the model itself, not Shapley values of the masked-input game",
        whose=Whose.OURS,
    )
    complete = abs(float(integrated.sum()) - (exact.total or 0.0))
    report.verdict("Completeness: the attributions add up to F(x) − F(x′)", complete < 1e-12, f"residual {complete:.1e}")
