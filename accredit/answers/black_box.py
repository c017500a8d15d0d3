"""Answers of models that are only asked from outside: a function of prompts that returns log-probabilities."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Unpack, final

import numpy as np

from accredit.answers.game import AnswerGame, choose_players
from accredit.answers.prompt import Parts, Prompt, PromptForm, prompt_of
from accredit.answers.said import SCORE, Answer, Currency, find_stretch, meant_words
from accredit.checks import real_numbers
from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import a_type
from accredit.core import BoolArray, FloatArray, Procedure, distinct_names
from accredit.errors import AccreditError, BadPayoff, InvalidInput
from accredit.games.batches import spans
from accredit.models.encoded import sentence_spans

PROMPTS_PER_CALL = 64  # prompts in one call
ROUNDING = 1e-6  # how far above 0 a log-probability may be rounded

Given = str | list[dict[str, object]]  # a text, or messages


@final
class FunctionPays:
    """Payoffs from a function that is given prompts and the answer, and returns log-probabilities, or scores from 0 to 1."""

    rows = PROMPTS_PER_CALL
    blur = 0.0  # nobody says how its log-probabilities are computed

    def __init__(
        self,
        function: Callable[..., object],
        parts: Parts,
        answers: list[str],
        filler: str | None,
        stops: tuple[int, ...] = (),
        scores: bool | None = None,
    ) -> None:
        self.function, self.parts, self.answers, self.filler = function, parts, answers, filler
        self.stops = stops  # where the answer is cut into pieces, each of which is paid; none: as the function pays it
        self.notes: list[str] = []  # what the reader of a result must know
        self._scores = scores  # None until the first call shows it

    @property
    def currency(self) -> Currency:
        return SCORE if self._scores else "log-probability"

    @property
    def players(self) -> tuple[str, ...]:
        return self.parts.players

    def log_probabilities(self, coalitions: BoolArray) -> FloatArray:
        left = [self.parts.without(kept, self.filler) for kept in coalitions]
        prompts = [p.contents[0] if p.messages is None else [dict(m) for m in p.messages] for p in left]
        first = self._say_pieces(prompts) if self.stops else self._say(prompts, self.answers[0])
        return np.concatenate([first, *(self._say(prompts, answer) for answer in self.answers[1:])], axis=1)

    def _say_pieces(self, prompts: list[Given]) -> FloatArray:
        """What each piece of the answer adds: log p(answer up to its end) − log p(answer up to its beginning)."""
        up_to = [self._say(prompts, self.answers[0][:stop]).sum(axis=1) for stop in self.stops]
        return np.diff(np.stack(up_to, axis=1), axis=1, prepend=0.0)

    def _say(self, prompts: list[Given], answer: str) -> FloatArray:
        parts = [
            self._check_returned(self._return(prompts[part], answer), len(prompts[part]))
            for part in spans(len(prompts), PROMPTS_PER_CALL)
        ]
        if len({part.shape[1] for part in parts}) > 1:
            raise BadPayoff(
                f"the function paid {sorted({p.shape[1] for p in parts})} tokens for one answer; return the same number each",
                code="shape",
            )
        return np.concatenate(parts)

    def _return(self, prompts: list[Given], answer: str) -> object:
        try:
            return self.function(prompts, answer)
        except AccreditError:
            raise
        except Exception as error:  # a function may raise anything; say on what, and what it said
            said = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            raise InvalidInput(
                f"the function failed on {len(prompts)} prompts and {answer!r:.40}: {said}", argument="function", code="failed"
            ) from error

    def _check_returned(self, returned: object, count: int) -> FloatArray:
        earned = real_numbers(
            returned, "what the function returned (one log-probability, or one row of them, for each prompt)", BadPayoff
        )
        earned = earned[:, None] if earned.ndim == 1 else earned
        if earned.ndim != 2 or len(earned) != count or not earned.shape[1]:
            raise BadPayoff(
                f"the function returned shape {earned.shape} for {count} prompts; return ({count},) or ({count}, tokens)",
                code="shape",
            )
        if self._scores is None and np.isfinite(earned).all():
            self._scores = bool(earned.max() > ROUNDING and earned.min() >= 0 and earned.max() <= 1)
            if self._scores:
                self.notes.append(
                    "The function returns numbers between 0 and 1: they are read as scores, not as log-probabilities, "
                    "and shares of the score are credited."
                )
        low, high = (0.0, 1.0) if self._scores else (-np.inf, ROUNDING)
        wrong = ~np.isfinite(earned) | (earned > high) | (earned < low)
        if wrong.any():
            what = "a log-probability is a finite number that is not above 0; of scores from 0 to 1 say payoff='score'"
            what = "a score is a number from 0 to 1" if self._scores else what
            raise BadPayoff(f"the function returned {earned[wrong][0]}; {what}", code="not-finite")
        if self._scores and (earned.shape[1] > 1 or self.stops):
            raise BadPayoff(
                "the function returned scores, which are for a whole answer; return one for each prompt, and leave words and "
                "sentences of the answer to log-probabilities",
                code="unsupported",
            )
        return earned

    def fingerprint_parts(self) -> dict[str, object]:
        """What decides the payoffs: the function, the prompt, and what is asked of it."""
        prompt = self.parts.prompt
        return {
            "function": self.function,
            "contents": prompt.contents,
            "messages": prompt.messages,
            "spans": self.parts.spans,
            "owner": self.parts.owner,
            "answers": self.answers,
            "stops": self.stops,
            "filler": self.filler,
        }

    @property
    def provenance(self) -> dict[str, object]:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return {
            "model": name,
            "architecture": "a function of prompts",
            "removal": "rebuild" if self.filler is None else "filler",
            "filler": self.filler,
            "answer": self.answers[0],
            "answer from": Procedure("given").as_plain(),
            "rather than": self.answers[1] if len(self.answers) > 1 else None,
            "reading": f"up to {PROMPTS_PER_CALL} prompts in one call of the function",
            "notes": list(self.notes),
        }


@check_arguments
def asked_game(
    function: Callable[..., object],
    prompt: object = None,
    answer: str = "",
    *,
    players: object = None,
    fixed: object = (),
    rather_than: str | None = None,
    filler: str | None = None,
    cut: str | None = None,
    scores: bool | None = None,
    **form: Unpack[PromptForm],
) -> AnswerGame:
    """The game of an answer whose log-probabilities come from a function: a hosted model, or another runtime.

    `function(prompts, answer)` gets texts (or lists of messages, if the prompt is a chat) and returns the log-probability of
    the answer after each, or one for each of its tokens. Players and prompts are those of `answer_game`, but for tokens,
    which only a tokenizer knows. Parts leave by rebuilding the prompt, or a filler takes their place. With `cut` "sentence",
    "word" or some words of the answer, these pieces are paid one by one: the function is asked about the answer up to the end
    of each, and differences are taken. Numbers between 0 and 1 are `scores` of the whole answer: how good it is, or how often
    it comes out. Which of the two it returns is seen from the whole prompt, unless `scores` says it.

    >>> def knows(prompts, answer):
    ...     return [-0.1 if "Rome" in prompt else -3.0 for prompt in prompts]
    >>> game = asked_game(knows, context=["Anna lives in Rome.", "Boris is old."], query="Where does Anna live?", answer="Rome")
    >>> game.whole().payoff(np.array([[True, False], [False, True]]))
    array([-0.1, -3. ])
    """
    if not callable(function):
        raise InvalidInput(
            f"function is {a_type(function)}; give a function of (prompts, answer) that returns log-probabilities",
            argument="function",
            code="type",
        )
    answers = [answer] if rather_than is None else [answer, rather_than]
    if not all(isinstance(a, str) and a.strip() for a in answers):
        raise InvalidInput(
            f"answer is {answers!r:.60}; a function of prompts is asked about a given answer that is not empty",
            argument="answer",
            code="empty",
        )
    if rather_than == answer:
        raise InvalidInput(
            f"rather_than is {rather_than!r:.60}, the answer itself; give another answer",
            argument="rather_than",
            code="duplicate",
        )
    _check_signature(function)
    said = prompt_of(prompt, **form)
    players = choose_players(players, said, form)
    if players == "token":
        raise InvalidInput(
            "players is 'token', and a function of prompts has no tokenizer; use 'word'", argument="players", code="unsupported"
        )
    stops = _stops(answer, cut)
    pays = FunctionPays(function, said.parts(players, fixed), answers, filler, stops, scores)
    pays.notes += [*said.leftovers(players), *said.repeats()]
    unit = players if isinstance(players, str) else "player"
    everybody = np.ones((1, len(pays.players)), dtype=bool)
    if stops:
        paid = pays.log_probabilities(everybody)
        if (most := float(paid.max())) > ROUNDING:
            pays.notes.append(
                f"Warning: a piece of the answer has the log-probability {most:.2g}, which is above 0: the function does not "
                "read the answer up to there as the beginning of the whole one."
            )
        pieces = tuple(answer[a:b] for a, b in zip((0, *stops), stops, strict=False))
        cut_up = Answer(np.arange(len(pieces)), pieces, Procedure("given"))
        return AnswerGame(pays, cut_up.tokens, paid.shape[1] - len(pieces), cut_up, unit)
    first, again = pays._say([_whole(said)], answer), pays.log_probabilities(everybody)
    count, total = first.shape[1], again.shape[1]
    if total >= count and (gap := float(np.abs(first - again[:, :count]).max())) > ROUNDING:
        pays.notes.append(
            f"Warning: asked twice about the whole prompt, the function gave numbers that differ by {gap:.2g}; "
            "credit that is not much larger means nothing."
        )
    names = ("answer",) if count == 1 else distinct_names(f"token {k + 1}" for k in range(count))
    return AnswerGame(pays, names, total - count, unit=unit)


def _stops(answer: str, cut: str | None) -> tuple[int, ...]:
    """Where an answer is cut: the ends of its sentences or words, or both ends of some words of it, and its end."""
    if cut is None:
        return ()
    if cut == "sentence":
        ends = [stop for _, stop in sentence_spans(answer)]
    elif cut == "word":
        ends = [found.end() for found in re.finditer(r"\S+", answer)]
    elif (found := find_stretch((answer,), cut)) is not None:
        ends = [len(answer[: found.start].rstrip()), found.stop]
    else:
        raise InvalidInput(
            f"cut is {cut!r:.40}; write 'sentence', 'word', or some words of the answer{meant_words(answer, cut)}",
            argument="cut",
            code="unknown",
        )
    return tuple(sorted({end for end in ends if 0 < end < len(answer)} | {len(answer)}))


def _check_signature(function: Callable[..., object]) -> None:
    """Refuse a function that cannot be called with prompts and an answer, where Python can tell."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in another language
        return
    try:
        signature.bind([], "")
    except TypeError as error:
        raise InvalidInput(
            f"the function takes {signature}, and is called as function(prompts, answer): {error}; let it take both",
            argument="function",
            code="type",
        ) from None


def _whole(prompt: Prompt) -> Given:
    return prompt.contents[0] if prompt.messages is None else [dict(m) for m in prompt.messages]
