"""What a model said or might have said, cut into its tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from accredit.checks.suggestions import nearest
from accredit.core import IntArray, Procedure, distinct_names
from accredit.errors import InvalidInput
from accredit.models.encoded import number_tokens, sentence_spans, visible, word_spans

Currency = Literal["log-probability", "score"]  # what is paid: for each token, or from 0 to 1 for the whole answer
SCORE: Currency = "score"
NUMBERED = re.compile(r"(.+) \((\d+)\)", re.DOTALL)  # words, and which of several places is meant


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

    @property
    def words(self) -> tuple[tuple[str, ...], list[IntArray]]:
        """The words of the answer, and the numbers of the tokens of each. A token belongs to the word of its first character
        that is not white space, so that words that begin inside of one token are one."""
        number = number_tokens(self.edges, word_spans(self.text), self.text)
        where = [np.flatnonzero(number == k) for k in np.unique(number)]
        return distinct_names("".join(self.pieces[k] for k in tokens).strip() for tokens in where), where

    def place(self, words: str) -> Stretch:
        """Where some words stand, by `find_stretch`; refused where they do not."""
        if (found := find_stretch(self.pieces, words)) is None:
            raise InvalidInput(
                f"{words!r:.60} is not in the answer {self.text!r:.80}; copy words of it, letter by letter"
                f"{meant_words(self.text, words)}",
                code="missing",
            )
        return found


@dataclass(frozen=True, eq=False)
class Stretch:
    """Some words of an answer: the first character, one past the last, and the numbers of the tokens that hold a part of
    them; and what a reader must know where these words stand elsewhere, too, or their tokens hold more than them."""

    start: int
    stop: int
    tokens: IntArray
    notes: tuple[str, ...] = ()


def find_stretch(pieces: Sequence[str], words: str) -> Stretch | None:
    """Where some words stand in a text that is cut into pieces, for the first time; “words (2)” stand there for the second
    time. Whole words go before parts of words. None where they do not stand there.

    >>> find_stretch(("This", " is", " P", "ell", "worth"), "Pellworth").tokens.tolist()
    [2, 3, 4]
    >>> find_stretch(("This", " is"), "is").tokens.tolist(), find_stretch(("Bo", "ris", " is", " Bo", "ris"), "Boris (2)").start
    ([1], 9)
    """
    text, which = "".join(pieces), 1
    if words not in text and (numbered := NUMBERED.fullmatch(words)):
        words, which = numbered[1], int(numbered[2])
    if not words.strip():
        return None
    starts = _starts(text, words)
    if not 1 <= which <= len(starts):
        return None
    start, stop = starts[which - 1], starts[which - 1] + len(words)
    ends = np.cumsum([len(piece) for piece in pieces])
    firsts = ends - [len(piece) for piece in pieces]
    tokens = np.flatnonzero((firsts < stop) & (ends > start))
    return Stretch(
        start, stop, tokens, tuple(_on_stretch(words, which, len(starts), "".join(pieces[k] for k in tokens.tolist())))
    )


def _starts(text: str, words: str) -> list[int]:
    """Where some words stand in a text: as whole words, or else within others."""
    within = [found.start() for found in re.finditer(re.escape(words), text)]
    return [start for start in within if _is_whole(text, start, start + len(words))] or within


def _is_whole(text: str, start: int, stop: int) -> bool:
    """Whether a stretch of a text neither begins nor ends inside of a word."""
    before, after = text[max(start - 1, 0) : start], text[stop : stop + 1]
    return not (before.isalnum() and text[start].isalnum()) and not (after.isalnum() and text[stop - 1].isalnum())


def _on_stretch(words: str, which: int, count: int, held: str) -> Iterator[str]:
    if count > 1:
        other = 2 if which == 1 else 1
        yield (
            f"“{words}” stands {count} times in the answer, and this is number {which}; ask for “{words} ({other})”, or for "
            "more words around it."
        )
    if held.strip() != words.strip():
        yield f"The tokens of “{words}” are those of “{held.strip()}”, so credit is for all of these characters."


def meant_words(text: str, words: str) -> str:
    """The end of a message about words that do not stand in a text: as many words of it that are nearly these, if there are
    some, or how often “words (3)” stand there.

    >>> meant_words("The mayor is Pellworth.", "Pelworth"), meant_words("The mayor is Pellworth.", "Oslo")
    ("; did you mean 'Pellworth'?", '')
    >>> meant_words("The mayor is Pellworth.", "mayor (3)")
    "; 'mayor' stands there once"
    """
    numbered = NUMBERED.fullmatch(words)
    if numbered and numbered[1].strip() and (count := len(_starts(text, numbered[1]))):
        return f"; {numbered[1]!r} stands there {'once' if count == 1 else f'{count} times'}"
    units, count = word_spans(text), max(1, len(word_spans(words)))
    runs = [text[first[0] : last[1]] for first, last in zip(units, units[count - 1 :], strict=False)]
    lower = {run.lower(): run for run in reversed(runs)}
    near = nearest(words.lower(), lower)
    return f"; did you mean {lower[near]!r}?" if near else ""
