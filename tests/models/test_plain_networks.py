"""Torch networks that come without a processor: bytes, PIL images and tensors, how they are scaled, and what does not fit."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from PIL import Image

from accredit.errors import InvalidInput
from accredit.models import as_image_model
from tests.models.small_models import image_model
from tests.wording import refused, says

COLOUR = np.random.default_rng(0).integers(0, 256, (16, 20, 3), dtype=np.uint8)
EXPECTED = COLOUR.transpose(2, 0, 1) / 255


def network(channels: int = 3, outputs: int = 4, squeezed: bool = False) -> torch.nn.Module:
    torch.manual_seed(0)
    parts = [
        torch.nn.Conv2d(channels, 4, 3),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(16, outputs),
    ]
    return torch.nn.Sequential(*parts, *([torch.nn.Flatten(0)] if squeezed else []))


def fixed(edge: int) -> torch.nn.Module:
    """A network for pictures of one size."""
    return torch.nn.Sequential(torch.nn.Conv2d(3, 2, 3), torch.nn.Flatten(), torch.nn.Linear(2 * (edge - 2) ** 2, 3))


WAYS = {
    "bytes": COLOUR,
    "a batch of one": COLOUR[None],
    "PIL": Image.fromarray(COLOUR),
    "a tensor of bytes": torch.from_numpy(COLOUR.transpose(2, 0, 1).copy()),
    "fractions": COLOUR / 255,
    "a prepared tensor": torch.from_numpy(EXPECTED.copy()),
    "a prepared batch of one": torch.from_numpy(EXPECTED.copy())[None].half().float(),
}


@pytest.mark.parametrize("way", WAYS)
def test_one_picture_in_many_forms_is_scaled_to_one(way):
    pixels = as_image_model(network()).encode(WAYS[way])
    assert_allclose(pixels.values, EXPECTED, atol=1e-3)
    scaled = "0…255 scaled to 0…1" in " ".join(pixels.notes)
    assert scaled is (not way.startswith("a prepared"))


def test_mean_std_and_size_are_applied_and_said():
    model = as_image_model(network(), size=(8, 10), mean=[0.1, 0.2, 0.3], std=0.5)
    pixels = model.encode(Image.fromarray(COLOUR))
    small = np.asarray(Image.fromarray(COLOUR).resize((10, 8), Image.Resampling.BILINEAR)) / 255
    assert_allclose(pixels.values, ((small - [0.1, 0.2, 0.3]) / 0.5).transpose(2, 0, 1), atol=1e-6)
    assert says(pixels.notes[0], "(0.1, 0.2, 0.3)) / 0.5")


def test_a_preprocess_does_it_all():
    model = as_image_model(network(), preprocess=lambda p: torch.full((3, 6, 6), float(np.asarray(p).mean())))
    pixels = model.encode(COLOUR // 64)
    assert_allclose(pixels.values, (COLOUR // 64).mean(), rtol=1e-6)
    assert says(pixels.notes[0], "the given preprocess")
    assert len(model.predict(pixels)) == 4
    for made, said in (
        (lambda p: 1 / 0, "ZeroDivisionError"),
        (np.asarray, "array of uint8"),
        (lambda p: np.ones((2, 5, 5)), r"\(3, H, W\)"),
        (lambda p: np.full((3, 5, 5), np.nan), "NaN"),
    ):
        with pytest.raises(InvalidInput, match=said):
            as_image_model(network(), preprocess=made).encode(COLOUR)


def test_channels_of_files_are_converted_and_those_of_arrays_are_refused(tmp_path):
    Image.fromarray(COLOUR).save(tmp_path / "a.png")
    grey = as_image_model(network(channels=1))
    for given in (tmp_path / "a.png", Image.fromarray(COLOUR)):
        assert says(grey.encode(given).notes[0], "colours turned to")
    with refused("shape", "image"):
        grey.encode(COLOUR)
    with refused("shape", "image"):
        as_image_model(network()).encode(COLOUR[..., 0])
    assert "grey repeated" in as_image_model(network()).encode(Image.fromarray(COLOUR[..., 0])).notes[0]
    with refused("shape", "image"):
        as_image_model(network()).encode(torch.rand(1, 16, 20))
    with pytest.raises(InvalidInput, match="reads 5 channels"):
        as_image_model(network(channels=5)).encode(COLOUR)


def test_a_size_that_does_not_fit_names_one_that_does():
    model = as_image_model(fixed(32))
    with refused("failed", has="pixels: pass size=32"):
        model.predict(model.encode(COLOUR))
    right = as_image_model(fixed(32), size=32)
    assert len(right.predict(right.encode(COLOUR))) == 3


BAD = {
    "floats to 255": (EXPECTED * 255, r"floats from 0 to 255.*astype\(np.uint8\).*std=1/255"),
    "NaN": (EXPECTED * np.nan, "NaN"),
    "a batch of two": (np.stack([COLOUR, COLOUR]), "batch of 2 pictures"),
    "booleans": (COLOUR > 9, "bool"),
    "a list": ([1, 2], "image is a list"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_picture_is_refused(case):
    given, said = BAD[case]
    with pytest.raises(InvalidInput, match=said):
        as_image_model(network()).encode(given)


def test_a_network_that_reads_bytes_says_so_with_its_std():
    model = as_image_model(network(), std=1 / 255)
    assert_allclose(model.encode(COLOUR).values, EXPECTED * 255, atol=1e-3)
    assert_allclose(model.encode((EXPECTED * 255).astype(np.float32)).values, EXPECTED * 255, atol=1e-3)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"size": "big"}, "size is 'big'"),
        ({"size": (0, 4)}, "size"),
        ({"size": (1, 2, 3)}, "size"),
        ({"std": 0}, "std above 0"),
        ({"mean": [0.1, 0.2]}, "mean has 2 numbers and the model reads 3"),
        ({"mean": "grey"}, "one number, or one per channel"),
        ({"preprocess": np.asarray, "size": 4}, "leave one of them out"),
    ],
    ids=str,
)
def test_settings_that_cannot_be(settings, said):
    with pytest.raises(InvalidInput, match=said):
        as_image_model(network(), **settings)


def test_settings_beside_a_processor_or_a_prepared_model_are_refused():
    processor = {"size": 8, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    with pytest.raises(InvalidInput, match="image processor"):
        as_image_model(network(), processor, size=4)
    with pytest.raises(InvalidInput, match="prepared already"):
        as_image_model(image_model(), mean=0.5)
    assert as_image_model(network(), processor).encode(COLOUR).values.shape == (3, 8, 8)


def test_a_transformer_without_its_processor_says_how_it_was_fed():
    assert says(image_model().encode(COLOUR).notes[0], "processor was given")


@pytest.mark.parametrize("squeezed", [False, True])
def test_one_output_is_a_number_and_not_a_probability(squeezed):
    model = as_image_model(network(outputs=1, squeezed=squeezed))
    assert model.predict(model.encode(COLOUR)).shape == (1,) and model.law == "none"


def test_outputs_of_another_shape_are_refused():
    model = as_image_model(torch.nn.Conv2d(3, 4, 3))
    with refused("shape"):
        model.predict(model.encode(COLOUR))
