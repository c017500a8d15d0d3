"""Credit over refitted models: how much of it belongs to the data at hand, and how much would another sample change?

The training rows are drawn again with replacement (Efron's bootstrap), the model is fitted again, and the same rows are
explained again, beside the same background. Refits are exchangeable, so that between the k-th smallest and the k-th largest of
B of them lies the credit of one more with a chance of (B + 1 − 2k)/(B + 1), whatever its distribution. That is what the
interval says, and what its level is; where the credit of a model of another sample lies, `other_sample` says. Both cover
refitting. They do not cover what credits miss because they were sampled, or
because the background is small, nor a bias that all refits share.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from accredit import defaults
from accredit.checks import check_seed, shown, whole_number
from accredit.checks.json_data import damaged, fields_of, plain, plain_mapping, read_list, read_object
from accredit.core import FloatArray, IntArray, Known, Note, Precision
from accredit.core.attribution import frozen
from accredit.core.display import Drawn, drawings
from accredit.core.estimate import check_level
from accredit.core.notes import check_notes
from accredit.errors import InvalidInput
from accredit.explanation.explainer import explain_rows
from accredit.rows.result import TableExplanation
from accredit.store import Entry, Journal, fingerprint
from accredit.values.solver import progress

if TYPE_CHECKING:
    import pandas

REFITS = 50  # where nothing is said: intervals of 96 %
BACKGROUND_ROWS = 100  # of the training rows, where no background is given
FORMAT = 1
KEY_BYTES = 4  # of a refit's number in the journal


class FitModel(Protocol):
    """What fits a model to rows and answers; the seed is for whatever is random in it."""

    def __call__(self, data: Any, answers: Any, seed: int, /) -> object: ...


@dataclass(frozen=True, eq=False)
class RefitExplanation(Drawn):
    """What columns earn on average over refitted models, and between which ends.

    `table` holds the mean credit with its interval over refits, `whole` the credit of the model that was fitted to all rows as
    they are. `sizes[b, i, k]` is the mean |credit| of player i in refit b for output k: by it players are ranked.

    >>> from sklearn.linear_model import LinearRegression
    >>> x = np.random.default_rng(0).normal(size=(60, 2))
    >>> found: RefitExplanation = explain_refits(x[:3], LinearRegression(), x, x @ [3.0, 1.0], refits=9)
    >>> found.rank_interval.tolist(), found.failed
    ([[1, 1], [2, 2]], {})
    """

    table: TableExplanation
    whole: TableExplanation
    sizes: FloatArray  # (refits, players, outputs)
    refits: tuple[int, ...]  # numbers of the refits that succeeded
    failed: Mapping[int, str]  # number of a refit -> why it did not
    level: float  # chance that one more refit lies within an interval

    def __post_init__(self) -> None:
        put = object.__setattr__
        shape = len(self.refits), len(self.table.players), len(self.table.outputs)
        put(self, "sizes", frozen(self.sizes, shape, "sizes"))
        put(self, "refits", tuple(whole_number(number, "refits", 0) for number in self.refits))
        put(self, "failed", {int(number): str(why) for number, why in self.failed.items()})
        put(self, "level", check_level(self.level))

    @property
    def players(self) -> tuple[str, ...]:
        return self.table.players

    @property
    def ranks(self) -> IntArray:
        """The rank of every player in every refit, 1 for the largest mean |credit| of the target: (refits, players)."""
        size = self.sizes[:, :, self.table.place()]
        return np.asarray(1 + (size[:, None, :] > size[:, :, None]).sum(axis=2))

    @property
    def rank_interval(self) -> IntArray:
        """The ends between which the rank of one more refit lies, at the level: (players, 2)."""
        return ends_over(self.ranks.astype(np.float64), self.level)[0].astype(np.int64)

    @property
    def other_sample(self) -> FloatArray:
        """The ends between which the credit lies of a model fitted to *another* sample of the same size: (rows, players,
        outputs, 2), in about `level` of the cases.

        Refits vary around the model of this sample as models of other samples do around the one of the whole population. Two
        samples both vary, so that their difference has twice that variance: the ends are √2 times as far from the model that
        was fitted to all rows as those of one more refit are from the mean. It holds where credit varies about evenly to both
        sides, and in large samples.
        """
        assert self.table.interval is not None
        away = self.table.interval - self.table.credit[..., None]
        return np.asarray(self.whole.credit[..., None] + 2**0.5 * away)

    def share_in_top(self, count: int) -> dict[str, float]:
        """In which share of the refits each player is among the first `count`; equal sizes share a rank."""
        whole_number(count, "count", 1, len(self.players))
        return dict(zip(self.players, (self.ranks <= count).mean(axis=0).tolist(), strict=True))

    def of(self, output: str) -> RefitExplanation:
        """The same about another output."""
        return replace(self, table=self.table.of(output), whole=self.whole.of(output))

    def to_pandas(self, top: int = 3) -> pandas.DataFrame:
        """One line per player, the largest first: mean |credit| and rank, each with its ends, and the share of refits in which
        it is among the first `top`."""
        import pandas

        size, k = self.sizes[:, :, self.table.place()], min(top, len(self.players))
        ends, ranked = ends_over(size, self.level)[0], self.rank_interval
        frame = pandas.DataFrame(
            {
                "mean |credit|": size.mean(axis=0),
                "low": ends[:, 0],
                "high": ends[:, 1],
                "median rank": np.median(self.ranks, axis=0),
                "rank low": ranked[:, 0],
                "rank high": ranked[:, 1],
                f"in top {k}": list(self.share_in_top(k).values()),
            },
            index=pandas.Index(self.players, name="player"),
        )
        return frame.sort_values("mean |credit|", ascending=False, kind="stable")

    def to_html(self, path: str | Path) -> None:
        """Write one self-contained page."""
        from accredit.checks.files import check_writable, put

        put(check_writable(path), drawings().to_page(self).encode())

    def to_plain(self) -> dict[str, Any]:
        """Everything as JSON types."""
        data: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        data |= {"table": self.table.to_plain(), "whole": self.whole.to_plain()}
        data["failed"] = {str(number): why for number, why in self.failed.items()}
        return {"kind": "refit explanation", "format": FORMAT, **plain(data, "refit explanation")}

    def to_json(self) -> str:
        """Everything, as JSON; `from_json` gives back an equal result."""
        import json

        return json.dumps(self.to_plain(), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> RefitExplanation:
        """Read what `to_json` wrote; anything else is refused."""
        values = fields_of(cls, read_object(text, "refit explanation"), "refit explanation", FORMAT)
        with damaged("refit explanation"):
            read_list(values, "sizes", "refits")
            for name in ("table", "whole"):
                values[name] = TableExplanation.from_plain(values[name])
            values["failed"] = {int(number): why for number, why in plain_mapping(values["failed"], "failed").items()}
            return cls(**values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RefitExplanation) and self.to_plain() == other.to_plain()

    __hash__ = None  # type: ignore[assignment]


def ends_over(found: FloatArray, level: float) -> tuple[FloatArray, float]:
    """Order statistics over the first axis between which one more draw lies, (…, 2), and with what chance: at least `level`, or
    as much as so few draws can say.

    >>> ends_over(np.arange(39.0), 0.95)
    (array([ 0., 38.]), 0.95)
    """
    count = len(found)
    k = max(1, int((count + 1) * (1 - level) / 2 + 1e-9))
    ordered = np.sort(found, axis=0)
    return np.stack([ordered[k - 1], ordered[count - k]], axis=-1), (count + 1 - 2 * k) / (count + 1)


def explain_refits(
    rows: object,
    fit: object,
    data: object,
    answers: object,
    background: object = None,
    *,
    refits: int = REFITS,
    level: float = defaults.LEVEL,
    store: str | Path | None = None,
    seed: int = 0,
    **settings: Any,
) -> RefitExplanation:
    """Which columns earned the outputs of a model, over refits to training rows that are drawn again with replacement.

    `fit` is an unfitted estimator in the manner of scikit-learn, or a function (data, answers, seed) -> model. `data` are
    training rows and `answers` what is to be predicted of each. `background` is the same for all refits: by default 100 of the
    training rows, or all if they are fewer. `settings` are those of `explain_rows`. `store` is a file that keeps every refit: a
    run that was stopped goes on where it was, and ends with the same numbers. A refit that fails is named in `.failed` and
    counts nowhere.

    The interval says where the credit of one more refit lies. It covers refitting, not the error of sampled credits.

    >>> from sklearn.linear_model import LinearRegression
    >>> x = np.random.default_rng(0).normal(size=(60, 2))
    >>> found = explain_refits(x[:3], LinearRegression(), x, x @ [3.0, 1.0], refits=9)
    >>> found.players, found.share_in_top(1), found.level
    (('x0', 'x1'), {'x0': 1.0, 'x1': 0.0}, 0.8)
    """
    whole_number(refits, "refits", 3, example=REFITS)
    check_seed(seed)
    check_level(level)
    count = _count(data, answers)
    compared, notes = _background(background, data, count, seed)
    train = _trainer(fit)

    def credit_of(model: object) -> TableExplanation:
        return explain_rows(rows, model, compared, seed=seed, **settings)

    whole = credit_of(train(data, answers, seed))
    if whole.by_other_methods:
        raise InvalidInput(
            f"methods names {len(whole.methods)}; refits are explained by one: methods={whole.method_name!r}",
            argument="methods",
            code="too-many",
        )

    def refit(number: int) -> FloatArray:
        drawn = np.random.default_rng([seed, number]).integers(0, count, count)
        found = credit_of(train(_take(data, drawn), _take(answers, drawn), seed + 1 + number))
        _check_like(found, whole)
        return np.concatenate([found.credit.ravel(), found.base, found.prediction.ravel()])

    named = {"fit": fit, "data": data, "answers": answers, "rows": rows, "background": compared, "settings": settings}
    with nullcontext() if store is None else Journal(store) as journal, progress("refit", refits) as bar:
        kept = _RefitRecords(journal, named, whole.players, seed)
        known, failed = kept.fill(refits, refit, bar.update)
    return _explanation(whole, known, failed, level, notes)


class _RefitRecords:
    """What is known of every refit: in a journal, or for this run alone."""

    def __init__(self, journal: Journal | None, named: Mapping[str, object], players: tuple[str, ...], seed: int) -> None:
        self._journal, self._seed = journal, seed
        self._game = 0 if journal is None else journal.enter(fingerprint(**named), players)

    def fill(
        self, refits: int, refit: Callable[[int], FloatArray], watch: Callable[[int], None]
    ) -> tuple[dict[int, FloatArray], dict[int, str]]:
        """Every refit that is not known yet is made, and kept at once; what failed before is tried again."""
        known, failed = self._recall(refits), {}
        for number in range(refits):
            if number in known:
                continue
            began = time.monotonic()
            try:
                known[number] = refit(number)
                entry = Entry(_key(number), "ok", 0.0, time.monotonic() - began, outputs=known[number])
            except Exception as error:  # a user's fit may raise anything; it is named, and the others go on
                failed[number] = f"{type(error).__name__}: {error}"
                entry = Entry(_key(number), "failed", None, time.monotonic() - began, problem=failed[number][:500])
            if self._journal is not None:
                self._journal.record(self._game, self._seed, [entry])
            watch(number + 1)
        return known, failed

    def _recall(self, refits: int) -> dict[int, FloatArray]:
        if self._journal is None:
            return {}
        entries = self._journal.recall(self._game, self._seed, [_key(number) for number in range(refits)])
        return {
            int.from_bytes(key, "big"): entry.outputs
            for key, entry in entries.items()
            if entry.status == "ok" and entry.outputs is not None
        }


def _key(number: int) -> bytes:
    return number.to_bytes(KEY_BYTES, "big")


def _explanation(
    whole: TableExplanation, known: Mapping[int, FloatArray], failed: Mapping[int, str], level: float, notes: tuple[str, ...]
) -> RefitExplanation:
    if len(known) < 3:
        number, why = next(iter(failed.items()))
        raise InvalidInput(
            f"{len(failed)} of {len(known) + len(failed)} refits failed, and three are needed; refit {number}: {why}",
            argument="fit",
            code="failed",
        )
    numbers = tuple(sorted(known))
    rows, players, outputs = whole.credit.shape
    cells = np.stack([known[number] for number in numbers])
    credit = cells[:, : whole.credit.size].reshape(-1, rows, players, outputs)
    base = cells[:, whole.credit.size : whole.credit.size + outputs]
    prediction = cells[:, whole.credit.size + outputs :].reshape(-1, rows, outputs)
    ends, reached = ends_over(credit, level)
    middle = credit.mean(axis=0)
    ends = np.stack([np.minimum(ends[..., 0], middle), np.maximum(ends[..., 1], middle)], axis=-1)
    because = (
        f"the credit of one more refit lies between these ends with a chance of {reached:.0%}, by {len(numbers)} refits to "
        "training rows drawn with replacement, that of a model of another sample between wider ones (other_sample); covers "
        "refitting, not the error of sampling or of the background"
    )
    table = replace(
        whole,
        credit=middle,
        base=base.mean(axis=0),
        prediction=prediction.mean(axis=0),
        precision=Precision.interval(because),
        interval=ends,
        level=reached,
        apart=(),
        pairs=None,
        pairs_index="",
        pairs_precision=Precision.unknown(),
        pairs_interval=None,
        method=whole.method.then(f"mean over {len(numbers)} refits"),
        notes=(*whole.notes, *_notes(whole, failed, level, reached), *check_notes(notes)),
        provenance={**whole.provenance, "refits": len(numbers), "failed refits": sorted(failed)},
    )
    return RefitExplanation(table, whole, np.abs(credit).mean(axis=1), numbers, dict(failed), reached)


def _notes(whole: TableExplanation, failed: Mapping[int, str], level: float, reached: float) -> tuple[Note, ...]:
    said = []
    if failed:
        number, why = next(iter(failed.items()))
        said.append(f"{len(failed)} refits failed and are left out; the first, number {number}, says: {why:.200}")
    if reached < level:
        said.append(f"So few refits give intervals of {reached:.0%}, not of {level:.0%}; 39 give 95%.")
    if whole.precision.known is not Known.EXACT:
        said.append("The credit of every refit is itself an estimate, whose error widens the ends.")
    return check_notes(said)


def _check_like(found: TableExplanation, whole: TableExplanation) -> None:
    """Refuse a refit whose outputs are not those of the whole: a class may be missing from the rows that were drawn."""
    for name in ("players", "outputs", "payoff"):
        theirs, ours = getattr(found, name), getattr(whole, name)
        if theirs != ours:
            raise InvalidInput(
                f"the refitted model has the {name} {theirs!r:.80}, not {ours!r:.80}; a class may be missing from the rows "
                "that were drawn",
                argument="fit",
                code="conflict",
            )


def _trainer(fit: object) -> FitModel:
    """The function that fits; of an estimator, a fresh copy is fitted each time."""
    if hasattr(fit, "fit") and hasattr(fit, "get_params") and not isinstance(fit, type):

        def train(data: Any, answers: Any, seed: int, /) -> object:
            from sklearn.base import clone

            fresh = clone(fit)
            unset = {name: seed % 2**31 for name, value in fresh.get_params().items() if _is_seed(name) and value is None}
            return fresh.set_params(**unset).fit(data, answers)

        return train
    if callable(fit) and not isinstance(fit, type):
        function: FitModel = fit
        return function
    raise InvalidInput(
        f"fit is {shown(fit)}; give an unfitted estimator, or a function (data, answers, seed) -> model",
        argument="fit",
        code="type",
    )


def _is_seed(name: str) -> bool:
    return name.split("__")[-1] == "random_state"


def _count(data: object, answers: object) -> int:
    sizes = [len(given) if hasattr(given, "__len__") else 0 for given in (data, answers)]
    if sizes[0] != sizes[1] or sizes[0] < 2:
        raise InvalidInput(
            f"data has {sizes[0]} rows and answers has {sizes[1]}; give one answer per row, and two rows or more",
            argument="answers",
            code="shape",
        )
    return sizes[0]


def _background(background: object, data: object, count: int, seed: int) -> tuple[object, tuple[str, ...]]:
    if background is not None:
        return background, ()
    if count <= BACKGROUND_ROWS:
        return data, ("The training rows are the background of every refit.",)
    some = np.sort(np.random.default_rng(seed).choice(count, BACKGROUND_ROWS, replace=False))
    return _take(data, some), (f"{BACKGROUND_ROWS} of {count:,} training rows, drawn once, are the background of every refit.",)


def _take(given: Any, which: IntArray) -> Any:
    return given.iloc[which] if hasattr(given, "iloc") else np.asarray(given)[which]
