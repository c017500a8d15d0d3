"""Claims: which axioms a credit satisfies, how strictly, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from accredit.checks.numbers import check_text, shown
from accredit.errors import InvalidInput


class Holds(StrEnum):
    """How strictly an axiom holds.

    >>> Holds("in expectation") is Holds.IN_EXPECTATION, f"efficiency holds {Holds.EXACTLY}"
    (True, 'efficiency holds exactly')
    """

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

    def __post_init__(self) -> None:
        check_text(self.axiom, "axiom", empty=False)
        check_text(self.because, "because")
        try:
            object.__setattr__(self, "holds", Holds(self.holds))
        except ValueError:
            raise InvalidInput(
                f"holds is {shown(self.holds)}; write one of {', '.join(Holds)}", argument="holds", code="unknown"
            ) from None

    @classmethod
    def from_plain(cls, data: object) -> Claim:
        """From the list [axiom, holds, because] that a result writes."""
        if not isinstance(data, list) or len(data) != 3:
            raise InvalidInput(
                f"claims holds {shown(data)}; a claim is a list of three texts: axiom, holds, because",
                argument="claims",
                code="type",
            )
        return cls(*data)

    def __str__(self) -> str:
        return f"{self.axiom}: {self.holds} ({self.because})"


def checked_claims(claims: object) -> tuple[Claim, ...]:
    """Claims of a result, at most one per axiom, or an error that shows how to write them."""
    if not isinstance(claims, list | tuple) or not all(isinstance(claim, Claim) for claim in claims):
        raise InvalidInput(
            f"claims is {shown(claims)}; write a tuple of Claim(axiom, holds, because)", argument="claims", code="type"
        )
    names = [claim.axiom for claim in claims]
    if len(set(names)) < len(names):
        raise InvalidInput(
            f"claims says two things about one axiom: {', '.join(names)}; keep one claim for each",
            argument="claims",
            code="duplicate",
        )
    return tuple(claims)


def claims_of_part(claims: Iterable[Claim], of: str) -> tuple[Claim, ...]:
    """What a part of a result still claims: everything but that it adds up. `of` says of what it is a part.

    >>> whole = (Claim("efficiency", Holds.EXACTLY, "it telescopes"), Claim("symmetry", Holds.EXACTLY, "by averaging"))
    >>> [str(claim.holds) for claim in claims_of_part(whole, "the players")]
    ['no', 'exactly']
    """
    part = Claim("efficiency", Holds.NO, f"a part of {of}")
    return tuple(part if claim.axiom == "efficiency" else claim for claim in claims)


def no_division(because: str) -> tuple[Claim, ...]:
    """Claims of a method that divides nothing: its numbers rank, they do not share.

    >>> [str(claim) for claim in no_division("a slope divides nothing")]
    ['efficiency: no (a slope divides nothing)']
    """
    return (Claim("efficiency", Holds.NO, because),)
