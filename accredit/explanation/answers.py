"""A prompt and an answer as a subject: who plays in the prompt, and what several methods ask about the answer."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from accredit import defaults
from accredit.answers.prompt import Parts, Place, Prompt, paragraph_spans
from accredit.checks.json_data import Facts
from accredit.core import FloatArray, IntArray, Procedure
from accredit.errors import InvalidInput
from accredit.explanation.requests import Settings
from accredit.explanation.result import Said, Token
from accredit.explanation.subject import Dealt, Memo
from accredit.games import cached
from accredit.games.wrappers import Cached
from accredit.models.encoded import sentence_spans, visible, word_spans
from accredit.models.partition import with_special

if TYPE_CHECKING:
    from accredit.answers.assembly import TokenLayout
    from accredit.answers.game import AnswerGame, AnswerViews
    from accredit.answers.model import AnsweringModel
    from accredit.answers.said import Answer
    from accredit.methods import Place as KindOfInput
    from accredit.store import Journal

ALL = "all"
TARGETS = {
    "answer": (),
    "sentences": ("sentence",),
    "words": ("sentence", "token"),
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
    journal: Journal | None = None  # where payoffs are kept, so that a stopped run goes on
    notes: tuple[str, ...] = ()  # what the reader must know about the targets
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
    def _pays(self) -> Any:
        return self.game.pays

    @property
    def kind(self) -> KindOfInput:
        return "answer" if hasattr(self._pays, "model") else "strings"

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
        """What every coalition earns of every target, each asked once; also across runs, if there is a journal."""
        record: Cached = self.memo.get("record", lambda: cached(self._kept()))
        return record

    def _kept(self) -> Any:
        if self.journal is None:
            return self.games
        from accredit.store import durable

        return durable(self.games, self.journal, "serial")

    @property
    def tree(self) -> Sequence[object]:
        """Players nested in their words, sentences, paragraphs and messages, for Owen values."""
        return self.memo.get("tree", lambda: nest(self.players, *self.shown, self.before or ""))

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
        facts, answer = self.game.provenance, self.game.answer
        pieces = (str(facts["answer"]),) if answer is None else answer.pieces
        targets = tuple((name, *_ends(where)) for name, where in zip(self.games.outputs, self.games.where, strict=True))
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
    game = _game(model, prompt, answer, generate, players, removal, seed, how, target)
    paid = payoff or defaults.PAYOFF_OF_ANSWERS
    spend, why = (budget, ()) if budget is not None else _budget(game)
    games, notes = _targets(game, paid, target, spend)
    return AnswerSubject(game, games, game.unit, players, paid, spend, seed, journal, (*why, *notes))


def _budget(game: AnswerGame) -> tuple[int | None, tuple[str, ...]]:
    """Payoffs of a sampled value by what a pass costs, measured on passes that leave one player out, which are kept."""
    players = len(game.players)
    if 2**players <= defaults.LEAST_PASSES:
        return None, ()
    game.ask(np.array([[True] * players, [False] * players]))  # how the model is read is tried out here, once
    clock = time.process_time if hasattr(game.pays, "model") else time.perf_counter  # a function may wait for another machine
    some = ~np.eye(players, dtype=bool)[:PASSES_TIMED]
    began = clock()
    game.ask(some)
    each = (clock() - began) / len(some)
    budget = defaults.budget_of_answer(players, each)
    if budget is None:
        return None, ()
    return budget, (
        f"Sampled values ask {budget} payoffs, because one takes {each:.2g} s here; a larger budget narrows them, and "
        f"budget={budget} repeats this run.",
    )


def _targets(game: AnswerGame, payoff: str, target: str | None, budget: int | None) -> tuple[AnswerViews, tuple[str, ...]]:
    """What of the answer has credit of its own. Unless that is asked for, not more than can be solved in a moment: exact
    values cost next to nothing for another target, estimates some tenths of a second each."""
    if target in TARGETS:
        return game.targets(payoff, TARGETS[target]), ()
    if target is not None:
        if not isinstance(target, str) or game.answer is None or target not in game.answer.text or not target.strip():
            raise InvalidInput(
                f"target is {target!r:.40}; write answer, sentences or tokens (each with those before it), or some words of "
                "the answer, letter by letter",
                argument="target",
                code="unknown",
            )
        return game.targets(payoff, (), (target,)), ()
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
    if reads_strings(model):
        from accredit.answers.black_box import asked_game

        if answer is None:
            raise InvalidInput(
                "a function of prompts does not write: give the answer that it is asked about, answer='…'",
                argument="answer",
                code="missing",
            )
        if removal not in (None, "rebuild", "filler"):
            raise InvalidInput(
                f"removal is {removal!r}, and a function of prompts only reads what is left; write 'rebuild', or 'filler'",
                argument="removal",
                code="misplaced",
            )
        for name in ("memory", "batch", "prefix"):
            if settings.pop(name, None):
                raise InvalidInput(
                    f"{name} is for models that run here, and a function of prompts was given", argument=name, code="misplaced"
                )
        if (removal == "filler") != (settings.get("filler") is not None):
            raise InvalidInput(
                f"removal is {removal!r}; a filler goes with removal='filler', filler='…'", argument="removal", code="conflict"
            )
        return asked_game(model, prompt, answer, cut=CUTS.get(target, target) if target else None, **settings)
    from accredit.answers.game import answer_game

    return answer_game(
        model,
        prompt,
        answer,
        removal=removal or "rebuild",
        generation={"seed": seed} | _generation(generate),
        **settings,
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


def nest(players: tuple[str, ...], text: str, tokens: tuple[Token, ...], before: str) -> Sequence[object]:
    """Players nested in words, sentences and paragraphs of the prompt, or of what was said so far; each belongs where its first
    character is."""
    first: dict[str, tuple[int, int]] = {}
    for token in tokens:
        first.setdefault(token.player, (token.part, token.start))
    levels = [[[a for a, _ in rule(part)] for rule in (paragraph_spans, sentence_spans, word_spans)] for part in (text, before)]
    tree: dict[tuple[int, int], dict[int, dict[int, list[str]]]] = {}
    for player in players:
        part, at = first[player]
        paragraph, sentence, word = (max(bisect_right(starts, at) - 1, 0) for starts in levels[part])
        tree.setdefault((part, paragraph), {}).setdefault(sentence, {}).setdefault(word, []).append(player)
    deep = [[list(words.values()) for words in sentences.values()] for sentences in tree.values()]
    return deep if len(deep) > 1 else deep[0]
