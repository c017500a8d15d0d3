"""Claims at a glance: one letter per axiom, one mark for how strictly it holds; the same on terminals, in tables, on pages."""

from __future__ import annotations

from collections.abc import Mapping

from accredit.core import AXIOMS, Attribution, Holds

LETTERS = {axiom: axiom[0].upper() for axiom in AXIOMS}
MARKS = {Holds.EXACTLY: "", Holds.IN_EXPECTATION: "~", Holds.IN_THE_LIMIT: "≈"}
NONE = "—"
AXIOM_NAMES = ", ".join(f"{letter} {axiom}" for axiom, letter in LETTERS.items())
LEGEND = f"{AXIOM_NAMES}; ~ in expectation, ≈ in the limit; no letter, no claim"


def letters(holds: Mapping[str, str]) -> str:
    """The axioms that hold, each with the mark of its strength: E exactly, E~ in expectation, E≈ in the limit.

    >>> letters({"linearity": "in the limit", "efficiency": "exactly", "symmetry": "no"}), letters({})
    ('E L≈', '—')
    """
    held = [mark(axiom, holds[axiom]) for axiom in AXIOMS if holds.get(axiom) in MARKS]
    return " ".join(held) or NONE


def mark(axiom: str, holds: str) -> str:
    """One axiom's letter and mark; nothing where it does not hold, or nobody knows.

    >>> mark("null player", Holds.IN_EXPECTATION), mark("symmetry", Holds.NO)
    ('N~', '')
    """
    return LETTERS[axiom] + MARKS[Holds(holds)] if holds in MARKS else ""


def claim_letters(result: Attribution) -> str:
    """The four axioms of a result at a glance.

    >>> claim_letters(Attribution(("a",), [1.0], 1.0, "by hand"))
    '—'
    """
    return letters({axiom: result.claim(axiom).holds for axiom in AXIOMS})
