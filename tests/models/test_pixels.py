"""Players of a picture: patches, blocks of patches, segments found and given, pixels; and what is painted in their place."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.ndimage import label

from accredit.errors import InvalidInput
from accredit.models import Pixels, Preparation
from accredit.models.pixels import paint_over
from tests.wording import reads, refused, says

RNG = np.random.default_rng(0)


def pixels(height: int, width: int, patch: tuple[int, int] | None = None, channels: int = 3) -> Pixels:
    return Pixels(RNG.normal(size=(channels, height, width)).astype(np.float32), patch)


@pytest.mark.parametrize(
    ("size", "patch", "players"),
    [
        ((28, 28), (7, 7), 16),  # its own patches, as they are few
        ((224, 224), (16, 16), 25),  # 14 × 14 in blocks of 3 × 3
        ((96, 96), (16, 16), 9),  # 6 × 6 in blocks of 2 × 2
        ((224, 224), None, 25),
        ((60, 90), None, 15),  # cells are about square
        ((3, 4), None, 12),  # no more than there are pixels
    ],
)
def test_default_players_are_few_and_made_of_whole_patches(size, patch, players):
    given = pixels(*size, patch)
    partition = given.partition()
    assert len(partition.players) == players and set(partition.owner) == set(range(players))
    if patch is not None:
        owners = given.patch_owners(partition)
        assert owners is not None and set(owners) == set(range(players))


def test_names_and_counts_of_players():
    given = pixels(28, 28, (4, 4))
    assert len(given.partition("patches").players) == len(given.partition("patch").players) == 49
    assert len(given.partition("patches:20").players) == 20 and given.partition("patches:20").players[-1] == "r3c4"
    assert len(given.partition("pixels").players) == 784
    assert len(given.partition("segments").players) == 20
    ten = given.partition("Segments:10 ")
    assert ten.players == tuple(f"segment {k}" for k in range(10))
    assert all(label(ten.owner.reshape(28, 28) == k)[1] == 1 for k in range(10))
    assert given.partition(ten) is ten


def test_who_plays_is_said():
    given = pixels(98, 98, (7, 7))
    for players, said in (
        (None, "25 patches, blocks of the model's 196 own, the default"),
        ("patches", "196 patches."),
        ("segments:7", "7 segments of similar colour"),
        ((2, 2), "4 patches, blocks of"),
    ):
        assert said in given.about(players, given.partition(players))
    labels = np.full((98, 98), -1)
    labels[:9], labels[9:12] = 3, 8
    said = given.about(labels, given.partition(labels))
    assert reads(said)


@pytest.mark.parametrize(
    ("players", "said"),
    [
        ("letters", "for a picture write 'patches'"),
        ("pixels:4", "for a picture write 'patches'"),
        ("segments:1", "1 segments were asked for"),
        ("segments:999999", "up to 4,096"),
        ("patches:0", "0 patches"),
        ((0, 3), "grid"),
        ((29, 3), "grid"),
        ((2.5, 3), "grid"),
        ((2, 2, 2), "grid"),
        (np.zeros((27, 28), int), r"shape \(27, 28\); segments are whole numbers of shape \(28, 28\)"),
        (np.zeros((28, 28)), "array of float64"),
        (np.zeros((28, 28), bool), r"write segments.astype\(int\)"),
        (np.full((28, 28), 4), "one segment only, number 4"),
        (np.full((28, 28), -1), "every pixel to nobody"),
    ],
    ids=str,
)
def test_players_that_cannot_be_had(players, said):
    with pytest.raises(InvalidInput, match=said):
        pixels(28, 28).partition(players)


def test_single_pixels_of_a_photo_are_too_many():
    with refused("too-many", "players"):
        pixels(224, 224).partition("pixels")


def test_segments_of_the_original_are_carried_along():
    preparation = Preparation((6, 6), channels=1, resized=8)  # 8 × 16 stays, and the middle 6 × 6 is cut out
    labels = np.tile(np.arange(16) // 6, (8, 1))
    given = Pixels(np.zeros((1, 6, 6), np.float32), None, preparation=preparation, original=(8, 16))
    partition = given.partition(labels)
    assert_array_equal(partition.owner.reshape(6, 6), labels[1:7, 5:11])
    assert partition.players == ("segment 0", "segment 1")
    assert says(given.about(labels, partition), "without credit: 1")
    with refused("shape", "players"):
        given.partition(np.zeros((5, 5), int))


def test_carried_labels_go_where_the_pixels_go():
    picture = RNG.integers(0, 256, (10, 14), dtype=np.uint8)
    for settings in (
        {"size": (5, 7)},
        {"size": (4, 4), "resized": 5},
        {"size": (12, 20), "resized": (10, 14)},
        {"size": None},
    ):
        plain = {"channels": 1, "factor": 1.0, "mean": (0.0,), "std": (1.0,), "resample": 0}
        preparation = Preparation(**plain, **settings)
        seen = preparation.pixels(picture)[0]
        carried = preparation.carry(picture.astype(np.int64))
        assert_array_equal(np.where(carried < 0, 0, carried), seen)  # where there was nothing it is black


def test_patches_that_several_share_have_no_owner():
    given = pixels(12, 12, (4, 4))
    assert given.patch_owners(given.partition((2, 2))) is None
    assert_array_equal(given.patch_owners(given.partition((3, 1))), np.arange(9) // 3)
    labels = given.partition((3, 3)).owner.reshape(12, 12).copy()
    labels[:4, :4] = -1
    assert given.patch_owners(given.partition(labels)) is None
    assert pixels(12, 12).patch_owners(given.partition((3, 3))) is None


def test_what_is_painted_where_nobody_plays():
    preparation = Preparation((4, 4), mean=(0.2,), std=(0.5,))
    shown = RNG.integers(0, 256, (4, 4, 3), dtype=np.uint8)
    given = Pixels(preparation.scale(shown), None, preparation=preparation, seen=shown)
    assert_allclose(paint_over(given, "black"), -0.4, atol=1e-7)
    assert_allclose(paint_over(given, "mean"), np.tile(given.values.mean(axis=(1, 2))[:, None, None], (1, 4, 4)), atol=1e-6)
    other = RNG.normal(size=(3, 4, 4)).astype(np.float32)
    assert_array_equal(paint_over(given, other), other)
    for removal, said in ((other[:1], "shape"), (True, "removal is True"), ("burn", "mean, blur, zero, black")):
        with pytest.raises(InvalidInput, match=said):
            paint_over(given, removal)
    with refused("unsupported", "removal"):
        paint_over(pixels(4, 4), "black")


def test_values_that_came_prepared_are_spread_to_be_looked_at():
    shown = pixels(5, 5).shown
    assert shown.shape == (5, 5, 3) and (shown.min(), shown.max()) == (0, 255)
    assert pixels(5, 5, channels=2).shown.shape == (5, 5, 1) and pixels(5, 5, channels=7).shown.shape == (5, 5, 3)


def test_what_the_model_reads_is_found_again_in_the_picture_as_it_was_given():
    """Resized without a cut, every pixel of the original belongs to somebody; what was cut off belongs to nobody."""
    owner = np.arange(4)[:, None] // 2 * 2 + np.arange(4) // 2
    squashed = Preparation(size=(4, 4)).spread(owner, (8, 20))
    assert squashed.shape == (8, 20)
    assert_array_equal(squashed, np.arange(8)[:, None] // 4 * 2 + np.arange(20) // 10)
    cut = Preparation(size=(4, 4), resized=4).spread(owner, (8, 16))  # the middle of 4 × 8
    assert (cut[:, :4] == -1).all() and (cut[:, 12:] == -1).all()
    assert_array_equal(cut[:, 4:12], np.arange(8)[:, None] // 4 * 2 + np.arange(8) // 4)
    assert_array_equal(Preparation(size=(4, 4)).spread(owner, (8, 20), 4), squashed[::4, ::4])
    for shape in ((9, 5), (31, 64), (4, 4)):
        back = Preparation(size=(12, 12), resized=14)
        labels = np.arange(144).reshape(12, 12)
        spread = back.spread(labels, shape)
        carried = back.carry(spread)
        assert (carried == labels)[carried >= 0].mean() > (0.9 if min(shape) > 28 else 0.0)
