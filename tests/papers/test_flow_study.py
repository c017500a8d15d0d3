"""The flow study on two sentences of the built-in model."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("ortools")

from accredit.arena.contest import Example
from accredit_papers.flows import READINGS, flows
from accredit_papers.report import ReportTable
from accredit_papers.verdicts import Found


def test_every_reading_is_compared_and_flow_is_not_determined():
    report = flows(["builtin"], [Example(0, "A warm and funny film."), Example(1, "The food was cold.")], quick=True)
    tables = "".join(part.markdown() for part in report.parts if isinstance(part, ReportTable))
    assert all(f"| {name} |" in tables for name in READINGS)
    assert report.verdicts[0].found is Found.HOLDS  # maximum flows are not unique
    assert "/" not in report.verdicts[0].statement
