"""Payoffs: where games come from, and games made from games."""

from typing import TYPE_CHECKING

from accredit.core.lazy import lazy
from accredit.games.choices import ChoiceFunction, ChoiceTable, read_choices
from accredit.games.files import read_game, read_games, read_groups
from accredit.games.multi_output import FunctionGames, TableGames
from accredit.games.parts import PartsGames
from accredit.games.strings import StringGame, string_game
from accredit.games.table import FunctionGame, TableGame
from accredit.games.tabular import TabularGame, tabular_game
from accredit.games.votes import WeightedVote
from accredit.games.wrappers import Cached, CachedGames, Counted, CountedGames, cached, counted, grouped, restricted

if TYPE_CHECKING:
    from accredit.games.answers import AnswerGame, answer_game
    from accredit.games.black_box_answers import asked_game
    from accredit.games.image import ImageGame, image_game
    from accredit.games.text import TextGame, text_game

_NEED_TORCH = {
    "TextGame": "text",
    "text_game": "text",
    "ImageGame": "image",
    "image_game": "image",
    "AnswerGame": "answers",
    "answer_game": "answers",
    "asked_game": "black_box_answers",
}

__all__ = [
    "AnswerGame", "Cached", "CachedGames", "ChoiceFunction", "ChoiceTable", "Counted", "CountedGames", "FunctionGame",
    "FunctionGames", "ImageGame", "PartsGames", "StringGame", "TableGame", "TableGames", "TabularGame", "TextGame",
    "WeightedVote", "answer_game", "asked_game", "cached", "counted", "grouped", "image_game", "read_choices", "read_game",
    "read_games", "read_groups", "restricted", "string_game", "tabular_game", "text_game",
]  # fmt: skip

# Games over models are imported when first used, so that the others need no torch.
__getattr__ = lazy(__name__, {name: f"{__name__}.{home}" for name, home in _NEED_TORCH.items()}, extra="text")
