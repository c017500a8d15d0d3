"""What a model pays: log-probabilities of answers from its forward passes, and what these rest on."""

from __future__ import annotations

from typing import final

import numpy as np

from accredit.answers.assembly import InPlace, Rebuilt
from accredit.answers.decoder_prefix import WithPrefix
from accredit.answers.model import AnsweringModel
from accredit.answers.passes import Reader
from accredit.answers.said import Answer, Currency
from accredit.core import BoolArray, FloatArray
from accredit.core.rounding import blur
from accredit.models.state import precision_of_module

WAYS = {
    "shared": "common beginnings of prompts once, their keys and values kept",
    "padded": "rows side by side, padded and masked",
    "plain": "rows of equal length side by side",
}


@final
class ModelPays:
    """Payoffs from a model's forward passes."""

    currency: Currency = "log-probability"

    def __init__(
        self,
        model: AnsweringModel,
        parts: Rebuilt | InPlace | WithPrefix,
        answers: list[Answer],
        reader: Reader,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.model, self.parts, self.answers, self.reader, self._notes = model, parts, answers, reader, notes
        everybody = np.ones((1, len(parts.players)), dtype=bool)
        whole = parts.rows(everybody, answers[0])[0]
        for answer in answers:
            before = len(model.start) + len(whole.said) if model.encodes else 0
            model.check_length(len(whole.ids), before + len(answer.ids), self._too_long)
        self._length, self._prompt = len(whole.read), len(whole.ids)

    @property
    def players(self) -> tuple[str, ...]:
        return self.parts.players

    def _too_long(self, most: int) -> str:
        """The player whose part alone is more than the model reads; empty if there is none."""
        alone = self.parts.rows(np.eye(len(self.players), dtype=bool), self.answers[0])
        longest = int(np.argmax([len(row.ids) for row in alone]))
        return self.players[longest] if len(alone[longest].ids) > most else ""

    @property
    def rows(self) -> int:
        return self.reader.rows(self._length, self._length, len(self.answers[0].ids))

    def log_probabilities(self, coalitions: BoolArray) -> FloatArray:
        rows = [self.parts.rows(coalitions, answer) for answer in self.answers]
        found = self.reader.log_probabilities([row for each in rows for row in each])
        count = len(coalitions)
        return np.concatenate([np.stack(found[k * count : (k + 1) * count]) for k in range(len(rows))], axis=1)

    @property
    def blur(self) -> float:
        """How far rounding may move the log-probability of one token, by the logits seen."""
        return 2 * blur(self.reader.largest, precision_of_module(self.model.model))

    def fingerprint_parts(self) -> dict[str, object]:
        """What decides the payoffs: the weights, and the ids that the model reads when each part alone leaves."""
        everybody = np.ones((1, len(self.players)), dtype=bool)
        shown = np.concatenate([everybody, ~np.eye(len(self.players), dtype=bool)])
        rows = [self.parts.rows(shown, answer) for answer in self.answers]
        read = [[row.ids, row.positions, row.said, row.unseen, row.answer] for each in rows for row in each]
        return {"model": self.model.model, "read": read, "removal": self.parts.removal, "filler": self.parts.filler}

    @property
    def provenance(self) -> dict[str, object]:
        return {
            "model": self.model.name,
            "architecture": type(self.model.model).__name__,
            "removal": self.parts.removal,
            "filler": self.parts.filler,
            "answer": self.answers[0].text,
            "answer from": self.answers[0].source.as_plain(),
            "rather than": self.answers[1].text if len(self.answers) > 1 else None,
            "prompt tokens": self._prompt,
            "answer tokens": len(self.answers[0].ids),
            "reading": ", ".join(dict.fromkeys(WAYS[way] for way in self.model.ways.values())),
            "notes": [*self._notes, *(answer.note for answer in self.answers if answer.note)],
        }
