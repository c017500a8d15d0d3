"""LoRA adapters (Hu et al., 2022) as the `peft` library saves them: a base model that stays frozen, and two thin matrices
beside some of its layers, which are all that was trained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from accredit.checks.files import read_json_object
from accredit.errors import InvalidInput

SETTINGS, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
PREFIX = "base_model.model."  # before the name of every layer
PLAIN: dict[str, tuple[object, ...]] = {  # settings beyond plain LoRA, and the values that mean they are not used
    "peft_type": ("LORA",),
    "bias": ("none",),
    "use_dora": (False, None),
    "modules_to_save": (None, []),
    "rank_pattern": ({}, None),
    "alpha_pattern": ({}, None),
}


class Lora(torch.nn.Module):
    """A frozen layer with what was learned beside it: y = f(x) + scale · B A x."""

    def __init__(self, base: torch.nn.Module, a: torch.Tensor, b: torch.Tensor, scale: float) -> None:
        super().__init__()
        self.base, self.scale = base, scale
        self.lora_A = torch.nn.Linear(a.shape[1], a.shape[0], bias=False)
        self.lora_B = torch.nn.Linear(b.shape[1], b.shape[0], bias=False)
        with torch.no_grad():
            self.lora_A.weight.copy_(a)
            self.lora_B.weight.copy_(b)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(self.base(x) + self.scale * self.lora_B(self.lora_A(x)))


def is_adapter(folder: Path) -> bool:
    return (folder / SETTINGS).is_file()


@dataclass(frozen=True)
class LoraSettings:
    """What an adapter says of itself: the model it belongs to, and how its matrices are scaled."""

    base: str
    rank: float  # by which `alpha` is divided; its root where the adapter says so
    alpha: float


def settings_of(folder: Path) -> LoraSettings:
    """The settings of an adapter, once they are known to be those of plain LoRA."""
    try:
        found = read_json_object(folder / SETTINGS)
    except InvalidInput as error:
        raise InvalidInput(f"{folder / SETTINGS} cannot be read as JSON: {error!s:.200}", code="unreadable") from None
    names = {"base_model_name_or_path": str, "r": int, "lora_alpha": int | float}
    bad = [name for name, kind in names.items() if not isinstance(found.get(name), kind)]
    for name, allowed in PLAIN.items():
        if found.get(name, allowed[0]) not in allowed:
            bad.append(name)
    if bad:
        raise InvalidInput(
            f"{folder / SETTINGS} has {bad[0]}={found.get(bad[0])!r}; plain LoRA is read. Merge others into their model: "
            "model.merge_and_unload().save_pretrained(folder)",
            code="unsupported",
        )
    rank = float(found["r"]) ** (0.5 if found.get("use_rslora") else 1.0)
    return LoraSettings(found["base_model_name_or_path"], rank, float(found["lora_alpha"]))


def attach(model: torch.nn.Module, folder: Path) -> None:
    """Freeze a base model and put the adapter in a folder beside its layers."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    settings = settings_of(folder)
    try:
        weights = load_file(folder / WEIGHTS)
    except (OSError, SafetensorError) as error:
        raise InvalidInput(
            f"{folder / WEIGHTS} cannot be read: {error!s:.200}; save the adapter as safetensors", code="unreadable"
        ) from None
    model.requires_grad_(False)
    for key in [key for key in weights if key.endswith(".lora_A.weight")]:
        name = key.removeprefix(PREFIX).removesuffix(".lora_A.weight")
        b = weights.pop(key.replace(".lora_A.", ".lora_B."), None)
        try:
            layer = model.get_submodule(name)
            parent = model.get_submodule(name.rpartition(".")[0])
        except AttributeError:
            layer = None
        if layer is None or b is None:
            raise InvalidInput(
                f"{folder / WEIGHTS} has {key}, which {type(model).__name__} has no place for; name its base model",
                code="conflict",
            )
        setattr(parent, name.rpartition(".")[2], Lora(layer, weights.pop(key), b, settings.alpha / settings.rank))
    if weights:
        raise InvalidInput(
            f"{folder / WEIGHTS} has {next(iter(weights))}, which is not part of plain LoRA; merge it first", code="unsupported"
        )
