"""Time series and other inputs with two axes: which stretches of time, channels or cells earned a model's outputs."""

from accredit.series.result import SeriesExplanation

__all__ = ["SeriesExplanation"]
