"""What is fuzzed: one function per target, (random numbers) -> None, that raises `Wrong` where something is wrong.

A typed error is an answer. Anything that is accepted is looked at: it must be well formed, travel there and back, and agree
with an independent oracle where there is one.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow as scipy_max_flow

from accredit.checks.tables import read_sheet
from accredit.core import Attribution, Attributions, Interactions, Procedure, Selection
from accredit.errors import AccreditError
from accredit.flow import LayeredNetwork, maximum_flow, unique_flow
from accredit.games import TableGame, read_game, read_games, read_groups
from accredit.methods import find
from accredit.values import Antithetic, Differences, Permutations, SampledBanzhaf, Surrogate, banzhaf, mobius, shapley
from tools.proof.kinds import KINDS, asked_game
from tools.proof.mutate import NASTY, any_text, damaged_bytes, damaged_json, torn

Target = Callable[[random.Random], None]


class Wrong(Exception):
    """A fault: what went wrong, and with what."""


@cache
def scratch() -> Path:
    """A folder for damaged files, in memory where there is room for it."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    return Path(tempfile.mkdtemp(prefix="accredit-fuzz-", dir=place))


@cache
def _results() -> tuple[tuple[Any, str], ...]:
    """Kinds of results, and good JSON of each."""
    game = asked_game(KINDS["smooth"](np.random.default_rng(0), 4))
    one, other = Surrogate(12).solve(game), Differences(60).solve(game)
    return (
        (Attribution, one.to_json()),
        (Attribution, other.to_json()),
        (Attribution, shapley(game).to_json()),
        (Attributions, Attributions({"x": one, "y": one}).to_json()),
        (Interactions, mobius(game, 2).to_json()),
        (Selection, Selection(("a", "b"), [True, False], "l2x").to_json()),
    )


def results_json(rng: random.Random) -> None:
    """`from_json` of damaged results: refused, or a whole result that travels there and back."""
    kind, text = rng.choice(_results())
    given = damaged_json(rng, text)
    try:
        found = kind.from_json(given)
    except AccreditError:
        return
    for problem in _ill_formed(found):
        raise Wrong(f"{kind.__name__}.from_json accepts {problem}: {given[:300]}")
    if kind.from_json(found.to_json()) != found:
        raise Wrong(f"{kind.__name__} does not travel there and back: {given[:300]}")


def _ill_formed(found: Any) -> list[str]:
    """What a result must not hold."""
    if isinstance(found, Attributions):
        return [problem for one in found.by_output.values() for problem in _ill_formed(one)]
    wrong = []
    for name, kinds in (("method", Procedure | str), ("stopped", str), ("index", str), ("means", str), ("rule", str)):
        if hasattr(found, name) and not isinstance(getattr(found, name), kinds):
            wrong.append(f"{name} {getattr(found, name)!r:.40}")
    for name in ("payoffs", "seed"):
        value = getattr(found, name, None)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            wrong.append(f"{name} {value!r:.40}")
    level, interval = getattr(found, "level", None), getattr(found, "interval", None)
    if level is not None and not 0 < level < 1:
        wrong.append(f"level {level!r:.40}")
    if interval is not None and (interval[:, 0] > interval[:, 1]).any():
        wrong.append("an interval upside down")
    stderr = getattr(found, "stderr", None)
    if stderr is not None and (stderr < 0).any():
        wrong.append("a negative standard error")
    if not all(isinstance(player, str) for player in found.players):
        wrong.append("players that are not texts")
    return wrong


def explanation_json(rng: random.Random) -> None:
    """`Explanation.from_json`, the same way."""
    from accredit.explanation import Explanation

    given = damaged_json(rng, _explained())
    try:
        found = Explanation.from_json(given)
    except AccreditError:
        return
    with suppress(AccreditError):
        if Explanation.from_json(found.to_json()).to_plain() != found.to_plain():
            raise Wrong(f"an explanation does not travel there and back: {given[:200]}")


@cache
def _explained() -> str:
    from accredit.explanation import explain

    return explain("good film", methods="leave-one-out").to_json()


def table_files(rng: random.Random) -> None:
    """Tables in files: CSV, TSV, JSON lines; every row has a cell for every column."""
    kind = rng.choice((".csv", ".tsv", ".jsonl"))
    mark = rng.choice(",;\t|")
    if kind == ".jsonl":
        text = "\n".join(json.dumps({"text": "a b", "label": k}) for k in range(3))
    else:
        numbers = ("1,5", "1.234", "1.234,5-", "$5", "5%", "?", "x", "\\N", "")
        text = f'text{mark}label\n"a, ""b"""{mark}"{rng.choice(numbers)}"\nc{mark}"{rng.choice(numbers)}"\n'
    file = scratch() / f"table{kind}"
    file.write_bytes(damaged_bytes(rng, torn(rng, text).encode("utf-8", "surrogatepass")))
    try:
        sheet = read_sheet(file).with_plain_numbers()
    except AccreditError:
        return
    if any(len(row) != len(sheet.names) for row in sheet.rows):
        raise Wrong(f"a row of another length: {file.read_bytes()!r:.300}")


GAME_CSV = "coalition,payoff\n,0\na,5\nb,3\na+b,10\n"
GAME_JSON = '{"players": ["a", "b"], "payoffs": {"": 0, "a": 5, "b": 3, "a+b": 10}}'


def game_files(rng: random.Random) -> None:
    """Games in files: refused, or finite payoffs of all coalitions."""
    kind = rng.choice((".csv", ".json"))
    text = damaged_json(rng, GAME_JSON) if kind == ".json" else torn(rng, GAME_CSV)
    file = scratch() / f"game{kind}"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    reader = rng.choice((read_game, read_games))
    try:
        found = reader(file)
    except AccreditError:
        return
    if not np.isfinite(found.table).all() or len(set(found.players)) != len(found.players):
        raise Wrong(f"{reader.__name__} accepts {text[:300]!r}")


def group_texts(rng: random.Random) -> None:
    """Groups as the command and the page spell them, and names of methods with parameters."""
    if rng.random() < 0.5:
        with suppress(AccreditError):
            groups = read_groups(torn(rng, "stem=B+C,web=A"))
            if not all(isinstance(m, str) for members in groups.values() for m in members):
                raise Wrong(f"groups {groups!r}")
    else:
        name = rng.choice(("shapley", "beta:16,1", "flow:barrier", "semivalue:0.5,0.5", "owen", "ig", "lime:sizes"))
        with suppress(AccreditError):
            find(torn(rng, name), rng.choice(("game", "explain", "answer")))


MESSAGES: tuple[Any, ...] = (
    [{"role": "user", "content": "Who?"}],
    [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Who?\nAnna."},
        {"role": "assistant", "content": "Anna."},
    ],
    [{"role": "user", "content": [{"type": "text", "text": "Who?"}]}],
)


def chat_messages(rng: random.Random) -> None:
    """Chat messages and passages: refused, or a prompt whose contents are texts and whose spans lie inside them."""
    from accredit.answers.prompt import prompt_of

    how = rng.random()
    try:
        if how < 0.7:
            data = json.loads(damaged_json(rng, json.dumps({"m": rng.choice(MESSAGES)})) or "{}")
            made = prompt_of(data.get("m") if isinstance(data, dict) else data)
        elif how < 0.85:
            made = prompt_of(context=[any_text(rng), rng.choice((*NASTY, "a passage"))], query=any_text(rng))
        else:
            made = prompt_of(any_text(rng), reserved=(any_text(rng, 5), "<s>"))
    except (AccreditError, json.JSONDecodeError):
        return
    for content, start, end in (*made.passages, *made.closed):
        if not 0 <= start <= end <= len(made.contents[content]):
            raise Wrong(f"span {start}…{end} of {made.contents[content]!r:.100}")


REQUESTS = {
    "ExplainRequest": '{"text": "good film", "methods": ["shapley"], "players": "word", "budget": 64, "seed": 0}',
    "AnswerRequest": '{"context": ["a fact"], "query": "who?", "methods": ["shapley"], "players": "word", "seed": 1}',
    "FlowRequest": '{"text": "good film", "residual": 0.5, "layer": 0, "rule": "barrier"}',
    "GameRequest": '{"players": ["a", "b"], "payoffs": [0, 5, 3, 10], "method": "owen", "groups": "g=a+b"}',
}


def page_requests(rng: random.Random) -> None:
    """Requests of the page through their validation: refused, or within every bound."""
    from pydantic import ValidationError

    from accredit.web import requests

    name = rng.choice(tuple(REQUESTS))
    given = damaged_json(rng, REQUESTS[name])
    try:
        found = getattr(requests, name).model_validate_json(given)
    except ValidationError:
        return
    for number in (getattr(found, "seed", 0), getattr(found, "budget", None) or 16, getattr(found, "residual", 0.5)):
        if not 0 <= number <= 2**31:
            raise Wrong(f"{name} accepts {given[:300]}")


@cache
def _client() -> Any:
    from starlette.testclient import TestClient

    from accredit.web.app import application, guard
    from accredit.web.worker import Worker

    client = TestClient(
        guard(application(Worker()), "secret", 8123), base_url="http://127.0.0.1:8123", raise_server_exceptions=False
    )
    client.headers["authorization"] = "Bearer secret"
    return client


def page_routes(rng: random.Random) -> None:
    """The page itself: any address, header and body; never an error of the server, never a page without its guards."""
    how = rng.random()
    if how < 0.6:
        body = damaged_json(rng, REQUESTS["GameRequest"]).encode("utf-8", "surrogatepass")
        answer = _client().post(
            "/api/game", content=body, headers={"content-type": "application/json", "origin": "http://127.0.0.1:8123"}
        )
    else:
        path = "/" + rng.choice(("", "static/", "api/", "api/data", "api/about", "..%2f", "static/app.js"))
        noise = "".join(c for c in any_text(rng, 20) if c.isprintable() and c.isascii() and c not in '?#\\ "<>[]{}|^`%')
        answer = _client().get(path + noise + rng.choice(("", "?token=x", "?seen=" + noise)))
    if answer.status_code >= 500:
        raise Wrong(
            f"status {answer.status_code} of {answer.request.method} {answer.request.url}: {answer.request.content!r:.300}"
        )
    if "content-security-policy" not in answer.headers:
        raise Wrong(f"no guard on {answer.request.url}")


def integer_flows(rng: random.Random) -> None:
    """Max flows of whole capacities against scipy's; a small one also by its unique flows."""
    layers, tokens = rng.randrange(1, 4), rng.randrange(1, 5)
    capacity = np.array(
        [[[rng.choice((0, 0, 1, 2, 3, 7)) for _ in range(tokens)] for _ in range(tokens)] for _ in range(layers)],
        dtype=float,
    )
    supply, demand = capacity[-1].sum(axis=1), capacity[0].sum(axis=0)
    if rng.random() < 0.3:
        supply, demand = np.minimum(supply, rng.randrange(1, 5)), np.minimum(demand, rng.randrange(1, 5))
    try:
        network = LayeredNetwork(capacity, supply, demand)
        found = maximum_flow(network)
    except AccreditError:
        return
    truth = _scipy_flow(network)
    if abs(found.value - truth) > 1e-9 * max(1, truth) or abs(network.cut_parts(found.source_side).sum() - truth) > 1e-9 * max(
        1, truth
    ):
        raise Wrong(f"max flow {found.value}, truth {truth}: {capacity.tolist()}")
    if rng.random() < 0.1:
        with suppress(AccreditError):
            flow = unique_flow(network, rng.choice(("barrier", "l2")))
            if abs(flow.certificate.max_flow - truth) > 1e-9 * max(1, truth) or flow.value < truth - 2e-6:
                raise Wrong(
                    f"unique flow {flow.value}, certificate {flow.certificate.max_flow}, truth {truth}: {capacity.tolist()}"
                )


def _scipy_flow(network: LayeredNetwork) -> int:
    layers, tokens = network.layers, network.tokens
    source, sink = (layers + 1) * tokens, (layers + 1) * tokens + 1
    matrix = np.zeros((sink + 1, sink + 1), dtype=np.int32)
    for layer in range(layers):
        for i in range(tokens):
            matrix[(layer + 1) * tokens + i, layer * tokens : (layer + 1) * tokens] = network.capacity[layer, i]
    matrix[source, layers * tokens : (layers + 1) * tokens] = network.supply
    matrix[:tokens, sink] = network.demand
    return int(scipy_max_flow(csr_array(matrix), source, sink).flow_value)


def estimators(rng: random.Random) -> None:
    """Estimates against exact values: efficient where claimed, and never further off than their intervals allow by far."""
    n = rng.randrange(1, 7)
    seed = rng.randrange(2**31)
    v = KINDS[rng.choice(tuple(KINDS))](np.random.default_rng(seed), n) * 10.0 ** rng.choice((0, 0, 6, -6, 40, -40))
    table, budget = TableGame([f"p{i}" for i in range(n)], v), rng.randrange(2, 100)
    solver = rng.choice((Permutations, Antithetic, Differences, SampledBanzhaf, Surrogate))
    try:
        found = solver(budget=budget, seed=seed % 1000).solve(asked_game(v))
    except AccreditError:
        return
    exact = (banzhaf if solver is SampledBanzhaf else shapley)(table)
    scale = float(np.abs(v).max()) or 1.0
    if found.exact and np.abs(found.credit - exact.credit).max() > 1e-9 * scale:
        raise Wrong(f"{solver.__name__} of game {seed} calls {found.credit} exact; it is {exact.credit}")
    if solver is not SampledBanzhaf and abs(found.unshared or 0.0) > 1e-9 * scale:
        raise Wrong(f"{solver.__name__} of game {seed} leaves {found.unshared} unshared")
    if found.payoffs is None or found.payoffs > budget:
        raise Wrong(f"{solver.__name__} of game {seed} asked {found.payoffs} of {budget} payoffs")


@cache
def _journal() -> tuple[bytes, int]:
    from accredit.store import Journal, durable

    file = scratch() / "good.db"
    with Journal(file) as journal, durable(asked_game(np.arange(16.0)), journal, "serial", name={"game": "x"}) as game:
        shapley(game)
    return file.read_bytes(), 16


def journals(rng: random.Random) -> None:
    """Damaged journals: refused, or every payoff that is read is the one that was written."""
    from accredit.store import Journal

    content, _ = _journal()
    file = scratch() / "damaged.db"
    for part in ("", "-wal", "-shm", "-journal"):
        (scratch() / f"damaged.db{part}").unlink(missing_ok=True)
    file.write_bytes(damaged_bytes(rng, content))
    try:
        with Journal(file) as journal:
            for game in journal.games():
                for _, entry in journal.entries(int(game["id"])):
                    bits = int.from_bytes(entry.coalition, "little")
                    if entry.value is not None and entry.value != float(bits):
                        raise Wrong(f"coalition {bits} reads {entry.value}")
            journal.check()
    except AccreditError:
        return


FORESTS = (".ubj", ".json", ".txt")  # xgboost twice, lightgbm


def grown_forests() -> None:
    """Write one good file of each kind, once."""
    import lightgbm
    import xgboost

    if (scratch() / "model.txt").exists():
        return
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    boosted = xgboost.XGBRegressor(n_estimators=2, max_depth=2, n_jobs=1).fit(x, x[:, 0])
    for ending in FORESTS[:2]:
        boosted.save_model(scratch() / f"model{ending}")
    light = lightgbm.train({"verbose": -1, "num_threads": 1, "num_leaves": 4}, lightgbm.Dataset(x, x[:, 0]), 2)
    light.save_model(scratch() / "model.txt")


def tree_files(rng: random.Random) -> None:
    """Damaged files of tree ensembles: refused, or a forest whose credit is finite."""
    from accredit.trees import load_ensemble

    grown_forests()
    ending = rng.choice(FORESTS)
    file = scratch() / f"damaged{ending}"
    file.write_bytes(damaged_bytes(rng, (scratch() / f"model{ending}").read_bytes()))
    try:
        ensemble = load_ensemble(file)
        credit = ensemble.credit(np.array([[0.5, -0.25, 1.0]]), np.zeros((2, 3)))
    except AccreditError:
        return
    if not np.isfinite(credit.credit).all():
        raise Wrong(f"credit {credit.credit} from {file.read_bytes()!r:.100}")


TARGETS: dict[str, tuple[Target, int]] = {  # name -> (target, executions of a full run)
    "results as JSON": (results_json, 300_000),
    "explanations as JSON": (explanation_json, 30_000),
    "chat messages": (chat_messages, 300_000),
    "requests of the page": (page_requests, 300_000),
    "routes of the page": (page_routes, 3_000),
    "groups and method names": (group_texts, 200_000),
    "table files": (table_files, 60_000),
    "game files": (game_files, 60_000),
    "flows": (integer_flows, 20_000),
    "estimators": (estimators, 20_000),
    "journals": (journals, 3_000),
    "tree files": (tree_files, 500),
}
CRASHING = ("tree files",)  # read by libraries in C++, which may end the process
