"""What arithmetic can blur: the one rule by which outputs, payoffs and credit are compared.

Sums are taken in another order in a batch of another shape, on another CPU, or with another number of threads, and the last
digits come out differently. How large that can be is known where payoffs are made: the precision that a model computes in,
times the size of its *outputs*. The difference of two payoffs may be far smaller than what blurs it, so it says nothing.

A game whose payoffs come from a model has a number `blur`, in the unit of its payoffs; a result keeps it (`Attribution.blur`).
"""

from __future__ import annotations

import numpy as np

from accredit.checks.numbers import FloatArray

DOUBLE, SINGLE = (float(np.finfo(kind).eps) for kind in (np.float64, np.float32))
ROUNDINGS = 64  # by which equal outputs may differ
HALF_ROUNDINGS = 4  # the same in half precision, where a rounding is large: 64 of them would hide half of an output
SHORT = 11  # bits of a number that may be whole, or a simple fraction, in any precision


def power_of_two(size: float) -> float:
    """The least power of two that is not below `size`: a size that its own last digit does not move. 0 stays 0.

    >>> power_of_two(10.0), power_of_two(10.000001), power_of_two(0.0)
    (16.0, 16.0, 0.0)
    """
    return float(2.0 ** np.ceil(np.log2(size))) if size > 0 else 0.0


def blur(size: float, precision: float = DOUBLE) -> float:
    """How far numbers as large as `size`, up to a power of two, may be from the same numbers computed in another order.

    In half precision right ways of reading, of ten families of small answering models, differed by less than 2 roundings. A
    model that mixes the tokens of a row, read wrongly, differed by 5 to 10 roundings of bfloat16: 64 would have hidden 0.8
    nats. Where large weights amplify the roundings of half precision, more than 4 are seen: such a model is read in its own
    way, which is slower and not wrong.

    >>> blur(10.0), blur(10.0, SINGLE)
    (2.2737367544323206e-13, 0.0001220703125)
    """
    return (ROUNDINGS if precision <= SINGLE else HALF_ROUNDINGS) * precision * power_of_two(abs(size))


def precision_of(numbers: FloatArray) -> float:
    """The precision that numbers were computed in, by their type or, in doubles that hold nothing finer, by their digits.

    >>> thirds = np.array([1.0, 2.0]) / 3
    >>> precision_of(thirds) == DOUBLE, precision_of(thirds.astype(np.float32).astype(float)) == SINGLE
    (True, True)
    """
    if numbers.dtype.kind == "f" and numbers.dtype != np.float64:
        return float(np.finfo(numbers.dtype).eps)
    digits, _ = np.frexp(np.asarray(numbers, dtype=np.float64))
    single = (np.ldexp(digits, 24) % 1 == 0).all() and (np.ldexp(digits, SHORT) % 1 != 0).any()
    return SINGLE if single else DOUBLE


def nearly(own: FloatArray, others: FloatArray, precision: float) -> bool:
    """Whether outputs computed in this precision are the same but for rounding; a shorter way that is not is not taken.

    >>> half = float(2.0**-7)
    >>> nearly(np.array([8.0]), np.array([8.5]), half), nearly(np.array([8.0]), np.array([8.1]), half)
    (False, True)
    """
    if own.shape != others.shape:
        return False
    return float(np.abs(own - others).max()) <= blur(max(1.0, float(np.abs(own).max())), precision)


def blur_of(game: object) -> float:
    """How far a payoff of `game` may be from the same payoff asked in another batch or on another machine; 0: it does not move.

    >>> from accredit.games import FunctionGame, TableGame
    >>> blur_of(TableGame("ab", [0, 5, 3, 10])), blur_of(FunctionGame("ab", lambda s: s.sum(axis=1), blur=1e-5))
    (0.0, 1e-05)
    """
    return float(getattr(game, "blur", 0.0))
