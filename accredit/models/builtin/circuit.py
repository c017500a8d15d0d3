"""A transformer whose circuit is known because its weights are set by hand: two heads continue a sequence, the others do not.

"0 … a b … a" is continued with b, as induction does; 0 begins a sequence. Head 0.0 attends to the previous place and notes the
token there; head 1.1 attends to the place whose note is the present token, and says the token of that place. The other heads
attend by random weights and write where nobody reads. So what b has over other tokens is earned by heads 0.0 and 1.1
together, and by no other.
"""

from __future__ import annotations

from types import SimpleNamespace

import torch

CIRCUIT = ("head 0.0", "head 1.1")
LAYERS, HEADS, TOKENS, PLACES = 2, 4, 12, 16
SHARP = 40.0  # what a head attends to, before the softmax: e⁻⁴⁰ of it goes elsewhere
TOKEN, NOTE, SAID, ASIDE = (slice(TOKENS * k, TOKENS * (k + 1)) for k in range(4))  # parts of the stream
PLACE = slice(TOKENS * 4, TOKENS * 4 + PLACES)
WIDTH = PLACE.stop
HEAD_WIDTH = 16


class Attention(torch.nn.Module):
    """Causal attention of heads whose weights are given one by one."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = (torch.nn.Linear(WIDTH, HEADS * HEAD_WIDTH, bias=False) for _ in range(3))
        self.o_proj = torch.nn.Linear(HEADS * HEAD_WIDTH, WIDTH, bias=False)

    def forward(self, stream: torch.Tensor) -> torch.Tensor:
        """(batch, places, width) -> what the heads write, of the same shape."""
        batch, places, _ = stream.shape
        q, k, v = (part(stream).reshape(batch, places, HEADS, HEAD_WIDTH).transpose(1, 2) for part in (self.q, self.k, self.v))
        later = torch.ones(places, places, dtype=torch.bool).triu(1)
        attends = (q @ k.transpose(2, 3)).masked_fill(later, -torch.inf).softmax(dim=-1)
        wrote: torch.Tensor = self.o_proj((attends @ v).transpose(1, 2).reshape(batch, places, -1))
        return wrote


class CircuitBlock(torch.nn.Module):
    """Attention beside the stream."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention()

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        passed: torch.Tensor = hidden_states + self.attention(hidden_states)
        return passed


class Circuit(torch.nn.Module):
    """Token ids (batch, places) -> logits of the next token (batch, places, tokens). See `load_circuit`."""

    def __init__(self) -> None:
        super().__init__()
        self.config = SimpleNamespace(num_hidden_layers=LAYERS, num_attention_heads=HEADS, hidden_size=WIDTH)
        self.blocks = torch.nn.ModuleList(CircuitBlock() for _ in range(LAYERS))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        kind = next(self.parameters()).dtype
        stream = torch.zeros(*ids.shape, WIDTH, dtype=kind)
        stream[..., TOKEN] = torch.nn.functional.one_hot(ids, TOKENS).to(kind)
        stream[..., PLACE] = torch.eye(PLACES, dtype=kind)[: ids.shape[1]]
        for block in self.blocks:
            stream = block(stream)
        return stream[..., SAID]


def load_circuit() -> Circuit:
    """The model, in double precision.

    >>> import torch
    >>> model = load_circuit()
    >>> int(model(torch.tensor([[0, 3, 7, 1, 5, 3]]))[0, -1].argmax())  # 3 was followed by 7
    7
    """
    model = Circuit().double().eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.5 * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype))
        for block in model.blocks:
            attention = block.attention
            assert isinstance(attention, Attention)
            nobody_reads = torch.ones(WIDTH, dtype=torch.bool)
            nobody_reads[ASIDE] = False
            attention.o_proj.weight[nobody_reads] = 0.0
            for part in (attention.q, attention.k, attention.v):
                part.weight[:, SAID] = part.weight[:, ASIDE] = part.weight[:, NOTE] = 0.0
        first, second = (block.attention for block in model.blocks)
        assert isinstance(first, Attention) and isinstance(second, Attention)
        _set(first, 0, SHARP * torch.eye(PLACES).roll(-1, dims=0), PLACE, PLACE, NOTE)
        _set(second, 1, SHARP * torch.eye(TOKENS), TOKEN, NOTE, SAID)
    return model


def _set(attention: Attention, head: int, asks: torch.Tensor, asks_of: slice, has_of: slice, to: slice) -> None:
    """A head that matches one part of the stream with another, and writes the token it finds to a third."""
    has = torch.eye(len(asks))
    rows = slice(head * HEAD_WIDTH, (head + 1) * HEAD_WIDTH)
    token = torch.eye(TOKENS, dtype=torch.float64)
    for part, weights, read in ((attention.q, asks, asks_of), (attention.k, has, has_of), (attention.v, token, TOKEN)):
        part.weight[rows] = 0.0
        part.weight[rows.start : rows.start + len(weights), read] = weights.to(torch.float64)
    attention.o_proj.weight[:, rows] = 0.0
    attention.o_proj.weight[to, rows.start : rows.start + TOKENS] = token
