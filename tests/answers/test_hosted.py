"""Models behind a server: a real one on loopback over the built-in answering model, its replies broken on purpose."""

from __future__ import annotations

import itertools
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from accredit.answers.hosted import hosted_game, token_edges
from accredit.answers.hosted_model import HostedModel
from accredit.answers.server import Server, ServerError, check_url
from accredit.core.coalitions import from_index
from accredit.errors import Code
from accredit.explanation import explain_answer
from accredit.explanation.answers import answer_subject
from accredit.explanation.stream import listen
from accredit.games.batches import reporting
from accredit.models import builtin
from tests.wording import refused
from tools.model_server import Handler, ServedModel, serve

FACTS = ["Anna lives in Rome .", "Boris owns a dog .", "Clara lives in Oslo ."]
QUERY = "Where does Anna live ?"
SAID = "Anna lives in Rome ."
ASKED: dict[str, Any] = {"context": FACTS, "query": QUERY, "answer": SAID, "methods": "shapley"}


@pytest.fixture(scope="module")
def served() -> ServedModel:
    return ServedModel(*builtin.load_answers())


class Faults:
    """What a server does wrong, request by request; every request is counted."""

    def __init__(self, *script: object) -> None:
        self.script, self.seen, self.bodies, self.headers = list(script), 0, [], []
        self._lock = threading.Lock()

    def __call__(self, handler: Handler, body: dict[str, Any]) -> bool:
        with self._lock:
            self.seen += 1
            self.bodies.append(body)
            self.headers.append(dict(handler.headers))
            fault = self.script.pop(0) if self.script else None
        if fault is None:
            return False
        fault(handler, body)
        return True


def status(code: int, message: str = "no", **headers: str) -> Any:
    return lambda handler, body: handler.reply(code, {"error": {"message": message}}, **headers)


def cut_off(handler: Handler, body: dict[str, Any]) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.wfile.flush()
    handler.connection.shutdown(socket.SHUT_RDWR)


def drop_by_drop(handler: Handler, body: dict[str, Any]) -> None:
    """A reply that never ends, and never falls silent."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    with suppress(OSError):
        while True:
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.01)


def nested(handler: Handler, body: dict[str, Any]) -> None:
    handler.reply(200, b"[" * 100_000)


def broken_json(handler: Handler, body: dict[str, Any]) -> None:
    handler.reply(200, b'{"choices": ')


def slow(handler: Handler, body: dict[str, Any]) -> None:
    time.sleep(3.0)
    handler.reply(200, {})


def changed(**entries: Any) -> Any:
    """The true reply, with some entries of its choice changed by a function of them."""

    def fault(handler: Handler, body: dict[str, Any]) -> None:
        reply = handler.served.completions(body)
        for name, change in entries.items():
            reply["choices"][0][name] = change(reply["choices"][0][name])
        handler.reply(200, reply)

    return fault


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("ACCREDIT_API_KEY", raising=False)
    monkeypatch.setattr("accredit.answers.server.FIRST_WAIT", 0.01)
    yield


@pytest.mark.slow
def test_credit_is_that_of_the_model_itself(served: ServedModel) -> None:
    own = explain_answer(**ASKED)
    for way in (("echo",), ("prompt_logprobs",)):
        faults = Faults() if way == ("echo",) else Faults(*[_without_echo] * 100)
        with serve(served, faults) as url:
            found = explain_answer(**ASKED, model=url)
        np.testing.assert_allclose(found["shapley"].credit, own["shapley"].credit, atol=1e-5)
        assert found.said.text.strip() == SAID
        np.testing.assert_allclose(found.of("Rome")["shapley"].credit, own.of("Rome")["shapley"].credit, atol=1e-5)


def _without_echo(handler: Handler, body: dict[str, Any]) -> None:
    """As a server that knows prompt_logprobs and no echo."""
    if body.get("echo"):
        handler.reply(400, {"error": {"message": "Only no echo is supported"}})
    else:
        handler.reply(200, handler.served.completions(body))


class LlamaCpp:
    """As llama.cpp's own server: no echo, prompts as token numbers, a bias, and log-probabilities of what it writes."""

    def __init__(self, biased: bool = False) -> None:
        self.biased, self.forced, self.templates = biased, 0, 0

    def __call__(self, handler: Handler, body: dict[str, Any]) -> bool:
        served = handler.served
        if handler.path == "/tokenize":
            coded = served.tokenizer(body["content"], return_offsets_mapping=True)
            edges = [0, *(stop for _, stop in coded["offset_mapping"])]
            pieces = [body["content"][a:b] for a, b in itertools.pairwise(edges)]
            named = [{"id": i, "piece": p} for i, p in zip(coded["input_ids"], pieces, strict=True)]
            handler.reply(200, {"tokens": named})
            return True
        if handler.path == "/apply-template":
            self.templates += 1
            handler.reply(200, {"prompt": "\n".join(message["content"] for message in body["messages"])})
            return True
        if not isinstance(body["prompt"], list):
            body = {name: body[name] for name in ("prompt", "max_tokens", "temperature")}
            handler.reply(200, served.completions(body))
            return True
        likely = self._likely(served, body["prompt"])
        bias = body.get("logit_bias")
        self.forced += bias is not None
        drawn = bias[0][0] if bias else int(np.argmax(likely))
        stated = 0.0 if bias and self.biased else float(likely[drawn])
        top = [{"id": int(i), "logprob": float(likely[i])} for i in np.argsort(-likely)[: body["logprobs"]]]
        content = [{"id": drawn, "logprob": stated, "top_logprobs": top}]
        usage = {"prompt_tokens": len(body["prompt"]), "completion_tokens": 1}
        handler.reply(200, {"choices": [{"text": "", "logprobs": {"content": content}}], "usage": usage})
        return True

    @staticmethod
    def _likely(served: ServedModel, ids: list[int]) -> Any:
        import torch

        with torch.no_grad():
            return torch.log_softmax(served.model(input_ids=torch.tensor([ids])).logits[0, -1].float(), -1).numpy()


@pytest.mark.slow
def test_a_server_that_only_judges_what_it_writes_is_made_to_write_the_answer(served: ServedModel) -> None:
    own, dialect = explain_answer(**ASKED), LlamaCpp()
    with serve(served, dialect) as url:
        found = explain_answer(**ASKED, model=url)
    np.testing.assert_allclose(found["shapley"].credit, own["shapley"].credit, atol=1e-5)
    assert dialect.forced == 2 + len(found.said.pieces) * (1 + 2 ** len(FACTS))  # the test of the bias; the cut; the game
    assert f"{dialect.forced + 2} requests" in found.provenance["reading"]
    assert any("forced" in note.text for note in found.notes)


@pytest.mark.slow
def test_a_servers_own_chat_template_writes_messages(served: ServedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    def about(handler: Handler) -> None:
        handler.reply(200, {"chat_template": "…"} if handler.path == "/props" else {"data": [{"id": "served"}]})

    monkeypatch.setattr(Handler, "do_GET", about)
    template = LlamaCpp()
    with serve(served, template) as url:
        by_server = explain_answer(**ASKED, model=url)
        as_text = explain_answer(**ASKED, model=url, chat=False)
    assert template.templates >= 2 ** len(FACTS)
    np.testing.assert_allclose(by_server["shapley"].credit, as_text["shapley"].credit, atol=1e-9)
    assert any("the server's chat template" in note.text for note in by_server.notes)


def test_a_server_whose_log_probabilities_hold_the_bias_is_found_out(served: ServedModel) -> None:
    with serve(served, LlamaCpp(biased=True)) as url, refused("unsupported", "model", ServerError, has="after a bias"):
        explain_answer(**ASKED, model=url)


@pytest.mark.skipif(not os.environ.get("ACCREDIT_LLAMA"), reason="no llama.cpp server: ACCREDIT_LLAMA names its URL")
@pytest.mark.slow
def test_a_real_llama_cpp_server_credits_the_passage() -> None:
    from tools.language_model import need_model

    hosted = HostedModel(os.environ["ACCREDIT_LLAMA"], tokenizer=str(need_model()))
    said: dict[str, Any] = {
        "context": ["Mira Tolland was born in Selvik.", "The museum in Drusk opens at ten."],
        "query": "Where was Mira Tolland born?",
        "answer": "Mira Tolland was born in Selvik.",
        "methods": "shapley",
    }
    found = explain_answer(**said, model=hosted)
    assert found.of("Selvik")["shapley"].top(1).players == (said["context"][0],)
    own = explain_answer(**said, model=str(need_model()))
    np.testing.assert_allclose(found["shapley"].credit, own["shapley"].credit, atol=0.05)  # its keys and values have 16 bits
    by_server = explain_answer(**said, model=HostedModel(hosted.url))
    np.testing.assert_allclose(by_server["shapley"].credit, own["shapley"].credit, atol=0.05)
    bird = explain_answer(**said | {"answer": "Selvik 🐦."}, model=hosted)  # a character of several tokens
    assert any("🐦 earns nothing" in note.text for note in bird.notes)


@pytest.mark.slow
def test_answers_are_generated_and_words_of_them_are_targets(served: ServedModel) -> None:
    with serve(served) as url:
        found = explain_answer(context=FACTS, query=QUERY, model=url, target="in Rome", methods="loo")
    assert found.said.text.strip() == SAID
    assert found.of("in Rome")["leave-one-out"].top(1).players == (FACTS[0],)


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (status(401, "Incorrect API key provided: sk-secret"), "missing"),
        (status(404, "model not found"), "unknown"),
        (status(307, "moved", Location="http://127.0.0.1:1/v1"), "unavailable"),
        (status(429, "slow down", Retry_After="4000"), "unavailable"),
        (status(402, "no credit"), "unavailable"),
    ],
)
def test_failures_that_do_not_pass_end_the_run_at_once(
    served: ServedModel, fault: Any, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACCREDIT_API_KEY", "sk-secret")
    faults = Faults(fault)
    with serve(served, faults) as url, pytest.raises(ServerError) as caught:
        explain_answer(**ASKED, model=HostedModel(url, name="served"))
    assert caught.value.code == code and faults.seen == 1
    assert "sk-secret" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [status(429, "slow down", Retry_After="0"), status(500), status(503), cut_off, broken_json, slow],
    ids=["429", "500", "503", "connection cut", "broken JSON", "slow"],
)
def test_failures_that_pass_are_asked_again(served: ServedModel, fault: Any) -> None:
    faults = Faults(None, None, fault, fault)
    with serve(served, faults) as url:
        found = explain_answer(**ASKED, model=HostedModel(url, name="served", timeout=2.0 if fault is slow else 30))
    assert found["shapley"].top(1).players == (FACTS[0],)
    assert faults.seen == 1 + 8 + 2  # to cut the answer, for every coalition, and again


def test_a_wait_that_the_server_asks_for_is_kept(served: ServedModel) -> None:
    faults = Faults(status(429, Retry_After="1"))
    with serve(served, faults) as url:
        began = time.monotonic()
        Server(url, "NO_KEY").post("completions", {"prompt": "Anna", "max_tokens": 1})
    assert time.monotonic() - began >= 1.0 and faults.seen == 2


def test_a_server_that_never_recovers_is_given_up(served: ServedModel) -> None:
    faults = Faults(*[status(500, "out of memory")] * 9)
    with serve(served, faults) as url, refused("unavailable", kind=ServerError, has="out of memory"):
        Server(url, "NO_KEY", retries=2).post("completions", {"prompt": "Anna"})
    assert faults.seen == 3


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "said"), [(drop_by_drop, "whole reply"), (nested, "not a JSON")])
def test_a_reply_without_an_end_or_of_endless_depth_is_given_up(served: ServedModel, fault: Any, said: str) -> None:
    faults = Faults(*[fault] * 2)
    with serve(served, faults) as url, refused("unavailable", kind=ServerError, has=said):
        Server(url, "NO_KEY", retries=1, timeout=0.3).post("completions", {"prompt": "Anna"})
    assert faults.seen == 2


def test_other_tokens_and_no_log_probabilities_are_refused(served: ServedModel) -> None:
    def other(held: dict[str, Any]) -> dict[str, Any]:
        return held | {"tokens": [token.upper() for token in held["tokens"]]}

    def without(held: object) -> None:
        return None

    def too_large(held: dict[str, Any]) -> dict[str, Any]:
        return held | {"token_logprobs": [0.5] * len(held["tokens"])}

    cases: list[tuple[Any, Code, str]] = [
        (other, "unsupported", ""),
        (without, "unsupported", "model"),
        (too_large, "not-finite", ""),
    ]
    for change, code, argument in cases:
        faults = Faults(changed(logprobs=change, text=str.upper if change is other else str))
        if change is without:  # neither way has any
            faults = Faults(changed(logprobs=change), lambda handler, body: handler.reply(200, {"choices": [{"text": ""}]}))
        with serve(served, faults) as url, refused(code, argument, ServerError, has="served at"):
            hosted_game(HostedModel(url, name="served"), context=FACTS, query=QUERY, answer=SAID)


def test_a_token_over_the_edge_of_prompt_and_answer_is_refused(served: ServedModel) -> None:
    def merge(held: dict[str, Any]) -> dict[str, Any]:
        tokens = held["tokens"]
        k = tokens.index(" ?") if " ?" in tokens else len(tokens) - 7
        joined = [*tokens[:k], tokens[k] + tokens[k + 1], *tokens[k + 2 :]]
        return held | {"tokens": joined, "token_logprobs": held["token_logprobs"][:k] + held["token_logprobs"][k + 1 :]}

    with serve(served, Faults(changed(logprobs=merge))) as url, refused("unsupported", "answer", ServerError, has="one token"):
        hosted_game(HostedModel(url, name="served"), context=FACTS, query=QUERY, answer=SAID)


@pytest.mark.parametrize(
    "parts", [("tea", " \ufffd", "\ufffd", " ."), ("<s>", "tea", "", " \ufffd", " .", "!"), ("tea", " ", "", " .")]
)
def test_tokens_are_found_where_a_character_has_several(parts: tuple[str, ...]) -> None:
    text = "tea 茶 ."
    edges = token_edges(text, list(parts))
    assert edges is not None
    own = [(a, b) for a, b in edges if a >= 0 and b <= len(text)]
    assert own[0] == (0, 3) and own[-1] == (5, 7)
    assert [b for _, b in own[:-1]] == [a for a, _ in own[1:]]
    assert token_edges("tea 茶 cup .", list(parts)) is None  # ASCII is never between parts of characters


def test_characters_before_the_answer_that_a_server_writes_in_parts_do_not_move_it(served: ServedModel) -> None:
    """As vLLM and llama-cpp-python echo them; offsets into their own tokens would be wrong."""
    facts = ["Anna lives in Rome 🦜 .", *FACTS[1:]]

    def broken(part: str) -> Any:
        def fault(handler: Handler, body: dict[str, Any]) -> None:
            reply = served.completions(body)
            held = reply["choices"][0]["logprobs"]
            k = next((k for k, token in enumerate(held["tokens"]) if "🦜" in token), None)
            if k is not None:
                held["tokens"][k : k + 1] = [held["tokens"][k].replace("🦜", part), part, part]
                held["token_logprobs"][k : k + 1] = [held["token_logprobs"][k], -1.0, -1.0]
                held["text_offset"] = [0] * len(held["tokens"])
            handler.reply(200, reply)

        return fault

    with serve(served) as url:
        plain = explain_answer(**ASKED | {"context": facts}, model=url)
    for part in ("\ufffd", ""):
        with serve(served, Faults(*[broken(part)] * 100)) as url:
            found = explain_answer(**ASKED | {"context": facts}, model=url)
        np.testing.assert_allclose(found["shapley"].credit, plain["shapley"].credit, atol=1e-9)


@pytest.mark.slow
def test_an_interruption_does_not_wait_for_replies(served: ServedModel) -> None:
    """Whoever follows leaves while three requests hang and one waits as long as the server asked."""
    hanging = threading.Event()

    def hang(handler: Handler, body: dict[str, Any]) -> None:
        hanging.wait(90)

    faults = Faults(None, hang, hang, hang, status(429, Retry_After="90"))
    everybody = from_index(np.arange(2 ** len(FACTS)), len(FACTS))
    with serve(served, faults) as url:
        hosted = HostedModel(url, name="served", concurrency=4)
        subject = answer_subject(hosted, None, answer=SAID, context=FACTS, query=QUERY)

        def work(say: Any) -> None:
            with reporting(say):
                subject.game.ask(everybody)

        stream, began = listen(work, pace=0.0), time.monotonic()
        while faults.seen < 5:
            next(stream)
            assert time.monotonic() - began < 60
        began = time.monotonic()
        stream.close()
        assert time.monotonic() - began < 45
        hanging.set()
        assert subject.game.ask(everybody).shape == (8, len(subject.game.outputs))  # it may be asked again
    assert faults.seen > 5


@pytest.mark.slow
def test_a_stopped_run_goes_on_without_paying_again(served: ServedModel, tmp_path: Any) -> None:
    kept = tmp_path / "kept.db"
    first = Faults(None, None, None, None, status(401))
    with serve(served, first) as url:
        port = int(url.rsplit(":", 1)[1].split("/")[0])
        with refused("missing", kind=ServerError, has="kept.db"):
            explain_answer(**ASKED, model=HostedModel(url, name="served", concurrency=1), store=kept)
    second = Faults()
    with serve(served, second, port) as url:
        found = explain_answer(**ASKED, model=HostedModel(url, name="served", concurrency=1), store=kept)
    assert second.seen == 1 + 8 - 3  # the answer is cut again, and three coalitions were paid for
    third = Faults()
    with serve(served, third, port) as url:
        again = explain_answer(
            **(ASKED | {"payoff": "probability", "methods": "loo"}), model=HostedModel(url, name="served"), store=kept
        )
    assert third.seen == 1  # another payoff and method, from what was kept
    assert found["shapley"].top(1).players == again["leave-one-out"].top(1).players == (FACTS[0],)


@pytest.mark.slow
def test_no_more_is_spent_than_agreed(served: ServedModel) -> None:
    faults = Faults()
    with serve(served, faults) as url, refused("too-many", "most_tokens", has="per million"):
        explain_answer(**ASKED, model=HostedModel(url, name="served", most_tokens=100, price=2.0))
    assert faults.seen == 1  # to count the tokens of the whole prompt
    with serve(served, faults) as url, refused("too-many", "most_tokens"):
        explain_answer(**ASKED, model=HostedModel(url, name="served", most_tokens=10))
    assert faults.seen == 1  # not even that
    said: list[str] = []
    with serve(served, faults) as url:
        found = explain_answer(**ASKED, model=HostedModel(url, name="served", price=2.0), announce=said.append)
    assert "8 prompts" in said[0] and "per million" in said[0]
    assert "9 requests" in str(found.provenance["reading"])


def test_the_key_is_sent_and_is_nowhere_else(served: ServedModel, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    faults, kept = Faults(), tmp_path / "kept.db"
    with serve(served, faults) as url:
        hosted = HostedModel(url, name="served", key_variable="MY_KEY")
        found = explain_answer(**ASKED, model=hosted, store=kept)
    assert all(headers["Authorization"] == "Bearer sk-very-secret" for headers in faults.headers)
    written = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    found.to_html(tmp_path / "page.html")
    written += (tmp_path / "page.html").read_bytes()
    for text in (found.to_json(), str(found), repr(hosted), repr(hosted.server)):
        assert "sk-very-secret" not in text
    assert b"sk-very-secret" not in written
    with refused("unsafe", kind=ServerError):  # in the clear, to another machine
        Server("http://192.0.2.1/v1", "MY_KEY").get("models")


@pytest.mark.parametrize(
    "url", ["ftp://host/v1", "http://", "http://user:sk-secret@host/v1", "http://h/v1?key=sk-secret", "http://a b"]
)
def test_addresses_that_hold_keys_or_are_none_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="url") as caught:
        check_url(url)
    assert "sk-secret" not in str(caught.value)


def test_several_models_must_be_named(served: ServedModel) -> None:
    def two(self: Handler) -> None:
        self.reply(200, {"data": [{"id": "small"}, {"id": "large"}]})

    with pytest.MonkeyPatch.context() as patch, serve(served) as url:
        patch.setattr(Handler, "do_GET", two)
        with refused("missing", "name", has="small, large"):
            _ = HostedModel(url).served


def test_settings_by_name_are_checked() -> None:
    for server, code in (({"nam": "x"}, "unknown"), ({"asks": "speech"}, "unknown"), ({"concurrency": 0}, "range")):
        with pytest.raises(ValueError) as caught:
            explain_answer(**ASKED, model="http://127.0.0.1:9/v1", server=server)
        assert caught.value.code == code  # type: ignore[attr-defined]
    with refused("misplaced", "server"):
        explain_answer(**ASKED, server={"name": "x"})
    with refused("misplaced", "memory"):
        explain_answer(**ASKED, model="http://127.0.0.1:9/v1", memory=1e9)


@pytest.mark.parametrize("page", [status(302), status(403), lambda handler, body: handler.reply(200, b"<html>Welcome</html>")])
def test_messages_need_a_template_whatever_a_proxy_says_of_other_addresses(
    served: ServedModel, monkeypatch: pytest.MonkeyPatch, page: Any
) -> None:
    monkeypatch.setattr(Handler, "do_GET", lambda handler: page(handler, {}))
    hosted = {"name": "served"}
    with serve(served) as url:
        with refused("missing", "tokenizer"):
            explain_answer([{"role": "user", "content": "Where ?"}], model=url, server=hosted, answer="Rome", players="word")
        assert explain_answer(**ASKED, model=url, server=hosted)["shapley"].total


def test_requests_are_not_sent_more_often_than_allowed(served: ServedModel) -> None:
    with serve(served, Faults(*[status(200)] * 9)) as url:
        server, began = Server(url, "NO_KEY", per_minute=600), time.monotonic()
        for _ in range(4):
            server.post("completions", {})
    assert time.monotonic() - began >= 0.3


@pytest.mark.skipif(not os.environ.get("ACCREDIT_LLM"), reason="no real language model: ACCREDIT_LLM names its folder")
@pytest.mark.slow
def test_a_real_chat_model_behind_a_server_gets_its_own_credit() -> None:
    from tools.model_server import load

    folder = os.environ["ACCREDIT_LLM"]
    real = load(folder)
    asked: dict[str, Any] = {
        "context": ["Mira Tolland was born in Selvik.", "The museum in Drusk opens at ten."],
        "query": "Where was Mira Tolland born?",
        "answer": "Mira Tolland was born in Selvik — 茶.",
        "methods": "shapley",
    }
    own = explain_answer(**asked, model=real.model, tokenizer=real.tokenizer)
    with serve(real) as url:
        found = explain_answer(**asked, model=url, tokenizer=real.tokenizer)
    assert len(found.said.likely) == len(own.said.likely)
    np.testing.assert_allclose(found["shapley"].credit, own["shapley"].credit, atol=1e-3)
    assert found.of("Selvik")["shapley"].top(1).players == (asked["context"][0],)


KEY = "sk-planted-7f3a9c21d4"


@pytest.mark.parametrize(
    ("changes", "asked", "argument"),
    [
        ({}, {"answer": None, "generate": 8}, "answer"),  # what the server writes
        ({}, {"answer": None, "generate": 8, "asks": "chat"}, "answer"),
        ({}, {"answer": f"It is {KEY}."}, "answer"),
        ({}, {"context": [*FACTS, f"The key is {KEY}."]}, "prompt"),
        ({"name": KEY}, {}, "name"),
        ({"name": None}, {}, "name"),  # what it calls its model
        ({"path": f"/{KEY}/v1"}, {}, "url"),
    ],
)
def test_a_text_with_the_key_is_refused_before_it_is_kept(
    served: ServedModel,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    asked: dict[str, Any],
    argument: str,
) -> None:
    monkeypatch.setenv("ACCREDIT_API_KEY", KEY)
    monkeypatch.setattr(served, "_spell", lambda before, new: f" It is {KEY}.")
    monkeypatch.setattr(served, "name", KEY)
    with serve(served) as url, refused("unsafe", argument, kind=ServerError) as caught:
        place = url.replace("/v1", changes.get("path", "/v1"))
        said = {"context": FACTS, "query": QUERY, "answer": SAID} | asked
        hosted = HostedModel(place, name=changes.get("name", "served"), asks=said.pop("asks", "completions"))
        hosted_game(hosted, **said)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("name", ["tokens", "token_logprobs"])
def test_a_key_that_a_server_puts_into_a_reply_is_not_repeated(
    served: ServedModel, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("ACCREDIT_API_KEY", KEY)
    fault = changed(logprobs=lambda held: held | {name: [KEY] * len(held["tokens"])})
    with serve(served, Faults(fault)) as url, pytest.raises(ServerError) as caught:
        hosted_game(HostedModel(url, name="served"), context=FACTS, query=QUERY, answer=SAID)
    assert "[key]" in str(caught.value) and "planted" not in str(caught.value)
