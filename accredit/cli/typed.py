"""What is typed for a setting that is more than a word or a number, read as the library takes it."""

from __future__ import annotations

import re

from accredit.checks.json_data import read_json
from accredit.checks.numbers import whole_number
from accredit.checks.tables import number
from accredit.errors import InvalidInput


def players_of(players: str) -> str | tuple[int, int] | dict[str, list[int]]:
    """Players of a text or a picture: a name, a grid, or a JSON object of named token positions.

    >>> players_of("2x3"), players_of('{"who": [0, 1]}')
    ((2, 3), {'who': [0, 1]})
    """
    if match := re.fullmatch(r"(\d+)[x×](\d+)", players):
        return int(match[1]), int(match[2])
    if not players.lstrip().startswith("{"):
        return players
    try:
        groups = read_json(players, "players")
        return {name: [whole_number(i, name, 0) for i in where] for name, where in groups.items()}
    except (ValueError, TypeError) as error:
        said = f"players is not a JSON object of lists of token positions: {error}"
        raise InvalidInput(said, argument="players", code="unreadable") from None


def groups_of(players: str) -> dict[str, list[str | int]]:
    """Groups of columns from JSON."""
    try:
        groups = read_json(players, "players")
    except InvalidInput:
        groups = None
    if not isinstance(groups, dict):
        raise InvalidInput(
            f'players is {players!r:.40}; for rows write groups of columns as JSON, for example {{"person": ["age", "sex"]}}',
            argument="players",
            code="type",
        )
    return groups


def parts_of(players: str) -> object:
    """Parts of a prompt: units by name, or as JSON a list of passages, or names with strings or spans of characters."""
    if players.lstrip()[:1] not in ("{", "["):
        return players
    read = read_json(players, "players")
    if isinstance(read, list):
        return [tuple(part) if isinstance(part, list) else part for part in read]
    return {name: tuple(p) if isinstance(p, list) and all(isinstance(i, int) for i in p) else p for name, p in read.items()}


def removal_of(removal: str) -> str | float:
    """A way to remove players, or the number that is painted over a picture."""
    try:
        return number(removal, "removal")
    except InvalidInput:
        return removal


def heads_of(heads: str) -> str | int | list[float]:
    """Heads: a name, a number, or one weight for each.

    >>> heads_of("max"), heads_of("3"), heads_of("1,0,1")
    ('max', 3, [1.0, 0.0, 1.0])
    """
    if heads in ("mean", "max"):
        return heads
    try:
        return int(heads) if "," not in heads else [number(weight, "heads") for weight in heads.split(",")]
    except ValueError:
        raise InvalidInput(
            f"heads is {heads!r}; write mean, max, a number such as 3, or weights such as 1,0,1",
            argument="heads",
            code="unreadable",
        ) from None


def layers_of(layers: str) -> int | list[int]:
    """Layers: one number, or several.

    >>> layers_of("-1"), layers_of("0-2,5")
    (-1, [0, 1, 2, 5])
    """
    if re.fullmatch(r"-?\d+", layers):
        return int(layers)
    chosen: list[int] = []
    for part in layers.split(","):
        match = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?", part.strip())
        if match is None:
            raise InvalidInput(
                f"layers is {layers!r}; write a number, several (0,2,5) or a range (0-3)", argument="layers", code="unreadable"
            )
        chosen += range(int(match[1]), int(match[2] or match[1]) + 1)
    return chosen


def split_at_commas(typed: tuple[str, ...]) -> tuple[str, ...]:
    """Names, whether commas stand between them or the option is repeated.

    >>> split_at_commas(("a,b", "c"))
    ('a', 'b', 'c')
    """
    return tuple(name for each in typed for name in each.split(",") if name)


def server_of(typed: str) -> dict[str, object]:
    """Settings of a model at a URL: name=value with commas between them; numbers are read as such, but for the name.

    >>> server_of("name=smollm2,samples=32,price=0.5")
    {'name': 'smollm2', 'samples': 32, 'price': 0.5}
    """
    found: dict[str, object] = {}
    for each in typed.split(","):
        name, sign, value = (part.strip() for part in each.partition("="))
        if not sign or not name or not value:
            raise InvalidInput(
                f"server is {typed!r:.60}; write name=value with commas between, for example name=smollm2,concurrency=8",
                argument="server",
                code="type",
            )
        counts = re.fullmatch(r"\d+", value) and name != "name"
        found[name] = int(value) if counts else float(value) if re.fullmatch(r"\d*\.\d+", value) else value
    return found
