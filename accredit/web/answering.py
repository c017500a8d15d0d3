"""Answers on the page: passages, a question and an answer in; the prompt coloured for every word of the answer out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from accredit.errors import InvalidInput
from accredit.explanation.answers import AnswerSubject
from accredit.explanation.requests import AnswerRequest
from accredit.explanation.stream import Ended, Explained, MethodProgress, Started, events
from accredit.methods import FOR_ANSWERS, find_all
from accredit.views import explanation_page
from accredit.views.language.phrases import title
from accredit.views.pages.explanation_page import explanation_body, headline
from accredit.web.explaining import ask_by

if TYPE_CHECKING:
    from accredit.web.tasks import Models

READ = 4096  # tokens of prompt and answer
NEW_TOKENS = 60  # of a generated answer
WRITES = ("continue", "translate")  # tasks of models that answer

Event = dict[str, Any]


def answer(models: Models, task: Event) -> Iterator[Event]:
    """Credit of the parts of a prompt for an answer, method by method; what is drawn comes at the end."""
    asked = find_all(task["methods"] or FOR_ANSWERS, "answer")
    subject = _subject(models, task)
    ended: list[Ended] = []
    for event in events(subject, asked, progress=True, quickest_first=True):
        if isinstance(event, Started):
            yield {"event": "progress", "method": title(event.method), "done": len(ended), "of": len(asked)}
        elif isinstance(event, MethodProgress):
            share = {"share": event.done / max(event.of, 1), "seconds_left": event.seconds_left}
            yield {"event": "progress", "method": title(event.method), "done": len(ended), "of": len(asked), **share}
        elif isinstance(event, Explained):
            made = event.explanation
            if not made.attributions:
                raise InvalidInput(next(iter(made.refused.values())), code="unsupported")
            yield {
                "event": "result",
                "done": len(asked),
                "of": len(asked),
                "title": headline(made),
                "html": explanation_body(made, live="page"),
                "answer": made.said.text if made.said else "",
            }
            yield {"event": "done", "page": explanation_page(made), "json": made.to_json()}
        else:
            ended.append(event)


def _subject(models: Models, task: Event) -> AnswerSubject:
    explainer = models.of("answer")
    said = {name: task[name] if (task[name] or "").strip() else None for name in ("answer", "rather_than", "prompt")}
    said["generate"] = NEW_TOKENS if said["answer"] is None else None
    if prompt := said.pop("prompt"):
        said |= {"context": None, "query": None}
    else:
        passages = [passage for passage in task["context"] or () if passage.strip()]
        said |= {"context": passages, "query": task["query"] or ""}
    subject = explainer.subject(prompt, ask_by({**task, **said}, AnswerRequest))
    read = subject.facts["prompt tokens"] + subject.facts["answer tokens"]
    if read > READ:
        raise InvalidInput(
            f"prompt and answer have {read:,} tokens; this page explains up to {READ:,}. Shorten them", code="too-many"
        )
    return subject
