"""Types of what models of rows read, for annotations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas

    from accredit.core import FloatArray

    Table: TypeAlias = npt.NDArray[np.generic] | pandas.DataFrame  # rows × columns
    TableFunction: TypeAlias = Callable[[Table], FloatArray]  # of a model, for the rows of a table: (rows, outputs)
