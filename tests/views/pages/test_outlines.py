"""Where players are in a picture: outlines, the map on a terminal, the overlay of matplotlib, the page."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from accredit import views
from accredit.core import Attribution
from accredit.errors import InvalidInput
from accredit.explanation import Explanation, Picture
from accredit.explanation.result import PICTURE
from accredit.views.pages.outlines import outlines
from accredit.views.terminal.explanation_text import picture_map
from tests.views.samples import picture_sample, sample
from tests.wording import reads, refused

MAPS = {
    "a grid": np.kron(np.arange(6).reshape(2, 3), np.ones((2, 3), int)),
    "noise": np.random.default_rng(0).integers(0, 4, (9, 12)),
    "nobody's": np.random.default_rng(1).integers(-1, 3, (7, 5)),
    "a ring": np.pad(np.zeros((1, 1), int), 2, constant_values=1),
}


def filled(path: str, height: int, width: int) -> np.ndarray:
    """The pixels inside a path, by the winding number of each pixel's middle."""
    inside = np.zeros((height, width), dtype=int)
    for loop in path.split("M")[1:]:
        x, y = map(int, re.match(r"(\d+) (\d+)", loop).groups())
        corners = [(x, y)]
        for letter, length in re.findall(r"([hv])(-?\d+)", loop):
            x, y = (x + int(length), y) if letter == "h" else (x, y + int(length))
            corners.append((x, y))
        for (x0, y0), (x1, y1) in zip(corners, [*corners[1:], corners[0]], strict=True):
            assert x0 == x1 or y0 == y1  # the side that closes the loop is straight too
            if x0 == x1:  # an upright side turns everything to its right
                inside[min(y0, y1) : max(y0, y1), x0:] += np.sign(y0 - y1)
    return inside


@pytest.mark.parametrize("case", MAPS)
def test_outlines_hold_exactly_the_pixels_of_their_player(case):
    owner = MAPS[case]
    for player, path in enumerate(outlines(owner)):
        assert (filled(path, *owner.shape) == (owner == player)).all()


@pytest.mark.parametrize("case", MAPS)
def test_runs_give_back_the_owners(case):
    picture = Picture.of(PICTURE, MAPS[case])
    assert (picture.owner == MAPS[case]).all() and picture.size == MAPS[case].shape


def test_damaged_pictures_are_refused():
    for runs in (((0, 3),), ((0, 5), (1, -1)), ()):
        with refused("shape", "runs"):
            Picture(PICTURE, (2, 2), runs)
    with refused("range", "picture"):
        replace(picture_sample(), picture=Picture(PICTURE, (2, 2), ((16, 4),)))
    again = Explanation.from_json(picture_sample().to_json())
    assert again == picture_sample() and (again.picture.owner == picture_sample().picture.owner).all()


def two(credit: list[float], unsigned: bool = False) -> Explanation:
    """A picture whose left half is one player and whose right half is another; the last column is nobody's."""
    owner = np.repeat([[0, 0, 0, 1, 1, 1, -1]], 4, axis=0)
    attributions = {"m": Attribution(("left", "right"), credit, sum(credit), "m")}
    return Explanation(
        "a.png",
        (("cat", 1.0),),
        "cat",
        ("left", "right"),
        ("m",),
        attributions,
        picture=Picture.of(PICTURE, owner),
        unsigned=("m",) if unsigned else (),
    )


def test_the_map_shows_who_raises_and_who_lowers():
    assert picture_map(two([2.0, -0.6]), None)[:2] == ["###--- ", "###--- "]
    assert picture_map(two([0.1, 2.0], unsigned=True), None)[0] == "···### "
    assert "raise it" in views.text(two([2.0, -0.6]))
    painted = views.text(two([2.0, -0.6]), colour=True)
    assert "\x1b[48;2;" in painted and "# and +" not in painted


def test_the_page_holds_the_picture_once_and_a_piece_for_every_player():
    page = views.explanation_page(picture_sample())
    assert page.count("data:image/png") == 1 and page.count("<use") == 3
    assert page.count('class="t patch') == 3 * 16 and page.count("<title>row 1, column 1: ") == 3


@pytest.mark.slow
def test_the_overlay_is_symmetrical_and_has_borders_scale_and_title():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    from accredit.views import figures

    sampled = picture_sample()
    figure, ax = pyplot.subplots()
    assert figures.overlay(sampled, ax) is ax
    layer, largest = ax.images[1].get_array(), np.abs(sampled["shapley"].credit).max()
    assert layer.shape == (28, 28, 4)
    for player, credit in enumerate(sampled["shapley"].credit):
        ((red, _, blue, opaque),) = np.unique(layer[sampled.picture.owner == player], axis=0)
        assert (blue > red) == (credit > 0) and 0 < opaque < 1
    assert reads(ax.get_title(loc="left"))
    scale = figure.axes[1]
    np.testing.assert_allclose(scale.get_ylim(), (-largest, largest))
    assert len(ax.collections[0].get_segments()) == 6 * 28
    grey = figures.overlay(sampled, method="saliency")
    np.testing.assert_allclose(grey.figure.axes[1].get_ylim(), (0, largest))
    bare = figures.overlay(sampled, bar=False)
    assert len(bare.figure.axes) == 1
    for wrong, said in (
        (sample(), "about a text"),
        (replace(sampled, attributions={}, methods=()), "no method answered"),
    ):
        with pytest.raises(InvalidInput, match=said):
            figures.overlay(wrong)
    pyplot.close("all")
