"""The version, in one place that every part may read."""

__version__ = "0.2.0"
