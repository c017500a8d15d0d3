"""The model's process without a model: warming up never ends, an explanation takes no time, or for ever."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from accredit.web import model_process, tasks

FOR_EVER = "for ever"  # a text whose explanation never comes


class NoModels:
    """In place of models that take seconds to load."""

    def __init__(self, names: tuple[str, ...], explainers: tuple[str, ...]) -> None: ...

    def warm_up(self) -> Iterator[Callable[[], None]]:
        while True:
            yield lambda: time.sleep(0.01)

    def about(self) -> dict[str, Any]:
        return {}


def explain(models: NoModels, task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    while task["text"] == FOR_EVER:
        time.sleep(0.01)
    yield {"event": "done"}


if __name__ == "__main__":
    tasks.Models, tasks.TASKS = NoModels, {"explain": explain}  # type: ignore[assignment,misc]
    model_process.main()
