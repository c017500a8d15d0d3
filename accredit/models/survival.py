"""Models that predict a curve for each row, as survival models do: one output for each of some times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from typing import Any, Literal, final

import numpy as np

from accredit.checks.numbers import real_numbers, shown
from accredit.core import FloatArray
from accredit.errors import InvalidInput

Curve = Literal["survival", "cumulative hazard"]
ASKED: dict[str, str] = {
    "survival": "predict_survival_function",
    "cumulative hazard": "predict_cumulative_hazard_function",
}
TIMES = 10  # that are explained where none are named, evenly spread over those of the training rows


@final
class SurvivalCurves:
    """A survival model of scikit-survival, asked for its curve at some times: a model of rows with one output for each time.

    `curve` is "survival", the chance to live longer than t, or "cumulative hazard". `times` lie between the first and the last
    time of the training rows; by default ten of those. Explain it as any model of rows: outputs are named by their time, and
    forests are exact in closed form.
    """

    def __init__(self, model: Any, times: Iterable[float] | None = None, curve: Curve = "survival") -> None:
        if curve not in ASKED or not hasattr(model, ASKED[curve]):
            raise InvalidInput(
                f"model is {shown(model)} and curve is {curve!r}; give a fitted model that has "
                f"{ASKED.get(curve, 'predict_survival_function')}, and write 'survival' or 'cumulative hazard'",
                argument="model" if curve in ASKED else "curve",
                code="type" if curve in ASKED else "unknown",
            )
        self.model, self.curve = model, curve
        own = getattr(model, "unique_times_", None)
        if own is None:
            own = getattr(model, "event_times_", None)
        if own is None and times is None:
            raise InvalidInput(
                f"times is missing, and {type(model).__name__} does not name those of its training rows; write times=[1, 2, 5]",
                argument="times",
                code="missing",
            )
        self.known: FloatArray | None = None if own is None else np.asarray(own, dtype=np.float64)
        if times is None:
            assert self.known is not None
            self.times = self.known[np.unique(np.linspace(0, len(self.known) - 1, TIMES).round().astype(np.int64))]
        else:
            self.times = real_numbers(list(times), "times")
        if self.times.ndim != 1 or not len(self.times) or not (np.diff(self.times) > 0).all():
            raise InvalidInput(f"times is {shown(times)}; give ascending numbers", argument="times", code="range")
        if self.known is not None and not self.known[0] <= self.times[0] <= self.times[-1] <= self.known[-1]:
            raise InvalidInput(
                f"times reach from {self.times[0]:g} to {self.times[-1]:g}, and the training rows from {self.known[0]:g} to "
                f"{self.known[-1]:g}; a curve is not known outside of them",
                argument="times",
                code="range",
            )

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return tuple(f"t = {time:g}" for time in self.times.tolist())

    @property
    def name(self) -> str:
        return f"{type(self.model).__name__}, {self.curve}"

    def predict(self, rows: Sized) -> FloatArray:
        """The curve of every row at the times: (rows, times)."""
        curves: Iterable[Callable[[FloatArray], FloatArray]] = getattr(self.model, ASKED[self.curve])(rows)
        return np.array([curve(self.times) for curve in curves], dtype=np.float64)
