"""Joint attention flow as a method of `explain`, and the drawing data that goes with it."""

from __future__ import annotations

from accredit.core import Attribution
from accredit.explanation.subject import Subject


def joint(subject: Subject, rule: str, tensor: str, method: str) -> Attribution:
    raise NotImplementedError
