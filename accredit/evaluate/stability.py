"""How much an explanation moves when the thing it explains hardly does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from accredit.checks.arguments import check_arguments
from accredit.core import Attribution, BoolArray, FloatArray, Game
from accredit.core.attribution import returned
from accredit.core.coalitions import keys
from accredit.core.game import payoffs
from accredit.core.rounding import blur_of
from accredit.errors import InvalidInput

if TYPE_CHECKING:
    from accredit.models import TextModel

Thing = TypeVar("Thing")  # whatever the method explains: a game, a model, an input


class Shaken:
    """A game whose every payoff is off by at most `radius`. See `shaken`."""

    def __init__(self, game: Game, radius: float, seed: int) -> None:
        self._game, self._radius, self._seed = game, radius, seed

    @property
    def players(self) -> tuple[str, ...]:
        return self._game.players

    @property
    def blur(self) -> float:
        return blur_of(self._game)

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        salt = self._seed.to_bytes(8, "little")
        drawn = [int.from_bytes(blake2b(key, digest_size=8, salt=salt).digest(), "little") for key in keys(coalitions)]
        uniform = np.array(drawn, dtype=np.float64) / 2.0**63 - 1.0
        return payoffs(self._game, coalitions) + self._radius * uniform


@check_arguments
def shaken(game: Game, radius: float, seed: int) -> Game:
    """`game` with fixed noise: each coalition's payoff is moved by its own amount in [−radius, radius], the same each time.

    >>> from accredit.games import TableGame
    >>> near = shaken(TableGame(("a",), [0, 1]), 0.1, seed=1)
    >>> bool(abs(near.payoff(np.array([[True]]))[0] - 1) <= 0.1)
    True
    """
    if not radius >= 0:
        raise InvalidInput(f"radius must be a number ≥ 0, got {radius!r}", argument="radius", code="range")
    return Shaken(game, radius, seed)


@check_arguments
def max_sensitivity(method: Callable[[Thing], Attribution], here: Thing, neighbours: Iterable[Thing]) -> float:
    r"""The furthest an explanation moves among the neighbours of what it explains, relative to its own length.

    $$\max_{y \in B_r(x)} \frac{\|\phi(y) - \phi(x)\|_2}{\|\phi(x)\|_2}$$

    Yeh et al. (2019), who define it without the divisor; with it, methods in different units can be compared. The maximum is
    taken over the neighbours given, so it is a lower bound on the true one. The caller says what a neighbour is:
    `shaken(game, radius, seed)` for methods that ask a game; for methods that read a model, the model with noise of at most r
    on its input embeddings. Lower is better; a method that ignores its input scores 0.

    >>> from accredit.games import TableGame
    >>> from accredit.values import shapley
    >>> cookies = TableGame(("alice", "bob"), [0, 5, 3, 10])
    >>> bool(max_sensitivity(shapley, cookies, [shaken(cookies, 0.01, seed) for seed in range(3)]) < 0.01)
    True
    """
    centre = returned(method(here), "method").credit
    length = float(np.linalg.norm(centre))
    if length == 0:
        raise InvalidInput("the explanation is zero everywhere, so a relative change of it is undefined", code="undefined")
    moved = [float(np.linalg.norm(returned(method(near), "method").credit - centre)) for near in neighbours]
    if not moved:
        raise InvalidInput(
            "neighbours is empty; give for example [shaken(game, 0.01, seed) for seed in range(10)]",
            argument="neighbours",
            code="empty",
        )
    return max(moved) / length


def nudge_embeddings(model: TextModel, radius: float, count: int, seed: int = 0) -> Iterator[TextModel]:
    """Neighbours of a text model: every coordinate of its word embeddings moved by at most `radius` times their spread.

    To any one text this is a perturbation of its embedded words within a box, the same for every method. The model given is
    not touched.

    >>> from accredit.models import builtin, load_text_model
    >>> [near.name[-8:] for near in nudge_embeddings(load_text_model(builtin.text_folder()), radius=0.1, count=2)]
    ['nudged 1', 'nudged 2']
    """
    import torch

    from accredit.models import TextModel

    if not radius > 0:
        raise InvalidInput(f"radius must be positive, got {radius!r}; write for example 0.1", argument="radius", code="range")
    generator = torch.Generator().manual_seed(seed)
    for k in range(count):
        near = deepcopy(model.model)
        table = near.get_input_embeddings().weight
        with torch.no_grad():
            table += (2 * torch.rand(table.shape, generator=generator) - 1) * radius * float(table.std())
        yield TextModel(near, model.tokenizer, f"{model.name}, nudged {k + 1}")
