"""What is explained: one input of one model, and what several methods ask about it, computed once."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast

import numpy as np

from accredit import defaults
from accredit.checks.json_data import Facts
from accredit.core import FloatArray, IntArray
from accredit.errors import InvalidInput
from accredit.explanation.result import PICTURE, Picture, Token
from accredit.games import StringGame, cached, string_game
from accredit.games.parts import PartsGame, PartsGames
from accredit.games.wrappers import Cached
from accredit.models.partition import with_special
from accredit.models.strings import StringModel

if TYPE_CHECKING:
    from accredit.games import ImageGame, TextGame
    from accredit.methods import Place
    from accredit.models import Encoded, ImageModel, Partition, Pixels, TextModel
    from accredit.models.encoded import Text
    from accredit.models.payoffs import Payoff
    from accredit.models.pixels import Players

PICTURED = ("patch", "segment", "pixel")  # what players of a picture are
LABELS = 5  # how many of the prediction are kept
ALL: Final = "all"  # as a target: every output of the model
SHOWN = 480  # pixels of the longer edge of a picture that is drawn
OUTPUTS = 1000  # how many are explained at once, at most
Made = TypeVar("Made")


class Memo:
    """What was computed about a subject, each thing once: payoffs, attention, gradients, flows, drawings."""

    def __init__(self) -> None:
        self._made: dict[Hashable, object] = {}

    def __contains__(self, key: Hashable) -> bool:
        return key in self._made

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What was made under `key`; made now if it is not there."""
        if key not in self._made:
            self._made[key] = make()
        return cast("Made", self._made[key])


class Owners(Protocol):
    """Who there is, and for each token that the model reads the number of its owner."""

    @property
    def owner(self) -> IntArray: ...
    @property
    def everyone(self) -> tuple[str, ...]: ...


class Dealt:
    """Tokens that a model reads, dealt out to their owners."""

    def by_player(self: Owners, tokens: FloatArray) -> FloatArray:
        """Numbers of tokens summed over each one's own tokens: (T,) -> (len(everyone),)."""
        return np.bincount(self.owner, tokens, minlength=len(self.everyone)).astype(np.float64)

    @property
    def groups(self: Owners) -> dict[str, list[int]]:
        """The tokens that belong to each of `everyone`."""
        return {name: np.flatnonzero(self.owner == k).tolist() for k, name in enumerate(self.everyone)}


@dataclass(frozen=True, eq=False)
class Subject(Dealt):
    """One input of one model, and all that decides the answers about it. Two are equal only if they are one object.

    `everyone` are the players, then the special tokens through which attention passes.
    """

    model: Any  # a TextModel or an ImageModel: both answer the same questions about what they have `seen`
    seen: Any  # the input as the model reads it: Encoded or Pixels
    partition: Partition  # tokens or pixels dealt out to players
    game: TextGame | StringGame | ImageGame  # what every coalition of players earns
    unit: str  # word, token, sentence, patch, segment, pixel or group
    tree: Sequence[object]  # players in nested groups, for Owen values
    owner: IntArray  # (T,) for each token of the model the index of its player in `everyone`
    everyone: tuple[str, ...]
    asked: object  # players as they were asked for; of a picture, the partition
    budget: int | None = None  # payoffs that each sampled value may ask
    seed: int = 0
    games: PartsGames | None = None  # the game as it pays for every output of the model at once; None: one target is asked for
    memo: Memo = field(default_factory=Memo, repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)  # of gradients and of readings of attention

    @property
    def players(self) -> tuple[str, ...]:
        return self.partition.players

    @property
    def kind(self) -> Place:
        """What is explained: a text, an image, or strings."""
        return "strings" if isinstance(self.model, StringModel) else "image" if self.unit in PICTURED else "text"

    @property
    def record(self) -> Cached:
        """The game, or games, with payoffs remembered: what one method asked costs the next nothing."""
        record: Cached = self.memo.get("record", lambda: cached(self.games or self.game))
        return record

    @property
    def outputs(self) -> list[int]:
        """The positions of the last layer from which the output is read."""
        return self.memo.get("outputs", lambda: np.flatnonzero(self.model.output_tokens(self.seen)).tolist())

    @property
    def main(self) -> str:
        """The name of the target among the outputs of `games`."""
        assert self.games is not None
        return self.games.outputs[self.games.targets.index(self.game.target)]

    @property
    def facts(self) -> Facts:
        """What the payoffs rest on."""
        return self.game.provenance

    @property
    def prediction(self) -> tuple[tuple[tuple[str, float], ...], str]:
        """The likeliest labels with their probabilities, the target among them, and what those numbers are."""
        return self.memo.get("prediction", self._predicted)

    def _predicted(self) -> tuple[tuple[tuple[str, float], ...], str]:
        z = say_why(self.model, self.seen, self.memo)
        if self.model.law == "none":
            return tuple((self.model.label(k), float(x)) for k, x in enumerate(z)), "value"
        shifted = np.exp(z - z.max())
        p = 1 / (1 + np.exp(-z)) if self.model.law == "sigmoid" else shifted / shifted.sum()
        p = z if self.model.law == "probability" else p
        first = np.argsort(-p, kind="stable")[:LABELS].tolist()
        if self.game.target not in first:
            first[-1:] = [self.game.target]
        return tuple((self.model.label(k), float(p[k])) for k in first), "probability"


def text_subject(
    model: TextModel | StringModel,
    text: Text,
    *,
    players: str | Mapping[str, Iterable[int]] = defaults.PLAYERS_OF_TEXTS,
    target: str | int | None = None,
    payoff: Payoff | None = None,
    removal: str | None = None,
    cut: bool = False,
    prefix: str = "",
    budget: int | None = None,
    seed: int = 0,
) -> Subject:
    """A text, or a pair of texts, its tokens dealt out to players."""
    seen = model.encode(text, prefix, cut)
    first = _first(model) if target == ALL else target
    game = _game_of(model, seen, players, removal, first, payoff or defaults.payoff(model.law))
    partition = game.partition
    names, owner = with_special(partition.players, partition.owner, seen.tokens)
    unit = players if isinstance(players, str) else "player"
    tree, memo = _nest(seen, partition), Memo()
    games = _paying(game, seen, memo, target)
    return Subject(model, seen, partition, game, unit, tree, owner, names, players, budget, seed, games, memo)


def say_why(model: Any, seen: Any, memo: Memo) -> FloatArray:
    """The model's outputs for the whole input: (outputs,)."""
    return memo.get("said", lambda: model.predict(seen))


def _paying(game: PartsGame, seen: object, memo: Memo, target: str | int | None) -> PartsGames | None:
    """The game of every output, if all are asked for."""
    if target != ALL:
        return None
    count = len(say_why(game.model, seen, memo))
    if count > OUTPUTS:
        raise InvalidInput(
            f"target is 'all', and {game.provenance['model']} has {count:,} outputs; up to {OUTPUTS:,} are explained at "
            "once, so name one",
            argument="target",
            code="too-many",
        )
    games = PartsGames(game, tuple(range(count)))
    if ALL in map(str.lower, games.outputs):
        raise InvalidInput(
            "target is 'all', which is also a label of this model; give the index of that label instead",
            argument="target",
            code="conflict",
        )
    return games


def _game_of(
    model: TextModel | StringModel,
    seen: Encoded,
    players: str | Mapping[str, Iterable[int]],
    removal: str | None,
    target: str | int | None,
    payoff: Payoff,
) -> TextGame | StringGame:
    if isinstance(model, StringModel):
        return string_game(model, seen, players=players, removal=removal, target=target, payoff=payoff)
    from accredit.games import text_game  # it needs torch, which strings do not

    return text_game(model, seen, players=players, removal=removal, target=target, payoff=payoff)


def image_subject(
    model: ImageModel,
    image: object,
    *,
    players: Players = None,
    target: str | int | None = None,
    payoff: Payoff | None = None,
    removal: object = None,
    budget: int | None = None,
    seed: int = 0,
) -> Subject:
    """A picture, its pixels dealt out to patches, segments or single pixels; a large one gets a smaller budget."""
    from accredit.games import image_game
    from accredit.models.pixels import SMALL_PICTURE_PIXELS, unit_of

    seen = model.encode(image)
    part = seen.partition(players)
    notes = [*seen.notes, seen.about(players, part)]
    if (
        budget is None
        and np.prod(seen.size) > SMALL_PICTURE_PIXELS
        and not defaults.affordable(len(part.players), defaults.BUDGET_OF_PICTURES)
    ):
        budget = defaults.BUDGET_OF_PICTURES
        notes.append(
            f"Sampled values ask {budget} payoffs, the default for a picture this large; a larger budget narrows them."
        )
    seen, memo = replace(seen, notes=tuple(notes)), Memo()
    say_why(model, seen, memo)  # how many outputs there are decides what may be paid
    game = image_game(
        model,
        seen,
        players=part,
        removal=defaults.REMOVAL_OF_PICTURES if removal is None else removal,
        payoff=payoff or defaults.payoff(model.law),
        target=None if target == ALL else target,
    )
    owner = _patch_tokens(model, seen, part)
    special = model.special_tokens(int((owner < 0).sum()))
    names, owner = with_special(game.players, owner, (*special, *("" for _ in owner[len(special) :])))
    games, unit = _paying(game, seen, memo, target), unit_of(players)
    return Subject(model, seen, part, game, unit, list(part.players), owner, names, part, budget, seed, games, memo)


def _patch_tokens(model: ImageModel, seen: Pixels, partition: Partition) -> IntArray:
    """For each of the model's tokens the player that its patch belongs to; empty where a token is not one player's."""
    owners = seen.patch_owners(partition)
    try:
        tokens = model.patch_tokens(seen) if owners is not None else None
    except InvalidInput:
        tokens = None
    if owners is None or tokens is None:
        return np.zeros(0, dtype=np.int64)
    return np.where(tokens >= 0, owners[tokens], -1)


def _nest(seen: Encoded, partition: Partition) -> Sequence[object]:
    """Players nested in their words, words in sentences, sentences of a pair in their text. A player belongs where its
    first token is."""
    texts: dict[int, dict[int, dict[int, list[str]]]] = {}
    for k, player in enumerate(partition.players):
        first = int(np.flatnonzero(partition.owner == k)[0])
        sentences = texts.setdefault(int(seen.part[first]), {})
        sentences.setdefault(int(seen.sentences[first]), {}).setdefault(int(seen.words[first]), []).append(player)
    nested = [[list(words.values()) for words in sentences.values()] for sentences in texts.values()]
    return nested if len(nested) > 1 else nested[0]


def tokens_of(subject: Subject) -> tuple[Token, ...]:
    """The tokens of a text for display; a picture has none."""
    if subject.kind == "image":
        return ()
    seen = subject.seen
    return tuple(
        Token(shown, int(a), int(b), subject.everyone[owner], bool(special), part)
        for shown, (a, b), owner, special, part in zip(
            seen.tokens, seen.spans, subject.owner.tolist(), seen.special, seen.part.tolist(), strict=True
        )
    )


def picture_of(subject: Subject) -> Picture | None:
    """The picture as it was given, where its way to the model is known; else as the model reads it. A text has none.

    Of a large one every second, third, … pixel is kept: it is there to be looked at.
    """
    if subject.kind != "image":
        return None
    from PIL import Image

    seen, owner = subject.seen, subject.partition.owner.reshape(subject.seen.size)
    if seen.given is not None and seen.preparation is not None and min(seen.original) > 0:
        step = -(-max(seen.original) // SHOWN)
        shown, owner = seen.given[::step, ::step], seen.preparation.spread(owner, seen.original, step)
    else:
        step = -(-max(seen.size) // SHOWN)
        shown, owner = seen.shown[::step, ::step], owner[::step, ::step]
    buffer = io.BytesIO()
    Image.fromarray(shown[..., 0] if shown.shape[2] == 1 else shown).save(buffer, "PNG")
    return Picture.of(PICTURE + base64.b64encode(buffer.getvalue()).decode(), owner)


def _first(model: object) -> int | None:
    """Of all outputs, the one that is explained first: what the model predicts or, where it predicts nothing, the first."""
    return None if getattr(model, "predicts", True) else 0
