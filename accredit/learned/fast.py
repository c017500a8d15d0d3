"""Fast Shapley values: a network learns them for one model, and every value carries an interval that holds over rows.

`fit_fast` asks a few coalitions of each of many inputs, trains one network on them (FastSHAP's loss, `valuers.py`), and
calibrates intervals on inputs whose values are computed in the usual way (`conformal.py`). Afterwards an input costs one pass
of the network and the payoffs of everybody and of nobody. Inputs of which the explainer is unsure, because they lie far from
those it learned from or because their intervals are wide, are computed in the usual way instead, as many as a stated limit
allows.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, final

import numpy as np
import torch
from scipy.special import ndtri
from torch import Tensor, nn

from accredit import defaults
from accredit.checks import real_number
from accredit.core import BoolArray, Claim, FloatArray, Holds, IntArray
from accredit.core.estimate import check_level
from accredit.core.rounding import blur, blur_of
from accredit.errors import InvalidInput
from accredit.learned.columns import Columns
from accredit.learned.conformal import REPORTED_LEVEL, ConformalWidths, Per, Reference, calibrate, rows_needed
from accredit.learned.folders import DAMAGE, read, tensors, write
from accredit.learned.input_sets import Family
from accredit.learned.inputs import SEEDS_BELOW, whole
from accredit.learned.valuers import (
    CoalitionTargets,
    ColumnValuer,
    NetworkInputs,
    PatchValuer,
    TokenValuer,
    draw_coalitions,
    efficient,
    fit,
    raw_credit,
)
from accredit.values.solver import Progress
from accredit.values.solver import progress as progress_bar

KIND = "fast shapley"
SAME_ANSWERS = 1e-5  # how far apart, relative to their size, a model's answers may be and still be the same model's
LEAST_TOLERANCE = 1e-6  # below it, nothing is sure
WIDTH_TOLERANCE = 0.5  # of a typical largest credit: rows with wider intervals are unsure
WIDTHS = {2: 128, 3: 128, 4: 256}  # of a network of features, of tokens, of squares of pixels
CLAIMS = (
    Claim("efficiency", Holds.EXACTLY, "what the network misses of v(N) − v(∅) is divided equally"),
    Claim("symmetry", Holds.NO, "a network need not treat equal players alike; the intervals say how far off it may be"),
    Claim("null player", Holds.NO, "a network may give a little to a player who adds nothing"),
    Claim("linearity", Holds.NO, "networks of two models and of their sum are trained apart"),
)


@final
@dataclass(frozen=True, eq=False)
class Values:
    """Credit of some inputs, with intervals, and which of them were computed in the usual way."""

    credit: FloatArray  # (N, n, outputs), NaN for players that an input lacks
    interval: FloatArray  # (N, n, outputs, 2)
    nobody: FloatArray  # (N, outputs)
    everybody: FloatArray  # (N, outputs)
    far: BoolArray  # (N,): far from the inputs it learned from
    wide: BoolArray  # (N,): an interval is wide
    computed: IntArray  # inputs that were computed in the usual way

    @property
    def kept_unsure(self) -> IntArray:
        """Inputs that it is unsure of and that the limit left as they are."""
        return np.setdiff1d(np.flatnonzero(self.far | self.wide), self.computed)


@final
class FastShapley:
    """Shapley values of one model by one pass of a network, with calibrated intervals. Made by `fit_fast`, read by `load`.

    >>> import numpy as np
    >>> from accredit.learned import fit_fast_rows
    >>> x = np.random.default_rng(0).normal(size=(300, 3))
    >>> fast = fit_fast_rows(x, lambda rows: rows @ [2.0, 1.0, 0.0], x[:20], calibration=40, epochs=40)
    >>> fast.kind, fast.outputs, fast.report["trained on"]
    ('rows', ('prediction',), 260)
    """

    def __init__(
        self,
        kind: str,
        outputs: tuple[str, ...],
        sizes: dict[str, int],
        calibration: ConformalWidths,
        near: Nearness,
        typical: FloatArray,
        marks: dict[str, str],
        probe: FloatArray,
        columns: Columns | None,
        targets: list[str | int] | None,
        report: dict[str, object],
        network: nn.Module,
    ) -> None:
        self.kind, self.outputs, self.sizes, self.calibration, self.near = kind, outputs, sizes, calibration, near
        self.typical, self.marks, self.probe, self.columns, self.targets = typical, marks, probe, columns, targets
        self.report = report  # of the fit: R², payoffs, seconds, how training ended
        self.network = network

    def __repr__(self) -> str:
        return f"FastShapley({self.kind}, {len(self.outputs)} outputs, R² {self.report['r2']:.3f})"

    def values(
        self,
        family: Family,
        *,
        tolerance: float = WIDTH_TOLERANCE,
        fallback: int | None = None,
        budget: int | None = None,
        seed: int = 0,
    ) -> Values:
        """Credit of a family's inputs.

        An input is unsure if it lies farther from the training inputs than 99 % of the calibration inputs, or if an
        interval reaches farther than `tolerance` times a typical largest credit. At most `fallback` of the unsure (default:
        a tenth of the inputs, at least one) are computed in the usual way, the farthest and widest first, each with `budget`
        payoffs; the others keep their predictions.
        """
        self.check(family)
        real_number(tolerance, "tolerance", LEAST_TOLERANCE)
        seen = family.network_inputs(self.columns)
        nobody, everybody = family.ends()
        credit = efficient(raw_credit(self.network, seen), seen.present, everybody - nobody)
        half = self.calibration.half_widths(credit)
        distance = self.near.distance(seen) / self.near.limit
        widest = np.nanmax(half / (tolerance * self.typical), axis=(1, 2))
        unsure = np.maximum(distance, widest)
        limit = max(1, len(seen) // 10) if fallback is None else whole("fallback", fallback, 0)
        worst = np.argsort(-unsure, kind="stable")[:limit]
        computed = np.sort(worst[unsure[worst] > 1])
        if len(computed):
            known = family.reference(computed, budget, seed)
            # a value of unknown error does not replace one with an interval
            sure = np.flatnonzero(~np.isinf(known.reach).any(axis=(1, 2)))
            known, computed = known[sure], computed[sure]
            credit[computed], half[computed] = known.values, known.reach * self._widened
        ends = np.stack([credit - half, credit + half], axis=-1)
        return Values(credit, ends, nobody, everybody, distance > 1, widest > 1, computed)

    @property
    def _widened(self) -> float:
        """From the level of estimators to the level of this explainer."""
        return float(ndtri((1 + self.calibration.level) / 2) / ndtri((1 + REPORTED_LEVEL) / 2))

    def check(self, family: Family) -> None:
        """Refuse games that this explainer was not fitted for."""
        found = family.marks()
        for name, fitted_on in self.marks.items():
            if found.get(name) != fitted_on:
                raise InvalidInput(
                    f"this explainer was fitted for {name} {fitted_on!r:.80}, and now {name} is {found.get(name)!r:.80}; give "
                    f"the same {name}, or fit another explainer: accredit learn fit",
                    code="conflict",
                )
        probe = family.probe()
        size = np.abs(self.probe).max(initial=1e-12)
        if probe.shape != self.probe.shape or np.abs(probe - self.probe).max(initial=0.0) > SAME_ANSWERS * size:
            raise InvalidInput(
                "this explainer was fitted for another model: the two answer differently to the same background rows; give the "
                "same model, or fit another explainer: accredit learn fit",
                code="conflict",
            )

    def save(self, folder: str | Path) -> None:
        """Settings, calibration and what it was fitted on as JSON, weights as safetensors, into `folder`."""
        about = {
            "family": self.kind,
            "outputs": list(self.outputs),
            "sizes": self.sizes,
            "marks": self.marks,
            "calibration": self.calibration.to_plain(),
            "limit": self.near.limit,
            "typical": self.typical,
            "columns": None if self.columns is None else self.columns.to_plain(),
            "targets": self.targets,
            "probe": self.probe,
            "report": self.report,
        }
        state = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        write(folder, KIND, about, state | {"near.centre": self.near.centre, "near.root": self.near.root})

    @classmethod
    def load(cls, folder: str | Path) -> FastShapley:
        """Read what `save` wrote; anything else is refused."""
        about, place = read(folder, KIND)
        try:
            features = int(about["sizes"]["summary"])
            columns = None if about["columns"] is None else Columns.from_plain(about["columns"])
            near = Nearness(torch.empty(features, device="meta"), torch.empty(features, features, device="meta"), 1.0)
            with torch.device("meta"):
                found = cls(
                    about["family"],
                    tuple(about["outputs"]),
                    dict(about["sizes"]),
                    ConformalWidths.from_plain(about["calibration"]),
                    near,
                    np.array(about["typical"], dtype=float),
                    dict(about["marks"]),
                    np.array(about["probe"], dtype=float).reshape(-1, len(about["outputs"])),
                    columns,
                    about["targets"],
                    dict(about["report"]),
                    _network(about["sizes"]),
                )
            limit = float(about["limit"])
        except (*DAMAGE, ValueError) as error:
            raise InvalidInput(f"{place.with_suffix('.json')} is damaged: {error!r:.200}", code="unreadable") from None
        expected = {f"network.{name}": value for name, value in found.network.state_dict().items()}
        state = tensors(place, expected | {"near.centre": near.centre, "near.root": near.root})
        found.near = Nearness(state.pop("near.centre"), state.pop("near.root"), limit)
        found.network.load_state_dict({name.partition(".")[2]: value for name, value in state.items()}, assign=True)
        found.network.eval()
        return found


class Fitting(TypedDict, total=False):
    """Settings of `fit_fast` by name."""

    pairs: int
    calibration: int
    level: float
    per: Per | None
    width: int | None
    epochs: int
    patience: int
    batch: int
    rate: float
    progress: bool


class SeededFitting(Fitting, total=False):
    """The same with what a request would say."""

    budget: int | None
    seed: int


def fit_fast(
    family: Family,
    *,
    pairs: int = 16,
    calibration: int = 100,
    level: float = defaults.LEVEL,
    per: Per | None = None,
    budget: int | None = None,
    width: int | None = None,
    epochs: int = 200,
    patience: int = 30,
    batch: int = 64,
    rate: float = 2e-3,
    seed: int = 0,
    progress: bool = False,
) -> FastShapley:
    """Learn the Shapley values of a family of games.

    Each input is asked `pairs` complementary pairs of coalitions. `calibration` inputs, drawn at random and never learned from,
    are valued in the usual way (`budget` payoffs each; exact where they are few) and set the intervals at `level`, `per`
    "player" (the default for rows and pictures), "rank" (the default for texts), "drawn player" or "row".
    """
    began, rng = time.perf_counter(), np.random.default_rng(whole("seed", seed, 0, SEEDS_BELOW))
    whole("pairs", pairs)
    if check_level(level) is None:
        raise InvalidInput("level is missing; write a share between 0 and 1 such as 0.95", argument="level", code="missing")
    whole("calibration", calibration, rows_needed(level))
    if len(family) < calibration + 10:
        raise InvalidInput(
            f"{len(family)} inputs are given, and {calibration} of them calibrate the intervals; give {calibration + 10} or "
            "more, better a thousand, or a smaller calibration",
            argument="calibration",
            code="range",
        )
    order = rng.permutation(len(family))
    known, learn = order[:calibration], order[calibration:]
    columns = family.columns(learn)
    seen = family.network_inputs(columns)
    if seen.players < 2:
        raise InvalidInput("there is one player, which earns everything; there is nothing to learn", code="undefined")
    nobody, everybody = family.ends()
    total = everybody - nobody
    with progress_bar("fit", 2 * len(learn) if progress else 0) as bar:
        asked = _ask(family, learn, seen.present, total, pairs, rng, bar)
        sizes = _sizes(family, seen, width or WIDTHS[seen.x.ndim])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network = _network(sizes)
        ended, losses = fit(
            network,
            seen[learn],
            asked,
            epochs=epochs,
            patience=patience,
            batch=batch,
            rate=rate,
            seed=seed,
            passed=lambda epoch: bar.update(len(learn) * (1 + epoch / epochs)),
        )
    reference = family.reference(known, budget, seed)
    credit = efficient(raw_credit(network, seen), seen.present, total)[known]
    statement: Per = per or ("rank" if family.kind == "texts" else "player")
    intervals = calibrate(credit, reference, level, statement, seed)
    near = Nearness.learn(seen[learn], seen[known])
    typical = np.maximum(np.nanmax(np.abs(reference.values), axis=1).mean(axis=0), 1e-12)
    report = _report(credit, reference) | {
        "trained on": len(learn),
        "pairs of coalitions": pairs,
        "stopped because": str(ended),
        "loss": min(losses, default=None),
        "half-width": float(np.nanmean(intervals.half_widths(credit)) / typical.mean()),
        "seed": seed,
        "seconds": time.perf_counter() - began,
    }
    return FastShapley(
        family.kind,
        family.outputs,
        sizes,
        intervals,
        near,
        typical,
        family.marks(),
        family.probe(),
        columns,
        family.targets,
        report,
        network,
    )


def _ask(
    family: Family, learn: IntArray, present: BoolArray, total: FloatArray, pairs: int, rng: np.random.Generator, bar: Progress
) -> CoalitionTargets:
    coalitions = draw_coalitions(present[learn], pairs, rng)
    wanted, largest = np.empty((len(learn), pairs, total.shape[1])), 0.0
    for place, at in enumerate(learn.tolist()):
        n = int(present[at].sum())
        drawn = coalitions[place, :, :n]
        earned = family.game(at).payoff(np.concatenate([drawn, ~drawn]))
        wanted[place] = (earned[:pairs] - earned[pairs:] + total[at]) / 2
        largest = max(largest, float(np.abs(earned).max()))
        bar.update(place)
    return CoalitionTargets(coalitions, wanted, total[learn], blur_of(family.game(int(learn[0]))) + blur(largest))


def _sizes(family: Family, seen: NetworkInputs, width: int) -> dict[str, int]:
    features = seen.x.shape[2] if seen.x.ndim == 3 else seen.x.shape[1]
    players = 0 if seen.x.ndim == 3 else seen.players
    return {
        "dimensions": seen.x.ndim,
        "features": features,
        "players": players,
        "outputs": len(family.outputs),
        "width": width,
        "summary": summary(seen[np.arange(1)]).shape[1],
    }


def _network(sizes: dict[str, int]) -> nn.Module:
    """By the dimensions of its input: (N, features) of rows, (N, tokens, features), or (N, channels, height, width)."""
    features, players, outputs, width = (
        whole(name, sizes[name], 0 if name == "players" else 1, 1 << 20) for name in ("features", "players", "outputs", "width")
    )
    match sizes["dimensions"]:
        case 2:
            return ColumnValuer(features, players, outputs, width)
        case 3:
            return TokenValuer(features, outputs, width)
        case 4:
            return PatchValuer(features, players, outputs, width)
    raise InvalidInput(f"inputs of {sizes['dimensions']!r} dimensions are unknown; there are 2, 3 and 4", code="unsupported")


def _report(credit: FloatArray, known: Reference) -> dict[str, object]:
    """How close the predictions are to the values of the calibration inputs."""
    there = np.isfinite(known.values)
    missed = ((credit - known.values)[there] ** 2).sum()
    spread = ((known.values - np.nanmean(known.values, axis=(0, 1)))[there] ** 2).sum()
    same = np.nanargmax(np.abs(credit), axis=1) == np.nanargmax(np.abs(known.values), axis=1)
    return {
        "r2": float(1 - missed / spread) if spread > 0 else 1.0,
        "top-1": float(same.mean()),
        "calibration values": "exact" if known.exact else "estimated",
    }


SQUARES_OF_SUMMARY = 8  # a picture is summarised by the means of this many squares down and across
VARIANCE_ADDED = 1e-3  # of the mean variance: no direction is taken for narrower
NEAR_SHARE = 0.99  # share of calibration inputs that count as near


@final
@dataclass(frozen=True, eq=False)
class Nearness:
    """The centre of the training inputs and the inverse root of their covariance; inputs beyond `limit` are far."""

    centre: Tensor  # (q,)
    root: Tensor  # (q, q)
    limit: float

    @classmethod
    def learn(cls, trained: NetworkInputs, others: NetworkInputs) -> Nearness:
        """From training inputs; the limit is a quantile of other inputs, so that about 1 in 100 alike is called far."""
        points = summary(trained)
        centre = points.mean(axis=0)
        covariance = np.atleast_2d(np.cov(points, rowvar=False))
        covariance += VARIANCE_ADDED * max(float(np.trace(covariance)) / len(centre), 1e-12) * np.eye(len(centre))
        values, vectors = np.linalg.eigh(covariance)
        made = cls(torch.from_numpy(centre).float(), torch.from_numpy(vectors / np.sqrt(values)).float(), 1.0)
        distances = np.sort(made.distance(others))
        place = min(len(distances), math.ceil((len(distances) + 1) * NEAR_SHARE)) - 1
        return cls(made.centre, made.root, max(float(distances[place]), 1e-12))

    def distance(self, seen: NetworkInputs) -> FloatArray:
        """Of each input from the centre: (N,)."""
        away = (torch.from_numpy(summary(seen)).float() - self.centre) @ self.root
        return np.asarray(away.norm(dim=1).double().numpy())


def summary(seen: NetworkInputs) -> FloatArray:
    """A few numbers per input: a row's own features, a text's mean vector and length, the means of a picture's squares."""
    if seen.x.ndim == 2:
        return seen.x.astype(np.float64)
    if seen.x.ndim == 3:
        lengths = (seen.x != 0).any(axis=2).sum(axis=1, keepdims=True)
        return np.concatenate([seen.x.sum(axis=1) / np.maximum(lengths, 1), np.log1p(lengths)], axis=1).astype(np.float64)
    means = torch.nn.functional.adaptive_avg_pool2d(torch.from_numpy(seen.x), SQUARES_OF_SUMMARY)
    return means.flatten(1).double().numpy()
