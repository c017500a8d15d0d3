"""Axioms, tested: does this credit keep what it claims, and which axioms does this method keep on this game?

A finding names the witness: the player, the pair of players or the game that breaks the axiom.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import overload

import numpy as np

from accredit.checks import check_seed, shown
from accredit.checks.arguments import CHECKS, check_arguments, check_callable, made
from accredit.core import AXIOMS, Attribution, Attributions, FloatArray, Game, Games, Holds, Tabulated, endpoints, tabulate
from accredit.core.attribution import returned
from accredit.core.games import Record
from accredit.core.rounding import blur, blur_of
from accredit.errors import AccreditError, InvalidInput
from accredit.games import TableGame

TOLERANCE = 1e-9  # of the largest |v(S) − v(∅)|: what solving may lose
SMALLEST = 1e-318  # no difference below this means anything: doubles end at 5e-324, with one digit left
WITNESS_LIMIT = 16  # players; finding null and equal players needs the whole table
SIGMAS = 8.0  # in-expectation claims: a normal error exceeds this with probability 1.2e-15

Method = Callable[[Game], Attribution]


def _check_method(given: object, name: str) -> object:
    """A function of a game. Solvers are classes with a method that is one."""
    kind = given if isinstance(given, type) else type(given)
    if hasattr(kind, "solve"):
        raise InvalidInput(
            f"{name} is {shown(given)}; give a function of a game, as in {made(kind)}.solve", argument=name, code="type"
        )
    if isinstance(given, type):
        raise InvalidInput(
            f"{name} is the class {kind.__name__}; give a function of a game, as in {name}=shapley", argument=name, code="type"
        )
    return check_callable(given, name)


CHECKS[Method] = _check_method


class ClaimRefuted(AccreditError, AssertionError):
    """An attribution claims an axiom that it breaks.

    >>> from accredit.core import Claim
    >>> cookies = TableGame(("alice", "bob"), [0, 5, 3, 10])
    >>> wrong = Attribution(("alice", "bob"), [5, 4], 10, "by hand", (Claim("efficiency", Holds.EXACTLY, "so it is said"),))
    >>> check_claims(wrong, cookies)
    Traceback (most recent call last):
        ...
    accredit.evaluate.axioms.ClaimRefuted: by hand claims efficiency exactly, but the credits sum to 9, v(N) − v(∅) ...
    """

    usual = "refuted"


@dataclass(frozen=True)
class Finding:
    """One axiom, put to the test.

    >>> from accredit.values import leave_one_out
    >>> cookies = TableGame(("alice", "bob"), [0, 5, 3, 10])
    >>> print(axioms_kept(leave_one_out, cookies)[0])
    efficiency: broken (the credits sum to 12, v(N) − v(∅) is 10; residual 2, claimed no)
    """

    axiom: str
    claimed: Holds
    verdict: str  # "kept", "broken" or "untested"
    residual: float  # how far from the axiom, in payoff units; 0 where untested
    witness: str  # who breaks it, or why it could not be tested

    def __str__(self) -> str:
        return f"{self.axiom}: {self.verdict} ({self.witness}; residual {self.residual:.2g}, claimed {self.claimed})"


def null_players(v: FloatArray, tolerance: float = 0.0) -> list[int]:
    """Players whose arrival changes no payoff by more than `tolerance`; v is a full table."""
    n = v.size.bit_length() - 1
    split = [v.reshape(-1, 2, 1 << i) for i in range(n)]
    return [i for i in range(n) if np.abs(split[i][:, 1] - split[i][:, 0]).max() <= tolerance]


def equal_players(v: FloatArray, tolerance: float = 0.0) -> list[tuple[int, int]]:
    """Pairs whose exchange changes no payoff by more than `tolerance`; v is a full table."""
    n = v.size.bit_length() - 1
    pairs = []
    for j in range(n):
        for i in range(j):
            cube = v.reshape(1 << (n - 1 - j), 2, 1 << (j - 1 - i), 2, 1 << i)
            if np.abs(cube[:, 1, :, 0] - cube[:, 0, :, 1]).max() <= tolerance:
                pairs.append((i, j))
    return pairs


@overload
def check_claims(attribution: Attributions, game: Games, method: Method | None = None) -> dict[str, tuple[Finding, ...]]: ...
@overload
def check_claims(attribution: Attribution, game: Game, method: Method | None = None) -> tuple[Finding, ...]: ...
@check_arguments
def check_claims(
    attribution: Attribution | Attributions, game: Game, method: Method | None = None
) -> tuple[Finding, ...] | dict[str, tuple[Finding, ...]]:
    """Test every claim of `attribution` about `game`; a refuted one raises `ClaimRefuted` with its witness.

    Null and equal players are looked for in the full table, up to 16 players; beyond that only efficiency is tested, from two
    payoffs.
    Linearity is a statement about other games: it is tested only when the `method` that made the attribution is given.
    Claims in expectation or in the limit are held to 8 standard errors; without standard errors they stay untested.
    `Attributions` are tested output by output against games that pay the same outputs. Credit goes by name, in any order; a
    part of the players is tested on that part.

    >>> from accredit.games import TableGame
    >>> from accredit.values import shapley
    >>> majority = TableGame(("a", "b", "c"), [0, 0, 0, 1, 0, 1, 1, 1])
    >>> [finding.verdict for finding in check_claims(shapley(majority), majority, shapley)]
    ['kept', 'kept', 'untested', 'kept']
    """
    if isinstance(attribution, Attributions):
        record = Record(_paying(game, attribution.outputs))
        return {name: check_claims(one, record[name], method) for name, one in attribution.items()}
    _check_players(attribution, game)
    findings = tuple(_test(claim.axiom, Holds(claim.holds), attribution, game, method) for claim in attribution.claims)
    for finding in findings:
        if finding.verdict == "broken":
            raise ClaimRefuted(f"{attribution.method} claims {finding.axiom} {finding.claimed}, but {finding.witness}")
    return findings


def _check_players(attribution: Attribution, game: Game) -> None:
    """Refuse an attribution that is not about this game, or that claims to share all of it among some."""
    if not isinstance(attribution, Attribution):
        raise InvalidInput(
            f"attribution is {attribution!r:.60}; write check_claims(shapley(game), game)", argument="attribution", code="type"
        )
    others = [player for player in attribution.players if player not in set(game.players)]
    if others:
        raise InvalidInput(
            f"attribution credits {others[0]!r}, who does not play in this game ({', '.join(game.players[:8])}); give the game "
            "that it was computed from",
            argument="attribution",
            code="conflict",
        )
    missing = [player for player in game.players if player not in set(attribution.players)]
    claimed = attribution.claim("efficiency").holds
    if missing and claimed not in (Holds.NO, Holds.UNKNOWN):
        raise ClaimRefuted(
            f"{attribution.method} claims efficiency {claimed}, but it credits {len(attribution)} of {len(game.players)} "
            f"players and leaves out {missing[0]!r}; a part, such as shapley(game)[:1], claims nothing about the whole"
        )


def _by_player(attribution: Attribution, game: Game, numbers: FloatArray) -> FloatArray:
    """One number per player of the game, in the game's order; NaN for those whom the attribution leaves out."""
    place = {player: k for k, player in enumerate(attribution.players)}
    return np.array([numbers[place[player]] if player in place else np.nan for player in game.players])


def _paying(game: Game, outputs: tuple[str, ...]) -> Games:
    """The game, if it pays these outputs; otherwise these attributions are not about it."""
    if not isinstance(game, Games) or set(game.outputs) != set(outputs):
        paid = ", ".join(game.outputs[:8]) if isinstance(game, Games) else "one number per coalition"
        raise InvalidInput(
            f"the attributions are for the outputs {', '.join(outputs[:8])}, and the game pays {paid}", code="conflict"
        )
    return game


@check_arguments
def axioms_kept(method: Method, game: Game, seed: int = 0) -> tuple[Finding, ...]:
    """Which of the four axioms does `method` keep, whatever it claims?

    A game seldom has null or equal players, so some are made: a player that never matters is added, and two players are made
    equal by averaging the game with its copy in which they have swapped roles. Linearity is tried with a random second game.

    >>> from accredit.games import TableGame
    >>> from accredit.values import leave_one_out
    >>> [f.axiom for f in axioms_kept(leave_one_out, TableGame(("alice", "bob"), [0, 5, 3, 10])) if f.verdict == "broken"]
    ['efficiency']
    """
    v = tabulate(game, WITNESS_LIMIT)
    with_null = TableGame((*game.players, _new_name(game)), np.concatenate([v, v]))
    n = len(game.players)
    evened = TableGame(game.players, (v + _exchange(v, 0, n - 1)) / 2)
    claimed = returned(method(game), "method")
    findings = [_test("efficiency", Holds.EXACTLY, claimed, game, method)]
    findings.append(_test("symmetry", Holds.EXACTLY, returned(method(evened), "method"), evened, method))
    findings.append(_test("null player", Holds.EXACTLY, returned(method(with_null), "method"), with_null, method))
    findings.append(_linearity(Holds.EXACTLY, returned(method(game), "method"), game, method, seed))
    return tuple(Finding(f.axiom, claimed.claim(f.axiom).holds, f.verdict, f.residual, f.witness) for f in findings)


def _test(axiom: str, holds: Holds, attribution: Attribution, game: Game, method: Method | None) -> Finding:
    if holds in (Holds.NO, Holds.UNKNOWN):
        return Finding(axiom, holds, "untested", 0.0, "nothing is claimed")
    if axiom not in AXIOMS:
        return Finding(axiom, holds, "untested", 0.0, "not one of the four axioms; the method's own certificate speaks for it")
    if axiom == "efficiency":
        return _efficiency(holds, attribution, game)
    if axiom == "linearity":
        return _linearity(holds, attribution, game, method)
    if len(game.players) > WITNESS_LIMIT:
        return Finding(axiom, holds, "untested", 0.0, f"finding witnesses among {len(game.players)} players needs 2^n payoffs")
    return _symmetry(holds, attribution, game) if axiom == "symmetry" else _null(holds, attribution, game)


def _allowed(holds: Holds, attribution: Attribution, v: FloatArray) -> FloatArray | None:
    """How far each credit may be off in the payoffs it was made from; None: a statistical claim cannot be tested without
    standard errors."""
    slack = np.full(len(attribution), TOLERANCE * float(np.abs(v - v[0]).max()) + SMALLEST)
    if holds is Holds.EXACTLY:
        return slack
    return None if attribution.stderr is None else slack + SIGMAS * attribution.stderr


def _blur(game: Game, v: FloatArray) -> float:
    """How far a payoff that is asked now may be from the same one when the credit was made (`accredit.core.rounding`)."""
    return blur_of(game) + blur(float(np.abs(v).max()))


def _efficiency(holds: Holds, attribution: Attribution, game: Game) -> Finding:
    nobody, everybody = endpoints(game)
    off = abs(float(attribution.credit.sum()) - (everybody - nobody))
    if len(game.players) <= WITNESS_LIMIT or isinstance(game, Tabulated):
        v = tabulate(game)
    else:
        v = np.array([nobody, everybody, nobody + float(np.abs(attribution.credit).max())])
    allowed = _allowed(holds, attribution, v)
    if allowed is None:
        return Finding("efficiency", holds, "untested", off, "no standard errors to compare with")
    verdict = "kept" if off <= float(allowed.sum()) + 2 * _blur(game, v) else "broken"  # both ends were asked again
    return Finding(
        "efficiency",
        holds,
        verdict,
        off,
        f"the credits sum to {attribution.credit.sum():.10g}, v(N) − v(∅) is {everybody - nobody:.10g}",
    )


def _null(holds: Holds, attribution: Attribution, game: Game) -> Finding:
    v = tabulate(game)
    allowed, moved = _allowed(holds, attribution, v), _blur(game, v)
    credit = _by_player(attribution, game, attribution.credit)
    nulls = [i for i in null_players(v, moved) if not np.isnan(credit[i])]
    if allowed is None or not nulls:
        why = "no player is null" if not nulls else "no standard errors to compare with"
        return Finding("null player", holds, "untested", 0.0, why)
    slack = _by_player(attribution, game, allowed) + 3 * moved  # null now, and both payoffs of a gain may have moved
    worst = max(nulls, key=lambda i: abs(credit[i]) - slack[i])
    off = float(abs(credit[worst]))
    verdict = "kept" if off <= slack[worst] else "broken"
    return Finding("null player", holds, verdict, off, f"{game.players[worst]!r} adds nothing and gets {off:.3g}")


def _symmetry(holds: Holds, attribution: Attribution, game: Game) -> Finding:
    v = tabulate(game)
    allowed, moved = _allowed(holds, attribution, v), _blur(game, v)
    c = _by_player(attribution, game, attribution.credit)
    pairs = [pair for pair in equal_players(v, moved) if not np.isnan(c[list(pair)]).any()]
    if allowed is None or not pairs:
        why = "no two players are equal" if not pairs else "no standard errors to compare with"
        return Finding("symmetry", holds, "untested", 0.0, why)
    slack = _by_player(attribution, game, allowed) + 1.5 * moved  # of each: together as for a null player
    i, j = max(pairs, key=lambda pair: abs(c[pair[0]] - c[pair[1]]) - slack[pair[0]] - slack[pair[1]])
    off = float(abs(c[i] - c[j]))
    verdict = "kept" if off <= slack[i] + slack[j] else "broken"
    return Finding(
        "symmetry",
        holds,
        verdict,
        off,
        f"{game.players[i]!r} and {game.players[j]!r} are equal and differ by {off:.3g}",
    )


def _linearity(holds: Holds, attribution: Attribution, game: Game, method: Method | None, seed: int = 0) -> Finding:
    """φ(2v + w) = 2φ(v) + φ(w) with a random game w of the same scale."""
    if method is None:
        return Finding("linearity", holds, "untested", 0.0, "give the method to test it on other games")
    if holds is not Holds.EXACTLY:
        return Finding("linearity", holds, "untested", 0.0, "only exact linearity can be tried on one pair of games")
    if len(game.players) > WITNESS_LIMIT:
        return Finding("linearity", holds, "untested", 0.0, f"a second game of {len(game.players)} players needs 2^n payoffs")
    v = tabulate(game)
    scale = max(float(np.abs(v).max()), 1e-300)
    w = np.random.default_rng(check_seed(seed)).normal(scale=scale, size=v.size)
    second, both = TableGame(game.players, w), TableGame(game.players, 2 * v + w)
    ours = _by_player(attribution, game, attribution.credit)
    off = np.nan_to_num(_credit(method, both) - 2 * ours - _credit(method, second))
    worst = int(np.argmax(np.abs(off)))
    verdict = "kept" if abs(off[worst]) <= 10 * TOLERANCE * scale + 4 * blur_of(game) else "broken"
    witness = f"{game.players[worst]!r} gets {off[worst]:.3g} more in 2v + w than in its parts, w = normal noise of seed {seed}"
    return Finding("linearity", holds, verdict, float(abs(off[worst])), witness)


def _credit(method: Method, game: Game) -> FloatArray:
    """What a method gives to each player, in the game's order."""
    found = returned(method(game), "method")
    return _by_player(found, game, found.credit)


def _exchange(v: FloatArray, i: int, j: int) -> FloatArray:
    """The table of the game in which players i and j have swapped roles."""
    index = np.arange(v.size)
    differ = (index >> i ^ index >> j) & 1
    return v[index ^ (differ << i | differ << j)] if i != j else v


def _new_name(game: Game) -> str:
    name = "nobody"
    while name in game.players:
        name += "'"
    return name
