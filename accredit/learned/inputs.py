"""What the players of an input are, and what stands in for one that is removed: columns, words, pixels or blocks of pixels.

Everything here is numpy. A mask has one column per player: 1 keeps the player, 0 puts the replacement in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Protocol, TypeAlias, cast, final, runtime_checkable

import numpy as np
import numpy.typing as npt

from accredit.checks import real_number, real_numbers, whole_number
from accredit.core import BoolArray, FloatArray, check_names, distinct_names
from accredit.core.statistics import units
from accredit.errors import InvalidInput
from accredit.learned.masks import check_mask

Array = npt.NDArray[np.float32 | np.float64 | np.int64]  # inputs: numbers of rows and pictures, ids of words
Numbers: TypeAlias = "npt.ArrayLike"  # of users: arrays, lists, data frames or tensors, checked where they are read
PLAYERS_AT_MOST = 1 << 24  # players, words of a vocabulary: more than this in a saved file is damage, not data
SEEDS_BELOW = 2**62  # seeds lie below this: torch takes 63 bits, and some seeds are made from others


@runtime_checkable
class Inputs(Protocol):
    """What the players of an input are, and what stands in for a removed one.

    >>> [type(inputs).__name__ for inputs in (Tabular(4), Words(10, 500), PixelGrid((28, 28))) if isinstance(inputs, Inputs)]
    ['Tabular', 'Words', 'PixelGrid']
    """

    @property
    def n(self) -> int:
        """Number of players."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one input."""
        ...

    def check(self, x: npt.ArrayLike) -> Array:
        """`x` as an array (N, *shape) of the right type, or an error that says what is wrong."""
        ...

    def keep(self, x: Array, mask: npt.ArrayLike) -> Array:
        """`x` with every player outside the mask replaced: (N, *shape), (N, n) -> (N, *shape)."""
        ...

    def present(self, x: Array) -> BoolArray:
        """Which players exist in each row, padding excluded: (N, n)."""
        ...

    def names(self, one: Array) -> tuple[str, ...]:
        """A name for every player of one input."""
        ...

    def describe(self) -> str:
        """What happens to a removed player, for `Selection.rule`."""
        ...

    def settings(self) -> dict[str, object]:
        """What `inputs_from` needs to make it again, as plain JSON."""
        ...


@final
@dataclass(frozen=True)
class Tabular:
    """Rows of `n` numbers, one player per column; a removed column takes the value `replace` (one number, or one per column).

    `centre` and `spread` (one number per column each) say how networks scale what they read; the black box never sees that.
    `Tabular.of(x)` takes both from rows, and replaces removed columns by their means.

    >>> Tabular(3).keep(np.array([[1.0, 2.0, 3.0]]), [[True, False, True]])
    array([[1., 0., 3.]])
    """

    n: int
    replace: float | tuple[float, ...] = 0.0
    columns: tuple[str, ...] | None = None
    centre: tuple[float, ...] | None = None
    spread: tuple[float, ...] | None = None

    @classmethod
    def of(cls, x: npt.ArrayLike, columns: Sequence[str] | None = None) -> Tabular:
        """Columns scaled by their means and standard deviations in `x` (N, n); a removed column becomes its mean."""
        rows = real_numbers(x, "x")
        if rows.ndim != 2 or not len(rows):
            raise InvalidInput(f"x must be rows (N, n), got shape {rows.shape}", argument="x", code="shape")
        centre = tuple(rows.mean(axis=0).tolist())
        named = None if columns is None else tuple(columns)
        return cls(rows.shape[1], centre, named, centre, tuple(units(rows).tolist()))

    def __post_init__(self) -> None:
        whole("n", self.n)
        if (self.centre is None) != (self.spread is None):
            raise InvalidInput("centre and spread belong together; give both or neither", argument="centre", code="conflict")
        for name in ("centre", "spread"):
            given = getattr(self, name)
            values = None if given is None else as_array(given, np.float64)
            if given is not None and (values is None or values.shape != (self.n,) or not np.isfinite(values).all()):
                raise InvalidInput(f"{name} must be {self.n} finite numbers, got {given!r:.60}", argument=name, code="type")
            if values is not None:
                object.__setattr__(self, name, tuple(values.tolist()))
        if self.spread is not None and min(self.spread) <= 0:
            raise InvalidInput(f"spread must be positive, got {min(self.spread):g}", argument="spread", code="range")
        replace = as_array(self.replace, np.float64)
        if replace is None or replace.shape not in ((), (self.n,)) or not np.isfinite(replace).all():
            raise InvalidInput(
                f"replace must be one finite number or {self.n} of them, got {self.replace!r}",
                argument="replace",
                code="type",
            )
        object.__setattr__(self, "replace", float(replace) if replace.ndim == 0 else tuple(replace.tolist()))
        if self.columns is not None:
            object.__setattr__(self, "columns", check_names(self.columns, "columns"))
            if len(self.columns) != self.n:
                raise InvalidInput(
                    f"columns names {len(self.columns)} columns; give {self.n}, one for each of a row",
                    argument="columns",
                    code="shape",
                )

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n,)

    def check(self, x: npt.ArrayLike) -> Array:
        return _numbers(x, self.shape, "rows of a table")

    def keep(self, x: Array, mask: npt.ArrayLike) -> Array:
        kept = check_mask(mask, len(x), self.n)
        return np.asarray(x * kept + (1 - kept) * np.asarray(self.replace))

    def present(self, x: Array) -> BoolArray:
        return np.ones((len(x), self.n), dtype=bool)

    def names(self, one: Array) -> tuple[str, ...]:
        return self.columns or tuple(f"x{i}" for i in range(self.n))

    def describe(self) -> str:
        if isinstance(self.replace, float):
            return f"removed columns become {self.replace:g}"
        return "removed columns become a value of their own"

    def settings(self) -> dict[str, object]:
        return {"kind": "tabular"} | asdict(self)


@final
@dataclass(frozen=True)
class Words:
    """Texts of at most `length` words as ids below `vocabulary`; a removed word becomes `pad`, which is not a player.

    >>> text = np.array([[7, 5, 9, 0]])
    >>> Words(4, 10).keep(text, [[True, False, True, False]])
    array([[7, 0, 9, 0]])
    >>> Words(4, 10).present(text)
    array([[ True,  True,  True, False]])
    """

    length: int
    vocabulary: int
    pad: int = 0

    def __post_init__(self) -> None:
        whole("length", self.length)
        whole("vocabulary", self.vocabulary)
        whole("pad", self.pad, 0, self.vocabulary - 1)

    @property
    def n(self) -> int:
        return self.length

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.length,)

    def check(self, x: npt.ArrayLike) -> Array:
        ids = as_array(x)
        if ids is None or ids.shape[1:] != self.shape or ids.ndim != 2:
            seen = "rows of different lengths" if ids is None else ids.shape
            raise InvalidInput(
                f"texts must have shape (N, {self.length}), got {seen}; pad or cut every text to {self.length} ids",
                argument="x",
                code="shape",
            )
        if not np.issubdtype(ids.dtype, np.integer):
            raise InvalidInput(
                f"texts must be word ids (whole numbers), got {ids.dtype}; look the words up first", argument="x", code="type"
            )
        if ids.size and not (ids.min() >= 0 and ids.max() < self.vocabulary):
            raise InvalidInput(
                f"word ids must lie in 0..{self.vocabulary - 1}, got {ids.min()}..{ids.max()}; "
                "map rarer words to one id for unknown words",
                argument="x",
                code="range",
            )
        return np.ascontiguousarray(ids, dtype=np.int64)

    def keep(self, x: Array, mask: npt.ArrayLike) -> Array:
        kept = check_mask(mask, len(x), self.n)
        if not np.isin(kept, (0.0, 1.0)).all():
            raise InvalidInput("mask of words must be 0 or 1: a word is there or it is not", argument="mask", code="range")
        return np.where(kept > 0, x, self.pad)

    def present(self, x: Array) -> BoolArray:
        return np.asarray(x != self.pad)

    def names(self, one: Array) -> tuple[str, ...]:
        return tuple(f"{position}:{word}" for position, word in enumerate(np.asarray(one).tolist()))

    def describe(self) -> str:
        return f"removed words become <pad> (id {self.pad})"

    def settings(self) -> dict[str, object]:
        return {"kind": "words"} | asdict(self)


@final
@dataclass(frozen=True)
class PixelGrid:
    """Pictures of `shape` (H, W) or (C, H, W); the players are pixels, or squares of `block` × `block` of them.

    A removed player's pixels become `replace` in every channel. Players are numbered row by row.

    >>> PixelGrid((4, 4), block=2).keep(np.ones((1, 4, 4)), [[True, False, False, False]])[0]
    array([[1., 1., 0., 0.],
           [1., 1., 0., 0.],
           [0., 0., 0., 0.],
           [0., 0., 0., 0.]])
    """

    shape: tuple[int, ...]
    block: int = 1
    replace: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.shape, tuple | list) or len(self.shape) not in (2, 3):
            raise InvalidInput(f"shape must be (H, W) or (C, H, W), got {self.shape!r}", argument="shape", code="shape")
        object.__setattr__(self, "shape", tuple(whole("every size of shape", size) for size in self.shape))
        whole("block", self.block)
        if self.height % self.block or self.width % self.block:
            raise InvalidInput(
                f"blocks of {self.block} do not tile a picture of {self.height} × {self.width}; choose a common divisor",
                argument="block",
                code="range",
            )
        object.__setattr__(self, "replace", real_number(self.replace, "replace"))

    @property
    def height(self) -> int:
        return self.shape[-2]

    @property
    def width(self) -> int:
        return self.shape[-1]

    @property
    def channels(self) -> int:
        return self.shape[0] if len(self.shape) == 3 else 1

    @property
    def grid(self) -> tuple[int, int]:
        """Players down and across."""
        return self.height // self.block, self.width // self.block

    @property
    def n(self) -> int:
        return self.grid[0] * self.grid[1]

    def check(self, x: npt.ArrayLike) -> Array:
        return _numbers(x, self.shape, "pictures")

    def spread(self, mask: npt.ArrayLike, rows: int) -> FloatArray:
        """One number per pixel from one per player: (N, n) -> (N, H, W)."""
        squares = check_mask(mask, rows, self.n).reshape(rows, *self.grid)
        return squares.repeat(self.block, axis=1).repeat(self.block, axis=2)

    def keep(self, x: Array, mask: npt.ArrayLike) -> Array:
        kept = self.spread(mask, len(x))
        if len(self.shape) == 3:
            kept = kept[:, None]
        return x * kept + (1 - kept) * self.replace

    def present(self, x: Array) -> BoolArray:
        return np.ones((len(x), self.n), dtype=bool)

    def names(self, one: Array) -> tuple[str, ...]:
        down, across = self.grid
        return tuple(f"{r * self.block},{c * self.block}" for r in range(down) for c in range(across))

    def describe(self) -> str:
        what = "pixels" if self.block == 1 else f"{self.block}×{self.block} blocks"
        return f"removed {what} become {self.replace:g}"

    def settings(self) -> dict[str, object]:
        return {"kind": "pixels"} | asdict(self)


KINDS: dict[str, Callable[..., Tabular | Words | PixelGrid]] = {"tabular": Tabular, "words": Words, "pixels": PixelGrid}


def inputs_from(settings: Mapping[str, object]) -> Tabular | Words | PixelGrid:
    """Inverse of `Inputs.settings`, for files: anything that does not describe inputs is refused.

    >>> inputs_from(Words(400, 5000).settings())
    Words(length=400, vocabulary=5000, pad=0)
    """
    given = dict(settings) if isinstance(settings, Mapping) else {}
    kind = given.pop("kind", None)
    if kind not in tuple(KINDS):
        raise InvalidInput(f"kind of inputs {kind!r} is unknown; known are {', '.join(KINDS)}", argument="kind", code="unknown")
    try:
        return KINDS[kind](**{name: tuple(v) if isinstance(v, list) else v for name, v in given.items()})
    except TypeError as error:
        raise InvalidInput(f"settings of {kind} inputs are damaged: {error}", argument="settings", code="unreadable") from None


def whole(name: str, value: object, least: int = 1, most: int = PLAYERS_AT_MOST) -> int:
    """A whole number within bounds, or an error that names it."""
    return whole_number(value, name, least, most)


def one_input(
    inputs: Inputs, one: npt.ArrayLike, names: Sequence[str] | None = None
) -> tuple[Array, tuple[str, ...], BoolArray]:
    """One input as a row (1, *shape), the distinct names of the players that exist in it, and their positions, (n,).

    `names` holds one for each of them, or one for every position.
    """
    row = inputs.check(cast(npt.ArrayLike, [one]))
    present = inputs.present(row)[0]
    given = inputs.names(row[0]) if names is None else tuple(map(str, names))
    many = int(present.sum())
    if many == 0:
        raise InvalidInput("this input has no players: it is padding only", code="empty")
    if len(given) not in (inputs.n, many):
        raise InvalidInput(
            f"names has {len(given)} names for {many} players (of {inputs.n} positions)", argument="names", code="shape"
        )
    if len(given) == inputs.n:
        given = tuple(name for name, there in zip(given, present, strict=True) if there)
    return row, distinct_names(given), present


def as_array(x: npt.ArrayLike, dtype: npt.DTypeLike | None = None) -> npt.NDArray[np.generic] | None:
    """`x` as an array, or None where it cannot be one."""
    try:
        with np.errstate(over="ignore"):
            return np.asarray(x, dtype=dtype)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return None


def _numbers(x: npt.ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    wanted = f"{what} must have shape (N, {', '.join(map(str, shape))})"
    try:
        with np.errstate(over="ignore"):
            given = real_numbers(x, what).astype(np.float32)
    except InvalidInput as error:
        raise InvalidInput(
            f"{wanted} and hold numbers only ({error}); encode text and categories as numbers first", argument="x", code="type"
        ) from None
    if given.ndim != len(shape) + 1 or given.shape[1:] != shape:
        raise InvalidInput(f"{wanted}, got {given.shape}; reshape, or declare that shape", argument="x", code="shape")
    if not np.isfinite(given).all():
        row = int((~np.isfinite(given)).reshape(len(given), -1).any(axis=1).argmax())
        raise InvalidInput(
            f"{what} hold NaN, or numbers beyond {np.finfo(np.float32).max:.0e}, first in row {row}; fill them in or "
            "scale them first",
            argument="x",
            code="not-finite",
        )
    return np.ascontiguousarray(given)
