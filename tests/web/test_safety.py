"""Who is let in. The routes behind the gate are the real ones; no model is needed to be refused."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from accredit.store import Journal, fingerprint
from accredit.web.app import application, guard, page_files
from accredit.web.safety import BODY_LIMIT, HEADERS
from accredit.web.worker import Worker
from tests.wording import says

SECRET, PORT = "the-secret-of-this-test", 8123
BASE = f"http://127.0.0.1:{PORT}"
COOKIES = {"players": ["Alice", "Bob"], "payoffs": [0, 5, 3, 10]}


@pytest.fixture
def stranger() -> TestClient:
    return TestClient(guard(application(Worker()), SECRET, PORT), base_url=BASE)


BEARER = {"authorization": f"Bearer {SECRET}"}


@pytest.fixture
def client(stranger: TestClient) -> Iterator[TestClient]:
    stranger.headers.update(BEARER)
    yield stranger


def halves(stranger: TestClient) -> tuple[str, str]:
    """What the printed address is exchanged for: the cookie's value, and the word that the page keeps."""
    answer = stranger.get(f"/?token={SECRET}", follow_redirects=False)
    assert answer.status_code == 303
    stranger.cookies.clear()
    return answer.headers["set-cookie"].split("=")[1].split(";")[0], answer.headers["location"].partition("page=")[2]


def with_halves(stranger: TestClient, cookie: str, page: str) -> int:
    headers = {"cookie": f"accredit_{PORT}={cookie}", "x-accredit-page": page}
    return int(stranger.get("/api/about", headers=headers).status_code)


@pytest.mark.parametrize("path", ["/api/about", "/api/data", "/api/data.csv", "/api/no-such-route"])
def test_nothing_is_told_without_the_key(stranger, path):
    answer = stranger.get(path)
    assert answer.status_code == 403
    assert "accredit serve" in answer.json()["problem"] and SECRET not in answer.text
    assert stranger.post("/api/game", json=COOKIES).status_code == 403


def test_the_page_without_a_key_is_the_same_for_everybody(stranger):
    """It holds no secret: it asks for the key, so that a link survives a restart of the server."""
    assert 'id="locked"' in stranger.get("/").text and stranger.get("/static/app.js").status_code == 200
    assert SECRET not in stranger.get("/").text
    assert stranger.post("/", json={}).status_code == 403


def test_the_printed_address_becomes_one_without_the_key(stranger):
    answer = stranger.get(f"/?token={SECRET}", follow_redirects=False)
    assert answer.status_code == 303 and answer.headers["location"].startswith("/?page=")
    assert SECRET not in answer.headers["location"] + answer.headers["set-cookie"] + answer.text
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and cookie.startswith(f"accredit_{PORT}=")


def test_the_printed_address_opens_one_browser_once():
    """A browser writes every address into its history, also one that only led to another."""
    page = TestClient(guard(application(Worker()), SECRET, PORT, "a-ticket"), base_url=BASE)
    assert page.get("/?token=wrong", follow_redirects=False).headers["location"] == "/?page="
    first, second = (page.get("/?token=a-ticket", follow_redirects=False) for _ in range(2))
    assert first.headers["location"] == f"/?page={halves(page)[1]}" and "set-cookie" in first.headers
    assert second.headers["location"] == "/?page=" and "set-cookie" not in second.headers
    assert "set-cookie" not in page.get("/?token=", follow_redirects=False).headers  # a spent ticket is no empty key
    assert page.get("/api/about", headers={"authorization": "Bearer a-ticket"}).status_code == 403


def test_each_half_of_the_key_is_useless_alone(stranger):
    """A browser sends the cookie to every port of this host; what stays in a history is the other half."""
    cookie, page = halves(stranger)
    assert with_halves(stranger, cookie, page) == 200
    for wrong in (
        ("", page),
        (cookie, ""),
        (page, cookie),
        (cookie, cookie),
        (page, page),
        (SECRET, SECRET),
        (cookie[:-1], page),
    ):
        assert with_halves(stranger, *wrong) == 403
    stranger.cookies.clear()
    assert stranger.get("/api/about", headers={"authorization": f"Bearer {cookie}"}).status_code == 403


def test_another_server_gives_other_halves(stranger):
    cookie, page = halves(stranger)
    restarted = TestClient(guard(application(Worker()), SECRET + "2", PORT), base_url=BASE)
    assert with_halves(restarted, cookie, page) == 403


def test_the_key_that_is_pasted_opens_the_page(stranger):
    answer = stranger.post("/api/enter", json={"key": f" {SECRET}\n"})
    assert answer.status_code == 200
    cookie = answer.headers["set-cookie"].split("=")[1].split(";")[0]
    stranger.cookies.clear()
    assert with_halves(stranger, cookie, answer.json()["page"]) == 200


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[1]", b'{"key": 5}', b'{"key": "wrong"}', b'{"key": "' + b"x" * 2000 + b'"}', b"\xff"]
)
def test_a_wrong_key_is_refused_in_words(stranger, body):
    answer = stranger.post("/api/enter", content=body)
    assert answer.status_code in (403, 413) and answer.json()["problem"] and "set-cookie" not in answer.headers
    origin = {"origin": "http://evil.example"}
    assert stranger.post("/api/enter", json={"key": SECRET}, headers=origin).status_code == 403


def test_a_wrong_or_broken_cookie_is_no_key(stranger):
    _, page = halves(stranger)
    for value in ("wrong", "", "é", '"; x=[', SECRET[:-1]):
        headers = {"cookie": f"accredit_{PORT}={value}".encode(), "x-accredit-page": page}
        assert stranger.get("/api/about", headers=headers).status_code == 403


def test_the_key_in_another_path_opens_nothing(stranger):
    assert stranger.get(f"/api/about?token={SECRET}").status_code == 403


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", "", f"127.0.0.1:{PORT}."])
def test_other_names_for_this_machine_are_refused(client, host):
    assert client.get("/api/about", headers={"host": host}).status_code == 403


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1:1", "", f"127.0.0.1:{PORT}"],
)
def test_requests_from_other_pages_are_refused(client, origin):
    assert client.post("/api/game", json=COOKIES, headers={"origin": origin}).status_code == 403


def test_requests_that_the_browser_calls_foreign_are_refused(client):
    for site in ("cross-site", "same-site", "none"):
        assert client.post("/api/game", json=COOKIES, headers={"sec-fetch-site": site}).status_code == 403
        assert client.get("/api/about", headers={"sec-fetch-site": site}).status_code == 403
    same = {"origin": BASE, "sec-fetch-site": "same-origin"}
    assert client.post("/api/game", json=COOKIES, headers=same).status_code == 200


def test_long_requests_are_refused_by_their_announced_and_by_their_true_length(client):
    assert client.post("/api/game", content=b"x" * (BODY_LIMIT + 1)).status_code == 413
    pieces = (b"x" * (1 << 20) for _ in range((BODY_LIMIT >> 20) + 2))
    assert client.post("/api/game", content=pieces).status_code == 413
    assert client.post("/api/game", content=b"{}", headers={"content-length": "-5"}).status_code == 413


@pytest.mark.parametrize(
    "body",
    [
        b"{" + b",".join(b'"k%d":1' % k for k in range(200_000)) + b"}",
        b'{"payoffs":[' + b",".join([b'"x"'] * 200_000) + b"]}",
        b'{"text": "' + b'\\"' * 100_000 + b",,," * 10_000,  # a string that never ends
    ],
    ids=["names", "values", "open"],
)
def test_a_body_of_very_many_parts_is_refused_before_they_are_looked_at(client, body):
    answer = client.post("/api/game", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (413, 422) and answer.json()["problem"]
    if body[-1:] in b"}":
        assert "20,000" in answer.json()["problem"]


def test_commas_of_a_long_text_are_no_parts(client):
    asked = {"players": ["a"], "payoffs": [0, 1], "groups": "," * 300}
    assert "20,000" not in client.post("/api/game", json=asked | {"players": ["," * 30_000]}).text


def test_every_answer_carries_the_policy(client, stranger):
    answers = [client.get("/"), client.get("/nowhere"), client.get("/api/about", headers={"host": "evil"})]
    for answer in answers:
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
    assert "unsafe" not in HEADERS["content-security-policy"]


@pytest.mark.parametrize(
    "path",
    [
        "/docs",
        "/redoc",
        "/openapi.json",
        "/static/../app.py",
        "/static/%2e%2e%2fapp.py",
        "/static//etc/passwd",
        "/static/",
    ],
)
def test_there_is_nothing_else_to_fetch(client, path):
    assert client.get(path).status_code == 404


def test_no_request_takes_a_path_or_an_address():
    schema = application(Worker()).openapi()
    models = {
        name: model for name, model in schema["components"]["schemas"].items() if name.endswith("Request") or name == "Writing"
    }
    names = {name for model in models.values() for name in model["properties"]}
    assert names == {
        "text",
        "image",
        "methods",
        "target",
        "players",
        "payoff",
        "payoffs",
        "budget",
        "seed",
        "residual",
        "layer",
        "rule",
        "method",
        "groups",
        "order",
        "answer",
        "rather_than",
        "context",
        "query",
        "removal",
        "prompt",
        "pair",
        "changed",
        "changed_pair",
        "cut",
        "part",
        "table",
        "name",
        "shown",
        "row",
        "heads",
        "layers",
        "model",
        "task",
        "page",
        "edges",
        "source",  # a node of the edges, as is the sink
        "sink",
        "cheapest",
        "writing",
        "delimiter",
        "decimal",
        "index",
        "missing",
        "percent",
        "truth",  # two words
    }
    asked = {p["name"] for path in schema["paths"].values() for verb in path.values() for p in verb.get("parameters", ())}
    assert asked == {"seen"}


def test_sockets_are_refused(client):
    from starlette.websockets import WebSocketDisconnect

    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/api/about"):
        pass


def test_the_page_is_light_and_asks_nobody_else():
    files = page_files()
    assert sum(len(gzip.compress(content, 9)) for content in files.values()) <= 150_000
    for name, content in files.items():
        text = content.decode().replace("http://www.w3.org/2000/svg", "")
        assert "//" not in text.replace("// ", "") or name.endswith(".js"), name
        assert "http:" not in text and "https:" not in text, name
        assert "innerHTML" not in text and "eval(" not in text, name


def test_a_game_is_valued(client):
    answer = client.post("/api/game", json=COOKIES).json()
    assert answer["report"]["values"] == {"Alice": 6.0, "Bob": 4.0}
    assert "Alice" in answer["html"] and answer["page"].startswith("<!doctype html>")


@pytest.mark.parametrize(
    "change",
    [
        {"payoffs": [0, 1]},
        {"players": []},
        {"players": ["a", "a"]},
        {"payoffs": [0, 1, 2, "x"]},
        {"method": "owen"},
        {"extra": 1},
        {"players": ["x" * 100, "b"]},
        {"payoffs": [0, 1, 2, 1e300]},
    ],
)
def test_a_game_that_is_none_is_refused_in_words(client, change):
    answer = client.post("/api/game", json=COOKIES | change)
    assert answer.status_code == 422 and answer.json()["problem"]


def test_without_a_journal_the_data_view_says_so(client):
    assert "--store" in client.get("/api/data").json()["problem"]
    assert client.get("/api/data.csv").status_code == client.get("/api/values.csv").status_code == 404


BROKEN = {
    "no JSON": b"{",
    "not UTF-8": b"\xff\xfe",
    "deep": b"[" * 100_000,
    "an endless number": b'{"players": ["a"], "payoffs": [0, ' + b"9" * 5_000 + b"]}",
    "half a character": b'{"players": ["\\ud800"], "payoffs": [0, 1]}',
    "not a number": b'{"players": ["a"], "payoffs": [0, NaN]}',
    "infinite": b'{"players": ["a"], "payoffs": [0, 1e999]}',
    "null": b"null",
    "nothing": b"",
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
def test_a_body_that_is_none_is_refused_in_words(client, body):
    for path in ("/api/game", "/api/explain", "/api/flow"):
        answer = client.post(path, content=body, headers={"content-type": "application/json"})
        assert answer.status_code in (400, 422) and answer.json()["problem"]


def test_of_several_forms_the_one_that_was_nearly_met_is_told(client):
    asked = {"text": "a film", "players": {"x" * 100: [0]}}
    assert says(client.post("/api/explain", json=asked).json()["problem"], "most 80 characters")


def test_what_there_is_not_is_told_the_same_way(client):
    assert client.get("/nowhere").json() == {"problem": "Not Found"}
    assert client.get("/static/nowhere.js").json() == {"problem": "Not Found"}
    assert client.get("/api/game").json() == {"problem": "Method Not Allowed"}


def journal_client(path: Path) -> TestClient:
    client = TestClient(guard(application(Worker(), str(path)), SECRET, PORT), base_url=BASE)
    client.headers.update(BEARER)
    return client


def test_a_journal_of_many_runs_can_be_followed(tmp_path):
    path = tmp_path / "run.db"
    with Journal(path, several=True) as journal:
        for k in range(200):
            journal.enter(fingerprint(data=str(k)), ("a", "b"))
            journal.begin_run(["value", f"{k}.csv"], "/nowhere")
    client = journal_client(path)
    seen = client.get("/api/data").json()["state"]
    assert client.get("/api/data", params={"seen": seen}).status_code == 204


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"no journal " * 1000)])
def test_a_journal_that_is_gone_or_damaged_is_told_without_its_place(tmp_path, damage):
    path = tmp_path / "run.db"
    Journal(path).close()
    client = journal_client(path)
    assert client.get("/api/data").status_code == 200
    damage(path)
    for route in ("/api/data", "/api/data.csv", "/api/values.csv"):
        answer = client.get(route)
        assert answer.status_code == 422 and "run.db" in answer.json()["problem"]
        assert str(tmp_path) not in answer.text
