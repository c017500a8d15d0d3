"""One picture as a model reads it, and its pixels dealt out to players: patches, segments, single pixels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from accredit.checks import as_array, real_number
from accredit.core import IntArray
from accredit.errors import InvalidInput
from accredit.models.partition import Partition, partition_by
from accredit.models.preparation import Preparation
from accredit.models.superpixels import superpixels

# Defaults: 512 payoffs tell most credit of 16 players from zero, half of it of 30, and a third of it of 50.
PATCHES_PER_SIDE = 5  # patches down and across, at most: 14 × 14 of a transformer make 5 × 5 blocks
SEGMENTS = 20
SMALL_PICTURE_PIXELS = 64 * 64  # pixels; a larger picture costs its model more, and gets fewer payoffs
PLAYERS_AT_MOST = 4096  # players of one picture
PAINTS = ("mean", "blur", "zero", "black")  # what may stand in place of what is removed
Players = str | tuple[int, int] | npt.NDArray[np.integer] | Partition | None


@dataclass(frozen=True, eq=False)
class Pixels:
    """One picture as a model reads it.

    >>> picture = Pixels(np.zeros((1, 28, 28), dtype=np.float32), patch=(7, 7))
    >>> picture.size, picture.grid, picture.partition((2, 2)).players
    ((28, 28), (4, 4), ('r0c0', 'r0c1', 'r1c0', 'r1c1'))
    """

    values: npt.NDArray[np.float32]  # (C, H, W), prepared
    patch: tuple[int, int] | None  # height and width of one of the model's own patches; None: it has none
    name: str = "image"
    notes: tuple[str, ...] = ()  # what was done to the picture before the model reads it
    preparation: Preparation | None = None  # None: the values came prepared
    seen: npt.NDArray[np.uint8] | None = None  # (H, W, C) before scaling
    original: tuple[int, int] | None = None  # height and width before resizing and cutting
    given: npt.NDArray[np.uint8] | None = None  # (h, w, C) the picture as it came, every few pixels; None: not kept

    @property
    def size(self) -> tuple[int, int]:
        """Height and width in pixels."""
        return int(self.values.shape[1]), int(self.values.shape[2])

    @property
    def grid(self) -> tuple[int, int]:
        """How many patches there are, down and across: the model's own (an edge patch may be smaller), else about
        `PATCHES_PER_SIDE`."""
        height, width = self.size
        if self.patch is None:
            rows = min(height, PATCHES_PER_SIDE if height >= width else max(1, round(PATCHES_PER_SIDE * height / width)))
            return rows, min(width, PATCHES_PER_SIDE if width >= height else max(1, round(PATCHES_PER_SIDE * width / height)))
        return -(-height // self.patch[0]), -(-width // self.patch[1])

    @cached_property
    def shown(self) -> npt.NDArray[np.uint8]:
        """The picture to be looked at: (H, W, C). Values that came prepared are spread over 0…255."""
        if self.seen is not None:
            return self.seen
        low, high = float(self.values.min()), float(self.values.max())
        spread = ((self.values - low) / ((high - low) or 1.0) * 255).round().astype(np.uint8).transpose(1, 2, 0)
        return np.ascontiguousarray(spread[..., :1] if spread.shape[2] == 2 else spread[..., :3])

    def partition(self, players: object = None) -> Partition:
        """Pixels dealt out to players: places are the H·W pixels, row by row.

        By default patches, at most 5 × 5: blocks of the model's own, or a grid. Else "patches" (the model's own),
        "patches:20" (about 20), a grid (rows, columns); "segments" or "segments:40", regions of similar colour; "pixels"; or an
        (H, W) array with the segment of every pixel, where a negative number is nobody's. Player "r2c3" is the patch or pixel
        in row 2 and column 3, from 0.
        """
        if isinstance(players, Partition):
            return players
        if isinstance(players, np.ndarray):
            return self._by_labels(players)
        if isinstance(players, str):
            return self._by_name(players)
        return self._blocks() if players is None else self._grid(*_whole_pair(players))

    def _by_name(self, players: str) -> Partition:
        match = re.fullmatch(r"(patch(?:es)?|segments?|pixels?)(?::(\d+))?", players.strip().lower())
        if match is None or (match[1].startswith("pixel") and match[2]):
            raise InvalidInput(
                f"players is {players!r:.40}; for a picture write 'patches', 'patches:20', 'segments', 'segments:40', "
                "'pixels', a grid (4, 4), or give segments as an array",
                argument="players",
                code="unknown",
            )
        count = int(match[2]) if match[2] else None
        if match[1].startswith("pixel"):
            return self._grid(*self.size)
        if match[1].startswith("segment"):
            return self._segments(min(SEGMENTS, self.size[0] * self.size[1]) if count is None else count)
        return self._grid(*(self.grid if count is None else self._about(count)), own=count is None)

    def _about(self, count: int) -> tuple[int, int]:
        """A grid of about that many cells, each about square."""
        height, width = self.size
        if not 1 <= count <= height * width:
            raise InvalidInput(
                f"players asks for {count} patches; {height} × {width} pixels make 1…{height * width}",
                argument="players",
                code="range",
            )
        rows = min(height, max(1, round(float(np.sqrt(count * height / width)))))
        return rows, min(width, max(1, round(count / rows)))

    def _blocks(self) -> Partition:
        """The model's own patches, in blocks so that there are at most `PATCHES_PER_SIDE` down and across."""
        rows, columns = self.grid
        if self.patch is None:
            return self._grid(rows, columns)
        down, across = -(-rows // PATCHES_PER_SIDE), -(-columns // PATCHES_PER_SIDE)
        return self._tile(self.patch[0] * down, self.patch[1] * across)

    def _grid(self, rows: int, columns: int, own: bool = False) -> Partition:
        height, width = self.size
        if not (1 <= rows <= height and 1 <= columns <= width):
            raise InvalidInput(
                f"players is the grid {(rows, columns)}; {height} × {width} pixels allow 1…{height} by 1…{width}",
                argument="players",
                code="range",
            )
        _check_count(rows * columns)
        if own and self.patch is not None:
            return self._tile(*self.patch)
        return _cells(np.arange(height) * rows // height, np.arange(width) * columns // width)

    def _tile(self, tall: int, wide: int) -> Partition:
        """Tiles of one size; those at the edge may be smaller."""
        height, width = self.size
        _check_count(-(-height // tall) * -(-width // wide))
        return _cells(np.arange(height) // tall, np.arange(width) // wide)

    def _segments(self, count: int) -> Partition:
        _check_count(count)
        labels = superpixels(self.shown, count).ravel()
        return Partition(tuple(f"segment {k}" for k in range(int(labels.max()) + 1)), labels)

    def _by_labels(self, segments: npt.NDArray[np.integer]) -> Partition:
        sizes = {self.size} | ({self.original} if self.original and self.preparation else set())
        segments = as_array(segments, "players")
        whole = np.issubdtype(segments.dtype, np.integer) and int(segments.max(initial=0)) <= np.iinfo(np.int64).max
        if segments.shape not in sizes or not whole:
            hint = "; write segments.astype(int)" if segments.dtype == bool else ""
            raise InvalidInput(
                f"players is an array of {segments.dtype} with shape {segments.shape}; segments are whole numbers of shape "
                f"{' or '.join(map(str, sorted(sizes)))}{hint}",
                argument="players",
                code="shape",
            )
        labels = segments.astype(np.int64)
        if segments.shape != self.size:
            assert self.preparation is not None
            labels = self.preparation.carry(labels)
        labels = labels.ravel()
        present = np.unique(labels[labels >= 0])
        if not len(present):
            raise InvalidInput(
                "players leaves every pixel to nobody; give at least one segment a number from 0",
                argument="players",
                code="empty",
            )
        if len(present) == 1:
            raise InvalidInput(
                f"players has one segment only, number {present[0]}, which would get all the credit; give at least two",
                argument="players",
                code="range",
            )
        _check_count(len(present))
        return partition_by(labels, [f"segment {k}" for k in present])

    def patch_owners(self, partition: Partition) -> IntArray | None:
        """The player of each of the model's patches; None where a patch is shared by several, or nobody's: (patches,)."""
        if self.patch is None:
            return None
        owner = partition.owner.reshape(self.size)
        down, across = (np.arange(edge) // side for edge, side in zip(self.size, self.patch, strict=True))
        patch = (down[:, None] * self.grid[1] + across).ravel()
        found = np.full(int(patch.max()) + 1, -1, dtype=np.int64)
        found[patch] = owner.ravel()
        return found if (found >= 0).all() and (found[patch] == owner.ravel()).all() else None

    def about(self, players: Players, partition: Partition) -> str:
        """Who plays, in one sentence."""
        unit = unit_of(players)
        many = f"{len(partition.players):,} {unit}{'es' if unit == 'patch' else 's'}"
        if isinstance(players, np.ndarray):
            nobody = int((~partition.owned).sum())
            alone = f" {nobody:,} pixels belong to nobody and always stay." if nobody else ""
            unseen = [k for k in np.unique(players[players >= 0]).tolist() if f"segment {k}" not in partition.players]
            gone = f" Not seen by the model, and so without credit: {len(unseen)} more, first {unseen[0]}." if unseen else ""
            return f"Players are the {many} that were given.{gone}{alone}"
        if unit == "segment":
            return f"Players are {many} of similar colour."
        tiles = self.patch_owners(partition)
        blocks = tiles is not None and len(tiles) > len(partition.players)
        own = f", blocks of the model's {len(tiles)} own" if tiles is not None and blocks else ""
        other = ", the default; segments follow the picture's own borders instead" if players is None else ""
        return f"Players are {many}{own}{other}."


def for_pictures(players: object) -> bool:
    """Are these players of a picture, and not of a text?

    >>> for_pictures("segments:40"), for_pictures((4, 4)), for_pictures("word"), for_pictures({"a": [1]})
    (True, True, False, False)
    """
    if isinstance(players, str):
        return unit_of(players) in ("patch", "segment", "pixel")
    return players is not None and not isinstance(players, Mapping)


def unit_of(players: Players) -> str:
    """What one player is called: patch, segment or pixel."""
    if isinstance(players, str):
        return players.strip().lower().partition(":")[0].removesuffix("s").removesuffix("e")
    return "segment" if isinstance(players, np.ndarray) else "patch"


SINGLE = float(np.finfo(np.float32).max)  # models of pictures compute in single precision


def _whole_pair(players: object) -> tuple[int, int]:
    if (
        isinstance(players, tuple | list)
        and len(players) == 2
        and all(isinstance(x, int | np.integer) and not isinstance(x, bool) for x in players)
    ):
        return int(players[0]), int(players[1])
    raise InvalidInput(
        f"players is {players!r:.40}; for a picture give a grid (rows, columns), 'segments:40', or an array of segments",
        argument="players",
        code="type",
    )


def _cells(down: IntArray, across: IntArray) -> Partition:
    """The cells of a grid, from the row of every line of pixels and the column of every file of them."""
    columns = int(across[-1]) + 1
    owner = (down[:, None] * columns + across[None]).ravel().astype(np.int64)
    names = tuple(f"r{k // columns}c{k % columns}" for k in range((int(down[-1]) + 1) * columns))
    return Partition(names, owner)


def _check_count(count: int) -> None:
    if count > PLAYERS_AT_MOST:
        raise InvalidInput(
            f"players would be {count:,}; up to {PLAYERS_AT_MOST:,} are credited at once: write players='segments:100', or a "
            "grid such as (14, 14)",
            argument="players",
            code="too-many",
        )


def paint_over(pixels: Pixels, removal: str | float | npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """What the picture looks like where nobody plays: (C, H, W).

    "mean" is the picture's mean colour, "blur" a blurred copy (standard deviation: half a patch of the default grid), "black"
    black before scaling, "zero" zero after it, a number that number; an array is the prepared picture to be seen instead.
    """
    values = pixels.values
    if isinstance(removal, np.ndarray):
        if removal.shape != values.shape:
            raise InvalidInput(
                f"removal is a picture of shape {removal.shape}; the explained one has {values.shape}",
                argument="removal",
                code="shape",
            )
        return removal.astype(np.float32)
    if isinstance(removal, int | float | np.number) and not isinstance(removal, bool):
        return np.full_like(values, real_number(removal, "removal", -SINGLE, SINGLE, example=0))
    if removal == "zero":
        return np.zeros_like(values)
    if removal == "mean":
        return np.broadcast_to(values.mean(axis=(1, 2), keepdims=True), values.shape).astype(np.float32)
    if removal == "blur":
        from scipy.ndimage import gaussian_filter  # half a second, which no other removal needs

        tall, wide = pixels.patch or (-(-pixels.size[0] // pixels.grid[0]), -(-pixels.size[1] // pixels.grid[1]))
        blurred: npt.NDArray[np.float32] = gaussian_filter(values, sigma=(0, tall / 2, wide / 2))
        return blurred
    if removal == "black":
        if pixels.preparation is None:
            raise InvalidInput(
                "removal is 'black', and how these values were prepared is not known; give the number that black has",
                argument="removal",
                code="unsupported",
            )
        return pixels.preparation.scale(np.zeros((*pixels.size, len(values)), dtype=np.uint8))
    raise InvalidInput(
        f"removal is {removal!r:.40}; write one of {', '.join(PAINTS)}, a number, or give a picture",
        argument="removal",
        code="unknown",
    )
