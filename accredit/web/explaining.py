"""Explain on the page: a text, a pair, a part of a long text or a picture, method by method; and what if it were another."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Generator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from accredit.errors import InvalidInput
from accredit.explanation.explainer import Explainer, choose_methods
from accredit.explanation.long_texts import parts, predict, summary, tokens_in
from accredit.explanation.requests import PictureRequest, Request, TextRequest, make_request, settings_of
from accredit.explanation.result import Explanation
from accredit.explanation.stream import Done, Ended, Explained, MethodProgress, Refused, Started, assemble, events
from accredit.explanation.subject import Subject
from accredit.views import explanation_page
from accredit.views.language.phrases import title
from accredit.views.pages.explanation_page import explanation_blocks, headline
from accredit.views.pages.what_if import what_if_body
from accredit.web.costs import afford, with_notes
from accredit.web.trained import place, without_places

if TYPE_CHECKING:
    import PIL.Image

    from accredit.models import TextModel
    from accredit.web.tasks import Models

TOKENS = 2048
PIXELS = 16_000_000
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
OF_PICTURES = ("patches", "patches:49", "segments")  # players that a picture may have

Event = dict[str, Any]
Made = TypeVar("Made", bound=Request)


def explain(models: Models, task: Event) -> Generator[Event]:
    """Method after method, the quickest first; after each, the blocks of the page that it changes."""
    asked = place(choose_methods(task["methods"] or models.usual), models.explainers)
    tokens, alone = _length(models, task)
    if alone:
        task = {**task, "part": 0}
    elif tokens:
        most = most_tokens(models.model("text"))
        problem = f"this text has {tokens:,} tokens, and the model reads {most:,} at once"
        yield {"event": "failed", "long": {"tokens": tokens, "reads": most}, "problem": problem}
        return
    subject, about = _read(models, task)
    subject, refused, notes = afford(subject, asked, task.get("seconds", math.inf))
    ended: list[Ended] = [*refused]
    shown: dict[str, str] = {}
    run = [chosen for chosen in asked if chosen.name not in {each.method for each in refused}]
    for event in events(subject, run, progress=True, quickest_first=True):
        if isinstance(event, Started | MethodProgress):
            yield _progress(event, len(ended), len(asked))
        elif isinstance(event, Explained):
            made = with_notes(assemble(subject, asked, ended), notes)
            yield {"event": "done", "page": explanation_page(made), "json": made.to_json()}
        else:
            if isinstance(event, Refused):
                why, error = without_places(event.why, models.explainers), event.error
                event = Refused(event.method, InvalidInput(why, argument=error.argument, code=error.code))
            ended.append(event)
            explanation = with_notes(assemble(subject, asked, ended), notes)
            blocks = explanation_blocks(explanation, live="page")
            fresh = {name: block for name, block in blocks.items() if shown.get(name) != block}
            shown = blocks
            yield {
                "event": "result",
                "done": len(ended),
                "of": len(asked),
                "title": headline(explanation),
                "order": list(blocks),
                "blocks": fresh,
                "target": explanation.target,
                **about,
                "tokens": [[t.shown, t.player, t.special, t.start, t.end, t.part] for t in explanation.tokens],
            }


def what_if(models: Models, task: Event) -> Generator[Event]:
    """A text and the same text changed, by one method, for the output that the first one was explained for."""
    asked = place(choose_methods([task["method"]]), models.explainers)
    explainer, request = models.of("text"), replace(ask_by(task, TextRequest), cut=True)
    made: list[Explanation] = []
    for text, pair in ((task["text"], task["pair"]), (task["changed"], task["changed_pair"])):
        subject = explainer.subject((text, pair) if pair else text, request)
        request = replace(request, target=subject.game.target)
        ended: list[Ended] = []
        for event in events(subject, asked, progress=True):
            if isinstance(event, Started | MethodProgress):
                yield _progress(event, len(made), 2)
            elif isinstance(event, Refused):
                raise InvalidInput(without_places(event.why, models.explainers), code="unsupported")
            elif isinstance(event, Done):
                ended.append(event)
        made.append(assemble(subject, asked, ended))
    yield {"event": "result", "done": 2, "of": 2, "html": what_if_body(*made)}
    yield {"event": "done"}


def ask_by(task: Event, request: type[Made]) -> Made:
    """The request that a task of the page makes."""
    return make_request(request, {name: task[name] for name in settings_of(request) if name in task})


def _progress(event: Started | MethodProgress, done: int, of: int) -> Event:
    known = {"event": "progress", "method": title(event.method), "done": done, "of": of}
    if isinstance(event, Started):
        return known
    return {**known, "share": event.done / max(event.of, 1), "seconds_left": event.seconds_left}


def _length(models: Models, task: Event) -> tuple[int, bool]:
    """How many tokens a text has that cannot be read at once, and whether it can be read in parts; 0: it can."""
    if task["image"] or task["cut"] or task["part"] is not None or not task["text"].strip():
        return 0, False
    model, texts = models.model("text"), [text for text in (task["text"], task["pair"]) if text]
    count = tokens_in(model, *texts)
    alone = len(texts) == 1 and model.task == "classify"
    return (count, alone) if count > most_tokens(model) else (0, False)


def most_tokens(model: TextModel) -> int:
    """Tokens that one request may have."""
    return min(int(model.longest()), TOKENS)


def _read(models: Models, task: Event) -> tuple[Subject, Event]:
    """What is explained, and what the page is told of it."""
    if task["image"]:
        players = task["players"] if task["players"] in OF_PICTURES else None
        shown = ask_by({**task, "players": players}, PictureRequest)
        return models.of("picture").subject(_picture(task["image"]), shown), {}
    explainer, text, about = models.of("text"), task["text"], Event()
    if task["players"] in OF_PICTURES:
        raise InvalidInput(
            f"players is {task['players']!r}, which is for pictures; of a text, words or tokens play",
            argument="players",
            code="misplaced",
        )
    if task["part"] is not None:
        text, about = _part(models, explainer, text, task["part"])
    given = (text, task["pair"]) if task["pair"] else text
    subject = explainer.subject(given, ask_by({**task, "cut": task["cut"] or bool(about)}, TextRequest))
    if len(subject.owner) > TOKENS:
        raise InvalidInput(f"the text has {len(subject.owner):,} tokens; this page explains up to {TOKENS:,}", code="too-many")
    return subject, {**about, "text": text}


def _part(models: Models, explainer: Explainer, text: str, number: int) -> tuple[str, Event]:
    """One part of a long text, and what the model says of every part."""
    model = explainer.model_for("text")
    spans = models.recent.get(("parts", text), lambda: parts(model, text, most_tokens(model)))
    if not 0 <= number < len(spans):
        raise InvalidInput(f"there is no part {number + 1}; this text is read in {len(spans)}", code="range")
    pieces = [text[a:b].strip() for a, b in spans]
    said = models.recent.get(("said", text), lambda: predict(explainer, pieces))
    about = {"part": number, "parts": [[label, share] for label, share in said]}
    labels = [label for label, _ in said]
    return pieces[number], about | {"summary": summary(tokens_in(model, text), most_tokens(model), labels)}


def _picture(encoded: str) -> PIL.Image.Image:
    """A dropped picture; its size is read before its pixels are."""
    from accredit.models.pictures import open_picture

    try:
        sent = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput("the picture did not arrive whole; drop it once more", code="unreadable") from None
    return open_picture(sent, "the file", FORMATS, PIXELS)
