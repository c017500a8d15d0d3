"""Games whose every payoff is known, and games given by a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import numpy as np

from accredit.checks.numbers import BoolArray, FloatArray, check_index, real_number, real_numbers, shown
from accredit.core.coalitions import by_size, to_index
from accredit.core.game import (
    TABLE_LIMIT,
    as_name,
    check_coalitions,
    check_finite,
    check_names,
    check_players,
    coalition_of,
    player_index,
    write_coalition,
)
from accredit.core.games import check_every_finite, check_room
from accredit.errors import BadPayoff, InvalidInput, TooManyPlayers

ORDERS = ("binary", "size")
Order = Literal["binary", "size"]


class TableGame:
    """A game given by all its 2ⁿ payoffs; bit i of the index says whether player i plays.

    `order="size"` reads the table as textbooks print it: by size, then by members (1, 2, 3, 12, 13, 23, 123). A table that
    leaves nobody out has 2ⁿ − 1 payoffs; then `nobody` says what nobody earns. Numbered players are called '1', '2', '3'.

    >>> cookies = TableGame(("alice", "bob"), [0, 5, 3, 10])
    >>> cookies.payoff(np.array([[True, False], [True, True]]))
    array([ 5., 10.])
    >>> TableGame([1, 2, 3], [0, 0, 0, 60, 70, 80, 100], order="size", nobody=0).table
    array([  0.,   0.,   0.,  60.,   0.,  70.,  80., 100.])
    """

    def __init__(
        self, players: Iterable[str | int], table: object, *, order: Order = "binary", nobody: float | None = None
    ) -> None:
        self._players = check_players(players)
        n = len(self._players)
        if n > TABLE_LIMIT:
            raise TooManyPlayers(
                f"a table of {n} players has 2^{n} payoffs; the limit is {TABLE_LIMIT}. Use FunctionGame.", code="too-many"
            )
        _check_places(table)
        values = _in_binary_order(_with_nobody(real_numbers(table, "table", copy=True), n, nobody), order)
        check_finite(values, lambda row: write_coalition(self._players, row >> np.arange(n) & 1))
        values.setflags(write=False)
        self._table = values

    @classmethod
    def from_payoffs(
        cls, payoffs: Mapping[Any, float], players: Iterable[str | int] | None = None, *, nobody: float | None = None
    ) -> TableGame:
        """A game from coalition -> payoff. Every coalition must be there; the empty one may be left out if `nobody` is given.

        >>> TableGame.from_payoffs({(): 0, ("a",): 1, ("b",): 2, ("a", "b"): 4}).table
        array([0., 1., 2., 4.])
        """
        listed = _read_list(payoffs)
        given = {frozenset(who): value for who, value in listed}
        if len(given) != len(payoffs):
            raise InvalidInput(
                "payoffs names one coalition twice; give each coalition once", argument="payoffs", code="duplicate"
            )
        if nobody is not None:
            if frozenset() in given:
                raise InvalidInput(
                    f"nobody={nobody!r:.40} is given, and payoffs has a line for nobody; leave out one",
                    argument="nobody",
                    code="conflict",
                )
            given[frozenset()] = nobody
        seen = dict.fromkeys(name for who, _ in listed for name in who)
        names = check_players(players if players is not None else list(seen))
        if len(names) > TABLE_LIMIT:
            raise TooManyPlayers(
                f"a table of {len(names)} players has 2^{len(names)} payoffs; the limit is {TABLE_LIMIT}", code="too-many"
            )
        table = np.zeros(1 << len(names))
        filled = np.zeros(len(table), dtype=bool)
        bit = {name: 1 << i for i, name in enumerate(names)}
        for who, value in given.items():
            index = sum(bit[name] if name in bit else player_index(names, name) for name in who)
            if type(value) is not float:
                value = real_number(value, f"the payoff of {write_coalition(names, coalition_of(names, who))}")
            table[index], filled[index] = value, True
        if not filled.all():
            missing = np.flatnonzero(~filled)
            who_text = write_coalition(names, missing[0] >> np.arange(len(names)) & 1)
            remedy = "write nobody=0 if nobody earns nothing" if missing.tolist() == [0] else "give a payoff for each"
            raise InvalidInput(
                f"payoffs lacks {len(missing)} of {len(table)} coalitions, the first is {who_text}; {remedy}",
                argument="payoffs",
                code="missing",
            )
        return cls(names, table)

    @property
    def players(self) -> tuple[str, ...]:
        return self._players

    @property
    def table(self) -> FloatArray:
        return self._table

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        return self._table[to_index(check_coalitions(coalitions, len(self._players)))]

    def __repr__(self) -> str:
        return f"TableGame({len(self._players)} players)"


def _read_list(payoffs: Mapping[Any, float]) -> list[tuple[tuple[str, ...], float]]:
    """The members of every coalition and its payoff, or an error that shows a key that is none. A number is one player."""
    if not isinstance(payoffs, Mapping):
        raise InvalidInput(
            f"payoffs is {shown(payoffs)}; write {{(): 0, ('a',): 1, ('b',): 2, ('a', 'b'): 4}}",
            argument="payoffs",
            code="type",
        )
    listed = []
    for who, value in payoffs.items():
        one = as_name(who)
        if one is who and not isinstance(who, Iterable):
            raise InvalidInput(
                f"payoffs has the coalition {shown(who)}; write its members, as in ({shown(str(who))},)",
                argument="payoffs",
                code="type",
            )
        listed.append(((one,) if one is not who else tuple(as_name(member) for member in who), value))
    if not listed:
        raise InvalidInput(
            "payoffs is empty; write {(): 0, ('a',): 1, ('b',): 2, ('a', 'b'): 4}", argument="payoffs", code="empty"
        )
    return listed


def _check_places(table: object) -> None:
    """Refuse a column of pandas whose index may say which coalition a payoff is of: a table is read place by place."""
    if not hasattr(table, "iloc") or not hasattr(table, "index"):
        return
    if getattr(table.index.dtype, "kind", "O") not in "iu":
        raise InvalidInput(
            f"table has an index, {shown(list(table.index), 40)}, and is read place by place; write table.to_numpy() if bit i "
            "of the place says whether player i plays, or TableGame.from_payoffs({('a', 'b'): 10, …}), which reads coalitions",
            argument="table",
            code="conflict",
        )
    check_index(table, range(len(table.index)), "table")


def _with_nobody(values: FloatArray, n: int, nobody: float | None) -> FloatArray:
    """All 2ⁿ payoffs, or an error that says how many there are."""
    whole = 1 << n
    if values.shape == (whole,) and nobody is None:
        return values
    if values.shape == (whole - 1,) and nobody is not None and n > 0:
        return np.append(real_number(nobody, "nobody"), values)
    if values.shape == (whole,):
        raise InvalidInput(
            f"nobody={nobody!r:.40} is given, and table has all {whole} payoffs; leave out nobody",
            argument="nobody",
            code="conflict",
        )
    if values.shape == (whole - 1,):
        raise InvalidInput(
            f"table of {n} players needs {whole} payoffs, got {whole - 1}; if nobody was left out, write nobody=0",
            argument="table",
            code="shape",
        )
    several = "; for several outputs write TableGames(players, outputs, table)" if values.ndim == 2 else ""
    raise InvalidInput(
        f"table of {n} players needs {whole} payoffs, got shape {values.shape}; give one number per coalition{several}",
        argument="table",
        code="shape",
    )


def _in_binary_order(values: FloatArray, order: str) -> FloatArray:
    if order not in ORDERS:
        raise InvalidInput(
            f"order is {order!r:.40}; write 'binary' (bit i is player i) or 'size' (1, 2, 3, 12, 13, 23, 123)",
            argument="order",
            code="unknown",
        )
    if order == "binary":
        return values
    table = np.empty_like(values)
    table[by_size(values.size.bit_length() - 1)] = values
    return table


class FunctionGame:
    """A game given by a function of a batch of coalitions: (batch, n) booleans -> (batch,) numbers.

    `blur` says how far rounding inside the function may move a payoff (`accredit.core.rounding`): a network in single precision
    gives other last digits in another batch.

    >>> FunctionGame(("a", "b", "c"), lambda coalitions: coalitions.sum(axis=1) ** 2).payoff(np.ones((1, 3), bool))
    array([9.])
    """

    def __init__(self, players: Iterable[str | int], function: Callable[[BoolArray], object], *, blur: float = 0.0) -> None:
        self._players = check_players(players)
        if not callable(function):
            raise InvalidInput(
                f"function must be callable, got {function!r:.60}; for a list of payoffs use TableGame",
                argument="function",
                code="type",
            )
        self._function, self.blur = function, real_number(blur, "blur", 0, example=1e-5)

    @property
    def players(self) -> tuple[str, ...]:
        return self._players

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        return real_numbers(self._function(check_coalitions(coalitions, len(self._players))), "payoff", BadPayoff)

    def __repr__(self) -> str:
        return f"FunctionGame({len(self._players)} players)"


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
