"""Games whose every payoff is known, and games given by a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from accredit.core.coalitions import BoolArray, FloatArray, to_index
from accredit.core.errors import BadPayoff, InvalidInput, TooManyPlayers
from accredit.core.game import (
    TABLE_LIMIT,
    check_finite,
    checked_players,
    coalition_of,
    named,
    player_index,
)
from accredit.core.numbers import real_number, real_numbers, shown


class TableGame:
    """A game given by all its 2ⁿ payoffs; bit i of the index says whether player i plays.

    >>> cookies = TableGame(("alice", "bob"), [0, 5, 3, 10])
    >>> cookies.payoff(np.array([[True, False], [True, True]]))
    array([ 5., 10.])
    """

    def __init__(self, players: Iterable[str], table: Any) -> None:
        self._players = checked_players(players)
        n = len(self._players)
        if n > TABLE_LIMIT:
            raise TooManyPlayers(
                f"a table of {n} players has 2^{n} payoffs; the limit is {TABLE_LIMIT}. Use FunctionGame."
            )
        values = real_numbers(table, "table", copy=True)
        if values.shape != (1 << n,):
            several = "; for several outputs write TableGames(players, outputs, table)" if values.ndim == 2 else ""
            raise InvalidInput(f"table of {n} players needs {1 << n} payoffs, got shape {values.shape}{several}")
        check_finite(values, lambda row: named(self._players, row >> np.arange(n) & 1))
        values.setflags(write=False)
        self._table = values

    @classmethod
    def from_payoffs(cls, payoffs: Mapping[Any, float], players: Iterable[str] | None = None) -> TableGame:
        """A game from coalition -> payoff. Every coalition must be there, the empty one too.

        >>> TableGame.from_payoffs({(): 0, ("a",): 1, ("b",): 2, ("a", "b"): 4}).table
        array([0., 1., 2., 4.])
        """
        given = {frozenset(who): value for who, value in _listed(payoffs).items()}
        if len(given) != len(payoffs):
            raise InvalidInput("payoffs names one coalition twice; give each coalition once")
        seen = dict.fromkeys(name for who in payoffs for name in who)
        names = checked_players(players if players is not None else seen)
        if len(names) > TABLE_LIMIT:
            raise TooManyPlayers(
                f"a table of {len(names)} players has 2^{len(names)} payoffs; the limit is {TABLE_LIMIT}"
            )
        table = np.zeros(1 << len(names))
        filled = np.zeros(len(table), dtype=bool)
        bit = {name: 1 << i for i, name in enumerate(names)}
        for who, value in given.items():
            index = sum(bit[name] if name in bit else player_index(names, name) for name in who)
            if type(value) is not float:
                value = real_number(value, f"the payoff of {named(names, coalition_of(names, who))}")
            table[index], filled[index] = value, True
        if not filled.all():
            missing = np.flatnonzero(~filled)
            who_text = named(names, missing[0] >> np.arange(len(names)) & 1)
            raise InvalidInput(
                f"payoffs lacks {len(missing)} of {len(table)} coalitions, the first is {who_text}; give a payoff for each"
            )
        return cls(names, table)

    @property
    def players(self) -> tuple[str, ...]:
        return self._players

    @property
    def table(self) -> FloatArray:
        return self._table

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        return self._table[to_index(coalitions)]

    def __repr__(self) -> str:
        return f"TableGame({len(self._players)} players)"


def _listed(payoffs: Mapping[Any, float]) -> Mapping[Any, float]:
    """Payoffs whose every key lists the members of a coalition, or an error that shows one that does not."""
    if not isinstance(payoffs, Mapping):
        raise InvalidInput(f"payoffs is {shown(payoffs)}; write {{(): 0, ('a',): 1, ('b',): 2, ('a', 'b'): 4}}")
    for who in payoffs:
        if not isinstance(who, Iterable):
            raise InvalidInput(f"payoffs has the coalition {shown(who)}; write its members, as in ({shown(str(who))},)")
    return payoffs


class FunctionGame:
    """A game given by a function of a batch of coalitions: (batch, n) booleans -> (batch,) numbers.

    >>> FunctionGame(("a", "b", "c"), lambda coalitions: coalitions.sum(axis=1) ** 2).payoff(np.ones((1, 3), bool))
    array([9.])
    """

    def __init__(self, players: Iterable[str], function: Callable[[BoolArray], Any]) -> None:
        self._players = checked_players(players)
        if not callable(function):
            raise InvalidInput(f"function must be callable, got {function!r:.60}; for a list of payoffs use TableGame")
        self._function = function

    @property
    def players(self) -> tuple[str, ...]:
        return self._players

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        return real_numbers(self._function(coalitions), "payoff", BadPayoff)

    def __repr__(self) -> str:
        return f"FunctionGame({len(self._players)} players)"
