"""Attention that smuggles the label: classifiers with attention, the cures against shortcuts, and a world known exactly."""

from accredit.checks.lazy import lazy

HOMES = {
    "AttentionClassifier": "accredit.shortcuts.models",
    "AttentionShape": "accredit.shortcuts.models",
    "MaskNeutral": "accredit.shortcuts.cures",
    "Plain": "accredit.shortcuts.cures",
    "RandomPretraining": "accredit.shortcuts.cures",
    "load_attention_classifier": "accredit.shortcuts.models",
    "train_attention": "accredit.shortcuts.training",
}
__getattr__ = lazy(__name__, HOMES, extra="text")

__all__ = [*HOMES]
