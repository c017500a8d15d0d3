"""Rows of a table in the arena."""

from __future__ import annotations

import pytest
from numpy.testing import assert_allclose

pytest.importorskip("sklearn")

from accredit.arena.contest import run_row
from accredit.arena.row_files import CLOSED_FORM, RowContest
from accredit.values import shapley
from tests.wording import refused

SMALL = RowContest(background=6, budget=1024)


@pytest.mark.slow
def test_the_closed_form_is_the_shapley_value_of_the_game_that_judges():
    example = SMALL.examples(1)[0]
    explained = SMALL.explain(CLOSED_FORM, example)
    assert_allclose(explained.result.credit, shapley(SMALL.game(example)).credit, atol=1e-8)
    assert explained.passes == 0
    assert SMALL.explain("leave-one-out", example).passes == 12  # ten columns, everybody, nobody


@pytest.mark.slow
def test_every_method_and_metric_applies():
    row = run_row(RowContest(background=4, budget=32), SMALL.examples(2)[1])
    assert not row.error and not any(entry.error for entry in row.entries.values())
    assert row.players == 10 and set(RowContest().methods) < set(row.entries)


def test_what_the_table_does_not_have_is_refused():
    with refused("range", "count"):
        SMALL.examples(1000)
    with refused("range", "background"):
        RowContest(background=0).check()
    with refused("unknown"):
        RowContest(methods=("shapely",)).check()
