"""The networks of trained explainers, one family per kind of input: classifiers of masked inputs, and selectors.

A classifier answers $q(y \\mid x \\odot m)$ from an input and a mask with one number in 0..1 per player: where the mask is 0
the replacement stands, where it is 1 the player, and between them a mixture of the two (of their vectors, for words). It serves
as surrogate, as black box (mask left out: everything is kept) and as the independent judge of explanations. A selector
gives every player one logit; with `query` it is also given the black box's answer.

Sizes are those of the published experiments where there are any (Chen et al., 2018), scaled by `width`. Absent players
(padding) have zero vectors in every layer, so that more padding changes nothing. Filters of pictures lie in memory with their
channels last: on a CPU a pass then takes a third to two thirds of the time.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from accredit.checks.arguments import check_arguments
from accredit.errors import InvalidInput
from accredit.learned.black_boxes import BlackBox
from accredit.learned.inputs import Array, Inputs, PixelGrid, Tabular, Words, whole
from accredit.models.precision import check_precision

LOWEST = -1e9  # the logit of an absent player: finite, so that no gradient is NaN
EMBEDDING = 50  # numbers per word


@check_arguments
def network_for(
    inputs: Inputs,
    classes: int,
    *,
    width: int | None = None,
    kind: str = "auto",
    count: float | None = None,
    seed: int = 0,
) -> nn.Module:
    """A classifier of masked inputs: `network(x, mask)` gives logits (N, classes); with one class, one number to predict.

    | inputs | kind | what it is | `width` |
    |---|---|---|---|
    | words | `bag` (auto) | mean of the kept words' vectors, one hidden layer | 250, of the hidden layer |
    | words | `places` | the same, each kept word beside a vector of its position | 250, of the hidden layer |
    | words | `convolution` | filters over three words, maximum over the text, one hidden layer | 250 filters |
    | pixels | `convolution` (auto) | two 5×5 convolutions with pooling, one linear layer | 32 filters, then twice that |
    | tabular | `layers` (auto) | two hidden layers with batch normalisation | 200 |

    The bag divides by the number of kept words, or by `count` where it is given (Chen et al. divide by k). The weights
    depend on `seed` alone; the caller's random state is left as it was.

    >>> network = network_for(Tabular(3), classes=2, seed=0)
    >>> network(torch.zeros(4, 3), torch.ones(4, 3)).shape
    torch.Size([4, 2])
    """
    whole("classes", classes)
    return _build(lambda: _classifier(inputs, classes, width, kind, count), width, seed)


def selector_for(
    inputs: Inputs, classes: int = 2, *, query: bool = False, width: int | None = None, seed: int = 0
) -> nn.Module:
    """A selector: `selector(x, answer)` gives one logit per player, (N, n).

    With `query` the black box's probabilities `answer` (N, classes) are part of the question: beside the global vector of
    a text, as constant planes and a bias of every player for pictures, as further columns of a table.

    >>> selector = selector_for(Words(6, 10), seed=0).eval()
    >>> selector(torch.tensor([[3, 4, 5, 0, 0, 0]]))[0, 3:].tolist()  # padding is never chosen
    [-1000000000.0, -1000000000.0, -1000000000.0]
    """
    return _build(lambda: _selector(inputs, classes if query else 0, width), width, seed)


@check_arguments
def as_black_box(network: nn.Module, inputs: Inputs, rows: int = 512) -> BlackBox:
    """A network as a black box: (N, ...) inputs to (N, classes) probabilities, `rows` at a time.

    >>> from accredit.learned import Tabular
    >>> box = as_black_box(torch.nn.Linear(3, 2), Tabular(3))
    >>> box([[1.0, 2.0, 3.0]]).sum(axis=1).round(9)  # probabilities
    array([1.])
    """

    check_precision(network.parameters())

    def answer(x: Array) -> Array:
        given = inputs.check(x)
        parts = [network(torch.tensor(given[k : k + rows])) for k in range(0, len(given), rows)]
        return torch.cat(parts).double().softmax(dim=1).numpy()

    def quietly(x: Array) -> Array:
        before = network.training
        network.eval()
        try:
            with torch.inference_mode():
                return answer(x)
        finally:
            network.train(before)

    return quietly


def _build(make: Callable[[], nn.Module], width: int | None, seed: int) -> nn.Module:
    if width is not None:
        whole("width", width, 1, 1 << 14)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


def _classifier(inputs: Inputs, classes: int, width: int | None, kind: str, count: float | None) -> nn.Module:
    if isinstance(inputs, Words) and kind in ("auto", "bag", "places"):
        return BagOfWords(inputs, classes, width or 250, count, places=kind == "places")
    if isinstance(inputs, Words) and kind == "convolution":
        return ConvolutionOfWords(inputs, classes, width or 250)
    if isinstance(inputs, PixelGrid) and kind in ("auto", "convolution"):
        return ConvolutionOfPixels(inputs, classes, width or 32)
    if isinstance(inputs, Tabular) and kind in ("auto", "layers"):
        return LayersOfColumns(inputs, classes, width or 200)
    raise InvalidInput(
        f"kind {kind!r} does not fit {type(inputs).__name__} inputs; write kind='auto'", argument="kind", code="conflict"
    )


def _selector(inputs: Inputs, more: int, width: int | None) -> nn.Module:
    """A selector that is given `more` numbers beside the input: the black box's answer."""
    if isinstance(inputs, Words):
        return WordSelector(inputs, more, width or 100)
    if isinstance(inputs, PixelGrid):
        return PixelSelector(inputs, more, width or 8)
    if isinstance(inputs, Tabular):
        return ColumnSelector(inputs, more, width or 100)
    raise InvalidInput(
        f"no selector is known for {type(inputs).__name__}; use Words, PixelGrid or Tabular inputs", code="unsupported"
    )


class BagOfWords(nn.Module):
    """q(y | x⊙m) from the mean vector of the kept words (Chen et al., 2018).

    With `places` every kept word brings a vector of its position too: such a reader can tell *where* the choice fell, and
    so learn a code in it, which a plain bag cannot.
    """

    def __init__(self, inputs: Words, classes: int, width: int, count: float | None, places: bool = False) -> None:
        super().__init__()
        self.pad, self.count = inputs.pad, count
        self.vectors = word_vectors(inputs)
        self.places = nn.Parameter(torch.empty(inputs.n, EMBEDDING).uniform_(-0.05, 0.05)) if places else None
        self.head = nn.Sequential(nn.Linear(EMBEDDING, width), nn.ReLU(), nn.Linear(width, classes))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        there = (x != self.pad).to(self.vectors.weight)
        kept = there if mask is None else there * mask
        total = torch.bmm(kept[:, None], self.vectors(x)).squeeze(1)  # (N, EMBEDDING)
        total = total if self.places is None else total + kept @ self.places
        many = kept.sum(dim=1, keepdim=True).clamp(min=1) if self.count is None else self.count
        return _tensor(self.head(total / many))


class Windows(nn.Module):
    """A convolution over three words, (N, T, wide) -> (N, T + 2 (margin - 1), filters).

    Words are laid out as an embedding gives them, like a one-row picture with its channels last: in torch 2.13 that
    takes about 0.6 of the time of `Conv1d` on a CPU.
    """

    def __init__(self, wide: int, filters: int, margin: int = 1) -> None:
        super().__init__()
        self.filters = nn.Conv2d(wide, filters, (1, 3), padding=(0, margin))

    def forward(self, rows: Tensor) -> Tensor:
        return _tensor(self.filters(rows.transpose(1, 2)[:, :, None])).squeeze(2).transpose(1, 2)


class ConvolutionOfWords(nn.Module):
    """q(y | x⊙m) by filters over three words and their maximum over the text; removed words have zero vectors."""

    def __init__(self, inputs: Words, classes: int, width: int) -> None:
        super().__init__()
        self.pad = inputs.pad
        self.vectors = word_vectors(inputs)
        self.windows = Windows(EMBEDDING, width, margin=2)  # every window that touches a word
        self.head = nn.Sequential(nn.Linear(width, width), nn.Dropout(0.2), nn.ReLU(), nn.Linear(width, classes))
        self.dropout = nn.Dropout(0.2)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        first, last = text_span(x, self.pad)
        vectors = self.vectors(x[:, first:last])
        if mask is not None:
            vectors = vectors * mask[:, first:last, None]
        most = self.windows(self.dropout(vectors)).amax(dim=1)
        nothing = _tensor(self.windows.filters.bias)  # what a window without words says: always among the candidates
        return _tensor(self.head(torch.maximum(most, nothing).relu()))


class ConvolutionOfPixels(nn.Module):
    """q(y | x⊙m) by two 5×5 convolutions (32 and 64 filters, each halved in size) and one linear layer."""

    def __init__(self, inputs: PixelGrid, classes: int, width: int) -> None:
        super().__init__()
        self.inputs = inputs
        self.filters = _channels_last(
            nn.Conv2d(inputs.channels, width, 5, padding=2),
            nn.MaxPool2d(2, ceil_mode=True),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, 5, padding=2),
            nn.MaxPool2d(2, ceil_mode=True),
            nn.ReLU(),
        )
        down, across = -(-inputs.height // 4), -(-inputs.width // 4)
        self.head = nn.Linear(2 * width * down * across, classes)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        picture = x.reshape(len(x), self.inputs.channels, self.inputs.height, self.inputs.width)
        if mask is not None:
            kept = spread(mask, self.inputs)
            picture = picture * kept + (1 - kept) * self.inputs.replace
        return _tensor(self.head(self.filters(_one_channel_last(picture)).flatten(1)))


def _channels_last(*layers: nn.Module) -> nn.Sequential:
    """Layers one after the other, with filters that lie in memory with their channels last."""
    for layer in layers:
        for weight in layer.parameters():
            if weight.ndim == 4:
                weight.data = weight.data.contiguous(memory_format=torch.channels_last)
    return nn.Sequential(*layers)


def _one_channel_last(picture: Tensor) -> Tensor:
    """The same picture; of one channel with strides that say that it comes last, or torch takes it to come first, and turns
    what the filters make of it over in every layer."""
    if picture.shape[1] != 1:
        return picture
    return picture.reshape(len(picture), *picture.shape[2:], 1).permute(0, 3, 1, 2)


class LayersOfColumns(nn.Module):
    """q(y | x⊙m) by two hidden layers with batch normalisation."""

    def __init__(self, inputs: Tabular, classes: int, width: int) -> None:
        super().__init__()
        self.replace, self.inputs = inputs.replace, inputs
        self.layers = nn.Sequential(
            nn.Linear(inputs.n, width),
            nn.ReLU(),
            nn.BatchNorm1d(width),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.BatchNorm1d(width),
            nn.Linear(width, classes),
        )

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        kept = x if mask is None else x * mask + (1 - mask) * x.new_tensor(self.replace)
        return _tensor(self.layers(scale(kept, self.inputs)))


class WordSelector(nn.Module):
    """One logit per word: what its neighbourhood says, beside what the whole text says (Chen et al., 2018)."""

    def __init__(self, inputs: Words, more: int, width: int) -> None:
        super().__init__()
        self.pad = inputs.pad
        self.vectors = word_vectors(inputs)
        self.first, self.second, self.third = Windows(EMBEDDING, width), Windows(width, width), Windows(width, width)
        self.whole = nn.Linear(width, width)
        self.join_near = nn.Linear(width, width)
        self.join_whole = nn.Linear(width + more, width, bias=False)
        self.logit = nn.Linear(width, 1)
        self.dropout = nn.Dropout(0.2)

    def forward(self, x: Tensor, answer: Tensor | None = None) -> Tensor:
        begin, end = text_span(x, self.pad)
        ids = x[:, begin:end]
        there = (ids != self.pad)[:, :, None].to(self.vectors.weight)  # (N, T, 1)
        near = self.first(self.vectors(ids)).relu() * there  # (N, T, width)
        whole = self.whole(near.amax(dim=1)).relu()
        near = self.third(self.second(near).relu() * there).relu()
        known = self.dropout(whole) if answer is None else torch.cat([self.dropout(whole), answer], dim=1)
        joined = (self.join_near(self.dropout(near)) + self.join_whole(known)[:, None]).relu()
        logits = self.logit(joined).masked_fill(there == 0, LOWEST).squeeze(2)
        return nn.functional.pad(logits, (begin, x.shape[1] - end), value=LOWEST)


class PixelSelector(nn.Module):
    """One logit per pixel or block: two 5×5 convolutions, averaged over the block, and a separate bias for each player."""

    def __init__(self, inputs: PixelGrid, more: int, width: int) -> None:
        super().__init__()
        self.inputs = inputs
        self.filters = _channels_last(
            nn.Conv2d(inputs.channels + more, width, 5, padding=2),
            nn.ReLU(),
            nn.Conv2d(width, width, 5, padding=2),
            nn.ReLU(),
        )
        self.shrink = nn.AvgPool2d(inputs.block)
        self.logit = nn.Conv2d(width, 1, 5, padding=2)
        self.place = nn.Parameter(torch.zeros(inputs.n))
        self.told = nn.Linear(more, inputs.n, bias=False) if more else None

    def forward(self, x: Tensor, answer: Tensor | None = None) -> Tensor:
        picture = x.reshape(len(x), self.inputs.channels, self.inputs.height, self.inputs.width)
        if self.told is not None and answer is not None:
            planes = answer[:, :, None, None].expand(-1, -1, self.inputs.height, self.inputs.width)
            picture = torch.cat([picture, planes], dim=1)
        logits = self.logit(self.shrink(self.filters(_one_channel_last(picture)))).flatten(1) + self.place
        return _tensor(logits if self.told is None else logits + self.told(answer))


class ColumnSelector(nn.Module):
    """One logit per column from two hidden layers."""

    def __init__(self, inputs: Tabular, more: int, width: int) -> None:
        super().__init__()
        self.inputs = inputs
        self.layers = nn.Sequential(
            nn.Linear(inputs.n + more, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, inputs.n)
        )

    def forward(self, x: Tensor, answer: Tensor | None = None) -> Tensor:
        given = scale(x, self.inputs)
        return _tensor(self.layers(given if answer is None else torch.cat([given, answer], dim=1)))


def scale(x: Tensor, inputs: Tabular) -> Tensor:
    """Columns as their networks read them."""
    if inputs.centre is None:
        return x
    return (x - x.new_tensor(inputs.centre)) / x.new_tensor(inputs.spread)


def word_vectors(inputs: Words) -> nn.Embedding:
    """Small random vectors, and zero for padding."""
    vectors = nn.Embedding(inputs.vocabulary, EMBEDDING, padding_idx=inputs.pad)
    with torch.no_grad():
        vectors.weight.uniform_(-0.05, 0.05)
        vectors.weight[inputs.pad] = 0
    return vectors


def text_span(ids: Tensor, pad: int) -> tuple[int, int]:
    """First and last column (exclusive) that hold a word in some row: nothing outside has to be computed."""
    columns = (ids != pad).any(dim=0).nonzero()
    return (int(columns[0]), int(columns[-1]) + 1) if len(columns) else (0, 1)


def spread(mask: Tensor, inputs: PixelGrid) -> Tensor:
    """One number per pixel from one per player: (N, n) -> (N, 1, H, W)."""
    squares = mask.reshape(len(mask), 1, *inputs.grid)
    if inputs.block == 1:
        return squares
    return squares.repeat_interleave(inputs.block, dim=2).repeat_interleave(inputs.block, dim=3)


def _tensor(value: object) -> Tensor:
    """Modules are typed as returning anything; these return tensors."""
    assert isinstance(value, Tensor)
    return value
