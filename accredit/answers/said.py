"""What a model said or might have said, cut into its tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from accredit.core import IntArray, Procedure, distinct_names
from accredit.errors import InvalidInput
from accredit.models.encoded import number_tokens, sentence_spans, visible

Currency = Literal["log-probability", "score"]  # what is paid: for each token, or from 0 to 1 for the whole answer
SCORE: Currency = "score"


@dataclass(frozen=True, eq=False)
class Answer:
    """What a model said or might have said, cut into its tokens."""

    ids: IntArray  # (A,)
    pieces: tuple[str, ...]  # (A,) the characters that each token adds
    source: Procedure  # given, or how it was generated
    note: str = ""  # where the tokenizer writes it in another way than it was given, or where it was cut

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def tokens(self) -> tuple[str, ...]:
        """Distinct names of the tokens; white space is shown as what it is."""
        return distinct_names(visible(piece) for piece in self.pieces)

    @property
    def sentences(self) -> tuple[tuple[str, ...], IntArray]:
        """The sentences of the answer, and for each token the number of its sentence: (A,)."""
        places = self.sentence_places()
        number = np.zeros(len(self.pieces), dtype=np.int64)
        for k, (_, _, where) in enumerate(places):
            number[where] = k
        return distinct_names(" ".join(self.text[a:b].split()) for a, b, _ in places), number

    @property
    def edges(self) -> IntArray:
        """The first character of each token, and one past its last: (A, 2)."""
        ends = np.cumsum([len(piece) for piece in self.pieces])
        return np.stack([ends - [len(piece) for piece in self.pieces], ends], axis=1)

    def sentence_places(self) -> list[tuple[int, int, IntArray]]:
        """The sentences of the answer: first character, one past the last, and the numbers of their tokens."""
        units = sentence_spans(self.text) or [(0, len(self.text))]
        number = number_tokens(self.edges, units, self.text)
        return [(*units[k], np.flatnonzero(number == k)) for k in np.unique(number).tolist()]

    def place(self, words: str) -> tuple[int, int, IntArray]:
        """Where some words stand for the first time: first character, one past the last, and the numbers of the tokens that
        hold a part of them."""
        start = self.text.find(words) if words.strip() else -1
        if start < 0:
            raise InvalidInput(
                f"{words!r:.60} is not in the answer {self.text!r:.80}; copy words of it, letter by letter", code="missing"
            )
        first, stop = self.edges.T
        return start, start + len(words), np.flatnonzero((first < start + len(words)) & (stop > start))
