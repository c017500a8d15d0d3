"""Who plays in a series: steps, channels, stretches of time of equal length or between change points, single cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from accredit.checks.numbers import shown
from accredit.core import FloatArray, IntArray, distinct_names
from accredit.errors import InvalidInput
from accredit.models.partition import Partition, partition_of
from accredit.series.reading import Series

SEGMENTS = 10  # stretches of a longer series, where nothing is said
MOST_STEPS = 10_000  # of a series whose change points are looked for; the time grows with the square
FORMS = (
    "'steps', 'channels', 'cells', 'windows:24' (of 24 steps), 'segments:8' (equal), 'change-points:8', any but 'channels' and "
    "'cells' with ' x channels' behind it, named lists of steps, or an array with the player of every step"
)


@dataclass(frozen=True, eq=False)
class SeriesPlayers:
    """Players, and the player of every cell; where stretches are found in each series by itself, of every series."""

    players: tuple[str, ...]
    owner: IntArray  # (series, steps, channels), or (1, steps, channels) for all

    def partition(self, row: int) -> Partition:
        """The players of one series over its cells, in a row."""
        return Partition(self.players, self.owner[row if len(self.owner) > 1 else 0].ravel())


def deal(series: Series, players: object) -> SeriesPlayers:
    """Cells dealt out to players.

    >>> from accredit.series.reading import read_series
    >>> deal(read_series(np.zeros((1, 6, 1))), "windows:4").players
    ('0–3', '4–5')
    """
    length, width = series.shape
    if players is None:
        players = "steps" if length <= SEGMENTS else f"segments:{SEGMENTS}"
    if isinstance(players, Mapping):
        return _named(series, players)
    if isinstance(players, str):
        return _spelled(series, players)
    label = np.asarray(players)
    if label.dtype.kind in "iu" and label.shape in ((length,), (length, width)):
        return _labelled(series, label)
    raise InvalidInput(
        f"players is {shown(players)}; write {FORMS}, for {length} steps and {width} channels", argument="players", code="type"
    )


def _spelled(series: Series, spelled: str) -> SeriesPlayers:
    length, width = series.shape
    match = re.fullmatch(r"([a-z-]+)(?::(\d+))?(\s*[x×]\s*channels)?", spelled.strip())
    kind, count, crossed = (match[1], match[2], match[3]) if match else ("", None, None)
    if kind in ("channels", "cells", "steps") and count is None and not (crossed and kind != "steps"):
        if kind == "channels":
            return _whole(series, np.broadcast_to(np.arange(width), (length, width)), series.channels)
        if kind == "cells" or crossed:
            return _across(series, np.arange(length)[None], series.steps)
        return _over_time(series, np.arange(length)[None], series.steps)
    if kind not in ("windows", "segments", "change-points") or count is None:
        raise InvalidInput(f"players is {spelled!r}; write {FORMS}", argument="players", code="unknown")
    number = int(count)
    if not 1 <= number <= length:
        raise InvalidInput(
            f"players is {spelled!r}, and the series have {length} steps; give a number from 1 to {length}",
            argument="players",
            code="range",
        )
    if kind == "change-points":
        found = np.stack([change_points(values, number) for values in series.values])
        names = tuple(f"segment {k + 1}" for k in range(number))
    else:
        steps = np.arange(length)
        found = (steps // number if kind == "windows" else steps * number // length)[None]
        names = tuple(_stretch(series.steps, found[0] == k) for k in range(int(found.max()) + 1))
    return _across(series, found, names) if crossed else _over_time(series, found, names)


def _stretch(steps: tuple[str, ...], inside: object) -> str:
    where = np.flatnonzero(np.asarray(inside))
    first, last = steps[where[0]], steps[where[-1]]
    return first if len(where) == 1 else f"{first}–{last}"


def _whole(series: Series, owner: IntArray, names: Iterable[str]) -> SeriesPlayers:
    return SeriesPlayers(distinct_names(names), np.asarray(owner, dtype=np.int64)[None])


def _over_time(series: Series, stretch: IntArray, names: Iterable[str]) -> SeriesPlayers:
    """Stretches of time, all channels together: (series or 1, steps)."""
    return SeriesPlayers(distinct_names(names), np.repeat(stretch[:, :, None], series.shape[1], axis=2).astype(np.int64))


def _across(series: Series, stretch: IntArray, names: Iterable[str]) -> SeriesPlayers:
    """Stretches of time in each channel by itself."""
    width = series.shape[1]
    both = tuple(f"{channel} · {name}" for name in names for channel in series.channels)
    return SeriesPlayers(distinct_names(both), (stretch[:, :, None] * width + np.arange(width)).astype(np.int64))


def _named(series: Series, players: Mapping[str, Iterable[int]]) -> SeriesPlayers:
    length, width = series.shape
    partition = partition_of(players, length, np.ones(length, dtype=bool), series.steps)
    return SeriesPlayers(partition.players, np.repeat(partition.owner[:, None], width, axis=1)[None])


def _labelled(series: Series, label: IntArray) -> SeriesPlayers:
    length, width = series.shape
    cells = np.repeat(label[:, None], width, axis=1) if label.ndim == 1 else label
    known, owner = np.unique(cells, return_inverse=True)
    return _whole(series, owner.reshape(length, width), (f"part {k}" for k in known.tolist()))


def change_points(values: FloatArray, segments: int) -> IntArray:
    """The segment of every step, (steps,), where a series is cut into pieces that are as constant as can be.

    The cuts have the least sum of squared distances from the means of their pieces, each channel in units of its own standard
    deviation: exactly, by dynamic programming in O(steps²).

    >>> change_points(np.array([[1.0], [1.1], [5.0], [5.1], [5.0], [0.2]]), 3).tolist()
    [0, 0, 1, 1, 1, 2]
    """
    length = len(values)
    if length > MOST_STEPS:
        raise InvalidInput(
            f"change points of {length:,} steps take too long; at most {MOST_STEPS:,}. Write players='segments:{segments}'",
            argument="players",
            code="too-many",
        )
    spread = values.std(axis=0)
    scaled = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    first = np.concatenate([np.zeros((1, scaled.shape[1])), np.cumsum(scaled, axis=0)])
    second = np.concatenate([[0.0], np.cumsum((scaled**2).sum(axis=1))])
    best = np.full((segments + 1, length + 1), np.inf)
    cut = np.zeros((segments + 1, length + 1), dtype=np.int64)
    best[0, 0] = 0.0
    for end in range(1, length + 1):
        size = end - np.arange(end)
        cost = second[end] - second[:end] - ((first[end] - first[:end]) ** 2).sum(axis=1) / size
        total = best[:-1, :end] + cost  # (segments, end): one more piece, from each start
        cut[1:, end] = total.argmin(axis=1)
        best[1:, end] = total.min(axis=1)
    label, end = np.empty(length, dtype=np.int64), length
    for piece in range(segments, 0, -1):
        start = int(cut[piece, end])
        label[start:end] = piece - 1
        end = start
    return label
