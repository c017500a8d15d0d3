"""Payoffs: where games come from, and games made from games."""

from accredit.games.files import read_game, read_groups
from accredit.games.table import FunctionGame, TableGame
from accredit.games.wrappers import Cached, Counted, cached, counted, grouped, restricted

__all__ = [
    "Cached", "Counted", "FunctionGame", "TableGame", "cached", "counted", "grouped", "read_game", "read_groups", "restricted",
]  # fmt: skip
