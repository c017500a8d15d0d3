r"""The table of the arena: who is faithful, how sure that is, what it costs and what it claims.

Methods are ranked by their *share of the way from random to oracle*. With s a metric turned so that higher is better,

$$\text{share} = \mathrm{mean}_{\text{metrics}}\,\frac{\bar s(\text{method}) - \bar s(\text{random})}
{\bar s(\text{oracle}) - \bar s(\text{random})}$$

0 is chance, 1 is what a cheat with access to the game reaches. Means are over inputs; intervals resample inputs.

Which method is best is read off the same inputs, so a test of the others against it is one of all pairs of methods: corrected
for the others alone, it would find differences among seventeen equal methods in every fourth table instead of every twentieth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from accredit import defaults
from accredit.arena.contest import METRICS, ORACLE, RANDOM, RowResult
from accredit.core import BoolArray, Estimate, FloatArray, IntArray, Precision
from accredit.core.rounding import SINGLE, blur
from accredit.core.statistics import ALIKE, alike, holm, tied
from accredit.errors import InvalidInput
from accredit.evaluate.agreement import spearman_square
from accredit.evaluate.bootstrap import bootstrap, resamples, sign_flips, tails

UNITS_ONLY = frozenset({"infidelity"})  # shown, not ranked by: it does not apply to scores
STANDING_RESAMPLES = 2000
FLIPS = 100_000  # random signs per test; before correction the smallest p-value is one over this


@dataclass(frozen=True)
class Standing:
    """One line of the table.

    >>> from accredit.arena import RowContest, hold
    >>> contest = RowContest(methods=("shapley", "leave-one-out"), metrics=("deletion",), background=4)
    >>> line = hold(contest, contest.examples(3))["leave-one-out"]
    >>> line.rows, line.passes, line.claims["null player"]
    (3, 12.0, 'exactly')
    """

    method: str
    share: Estimate | None  # None: a ranking metric does not apply to this method, or its inputs give no scale
    metrics: dict[str, Estimate]
    missing: dict[str, str]  # metric -> why it was not measured, on any input or on some
    measured_on: dict[str, int]  # metric -> inputs on which it was measured
    passes: float  # mean model passes per explanation
    seconds: float  # median wall time per explanation: the first one also loads what it needs
    claims: dict[str, str]  # axiom -> how it holds, weakest over inputs
    rows: int
    failures: dict[int, str]  # row -> what went wrong
    p_best: float | None = None  # that it is as good as the best method, Holm over all pairs; None for the best itself
    p_random: float | None = None  # that it is as good as random, Holm over all methods


@dataclass(frozen=True)
class Standings:
    """The whole table, best first, random and oracle included.

    >>> from accredit.arena import RowContest, hold
    >>> contest = RowContest(methods=("shapley", "leave-one-out"), metrics=("deletion",), background=4)
    >>> table = hold(contest, contest.examples(3))
    >>> table.ranked_by, sorted(line.method for line in table.standings)
    (('deletion',), ['leave-one-out', 'oracle', 'random', 'shapley'])
    """

    standings: tuple[Standing, ...]
    ranked_by: tuple[str, ...]
    agreement: FloatArray  # (methods, methods) mean Spearman of credits over inputs
    agreement_of: tuple[str, ...]
    rows: int
    refused: dict[int, str]  # row -> why nothing could be explained
    curves: dict[str, dict[str, list[float]]]  # method -> curve -> mean payoff on the grid
    level: float

    def __getitem__(self, method: str) -> Standing:
        for standing in self.standings:
            if standing.method == method:
                return standing
        raise InvalidInput(
            f"method {method!r} is not in the table; there are {', '.join(s.method for s in self.standings)}", code="unknown"
        )

    def to_plain(self) -> dict[str, object]:
        """Everything but wall time, as JSON types: the same rows give the same object to the last digit."""
        lines = []
        for s in self.standings:
            lines.append(
                {
                    "method": s.method,
                    "share": _plain(s.share),
                    "metrics": {k: _plain(v) for k, v in s.metrics.items()},
                    "missing": s.missing,
                    "measured_on": s.measured_on,
                    "passes": s.passes,
                    "claims": s.claims,
                    "rows": s.rows,
                    "failures": {str(k): v for k, v in s.failures.items()},
                    "p_best": s.p_best,
                    "p_random": s.p_random,
                }
            )
        return {
            "standings": lines,
            "ranked_by": list(self.ranked_by),
            "rows": self.rows,
            "level": self.level,
            "agreement": {"methods": list(self.agreement_of), "spearman": self.agreement.tolist()},
            "refused": {str(k): v for k, v in self.refused.items()},
            "curves": self.curves,
        }


def _plain(interval: Estimate | None) -> list[float | None] | None:
    return None if interval is None else [interval.value, interval.low, interval.high]


def standings(rows: Sequence[RowResult], *, level: float = defaults.LEVEL, seed: int = 0) -> Standings:
    """The table from finished rows; deterministic in them.

    >>> from accredit.arena import RowContest, run_row
    >>> contest = RowContest(methods=("leave-one-out",), metrics=("deletion",), background=4)
    >>> standings([run_row(contest, example) for example in contest.examples(2)]).standings[0].method
    'oracle'
    """
    rows = sorted(rows, key=lambda r: r.row)
    refused = {r.row: r.error for r in rows if r.error}
    good = [r for r in rows if not r.error]
    if not good:
        why = next(iter(refused.values()), "there were no rows")
        raise InvalidInput(f"no row could be explained: {why}", code="failed")
    scores = _Scores(good)
    lines = _test([_standing(good, name, scores, level, seed) for name in scores.names], scores)
    lines.sort(key=lambda s: (s.method != ORACLE, s.share is None, -s.share.value if s.share else 0.0))
    square, compared = _agreement(good, [n for n in scores.names if n not in (RANDOM, ORACLE)])
    curves = {name: _mean_curves(good, name) for name in scores.names}
    return Standings(tuple(lines), scores.ranked, square, compared, len(good), refused, curves, level)


class _Scores:
    """Every score of every row, turned so that higher is better; NaN where there is none."""

    def __init__(self, rows: Sequence[RowResult]) -> None:
        self.names = tuple(dict.fromkeys(name for row in rows for name in row.entries))
        self.metrics = tuple(rows[0].entries[RANDOM].scores)
        self.rows = len(rows)
        self._of = {(n, m): np.array([_orient(row, n, m) for row in rows]) for n in self.names for m in self.metrics}
        self.ranked = tuple(m for m in self.metrics if m not in UNITS_ONLY and self._is_scale(m))

    def _is_scale(self, metric: str) -> bool:
        """Whether the oracle is above random on a metric, so that there is something to measure with."""
        top, chance = (self._of[name, metric] for name in (ORACLE, RANDOM))
        both = np.isfinite(top) & np.isfinite(chance)
        return bool(both.any() and _is_above(top[both].mean(), chance[both].mean()))

    def applies(self, name: str) -> bool:
        """Whether a method has some score on every metric that is ranked by."""
        return bool(self.ranked) and all(np.isfinite(self._of[name, m]).any() for m in self.ranked)

    def share(self, name: str, index: IntArray) -> FloatArray:
        """The share on samples of rows, (samples, rows) -> (samples,); random and oracle count where the method has a score.

        A metric on which the oracle is not above random in a sample has no scale there and is left out of it; NaN where none
        is left.
        """
        total, metrics = np.zeros((2, len(index)))
        for metric in self.ranked:
            known = np.isfinite(self._of[name, metric])
            mine, chance, top = (_means(np.where(known, self._of[n, metric], np.nan)[index]) for n in (name, RANDOM, ORACLE))
            scaled = _is_above(top, chance)
            total += np.where(scaled, mine - chance, 0.0) / np.where(scaled, top - chance, 1.0)
            metrics += scaled
        return np.asarray(np.divide(total, metrics, out=np.full(len(index), np.nan), where=metrics > 0))

    def by_row(self, name: str) -> FloatArray:
        """What each row adds to the share, on the scale of all rows; NaN where some score is missing: (rows,)."""
        added = np.zeros(self.rows)
        for metric in self.ranked:
            chance, top = (np.nanmean(self._of[n, metric]) for n in (RANDOM, ORACLE))
            added += (self._of[name, metric] - chance) / (top - chance) / len(self.ranked)
        return added


def _orient(row: RowResult, name: str, metric: str) -> float:
    value = row.entries[name].scores.get(metric) if name in row.entries else None
    if value is None:
        return np.nan
    return value if METRICS[metric].better == "higher" else -value


def _means(values: FloatArray) -> FloatArray:
    """Means along the last axis of what is known; NaN where nothing is."""
    known = np.isfinite(values)
    count = known.sum(axis=-1)
    total = np.where(known, values, 0.0).sum(axis=-1)
    return np.asarray(np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0))


def _standing(rows: Sequence[RowResult], name: str, scores: _Scores, level: float, seed: int) -> Standing:
    entries = [(r.row, r.entries[name]) for r in rows if name in r.entries]
    worked = [entry for _, entry in entries if not entry.error]
    measured, missing, measured_on = {}, {}, {}
    for metric in scores.metrics:
        values = np.array([e.scores[metric] for e in worked if e.scores.get(metric) is not None], dtype=np.float64)
        if len(values):
            measured[metric] = bootstrap(
                values, level=level, count=STANDING_RESAMPLES, seed=seed, within=METRICS[metric].within
            )
            measured_on[metric] = len(values)
        reasons = [e.because[metric] for e in worked if metric in e.because]
        if reasons:
            missing[metric] = reasons[0]
    return Standing(
        name,
        _share_interval(scores, name, level, seed) if scores.applies(name) else None,
        measured,
        missing,
        measured_on,
        passes=float(np.mean([e.passes for e in worked])) if worked else 0.0,
        seconds=float(np.median([e.seconds for e in worked])) if worked else 0.0,
        claims=_weakest([{claim[0]: claim[1] for claim in e.claims} for e in worked]),
        rows=len(worked),
        failures={row: entry.error for row, entry in entries if entry.error},
    )


def _share_interval(scores: _Scores, name: str, level: float, seed: int) -> Estimate | None:
    """Percentile interval of the share; numerators and denominators are resampled together, rows as units.

    None where a method has scores only on inputs where no metric separates the oracle from random.
    """
    estimate = float(scores.share(name, np.arange(scores.rows)[None])[0])
    if not np.isfinite(estimate):
        return None
    drawn = scores.share(name, resamples(scores.rows, STANDING_RESAMPLES, seed))
    drawn = drawn[np.isfinite(drawn)]
    if alike(drawn, size=1.0):
        if name in (ORACLE, RANDOM):
            return Estimate.exact(estimate, "an end of the scale, by definition")
        return Estimate.unknown(estimate, f"{scores.rows} inputs show no spread")
    low, high = np.quantile(drawn, tails(level, scores.rows))
    return Estimate(estimate, float(low), float(high), Precision.interval("percentile bootstrap over inputs"), level)


def _test(lines: list[Standing], scores: _Scores) -> list[Standing]:
    """p-values against the best method, corrected for all pairs of methods, and against random, for all methods."""
    share_of = {s.method: s.share.value for s in lines if s.share is not None and s.method not in (RANDOM, ORACLE)}
    if not share_of:
        return lines
    best = max(share_of, key=lambda name: share_of[name])
    pairs = _pair(scores, list(combinations(share_of, 2)))
    to_best = {a if b == best else b: p for (a, b), p in pairs.items() if best in (a, b)}
    to_chance = {name: p for (name, _), p in _pair(scores, [(name, RANDOM) for name in share_of]).items()}
    return [replace(s, p_best=to_best.get(s.method), p_random=to_chance.get(s.method)) for s in lines]


def _pair(scores: _Scores, pairs: list[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """p-values that the two of a pair are equally good, from the inputs on which both have every score; Holm over `pairs`."""
    if not pairs:
        return {}
    by_row = {name: scores.by_row(name) for pair in pairs for name in pair}
    gaps = np.nan_to_num(np.stack([by_row[a] - by_row[b] for a, b in pairs], axis=1))  # 0: one of the two is missing
    return dict(zip(pairs, holm(sign_flips(gaps, count=FLIPS)).tolist(), strict=True))


ORDER = ("exactly", "in expectation", "in the limit", "unknown", "no")


def _weakest(claims: Sequence[dict[str, str]]) -> dict[str, str]:
    axioms = dict.fromkeys(axiom for row in claims for axiom in row)
    return {axiom: max((row.get(axiom, "unknown") for row in claims), key=ORDER.index) for axiom in axioms}


def _agreement(rows: Sequence[RowResult], names: Sequence[str]) -> tuple[FloatArray, tuple[str, ...]]:
    """Mean Spearman correlation of every two methods over the inputs that both credit; one player alone has no order."""
    credited = tuple(n for n in names if any(len(r.entries[n].credit) for r in rows if n in r.entries))
    sums, counts = np.zeros((2, len(credited), len(credited)))
    for row in rows:
        there = [k for k, n in enumerate(credited) if n in row.entries and len(row.entries[n].credit) > 1]
        if there:
            both = np.ix_(there, there)
            sums[both] += spearman_square(np.array([_places(row.entries[credited[k]].credit) for k in there]))
            counts[both] += 1
    square = sums / np.maximum(counts, 1)
    np.fill_diagonal(square, 1.0)
    return square, credited


def _is_above(top: FloatArray, chance: FloatArray) -> BoolArray:
    """Whether the oracle is above random by more than rounding, so that there is a scale to measure with."""
    return np.asarray(top - chance > ALIKE * np.maximum(np.abs(top), np.abs(chance)))


def _places(credit: Sequence[float]) -> FloatArray:
    """The places of players by credit; the result that knew its rounding is gone, so as if it came from single precision."""
    numbers = np.asarray(credit)
    return tied(numbers, blur(float(np.abs(numbers).max()), SINGLE))


def _mean_curves(rows: Sequence[RowResult], name: str) -> dict[str, list[float]]:
    kept: dict[str, list[Sequence[float]]] = {}
    for row in rows:
        for curve, values in (row.entries[name].curves if name in row.entries else {}).items():
            kept.setdefault(curve, []).append(values)
    return {curve: np.mean(values, axis=0).tolist() for curve, values in kept.items()}
