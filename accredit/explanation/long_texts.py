"""Texts longer than a model reads at once: read part by part, each part a few whole sentences, or cut off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from accredit.explanation.explainer import Explainer
from accredit.explanation.requests import TextRequest
from accredit.models.encoded import sentence_spans, word_spans

if TYPE_CHECKING:
    from accredit.models import TextModel

MARGIN = 2  # tokens that a piece may have more when it is read without its neighbours
Span = tuple[int, int]


def tokens_in(model: TextModel, *texts: str) -> int:
    """How many tokens the model would read, its own among them."""
    return len(model.tokenizer(*texts, truncation=False, verbose=False)["input_ids"])


def parts(model: TextModel, text: str, most: int) -> list[Span]:
    """Spans of characters that cover the text, each of at most `most` tokens: whole sentences, of a long one whole words.

    >>> from accredit.explanation.loading import builtin_model
    >>> text = "Dull. Very long. Good end."
    >>> [text[a:b] for a, b in parts(builtin_model("text"), text, 7)]
    ['Dull.', ' Very long.', ' Good end.']
    """
    room = max(1, most - model.tokenizer.num_special_tokens_to_add() - MARGIN)
    row = model.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    starts = np.array([a for a, b in row["offset_mapping"] if b > a])

    def count(a: int, b: int) -> int:
        return int(np.searchsorted(starts, b) - np.searchsorted(starts, a))

    found: list[Span] = []
    for a, b in _pieces(text, room, count):
        if found and count(found[-1][0], b) <= room:
            found[-1] = (found[-1][0], b)
        else:
            found.append((a, b))
    return found


def _pieces(text: str, room: int, count: Callable[[int, int], int]) -> Iterator[Span]:
    """Sentences; the words of those that are too long."""
    for a, b in sentence_spans(text):
        yield from _words(text, a, b) if count(a, b) > room else [(a, b)]


def _words(text: str, start: int, end: int) -> Iterable[Span]:
    """The words of a sentence, each with the space before it."""
    ends = [start + b for _, b in word_spans(text[start:end])]
    return zip([start, *ends[:-1]], [*ends[:-1], end], strict=True)


def read_in_parts(explainer: Explainer, text: str) -> tuple[list[str], str]:
    """Parts of a text that the model does not read at once, and why; none where it does, or where it is no classifier.

    >>> pieces, why = read_in_parts(Explainer(), "A gripping film. " * 60)
    >>> len(pieces), why.partition(":")[2], read_in_parts(Explainer(), "A gripping film.")
    (2, ' 2 POSITIVE.', ([], ''))
    """
    from accredit.models import TextModel

    model = explainer.model_for("text")
    if not isinstance(model, TextModel) or model.task != "classify":
        return [], ""
    count, most = tokens_in(model, text), int(model.longest())
    if count <= most:
        return [], ""
    pieces = [text[a:b].strip() for a, b in parts(model, text, most)]
    return pieces, summary(count, most, [label for label, _ in predict(explainer, pieces)])


def predict(explainer: Explainer, texts: Iterable[str]) -> list[tuple[str, float]]:
    """For each part the likeliest label and its share."""
    return [explainer.subject(text, TextRequest(cut=True)).prediction[0][0] for text in texts]


def summary(tokens: int, reads: int, labels: Sequence[str]) -> str:
    """Why a text was read in parts, and what the model says of how many of them.

    >>> summary(134, 128, ["POSITIVE", "NEGATIVE", "POSITIVE"])
    'This text has 134 tokens and the model reads 128 at once, so it was read in 3 parts, each alone: 2 POSITIVE, 1 NEGATIVE.'
    """
    counted = ", ".join(f"{count} {label}" for label, count in Counter(labels).most_common())
    return (
        f"This text has {tokens:,} tokens and the model reads {reads:,} at once, so it was read in {len(labels)} parts, "
        f"each alone: {counted}."
    )
