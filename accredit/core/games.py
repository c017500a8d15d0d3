"""Several payoffs at once: all classes of a classifier, every token of an answer, every test row, from one evaluation.

A game that pays k currencies is k games among the same players. Solvers draw their coalitions from the seed, not from the
payoffs, so all k can be answered from one set of evaluations; a `Record` keeps it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from accredit.checks.numbers import BoolArray, FloatArray, real_numbers, shown
from accredit.core.coalitions import keys, pack
from accredit.core.game import Game, Tabulated, as_name, check_finite, check_names, payoffs, write_coalition
from accredit.core.rounding import blur_of
from accredit.errors import BadPayoff, InvalidInput, TooManyOutputs

RECORD_BYTES = 1 << 30  # payoffs kept for all outputs together


@runtime_checkable
class Games(Game, Protocol):
    """Several games among the same players, one per output, paid by one call: `payoff` is (batch, n) -> (batch, k).

    >>> from accredit import TableGame, TableGames
    >>> isinstance(TableGames("ab", ("maths", "music"), [[0, 0], [5, 1], [3, 2], [10, 3]]), Games)
    True
    >>> isinstance(TableGame("ab", [0, 5, 3, 10]), Games)
    False
    """

    @property
    def outputs(self) -> tuple[str, ...]: ...


def every_payoff(games: Games, coalitions: BoolArray) -> FloatArray:
    """Payoffs of a batch in every output, checked: (batch, k). The door of `Games`, as `payoffs` is that of a `Game`.

    >>> from accredit.games import TableGames
    >>> grades = TableGames(("alice", "bob"), ("maths", "music"), [[0, 0], [5, 1], [3, 2], [10, 3]])
    >>> every_payoff(grades, np.array([[True, False], [True, True]])).tolist()
    [[5.0, 1.0], [10.0, 3.0]]
    """
    players, outputs = games.players, check_names(games.outputs, "outputs")
    check_room(len(coalitions), len(outputs))
    earned = real_numbers(games.payoff(coalitions.copy()), "payoff", BadPayoff, copy=True)
    if earned.shape != (len(coalitions), len(outputs)):
        raise BadPayoff(
            f"payoff of {len(coalitions)} coalitions in {len(outputs)} outputs returned shape {earned.shape}; it must return "
            f"one number for each coalition and output, ({len(coalitions)}, {len(outputs)})",
            code="shape",
        )
    check_every_finite(earned, outputs, lambda row: write_coalition(players, coalitions[row]))
    return earned


def check_every_finite(earned: FloatArray, outputs: tuple[str, ...], who: Callable[[int], str]) -> None:
    """Refuse payoffs (rows, k) that are not finite, or too large to compute with; `who` names the coalition of a row."""

    def named_place(place: int) -> str:
        row, column = divmod(place, len(outputs))
        return f"{who(row)} in output {outputs[column]!r}"

    check_finite(earned.ravel(), named_place)


def asked(game: Game, coalitions: BoolArray) -> FloatArray:
    """Payoffs through the door that fits: (batch,) of a game, (batch, k) of several."""
    return every_payoff(game, coalitions) if isinstance(game, Games) else payoffs(game, coalitions)


def check_room(coalitions: int, outputs: int) -> None:
    """Refuse a record that would not fit into memory, before anything is asked."""
    if 8 * coalitions * outputs > RECORD_BYTES:
        raise TooManyOutputs(
            f"{coalitions:,} coalitions in {outputs:,} outputs are {8 * coalitions * outputs / 2**30:,.1f} GB of payoffs; the "
            f"limit is {RECORD_BYTES / 2**30:g} GB. Ask for fewer coalitions, or for one output at a time: output(game, name).",
            code="too-many",
        )


def output_index(outputs: tuple[str, ...], name: str) -> int:
    """Position of an output, or an error that lists what is paid."""
    wanted = as_name(name)
    if not isinstance(wanted, str) or wanted not in outputs:
        some = ", ".join(map(repr, outputs[:8])) + (", …" if len(outputs) > 8 else "")
        raise InvalidInput(f"unknown output {shown(name)}; the outputs are {some}", code="unknown")
    return outputs.index(wanted)


class Record:
    """What several games were asked, so that each of them can be played from the same evaluations.

    For the first output that asks, every batch is evaluated as it comes. The other outputs usually ask for the same batches
    (unless their solver looks at payoffs or the clock to decide what to ask) and get what they would have got alone, to the
    last bit. Of any other batch, only the coalitions that have not been asked before are evaluated.

    >>> from accredit.games import FunctionGames, counted
    >>> sums = counted(FunctionGames("ab", ("sum", "square"), lambda s: s.sum(axis=1, keepdims=True) ** [1, 2]))
    >>> record = Record(sums)
    >>> both = np.array([[True, True]])
    >>> record["sum"].payoff(both), record["square"].payoff(both), sums.payoffs
    (array([2.]), array([4.]), 1)
    """

    def __init__(self, games: Games) -> None:
        self.games, self.outputs = games, check_names(games.outputs, "outputs")
        self.asked = 0  # coalitions
        self._first: str | None = None  # the output that asked first
        self._batches: dict[bytes, FloatArray] = {}  # packed coalitions -> (batch, k)
        self._rows: dict[bytes, FloatArray] = {}  # packed coalition -> (k,), of all batches but those in `_unsorted`
        self._unsorted: list[bytes] = []

    def __getitem__(self, name: str) -> Game:
        """The game of one output."""
        return _one(self.games, name, lambda coalitions: self._payoffs(coalitions, name))

    def _payoffs(self, coalitions: BoolArray, name: str) -> FloatArray:
        """Payoffs in every output, for the solver of one: (batch, n) -> (batch, k)."""
        self._first = name if self._first is None else self._first
        batch = pack(coalitions).tobytes()
        if batch in self._batches:
            return self._batches[batch]
        return self._ask(coalitions) if name == self._first else self._complete(coalitions)

    def _ask(self, coalitions: BoolArray) -> FloatArray:
        check_room(self.asked + len(coalitions), len(self.outputs))
        batch = pack(coalitions).tobytes()
        earned = every_payoff(self.games, coalitions)
        self._batches[batch] = earned
        self._unsorted.append(batch)
        self.asked += len(coalitions)
        return self._batches[batch]

    def _complete(self, coalitions: BoolArray) -> FloatArray:
        """A batch that other batches may already cover in part."""
        self._sort()
        names = keys(coalitions)
        missing = {name: row for row, name in enumerate(names) if name not in self._rows}
        if missing:
            self._ask(coalitions[list(missing.values())])
            self._sort()
        return np.stack([self._rows[name] for name in names])

    def _sort(self) -> None:
        width = -(-len(self.games.players) // 8)
        for batch in self._unsorted:
            names = (batch[i : i + width] for i in range(0, len(batch), width))
            self._rows.update(zip(names, self._batches[batch], strict=True))
        self._unsorted.clear()


def output(games: Games, name: str) -> Game:
    """One of several games, by the name of its output.

    >>> from accredit.games import TableGames
    >>> grades = TableGames(("alice", "bob"), ("maths", "music"), [[0, 0], [5, 1], [3, 2], [10, 3]])
    >>> output(grades, "music").payoff(np.array([[True, True]]))
    array([3.])
    """
    if not isinstance(games, Games):
        raise InvalidInput(
            f"{type(games).__name__} pays one number per coalition; use the game itself", argument="games", code="unsupported"
        )
    return _one(games, name, lambda coalitions: every_payoff(games, coalitions))


def _one(games: Games, name: str, payoffs: Callable[[BoolArray], FloatArray]) -> Game:
    kind = _TabulatedOutput if isinstance(games, Tabulated) else _Output
    return kind(games, output_index(check_names(games.outputs, "outputs"), name), payoffs)


class _Output:
    """The game of one output."""

    def __init__(self, games: Games, index: int, payoffs: Callable[[BoolArray], FloatArray]) -> None:
        self._games, self._index, self._payoffs = games, index, payoffs

    @property
    def players(self) -> tuple[str, ...]:
        return self._games.players

    @property
    def blur(self) -> float:
        return blur_of(self._games)

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        return self._payoffs(coalitions)[:, self._index].copy()

    def __repr__(self) -> str:
        return f"output({self._games!r}, {self._games.outputs[self._index]!r})"


class _TabulatedOutput(_Output):
    """The game of one output of games that know their table."""

    @property
    def table(self) -> FloatArray:
        assert isinstance(self._games, Tabulated)
        table = np.asarray(self._games.table)
        shape = (1 << len(self.players), len(self._games.outputs))
        if table.shape != shape:
            raise BadPayoff(f"table of {type(self._games).__name__} has shape {table.shape}; {shape} is needed", code="shape")
        return np.ascontiguousarray(table[:, self._index])
