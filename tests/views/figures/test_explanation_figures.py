import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402

from accredit.core import Attribution  # noqa: E402
from accredit.errors import InvalidInput  # noqa: E402
from accredit.explanation import Explanation  # noqa: E402
from accredit.views import figures  # noqa: E402
from tests.views.samples import sample  # noqa: E402


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


@pytest.mark.slow
@pytest.mark.parametrize(
    "draw",
    [
        lambda ax: figures.bars(sample()["shapley"], ax),
        lambda ax: figures.strip(sample(), ax),
        lambda ax: figures.flow(sample().flow, ax),
    ],
)
def test_takes_axes_and_returns_them(draw):
    _, ax = pyplot.subplots()
    assert draw(ax) is ax
    made = draw(None)
    assert made is not ax and made.figure is not None
    made.figure.canvas.draw()


def test_bars_are_the_credit_and_whiskers_the_interval():
    result = sample()["shapley"]
    ax = figures.bars(result, sort=False)
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], result.credit)
    largest_first = figures.bars(result)  # however few the players are
    np.testing.assert_allclose([bar.get_width() for bar in largest_first.patches], result.top(len(result)).credit)
    (whiskers,) = [c for c in ax.collections if len(c.get_segments()) == len(result)]
    np.testing.assert_allclose([[a[0], b[0]] for a, b in whiskers.get_segments()], result.interval)


def test_many_players_are_cut_to_the_largest():
    result = Attribution([f"p{k}" for k in range(100)], np.arange(100.0), None, "by hand")
    assert [t.get_text() for t in figures.bars(result, top=3).get_yticklabels()] == ["p99", "p98", "p97"]


def test_dollars_are_no_formula():
    ax = figures.bars(Attribution(("$x_{", "b"), [1.0, 2.0], None, "$m$"))
    ax.figure.canvas.draw()


def test_strip_has_a_row_a_method_and_a_column_a_player():
    explanation = sample()
    image = figures.strip(explanation).images[0].get_array()
    assert image.shape[:2] == (len(explanation.attributions), len(explanation.players))


def test_nothing_to_draw_is_said():
    with pytest.raises(InvalidInput, match="nothing to draw"):
        figures.strip(Explanation("x", (), "a", ("x",), ("m",), {}, {"m": "why"}))
