"""What the model's process can do, and the models that it holds."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

from accredit.core import InvalidInput
from accredit.explanation.explainer import builtin_model, subject_of
from accredit.explanation.flows import REPORTED, columns, picture
from accredit.explanation.graph import graph_of
from accredit.explanation.subject import Subject, tokens_of
from accredit.methods import DEFAULT, methods_for
from accredit.views.flow_view import flow_body, flow_page
from accredit.web.answering import WRITES, answer
from accredit.web.cards import image_card, plain_name, text_card
from accredit.web.explaining import explain, what_if

TOKENS = 512  # of a text whose attention is followed
REMEMBERED = 4  # texts, flows and reports that are kept, so that a slider need not ask for them again
ORDERS = 60  # random orders of the Shapley rule of flows

Event = dict[str, Any]
Kept = TypeVar("Kept")

WARM_UP: Event = {"task": "explain", "text": "A gripping film that never quite lands.", "image": None, "methods": None,
                  "target": None, "players": "word", "payoff": None, "budget": None, "seed": 0, "pair": "",
                  "cut": False, "part": None}  # fmt: skip
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
        self.folders: dict[str, str] = {}
        for name in names:
            model = load_model(name)
            model.name = plain_name(name)
            kind = "text" if isinstance(model, TextModel) else "image"
            if kind in self.by_kind:
                raise InvalidInput(f"--model {name!r} is a second model for {kind}; serve one at a time")
            self.by_kind[kind], self.folders[kind] = model, name
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

    def warm_up(self) -> Iterator[str]:
        """Run every usual method once on a short text, and one on a picture, so that the first request pays for no import.

        One step at a time, so that a request that comes meanwhile is served in between.
        """
        tasks = [{**WARM_UP, "methods": [method]} for method in DEFAULT]
        tasks += [{**WARM_UP, "text": "", "image": DOT, "methods": ["leave-one-out"]}] if self.builtin else []
        for task in tasks:
            with suppress(Exception):  # what fails here fails again, and is reported, when it is asked for
                for _ in explain(self, task):
                    pass
            yield task["methods"][0]

    def about(self) -> Event:
        """Names, labels, training and methods, for the page."""
        text, image = self.by_kind.get("text"), self.by_kind.get("image")
        served = self.builtin or image is not None
        return {
            "text": None
            if text is None
            else text_card(text, self.builtin, self.folders.get("text")) | {"layers": self._layers()},
            "image": image_card(image, self.folders.get("image")) if served else None,
            "builtin": self.builtin,
            "answers": self.builtin or getattr(text, "task", "") in WRITES,
            "methods": [method.to_plain() for method in methods_for("explain")],
            "default": list(DEFAULT),
        }

    def _text_card(self, model: Any) -> Event:
        return text_card(model, self.builtin, self.folders.get("text"))

    def _layers(self) -> int | None:
        """Layers through which attention flows, if the model shows any."""
        with suppress(Exception):  # what fails here fails again, and is reported, when it is asked for
            return len(graph_of(self.attention_of(WARM_UP["text"])).attention)
        return None

    def attention_of(self, text: str) -> Subject:
        """A text as the model reads it."""
        return self.recent.get(text, lambda: _short(subject_of(self.of("text"), text, players="token")))


def _short(subject: Subject) -> Subject:
    count = len(subject.owner)
    if count > TOKENS:
        raise InvalidInput(f"the text has {count} tokens; this view draws up to {TOKENS}. Shorten it")
    return subject


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


TASKS: dict[str, Callable[[Models, Event], Iterator[Event]]] = {
    "explain": explain, "what-if": what_if, "flow": flow, "answer": answer,
}  # fmt: skip
