"""Other things to read from a model than the label of a text: a token's label, an answer's span, a similarity, or your own.

Each gives a `TextModel` of one question, which every method then explains like a classifier.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import torch

from accredit.checks import whole_number
from accredit.checks.arguments import check_arguments
from accredit.core import check_names
from accredit.errors import InvalidInput
from accredit.models.payoffs import Law
from accredit.models.tasks import label_of
from accredit.models.text import Head, TextModel, TokenBatch, as_text_model

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase
    from transformers.utils import ModelOutput


Pooling = Literal["mean", "first", "last"]


@check_arguments
def read_model(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    read: Callable[[ModelOutput], torch.Tensor],
    labels: Sequence[str],
    *,
    law: Law = "none",
    in_place: bool = False,
) -> TextModel:
    """A model with a head of its own: `read` turns what its forward pass returns into one column per label, (batch, labels).

    `law` says how the columns become probabilities: "softmax", "sigmoid", or "none" where they do not. A `read` that looks at
    fixed positions needs `in_place=True`: then tokens are never deleted, because the others would move.

    >>> from accredit.models import builtin
    >>> model, tokenizer = builtin.load_text()
    >>> length = read_model(model.bert, tokenizer, lambda output: output.pooler_output.norm(dim=1)[:, None], ["length"])
    >>> length.predict(length.encode("A gripping film.")).shape
    (1,)
    """
    names = check_names(labels, "labels")
    return _head(model, tokenizer, Head(lambda output, _: read(output), names, law, in_place, (read, names)))


@check_arguments
def token_label_model(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, at: int) -> TextModel:
    """A token classifier, asked for the label of one token: the `at`-th of those that `model.encode(text).tokens` lists.

    >>> from accredit.models import builtin
    >>> from transformers import BertForTokenClassification
    >>> model, tokenizer = builtin.load_text()
    >>> tagger = token_label_model(BertForTokenClassification(model.config).eval(), tokenizer, at=2)  # with random weights
    >>> tagger.predict(tagger.encode("A gripping film.")).shape
    (2,)
    """
    _check_ends(model, "ForTokenClassification", "token_label_model")
    whole_number(at, "at", 0, example=1)
    names = tuple(label_of(model.config, i) for i in range(model.config.num_labels))
    return _head(model, tokenizer, Head(lambda output, _: _at(output.logits, at), names, "softmax", True, ("label", at)))


@check_arguments
def span_model(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, start: int, end: int) -> TextModel:
    """A model of question answering, asked for one span: the logit of its first token as start plus that of its last as end.

    The text is a pair (question, context). `start` and `end` count the tokens that `model.encode(text).tokens` lists.

    >>> from accredit.models import builtin
    >>> from transformers import BertForQuestionAnswering
    >>> model, tokenizer = builtin.load_text()
    >>> span = span_model(BertForQuestionAnswering(model.config).eval(), tokenizer, start=7, end=8)  # with random weights
    >>> span.predict(span.encode(("Which film ?", "A gripping film ."))).shape, span.label(0)
    ((1,), 'span 7–8')
    """
    _check_ends(model, "ForQuestionAnswering", "span_model")
    whole_number(start, "start", 0, example=1)
    if not start <= end:
        raise InvalidInput(
            f"start is {start} and end {end}; a span ends where it starts or later", argument="start", code="range"
        )

    def read(output: ModelOutput, _: TokenBatch) -> torch.Tensor:
        return _at(output.start_logits[..., None], start) + _at(output.end_logits[..., None], end)

    return _head(model, tokenizer, Head(read, (f"span {start}–{end}",), "none", True, ("span", start, end)))


@check_arguments
def similarity_model(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, to: str, pooling: Pooling = "mean"
) -> TextModel:
    """A model of embeddings, asked how close a text is to another: the cosine of their two vectors.

    A vector is the last hidden states pooled: their mean over all tokens that are read, the first, or the last.

    >>> from accredit.models import builtin
    >>> model, tokenizer = builtin.load_text()
    >>> near = similarity_model(model.bert, tokenizer, to="A gripping film.")
    >>> near.predict(near.encode("A gripping film.")).round(4)  # the cosine of a text with itself
    array([1.])
    """

    def vector(output: ModelOutput, batch: TokenBatch) -> torch.Tensor:
        if getattr(output, "last_hidden_state", None) is None:
            raise InvalidInput(
                f"{type(model).__name__} returns no hidden states; load it as AutoModel.from_pretrained(folder)",
                code="unsupported",
            )
        pooled = _pool(output.last_hidden_state, batch, pooling)
        unit: torch.Tensor = pooled / torch.linalg.vector_norm(pooled, dim=-1, keepdim=True)
        return unit

    alone = _head(model, tokenizer, Head(vector, (), "none", False, ("vector", pooling)))
    with alone.hold(), torch.no_grad():
        other = alone.outputs(alone.batch(alone.encode(to)))[0]
    name = f"similarity to {to!r:.40}"
    read = Head(lambda output, batch: (vector(output, batch) @ other)[:, None], (name,), "none", False, (name, to, pooling))
    return _head(model, tokenizer, read)


def _head(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, head: Head) -> TextModel:
    text_model = as_text_model(model, tokenizer, head)
    if text_model.model.config.is_encoder_decoder:
        raise InvalidInput(
            f"{text_model.name} has an encoder and a decoder; give a function of strings: explain(text, lambda texts: …)",
            code="unsupported",
        )
    return text_model


def _check_ends(model: PreTrainedModel, ending: str, call: str) -> None:
    if not any(kind.__name__.endswith(ending) for kind in type(getattr(model, "_orig_mod", model)).__mro__):
        raise InvalidInput(
            f"model is of class {type(model).__name__}; {call} needs a class that ends in {ending}",
            argument="model",
            code="type",
        )


def _at(logits: torch.Tensor, place: int) -> torch.Tensor:
    """The logits of one token: (B, T, k) -> (B, k)."""
    if not 0 <= place < logits.shape[1]:
        raise InvalidInput(
            f"position {place} is asked for, and the text has {logits.shape[1]} tokens; count from 0", code="range"
        )
    return logits[:, place]


def _pool(hidden: torch.Tensor, batch: TokenBatch, pooling: Pooling) -> torch.Tensor:
    """One vector per row: (B, T, D) -> (B, D)."""
    everywhere = torch.ones(hidden.shape[:2], dtype=torch.int64, device=hidden.device)
    attends = everywhere if batch.attends is None else batch.attends
    if pooling == "mean":
        weights = (attends / attends.sum(dim=1, keepdim=True)).to(hidden.dtype)
        return (hidden * weights[..., None]).sum(dim=1)
    places = torch.arange(hidden.shape[1], device=hidden.device) * attends
    which = places.argmax(dim=1) if pooling == "last" else attends.argmax(dim=1)
    return hidden[torch.arange(len(hidden), device=hidden.device), which]
