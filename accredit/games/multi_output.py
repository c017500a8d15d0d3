"""Games that pay in several outputs at once, given by a table or by a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from accredit.checks.numbers import BoolArray, FloatArray, real_numbers
from accredit.core.coalitions import to_index
from accredit.core.game import TABLE_LIMIT, check_coalitions, check_names, check_players, write_coalition
from accredit.core.games import check_every_finite, check_room
from accredit.errors import BadPayoff, InvalidInput, TooManyPlayers


class TableGames:
    """Games given by all their payoffs: one row per coalition as in `TableGame`, one column per output.

    >>> from accredit import shapley
    >>> grades = TableGames(("alice", "bob"), ("maths", "music"), [[0, 0], [5, 1], [3, 2], [10, 3]])
    >>> shapley(grades)["maths"].as_dict()
    {'alice': 6.0, 'bob': 4.0}
    """

    def __init__(self, players: Iterable[str], outputs: Iterable[str], table: object) -> None:
        self._players, self._outputs = check_players(players), check_names(outputs, "outputs")
        n, k = len(self._players), len(self._outputs)
        if n > TABLE_LIMIT:
            raise TooManyPlayers(
                f"a table of {n} players has 2^{n} rows; the limit is {TABLE_LIMIT} players. Use FunctionGames.",
                code="too-many",
            )
        check_room(1 << n, k)
        values = np.array(real_numbers(table, "table"), order="F")  # a column is read as a whole
        if values.shape != (1 << n, k):
            raise InvalidInput(
                f"table of {n} players and {k} outputs has shape {values.shape}; ({1 << n}, {k}) is needed: a row per "
                "coalition",
                argument="table",
                code="shape",
            )
        check_every_finite(values, self._outputs, lambda row: write_coalition(self._players, row >> np.arange(n) & 1))
        values.setflags(write=False)
        self._table = values

    @property
    def players(self) -> tuple[str, ...]:
        return self._players

    @property
    def outputs(self) -> tuple[str, ...]:
        return self._outputs

    @property
    def table(self) -> FloatArray:
        """All payoffs: (2ⁿ, k)."""
        return self._table

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        return self._table[to_index(check_coalitions(coalitions, len(self._players)))]

    def __repr__(self) -> str:
        return f"TableGames({len(self._players)} players, {len(self._outputs)} outputs)"


class FunctionGames:
    """Games given by a function of a batch of coalitions: (batch, n) booleans -> (batch, k) numbers, one per output.

    >>> powers = FunctionGames("abc", ("sum", "square"), lambda coalitions: coalitions.sum(axis=1, keepdims=True) ** [1, 2])
    >>> powers.payoff(np.ones((1, 3), bool))
    array([[3., 9.]])
    """

    def __init__(self, players: Iterable[str], outputs: Iterable[str], function: Callable[[BoolArray], object]) -> None:
        self._players, self._outputs = check_players(players), check_names(outputs, "outputs")
        if not callable(function):
            raise InvalidInput(
                f"function must be callable, got {function!r:.60}; for a table of payoffs use TableGames",
                argument="function",
                code="type",
            )
        self._function = function

    @property
    def players(self) -> tuple[str, ...]:
        return self._players

    @property
    def outputs(self) -> tuple[str, ...]:
        return self._outputs

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        return real_numbers(self._function(check_coalitions(coalitions, len(self._players))), "payoff", BadPayoff)

    def __repr__(self) -> str:
        return f"FunctionGames({len(self._players)} players, {len(self._outputs)} outputs)"
