"""Words with several states: kept, masked, or replaced by another word. The text stays a text whatever they choose."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, final

import numpy as np

from accredit import defaults
from accredit.core import FloatArray, IntArray, distinct_names
from accredit.core.choices import Choosing
from accredit.errors import InvalidInput
from accredit.models.payoffs import check_payoff, payoff_of

if TYPE_CHECKING:
    from accredit.models.text import TextModel

STATES = ("masked", "replaced", "kept")
WORD = re.compile(r"\w+(?:['’]\w+)*")


@final
class WordChoices(Choosing):
    """v(x) = what the model pays for the text in which every word of `replacements` is masked, replaced or kept.

    Other words stay. The mask is the tokenizer's mask token; a model without one is refused. Every text is read once.
    """

    def __init__(
        self,
        model: TextModel,
        text: str,
        replacements: Mapping[str, str],
        payoff: str | None = None,
        target: str | int | None = None,
    ) -> None:
        if not getattr(model, "masks", False):
            raise InvalidInput(
                f"{model.name} has no mask token that it knows, and 'masked' is one of the three states here",
                argument="model",
                code="unsupported",
            )
        self.model, self.text, self.payoff_name = model, text, payoff or defaults.payoff(model.law)
        check_payoff(self.payoff_name, model.law, model.classes)
        self.target = model.target(target, model.encode(text))
        found = [(hit.span(), replacements[hit.group()]) for hit in WORD.finditer(text) if hit.group() in replacements]
        unknown = set(replacements) - {text[a:b] for (a, b), _ in found}
        if unknown or not found:
            raise InvalidInput(
                f"replacements names {', '.join(sorted(unknown)) or 'no word'}; the words of the text are "
                f"{', '.join(WORD.findall(text))[:80]}",
                argument="replacements",
                code="unknown",
            )
        self._spans = [span for span, _ in found]
        self._written = [(str(model.tokenizer.mask_token), other, text[a:b]) for (a, b), other in found]
        players = distinct_names(text[a:b] for a, b in self._spans)
        super().__init__(players, (STATES,) * len(players))
        self._paid: dict[str, float] = {}

    def write(self, choice: IntArray) -> str:
        """The text of one joint choice."""
        parts, at = [], 0
        for (a, b), states, k in zip(self._spans, self._written, choice.tolist(), strict=True):
            parts += [self.text[at:a], states[k]]
            at = b
        return "".join([*parts, self.text[at:]])

    def worth(self, choices: IntArray) -> FloatArray:
        return np.array([self._earn(self.write(choice)) for choice in choices])

    def _earn(self, text: str) -> float:
        if text not in self._paid:
            outputs = np.asarray(self.model.predict(self.model.encode(text)))[None]
            self._paid[text] = float(payoff_of(outputs, self.target, self.payoff_name, self.model.law)[0])
        return self._paid[text]
