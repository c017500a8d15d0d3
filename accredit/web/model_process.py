"""What runs inside the model's process: read a task, do it, report how it goes. Only `Worker` starts it.

Work that nobody waits for is stopped in the middle of a pass: every layer of a model asks before it computes.
"""

from __future__ import annotations

import ctypes
import json
import os
import queue
import re
import sys
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, TextIO

from accredit.errors import AccreditError

if TYPE_CHECKING:
    from torch.utils.hooks import RemovableHandle

    from accredit.web.tasks import Event, Models

WARMING = 0  # the number of what runs while nobody waits; those of tasks begin at 1


def main() -> None:
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints goes to the terminal, not into the conversation
    line = Line()
    threading.Thread(target=_listen, args=(sys.stdin, line), daemon=True).start()

    def emit(event: Event) -> None:
        out.write(json.dumps(event) + "\n")
        out.flush()

    from accredit.web.tasks import Models

    try:
        models = Models(*map(tuple, json.loads(sys.argv[1])))
    except (AccreditError, OSError) as error:
        emit({"event": "broken", "problem": str(error)})
        return
    emit({"event": "ready", "models": models.about()})
    if "torch" in sys.modules:
        ask_in_every_layer(line.check)
    warming = models.warm_up()
    while True:
        line.running = WARMING
        with suppress(Interrupted):  # whoever asks meanwhile is served at once
            while line.tasks.empty() and (step := next(warming, None)):
                step()
        _run(models, line.tasks.get(), line, emit)


def _run(models: Models, task: Event, line: Line, emit: Callable[[Event], None]) -> None:
    """One task from its beginning to its end, whatever that is."""
    from accredit.web.tasks import TASKS

    line.running = task["number"]
    emit({"event": "begun"})
    try:
        with suppress(Interrupted), closing(TASKS[task["task"]](models, task)) as events:
            line.check()
            for event in events:
                emit(event)
                if event["event"] == "result":
                    _return_memory()
                line.check()
    except AccreditError as error:
        emit({"event": "failed", "problem": str(error)})
    except Exception as error:  # a model may raise anything; the reader gets one line, the terminal the rest
        sys.excepthook(*sys.exc_info())
        emit({"event": "failed", "problem": f"the model raised {reason(error)}"})
    line.cancelled.discard(task["number"])
    emit({"event": "idle"})
    _return_memory()


def _return_memory() -> None:
    """A backward pass leaves gigabytes that the C library keeps for the next one; it gives them back when asked to."""
    with suppress(OSError, AttributeError):  # other systems have no such call
        ctypes.CDLL(None).malloc_trim(0)


def reason(error: Exception) -> str:
    """An error in one line, for the page: of a path, its last name alone; of an object, no address.

    >>> reason(FileNotFoundError("no such file: '/home/ada/models/film/config.json'"))
    "FileNotFoundError: no such file: 'config.json'"
    >>> reason(TypeError("cannot read <_io.BytesIO object at 0x7f00>"))
    'TypeError: cannot read <_io.BytesIO>'
    """
    message = re.sub(r"(?:/[^/\s'\"]+)+/(?=[^/\s'\"])", "", str(error))
    message = re.sub(r" object at 0x[0-9a-fA-F]+", "", message)
    return f"{type(error).__name__}: {message}"[:500]


def _listen(lines: TextIO, line: Line) -> None:
    """Tasks go to the line; a cancellation is noticed at once; the end of the server is the end of this process."""
    for said in lines:
        message = json.loads(said)
        if message["task"] == "cancel":
            line.cancelled.add(message["number"])
        else:
            line.tasks.put(message)
    os._exit(0)


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
        self.tasks: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
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


if __name__ == "__main__":
    main()
