"""What a browser may ask: every field bounded, none of them a path or an address.

Settings of explanations are those of the library's requests; here is only how much of each a browser may say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model
from pydantic_core import PydanticCustomError

from accredit.checks.table_format import Percent, TableFormat
from accredit.errors import InvalidInput
from accredit.explanation.requests import AnswerRequest as AnswerSettings
from accredit.explanation.requests import PictureRequest, Request, TextRequest
from accredit.methods import Place, every_method, find

CHARACTERS = 20_000
IMAGE_CHARACTERS = 7_000_000  # base64 of about 5 MB
TABLE_CHARACTERS = 5_000_000
EDGE_CHARACTERS = 1_000_000
GAME_PLAYERS = 10

Text = Annotated[str, Field(max_length=CHARACTERS)]
Name = Annotated[str, Field(min_length=1, max_length=80)]
METHOD = "unknown method"  # the kind of error that a name gives


def _usual(name: str, place: Place) -> str:
    """The usual name of a method, or what the library says of another."""
    try:
        chosen = find(name, place)
        if chosen.method.kind == "learned" and {"/", "\\"} & set(name):
            raise InvalidInput(
                f"method {name!r} names a folder, and the page takes none; run accredit serve --explainer FOLDER with it",
                code="misplaced",
            )
        return chosen.name
    except InvalidInput as error:
        raise PydanticCustomError(METHOD, "{said}", {"said": str(error)}) from None


Spelled = Field(min_length=1, max_length=400)
GameMethod = Annotated[str, Spelled, AfterValidator(lambda name: _usual(name, "game"))]
ExplainMethod = Annotated[str, Spelled, AfterValidator(lambda name: _usual(name, "explain"))]
DataMethod = Annotated[str, Spelled, AfterValidator(lambda name: _usual(name, "training data"))]
AnswerMethod = Annotated[str, Spelled, AfterValidator(lambda name: _usual(name, "answer"))]
Positions = Annotated[list[Annotated[int, Field(ge=0, le=4096)]], Field(min_length=1, max_length=512)]


Fields = Mapping[str, Any]  # the annotation of each field, as pydantic takes it


class PageRequest(BaseModel):
    """Unknown fields and numbers that are not finite are refused."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


def ask_with(
    name: str, doc: str, requests: Sequence[type[Request]], settings: Fields, **own: tuple[Any, Any]
) -> type[PageRequest]:
    """What the page asks with some settings of these requests: each as narrow as a browser may be, its default theirs.

    A name that none of the requests has is an error when the page starts; `own` fields are the page's, with their defaults.
    """
    defaults = {field.name: field.default for request in reversed(requests) for field in fields(request)}
    taken = {
        setting: (bounded | None if defaults[setting] is None else bounded, defaults[setting])
        for setting, bounded in settings.items()
    }
    made: type[PageRequest] = create_model(name, __base__=PageRequest, __doc__=doc, **own, **taken)  # type: ignore[call-overload]
    return made


Methods = Field(min_length=1, max_length=2 * len(every_method()))
SHARED: Fields = {
    "budget": Annotated[int, Field(ge=16, le=20_000)],
    "seed": Annotated[int, Field(ge=0, le=2**31)],
}
OF_INPUTS: Fields = {
    "target": Name,
    "payoff": Literal["log-odds", "logit", "probability", "margin"],
    **SHARED,
}
Unit = Literal["word", "token", "sentence"]
Part = Literal["patches", "patches:49", "segments"]

ExplainRequest = ask_with(
    "ExplainRequest",
    "A text, or two, or a picture as base64; which methods; who plays; of a long text its beginning, or one of its parts.",
    (TextRequest, PictureRequest),
    {
        "methods": Annotated[list[ExplainMethod], Methods],
        "players": Unit | Part | Annotated[dict[Name, Positions], Field(max_length=512)],
        "cut": bool,
        **OF_INPUTS,
    },
    text=(Text, ""),
    pair=(Text, ""),
    image=(Annotated[str, Field(max_length=IMAGE_CHARACTERS)] | None, None),
    part=(Annotated[int, Field(ge=0, le=1000)] | None, None),
)
WhatIfRequest = ask_with(
    "WhatIfRequest",
    "A text, the same text changed, and the method that explains both.",
    (TextRequest,),
    {"players": Unit, **OF_INPUTS},
    text=(Text, ...),
    changed=(Text, ...),
    pair=(Text, ""),
    changed_pair=(Text, ""),
    method=(ExplainMethod, ...),
)
AnswerRequest = ask_with(
    "AnswerRequest",
    "One prompt, or passages and a question; an answer, or none if the model is to say one; who plays, and how they leave.",
    (AnswerSettings,),
    {
        "context": Annotated[list[Text], Field(max_length=200)],
        "query": Text,
        "answer": Text,
        "rather_than": Text,
        "methods": Annotated[list[AnswerMethod], Methods],
        "players": Literal["passage", "sentence", "paragraph", "word", "token"],
        "removal": Literal["rebuild", "attention"],
        **SHARED,
    },
    prompt=(Text, ""),
)


class FlowRequest(PageRequest):
    """A text, and how its attention is made into a network."""

    text: Text
    residual: Annotated[float, Field(ge=0.0, le=0.95)] = 0.5
    layer: Annotated[int, Field(ge=0, le=200)] = 0
    rule: Literal["barrier", "l2", "shapley"] = "barrier"
    heads: Literal["mean", "max"] | Annotated[int, Field(ge=0, le=400)] = "mean"
    layers: Annotated[list[Annotated[int, Field(ge=0, le=200)]], Field(min_length=1, max_length=200)] | None = None


class GraphRequest(PageRequest):
    """Edges as the text of a file; where flow begins and ends (neither: a circulation of least cost); which flow of many."""

    edges: Annotated[str, Field(min_length=1, max_length=EDGE_CHARACTERS)]
    name: Annotated[str, Field(max_length=200)] = "edges.csv"
    source: Annotated[list[Name], Field(max_length=50)] = []
    sink: Annotated[list[Name], Field(max_length=50)] = []
    rule: Literal["none", "barrier", "l2", "l1"] = "barrier"
    cheapest: bool = False


class Writing(PageRequest):
    """How a table is written, where its file does not tell: fields of `TableFormat`, without the encoding, which is the
    browser's affair."""

    delimiter: Annotated[str, Field(max_length=10)] | None = None
    decimal: Literal[".", ","] | None = None
    index: Annotated[str, Field(max_length=400)] | None = None
    missing: Annotated[tuple[Name, ...], Field(max_length=20)] = ()
    percent: Percent | None = None
    truth: tuple[Name, Name] | None = None

    def format(self) -> TableFormat:
        return TableFormat(**self.model_dump())


class TableRequest(PageRequest):
    """Rows as the text of a file, none for the built-in table, and how it is written; the column to predict, or that the model
    does not read; the output to show; one row, one page of rows, or an overview."""

    table: Annotated[str, Field(max_length=TABLE_CHARACTERS)] = ""
    name: Annotated[str, Field(max_length=200)] = ""
    target: Annotated[str, Field(max_length=400)] | None = None
    shown: Annotated[str, Field(max_length=400)] | None = None
    row: Annotated[int, Field(ge=0, le=10**6)] | None = None
    page: Annotated[int, Field(ge=0, le=10**6)] | None = None
    writing: Writing = Writing()


class ColumnsRequest(PageRequest):
    """The text of a file whose columns are asked for, and how it is written."""

    table: Annotated[str, Field(max_length=TABLE_CHARACTERS)]
    name: Annotated[str, Field(max_length=200)]
    writing: Writing = Writing()


class RunRequest(PageRequest):
    """Training rows as the text of a file, and how they are to be valued."""

    table: Annotated[str, Field(max_length=TABLE_CHARACTERS)]
    name: Annotated[str, Field(max_length=200)]
    target: Annotated[str, Field(min_length=1, max_length=400)]
    text: Annotated[str, Field(max_length=400)] | None = None
    task: Literal["class", "number"] | None = None  # as the values look
    method: DataMethod = "knn-shapley"
    model: Literal["logistic", "ridge", "forest"] = "logistic"
    budget: Annotated[int, Field(ge=1, le=20_000)] | None = None  # as many trainings as the command takes by itself


class GameFileRequest(PageRequest):
    """A game as the text of a file, as `accredit game` reads it."""

    table: Annotated[str, Field(max_length=200_000)]
    name: Annotated[str, Field(max_length=200)]


class GameRequest(PageRequest):
    """Players and all 2ⁿ payoffs, where bit i of the index says whether player i plays; groups and order as in `accredit
    game`."""

    players: Annotated[list[Name], Field(min_length=1, max_length=GAME_PLAYERS)]
    payoffs: Annotated[list[Annotated[float, Field(ge=-1e12, le=1e12)]], Field(max_length=1 << GAME_PLAYERS)]
    method: GameMethod = "shapley"
    groups: Annotated[str, Field(max_length=400)] | None = None
    order: Annotated[str, Field(max_length=400)] | None = None
