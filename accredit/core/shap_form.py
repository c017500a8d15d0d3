"""Results in the form that shap's plots read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from accredit.checks.lazy import needs
from accredit.checks.numbers import FloatArray

if TYPE_CHECKING:
    import shap


def shap_explanation(
    values: FloatArray,
    base_values: object,
    data: Sequence[object],
    feature_names: Sequence[str],
    output_names: Sequence[str] | None = None,
) -> shap.Explanation:
    """A `shap.Explanation`; shap writes into its arrays, so they are copies."""
    with needs("shap", "to_shap"):
        import shap
    return shap.Explanation(
        np.array(values),
        base_values=None if base_values is None else np.array(base_values, dtype=np.float64)[()],
        data=shap_data(data),
        feature_names=list(feature_names),
        output_names=None if output_names is None else list(output_names),
    )


def shap_data(cells: Sequence[object]) -> object:
    """Cells as an array of numbers where all of them are numbers or missing, else of objects; missing is NaN, as in shap.

    >>> shap_data([[1, None], [2.5, True]]).tolist(), shap_data(["red", None]).tolist()
    ([[1.0, nan], [2.5, 1.0]], ['red', nan])
    """
    filled = np.array(cells, dtype=object)
    filled[filled == None] = np.nan  # noqa: E711  # cell by cell
    numeric = all(isinstance(cell, int | float) for cell in filled.flat)
    return filled.astype(np.float64) if numeric else filled
