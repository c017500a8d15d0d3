"""Players inside a model: its layers, its attention heads or the neurons of a layer. Those who do not play pass nothing on.

A layer that does not play hands on what it was given. A head that does not play adds nothing to its layer's attention. A
neuron that does not play is 0 between the two halves of its layer's feed-forward part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import final

import numpy as np
import torch
from torch.utils.hooks import RemovableHandle

from accredit import defaults
from accredit.core import BoolArray, FloatArray
from accredit.errors import InvalidInput
from accredit.games.batches import spans
from accredit.models.blocks import blocks_of
from accredit.models.payoffs import Payoff, check_payoff, name_payoff, payoff_blur, payoff_of
from accredit.models.state import device_of
from accredit.models.text import TextModel, TokenBatch

TEXTS_PER_PASS = 64  # texts of one pass
PROJECTIONS = ("output.dense", "out_proj", "o_proj", "c_proj", "out_lin", "wo")  # of attention, as families call them
Hook = Callable[[torch.Tensor], RemovableHandle]  # who plays (batch, n) -> a handle to remove


@final
class InsideGame:
    """v(S) = what the model pays for one text when only the parts of S pass anything on. See `inside_game`."""

    def __init__(self, model: TextModel, text: str, players: str, payoff: Payoff, target: int) -> None:
        self.model, self.text, self.target, self._payoff = model, text, target, payoff
        self.payoff_name = name_payoff(payoff)
        self.encoded = model.encode(text)
        self._players, self._hooks = _parts(model, players)

    @property
    def players(self) -> tuple[str, ...]:
        return self._players

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        earned = np.empty(len(coalitions))
        for part in spans(len(coalitions), TEXTS_PER_PASS):
            earned[part] = self._earn(coalitions[part])
        return earned

    def _earn(self, coalitions: BoolArray) -> FloatArray:
        device = device_of(self.model.model)
        plays = torch.from_numpy(np.ascontiguousarray(coalitions)).to(device)
        with self.model.hold(), torch.inference_mode(), self._only(plays):
            outputs = self.model.outputs(self._batch(len(coalitions), device)).cpu()
        worth: FloatArray = payoff_of(outputs, self.target, self._payoff, self.model.law).numpy()
        return worth

    @contextmanager
    def _only(self, plays: torch.Tensor) -> Iterator[None]:
        with ExitStack() as stack:
            for hook in self._hooks:
                stack.callback(hook(plays).remove)
            yield

    def _batch(self, rows: int, device: torch.device) -> TokenBatch:
        ids = torch.from_numpy(self.encoded.ids).to(device).expand(rows, -1)
        everywhere = torch.ones(ids.shape, dtype=torch.int64, device=device)
        prefix = torch.from_numpy(self.encoded.prefix).to(device)
        return TokenBatch(ids, None, everywhere, self.model.read(self.encoded, rows), prefix, self.model.types(self.encoded))

    @cached_property
    def blur(self) -> float:
        """How far rounding may move a payoff (`accredit.core.rounding`)."""
        outputs = self.model.predict(self.encoded)[None]
        return payoff_blur(outputs, self._payoff, self.model.law, self.model.precision)

    @property
    def provenance(self) -> dict[str, object]:
        """What the payoffs rest on."""
        label = self.model.label(self.target)
        return {
            "model": self.model.name,
            "text": self.text,
            "target": label,
            "payoff": self.payoff_name,
            "removal": "zero",
        }


def inside_game(
    model: TextModel,
    text: str,
    players: str = "heads",
    *,
    payoff: Payoff | None = None,
    target: str | int | None = None,
) -> InsideGame:
    """The game in which parts of a model earn its output for one text: "layers", "heads", or "neurons:2" (of layer 2, from 0).

    `payoff` and `target` are as in `text_game`. Models whose layers, or heads, cannot be found are refused.

    >>> from accredit.models import builtin, load_text_model
    >>> inside_game(load_text_model(builtin.text_folder()), "A dull film.", "layers").players
    ('layer 0', 'layer 1', 'layer 2', 'layer 3')
    """
    paid = payoff or defaults.payoff(model.law)
    check_payoff(paid, model.law, model.classes)
    return InsideGame(model, text, players, paid, model.target(target, model.encode(text)))


def _parts(model: TextModel, players: str) -> tuple[tuple[str, ...], list[Hook]]:
    """The players' names, and one hook per layer that has some."""
    blocks = blocks_of(model.model)
    what, _, number = str(players).partition(":")
    if not blocks:
        raise InvalidInput(
            f"the layers of {model.name} cannot be found; inside_game needs a transformer of equal layers",
            argument="model",
            code="unsupported",
        )
    if what == "layers" and not number:
        return tuple(f"layer {k}" for k in range(len(blocks))), [_skipping(block, k) for k, block in enumerate(blocks)]
    if what == "heads" and not number:
        count = int(model.model.config.get_text_config().num_attention_heads)
        names = tuple(f"head {k}.{h}" for k in range(len(blocks)) for h in range(count))
        ends = [(_projection(block, model.name), k * count) for k, block in enumerate(blocks)]
        return names, [_silencing(end, first, count) for end, first in ends]
    if what == "neurons" and number.isdecimal() and int(number) < len(blocks):
        narrow = _narrowing(blocks[int(number)], int(model.model.config.get_text_config().hidden_size), model.name)
        wide = int(narrow.in_features)
        return tuple(f"neuron {number}.{j}" for j in range(wide)), [_silencing(narrow, 0, wide)]
    raise InvalidInput(
        f"players is {players!r:.40}; write 'layers', 'heads' or 'neurons:K', K from 0 to {len(blocks) - 1}",
        argument="players",
        code="unknown",
    )


def _projection(block: torch.nn.Module, name: str) -> torch.nn.Module:
    """Where the heads of a layer are put together."""
    attending = [(path, part) for path, part in block.named_modules() if "att" in path.lower()]
    found: torch.nn.Module | None = next((part for path, part in attending if path.endswith(PROJECTIONS)), None)
    if found is None:
        raise InvalidInput(
            f"the heads of {name} cannot be told apart; use players='layers'", argument="players", code="unsupported"
        )
    return found


def _narrowing(block: torch.nn.Module, hidden: int, name: str) -> torch.nn.Linear:
    """The second half of the feed-forward part: it reads the neurons."""
    linear = [part for part in block.modules() if isinstance(part, torch.nn.Linear)]
    found = next((part for part in linear if part.out_features == hidden and part.in_features > hidden), None)
    if found is None:
        raise InvalidInput(
            f"the neurons of {name} cannot be found; use players='layers'", argument="players", code="unsupported"
        )
    return found


def _skipping(block: torch.nn.Module, player: int) -> Hook:
    """A layer that hands on what it was given where its player is absent."""

    def install(plays: torch.Tensor) -> RemovableHandle:
        def after(
            _block: torch.nn.Module,
            args: tuple[torch.Tensor, ...],
            kwargs: dict[str, torch.Tensor],
            output: torch.Tensor | tuple[torch.Tensor, ...],
        ) -> torch.Tensor | tuple[torch.Tensor, ...]:
            given = args[0] if args else kwargs["hidden_states"]
            made = output[0] if isinstance(output, tuple) else output
            kept = torch.where(plays[:, player, None, None], made, given)
            return (kept, *output[1:]) if isinstance(output, tuple) else kept

        return block.register_forward_hook(after, with_kwargs=True)

    return install


def _silencing(reader: torch.nn.Module, first: int, count: int) -> Hook:
    """A part that reads `count` equal pieces side by side, of which those of absent players are 0."""

    def install(plays: torch.Tensor) -> RemovableHandle:
        def before(_reader: torch.nn.Module, args: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
            given = args[0]
            heard = plays[:, first : first + count].repeat_interleave(given.shape[-1] // count, dim=1).to(given.dtype)
            return (given * heard.reshape(-1, *[1] * (given.ndim - 2), given.shape[-1]), *args[1:])

        return reader.register_forward_pre_hook(before)

    return install
