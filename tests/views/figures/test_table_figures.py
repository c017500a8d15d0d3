"""Figures of explained tables: they draw what is there, whatever the values are, and say what they leave out."""

from __future__ import annotations

from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.text import Text

from accredit.checks.json_data import round_off
from accredit.errors import InvalidInput
from accredit.rows.result import TableExplanation
from accredit.views import figures
from accredit.views.figures import column_figures, rows_figures
from accredit.views.figures.canvas import fold_numbers
from tests.wording import refused, says


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
    "waterfall": figures.waterfall,
    "force": figures.force,
    "bar": figures.bar,
    "beeswarm": figures.beeswarm,
    "scatter gaps": lambda e, ax=None: figures.scatter(e, "c1", ax, colour="c0"),
    "scatter words": lambda e, ax=None: figures.scatter(e, "c2", ax, colour="c2"),
    "heatmap": figures.heatmap,
    "heatmap by prediction": lambda e, ax=None: figures.heatmap(e, ax, order="prediction"),
    "decision": figures.decision,
    "violin": figures.violin,
    "monitor": lambda e, ax=None: figures.monitor(e, "c0", ax),
    "clusters": lambda e, ax=None: figures.bar(e, ax, clusters=True),
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
    axes = figures.waterfall(e, 4)
    bars = axes.patches
    said = " ".join(text.get_text() for text in axes.texts)
    assert f"f(x) = {round_off(float(e.prediction[4, 0]))}" in said and "E[f(X)] = 5" in said
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars]
    assert_allclose(ends[-1][0], 5.0)
    assert_allclose(ends[0][1], e.prediction[4, 0])
    for below, above in zip(ends[1:], ends, strict=False):
        assert_allclose(below[1], above[0])


def test_long_names_leave_room_and_dollars_are_dollars():
    e = explained(players=4)
    long = replace(e, players=("first part of a name that goes on and on to its end", "b", "$c$", "d"))
    for axes in (figures.bar(long), figures.beeswarm(long), figures.waterfall(long, 0)):
        labels = [label.get_text() for label in axes.get_yticklabels()]
        assert any("first part of a name that\ngoes on and on to its end" in label for label in labels)
        assert any(label.startswith(r"\$c\$") for label in labels)
    assert says(figures.bar(long).get_title(loc="left"), "30 rows")


def test_titles_and_labels_end_inside_the_figure():
    e = explained(players=4)
    long = replace(e, players=tuple(f"a name of a column of which there are many, number {k} (EUR)" for k in range(4)))
    for draw in (figures.bar, figures.beeswarm, figures.waterfall, figures.group_difference):
        axes = draw(long, np.arange(len(long)) < 5) if draw is figures.group_difference else draw(long)
        axes.get_figure().draw_without_rendering()
        width = axes.get_figure().bbox.width
        for text in (axes.get_title(loc="left") and axes._left_title, axes.xaxis.label):
            assert text.get_window_extent().x1 <= width + 1, text.get_text()


def test_columns_of_several_classes_are_ordered_by_likeness_together():
    one = explained(players=4)
    credit, base = one.credit * [1.0, -0.5, -0.5], np.array([0.5, 0.2, 0.3])
    e = TableExplanation(one.players, ("a", "b", "c"), credit, base, base + credit.sum(axis=1), one.cells, "shapley")
    names = [t.get_text() for t in figures.bar(e, clusters=True).get_yticklabels()]
    assert sorted(names) == sorted(e.players) and figures.bar(e, clusters=True).child_axes


def test_columns_beyond_the_top_are_summed_not_dropped():
    e = explained(players=12)
    axes = figures.waterfall(e, 0, top=5)
    assert axes.get_yticklabels()[-1].get_text() == "8 other columns" and len(axes.patches) == 5
    assert_allclose(sum(bar.get_width() for bar in axes.patches), e.credit[0].sum())


@pytest.mark.slow
def test_rows_that_are_not_drawn_are_counted():
    e = explained(rows=column_figures.POINTS + 1, players=4)
    assert says(figures.beeswarm(e).get_title(loc="left"), "4,000 of 4,001")
    assert says(figures.decision(e).get_title(loc="left"), "of 4,001 rows")
    assert says(figures.heatmap(e).get_xlabel(), "averaged in 1200")
    with refused("too-many", "order"):
        figures.heatmap(e, order="clusters")


def test_missing_values_have_a_place_of_their_own():
    labels = [t.get_text() for t in figures.scatter(explained(), "c1").get_xticklabels()]
    assert labels[0] == "missing"


# Text that can be read: nothing lies over anything else, nothing runs out of the figure


def scaled(factor):
    """Long names, gaps and words, on another scale, with ties, and one column that earns nothing."""
    e = explained(rows=40, players=9)
    names = tuple(f"a column whose name is long, number {i}" for i in range(9))
    base, prediction = e.base * factor, e.prediction * factor
    return replace(e, players=names, credit=np.round(e.credit, 1) * factor, base=base, prediction=prediction)


def texts_of(axes):
    """Every text inside the Axes and every label of its ticks, with its place in pixels; the figure is drawn first."""
    axes.figure.canvas.draw()
    labels = [tick.label1 for axis in (axes.xaxis, axes.yaxis) for tick in axis._update_ticks()]  # those inside the limits
    shown = [t for t in (*axes.texts, *labels) if t.get_visible() and t.get_text()]
    return [
        (t.get_text(), Text.get_window_extent(t)) for t in shown
    ]  # of the letters, without the line that points at something


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("name", ["waterfall", "force", "bar"])
def test_texts_lie_over_no_other_text_and_inside_the_figure(name, factor):
    axes = FIGURES[name](scaled(factor))
    found = texts_of(axes)
    whole = axes.figure.bbox
    for k, (text, box) in enumerate(found):
        assert whole.x0 - 1 <= box.x0 and box.x1 <= whole.x1 + 1, f"{text!r} runs out of the figure"
        for other, beside in found[k + 1 :]:
            across = min(box.x1, beside.x1) - max(box.x0, beside.x0)
            down = min(box.y1, beside.y1) - max(box.y0, beside.y0)
            assert min(across, down) < 2, f"{text!r} lies over {other!r}"


@pytest.mark.slow
@pytest.mark.parametrize("credit", [0.0, 1.0])
def test_one_row_two_rows_and_rows_without_credit_are_drawn(credit):
    e = explained(rows=2, players=4)
    flat = replace(e, credit=np.full_like(e.credit, credit), prediction=np.full_like(e.prediction, 5 + 4 * credit))
    for part in (flat, flat[:1]):
        for draw in (figures.beeswarm, figures.violin, figures.heatmap, figures.waterfall, figures.force, figures.decision):
            draw(part).figure.canvas.draw()
            pyplot.close("all")


# Numbers of a figure are those of the result


def test_points_of_a_beeswarm_are_the_credits_and_missing_values_are_apart():
    e = explained()
    axes = figures.beeswarm(e)
    drawn = [np.sort(np.concatenate([c.get_offsets()[:, 0] for c in axes.collections[2 * y : 2 * y + 2]])) for y in range(6)]
    for y, player in enumerate(np.argsort(-e.importance().credit, kind="stable")):
        assert_allclose(drawn[y], np.sort(e.credit[:, player, 0]))
    grey = {len(axes.collections[2 * y].get_offsets()) for y in range(6)}
    assert grey == {0, 6, 30}  # no gaps; every fifth of thirty; words
    assert [t.get_text() for t in axes.figure.axes[-1].get_yticklabels()] == ["low", "median", "high"]


def test_more_rows_of_like_credit_make_a_wider_swarm():
    from accredit.views.language.swarms import swarm_heights

    heights = swarm_heights(np.concatenate([np.zeros(50), np.full(10, 9.0)]), 0.0, 9.0)
    assert np.ptp(heights[:50]) > 3 * np.ptp(heights[50:]) > 0 and np.abs(heights).max() <= 1


def classes(count=10, rows=30):
    rng = np.random.default_rng(1)
    credit = rng.normal(size=(rows, 5, count)) * np.arange(1, 6)[:, None]
    names = tuple(f"digit {k}" for k in range(count))
    cells = rng.normal(size=(5, rows)).tolist()
    return TableExplanation(tuple("abcde"), names, credit, np.zeros(count), credit.sum(axis=1), cells, "m", payoff="logit")


def test_bars_rank_all_classes_together():
    e = classes()
    axes = figures.bar(e)
    whole = np.abs(e.credit).mean(axis=0).sum(axis=1)
    assert [t.get_text() for t in axes.get_yticklabels()] == [e.players[i] for i in np.argsort(-whole)]
    ends = np.array([bar.get_x() + bar.get_width() for bar in axes.patches]).reshape(-1, 5)
    assert_allclose(ends[-1], np.sort(whole)[::-1])
    assert says(" ".join(t.get_text() for t in axes.get_legend().get_texts()), "2 other outputs")
    one = figures.bar(e, output="digit 3")
    assert_allclose([bar.get_width() for bar in one.patches], np.sort(e.importance("digit 3").credit)[::-1])


def test_cohorts_stand_side_by_side_with_their_own_means():
    e = explained()
    axes = figures.bar(e, cohorts="c2")
    assert len(axes.get_legend().get_texts()) == 3 and len(axes.patches) == 18
    first = e.cohorts("c2")["c2 = green $x$"]
    assert_allclose(sorted(b.get_width() for b in axes.patches[:6]), np.sort(first.importance().credit), atol=1e-12)
    with refused("shape", "by"):
        e.cohorts([True])


def test_a_difference_of_groups_adds_up_to_that_of_the_predictions():
    e = explained()
    group = np.arange(30) < 12
    axes = figures.group_difference(e, group)
    widths = sum(bar.get_width() for bar in axes.patches)
    assert_allclose(widths, e.prediction[group].mean() - e.prediction[~group].mean())
    with refused("shape", "group"):
        figures.group_difference(e, [True] * 30)


def test_columns_that_repeat_one_another_are_neighbours_in_a_clustered_bar():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 4))
    cells = np.column_stack([x[:, 0], x[:, 1], x[:, 2], x[:, 0] ** 3]).T.tolist()
    credit = np.abs(x)[:, :, None] * np.array([4.0, 3.0, 2.0, 0.1])[:, None]
    e = TableExplanation(tuple("abcd"), ("y",), credit, [0.0], credit.sum(axis=1), cells, "m")
    order = [t.get_text() for t in figures.bar(e, clusters=True).get_yticklabels()]
    assert abs(order.index("a") - order.index("d")) == 1  # d is a monotone function of a


def test_a_scatter_finds_the_column_that_interacts():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(300, 4))
    credit = np.zeros((300, 4, 1))
    credit[:, 0, 0] = x[:, 0] * x[:, 2]  # what column a earns depends on column c
    e = TableExplanation(tuple("abcd"), ("y",), credit, [0.0], credit.sum(axis=1), x.T.tolist(), "m")
    axes = figures.scatter(e, "a")
    assert axes.figure.axes[-1].get_ylabel().startswith("c ")
    assert_allclose(axes.collections[-1].get_offsets(), np.column_stack([x[:, 0], credit[:, 0, 0]]))
    assert len(figures.scatter(e, "a", interact=False).figure.axes) == 2  # the points and their histogram, no colour bar


def test_probabilities_stand_beside_log_odds_and_nowhere_else():
    e = explained()
    plain = figures.waterfall(e, 0)
    odds = figures.waterfall(replace(e, link="sigmoid"), 0)
    said = " ".join(t.get_text() for t in odds.texts)
    assert says(said, "(99.3%)")  # of the base value, 1 / (1 + exp(−5))
    assert "%" not in " ".join(t.get_text() for t in plain.texts) and "log-odds" in odds.get_xlabel()
    (above,) = odds.child_axes
    for tick, label in zip(above.get_xticks(), above.get_xticklabels(), strict=True):
        assert_allclose(1 / (1 + np.exp(-tick)), float(label.get_text().rstrip("%")) / 100, rtol=1e-6)


def test_a_heat_map_holds_every_credit_and_the_line_of_predictions():
    e = explained()
    axes = figures.heatmap(e)
    image = np.asarray(axes.images[0].get_array())
    assert_allclose(np.sort(image.sum(axis=0)), np.sort(e.credit[:, :, 0].sum(axis=1)))
    assert_allclose(image.sum(axis=0) + 5, _read_line(axes, e))


def _read_line(axes, e):
    """The predictions as the line above a heat map says them, by its two marked heights."""
    low, high = min(e.prediction.min(), e.base[0]), max(e.prediction.max(), e.base[0])
    bottom, top = axes.get_yticks()[:2]
    return low + (axes.lines[0].get_ydata() - bottom) / (top - bottom) * (high - low)


def test_a_heat_map_tells_predictions_from_the_base_value_and_rounding_from_either():
    def above(base, prediction):
        e = explained(rows=1)
        axes = figures.heatmap(replace(e, base=np.array([base]), prediction=np.array([[prediction]])))
        return [label.get_text() for label in axes.get_yticklabels() if "=" in label.get_text()]

    assert above(2.5, 1.75) == ["f(x) = 1.75", "base value = 2.5"]
    assert above(0.1, 0.1 + 1e-17 + 2e-17) == ["f(x) = 0.1"]


def test_long_numbers_below_an_axis_are_few():
    axes = pyplot.figure(figsize=(7, 3)).add_subplot()
    axes.set_xlim(-300_000, 500_000)
    fold_numbers(axes)
    assert 2 <= sum(-300_000 <= tick <= 500_000 for tick in axes.get_xticks()) <= 5


def test_a_change_is_found_where_it_is_and_noise_has_none():
    rng = np.random.default_rng(5)
    noise = rng.normal(size=200)
    assert rows_figures.find_change(noise) is None
    for factor in (1e-9, 1e9):
        change = rows_figures.find_change(factor * (noise + 3 * (np.arange(200) >= 120)))
        assert change is not None and abs(change.place - 120) <= 2 and change.after > change.before


def test_colours_suit_the_paper():
    with pyplot.style.context("dark_background"):
        axes = figures.waterfall(explained(), 0)
        assert all(matplotlib.colors.to_rgb(t.get_color())[0] > 0.5 for t in axes.texts)
    light = figures.waterfall(explained(), 0)
    assert all(matplotlib.colors.to_rgb(t.get_color())[0] < 0.5 for t in light.texts)


def test_a_network_needs_pairs():
    from accredit.games import TableGame
    from accredit.values import mobius, shapley_interactions

    game = TableGame(("a", "b", "c"), [0, 1, 1, 4, 0, 1, 1, 3])
    axes = figures.network(shapley_interactions(game))
    assert {t.get_text() for t in axes.texts} <= {"a", "b", "c"} and axes.lines
    with pytest.raises(InvalidInput, match="no pairs"):
        figures.network(mobius(game, 1))


def test_pairs_as_a_heat_map_and_a_network_of_pairs_alone():
    from accredit.games import TableGame
    from accredit.values import interactions, shapley_interactions

    game = TableGame("ABC", [0, 50, 20, 75, 25, 80, 90, 100])
    axes = figures.pair_heatmap(interactions(game, "k-sii"))
    assert {t.get_text() for t in axes.texts} == {"−20", "20"} and "20 at most" in axes.get_title(loc="left")
    assert [t.get_text() for t in axes.get_yticklabels()] == ["A", "B", "C"]
    few = figures.pair_heatmap(shapley_interactions(game), top=2)
    assert says(few.get_title(loc="left"), "of 3 players")
    with pytest.raises(InvalidInput, match="no pairs"):
        figures.pair_heatmap(shapley_interactions(game, 3))
    assert len(figures.network(interactions(game, "k-sii"), top=2).lines) == 2  # single players do not push pairs out


def test_a_network_of_mean_sizes_claims_no_sign():
    from accredit.core import Interactions

    sizes = Interactions("abc", "mean |sii| over 3 rows", "by hand", {("a", "b"): 1.0, ("a", "c"): 2.0, ("b", "c"): 0.0})
    drawn = figures.network(sizes)
    said = " ".join(
        [*(drawn.get_title(loc=side) for side in ("left", "right", "center")), *(t.get_text() for t in drawn.texts)]
    )
    assert "whatever its sign" in said and "blue" not in said and len({line.get_color() for line in drawn.lines}) == 1
    square = figures.pair_heatmap(sizes)
    assert "blue" not in square.figure.axes[-1].get_ylabel() and square.images[0].get_clim()[0] == 0
    gains = Interactions("abc", "sii", "by hand", {("a", "b"): 1.0, ("a", "c"): -2.0, ("b", "c"): 0.0})
    assert len({line.get_color() for line in figures.network(gains).lines}) == 2
