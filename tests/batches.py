"""Model passes of another size, for `pytest --batches 3`: credit may then differ by rounding, and by nothing else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

# How many inputs go into one call of a model or a network, where `accredit.games.batches` does not decide it.
CONSTANTS = (
    "accredit.answers.black_box.PROMPTS_PER_CALL", "accredit.rows.game.ROWS_PER_CALL", "accredit.rows.sage.ROWS_PER_CALL",
    "accredit.learned.batches.INPUTS_PER_CALL", "accredit.learned.cxplain.ASKED_AT_ONCE",
    "accredit.learned.evalx.INPUTS_PER_PASS", "accredit.learned.gradient.INPUTS_PER_PASS",
    "accredit.learned.lime.ASKED_AT_ONCE", "accredit_papers.convolution_ablation.TEXTS_PER_PASS",
    "accredit.learned.tasks.INPUTS_PER_CALL", "accredit.learned.trainer.INPUTS_PER_PASS",
    "accredit.learned.valuers.INPUTS_PER_PASS", "accredit.models.zeroing.TOKENS_PER_PASS",
    "accredit.valuation.text.TEXTS_PER_PASS",
)  # fmt: skip


def cut_into(rows: int) -> None:
    """From now on, `rows` inputs go into each pass, in this process."""
    from accredit.games import batches

    spans, spans_by_length = batches.spans, batches.spans_by_length

    def cut_spans(count: int, usual: int) -> Iterator[slice]:
        return spans(count, rows)

    def cut_spans_by_length(lengths: Any, usual: int, even: bool = False) -> Iterator[Any]:
        for batch in spans_by_length(lengths, max(usual, rows * max(lengths, default=1)), even):
            yield from (batch[start : start + rows] for start in range(0, len(batch), rows))

    change = pytest.MonkeyPatch()
    for name in CONSTANTS:
        change.setattr(name, rows)
    change.setattr("accredit.answers.passes.Reader.rows", lambda reader, *sizes: rows)
    for before, after in ((spans, cut_spans), (spans_by_length, cut_spans_by_length)):
        for module in [m for m in sys.modules.values() if getattr(m, before.__name__, None) is before]:
            change.setattr(module, before.__name__, after)  # wherever it was imported by name
