"""Results in their forms, refusals, commands and the page: what people read."""

from __future__ import annotations

import base64
import io
import json
import re
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

from tools.proof.golden import doors as d
from tools.proof.golden import subjects as s
from tools.proof.golden.asking import Entries, Entry, explainer_folder, html_of, typed
from tools.proof.golden.of_rows import rows_by
from tools.proof.golden.of_training import REVIEWS

# Results


def _results() -> dict[str, Entry]:
    """One result of each kind."""
    return {
        "attribution": lambda: d.shapley(s.table_game()),
        "estimated attribution": lambda: d.shapley(s.function_game(), budget=300, seed=1),
        "attributions": lambda: d.shapley(s.tables()),
        "interactions": lambda: d.shapley_interactions(s.table_game()),
        "selection": lambda: d.Selection(s.PLAYERS, [True, False, True, False, False], "by hand"),
        "explanation of a text": lambda: d.explain(s.TEXT),
        "explanation of a picture": lambda: d.explain(s.picture(), s.image_model(), players=(3, 3), budget=200),
        "explanation of an answer": lambda: d.explain(context=s.FACTS, query=s.QUESTION),
        "explanation of rows": lambda: rows_by("shapley", lambda: s.model_of_rows("histogram"), interactions=True),
    }


def forms() -> Entries:
    made = {f"JSON, {name}": partial(lambda make: make().to_json(), make) for name, make in _results().items()}
    shown = {f"shown, {name}": partial(lambda make: str(make()), make) for name, make in _results().items()}
    notebook = {f"notebook, {name}": partial(lambda make: d.fragment(make()), make) for name, make in _results().items()}
    pages = {
        f"HTML, {name}": partial(lambda make: _page(make()), make)
        for name, make in _results().items()
        if name.startswith("explanation")
    }
    return made | shown | notebook | pages | {"HTML, game": lambda: d.game_page(d.report(s.table_game()))}


def _page(result: Any) -> str:
    with tempfile.TemporaryDirectory() as folder:
        result.to_html(Path(folder) / "page.html")
        return (Path(folder) / "page.html").read_text()


# Refusals


def refusal(call: Entry) -> str:
    """What is said to a call that cannot be answered."""
    try:
        call()
    except d.InvalidInput as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("this call was answered, and was recorded because it is refused")


REFUSALS: Entries = {
    "unknown method": lambda: d.explain(s.TEXT, methods=["shapely"]),
    "misspelt setting": lambda: d.explain(s.TEXT, methds=["shapley"]),
    "nothing given": lambda: d.explain(),
    "unknown label": lambda: d.explain(s.TEXT, methods=["shapley"], target="NEUTRAL"),
    "unknown payoff": lambda: d.explain(s.TEXT, methods=["shapley"], payoff="logits"),
    "setting of another method": lambda: d.explain(s.TEXT, methods=["shapley"], layer=2),
    "a function without background": lambda: d.explain(s.rows().to_numpy(), s.function_of_rows),
    "unknown output": lambda: rows_by("shapley", lambda: s.function_of_rows).of("no such output"),
    "too many players": lambda: d.shapley(d.FunctionGame([str(k) for k in range(40)], lambda c: c.sum(axis=1)), d.Exact()),
    "wrong number of payoffs": lambda: d.TableGame("ab", [0, 1, 2]),
    "owen without groups": lambda: d.value_of(s.table_game(), "owen"),
    "l1 flow": lambda: d.joint_flow(s.attention(), rule="l1"),
    "unknown player": lambda: d.value_given(s.table_game(), "zoe"),
    "damaged JSON": lambda: d.Attribution.from_json('{"kind": "attribution"}'),
}


def refusals() -> Entries:
    return {name: partial(refusal, call) for name, call in REFUSALS.items()}


# Commands

Words = Callable[[], Iterable[Any]]
HELP = (
    "",
    "explain",
    "game",
    "flow",
    "value",
    "trace",
    "compare",
    "audit",
    "learn",
    "learn fit",
    "learn explain",
    "learn audit",
    "reproduce",
    "serve",
    "runs",
    "methods",
    "examples",
    "doctor",
    "completion",
    "man",
)
COMMANDS: dict[str, Words] = {  # name -> the words of a command line
    "methods": lambda: ["methods"],
    "examples": lambda: ["examples", "again"],
    "game": lambda: ["game", "examples/pricing.csv"],
    "game, banzhaf": lambda: ["game", "examples/cookies.csv", "--method", "banzhaf"],
    "game, owen": lambda: ["game", "examples/pricing.csv", "--method", "owen", "--groups", "stem=B+C,web=A"],
    "game of levels": lambda: ["game", "examples/effort.csv"],
    "game of words": lambda: ["game", "examples/words.csv"],
    "flow": lambda: ["flow", "examples/pipes.csv", "--from", "s", "--to", "t"],
    "explain": lambda: ["explain", "A gripping film that never quite lands."],
    "explain, all labels": lambda: ["explain", "A gripping film.", "--methods", "shapley,loo", "--target", "all"],
    "explain, flow": lambda: ["explain", s.TEXT, "--methods", "flow:norm", "--heads", "max", "--layers", "0-1"],
    "explain a picture": lambda: ["explain", s.picture_file(), "--methods", "loo,saliency", "--players", "patches"],
    "explain an answer": lambda: ["explain", "--answer"],
    "explain passages": lambda: [
        "explain", "--context", "examples/passages.json", "--query", "Where does Anna live ?", "--generate",
    ],
    "explain the table": lambda: ["explain", "--table"],
    "explain rows": lambda: ["explain", s.rows_files()[0], "--background", s.rows_files()[1], "--model", s.rows_files()[2]],
    "explain rows, interactions": lambda: [
        "explain", s.rows_files()[0], "--background", s.rows_files()[1], "--model", s.rows_files()[2], "--interactions",
    ],
    "value": lambda: ["value", "examples/reviews.csv", *REVIEWS],
    "value, annotators": lambda: ["value", s.reviews_file(), *REVIEWS, "--players", "annotator", "--method", "shapley"],
    "value, csv": lambda: ["value", s.reviews_file(), *REVIEWS, "--only", "values", "--csv"],
    "trace": lambda: [
        "trace", "rome", "--prompt", "where does anna live ?", "--model", s.language_folder(), "--train", s.training_texts(),
    ],
    "compare": lambda: ["compare", "--limit", "2", "--methods", "leave-one-out,rollout"],
    "audit": lambda: ["audit", "I left with a smile.", "--steps", "15"],
    "learn fit": lambda: ["learn", "fit", s.texts_to_learn(), "--out", "again", "--method", "l2x", "-k", "2", "--epochs", "1"],
    "learn explain": lambda: ["learn", "explain", explainer_folder("chosen"), "A dull film."],
    "reproduce the chapter": lambda: ["reproduce", "chapter", "--quick", "--out", "reports"],
    "unknown command": lambda: ["explian"],
    "unknown option": lambda: ["game", "examples/pricing.csv", "--methods", "shapley"],
    "a file that is not there": lambda: ["game", "nowhere.csv"],
    "an argument too few": lambda: ["game"],
    "unknown method": lambda: ["game", "examples/pricing.csv", "--method", "shapely"],
    "rows without a model": lambda: ["explain", s.rows_files()[0], "--background", s.rows_files()[1]],
    "an option for rows": lambda: ["explain", "A film.", "--background", s.rows_files()[1]],
}  # fmt: skip
PAGES = ("game", "flow", "explain", "explain an answer", "explain rows", "value", "trace", "compare", "audit")
JSON = ("game", "flow", "explain", "explain rows", "trace", "compare", "audit", "methods")


def commands() -> Entries:
    helped: Entries = {f"help {name}".strip(): partial(typed, *name.split(), "--help") for name in HELP}
    said: Entries = {name: partial(_said, words) for name, words in COMMANDS.items()}
    pages: Entries = {f"{name}, HTML": partial(_drawn, COMMANDS[name]) for name in PAGES}
    plain: Entries = {f"{name}, JSON": partial(_piped, COMMANDS[name]) for name in JSON}
    return helped | said | pages | plain


def _said(words: Words) -> Any:
    return typed(*words())


def _drawn(words: Words) -> str:
    return _untimed(html_of(*words()))


def _piped(words: Words) -> Any:
    return typed(*words(), "--json", onto=io.StringIO)


def _untimed(page: str) -> str:
    """A page without the column of milliseconds that the arena's has before its last."""
    before, head, table = page.partition('<th scope="col">ms</th>')
    rows, end, after = table.partition("</table>")
    cell = r"<td>(?:<[^>]*>)*[^<]*(?:</(?!td)[^>]*>)*</td>"
    return before + head + re.sub(rf"{cell}({cell}</tr>)", r"<td>#</td>\1", rows) + end + after


# The page


@cache
def client() -> Any:
    """A browser, more or less: the page of the built-in models, asked in this process."""
    from starlette.testclient import TestClient

    opened = TestClient(d.application(d.Worker()))
    opened.__enter__()
    CLOSING.append(lambda: opened.__exit__(None, None, None))
    return opened


CLOSING: list[Callable[[], None]] = []  # what a run leaves open


def asked(path: str, **fields: Any) -> Any:
    """What the page answers: its events without how far it was, which depends on the clock."""
    answer = client().post(path, json=fields)
    lines = [json.loads(line) for line in answer.text.splitlines() if line]
    return {"status": answer.status_code, "events": [e for e in lines if e.get("event") not in ("progress", "queued")]}


def got(path: str) -> Any:
    answer = client().get(path)
    return {"status": answer.status_code, "kind": answer.headers["content-type"], "body": answer.text}


def _valued_on_the_page() -> Any:
    """The example of the data view, run to its end."""
    table = Path("examples/reviews.csv").read_text()
    client().post("/api/run", json={"table": table, "name": "reviews.csv", "target": "mood", "text": "review"})
    while (news := client().get("/api/data").json())["run"]["how"] == "running":
        time.sleep(0.2)
    news.pop("state")
    return {**news, "values": got("/api/values.csv")}


PRICING = {"players": ["A", "B", "C"], "payoffs": [0, 50, 20, 75, 25, 80, 90, 100]}
PAGE: Entries = {
    "about": lambda: (asked("/api/explain", text="A film.", methods=["leave-one-out"]), client().get("/api/about").json())[1],
    "index": lambda: got("/"),
    "style": lambda: got("/static/page.css"),
    "explain": lambda: asked("/api/explain", text=s.TEXT),
    "explain, all else": lambda: asked(
        "/api/explain", text="Not bad at all, in fact rather wonderful.", methods=["shapley", "flow:agf"], players="token",
        payoff="probability", budget=256, seed=1,
    ),
    "explain a picture": lambda: asked("/api/explain", image=_encoded(), methods=["loo", "saliency"], players="patches"),
    "what if": lambda: asked("/api/what-if", text=s.TEXT, changed=s.TEXT.replace("never ", ""), method="shapley"),
    "answers": lambda: asked("/api/answer", context=s.FACTS, query=s.QUESTION),
    "flow": lambda: asked("/api/flow", text=s.TEXT),
    "flow, l2 of a layer": lambda: asked("/api/flow", text=s.TEXT, rule="l2", layer=1, heads=0),
    "table": lambda: asked("/api/table"),
    "table, a row": lambda: asked("/api/table", row=3),
    "table, own": lambda: asked("/api/table", table=s.rows_files()[1].read_text(), name="background.csv", target="pay"),
    "game": lambda: client().post("/api/game", json=PRICING).json(),
    "game, nucleolus": lambda: client().post("/api/game", json=PRICING | {"method": "nucleolus"}).json(),
    "game from a file": lambda: client()
    .post("/api/game/file", json={"table": Path("examples/cookies.csv").read_text(), "name": "cookies.csv"})
    .json(),
    "data": _valued_on_the_page,
    "refused field": lambda: asked("/api/explain", txt="A film."),
    "refused method": lambda: asked("/api/explain", text="A film.", methods=["shapely"]),
    "refused label": lambda: asked("/api/explain", text="A film.", target="NEUTRAL"),
}  # fmt: skip


def _encoded() -> str:
    return base64.b64encode(s.picture_file().read_bytes()).decode()
