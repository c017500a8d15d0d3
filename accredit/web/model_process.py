"""What runs inside the model's process: read a task, do it, report how it goes. Only `Worker` starts it."""

from __future__ import annotations

import json
import os
import queue
import re
import sys
import threading
from typing import TYPE_CHECKING, TextIO

from accredit.errors import AccreditError

if TYPE_CHECKING:
    from accredit.web.tasks import Event


def main() -> None:
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints goes to the terminal, not into the conversation
    tasks: queue.SimpleQueue[Event] = queue.SimpleQueue()
    cancelled: set[int] = set()  # numbers of tasks: one may be cancelled before it was begun
    threading.Thread(target=_listen, args=(sys.stdin, tasks, cancelled), daemon=True).start()

    def emit(event: Event) -> None:
        out.write(json.dumps(event) + "\n")
        out.flush()

    from accredit.web.tasks import TASKS, Models

    try:
        models = Models(*map(tuple, json.loads(sys.argv[1])))
    except (AccreditError, OSError) as error:
        emit({"event": "broken", "problem": str(error)})
        return
    emit({"event": "ready", "models": models.about()})
    warming = models.warm_up()
    while True:
        while tasks.empty() and next(warming, None) is not None:
            pass  # whoever asks meanwhile waits for one method at most
        task = tasks.get()
        try:
            for event in TASKS[task["task"]](models, task) if task["number"] not in cancelled else ():
                emit(event)
                if task["number"] in cancelled:
                    break
        except AccreditError as error:
            emit({"event": "failed", "problem": str(error)})
        except Exception as error:  # a model may raise anything; the reader gets one line, the terminal the rest
            sys.excepthook(*sys.exc_info())
            emit({"event": "failed", "problem": f"the model raised {reason(error)}"})
        cancelled.discard(task["number"])
        emit({"event": "idle"})


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


def _listen(lines: TextIO, tasks: queue.SimpleQueue[Event], cancelled: set[int]) -> None:
    """Tasks go to the line; a cancellation is noticed at once; the end of the server is the end of this process."""
    for line in lines:
        message = json.loads(line)
        if message["task"] == "cancel":
            cancelled.add(message["number"])
        else:
            tasks.put(message)
    os._exit(0)


if __name__ == "__main__":
    main()
