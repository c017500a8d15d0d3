"""Rows of a table: the game of a row, what it is compared with, its credit, and the result for many rows."""

from accredit.rows.game import tabular_game
from accredit.rows.result import TableExplanation
from accredit.rows.shap_reading import from_shap

__all__ = ["TableExplanation", "from_shap", "tabular_game"]
