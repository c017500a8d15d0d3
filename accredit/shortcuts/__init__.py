"""Attention that smuggles the label: classifiers with attention, the cures against shortcuts, and a world known exactly."""

from typing import Any

from accredit.core import MissingExtra
from accredit.core.lazy import lazy

HOMES = {
    "AttentionClassifier": "accredit.shortcuts.models",
    "AttentionShape": "accredit.shortcuts.models",
    "MaskNeutral": "accredit.shortcuts.cures",
    "Plain": "accredit.shortcuts.cures",
    "RandomPretraining": "accredit.shortcuts.cures",
    "load_attention_classifier": "accredit.shortcuts.models",
    "train_attention": "accredit.shortcuts.training",
}
_named = lazy(__name__, HOMES)


def __getattr__(name: str) -> Any:
    try:
        return _named(name)
    except ModuleNotFoundError as error:
        raise MissingExtra(str(error.name), "text", f"accredit.shortcuts.{name}") from None


__all__ = [*HOMES]
