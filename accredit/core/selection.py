"""The result of a method that chooses players instead of sharing among them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from accredit.checks.json_data import Facts, damaged, fields_of, plain, plain_mapping, read_list, read_object
from accredit.checks.numbers import BoolArray, FloatArray, as_array, check_seed, check_text
from accredit.checks.tables import player_frame
from accredit.core.attribution import frozen
from accredit.core.display import Drawn
from accredit.core.game import check_players
from accredit.core.procedure import Procedure, check_procedure, read_procedure
from accredit.errors import InvalidInput

if TYPE_CHECKING:
    import pandas


FORMAT = 2  # 1: `method` was its line of text


@dataclass(frozen=True, eq=False)
class Selection(Drawn):
    """A chosen subset of the players. It is not credit: nothing is divided, and the order inside it means nothing
    unless `scores` are given.

    >>> kept = Selection(("not", "very", "good"), [True, False, True], method="l2x", rule="top 2")
    >>> kept.names
    ('not', 'good')
    >>> Selection.from_json(kept.to_json()) == kept
    True
    """

    players: tuple[str, ...]
    chosen: BoolArray  # (n,)
    method: Procedure  # enough to run it again; a text names one
    rule: str = ""  # how many are chosen, by which mask law, and what replaces the others
    scores: FloatArray | None = None  # (n,) what the choice was made by, where there is such a thing
    seed: int | None = None
    certificate: Facts = field(default_factory=dict)
    provenance: Facts = field(default_factory=dict)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "players", check_players(self.players))
        n = len(self.players)
        chosen = as_array(self.chosen, "chosen").copy()
        if chosen.shape != (n,) or chosen.dtype != bool:
            raise InvalidInput(
                f"chosen must be {n} booleans, got shape {chosen.shape} of {chosen.dtype}", argument="chosen", code="type"
            )
        chosen.setflags(write=False)
        put(self, "chosen", chosen)
        if self.scores is not None:
            put(self, "scores", frozen(self.scores, (n,), "scores"))
        put(self, "method", check_procedure(self.method))
        put(self, "rule", check_text(self.rule, "rule"))
        put(self, "seed", None if self.seed is None else check_seed(self.seed))
        for name in ("certificate", "provenance"):
            put(self, name, plain_mapping(getattr(self, name), name))

    @property
    def names(self) -> tuple[str, ...]:
        """The chosen players."""
        return tuple(p for p, c in zip(self.players, self.chosen, strict=True) if c)

    def __len__(self) -> int:
        return len(self.players)

    def __contains__(self, player: object) -> bool:
        return player in self.names

    def __getitem__(self, part: slice) -> Selection:
        """The same choice among some of the players."""
        if not isinstance(part, slice):
            raise InvalidInput(
                f"a selection is cut by slice, got {part!r}; write selection[1:3], or name in selection", code="type"
            )
        scores = None if self.scores is None else self.scores[part]
        return Selection(
            self.players[part],
            self.chosen[part],
            self.method,
            self.rule,
            scores,
            self.seed,
            self.certificate,
            self.provenance,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Selection):
            return NotImplemented
        return self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def to_json(self) -> str:
        """Everything, as JSON."""
        data = {f.name: getattr(self, f.name) for f in fields(self)} | {"method": self.method.as_plain()}
        return json.dumps({"kind": "selection", "format": FORMAT} | plain(data, "selection"), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Selection:
        """Read what `to_json` wrote; anything else is refused."""
        data = read_object(text, "selection")
        values = fields_of(cls, data, "selection", FORMAT, before=True)
        with damaged("selection"):
            read_list(values, "players", "chosen")
            values["method"] = read_procedure(values["method"], is_line=data["format"] < FORMAT)
            return cls(**values)

    def to_pandas(self) -> pandas.DataFrame:
        """One row per player: chosen or not, and the score where there is one."""
        columns: dict[str, object] = {"chosen": self.chosen}
        if self.scores is not None:
            columns["score"] = self.scores
        return player_frame(self.players, columns)
