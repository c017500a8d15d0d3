"""Which files of accredit a call enters, and which of them before anything is computed: run in a process of its own.

    python -m tools.proof.visits "explain(text)"     # prints {"before": [files], "all": [files]}

A file is visited when one of its functions is entered, after accredit is imported; bodies of modules and classes do not count.
The first computation is the first payoff that a model or a game is asked, or the first training: entering a function of the
library that the model belongs to, or the game's own function.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2] / "accredit"
PREPARING = (
    "feature_extraction",
    "preprocessing",
    "decomposition",
    "utils",
)  # of scikit-learn: no model is trained there
Call = Callable[[], Any]
Computes = Callable[[CodeType], bool]


def _explain_text() -> tuple[Call, Computes]:
    from accredit import explain

    text = "A gripping, beautifully shot film that never lands."
    return lambda: explain(text), lambda code: code.co_name == "forward" and "transformers" in code.co_filename


def _explain_rows() -> tuple[Call, Computes]:
    import pandas
    from sklearn.ensemble import RandomForestRegressor

    from accredit import explain

    x = pandas.DataFrame(np.random.default_rng(0).normal(size=(60, 4)), columns=list("abcd"))
    forest = RandomForestRegressor(n_estimators=5, random_state=0).fit(x, x.a * x.b)
    return (
        lambda: explain(x[:5], forest, background=x[10:]),
        lambda code: code.co_name == "predict" and "sklearn" in code.co_filename,
    )


def _value() -> tuple[Call, Computes]:
    from accredit.cli import main

    words = ["accredit", "value", "examples/reviews.csv", "--target", "mood", "--text", "review"]

    def call() -> None:
        sys.argv = words
        with contextlib.suppress(SystemExit):
            main()

    def trains(code: CodeType) -> bool:
        inside = code.co_name in ("fit", "partial_fit", "fit_predict") and "sklearn" in code.co_filename
        return inside and not any(part in code.co_filename for part in PREPARING)

    sys.argv = ["accredit", "examples", "examples"]
    with contextlib.suppress(SystemExit):
        main()
    return call, trains


def _shapley() -> tuple[Call, Computes]:
    from accredit import FunctionGame, shapley

    def pays(coalitions: Any) -> Any:
        return coalitions.sum(axis=1) ** 2.0

    game = FunctionGame("abcde", pays)
    return lambda: shapley(game), lambda code: code is pays.__code__


CALLS: dict[str, Callable[[], tuple[Call, Computes]]] = {
    "explain(text)": _explain_text,
    "explain(rows, forest)": _explain_rows,
    "accredit value": _value,
    "shapley(game)": _shapley,
}


def visits(name: str) -> dict[str, list[str]]:
    """The files that a call enters, in the order of their first visit."""
    call, computes = CALLS[name]()
    seen: dict[str, None] = {}
    before: list[str] | None = None
    root = f"{ROOT}{os.sep}"

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal before
        if event != "call":
            return
        code = frame.f_code
        if code.co_filename.startswith(root) and code.co_flags & inspect.CO_OPTIMIZED:  # a function, not a module or class
            seen.setdefault(code.co_filename.removeprefix(root))
        if before is None and computes(code):
            before = list(seen)

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    if before is None:
        raise SystemExit(f"{name} computed nothing that tools/proof/visits.py knows; adapt what its first computation is")
    return {"before": before, "all": list(seen)}


def main(name: str) -> None:
    nowhere = io.StringIO()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        found = visits(name)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
