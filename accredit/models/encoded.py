"""A text as a model reads it: token ids, and for each token its characters, its word and its sentence."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import BoolArray, IntArray
from accredit.errors import InvalidInput
from accredit.models.partition import Partition, partition_by, partition_of

if TYPE_CHECKING:
    from transformers import BatchEncoding

    from accredit.models.text import TextModel


UNITS = ("token", "word", "sentence")
JOINERS = "\u200d\ufe0e\ufe0f"  # they tie emoji together, and belong to the one before them
SHOWN_SPACE = {" ": "␣", "\n": "⏎", "\t": "⇥", "\r": "⏎"}
LONGEST_WORD = 1_000_000  # characters without a space between them
OF_PAIR = "(pair)"  # follows the name of a player of the second text whose namesake is in the first

_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*(?=\s)|[。！？][”’」』）]*|\n+")
# Kana and Han, which are written without spaces.
_OWN_WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


@dataclass(frozen=True, eq=False)
class Encoded:
    """One text, cut into the T tokens that a model reads. Special tokens ([CLS], BOS, …) are never players.

    >>> from accredit.models import builtin, load_text_model
    >>> read = load_text_model(builtin.text_folder()).encode("A gripping film.")
    >>> read.tokens, read.special.tolist(), read.partition("word").players
    (('[CLS]', 'A', 'gripping', 'film', '.', '[SEP]'), [True, False, False, False, False, True], ('A', 'gripping', 'film', '.'))
    """

    text: str
    ids: IntArray  # (T,)
    tokens: tuple[str, ...]  # (T,) as the reader sees them: the characters of the text that the token covers
    spans: IntArray  # (T, 2) first character in its own text and one past the last; equal where a token covers none
    special: BoolArray  # (T,) put there by the tokenizer, not by the author
    words: IntArray  # (T,) number of the word, −1 for special tokens
    sentences: IntArray  # (T,) number of the sentence, −1 for special tokens
    read: int = -1  # position whose output is explained; −1: the model pools, so there is no single one
    prefix: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # (P,) decoder ids given so far
    prefix_tokens: tuple[str, ...] = ()
    cut: str = ""  # the part of the text that did not fit into the model
    pair: str | None = None  # the second text, for models that read two
    part: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # (T,) 0 or 1: which text it is from
    types: IntArray | None = None  # (T,) token types (segment ids); None: the model is given none

    def __post_init__(self) -> None:
        if not len(self.part):
            object.__setattr__(self, "part", np.zeros(len(self.ids), dtype=np.int64))

    def __len__(self) -> int:
        return len(self.ids)

    def partition(self, players: object = "token") -> Partition:
        """Tokens dealt out to players: "token", "word", "sentence", or named groups of token positions.

        Tokens outside every named group play for themselves. Special tokens belong to nobody. Of two players with
        the same name, one in each text of a pair, the second is marked.
        """
        if isinstance(players, Mapping):
            if not players:
                raise InvalidInput(
                    f"players is {{}}, which names no group; write one of {', '.join(UNITS)}, or names with positions",
                    argument="players",
                    code="empty",
                )
            return partition_of(players, len(self), ~self.special, self._tell_apart(self.tokens, self.part))
        if players == "token":
            labels = np.where(self.special, -1, np.arange(len(self)))
        elif players == "word":
            labels = self.words
        elif players == "sentence":
            labels = self.sentences
        else:
            raise InvalidInput(
                f"players is {players!r}; write one of {', '.join(UNITS)}, or a mapping of names to positions",
                argument="players",
                code="unknown",
            )
        present, first = np.unique(labels, return_index=True)
        names = tuple(self._cover(labels == k) for k in present[present >= 0])
        return partition_by(labels, self._tell_apart(names, self.part[first[present >= 0]]))

    def _tell_apart(self, names: tuple[str, ...], part: IntArray) -> tuple[str, ...]:
        """Names of the second text that also occur in the first say so."""
        of_first = {name for name, p in zip(names, part.tolist(), strict=True) if p == 0}
        return tuple(
            f"{name} {OF_PAIR}" if p == 1 and name in of_first else name for name, p in zip(names, part.tolist(), strict=True)
        )

    def _cover(self, tokens: BoolArray) -> str:
        """The text under some tokens, from the first character to the last."""
        where = np.flatnonzero(tokens)
        if len(where) == 1:
            return self.tokens[int(where[0])]
        covering: IntArray = self.spans[where][self.spans[where, 1] > self.spans[where, 0]]
        if len(covering) == 0:
            return "".join(self.tokens[i] for i in where)
        text = self.text if self.pair is None or not self.part[where[0]] else self.pair
        return " ".join(text[int(covering[:, 0].min()) : int(covering[:, 1].max())].split())


def word_spans(text: str) -> list[tuple[int, int]]:
    """Words as character spans: runs between spaces, without the punctuation around them, which is a word of its own.

    The rule does not use the tokenizer, so words are the same for every model. Kana and Han characters are one word each.

    >>> [("It's well-made, :)")[a:b] for a, b in word_spans("It's well-made, :)")]
    ["It's", 'well-made', ',', ':)']
    """
    spans: list[tuple[int, int]] = []
    for run in re.finditer(r"\S+", text):
        start, end = run.span()
        head, tail = start, end
        while head < end and (_is_mark(text[head]) or (head > start and text[head] in JOINERS)):
            head += 1
        while tail > head and _is_mark(bare := text[head:tail].rstrip(JOINERS)):
            tail = head + len(bare) - 1
        core = [head, *(i for m in _OWN_WORDS.finditer(text, head, tail) for i in m.span()), tail]
        edges = sorted({start, *core, end})
        spans += itertools.pairwise(edges)
    return spans


def _is_mark(text: str) -> bool:
    """Whether a text ends with punctuation or a symbol."""
    return bool(text) and unicodedata.category(text[-1])[0] in "PS"


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


def units_of_each(
    texts: tuple[str, ...],
    rule: Callable[[str], list[tuple[int, int]]],
    spans: IntArray,
    part: IntArray,
    special: BoolArray,
) -> IntArray:
    """For each token its unit (word or sentence), numbered through all texts; −1 for special tokens: (T,)."""
    labels = np.full(len(spans), -1, dtype=np.int64)
    before = 0
    for p, text in enumerate(texts):
        units, mine = rule(text), (part == p) & ~special
        labels[mine] = before + number_tokens(spans[mine], units, text)
        before += len(units)
    return labels


def number_tokens(spans: IntArray, units: list[tuple[int, int]], text: str) -> IntArray:
    """For each token the unit (word or sentence) that holds its first visible character: (T, 2) -> (T,).

    A token without visible characters of its own goes with the token before it, or with the first unit.
    """
    starts = np.array([a for a, _ in units] or [0])
    labels = np.zeros(len(spans), dtype=np.int64)
    last = 0
    for t, (a, b) in enumerate(spans.tolist()):
        visible = a + len(text[a:b]) - len(text[a:b].lstrip())
        if visible < b:
            last = int(np.searchsorted(starts, visible, side="right")) - 1
        labels[t] = max(last, 0)
    return labels


def check_words(text: str, name: str) -> None:
    """Refuse a word that no tokenizer gets through: some look at each of its characters many times over, or give up midway."""
    if len(text) > LONGEST_WORD and (longest := max(map(len, text.split()))) > LONGEST_WORD:
        raise InvalidInput(
            f"{name} has a word of {longest:,} characters; the longest is {LONGEST_WORD:,}: shorten it",
            argument=name,
            code="range",
        )


def visible(piece: str) -> str:
    """A token as a reader sees it: without the space before it, and white space alone as a sign.

    >>> visible(" Rome"), visible("\\n\\n"), visible("")
    ('Rome', '⏎⏎', '∅')
    """
    return piece.strip() or "".join(SHOWN_SPACE.get(c, c) for c in piece) or "∅"


# From texts to tokens


Text = str | tuple[str, str]  # one text, or a pair that the model reads together


def encode_text(model: TextModel, text: Text, prefix: str, cut: bool) -> Encoded:
    """What `TextModel.encode` gives: tokens, the characters they cover, and who of them may play."""
    texts = _texts(model, text)
    row, left_out = _tokenize(model, texts, cut)
    ids = np.array(row["input_ids"], dtype=np.int64)
    spans = np.array(row["offset_mapping"], dtype=np.int64).reshape(-1, 2)
    if ids.max() >= model.known:
        raise InvalidInput(
            f"token id {ids.max()} is beyond the {model.known} that {model.name} knows; pair it with its own tokenizer",
            argument="tokenizer",
            code="conflict",
        )
    special = _special(model, ids, np.array(row["special_tokens_mask"], dtype=bool))
    part = np.maximum.accumulate([0 if p is None else p for p in row.sequence_ids(0)]).astype(np.int64)
    for p, each in enumerate(texts):
        if special[part == p].all():
            raise InvalidInput(
                f"text {each!r:.40} has no token of its own for {model.name}; give some words", argument="text", code="empty"
            )
    prefix_ids = _prefix(model, prefix)
    return Encoded(
        text=texts[0],
        ids=ids,
        tokens=_display(model, texts, ids, spans, part, special),
        spans=spans,
        special=special,
        words=units_of_each(texts, word_spans, spans, part, special),
        sentences=units_of_each(texts, sentence_spans, spans, part, special),
        read=_read(model, ids),
        prefix=prefix_ids,
        prefix_tokens=tuple(model.tokenizer.convert_ids_to_tokens(prefix_ids.tolist())),
        cut=left_out,
        pair=texts[1] if len(texts) == 2 else None,
        part=part,
        types=_types(model, row),
    )


def _texts(model: TextModel, text: Text) -> tuple[str, ...]:
    """One text or two, none of them empty."""
    texts = text if isinstance(text, tuple) else (text,)
    if not 1 <= len(texts) <= 2 or not all(isinstance(each, str) for each in texts):
        raise InvalidInput(
            f"text is {text!r:.60}; give one string, or a pair of strings (text, pair)", argument="text", code="type"
        )
    for each in texts:
        if not each.strip():
            raise InvalidInput(
                f"text is {each!r:.40}: empty or only spaces, so there is nothing to credit; give some words",
                argument="text",
                code="empty",
            )
        check_words(each, "text")
    if len(texts) == 2 and model.task not in ("classify", "fill"):
        raise InvalidInput(
            f"{model.name} continues one text, and a pair was given; put both into one text. Pairs are for "
            "classifiers and masked language models",
            argument="text",
            code="unsupported",
        )
    return texts


def _types(model: TextModel, row: BatchEncoding) -> IntArray | None:
    """Token types, where the tokenizer gives them and the model reads them."""
    if "token_type_ids" not in row or "token_type_ids" not in model.takes:
        return None
    types = np.array(row["token_type_ids"], dtype=np.int64)
    known = getattr(model.model.config, "type_vocab_size", None)
    if known and types.max() >= known:
        raise InvalidInput(
            f"token type {types.max()} is beyond the {known} that {model.name} knows; pair it with its own tokenizer",
            argument="tokenizer",
            code="conflict",
        )
    return types


def _tokenize(model: TextModel, texts: tuple[str, ...], cut: bool) -> tuple[BatchEncoding, str]:
    """The tokenizer's answer, and the part of the text that did not fit."""
    wanted = {
        "return_offsets_mapping": True,
        "return_special_tokens_mask": True,
        "padding": False,
        "verbose": False,
    }
    try:
        row = model.tokenizer(*texts, truncation=False, **wanted)
    except (TypeError, UnicodeEncodeError):  # a lone surrogate is not a character
        strange = next((each for each in texts if not each.isprintable()), texts[0])
        raise InvalidInput(
            f"text {strange!a:.40} holds something that is not a character; decode it as UTF-8",
            argument="text",
            code="unreadable",
        ) from None
    count, most = len(row["input_ids"]), model.longest()
    if count <= most:
        return row, ""
    if not cut:
        raise InvalidInput(
            f"text has {count} tokens and {model.name} reads {most}; explain its beginning with cut=True, or its "
            "sentences one by one (of a single text the command and the page read all parts)",
            argument="text",
            code="too-many",
        )
    row = model.tokenizer(*texts, truncation=True, max_length=most, **wanted)
    return row, " … ".join(filter(str.strip, _rest(model, row, texts)))


def _rest(model: TextModel, row: BatchEncoding, texts: tuple[str, ...]) -> Iterator[str]:
    """What of each text lies beyond its first or last token, on the side where the tokenizer cuts."""
    at_the_start = getattr(model.tokenizer, "truncation_side", "right") == "left"
    for p, text in enumerate(texts):
        covered = zip(row.sequence_ids(0), row["offset_mapping"], strict=True)
        spans = [(a, b) for q, (a, b) in covered if q == p and b > a] or [(len(text), 0)]
        yield text[: spans[0][0]] if at_the_start else text[spans[-1][1] :]


def _special(model: TextModel, ids: IntArray, added: BoolArray) -> BoolArray:
    """Tokens that the tokenizer adds, and special ones typed into the text (a mask). Unknown words stay players."""
    reserved = set(model.tokenizer.all_special_ids) - {model.tokenizer.unk_token_id}
    return added | np.isin(ids, np.array(sorted(reserved), dtype=np.int64))


def _display(
    model: TextModel, texts: tuple[str, ...], ids: IntArray, spans: IntArray, part: IntArray, special: BoolArray
) -> tuple[str, ...]:
    pieces = model.tokenizer.convert_ids_to_tokens(ids.tolist())
    shown = []
    for piece, (a, b), p, reserved in zip(pieces, spans.tolist(), part.tolist(), special.tolist(), strict=True):
        covered = texts[p][a:b] or str(model.tokenizer.convert_tokens_to_string([piece]))  # of white space, or nothing
        signs = visible(covered) if a < b or covered.isspace() else str(piece).strip("Ġ▁ ") or "␣"
        shown.append(str(piece) if reserved else signs)
    return tuple(shown)


def _read(model: TextModel, ids: IntArray) -> int:
    if model.task == "continue":
        return len(ids) - 1
    if model.task != "fill":
        return -1
    masks = np.flatnonzero(ids == model.tokenizer.mask_token_id)
    if len(masks) != 1:
        raise InvalidInput(
            f"text holds {len(masks)} masks; a masked language model is explained at exactly one: write "
            f"{model.tokenizer.mask_token} where the word is wanted",
            argument="text",
            code="shape",
        )
    return int(masks[0])


def _prefix(model: TextModel, prefix: str) -> IntArray:
    if model.task != "translate":
        if prefix:
            raise InvalidInput(
                f"prefix is {prefix!r}, and only encoder–decoders take one; put it into the text",
                argument="prefix",
                code="misplaced",
            )
        return np.zeros(0, dtype=np.int64)
    start = model.model.config.decoder_start_token_id
    if start is None:
        raise InvalidInput(
            f"{model.name} has no decoder_start_token_id; set model.config.decoder_start_token_id", code="unsupported"
        )
    said = model.tokenizer(prefix, add_special_tokens=False)["input_ids"] if prefix else []
    return np.array([start, *said], dtype=np.int64)
