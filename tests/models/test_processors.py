"""Image processors of every kind: a model reads what its processor makes, whether its settings say all of it or not."""

from __future__ import annotations

import numpy as np
import pytest
import transformers
from numpy.testing import assert_allclose
from PIL import Image
from transformers import ResNetConfig, ResNetForImageClassification

from accredit.models import Preparation, as_image_model, load_image_model
from accredit.models.preparation import PIXEL_TOLERANCE, Processor, preparation_of
from tests.wording import refused, says

PICTURE = Image.fromarray(np.random.default_rng(1).integers(0, 256, (5, 9, 3), dtype=np.uint8)).resize((90, 50))
EDGE, SQUARE = {"shortest_edge": 24}, {"height": 24, "width": 24}
KINDS = {  # settings, and whether they say all that the processor does
    "ViT": ({"size": SQUARE}, True),
    "CLIP": ({"size": EDGE, "crop_size": SQUARE}, True),
    "Bit": ({"size": {"shortest_edge": 30}, "crop_size": SQUARE}, True),
    "PoolFormer": ({"size": EDGE, "crop_size": SQUARE, "crop_pct": 0.8}, False),  # cuts by a share
    "ConvNext": ({"size": EDGE, "crop_pct": 0.8}, False),
    "MobileViT": ({"size": EDGE, "crop_size": SQUARE, "do_flip_channel_order": True}, False),  # blue comes first
    "Levit": ({"size": EDGE, "crop_size": SQUARE}, False),  # resizes to 256/224 of its size
}


def network() -> ResNetForImageClassification:
    config = ResNetConfig(embedding_size=4, hidden_sizes=[4], depths=[1], layer_type="basic", num_labels=3)
    return ResNetForImageClassification(config).eval()


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_reads_what_its_processor_makes(kind):
    settings, said = KINDS[kind]
    processor = getattr(transformers, f"{kind}ImageProcessor")(**settings)
    pixels = as_image_model(network(), processor).encode(PICTURE)
    assert_allclose(pixels.values, processor(images=PICTURE, return_tensors="np")["pixel_values"][0], atol=PIXEL_TOLERANCE)
    assert isinstance(preparation_of(processor), Preparation if said else Processor)
    assert ("prepared by" in pixels.notes[0]) is not said


def test_a_folder_is_read_with_its_processor(tmp_path):
    processor = transformers.PoolFormerImageProcessor(**KINDS["PoolFormer"][0])
    network().save_pretrained(tmp_path)
    processor.save_pretrained(tmp_path)
    pixels = load_image_model(tmp_path).encode(PICTURE)
    assert_allclose(pixels.values, processor(images=PICTURE, return_tensors="np")["pixel_values"][0], atol=1e-6)
    assert "prepared by PoolFormerImageProcessor" in pixels.notes[0]


def test_settings_of_an_unknown_class_are_followed(tmp_path):
    network().save_pretrained(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text('{"image_processor_type": "Mine", "size": 20, "image_mean": [0, 0, 0]}')
    assert load_image_model(tmp_path).encode(PICTURE).values.shape == (3, 20, 20)


def test_grey_is_repeated_before_a_processor_reads_it_and_said():
    processor = transformers.PoolFormerImageProcessor(**KINDS["PoolFormer"][0])
    model = as_image_model(network(), processor)
    pixels = model.encode(PICTURE.convert("L"))
    assert pixels.values.shape == (3, 24, 24) and says(pixels.notes[0], "prepared by PoolFormer")


def test_a_processor_that_fails_says_so():
    class Broken:
        def __call__(self, **given):
            raise RuntimeError("no picture pleases me")

    with refused("failed", "preprocess"):
        as_image_model(network(), Broken()).encode(PICTURE)
    with refused("type", "processor"):
        as_image_model(network(), [224])
