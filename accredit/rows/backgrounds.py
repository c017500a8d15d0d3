"""Which rows the explained ones are compared with: those given, in full or thinned, or one another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from accredit.checks import real_numbers
from accredit.checks.numbers import check_same_order
from accredit.core import FloatArray, IntArray
from accredit.core.statistics import spreads
from accredit.defaults import BACKGROUND_BY, BackgroundBy
from accredit.errors import InvalidInput
from accredit.rows.frames import Rows, numbers_or_words, rows_of

if TYPE_CHECKING:
    from accredit.models.row_types import Table

OWN_ROWS = 20  # rows from which a table may serve as its own background
DRAWN_ROWS = 1000  # rows drawn for such a background
WORDS_PER_COLUMN = 20  # different words of a column that clusters tell apart; the rarer ones count as one
CLUSTER_ROUNDS = 20  # of moving centres
BY: Mapping[BackgroundBy, str] = {  # how a background is thinned, in words
    "draw": "drawn at random",
    "medoids": "the medoids of as many clusters, each counted by the rows that it stands for",
}


@dataclass(frozen=True, eq=False)
class Compared:
    """The background of a run, and how it was come by. Without rows, trees are read by their cover ratios."""

    rows: Rows | None = None
    weights: FloatArray = field(default_factory=lambda: np.ones(0))  # (m,), summing to 1
    notes: tuple[str, ...] = ()
    facts: dict[str, object] = field(default_factory=lambda: {"background rows": 0})


def compare_with(
    rows: object,
    background: object = None,
    *,
    most: int | None = None,
    by: BackgroundBy | None = None,
    weights: object = None,
    dependence: str | None = None,
    names: Iterable[str] | None = None,
    seed: int = 0,
    are_trees: Callable[[], bool] = lambda: False,
) -> Compared:
    """The background that a question names. `most` rows of it are used at most, chosen `by` "draw" or "medoids".

    >>> some = compare_with([[1.0]], [[0.0], [0.1], [9.0]], most=2, by="medoids")
    >>> some.rows.table.ravel().tolist(), some.weights.round(2).tolist()
    ([0.0, 9.0], [0.67, 0.33])
    """
    if dependence == "cover":
        for name, value in (("background", background), ("weights", weights), ("most_background", most)):
            if value is not None:
                raise InvalidInput(
                    f"dependence='cover' uses no background; leave {name} out, or write dependence='interventional'",
                    argument="dependence",
                    code="conflict",
                )
        return Compared()
    if background is not None:
        given = rows_of(background, names, "background")
        check_same_order(background, weights, "background", "weights")
        return _thin(given, _check_weights(weights, len(given)), weights is not None, most, by or BACKGROUND_BY, seed)
    given = rows_of(rows, names)
    if len(given) >= OWN_ROWS and weights is None:
        limit = most if most is not None else DRAWN_ROWS if len(given) > DRAWN_ROWS else None
        own = _thin(given, np.full(len(given), 1 / len(given)), False, limit, by or BACKGROUND_BY, seed)
        said = own.notes or (f"The {len(given)} rows are compared with one another.",)
        return replace(own, notes=(f"No background was given. {said[0]}",))
    if weights is not None or most is not None:
        raise InvalidInput(
            f"{'weights' if weights is not None else 'most_background'} is about background rows, and there are none; write "
            "background=training_rows",
            argument="weights" if weights is not None else "most_background",
            code="conflict",
        )
    if are_trees():
        return Compared(notes=("No background was given: the trees' own cover ratios stand in for it.",))
    raise InvalidInput(
        f"background is missing, and {len(given)} of at least {OWN_ROWS} rows are too few to be compared with one another; "
        "write background=training_rows",
        argument="background",
        code="missing",
    )


def _check_weights(weights: object, rows: int) -> FloatArray:
    if weights is None:
        return np.full(rows, 1 / rows)
    counted = real_numbers(weights, "weights")
    fits = counted.shape == (rows,) and np.isfinite(counted).all() and (counted >= 0).all() and counted.sum() > 0
    if not fits:
        raise InvalidInput(
            f"weights must be {rows} non-negative numbers, one per background row, not all zero",
            argument="weights",
            code="shape",
        )
    return np.asarray(counted / counted.sum())


def _thin(given: Rows, weights: FloatArray, weighted: bool, most: int | None, by: BackgroundBy, seed: int) -> Compared:
    counted = "as given" if weighted else "equal"
    facts = {
        "background rows": len(given),
        "background given": len(given),
        "background by": "all",
        "background weights": counted,
    }
    if most is None or len(given) <= most:
        return Compared(given, weights, facts=facts)
    if by == "draw":
        few = np.sort(np.random.default_rng(seed).choice(len(given), int(most), replace=False))
        kept = weights[few]
        if not kept.any():
            raise InvalidInput(
                f"all {most} rows drawn have weight 0; raise most_background, or give another seed",
                argument="most_background",
                code="undefined",
            )
    else:
        few, kept = medoids(given, weights, int(most), seed)
        counted = "rows that each medoid stands for"
    named = replace(given, table=_part(given, few), names=tuple(given.names[i] for i in few.tolist()))
    facts |= {"background rows": len(few), "background by": by, "background weights": counted, "background seed": seed}
    note = f"Rows are compared with {len(few):,} of {len(given):,} rows, {BY[by]} (seed {seed})."
    return Compared(named, kept / kept.sum(), (note,), facts)


def _part(given: Rows, few: IntArray) -> Table:
    return given.frame.iloc[few].reset_index(drop=True) if given.framed else given.table[few]


# Medoids: real rows, so that whole numbers stay whole and categories are categories


def medoids(given: Rows, weights: FloatArray, most: int, seed: int) -> tuple[IntArray, FloatArray]:
    """One real row for each of at most `most` clusters, and the weight of its cluster.

    Clusters are those of k-means on standardised numbers and on one indicator per word (or missing value).
    """
    points = _points(given)
    centres = _seeds(points, most, np.random.default_rng(seed))
    cluster = _nearest(points, centres)
    for _ in range(CLUSTER_ROUNDS):
        _, cluster = np.unique(cluster, return_inverse=True)
        count = np.bincount(cluster)
        centres = np.stack([np.bincount(cluster, column) / count for column in points.T], axis=1)
        before, cluster = cluster, _nearest(points, centres)
        if np.array_equal(before, cluster):
            break
    gap = ((points - centres[cluster]) ** 2).sum(axis=1)
    order = np.lexsort((gap, cluster))
    _, first = np.unique(cluster[order], return_index=True)
    kept = np.bincount(cluster, weights)[np.unique(cluster)]
    chosen, places = np.unique(order[first].astype(np.int64), return_index=True)
    return chosen, np.asarray(kept[places], dtype=np.float64)


def _points(given: Rows) -> FloatArray:
    """Rows as points: numbers in standard deviations, words and gaps as indicators: (rows, coordinates)."""
    columns = []
    for values in numbers_or_words(given):
        if values.dtype.kind == "f":
            numbers = values.astype(np.float64, copy=False)
            known = np.isfinite(numbers)
            spread = float(spreads(numbers[known][:, None])[0]) if known.any() else 0.0
            if spread > 0:
                columns.append(np.where(known, (numbers - numbers[known].mean()) / spread, 0.0))
            if not known.all():
                columns.append((~known).astype(np.float64))
        else:
            words, number, count = np.unique(values, return_inverse=True, return_counts=True)
            common = np.argsort(-count, kind="stable")[:WORDS_PER_COLUMN]
            columns += [(number == w) / np.sqrt(2) for w in common] if len(words) > 1 else []
    return np.stack(columns, axis=1) if columns else np.zeros((len(given), 1))


def _seeds(points: FloatArray, most: int, rng: np.random.Generator) -> FloatArray:
    """First centres far from one another (k-means++); fewer where there are fewer different points."""
    chosen = [int(rng.integers(len(points)))]
    gap = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < most and gap.any():
        chosen.append(int(rng.choice(len(points), p=gap / gap.sum())))
        gap = np.minimum(gap, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
    return points[chosen]


def _nearest(points: FloatArray, centres: FloatArray) -> IntArray:
    step = max(1, (1 << 22) // len(centres))
    length = (centres**2).sum(axis=1)
    parts = [length - 2 * points[a : a + step] @ centres.T for a in range(0, len(points), step)]
    return np.concatenate([part.argmin(axis=1) for part in parts])
