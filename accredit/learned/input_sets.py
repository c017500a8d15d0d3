"""Games of one model over many inputs: rows of a table, texts, or pictures. What a fast explainer is fitted on, and asks again.

A family knows the game of each of its inputs, the payoffs of everybody and of nobody, and the values of some of them, exact or
estimated; and what its payoffs rest on, so that an explainer fitted on another model, background or setting is recognised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from accredit.core import Attribution, FloatArray, IntArray, Known
from accredit.errors import InvalidInput
from accredit.explanation.explainer import Explainer
from accredit.explanation.loading import subject_of
from accredit.explanation.requests import RowRequest
from accredit.explanation.subject import Subject
from accredit.learned.columns import Columns
from accredit.learned.conformal import Reference
from accredit.learned.valuers import NetworkInputs
from accredit.methods import find
from accredit.rows.credit import RowQuestion, answer_rows
from accredit.rows.explain import question
from accredit.store.fingerprint import fingerprint
from accredit.trees.separable import mixtures

if TYPE_CHECKING:
    from accredit.core.games import Games
    from accredit.models import ImageModel, StringModel, TextModel

OUTPUTS_UNNAMED = 20  # of a model, that are learned together without being named
ESTIMATORS = ("shapley", "permutations")  # the second where the first cannot tell its error
OF_ROW_GAMES = (  # settings of a request that decide the games of rows, or what is asked of them
    "background", "weights", "most_background", "background_by", "names",
    "players", "payoff", "dependence", "trusted", "budget", "seed",
)  # fmt: skip
MIXTURES_PROBED = 64  # mixtures of background rows by which a model of rows is recognised


class Family(Protocol):
    """Games of one model over many inputs."""

    kind: str  # rows, texts or pictures
    outputs: tuple[str, ...]
    targets: list[str | int] | None  # the outputs as they were asked for; None: all of them

    def __len__(self) -> int: ...

    def game(self, at: int) -> Games:
        """The game of one input, paying every output."""
        ...

    def ends(self) -> tuple[FloatArray, FloatArray]:
        """What nobody and what everybody earns, for each input: (N, outputs) both."""
        ...

    def columns(self, at: IntArray) -> Columns | None:
        """How columns are read, as some of the rows show them; None where there are no columns."""
        ...

    def network_inputs(self, columns: Columns | None) -> NetworkInputs:
        """The inputs as a network reads them."""
        ...

    def reference(self, at: IntArray, budget: int | None, seed: int) -> Reference:
        """Values of some inputs, by the usual explainer: exact where that is affordable, else estimated."""
        ...

    def marks(self) -> dict[str, str]:
        """What the payoffs rest on, by name, in words or as a digest."""
        ...

    def probe(self) -> FloatArray:
        """What the model says about inputs that depend on the marks alone: (probes, outputs); none where marks name it."""
        ...


@final
class RowFamily:
    """Rows of a table, compared with background rows."""

    kind = "rows"
    targets: list[str | int] | None = None

    def __init__(self, asked: RowQuestion) -> None:
        if asked.compared.rows is None or asked.dependence == "cover":
            raise InvalidInput(
                "fast values are learned from games against background rows; give background=some_training_rows",
                argument="background",
                code="missing",
            )
        self.asked, self.outputs = asked, asked.outputs

    @classmethod
    def of(cls, rows: object, model: object, request: RowRequest) -> RowFamily:
        """The games that `explain_rows` would ask with this request; a setting that these games do not have is refused."""
        if request.background is None:
            raise InvalidInput("background is missing; write background=training_rows", argument="background", code="missing")
        if callable(request.payoff):
            raise InvalidInput(
                "payoff is a function, by which an explainer could not be recognised; name a payoff, for example 'probability'",
                argument="payoff",
                code="unsupported",
            )
        for each in fields(request):
            if each.name not in OF_ROW_GAMES and getattr(request, each.name) != each.default:
                raise InvalidInput(
                    f"{each.name} is not for fast explainers, which predict Shapley values of rows; leave it out",
                    argument=each.name,
                    code="conflict",
                )
        return cls(Explainer(model).run(rows, request).whole)

    def __len__(self) -> int:
        return len(self.asked.rows)

    def some(self, at: IntArray, budget: int | None, seed: int, method: str) -> RowQuestion:
        """The same question about some of the rows."""
        asked = self.asked
        table = asked.rows.take(at)
        rows = table.reset_index(drop=True) if hasattr(table, "reset_index") else table
        players = {
            name: [asked.rows.columns[i] for i in np.flatnonzero(asked.partition.owner == k)]
            for k, name in enumerate(asked.partition.players)
            if (asked.partition.owner == k).sum() > 1 or name not in asked.rows.columns
        }
        names = None if asked.rows.framed else asked.rows.columns
        return question(
            rows,
            asked.model,
            asked.compared,
            payoff=asked.unit,
            players=players or None,
            dependence=asked.dependence,
            budget=budget,
            seed=seed,
            names=names,
            method=method,
        )

    def game(self, at: int) -> Games:
        return self.asked.game(at)

    def ends(self) -> tuple[FloatArray, FloatArray]:
        nobody = self.game(0).payoff(np.zeros((1, len(self.asked.partition.players)), dtype=bool))
        return np.broadcast_to(nobody, self.asked.prediction.shape), self.asked.prediction

    def columns(self, at: IntArray) -> Columns | None:
        rows = self.asked.rows
        return Columns.of(replace(rows, table=rows.take(at), names=tuple(rows.names[k] for k in at.tolist())))

    def network_inputs(self, columns: Columns | None) -> NetworkInputs:
        assert columns is not None
        players = len(self.asked.partition.players)
        return NetworkInputs(columns.read(self.asked.rows), np.tile(np.arange(players), (len(self), 1)))

    def reference(self, at: IntArray, budget: int | None, seed: int) -> Reference:
        return together([self._value(at[k : k + 1], budget, seed) for k in range(len(at))])

    def _value(self, at: IntArray, budget: int | None, seed: int) -> Reference:
        for method in ESTIMATORS:
            answer = answer_rows(self.some(at, budget, seed, method))
            if answer.precision.known is not Known.UNKNOWN:
                break
        reach = np.full(answer.credit.shape, 0.0 if answer.precision.known is Known.EXACT else np.inf)
        if answer.interval is not None:
            reach = np.abs(answer.interval - answer.credit[..., None]).max(axis=-1)
        return Reference(answer.credit, reach)

    def marks(self) -> dict[str, str]:
        asked = self.asked
        assert asked.compared.rows is not None
        background = fingerprint(cells=asked.compared.rows.cells(), weights=asked.compared.weights).digest
        return {
            "columns": ", ".join(asked.rows.columns),
            "players": ", ".join(asked.partition.players),
            "outputs": ", ".join(self.outputs),
            "payoff": asked.unit,
            "dependence": asked.dependence,
            "background": f"{len(asked.compared.rows)} rows, {background[:16]}",
        }

    def probe(self) -> FloatArray:
        rng, table = np.random.default_rng(0), self.asked.background
        assert table is not None
        first, second = rng.integers(0, len(table), size=(2, MIXTURES_PROBED))
        kept = rng.random((MIXTURES_PROBED, len(self.asked.rows.columns))) < 0.5
        return self.asked.model.outputs(mixtures(table, first, second, kept), self.asked.unit)


@final
class InputFamily:
    """Texts or pictures of one model, their tokens or pixels dealt out to players."""

    def __init__(self, subjects: Sequence[Subject], targets: Sequence[str | int] | None = None) -> None:
        if not subjects:
            raise InvalidInput("no inputs are given; give hundreds of texts or pictures to learn from", code="empty")
        self.subjects = list(subjects)
        first = self.subjects[0]
        self.kind = "pictures" if first.kind == "image" else "texts"
        if first.kind == "strings":
            raise InvalidInput(
                "fast values read a model's token vectors, and a function of strings has none; name a model folder",
                code="unsupported",
            )
        self.targets = None if targets is None else list(targets)
        self.games: list[Games] = [one.game.paying("all" if targets is None else targets) for one in self.subjects]
        self.outputs = self.games[0].outputs
        if targets is None and len(self.outputs) > OUTPUTS_UNNAMED:
            raise InvalidInput(
                f"{first.model.name} has {len(self.outputs):,} outputs, and up to {OUTPUTS_UNNAMED} are learned together; name "
                "those that matter with target=…",
                code="too-many",
            )

    @classmethod
    def of(
        cls,
        inputs: Sequence[object],
        model: TextModel | ImageModel | StringModel,
        *,
        target: Sequence[str | int] | None = None,
        players: object = None,
        payoff: str | None = None,
        removal: object = None,
        cut: bool = False,
    ) -> InputFamily:
        """The games that `explain(one, model)` would ask, for each of the inputs."""
        return cls([subject_of(model, one, players=players, payoff=payoff, removal=removal, cut=cut) for one in inputs], target)

    def __len__(self) -> int:
        return len(self.subjects)

    def game(self, at: int) -> Games:
        return self.games[at]

    def ends(self) -> tuple[FloatArray, FloatArray]:
        both = [game.payoff(np.array([[False], [True]]).repeat(len(game.players), axis=1)) for game in self.games]
        return np.stack([one[0] for one in both]), np.stack([one[1] for one in both])

    def columns(self, at: IntArray) -> Columns | None:
        return None

    def network_inputs(self, columns: Columns | None) -> NetworkInputs:
        if self.kind == "pictures":
            shapes = {one.seen.values.shape for one in self.subjects}
            if len(shapes) > 1 or len({one.partition.players for one in self.subjects}) > 1:
                raise InvalidInput(
                    "pictures must have one size and the same patches; give players=(4, 4), not segments", code="shape"
                )
            if not len(self.subjects[0].owner):  # the model has no tokens, or they are not the players' own
                owners = np.stack([one.partition.owner for one in self.subjects])
                return NetworkInputs(np.stack([one.seen.values for one in self.subjects]), owners)
        vectors = [one.model.vectors(one.seen) for one in self.subjects]
        longest = max(len(one) for one in vectors)
        x = np.zeros((len(vectors), longest, vectors[0].shape[1]), dtype=np.float32)
        owner = np.full((len(vectors), longest), -1, dtype=np.int64)
        for k, (one, subject) in enumerate(zip(vectors, self.subjects, strict=True)):
            mine = subject.owner if self.kind == "pictures" else subject.partition.owner
            x[k, : len(one)], owner[k, : len(one)] = one, np.where(mine < len(subject.players), mine, -1)
        return NetworkInputs(x, owner)

    def reference(self, at: IntArray, budget: int | None, seed: int) -> Reference:
        most = max(len(game.players) for game in self.games)
        return together([self._value(self.games[k], most, budget, seed) for k in at.tolist()])

    def _value(self, game: Games, most: int, budget: int | None, seed: int) -> Reference:
        for method in ESTIMATORS:
            found = find(method, "game").solver(budget, seed).solve(game)
            if all(found[name].precision.known is not Known.UNKNOWN for name in self.outputs):
                break
        values, reach = np.full((2, 1, most, len(self.outputs)), np.nan)
        for k, name in enumerate(self.outputs):
            values[0, : len(game.players), k] = found[name].credit
            reach[0, : len(game.players), k] = reach_of(found[name])
        return Reference(values, reach)

    def marks(self) -> dict[str, str]:
        first = self.subjects[0]
        same = {"unit": first.unit} if self.kind == "texts" else {"players": ", ".join(first.players)}
        facts = first.facts
        return {
            "kind": self.kind,
            "outputs": ", ".join(self.outputs),
            "payoff": str(facts["payoff"]),
            "removal": str(facts["removal"]),
            **same,
            "model": fingerprint(model=first.model.model).parts["model"],
        }

    def probe(self) -> FloatArray:
        return np.zeros((0, len(self.outputs)))


def together(each: Sequence[Reference]) -> Reference:
    """The values of several inputs."""
    return Reference(np.concatenate([one.values for one in each]), np.concatenate([one.reach for one in each]))


def reach_of(credit: Attribution) -> FloatArray:
    """Half the width of each interval, 0 where the credit is exact, infinite where its error is unknown: (n,)."""
    if credit.interval is not None:
        return np.asarray(np.abs(credit.interval - credit.credit[:, None]).max(axis=1))
    return np.full(len(credit.players), 0.0 if credit.exact else np.inf)
