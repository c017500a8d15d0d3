"""Attribution held to what is known: problems whose truth was planted, a leaderboard, and room for anybody's method.

A *problem* says who could be credited and who truly earned it, because it was built so: columns and pairs of a table with a
closed form, a column that gives the answer away, the passage that holds a fact, rows whose label was changed, heads of a
circuit set by hand. A *method* is a function of a problem that returns one number per player: an array, an `Attribution`, or
a `shap.Explanation`. It may decline with None. Its score is the share of the responsible players among as many first places,
ties by chance; where the values themselves are known, also how far its numbers are off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from accredit.checks.numbers import real_numbers
from accredit.core import BoolArray, Estimate, FloatArray, Game, IntArray
from accredit.core.rounding import blur
from accredit.core.statistics import top_chances
from accredit.errors import InvalidInput
from accredit.evaluate.bootstrap import bootstrap
from accredit.games import FunctionGame

BUDGET = 128  # payoffs that a method may ask of a game
COLUMNS, PASSAGES, ROWS = 12, 8, 150
WRONG = 0.1  # of the labels


@dataclass(frozen=True, eq=False)
class Problem:
    """Who plays, who truly earned it, and, where it is known, how much.

    Of a problem about games, `game` is what a method may ask, `budget` times. Of one about training data, `rows` and `labels`
    are what it may read. With `pairs`, the players to be credited are pairs of the game's.
    """

    track: str
    number: int
    players: tuple[str, ...]
    earned: BoolArray  # (n,)
    values: FloatArray | None = None  # (n,), Shapley values by a closed form
    game: Game | None = None
    rows: FloatArray | None = None
    labels: IntArray | None = None
    pairs: bool = False
    budget: int = BUDGET


Term = tuple[tuple[int, ...], float]  # players who must all be there, and what they are then paid
Method = Callable[[Problem], Any]  # one number per player, higher for more credit; None: it cannot say


def columns(number: int) -> Problem:
    """A table that pays sums of products: 4 of 12 columns matter, alone and together; Σ_A c_A 1[A ⊆ S] has values Σ c_A/|A|."""
    rng = np.random.default_rng([1, number])
    game, terms = _sum_of_products(rng, COLUMNS, rng.choice(COLUMNS, 4, replace=False))
    values = np.zeros(COLUMNS)
    for members, weight in terms:
        values[list(members)] += weight / len(members)
    return Problem("columns", number, game.players, values != 0, values, game)


def interactions(number: int) -> Problem:
    """The same kind of table: which pairs of columns matter together, of all 66?"""
    rng = np.random.default_rng([2, number])
    game, terms = _sum_of_products(rng, COLUMNS, rng.choice(COLUMNS, 6, replace=False))
    together = {pair for members, _ in terms for pair in combinations(sorted(members), 2)}
    pairs = list(combinations(range(COLUMNS), 2))
    earned = np.array([pair in together for pair in pairs])
    names = tuple(f"{game.players[i]} × {game.players[j]}" for i, j in pairs)
    return Problem("interactions", number, names, earned, None, game, pairs=True)


def leaks(number: int) -> Problem:
    """A linear model of 12 columns of which one is the answer in disguise; its credit is in closed form."""
    rng = np.random.default_rng([3, number])
    answer, x = rng.normal(size=200), rng.normal(size=(200, COLUMNS))
    leak = int(rng.integers(COLUMNS))
    x += 0.3 * rng.normal(size=(1, COLUMNS)) * answer[:, None]
    x[:, leak] = answer + 0.1 * rng.normal(size=200)
    slopes = np.linalg.lstsq(x, answer, rcond=None)[0]
    row = x[int(np.abs(answer).argmax())]
    values = slopes * (row - x.mean(axis=0))
    values *= np.sign(values[leak])
    game = FunctionGame([f"column {k}" for k in range(COLUMNS)], lambda s: s @ values)
    return Problem("leaks", number, game.players, np.arange(COLUMNS) == leak, values, game)


def context(number: int) -> Problem:
    """A question answered from 8 passages by the built-in model: which hold the fact? One, each of two, or two together."""
    from accredit.answers import answer_game
    from accredit.arena.answers import answering
    from accredit.arena.texts import BUILTIN
    from accredit.models.builtin.facts import facts

    made = facts(("plain", "redundant", "joint")[number % 3], PASSAGES, number)
    read = answering(BUILTIN)
    game = answer_game(read.model, tokenizer=read.tokenizer, context=list(made.context), query=made.query).whole()
    earned = np.isin(np.arange(PASSAGES), sorted(made.truth))
    return Problem("context", number, game.players, earned, None, game)


def data(number: int) -> Problem:
    """150 rows of three classes, a tenth of whose labels were changed: which?"""
    rng = np.random.default_rng([5, number])
    labels = rng.integers(0, 3, ROWS)
    rows = rng.normal(size=(3, 8))[labels] * 1.5 + rng.normal(size=(ROWS, 8))
    wrong = np.isin(np.arange(ROWS), rng.choice(ROWS, round(WRONG * ROWS), replace=False))
    given = np.where(wrong, (labels + rng.integers(1, 3, ROWS)) % 3, labels)
    return Problem("data", number, tuple(f"row {k}" for k in range(ROWS)), wrong, rows=rows, labels=given)


def components(number: int) -> Problem:
    """Heads of a transformer set by hand: two of eight continue a sequence, and share that equally."""
    import torch

    from accredit.games.components import component_game
    from accredit.models.builtin.circuit import CIRCUIT, TOKENS, load_circuit

    rng = np.random.default_rng([6, number])
    tokens = 1 + rng.permutation(TOKENS - 1)[: rng.integers(4, 9)]
    asked = int(rng.integers(len(tokens) - 1))
    ids = torch.tensor([[0, *tokens.tolist(), int(tokens[asked])]])
    said = int(tokens[asked + 1])
    # 0 stands once, as what was said does: attention that has nothing to go by pays nothing
    game = component_game(load_circuit(), ids, "heads", payoff=lambda logits: logits[:, -1, said] - logits[:, -1, 0])
    earned = np.isin(game.players, CIRCUIT)
    return Problem("components", number, game.players, earned, earned / 2, game)


TRACKS: Mapping[str, Callable[[int], Problem]] = {
    make.__name__: make for make in (columns, interactions, leaks, context, data, components)
}


@dataclass(frozen=True)
class TrackScore:
    """How a method did on one track."""

    found: Estimate  # share of those responsible among as many first places; 1 is all of them
    chance: float  # what random numbers find
    error: float | None  # root-mean-square error over the truth's own, where values are known
    problems: int


def leaderboard(
    methods: Mapping[str, Method], count: int = 12, tracks: Sequence[str] = tuple(TRACKS)
) -> dict[str, dict[str, TrackScore]]:
    """Every method on every track it can enter: track -> method -> score, best first.

    >>> alone = lambda problem: problem.game.payoff(np.eye(12, dtype=bool))  # enough where nothing interacts
    >>> score = leaderboard({"alone": alone}, 3, ["leaks"])["leaks"]["alone"]
    >>> score.found.value, score.error < 1e-9
    (1.0, True)
    """
    board: dict[str, dict[str, TrackScore]] = {}
    for track in tracks:
        if track not in TRACKS:
            raise InvalidInput(f"unknown track {track!r}; choose from {', '.join(TRACKS)}", argument="tracks", code="unknown")
        problems = [TRACKS[track](number) for number in range(count)]
        scores = {name: score for name, method in methods.items() if (score := _judge(method, name, problems)) is not None}
        board[track] = dict(sorted(scores.items(), key=lambda entry: -entry[1].found.value))
    return board


def read_numbers(given: object, problem: Problem, name: str = "the method") -> FloatArray:
    """One number per player, from an array, an `Attribution`, or a `shap.Explanation`; for pairs also a square of them."""
    plain = getattr(given, "credit", getattr(given, "values", given))
    numbers = np.squeeze(np.asarray(real_numbers(plain, name), dtype=np.float64))
    players = len(problem.players)
    if problem.pairs and numbers.ndim == 2 and numbers.shape[0] == numbers.shape[1]:
        numbers = numbers[np.triu_indices(len(numbers), 1)]
    if numbers.shape != (players,):
        raise InvalidInput(
            f"{name} returned numbers of shape {numbers.shape} for {players} players of {problem.track}",
            argument=name,
            code="shape",
        )
    if not np.isfinite(numbers).all():
        raise InvalidInput(f"{name} returned numbers that are not finite", argument=name, code="not-finite")
    return numbers


def _judge(method: Method, name: str, problems: Sequence[Problem]) -> TrackScore | None:
    found, errors = [], []
    for problem, numbers in _answers(method, name, problems):
        count = int(problem.earned.sum())
        ranked = np.abs(numbers) if problem.pairs or problem.values is not None else numbers
        chances = top_chances(ranked, count, blur(float(np.abs(ranked).max())))
        found.append(float(chances[problem.earned].sum()) / count)
        if problem.values is not None:
            errors.append(float(np.linalg.norm(numbers - problem.values) / np.linalg.norm(problem.values)))
    if not found:
        return None
    chance = float(np.mean([problem.earned.mean() for problem in problems]))
    error = float(np.mean(errors)) if errors else None
    return TrackScore(bootstrap(np.array(found), within=(0.0, 1.0)), chance, error, len(found))


def _answers(method: Method, name: str, problems: Sequence[Problem]) -> Iterator[tuple[Problem, FloatArray]]:
    for problem in problems:
        given = method(problem)
        if given is not None:
            yield problem, read_numbers(given, problem, name)


def _sum_of_products(rng: np.random.Generator, n: int, chosen: IntArray) -> tuple[FunctionGame, list[Term]]:
    """A game that pays a weight where all of a few players are there, and its terms: every chosen player is in one."""
    alone, together = chosen[: len(chosen) // 2], [chosen[k::2] for k in range(2)]
    groups = [(int(i),) for i in alone] + [tuple(int(i) for i in group) for group in together]
    terms = [(members, float(rng.choice([-1, 1]) * rng.uniform(0.5, 2.0))) for members in groups]

    def payoff(coalitions: BoolArray) -> FloatArray:
        return np.asarray(sum(weight * coalitions[:, list(members)].all(axis=1) for members, weight in terms), dtype=np.float64)

    return FunctionGame([f"column {k}" for k in range(n)], payoff), terms
