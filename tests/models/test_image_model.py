"""Image models: preparation, patches, attention, and files that are no pictures."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from accredit.errors import BadPayoff, InvalidInput
from accredit.models import Preparation, as_image_model
from tests.models.small_models import image_model
from tests.wording import reads


def grey(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (12, 12), dtype=np.uint8)


@pytest.mark.parametrize("kernel", ["sdpa", "eager"])
def test_attention_over_class_token_and_patches(kernel):
    model = image_model(kernel)
    pixels = model.encode(grey())
    weights = model.attentions(pixels)
    assert weights.shape == (2, 2, 10, 10)
    assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
    assert model.model.config._attn_implementation == kernel
    assert_array_equal(model.patch_tokens(pixels), [-1, *range(9)])
    assert np.flatnonzero(model.output_tokens(pixels)).tolist() == [0]


def test_kernels_agree():
    one, two = image_model("sdpa"), image_model("eager")
    pixels = one.encode(grey())
    assert_allclose(one.predict(pixels), two.predict(pixels), atol=1e-5)
    for a, b in zip(one.attention_gradients(pixels), two.attention_gradients(pixels), strict=True):
        assert_allclose(a, b, atol=1e-5)
        assert np.abs(a).max() > 0


def test_the_same_picture_from_file_image_and_array(tmp_path):
    model = image_model()
    Image.fromarray(grey()).save(tmp_path / "a.png")
    ways = [model.encode(w).values for w in (tmp_path / "a.png", Image.fromarray(grey()), grey(), str(tmp_path / "a.png"))]
    for way in ways[1:]:
        assert_array_equal(way, ways[0])
    assert_allclose(ways[0][0], (grey() / 255 - 0.5) / 0.5, atol=1e-6)


def test_colour_and_size_are_made_to_fit():
    colour = np.zeros((30, 20, 3), dtype=np.uint8)
    assert image_model().encode(colour).values.shape == (1, 12, 12)
    three = Preparation((4, 6), channels=3, mean=(0.0,) * 3, std=(1.0,) * 3).pixels(np.full((4, 6), 255, dtype=np.uint8))
    assert three.shape == (3, 4, 6) and three.max() == 1


def test_preparations_read_hugging_face_settings():
    settings = {
        "size": {"shortest_edge": 8},
        "do_center_crop": True,
        "crop_size": {"height": 6, "width": 6},
        "image_mean": [0.1, 0.2, 0.3],
        "image_std": [1, 1, 1],
        "resample": 3,
    }
    wanted = Preparation((6, 6), 3, 1 / 255, (0.1, 0.2, 0.3), (1.0, 1.0, 1.0), 3, resized=8)
    assert Preparation.from_settings(settings) == wanted
    square = {"size": {"height": 8, "width": 8}, "do_center_crop": True, "crop_size": 6}
    assert Preparation.from_settings(square).resized == (8, 8)
    assert Preparation.from_settings({"size": 5, "do_normalize": False, "do_rescale": False}).factor == 1


def test_the_middle_is_cut_out_of_a_resized_picture():
    picture = np.tile(np.arange(16, dtype=np.uint8) * 10, (8, 1))  # 8 × 16, brightness tells the column
    plain = {"channels": 1, "factor": 1.0, "mean": (0.0,), "std": (1.0,), "resample": 0}
    cut = Preparation((6, 6), resized=8, **plain).pixels(picture)[0]  # the shorter edge has 8 already
    assert_array_equal(cut, picture[1:7, 5:11])
    assert_array_equal(Preparation((6, 6), resized=4, **plain).pixels(picture)[0][0], np.zeros(6))  # black outside
    squeezed = Image.fromarray(picture).resize((8, 8), Image.Resampling.NEAREST)
    assert_array_equal(Preparation((6, 6), resized=(8, 8), **plain).pixels(picture)[0], np.asarray(squeezed)[1:7, 1:7])
    with pytest.raises(InvalidInput, match="cut it first"):
        Preparation((6, 6), resized=8).pixels(np.zeros((1, 100), dtype=np.uint8))


def test_patches_grids_and_segments():
    pixels = image_model().encode(grey())
    assert pixels.grid == (3, 3)
    own = pixels.partition()
    assert len(own.players) == 9 and own.players[5] == "r1c2" and (np.bincount(own.owner) == 16).all()
    uneven = pixels.partition((5, 2))
    assert len(uneven.players) == 10 and set(uneven.owner) == set(range(10))
    segments = np.full((12, 12), -1)
    segments[:6], segments[6:, :3] = 7, 2
    assert pixels.partition(segments).players == ("segment 2", "segment 7")
    for bad in ((0, 3), (13, 1), segments[:3], segments * 1.0, np.full((12, 12), -1)):
        with pytest.raises(InvalidInput, match="players"):
            pixels.partition(bad)


def test_what_is_no_picture(tmp_path):
    model = image_model()
    (tmp_path / "text.png").write_text("<script>alert(1)</script>")
    Image.fromarray(grey()).save(tmp_path / "half.png")
    whole = (tmp_path / "half.png").read_bytes()
    (tmp_path / "half.png").write_bytes(whole[: len(whole) // 2])
    for file in ("text.png", "half.png", "none.png"):
        with pytest.raises(InvalidInput, match=file):
            model.encode(tmp_path / file)
    for bad in (
        3,
        np.zeros((2, 2, 2, 2), np.uint8),
        np.zeros((3, 12, 12)),
        np.full((1, 12, 12), np.nan),
        np.array(["a"]),
    ):
        with pytest.raises(InvalidInput, match="image"):
            model.encode(bad)


def test_targets_and_broken_models():
    model = image_model()
    pixels = model.encode(grey())
    assert model.target("bag", pixels) == 2
    with pytest.raises(InvalidInput, match="shoe, shirt, bag"):
        model.target("sock", pixels)
    with torch.no_grad():
        model.model.classifier.bias[0] = float("nan")
    with pytest.raises(BadPayoff, match="nan"):
        model.predict(pixels)


def test_plain_modules_are_image_models():
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(36, 2))
    model = as_image_model(net)
    pixels = model.encode(np.zeros((1, 6, 6), dtype=np.float32))
    assert_allclose(model.predict(pixels), net[1].bias.detach().numpy(), atol=1e-6)
    with pytest.raises(InvalidInput, match="transformers"):
        model.attentions(pixels)
    whole = model.encode(grey()[:6, :6])
    assert_allclose(whole.values[0], grey()[:6, :6] / 255, atol=1e-7)
    assert reads(whole.notes)
