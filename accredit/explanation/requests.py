"""How to explain: one frozen request per kind of question. Their fields are the only list of settings.

The doors (`explain_text`, `explain_picture`, `explain_rows`, `explain_answer`, `Explainer`) take their signatures from
here, `accredit explain` its options and the page its fields. A name that is no field is answered with the field that was
probably meant, or with the kind of question that it belongs to.
"""

# ruff: noqa: RUF009  `setting` makes a field

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from accredit import defaults
from accredit.checks import check_seed, optional_whole
from accredit.checks.arguments import OWN_CHECK, check_fields
from accredit.checks.numbers import check_text, shown
from accredit.checks.suggestions import nearest
from accredit.errors import InvalidInput
from accredit.methods import SETTINGS
from accredit.models.payoffs import Payoff

Kind = Literal["text", "picture", "rows", "series", "answer"]
Announce = Callable[[str], None]
Settings = dict[str, Any]  # by name; each is checked where a request is made of them
Methods = str | Sequence[str]
Weights = str | int | Sequence[float]  # of heads: mean, max, one of them, or a weight for each
Groups = Mapping[str, Iterable[int]]  # of token positions, by name
Columns = Annotated[Mapping[str, Iterable[str | int]], OWN_CHECK]  # groups of columns, by name
Made = TypeVar("Made", bound="Request")


@dataclass(frozen=True)
class Option:
    """How a setting is offered where people type: in words, with its bounds. One without it is for Python alone."""

    help: str
    least: float | None = None
    above: float | None = None  # a bound that is not itself allowed
    example: int | None = None  # a count whose bound the request itself checks: what to write instead
    flag: str = ""  # where the option is not called like the setting


def setting(
    default: object,
    help: str,
    *,
    least: float | None = None,
    above: float | None = None,
    example: int | None = None,
    flag: str = "",
) -> Any:
    """A field that is offered to whoever types, too."""
    return field(default=default, metadata={"option": Option(help, least, above, example, flag)})


PAYOFFS = "log-odds (default), logit, probability, margin, loss, correctness, confidence or entropy."
SAID_SO_FAR = "What an encoder-decoder has already said."


@dataclass(frozen=True, kw_only=True)
class Request:
    """What every kind of question may be asked with.

    `methods` are names from `accredit methods`; some take parameters after a colon: "flow:agf", "beta:16,1". `target`
    is a label, token or index, by default what the model predicts. `budget` bounds the payoffs that each game method
    may ask. `announce` is called once, early in a long run, with what it will cost.
    """

    kind: ClassVar[Kind]
    said: ClassVar[str]  # what is explained, in words

    methods: Methods | None = setting(
        None, "Names from `accredit methods`, with commas between them, for example shapley,ig,flow:agf."
    )
    target: str | int | None = setting(
        None,
        "The label or token that credit is given for, or all. Default: what the model predicts. Answer: answer, "
        "sentences, words or tokens, or words of it.",
    )
    budget: int | None = setting(
        None,
        "Payoffs that each sampled value may ask. Default: exact up to 12 players, else 2000; 512 for rows and a large image.",
        least=1,
        example=1000,
    )
    seed: int = setting(0, "Of everything random.")
    announce: Announce | None = None

    def __post_init__(self) -> None:
        self._check_counts()
        check_seed(self.seed)
        check_fields(self)
        if self.announce is not None and not callable(self.announce):
            raise InvalidInput(
                f"announce is {shown(self.announce)}; give a function of one line of text, for example print",
                argument="announce",
                code="type",
            )

    def _check_counts(self) -> None:
        """Counts that every method of this kind of question takes, held to the bounds at which they are offered."""
        for each in fields(self):
            offer: Option | None = each.metadata.get("option")
            if offer is not None and offer.example is not None and offer.least is not None:
                optional_whole(getattr(self, each.name), each.name, int(offer.least), example=offer.example)

    @property
    def readings(self) -> Settings:
        """The settings of gradients and of readings of attention that were given."""
        return {name: value for name in SETTINGS if (value := getattr(self, name, None)) is not None}


@dataclass(frozen=True, kw_only=True)
class ModelRequest(Request):
    """What may be asked of a model whose inside can be read: settings of gradients and of attention.

    Gradients take `layer` (credit goes to what enters that block) and `baseline` (mask, pad, zero, mean or vectors; for
    pictures as `removal`); integrals along a path also `tolerance` and `most_steps`, GradientSHAP and SmoothGrad
    `samples` and `noise`, discretised integrated gradients `points`. Readings of attention follow the mean of a layer's
    `heads` unless that is "max", the number of one head or a list with one weight for each, and all `layers` unless one
    or some of them are named.
    """

    layer: int | str | None = setting(
        None, "Gradients: give credit to what enters this block, a number from 0 or its path in the model."
    )
    baseline: object = setting(
        None, "Integrated gradients: where the path begins: mask, pad, zero or mean; of a picture as --removal."
    )
    tolerance: float | None = setting(None, "Integrated gradients: gap of their sum, relative.", above=0)
    most_steps: int | None = setting(None, "Integrated gradients: steps after which they give up.", least=1)
    samples: int | None = setting(None, "GradientSHAP, SmoothGrad: points that are drawn.", least=2)
    noise: float | None = setting(
        None, "GradientSHAP, SmoothGrad: noise added to the input, as a fraction of its range.", least=0
    )
    points: int | None = setting(None, "Discretised integrated gradients: words on the path.", least=2)
    heads: Weights | None = setting(
        None, "Heads that readings of attention follow: mean (default), max, a number, or weights 0.5,0.5,0."
    )
    layers: int | Sequence[int] | None = setting(
        None, "Layers that they follow, from 0: one number, several (0,2,5) or a range (0-3). Default: all."
    )


@dataclass(frozen=True, kw_only=True)
class TextRequest(ModelRequest):
    """How to explain a text, or a pair of texts that the model reads together.

    `players` are "word", "token", "sentence" or named groups of token positions. `payoff` is "log-odds" (the default),
    "logit", "probability", "margin", "loss", "correctness", "confidence", "entropy", or a function of the outputs (for
    games). `removal` is how players leave: "mask", "delete", "attention", "pad" or "zero". `target="all"` explains what
    is predicted and, from the same passes, every other output: see `.of(label)`. A text longer than the model reads is
    refused unless `cut`; `prefix` is what an encoder–decoder has said so far.

    >>> TextRequest(payoff="probability").payoff, TextRequest().seed
    ('probability', 0)
    """

    kind = "text"
    said = "a text"

    players: str | Groups | None = setting(None, "word (default), token, sentence, or JSON: names with token positions.")
    payoff: Payoff | None = setting(None, PAYOFFS)
    removal: Annotated[str | None, OWN_CHECK] = setting(None, "mask, delete, attention, pad or zero.")
    cut: bool = setting(False, "Explain the beginning of a text that is longer than the model reads.")
    prefix: str = setting("", SAID_SO_FAR)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_text(self.prefix, "prefix")


@dataclass(frozen=True, kw_only=True)
class PictureRequest(ModelRequest):
    """How to explain a picture.

    `players` are "patches", "segments", "segments:40", "pixels" or a grid (rows, columns); `segments` is instead an (H,
    W) array with the segment of every pixel. Parts leave by `removal`: "mean" (the default), "blur", "black", "zero", a
    number or another picture. `payoff` is as for texts. `size`, `mean`, `std` or `preprocess` say how a picture is
    prepared for a network that has no image processor: see `as_image_model`.

    >>> PictureRequest(players=(2, 2), size=224).preparation
    {'size': 224}
    """

    kind = "picture"
    said = "a picture"

    players: object = setting(None, "patches (default), segments, segments:40, pixels or a grid such as 4x4.")
    segments: object = setting(None, "Your own segments: a .npy array or a PNG with one number per pixel.")
    payoff: Payoff | None = setting(None, PAYOFFS)
    removal: object = setting(None, "mean (default), blur, black, zero, a number or another picture.")
    size: int | tuple[int, int] | None = None
    mean: float | Sequence[float] | None = None
    std: float | Sequence[float] | None = None
    preprocess: object = None

    @property
    def preparation(self) -> Settings:
        """How pictures are prepared, where it was said."""
        named = {name: getattr(self, name) for name in ("size", "mean", "std", "preprocess")}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class RowRequest(Request):
    """How to explain rows of a table.

    `background` holds the rows that a row is compared with, each counted by `weights`. All of them are used, unless
    `most_background` says how many, chosen `background_by` "draw" or "medoids" (real rows in the middle of clusters,
    counted by the rows of each); the result says so. Without a background, 20 rows or more are compared with one
    another, and a tree ensemble is read by its cover ratios. `payoff` is what is shared: the raw score ("logit"; "log"
    where a regression predicts its exponential), "log-odds", "probability", a regression's number ("value"); where
    there are class probabilities also "margin", "loss", "correctness", "confidence" or "entropy"; or a function of the
    probabilities (else of the outputs), (batch, classes) -> (batch,). `dependence` says what stands in for absent
    columns: interventional (the default), empirical, gaussian, copula, causal, or cover (trees). `players` groups columns.
    `order` says which columns come before which: groups in order ([["age", "sex"], "income"]), pairs ([("age", "income")]) or a
    text ("age, sex < income"). The method is then "asymmetric", unless `dependence` is "causal": absent columns are drawn
    as if the present ones had been set, cause before effect; `confounding` says whether columns of one stage go together
    because of something unseen, for all stages or for each. For a slow model, `model_rows` is one budget for all rows
    together, counted in rows that the model is asked about: their answers train a surrogate, and correct it row by row.
    `interactions` adds those of every two columns. Many rows are spread over workers by `executor` ("processes:2",
    "dask"), and written to `out` line by line, where a run that was stopped goes on; a name that ends in .csv, .tsv or
    .parquet gives such a table.

    >>> RowRequest(dependence="empirical", methods="banzhaf").readings
    {}
    """

    kind = "rows"
    said = "rows of a table"

    background: object = setting(None, "A table of rows that rows are compared with.")
    players: Columns | None = setting(None, "JSON: names with the columns of each group.")
    payoff: Payoff | None = setting(None, "what the model adds up (default), also value; of classes those above.")
    dependence: str | None = setting(
        None, "What stands in for absent columns: interventional, empirical, gaussian, copula, causal or cover."
    )
    order: Annotated[object, OWN_CHECK] = setting(
        None, "Which columns come before which, for example 'age, sex < income; sex < job', or JSON."
    )
    confounding: bool | Sequence[bool] = setting(
        False, "With --dependence causal: columns of one stage go together because of something unseen."
    )
    weights: object = None
    most_background: int | None = setting(None, "Rows of the background that are used at most.", least=1, example=100)
    background_by: defaults.BackgroundBy | None = setting(
        None, "How they are chosen: draw (default) or medoids, counted by what they stand for."
    )
    names: Sequence[str] | None = None
    model_rows: int | None = setting(
        None, "One budget for all rows of a slow model together: rows that it may be asked about.", least=1, example=100_000
    )
    interactions: bool = setting(False, "Also the interaction of every two columns of a row.")
    trusted: Sequence[str] = setting((), "Types in a skops file that may be loaded, with commas between them.", flag="--trust")
    executor: str | None = setting(None, "Where rows are explained: serial (default), processes:2, dask.")
    out: str | Path | None = None

    def __post_init__(self) -> None:
        if self.executor is not None and not isinstance(self.executor, str):
            raise InvalidInput(
                f"executor is {self.executor!r:.40}; write serial, processes, processes:4, dask or dask:tcp://host:8786",
                argument="executor",
                code="unknown",
            )
        super().__post_init__()
        if self.background_by is not None and self.most_background is None:
            raise InvalidInput(
                f"background_by is {self.background_by!r}, but not how many rows; write most_background=100 beside it",
                argument="background_by",
                code="conflict",
            )
        for name in ("out", "executor"):
            if self.model_rows is not None and getattr(self, name) is not None:
                raise InvalidInput(
                    f"model_rows is a budget that all rows share, and {name} takes them in parts; call without {name}, and "
                    "write the result: result.to_pandas().to_csv(…)",
                    argument=name,
                    code="conflict",
                )
        for name in () if self.names is None else self.names:
            check_text(name, "names")


@dataclass(frozen=True, kw_only=True)
class SeriesRequest(Request):
    """How to explain time series, or other inputs of the shape (series, steps, channels).

    `background` is what stands in for absent cells: an array of series, one series (`train.mean(axis=0)`) or "zeros"; of many,
    `most_background` are drawn. `players` are "steps", "channels", "cells", "windows:24" (of 24 steps), "segments:8" (equal
    stretches; the default has ten), "change-points:8" (stretches found in each series by itself), the same "x channels", named
    lists of steps, or an array with the player of every step. `payoff` is as for rows. Arrays of the shape (series, channels,
    steps), as convolutions of torch read them, are given with `channels_first`. `steps`, `channels` and `outputs` are names;
    steps that are numbers or dates must be in order.

    >>> SeriesRequest(background="zeros", players="windows:24").seed
    0
    """

    kind = "series"
    said = "series"

    background: object = setting(None, "What stands in for absent cells: a .npy file of series, or zeros.")
    players: object = setting(
        None, "steps, channels, cells, windows:24, segments:8 or change-points:8, also with ' x channels' behind it."
    )
    payoff: Payoff | None = setting(None, "as for rows.")
    most_background: int | None = setting(None, "Rows of the background that are used at most.", least=1, example=100)
    channels_first: bool = setting(False, "Series have the shape (channels, steps).")
    steps: Sequence[object] | None = None
    channels: Sequence[str] | None = None
    outputs: Sequence[str] | None = None


@dataclass(frozen=True, kw_only=True)
class AnswerRequest(ModelRequest):
    """How to explain what a language model said.

    The prompt may also be given as `context=[passages], query=…`; `template`, `separator` and `chat` say how these
    become a prompt. `answer` is a text or token ids; `generate` is True, a number of new tokens, or settings of
    `model.generate`: greedy unless they say otherwise. `rather_than` is another answer: then the payoff is this one's
    minus the other's. `players` are passages, sentences, paragraphs, turns, examples, words, tokens, a list of
    passages, or names with strings or spans of characters; `fixed` are strings or spans that never play, like the
    template and special tokens. Parts leave by `removal`: "rebuild" (the default), "attention", or "filler" with
    `filler='…'`. `payoff` is "log-probability", "mean" (per token), "probability", or "score" of a function that
    returns those. `target` is answer, sentences, words, tokens or some words: what has credit of its own; see `.of(name)`.
    `memory` bounds the bytes of one pass, `batch` its rows. `prefix` is what an encoder–decoder has said so far: its words or
    tokens play too.
    `store` is a file that keeps every payoff, so that a run that was stopped goes on where it was. `server` are settings of a
    model at a URL: those of `HostedModel`, by name.

    >>> AnswerRequest(context=["Anna lives in Rome ."], query="Where does Anna live ?", layer=2).readings
    {'layer': 2}
    """

    kind = "answer"
    said = "an answer to a prompt"

    answer: object = setting(
        None,
        "Which parts of the prompt earned this answer? Alone: what the model says; without a prompt, to an example.",
    )
    generate: object = setting(None, "Explain what the model says, greedily.")
    rather_than: object = setting(None, "Another answer: credit is for the given one rather than this one.")
    context: Sequence[str] | None = setting(
        None,
        "A passage, a FILE that holds one, or a .json file that lists several; may be repeated. Goes with --query.",
    )
    query: str | None = setting(None, "The question that goes with --context.")
    players: object = setting(
        None,
        "passages, sentences, paragraphs, turns, examples, words, tokens, or JSON: names with strings of the prompt.",
    )
    fixed: object = setting(None, "Words of the prompt that never play; may be repeated.")
    payoff: str | None = setting(None, "log-probability (default), mean or probability.")
    removal: str | None = setting(None, "rebuild (default), attention or filler.")
    filler: str | None = setting(None, "What takes the place of absent parts; goes with --removal filler.")
    memory: float | None = setting(None, "Gigabytes of one pass. Default: 1.", above=0)
    batch: int | None = setting(None, "Prompts in one pass of the model.", least=1)
    template: str | None = None
    separator: str | None = None
    chat: bool | None = None
    prefix: str = setting("", SAID_SO_FAR)
    server: Mapping[str, object] | None = setting(
        None,
        "Of a --model at a URL, as name=smollm2,asks=chat; also samples=32, concurrency=8, most_tokens=2000000.",
    )
    store: str | Path | None = setting(None, "Keep payoffs here; a stopped run goes on where it was.")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_text(self.prefix, "prefix")


PEERS = {  # what other libraries call a setting
    "nsamples": "budget", "n_samples": "budget", "max_evals": "budget", "npermutations": "budget",
    "data": "background", "masker": "background", "train_data": "background", "baselines": "baseline",
    "feature_names": "names", "columns": "names", "feature_perturbation": "dependence", "link": "payoff",
    "model_output": "payoff", "class_index": "target", "output_index": "target", "random_state": "seed", "algorithm": "methods",
    "feature_mask": "players", "n_steps": "most_steps", "sources": "context",
    "passages": "context", "documents": "context", "question": "query",
    "n_jobs": "executor", "batch_size": "batch", "max_length": "cut", "truncation": "cut",
    "num_samples": "budget", "labels": "target", "top_labels": "target", "groups": "players", "hide_color": "removal",
    "strides": "players", "sliding_window_shapes": "players",
}  # fmt: skip
WHAT_IS_EXPLAINED = (  # names that others give it; here it has none
    "X", "x", "data_row", "given", "image", "input", "inputs", "instance", "picture", "prompt", "row", "rows", "sample",
    "series", "text", "texts",
)  # fmt: skip
ALIKE = 0.7  # of difflib's ratio: the name of a setting that is less alike was not meant
REQUESTS: Mapping[Kind, type[Request]] = {
    request.kind: request for request in (TextRequest, PictureRequest, RowRequest, SeriesRequest, AnswerRequest)
}


def settings_of(request: type[Request]) -> tuple[str, ...]:
    """The names of what may be set.

    >>> "dependence" in settings_of(RowRequest), "dependence" in settings_of(TextRequest)
    (True, False)
    """
    return tuple(field.name for field in fields(request))


@cache
def only_in(kind: Kind) -> frozenset[str]:
    """Settings that one kind of question has and no other: who gives one of them has asked that kind.

    >>> sorted(only_in("picture"))
    ['mean', 'preprocess', 'segments', 'size', 'std']
    """
    others = (name for other, request in REQUESTS.items() if other != kind for name in settings_of(request))
    return frozenset(settings_of(REQUESTS[kind])) - frozenset(others)


def make_request(request: type[Made], given: Mapping[str, Any]) -> Made:
    """The request with these settings, or an error about the first name that is not one of them.

    >>> make_request(TextRequest, {"methds": ["shapley"]})
    Traceback (most recent call last):
        ...
    accredit.errors.InvalidInput: methds is not a setting of a text; did you mean methods?
    >>> make_request(TextRequest, {"dependence": "gaussian"})
    Traceback (most recent call last):
        ...
    accredit.errors.InvalidInput: dependence belongs to rows of a table, and this question is about a text; ...
    """
    check_names(request, given)
    return request(**given)


def check_names(request: type[Request], given: Iterable[str]) -> None:
    """Refuse the first name that is no setting of this kind of question."""
    known = settings_of(request)
    for name in given:
        if name not in known:
            raise _unknown(name, request)


def misplace(name: str, belongs: Iterable[type[Request]], request: type[Request]) -> InvalidInput:
    """That a setting is one of other kinds of question."""
    kinds = " and ".join(other.said for other in belongs)
    said = f"{name} belongs to {kinds}, and this question is about {request.said}; leave it out"
    return InvalidInput(said, argument=name, code="misplaced")


def _unknown(name: str, request: type[Request]) -> InvalidInput:
    if elsewhere := [other for other in REQUESTS.values() if name in settings_of(other)]:
        return misplace(name, elsewhere, request)
    if name in WHAT_IS_EXPLAINED:
        said = f"{name} is not a setting; what is explained stands first, without a name: explain({name}, model)"
        return InvalidInput(said, argument=name, code="unknown")
    known = settings_of(request)
    near = PEERS[name] if PEERS.get(name) in known else nearest(name, known, ALIKE)
    meant = f"did you mean {near}?" if near else f"the settings are {', '.join(known)}"
    return InvalidInput(f"{name} is not a setting of {request.said}; {meant}", argument=name, code="unknown")


def text_players(request: TextRequest) -> str | Groups:
    """Who plays in a text."""
    return defaults.PLAYERS_OF_TEXTS if request.players is None else request.players
