"""Blocks of a transformer: which there are, what enters one, and what would come out if something else did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from accredit.errors import InvalidInput

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel


def blocks_of(module: torch.nn.Module) -> list[torch.nn.Module]:
    """The blocks that a text passes one after the other, first to last; of an encoder–decoder those of the encoder.

    Empty where they cannot be told: then a block is named by its path.
    """
    config: PreTrainedConfig = getattr(module, "config", None)
    config = config.get_text_config(encoder=True) if hasattr(config, "get_text_config") else config
    return _collect_in(module, getattr(config, "num_hidden_layers", None))


def decoder_blocks_of(model: PreTrainedModel) -> list[torch.nn.Module]:
    """The blocks of the decoder of an encoder–decoder, first to last; empty where they cannot be told."""
    config = model.config
    count = getattr(config, "decoder_layers", None) or getattr(config, "num_decoder_layers", None)
    return _collect_in(model.get_decoder(), count)


def _collect_in(module: torch.nn.Module, count: int | None) -> list[torch.nn.Module]:
    lists = (part for part in module.modules() if isinstance(part, torch.nn.ModuleList))
    return next(([*part] for part in lists if len(part) == count), [])


def block_of(module: torch.nn.Module, layer: int | str) -> torch.nn.Module:
    """One block, by its number from 0 or by its path in the model ("bert.encoder.layer.3")."""
    blocks = blocks_of(module)
    if isinstance(layer, str) and not layer.isdecimal():
        try:
            return module.get_submodule(layer)
        except AttributeError:
            raise InvalidInput(
                f"layer {layer!r} is not a part of {type(module).__name__}; {_read_list(blocks)}",
                argument="layer",
                code="unknown",
            ) from None
    if isinstance(layer, bool) or not isinstance(layer, int | str) or not 0 <= int(layer) < len(blocks):
        raise InvalidInput(f"layer is {layer!r}; {_read_list(blocks)}", argument="layer", code="range")
    return blocks[int(layer)]


def _read_list(blocks: list[torch.nn.Module]) -> str:
    numbers = f"give a number from 0 to {len(blocks) - 1}, or" if blocks else "give"
    return f"{numbers} the path of a block: see model.named_modules()"


def enter(block: torch.nn.Module, run: Callable[[], object]) -> torch.Tensor:
    """What enters a block while something runs: (B, T, D)."""
    seen: list[torch.Tensor] = []
    with _watch(block, lambda given: seen.append(given.detach())):
        run()
    if len(seen) != 1 or seen[0].ndim != 3:
        raise InvalidInput(
            f"the {type(block).__name__} chosen by layer= is entered {len(seen)} times in one pass; choose a block that reads "
            "the hidden states of all tokens once",
            argument="layer",
            code="unsupported",
        )
    return seen[0]


@contextmanager
def replace_block(block: torch.nn.Module, vectors: torch.Tensor) -> Iterator[None]:
    """Inside, these vectors enter a block instead of what would."""
    with _watch(block, lambda given: vectors):
        yield


@contextmanager
def _watch(block: torch.nn.Module, change: Callable[[torch.Tensor], torch.Tensor | None]) -> Iterator[None]:
    def enter(
        _block: torch.nn.Module, args: tuple[torch.Tensor, ...], kwargs: dict[str, torch.Tensor]
    ) -> tuple[tuple[torch.Tensor, ...], dict[str, torch.Tensor]] | None:
        key = next((name for name in ("hidden_states", "x", "input") if name in kwargs), "")
        if not args and not key:
            raise InvalidInput(f"{type(block).__name__} is not given hidden states; choose another layer", code="missing")
        new = change(args[0] if args else kwargs[key])
        if new is None:
            return None
        return ((new, *args[1:]), kwargs) if args else (args, {**kwargs, key: new})

    hook = block.register_forward_pre_hook(enter, with_kwargs=True)
    try:
        yield
    finally:
        hook.remove()
