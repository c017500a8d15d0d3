"""Adapters that let Hugging Face, torch and scikit-learn models, or any function, be explained."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from accredit.checks.lazy import lazy

if TYPE_CHECKING:
    from accredit.models.arrays import ArrayModel, as_array_model
    from accredit.models.encoded import Encoded
    from accredit.models.heads import read_model, similarity_model, span_model, token_label_model
    from accredit.models.image import ImageModel, as_image_model
    from accredit.models.loading import load_image_model, load_model, load_text_model
    from accredit.models.partition import Partition
    from accredit.models.pixels import Pixels
    from accredit.models.preparation import Preparation
    from accredit.models.strings import StringModel, as_string_model
    from accredit.models.text import TextModel, as_text_model

# transformers brings tqdm, which complains in every notebook without ipywidgets about a bar that nobody asked for.
warnings.filterwarnings("ignore", message="IProgress not found")

_HOME = {
    "ArrayModel": "arrays", "as_array_model": "arrays",
    "Encoded": "encoded", "Partition": "partition",
    "read_model": "heads", "similarity_model": "heads", "span_model": "heads", "token_label_model": "heads",
    "StringModel": "strings", "as_string_model": "strings",
    "TextModel": "text", "as_text_model": "text",
    "ImageModel": "image", "as_image_model": "image", "Pixels": "pixels", "Preparation": "preparation",
    "load_image_model": "loading", "load_model": "loading", "load_text_model": "loading",
}  # fmt: skip

__all__ = [
    "ArrayModel",
    "Encoded",
    "ImageModel",
    "Partition",
    "Pixels",
    "Preparation",
    "StringModel",
    "TextModel",
    "as_array_model",
    "as_image_model",
    "as_string_model",
    "as_text_model",
    "load_image_model",
    "load_model",
    "load_text_model",
    "read_model",
    "similarity_model",
    "span_model",
    "token_label_model",
]

__getattr__ = lazy(__name__, {name: f"{__name__}.{home}" for name, home in _HOME.items()}, extra="text")
