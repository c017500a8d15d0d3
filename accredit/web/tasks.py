"""What the model's process can do: explain an input method by method, and what the other views ask for."""

from __future__ import annotations

import base64
import binascii
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from accredit.core import InvalidInput
from accredit.explanation.explainer import asked_methods, builtin_model, subject_of
from accredit.explanation.graph import graph_of
from accredit.explanation.stream import Ended, Explained, Progress, Started, assembled, events
from accredit.explanation.subject import Subject
from accredit.methods import DEFAULT, methods_for
from accredit.views import explanation_page
from accredit.views.explanation import explanation_blocks, headline
from accredit.web.answering import WRITES, answer
from accredit.web.flowing import flow, heads_of
from accredit.web.tables import explain_table

TOKENS = 512
PIXELS = 16_000_000
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
REMEMBERED = 4  # texts, flows and reports that are kept, so that a slider need not ask for them again

Event = dict[str, Any]
Kept = TypeVar("Kept")

WARM_UP: Event = {"task": "explain", "text": "A gripping film that never quite lands.", "image": None, "methods": None,
                  "target": None, "players": "word", "payoff": None, "budget": None, "seed": 0}  # fmt: skip
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="  # a black pixel


class Recent:
    """The last few results, by what they were made from."""

    def __init__(self, most: int = REMEMBERED) -> None:
        self.most = most
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        """What was made from `key`; made now if it is not kept."""
        if key not in self._kept:
            self._kept[key] = make()
        self._kept.move_to_end(key)
        while len(self._kept) > self.most:
            self._kept.popitem(last=False)
        found: Kept = self._kept[key]
        return found


class Models:
    """The models that were named when the server started, one for texts and one for pictures; none is added later."""

    def __init__(self, names: tuple[str, ...]) -> None:
        from accredit.models import TextModel, load_model
        from accredit.models.row_files import is_row_model_file, load_row_model

        self.by_kind: dict[str, Any] = {}
        for name in names:
            if is_row_model_file(name):
                kind, model = "table", load_row_model(name)
            else:
                model = load_model(name)
                kind = "text" if isinstance(model, TextModel) else "image"
            if kind in self.by_kind:
                raise InvalidInput(f"--model {name!r} is a second model for {kind}; serve one at a time")
            self.by_kind[kind] = model
        self.builtin = not self.by_kind.keys() & {"text", "image"}
        if self.builtin:
            self.by_kind["text"] = builtin_model("text")
        self.recent = Recent(3 * REMEMBERED)

    def of(self, kind: str) -> Any:
        """The model for texts or for pictures."""
        if kind == "image" and self.builtin and "image" not in self.by_kind:
            self.by_kind["image"] = builtin_model("image")
        if kind not in self.by_kind:
            raise InvalidInput(
                f"no model for {kind} was named at the start; run accredit serve --model FOLDER with one"
            )
        return self.by_kind[kind]

    def warm_up(self) -> None:
        """Run every usual method once on a short text, and one on a picture, so that the first request pays for no import."""
        tasks = [WARM_UP, {**WARM_UP, "text": "", "image": DOT, "methods": ["leave-one-out"]}]
        for task in tasks if self.builtin else tasks[:1]:
            with suppress(Exception):  # what fails here fails again, and is reported, when it is asked for
                for _ in explain(self, task):
                    pass

    def about(self) -> Event:
        """Names, labels and methods, for the page."""
        text = self.by_kind.get("text")
        return {
            "text": None
            if text is None
            else {"name": text.name, "labels": _labels(text), "layers": self._layers(), "heads": heads_of(text)},
            "image": self.builtin or "image" in self.by_kind,
            "builtin": self.builtin,
            "table": self.by_kind["table"].name if "table" in self.by_kind else None,
            "answers": self.builtin or getattr(text, "task", "") in WRITES,
            "methods": [method.to_plain() for method in methods_for("explain")],
            "default": list(DEFAULT),
        }

    def _layers(self) -> int | None:
        """Layers through which attention flows, if the model shows any."""
        with suppress(Exception):  # what fails here fails again, and is reported, when it is asked for
            return len(graph_of(self.attention_of(WARM_UP["text"])).attention)
        return None

    def attention_of(self, text: str, **settings: Any) -> Subject:
        """A text as the model reads it; `settings` are heads and layers."""

        def read() -> Subject:
            return replace(_short(subject_of(self.of("text"), text, players="token")), settings=settings)

        return self.recent.get(("read", text, str(settings)), read)


def _labels(model: Any) -> list[str]:
    """Labels to choose from; a language model has too many."""
    count = int(getattr(model, "classes", 0))
    return [model.label(k) for k in range(count)] if model.task == "classify" and count <= 200 else []


def _short(subject: Subject) -> Subject:
    count = len(subject.owner)
    if count > TOKENS:
        raise InvalidInput(f"the text has {count} tokens; this page explains up to {TOKENS}. Shorten it")
    return subject


def explain(models: Models, task: Event) -> Iterator[Event]:
    """Method after method, the quickest first; after each, the blocks of the page that it changes."""
    asked = asked_methods(task["methods"])
    kind = "image" if task["image"] else "text"
    given = _picture(task["image"]) if task["image"] else task["text"]
    players = task["players"] if kind == "text" else None
    settings = {name: task[name] for name in ("target", "payoff", "budget", "seed")}
    subject = _short(subject_of(models.of(kind), given, players=players, **settings))
    ended: list[Ended] = []
    shown: dict[str, str] = {}
    for event in events(subject, asked, progress=True, quickest_first=True):
        if isinstance(event, Started):
            yield {"event": "progress", "method": event.method, "done": len(ended), "of": len(asked)}
        elif isinstance(event, Progress):
            share = {"share": event.done / max(event.of, 1), "seconds_left": event.seconds_left}
            yield {"event": "progress", "method": event.method, "done": len(ended), "of": len(asked), **share}
        elif isinstance(event, Explained):
            yield {"event": "done", "page": explanation_page(event.explanation), "json": event.explanation.to_json()}
        else:
            ended.append(event)
            explanation = assembled(subject, asked, ended)
            blocks = explanation_blocks(explanation, live=True)
            fresh = {name: block for name, block in blocks.items() if shown.get(name) != block}
            shown = blocks
            yield {
                "event": "result", "done": len(ended), "of": len(asked), "title": headline(explanation),
                "order": list(blocks), "blocks": fresh,
                "tokens": [[t.shown, t.player, t.special] for t in explanation.tokens],
            }  # fmt: skip


def _picture(encoded: str) -> Any:
    """A dropped picture; its size is read before its pixels are."""
    from accredit.models.pictures import open_picture

    try:
        sent = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput("the picture did not arrive whole; drop it once more") from None
    return open_picture(sent, "the file", FORMATS, PIXELS)


TASKS: dict[str, Callable[[Models, Event], Iterator[Event]]] = {
    "explain": explain, "flow": flow, "answer": answer, "table": explain_table,
}  # fmt: skip
