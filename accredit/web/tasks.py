"""What the model's process can do: explain an input method by method, and follow attention through the layers."""

from __future__ import annotations

import base64
import binascii
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

from accredit.core import InvalidInput
from accredit.explanation.explainer import asked_methods, builtin_model, subject_of
from accredit.explanation.flows import REPORTED, columns, picture
from accredit.explanation.graph import graph_of
from accredit.explanation.stream import Ended, Explained, Progress, Started, assembled, events
from accredit.explanation.subject import Subject, tokens_of
from accredit.methods import DEFAULT, methods_for
from accredit.views import explanation_page
from accredit.views.explanation import explanation_blocks, headline
from accredit.views.flow_view import flow_body, flow_page
from accredit.web.answering import WRITES, answer

TOKENS = 512
PIXELS = 16_000_000
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
REMEMBERED = 4  # texts, flows and reports that are kept, so that a slider need not ask for them again
ORDERS = 60  # random orders of the Shapley rule of flows

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
            "text": None if text is None else {"name": text.name, "labels": _labels(text), "layers": self._layers()},
            "image": self.builtin or "image" in self.by_kind,
            "builtin": self.builtin,
            "answers": self.builtin or getattr(text, "task", "") in WRITES,
            "methods": [method.to_plain() for method in methods_for("explain") if method.kind != "learned"],
            "default": list(DEFAULT),
        }

    def _layers(self) -> int | None:
        """Layers through which attention flows, if the model shows any."""
        with suppress(Exception):  # what fails here fails again, and is reported, when it is asked for
            return len(graph_of(self.attention_of(WARM_UP["text"])).attention)
        return None

    def attention_of(self, text: str) -> Subject:
        """A text as the model reads it."""
        return self.recent.get(text, lambda: _short(subject_of(self.of("text"), text, players="token")))


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


def flow(models: Models, task: Event) -> Iterator[Event]:
    """The flow of one text: first the drawing and the credit, then how far the credit is determined.

    What depends on fewer settings than were asked for is kept: another layer costs no solve of the flow.
    """
    from accredit.attention import flow_credit, flow_report, joint_flow
    from accredit.flow import FlowGame, LayeredNetwork, credit_intervals, unique_flow

    yield {"event": "progress", "method": "max flow", "done": 0, "of": 2}
    subject = models.attention_of(task["text"])
    rule, layer, keep = task["rule"], task["layer"], models.recent.get
    graph = graph_of(subject)
    settings: dict[str, Any] = {"outputs": graph.outputs, "residual": task["residual"]}
    network = LayeredNetwork.from_attention(graph.attention, **settings)
    if layer > network.layers:
        raise InvalidInput(f"layer is {layer}; this model has layers 0 (input) to {network.layers} (output)")
    drawn = "l2" if rule == "l2" else "barrier"
    solved = keep((task["text"], task["residual"], drawn), lambda: unique_flow(network, drawn))
    if rule == "shapley":
        credit = joint_flow(graph.attention, rule=rule, layer=layer, groups=graph.groups, orders=ORDERS, **settings)
    else:
        credit = flow_credit(solved, layer=layer, groups=graph.groups)
    names, members = columns(graph, solved.demand)
    drawing = picture(network, solved, f"flow, {rule}", names, members, ())
    facts = {"layers": network.layers, "tokens": network.tokens}
    tokens = [(t.shown, t.player) for t in tokens_of(subject)]
    yield {"event": "result", "done": 1, "of": 2, "html": flow_body(drawing, credit, layer, rule, tokens), **facts}
    yield {"event": "progress", "method": "what all max flows agree on", "done": 1, "of": 2}
    small = network.tokens <= REPORTED
    ranges = credit_intervals(FlowGame(network, layer=layer, groups=graph.groups)) if small else None
    report = keep(
        (task["text"], task["residual"]),
        lambda: flow_report(graph.attention, intervals=False, pairs=64, trials=0, flow=solved, **settings),
    )
    body = flow_body(drawing, credit, layer, rule, tokens, ranges, report)
    yield {"event": "result", "done": 2, "of": 2, "html": body, **facts}
    yield {"event": "done", "page": flow_page(task["text"], body)}


TASKS: dict[str, Callable[[Models, Event], Iterator[Event]]] = {"explain": explain, "flow": flow, "answer": answer}
