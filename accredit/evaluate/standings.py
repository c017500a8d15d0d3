r"""The table of the arena: who is faithful, how sure that is, what it costs and what it claims.

Methods are ranked by their *share of the way from random to oracle*. With s a metric turned so that higher is better,

$$\text{share} = \mathrm{mean}_{\text{metrics}}\,\frac{\bar s(\text{method}) - \bar s(\text{random})}
{\bar s(\text{oracle}) - \bar s(\text{random})}$$

0 is chance, 1 is what a cheat with access to the game reaches. Means are over inputs; intervals resample inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from accredit.core import FloatArray, IntArray, InvalidInput
from accredit.evaluate.agreement import spearman
from accredit.evaluate.arena import METRICS, ORACLE, RANDOM, RowResult
from accredit.evaluate.bootstrap import Interval, bootstrap, holm, paired_test, resamples

UNITS_ONLY = frozenset({"infidelity"})  # shown, not ranked by: it does not apply to scores
RESAMPLES = 2000


@dataclass(frozen=True)
class Standing:
    """One line of the table."""

    method: str
    share: Interval | None  # None: a ranking metric does not apply to this method
    metrics: dict[str, Interval]
    missing: dict[str, str]  # metric -> why it was not measured
    passes: float  # model passes an explanation, mean
    seconds: float  # wall time an explanation, mean
    claims: dict[str, str]  # axiom -> how it holds, weakest over inputs
    rows: int
    failures: dict[int, str]  # row -> what went wrong
    p_best: float | None = None  # that it is as good as the best method, Holm-corrected; None for the best itself
    p_random: float | None = None  # that it is no better than random, Holm-corrected


@dataclass(frozen=True)
class Standings:
    """The whole table, best first, random and oracle included."""

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
            f"method {method!r} is not in the table; there are {', '.join(s.method for s in self.standings)}"
        )

    def to_plain(self) -> dict[str, Any]:
        """Everything but wall time, as JSON types: the same rows give the same object to the last digit."""
        lines = []
        for s in self.standings:
            lines.append({
                "method": s.method, "share": _plain(s.share), "metrics": {k: _plain(v) for k, v in s.metrics.items()},
                "missing": s.missing, "passes": s.passes, "claims": s.claims, "rows": s.rows,
                "failures": {str(k): v for k, v in s.failures.items()}, "p_best": s.p_best, "p_random": s.p_random,
            })  # fmt: skip
        return {
            "standings": lines, "ranked_by": list(self.ranked_by), "rows": self.rows, "level": self.level,
            "agreement": {"methods": list(self.agreement_of), "spearman": self.agreement.tolist()},
            "refused": {str(k): v for k, v in self.refused.items()}, "curves": self.curves,
        }  # fmt: skip


def _plain(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.estimate, interval.low, interval.high]


def standings(rows: Sequence[RowResult], *, level: float = 0.95, seed: int = 0) -> Standings:
    """The table from finished rows; deterministic in them."""
    rows = sorted(rows, key=lambda r: r.row)
    refused = {r.row: r.error for r in rows if r.error}
    good = [r for r in rows if not r.error]
    if not good:
        why = next(iter(refused.values()), "there were no rows")
        raise InvalidInput(f"no row could be explained: {why}")
    scores = _Scores(good)
    lines = _tested([_standing(good, name, scores, level, seed) for name in scores.names], scores)
    lines.sort(key=lambda s: (s.method != ORACLE, s.share is None, -s.share.estimate if s.share else 0.0))
    square, compared = _agreement(good, [n for n in scores.names if n not in (RANDOM, ORACLE)])
    curves = {name: _mean_curves(good, name) for name in scores.names}
    return Standings(tuple(lines), scores.ranked, square, compared, len(good), refused, curves, level)


class _Scores:
    """Every score of every row, turned so that higher is better; NaN where there is none."""

    def __init__(self, rows: Sequence[RowResult]) -> None:
        self.names = tuple(dict.fromkeys(name for row in rows for name in row.entries))
        self.metrics = tuple(rows[0].entries[RANDOM].scores)
        self.rows = len(rows)
        self._of = {(n, m): np.array([_oriented(row, n, m) for row in rows]) for n in self.names for m in self.metrics}
        self.ranked = tuple(m for m in self.metrics if m not in UNITS_ONLY and self._is_scale(m))

    def _is_scale(self, metric: str) -> bool:
        """Whether the oracle is above random on a metric, so that there is something to measure with."""
        top, chance = (self._of[name, metric] for name in (ORACLE, RANDOM))
        both = np.isfinite(top) & np.isfinite(chance)
        return bool(both.any() and top[both].mean() - chance[both].mean() > 1e-12)

    def applies(self, name: str) -> bool:
        """Whether a method has some score on every metric that is ranked by."""
        return bool(self.ranked) and all(np.isfinite(self._of[name, m]).any() for m in self.ranked)

    def share(self, name: str, index: IntArray) -> FloatArray:
        """The share on samples of rows, (samples, rows) -> (samples,); random and oracle count where the method has a score."""
        total = np.zeros(len(index))
        for metric in self.ranked:
            known = np.isfinite(self._of[name, metric])
            mine, chance, top = (
                _means(np.where(known, self._of[n, metric], np.nan)[index]) for n in (name, RANDOM, ORACLE)
            )
            total += (mine - chance) / (top - chance) / len(self.ranked)
        return total

    def by_row(self, name: str) -> FloatArray:
        """What each row adds to the share, on the scale of all rows; NaN where some score is missing: (rows,)."""
        added = np.zeros(self.rows)
        for metric in self.ranked:
            chance, top = (np.nanmean(self._of[n, metric]) for n in (RANDOM, ORACLE))
            added += (self._of[name, metric] - chance) / (top - chance) / len(self.ranked)
        return added


def _oriented(row: RowResult, name: str, metric: str) -> float:
    value = row.entries[name].scores.get(metric) if name in row.entries else None
    if value is None:
        return np.nan
    return value if METRICS[metric].better == "higher" else -value


def _means(values: FloatArray) -> FloatArray:
    """Means along the last axis of what is known; 0/0 where nothing is."""
    known = np.isfinite(values)
    return np.asarray(np.where(known, values, 0.0).sum(axis=-1) / known.sum(axis=-1))


def _standing(rows: Sequence[RowResult], name: str, scores: _Scores, level: float, seed: int) -> Standing:
    entries = [(r.row, r.entries[name]) for r in rows if name in r.entries]
    worked = [entry for _, entry in entries if not entry.error]
    measured, missing = {}, {}
    for metric in scores.metrics:
        values = np.array([e.scores[metric] for e in worked if e.scores.get(metric) is not None], dtype=np.float64)
        if len(values):
            measured[metric] = bootstrap(values, level=level, count=RESAMPLES, seed=seed)
        elif worked:
            missing[metric] = next((e.because[metric] for e in worked if metric in e.because), "it has none here")
    return Standing(
        name,
        _share_interval(scores, name, level, seed) if scores.applies(name) else None,
        measured,
        missing,
        passes=float(np.mean([e.passes for e in worked])) if worked else 0.0,
        seconds=float(np.mean([e.seconds for e in worked])) if worked else 0.0,
        claims=_weakest([{claim[0]: claim[1] for claim in e.claims} for e in worked]),
        rows=len(worked),
        failures={row: entry.error for row, entry in entries if entry.error},
    )


def _share_interval(scores: _Scores, name: str, level: float, seed: int) -> Interval:
    """Percentile interval of the share; numerators and denominators are resampled together, rows as units."""
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = scores.share(name, resamples(scores.rows, RESAMPLES, seed))
    low, high = np.quantile(drawn[np.isfinite(drawn)], [(1 - level) / 2, (1 + level) / 2])
    estimate = scores.share(name, np.arange(scores.rows)[None])
    return Interval(float(estimate[0]), float(low), float(high))


def _tested(lines: list[Standing], scores: _Scores) -> list[Standing]:
    """p-values against the best method and against random, each family corrected by Holm."""
    contestants = [s for s in lines if s.share is not None and s.method not in (RANDOM, ORACLE)]
    if not contestants:
        return lines
    best = max(contestants, key=lambda s: s.share.estimate if s.share else -np.inf).method

    def against(rival: str) -> dict[str, float]:
        others = [s.method for s in contestants if s.method != rival]
        found = [_paired(scores.by_row(name), scores.by_row(rival)) for name in others]
        return dict(zip(others, holm(np.array(found)).tolist(), strict=True))

    to_best, to_chance = against(best), against(RANDOM)
    return [replace(s, p_best=to_best.get(s.method), p_random=to_chance.get(s.method)) for s in lines]


def _paired(first: FloatArray, second: FloatArray) -> float:
    both = np.isfinite(first) & np.isfinite(second)
    return paired_test(first[both], second[both]) if both.any() else 1.0


ORDER = ("exactly", "in expectation", "in the limit", "unknown", "no")


def _weakest(claims: Sequence[dict[str, str]]) -> dict[str, str]:
    axioms = dict.fromkeys(axiom for row in claims for axiom in row)
    return {axiom: max((row.get(axiom, "unknown") for row in claims), key=ORDER.index) for axiom in axioms}


def _agreement(rows: Sequence[RowResult], names: Sequence[str]) -> tuple[FloatArray, tuple[str, ...]]:
    credited = [n for n in names if any(len(r.entries[n].credit) for r in rows if n in r.entries)]
    square = np.eye(len(credited))
    for a in range(len(credited)):
        for b in range(a):
            pairs = [
                (r.entries[credited[a]].credit, r.entries[credited[b]].credit)
                for r in rows
                if credited[a] in r.entries and credited[b] in r.entries
            ]
            found = [spearman(np.array(x), np.array(y)) for x, y in pairs if len(x) and len(y)]
            square[a, b] = square[b, a] = float(np.mean(found)) if found else 0.0
    return square, tuple(credited)


def _mean_curves(rows: Sequence[RowResult], name: str) -> dict[str, list[float]]:
    kept: dict[str, list[Sequence[float]]] = {}
    for row in rows:
        for curve, values in (row.entries[name].curves if name in row.entries else {}).items():
            kept.setdefault(curve, []).append(values)
    return {curve: np.mean(values, axis=0).tolist() for curve, values in kept.items()}
