"""The model's process without a model: warming up never ends, an explanation takes no time, or for ever in one of two ways."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from accredit.web import model_process, tasks

FOR_EVER = "for ever"  # a text whose explanation never comes, and that nothing interrupts
STEP_BY_STEP = "step by step"  # another whose explanation never comes, but which is asked after every step
STEP_SECONDS = 0.5  # of warming up


class NoModels:
    """In place of models that take seconds to load."""

    def __init__(self, names: tuple[str, ...], explainers: tuple[str, ...]) -> None: ...

    def warm_up(self) -> Iterator[Callable[[], None]]:
        while True:
            yield lambda: time.sleep(STEP_SECONDS)

    def about(self) -> dict[str, Any]:
        return {}


def explain(models: NoModels, task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    while task["text"] == FOR_EVER:
        time.sleep(0.01)
    while task["text"] == STEP_BY_STEP:
        time.sleep(0.01)
        yield {"event": "progress"}
    yield {"event": "done"}


if __name__ == "__main__":
    tasks.Models, tasks.TASKS = NoModels, {"explain": explain}  # type: ignore[assignment,misc]
    model_process.main()
