"""A torch module held still for a call: evaluation mode, no parameter gradients, and everything put back afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import torch

from accredit.errors import BadPayoff
from accredit.models.precision import check_precision

if TYPE_CHECKING:
    from transformers import PreTrainedModel


Module = TypeVar("Module", bound=torch.nn.Module)


@contextmanager
def still(module: torch.nn.Module) -> Iterator[None]:
    """Evaluation mode for the call, so that dropout is off and batch statistics are frozen; each part is restored.

    Parameters need no gradient inside, which halves the memory of a backward pass to the inputs. Parts compiled in place run
    their own operations instead, so that their layers can be read and changed. A precision that would end this process is
    refused.
    """
    weights = list(module.parameters())
    check_precision(weights)
    compiled = [(part, part._compiled_call_impl) for part in module.modules() if part._compiled_call_impl is not None]
    training = [part for part in module.modules() if part.training]
    learning = [p for p in weights if p.requires_grad]
    for part in training:
        part.training = False
    for p in learning:
        p.requires_grad_(False)
    for part, _ in compiled:
        part._compiled_call_impl = None
    try:
        yield
    finally:
        for part, call in compiled:
            part._compiled_call_impl = call
        for part in training:
            part.training = True
        for p in learning:
            p.requires_grad_(True)


@contextmanager
def track(model: PreTrainedModel) -> Iterator[None]:
    """Gradients flow from the input embeddings on, although the parameters are frozen and ids have no gradient."""

    def track(_module: torch.nn.Module, _given: object, output: torch.Tensor) -> torch.Tensor:
        return output.requires_grad_(True)

    tables = [part for part in model.modules() if isinstance(part, torch.nn.Embedding)]  # T5 has one for each stack
    hooks = [part.register_forward_hook(track) for part in {model.get_input_embeddings(), *tables}]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bars and no warnings from transformers."""
    from transformers.utils import logging

    shown, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if shown:
            logging.enable_progress_bar()


def settle(model: Module) -> Module:
    """The model with its weights in torch's own memory instead of a mapped file, where they may lie at any address.

    Matrix kernels take a different path, with different last digits, for weights that are not aligned. Only after this does
    a loaded model give exactly the numbers of the one that was saved.
    """
    for held in (*model.parameters(), *model.buffers()):
        held.data = held.data.clone()
    return model


def device_of(module: torch.nn.Module) -> torch.device:
    """Where the module's parameters live; the CPU when it has none."""
    return next((p.device for p in module.parameters()), torch.device("cpu"))


def precision_of_module(module: torch.nn.Module) -> float:
    """The machine epsilon that the module computes with: that of its parameters."""
    return float(torch.finfo(next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.float32)).eps)


def finite(outputs: torch.Tensor, what: str) -> torch.Tensor:
    """The outputs, or an error if one of them is not a finite number."""
    if not bool(torch.isfinite(outputs).all()):
        kind = "float16 overflows easily: load it with dtype float32" if outputs.dtype == torch.float16 else "check its weights"
        raise BadPayoff(
            f"{what} returned {outputs[~torch.isfinite(outputs)][0].item()} instead of finite numbers; {kind}",
            code="not-finite",
        )
    return outputs
