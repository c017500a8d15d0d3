"""Answers in the arena: contexts of facts whose truth is known, and a model that answers from them.

Each input is a fresh context, a question and its answer. Which passages hold the answer is known, so beside what removal
shows it can be said whether the right ones are credited.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from accredit.arena.contest import ANSWER_METRICS, METRICS, Example, MethodRun
from accredit.arena.texts import BUILTIN, among, count_passes, explainer_of, weights_digest
from accredit.core import Game
from accredit.core.threads import one_torch_thread
from accredit.errors import InvalidInput
from accredit.evaluate.erasure import HitAt
from accredit.evaluate.metric import Metric, Unfit
from accredit.methods import find, find_all
from accredit.models.builtin.facts import Facts, facts

if TYPE_CHECKING:
    from accredit.answers.model import AnsweringModel
    from accredit.explanation.answers import AnswerSubject

ABLATIONS = 64  # ablations, as in ContextCite
CONTEXTS_PER_SEED = 1_000_003  # contexts of one seed, at most


@dataclass(frozen=True)
class AnswerContest:
    """Settings of a contest on answers to questions about facts.

    `kind` says how the facts are laid out: "plain" (one holds the answer), "redundant" (each of two does), "joint" (two are
    needed together), "contradicting" (the later of two counts). The method "lasso" is ContextCite's: it is given the logit of
    the answer's probability, and its penalty is 0.01 per token of the answer.

    >>> contest = AnswerContest(("shapley", "leave-one-out"), kind="joint", passages=4, budget=16)
    >>> len(contest.game(contest.examples(1)[0]).players), contest.metrics
    (4, ('hit@1', 'hit@2', 'drop@1', 'drop@2', 'lds'))
    """

    methods: tuple[str, ...]
    kind: str = "plain"
    passages: int = 16
    model: str = BUILTIN  # or a folder
    metrics: tuple[str, ...] = ANSWER_METRICS
    removal: str = "rebuild"
    budget: int = ABLATIONS  # payoffs that each game method may ask
    seed: int = 0

    def check(self) -> None:
        """Refuse what would fail on every row."""
        find_all(self.methods, "answer")
        answering(self.model)
        from accredit.answers.assembly import REMOVALS  # after the model, which says what it needs

        if self.removal not in REMOVALS or self.removal == "filler":
            raise InvalidInput(f"removal is {self.removal!r}; write rebuild or attention", argument="removal", code="unknown")
        facts(self.kind, self.passages)

    def settings(self) -> Mapping[str, object]:
        from accredit.core.version import __version__

        return {**vars(self), "model": weights_digest(answering(self.model).model), "accredit": __version__}

    def steady(self) -> AbstractContextManager[None]:
        return one_torch_thread()

    def examples(self, count: int) -> list[Example]:
        """That many fresh contexts."""
        made = [self._facts(row) for row in range(count)]
        return [Example(row, "\n".join((*each.context, each.query)), each.answer) for row, each in enumerate(made)]

    def _facts(self, row: int) -> Facts:
        return facts(self.kind, self.passages, CONTEXTS_PER_SEED * self.seed + row)

    def _draw(self, row: int) -> int:
        """The seed of what is drawn to explain a row: another one for each, so that intervals over rows cover the draw."""
        return CONTEXTS_PER_SEED * (self.seed + 1) + row

    def game(self, example: Example) -> Game:
        game: Game = self._subject(example).game.whole()
        return game

    def explain(self, method: str, example: Example) -> MethodRun:
        from accredit.explanation.stream import Done, answer

        subject, chosen = self._subject(example), find(method, "answer")
        if chosen.method.name == "lasso":
            return _as_contextcite(subject, chosen.parameters["alpha"])
        with count_passes(subject.model.model) as passes:
            event = answer(subject, chosen)
        if not isinstance(event, Done):
            raise InvalidInput(event.why, code="unsupported")
        asked = subject.game.passes if chosen.method.kind == "game" else passes[0]
        return MethodRun(among(event.attribution, subject.players), asked)

    def metric(self, name: str, example: Example) -> Metric:
        metric = METRICS[name]
        if isinstance(metric, HitAt):
            return replace(metric, truth=self._facts(example.row).truth)
        if name in ("log-odds", "post-hoc accuracy"):
            return Unfit(name, metric.better, metric.paper, f"{name} is about probabilities of classes, not of answers")
        return metric

    def _subject(self, example: Example) -> AnswerSubject:
        from accredit.explanation.requests import AnswerRequest

        made = self._facts(example.row)
        request = AnswerRequest(
            context=list(made.context),
            query=made.query,
            answer=example.target,
            removal=self.removal,
            target="answer",
            budget=self.budget,
            seed=self._draw(example.row),
        )
        return explainer_of(self.model).subject(None, request)


def _as_contextcite(subject: AnswerSubject, alpha: float) -> MethodRun:
    """The lasso of ContextCite: on the logit of the answer's probability, `alpha` for each token."""
    from accredit.values.ablations import Lasso

    solver = Lasso(subject.budget or ABLATIONS, alpha * len(subject.game.outputs), seed=subject.seed)
    return MethodRun(solver.solve(subject.game.whole("logit")), subject.game.passes)


def answering(model: str) -> AnsweringModel:
    """The model of a contest on answers."""
    return cast("AnsweringModel", explainer_of(model).model_for("answer"))
