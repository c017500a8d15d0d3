"""Characters as players: which letters of a text earn a model's output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from accredit import defaults
from accredit.core import BoolArray, FloatArray, Game, distinct_names
from accredit.errors import InvalidInput
from accredit.games.table import FunctionGame
from accredit.models.payoffs import Payoff, check_payoff, payoff_blur, payoff_of

if TYPE_CHECKING:
    from accredit.models.strings import StringModel
    from accredit.models.text import TextModel


def character_game(
    model: TextModel | StringModel,
    text: str,
    word: str | None = None,
    *,
    payoff: Payoff | None = None,
    target: str | int | None = None,
) -> FunctionGame:
    """The game in which the characters of `text`, or of one `word` in it, earn the output; those who leave are deleted.

    For any model of texts: a `TextModel`, or one that reads strings. Every text is read once. Where only spaces are left, the
    payoff is that of the text with every word deleted.

    >>> from accredit.models import builtin, load_text_model
    >>> game = character_game(load_text_model(builtin.text_folder()), "A dull film.", "dull")
    >>> game.players
    ('d', 'u', 'l', 'l (2)')
    """
    encoded = model.encode(text)  # refuses what is not a text
    paid_for = payoff or defaults.payoff(model.law)
    middle = text if word is None else word
    if not isinstance(middle, str) or not middle or text.count(middle) != 1:
        times = text.count(middle) if isinstance(middle, str) and middle else 0
        remedy = "; give a longer piece, which is there once" if times > 1 else ""
        raise InvalidInput(
            f"word {word!r:.60} is {times or 'not'} {'times ' * (times > 1)}in the text {text!r:.60}{remedy}",
            argument="word",
            code="duplicate" if times else "missing",
        )
    begin = text.index(middle)
    whole = np.asarray(model.predict(encoded))[None]
    check_payoff(paid_for, model.law, whole.shape[1])
    index = model.target(target, encoded)
    paid: dict[str, float] = {}

    def earn(kept: str) -> float:
        if kept not in paid:
            paid[kept] = read(kept) if kept.strip() else _without_words(model, text, paid_for, index)
        return paid[kept]

    def read(kept: str) -> float:
        outputs = np.asarray(model.predict(model.encode(kept)))[None]
        return float(payoff_of(outputs, index, paid_for, model.law)[0])

    def payoffs(coalitions: BoolArray) -> FloatArray:
        rows = ("".join(c for c, here in zip(middle, row, strict=True) if here) for row in coalitions.tolist())
        return np.array([earn(text[:begin] + row + text[begin + len(middle) :]) for row in rows])

    return FunctionGame(distinct_names(middle), payoffs, blur=payoff_blur(whole, paid_for, model.law, model.precision))


def _without_words(model: TextModel | StringModel, text: str, payoff: Payoff, target: int) -> float:
    """What the model pays when every word of the text is deleted."""
    from accredit.games.strings import string_game
    from accredit.games.text import text_game
    from accredit.models.strings import StringModel

    if isinstance(model, StringModel):
        words: Game = string_game(model, text, payoff=payoff, target=target)
    else:
        words = text_game(model, text, removal="delete", payoff=payoff, target=target)
    return float(words.payoff(np.zeros((1, len(words.players)), dtype=bool))[0])
