"""Where Python runs: in a cell of a notebook, or elsewhere."""

from __future__ import annotations

import sys


def in_notebook() -> bool:
    """Whether a kernel runs this process; that ipykernel was imported, by a test for example, does not make it one.

    >>> in_notebook()
    False
    """
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return hasattr(shell, "kernel")
