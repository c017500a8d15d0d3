"""Answers on the page: passages, a question and an answer in; the prompt coloured for every word of the answer out.

What is there first is shown first: the words of the answer as the model says them, one backward pass as a first look, where
each sentence comes from, then values of the game, the quickest first.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from accredit.defaults import LEAST_PASSES
from accredit.errors import InvalidInput
from accredit.explanation.answers import AnswerSubject, spend_by_cost, with_targets
from accredit.explanation.citations import Citations, cite_subject
from accredit.explanation.explainer import Explainer
from accredit.explanation.requests import AnswerRequest
from accredit.explanation.result import Explanation
from accredit.explanation.stream import Done, Ended, MethodProgress, Refused, Started, assemble, events, listen
from accredit.explanation.stream import answer as answer_by
from accredit.games.batches import reporting
from accredit.methods import FOR_ANSWERS, ChosenMethod, find, find_all
from accredit.views import explanation_page
from accredit.views.language.phrases import title
from accredit.views.pages.citations_page import verdict_block
from accredit.views.pages.explanation_page import explanation_body, headline
from accredit.web.costs import SHARE, refuse_dear
from accredit.web.explaining import ask_by

if TYPE_CHECKING:
    from accredit.answers.model import AnsweringModel
    from accredit.answers.said import Answer
    from accredit.web.tasks import Models

READ = 4096  # tokens of prompt and answer
NEW_TOKENS = 60  # of a generated answer
FIRST_LOOK = "attn-lrp"  # one backward pass, and on real models it finds the passages (docs/choosing.md)
LOOK = 4  # times as long as reading the prompt, about
READING, CITING, PRICING = "Reading the prompt", "Where each sentence comes from", "What a pass takes"  # beside methods
WRITES = ("continue", "translate")  # tasks of models that answer

Event = dict[str, Any]
Made = TypeVar("Made")


def answer(models: Models, task: Event) -> Generator[Event]:
    """An answer, and credit of the parts of its prompt: all that is known so far is drawn again whenever more is."""
    asked = find_all(task["methods"] or FOR_ANSWERS, "answer")
    explainer, given = models.of("answer"), _said(task)
    said = yield from _generate(explainer, given)
    known = yield from _read(explainer, given, said, asked)
    if not task["methods"]:
        yield from _look(known, find(FIRST_LOOK, "answer"))
    if known.subject.unit == "passage" and given["rather_than"] is None:
        yield from _cite(known)
    yield from _price(known, task.get("seconds", math.inf))
    yield from _solve(known)
    made = known.explanation
    if not made.attributions:
        raise InvalidInput(next(iter(made.refused.values())), code="unsupported")
    yield {"event": "done", "page": explanation_page(made, known.citations), "json": made.to_json()}


@dataclass
class AnswerSoFar:
    """What is known so far."""

    subject: AnswerSubject
    query: str
    asked: list[ChosenMethod]  # methods that are still to be run
    budgeted: bool  # how many payoffs they may ask was said
    began: float
    reading: float  # seconds that reading the prompt took
    methods: list[ChosenMethod] = field(default_factory=list)  # those, and the first look
    ended: list[Ended] = field(default_factory=list)
    citations: Citations | None = None
    done: int = 0  # steps of all: methods, and where sentences come from

    @property
    def explanation(self) -> Explanation:
        return assemble(self.subject, self.methods, self.ended)

    @property
    def result(self) -> Event:
        """All of it, to be drawn."""
        made = self.explanation
        verdict = verdict_block(self.citations) if self.citations else ""
        return {
            "event": "result",
            "done": self.done,
            "of": len(self.methods) + 1,
            "title": headline(made),
            "html": verdict + explanation_body(made, live="page"),
            "answer": made.said.text if made.said else "",
        }

    def progress(self, what: str, **more: float) -> Event:
        return {"event": "progress", "method": what, "done": self.done, "of": len(self.methods) + 1, **more}


def _said(task: Event) -> Event:
    """What is given: a prompt, or passages and a question; an answer, or none."""
    said = {name: task[name] if (task[name] or "").strip() else None for name in ("answer", "rather_than", "prompt")}
    if said["prompt"]:
        return {**task, **said, "context": None, "query": None}
    passages = [passage for passage in task["context"] or () if passage.strip()]
    return {**task, **said, "context": passages, "query": task["query"] or ""}


def _generate(explainer: Explainer, given: Event) -> Generator[Event, None, Answer | str]:
    """The answer that is given; or else the model's own, whose words are shown as they come."""
    if given["answer"] is not None:
        return str(given["answer"])
    model: AnsweringModel = explainer.model_for("answer")
    yield {"event": "progress", "method": READING, "done": 0, "of": 1}
    prompt = model.prompt(given["prompt"], **{name: given[name] for name in ("context", "query") if given[name] is not None})
    _check_length(len(model.tokenize_prompt(prompt)))

    def speak(say: Callable[[Event], None]) -> Answer:
        first = math.nan  # when the first word came: before it the prompt was read

        def heard(text: str, tokens: int) -> None:
            nonlocal first
            event = {"event": "text", "text": text, "done": 0, "of": 1, "share": tokens / NEW_TOKENS}
            if tokens > 1:
                event["seconds_left"] = (time.monotonic() - first) / (tokens - 1) * (NEW_TOKENS - tokens)
            else:
                first = time.monotonic()
            say(event)

        return model.generate(prompt, max_new_tokens=NEW_TOKENS, heard=heard)

    said = yield from listen(speak)
    yield {"event": "text", "text": said.text, "whole": True}
    return said


def _read(
    explainer: Explainer, given: Event, said: Answer | str, asked: list[ChosenMethod]
) -> Generator[Event, None, AnswerSoFar]:
    """The prompt dealt out to players, and how likely the answer is with the whole prompt and with nobody's part."""
    began = time.monotonic()
    least = given["budget"] or LEAST_PASSES  # what values may ask is decided later: by what a pass takes
    request = ask_by({**given, "answer": said, "budget": least, "target": "answer"}, AnswerRequest)

    def read() -> AnswerSubject:
        subject = explainer.subject(given["prompt"], request)
        subject.said  # noqa: B018  every drawing needs these two passes, and they are kept
        return subject

    subject = yield from _count_passes(read, lambda what: {"event": "progress", "method": what, "done": 0, "of": 1}, READING)
    _check_length(int(subject.facts["prompt tokens"]) + int(subject.facts["answer tokens"]))
    reading = time.monotonic() - began
    return AnswerSoFar(subject, given["query"] or "", asked, given["budget"] is not None, began, reading, list(asked))


def _check_length(tokens: int) -> None:
    if tokens > READ:
        raise InvalidInput(
            f"prompt and answer have {tokens:,} tokens; this page explains up to {READ:,}. Shorten them", code="too-many"
        )


def _count_passes(work: Callable[[], Made], progress: Callable[[str], Event], what: str) -> Generator[Event, None, Made]:
    """Work in a thread of its own; after every batch of passes the reader is told how many there were."""
    yield progress(what)

    def counting(say: Callable[[Event], None]) -> Made:
        count = 0

        def report(rows: int) -> None:
            nonlocal count
            count += rows
            say(progress(f"{what}, {count} passes"))

        with reporting(report):
            return work()

    return (yield from listen(counting))


def _look(known: AnswerSoFar, chosen: ChosenMethod) -> Generator[Event]:
    """A first look at the whole answer. Where the method does not apply, nothing is said of it: nobody has asked for it."""
    yield known.progress(title(chosen.name), seconds_left=LOOK * known.reading)
    looked = answer_by(known.subject, chosen)
    if isinstance(looked, Done):
        known.methods.append(chosen)
        known.ended.append(looked)
        known.done += 1
        yield known.result


def _cite(known: AnswerSoFar) -> Generator[Event]:
    """Where each sentence comes from, by passes with some passages alone."""
    look = next((each.attribution for each in known.ended if isinstance(each, Done)), None)
    relevance = None if look is None else look.credit[: len(known.subject.players)]

    def cite() -> Citations:
        return cite_subject(known.subject, known.query, relevance=relevance)

    known.citations = yield from _count_passes(cite, known.progress, CITING)
    known.done += 1
    if known.ended:
        yield known.result


def _price(known: AnswerSoFar, seconds: float) -> Generator[Event]:
    """How many payoffs values may ask, by what a pass takes here; what a request has no time for is refused at once."""
    before, began = known.subject.game.passes, time.monotonic()
    most = SHARE * (seconds - (began - known.began))

    def settle() -> AnswerSubject:
        return with_targets(known.subject) if known.budgeted else spend_by_cost(known.subject, most=most)

    known.subject = yield from _count_passes(settle, known.progress, PRICING)
    made, now = known.subject.game.passes - before, time.monotonic()
    each = (now - began) / made if made else known.reading / known.subject.game.passes
    refused = refuse_dear(known.subject, known.asked, each, seconds - (now - known.began), seconds)
    known.ended += refused
    known.done += len(refused)
    known.asked = [chosen for chosen in known.asked if chosen.name not in {each.method for each in refused}]
    if refused and known.explanation.attributions:  # else the reader would not see why nothing more comes
        yield known.result


def _solve(known: AnswerSoFar) -> Generator[Event]:
    """Method after method, the quickest first."""
    for event in events(known.subject, known.asked, progress=True, quickest_first=True):
        if isinstance(event, Started):
            yield known.progress(title(event.method))
        elif isinstance(event, MethodProgress):
            yield known.progress(title(event.method), share=event.done / max(event.of, 1), seconds_left=event.seconds_left)
        elif isinstance(event, Done | Refused):
            known.ended.append(event)
            known.done += 1
            if known.explanation.attributions:
                yield known.result
