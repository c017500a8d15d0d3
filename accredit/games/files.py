"""Games written down: a table of coalitions and payoffs as CSV or JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from accredit.core.errors import InvalidInput
from accredit.core.plain import named_once
from accredit.core.tables import Sheet, ending, number, read_content, read_sheet
from accredit.games.table import TableGame

SEPARATOR = "+"


def read_game(path: str | Path) -> TableGame:
    """A game from a file.

    A table (.csv, .tsv or .jsonl) has the columns `coalition` and `payoff`, then one line per coalition, members joined by
    `+`, nobody left empty. JSON: an object from coalition to payoff written the same way, or `{"players": [...], "payoffs":
    [{"coalition": [...], "payoff": …}]}` where names may hold a `+`. `.gz` may follow.
    """
    if ending(path) == ".json":
        return _game(*_json_rows(read_content(path)))
    return _game(_table_rows(read_sheet(path)), None)


def _game(rows: Iterable[tuple[tuple[str, ...], float, str]], players: list[str] | None) -> TableGame:
    payoffs: dict[frozenset[str], float] = {}
    for members, payoff, where in rows:
        who = frozenset(members)
        if len(who) != len(members):
            raise InvalidInput(f"{where} names a player twice: {SEPARATOR.join(members)!r}")
        if who in payoffs:
            raise InvalidInput(
                f"{where} gives coalition {SEPARATOR.join(members)!r} a second payoff; keep one line for it"
            )
        payoffs[who] = payoff
        if players is None:
            continue
        for name in members:
            if name not in players:
                raise InvalidInput(f"{where} names the unknown player {name!r}; players lists {', '.join(players)}")
    if not payoffs:
        raise InvalidInput("the file has no coalitions; write one line for each, starting with ',0' for nobody")
    names = players if players is not None else _names_in_order(payoffs)
    return TableGame.from_payoffs(payoffs, names)


def _names_in_order(payoffs: dict[frozenset[str], float]) -> list[str]:
    """Players in the order of their single coalitions, then any others by name."""
    singles = [name for who in payoffs if len(who) == 1 for name in who]
    return singles + sorted({name for who in payoffs for name in who} - set(singles))


def _table_rows(sheet: Sheet) -> list[tuple[tuple[str, ...], float, str]]:
    header = [name.strip().lower() for name in sheet.names]
    if sorted(header) != ["coalition", "payoff"]:
        raise InvalidInput(f"the columns of {sheet.file!r} are {','.join(header)!r:.80}; they must be coalition,payoff")
    who, earned = header.index("coalition"), header.index("payoff")
    rows = []
    for line, cells in zip(sheet.lines, sheet.rows, strict=True):
        where = f"line {line} of {sheet.file!r}"
        rows.append((_members(cells[who], where), _number(cells[earned], where), where))
    return rows


def _json_rows(text: str) -> tuple[list[tuple[tuple[str, ...], float, str]], list[str] | None]:
    try:
        data = json.loads(text, object_pairs_hook=named_once, parse_int=float)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InvalidInput(f"the file is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise InvalidInput(
            f"the JSON is a {type(data).__name__}; write an object such as {{'': 0, 'A': 5, 'B': 3, 'A+B': 10}}"
        )
    players = data.get("players") if "payoffs" in data else None
    if players is not None and not (isinstance(players, list) and all(isinstance(p, str) for p in players)):
        raise InvalidInput(f"players must be a list of names, got {players!r:.60}")
    given = data.get("payoffs", data)
    if isinstance(given, dict):
        pairs = [(_members(who, f"coalition {who!r}"), earned) for who, earned in given.items()]
    elif isinstance(given, list) and all(
        isinstance(item, dict) and {"coalition", "payoff"} <= item.keys() for item in given
    ):
        pairs = [(_listed(item["coalition"]), item["payoff"]) for item in given]
    else:
        raise InvalidInput("payoffs must be an object, or a list of objects with coalition and payoff")
    rows = [
        (who, _number(earned, f"coalition {SEPARATOR.join(who)!r}"), f"coalition {SEPARATOR.join(who)!r}")
        for who, earned in pairs
    ]
    return rows, players


def _listed(members: Any) -> tuple[str, ...]:
    if isinstance(members, str):
        return _members(members, f"coalition {members!r}")
    if not isinstance(members, list) or not all(isinstance(name, str) for name in members):
        raise InvalidInput(f"coalition must be a list of names, got {members!r:.60}")
    return tuple(members)


def _members(cell: str, where: str) -> tuple[str, ...]:
    if not cell.strip():
        return ()
    names = tuple(name.strip() for name in cell.split(SEPARATOR))
    if not all(names):
        raise InvalidInput(f"{where} has the coalition {cell!r} with an empty name; write names joined by +, as in A+B")
    return names


def _number(value: Any, where: str) -> float:
    if isinstance(value, str):
        payoff = number(value, f"the payoff of {where}")
    elif isinstance(value, float):  # every number of the JSON is one
        payoff = value
    else:
        raise InvalidInput(f"the payoff of {where} is {value!r:.60}; a payoff is a number")
    if not math.isfinite(payoff):
        raise InvalidInput(f"the payoff of {where} is {payoff}; a payoff is a finite number")
    return payoff


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
            raise InvalidInput(f"groups has the empty group {part!r}; write for example stem=B+C,web=A")
        if name.strip() in groups:
            raise InvalidInput(f"groups names {name.strip()!r} twice")
        groups[name.strip()] = listed
    return groups
