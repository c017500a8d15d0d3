"""The door for numbers: arrays, single numbers, counts, seeds. What cannot be taken as it is, is refused; nothing is dropped.

numpy drops masks, imaginary parts and units of time without a word, reads words as numbers, and stumbles over tensors with
gradients. Here an array becomes float64 only where no information is lost but rounding.
"""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import numpy.typing as npt

from accredit.checks.suggestions import did_you_mean
from accredit.errors import AccreditError, Code, InvalidInput

if TYPE_CHECKING:
    import torch

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
CellArray = npt.NDArray[np.generic]  # cells of any type

MOST = 2**63 - 1  # of counts and seeds: what a 64-bit integer holds
KINDS = {
    "c": "they are complex; take their real part or their magnitude first",
    "M": "dates are not; turn them into numbers first, for example days since the first one",
    "m": "spans of time are not; turn them into numbers first, for example seconds",
    "U": "text is not; write 5 instead of '5'",
    "S": "bytes are not",
    "T": "text is not; write 5 instead of '5'",
}


def shown(value: object, width: int = 60) -> str:
    """What was given, for a message: one short line, whatever it is.

    >>> shown([1, 2]), shown(10**5000)
    ('[1, 2]', 'a whole number of more than 4300 digits')
    """
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 4096:
        return f"a whole number of {'more than 4300' if value.bit_length() > 14284 else len(str(abs(value)))} digits"
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a stranger's object may fail in any way
        return f"{a_type(value)}"
    return text if len(text) <= width else f"{text[: width - 1]}…"


def a_type(value: object) -> str:
    """The type of a value with its article, as it is said aloud.

    >>> a_type(3), a_type("3"), a_type(np.ones(1))
    ('an int', 'a str', 'an ndarray')
    """
    name = type(value).__name__
    spelled = (len(name) > 1 and name[:2].isupper()) or name == "ndarray"  # letter by letter: an XGBClassifier
    return f"{'an' if name[0] in ('AEFHILMNORSXn' if spelled else 'AEIOaeio') else 'a'} {name}"


def real_numbers(
    given: object, name: str, error: type[AccreditError] = InvalidInput, *, copy: bool = False, masked: bool = False
) -> FloatArray:
    """An array of real numbers as float64, whatever holds them: a list, numpy, torch, pandas. NaN and infinities pass.

    Masks, complex numbers, dates, text and missing values are refused with an `error` that says what to write. With `masked`,
    masked entries become NaN, for readers that know what a missing number is.

    >>> real_numbers([1, 2], "weights")
    array([1., 2.])
    """
    if type(given) is np.ndarray and given.dtype.kind == "f" and given.dtype.itemsize <= 8:
        return given.astype(np.float64, copy=copy)
    try:
        array = _array(given, name, masked)
        if array.dtype.kind not in "biuf":
            array = _convert(array, name)
        return _round_off(array, name, copy)
    except _Refused as refused:
        raise error(str(refused), argument=name, code=refused.code) from None
    except Exception as cause:  # __array__ of a stranger's class may fail in any way
        why = " ".join(str(cause).split())[:120]
        said = f"{name} must be real numbers, got {type(given).__name__} {shown(given)}: {why}"
        raise error(said, argument=name, code="type") from cause


def as_array(given: object, name: str) -> npt.NDArray[Any]:
    """Cells as an array of their own type, words and dates included; what would be dropped on the way is refused.

    >>> as_array([["red", "small"], ["blue", "large"]], "rows").shape
    (2, 2)
    >>> as_array([[1, 2], [3]], "rows")
    Traceback (most recent call last):
        ...
    accredit.errors.InvalidInput: rows has rows of different lengths; give every row the same columns
    """
    try:
        array = _array(given, name, whole=False)
    except _Refused as refused:
        raise InvalidInput(str(refused), argument=name, code=refused.code) from None
    except Exception as cause:
        ragged = "has rows of different lengths; give every row the same columns" if "inhomogeneous" in str(cause) else ""
        why = ragged or f"cannot be read as rows and columns: {' '.join(str(cause).split())[:120]}"
        raise InvalidInput(f"{name} {why}", argument=name, code="shape" if ragged else "unreadable") from cause
    if array.dtype.kind == "c":
        raise InvalidInput(f"{name} must be real numbers: {KINDS['c']}", argument=name, code="type")
    return array


class _Refused(Exception):
    """Why an array is not one of real numbers."""

    def __init__(self, why: str, code: Code = "type") -> None:
        super().__init__(why)
        self.code: Code = code


def _round_off(array: CellArray, name: str, copy: bool) -> FloatArray:
    """Numbers as float64; a long double beyond its range is refused, for it would become infinite."""
    with np.errstate(over="ignore"):
        found = array.astype(np.float64, copy=copy)
    if array.dtype.itemsize > 8 and (lost := np.isinf(found) & np.isfinite(array)).any():
        raise _Refused(f"{name} holds {array[lost][0]!s}; the largest number is 1.8e308", "range")
    return found


def _array(given: object, name: str, masked: bool = False, whole: bool = True) -> CellArray:
    """What was given as an array of any type; tensors are taken out of torch, masks are looked at. With `whole`, only numbers
    can come of it, so that what can never be one is refused by its place."""
    if isinstance(given, np.ma.MaskedArray):
        data, hidden = np.asarray(given.data), np.asarray(np.ma.getmaskarray(given))
        if not hidden.any():
            return data
        if not masked or data.dtype.kind not in "biuf":
            raise _Refused(
                f"{name} holds {int(hidden.sum())} masked numbers; fill them in first, for example {name}.filled(0)", "missing"
            )
        return np.where(hidden, np.nan, data.astype(np.float64))
    if _is_tensor(given):
        return _of_tensor(given, name, double=whole)
    if isinstance(given, list | tuple) and not all(type(item) in (float, int) for item in given):
        if not whole and not any(hasattr(item, "detach") or isinstance(item, np.ma.MaskedArray) for item in given):
            return _with_nul(given)
        parts = [
            item if isinstance(item, numbers.Number | str) else _array(item, f"{name}[{i}]", masked, whole)
            for i, item in enumerate(given)
        ]
        return np.asarray(parts)
    if hasattr(given, "tocoo"):
        raise _Refused(f"{name} is a sparse matrix ({type(given).__name__}); write {name}.toarray()")
    if whole and (given is None or isinstance(given, dict | set | frozenset | str | bytes | bytearray)):
        raise _Refused(f"{name} must be real numbers, got {shown(given)}")
    found = np.asanyarray(given)
    if isinstance(found, np.ma.MaskedArray):  # what the object's __array__ gave
        return _array(found, name, masked, whole)
    if whole and found.ndim == 0 and found.dtype == object and isinstance(given, Iterable):
        raise _Refused(f"{name} must be real numbers, got {a_type(given)}; write list({name})")
    return np.asarray(found)


def _with_nul(given: Sequence[object]) -> CellArray:
    """Cells of a list as an array. numpy drops NUL characters from the end of words; then the words are kept as objects."""
    found = np.asarray(given)
    if found.dtype.kind in "US":
        words = np.asarray(given, dtype=object)
        if any(isinstance(word, str | bytes) and word[-1:] in ("\0", b"\0") for word in words.flat):
            return words
    return found


def _is_tensor(given: object) -> TypeGuard[torch.Tensor]:
    return hasattr(given, "detach") and hasattr(given, "cpu")


def _of_tensor(given: torch.Tensor, name: str, double: bool = True) -> CellArray:
    """A tensor's numbers. Its gradient is left behind: results hold numbers."""
    if str(given.layout) != "torch.strided" or given.is_quantized or given.device.type == "meta":
        raise _Refused(f"{name} is a tensor without plain numbers; write {name}.to_dense() or {name}.dequantize()")
    if given.is_complex():
        raise _Refused(f"{name} must be real numbers: {KINDS['c']}")
    found = given.detach().cpu()
    brief = str(found.dtype) not in ("torch.float32", "torch.float64") and found.is_floating_point()
    return (found.double() if found.is_floating_point() and (double or brief) else found).numpy()


def _convert(array: CellArray, name: str) -> CellArray:
    """An array of objects as float64, object by object; of anything else that is not a number, an error."""
    kind = array.dtype.kind
    if kind in KINDS:
        raise _Refused(
            f"{name} must be real numbers, and holds {shown(array.ravel()[:1].tolist()[0], 30)}: {KINDS[kind]}"
            if array.size
            else f"{name} must be real numbers, and is an empty array of {array.dtype}"
        )
    if kind != "O":
        if array.dtype.name.startswith(("bfloat", "float")):  # of a library that adds types of its own
            return array.astype(np.float64)
        raise _Refused(f"{name} must be real numbers, and holds {array.dtype}")
    found = np.empty(array.shape)
    for place, item in zip(np.ndindex(array.shape), array.flat, strict=True):
        found[place] = _one(item, f"{name}{list(place)}" if place else name)
    return found


def _one(item: object, name: str) -> float:
    item = item.item() if isinstance(item, np.ndarray) and item.ndim == 0 else item
    if not isinstance(item, numbers.Real | Decimal) or isinstance(item, np.timedelta64):
        missing = "; fill in missing values first" if str(item) in ("<NA>", "NaT") else ""
        raise _Refused(f"{name} is {shown(item)}, which is not a real number{missing}")
    with suppress(OverflowError):
        found = float(item)
        if not math.isinf(found) or item == found:
            return found
    raise _Refused(f"{name} is {shown(item)}; the largest number is 1.8e308", "range")


def finite_numbers(given: object, name: str) -> FloatArray:
    """An array of finite numbers, or an error that shows the first that is not."""
    array = real_numbers(given, name)
    if not np.isfinite(array).all():
        raise InvalidInput(
            f"{name} holds {array[~np.isfinite(array)][0]}; every number must be finite", argument=name, code="not-finite"
        )
    return array


def truths(given: object, name: str) -> BoolArray:
    """An array of true and false, also written as ones and zeros."""
    array: object = given
    if not isinstance(given, np.ndarray) or given.dtype != bool:
        array = real_numbers(given, name)
        if not np.isin(array, (0.0, 1.0)).all():
            raise InvalidInput(f"{name} is {shown(given)}; it must hold True and False only", argument=name, code="type")
    elif isinstance(given, np.ma.MaskedArray):
        raise InvalidInput(
            f"{name} has masked entries; fill them in first, for example {name}.filled(False)", argument=name, code="missing"
        )
    return np.asarray(array, dtype=bool)


def real_number(given: object, name: str, low: float = -np.inf, high: float = np.inf, *, example: object = 0.5) -> float:
    """One finite number from `low` to `high`, or an error that names it.

    >>> real_number(np.float32(0.5), "residual", 0, 1)
    0.5
    """
    single = getattr(given, "ndim", 0) == 0 and not isinstance(given, str | bytes | bool | np.bool_ | list | tuple)
    if not single or str(getattr(given, "dtype", "")) in ("bool", "torch.bool"):
        raise InvalidInput(
            f"{name} must be one number, got {shown(given)}; write for example {name}={example}", argument=name, code="type"
        )
    value = given if type(given) is float else float(real_numbers(given, name))
    if not math.isfinite(value) or not low <= value <= high:
        wanted = f"lie between {low:g} and {high:g}" if np.isfinite([low, high]).all() else f"be {_from(low)}"
        raise InvalidInput(
            f"{name} is {shown(given)}; it must {wanted}, for example {name}={example}",
            argument=name,
            code="range" if math.isfinite(value) else "not-finite",
        )
    return value


def _from(low: float) -> str:
    return f"a finite number of at least {low:g}" if np.isfinite(low) else "a finite number"


def whole_number(given: object, name: str, least: int = 1, most: int = MOST, *, example: object = None) -> int:
    """A count: a whole number from `least` to `most`, or an error that names it.

    >>> whole_number(np.int64(3), "count")
    3
    """
    whole = int(given) if isinstance(given, int | np.integer) and not isinstance(given, bool | np.bool_) else None
    if whole is None or not least <= whole <= most:
        bounds = f" from {least} to {most}" if most != MOST else "" if least == -MOST else f" of at least {least}"
        if whole is not None and whole > most == MOST:
            bounds = f" of at most {MOST}"
        usual = f"; write for example {name}={min(max(least, 1), most) if example is None else example}"
        raise InvalidInput(
            f"{name} must be a whole number{bounds}, got {shown(given)}{usual}",
            argument=name,
            code="type" if whole is None else "range",
        )
    return whole


def optional_whole(given: object, name: str, least: int = 1, most: int = MOST, *, example: object = None) -> int | None:
    """A count, or None where there is no limit.

    >>> optional_whole(None, "limit"), optional_whole(100, "limit")
    (None, 100)
    """
    return None if given is None else whole_number(given, name, least, most, example=example)


def check_seed(seed: object) -> int:
    """A seed that every random generator takes, or an error that says so.

    >>> check_seed(7)
    7
    """
    return whole_number(seed, "seed", 0, example=0)


def check_text(text: object, name: str, *, empty: bool = True) -> str:
    """A string that can be written anywhere: half of a surrogate pair cannot.

    >>> check_text("naïve", "method")
    'naïve'
    """
    if not isinstance(text, str) or not (text or empty):
        raise InvalidInput(
            f"{name} is {shown(text)}; write a string{'' if empty else ' that is not empty'}", argument=name, code="type"
        )
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            half = ascii(text[error.start])
            raise InvalidInput(
                f"{name} {shown(ascii(text))} holds {half}, half of a surrogate pair; leave it out",
                argument=name,
                code="unreadable",
            ) from None
    return str(text)


def known_fields(given: Iterable[str], known: Iterable[str], name: str) -> None:
    """Refuse a key that nobody reads, and name the one that was probably meant."""
    listed = list(known)
    for key in given:
        if key not in listed:
            advice = did_you_mean(key, listed) or f"; the fields are {', '.join(listed)}"
            raise InvalidInput(f"{name} has the unknown field {shown(key)}{advice}", code="unknown")


def check_index(given: object, names: Iterable[object], argument: str) -> None:
    """Refuse a column of pandas whose index holds these names in another order: it is read place by place.

    >>> check_index([3, 2], ("a", "b"), "weights")
    """
    if not hasattr(given, "iloc") or not hasattr(given, "index"):
        return
    index, wanted = [str(name) for name in given.index], [str(name) for name in names]
    if index != wanted and Counter(index) == Counter(wanted):
        raise InvalidInput(
            f"{argument} is about {shown(index, 40)}, and is read place by place as about {shown(wanted, 40)}; write "
            f"{argument} in that order, for example {argument}.loc[…]",
            argument=argument,
            code="conflict",
        )


def check_same_order(first: object, second: object, first_name: str, second_name: str) -> None:
    """Refuse two columns or frames of pandas that name the same rows in another order: both are read place by place.

    >>> check_same_order([1, 2], [3, 4], "labels", "features")
    """
    indices = [list(given.index) for given in (first, second) if hasattr(given, "iloc") and hasattr(given, "index")]
    if len(indices) == 2 and indices[0] != indices[1] and Counter(indices[0]) == Counter(indices[1]):
        raise InvalidInput(
            f"{second_name} names the rows of {first_name} in another order, and both are read place by place; write "
            f"{second_name}.loc[{first_name}.index]",
            argument=second_name.partition("[")[0],
            code="conflict",
        )
