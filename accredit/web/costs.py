"""What a request would take before it is begun: passes of the model, times what one takes here."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from accredit import defaults
from accredit.core import Note, NoteKind
from accredit.errors import InvalidInput
from accredit.explanation.result import Explanation
from accredit.explanation.stream import Asked, Refused
from accredit.explanation.subject import Subject
from accredit.methods import ChosenMethod

PASSES_TIMED = 4  # passes, each without one player, that say what one takes; they are kept
SHARE = 0.5  # of the time that is left, for one sampled value


def seconds_per_pass(subject: Subject) -> float:
    """What a pass takes, measured on some that most methods need."""
    some = ~np.eye(len(subject.players), dtype=bool)[:PASSES_TIMED]
    began = time.monotonic()
    subject.record.payoff(some)
    return (time.monotonic() - began) / len(some)


def refuse_dear(subject: Asked, asked: Sequence[ChosenMethod], each: float, left: float, seconds: float) -> list[Refused]:
    """Methods whose passes would take longer than is left of a request of so many seconds once those before them have run, with
    what they would take."""
    refused = []
    for chosen in asked:
        passes = chosen.payoffs(len(subject.players), subject.budget)
        if passes * each > left:
            refused.append(Refused(chosen.name, InvalidInput(too_dear(passes, each, seconds), code="too-many")))
        else:
            left -= passes * each
    return refused


def too_dear(passes: int, each: float, seconds: float) -> str:
    """Why a method is not begun.

    >>> too_dear(182, 2.1, 120).partition(": ")[2]
    '382 s in all. A request may take 120 s; ask with fewer or shorter parts, or start with accredit serve --seconds 764'
    """
    whole = passes * each
    return (
        f"it needs {passes:,} passes of the model, and one takes about {each:.2g} s here: {whole:,.0f} s in all. A request may "
        f"take {seconds:g} s; ask with fewer or shorter parts, or start with accredit serve --seconds {2 * whole:.0f}"
    )


def afford(subject: Subject, asked: Sequence[ChosenMethod], seconds: float) -> tuple[Subject, list[Refused], list[Note]]:
    """A text or picture with as many payoffs for sampled values as passes of its model are worth, what takes too long, and what
    the reader must know of it."""
    games = [chosen for chosen in asked if chosen.method.kind == "game"]
    if not games:
        return subject, [], []
    each, notes = seconds_per_pass(subject), []
    budget = defaults.budget_by_cost(len(subject.players), each, SHARE * seconds)
    if subject.budget is None and budget is not None:
        subject = replace(subject, budget=budget)
        notes = [Note(NoteKind.REMARK, f"Sampled values ask {budget} payoffs, because one takes {each:.2g} s here.")]
    refused = refuse_dear(subject, games, each, seconds, seconds)
    dear = {each.method for each in refused}
    is_sampled = any(each.method.is_sampled and each.name not in dear for each in games)
    return subject, refused, notes if is_sampled else []


def with_notes(explanation: Explanation, notes: Sequence[Note]) -> Explanation:
    """The explanation, and what the reader must know of what it was allowed to take."""
    return replace(explanation, notes=(*explanation.notes, *notes))
