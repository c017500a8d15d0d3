"""Models from folders: what loads, and every folder that must not."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from accredit.errors import InvalidInput
from accredit.models import load_image_model, load_model, load_text_model
from tests.models.small_models import FAMILIES, TEXT, image_model, text_for, text_model


def saved(model, folder):
    model.model.save_pretrained(folder)
    if hasattr(model, "tokenizer"):
        model.tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def folder(tmp_path):
    return saved(text_model("bert"), tmp_path / "bert")


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_saved_model_comes_back_the_same(family, tmp_path, capfd):
    model = text_model(family)
    loaded = load_text_model(saved(model, tmp_path))
    capfd.readouterr()
    text = text_for(family)
    assert loaded.task == model.task
    assert_array_equal(loaded.predict(loaded.encode(text)), model.predict(model.encode(text)))  # to the last bit
    assert not loaded.model.training


def test_loading_prints_nothing(folder, capfd):
    load_text_model(folder)
    assert capfd.readouterr() == ("", "")


def test_image_models_load_with_their_preparation(tmp_path):
    model = image_model()
    saved(model, tmp_path)
    settings = {"size": {"height": 12, "width": 12}, "image_mean": [0.2], "image_std": [0.5], "rescale_factor": 1 / 255}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(settings))
    loaded = load_model(tmp_path)
    grey = np.full((12, 12), 51, dtype=np.uint8)
    assert_allclose(loaded.encode(grey).values, 0.0, atol=1e-6)
    with pytest.raises(InvalidInput, match="ForSequenceClassification"):
        load_text_model(tmp_path)


def refused(folder, message, load=load_text_model):
    with pytest.raises(InvalidInput, match=message) as error:
        load(folder)
    assert "\n" not in str(error.value)


def test_folders_without_a_model(folder, tmp_path):
    refused(tmp_path / "nowhere", "not a folder")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "config.json is missing")
    (folder / "model.safetensors").unlink()
    refused(folder, "no weights")


def test_pickled_weights_are_refused_and_never_opened(folder):
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'touch /tmp/never'\ntR.")
    refused(folder, "can run code")


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_models_with_their_own_code_are_refused(folder, file):
    settings = json.loads((folder / file).read_text())
    settings["auto_map"] = {"AutoModelForSequenceClassification": "evil.Model", "AutoTokenizer": ["evil.T", None]}
    (folder / file).write_text(json.dumps(settings))
    (folder / "evil.py").write_text("raise SystemExit('ran')")
    refused(folder, "own code")


def test_damaged_files(folder):
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text("{not json")
    refused(folder, "JSON")
    (folder / "config.json").write_text("[]")
    refused(folder, "list")
    (folder / "config.json").write_text(config)
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    refused(folder, "its header describes")


def test_heads_without_weights_are_refused(folder, tmp_path):
    text_model("bert").model.bert.save_pretrained(tmp_path / "body")
    text_model("bert").tokenizer.save_pretrained(tmp_path / "body")
    config = json.loads((folder / "config.json").read_text())
    (tmp_path / "body" / "config.json").write_text(json.dumps(config))
    refused(tmp_path / "body", "no weights for classifier")


def test_unfit_architectures_are_named(folder):
    config = json.loads((folder / "config.json").read_text())
    for names, message in (
        ([], "names no architecture"),
        (["BertForTokenClassification"], "BertForTokenClassification"),
    ):
        (folder / "config.json").write_text(json.dumps(config | {"architectures": names}))
        refused(folder, message)
    refused(folder, "ForImageClassification", load_image_model)


def test_a_missing_tokenizer_is_told(folder):
    for file in folder.glob("token*"):
        file.unlink()
    refused(folder, "tokenizer")


def test_names_are_looked_up_in_the_cache_only(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    refused("nobody/no-such-model", "download=True")


@pytest.mark.half_precision("bfloat16")
def test_shared_weights_and_half_precision_load(tmp_path):
    model = text_model("gpt2", dtype=torch.bfloat16)
    loaded = load_text_model(saved(model, tmp_path))
    assert np.isfinite(loaded.predict(loaded.encode(TEXT))).all()
    shutil.rmtree(tmp_path)
