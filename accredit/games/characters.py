"""Characters as players: which letters of a text earn a model's output."""

from __future__ import annotations

from typing import Any

import numpy as np

from accredit.core import BoolArray, FloatArray, InvalidInput, distinct_names
from accredit.games.table import FunctionGame
from accredit.models.payoffs import Payoff, check_payoff, payoff_of


def character_game(
    model: Any, text: str, word: str | None = None, *, payoff: Payoff = "log-odds", target: str | int | None = None
) -> FunctionGame:
    """The game in which the characters of `text`, or of one `word` in it, earn the output; those who leave are deleted.

    For any model of texts: a `TextModel`, or one that reads strings. Every text is read once.
    """
    begin = 0 if word is None else text.find(word)
    if begin < 0 or not (word or text):
        raise InvalidInput(f"word {word!r} is not in the text {text!r:.60}")
    middle = text if word is None else word
    outputs = np.asarray(model.predict(model.encode(text)))
    check_payoff(payoff, model.law, len(outputs))
    index = model.target(target, model.encode(text))
    paid: dict[str, float] = {}

    def earned(kept: str) -> float:
        if kept not in paid:
            read = np.asarray(model.predict(model.encode(kept)))[None]
            paid[kept] = float(payoff_of(read, index, payoff, model.law)[0])
        return paid[kept]

    def payoffs(coalitions: BoolArray) -> FloatArray:
        rows = ("".join(c for c, here in zip(middle, row, strict=True) if here) for row in coalitions.tolist())
        return np.array([earned(text[:begin] + row + text[begin + len(middle) :]) for row in rows])

    return FunctionGame(distinct_names(middle), payoffs)
