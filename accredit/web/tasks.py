"""What the model's process can do: explain an input method by method, and follow attention through the layers."""

from __future__ import annotations

import base64
import binascii
import io
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from accredit.core import AccreditError, Attribution, InvalidInput
from accredit.explanation.explainer import builtin_model, chosen, explanation_of, subject_of, timed
from accredit.explanation.flows import REPORTED, columns, picture
from accredit.explanation.methods import DEFAULT, RECIPES
from accredit.explanation.subject import Subject
from accredit.views import explanation_page
from accredit.views.escape import escape
from accredit.views.explanation import explanation_body, headline
from accredit.views.page import page
from accredit.web.flow_view import flow_body

TOKENS = 512
PIXELS = 16_000_000
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
REMEMBERED = 4  # texts whose attention is kept, so that a slider need not ask the model again
ORDERS = 60  # random orders of the Shapley rule of flows

Event = dict[str, Any]

WARM_UP: Event = {"task": "explain", "text": "A good film.", "image": None, "methods": None, "target": None, "players": "word",
                  "payoff": None, "budget": None, "seed": 0}  # fmt: skip


class Models:
    """The models that were named when the server started, one for texts and one for pictures; none is added later."""

    def __init__(self, names: tuple[str, ...]) -> None:
        from accredit.models import TextModel, load_model

        self.by_kind: dict[str, Any] = {}
        for name in names:
            model = load_model(name)
            kind = "text" if isinstance(model, TextModel) else "image"
            if kind in self.by_kind:
                raise InvalidInput(f"--model {name!r} is a second model for {kind}; serve one at a time")
            self.by_kind[kind] = model
        self.builtin = not names
        if self.builtin:
            self.by_kind["text"] = builtin_model("text")
        self.remembered: OrderedDict[str, Subject] = OrderedDict()

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
        """Run every usual method once on a short text, so that the first request pays for no import."""
        with suppress(Exception):  # what fails here fails again, and is told, when it is asked for
            for _ in explain(self, WARM_UP):
                pass

    def about(self) -> Event:
        """Names, labels and methods, for the page."""
        text = self.by_kind.get("text")
        return {
            "text": None if text is None else {"name": text.name, "labels": _labels(text)},
            "image": self.builtin or "image" in self.by_kind,
            "methods": list(RECIPES),
            "default": list(DEFAULT),
        }

    def attention_of(self, text: str) -> Subject:
        """A text as the model reads it; the last few are remembered."""
        if text not in self.remembered:
            self.remembered[text] = _short(subject_of(self.of("text"), text, "token"))
        self.remembered.move_to_end(text)
        while len(self.remembered) > REMEMBERED:
            self.remembered.popitem(last=False)
        return self.remembered[text]


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
    """Method after method, the quickest first; after each, everything that is known so far, in the order asked."""
    recipes = chosen(task["methods"])
    kind = "image" if task["image"] else "text"
    given = _picture(task["image"]) if task["image"] else task["text"]
    players = task["players"] if kind == "text" else None
    subject = _short(subject_of(models.of(kind), given, players, task["target"], task["payoff"]))
    subject.budget, subject.seed = task["budget"], task["seed"]
    attributions: dict[str, Attribution] = {}
    refused: dict[str, str] = {}
    seconds: dict[str, float] = {}
    explanation = None
    quickest = sorted(recipes, key=lambda each: each.payoffs(len(subject.players), subject.budget))
    for done, each in enumerate(quickest):
        yield {"event": "progress", "method": each.name, "done": done, "of": len(recipes)}
        try:
            attributions[each.name], seconds[each.name] = timed(each, subject)
        except AccreditError as error:
            refused[each.name] = str(error)
        ran = [other for other in recipes if other.name in attributions or other.name in refused]
        explanation = explanation_of(subject, ran, attributions, refused, seconds)
        yield {
            "event": "result", "done": done + 1, "of": len(recipes), "title": headline(explanation),
            "html": explanation_body(explanation, live=True),
            "tokens": [[t.shown, t.player, t.special] for t in explanation.tokens],
        }  # fmt: skip
    assert explanation is not None
    yield {"event": "done", "page": explanation_page(explanation), "json": explanation.to_json()}


def _picture(encoded: str) -> Any:
    """A dropped picture; its size is read before its pixels are."""
    from PIL import Image

    try:
        opened = Image.open(io.BytesIO(base64.b64decode(encoded, validate=True)), formats=FORMATS)
        if opened.width * opened.height > PIXELS:
            raise InvalidInput(f"the picture has {opened.width} × {opened.height} pixels; up to {PIXELS:,} are read")
        opened.load()
    except InvalidInput:
        raise
    except (binascii.Error, OSError, ValueError, SyntaxError) as error:
        raise InvalidInput(
            f"the file is no picture that can be read ({error}); drop a PNG, JPEG, GIF, WEBP or BMP"
        ) from None
    return opened


def flow(models: Models, task: Event) -> Iterator[Event]:
    """The flow of one text: first the drawing and the credit, then how far the credit is determined."""
    from accredit.attention import flow_report, joint_flow
    from accredit.flow import FlowGame, LayeredNetwork, credit_intervals, unique_flow

    yield {"event": "progress", "method": "max flow", "done": 0, "of": 2}
    subject = models.attention_of(task["text"])
    settings: dict[str, Any] = {"outputs": subject.outputs, "residual": task["residual"]}
    network = LayeredNetwork.from_attention(subject.attention, **settings)
    if task["layer"] > network.layers:
        raise InvalidInput(f"layer is {task['layer']}; this model has layers 0 (input) to {network.layers} (output)")
    solved = unique_flow(network, "l2" if task["rule"] == "l2" else "barrier")
    names, members = columns(subject, solved.demand)
    credit = joint_flow(
        subject.attention, rule=task["rule"], layer=task["layer"], groups=subject.groups, orders=ORDERS, **settings
    )
    drawing = picture(network, solved, f"flow, {task['rule']}", names, members, ())
    facts = {"layers": network.layers, "tokens": network.tokens}
    body = flow_body(drawing, credit, task["layer"], task["rule"], None, None)
    yield {"event": "result", "done": 1, "of": 2, "html": body, **facts}
    small = network.tokens <= REPORTED
    ranges = credit_intervals(FlowGame(network, layer=task["layer"], groups=subject.groups)) if small else None
    yield {"event": "progress", "method": "what all max flows agree on", "done": 1, "of": 2}
    report = flow_report(subject.attention, intervals=False, pairs=64, trials=1, **settings)
    body = flow_body(drawing, credit, task["layer"], task["rule"], ranges, report)
    yield {"event": "result", "done": 2, "of": 2, "html": body, **facts}
    yield {"event": "done", "page": page("How attention flows", f"<p>{escape(task['text'])}</p>{body}")}


TASKS: dict[str, Callable[[Models, Event], Iterator[Event]]] = {"explain": explain, "flow": flow}
