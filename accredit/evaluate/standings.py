r"""The table of the arena: who is faithful, how sure that is, what it costs and what it claims.

Methods are ranked by their *share of the way from random to oracle*. With s a metric turned so that higher is better,

$$\text{share} = \mathrm{mean}_{\text{metrics}}\,\frac{\bar s(\text{method}) - \bar s(\text{random})}
{\bar s(\text{oracle}) - \bar s(\text{random})}$$

0 is chance, 1 is what a cheat with access to the game reaches. Means are over inputs; intervals resample inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from accredit.core import FloatArray, InvalidInput
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
    names = list(dict.fromkeys(name for r in good for name in r.entries))
    metrics = list(good[0].entries[RANDOM].scores)
    table = _table(good, names, metrics)  # (methods, metrics, rows), NaN where not measured, higher is better
    ranked = tuple(m for m in metrics if m not in UNITS_ONLY and _spread(table, names, metrics, m))
    shares = _row_shares(table, names, metrics, ranked)  # (methods, rows)
    lines = [
        _standing(good, name, metrics, shares[names.index(name)], table, names, ranked, level, seed) for name in names
    ]
    lines = _tested(lines, shares, names)
    lines.sort(key=lambda s: (s.method != ORACLE, s.share is None, -s.share.estimate if s.share else 0.0))
    square, compared = _agreement(good, [n for n in names if n not in (RANDOM, ORACLE)])
    curves = {name: _mean_curves(good, name) for name in names}
    return Standings(tuple(lines), ranked, square, compared, len(good), refused, curves, level)


def _table(rows: Sequence[RowResult], names: Sequence[str], metrics: Sequence[str]) -> FloatArray:
    table = np.full((len(names), len(metrics), len(rows)), np.nan)
    for k, row in enumerate(rows):
        for i, name in enumerate(names):
            for j, metric in enumerate(metrics):
                value = row.entries[name].scores.get(metric) if name in row.entries else None
                if value is not None:
                    table[i, j, k] = value if METRICS[metric].better == "higher" else -value
    return table


def _spread(table: FloatArray, names: Sequence[str], metrics: Sequence[str], metric: str) -> bool:
    """Whether oracle and random differ enough on a metric to make a scale of it."""
    top, chance = (np.nanmean(_or_nan(table[names.index(n), metrics.index(metric)])) for n in (ORACLE, RANDOM))
    return bool(top - chance > 1e-12)


def _or_nan(values: FloatArray) -> FloatArray:
    return values if np.isfinite(values).any() else np.array([np.nan, 0.0])


def _row_shares(table: FloatArray, names: Sequence[str], metrics: Sequence[str], ranked: Sequence[str]) -> FloatArray:
    """Each row's contribution to the share: its mean over rows is the share (denominators are the means over all rows)."""
    shares = np.zeros((len(names), table.shape[2]))
    for metric in ranked:
        j = metrics.index(metric)
        chance = np.nanmean(table[names.index(RANDOM), j])
        top = np.nanmean(table[names.index(ORACLE), j])
        shares += (table[:, j] - chance) / (top - chance) / len(ranked)
    return shares


def _standing(
    rows: Sequence[RowResult], name: str, metrics: Sequence[str], shares: FloatArray, table: FloatArray,
    names: Sequence[str], ranked: Sequence[str], level: float, seed: int,
) -> Standing:  # fmt: skip
    entries = [(r.row, r.entries[name]) for r in rows if name in r.entries]
    worked = [entry for _, entry in entries if not entry.error]
    measured, missing = {}, {}
    for metric in metrics:
        values = np.array([e.scores[metric] for e in worked if e.scores.get(metric) is not None], dtype=np.float64)
        if len(values):
            measured[metric] = bootstrap(values, level=level, count=RESAMPLES, seed=seed)
        elif worked:
            missing[metric] = next((e.because[metric] for e in worked if metric in e.because), "it has none here")
    whole = np.isfinite(shares)
    applies = bool(ranked) and whole.any() and all(metric in measured for metric in ranked)
    share = _share_interval(table, names.index(name), names, metrics, ranked, level, seed) if applies else None
    return Standing(
        name, share, measured, missing,
        passes=float(np.mean([e.passes for e in worked])) if worked else 0.0,
        seconds=float(np.mean([e.seconds for e in worked])) if worked else 0.0,
        claims=_weakest([dict(e.claims) for e in worked]),  # type: ignore[arg-type]
        rows=len(worked),
        failures={row: entry.error for row, entry in entries if entry.error},
    )  # fmt: skip


def _share_interval(
    table: FloatArray,
    i: int,
    names: Sequence[str],
    metrics: Sequence[str],
    ranked: Sequence[str],
    level: float,
    seed: int,
) -> Interval:
    """Percentile interval of the share; numerators and denominators are resampled together, rows as units."""
    columns = [metrics.index(metric) for metric in ranked]
    drawn = resamples(table.shape[2], RESAMPLES, seed)
    everyone = np.arange(table.shape[2])[None]

    def share(index: Any) -> FloatArray:
        total = np.zeros(len(index))
        for j in columns:
            mine, chance, top = (_nanmean(table[k, j][index]) for k in (i, names.index(RANDOM), names.index(ORACLE)))
            total += (mine - chance) / (top - chance) / len(columns)
        return total

    with np.errstate(invalid="ignore", divide="ignore"):
        spread = share(drawn)
    spread = spread[np.isfinite(spread)]
    low, high = np.quantile(spread, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(share(everyone)[0]), float(low), float(high))


def _nanmean(values: FloatArray) -> FloatArray:
    known = np.isfinite(values)
    return np.asarray(np.where(known, values, 0.0).sum(axis=-1) / np.maximum(known.sum(axis=-1), 1))


def _tested(lines: list[Standing], shares: FloatArray, names: Sequence[str]) -> list[Standing]:
    """p-values against the best method and against random, each family corrected by Holm."""
    from dataclasses import replace

    contestants = [s for s in lines if s.share is not None and s.method not in (RANDOM, ORACLE)]
    if not contestants:
        return lines
    best = max(contestants, key=lambda s: s.share.estimate if s.share else -np.inf).method

    def against(rival: str) -> dict[str, float]:
        others = [s.method for s in contestants if s.method != rival]
        found = []
        for name in others:
            a, b = shares[names.index(name)], shares[names.index(rival)]
            both = np.isfinite(a) & np.isfinite(b)
            found.append(paired_test(a[both], b[both]) if both.any() else 1.0)
        return dict(zip(others, holm(np.array(found)).tolist(), strict=True)) if others else {}

    to_best, to_chance = against(best), against(RANDOM)
    return [replace(s, p_best=to_best.get(s.method), p_random=to_chance.get(s.method)) for s in lines]


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
