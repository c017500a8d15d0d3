"""Which rows, columns and outputs an index picks: `explained[rows, columns, outputs]`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from accredit.checks import shown
from accredit.checks.numbers import check_index
from accredit.checks.suggestions import did_you_mean
from accredit.errors import InvalidInput
from accredit.results import read_list

Picked = int | list[int]  # one position, or several
EVERY = slice(None)
RULE = "write [rows], [rows, columns] or [rows, columns, outputs], for example [0], [:10, 'age'] or [:, ['age', 'pay']]"


def split_index(index: object) -> tuple[object, object, object]:
    """What an index says about rows, columns and outputs; outputs are None where nothing is said.

    >>> split_index(3), split_index((0, "age"))
    ((3, slice(None, None, None), None), (0, 'age', None))

    Three dots stand for the places that are left, as in numpy.

    >>> split_index((..., "yes")) == split_index((slice(None), slice(None), "yes"))
    True
    """
    places = index if isinstance(index, tuple) else (index,)
    dots = [k for k, place in enumerate(places) if place is Ellipsis]
    if len(dots) == 1 and len(places) <= 4:
        before, after = places[: dots[0]], places[dots[0] + 1 :]
        places = (*before, *(EVERY,) * (3 - len(before) - len(after)), *after)
    if not 1 <= len(places) <= 3 or any(place is None or place is Ellipsis for place in places):
        raise InvalidInput(f"index is {shown(index)}; {RULE}", argument="index", code="shape")
    return places[0], places[1] if len(places) > 1 else EVERY, places[2] if len(places) > 2 else None


def positions(given: object, names: Sequence[str], argument: str) -> Picked:
    """The position of one name or number, or those in a slice or a list of them; True and False, one each, keep.

    >>> positions("pay", ("age", "pay"), "columns"), positions([True, False], ("age", "pay"), "columns")
    (1, [0])
    >>> positions(-1, ("age", "pay"), "columns"), positions(slice(1, None), ("age", "pay"), "columns")
    (1, [1])
    """
    if isinstance(given, slice):
        found = _slice(given, len(names), argument)
    elif isinstance(given, list | tuple) or getattr(given, "ndim", 0) == 1:
        found = _list(given, names, argument)
    else:
        return _position(given, names, argument)
    if not found:
        raise InvalidInput(
            f"{argument} is {shown(given)}, which picks none of {len(names)}; {RULE}", argument=argument, code="empty"
        )
    if len(set(found)) < len(found) and argument != "rows":
        raise InvalidInput(
            f"{argument} is {shown(given)}, which picks one of them twice; name each once", argument=argument, code="duplicate"
        )
    return found


def _slice(given: slice, count: int, argument: str) -> list[int]:
    try:
        return list(range(count))[given]
    except (TypeError, ValueError):
        raise InvalidInput(
            f"{argument} is {shown(given)}; a slice has whole numbers, as in [2:5]", argument=argument, code="type"
        ) from None


def _list(given: object, names: Sequence[str], argument: str) -> list[int]:
    every = given.tolist() if hasattr(given, "tolist") else list(given) if isinstance(given, Iterable) else [given]
    flags = [isinstance(one, bool | np.bool_) for one in every]
    if any(flags):
        if not all(flags) or len(every) != len(names):
            raise InvalidInput(
                f"{argument} is {shown(given)}; a list of True and False has one for each of the {len(names)}",
                argument=argument,
                code="shape",
            )
        check_index(given, names, argument)
        return [place for place, kept in enumerate(every) if kept]
    return [_position(one, names, argument) for one in every]


def _position(one: object, names: Sequence[str], argument: str) -> int:
    """One position from 0, from a name or a number that may count from the end. Rows are not named: a name is a method's."""
    if isinstance(one, str) and argument != "rows":
        if one in names:
            return list(names).index(one)
        raise InvalidInput(
            f"{argument} is {shown(one)}; there are {read_list(names)}{did_you_mean(one, names)}",
            argument=argument,
            code="unknown",
        )
    if isinstance(one, int | np.integer) and not isinstance(one, bool | np.bool_):
        if -len(names) <= one < len(names):
            return int(one) % len(names)
        raise InvalidInput(
            f"{argument} is {shown(one)}; positions go from {-len(names)} to {len(names) - 1}", argument=argument, code="range"
        )
    raise InvalidInput(f"{argument} is {shown(one)}; {RULE}", argument=argument, code="type")
