"""The result of every method that shares or ranks: credit per player, and what is known about it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np
import numpy.typing as npt

from accredit.checks.json_data import Facts, damaged, fields_of, plain, plain_mapping, read_list, read_object
from accredit.checks.numbers import (
    FloatArray,
    IntArray,
    check_index,
    check_seed,
    check_text,
    optional_whole,
    real_number,
    real_numbers,
    shown,
    whole_number,
)
from accredit.checks.tables import player_frame
from accredit.core.claims import Claim, Holds, checked_claims, claims_of_part
from accredit.core.display import Drawn
from accredit.core.estimate import Estimate, Known, Precision, check_level
from accredit.core.game import check_players, player_index
from accredit.core.procedure import Procedure, check_procedure, read_procedure
from accredit.core.rounding import SINGLE, blur
from accredit.core.shap_form import shap_explanation
from accredit.errors import InvalidInput

if TYPE_CHECKING:
    import pandas
    import shap

FORMAT = 3  # 2: `method` was its line of text


@dataclass(frozen=True, eq=False)
class Attribution(Drawn):
    """Credit shared among players, and what is known about the sharing.

    >>> cookies = Attribution(("alice", "bob"), [6, 4], total=10, method="by hand")
    >>> cookies["alice"], cookies.unshared
    (6.0, 0.0)
    >>> Attribution.from_json(cookies.to_json()) == cookies
    True
    """

    players: tuple[str, ...]
    credit: FloatArray  # (n,), in the order of `players`
    total: float | None  # v(N) - v(∅), what there was to share; None: nothing is divided, these are scores
    method: Procedure  # enough to run it again; a text names one
    claims: tuple[Claim, ...] = ()
    stderr: FloatArray | None = None  # (n,); None: there is no sampling error, or no honest estimate of it
    interval: FloatArray | None = None  # (n, 2) low and high; None where `precision` is exact or unknown
    level: float | None = None  # the share of runs in which the interval should hold the truth, player by player
    precision: Precision | None = None  # exact, interval or unknown, and why; None: whichever `interval` says
    baseline: float | None = None  # v(∅), what nobody earns
    payoffs: int | None = None  # payoffs asked of the game
    seed: int | None = None
    stopped: str = ""  # why sampling ended
    certificate: Facts = field(default_factory=dict)  # residuals, gaps, iterations: what a check needs
    provenance: Facts = field(default_factory=dict)  # model, data, settings, versions
    blur: float | None = None  # how far rounding may have moved a payoff (`core.rounding`); None: nobody said

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "players", check_players(self.players))
        n = len(self.players)
        check_index(self.credit, self.players, "credit")
        put(self, "credit", frozen(self.credit, (n,), "credit"))
        for name in ("total", "baseline"):
            put(self, name, None if getattr(self, name) is None else real_number(getattr(self, name), name))
        put(self, "method", check_procedure(self.method))
        put(self, "stopped", check_text(self.stopped, "stopped"))
        put(self, "claims", checked_claims(self.claims))
        put(self, "payoffs", optional_whole(self.payoffs, "payoffs", 0))
        put(self, "seed", None if self.seed is None else check_seed(self.seed))
        if self.stderr is not None:
            put(self, "stderr", frozen(self.stderr, (n,), "stderr"))
        if self.interval is not None:
            put(self, "interval", frozen(self.interval, (n, 2), "interval"))
        put(self, "level", check_level(self.level))
        put(self, "blur", None if self.blur is None else real_number(self.blur, "blur", 0))
        put(self, "precision", check_precision(self.precision, self.stderr, self.interval))
        for name in ("certificate", "provenance"):
            put(self, name, plain_mapping(getattr(self, name), name))

    @property
    def unshared(self) -> float | None:
        """Payoff credited to nobody: zero when the credit is efficient."""
        return None if self.total is None else self.total - float(self.credit.sum())

    @property
    def rounding(self) -> float:
        """Credits that differ by no more than this are equal: what rounding may have moved; where nobody said, as if the
        payoffs came from single precision."""
        sizes = (np.abs(self.credit).max(), self.total or 0.0, self.baseline or 0.0)
        size = float(max(map(abs, (*sizes, (self.baseline or 0.0) + (self.total or 0.0)))))
        return blur(size, SINGLE) if self.blur is None else self.blur + blur(size)

    @property
    def exact(self) -> bool:
        """Is this the value itself, without any sampling error?"""
        return self._known.known is Known.EXACT

    @property
    def interval_because(self) -> str:
        """What the interval rests on, or why there is none, in words."""
        return str(self._known)

    @property
    def _known(self) -> Precision:
        assert self.precision is not None  # set when built
        return self.precision

    def estimate(self, player: str) -> Estimate:
        """One player's credit, and how well it is known.

        >>> Attribution(("alice", "bob"), [6, 4], 10, "by hand", precision=Precision.exact()).estimate("bob").below(5)
        True
        """
        at = self.place(player)
        value = float(self.credit[at])
        if self.interval is not None:
            low, high = self.interval[at].tolist()
            return Estimate(value, low, high, self._known, self.level)
        end = value if self.exact else None
        return Estimate(value, end, end, self._known)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Player -> position."""
        return {player: place for place, player in enumerate(self.players)}

    def place(self, player: str) -> int:
        """Position of a player, or an error that lists who plays."""
        found = self.places.get(player) if isinstance(player, str) else None
        return player_index(self.players, player) if found is None else found

    def claim(self, axiom: str) -> Claim:
        """What is claimed about one axiom; `unknown` where nothing is."""
        for claim in self.claims:
            if claim.axiom == axiom:
                return claim
        return Claim(axiom, Holds.UNKNOWN, "this method makes no statement about it")

    def ranked(self) -> Attribution:
        """The same credit, highest first."""
        return self._pick(np.argsort(-self.credit, kind="stable"))

    def top(self, count: int) -> Attribution:
        """The `count` players of largest credit by magnitude, largest first."""
        return self[largest(np.abs(self.credit), count)]

    def as_dict(self) -> dict[str, float]:
        """Player -> credit."""
        return dict(zip(self.players, self.credit.tolist(), strict=True))

    def __len__(self) -> int:
        return len(self.players)

    def __contains__(self, player: object) -> bool:
        """Is this one of the players?"""
        return isinstance(player, str) and player in self.places

    def __iter__(self) -> Iterator[tuple[str, float]]:
        """Every player and its credit."""
        return iter(self.as_dict().items())

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """The credit, in the order of `players`: numpy would otherwise make texts of the names and numbers."""
        return np.array(self.credit, dtype=dtype, copy=copy)

    @overload
    def __getitem__(self, which: str) -> float: ...
    @overload
    def __getitem__(self, which: slice | list[int] | list[str]) -> Attribution: ...
    def __getitem__(self, which: str | slice | list[int] | list[str]) -> float | Attribution:
        """One player's credit by name, or a part of the attribution by slice, positions or names.

        A part keeps `total`, so its `unshared` is what the others earned, and it no longer claims efficiency.
        """
        if isinstance(which, str):
            return float(self.credit[self.place(which)])
        rows = self._rows(which)
        if len(rows) == 0:
            raise InvalidInput(
                f"the part {shown(which)} of {len(self)} players is empty; give at least one player", code="empty"
            )
        part = self._pick(rows)
        if len(rows) == len(self):
            return part
        return replace(part, claims=claims_of_part(self.claims, "the players"))

    def _rows(self, which: slice | Iterable[SupportsIndex | str]) -> IntArray:
        """Positions of the players in a slice or a list; a list of booleans, one per player, keeps those that are true."""
        everybody = np.arange(len(self))
        try:
            if isinstance(which, slice):
                return everybody[which]
            listed = list(which.tolist()) if getattr(which, "ndim", 1) and hasattr(which, "tolist") else list(which)
            flags = [isinstance(w, bool | np.bool_) for w in listed]
            if any(flags):
                return np.asarray(everybody[np.array(listed, dtype=bool if all(flags) else object)])
            return everybody[[self.place(w) if isinstance(w, str) else index(w) for w in listed]]
        except InvalidInput:
            raise
        except (TypeError, ValueError, IndexError, OverflowError):
            raise InvalidInput(
                f"{shown(which)} does not pick any of the {len(self)} players; write a name, a slice such as [:3], a list of "
                f"names, or a list of positions from 0 to {len(self) - 1}",
                code="unknown",
            ) from None

    def _pick(self, rows: IntArray) -> Attribution:
        return replace(
            self,
            players=tuple(self.players[i] for i in rows),
            credit=self.credit[rows],
            stderr=None if self.stderr is None else self.stderr[rows],
            interval=None if self.interval is None else self.interval[rows],
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Attribution):
            return NotImplemented
        return self._as_plain() == other._as_plain()

    __hash__ = None  # type: ignore[assignment]

    def _as_plain(self) -> dict[str, object]:
        data = {f.name: getattr(self, f.name) for f in fields(self)}
        data["claims"] = [[c.axiom, str(c.holds), c.because] for c in self.claims]
        data["precision"], data["method"] = self._known.as_plain(), self.method.as_plain()
        return {"kind": "attribution", "format": FORMAT, **plain(data, "attribution")}

    def to_json(self) -> str:
        """Everything, as JSON; `from_json` gives back an equal attribution to the last bit."""
        return json.dumps(self._as_plain(), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Attribution:
        """Read what `to_json` wrote; anything else is refused."""
        return cls.from_plain(read_object(text, "attribution"))

    @classmethod
    def from_plain(cls, data: Facts) -> Attribution:
        """An attribution from the object that `to_json` writes."""
        values = fields_of(cls, data, "attribution", FORMAT, optional=("blur",), before=True)
        with damaged("attribution"):
            read_list(values, "players", "credit", "claims")
            values["claims"] = tuple(Claim.from_plain(claim) for claim in values["claims"])
            values["precision"] = Precision.from_plain(values["precision"])
            values["method"] = read_procedure(values["method"], is_line=data["format"] < FORMAT)
            return cls(**values)

    def to_pandas(self) -> pandas.DataFrame:
        """One row per player: credit, and stderr, low, high where known."""
        columns: dict[str, FloatArray] = {"credit": self.credit}
        if self.stderr is not None:
            columns["stderr"] = self.stderr
        if self.interval is not None:
            columns |= {"low": self.interval[:, 0], "high": self.interval[:, 1]}
        return player_frame(self.players, columns)

    def to_shap(self) -> shap.Explanation:
        """The credit as a `shap.Explanation` of one row, for shap's plots; intervals and claims stay behind.

        Its data are the values of a row's columns; elsewhere, as for shap's texts, the names of the players.
        """
        cells = self.provenance.get("values")
        data = [cells.get(player) for player in self.players] if isinstance(cells, Mapping) else self.players
        return shap_explanation(self.credit, self.baseline, data, self.players)


def returned(found: object, function: str) -> Attribution:
    """What a caller's function returned, if it is an attribution."""
    if not isinstance(found, Attribution):
        raise InvalidInput(f"{function} returned {shown(found)}; it must return an Attribution, as shapley does", code="type")
    return found


def largest(sizes: FloatArray, count: int) -> list[int]:
    """Positions of the `count` largest, largest first; ties stay in order."""
    rows: list[int] = np.argsort(-sizes, kind="stable")[: whole_number(count, "count", example=3)].tolist()
    return rows


def frozen(values: object, shape: tuple[int, ...], name: str) -> FloatArray:
    """A read-only copy with the right shape and finite numbers."""
    array = real_numbers(values, name, copy=True)
    if array.shape != shape:
        raise InvalidInput(
            f"{name} has shape {array.shape}; {shape} is needed, one row per player", argument=name, code="shape"
        )
    if not np.isfinite(array).all():
        raise InvalidInput(
            f"{name} holds {array[~np.isfinite(array)][0]}; only finite numbers can be credited",
            argument=name,
            code="not-finite",
        )
    array.setflags(write=False)
    return array


def check_precision(given: Precision | None, stderr: FloatArray | None, interval: FloatArray | None) -> Precision:
    """How well a result is known; interval, errors and the statement about them must agree."""
    usual = Precision.unknown() if interval is None else Precision.interval()
    precision = usual if given is None else given
    if not isinstance(precision, Precision):
        raise InvalidInput(
            f"precision is {shown(precision)}; write for example Precision.exact()", argument="precision", code="type"
        )
    if (precision.known is Known.INTERVAL) != (interval is not None):
        there = "no interval is given" if interval is None else "an interval is given"
        raise InvalidInput(
            f"precision says {str(precision.known)!r} and {there}; change one of the two", argument="precision", code="conflict"
        )
    if interval is not None and (interval[:, 0] > interval[:, 1]).any():
        raise InvalidInput(
            "interval holds a low end above its high end; give (low, high) for each player", argument="interval", code="range"
        )
    if stderr is not None and (stderr < 0).any():
        raise InvalidInput(f"stderr holds {stderr.min():g}; a standard error is not negative", argument="stderr", code="range")
    if stderr is not None and precision.known is Known.EXACT:
        raise InvalidInput(
            "precision says 'exact' and standard errors are given; leave out stderr", argument="precision", code="conflict"
        )
    return precision
