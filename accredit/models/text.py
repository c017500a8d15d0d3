"""Hugging Face text models behind one interface: classifiers, masked and causal language models, encoder–decoders."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt
import torch

from accredit import defaults
from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import a_type
from accredit.core import BoolArray, FloatArray
from accredit.errors import AccreditError, InvalidInput
from accredit.models import attention
from accredit.models.encoded import Encoded, Text, encode_text
from accredit.models.labels import check_index, label_index
from accredit.models.payoffs import Law, payoff_of
from accredit.models.reading import Heads, Read, read_attention
from accredit.models.state import device_of, finite, precision_of_module, still, track
from accredit.models.tasks import Task, label_of, law_of, task_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase
    from transformers.utils import ModelOutput


UNLIMITED = 1 << 30  # tokenizers without a limit report a huge number


@dataclass(frozen=True, eq=False)
class TokenBatch:
    """Rows for one forward pass. Exactly one of `ids` and `embeddings` is given. A causal model is read at the last
    token, so its rows must not be padded.
    """

    ids: torch.Tensor | None = None  # (B, T)
    embeddings: torch.Tensor | None = None  # (B, T, D) word embeddings; the model adds positions itself
    attends: torch.Tensor | None = None  # (B, T) 1 where a token may be attended to; None: everywhere
    read: torch.Tensor | None = None  # (B,) where the mask is, for masked language models
    prefix: torch.Tensor | None = None  # (P,) decoder ids, for encoder–decoders
    types: torch.Tensor | None = None  # (T,) or (B, T) token types, for models that read them

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def tokens(self) -> int:
        """Tokens of one row, padding included."""
        return int(self._rows.shape[1])

    @property
    def _rows(self) -> torch.Tensor:
        rows = self.ids if self.ids is not None else self.embeddings
        assert rows is not None
        return rows


@dataclass(frozen=True, eq=False)
class Head:
    """What is read from a forward pass, where that is not the model's own head; see `accredit.models.heads`."""

    read: Callable[[ModelOutput, TokenBatch], torch.Tensor]  # what the pass returned, and its rows -> (B, outputs)
    labels: tuple[str, ...]
    law: Law
    in_place: bool  # it looks at fixed positions, so tokens must not move
    decided_by: tuple[object, ...]  # what tells two heads apart


@final
class TextModel:
    """A text model and its tokenizer, ready to be explained.

    Four tasks, inferred from the model's class: *classify* (credit for a label), *fill* (a masked language model: for the
    token at the one mask in the text), *continue* (a causal one: credit for the next token) and *translate* (an
    encoder–decoder: credit of source tokens for the next decoder token, after an optional prefix).

    >>> from accredit.models import builtin, load_text_model
    >>> model = load_text_model(builtin.text_folder())
    >>> model.task, model.label(int(model.predict(model.encode("A gripping film.")).argmax()))
    ('classify', 'POSITIVE')
    """

    def __init__(self, model: object, tokenizer: object, name: str | None = None, head: Head | None = None) -> None:
        model = getattr(model, "_orig_mod", model)  # torch.compile wraps a model that still has its own operations
        if not isinstance(model, torch.nn.Module) or not hasattr(model, "config"):
            raise InvalidInput(
                f"model is {a_type(model)}; a transformers text model is needed, or a function of strings: "
                "explain(text, lambda texts: …); for rows of numbers see as_array_model",
                argument="model",
                code="type",
            )
        if not getattr(tokenizer, "is_fast", False):
            raise InvalidInput(
                f"tokenizer is {a_type(tokenizer)}, which gives no character offsets; load the fast "
                "one: AutoTokenizer.from_pretrained(folder)",
                argument="tokenizer",
                code="type",
            )
        self.model: PreTrainedModel = model
        self.tokenizer: PreTrainedTokenizerBase = tokenizer
        self.head = head
        self.task: Task = task_of(model) if head is None else "classify"
        self.takes = frozenset(inspect.signature(model.forward).parameters)  # names of what the model may be given
        self.name = name or getattr(model.config, "name_or_path", "") or type(model).__name__

    def __repr__(self) -> str:
        return f"TextModel({self.name!r}, {type(self.model).__name__}, {self.task})"

    # What goes in

    def encode(self, text: Text, prefix: str = "", cut: bool = False) -> Encoded:
        """The tokens of a text, or of a pair of texts, as the model reads it alone and without padding.

        A pair is put together as its tokenizer does it, with token types where the model reads them. `prefix` is what an
        encoder–decoder has already said. A text longer than the model allows is refused unless `cut` is true; then the
        tokenizer cuts its end (or its start, if so set; of a pair, the longer one), and `Encoded.cut` holds what went.
        """
        return encode_text(self, text, prefix, cut)

    def longest(self) -> int:
        """The most tokens that the model reads at once, special tokens included."""
        config = self.model.config
        limits = [int(getattr(self.tokenizer, "model_max_length", UNLIMITED))]
        for part in self.model.modules():
            positions = getattr(part, "position_embeddings", None)
            if isinstance(positions, torch.nn.Embedding):  # RoBERTa counts positions from padding_idx + 1
                taken = 0 if positions.padding_idx is None else positions.padding_idx + 1
                limits.append(positions.num_embeddings - taken)
        if len(limits) == 1 and getattr(config, "max_position_embeddings", None):
            limits.append(int(config.max_position_embeddings))
        return min(limit for limit in limits if limit > 0)  # XLNet says −1: no limit

    # What comes out

    @property
    def precision(self) -> float:
        """The machine epsilon that the model computes with."""
        return precision_of_module(self.model)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """The model in evaluation mode, able to read several rows at once; its state is put back afterwards."""
        config = self.model.config.get_text_config()
        lacking = self.task == "classify" and getattr(config, "pad_token_id", None) is None
        with still(self.model):
            try:
                if lacking:
                    config.pad_token_id = self.padding()  # decoder classifiers refuse batches without one
                yield
            finally:
                if lacking:
                    config.pad_token_id = None

    def padding(self) -> int:
        """The id that fills short rows, where it is not attended to; end-of-text if the tokenizer has no pad token, or one
        that was added to it and not to the model."""
        own = getattr(self.model.config.get_text_config(), "pad_token_id", None)
        for token in (own, self.tokenizer.pad_token_id, self.tokenizer.eos_token_id):
            if token is not None and 0 <= token < self.known:
                return int(token)
        raise InvalidInput(
            f"{self.name} has no pad token that it knows; set one of its own: tokenizer.pad_token = tokenizer.eos_token",
            code="unsupported",
        )

    @property
    def masks(self) -> bool:
        """Whether there is a mask token, and the model has an embedding for it."""
        mask = self.tokenizer.mask_token_id
        return mask is not None and mask < self.known

    @property
    def known(self) -> int:
        """How many token ids have an embedding."""
        return int(self.model.get_input_embeddings().num_embeddings)

    def outputs(self, batch: TokenBatch) -> torch.Tensor:
        """Logits that are explained, one row per text: (B, classes or vocabulary). Call inside `hold`."""
        return finite(self._logits(self._forward(batch), batch), self.name)

    def _forward(self, batch: TokenBatch, **extra: bool) -> ModelOutput:
        given: dict[str, object] = {"attention_mask": batch.attends} if batch.attends is not None else {}
        given |= {"input_ids": batch.ids} if batch.embeddings is None else {"inputs_embeds": batch.embeddings}
        if self.task == "translate":
            assert batch.prefix is not None
            given["decoder_input_ids"] = batch.prefix.expand(len(batch), -1)
        if self.task in ("continue", "translate"):
            given["use_cache"] = False
        if self.task == "continue" and "logits_to_keep" in self.takes:
            given["logits_to_keep"] = 1
        if batch.types is not None:
            given["token_type_ids"] = batch.types.expand(len(batch), -1)
        try:
            output = self.model(**given, **extra)
            if self.head is not None:
                output.logits = self.head.read(output, batch)
            return output
        except AccreditError:
            raise
        except Exception as error:  # a model may raise anything; say which one, on what, and what it said
            form = " given as word embeddings (gradients and the removals 'pad' and 'zero' need that)"
            raise InvalidInput(
                f"{self.name} failed on {len(batch)} × {batch.tokens} tokens{form * (batch.ids is None)}: "
                f"{type(error).__name__}: {' '.join(str(error).split())[:200]}",
                code="failed",
            ) from error

    def _logits(self, output: ModelOutput, batch: TokenBatch) -> torch.Tensor:
        logits: torch.Tensor = output.logits
        if self.task == "classify":
            return logits
        if self.task != "fill":
            return logits[:, -1]
        assert batch.read is not None
        return logits[torch.arange(len(logits), device=logits.device), batch.read]

    def batch(self, encoded: Encoded) -> TokenBatch:
        """One text as a batch of one row."""
        device = device_of(self.model)
        ids = torch.from_numpy(encoded.ids)[None].to(device)
        return TokenBatch(
            ids=ids,
            attends=torch.ones_like(ids),
            read=self.read(encoded, 1),
            prefix=torch.from_numpy(encoded.prefix).to(device),
            types=self.types(encoded),
        )

    def types(self, encoded: Encoded) -> torch.Tensor | None:
        """Token types of a text whose tokens are all in place: (T,)."""
        return None if encoded.types is None else torch.from_numpy(encoded.types).to(device_of(self.model))

    def read(self, encoded: Encoded, rows: int) -> torch.Tensor | None:
        """Where the mask is in rows that keep all tokens in place: (rows,)."""
        return None if self.task != "fill" else torch.full((rows,), encoded.read, device=device_of(self.model))

    def predict(self, encoded: Encoded) -> FloatArray:
        """The model's logits for one text: (classes or vocabulary,)."""
        with self.hold(), torch.inference_mode():
            return self.outputs(self.batch(encoded))[0].double().cpu().numpy()

    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        """Word embeddings of ids, before positions are added: (..., T) -> (..., T, D)."""
        vectors: torch.Tensor = self.model.get_input_embeddings()(ids)
        return vectors

    def vectors(self, encoded: Encoded) -> npt.NDArray[np.float32]:
        """Each token's word embedding, beside its vector in the last layer where the model returns one per token: (T, …)."""
        batch = self.batch(encoded)
        assert batch.ids is not None
        with self.hold(), torch.inference_mode():
            output = self._forward(batch, output_hidden_states=True)
            hidden = getattr(output, "hidden_states", None) or getattr(output, "encoder_hidden_states", None)
            words = self.embed(batch.ids)[0]
            fits = hidden and hidden[-1].ndim == 3 and hidden[-1].shape[1] == len(words)
            both = torch.cat([words, hidden[-1][0].to(words)], dim=1) if fits and hidden else words
        return both.float().cpu().numpy()

    def absent(self, way: str) -> torch.Tensor:
        """The word embedding that stands for a token that has left, by "mask", "pad" or "zero": (1, D)."""
        if way not in ("pad", "zero") and not (way == "mask" and self.masks):
            raise InvalidInput(
                f"baseline is {way!r}; write 'pad', 'zero' or 'mean', or 'mask' where the tokenizer has a mask token",
                argument="baseline",
                code="unknown",
            )
        token = self.padding() if way == "pad" else self.tokenizer.mask_token_id if way == "mask" else 0
        vector = self.embed(torch.tensor([token], device=device_of(self.model)))
        return torch.zeros_like(vector) if way == "zero" else vector

    # Names of outputs

    @property
    def law(self) -> Law:
        """How logits become probabilities."""
        if self.head is not None:
            return self.head.law
        if self.task != "classify":
            return "softmax"
        return law_of(self.model.config, self.classes)

    @property
    def classes(self) -> int:
        """How many outputs there are: labels, or tokens of the vocabulary."""
        if self.head is not None:
            return len(self.head.labels)
        if self.task == "classify":
            return int(self.model.config.num_labels)
        return int(self.model.config.get_text_config().vocab_size)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of all outputs; for language models the vocabulary."""
        return tuple(self.label(i) for i in range(self.classes))

    def label(self, index: int) -> str:
        """The name of one output."""
        if self.head is not None:
            return self.head.labels[index]
        if self.task == "classify":
            return label_of(self.model.config, index)
        return str(self.tokenizer.decode([index]))

    def target(self, target: str | int | None, encoded: Encoded) -> int:
        """The output to explain: by name, by index, or the predicted one when None."""
        if target is None:
            return int(self.predict(encoded).argmax())
        if isinstance(target, str):
            return label_index(target, self.labels) if self.task == "classify" else self._token(target)
        return check_index(target, self.classes)

    def _token(self, token: str) -> int:
        ids = self.tokenizer(token, add_special_tokens=False)["input_ids"]
        if len(ids) == 1:
            return int(ids[0])
        known = self.tokenizer.get_vocab().get(token)
        if known is not None:
            return int(known)
        pieces = ", ".join(repr(p) for p in self.tokenizer.convert_ids_to_tokens(ids))
        raise InvalidInput(
            f"target {token!r} is {len(ids)} tokens ({pieces}); credit is given for one: name the first",
            argument="target",
            code="shape",
        )

    # Attention

    def attentions(self, encoded: Encoded, part: str | None = None) -> FloatArray:
        """Attention weights (L, H, T, T), rows summing to 1; see `accredit.models.attention` for what they mean.

        An encoder–decoder has three parts: "encoder" (the default, over source tokens), "decoder" (over the prefix) and
        "cross" (prefix positions reading source tokens).
        """
        batch = self.batch(encoded)
        with self.hold():
            return attention.attention_weights(
                self.model, lambda **extra: self._forward(batch, **extra), part or self.attention_part
            )

    def attention_gradients(
        self, encoded: Encoded, target: str | int | None = None, payoff: str | None = None, part: str | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Attention weights and the slope of the payoff in each of them: two arrays (L, H, T, T)."""
        batch, index = self.batch(encoded), self.target(target, encoded)
        paid = payoff or defaults.payoff(self.law)
        with self.hold(), track(self.model):
            return attention.attention_gradients(
                self.model,
                lambda **extra: self._forward(batch, **extra),
                lambda output: payoff_of(finite(self._logits(output, batch), self.name), index, paid, self.law),
                part or self.attention_part,
            )

    def read_attention(self, encoded: Encoded, tensor: str, heads: Heads, target: str | int | None, payoff: str) -> Read:
        """Attention of a text with its heads combined layer by layer, as one of the tensors of `accredit.models.reading`."""
        batch, index = self.batch(encoded), self.target(target, encoded)
        with self.hold(), track(self.model):
            return read_attention(
                self.model,
                lambda **extra: self._forward(batch, **extra),
                tensor,
                heads,
                lambda output: payoff_of(finite(self._logits(output, batch), self.name), index, payoff, self.law),
                len(encoded) + len(encoded.prefix),
            )

    @property
    def attention_part(self) -> str:
        """The attention over the text's own tokens."""
        return "encoder" if getattr(self.model.config, "is_encoder_decoder", False) else "self"

    def output_tokens(self, encoded: Encoded, part: str = "encoder") -> BoolArray:
        """The positions of the last layer from which the output is read: (T,).

        Found by asking the model: a position counts if some logit has a non-zero slope in its last hidden state. For an
        encoder–decoder these are the encoder positions that the decoder reads, which are all of them, or with part="decoder"
        the positions of the decoder.
        """
        batch = self.batch(encoded)
        with self.hold(), track(self.model), torch.enable_grad():
            output = self._forward(batch, output_hidden_states=True)
            hidden = getattr(output, "hidden_states", None) or getattr(output, f"{part}_hidden_states", None)
            if not hidden:
                raise InvalidInput(
                    f"{self.name} returns no hidden states, so the tokens that its output is read from are unknown",
                    code="unsupported",
                )
            logits = self._logits(output, batch)
            spread = torch.linspace(1.0, 2.0, logits.shape[1], dtype=logits.dtype, device=logits.device)
            (slope,) = torch.autograd.grad((logits * spread).sum(), hidden[-1], allow_unused=True, materialize_grads=True)
        read: BoolArray = (slope[0] != 0).any(dim=-1).cpu().numpy()
        if not read.any():
            raise InvalidInput(
                f"the output of {self.name} does not depend on the hidden states it returns, so the tokens that it is read "
                "from are unknown",
                code="unsupported",
            )
        return read


@check_arguments
def as_text_model(model: object, tokenizer: object = None, head: Head | None = None) -> TextModel:
    """A text model from (model, tokenizer), from a transformers pipeline, or unchanged.

    >>> from accredit.models import builtin
    >>> as_text_model(*builtin.load_text()).task
    'classify'
    >>> as_text_model(builtin.load_text()[0])
    Traceback (most recent call last):
        ...
    accredit.errors.InvalidInput: BertForSequenceClassification came without a tokenizer; write ...
    """
    if isinstance(model, TextModel):
        return model
    if tokenizer is None and hasattr(model, "model") and hasattr(model, "tokenizer"):
        return TextModel(model.model, model.tokenizer, head=head)
    if not callable(model):
        raise InvalidInput(
            f"model is {a_type(model)}; give a transformers model with its tokenizer, a pipeline, a folder, or a "
            "function of strings",
            argument="model",
            code="type",
        )
    if tokenizer is None:
        raise InvalidInput(
            f"{type(model).__name__} came without a tokenizer; write as_text_model(model, tokenizer), or give a function of "
            "strings: explain(text, lambda texts: …)",
            argument="tokenizer",
            code="missing",
        )
    return TextModel(model, tokenizer, head=head)
