"""Games written down: a table of coalitions and payoffs as CSV or JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from accredit.checks.arguments import check_arguments
from accredit.checks.json_data import read_json
from accredit.checks.numbers import a_type
from accredit.checks.tables import Sheet, ending, number, read_content, read_sheet, warn_notes
from accredit.core.coalitions import by_size
from accredit.core.game import TABLE_LIMIT, as_name, check_names
from accredit.errors import InvalidInput
from accredit.games.choices import plain_payoffs
from accredit.games.table import ORDERS, TableGame, TableGames

SEPARATOR = "+"


Row = tuple[tuple[str, ...], tuple[float, ...], str]  # members, one payoff per output, where it stands


@check_arguments
def read_game(path: str | Path, *, nobody: float | None = None) -> TableGame:
    """A game from a file. `nobody` is what nobody earns, if the file leaves it out; without it such a file is refused.

    A table (.csv, .tsv or .jsonl) has the columns `coalition` and `payoff`, then one line per coalition, members joined by
    `+`, nobody left empty or written ∅. JSON: an object from coalition to payoff written the same way, or
    `{"players": [...], "payoffs": [{"coalition": [...], "payoff": …}]}` where names may hold a `+`, or
    `{"players": [...], "order": "size", "payoffs": [...]}` with the bare numbers in the order of textbooks
    (1, 2, 3, 12, 13, 23, 123) or "binary". `.gz` may follow.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "cookies.csv")
    >>> _ = file.write_text("coalition,payoff\\n∅,0\\nalice,5\\nbob,3\\nalice+bob,10\\n")
    >>> read_game(file).table
    array([ 0.,  5.,  3., 10.])
    """
    return read_filled(path, nobody)[0]


def read_filled(source: str | Path | Sheet, nobody: float | None) -> tuple[TableGame, bool]:
    """The game of a file or of its table, and whether what nobody earns had to be filled in."""
    players, outputs, payoffs = _read(source)
    if outputs != ("payoff",):
        path = source.file if isinstance(source, Sheet) else source
        raise InvalidInput(
            f"file {str(path)!r} pays in {', '.join(outputs)}; one column named payoff is needed here. For all of them write "
            "read_games(path)",
            code="shape",
        )
    filled = frozenset() not in payoffs and nobody is not None
    earned_alone = {who: earned[0] for who, earned in payoffs.items()}
    return TableGame.from_payoffs(earned_alone, players, nobody=nobody if filled else None), filled


@check_arguments
def read_games(path: str | Path) -> TableGames:
    """Games that pay in several outputs, from a file.

    A table has `coalition` and one column per output, named in the header. JSON: `{"outputs": [...], "payoffs": …}`, the
    payoffs as for `read_game` but with a list of numbers for each coalition.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "grades.csv")
    >>> _ = file.write_text("coalition,maths,music\\n∅,0,0\\nalice,5,1\\nbob,3,2\\nalice+bob,10,3\\n")
    >>> read_games(file).outputs, read_games(file).table[:, 1]
    (('maths', 'music'), array([0., 1., 2., 3.]))
    """
    players, outputs, payoffs = _read(path)
    columns = [
        TableGame.from_payoffs({who: earned[place] for who, earned in payoffs.items()}, players)
        for place in range(len(outputs))
    ]
    return TableGames(columns[0].players, outputs, np.column_stack([column.table for column in columns]))


def _read(source: str | Path | Sheet) -> tuple[list[str], tuple[str, ...], dict[frozenset[str], tuple[float, ...]]]:
    """Players, outputs, and the payoffs of every coalition in the file, or in its table."""
    if not isinstance(source, Sheet) and ending(source) == ".json":
        rows, outputs, players = _json_rows(read_content(source))
    else:
        sheet = source if isinstance(source, Sheet) else warn_notes(plain_payoffs(read_sheet(source)))
        rows, outputs, players = *_table_rows(sheet), None
    payoffs = _payoffs(rows, players)
    if players is None:
        players = _names_in_order(payoffs)
        _refuse_other_separators(players, len(payoffs))
    return players, outputs, payoffs


def _refuse_other_separators(players: list[str], coalitions: int) -> None:
    """Where coalitions are missing and a name is made of other names, as '1,2' and '12' are, it is a coalition misread."""
    if coalitions >= 2 ** len(players) - 1:
        return
    known = set(players)
    for name in players:
        for parts in (tuple(filter(None, re.split(r"[^\w.]+", name))), tuple(name)):
            if len(parts) > 1 and known.issuperset(parts):
                raise InvalidInput(
                    f"coalition {name!r} is read as one player, and {', '.join(map(repr, parts))} are players too; members are "
                    f"joined by {SEPARATOR}: write {SEPARATOR.join(parts)!r}",
                    code="unreadable",
                )


def _payoffs(rows: list[Row], players: list[str] | None) -> dict[frozenset[str], tuple[float, ...]]:
    payoffs: dict[frozenset[str], tuple[float, ...]] = {}
    for members, earned, where in rows:
        who = frozenset(members)
        if len(who) != len(members):
            raise InvalidInput(f"{where} names a player twice: {SEPARATOR.join(members)!r}", code="duplicate")
        if who in payoffs:
            raise InvalidInput(
                f"{where} gives coalition {SEPARATOR.join(members)!r} a second payoff; keep one line for it", code="duplicate"
            )
        payoffs[who] = earned
        if players is None:
            continue
        for name in members:
            if name not in players:
                raise InvalidInput(
                    f"{where} names the unknown player {name!r}; players lists {', '.join(players)}", code="unknown"
                )
    if not payoffs:
        raise InvalidInput("the file has no coalitions; write one line for each, starting with ',0' for nobody", code="missing")
    return payoffs


def _names_in_order(payoffs: Iterable[frozenset[str]]) -> list[str]:
    """Players in the order of their single coalitions, then any others by name."""
    singles = [name for who in payoffs if len(who) == 1 for name in who]
    return singles + sorted({name for who in payoffs for name in who} - set(singles))


def _table_rows(sheet: Sheet) -> tuple[list[Row], tuple[str, ...]]:
    header = [name.strip() for name in sheet.names]
    header = [name.lower() if name.lower() in ("coalition", "payoff") else name for name in header]
    outputs = tuple(name for name in header if name != "coalition")
    if header.count("coalition") != 1 or not outputs or not all(outputs) or len(set(outputs)) < len(outputs):
        raise InvalidInput(
            f"the columns of {sheet.file!r} are {','.join(header)!r:.80}; they must be coalition,payoff (or coalition and one "
            "name per output)",
            code="missing",
        )
    who, rows = header.index("coalition"), []
    for line, cells in zip(sheet.lines, sheet.rows, strict=True):
        where = f"line {line} of {sheet.file!r}"
        earned = tuple(_number(cell, where) for place, cell in enumerate(cells) if place != who)
        rows.append((_members(cells[who], where), earned, where))
    return rows, outputs


def _json_rows(text: str) -> tuple[list[Row], tuple[str, ...], list[str] | None]:
    data = read_json(text, "the file")
    if not isinstance(data, dict):
        raise InvalidInput(
            f"the JSON is {a_type(data)}; write an object such as {{'': 0, 'A': 5, 'B': 3, 'A+B': 10}}", code="type"
        )
    players, outputs = (_collect_names(data, what) for what in ("players", "outputs"))
    given = data.get("payoffs", data)
    if isinstance(given, dict):
        pairs = [(_members(who, f"coalition {who!r}"), earned) for who, earned in given.items()]
    elif isinstance(given, list) and given and not any(isinstance(item, dict | bool | str) for item in given):
        pairs = _in_order(players, given, data.get("order"))
    elif isinstance(given, list) and all(isinstance(item, dict) and {"coalition", "payoff"} <= item.keys() for item in given):
        pairs = [(_read_list(item["coalition"]), item["payoff"]) for item in given]
    else:
        raise InvalidInput("payoffs must be an object, or a list of objects with coalition and payoff", code="type")
    rows = []
    for who, earned in pairs:
        where = f"coalition {SEPARATOR.join(who)!r}"
        rows.append((who, _numbers(earned, where, outputs), where))
    return rows, ("payoff",) if outputs is None else check_names(outputs, "outputs"), players


def _in_order(players: list[str] | None, numbers: list[float], order: object) -> list[tuple[tuple[str, ...], float]]:
    """Bare numbers with the coalitions that they stand for, in a stated order; nobody may be left out."""
    if players is None or order not in ORDERS:
        raise InvalidInput(
            f'payoffs are bare numbers with players {players!r:.40} and order {order!r:.40}; write "players": [...] and '
            '"order": "size" (1, 2, 3, 12, 13, 23, 123) or "binary" (bit i is player i)',
            code="missing",
        )
    n = len(check_names(players, "players"))
    if n > TABLE_LIMIT or len(numbers) not in ((1 << n) - 1, 1 << n):
        raise InvalidInput(
            f"payoffs holds {len(numbers)} numbers for {n} players; 2^{n}, or one fewer, are needed",
            argument="payoffs",
            code="shape",
        )
    index = by_size(n) if order == "size" else np.arange(1 << n)
    masks = index[(1 << n) - len(numbers) :].tolist()
    return [(tuple(p for i, p in enumerate(players) if mask >> i & 1), x) for mask, x in zip(masks, numbers, strict=True)]


def _collect_names(data: dict[str, object], what: str) -> list[str] | None:
    """The names listed beside the payoffs; None where there are none."""
    names = data.get(what) if "payoffs" in data else None
    if isinstance(names, list):
        names = [as_name(name) for name in names]
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise InvalidInput(f"{what} must be a list of names, got {names!r:.60}", code="type")
    return names


def _numbers(value: object, where: str, outputs: list[str] | None) -> tuple[float, ...]:
    """The payoffs of a coalition: a number, or a list of one for each output."""
    if outputs is None:
        return (_number(value, where),)
    if not isinstance(value, list) or len(value) != len(outputs):
        raise InvalidInput(f"{where} has the payoffs {value!r:.60}; a list of {len(outputs)} numbers is needed", code="shape")
    return tuple(_number(number, where) for number in value)


def _read_list(members: object) -> tuple[str, ...]:
    if isinstance(members, str):
        return _members(members, f"coalition {members!r}")
    if not isinstance(members, list):
        raise InvalidInput(f"coalition must be a list of names, got {members!r:.60}", code="type")
    names = [as_name(name) for name in members]
    if not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"coalition must be a list of names, got {members!r:.60}", code="type")
    return tuple(names)


def _members(cell: str, where: str) -> tuple[str, ...]:
    if cell.strip() in ("", "∅"):
        return ()
    names = tuple(name.strip() for name in cell.split(SEPARATOR))
    if not all(names):
        raise InvalidInput(
            f"{where} has the coalition {cell!r} with an empty name; write names joined by +, as in A+B", code="empty"
        )
    return names


def _number(value: object, where: str) -> float:
    if isinstance(value, str):
        payoff = number(value, f"the payoff of {where}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        payoff = float(value)
    else:
        raise InvalidInput(f"the payoff of {where} is {value!r:.60}; a payoff is a number", code="type")
    if not math.isfinite(payoff):
        raise InvalidInput(f"the payoff of {where} is {payoff}; a payoff is a finite number", code="not-finite")
    return payoff


@check_arguments
def read_groups(text: str) -> dict[str, list[str]]:
    """Groups from one line: `web=A+B, code=C`, or `A+B, C` to name each group after its members.

    >>> read_groups("stem=B+C, A")
    {'stem': ['B', 'C'], 'A': ['A']}
    """
    groups: dict[str, list[str]] = {}
    for part in text.split(","):
        name, equals, members = part.partition("=")
        members = members if equals else name
        listed = list(_members(members, f"group {part.strip()!r}"))
        if not listed or not name.strip():
            raise InvalidInput(
                f"groups has the empty group {part!r}; write for example stem=B+C,web=A", argument="groups", code="empty"
            )
        if name.strip() in groups:
            raise InvalidInput(f"groups names {name.strip()!r} twice", argument="groups", code="duplicate")
        groups[name.strip()] = listed
    return groups
