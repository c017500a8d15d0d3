"""The same work begun by several at once, for tests of what they share."""

from __future__ import annotations

from collections.abc import Callable
from threading import Barrier, Thread


def at_once(work: Callable[[], object], workers: int = 8) -> list[Exception]:
    """What goes wrong when several start the same work in the same instant."""
    gate, wrong = Barrier(workers), []

    def start() -> None:
        gate.wait()
        try:
            work()
        except Exception as error:
            wrong.append(error)

    threads = [Thread(target=start) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong
