"""Answers as games: which passages, sentences, turns, words or tokens of a prompt earn what a language model says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Unpack, final

import numpy as np

from accredit.answers.prompt import UNITS, WHOLE, Prompt, PromptForm
from accredit.answers.said import SCORE, Answer, Currency
from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import shown
from accredit.checks.suggestions import singular
from accredit.core import BoolArray, FloatArray, IntArray, distinct_names
from accredit.core.coalitions import keys
from accredit.core.game import check_coalitions
from accredit.core.rounding import power_of_two
from accredit.errors import BadPayoff, InvalidInput
from accredit.games.batches import MEMORY, RunCost, estimate

UNITS_OF_ANSWERS = ("sentence", "word", "token")
PAYOFFS = ("log-probability", "mean", "probability", "logit")
LARGEST_LOG_PROBABILITY = -(2.0**-53)  # the largest log-probability below 0


class Paying(Protocol):
    """Who is in the prompt, and log-probabilities of answers after what a coalition leaves of it; or, where that is the
    `currency`, a score from 0 to 1 for each answer."""

    @property
    def players(self) -> tuple[str, ...]: ...
    @property
    def rows(self) -> int: ...
    @property
    def currency(self) -> Currency: ...
    @property
    def blur(self) -> float:
        """How far rounding may move the log-probability of a token."""
        ...

    def log_probabilities(self, coalitions: BoolArray) -> FloatArray:
        """(batch, n) -> (batch, tokens of the answer, then of the other answer)."""
        ...

    @property
    def provenance(self) -> dict[str, object]: ...
    def fingerprint_parts(self) -> dict[str, object]: ...


@final
class AnswerGame:
    """v(S) = log-probability of each token of an answer, when only the parts of S are left in the prompt.

    One forward pass over prompt and answer pays every token, so the game has one payoff for each: `outputs` are the tokens of
    the answer, and `payoff` gives (batch, tokens). `whole`, `sentences` and `token` are views of the same passes; every
    coalition is evaluated once, whichever view asks first.

    >>> from accredit.models import builtin
    >>> model, tokenizer = builtin.load_answers()
    >>> facts = ["Anna lives in Rome .", "Boris owns a dog ."]
    >>> game = answer_game(model, tokenizer=tokenizer, context=facts, query="Where does Anna live ?")
    >>> game.outputs
    ('Anna', 'lives', 'in', 'Rome', '.')
    >>> game.payoff(np.array([[True, True], [True, True], [True, False]])).shape, game.passes
    ((3, 5), 2)
    """

    def __init__(
        self,
        pays: Paying,
        outputs: tuple[str, ...],
        others: int = 0,
        answer: Answer | None = None,
        unit: str = "player",
    ) -> None:
        self.pays, self.outputs, self.answer = pays, outputs, answer
        self.unit = unit  # what the players are: passage, sentence, turn, …
        self._others = others  # tokens of the answer that this one is compared with
        self._known: dict[bytes, FloatArray] = {}
        self._evaluate: Callable[[BoolArray], FloatArray] = pays.log_probabilities
        self._count: Callable[[], int] = lambda: len(self._known)

    def evaluate_by(self, evaluate: Callable[[BoolArray], FloatArray], count: Callable[[], int]) -> None:
        """Ask payoffs of something that asks `pays` in its turn, and keeps them or asks many at once; `count` says how many it
        has asked."""
        before = self.passes
        self._evaluate, self._count = evaluate, lambda: before + count()

    @property
    def players(self) -> tuple[str, ...]:
        return self.pays.players

    @property
    def rows(self) -> int:
        return self.pays.rows

    @property
    def width(self) -> int:
        """Numbers that one coalition is paid: the tokens of the answer, and those of the other answer."""
        return len(self.outputs) + self._others

    @property
    def passes(self) -> int:
        """Prompts that the model has read so far, each with its answer: one for each distinct coalition that was not kept."""
        return self._count()

    @property
    def provenance(self) -> dict[str, Any]:
        """What the payoffs rest on."""
        return self.pays.provenance | {"payoff": self.pays.currency}

    @property
    def blur(self) -> float:
        """How far rounding may move the log-probability of a token (`accredit.core.rounding`)."""
        if not self._known:
            self.ask(np.ones((1, len(self.players)), dtype=bool))
        return self.pays.blur

    def fingerprint_parts(self) -> dict[str, object]:
        """What decides the payoffs, for a journal of them."""
        return self.pays.fingerprint_parts()

    def blur_of_view(self, worth: Callable[[FloatArray], FloatArray]) -> float:
        """How far rounding may move what is made of log-probabilities: those of the answer up, those of the other down."""
        if not self.blur:
            return 0.0
        moved = self.blur * np.repeat([1.0, -1.0], [len(self.outputs), self._others])
        known = np.stack(list(self._known.values()))
        plain, up, down = (worth(np.minimum(known + sign * moved, 0.0)) for sign in (0, 1, -1))
        return power_of_two(float(max(np.abs(up - plain).max(), np.abs(down - plain).max())))

    def __repr__(self) -> str:
        return f"AnswerGame({len(self.players)} players, {len(self.outputs)} answer tokens)"

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        """Log-probability of each token of the answer: (batch, n) -> (batch, tokens)."""
        return self.ask(coalitions)[:, : len(self.outputs)]

    def ask(self, coalitions: BoolArray) -> FloatArray:
        """All that a pass pays: the answer's tokens, then those of the other answer; (batch, n) -> (batch, all tokens)."""
        coalitions = check_coalitions(coalitions, len(self.players))
        names = keys(coalitions)
        new = {name: i for i, name in enumerate(names) if name not in self._known}
        if new:
            earned = self._evaluate(coalitions[list(new.values())])
            if earned.shape != (len(new), self.width):
                raise BadPayoff(
                    f"{len(new)} prompts were paid with shape {earned.shape}; one row each was expected", code="shape"
                )
            self._known |= dict(zip(new, earned, strict=True))
        return np.stack([self._known[name] for name in names])

    def estimate(self, budget: int) -> RunCost:
        """Payoffs and seconds that `budget` coalitions will cost, from timed passes that are not kept."""
        return estimate(AnswerGame(self.pays, self.outputs, self._others), budget)

    def whole(self, payoff: str | None = None) -> AnswerView:
        """The whole answer: log-probability (the sum over tokens), its mean per token, the probability, or its logit; a score,
        where scores are paid. By default what is paid.

        Where the game compares two answers, the same for this one minus the same for the other.
        """
        payoff = payoff or self.pays.currency
        self._check_payoff(payoff)
        said, count = _worth_of(payoff), len(self.outputs)
        if not self._others:
            return AnswerView(self, said, payoff)
        return AnswerView(self, lambda e: said(e[:, :count]) - said(e[:, count:]), payoff)

    def _check_payoff(self, payoff: str) -> None:
        if self.pays.currency == SCORE and payoff != SCORE:
            raise InvalidInput(
                f"payoff is {payoff!r}, and scores from 0 to 1 are paid here; leave it out, or write payoff='score'",
                argument="payoff",
                code="conflict",
            )
        if self.pays.currency != SCORE and payoff not in PAYOFFS:
            raise InvalidInput(f"payoff is {payoff!r}; write one of {', '.join(PAYOFFS)}", argument="payoff", code="unknown")

    def sentences(self) -> AnswerViews:
        """The log-probability of each sentence of the answer: (batch, sentences)."""
        if self.answer is None:
            raise InvalidInput(
                "the sentences of the answer are not known: its tokens have no text; use whole() or the game itself",
                code="missing",
            )
        names, where = zip(*self._cut("sentence"), strict=True)
        return AnswerViews(
            self,
            names,
            lambda earned: np.stack([earned[:, k].sum(axis=1) for k in where], axis=1),
            "log-probability",
            where,
        )

    def targets(
        self,
        payoff: str | None = None,
        units: tuple[str, ...] = ("sentence", "token"),
        words: tuple[str, ...] = (),
    ) -> AnswerViews:
        """The whole answer, then each of its sentences, words or tokens, then some `words` of it, paid in the same way: (batch,
        targets).

        A sentence, word or token that is the whole answer is not listed again, nor is the token of a sentence of one. Where two
        answers are compared, the whole is this one minus the other, while sentences and tokens are those of this one alone.
        """
        payoff = payoff or self.pays.currency
        whole, count = self.whole(payoff), len(self.outputs)
        if self.pays.currency == SCORE:
            return self._scores(whole)
        if not isinstance(units, list | tuple) or not {*map(repr, units)} <= {*map(repr, UNITS_OF_ANSWERS)}:
            raise InvalidInput(f"units is {shown(units)}; write some of {UNITS_OF_ANSWERS}", argument="units", code="type")
        parts = [part for unit in units for part in self._cut(unit) if len(part[1]) < count or self._others]
        named = list({where.tobytes(): (name, where) for name, where in reversed(parts)}.values())[::-1]
        named += [(each, self.place(each)) for each in words]
        worth = _worth_of(payoff)
        names = distinct_names([WHOLE, *(name for name, _ in named)])

        def every(earned: FloatArray) -> FloatArray:
            return np.stack([whole.worth(earned), *(worth(earned[:, where]) for _, where in named)], axis=1)

        return AnswerViews(self, names, every, payoff, (np.arange(count), *(where for _, where in named)))

    def _scores(self, whole: AnswerView) -> AnswerViews:
        """The score of the whole answer, and the noise of sampled ones."""
        count = len(self.outputs)

        def every(earned: FloatArray) -> FloatArray:
            return np.concatenate([whole.worth(earned)[:, None], earned[:, 1:count]], axis=1)

        return AnswerViews(self, (WHOLE, *self.outputs[1:]), every, SCORE, tuple(np.array([k]) for k in range(count)))

    def place(self, words: str) -> IntArray:
        """The numbers of the tokens that hold some words of the answer."""
        if self.answer is None:
            raise InvalidInput(
                f"words is {words!r:.40}, and the tokens of this answer have no text; let the game cut it: cut={words!r:.40}",
                argument="words",
                code="missing",
            )
        return self.answer.place(words).tokens

    def _cut(self, unit: str) -> list[tuple[str, IntArray]]:
        """The sentences, words or tokens of the answer: their names and the numbers of their tokens."""
        if unit == "token":
            return [(name, np.array([k])) for k, name in enumerate(self.outputs)]
        if self.answer is None:
            return []
        if unit == "word":
            return list(zip(*self.answer.words, strict=True))
        names, number = self.answer.sentences
        return [(name, np.flatnonzero(number == k)) for k, name in enumerate(names)]

    def token(self, which: int | str) -> AnswerView:
        """One token of the answer, by its number or its name in `outputs`."""
        if isinstance(which, str) and which in self.outputs:
            which = self.outputs.index(which)
        if not isinstance(which, int) or not -len(self.outputs) <= which < len(self.outputs):
            raise InvalidInput(
                f"token is {which!r}; the answer has {len(self.outputs)}: {', '.join(self.outputs[:8])}",
                argument="which",
                code="unknown",
            )
        place = range(len(self.outputs))[which]
        return AnswerView(self, lambda earned: earned[:, place], "log-probability")


class AnswerView:
    """A game whose payoff is made from those of an answer's tokens: (batch,)."""

    def __init__(self, game: AnswerGame, worth: Callable[[FloatArray], FloatArray], payoff: str) -> None:
        self.game, self.worth, self._payoff = game, worth, payoff

    @property
    def players(self) -> tuple[str, ...]:
        return self.game.players

    @property
    def rows(self) -> int:
        return self.game.rows

    @property
    def provenance(self) -> dict[str, object]:
        return self.game.provenance | {"payoff": self._payoff}

    def fingerprint_parts(self) -> dict[str, object]:
        """What decides the payoffs, for a journal of them."""
        return {"game": self.game, "payoff": self._payoff, "outputs": getattr(self, "outputs", ())}

    @property
    def blur(self) -> float:
        """How far rounding may move a payoff."""
        return self.game.blur_of_view(self.worth)

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        """What each coalition earns: (batch, n) -> (batch,), or (batch, k) of several outputs."""
        return self.worth(self.game.ask(coalitions))


@final
class AnswerViews(AnswerView):
    """Several such games at once, one per output: (batch, k). `where` are the numbers of each one's tokens."""

    def __init__(
        self,
        game: AnswerGame,
        outputs: tuple[str, ...],
        worth: Callable[[FloatArray], FloatArray],
        payoff: str,
        where: tuple[IntArray, ...],
    ) -> None:
        super().__init__(game, worth, payoff)
        self.outputs, self.where = outputs, where


def _worth_of(payoff: str) -> Callable[[FloatArray], FloatArray]:
    if payoff == SCORE:
        return lambda earned: earned[:, 0]
    if payoff == "mean":
        return lambda earned: earned.mean(axis=1)
    if payoff == "probability":
        return lambda earned: np.exp(earned.sum(axis=1))
    if payoff == "logit":
        return _logit
    return lambda earned: earned.sum(axis=1)


def _logit(earned: FloatArray) -> FloatArray:
    """log p − log(1 − p); a probability that rounds to 1 counts as the largest number below 1."""
    log_p = np.minimum(earned.sum(axis=1), LARGEST_LOG_PROBABILITY)
    return np.asarray(log_p - np.log(-np.expm1(log_p)))


@check_arguments
def answer_game(
    model: object,
    prompt: object = None,
    answer: object = None,
    *,
    tokenizer: object = None,
    players: object = None,
    fixed: object = (),
    rather_than: object = None,
    removal: str = "rebuild",
    filler: str | None = None,
    memory: float = MEMORY,
    batch: int | None = None,
    prefix: str = "",
    generation: dict[str, Any] | None = None,
    **form: Unpack[PromptForm],
) -> AnswerGame:
    """The game in which parts of a prompt earn the tokens of an answer.

    The prompt is a text, chat messages, token ids, or `context=[passages], query=…`. `players` are "passage", "sentence",
    "paragraph", "turn", "example", "word", "token", a list of passages, or a mapping from names to strings or spans of the
    prompt; by default passages of a context, turns of a chat with several, sentences of a text, tokens of ids. What is
    `fixed`, the template and special tokens never play. `answer` is a text or token ids; None lets the model generate one
    with the settings `generation` (greedy by default). `rather_than` is another answer to compare with. `prefix` is what an
    encoder–decoder has said before the answer: its words, tokens or sentences play beside those of the prompt.

    Parts leave by `removal`: "rebuild" writes the prompt again without them, through the chat template (tokens are cut out
    of the ids); "attention" leaves them in place, unseen, positions kept; "filler" puts the text `filler` in their place.

    >>> from accredit.models import builtin
    >>> model, tokenizer = builtin.load_answers()
    >>> facts = ["Anna lives in Rome .", "Boris owns a dog ."]
    >>> game = answer_game(model, tokenizer=tokenizer, context=facts, query="Where does Anna live ?")
    >>> game.players, game.answer.text
    (('Anna lives in Rome .', 'Boris owns a dog .'), 'Anna lives in Rome .')
    >>> with_anna, with_boris = game.whole().payoff(np.eye(2, dtype=bool))
    >>> bool(with_anna > with_boris)
    True
    """
    from accredit.answers.assembly import assembly  # these need torch, which functions of prompts do not
    from accredit.answers.decoder_prefix import with_prefix
    from accredit.answers.model import as_answering_model
    from accredit.answers.passes import Reader
    from accredit.answers.scoring import ModelPays

    asked = as_answering_model(model, tokenizer)
    said = asked.prompt(prompt, **form)
    players = choose_players(players, said, form)
    parts = with_prefix(assembly(asked, said, players, fixed, removal, filler), prefix, players)
    first = asked.generate(said, prefix, **(generation or {})) if answer is None else asked.answer(answer, said)
    answers = [first] if rather_than is None else [first, asked.answer(rather_than, said, "rather_than")]
    if len(answers) == 2 and answers[0].ids.tolist() == answers[1].ids.tolist():
        raise InvalidInput(
            f"rather_than is {answers[1].text!r:.60}, the answer itself; give another answer",
            argument="rather_than",
            code="duplicate",
        )
    notes = asked.notes(said, form.get("context") is not None, prefix)
    if not isinstance(said, np.ndarray):
        notes += (*said.leftovers(players), *said.repeats())
    pays = ModelPays(asked, parts, answers, Reader(asked, memory, batch), notes)
    others = len(answers[1].ids) if len(answers) == 2 else 0
    return AnswerGame(pays, first.tokens, others, first, players if isinstance(players, str) else "player")


def choose_players(players: object, prompt: Prompt | IntArray, form: PromptForm) -> object:
    """Players as the engine names them: a unit in the singular, or parts as given.

    By default passages of a context, turns of a chat with several, sentences of a text, tokens of ids.
    """
    if isinstance(players, str):
        return singular(players, UNITS)
    if players is not None:
        return players
    if isinstance(prompt, np.ndarray):
        return "token"
    if form.get("context") is not None:
        return "passage"
    return "turn" if prompt.messages is not None and any(c.strip() for c in prompt.contents[:-1]) else "sentence"
