"""What the model's process can do, and the models that it holds."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from accredit.errors import InvalidInput
from accredit.explanation.graph import graph_of
from accredit.explanation.loading import builtin_model, subject_of
from accredit.explanation.subject import Subject
from accredit.methods import DEFAULT, find, methods_for
from accredit.web.answering import WRITES, answer
from accredit.web.cards import image_card, plain_name, text_card, title_of
from accredit.web.explaining import explain, what_if
from accredit.web.flowing import flow, heads_of
from accredit.web.long_texts import tokens_in
from accredit.web.tables import explain_table
from accredit.web.trained import offer

TOKENS = 512  # of a text whose attention is followed
REMEMBERED = 4  # texts, flows and reports that are kept, so that a slider need not ask for them again

Event = dict[str, Any]
Kept = TypeVar("Kept")

WARM_UP: Event = {
    "task": "explain",
    "text": "A gripping film that never quite lands.",
    "image": None,
    "methods": None,
    "target": None,
    "players": "word",
    "payoff": None,
    "budget": None,
    "seed": 0,
    "pair": "",
    "cut": False,
    "part": None,
}
FIRST = min(DEFAULT, key=lambda name: find(name, "explain").payoffs(12, None))  # of the usual methods, the quickest
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
    """What was named when the server started: one model for texts, one for pictures, and explainers; none is added later."""

    def __init__(self, names: tuple[str, ...], explainers: tuple[str, ...] = ()) -> None:
        from accredit.models import TextModel, load_model
        from accredit.models.row_files import is_row_model_file, load_row_model

        self.by_kind: dict[str, Any] = {}
        model: object
        self.folders: dict[str, str] = {}
        for name in names:
            if is_row_model_file(name):
                kind, model = "table", load_row_model(name)
            else:
                model = load_model(name)
                kind = "text" if isinstance(model, TextModel) else "image"
                model.name = plain_name(name)
            if kind in self.by_kind:
                raise InvalidInput(f"--model {name!r} is a second model for {kind}; serve one at a time", code="duplicate")
            self.by_kind[kind], self.folders[kind] = model, name
        self.builtin = not self.by_kind.keys() & {"text", "image"}
        if self.builtin:
            self.by_kind["text"] = builtin_model("text")
        self.recent = Recent(3 * REMEMBERED)
        self.explainers = offer(explainers)

    def of(self, kind: str) -> Any:
        """The model for texts or for pictures."""
        if kind == "image" and self.builtin and "image" not in self.by_kind:
            self.by_kind["image"] = builtin_model("image")
        if kind not in self.by_kind:
            raise InvalidInput(
                f"no model for {kind} was named at the start; run accredit serve --model FOLDER with one", code="missing"
            )
        return self.by_kind[kind]

    def warm_up(self) -> Iterator[str]:
        """Run every usual method once on a short text, and one on a picture, so that the first request pays for no import.

        One step at a time, so that a request that comes meanwhile is served in between.
        """
        tasks = [{**WARM_UP, "methods": [method]} for method in dict.fromkeys((FIRST, *DEFAULT))]
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
            else text_card(text, self.builtin, self.folders.get("text")) | {"layers": self._layers(), "heads": heads_of(text)},
            "image": image_card(image, self.folders.get("image")) if served else None,
            "builtin": self.builtin,
            "table": self.by_kind["table"].name if "table" in self.by_kind else None,
            "answers": self.builtin or getattr(text, "task", "") in WRITES,
            "methods": [title_of(method, method.spelled) for method in methods_for("explain") if method.kind != "learned"]
            + [{**title_of(find(name, "explain").method, name), "title": name} for name in self.explainers],
            "default": list(DEFAULT),
        }

    def _layers(self) -> int | None:
        """Layers through which attention flows, if the model shows any."""
        with suppress(Exception):  # what fails here fails again, and is reported, when it is asked for
            return len(graph_of(self.attention_of(WARM_UP["text"])).attention)
        return None

    def attention_of(self, text: str, **settings: object) -> Subject:
        """A text as the model reads it; `settings` are heads and layers."""

        def read() -> Subject:
            model = self.of("text")
            if (count := tokens_in(model, text)) > (most := min(int(model.longest()), TOKENS)):
                raise InvalidInput(
                    f"the text has {count:,} tokens, and this view draws up to {most:,}; shorten it, or let Explain read it "
                    "part by part",
                    code="too-many",
                )
            return replace(subject_of(model, text, players="token"), settings=settings)

        return self.recent.get(("read", text, str(settings)), read)


TASKS: dict[str, Callable[[Models, Event], Iterator[Event]]] = {
    "explain": explain,
    "what-if": what_if,
    "flow": flow,
    "answer": answer,
    "table": explain_table,
}
