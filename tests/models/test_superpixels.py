"""Segments of a picture: connected, as many as asked for, the same every time, and along the picture's own borders."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import label

from accredit.errors import InvalidInput
from accredit.models.superpixels import lab, superpixels


def scene(height: int = 48, width: int = 60) -> np.ndarray:
    """A red disc and a blue square on a noisy grey slope."""
    y, x = np.mgrid[:height, :width]
    rng = np.random.default_rng(0)
    picture = np.repeat((60 + 2 * x)[..., None], 3, axis=2) + rng.normal(0, 4, (height, width, 3))
    picture[(x - 20) ** 2 + (y - 20) ** 2 < 120] = [200, 30, 30]
    picture[(abs(x - 45) < 8) & (abs(y - 30) < 8)] = [30, 60, 210]
    return np.clip(picture, 0, 255).astype(np.uint8)


PICTURES = {
    "a scene": scene(),
    "one colour": np.full((20, 30, 3), 90, dtype=np.uint8),
    "noise": np.random.default_rng(1).integers(0, 256, (24, 24), dtype=np.uint8),
    "a line": np.random.default_rng(2).integers(0, 256, (1, 40), dtype=np.uint8),
}


@pytest.mark.parametrize("count", [2, 7, 20])
@pytest.mark.parametrize("name", PICTURES)
def test_segments_are_connected_and_as_many_as_asked_for(name, count):
    segments = superpixels(PICTURES[name], count)
    assert segments.shape == PICTURES[name].shape[:2]
    assert np.unique(segments).tolist() == list(range(count))
    assert all(label(segments == k)[1] == 1 for k in range(count))
    first = [np.flatnonzero(segments.ravel() == k)[0] for k in range(count)]
    assert first == sorted(first)  # numbered in reading order


def test_the_same_picture_has_the_same_segments():
    assert (superpixels(scene(), 12) == superpixels(scene().copy(), 12)).all()


def test_borders_of_things_are_borders_of_segments():
    y, x = np.mgrid[:48, :60]
    segments = superpixels(scene(), 12)
    for thing in ((x - 20) ** 2 + (y - 20) ** 2 < 120, (abs(x - 45) < 8) & (abs(y - 30) < 8)):
        shares = np.bincount(segments[thing], minlength=12) / np.bincount(segments.ravel(), minlength=12)
        assert ((shares < 0.05) | (shares > 0.95)).all()  # every segment is inside or outside


def test_every_pixel_may_be_its_own_and_no_fewer_than_two_are_found():
    noise = PICTURES["noise"]
    assert np.unique(superpixels(noise, noise.size)).size == noise.size
    for count in (0, 1, noise.size + 1):
        with pytest.raises(InvalidInput, match=f"{count} segments"):
            superpixels(noise, count)


@pytest.mark.slow
def test_a_large_picture_is_segmented_on_every_second_pixel():
    segments = superpixels(np.kron(scene(), np.ones((7, 7, 1), dtype=np.uint8)), 9)
    assert segments.shape == (336, 420) and np.unique(segments).size == 9
    assert (segments[::2, ::2] == segments[1::2, 1::2]).all()


def test_colours_are_those_of_cielab():
    colours = np.array([[[255, 255, 255], [0, 0, 0], [255, 0, 0]]], dtype=np.uint8)
    np.testing.assert_allclose(lab(colours)[0], [[100, 0, 0], [0, 0, 0], [53.24, 80.09, 67.20]], atol=0.05)
