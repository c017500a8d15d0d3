"""A text as a game for a model that reads strings: which words or sentences earn its output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, final

import numpy as np

from accredit import defaults
from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import truths
from accredit.core import BoolArray, FloatArray, Game, distinct_names
from accredit.errors import InvalidInput
from accredit.games.batches import spans
from accredit.games.parts import PartsGame
from accredit.games.table import FunctionGame
from accredit.models.encoded import Encoded
from accredit.models.partition import Partition
from accredit.models.payoffs import Payoff, check_payoff, name_payoff, payoff_blur, payoff_of
from accredit.models.strings import StringModel

if TYPE_CHECKING:
    from accredit.models.strings import StringModel
    from accredit.models.text import TextModel

TEXTS_PER_CALL = 256  # texts in one call


@final
class StringGame(PartsGame):
    """v(S) = payoff of the text in which only the words of S are left, each with the space before it.

    >>> from accredit.models import as_string_model
    >>> game = string_game(as_string_model(lambda texts: [len(text) for text in texts]), "A good film")
    >>> game.players, game.without(np.array([True, False, True]))
    (('A', 'good', 'film'), 'A film')
    """

    model: StringModel
    removal = "delete"

    def __init__(self, model: StringModel, encoded: Encoded, partition: Partition, payoff: Payoff, target: int) -> None:
        self.model, self.encoded, self.partition = model, encoded, partition
        self.payoff_name, self.target, self.rows, self._payoff = name_payoff(payoff), target, TEXTS_PER_CALL, payoff
        starts = [0, *encoded.spans[:-1, 1].tolist()]  # the space before a word is what follows the word before
        self._pieces = [encoded.text[a:b] for a, b in zip(starts, encoded.spans[:, 1].tolist(), strict=True)]

    @property
    def _whole(self) -> Encoded:
        return self.encoded

    def _earn(self, kept: BoolArray, targets: tuple[int, ...]) -> FloatArray:
        earned = np.empty((len(kept), len(targets)))
        for part in spans(len(kept), self.rows):
            outputs = self.model.outputs([self.without(stays) for stays in kept[part]])
            earned[part] = self._pay(outputs, kept[part], targets)
        return earned

    def without(self, stays: BoolArray) -> str:
        """The text without the words that left: (T,) -> a string."""
        here = truths(stays, "stays")
        if here.shape != (len(self._pieces),):
            raise InvalidInput(
                f"stays has shape {here.shape}; give one truth for each of {len(self._pieces)} words",
                argument="stays",
                code="shape",
            )
        return "".join(piece for piece, stay in zip(self._pieces, here.tolist(), strict=True) if stay).strip()

    @property
    def provenance(self) -> dict[str, object]:
        """What the payoffs rest on."""
        return {
            "model": self.model.name,
            "architecture": type(self.model.model).__name__,
            "text": self.encoded.text,
            "target": self.model.label(self.target),
            "payoff": self.payoff_name,
            "removal": self.removal,
        }

    def __repr__(self) -> str:
        return f"StringGame({len(self.players)} players, {self.payoff_name} of {self.model.label(self.target)!r})"


@check_arguments
def string_game(
    model: StringModel,
    text: str | Encoded,
    *,
    players: str | Mapping[str, Iterable[int]] = defaults.PLAYERS_OF_TEXTS,
    removal: str | None = None,
    payoff: Payoff | None = None,
    target: str | int | None = None,
) -> StringGame:
    """The game in which the words of a text earn the output of a model that reads strings.

    >>> from accredit.models.strings import as_string_model
    >>> game = string_game(as_string_model(lambda texts: [text.count("good") for text in texts]), "A good, good film")
    >>> game.without(np.array([True, False, True, True, False]))
    'A, good'
    >>> game.payoff(np.eye(5, dtype=bool))
    array([0., 1., 0., 1., 0.])
    """
    if removal not in (None, "delete"):
        raise InvalidInput(
            f"removal is {removal!r}; from a string, words can only be deleted: removal='delete'",
            argument="removal",
            code="misplaced",
        )
    encoded = text if isinstance(text, Encoded) else model.encode(text)
    paid = payoff or defaults.payoff(model.law)
    check_payoff(paid, model.law, len(model.predict(encoded)))
    return StringGame(model, encoded, encoded.partition(players), paid, model.target(target, encoded))


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
