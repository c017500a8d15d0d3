"""How well a number is known: exactly, within an interval, or nobody can tell. Every result says which, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from accredit.checks.numbers import check_text, real_number, shown
from accredit.errors import InvalidInput


class Known(StrEnum):
    """The three answers to "how far off may it be?".

    >>> Precision.exact().known is Known.EXACT, [known.value for known in Known]
    (True, ['exact', 'interval', 'unknown'])
    """

    EXACT = "exact"  # not at all: nothing was sampled, fitted or cut short
    INTERVAL = "interval"  # the truth should lie between two numbers
    UNKNOWN = "unknown"  # there is an error, and no honest interval for it


@dataclass(frozen=True)
class Precision:
    """How well the numbers of one result are known, and why.

    >>> str(Precision.exact()), str(Precision.unknown("two draws are too few"))
    ('exact: there is no sampling error', 'no interval: two draws are too few')
    """

    known: Known
    because: str = ""

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "known", Known(self.known))
        except ValueError:
            raise InvalidInput(
                f"known is {shown(self.known)}; write one of {', '.join(Known)}", argument="known", code="unknown"
            ) from None
        check_text(self.because, "because")

    @classmethod
    def exact(cls, because: str = "there is no sampling error") -> Precision:
        return cls(Known.EXACT, because)

    @classmethod
    def interval(cls, because: str = "") -> Precision:
        return cls(Known.INTERVAL, because)

    @classmethod
    def unknown(cls, because: str = "") -> Precision:
        return cls(Known.UNKNOWN, because)

    @classmethod
    def from_plain(cls, data: object) -> Precision:
        """From the object that `as_plain` gives."""
        if not isinstance(data, Mapping) or set(data) != {"known", "because"}:
            raise InvalidInput(f'precision is {shown(data)}; it must be {{"known": …, "because": …}}', code="type")
        return cls(**data)

    def as_plain(self) -> dict[str, str]:
        return {"known": str(self.known), "because": self.because}

    def __str__(self) -> str:
        if self.known is Known.INTERVAL or not self.because:
            return self.because
        return f"{'exact' if self.known is Known.EXACT else 'no interval'}: {self.because}"


@dataclass(frozen=True)
class Estimate:
    """One number and how well it is known. An exact one lies between itself and itself; an unknown one has no ends.

    >>> share = Estimate(0.5, 0.41, 0.6)
    >>> f"{share:.2f}", 0.45 in share, share.above(0.4), share.above(0.45)
    ('0.50 [0.41, 0.60]', True, True, False)
    >>> guess = Estimate.unknown(-3.0, "one example has no spread")
    >>> f"{guess:.0f}", guess.below(0), guess.above(-10)
    ('-3 [unknown]', None, None)
    """

    value: float
    low: float | None = None
    high: float | None = None
    precision: Precision = Precision(Known.INTERVAL)
    level: float | None = None  # the share of samples in which the interval should hold the truth

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "value", real_number(self.value, "value"))
        for name in ("low", "high"):
            end = getattr(self, name)
            put(self, name, None if end is None else real_number(end, name))
        put(self, "level", check_level(self.level))
        if not isinstance(self.precision, Precision):
            raise InvalidInput(
                f"precision is {shown(self.precision)}; write for example Precision.interval()",
                argument="precision",
                code="type",
            )
        if (self.low is None) != (self.high is None) or (self.low is None) != (self.precision.known is Known.UNKNOWN):
            raise InvalidInput(
                f"low={self.low} and high={self.high} do not fit an estimate that is {self.precision.known}: both ends are "
                "numbers, or the estimate is unknown and has none",
                argument="low",
                code="conflict",
            )
        if self.low is not None and self.high is not None and not self.low <= self.high:
            raise InvalidInput(
                f"low={self.low} is not below high={self.high}; write the lower end first", argument="low", code="range"
            )
        if self.precision.known is Known.EXACT and not self.low == self.value == self.high:
            raise InvalidInput(f"an exact {self.value} cannot lie between {self.low} and {self.high}", code="conflict")

    @classmethod
    def exact(cls, value: float, because: str = "there is no sampling error") -> Estimate:
        return cls(value, value, value, Precision.exact(because))

    @classmethod
    def unknown(cls, value: float, because: str) -> Estimate:
        return cls(value, None, None, Precision.unknown(because))

    def below(self, bound: float) -> bool | None:
        """Is it surely below `bound`? None: nobody can tell."""
        limit = real_number(bound, "bound")
        return None if self.high is None else self.high < limit

    def above(self, bound: float) -> bool | None:
        """Is it surely above `bound`? None: nobody can tell."""
        limit = real_number(bound, "bound")
        return None if self.low is None else self.low > limit

    def exceeds(self, other: Estimate) -> bool | None:
        """Does the whole interval lie above the other's? None: nobody can tell."""
        if not isinstance(other, Estimate):
            raise InvalidInput(
                f"other is {shown(other)}; give an Estimate, or write .above({shown(other, 20)})", argument="other", code="type"
            )
        return None if self.low is None or other.high is None else self.low > other.high

    def __contains__(self, value: float) -> bool:
        return self.low is not None and self.high is not None and self.low <= value <= self.high

    def __format__(self, spec: str) -> str:
        """The value and its interval, each number written by `spec`."""
        number = format(self.value, spec or ".3f")
        if self.low is None or self.high is None:
            return f"{number} [unknown]"
        if self.precision.known is Known.EXACT:
            return number
        return f"{number} [{format(self.low, spec or '.3f')}, {format(self.high, spec or '.3f')}]"

    def __str__(self) -> str:
        return format(self)

    @property
    def ends(self) -> tuple[float, float]:
        """Low and high for a drawing; where nothing is known, both are the value."""
        return (self.value, self.value) if self.low is None or self.high is None else (self.low, self.high)


def check_level(level: float | None) -> float | None:
    """A share strictly between 0 and 1, or None."""
    if level is None:
        return None
    share = real_number(level, "level", 0, 1, example=0.95)
    if not 0 < share < 1:
        raise InvalidInput(f"level is {share:g}; write a share between 0 and 1 such as 0.95", argument="level", code="range")
    return share
