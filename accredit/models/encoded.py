"""A text as a model reads it: token ids, and for each token its characters, its word and its sentence."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from accredit.core import BoolArray, IntArray, InvalidInput
from accredit.models.partition import Partition, partition_by, partition_of

UNITS = ("token", "word", "sentence")

_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*(?=\s)|[。！？][”’」』）]*|\n+")
_OWN_WORDS = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
)  # kana and Han: written without spaces


@dataclass(frozen=True, eq=False)
class Encoded:
    """One text, cut into the T tokens that a model reads. Special tokens ([CLS], BOS, …) never are players."""

    text: str
    ids: IntArray  # (T,)
    tokens: tuple[str, ...]  # (T,) as the reader sees them: the characters of the text that the token covers
    spans: IntArray  # (T, 2) first character and one past the last; (0, 0) where a token covers none
    special: BoolArray  # (T,) put there by the tokenizer, not by the author
    words: IntArray  # (T,) number of the word, −1 for special tokens
    sentences: IntArray  # (T,) number of the sentence, −1 for special tokens
    read: int = -1  # position whose output is explained; −1: the model pools, so there is no single one
    prefix: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # (P,) decoder ids given so far
    prefix_tokens: tuple[str, ...] = ()
    cut: str = ""  # the part of the text that did not fit into the model

    def __len__(self) -> int:
        return len(self.ids)

    def partition(self, players: str | Mapping[str, Iterable[int]] = "token") -> Partition:
        """Tokens dealt out to players: "token", "word", "sentence", or named groups of token positions.

        Tokens outside every named group play for themselves. Special tokens belong to nobody.
        """
        if isinstance(players, Mapping):
            return partition_of(players, len(self), ~self.special, self.tokens)
        if players == "token":
            labels = np.where(self.special, -1, np.arange(len(self)))
        elif players == "word":
            labels = self.words
        elif players == "sentence":
            labels = self.sentences
        else:
            raise InvalidInput(
                f"players is {players!r}; write one of {', '.join(UNITS)}, or a mapping of names to positions"
            )
        return partition_by(labels, [self._covered(labels == k) for k in np.unique(labels[labels >= 0])])

    def _covered(self, tokens: BoolArray) -> str:
        """The text under some tokens, from the first character to the last."""
        where = np.flatnonzero(tokens)
        if len(where) == 1:
            return self.tokens[int(where[0])]
        covering: IntArray = self.spans[where][self.spans[where, 1] > self.spans[where, 0]]
        if len(covering) == 0:
            return "".join(self.tokens[i] for i in where)
        return " ".join(self.text[int(covering[:, 0].min()) : int(covering[:, 1].max())].split())


def word_spans(text: str) -> list[tuple[int, int]]:
    """Words as character spans: runs between spaces, without the punctuation around them, which is a word of its own.

    The rule knows no tokenizer, so words are the same for every model. Kana and Han characters are one word each.

    >>> [("It's well-made, :)")[a:b] for a, b in word_spans("It's well-made, :)")]
    ["It's", 'well-made', ',', ':)']
    """
    spans: list[tuple[int, int]] = []
    for run in re.finditer(r"\S+", text):
        start, end = run.span()
        head, tail = start, end
        while head < end and _is_mark(text[head]):
            head += 1
        while tail > head and _is_mark(text[tail - 1]):
            tail -= 1
        core = [head, *(i for m in _OWN_WORDS.finditer(text, head, tail) for i in m.span()), tail]
        edges = sorted({start, *core, end})
        spans += itertools.pairwise(edges)
    return spans


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Sentences as character spans: they end after . ! ? … before a space, after 。！？, or at a line break.

    A plain rule: it also ends a sentence after an abbreviation such as "Mr.".

    >>> [("Dull? No! Go.")[a:b] for a, b in sentence_spans("Dull? No! Go.")]
    ['Dull?', ' No!', ' Go.']
    """
    ends = [m.end() for m in _SENTENCE_END.finditer(text)] + [len(text)]
    spans: list[tuple[int, int]] = []
    start = 0
    for end in dict.fromkeys(ends):
        if text[start:end].strip():
            spans.append((start, end))
            start = end
    return spans


def numbered(spans: IntArray, units: list[tuple[int, int]], text: str, special: BoolArray) -> IntArray:
    """For each token the unit (word or sentence) that holds its first visible character; −1 for special tokens.

    A token without visible characters of its own goes with the token before it, or with the first unit.
    """
    starts = np.array([a for a, _ in units] or [0])
    labels = np.full(len(spans), -1, dtype=np.int64)
    last = 0
    for t, (a, b) in enumerate(spans.tolist()):
        if special[t]:
            continue
        visible = a + len(text[a:b]) - len(text[a:b].lstrip())
        if visible < b:
            last = int(np.searchsorted(starts, visible, side="right")) - 1
        labels[t] = max(last, 0)
    return labels
