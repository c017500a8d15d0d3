"""Sampled replies: intervals that cover both draws, by simulation with known probabilities, and a chat server on loopback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from accredit.answers.hosted_model import HostedModel, says
from accredit.answers.replies import NOISE, noise_of, with_noise
from accredit.answers.server import ServerError
from accredit.core import Attribution, BoolArray, FloatArray
from accredit.core.coalitions import from_index, keys, to_index
from accredit.errors import BadPayoff
from accredit.explanation import explain_answer
from accredit.games import TableGame
from accredit.methods import find
from accredit.models import builtin
from accredit.values import shapley
from tests import wording
from tests.wording import refused
from tools.model_server import ServedModel, serve

FACTS = ["Anna lives in Rome .", "Boris owns a dog ."]
ASKED: dict[str, Any] = {"context": FACTS, "query": "Where does Anna live ?", "answer": "Rome"}


class Sampled:
    """Shares of m coin tosses with known probabilities, and their noise: what a chat server pays, without the server."""

    def __init__(self, truth: FloatArray, samples: int, rng: np.random.Generator) -> None:
        self.players = tuple("abcdefghijkl"[: int(np.log2(len(truth)))])
        self.outputs = ("answer", *NOISE)
        self._share = rng.binomial(samples, truth) / samples  # each coalition's replies are drawn once
        self._samples, self._salt = samples, rng.bytes(8)

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        share = self._share[to_index(coalitions)]
        noise = noise_of(share, self._samples, [self._salt + key for key in keys(coalitions)])
        return np.concatenate([share[:, None], noise], axis=1)


def probabilities(players: int, kind: str, seed: int) -> FloatArray:
    """Probabilities of all coalitions: one fact, one fact that is nearly always said or nearly never, or many that help a
    bit."""
    every = from_index(np.arange(2**players), players)
    if kind == "one fact":
        return np.where(every[:, 0], 0.8, 0.1)
    if kind == "nearly sure":
        return np.where(every[:, 0], 0.99, 0.01)
    pull = np.random.default_rng(seed).normal(size=players)
    return 1 / (1 + np.exp(-(every @ pull)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "players", "budget", "kind"),
    [
        ("shapley", 4, None, "one fact"),
        ("shapley", 4, None, "nearly sure"),
        ("leave-one-out", 4, None, "nearly sure"),
        ("leave-one-out", 4, None, "many"),
        ("permutations", 7, 200, "many"),
    ],
)
def test_intervals_cover_coalitions_and_replies(method: str, players: int, budget: int | None, kind: str) -> None:
    """At least 95 in 100 for a single player: a case fails where fewer are covered than a rate of 0.95 would leave but once in
    ten million (five cases: one false alarm in two million)."""
    runs, truth, rng = 60, probabilities(players, kind, 3), np.random.default_rng(players)
    game = TableGame(tuple("abcdefgh"[:players]), truth)
    value = _leave_one_out(truth, players) if method == "leave-one-out" else shapley(game).credit
    covered = 0
    for run in range(runs):
        found = find(method, "game").solver(budget, run).solve(Sampled(truth, 16, rng))
        by_output: dict[str, Attribution] = dict(found.items())
        credit = with_noise(by_output.pop("answer"), by_output, 16)
        assert credit.interval is not None
        covered += bool(credit.interval[0, 0] <= value[0] <= credit.interval[0, 1])
    assert covered >= stats.binom.ppf(1e-7, runs, 0.95)


def _leave_one_out(truth: FloatArray, players: int) -> FloatArray:
    full = 2**players - 1
    return np.array([truth[full] - truth[full ^ (1 << i)] for i in range(players)])


def test_noise_has_the_variance_of_a_share() -> None:
    """Of 20,000 normal draws the variance is within 6 % but for one time in a million."""
    share = np.full(320, 0.25)
    drawn = noise_of(share, 16, [bytes([k % 256, k // 256]) for k in range(320)])
    smooth = 5 / 18
    assert abs(drawn.var() / (smooth * (1 - smooth) / 16) - 1) < 0.06


@pytest.mark.slow
def test_a_chat_is_asked_until_there_are_enough_replies() -> None:
    served = ServedModel(*builtin.load_answers())
    seen: list[int] = []

    def one_at_a_time(handler: Any, body: dict[str, Any]) -> bool:
        seen.append(body["n"])
        body["n"] = 1
        return False

    with serve(served, one_at_a_time) as url:
        hosted = HostedModel(url, name="served", asks="chat", samples=2, answer_tokens=6, temperature=0.2)
        found = explain_answer(**ASKED, model=hosted)
    assert len(seen) == 2 * 4 and set(seen) == {2, 1}
    assert found.payoff == "score" and found.said is not None and found.said.text == "Rome"
    result = found["shapley"]
    assert not result.exact and result.interval is not None and result.top(1).players == (FACTS[0],)
    assert all(str(claim.holds) != "exactly" for claim in result.claims if claim.axiom != "efficiency")
    assert found.others == {}


@pytest.mark.slow
def test_replies_that_could_not_say_the_answer_are_reported() -> None:
    served, silent = ServedModel(*builtin.load_answers()), [True]

    def think(handler: Any, body: dict[str, Any]) -> bool:
        reply = served.chat(body)
        for k, choice in enumerate(reply["choices"]):
            if silent[0] or k == 0:
                choice["message"]["content"] = None
        handler.reply(200, reply)
        return True

    with serve(served, think) as url:
        hosted = HostedModel(url, name="served", asks="chat", samples=2, answer_tokens=2, temperature=0)
        with refused("empty", kind=ServerError, has="without a word"):
            explain_answer(**ASKED, model=hosted)
        silent[0] = False
        notes = [note.text for note in explain_answer(**ASKED, model=hosted, methods="loo").notes]
    assert wording.says(notes, "replies have no text") and wording.says(notes, "were cut after 2 tokens")


def test_what_is_not_linear_is_refused_for_sampled_replies() -> None:
    served = ServedModel(*builtin.load_answers())
    with serve(served) as url:
        hosted = HostedModel(url, name="served", asks="chat", samples=2, answer_tokens=4)
        found = explain_answer(**ASKED, model=hosted, methods=["loo", "lasso"])
        assert "linear" in found.refused["lasso"]
        with refused("unsupported", "target"):
            explain_answer(**ASKED, model=hosted, target="tokens")


@pytest.mark.parametrize(
    ("reply", "answer", "match", "right"),
    [
        ("It is Rome.", "rome", "contains", True),
        ("Romeo", "Rome", "contains", False),
        ("It is Rome.", "rome", "equal", False),
        ("ROME!", "rome", "equal", True),
        ("", "Rome", "contains", False),
        ("1,000", "1000", lambda reply, answer: reply.replace(",", "") == answer, True),
        ("!", "?", "equal", False),
    ],
)
def test_replies_match(reply: str, answer: str, match: str | Callable[[str, str], object], right: bool) -> None:
    assert says(reply, answer, match) is right


def test_a_rule_that_says_neither_is_refused() -> None:
    with refused("type", "match", BadPayoff):
        says("Rome", "Rome", lambda reply, answer: "yes")
    with refused("unknown", "match"):
        HostedModel("http://127.0.0.1/v1", match="fuzzy")


# Functions that return scores, and a journal of any function


def test_scores_of_functions_are_accepted_and_said() -> None:
    def score(prompts: list[str], answer: str) -> list[float]:
        return [0.75 if "Rome" in prompt else 0.25 for prompt in prompts]

    found = explain_answer(**ASKED, model=score, methods="shapley")
    assert found.payoff == "score" and found["shapley"].as_dict() == {FACTS[0]: 0.5, FACTS[1]: 0.0}
    assert any("scores" in str(note) for note in found.notes)
    with refused("not-finite", kind=BadPayoff):  # what is asked for by name needs log-probabilities
        explain_answer(**ASKED, model=score, payoff="mean")


def test_scores_that_begin_at_nothing_must_be_named() -> None:
    def against(prompts: list[str], answer: str) -> list[float]:
        return [0.0 if "Rome" in prompt else 0.5 for prompt in prompts]

    found = explain_answer(**ASKED, model=against, payoff="score", methods="shapley")
    assert found["shapley"][FACTS[0]] == -0.5
    with refused("not-finite", kind=BadPayoff):
        explain_answer(**ASKED, model=against, methods="shapley")


def test_a_journal_keeps_batches(tmp_path: Any) -> None:
    calls: list[int] = []

    def knows(prompts: list[str], answer: str) -> list[float]:
        calls.append(len(prompts))
        return [-0.1 if "Rome" in prompt else -3.0 for prompt in prompts]

    facts = [*FACTS, "Clara lives in Oslo .", "David owns a boat ."]
    plain = explain_answer(**(ASKED | {"context": facts}), model=knows, methods="shapley")
    without, calls[:] = list(calls), []
    kept = explain_answer(**(ASKED | {"context": facts}), model=knows, methods="shapley", store=tmp_path / "kept.db")
    assert sum(calls) == sum(without) and len(calls) == len(without) + 1  # everybody and nobody, then the rest in one call
    assert kept["shapley"].as_dict() == plain["shapley"].as_dict()
