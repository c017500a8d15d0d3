"""The doors: `explain` chooses the kind of question and calls; an `Explainer` holds how, and is called with what.

Each kind has a door of its own with a real signature, taken from its request: `explain_text`, `explain_picture`,
`explain_rows`, `explain_answer`.
"""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set, Sized
from contextlib import closing
from dataclasses import dataclass, replace
from functools import wraps
from numbers import Number
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, Protocol, TypeVar, cast, overload

import numpy as np

from accredit.answers.hosted_model import HostedModel
from accredit.answers.server import is_url
from accredit.checks.files import check_writable
from accredit.checks.numbers import CellArray, a_type, as_array
from accredit.checks.suggestions import did_you_mean, nearest
from accredit.core.notes import Note, NoteKind, check_notes
from accredit.errors import InvalidInput
from accredit.explanation.answers import AnswerSubject, answer_subject
from accredit.explanation.forecast import LONG, announcing
from accredit.explanation.loading import answering_model, load_model, read_as, reads_words, subject_of
from accredit.explanation.requests import (
    PEERS,
    REQUESTS,
    Announce,
    AnswerRequest,
    Kind,
    Methods,
    PictureRequest,
    Request,
    RowRequest,
    SeriesRequest,
    Settings,
    TextRequest,
    make_request,
    only_in,
    settings_of,
    text_players,
)
from accredit.explanation.result import Explanation
from accredit.explanation.stream import Asked, Done, Event, Explained, MethodProgress, Refused, events
from accredit.explanation.subject import Subject
from accredit.methods import DEFAULT, FOR_ANSWERS, FOR_STRINGS, ChosenMethod, find_all, methods_for, settings_for
from accredit.models.strings import StringModel
from accredit.store.frames import names_frame
from accredit.values.solver import Progress, progress

if TYPE_CHECKING:
    from accredit.models import ImageModel, TextModel
    from accredit.rows.effects import Effect
    from accredit.rows.explain import Questions
    from accredit.rows.result import TableExplanation
    from accredit.rows.run import TableRun
    from accredit.series.result import SeriesExplanation

OF_THE_RESULT = ("target", "out", "executor", "announce")  # settings that nothing is prepared for
ENOUGH = 1.0  # seconds of a run after which its length can be told
P = ParamSpec("P")
Result = TypeVar("Result", covariant=True)


# One question of each kind, answered


def _answer_input(
    given: object,
    model: TextModel | ImageModel | StringModel,
    request: TextRequest | PictureRequest,
    notes: tuple[str | Note, ...] = (),
) -> Explanation:
    """A text or a picture, whichever the request is for."""
    asked = choose_methods(request.methods, model)
    taken = settings_for(asked, request.readings)
    if isinstance(request, TextRequest):
        notes += _names_a_file(given)
        subject = subject_in_text(given, model, request)
    else:
        subject = subject_in_picture(given, model, request)
    return _with_notes(explain_by(replace(subject, settings=taken), asked, request.announce), notes)


def subject_in_text(text: object, model: TextModel | ImageModel | StringModel, request: TextRequest) -> Subject:
    """A text as the request deals it out to players."""
    return subject_of(
        model,
        text,
        players=text_players(request),
        target=request.target,
        payoff=request.payoff,
        removal=request.removal,
        budget=request.budget,
        seed=request.seed,
        cut=request.cut,
        prefix=request.prefix,
    )


def subject_in_picture(picture: object, model: TextModel | ImageModel | StringModel, request: PictureRequest) -> Subject:
    """A picture as the request deals it out to players."""
    return subject_of(
        model,
        picture,
        players=picture_players(request.players, request.segments),
        target=request.target,
        payoff=request.payoff,
        removal=request.removal,
        budget=request.budget,
        seed=request.seed,
    )


def _answer_rows(
    rows: object, model: object, request: RowRequest, questions: Sequence[Questions] | None = None
) -> TableExplanation:
    """`questions`, one for each method, have been prepared for this model and request."""
    from accredit.rows.result import beside

    if questions is None:
        questions = _row_questions(_open_rows(model, request.trusted), request)
    found = [_answer_rows_by(rows, model, request, each) for each in questions]
    return found[0] if len(found) == 1 else beside(found)


def _answer_rows_by(rows: object, model: object, request: RowRequest, questions: Questions) -> TableExplanation:
    """Rows by one method."""
    from accredit.rows.run import explain_parts

    run = _run_of(rows, model, request, questions)
    if request.model_rows is not None:
        return explain_parts(run, target=request.target)  # which says by itself how far it is
    if request.announce is not None and (cost := run.forecast()):
        request.announce(cost)
    with progress("explain", len(run.whole.rows)) as bar:
        where = request.executor or "serial"
        return explain_parts(run, target=request.target, executor=where, out=request.out, watch=bar.update)


def _open_rows(model: object, trusted: Sequence[str]) -> object:
    from accredit.rows.run import open_model

    return open_model(model, tuple(trusted))


def _run_of(rows: object, model: object, request: RowRequest, questions: Questions) -> TableRun:
    from accredit.rows.run import TableRun

    return TableRun(model, questions.ask(rows), tuple(request.trusted), request.players)


def _row_methods(request: RowRequest) -> Sequence[ChosenMethod]:
    follows = request.order is not None and request.dependence != "causal"
    return _game_methods(request.methods, usual="asymmetric" if follows else "shapley")


def _game_methods(methods: Methods | None, usual: str) -> Sequence[ChosenMethod]:
    """Methods of games, for rows and series: their players are in no groups that a method could divide inside."""
    found = find_all(usual if methods is None else methods, "game")
    if inside := next((each.name for each in found if "groups" in each.method.takes), None):
        raise InvalidInput(
            f"method {inside!r} divides inside groups of players, and neither rows nor series have such groups; write "
            "methods='shapley', and players=… for one credit per group",
            argument="methods",
            code="unsupported",
        )
    return found


def _row_questions(model: object, request: RowRequest) -> tuple[Questions, ...]:
    """The model and the background, read and checked, for any number of questions about rows: one for each method."""
    from accredit.rows.explain import Questions

    methods = _row_methods(request)
    if model is None:
        raise InvalidInput(
            "model is missing; rows need the model that read them: explain(rows, model, background=…)",
            argument="model",
            code="missing",
        )
    if len(methods) > 1 and request.out is not None:
        first = methods[0].name
        raise InvalidInput(
            f"out is a file of one method, and methods names {len(methods)}; call once per method, with a file for each: "
            f"methods={first!r}, out='{first}.jsonl'",
            argument="out",
            code="too-many",
        )
    return tuple(
        Questions(
            model,
            request.background,
            method=method.name,
            players=request.players,
            payoff=request.payoff,
            budget=request.budget,
            seed=request.seed,
            dependence=request.dependence,
            weights=request.weights,
            most_background=request.most_background,
            background_by=request.background_by,
            names=request.names,
            interactions=request.interactions,
            order=request.order,
            confounding=request.confounding,
            model_rows=request.model_rows,
        )
        for method in methods
    )


def _answer_series(series: object, model: object, request: SeriesRequest) -> SeriesExplanation:
    from accredit.series.explain import explain_by, question

    methods = _game_methods(request.methods, usual="shapley")
    if model is None:
        raise InvalidInput(
            "model is missing; series need the model that read them: explain_series(series, model, background)",
            argument="model",
            code="missing",
        )
    asked = question(
        series,
        model,
        request.background,
        players=request.players,
        payoff=request.payoff,
        budget=request.budget,
        seed=request.seed,
        most_background=request.most_background,
        channels_first=request.channels_first,
        steps=request.steps,
        channels=request.channels,
        outputs=request.outputs,
    )
    with progress("explain", len(asked.series) * len(methods)) as bar:
        return explain_by(asked, methods, request.target, bar.update)


def _answer_prompt(prompt: object, model: object, request: AnswerRequest) -> Explanation:
    asked = find_all(FOR_ANSWERS if request.methods is None else request.methods, "explain")
    taken = settings_for(asked, request.readings)
    if request.store is None:
        subject = subject_in_prompt(prompt, model, request)
        subject.check_cost(asked, request.announce)
        return explain_by(replace(subject, settings=taken), asked, request.announce)
    from accredit.store import Journal

    check_writable(request.store, "store")
    with closing(Journal(request.store)) as journal:
        subject = subject_in_prompt(prompt, model, request, journal)
        subject.check_cost(asked, request.announce)
        return explain_by(replace(subject, settings=taken), asked, request.announce)


def subject_in_prompt(prompt: object, model: object, request: AnswerRequest, journal: object = None) -> AnswerSubject:
    """A prompt and an answer as the request deals them out to players; payoffs are kept in the journal."""
    form: Settings = {name: value for name in PROMPTED if (value := getattr(request, name)) is not None}
    form |= {"target": request.target} | ({} if journal is None else {"journal": journal})
    return answer_subject(
        model,
        prompt,
        answer=request.answer,
        generate=request.generate,
        players=request.players,
        payoff=request.payoff,
        removal=request.removal,
        budget=request.budget,
        seed=request.seed,
        **form,
    )


PROMPTED = (
    "rather_than",
    "context",
    "query",
    "fixed",
    "filler",
    "memory",
    "batch",
    "template",
    "separator",
    "chat",
    "prefix",
)


def _names_a_file(text: object) -> tuple[Note, ...]:
    """That a text is the name of a file, which nobody opened."""
    if not isinstance(text, str) or not os.path.isfile(text):
        return ()
    said = "this text is the name of a file, and the name was explained; what the file holds is Path(…).read_text()"
    return (Note(NoteKind.WARNING, said),)


def _with_notes(explanation: Explanation, notes: tuple[str | Note, ...]) -> Explanation:
    return replace(explanation, notes=(*check_notes(notes), *explanation.notes)) if notes else explanation


def picture_players(players: object, segments: object) -> object:
    """Players, or the segments that were given in their place."""
    if segments is None:
        return players
    if not (players is None or (isinstance(players, str) and players == "segments")):
        raise InvalidInput(
            f"players is {players!r:.40} and segments are given too; leave one of them out", argument="players", code="conflict"
        )
    return f"segments:{segments}" if isinstance(segments, int) else np.asarray(segments)


# The typed doors


class Door(Protocol[P, Result]):
    """A function of an input, a model and the settings of a request."""

    def __call__(
        self, given: object = None, /, model: object = None, tokenizer: object = None, *args: P.args, **settings: P.kwargs
    ) -> Result: ...


class RowDoor(Protocol[P, Result]):
    """The same for rows, whose background may stand behind the model."""

    def __call__(
        self, rows: object, /, model: object, background: object = None, *args: P.args, **settings: P.kwargs
    ) -> Result: ...


def door(request: Callable[P, Request]) -> Callable[[Callable[..., Result]], Door[P, Result]]:
    """Give a function of some inputs and a request the settings of that request as its signature."""

    def open_door(answer: Callable[..., Result]) -> Door[P, Result]:
        return cast("Door[P, Result]", _open(answer, cast("type[Request]", request)))

    return open_door


def _open(answer: Callable[..., object], request: type[Request]) -> Callable[..., object]:
    own = [p for p in inspect.signature(answer).parameters.values() if p.name != "request"]

    @wraps(answer)
    def enter(*args: object, **settings: object) -> object:
        for p in own[: len(args)]:
            if p.name in settings:
                twice = f"{p.name} is given twice, by its place and by its name; leave one out"
                raise InvalidInput(twice, argument=p.name, code="duplicate")
        given = {p.name: settings.pop(p.name) for p in own[len(args) :] if p.name in settings}
        return answer(*args, **given, request=make_request(request, settings))

    named = {p.name for p in own}
    settings = (p for name, p in inspect.signature(request).parameters.items() if name not in named)
    enter.__signature__ = inspect.Signature([*own, *settings])  # type: ignore[attr-defined]
    return enter


def row_door(request: Callable[P, Request]) -> Callable[[Callable[..., Result]], RowDoor[P, Result]]:
    """The same for rows."""

    def open_door(answer: Callable[..., Result]) -> RowDoor[P, Result]:
        return cast("RowDoor[P, Result]", _open(answer, cast("type[Request]", request)))

    return open_door


@door(TextRequest)
def explain_text(text: object = None, model: object = None, tokenizer: object = None, *, request: TextRequest) -> Explanation:
    """Which words of a text earned the model's output. Settings are those of `TextRequest`.

    A text is a string, or a pair of strings that the model reads together (premise and hypothesis). `model` is None
    (the built-in one), a folder, a name in the local cache, a transformers model with its `tokenizer` or a pipeline of
    the two, or anything that reads a list of strings: a scikit-learn pipeline, a function. A method that does not apply
    to this model is listed in `.refused` with the reason.

    >>> explain_text("A gripping film.", methods="loo").players
    ('A', 'gripping', 'film', '.')
    """
    _check_text(text)
    choose_methods(request.methods)  # an unknown name is refused before a model is loaded
    return _answer_input(text, load_model(text, model, tokenizer), request)


@door(PictureRequest)
def explain_picture(
    picture: object = None, model: object = None, processor: object = None, *, request: PictureRequest
) -> Explanation:
    """Which parts of a picture earned the model's output. Settings are those of `PictureRequest`.

    A picture is a path, a PIL image, an array or a tensor. `model` is None (the built-in one), a folder, a transformers
    model with its image `processor` or a pipeline of the two, or a torch network that reads pictures.

    >>> import numpy as np
    >>> explain_picture(np.eye(28), methods="loo", players=(2, 2)).players
    ('r0c0', 'r0c1', 'r1c0', 'r1c1')
    """
    _check_given(picture, "a picture")
    choose_methods(request.methods)
    given = Path(picture) if isinstance(picture, str) else picture
    return _answer_input(given, load_model(given, model, processor, **request.preparation), request)


@row_door(RowRequest)
def explain_rows(rows: object, model: object, background: object = None, *, request: RowRequest) -> TableExplanation:
    """Which columns earned the model's outputs, for one row or many, all classes at once. Settings are those of `RowRequest`.

    `rows` are a data frame, a Series or mapping of one row, or an array; `model` is an estimator or pipeline of
    scikit-learn, a booster of xgboost, lightgbm or catboost, a torch module, a function of rows, or the path of a model
    file.

    >>> e = explain_rows([[3.0, 4.0]], lambda rows: rows @ [2.0, 1.0], [[1.0, 1.0], [1.0, 3.0]])
    >>> e.row(0).as_dict(), e.base.tolist()
    ({'x0': 4.0, 'x1': 2.0}, [4.0])
    """
    return _answer_rows(rows, model, request if background is None else replace(request, background=background))


@row_door(SeriesRequest)
def explain_series(series: object, model: object, background: object = None, *, request: SeriesRequest) -> SeriesExplanation:
    """Which stretches of time, channels or cells earned the model's outputs, all outputs at once. Settings are those of
    `SeriesRequest`.

    `series` are an array, a tensor or a list of arrays of the shape (series, steps, channels), or a frame with an index of
    (series, step) and one column per channel. `model` is a torch module, an estimator or a function of such arrays. All
    series are equally long; what is ragged, out of order or missing is refused.

    >>> two = explain_series(np.ones((2, 4, 1)), lambda x: x.sum(axis=(1, 2)), "zeros", players="windows:2")
    >>> two.players, two.row(0).credit.tolist(), two.removal
    (('0–1', '2–3'), [2.0, 2.0], 'absent cells are zero')
    """
    return _answer_series(series, model, request if background is None else replace(request, background=background))


@door(AnswerRequest)
def explain_answer(
    prompt: object = None, model: object = None, tokenizer: object = None, *, request: AnswerRequest
) -> Explanation:
    """Which parts of a prompt earned what a language model said: the whole answer, each sentence and each token of it. Settings
    are those of `AnswerRequest`.

    The prompt is a text, chat messages, token ids, or `context=[passages], query=…`. `model` is None (the built-in one,
    which knows facts about a few people), a folder, a transformers model with its `tokenizer` or a pipeline of the two,
    the URL of an OpenAI-compatible server or a `HostedModel`, or a function of (prompts, answer) that returns
    log-probabilities, or scores from 0 to 1.

    >>> facts = ["Anna lives in Rome .", "Boris owns a dog ."]
    >>> e = explain_answer(context=facts, query="Where does Anna live ?", methods="shapley")
    >>> e.said.text, e["shapley"].top(1).players, round(e.of("Rome")["shapley"][facts[0]], 1)
    ('Anna lives in Rome .', ('Anna lives in Rome .',), 2.5)
    """
    find_all(FOR_ANSWERS if request.methods is None else request.methods, "explain")
    return _answer_prompt(prompt, answering_model(model, tokenizer, request.server), request)


def _check_given(given: object, what: str) -> None:
    if given is None:
        raise InvalidInput(f"nothing is given to explain; give {what}", argument="given", code="missing")


def _check_text(given: object) -> None:
    _check_given(given, "a text")
    if not isinstance(given, str | tuple) or (isinstance(given, tuple) and len(given) != 2):
        many = f" of {len(given)}" if isinstance(given, Sized) else ""
        raise InvalidInput(
            f"{a_type(given)}{many} was given, and one text is explained at a time: a string, or a pair (text, pair); "
            "for many, call an Explainer on each: [explainer(text) for text in texts]",
            argument="given",
            code="type",
        )


def _check_is_picture(given: CellArray) -> None:
    """Refuse rows of a table that came without their model: numbers that no grey picture has, or only a few of them."""
    grey = given.dtype.kind in "biuf" and given.size and given.min() >= 0 and given.max() <= 255 and min(given.shape) > 4
    if not grey:
        raise InvalidInput(
            f"model is missing, and what is given, of shape {given.shape}, is no picture; for rows of a table write "
            "explain(rows, model, background=…)",
            argument="model",
            code="missing",
        )


# The one door for all of them


class Explainer:
    """How to explain, with the model read once; called with what is to be explained, as often as you like.

    `Explainer(model, background=train)(rows)`, `Explainer(model, tokenizer)(text)`, `Explainer(model,
    tokenizer)(context=passages, query=…)`. The settings are those of `explain`; what belongs to one input (an answer,
    passages, a query) is given in the call.

    For rows, model and background are read, checked and prepared in the first call, and trees keep their tables from
    the second one on; threads may share one explainer, and it does not grow with the calls. A model that is fitted
    again, or trained on, is read again. What is changed inside of the background, or inside of an array of the model,
    goes unnoticed: make a new explainer.

    It is the one place that reads a model. Who runs methods without a call (the page, which shows each as it ends; the
    arena, which counts passes; runs over files) holds one and asks it for the `model`, a `subject` or a `run`.

    >>> explainer = Explainer(methods="loo")
    >>> [explainer(text).target for text in ("A gripping film.", "A dull film.")]
    ['POSITIVE', 'NEGATIVE']
    >>> explainer.subject("A dull film.", TextRequest()).players
    ('A', 'dull', 'film', '.')
    """

    def __init__(self, model: object = None, tokenizer: object = None, **settings: object) -> None:
        _check_names(settings)
        self.model, self.tokenizer, self.settings = model, tokenizer, settings
        self._loaded: dict[Kind, Any] = {}  # kind -> model, read once
        self._rows: PreparedRows | None = None
        self._lock = RLock()  # of what is prepared for rows

    def __repr__(self) -> str:
        named = "the built-in model" if self.model is None else type(self.model).__name__
        return f"Explainer({', '.join([named, *(f'{k}={v!r:.40}' for k, v in self.settings.items())])})"

    def __call__(self, given: object = None, **what: object) -> Any:
        """Explain one input, or rows."""
        settings = {**self.settings, **what}
        kind = kind_of(given, self.model, settings)
        if kind in ("rows", "series"):
            _check_no_tokenizer(self.tokenizer, kind)
        if kind == "rows":
            with self._lock:
                prepared = self._prepared(settings)
            return _answer_rows(given, self.model, *prepared)
        if kind == "series":
            return _answer_series(given, self.model, make_request(SeriesRequest, settings))
        if kind == "answer":
            request = make_request(AnswerRequest, settings)
            return _answer_prompt(given, self.model_for("answer"), request)
        return self._answer_text_or_picture(given, kind, settings)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Only asked for what is not there: an explainer is called, and the result has what others ask of theirs."""
            called = {"shap_values": "credit", "expected_value": "base", "explain": "", "attribute": ""}
            parts = f".{called[name]}" if called.get(name) else ""
            meant = f"; call it: explainer(…){parts}" if name in called else did_you_mean(name, dir(self))
            raise AttributeError(f"Explainer has no {name!r}{meant}", name=name, obj=self)

    def effect(self, rows: object, column: str, *, output: str | None = None, points: int = 25) -> Effect:
        """How the output depends on one column of rows: partial dependence with a line per row, accumulated local effects, and
        the column's credit beside them. Costs one call of the model for each of up to `points` values.

        >>> explainer = Explainer(lambda x: x @ [2.0, 1.0], background=[[1.0, 1.0]])
        >>> found = explainer.effect([[3.0, 4.0], [5.0, 6.0]], "x0")
        >>> found.grid, found.mean.tolist(), found.accumulated.tolist()
        ((3.0, 5.0), [11.0, 15.0], [11.0, 15.0])
        """
        from accredit.rows.effects import effect_of

        explanation: TableExplanation = self(rows)
        _, questions = self._prepared(self.settings)
        return effect_of(questions[0].ask(rows), explanation.of(output) if output else explanation, column, points)

    def model_for(self, kind: Kind) -> Any:
        """The model as it reads this kind of input: read once, but for the file of a model of rows that has changed."""
        if kind == "rows":
            return _open_rows(self.model, cast("Sequence[str]", self.settings.get("trusted", ())))
        if kind not in self._loaded:
            if kind == "answer":
                server = cast("Mapping[str, Any] | None", self.settings.get("server"))
                self._loaded[kind] = answering_model(self.model, self.tokenizer, server)
            else:
                self._loaded[kind] = load_model("" if kind == "text" else None, self.model, self.tokenizer)
        return self._loaded[kind]

    @overload
    def subject(self, given: object, request: TextRequest | PictureRequest) -> Subject: ...
    @overload
    def subject(self, given: object, request: AnswerRequest) -> AnswerSubject: ...
    def subject(self, given: object, request: TextRequest | PictureRequest | AnswerRequest) -> Subject | AnswerSubject:
        """An input dealt out to players as the request says, for whoever runs the methods himself."""
        model = self.model_for(request.kind)
        if isinstance(request, TextRequest):
            return subject_in_text(given, model, request)
        if isinstance(request, PictureRequest):
            return subject_in_picture(given, model, request)
        return subject_in_prompt(given, model, request)

    def run(self, rows: object, request: RowRequest) -> TableRun:
        """A run over many rows: the question is checked, and the background is chosen, before anything is computed."""
        _check_no_tokenizer(self.tokenizer, "rows")
        methods = _row_methods(request)
        if len(methods) > 1:
            raise InvalidInput(
                f"rows of a file are explained by one method at a time, and {len(methods)} are named; write "
                f"methods={methods[0].name!r}",
                argument="methods",
                code="unsupported",
            )
        (questions,) = _row_questions(_open_rows(self.model, request.trusted), request)
        return _run_of(rows, self.model, request, questions)

    def _answer_text_or_picture(self, given: object, kind: Kind, settings: Settings) -> Explanation:
        """A text or a picture. A string that names a picture is one, unless the model reads text."""
        if kind == "text":
            _check_text(given)
        choose_methods(settings.get("methods"))  # an unknown name is refused before a model is loaded
        preparation = {name: settings[name] for name in only_in("picture") - {"segments"} if name in settings}
        if not preparation and not _names_a_picture(given):
            make_request(REQUESTS[kind], settings)  # and so is a setting
        read: Kind = "picture" if _names_a_picture(given) else kind
        if self.model is None and isinstance(given, np.ndarray | list) and _depth(given) == 2:
            _check_is_picture(as_array(given, "given"))
        given, loaded, notes = read_as(given, self.model, self.tokenizer, preparation, self._loaded.get(read))
        self._loaded[read] = loaded
        if reads_words(loaded):
            return _answer_input(given, loaded, make_request(TextRequest, settings), notes)
        return _answer_input(given, loaded, make_request(PictureRequest, settings), notes)

    def _prepared(self, settings: Settings) -> tuple[RowRequest, tuple[Questions, ...]]:
        """The request, and what was prepared for it: made anew where a setting or the model's fit is another."""
        kept = self._rows
        again = kept is not None and _are_same(settings, kept.settings)
        request = kept.request if kept is not None and again else make_request(RowRequest, settings)
        model = _open_rows(self.model, request.trusted)
        if (
            kept is not None
            and _are_same(_decisive(settings), _decisive(kept.settings))
            and all(each.is_of(model) for each in kept.questions)
        ):
            questions = kept.questions
        else:
            questions = _row_questions(model, request)
        self._rows = PreparedRows(settings, request, questions)
        return request, questions


@dataclass(frozen=True, eq=False)
class PreparedRows:
    """The settings of a question about rows, and what was prepared for them."""

    settings: Settings
    request: RowRequest
    questions: tuple[Questions, ...]


def _decisive(settings: Settings) -> Settings:
    """The settings for which something is prepared."""
    return {name: value for name, value in settings.items() if name not in OF_THE_RESULT}


def _are_same(settings: Settings, others: Settings) -> bool:
    """Are these the very same values? Tables and functions are not compared by what they hold."""
    return settings.keys() == others.keys() and all(value is others[name] for name, value in settings.items())


def _names_a_picture(given: object) -> bool:
    from accredit.models.pictures import names_a_picture

    return isinstance(given, str) and names_a_picture(given)


def _check_no_tokenizer(tokenizer: object, kind: Kind) -> None:
    """Refuse what stands behind a model that reads no words: it is a background that lacks its name."""
    if tokenizer is not None:
        raise InvalidInput(
            f"{a_type(tokenizer)} stands where a tokenizer goes, and this question is about {REQUESTS[kind].said}; if "
            "it is what they are compared with, write background=…",
            argument="tokenizer",
            code="misplaced",
        )


def _check_names(settings: Mapping[str, object]) -> None:
    """Refuse a name that is a setting of no kind of question."""
    every = {name for request in REQUESTS.values() for name in settings_of(request)}
    for name in settings:
        if name not in every:
            make_request(_likeliest(settings, name), {name: settings[name]})


def _likeliest(settings: Mapping[str, object], unknown: str) -> type[Request]:
    """The kind of question that has a setting like the unknown one, or one that others call so; of several, that which most of
    the settings belong to."""

    def likeness(request: type[Request]) -> tuple[bool, bool, int]:
        known = settings_of(request)
        return PEERS.get(unknown) in known, nearest(unknown, known) is not None, len(set(known) & set(settings))

    return max(REQUESTS.values(), key=likeness)


def kind_of(given: object, model: object, settings: Mapping[str, object]) -> Kind:
    """What kind of question this is: decided here and nowhere else.

    A setting that only answers or series have asks for one, unless a plain frame is given; a model behind a server answers. A
    background beside three axes, or of three, makes series, unless the model was fitted to a table; any other background, a
    frame, a mapping, an estimator, or an array beside a plain function makes rows, and so does the name of a table's file
    beside a model of rows. Any other string, a pair or a list of them, is a text; everything else is a picture.

    >>> kind_of("A film.", None, {}), kind_of([[1.0, 2.0]], len, {}), kind_of(None, None, {"context": []})
    ('text', 'rows', 'answer')
    """
    _check_places(given, model)
    if is_url(model) or isinstance(model, HostedModel):
        return "answer"
    if only_in("answer") & set(settings) and (given is None or not _reads_rows(model)):
        return "answer"
    if only_in("series") & set(settings) and not _is_plain_frame(given) and not _is_one_text(given):
        return "series"
    if settings.get("background") is not None:
        return "series" if _has_series(given, settings) and not hasattr(model, "n_features_in_") else "rows"
    if given is None:
        raise InvalidInput(
            "nothing is given to explain; give a text, a picture, rows of a table, or a prompt with answer='…'",
            argument="given",
            code="missing",
        )
    if names_frame(given) and (_is_row_file(model) or _reads_rows(model)):
        return "rows"
    if isinstance(given, str) or (isinstance(given, tuple) and any(isinstance(one, str) for one in given)):
        return "text"
    if isinstance(given, list) and all(isinstance(one, str) for one in given) and _are_words(given):
        return "text"
    if not isinstance(given, list) and not hasattr(model, "n_features_in_") and _are_words(given):
        return "text"
    if isinstance(given, Path):
        return "picture"
    if _reads_rows(model) or _table_beside_a_function(given, model):
        return "rows"
    if _are_words(given):
        return "text"
    if isinstance(given, Mapping) or hasattr(given, "iloc"):
        return "rows"
    if isinstance(given, Number) or (isinstance(given, list | tuple | set) and not given):
        raise InvalidInput(
            f"given is {given!r:.40}, and nothing to explain; give a text, a picture, rows of a table, or a prompt with "
            "answer='…'",
            argument="given",
            code="type" if isinstance(given, Number) else "empty",
        )
    return "picture"


def _check_places(given: object, model: object) -> None:
    """Refuse what no question is about, and what stands where something else goes."""
    if callable(given) or hasattr(given, "predict"):
        raise InvalidInput(
            f"{a_type(given)} was given to be explained; what is explained stands first, and the model behind it: "
            "explain(rows, model)",
            argument="given",
            code="type",
        )
    if isinstance(given, bytes | bytearray | Iterator | Set):
        write = "given.decode()" if isinstance(given, bytes | bytearray) else "list(given)"
        raise InvalidInput(f"given is {a_type(given)}; write {write}", argument="given", code="type")
    if isinstance(model, np.ndarray | list | tuple) or hasattr(model, "iloc"):
        raise InvalidInput(
            f"{a_type(model)} stands where the model goes; labels are not needed, and what rows are compared with is "
            "background=…: explain(rows, model, background=…)",
            argument="model",
            code="type",
        )


def _is_one_text(given: object) -> bool:
    """Is this a text, and not the name of a file of arrays?"""
    return isinstance(given, str) and not given.lower().endswith((".npy", ".npz"))


def _are_words(given: object) -> bool:
    """Are these texts, in a list, an array or a column, also nested or with gaps? Names of pictures are none."""
    if isinstance(given, np.ndarray) or hasattr(given, "iloc"):
        given = list(np.ravel(np.asarray(given, dtype=object))) if getattr(given, "ndim", 0) == 1 else ()
    if not isinstance(given, list | tuple) or not given:
        return False
    inside = [one for one in given if one is not None]
    return bool(inside) and all(not _names_a_picture(one) if isinstance(one, str) else _are_words(one) for one in inside)


def _reads_rows(model: object) -> bool:
    from accredit.models.rows import reads_rows  # not a file that questions about texts read

    return reads_rows(model)


def _is_row_file(model: object) -> bool:
    from accredit.models.row_files import is_row_model_file

    return isinstance(model, str | Path) and is_row_model_file(model)


def _is_plain_frame(given: object) -> bool:
    """Is this a frame, or one row of it? One of series has an index of two levels."""
    return hasattr(given, "iloc") and getattr(getattr(given, "index", None), "nlevels", 1) == 1


def _has_series(given: object, settings: Mapping[str, object]) -> bool:
    """Is this about series? Of rows, players are groups of columns, and a name of a background is one of a file."""
    background = settings["background"]
    zeros = isinstance(background, str) and background == "zeros"
    return zeros or _has_steps(given) or _has_steps(background) or isinstance(settings.get("players"), str)


def _has_steps(given: object) -> bool:
    """Are these series: an array of three axes, or a list of arrays of two? A frame is a table here."""
    if isinstance(given, list | tuple):
        return bool(given) and all(getattr(one, "ndim", None) == 2 or _depth(one) == 2 for one in given)
    return getattr(given, "ndim", None) == 3


def _depth(given: object) -> int:
    """How deep lists are nested, by their first members; the axes of an array."""
    if isinstance(given, np.ndarray):
        return given.ndim
    return 1 + _depth(given[0]) if isinstance(given, list | tuple) and given else 0


def _table_beside_a_function(given: object, model: object) -> bool:
    """An array of rows and a plain function of it: what shap's users write first."""
    plain = callable(model) and not hasattr(model, "forward") and not hasattr(model, "predict")
    return plain and isinstance(given, np.ndarray | list) and _depth(given) <= 2


@overload
def explain(
    given: str | tuple[str, str] | Path, model: object = None, tokenizer: object = None, **settings: object
) -> Explanation: ...
@overload
def explain(given: object = None, model: object = None, tokenizer: object = None, **settings: object) -> Any: ...
def explain(
    given: object = None, model: object = None, tokenizer: object = None, **settings: object
) -> Explanation | TableExplanation | SeriesExplanation:
    """Which words of a text, parts of a picture, columns of a table's rows, stretches of a series or parts of a prompt earned
    the model's output.

    It chooses the kind of question (`kind_of`) and calls: `explain_text`, `explain_picture`, `explain_rows`,
    `explain_series` and `explain_answer` are the same with real signatures, and `Explainer` is the same for many inputs.
    `settings` are those of that kind: see `TextRequest`, `PictureRequest`, `RowRequest`, `SeriesRequest` and
    `AnswerRequest`. Most often: `methods`, `target`, `players`, `payoff`, `budget`; for rows and series `background`; for
    answers `context`, `query` and `answer`.

    >>> explanation = explain("A gripping film.", methods=["leave-one-out"])
    >>> explanation.target, explanation.players
    ('POSITIVE', ('A', 'gripping', 'film', '.'))
    """
    explained: Explanation | TableExplanation | SeriesExplanation = Explainer(model, tokenizer, **settings)(given)
    return explained


# A run followed to its end


def explain_by(subject: Asked, asked: list[ChosenMethod], announce: Announce | None = None) -> Explanation:
    """What some methods say of a subject, with a bar that shows how far they are; refused if none of them applies."""
    costs = {each.name: each.payoffs(len(subject.players), subject.budget) for each in asked}
    with (
        progress("explain", sum(costs.values())) as bar,
        announcing(announce),
        closing(events(subject, asked, progress=bar.visible or announce is not None)) as stream,
    ):
        most = min(sum(costs.values()), 2 ** len(subject.players))  # each coalition is asked once, whichever methods need it
        explanation, refused = _follow(stream, costs, bar, announce, most, here=subject.kind != "strings")
    if not explanation.attributions:
        first = refused[0]
        if len(asked) > 1:
            said = f"none of the methods applies; {first.method}: {first.why}"
            raise InvalidInput(said, argument="methods", code="unsupported")
        if asked[0].method in methods_for(subject.kind):  # then the reason is in what it was given
            raise InvalidInput(first.why, argument=first.error.argument, code=first.error.code or "unsupported")
        raise InvalidInput(first.why, argument="methods", code="unsupported")
    return explanation


def choose_methods(methods: Methods | None, model: object = None) -> list[ChosenMethod]:
    """The methods by their names, each once; or the usual ones for a model."""
    usual = FOR_STRINGS if isinstance(model, StringModel) else DEFAULT
    return find_all(usual if methods is None else methods, "explain")


def _follow(
    stream: Iterator[Event], asked: Mapping[str, int], bar: Progress, announce: Announce | None, most: int, here: bool
) -> tuple[Explanation, list[Refused]]:
    """Read a stream to its end, draw how far it is, and say what it will cost once that can be told and is much; what it
    explained, and the methods that did not apply.

    `asked` is the number of payoffs that each method will ask, `most` that of all together. Where the model runs `here`, what
    is left is told from CPU seconds, and stretched as the clock was so far: others may use this machine, too.
    """
    clock = time.process_time if here else time.monotonic
    before, began, worked = 0, time.monotonic(), clock()
    refused: list[Refused] = []
    first: tuple[int, float] | None = None  # payoffs and work at the first report: what comes before it is preparation
    for event in stream:
        if isinstance(event, MethodProgress):
            done, work = before + event.done, clock() - worked
            bar.update(done, event.method)
            first = (done, work) if first is None and done else first
            if announce is not None and first is not None and done > first[0] and work - first[1] >= ENOUGH:
                left = max(most - done, 0) * (work - first[1]) / (done - first[0])
                expected = (time.monotonic() - began) * (1 + left / work)
                if expected >= LONG:
                    announce(f"about {most:,} payoffs, {expected:.0f} s")
                announce = None
        elif isinstance(event, Done | Refused):
            refused += [event] if isinstance(event, Refused) else []
            before += asked[event.method]
            bar.update(before, event.method)
        elif isinstance(event, Explained):
            return event.explanation, refused
    raise AssertionError("a stream ends with Explained")
