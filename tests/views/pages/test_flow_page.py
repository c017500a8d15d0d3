"""The flow view in words, without a model."""

from __future__ import annotations

import numpy as np

from accredit.core import Attribution
from accredit.views.pages.flow_page import ROWS, flow_body
from accredit.web.tasks import Recent
from tests.views.samples import flow_picture
from tests.wording import says


def test_a_long_text_has_few_rows_a_strip_and_a_list_of_the_rest():
    players = tuple(f"t{k}" for k in range(512))
    credit = Attribution(players, np.linspace(1.0, 0.0, 512) / 256.5, 1.0, "joint-flow")
    tokens = [(f"<{name}>", name) for name in players]
    body = flow_body(flow_picture([f"c{k}" for k in range(33)]), credit, 0, "barrier", tokens)
    assert body.count("<tr>") == ROWS + 1 and says(body, f"{512 - ROWS} more tokens")
    assert body.count('<span class="t ') == 512 and "&lt;t511&gt;" in body and "<t511>" not in body
    assert "over all max" not in body  # a range that is not known has no column
    ranges = np.stack([credit.credit * 0.5, credit.credit * 1.5], axis=1)
    assert says(flow_body(flow_picture(["a", "b"]), credit, 0, "l2", tokens, ranges), "over all max")


def test_what_was_made_last_is_kept():
    recent, made = Recent(2), []

    def make(name: str) -> str:
        return recent.get(name, lambda: made.append(name) or name.upper())  # type: ignore[func-returns-value]

    assert [make(name) for name in "abacab"] == list("ABACAB")
    assert made == ["a", "b", "c", "b"]
