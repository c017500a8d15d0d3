"""Models from a folder, or by name from the local cache: safetensors only, no foreign code, no network unless asked."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from accredit.checks.arguments import check_arguments
from accredit.checks.files import read_json_object
from accredit.errors import InvalidInput
from accredit.models.folders import check_model_size, model_config
from accredit.models.folders import settings as settings_in
from accredit.models.image import ImageModel, with_processor
from accredit.models.state import quiet, settle
from accredit.models.tasks import HEADS, other_route
from accredit.models.text import TextModel

if TYPE_CHECKING:
    from transformers import AutoModel, PreTrainedModel


# LoRA adapters (Hu et al., 2022) as the `peft` library saves them: a base model that stays frozen, and two thin matrices
# beside some of its layers, which are all that was trained.

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


VOCABULARIES = ("tokenizer.json", "vocab.*", "*.model")  # without one, transformers makes up an empty tokenizer
MOST_NAME = 96  # characters that the hub allows; its own check of longer ones takes minutes
WANTED = ("*.json", "*.safetensors", "*.txt", "*.model")  # what a download may fetch: no code, no pickles


@check_arguments
def load_text_model(folder_or_name: str | Path, *, download: bool = False) -> TextModel:
    """A Hugging Face text model and its tokenizer from a folder, or by name.

    A name is looked up in the local cache; `download=True` allows the network. Refused, with a reason: folders without
    a model, weights that only come as pickles, models that bring their own code (`auto_map`), heads without weights. A
    folder with a LoRA adapter gives its base model with the adapter beside it.

    >>> from accredit.models import builtin
    >>> load_text_model(builtin.text_folder()).task
    'classify'
    """
    import transformers

    folder = model_folder(folder_or_name, download)
    if is_adapter(folder):
        base = load_text_model(base_folder(folder, download))
        attach(base.model, folder)
        return TextModel(base.model, base.tokenizer, str(folder_or_name))
    config = model_config(folder)
    architecture = _architecture(config, folder)
    kinds = {
        "ForSequenceClassification": transformers.AutoModelForSequenceClassification,
        "ForMaskedLM": transformers.AutoModelForMaskedLM,
        "ForConditionalGeneration": transformers.AutoModelForSeq2SeqLM,
        "ForCausalLM": transformers.AutoModelForCausalLM,
        "LMHeadModel": transformers.AutoModelForCausalLM,
    }
    ending = next((e for e in HEADS if architecture.endswith(e)), None)
    if ending is None:
        raise InvalidInput(f"{folder} holds a {architecture}, which {other_route([architecture])}", code="unsupported")
    if not any(file for kind in VOCABULARIES for file in folder.glob(kind)):
        raise InvalidInput(
            f"{folder} holds no tokenizer; save it beside the model with tokenizer.save_pretrained(folder)", code="missing"
        )
    kind = kinds[ending]
    if ending == "ForConditionalGeneration" and not config.get("is_encoder_decoder", False):
        kind = transformers.AutoModelForImageTextToText  # decoder-only classes that also read pictures
    model = _load(kind, folder)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # tokenizers raise plain exceptions; the cause is in the message
        raise InvalidInput(f"{folder} holds no tokenizer that can be read: {_one_line(error)}", code="missing") from error
    return TextModel(model, tokenizer, str(folder_or_name))


@check_arguments
def load_image_model(folder_or_name: str | Path, *, download: bool = False) -> ImageModel:
    """A Hugging Face image classifier from a folder, or by name; the same rules as `load_text_model`.

    >>> from accredit.models import builtin
    >>> load_image_model(builtin.vision_folder()).label(0)
    'T-shirt'
    """
    import transformers

    folder = model_folder(folder_or_name, download)
    architecture = _architecture(model_config(folder), folder)
    if not architecture.endswith("ForImageClassification"):
        raise InvalidInput(
            f"{folder} holds a {architecture}; images are explained for classes ending in ForImageClassification",
            code="unsupported",
        )
    model = _load(transformers.AutoModelForImageClassification, folder)
    settings = folder / "preprocessor_config.json"
    if not settings.is_file():
        return ImageModel(model, None, str(folder_or_name))
    try:
        with quiet():
            processor = transformers.AutoImageProcessor.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception:  # an older or another class; its settings are there all the same
        processor = settings_in(settings)
    return with_processor(model, processor, str(folder_or_name))


@check_arguments
def load_model(folder_or_name: str | Path, *, download: bool = False) -> TextModel | ImageModel:
    """A text or image model, whichever the folder holds.

    >>> from accredit.models import builtin
    >>> [type(load_model(folder)).__name__ for folder in (builtin.text_folder(), builtin.vision_folder())]
    ['TextModel', 'ImageModel']
    """
    folder = model_folder(folder_or_name, download)
    image = _architecture(model_config(folder), folder).endswith("ForImageClassification")
    return (load_image_model if image else load_text_model)(folder_or_name, download=download)


def model_folder(folder_or_name: str | Path, download: bool = False) -> Path:
    """The folder of a model: the one given, or the cached copy of a named one."""
    folder = Path(folder_or_name)
    if os.path.isdir(folder):  # a name that no file can have is not a folder
        return folder
    name = str(folder_or_name)
    own = name.startswith((".", "/", "~")) or name.count("/") > 1 or not name.strip() or len(name) > MOST_NAME
    if own or os.path.exists(folder):
        raise InvalidInput(
            f"model {name!r} is not a folder; give a folder with config.json and *.safetensors",
            argument="model",
            code="missing",
        )
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OfflineModeIsEnabled

    try:
        return Path(snapshot_download(name, local_files_only=not download, allow_patterns=list(WANTED)))
    except (LocalEntryNotFoundError, HFValidationError, HfHubHTTPError, OfflineModeIsEnabled, OSError) as error:
        if download:
            raise InvalidInput(
                f"model {name!r} could not be fetched ({_one_line(error)})", argument="model", code="unavailable"
            ) from None
        raise InvalidInput(
            f"model {name!r} is neither a folder nor in the local cache; give a folder with config.json and *.safetensors, "
            "or in Python allow the network with download=True",
            argument="model",
            code="missing",
        ) from None


def base_folder(folder: Path, download: bool = False) -> Path:
    """The folder of the model itself: where a folder holds an adapter, that of its base."""
    return model_folder(settings_of(folder).base, download) if is_adapter(folder) else folder


def _architecture(config: dict[str, object], folder: Path) -> str:
    names = config.get("architectures") or []
    if not isinstance(names, list) or not names or not isinstance(names[0], str):
        raise InvalidInput(
            f"{folder / 'config.json'} names no architecture; save the model with model.save_pretrained(folder)", code="missing"
        )
    return names[0]


def _load(kind: type[AutoModel], folder: Path) -> PreTrainedModel:
    try:
        with quiet():
            check_model_size(kind, folder, settings_in(folder / "config.json"))
            model, report = kind.from_pretrained(
                folder, local_files_only=True, use_safetensors=True, trust_remote_code=False, output_loading_info=True
            )
    except InvalidInput:
        raise
    except Exception as error:  # transformers and safetensors raise many types; the cause is in the message
        room = "; set TMPDIR to a folder that can be written" if "temporary directory" in str(error) else ""
        raise InvalidInput(f"{folder} could not be loaded: {_one_line(error)}{room}", code="unreadable") from error
    missing = sorted(report["missing_keys"])
    if missing:
        raise InvalidInput(
            f"{folder} has no weights for {missing[0]}{' and others' if len(missing) > 1 else ''}; they would be "
            "random numbers. Fine-tune the model first, and save it with its head",
            code="missing",
        )
    return settle(model).eval()


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
