"""Games made to break claims, and attributions made to deserve refutation.

Every method meets every hostile game. It may refuse with a typed error; whatever it returns must be finite, keep what it claims
on that game, and share what it says it shares. The other way round, an attribution whose credit was changed by a millionth,
or given to the wrong player, must be refuted: a check that never refutes proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from accredit.core import Attribution, FloatArray, Game, Holds
from accredit.errors import AccreditError
from accredit.evaluate import ClaimRefuted, axioms_kept, check_claims
from accredit.games import FunctionGame, TableGame
from accredit.values import (
    Antithetic,
    Differences,
    DifferencesHint,
    KernelShap,
    Lasso,
    Leverage,
    Lime,
    Permutations,
    SampledBanzhaf,
    SampledBeta,
    Surrogate,
    Truncated,
    banzhaf,
    beta,
    leave_one_out,
    owen,
    shapley,
)
from tools.proof.kinds import KINDS, asked_game

Method = Callable[[Game], Attribution]
BUDGET = 60
METHODS: dict[str, Method] = {
    "shapley": shapley,
    "banzhaf": banzhaf,
    "beta": lambda g: beta(g, 4, 1),
    "leave-one-out": leave_one_out,
    "owen": lambda g: owen(g, [list(g.players[: len(g.players) // 2 + 1])]),
    "owen, orders": lambda g: owen(g, [list(g.players[: len(g.players) // 2 + 1])], orders=30),
    "Surrogate": lambda g: Surrogate(BUDGET).solve(g),
    "Permutations": lambda g: Permutations(budget=4 * BUDGET).solve(g),
    "Antithetic": lambda g: Antithetic(budget=4 * BUDGET).solve(g),
    "Differences": lambda g: Differences(BUDGET).solve(g),
    "DifferencesHint": lambda g: DifferencesHint(4 * BUDGET).solve(g),
    "KernelShap": lambda g: KernelShap(BUDGET).solve(g),
    "Leverage": lambda g: Leverage(BUDGET).solve(g),
    "SampledBanzhaf": lambda g: SampledBanzhaf(BUDGET).solve(g),
    "SampledBeta": lambda g: SampledBeta(4, 1, BUDGET).solve(g),
    "Truncated": lambda g: Truncated(4 * BUDGET).solve(g),
    "Lime": lambda g: Lime(BUDGET).solve(g),
    "Lasso": lambda g: Lasso(BUDGET).solve(g),
}
EXACT = ("shapley", "banzhaf", "beta", "leave-one-out", "owen")
HOSTILE = (
    "near-ties",
    "huge",
    "tiny",
    "below the smallest normal number",
    "constant",
    "zero",
    "large v(∅)",
    "one NaN",
    "one infinity",
    "one spike",
    "equal but for rounding",
    "null but for rounding",
    "cancelling",
    "random payoffs",
    "one player",
)


def hostile_game(k: int) -> tuple[str, Game]:
    """Hostile game number k, and what is hostile about it."""
    rng = np.random.default_rng([17, k])
    name, n = HOSTILE[k % len(HOSTILE)], int(rng.integers(2, 9))
    v = KINDS[tuple(KINDS)[int(rng.integers(len(KINDS)))]](rng, n)
    index = np.arange(v.size)
    if name == "near-ties":
        v = 1 + 1e-12 * v
    elif name in ("huge", "tiny", "below the smallest normal number"):
        v = v * {"huge": 1e148, "tiny": 1e-300}.get(name, 1e-315)
    elif name in ("constant", "zero"):
        v = np.full(v.size, rng.normal() if name == "constant" else 0.0)
    elif name == "large v(∅)":
        v[0] += 1e9
    elif name in ("one NaN", "one infinity"):
        v[int(rng.integers(v.size))] = np.nan if name == "one NaN" else -np.inf
    elif name == "one spike":
        v[int(rng.integers(v.size))] += 1e6
    elif name == "equal but for rounding":
        differ = (index ^ index >> 1) & 1
        v = (v + v[index ^ (differ | differ << 1)]) / 2 * (1 + 1e-16 * rng.normal(size=v.size))
    elif name == "null but for rounding":
        v = v[index & ~1] * (1 + 1e-16 * rng.normal(size=v.size))
    elif name == "cancelling":
        v = 1e12 * (-1.0) ** np.bitwise_count(index) + v
    elif name == "random payoffs":
        return name, FunctionGame([f"p{i}" for i in range(n)], lambda s: rng.normal(size=len(s)))
    elif name == "one player":
        v = v[[0, -1]]
    return name, asked_game(v)


def verdict(method: str, k: int) -> tuple[str, str]:
    """How one method ends on hostile game k: refused, kept, refuted, or at fault; and what it said."""
    name, game = hostile_game(k)
    try:
        found = METHODS[method](game)
    except AccreditError as error:
        return "refused", str(error)
    except Exception as error:
        return "fault", f"{type(error).__name__}: {error}"
    if not np.isfinite(found.credit).all():
        return "fault", f"credit {found.credit}"
    told = found.claim("efficiency").holds is Holds.EXACTLY
    scale = float(np.abs(found.credit).max()) + abs(found.baseline or 0.0) + abs(found.total or 0.0) + 1e-310
    if told and found.unshared is not None and abs(found.unshared) > 1e-9 * scale:
        return "fault", f"claims efficiency exactly and leaves {found.unshared} of {found.total} unshared"
    if name == "random payoffs":
        return "kept", "the same payoffs cannot be asked again"
    try:
        check_claims(found, game)
    except ClaimRefuted as error:
        return "fault", f"refuted: {error}"
    except AccreditError as error:  # the method did not ask for the one bad payoff; the check did
        return "kept", str(error)
    return "kept", ""


def forged(k: int) -> Iterator[tuple[str, bool]]:
    """Attributions of game k that break an axiom which they claim: what was done, and whether it was refuted."""
    rng = np.random.default_rng([19, k])
    n = int(rng.integers(3, 8))
    v = rng.normal(size=1 << n) * 10.0 ** float(rng.integers(-100, 100))
    index = np.arange(v.size)
    differ = (index ^ index >> 1) & 1
    v = (v + v[index ^ (differ | differ << 1)]) / 2  # players 0 and 1 are equal
    v = v[index & ~(1 << n - 1)]  # the last one is null
    game = TableGame([f"p{i}" for i in range(n)], v)
    honest = shapley(game)
    change = 1e-6 * float(np.abs(v - v[0]).max())
    moved = {
        "a millionth too much": _added(honest, 2, change),
        "equal players treated unequally": _added(_added(honest, 0, change), 1, -change),
        "the null player paid": _added(_added(honest, n - 1, change), 0, -change),
    }
    for what, attribution in moved.items():
        yield what, _is_refuted(attribution, game)
    yield "honest, in another order", not _is_refuted(honest.ranked(), game)
    names = tuple(game.players[i] for i in np.roll(np.arange(n), 1))
    yield "given to the wrong players", _is_refuted(replace(honest, players=names), game)


def _added(attribution: Attribution, i: int, change: float) -> Attribution:
    credit: FloatArray = attribution.credit.copy()
    credit[i] += change
    return replace(attribution, credit=credit)


def _is_refuted(attribution: Attribution, game: Game) -> bool:
    try:
        check_claims(attribution, game)
    except ClaimRefuted:
        return True
    return False


def kept_whatever(method: str, k: int) -> list[str]:
    """Axioms that an exact method claims exactly and breaks when the axiom's own witness is planted in game k."""
    rng = np.random.default_rng([23, k])
    n = int(rng.integers(1, 7))
    game: Any = TableGame([f"p{i}" for i in range(n)], rng.normal(size=1 << n) * 10.0 ** float(rng.integers(-140, 140)))
    found = axioms_kept(METHODS[method], game, seed=k)
    return [str(f) for f in found if f.claimed is Holds.EXACTLY and f.verdict == "broken"]
