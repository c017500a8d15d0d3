"""The door for model folders: what is in them is checked before any library reads it.

A folder may come from anybody. Its settings are JSON of limited size, its weights safetensors whose headers are plausible, its
files regular; it may not name code, and it may not describe a model far larger than the weights that it brings.
"""

from __future__ import annotations

import json
import math
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accredit.checks.files import kind_of, read_json_object
from accredit.checks.json_data import read_json
from accredit.errors import InvalidInput

if TYPE_CHECKING:
    from transformers import AutoModel

PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.h5", "*.msgpack")
SETTINGS = 16 << 20  # bytes of a JSON file of settings
VOCABULARY = 256 << 20  # bytes of a tokenizer, and of the index of weights
HEADER = 64 << 20  # bytes of the header of a safetensors file
LARGER = 4  # how many times the numbers in the weights a model may hold
SPARE = 10_000_000  # numbers that a model may hold besides, for example in a head that is not there
BITS = {
    "F64": 64,
    "I64": 64,
    "U64": 64,
    "F32": 32,
    "I32": 32,
    "U32": 32,
    "F16": 16,
    "BF16": 16,
    "I16": 16,
    "U16": 16,
    "I8": 8,
    "U8": 8,
    "BOOL": 8,
    "F8_E4M3": 8,
    "F8_E5M2": 8,
    "C64": 64,
}


def model_config(folder: Path) -> dict[str, Any]:
    """The model's settings, once the folder is found safe: a config, safetensors weights, and no code of its own."""
    if not (folder / "config.json").is_file():
        raise InvalidInput(
            f"{folder} holds no model: config.json is missing; save one with model.save_pretrained(folder)", code="missing"
        )
    _check_files(folder)
    config = settings(folder / "config.json")
    for file in ("config.json", "tokenizer_config.json", "preprocessor_config.json", "processor_config.json"):
        if (folder / file).is_file():
            _check_no_code(settings(folder / file), folder / file)
    if not any(folder.glob("*.safetensors")):
        pickled = [p.name for kind in PICKLED for p in folder.glob(kind)]
        if pickled:
            raise InvalidInput(
                f"{folder} holds weights only as {pickled[0]}, a format that can run code when read; save them as "
                "safetensors: model.save_pretrained(folder)",
                code="unsafe",
            )
        raise InvalidInput(
            f"{folder} holds no weights: model.safetensors is missing; save them with model.save_pretrained(folder)",
            code="missing",
        )
    _check_sizes(config, numbers_in(folder), folder)
    return config


def settings(file: Path) -> dict[str, Any]:
    """A JSON file of settings."""
    try:
        return read_json_object(file, SETTINGS)
    except InvalidInput as error:
        raise InvalidInput(f"{file} cannot be read as JSON: {error}", code="unreadable") from None


def _check_files(folder: Path) -> None:
    """Refuse what a library would wait for, or read without end: pipes, devices, settings of gigabytes."""
    for entry in os.scandir(folder):
        try:
            found = entry.stat()  # of what a link points to: caches keep their files behind links
        except OSError:
            continue  # a link that leads nowhere is not read
        if stat.S_ISDIR(found.st_mode):
            continue
        if not stat.S_ISREG(found.st_mode):
            raise InvalidInput(f"{entry.path} is {kind_of(found.st_mode)}; a model folder holds files only", code="unsupported")
        limit = VOCABULARY if entry.name in ("tokenizer.json", "vocab.json") or ".index." in entry.name else SETTINGS
        if entry.name.endswith(".json") and found.st_size > limit:
            raise InvalidInput(f"{entry.path} has {found.st_size >> 20} MiB; at most {limit >> 20} are read", code="too-many")


def _check_no_code(data: object, file: Path) -> None:
    """Refuse settings that ask for code: of the folder, or of a kernel from elsewhere."""
    if not isinstance(data, dict):
        return
    if "auto_map" in data:
        raise InvalidInput(f"{file} asks to run the model's own code (auto_map); such models are refused", code="unsafe")
    for key, value in data.items():
        if "implementation" in key and isinstance(value, str) and ("/" in value or "|" in value):
            raise InvalidInput(
                f"{file} asks for the kernel {value!r:.60} ({key}), which is code; such models are refused", code="unsafe"
            )
        _check_no_code(value, file)


def numbers_in(folder: Path) -> int:
    """How many numbers the weights of a folder hold, as their headers say; headers that cannot be true are refused."""
    _check_index(folder)
    return sum(_numbers(file) for file in sorted(folder.glob("*.safetensors")))


def _check_index(folder: Path) -> None:
    """An index may name files of this folder only."""
    for file in folder.glob("*.index.json"):
        named = read_json_object(file, VOCABULARY).get("weight_map", {})
        for part in set(named.values()) if isinstance(named, dict) else [named]:
            if not isinstance(part, str) or part != Path(part).name or not part.endswith(".safetensors"):
                raise InvalidInput(
                    f"{file} names {part!r:.60}; weights must be .safetensors files of the same folder", code="unsafe"
                )


def _numbers(file: Path) -> int:
    """The numbers in one safetensors file. Its header says where each tensor begins and ends: inside the file, one after
    another, as many bytes as its shape and type take."""
    with file.open("rb") as opened:
        size = os.fstat(opened.fileno()).st_size
        length = int.from_bytes(opened.read(8), "little")
        if size < 8 or length > min(HEADER, size - 8):
            raise InvalidInput(
                f"{file} is not a whole safetensors file: its header would have {length:,} bytes", code="unreadable"
            )
        try:
            header = read_json(opened.read(length), f"the header of {file}")
        except InvalidInput as error:
            raise InvalidInput(f"{file} is not a safetensors file: {error}", code="unreadable") from None
    if not isinstance(header, dict):
        raise InvalidInput(f"{file} is not a safetensors file: its header is not a JSON object", code="unreadable")
    tensors = [(name, about) for name, about in header.items() if name != "__metadata__"]
    spans = sorted(_span(name, about, file) for name, about in tensors)
    end = 0
    for start, stop, name in spans:
        if start != end:
            raise InvalidInput(
                f"{file}: tensor {name!r:.60} begins at byte {start}, where {end} is expected", code="unreadable"
            )
        end = stop
    if end != size - 8 - length:
        raise InvalidInput(
            f"{file} has {size - 8 - length:,} bytes of numbers, and its header describes {end:,}", code="unreadable"
        )
    return sum(math.prod(about["shape"]) for _, about in tensors)


def _span(name: str, about: Any, file: Path) -> tuple[int, int, str]:
    """Where a tensor begins and ends, if its description can be true."""
    try:
        shape, kind, (start, stop) = about["shape"], about["dtype"], about["data_offsets"]
        whole = all(type(k) is int and k >= 0 for k in (*shape, start, stop))
    except (TypeError, KeyError, ValueError):
        whole = False
    if not whole or (kind in BITS and (stop - start) * 8 != math.prod(shape) * BITS[kind]):
        raise InvalidInput(
            f"{file}: tensor {name!r:.60} is described as {json.dumps(about)[:100]}, which cannot be true", code="unreadable"
        )
    return start, stop, name


def _check_sizes(config: dict[str, object], numbers: int, folder: Path) -> None:
    """Refuse settings with a size that is larger than all weights together: no tensor of the model can have it."""
    for key, value in config.items():
        if isinstance(value, dict):
            _check_sizes(value, numbers, folder)
        counts = key.endswith(("_size", "_dim", "_layers", "_heads", "_layer", "_head", "d_model", "n_embd", "_embeddings"))
        if counts and "position" not in key and type(value) is int and value > max(numbers, 1_000_000):
            raise InvalidInput(
                f"{folder / 'config.json'} has {key}={value:,}, and all weights together hold {numbers:,} numbers; the "
                "two do not belong together",
                code="conflict",
            )


def check_model_size(kind: type[AutoModel], folder: Path, config: dict[str, object]) -> None:
    """Refuse a model that would hold far more numbers than its weights: the rest would be made up, and fill the memory.

    The model is built without memory for its numbers, to count them.
    """
    import torch
    import transformers

    layers = [v for k, v in _flat(config) if k.endswith(("layers", "n_layer", "num_blocks")) and type(v) is int]
    if max(layers, default=0) > 10_000:
        raise InvalidInput(
            f"{folder / 'config.json'} asks for {max(layers):,} layers; such a model is refused", code="too-many"
        )
    known = transformers.AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    with torch.device("meta"):
        counted = sum(p.numel() for p in kind.from_config(known).parameters())
    numbers = numbers_in(folder)
    if counted > LARGER * numbers + SPARE:
        raise InvalidInput(
            f"{folder / 'config.json'} describes a model of {counted:,} numbers, and the weights hold {numbers:,}; "
            "the two do not belong together",
            code="conflict",
        )


def _flat(config: dict[str, object]) -> list[tuple[str, object]]:
    found = list(config.items())
    for value in config.values():
        found += _flat(value) if isinstance(value, dict) else []
    return found
