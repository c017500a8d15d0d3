"""LoRA adapters as they lie in a folder: the model is the base with B A x beside it, and only that was trained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from numpy.testing import assert_allclose

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from accredit.errors import InvalidInput
from accredit.influence.trace import trace
from accredit.models import load_text_model
from accredit.training_data.finetuned import is_language_model
from tests.valuation.small_models import FACTS, language_model, saved
from tests.wording import refused

LAYERS = ("transformer.h.0.attn.c_proj", "transformer.h.0.mlp.c_fc")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(language_model(steps=10), tmp_path_factory.mktemp("models") / "base")


def adapter(folder: Path, base: Path, **settings: Any) -> tuple[Path, dict[str, Any]]:
    """An adapter of rank 2 beside two layers of the base."""
    from safetensors.torch import save_file

    generator = torch.Generator().manual_seed(0)
    weights = {}
    for name, wide in zip(LAYERS, (32, 128), strict=True):
        weights[f"base_model.model.{name}.lora_A.weight"] = torch.randn(2, 32, generator=generator)
        weights[f"base_model.model.{name}.lora_B.weight"] = torch.randn(wide, 2, generator=generator) / 10
    folder.mkdir()
    save_file(weights, folder / "adapter_model.safetensors")
    about = {"peft_type": "LORA", "base_model_name_or_path": str(base), "r": 2, "lora_alpha": 4} | settings
    (folder / "adapter_config.json").write_text(json.dumps(about))
    return folder, weights


def test_the_adapted_model_is_the_base_with_the_product_added(base: Path, tmp_path: Path) -> None:
    folder, weights = adapter(tmp_path / "lora", base)
    adapted, plain = load_text_model(folder), load_text_model(base)
    with torch.no_grad():
        for name in LAYERS:  # Conv1D keeps its weight transposed
            a, b = (weights[f"base_model.model.{name}.lora_{side}.weight"] for side in "AB")
            plain.model.get_submodule(name).weight += 2.0 * (b @ a).T
    ids = torch.tensor([adapted.tokenizer(FACTS[0])["input_ids"]])
    assert_allclose(adapted.model(ids).logits.detach(), plain.model(ids).logits.detach(), atol=1e-5)
    assert is_language_model(folder)


def test_only_what_was_trained_is_looked_at(base: Path, tmp_path: Path) -> None:
    loaded = load_text_model(adapter(tmp_path / "lora", base, use_rslora=True)[0])
    found = trace(loaded.model, loaded.tokenizer, FACTS, "the capital of kelu is", "bem")
    assert found.facts["layers"] == [f"{name}.lora_{side}" for name in LAYERS for side in "AB"]
    assert found.facts["left out"] == []


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"peft_type": "IA3"}, "peft_type='IA3'; plain LoRA is read"),
        ({"use_dora": True}, "use_dora=True"),
        ({"r": "two"}, "r='two'"),
        ({"base_model_name_or_path": "./none"}, "is not a folder"),
    ],
)
def test_other_adapters_are_refused(base: Path, tmp_path: Path, settings: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        load_text_model(adapter(tmp_path / "lora", base, **settings)[0])


def test_weights_without_a_place_are_named(base: Path, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    folder, weights = adapter(tmp_path / "lora", base)
    save_file(weights | {"base_model.model.nowhere.lora_A.weight": torch.zeros(2, 2)}, folder / "adapter_model.safetensors")
    with refused("conflict"):
        load_text_model(folder)
    (folder / "adapter_model.safetensors").unlink()
    with refused("unreadable"):
        load_text_model(folder)
