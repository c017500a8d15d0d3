"""What the model's process can do, and the models that it holds."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from accredit.errors import InvalidInput
from accredit.explanation.explainer import Explainer
from accredit.explanation.graph import graph_of
from accredit.explanation.long_texts import tokens_in
from accredit.explanation.requests import Kind, TextRequest
from accredit.explanation.subject import Subject
from accredit.methods import DEFAULT, find, methods_for
from accredit.web.answering import WRITES, answer
from accredit.web.cards import image_card, plain_name, text_card, title_of
from accredit.web.explaining import explain, what_if
from accredit.web.flowing import flow, graph, heads_of
from accredit.web.tables import explain_table
from accredit.web.trained import offer

TOKENS = 512  # of a text whose attention is followed
REMEMBERED = 4  # texts, flows and reports that are kept, so that a slider need not ask for them again

Event = dict[str, Any]
Kept = TypeVar("Kept")

FOR_WRITERS = ("shapley", "leave-one-out", "attn-lrp")  # the default for a text that a language model goes on with
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
WARM_UP_ANSWER: Event = {
    "task": "answer",
    "context": ["Rome is old.", "Oslo is new."],
    "query": "What is old?",
    "prompt": "",
    "answer": "Rome",
    "rather_than": None,
    "methods": None,
    "players": None,
    "removal": None,
    "budget": None,
    "seed": 0,
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


NAMES: Mapping[Kind, str] = {"text": "for text", "picture": "for image", "rows": "for table", "answer": "that writes"}


class Models:
    """What was named when the server started: an `Explainer` for texts, one for pictures, one for rows, and folders of trained
    explainers; none is added later."""

    def __init__(self, names: tuple[str, ...], explainers: tuple[str, ...] = ()) -> None:
        self.by_kind: dict[Kind, Explainer] = {}
        self.folders: dict[Kind, str] = {}
        for name in names:
            kind, explainer = _serve(name)
            if kind in self.by_kind:
                raise InvalidInput(f"--model {name!r} is a second model {NAMES[kind]}; serve one at a time", code="duplicate")
            self.by_kind[kind], self.folders[kind] = explainer, name
        self.builtin = not self.by_kind.keys() & {"text", "picture"}
        if self.builtin:
            own = Explainer()
            self.by_kind |= {"text": own, "picture": own, "answer": own}
        elif "text" in self.by_kind and self.model("text").task in WRITES:
            self.by_kind["answer"] = self.by_kind["text"]
        self.recent = Recent(3 * REMEMBERED)
        self.explainers = offer(explainers)

    def of(self, kind: Kind) -> Explainer:
        """What explains this kind of input."""
        if kind not in self.by_kind:
            raise InvalidInput(
                f"no model {NAMES[kind]} was named at the start; run accredit serve --model FOLDER with one", code="missing"
            )
        return self.by_kind[kind]

    def model(self, kind: Kind) -> Any:
        """The model that reads this kind of input."""
        return self.of(kind).model_for(kind)

    @property
    def usual(self) -> tuple[str, ...]:
        """Methods for a text where none is named: of a language model those that take seconds."""
        writes = "text" in self.by_kind and self.model("text").task in WRITES
        return FOR_WRITERS if writes else DEFAULT

    def warm_up(self) -> Iterator[Callable[[], None]]:
        """Steps for when nobody waits, so that the first request pays for no import: every usual method once on a short text,
        and one on a picture, by the built-in models. Of a served one that writes, only how it reads prompts is tried out.
        """
        if self.builtin:
            tasks = [{**WARM_UP, "methods": [method]} for method in dict.fromkeys((FIRST, *DEFAULT))]
            tasks += [{**WARM_UP, "text": "", "image": DOT, "methods": ["leave-one-out"]}]
            yield from (partial(self._warm_up, explain, task) for task in tasks)
        elif "answer" in self.by_kind:
            yield partial(self._warm_up, answer, WARM_UP_ANSWER)

    def _warm_up(self, work: Callable[[Models, Event], Generator[Event]], task: Event) -> None:
        with suppress(Exception):  # what fails here fails again, and is reported, when it is asked for
            for _ in work(self, task):
                pass

    def about(self) -> Event:
        """Names, labels, training and methods, for the page."""
        text = self.model("text") if "text" in self.by_kind else None
        image = self.model("picture") if "picture" in self.folders else None
        return {
            "text": None
            if text is None
            else text_card(text, self.builtin, self.folders.get("text")) | {"layers": self._layers(), "heads": heads_of(text)},
            "image": image_card(image, self.folders.get("picture")) if "picture" in self.by_kind else None,
            "builtin": self.builtin,
            "table": self.model("rows").name if "rows" in self.by_kind else None,
            "answers": "answer" in self.by_kind,
            "methods": [title_of(method, method.spelled) for method in methods_for("explain") if method.kind != "learned"]
            + [{**title_of(find(name, "explain").method, name), "title": name} for name in self.explainers],
            "default": list(self.usual),
        }

    def _layers(self) -> int | None:
        """Layers through which attention flows, if the model shows any."""
        with suppress(Exception):  # what fails here fails again, and is reported, when it is asked for
            return len(graph_of(self.attention_of(WARM_UP["text"])).attention)
        return None

    def attention_of(self, text: str, **settings: object) -> Subject:
        """A text as the model reads it; `settings` are heads and layers."""

        def read() -> Subject:
            model = self.model("text")
            if (count := tokens_in(model, text)) > (most := min(int(model.longest()), TOKENS)):
                raise InvalidInput(
                    f"the text has {count:,} tokens, and this view draws up to {most:,}; shorten it, or let Explain read it "
                    "part by part",
                    code="too-many",
                )
            return replace(self.of("text").subject(text, TextRequest(players="token")), settings=settings)

        return self.recent.get(("read", text, str(settings)), read)


def _serve(name: str) -> tuple[Kind, Explainer]:
    """What a name at the start names: the file of a model of rows, or a folder, which says itself what its model reads."""
    from accredit.models import TextModel, load_model
    from accredit.models.row_files import is_row_model_file

    if is_row_model_file(name):
        served = Explainer(name)
        served.model_for("rows")  # one that cannot be read is refused now
        return "rows", served
    model = load_model(name)
    model.name = plain_name(name)
    return "text" if isinstance(model, TextModel) else "picture", Explainer(model)


TASKS: dict[str, Callable[[Models, Event], Generator[Event]]] = {
    "explain": explain,
    "what-if": what_if,
    "flow": flow,
    "graph": graph,
    "answer": answer,
    "table": explain_table,
}
