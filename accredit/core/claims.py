"""Claims: which axioms a credit satisfies, how strictly, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Holds(StrEnum):
    """How strictly an axiom holds."""

    EXACTLY = "exactly"
    IN_EXPECTATION = "in expectation"
    IN_THE_LIMIT = "in the limit"
    NO = "no"
    UNKNOWN = "unknown"


AXIOMS = ("efficiency", "symmetry", "null player", "linearity")


@dataclass(frozen=True)
class Claim:
    """One axiom, how strictly it holds for this credit, and the reason.

    >>> print(Claim("efficiency", Holds.EXACTLY, "gains along one order telescope"))
    efficiency: exactly (gains along one order telescope)
    """

    axiom: str
    holds: Holds
    because: str

    def __str__(self) -> str:
        return f"{self.axiom}: {self.holds} ({self.because})"


def no_division(because: str) -> tuple[Claim, ...]:
    """Claims of a method that divides nothing: its numbers rank, they do not share."""
    return (Claim("efficiency", Holds.NO, because),)
