"""Payoffs: where games come from, and games made from games."""

from typing import TYPE_CHECKING

from accredit.checks.lazy import lazy
from accredit.games.choices import ChoiceFunction, ChoiceTable, read_choices
from accredit.games.files import read_game, read_games, read_groups
from accredit.games.parts import PartsGames
from accredit.games.strings import StringGame, string_game
from accredit.games.table import FunctionGame, FunctionGames, TableGame, TableGames
from accredit.games.textbook import WeightedVote
from accredit.games.wrappers import Cached, CachedGames, Counted, CountedGames, cached, counted, grouped, restricted

if TYPE_CHECKING:
    from accredit.games.components import ComponentGame, attribution_patching, component_game
    from accredit.games.image import ImageGame, image_game
    from accredit.games.text import TextGame, text_game

_NEED_TORCH = {
    "ComponentGame": "components",
    "attribution_patching": "components",
    "component_game": "components",
    "TextGame": "text",
    "text_game": "text",
    "ImageGame": "image",
    "image_game": "image",
}

__all__ = [
    "Cached", "CachedGames", "ChoiceFunction", "ChoiceTable", "ComponentGame", "Counted", "CountedGames", "FunctionGame",
    "FunctionGames", "ImageGame", "PartsGames", "StringGame", "TableGame", "TableGames", "TextGame",
    "WeightedVote", "attribution_patching", "cached", "component_game", "counted", "grouped", "image_game",
    "read_choices", "read_game",
    "read_games", "read_groups", "restricted", "string_game", "text_game",
]  # fmt: skip

# Games over models are imported when first used, so that the others need no torch.
__getattr__ = lazy(__name__, {name: f"{__name__}.{home}" for name, home in _NEED_TORCH.items()}, extra="text")
