"""A prompt and an answer as a subject: who plays in the prompt, and what several methods ask about the answer."""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from accredit import defaults
from accredit.answers.hosted_model import HostedModel
from accredit.answers.prompt import Parts, Place, Prompt, paragraph_spans
from accredit.answers.said import SCORE, find_stretch, meant_words
from accredit.answers.server import ServerError
from accredit.checks.json_data import Facts
from accredit.core import BoolArray, FloatArray, IntArray, Procedure
from accredit.core.coalitions import keys, unpack
from accredit.errors import AccreditError, InvalidInput
from accredit.explanation.requests import Settings
from accredit.explanation.result import Said, Token
from accredit.explanation.subject import Dealt, Memo
from accredit.games import cached
from accredit.games.batches import report
from accredit.games.wrappers import Cached
from accredit.models.encoded import sentence_spans, visible, word_spans
from accredit.models.partition import with_special

if TYPE_CHECKING:
    from accredit.answers.assembly import TokenLayout
    from accredit.answers.game import AnswerGame, AnswerViews, Paying
    from accredit.answers.model import AnsweringModel
    from accredit.answers.passes import Reader
    from accredit.answers.said import Answer
    from accredit.methods import ChosenMethod
    from accredit.methods import Place as KindOfInput
    from accredit.store import Journal

ALL = "all"
TARGETS = {
    "answer": (),
    "sentences": ("sentence",),
    "words": ("sentence", "word"),
    "tokens": ("sentence", "token"),
    ALL: ("sentence", "token"),
}
CUTS = {
    "answer": None,
    "tokens": None,
    ALL: None,
    "sentences": "sentence",
    "words": "word",
}  # how a function's answer is cut for a target
PASSES_TIMED = 4  # passes that say what one costs
EXACT_TARGETS, ESTIMATED_TARGETS = 400, 24  # targets that are solved by default


@dataclass(frozen=True, eq=False)
class AnswerSubject(Dealt):
    """A prompt dealt out to players, and an answer: all that decides what methods say about it.

    Games ask `record`. What reads the model itself finds the tokens it reads in `ids`, the owner of each in `owner` (numbers
    of `everyone`: players, then tokens that nobody plays for, then the answer's own), and in `outputs` the places from which
    the tokens of the answer are predicted. All of these are refused, with the reason, where the tokenizer merges characters
    of two players into one token.
    """

    game: AnswerGame
    games: AnswerViews  # the whole answer first, then its sentences and tokens
    unit: str  # passage, sentence, …, player
    asked: object  # players as they were asked for
    payoff: str
    budget: int | None = None
    seed: int = 0
    notes: tuple[str, ...] = ()  # what the reader must know about the targets
    spends: str = ""  # how many payoffs sampled values ask, and why, where that was not said; said beside such a value
    memo: Memo = field(default_factory=Memo, repr=False)
    settings: Settings = field(default_factory=dict)  # of gradients and of readings of attention

    @property
    def players(self) -> tuple[str, ...]:
        return self.game.players

    @property
    def model(self) -> AnsweringModel:
        """The model that answers; a function of prompts has none."""
        model: AnsweringModel = self._pays.model
        return model

    @property
    def reader(self) -> Reader:
        """What makes the passes of the model."""
        reader: Reader = self._pays.reader
        return reader

    @property
    def _pays(self) -> Any:
        return self.game.pays

    @property
    def kind(self) -> KindOfInput:
        return "answer" if hasattr(self._pays, "model") else "strings"

    @property
    def samples(self) -> int | None:
        """Replies that each payoff is a share of, where they are sampled."""
        samples: int | None = getattr(self._pays, "samples", None)
        return samples

    def check_cost(self, methods: Sequence[ChosenMethod], announce: Callable[[str], None] | None) -> None:
        """Say what the run will cost where a server is paid for it; refuse what is more than was agreed to."""
        bill = getattr(self._pays, "bill", None)
        if bill is None:
            return
        asked = sum(each.payoffs(len(self.players), self.budget) for each in methods if each.method.kind == "game")
        prompts, each = min(asked, 2 ** len(self.players)), self._pays.tokens_per_payoff
        bill.allow(prompts, each)
        if announce is not None:
            cost = bill.cost(prompts * each)
            announce(
                f"up to {prompts:,} prompts of up to {each:,} tokens, {prompts * each:,} in all{f', {cost}' if cost else ''}"
            )

    @property
    def main(self) -> str:
        """The target whose credit comes first: the whole answer."""
        return self.games.outputs[0]

    @property
    def facts(self) -> Facts:
        """What the payoffs rest on."""
        return self.games.provenance | {"target": self.main}

    @property
    def record(self) -> Cached:
        """What every coalition earns of every target, each asked once."""
        record: Cached = self.memo.get("record", lambda: cached(self.games))
        return record

    @property
    def tree(self) -> Sequence[object]:
        """Players nested in their words, sentences, paragraphs and passages, for Owen values."""
        return self.memo.get("tree", lambda: nest(self.players, *self.shown, self.before or "", self._passages))

    @property
    def _passages(self) -> list[int]:
        """Where the passages of a context begin in the prompt as it is shown."""
        parts = getattr(self._pays.parts, "source", self._pays.parts)
        dealt = getattr(parts, "parts", parts)
        if hasattr(parts, "partition"):  # tokens leave in place
            return []
        _, places = _write(dealt.prompt, self.model if self.kind == "answer" else None)
        return [places[c].of(a, b).start for c, a, b in dealt.prompt.passages]

    # The model's own tokens

    @property
    def layout(self) -> TokenLayout:
        """The whole prompt as tokens, with their owners."""
        layout: TokenLayout = self.memo.get("layout", lambda: self._pays.parts.layout)
        return layout

    @property
    def answers(self) -> list[Answer]:
        """The answer, and the one that it is compared with if there is one."""
        answers: list[Answer] = self._pays.answers
        return answers

    @property
    def answer_ids(self) -> IntArray:
        """The tokens of the answer: (A,)."""
        return self.answers[0].ids

    @property
    def ids(self) -> IntArray:
        """What a causal model reads: the prompt, then all but the last token of the answer, (T + A − 1,); the source of an
        encoder–decoder, (T,)."""
        said = self.answer_ids[:0] if self.model.encodes else self.answer_ids[:-1]
        return np.concatenate([self.layout.ids, said])

    @property
    def decoder_ids(self) -> IntArray:
        """What the decoder of an encoder–decoder reads: its start, what was said so far, then all but the last token of the
        answer; nothing for a causal model."""
        if not self.model.encodes:
            return self.answer_ids[:0]
        before = [] if self._prefix is None else [self._prefix.ids]
        return np.concatenate([self.model.start, *before, self.answer_ids[:-1]])

    @property
    def decoder_owner(self) -> IntArray:
        """For each of `decoder_ids` the number of the player who owns it; −1: nobody plays for it."""
        owner, start = np.full(len(self.decoder_ids), -1), len(self.model.start)
        if self._prefix is not None:
            owner[start : start + len(self._prefix.ids)] = self._prefix.owner
        return owner

    @property
    def _prefix(self) -> Any:
        """What an encoder–decoder has said so far; None if there is nothing."""
        return self._pays.parts if hasattr(self._pays.parts, "prefix") else None

    @property
    def outputs(self) -> list[int]:
        """The places, in `ids` or of an encoder–decoder in `decoder_ids`, from which each token of the answer is predicted."""
        read = len(self.decoder_ids if self.model.encodes else self.ids)
        return list(range(read - len(self.answer_ids), read))

    @property
    def owner(self) -> IntArray:
        """For each of `ids` the number of its owner in `everyone`."""
        return self._everyone[1]

    @property
    def everyone(self) -> tuple[str, ...]:
        """Players, then the tokens that nobody plays for, each under its own name."""
        return self._everyone[0]

    @property
    def _everyone(self) -> tuple[tuple[str, ...], IntArray]:
        def made() -> tuple[tuple[str, ...], IntArray]:
            layout, names = self.layout, self.model.tokenizer.convert_ids_to_tokens(self.layout.ids.tolist())
            shown = [visible(layout.text[a:b]) if b > a else n for (a, b), n in zip(layout.spans.tolist(), names, strict=True)]
            more = len(self.ids) - len(layout.ids)
            owner = np.concatenate([layout.owner, np.full(more, -1)])
            return with_special(self.players, owner, (*shown, *self._pays.answers[0].tokens[:more]))

        return self.memo.get("everyone", made)

    # What was said, and how likely it was

    @property
    def said(self) -> Said:
        """The answer, its targets, and the log-probability of each token with the whole prompt and with nobody's part."""
        return self.memo.get("said", self._say)

    def _say(self) -> Said:
        count = len(self.players)
        with_all, without = self.game.payoff(np.array([[True] * count, [False] * count]))
        if self._pays.currency == SCORE:
            with_all, without = with_all[:1], without[:1]
        facts, answer = self.game.provenance, self.game.answer
        pieces = (str(facts["answer"]),) if answer is None else answer.pieces
        named = zip(self.games.outputs, self.games.where, strict=True)
        targets = tuple((name, *_ends(where)) for name, where in named if where[-1] < len(with_all))
        return Said(pieces, targets, with_all, without, Procedure.from_plain(facts["answer from"]), facts["rather than"])

    @property
    def worth(self) -> tuple[float, float]:
        """The payoff of the whole answer with the whole prompt, and with nobody's part."""
        count = len(self.players)
        earned: FloatArray = self.games.payoff(np.array([[True] * count, [False] * count]))[:, 0]
        return float(earned[0]), float(earned[1])

    @property
    def shown(self) -> tuple[str, tuple[Token, ...]]:
        """The prompt as it is shown, and which of its characters belong to whom; those of a prefix are of part 1."""
        model = self.model if self.kind == "answer" else None
        return self.memo.get("shown", lambda: show_prompt(self._pays.parts, self.players, model))

    @property
    def before(self) -> str | None:
        """What an encoder–decoder has said so far."""
        return None if self._prefix is None else str(self._prefix.shown[0])


def _ends(where: IntArray) -> tuple[int, int]:
    return int(where[0]), int(where[-1]) + 1


def answer_subject(
    model: object,
    prompt: object,
    *,
    answer: object = None,
    generate: object = None,
    players: object = None,
    payoff: str | None = None,
    removal: str | None = None,
    target: str | None = None,
    budget: int | None = None,
    seed: int = 0,
    journal: Journal | None = None,
    **how: object,
) -> AnswerSubject:
    """A prompt and an answer of a model, or of a function of prompts that returns log-probabilities."""
    game = _game(model, prompt, answer, generate, players, removal, seed, how, target, payoff)
    paid = payoff or game.pays.currency
    _keep(game, journal)
    subject = AnswerSubject(game, game.targets(paid, ()), game.unit, players, paid, budget, seed)
    return spend_by_cost(subject, target) if budget is None else with_targets(subject, target)


class _Tokens:
    """What is paid for every token of an answer, as games: this is what a journal keeps, whichever payoff or target is asked.
    Who is not `patient` asks nothing more after a failure, until the next `begin`."""

    def __init__(self, pays: Paying, tokens: int, patient: bool) -> None:
        self._patient = patient
        self.pays, self.outputs, self.rows = pays, tuple(f"token {k + 1}" for k in range(tokens)), pays.rows
        self.begin()

    def begin(self) -> None:
        self.paid: dict[bytes, FloatArray] = {}  # coalition -> what it was paid since
        self.failure: AccreditError | None = None

    @property
    def players(self) -> tuple[str, ...]:
        return self.pays.players

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        if self._patient:
            return self.pays.log_probabilities(coalitions)
        return np.stack([self._pay(name, coalitions[row : row + 1]) for row, name in enumerate(keys(coalitions))])

    def _pay(self, name: bytes, coalition: BoolArray) -> FloatArray:
        """What one coalition is paid, written down at once."""
        if name not in self.paid:
            if self.failure is not None:
                raise self.failure
            try:
                self.paid[name] = self.pays.log_probabilities(coalition)[0]
            except AccreditError as error:
                self.failure = error
                raise
        return self.paid[name]

    def fingerprint_parts(self) -> dict[str, object]:
        return self.pays.fingerprint_parts()


def _keep(game: AnswerGame, journal: Journal | None) -> None:
    """Keep what is paid in the journal, also where the run ends in an error or is stopped; ask a server for several prompts at
    once."""
    hosted = getattr(game.pays, "hosted", None)
    at_once = None if hosted is None else hosted.concurrency
    if journal is None and hosted is None:
        return
    from accredit.store import Quarantined, durable
    from accredit.store.executors import Serial, Threads

    tokens = _Tokens(game.pays, game.width, patient=at_once is None)
    crew = Serial(game.pays.rows) if at_once is None else Threads(at_once)
    told = 0

    def tell(done: int) -> None:
        """Say from this thread what others have done."""
        nonlocal told
        told, more = done, done - told
        report(more)

    kept = durable(tokens, journal, crew, retries=0 if at_once else 2, watch=tell if at_once else None)

    def evaluate(coalitions: BoolArray) -> FloatArray:
        tokens.begin()
        if hosted is not None:
            hosted.server.begin()
        try:
            with kept:
                try:
                    return kept.payoff(coalitions)
                except BaseException as error:
                    if hosted is not None and not isinstance(error, Exception):  # interrupted: nobody waits for replies
                        hosted.server.stop()
                    raise
        except BaseException as error:
            if tokens.paid:  # also what arrived after the failure; this asks for nothing and writes it down
                bits = np.frombuffer(b"".join(tokens.paid), dtype=np.uint8).reshape(len(tokens.paid), -1)
                kept.payoff(unpack(bits, len(game.players)))
            failure = tokens.failure
            if not isinstance(error, Quarantined) or at_once is None or failure is None:
                raise
            if not isinstance(failure, ServerError) or journal is None:
                raise failure from None
            kept_in = f"what is paid for is kept in {journal.path}, and the same call goes on from there"
            raise ServerError(f"{failure} ({kept_in})", argument=failure.argument, code=failure.code) from None

    if at_once is None:  # everybody and nobody are read anew: they show how far the model rounds
        game.ask(np.array([[True] * len(game.players), [False] * len(game.players)]))
    game.evaluate_by(evaluate, lambda: kept.evaluated)


def spend_by_cost(subject: AnswerSubject, target: str | None = None, most: float = math.inf) -> AnswerSubject:
    """The subject with as many payoffs for sampled values as passes of its model are worth, and with its targets; payoffs that
    would take more than `most` seconds are fewer."""
    budget, spends = _budget(subject.game, most)
    return with_targets(replace(subject, budget=budget, spends=spends), target)


def with_targets(subject: AnswerSubject, target: str | None = None) -> AnswerSubject:
    """The subject with as many targets as can be solved within its budget, or with those that are asked for."""
    games, notes = _targets(subject.game, subject.payoff, target, subject.budget)
    return replace(subject, games=games, notes=notes, memo=Memo())


def _budget(game: AnswerGame, most: float) -> tuple[int | None, str]:
    """Payoffs of a sampled value by what a pass costs, measured on passes that leave one player out, which are kept."""
    players = len(game.players)
    if 2**players <= defaults.LEAST_PASSES:
        return None, ""
    game.ask(np.array([[True] * players, [False] * players]))  # how the model is read is tried out here, once
    own = hasattr(game.pays, "model") and math.isinf(most)  # others may wait for another machine, and `most` is on the clock
    clock = time.process_time if own else time.perf_counter
    some = ~np.eye(players, dtype=bool)[:PASSES_TIMED]
    began = clock()
    game.ask(some)
    each = (clock() - began) / len(some)  # several at once, where a server is asked
    budget = defaults.budget_by_cost(players, each, most)
    if budget is None:
        return None, ""
    return budget, (
        f"Sampled values ask {budget} payoffs, because one takes {each:.2g} s here; a larger budget narrows them, and "
        f"budget={budget} repeats this run."
    )


def _targets(game: AnswerGame, payoff: str, target: str | None, budget: int | None) -> tuple[AnswerViews, tuple[str, ...]]:
    """What of the answer has credit of its own. Unless that is asked for, not more than can be solved in a moment: exact
    values cost next to nothing for another target, estimates some tenths of a second each."""
    if game.pays.currency == SCORE and target not in (None, "answer"):
        raise InvalidInput(
            f"target is {target!r:.40}, and only the whole answer has a score; leave it out, or use log-probabilities",
            argument="target",
            code="unsupported",
        )
    if game.pays.currency == SCORE:
        return game.targets(payoff), ()
    if target in TARGETS:
        return game.targets(payoff, TARGETS[target]), ()
    if target is not None:
        stretch = None if game.answer is None or not isinstance(target, str) else find_stretch(game.answer.pieces, target)
        if stretch is None or not isinstance(target, str):
            near = "" if game.answer is None else meant_words(game.answer.text, str(target))
            raise InvalidInput(
                f"target is {target!r:.40}; write answer, sentences, words or tokens, or some words of the answer, letter by "
                f"letter{near}",
                argument="target",
                code="unknown",
            )
        return game.targets(payoff, (), (target,)), stretch.notes
    most = EXACT_TARGETS if defaults.affordable(len(game.players), budget) else ESTIMATED_TARGETS
    for asked in ("tokens", "sentences", "answer"):
        games = game.targets(payoff, TARGETS[asked])
        if len(games.outputs) <= most:
            break
    if asked == "tokens":
        return games, ()
    alone = "sentences and tokens" if asked == "answer" else "tokens"
    return games, (
        f"The {alone} of this answer have no credit of their own, because there are {len(game.outputs):,} tokens; "
        "target='tokens' gives it to each.",
    )


def _game(
    model: Any,
    prompt: object,
    answer: Any,
    generate: object,
    players: object,
    removal: str | None,
    seed: int,
    how: Settings,
    target: str | None,
    payoff: str | None,
) -> AnswerGame:
    if answer is not None and generate not in (None, False):
        raise InvalidInput(
            "answer and generate are both given; give the answer, or let the model generate one",
            argument="answer",
            code="conflict",
        )
    if answer is None and generate is False:
        raise InvalidInput(
            "there is no answer, and generate is False; give answer='…', or generate=True", argument="answer", code="missing"
        )
    from accredit.models.strings import reads_strings

    settings = how | {"players": players}
    if isinstance(model, HostedModel):
        return _hosted_game(model, prompt, answer, generate, removal, seed, settings)
    if reads_strings(model):
        from accredit.answers.black_box import asked_game

        if answer is None:
            raise InvalidInput(
                "a function of prompts does not write: give the answer that it is asked about, answer='…'",
                argument="answer",
                code="missing",
            )
        _check_from_outside(removal, settings, "a function of prompts")
        cut = CUTS.get(target, target) if target else None
        return asked_game(model, prompt, answer, cut=cut, scores=payoff == SCORE if payoff else None, **settings)
    from accredit.answers.game import answer_game

    return answer_game(
        model,
        prompt,
        answer,
        removal=removal or "rebuild",
        generation={"seed": seed} | _generation(generate),
        **settings,
    )


def _hosted_game(
    model: HostedModel, prompt: object, answer: Any, generate: object, removal: str | None, seed: int, settings: Settings
) -> AnswerGame:
    from accredit.answers.hosted import hosted_game

    _check_from_outside(removal, settings, "a model behind a server")
    how = _generation(generate)
    if unknown := how.keys() - {"max_new_tokens"}:
        raise InvalidInput(
            f"generate holds {sorted(unknown)[0]}, and a model behind a server takes a number of new tokens: generate=40",
            argument="generate",
            code="unsupported",
        )
    return hosted_game(model, prompt, answer, generate=how.get("max_new_tokens"), seed=seed, **settings)


def _check_from_outside(removal: str | None, settings: Settings, who: str) -> None:
    """Refuse, and take out, what needs a model that runs here."""
    if removal not in (None, "rebuild", "filler"):
        raise InvalidInput(
            f"removal is {removal!r}, and {who} only reads what is left; write 'rebuild', or 'filler'",
            argument="removal",
            code="misplaced",
        )
    for name in ("memory", "batch", "prefix"):
        if settings.pop(name, None):
            raise InvalidInput(f"{name} is for models that run here, and {who} was given", argument=name, code="misplaced")
    if (removal == "filler") != (settings.get("filler") is not None):
        raise InvalidInput(
            f"removal is {removal!r}; a filler goes with removal='filler', filler='…'", argument="removal", code="conflict"
        )


def _generation(generate: object) -> Settings:
    """Settings of `model.generate`, from True, a number of tokens, or a mapping."""
    if generate is None or isinstance(generate, bool):
        return {}
    if isinstance(generate, int) and generate >= 1:
        return {"max_new_tokens": generate}
    if isinstance(generate, Mapping):
        return dict(generate)
    raise InvalidInput(
        f"generate is {generate!r:.60}; write True, a number of new tokens, or settings: {{'max_new_tokens': 40}}",
        argument="generate",
        code="type",
    )


# A prompt as people see it: one text with everybody's characters, and players nested in its words and sentences


def show_prompt(parts: Any, players: tuple[str, ...], model: AnsweringModel | None) -> tuple[str, tuple[Token, ...]]:
    """The prompt as one text, and which of its characters belong to whom; those of a prefix are of part 1.

    `parts` are those of a model's game, or of a function's, which has no `model`.
    """
    text, own = _own(getattr(parts, "source", parts), model)
    said, so_far = parts.shown if hasattr(parts, "prefix") else ("", [])
    written = [(text, *each, 0) for each in own] + [(said, *each, 1) for each in so_far]
    return text, tuple(Token(visible(all_of[a:b]), a, b, players[who], part=part) for all_of, a, b, who, part in written)


def _own(parts: Any, model: AnsweringModel | None) -> tuple[str, list[tuple[int, int, int]]]:
    """The prompt as one text, and which of its characters are whose: start, stop, number of the player."""
    if hasattr(parts, "partition"):  # tokens leave in place
        layout: TokenLayout = parts.layout
        owned = zip(layout.spans.tolist(), layout.owner.tolist(), strict=True)
        return layout.text, [(a, b, who) for (a, b), who in owned if who >= 0]
    dealt: Parts = getattr(parts, "parts", parts)
    text, places = _write(dealt.prompt, model)
    spans = [(places[c].of(a, b), who) for (c, a, b), who in zip(dealt.spans, dealt.owner, strict=True)]
    return text, [(there.start, there.stop, who) for there, who in spans]


def _write(prompt: Prompt, model: AnsweringModel | None) -> tuple[str, list[Place]]:
    """The whole prompt as one text, through the chat template where that can be followed, and where each content stands."""
    if model is not None:
        with suppress(InvalidInput):  # the template rewrites what is said
            return model.layout(prompt)
    if prompt.messages is None:
        return prompt.contents[0], [Place(0, 0, len(prompt.contents[0]))]
    text, places = "", []
    for message, content in zip(prompt.messages, prompt.contents, strict=True):
        text += f"{message['role']}: "
        places.append(Place(len(text), len(text), len(text + content)))
        text += f"{content}\n\n"
    return text, places


def nest(
    players: tuple[str, ...], text: str, tokens: tuple[Token, ...], before: str, passages: Sequence[int] = ()
) -> Sequence[object]:
    """Players nested in words, sentences, paragraphs and passages of the prompt, or of what was said so far; each belongs where
    its first character is."""
    first: dict[str, tuple[int, int]] = {}
    for token in tokens:
        first.setdefault(token.player, (token.part, token.start))
    levels = [[[a for a, _ in rule(part)] for rule in (paragraph_spans, sentence_spans, word_spans)] for part in (text, before)]
    tree: dict[object, Any] = {}
    for player in players:
        part, at = first[player]
        group = tree
        for starts in ([] if part else passages, *levels[part]):
            group = group.setdefault((part, bisect_right(starts, at)), {})
        group[player] = player
    return _listed(tree)


def _listed(tree: Mapping[object, Any]) -> Sequence[object]:
    """Nested mappings as nested lists; a group of one group is that group."""
    parts: list[str | Sequence[object]] = [part if isinstance(part, str) else _listed(part) for part in tree.values()]
    only = parts[0]
    return only if len(parts) == 1 and not isinstance(only, str) else parts
