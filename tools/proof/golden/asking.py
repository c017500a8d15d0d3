"""How entries ask: a method as it is spelled, and a command line as it is typed."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

from tools.proof.golden import doors as d
from tools.proof.golden import subjects as s

Entry = Callable[[], Any]
Entries = dict[str, Entry]
FOLDERS = {"fast-shapley": "fast", "selector": "chosen"}  # method that needs an explainer -> how it is trained


def methods(place: str) -> list[str]:
    return [method.name for method in d.methods_for(place)]


def spelled(name: str, players: int, learned: str = "texts") -> str:
    """A method as it is asked for, with its parameters where it needs some; explainers have learned from texts or pictures."""
    method = d.BY_NAME[name]
    if name in FOLDERS:
        return f"{name}:{explainer_folder(FOLDERS[name], learned)}"
    return f"{name}:{s.weights_of(players)}" if name == "semivalue" else str(method.spelled)


@cache
def explainer_folder(which: str, learned: str = "texts") -> str:
    """A folder with an explainer of a built-in model: fast Shapley values, or a selector."""
    given = s.texts_to_learn() if learned == "texts" else s.pictures_to_learn()
    how = ["--pairs", "2", "--calibration", "19", "--level", "0.8"] if which == "fast" else ["--method", "l2x", "-k", "2"]
    who = ["--players", "3x3"] if (which, learned) == ("fast", "pictures") else []
    found = typed("learn", "fit", given, "--out", f"{which} {learned}", *how, *who, "--epochs", "2", "--quiet")
    assert found["code"] == 0, found["beside"]
    return f"{which} {learned}"


class Terminal(io.StringIO):
    """Standard output of somebody who looks at it; its width is that of COLUMNS."""

    def isatty(self) -> bool:
        return True


def typed(*words: Any, onto: Callable[[], io.StringIO] = Terminal) -> dict[str, Any]:
    """What a command line prints on a terminal of 80 columns without colours, and how it ends."""
    out, err, code = onto(), io.StringIO(), 0
    kept, sys.argv = sys.argv, ["accredit", *map(str, words)]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            d.main()
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        sys.argv = kept
    return {"printed": out.getvalue(), "beside": err.getvalue(), "code": code}


def json_of(*words: Any) -> Any:
    """The JSON that a command prints into a pipe."""
    found = typed(*words, onto=io.StringIO)
    assert found["code"] == 0, found["beside"]
    return json.loads(found["printed"])


def html_of(*words: Any) -> str:
    """The page that a command writes."""
    found = typed(*words, "--html", "page.html")
    assert found["code"] == 0, found["beside"]
    return Path("page.html").read_text()
