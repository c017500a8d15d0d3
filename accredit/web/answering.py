"""Answers on the page: passages, a question and an answer in; the prompt coloured for every word of the answer out.

What is there first is shown first: the words of the answer as the model says them, one backward pass as a first look, where each
sentence comes from, then values of the game, the quickest first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from accredit.errors import InvalidInput
from accredit.explanation.answers import AnswerSubject
from accredit.explanation.citations import Citations, cite_subject
from accredit.explanation.explainer import Explainer
from accredit.explanation.requests import AnswerRequest
from accredit.explanation.result import Explanation
from accredit.explanation.stream import Done, Ended, MethodProgress, Refused, Started, assemble, events, listen
from accredit.explanation.stream import answer as answer_by
from accredit.explanation.subject import Memo
from accredit.games.batches import reporting
from accredit.methods import FOR_ANSWERS, Chosen, find, find_all
from accredit.views import explanation_page
from accredit.views.language.phrases import title
from accredit.views.pages.citations_page import verdict_block
from accredit.views.pages.explanation_page import explanation_body, headline
from accredit.web.explaining import ask_by

if TYPE_CHECKING:
    from accredit.answers.model import AnsweringModel
    from accredit.answers.said import Answer
    from accredit.web.tasks import Models

READ = 4096  # tokens of prompt and answer
NEW_TOKENS = 60  # of a generated answer
FIRST_LOOK = "attn-lrp"  # one backward pass, and on real models it finds the passages (docs/choosing.md)
FIRST_LOOK_PASSES = 5  # passes forwards that take about as long as that
READING, CITING = "Reading the prompt", "Where each sentence comes from"  # what is done, beside methods
WRITES = ("continue", "translate")  # tasks of models that answer

Event = dict[str, Any]
Made = TypeVar("Made")


def answer(models: Models, task: Event) -> Generator[Event]:
    """An answer, and credit of the parts of its prompt: all that is known so far is drawn again whenever more is."""
    asked = find_all(task["methods"] or FOR_ANSWERS, "answer")
    explainer = models.of("answer")
    given = _said(task)
    said = yield from _generate(explainer, given)
    began = time.monotonic()
    subject = yield from _read(explainer, given, said)
    pass_seconds = (time.monotonic() - began) / max(subject.game.passes, 1)
    look = [] if task["methods"] else [find(FIRST_LOOK, "answer")]
    known = Known(subject, given["query"] or "", pass_seconds, [*asked, *look])
    for chosen in look:
        yield from _look(known, chosen)
    if subject.unit == "passage" and given["rather_than"] is None:
        yield from _cite(known)
    yield from _solve(known, asked)
    made = known.explanation
    if not made.attributions:
        raise InvalidInput(next(iter(made.refused.values())), code="unsupported")
    yield {"event": "done", "page": explanation_page(made, known.citations), "json": made.to_json()}


@dataclass
class Known:
    """What is known so far."""

    subject: AnswerSubject
    query: str
    pass_seconds: float  # that one pass took, about
    methods: list[Chosen]
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
    began = time.monotonic()

    def speak(say: Callable[[Event], None]) -> Answer:
        def heard(text: str, tokens: int) -> None:
            left = (time.monotonic() - began) / tokens * (NEW_TOKENS - tokens)
            say({"event": "text", "text": text, "done": 0, "of": 1, "share": tokens / NEW_TOKENS, "seconds_left": left})

        return model.generate(prompt, max_new_tokens=NEW_TOKENS, heard=heard)

    said = yield from listen(speak)
    yield {"event": "text", "text": said.text, "whole": True}
    return said


def _read(explainer: Explainer, given: Event, said: Answer | str) -> Generator[Event, None, AnswerSubject]:
    """The prompt dealt out to players; how the model reads it, and what a pass costs, is tried out on the way."""

    def read() -> AnswerSubject:
        subject = explainer.subject(given["prompt"], ask_by({**given, "answer": said}, AnswerRequest))
        subject.said  # noqa: B018  with the whole prompt and with nobody's part: every drawing needs both, and they are kept
        return subject

    subject = yield from _count_passes(read, lambda what: {"event": "progress", "method": what, "done": 0, "of": 1}, READING)
    _check_length(int(subject.facts["prompt tokens"]) + int(subject.facts["answer tokens"]))
    return subject


def _check_length(tokens: int) -> None:
    if tokens > READ:
        raise InvalidInput(
            f"prompt and answer have {tokens:,} tokens; this page explains up to {READ:,}. Shorten them", code="too-many"
        )


def _count_passes(
    work: Callable[[], Made], progress: Callable[[str], Event], what: str
) -> Generator[Event, None, Made]:
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


def _look(known: Known, chosen: Chosen) -> Generator[Event]:
    """A first look at the whole answer. Where the method does not apply, nothing is said of it: nobody has asked for it."""
    yield known.progress(title(chosen.name), seconds_left=FIRST_LOOK_PASSES * known.pass_seconds)
    whole = replace(known.subject, games=known.subject.game.targets(known.subject.payoff, ()), memo=Memo())
    looked = answer_by(whole, chosen)
    if isinstance(looked, Refused):
        known.methods.remove(chosen)
        return
    known.done += 1
    known.ended.append(looked)
    yield known.result


def _cite(known: Known) -> Generator[Event]:
    """Where each sentence comes from, by passes with some passages alone."""
    known.citations = yield from _count_passes(lambda: cite_subject(known.subject, known.query), known.progress, CITING)
    known.done += 1
    if known.ended:
        yield known.result


def _solve(known: Known, asked: list[Chosen]) -> Generator[Event]:
    """Method after method, the quickest first."""
    for event in events(known.subject, asked, progress=True, quickest_first=True):
        if isinstance(event, Started):
            yield known.progress(title(event.method))
        elif isinstance(event, MethodProgress):
            yield known.progress(
                title(event.method), share=event.done / max(event.of, 1), seconds_left=event.seconds_left
            )
        elif isinstance(event, Done | Refused):
            known.ended.append(event)
            known.done += 1
            if known.explanation.attributions:
                yield known.result
