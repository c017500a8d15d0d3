"""The routes: the page and its files, and what its views ask for."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Unpack

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from accredit.checks.tables import is_table, read_sheet
from accredit.errors import AccreditError, InvalidInput
from accredit.games import TableGame, read_groups
from accredit.games.choices import plain_payoffs
from accredit.games.files import read_filled
from accredit.methods import methods_for
from accredit.values.report import report
from accredit.views.pages.document import asset, stylesheet
from accredit.views.pages.game_page import game_body
from accredit.views.pages.html import game_page
from accredit.web.cards import title_of
from accredit.web.jobs import RETRY_SECONDS, Crowded, Jobs, Limits, Stream
from accredit.web.requests import (
    GAME_PLAYERS,
    METHOD,
    AnswerRequest,
    ColumnsRequest,
    ExplainRequest,
    FlowRequest,
    GameFileRequest,
    GameRequest,
    GraphRequest,
    RunRequest,
    TableRequest,
    WhatIfRequest,
)
from accredit.web.runs import Runs
from accredit.web.safety import Gate
from accredit.web.uploads import TABLES, drop, in_own_name
from accredit.web.worker import Worker

KINDS = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "csv": "text/csv; charset=utf-8",
}
EXAMPLE = "reviews.csv"  # rows to value, one of the files that `accredit examples` writes
EVENTS: dict[int | str, dict[str, object]] = {
    200: {"description": "Events, one JSON object per line", "content": {"application/x-ndjson": {}}},
    422: {"description": "The request is not understood"},
    429: {"description": "Too many requests are waiting"},
}
STREAMED: dict[str, tuple[type[BaseModel], str]] = {  # what the model's process does, event by event
    "explain": (ExplainRequest, "Explain a text or a picture, method by method."),
    "what-if": (WhatIfRequest, "A text and the same text changed, side by side."),
    "answer": (AnswerRequest, "Explain an answer: which parts of the prompt led to it."),
    "flow": (FlowRequest, "Follow attention through the layers."),
    "graph": (GraphRequest, "A flow through a graph of edges, and whether it is the only one."),
    "table": (TableRequest, "Explain rows of a table: which columns led to their outputs."),
}
NO_JOURNAL = "no journal is open; start with accredit serve --store run.db"


def problem(message: str, status: int, headers: dict[str, str] | None = None) -> JSONResponse:
    """What went wrong, in words."""
    return JSONResponse({"problem": message}, status, headers)


def page_files() -> dict[str, bytes]:
    """Every file that the page loads, by name: the ones beside this module, and the style and script that all views share."""
    own = {file.name: file.read_bytes() for file in files(__package__).joinpath("static").iterdir()}
    return own | {
        "page.css": stylesheet().encode(),
        EXAMPLE: files("accredit").joinpath("cli", "samples", EXAMPLE).read_bytes(),
        **{name: asset(name).encode() for name in ("inspector.js", "answers.js", "sorting.js", "following.js")},
    }


def _stream(jobs: Jobs, task: str, model: type[BaseModel]) -> Callable[..., Awaitable[Response]]:
    """A route that hands a task to the model's process and passes its events on."""

    async def ask(asked: BaseModel) -> Response:
        return Stream(jobs.submit({"task": task, **asked.model_dump()}), jobs.leave)

    ask.__annotations__["asked"] = model  # which fastapi reads
    return ask


def application(worker: Worker, store: str | None = None, **limits: Unpack[Limits]) -> FastAPI:
    """The routes without the gate; `limits` go to `Jobs`."""
    jobs, runs = Jobs(worker, **limits), Runs()
    shipped = {name: (content, gzip.compress(content, 9, mtime=0)) for name, content in page_files().items()}

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        working = asyncio.create_task(jobs.work())
        yield
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working
        await worker.stop()
        await runs.close()

    app = FastAPI(title="accredit", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.state.jobs = jobs

    @app.exception_handler(RequestValidationError)
    async def not_understood(request: Request, error: RequestValidationError) -> JSONResponse:
        deepest = max(error.errors(), key=lambda each: len(each["loc"]))  # of several forms, the one that came closest
        if deepest["type"] == METHOD:
            return problem(deepest["msg"], 422)
        where = ".".join(str(part) for part in deepest["loc"] if part != "body")
        return problem(f"{where}: {deepest['msg']}" if where else deepest["msg"], 422)

    @app.exception_handler(HTTPException)
    async def not_here(request: Request, error: HTTPException) -> JSONResponse:
        return problem(error.detail, error.status_code)

    @app.exception_handler(AccreditError)
    async def not_possible(request: Request, error: AccreditError) -> JSONResponse:
        message, path = str(error), watched()
        return problem(message.replace(path, Path(path).name) if path else message, 422)

    @app.exception_handler(Crowded)
    async def crowded(request: Request, error: Crowded) -> JSONResponse:
        message = f"{jobs.places} requests are already waiting; try again in a few seconds"
        return problem(message, 429, {"retry-after": str(RETRY_SECONDS)})

    def file(name: str, request: Request) -> Response:
        content, small = shipped[name]
        kind = KINDS[name.rpartition(".")[2]]
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(small, headers={"content-encoding": "gzip"}, media_type=kind)
        return Response(content, media_type=kind)

    @app.get("/", include_in_schema=False)
    async def index(request: Request) -> Response:
        return file("index.html", request)

    @app.get("/static/{name}", include_in_schema=False)
    async def static(name: str, request: Request) -> Response:
        if name not in shipped:
            raise HTTPException(404)
        return file(name, request)

    @app.get("/api/about")
    async def about() -> dict[str, object]:
        """Which models are served, which methods there are, whether a journal is open."""
        return {
            **worker.about,
            "games": [title_of(method, method.name) for method in methods_for("game")],
            "valuations": [title_of(method, method.name) for method in methods_for("training data")],
            "store": store is not None,
            "run": runs.state() is not None,
        }

    for task, (model, words) in STREAMED.items():
        app.post(f"/api/{task}", response_class=Response, responses=EVENTS, description=words)(_stream(jobs, task, model))

    @app.post("/api/game")
    async def game(asked: GameRequest) -> dict[str, object]:
        """Values, interactions, conditional values and best subsets of a small game."""
        groups = read_groups(asked.groups) if asked.groups else None
        played = TableGame(asked.players, asked.payoffs)
        found = await run_in_threadpool(report, played, asked.method, groups, order=asked.order)
        return {"html": game_body(found), "report": found.to_plain(), "page": game_page(found)}

    @app.post("/api/game/file")
    async def game_file(asked: GameFileRequest) -> dict[str, object]:
        """Players and payoffs of a game in a file."""
        with drop(asked.table, asked.name, (*TABLES, ".json")) as path:
            sheet = plain_payoffs(read_sheet(path)) if is_table(path) else None
            read, filled = read_filled(path if sheet is None else sheet, nobody=0)
            notes = () if sheet is None else in_own_name(sheet.notes, path, asked.name)
        if len(read.players) > GAME_PLAYERS:
            raise InvalidInput(
                f"{asked.name} has {len(read.players)} players; this page takes up to {GAME_PLAYERS}", code="too-many"
            )
        notes += ("It has no payoff for nobody, which is taken as 0.",) if filled else ()
        return {"players": list(read.players), "payoffs": read.table.tolist(), "note": " ".join(notes)}

    @app.post("/api/table/columns")
    async def table_columns(asked: ColumnsRequest) -> dict[str, object]:
        """The names of the columns of a table, as it will be read."""
        with drop(asked.table, asked.name, asks=True) as path:
            sheet = await run_in_threadpool(read_sheet, path, asked.writing.format())
            return {"columns": list(sheet.names), "notes": list(in_own_name(sheet.notes, path, asked.name))}

    @app.post("/api/run")
    async def run(asked: RunRequest) -> dict[str, object]:
        """Start a valuation; its journal is watched from then on."""
        await runs.start(asked)
        return {"run": runs.state()}

    @app.delete("/api/run")
    async def stop_run() -> dict[str, object]:
        """Interrupt the valuation that was started here; put away one that has ended."""
        state = runs.state()
        await (runs.stop() if state and state["how"] == "running" else runs.close())
        return {"run": runs.state()}

    def watched() -> str | None:
        return runs.journal or store

    @app.get("/api/data", responses={204: {"description": "Nothing new"}})
    async def data(seen: Annotated[str, Query(max_length=2000)] = "") -> Response:
        """The journal or trace named at the start, if it has changed since `seen`."""
        path, begun = watched(), runs.state()
        if path is None:
            return problem(NO_JOURNAL, 404)
        from accredit.web.journal_view import shown, state_of

        written = begun is None or Path(path).exists()
        stored = await run_in_threadpool(state_of, path) if written else ""
        state = sha256(f"{stored}{begun}".encode()).hexdigest()
        going = begun is not None and begun["how"] == "running"
        if state == seen and not going:
            return Response(status_code=204)
        news: dict[str, object] = {"state": state, "run": begun and {**begun, "progress": runs.progress() if going else None}}
        if written and state != seen:
            news |= await run_in_threadpool(shown, path, begun)
        return JSONResponse(news)

    @app.get("/api/data.csv", response_class=Response)
    async def data_csv() -> Response:
        """Every payoff of the journal."""
        return await table("payoffs")

    @app.get("/api/values.csv", response_class=Response)
    async def values_csv() -> Response:
        """What every player of the journal is worth so far."""
        return await table("values")

    async def table(name: str) -> Response:
        path = watched()
        if path is None:
            return problem(NO_JOURNAL, 404)
        from accredit.web.journal_view import payoffs_csv, values_csv

        content = await run_in_threadpool({"payoffs": payoffs_csv, "values": values_csv}[name], path)
        headers = {"content-disposition": f"attachment; filename={name}.csv"}
        return Response(content, headers=headers, media_type="text/csv")

    return app


def guard(app: FastAPI, secret: str, port: int, ticket: str = "") -> ASGIApp:
    """The routes behind the gate; `ticket` opens the page once."""
    return Gate(app, secret, port, ticket)
