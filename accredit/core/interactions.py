"""The result of every interaction index: one number per coalition, and what is known about it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from accredit.checks.json_data import damaged, fields_of, plain, read_list, read_object
from accredit.checks.lazy import needs
from accredit.checks.numbers import FloatArray, check_seed, check_text, optional_whole, real_number, shown, whole_number
from accredit.core.attribution import check_precision, frozen
from accredit.core.claims import Claim, checked_claims, claims_of_part
from accredit.core.display import Drawn
from accredit.core.estimate import Estimate, Known, Precision, check_level
from accredit.core.game import check_players, player_index
from accredit.errors import InvalidInput

if TYPE_CHECKING:
    import pandas

FORMAT = 1
Coalition = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Interactions(Drawn):
    """A number for every coalition of the sizes asked for, what that number means and how well it is known.

    >>> pairs = Interactions(("A", "B", "C"), "sii", "by hand", {("A", "B"): -20.0, ("A", "C"): -20.0, ("B", "C"): 20.0})
    >>> pairs["C", "B"], pairs.matrix()[0].tolist()
    (20.0, [0.0, -20.0, -20.0])
    >>> Interactions.from_json(pairs.to_json()) == pairs
    True
    """

    players: tuple[str, ...]
    index: str  # which interaction index
    means: str  # how to read one number
    values: Mapping[Coalition, float]  # players of a coalition in the order of `players`
    claims: tuple[Claim, ...] = ()
    stderr: FloatArray | None = None  # (coalitions,), in the order of `values`
    interval: FloatArray | None = None  # (coalitions, 2)
    level: float | None = None
    precision: Precision | None = None  # exact, interval or unknown, and why; None: whichever `interval` says
    total: float | None = None  # v(N) − v(∅)
    payoffs: int | None = None  # payoffs asked of the game
    seed: int | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "players", check_players(self.players))
        if not isinstance(self.values, Mapping):
            raise InvalidInput(
                f"values is {shown(self.values)}; write a mapping, as in {{('A', 'B'): 1.0}}", argument="values", code="type"
            )
        if not self.values:
            raise InvalidInput("values is empty; give at least one coalition with its number", argument="values", code="empty")
        kept = {self._key(who): x for who, x in self.values.items()}
        if len(kept) < len(self.values):
            raise InvalidInput(
                f"values holds a coalition twice: {len(self.values)} entries for {len(kept)} coalitions",
                argument="values",
                code="duplicate",
            )
        count = len(kept)
        put(self, "values", dict(zip(kept, frozen(list(kept.values()), (count,), "values").tolist(), strict=True)))
        put(self, "claims", checked_claims(self.claims))
        for name in ("index", "means"):
            put(self, name, check_text(getattr(self, name), name))
        put(self, "total", None if self.total is None else real_number(self.total, "total"))
        put(self, "payoffs", optional_whole(self.payoffs, "payoffs", 0))
        put(self, "seed", None if self.seed is None else check_seed(self.seed))
        for name, shape in (("stderr", (count,)), ("interval", (count, 2))):
            if getattr(self, name) is not None:
                put(self, name, frozen(getattr(self, name), shape, name))
        put(self, "level", check_level(self.level))
        put(self, "precision", check_precision(self.precision, self.stderr, self.interval))

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {player: place for place, player in enumerate(self.players)}

    def _key(self, who: Iterable[str]) -> Coalition:
        """A coalition as its members in the order of `players`."""
        given = who.tolist() if hasattr(who, "tolist") else who
        names = [given] if isinstance(given, str) else given
        if not isinstance(names, Iterable) or isinstance(names, bytes):
            raise InvalidInput(
                f"{shown(who)} is not a coalition; write the names of its members, as in ('A', 'B')", code="type"
            )
        places = [self._places[p] if isinstance(p, str) and p in self._places else player_index(self.players, p) for p in names]
        if len(set(places)) < len(places):
            raise InvalidInput(
                f"{shown(who)} names a player twice; a coalition holds each of its members once", code="duplicate"
            )
        return tuple(self.players[place] for place in sorted(places))

    @property
    def _known(self) -> Precision:
        assert self.precision is not None  # set when built
        return self.precision

    @property
    def exact(self) -> bool:
        """Are these the numbers themselves, without any sampling error?"""
        return self._known.known is Known.EXACT

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the coalitions that have a number."""
        return tuple(sorted({len(who) for who in self.values}))

    def _place(self, coalition: Iterable[str]) -> Coalition:
        key = self._key(coalition)
        if key not in self.values:
            raise InvalidInput(
                f"there is no number of the coalition {{{', '.join(key)}}} here; the sizes computed are {list(self.sizes)}",
                code="unknown",
            )
        return key

    def __getitem__(self, coalition: Iterable[str]) -> float:
        return self.values[self._place(coalition)]

    def estimate(self, coalition: Iterable[str]) -> Estimate:
        """One number and how well it is known."""
        key = self._place(coalition)
        if self.interval is None:
            low = high = self.values[key] if self.exact else None
            return Estimate(self.values[key], low, high, self._known)
        low, high = self.interval[list(self.values).index(key)].tolist()
        return Estimate(self.values[key], low, high, self._known, self.level)

    def __iter__(self) -> Iterator[tuple[Coalition, float]]:
        return iter(self.values.items())

    def __contains__(self, coalition: object) -> bool:
        """Whether there is a number of a coalition."""
        try:
            return self._key(coalition) in self.values  # type: ignore[arg-type]
        except InvalidInput:
            return False

    def __len__(self) -> int:
        return len(self.values)

    def of_size(self, size: int) -> Interactions:
        """The coalitions of one size alone; they no longer claim to add up."""
        whole_number(size, "size", 0, example=2)
        return self._pick([k for k, who in enumerate(self.values) if len(who) == size], f"of size {size}")

    def top(self, count: int = 10) -> Interactions:
        """The `count` coalitions of largest interaction by magnitude, largest first; nobody, whose number is not an
        interaction, is left out."""
        whole_number(count, "count", example=3)
        some = [k for k, who in enumerate(self.values) if who]
        x = np.array(list(self.values.values()))
        return self._pick(sorted(some, key=lambda k: -abs(x[k]))[:count], "of somebody")

    def strongest(self, count: int = 10) -> list[tuple[Coalition, float]]:
        """The coalitions of largest interaction by magnitude, largest first."""
        return list(self.top(count))

    def _pick(self, rows: list[int], which: str) -> Interactions:
        if not rows:
            raise InvalidInput(f"no coalition {which} here; the sizes computed are {list(self.sizes)}", code="unknown")
        if rows == list(range(len(self))):
            return self
        every = list(self.values.items())
        return replace(
            self,
            values=dict(every[k] for k in rows),
            stderr=None if self.stderr is None else self.stderr[rows],
            interval=None if self.interval is None else self.interval[rows],
            claims=claims_of_part(self.claims, "the coalitions"),
        )

    def matrix(self) -> FloatArray:
        """Interactions of pairs as a symmetric n × n matrix with a zero diagonal; refused where no pairs were computed."""
        if 2 not in self.sizes:
            raise InvalidInput(
                f"there are no pairs here to put into a matrix; the sizes computed are {list(self.sizes)}: ask for order=2",
                code="missing",
            )
        square = np.zeros((len(self.players), len(self.players)))
        where = {p: i for i, p in enumerate(self.players)}
        for who, value in self.values.items():
            if len(who) == 2:
                i, j = where[who[0]], where[who[1]]
                square[i, j] = square[j, i] = value
        return square

    def to_pandas(self) -> pandas.DataFrame:
        """One row per coalition: who, how many, the number, and stderr, low, high where known."""
        with needs("data", "to_pandas"):
            import pandas
        columns: dict[str, object] = {
            "coalition": list(self.values),
            "size": [len(who) for who in self.values],
            "interaction": list(self.values.values()),
        }
        if self.stderr is not None:
            columns["stderr"] = self.stderr
        if self.interval is not None:
            columns |= {"low": self.interval[:, 0], "high": self.interval[:, 1]}
        return pandas.DataFrame(columns)

    def _as_plain(self) -> dict[str, object]:
        data = {f.name: getattr(self, f.name) for f in fields(self)}
        data["values"] = [[list(who), x] for who, x in self.values.items()]
        data["claims"] = [[c.axiom, str(c.holds), c.because] for c in self.claims]
        data["precision"] = self._known.as_plain()
        return {"kind": "interactions", "format": FORMAT, **plain(data, "interactions")}

    @property
    def are_sizes(self) -> bool:
        """Are these sizes rather than gains: nothing is shared, and none of them is below zero?

        >>> Interactions("ab", "mean |sii| over 3 rows", "by hand", {("a", "b"): 1.0}).are_sizes
        True
        """
        return self.total is None and min(self.values.values()) >= 0

    def to_json(self) -> str:
        """Everything, as JSON; `from_json` gives back equal interactions to the last bit."""
        return json.dumps(self._as_plain(), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Interactions:
        """Read what `to_json` wrote; anything else is refused."""
        data = fields_of(cls, read_object(text, "interactions"), "interactions", FORMAT)
        with damaged("interactions"):
            read_list(data, "players", "claims", "values")
            pairs = [_pair(entry) for entry in data["values"]]
            data["values"] = dict(pairs)
            if len(data["values"]) < len(pairs):
                raise InvalidInput("values holds a coalition that is listed twice", argument="values", code="duplicate")
            data["claims"] = tuple(Claim.from_plain(claim) for claim in data["claims"])
            data["precision"] = Precision.from_plain(data["precision"])
            return cls(**data)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Interactions):
            return NotImplemented
        return self._as_plain() == other._as_plain()

    __hash__ = None  # type: ignore[assignment]


def _pair(entry: object) -> tuple[Coalition, Any]:
    """[names, number] from JSON."""
    if not isinstance(entry, list) or len(entry) != 2 or not isinstance(entry[0], list) or isinstance(entry[1], bool):
        raise InvalidInput(
            f"values holds {shown(entry)}; an entry is [[names of the coalition], number]", argument="values", code="type"
        )
    if not all(isinstance(name, str) for name in entry[0]):
        raise InvalidInput(
            f"values names the coalition {shown(entry[0])}; write a list of players", argument="values", code="type"
        )
    return tuple(entry[0]), entry[1]
