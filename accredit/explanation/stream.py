"""The explain loop as a stream of events. The command, files of texts, the page, the arena and notebooks all consume it.

Every method is announced (`Started`), then reports how far it is (`MethodProgress`, if asked for), then ends: `Done` with its
credit and its own seconds, or `Refused` with the reason. When all have ended, drawings are made and `Explained` is last.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from accredit import defaults
from accredit.answers.replies import with_noise
from accredit.answers.server import ServerError
from accredit.core import Attribution, Attributions, Game
from accredit.errors import AccreditError, InvalidInput
from accredit.explanation.answers import AnswerSubject
from accredit.explanation.assemble import explanation_of
from accredit.explanation.result import Explanation
from accredit.explanation.subject import Subject
from accredit.games.wrappers import watch
from accredit.methods import ChosenMethod, find

PACE = 0.2  # seconds between two reports of progress
Asked = Subject | AnswerSubject
Said = TypeVar("Said")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Started:
    """A method begins."""

    method: str


@dataclass(frozen=True)
class MethodProgress:
    """A method has asked `done` of about `of` payoffs."""

    method: str
    done: int
    of: int
    seconds_left: float


@dataclass(frozen=True, eq=False)
class Done:
    """What a method says, and the seconds that it alone took."""

    method: str
    attribution: Attribution
    seconds: float
    others: Mapping[str, Attribution] = field(default_factory=dict)  # for other targets, where all were asked for


@dataclass(frozen=True)
class Refused:
    """Why a method does not apply."""

    method: str
    error: AccreditError

    @property
    def why(self) -> str:
        return str(self.error)


@dataclass(frozen=True, eq=False)
class Explained:
    """All methods have ended."""

    explanation: Explanation


Ended = Done | Refused
Event = Started | MethodProgress | Done | Refused | Explained


def events(
    subject: Asked,
    methods: Sequence[ChosenMethod],
    *,
    progress: bool = False,
    pace: float = PACE,
    quickest_first: bool = False,
) -> Generator[Event]:
    """Run some methods on a subject, one after the other.

    With `progress`, what asks payoffs runs in a thread of its own, and reports how far it is at most every `pace` seconds;
    its numbers are the same. Whoever stops reading stops the run, after the batch of payoffs it is in.
    """
    ended: list[Ended] = []
    players = len(subject.players)
    order = sorted(methods, key=lambda each: each.payoffs(players, subject.budget)) if quickest_first else methods
    for chosen in order:
        yield Started(chosen.name)
        asks = progress and chosen.method.kind == "game"
        for event in _report(subject, chosen, pace) if asks else (answer(subject, chosen),):
            if isinstance(event, Ended):
                ended.append(event)
            yield event
    yield Explained(assemble(subject, methods, ended))


def assemble(subject: Asked, methods: Sequence[ChosenMethod], ended: Sequence[Ended]) -> Explanation:
    """The explanation by those methods that have ended, in the order asked, with its drawings."""
    done = {event.method: event for event in ended if isinstance(event, Done)}
    refused = {event.method: event.why for event in ended if isinstance(event, Refused)}
    return explanation_of(
        subject,
        [chosen for chosen in methods if chosen.name in done or chosen.name in refused],
        {name: event.attribution for name, event in done.items()},
        refused,
        {name: event.seconds for name, event in done.items()},
        {name: event.others for name, event in done.items() if event.others},
    )


def answer(subject: Asked, chosen: ChosenMethod, report: Callable[[int], None] | None = None) -> Ended:
    """One method's answer. What it imports, the attention it shares with others and its drawing are not in its seconds."""
    try:
        find(chosen.name, subject.kind)
        chosen.load()
        if chosen.method.kind == "attention":
            from accredit.explanation.attention import ready

            ready(cast("Any", subject), **chosen.parameters)
        game = subject.record if report is None else watch(subject.record, report)
        began = time.perf_counter()
        credit = _solve(subject, chosen, game)
        seconds = time.perf_counter() - began
        main, others = _by_target(credit, subject)
        return Done(chosen.name, main, seconds, others)
    except ServerError:  # it is not the method that failed
        raise
    except AccreditError as error:
        return Refused(chosen.name, error)


def attribution_of(subject: Asked, method: str) -> Attribution:
    """One method's credit for the subject's target, without a stream; a method that does not apply raises.

    >>> from accredit.explanation.loading import builtin_model
    >>> from accredit.explanation.subject import text_subject
    >>> attribution_of(text_subject(builtin_model("text"), "Not good."), "loo").players
    ('Not', 'good', '.')
    """
    chosen = find(method, subject.kind)
    return _by_target(_solve(subject, chosen, subject.record), subject)[0]


def _solve(subject: Asked, chosen: ChosenMethod, game: Game) -> Attribution | Attributions:
    credit: Attribution | Attributions
    if isinstance(subject, AnswerSubject) and subject.samples is not None:
        chosen = linear(chosen, len(subject.players), subject.budget)
    if chosen.method.kind == "game":
        credit = chosen.solver(subject.budget, subject.seed, subject.tree).solve(game)
    else:
        given = subject.settings if chosen.method.kind == "gradients" else {}  # readings of attention share one graph
        taken = {name: value for name, value in given.items() if name in chosen.method.takes}
        credit = chosen.load()(subject, **chosen.parameters, **taken)
    return credit


def linear(chosen: ChosenMethod, players: int, budget: int | None) -> ChosenMethod:
    """The method by which credit of sampled payoffs is computed: its error is known only where credit is linear in them.
    Shapley values that are not exact are then those of random orders."""
    if chosen.name == "shapley" and not defaults.affordable(players, budget):
        return find("permutations", "strings")
    if "linearity" not in chosen.method.axioms:
        raise InvalidInput(
            f"{chosen.name} is not linear in the payoffs, and these are shares of sampled replies, whose error it "
            "cannot pass on; use shapley, banzhaf or leave-one-out",
            argument="methods",
            code="unsupported",
        )
    return chosen


def _by_target(credit: Attribution | Attributions, subject: Asked) -> tuple[Attribution, dict[str, Attribution]]:
    """The credit for the subject's target, and for the others, with what was explained noted in each."""
    facts = subject.facts
    if isinstance(credit, Attribution):
        return _note(credit, facts), {}
    noted = {name: _note(one, {**facts, "target": name}) for name, one in credit.items()}
    main = noted.pop(subject.main)
    if isinstance(subject, AnswerSubject) and subject.samples is not None:
        return with_noise(main, noted, subject.samples), {}
    return main, noted


def _note(credit: Attribution, facts: Mapping[str, object]) -> Attribution:
    """The credit, with what was explained noted in it."""
    shared = {k: facts[k] for k in ("model", "target", "payoff", "removal")}
    own = {k: v for k, v in credit.provenance.items() if k not in ("text", "image")}
    return replace(credit, provenance=shared | own)


class _Abandoned(BaseException):
    """The reader has stopped reading."""


def listen(work: Callable[[Callable[[Said], None]], Made], pace: float = PACE) -> Generator[Said, None, Made]:
    """Run `work` in a thread of its own, and yield what it says, at most every `pace` seconds; returns what it returns.

    The first thing that it says is always passed on. Whoever stops reading stops the work the next time it says something.

    >>> list(listen(lambda say: say("one pass done")))
    ['one pass done']
    """
    said: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
    stop = threading.Event()
    last = -math.inf

    def say(what: Said) -> None:
        nonlocal last
        if stop.is_set():
            raise _Abandoned
        if (now := time.monotonic()) - last >= pace:
            last = now
            said.put(("said", what))

    def run() -> None:
        try:
            said.put(("made", work(say)))
        except BaseException as error:  # raised again where the stream is read
            said.put(("raised", error))

    thread = threading.Thread(target=copy_context().run, args=(run,), name="explain", daemon=True)
    thread.start()
    try:
        while True:
            kind, what = said.get()
            if kind == "raised":
                raise what
            if kind == "made":
                return cast("Made", what)
            yield what
    finally:
        stop.set()
        thread.join()


def _report(subject: Asked, chosen: ChosenMethod, pace: float) -> Iterator[MethodProgress | Ended]:
    """One method in a thread of its own, reporting how far it is. The first batch is always reported."""
    of = chosen.payoffs(len(subject.players), subject.budget)
    began = time.monotonic()

    def work(say: Callable[[MethodProgress], None]) -> Ended:
        def report(done: int) -> None:
            left = (time.monotonic() - began) / max(done, 1) * max(of - done, 0)
            say(MethodProgress(chosen.name, min(done, of), of, left))

        return answer(subject, chosen, report)

    yield (yield from listen(work, pace))
