"""Series as they come in: arrays, tensors, lists of arrays, or frames with an index of (series, step); all of one shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from accredit.checks.numbers import shown
from accredit.core import FloatArray, distinct_names
from accredit.errors import InvalidInput

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class Series:
    """Series of equal length, all with the same channels."""

    values: FloatArray  # (series, steps, channels)
    steps: tuple[str, ...]
    channels: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Steps and channels."""
        return len(self.steps), len(self.channels)

    def __len__(self) -> int:
        return len(self.values)


def read_series(
    given: object,
    *,
    channels_first: bool = False,
    steps: Iterable[object] | None = None,
    channels: Iterable[object] | None = None,
) -> Series:
    """Series to be explained, checked: (series, steps, channels), or (series, channels, steps) where channels come first.

    >>> read_series(np.zeros((2, 5, 1)), channels=["heart rate"]).channels
    ('heart rate',)
    >>> read_series([np.zeros((5, 1)), np.zeros((4, 1))])
    Traceback (most recent call last):
        ...
    accredit.errors.InvalidInput: series 1 has the shape (4, 1), and series 0 has (5, 1); all must be equally ...
    """
    if hasattr(given, "iloc"):
        read = _of_frame(given, "series", channels_first)
        return _rename(read, steps, channels)
    values = _of_arrays(given, "series")
    if values.ndim != 3:
        way = "(channels, steps)" if channels_first else "(steps, channels)"
        raise InvalidInput(
            f"series has the shape {values.shape}; three axes are needed. One series of the shape {way} is series[None]; many "
            f"of one channel are series[:, {'None, :' if channels_first else ':, None'}]",
            argument="series",
            code="shape",
        )
    if 0 in values.shape:
        raise InvalidInput(f"series has the shape {values.shape}; give at least one cell", argument="series", code="empty")
    values = values.swapaxes(1, 2) if channels_first else values
    count, length, width = values.shape
    plain = Series(
        _check_finite(values, "series"),
        tuple(map(str, range(length))),
        tuple(f"channel {c}" for c in range(width)),
        tuple(map(str, range(count))),
    )
    return _rename(plain, steps, channels)


def read_background(given: object, series: Series, channels_first: bool = False) -> tuple[FloatArray, str]:
    """The series that others are compared with, (series, steps, channels), and what stands in for absent cells, in words."""
    like = series.shape
    if isinstance(given, str | int | float) and not isinstance(given, bool):
        if given not in ("zeros", "zero", 0):
            raise InvalidInput(
                f"background is {given!r}; write 'zeros', or an array of series, or one series such as train.mean(axis=0)",
                argument="background",
                code="unknown",
            )
        return np.zeros((1, *like)), "absent cells are zero"
    values: npt.NDArray[np.generic]
    if hasattr(given, "iloc"):
        read = _of_frame(given, "background", channels_first)
        for name in ("steps", "channels"):
            theirs, ours = getattr(read, name), getattr(series, name)
            if theirs != ours:
                raise InvalidInput(
                    f"background has other {name} than the series: {_list(theirs)}, not {_list(ours)}",
                    argument="background",
                    code="shape",
                )
        values = read.values
    else:
        values = _of_arrays(given, "background")
        values = values[None] if values.ndim == 2 else values
        if values.ndim == 3 and channels_first:
            values = values.swapaxes(1, 2)
    if values.ndim != 3 or values.shape[1:] != like or not len(values):
        raise InvalidInput(
            f"background has the shape {getattr(given, 'shape', values.shape)}; the series have {like[0]} steps and {like[1]} "
            "channels each, and so must the background: an array of such series, one of them, or 'zeros'",
            argument="background",
            code="shape",
        )
    one = "one background series" if len(values) == 1 else f"{len(values)} background series"
    return _check_finite(values, "background"), f"absent cells take the values of {one} at the same step and channel"


def _of_arrays(given: object, what: str) -> npt.NDArray[np.generic]:
    if hasattr(given, "detach"):
        given = given.detach().cpu().numpy()
    if isinstance(given, list | tuple) and any(hasattr(one, "shape") or isinstance(one, list | tuple) for one in given):
        _check_even([np.shape(one) if _is_even(one) else None for one in given], what)
    try:
        values = np.asarray(given)
    except ValueError:
        values = np.empty(0, dtype=object)
    if values.dtype.kind not in "biuf":
        raise InvalidInput(
            f"{what} is {shown(given)}; give numbers of the shape (series, steps, channels), all series equally long",
            argument=what,
            code="type",
        )
    return values


def _is_even(one: Any) -> bool:
    try:
        np.shape(one)
    except ValueError:
        return False
    return True


def _check_even(shapes: Sequence[tuple[int, ...] | None], what: str) -> None:
    for place, shape in enumerate(shapes):
        if shape is None or shape != shapes[0]:
            seen = "steps of different width" if shape is None else f"the shape {shape}"
            raise InvalidInput(
                f"{what} {place} has {seen}, and {what} 0 has {shapes[0]}; all must be equally long: cut or pad them as the "
                "model was trained on",
                argument=what,
                code="shape",
            )


def _check_finite(values: npt.NDArray[np.generic], what: str) -> FloatArray:
    numbers = values.astype(np.float64)
    bad = np.argwhere(~np.isfinite(numbers))
    if len(bad):
        where, step, channel = bad[0].tolist()
        raise InvalidInput(
            f"{what} {where} is {numbers[where, step, channel]} at step {step} of channel {channel}, the first of {len(bad):,} "
            "missing or infinite cells; fill them as the model was trained on",
            argument=what,
            code="not-finite",
        )
    return numbers


# Frames


def _of_frame(frame: Any, what: str, channels_first: bool) -> Series:
    """A frame with an index of (series, step) and one column per channel."""
    import pandas

    table: pandas.DataFrame = frame.to_frame() if isinstance(frame, pandas.Series) else frame
    if table.index.nlevels != 2:
        raise InvalidInput(
            f"{what} is a frame whose index has {table.index.nlevels} level; name series and steps: "
            "frame.set_index(['series', 'step']), with one column per channel",
            argument=what,
            code="shape",
        )
    if channels_first:
        raise InvalidInput(
            "channels_first is for arrays; in a frame every column is a channel: pass a function that turns arrays (series, "
            "steps, channels) as the model reads them",
            argument="channels_first",
            code="conflict",
        )
    names: list[str] = []
    first, found = None, []
    for name, part in table.groupby(level=0, sort=False):
        steps = part.index.get_level_values(1)
        _check_steps(name, steps, what)
        first = steps if first is None else first
        _check_same(name, steps, names, first, what)
        names.append(str(name))
        found.append(part)
    numbers = table.select_dtypes("number")
    if numbers.shape[1] != table.shape[1]:
        other = next(str(c) for c in table.columns if c not in numbers.columns)
        raise InvalidInput(f"{what} has the column {other!r}, which does not hold numbers", argument=what, code="type")
    if first is None:
        raise InvalidInput(f"{what} holds no series; give at least one", argument=what, code="empty")
    values = np.stack([part.to_numpy(dtype=np.float64) for part in found])
    return Series(_check_finite(values, what), tuple(map(str, first)), distinct_names(map(str, table.columns)), tuple(names))


def _check_steps(name: object, steps: pandas.Index, what: str) -> None:
    for before, after in pairwise(steps):
        if not before < after:
            wrong = f"step {after} twice" if before == after else f"step {after} after step {before}"
            raise InvalidInput(
                f"{what} {str(name)!r} has {wrong}; steps must be in order, each once: frame.sort_index()",
                argument=what,
                code="duplicate" if before == after else "conflict",
            )


def _check_same(name: object, steps: pandas.Index, names: list[str], first: pandas.Index, what: str) -> None:
    """Refuse a series whose steps are not those of the first."""
    if steps.equals(first):
        return
    lacks, more = first.difference(steps), steps.difference(first)
    seen = f"lacks step {lacks[0]}" if len(lacks) else f"has step {more[0]}, which {what} {names[0]!r} lacks"
    raise InvalidInput(
        f"{what} {str(name)!r} {seen}; all must have the same {len(first)} steps: fill or cut them as the model was trained on",
        argument=what,
        code="missing" if len(lacks) else "shape",
    )


def _rename(series: Series, steps: Iterable[object] | None, channels: Iterable[object] | None) -> Series:
    """Steps and channels by names of one's own; steps that can be compared must be in order."""
    listed = None if steps is None else list(steps)
    if listed is not None:
        try:
            wrong = [later for before, later in pairwise(listed) if not before < later]  # type: ignore[operator]
        except TypeError:
            wrong = []
        if wrong and not isinstance(listed[0], str):
            raise InvalidInput(
                f"steps are out of order at {wrong[0]}; they must ascend, each once", argument="steps", code="conflict"
            )
    return Series(
        series.values,
        series.steps if listed is None else _names(listed, series.shape[0], "steps"),
        series.channels if channels is None else _names(channels, series.shape[1], "channels"),
        series.names,
    )


def _names(given: Iterable[object], count: int, what: str) -> tuple[str, ...]:
    names = tuple(map(str, given))
    if len(names) != count:
        raise InvalidInput(f"{what} has {len(names)} names, and the series have {count} {what}", argument=what, code="shape")
    return distinct_names(names)


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(names[:4]) + " …" * (len(names) > 4)
