"""Everything worth knowing about a small game on one page: values, synergy, conditional values, best subsets, in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from accredit import defaults
from accredit.checks.json_data import plain, round_off
from accredit.core import Attribution, Coalition, Game, Interactions, player_index, tabulate
from accredit.core.rounding import blur, blur_of
from accredit.errors import InvalidInput
from accredit.methods import find
from accredit.values.interactions import (
    best_subsets,
    payoff_of,
    shapley_interactions,
    value_given,
)

COUNT = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine"}
SET = {1: "single", 2: "pair", 3: "triple"}


@dataclass(frozen=True)
class GameReport:
    """A game, explained. `given[i][j]` is what i adds to j alone; `alone` and `last` are what i adds to nobody and to all
    the others."""

    values: Attribution
    interactions: Interactions | None  # None for a single player
    alone: Mapping[str, float]
    last: Mapping[str, float]
    given: Mapping[str, Mapping[str, float]]
    best: Mapping[int, tuple[Coalition, float]]
    reading: tuple[str, ...]

    def to_plain(self) -> dict[str, object]:
        """The report as JSON types: `values` maps player to credit, the rest beside it."""
        return {
            "values": self.values.as_dict(),
            "method": str(self.values.method),
            "total": self.values.total,
            "baseline": self.values.baseline,
            "claims": [{"axiom": c.axiom, "holds": str(c.holds), "because": c.because} for c in self.values.claims],
            "interactions": {"+".join(map(_quote, who)): x for who, x in self.interactions or ()},
            "conditional": {
                i: {"alone": self.alone[i], "given": dict(self.given[i]), "last": self.last[i]} for i in self.values.players
            },
            "best": {str(k): {"coalition": list(who), "payoff": x} for k, (who, x) in self.best.items()},
            "reading": list(self.reading),
            "attribution": plain(self.values._as_plain()),
        }


def report(
    game: Game,
    method: str = "shapley",
    groups: Mapping[str, list[str]] | None = None,
    *,
    order: object = None,
    budget: int | None = None,
    seed: int = 0,
) -> GameReport:
    """Values by any method for games (see `accredit methods`), with everything that a value hides.

    Costs 2ⁿ payoffs, so every value that can be exact is. `budget` and `seed` are for sampled values, `groups` is only for
    owen, hierarchy and banzhaf-owen, `order` only for asymmetric.
    """
    chosen = find(method, "game")
    if groups and "groups" not in chosen.method.takes:
        raise InvalidInput(
            f"groups are given with method {chosen.name!r}; only owen, hierarchy and banzhaf-owen divide inside groups",
            argument="groups",
            code="conflict",
        )
    spend = budget or max(defaults.BUDGET, 1 << len(game.players))
    values: Attribution = chosen.solver(spend, seed, groups, order).solve(game)
    players, noise = game.players, _noise(game)
    everyone = set(players)

    def settle(x: float) -> float:
        return 0.0 if abs(x) <= noise else x

    values = replace(values, credit=np.where(np.abs(values.credit) <= noise, 0.0, values.credit))
    pairs = shapley_interactions(game) if len(players) > 1 else None
    if pairs is not None:
        pairs = replace(pairs, values={who: settle(x) for who, x in pairs})
    return GameReport(
        values,
        pairs,
        {i: settle(value_given(game, i)) for i in players},
        {i: settle(value_given(game, i, everyone - {i})) for i in players},
        {i: {j: settle(value_given(game, i, [j])) for j in players if j != i} for i in players},
        best := best_subsets(game),
        tuple(_reading(game, values, pairs, best, noise)),
    )


def _noise(game: Game) -> float:
    """What the rounding of payoffs may leave of a sum that is zero: of a sum of four payoffs, as interactions are."""
    return 4 * blur_of(game) + blur(float(np.abs(tabulate(game)).max()))


def _reading(
    game: Game,
    values: Attribution,
    pairs: Interactions | None,
    best: Mapping[int, tuple[Coalition, float]],
    noise: float,
) -> list[str]:
    """The report in plain words."""
    n = len(values)
    lines = []
    earned = tabulate(game)
    total, baseline = float(earned[-1] - earned[0]), float(earned[0])
    lines.append(
        f"Without anybody the payoff is {round_off(baseline)}, with everybody {round_off(baseline + total)}."
        if abs(baseline) > noise
        else f"Everybody together earns {round_off(total)}."
    )
    for k in range(1, n):
        line = _top_against_best(game, values, k, best[k], noise)
        if line:
            lines.append(line)
    lines += _synergy(game, pairs) if pairs is not None else []
    nothing = [p for p in values.players if _never_matters(game, p, noise)]
    if nothing:
        lines.append(f"{_and(nothing)} {'adds' if len(nothing) == 1 else 'add'} nothing to any coalition.")
    if abs(values.unshared or 0.0) > n * noise:
        lines.append(f"These values do not add up to {round_off(total)}: {round_off(values.unshared or 0.0)} is left over.")
    return lines


def _top_against_best(game: Game, values: Attribution, k: int, best: tuple[Coalition, float], noise: float) -> str:
    """Does buying the k highest values buy the best k players? Where values tie, the best k count as highest too."""
    top = values.ranked().players[:k]
    worth = payoff_of(game, top)
    who, highest = best
    as_high = sum(values[p] for p in who) >= sum(values[p] for p in top) - k * noise
    if as_high or highest - worth <= noise:
        return ""
    if k == 1:
        return (
            f"The highest value is {top[0]}, worth {round_off(worth)} alone; "
            f"the best single player is {who[0]}, worth {round_off(highest)}."
        )
    named = SET.get(k, f"set of {COUNT.get(k, k)}")
    in_order = [p for p in values.players if p in top]
    return (
        f"The {COUNT.get(k, k)} highest values are {_and(in_order)}, worth {round_off(worth)} together; "
        f"the best {named} is {' + '.join(who)}, worth {round_off(highest)}."
    )


def _synergy(game: Game, pairs: Interactions) -> list[str]:
    """The strongest complements and the strongest substitutes, each shown where it is plainest."""
    ordered = sorted(pairs, key=lambda item: item[1])
    lines = []
    (low, least), (high, most) = ordered[0], ordered[-1]
    if most > 0:
        lines.append(f"{_and(high)} complement each other most ({round_off(most)}): {_plainest(game, high, 1)}.")
    if least < 0:
        lines.append(f"{_and(low)} replace each other most ({round_off(least)}): {_plainest(game, low, -1)}.")
    return lines


def _plainest(game: Game, pair: Coalition, sign: int) -> str:
    """What b adds without and with a, beside the coalition of the others in which that differs most."""
    (a, b), v = pair, tabulate(game)
    bit_a, bit_b = (1 << player_index(game.players, p) for p in pair)
    others = np.flatnonzero((np.arange(v.size) & (bit_a | bit_b)) == 0)
    without, with_a = v[others | bit_b] - v[others], v[others | bit_a | bit_b] - v[others | bit_a]
    k = int(np.argmax(sign * (with_a - without)))
    beside = [p for i, p in enumerate(game.players) if others[k] >> i & 1]
    start = f"given {_and(beside)}" if beside else "alone"
    return f"{b} adds {round_off(without[k])} {start}, {round_off(with_a[k])} given {_and([a, *beside])}"


def _never_matters(game: Game, player: str, noise: float) -> bool:
    halves = tabulate(game).reshape(-1, 2, 1 << player_index(game.players, player))
    return bool(np.abs(halves[:, 1] - halves[:, 0]).max() <= noise)


def _quote(name: str) -> str:
    """A name among others joined by +: in quotation marks where it could be read as several."""
    return json.dumps(name, ensure_ascii=False) if "+" in name or name.startswith('"') else name


def _and(names: list[str] | tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
