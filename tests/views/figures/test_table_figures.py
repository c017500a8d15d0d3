"""Figures of explained tables: they draw what is there, whatever the values are, and say what they leave out."""

from __future__ import annotations

from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose

matplotlib.use("Agg")

from matplotlib import pyplot

from accredit.errors import InvalidInput
from accredit.rows.result import TableExplanation
from accredit.views.figures import table_figures
from tests.wording import says


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def explained(rows=30, players=6):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, players))
    credit = x * np.linspace(2, 0, players)
    values = [list(column) for column in x.T.tolist()]
    values[1] = [None if r % 5 == 0 else v for r, v in enumerate(values[1])]
    values[2] = [["red", "green $x$", "\u202eblue"][r % 3] for r in range(rows)]
    values[3] = [1.0] * rows
    names = tuple(f"c{i}" for i in range(players))
    return TableExplanation(names, ("price",), credit[:, :, None], [5.0], (5 + credit.sum(axis=1))[:, None], values, "shapley")


FIGURES = {
    "waterfall": table_figures.waterfall,
    "force": table_figures.force,
    "bar": table_figures.bar,
    "beeswarm": table_figures.beeswarm,
    "scatter gaps": lambda e, ax=None: table_figures.scatter(e, "c1", ax, colour="c0"),
    "scatter words": lambda e, ax=None: table_figures.scatter(e, "c2", ax, colour="c2"),
    "heatmap": table_figures.heatmap,
    "decision": table_figures.decision,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("shape", [(1, 3), (30, 6), (3, 400)])
def test_every_figure_draws_gaps_words_ties_and_many_columns(name, shape):
    axes = pyplot.figure().add_subplot()
    assert FIGURES[name](explained(shape[0], max(4, shape[1])), ax=axes) is axes
    axes.figure.canvas.draw()


def test_a_waterfall_goes_from_the_base_value_to_the_prediction():
    e = explained()
    bars = table_figures.waterfall(e, 4).patches
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars]
    assert_allclose(ends[-1][0], 5.0)
    assert_allclose(ends[0][1], e.prediction[4, 0])
    for below, above in zip(ends[1:], ends, strict=False):
        assert_allclose(below[1], above[0])


def test_long_names_leave_room_and_dollars_are_dollars():
    e = explained(players=4)
    long = replace(e, players=("first part of a name that goes on and on to its end", "b", "$c$", "d"))
    for axes in (table_figures.bar(long), table_figures.beeswarm(long), table_figures.waterfall(long, 0)):
        labels = [label.get_text() for label in axes.get_yticklabels()]
        assert any(says(label, "na…o its end") for label in labels)
        assert any(label.startswith(r"\$c\$") for label in labels)
    assert says(table_figures.bar(long).get_title(loc="left"), "over 30 rows")


def test_columns_beyond_the_top_are_summed_not_dropped():
    e = explained(players=12)
    axes = table_figures.waterfall(e, 0, top=5)
    assert axes.get_yticklabels()[-1].get_text() == "8 other columns" and len(axes.patches) == 5
    assert_allclose(sum(bar.get_width() for bar in axes.patches), e.credit[0].sum())


@pytest.mark.slow
def test_rows_that_are_not_drawn_are_counted():
    e = explained(rows=table_figures.POINTS + 1, players=4)
    assert says(table_figures.beeswarm(e).get_title(loc="left"), "4,000 of 4,001")
    assert says(table_figures.decision(e).get_title(loc="left"), "of 4,001 rows")
    assert says(table_figures.heatmap(e).get_xlabel(), "averaged in 1200")


def test_missing_values_have_a_place_of_their_own():
    labels = [t.get_text() for t in table_figures.scatter(explained(), "c1").get_xticklabels()]
    assert labels[0] == "missing"


def test_a_network_needs_pairs():
    from accredit.games import TableGame
    from accredit.values import mobius, shapley_interactions

    game = TableGame(("a", "b", "c"), [0, 1, 1, 4, 0, 1, 1, 3])
    axes = table_figures.network(shapley_interactions(game))
    assert {t.get_text() for t in axes.texts} <= {"a", "b", "c"} and axes.lines
    with pytest.raises(InvalidInput, match="no pairs"):
        table_figures.network(mobius(game, 1))


def test_pairs_as_a_heat_map_and_a_network_of_pairs_alone():
    from accredit.games import TableGame
    from accredit.values import interactions, shapley_interactions

    game = TableGame("ABC", [0, 50, 20, 75, 25, 80, 90, 100])
    axes = table_figures.pair_heatmap(interactions(game, "k-sii"))
    assert {t.get_text() for t in axes.texts} == {"−20", "20"} and "20 at most" in axes.get_title(loc="left")
    assert [t.get_text() for t in axes.get_yticklabels()] == ["A", "B", "C"]
    few = table_figures.pair_heatmap(shapley_interactions(game), top=2)
    assert says(few.get_title(loc="left"), "of 3 players")
    with pytest.raises(InvalidInput, match="no pairs"):
        table_figures.pair_heatmap(shapley_interactions(game, 3))
    assert len(table_figures.network(interactions(game, "k-sii"), top=2).lines) == 2  # single players do not push pairs out


def test_a_network_of_mean_sizes_claims_no_sign():
    from accredit.core import Interactions

    sizes = Interactions("abc", "mean |sii| over 3 rows", "by hand", {("a", "b"): 1.0, ("a", "c"): 2.0, ("b", "c"): 0.0})
    drawn = table_figures.network(sizes)
    said = " ".join(
        [*(drawn.get_title(loc=side) for side in ("left", "right", "center")), *(t.get_text() for t in drawn.texts)]
    )
    assert "whatever its sign" in said and "blue" not in said and len({line.get_color() for line in drawn.lines}) == 1
    gains = Interactions("abc", "sii", "by hand", {("a", "b"): 1.0, ("a", "c"): -2.0, ("b", "c"): 0.0})
    assert len({line.get_color() for line in table_figures.network(gains).lines}) == 2
