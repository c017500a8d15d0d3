"""Classifiers with attention: a query looks over tokens, and an encoder reads what it let through (Bai et al., Figure 1).

Two parts, kept apart because the cures train them differently: the *selecting* part turns the query and the tokens into
a mask m (attention that sums to 1), the *answering* part turns the masked tokens m ⊙ x into logits. Whatever the
answering part knows about the query comes through the mask: that is the path that a shortcut takes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from accredit.checks import as_array
from accredit.checks.files import put, read_json_object
from accredit.checks.numbers import finite_numbers, truths
from accredit.core import FloatArray, IntArray
from accredit.errors import InvalidInput
from accredit.learned.inputs import Numbers

CLASSIFIER_FORMAT = 1
ROWS_PER_PASS = 4096


@dataclass(frozen=True)
class AttentionShape:
    """Sizes and kinds of the parts; with the weights, all that a saved model consists of.

    >>> AttentionShape(width=50, query=30, encoder="rcnn").features
    128
    >>> AttentionShape(width=0, query=30)
    Traceback (most recent call last):
        ...
    accredit.errors.InvalidInput: AttentionShape(width=0, query=30, classes=2, encoder='pooling', ...
    """

    width: int  # numbers in a token vector
    query: int  # numbers in a query vector
    classes: int = 2
    encoder: Literal["pooling", "rcnn"] = "pooling"
    attention: Literal["additive", "uniform"] = "additive"  # uniform: nothing is selected, the baseline
    temperature: float = 1.0  # of the softmax; below 1 attention is sharper
    query_hidden: tuple[int, ...] = (256, 128)
    attention_width: int = 128
    units: int = 64  # of the recurrent encoder, for each direction
    features: int = 128  # of the recurrent encoder, after its states and the token are joined
    head: tuple[int, ...] = (128,)  # hidden layers of the head; () is a linear head

    def __post_init__(self) -> None:
        sizes = (self.width, self.query, self.attention_width, self.units, self.features)
        if min(*sizes, *self.query_hidden, *self.head) < 1 or self.classes < 2 or not self.temperature > 0:
            raise InvalidInput(f"{self}: sizes must be at least 1, classes at least 2, temperature above 0", code="range")
        if self.encoder not in ("pooling", "rcnn") or self.attention not in ("additive", "uniform"):
            raise InvalidInput(
                f"encoder {self.encoder!r} and attention {self.attention!r}: write encoder='pooling' or 'rcnn', "
                "attention='additive' or 'uniform'",
                argument="encoder",
                code="unknown",
            )


def perceptron(widths: Sequence[int], *, last_relu: bool = False) -> nn.Sequential:
    """Linear layers with ReLU between them."""
    layers: list[nn.Module] = []
    for k in range(len(widths) - 1):
        layers += [nn.Linear(widths[k], widths[k + 1]), nn.ReLU()]
    return nn.Sequential(*(layers if last_relu else layers[:-1]))


class AdditiveAttention(nn.Module):
    r"""$m = \mathrm{softmax}_i\,(v \cdot \tanh(W_q q + W_k e_i) / T)$ over the tokens that are there.

    No position enters: two equal tokens get equal attention. Cost O(batch · tokens · width).
    """

    def __init__(self, query: int, width: int, hidden: int, temperature: float) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(query, hidden), nn.Linear(width, hidden, bias=False)
        self.score = nn.Linear(hidden, 1, bias=False)
        self.temperature = temperature

    def forward(self, tokens: Tensor, query: Tensor, present: Tensor | None) -> Tensor:
        """(N, T, width), (N, query), (N, T) or None -> (N, T), rows sum to 1."""
        scores: Tensor = self.score(torch.tanh(self.query(query)[:, None] + self.key(tokens))).squeeze(2)
        if present is not None:
            scores = scores.masked_fill(~present, -torch.inf)
        return (scores / self.temperature).softmax(dim=1)


class Pooling(nn.Module):
    """The plainest encoder: Σ m_i e_i."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.size = width

    def forward(self, tokens: Tensor, mask: Tensor, present: Tensor | None) -> Tensor:
        """(N, T, width), (N, T) -> (N, width)."""
        return torch.bmm(mask[:, None], tokens).squeeze(1)

    def mean_mask(self, present: Tensor) -> Tensor:
        """The mask that selects nothing: the mean of the tokens that are there."""
        return present / present.sum(dim=1, keepdim=True)


class RCNN(nn.Module):
    """Recurrent-convolutional encoder (Lai et al., 2015) of the masked tokens m_i e_i.

    A bidirectional LSTM reads them; its states and the masked token itself pass a tanh layer; the largest value of
    each feature over the tokens is kept. Padding at the end is never read.
    """

    def __init__(self, width: int, units: int, features: int) -> None:
        super().__init__()
        self.states = nn.LSTM(width, units, batch_first=True, bidirectional=True)
        self.join = nn.Linear(2 * units + width, features)
        self.size = features

    def forward(self, tokens: Tensor, mask: Tensor, present: Tensor | None) -> Tensor:
        """(N, T, width), (N, T), (N, T) or None -> (N, features)."""
        masked = tokens * mask[:, :, None]
        if present is None:
            states, _ = self.states(masked)
        else:
            lengths = present.shape[1] - present.flip(1).to(torch.uint8).argmax(dim=1)
            packed = nn.utils.rnn.pack_padded_sequence(masked, lengths, batch_first=True, enforce_sorted=False)
            states, _ = nn.utils.rnn.pad_packed_sequence(
                self.states(packed)[0], batch_first=True, total_length=present.shape[1]
            )
        features = torch.tanh(self.join(torch.cat([states, masked], dim=2)))
        if present is not None:
            features = features.masked_fill(~present[:, :, None], -1.0)  # no tanh is lower
        return features.max(dim=1).values

    def mean_mask(self, present: Tensor) -> Tensor:
        """The mask that selects nothing: every token as it is."""
        return present.float()


def encoder_of(shape: AttentionShape) -> Pooling | RCNN:
    """The encoder that a shape names."""
    return Pooling(shape.width) if shape.encoder == "pooling" else RCNN(shape.width, shape.units, shape.features)


class AttentionClassifier(nn.Module):
    """Query + tokens → attention → masked tokens → encoder → head. An ordinary module: `logits, mask = model(tokens, query)`.

    Train it with `accredit.shortcuts.train_attention` and a cure, or with a loop of your own. `select` gives the mask,
    `answer` the logits under *any* mask, also one that audits make up. Weights depend on `seed` alone.

    >>> model = AttentionClassifier(AttentionShape(width=3, query=2), seed=0)
    >>> tokens, query = torch.ones(4, 5, 3), torch.zeros(4, 2)
    >>> logits, mask = model(tokens, query)
    >>> logits.shape, mask.sum(dim=1).tolist() == [1.0] * 4
    (torch.Size([4, 2]), True)
    >>> model(tokens, query, torch.tensor([[True, True, False, False, False]] * 4))[1][0].tolist()
    [0.5, 0.5, 0.0, 0.0, 0.0]
    """

    def __init__(self, shape: AttentionShape, *, seed: int = 0) -> None:
        super().__init__()
        self.shape = shape
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            if shape.attention == "additive":
                self.query = perceptron([shape.query, *shape.query_hidden], last_relu=True)
                seen = shape.query_hidden[-1] if shape.query_hidden else shape.query
                self.attention = AdditiveAttention(seen, shape.width, shape.attention_width, shape.temperature)
            self.encoder = encoder_of(shape)
            self.head = perceptron([self.encoder.size, *shape.head, shape.classes])

    @property
    def selecting(self) -> list[nn.Parameter]:
        """Parameters that decide the mask."""
        parts = [self.query, self.attention] if self.shape.attention == "additive" else []
        return [p for part in parts for p in part.parameters()]

    @property
    def answering(self) -> list[nn.Parameter]:
        """Parameters that turn masked tokens into an answer."""
        return [p for part in (self.encoder, self.head) for p in part.parameters()]

    def forward(self, tokens: Tensor, query: Tensor, present: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Logits (N, classes) and attention (N, T) for tokens (N, T, width), query (N, query), present (N, T) bool."""
        mask = self.select(tokens, query, present)
        return self.answer(tokens, mask, present), mask

    def select(self, tokens: Tensor, query: Tensor, present: Tensor | None = None) -> Tensor:
        """The mask (N, T)."""
        if self.shape.attention == "uniform":
            there = torch.ones(tokens.shape[:2], dtype=torch.bool) if present is None else present
            return self.encoder.mean_mask(there)
        mask: Tensor = self.attention(tokens, self.query(query), present)
        return mask

    def answer(self, tokens: Tensor, mask: Tensor, present: Tensor | None = None) -> Tensor:
        """Logits (N, classes) of the tokens under this mask."""
        logits: Tensor = self.head(self.encoder(tokens, mask, present))
        return logits

    @torch.no_grad()
    def predict(self, tokens: Numbers, query: Numbers, present: Numbers | None = None) -> tuple[FloatArray, FloatArray]:
        """Probabilities (N, classes) and attention (N, T) as arrays, a few thousand rows at a time."""
        data = AttentionData.of(self.shape, tokens, query, present=present)
        parts = [self(*data.take(slice(k, k + ROWS_PER_PASS)).given) for k in range(0, len(data), ROWS_PER_PASS)]
        answers = torch.cat([logits for logits, _ in parts]).softmax(dim=1)
        return answers.double().numpy(), torch.cat([mask for _, mask in parts]).double().numpy()

    def save(self, folder: str | Path) -> None:
        """`model.safetensors` and `model.json`; `load_attention_classifier(folder)` reads them."""
        from safetensors.torch import save

        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        weights = save({name: p.detach().contiguous() for name, p in self.state_dict().items()})
        put(target / "model.safetensors", weights)
        settings = {"format": CLASSIFIER_FORMAT, "kind": "attention classifier", "shape": asdict(self.shape)}
        put(target / "model.json", json.dumps(settings, indent=1).encode())


def load_attention_classifier(folder: str | Path) -> AttentionClassifier:
    """What `AttentionClassifier.save` wrote.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> AttentionClassifier(AttentionShape(width=3, query=2)).save(folder)
    >>> load_attention_classifier(folder).shape.width
    3
    """
    from safetensors.torch import load_file

    source = Path(folder)
    for name in ("model.json", "model.safetensors"):
        if not (source / name).exists():
            raise InvalidInput(
                f"{source} has no {name}; give a folder that AttentionClassifier.save(folder) wrote",
                argument="folder",
                code="missing",
            )
    settings = read_json_object(source / "model.json")
    if settings.get("format") != CLASSIFIER_FORMAT or settings.get("kind") != "attention classifier":
        raise InvalidInput(
            f"{source / 'model.json'} holds {settings.get('kind')!r}, format {settings.get('format')}",
            argument="folder",
            code="format",
        )
    sizes = {k: tuple(v) if isinstance(v, list) else v for k, v in settings["shape"].items()}
    shape: Callable[..., AttentionShape] = AttentionShape
    model = AttentionClassifier(shape(**sizes))
    model.load_state_dict(load_file(source / "model.safetensors"))
    return model


@dataclass(frozen=True)
class AttentionData:
    """Rows for an attention classifier, checked once: tokens, query, which tokens are there, labels."""

    tokens: Tensor  # (N, T, width) float
    query: Tensor  # (N, query) float
    present: Tensor | None  # (N, T) bool; None: all are there
    labels: Tensor  # (N,) long; -1 where they are not known

    @classmethod
    def of(
        cls,
        shape: AttentionShape,
        tokens: Numbers,
        query: Numbers,
        labels: Numbers | None = None,
        present: Numbers | None = None,
    ) -> AttentionData:
        """From arrays or tensors; the first thing wrong is named."""
        read = torch.tensor(finite_numbers(tokens, "tokens"), dtype=torch.float32)
        if read.ndim != 3 or read.shape[2] != shape.width or 0 in read.shape:
            raise InvalidInput(
                f"tokens have shape {tuple(read.shape)}; give (rows, tokens, {shape.width})", argument="tokens", code="shape"
            )
        rows = len(read)
        data = cls(
            read,
            torch.tensor(finite_numbers(query, "query"), dtype=torch.float32),
            None if present is None else torch.tensor(truths(present, "present")),
            torch.full((rows,), -1),
        )
        if data.query.shape != (rows, shape.query):
            raise InvalidInput(
                f"query has shape {tuple(data.query.shape)}; give ({rows}, {shape.query})", argument="query", code="shape"
            )
        for name, values in (("tokens", data.tokens), ("query", data.query)):
            if not bool(torch.isfinite(values).all()):
                raise InvalidInput(
                    f"{name} hold a number beyond single precision; remove or replace such rows first",
                    argument=name,
                    code="range",
                )
        if data.present is not None:
            if data.present.shape != read.shape[:2]:
                raise InvalidInput(
                    f"present has shape {tuple(data.present.shape)}; "
                    f"give booleans of shape {tuple(read.shape[:2])}, True where a token is there",
                    argument="present",
                    code="shape",
                )
            if not bool(data.present.any(dim=1).all()):
                empty = int((~data.present.any(dim=1)).nonzero()[0])
                raise InvalidInput(
                    f"row {empty} of present has no token; leave such rows out", argument="present", code="empty"
                )
        return data if labels is None else replace(data, labels=_check_labels(labels, rows, shape.classes))

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def given(self) -> tuple[Tensor, Tensor, Tensor | None]:
        """Tokens, query and present: what the model is called with."""
        return self.tokens, self.query, self.present

    @property
    def there(self) -> Tensor:
        """Which tokens are there, (N, T) bool."""
        return torch.ones(self.tokens.shape[:2], dtype=torch.bool) if self.present is None else self.present

    def take(self, rows: slice | IntArray | Tensor) -> AttentionData:
        """Some of the rows, by index or slice."""
        present = None if self.present is None else self.present[rows]
        return AttentionData(self.tokens[rows], self.query[rows], present, self.labels[rows])


def _check_labels(labels: Numbers, rows: int, classes: int) -> Tensor:
    given = as_array(labels, "labels")
    if given.shape != (rows,) or given.dtype.kind not in "iub":
        raise InvalidInput(
            f"labels have shape {given.shape} of {given.dtype}; give {rows} whole numbers, 0 to {classes - 1}",
            argument="labels",
            code="type",
        )
    found = np.unique(given)
    if found[0] < 0 or found[-1] >= classes:
        raise InvalidInput(
            f"labels run from {found[0]} to {found[-1]}; this model has classes 0 to {classes - 1}",
            argument="labels",
            code="range",
        )
    if len(found) < 2:
        raise InvalidInput(
            f"all {rows} labels are {found[0]}; there is nothing to learn from one class", argument="labels", code="undefined"
        )
    return torch.as_tensor(given.astype(np.int64))
