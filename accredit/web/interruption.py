"""Stopping work that nobody waits for, in the middle of a pass: every layer of a model asks before it computes."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.utils.hooks import RemovableHandle

Task = dict[str, Any]
WARMING = 0  # the number of what runs while nobody waits; those of tasks begin at 1


class Interrupted(BaseException):
    """Nobody waits for this any more. Not an `Exception`: no part of the library takes it for a failure of a model."""


class Line:
    """Tasks as they arrive, the number of the one that runs, and which of them nobody waits for any more.

    >>> line = Line()
    >>> line.running = 3
    >>> line.check()
    >>> line.cancelled.add(3)
    >>> line.unwanted
    True
    """

    def __init__(self) -> None:
        self.tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self.cancelled: set[int] = set()  # numbers of tasks: one may be cancelled before it was begun
        self.running = WARMING

    @property
    def unwanted(self) -> bool:
        """Whether what runs was cancelled; or is warming up, and somebody waits."""
        return not self.tasks.empty() if self.running == WARMING else self.running in self.cancelled

    def check(self) -> None:
        """Stop here, if nobody waits for what runs."""
        if self.unwanted:
            raise Interrupted


def ask_in_every_layer(check: Callable[[], None]) -> list[RemovableHandle]:
    """From now on `check` is called before every layer of every torch model, forwards and backwards, in whatever thread.

    What it raises ends the pass. The hooks are torch's own for all modules, and are returned: no model is changed, no number
    either.
    """
    import torch
    from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

    def before(module: object, given: object) -> None:
        check()

    def back(slope: object) -> None:
        check()

    def after(module: object, given: object, made: object) -> None:
        if isinstance(made, torch.Tensor) and made.requires_grad and type(made) is torch.Tensor:
            made.register_hook(back)  # type: ignore[no-untyped-call]

    return [register_module_forward_pre_hook(before), register_module_forward_hook(after)]
