"""From texts to the tokens a model reads: ids, the characters each covers, and what is special."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import BoolArray, IntArray
from accredit.errors import InvalidInput
from accredit.models.encoded import Encoded, check_words, sentence_spans, units_of_each, visible, word_spans

if TYPE_CHECKING:
    from transformers import BatchEncoding

    from accredit.models.text import TextModel

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
            f"text has {count} tokens and {model.name} reads {most}; shorten it, or explain a part with cut=True "
            "(the command cuts the rows of a file)",
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
