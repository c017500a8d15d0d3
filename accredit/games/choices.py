"""Games of several choices: from a table, from a function, or from a file with one column per player."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod
from pathlib import Path
from typing import final

import numpy as np

from accredit.checks.numbers import real_numbers
from accredit.checks.tables import Sheet, number, read_sheet, warn_notes
from accredit.core import FloatArray, IntArray
from accredit.core.choices import MOST_CELLS, ChoiceGame, Choosing, check_choices, check_levels, choose, shape_of
from accredit.core.game import check_finite, check_players
from accredit.errors import BadPayoff, InvalidInput


@final
class ChoiceTable(Choosing):
    """A game of several choices given by what every joint choice earns, one axis per player.

    Without `levels`, choices are called 0, 1, 2, … and are in order; 0 is "does not take part".

    >>> effort = ChoiceTable(("a", "b"), [[0, 0, 1], [0, 2, 4]])
    >>> effort.levels, effort.worth(np.array([[1, 2]]))
    ((('0', '1'), ('0', '1', '2')), array([4.]))
    """

    def __init__(self, players: Iterable[str | int], table: object, levels: object = None) -> None:
        values = real_numbers(table, "table", copy=True)
        names = check_players(players)
        if values.ndim != len(names):
            raise InvalidInput(
                f"table has {values.ndim} axes for {len(names)} players; give one axis per player",
                argument="table",
                code="shape",
            )
        super().__init__(*check_levels(names, list(values.shape) if levels is None else levels))
        wanted = shape_of(self)
        if values.shape != wanted:
            raise InvalidInput(
                f"table has shape {values.shape}; these players and levels need {wanted}", argument="table", code="shape"
            )
        flat = values.ravel()
        check_finite(flat, lambda row: choose(self, np.array(np.unravel_index(row, wanted))))
        values.setflags(write=False)
        self.table = values

    def worth(self, choices: IntArray) -> FloatArray:
        return np.asarray(self.table[tuple(check_choices(self, choices).T)])

    def __repr__(self) -> str:
        return f"ChoiceTable({len(self._players)} players, {self.table.size} joint choices)"


@final
class ChoiceFunction(Choosing):
    """A game of several choices given by a function of a batch of joint choices: (batch, n) whole numbers -> (batch,) numbers.

    >>> crew = ChoiceFunction(("a", "b"), [3, 3], lambda choices: choices.min(axis=1) * 2.0)
    >>> crew.worth(np.array([[1, 2], [2, 2]]))
    array([2., 4.])
    """

    def __init__(self, players: Iterable[str | int], levels: object, function: Callable[[IntArray], object]) -> None:
        super().__init__(*check_levels(players, levels))
        if not callable(function):
            raise InvalidInput(
                f"function must be callable, got {function!r:.60}; for a table use ChoiceTable",
                argument="function",
                code="type",
            )
        self._function = function

    def worth(self, choices: IntArray) -> FloatArray:
        return real_numbers(self._function(check_choices(self, choices)), "worth", BadPayoff)

    def __repr__(self) -> str:
        return f"ChoiceFunction({len(self._players)} players)"


def has_choices(sheet: Sheet) -> bool:
    """Whether a table lists joint choices: a column payoff, and no column coalition."""
    names = [name.strip().lower() for name in sheet.names]
    return "payoff" in names and "coalition" not in names


def plain_payoffs(sheet: Sheet) -> Sheet:
    """The table of a game with payoffs as Python writes them; coalitions, and what players choose, are words."""
    names = {name: name.strip().lower() for name in sheet.names}
    words = [name for name, plain in names.items() if (plain != "payoff" if has_choices(sheet) else plain == "coalition")]
    return sheet.with_plain_numbers(words=words)


def is_ordered(game: ChoiceGame) -> bool:
    """Whether the choices of every player are numbered 0, 1, 2, …, and so are levels in order."""
    return all(levels == tuple(str(k) for k in range(len(levels))) for levels in game.levels)


def read_choices(path: str | Path) -> ChoiceTable:
    """A game of several choices from a .csv, .tsv or .jsonl file: one column per player, then `payoff`.

    The cells of a player are levels 0, 1, 2, … or names of alternatives, in the order in which they first appear; players with
    the same names have them in the order of the first of these players. Every joint choice must be there, once.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "effort.csv")
    >>> _ = file.write_text("ann,bob,payoff\\n0,0,0\\n0,1,3\\n1,0,5\\n1,1,10\\n")
    >>> read_choices(file).players
    ('ann', 'bob')
    """
    return choices_in(warn_notes(plain_payoffs(read_sheet(path))))


def choices_in(sheet: Sheet) -> ChoiceTable:
    """The game of several choices in a table that was read."""
    header = [name.strip() for name in sheet.names]
    pays = [at for at, name in enumerate(header) if name.lower() == "payoff"]
    players = [name for name in header if name.lower() != "payoff"]
    if len(pays) != 1 or not players:
        raise InvalidInput(
            f"the columns of {sheet.file!r} are {','.join(header)!r:.80}; one per player and one named payoff are needed",
            code="shape",
        )
    cells = [[cell.strip() for at, cell in enumerate(row) if at != pays[0]] for row in sheet.rows]
    if not cells:
        raise InvalidInput(
            f"{sheet.file!r} has no line below the names of its columns; give a payoff for every joint choice", code="missing"
        )
    levels = [_choices(players[at], [row[at] for row in cells]) for at in range(len(players))]
    levels = [levels[0] if set(each) == set(levels[0]) else each for each in levels]  # the same names in the same order
    if prod(len(each) for each in levels) > MOST_CELLS:
        raise InvalidInput(
            f"{sheet.file!r} has more than {MOST_CELLS:,} joint choices; that is too many for a table", code="too-many"
        )
    return _fill(sheet, players, levels, cells, pays[0])


def _fill(sheet: Sheet, players: list[str], levels: list[list[str]], cells: list[list[str]], pays: int) -> ChoiceTable:
    table = np.zeros([len(each) for each in levels])
    filled = np.zeros(table.shape, dtype=bool)
    for line, row, whole in zip(sheet.lines, cells, sheet.rows, strict=True):
        at = tuple(each.index(cell) for each, cell in zip(levels, row, strict=True))
        where = f"line {line} of {sheet.file!r}"
        if filled[at]:
            raise InvalidInput(f"{where} gives {', '.join(row)} a second payoff; keep one line for it", code="duplicate")
        table[at], filled[at] = number(whole[pays], f"the payoff of {where}"), True
    missing = np.argwhere(~filled)
    if len(missing):
        first = ", ".join(each[k] for each, k in zip(levels, missing[0].tolist(), strict=True))
        raise InvalidInput(
            f"{sheet.file!r} lacks {len(missing)} of {table.size} joint choices, the first is {first}; give a payoff for each",
            code="missing",
        )
    return ChoiceTable(players, table, levels)


def _choices(player: str, cells: list[str]) -> list[str]:
    """The choices of one player: whole numbers in order, or names as they first appear."""
    seen = list(dict.fromkeys(cells))
    if "" in seen:
        raise InvalidInput(
            f"the column of {player!r} has an empty cell; write 0 for a player who does not take part", code="missing"
        )
    if all(cell.isascii() and cell.isdigit() for cell in seen):
        most = max(int(cell) for cell in seen)
        if {int(cell) for cell in seen} != set(range(most + 1)) or len(seen) != most + 1:
            raise InvalidInput(
                f"the levels of {player!r} are {', '.join(seen)[:60]}; they must be 0, 1, 2, … without a gap", code="range"
            )
        return [str(k) for k in range(most + 1)]
    return seen
