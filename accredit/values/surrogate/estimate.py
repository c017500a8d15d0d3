"""From asked payoffs to Shapley values: centre, fit two surrogates, stack them, read out, and say how far it may be off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from accredit.checks.numbers import FloatArray, IntArray
from accredit.errors import NotConverged
from accredit.values.intervals import blur_between
from accredit.values.surrogate.design import Design
from accredit.values.surrogate.fitting import Fitted, fit_isotropic, fit_screened, search_samples
from accredit.values.surrogate.intervals import FLOOR, AllPairs, Operator, Regression, standard_error, t_multiple, trust
from accredit.values.surrogate.likelihood import Mixture, Observations, Solved, solve
from accredit.values.surrogate.rows import CoalitionRows, Meeting
from accredit.values.surrogate.stack import centred_sum, error_vector, honest_residual, optimism, weight_of_second
from accredit.values.surrogate.streamed import size_trends
from accredit.values.surrogate.walsh import Walsh

# One fitted surrogate: what it predicts, how well it predicts pairs it has not seen, and the Shapley values of its mean.

CROSS_KERNEL_ROWS = 1000  # rows of a cross-kernel held at once


@dataclass(frozen=True)
class Posterior:
    """The mean b·s̄ + Σ_T α_T K(·, T) of a surrogate given its sample."""

    mixture: Mixture
    rows: CoalitionRows  # (M rows), the end pair last
    load: FloatArray  # (M,): α
    slope: float  # b
    left_out: FloatArray  # (m,): residual of each real pair, had it been left out
    residual: FloatArray  # (m,): residual of each real pair

    def credit(self) -> FloatArray:
        """Shapley values of the mean, shifted to sum to zero: (n,). The slope gives all players the same."""
        credit = self.mixture.credit(self.rows, self.load)
        return np.asarray(credit - credit.mean())

    def predict(self, rows: CoalitionRows) -> FloatArray:
        """The mean at other coalitions: (rows,)."""
        parts = [
            self.mixture.between(Meeting(rows.at(slice(at, at + CROSS_KERNEL_ROWS)), self.rows)) @ self.load
            for at in range(0, len(rows), CROSS_KERNEL_ROWS)
        ]
        return np.concatenate(parts) + self.slope * (1 - 2 * rows.sizes / rows.players)


def posterior(mixture: Mixture, sample: Observations) -> Posterior | None:
    """Condition on a sample, or None when the covariance has no Cholesky factor. Cost O(M³), memory a few M² matrices."""
    covariance = mixture.between(sample.meeting)
    covariance[np.diag_indices_from(covariance)] += sample.noise
    found = solve(covariance, sample)
    return None if found is None else _given(found, mixture, sample)


def _given(found: Solved, mixture: Mixture, sample: Observations) -> Posterior | None:
    """The surrogate, from the solved covariance; None when rounding has eaten a residual.

    Leave-one-out residuals are α_T/P_TT. The slope is recomputed from what α leaves: the normal equations cancel.
    """
    load, diagonal = found.load, found.diagonal
    if not (np.all(diagonal > 0) and np.all(np.isfinite(load))):
        return None
    remains = sample.target - found.times(load)
    slope = float(sample.trend @ remains / (sample.trend @ sample.trend))
    real = slice(0, len(sample) - 1)
    return Posterior(mixture, sample.rows, load, slope, (load / diagonal)[real], (sample.noise * load)[real])


def fitted_posterior(fitted: Fitted, sample: Observations) -> Posterior | None:
    """`posterior` of a fitted model, which has solved the sample already where it was searched on all of it."""
    if fitted.sample is not sample or fitted.solved is None:
        return posterior(fitted.mixture, sample)
    return _given(fitted.solved, fitted.mixture, sample)


def steady(fitted: Fitted, sample: Observations) -> Posterior | None:
    """`fitted_posterior`, with noise added in steps of 100 when the covariance is numerically singular; None if that fails."""
    found = fitted_posterior(fitted, sample)
    scale = sum(fitted.mixture.amplitudes) + float(sample.noise.mean())
    for jitter in (1e-10, 1e-8, 1e-6):
        if found is not None:
            break
        found = posterior(fitted.mixture, Observations(sample.rows, sample.target, sample.noise + jitter * scale))
    return found


MOST_PAIRS = 2000  # fitted unless time is short; further pairs correct the fit
HANDFUL = 10  # pairs that show a departure from an additive game; fewer have not shown where else it may be
END_NOISE = 1e-6  # the end pair {∅, N} is known and has no weight in any score
FEWEST_PAIRS = 5  # three pairs of five players were covered 86 % of the time
FEW_PAIRS = 60  # below this some intervals are not honest, see `_too_few`
ASYMPTOTIC = (
    "Student t on left-out residuals of the surrogate, with fewer degrees of freedom where few pairs carry the error; "
    "asymptotic, and blind to payoffs unlike any that were asked"
)


@dataclass(frozen=True)
class PairedPayoffs:
    """What a game answered: the end payoffs and one payoff for each half of each pair."""

    nobody: float  # v(∅)
    everybody: float  # v(N)
    design: Design
    chosen: FloatArray  # (m,): v(T)
    rest: FloatArray  # (m,): v(Tᶜ)
    moved: float = 0.0  # how far the game says that rounding may move a payoff

    @property
    def total(self) -> float:
        """D = v(N) - v(∅)."""
        return self.everybody - self.nobody

    @property
    def odd(self) -> FloatArray:
        """y(T) = (v(T) - v(Tᶜ))/2: (m,)."""
        return (self.chosen - self.rest) / 2

    @cached_property
    def uneven(self) -> FloatArray:
        """The odd part without equal shares, y(T) - D(|T|/n - ½): (m,)."""
        return self.odd - self.total * (self.design.sizes / self.design.players - 0.5)

    @cached_property
    def regression(self) -> Regression:
        """Least squares on the pairs asked."""
        return Regression(self.design)

    @cached_property
    def departures(self) -> FloatArray:
        """What the pairs depart from the additive game that explains them best: (m,)."""
        return self.uneven - self.design.centred @ self.regression.apply(self.uneven)

    @cached_property
    def blur(self) -> float:
        """What rounding alone may make of the payoffs seen."""
        seen = np.concatenate([[self.nobody, self.everybody], self.chosen, self.rest])
        return blur_between(float(seen.min()), float(seen.max()), self.moved)

    @property
    def _steps(self) -> FloatArray:
        """How far apart neighbours are among the payoffs but v(∅) and v(N), where rounding does not explain it."""
        apart = np.diff(np.sort(np.concatenate([self.chosen, self.rest])))
        return apart[apart > self.blur]

    @property
    def two_valued(self) -> bool:
        """Whether all payoffs but v(∅) and v(N) take at most two values."""
        return len(self._steps) <= 1

    @property
    def step(self) -> float:
        """What the odd part changes by where a two-valued payoff switches; 0 for payoffs of more values."""
        steps = self._steps
        return float(steps[0]) / 2 if len(steps) == 1 else 0.0


@dataclass(frozen=True)
class SurrogateEstimate:
    """Shapley values, their standard errors, and what they rest on."""

    credit: FloatArray  # (n,)
    stderr: FloatArray | None  # None: no honest one, see `because`
    multiple: float  # half-width = multiple · stderr
    because: str
    gain: float = 1.0  # squared error of a plain regression on the same pairs over that of the surrogate, as estimated
    certificate: Mapping[str, object] = field(default_factory=dict)

    @property
    def half_width(self) -> FloatArray | None:
        """Half the interval of each player: (n,)."""
        if self.stderr is None:
            return None
        return self.multiple * self.stderr


def exact(asked: PairedPayoffs) -> FloatArray:
    """Shapley values from every pair, by the all-pairs identity: (n,)."""
    return _share(asked, centred_sum(asked.design, 2 * asked.design.mass * asked.odd))


def _share(asked: PairedPayoffs, uneven: FloatArray) -> FloatArray:
    """Equal shares plus what the players get unevenly, made to sum to D."""
    return np.asarray(asked.total / asked.design.players + (uneven - uneven.mean()))


def estimate(asked: PairedPayoffs, error: float, debiased: bool, fitted: int, rng: np.random.Generator) -> SurrogateEstimate:
    """Shapley values from the pairs asked; an interval misses with chance `error`, player by player.

    At most `fitted` pairs are fitted; the others correct the fit.
    """
    plain = _without_surrogate(asked)
    if plain is not None:
        return plain
    scale = float(np.sqrt(np.mean(asked.uneven**2)))
    stack = _stack(asked, scale, fitted, rng)
    design = asked.design
    regresses = len(design) + 1 > 2 * design.players
    linear: Operator = asked.regression if regresses else AllPairs(design)
    honest = honest_residual(design.inclusion, stack.residual, stack.left_out)
    correction = linear.apply(honest)
    all_of_it = debiased or len(design) > fitted
    corrected = 1.0 if all_of_it else trust(linear, design, correction, stack.left_out)
    credit = stack.credit + corrected * correction
    shares = _share(asked, scale * credit)
    because = _too_few(asked)
    stderr = None
    if not because:
        event = max(asked.step, _rare_event(asked)) / scale
        error_of = standard_error(linear, design, stack.cautious, event, corrected)
        stderr = np.maximum(scale * error_of, FLOOR * np.abs(shares).max())
    certificate = _certificate(asked, stack, scale)
    multiple = t_multiple(linear, design, stack.cautious, error)
    gain = _gain(asked, scale, stack.left_out) if regresses else 1.0
    return SurrogateEstimate(shares, stderr, multiple, because or ASYMPTOTIC, gain, certificate)


def _gain(asked: PairedPayoffs, scale: float, left_out: FloatArray) -> float:
    """By how much the surrogate shrinks the squared error of a streamed regression, from the residuals that both leave out."""
    trends = size_trends(asked.design.players)[asked.design.sizes]
    plain = asked.regression.left_out(asked.departures) / scale
    plain = plain - trends @ np.linalg.lstsq(trends, plain, rcond=1e-9)[0]
    weight = asked.regression.reach * (1 - asked.design.inclusion)
    theirs, ours = (float(weight @ residual**2) for residual in (plain, left_out))
    return theirs / ours if ours > 0 else np.inf


def _rare_event(asked: PairedPayoffs) -> float:
    """The largest departure from an additive game, where few pairs show any: what a handful shows, others not asked may too,
    however well a surrogate explains that handful. 0 where many show one, from which a surrogate can learn.

    A sum of squares that k equal terms make up has (Σr²)²/Σr⁴ = k: the pairs that carry the departure.
    """
    if len(asked.design) < 2 * asked.design.players:
        return 0.0
    departures = np.abs(asked.departures)
    largest = float(departures.max())
    squares = (departures / largest) ** 2 if largest > asked.blur else np.ones(len(departures))
    return largest if float(squares.sum() ** 2 / (squares @ squares)) < HANDFUL else 0.0


def _too_few(asked: PairedPayoffs) -> str:
    """Why the pairs are too few for an honest interval; empty when they are not."""
    m, n = len(asked.design), asked.design.players
    if m >= FEW_PAIRS:
        return ""
    if m < FEWEST_PAIRS:
        return f"{m} pairs are too few to see any spread; ask {2 * FEWEST_PAIRS + 2} payoffs"
    if asked.two_valued:
        return f"{m} pairs of two-valued payoffs are too few to see rare events; ask {2 * FEW_PAIRS + 2} payoffs"
    if n + 1 < m < 3 * n:
        enough = 2 * min(3 * n, FEW_PAIRS) + 2
        return f"{m} pairs are too few to fit the relevance of {n} players honestly; ask {enough} payoffs"
    return ""


def _without_surrogate(asked: PairedPayoffs) -> SurrogateEstimate | None:
    """Games that show nothing but equal shares, or nothing but additive shares, at the pairs asked."""
    m, n = len(asked.design), asked.design.players
    seen = "which is what was seen, not what is certain"
    if m == 0:
        return SurrogateEstimate(_share(asked, np.zeros(n)), None, 0.0, "only v(∅) and v(N) were asked")
    alike = np.abs(asked.uneven).max() <= asked.blur
    because = f"the {m} pairs asked show no difference between players, {seen}"
    if m >= n + 10 and np.abs(asked.departures).max() <= asked.blur:
        explained = f"an additive game explains the {m} pairs asked to rounding, {seen}"
        additive = asked.regression.apply(asked.uneven)
        return SurrogateEstimate(_share(asked, additive), None, 0.0, because if alike else explained)
    return SurrogateEstimate(_share(asked, np.zeros(n)), None, 0.0, because) if alike else None


@dataclass(frozen=True)
class _Stack:
    """The stacked surrogate, on the scaled game."""

    credit: FloatArray  # (n,)
    residual: FloatArray  # (m,)
    left_out: FloatArray  # (m,)
    cautious: FloatArray  # (m,): left-out residuals with the screened model's made larger by its optimism
    weights: tuple[float, ...]  # λ of the models
    models: tuple[Posterior, ...]


def _stack(asked: PairedPayoffs, scale: float, most: int, rng: np.random.Generator) -> _Stack:
    """Fit on at most `most` pairs, stack, and predict the pairs left over."""
    m, n = len(asked.design), asked.design.players
    fitted = np.arange(m) if m <= most else np.sort(rng.choice(m, most, replace=False))
    part = Design(n, asked.design.pairs[fitted], asked.design.log_inclusion[fitted] + np.log(len(fitted) / m))
    sample = _sample(part, asked.uneven[fitted] / scale)
    models = _models(sample, rng)
    flatter = (1.0, *(np.sqrt(optimism(len(sample), n)) for _ in models[1:]))
    errors = [f * error_vector(part, model.residual, model.left_out) for f, model in zip(flatter, models, strict=True)]
    second = weight_of_second(*errors) if len(models) == 2 else 0.0
    weights = (1 - second, second)[: len(models)]
    residual, left_out, cautious = np.zeros(m), np.zeros(m), np.zeros(m)
    others = np.setdiff1d(np.arange(m), fitted)
    rows = CoalitionRows.of(asked.design.pairs[others])
    for weight, factor, model in zip(weights, flatter, models, strict=True):
        e, r = _all_residuals(asked.uneven / scale, fitted, others, rows, model)
        residual += weight * r
        left_out += weight * e
        cautious += weight * factor * e
    credit = np.sum([weight * model.credit() for weight, model in zip(weights, models, strict=True)], axis=0)
    return _Stack(np.asarray(credit), residual, left_out, cautious, weights, models)


def _all_residuals(
    target: FloatArray, fitted: IntArray, others: IntArray, rows: CoalitionRows, model: Posterior
) -> tuple[FloatArray, FloatArray]:
    """Left-out and plain residuals at every pair; at pairs that were not fitted both are the prediction residual."""
    e, r = np.zeros(len(target)), np.zeros(len(target))
    e[fitted], r[fitted] = model.left_out, model.residual
    if len(others):
        e[others] = r[others] = target[others] - model.predict(rows)
    return e, r


def _sample(design: Design, target: FloatArray) -> Observations:
    """Pairs with noise 1/w, w kept within [1e-3, 1e3], and the end pair, whose centred odd part is 0."""
    rows = CoalitionRows.of(np.concatenate([design.pairs, np.ones((1, design.players), dtype=bool)]))
    noise = 1 / np.clip(design.weights, 1e-3, 1e3)
    return Observations(rows, np.append(target, 0.0), np.append(noise, END_NOISE))


def _models(sample: Observations, rng: np.random.Generator) -> tuple[Posterior, ...]:
    """The isotropic surrogate, and the screened one where pairs outnumber the players whose relevance it fits."""
    searched = search_samples(sample, rng)
    isotropic = steady(fit_isotropic(searched), sample)
    if isotropic is None:
        isotropic = posterior(Mixture((Walsh(1),), (1e4,)), sample)  # leverage regression with a trace of ridge
    if isotropic is None:
        raise NotConverged(f"no surrogate of {len(sample) - 1} pairs has a Cholesky factor; use Leverage(budget) instead")
    if len(sample) - 1 <= sample.rows.players + 1:
        return (isotropic,)
    screened = fitted_posterior(fit_screened(searched), sample)
    return (isotropic,) if screened is None else (isotropic, screened)


def _certificate(asked: PairedPayoffs, stack: _Stack, scale: float) -> dict[str, object]:
    """What a reader needs to judge the fit; the credit of both models when pairs are few."""
    names = ("isotropic", "screened")
    noise = 1 / np.clip(asked.design.weights, 1e-3, 1e3)
    certificate: dict[str, object] = {
        "pairs": len(asked.design),
        "pairs fitted": len(stack.models[0].left_out),
        "pairs enumerated": int(np.sum(asked.design.log_inclusion == 0)),
        "scale": scale,
        "weights": dict(zip(names, stack.weights, strict=False)),
        "left-out error": scale * float(np.sqrt(np.average(stack.left_out**2, weights=1 / noise))),
    }
    if len(asked.design) < 3 * asked.design.players and len(stack.models) == 2:
        certificate["credit by model"] = {
            name: _share(asked, scale * model.credit()) for name, model in zip(names, stack.models, strict=True)
        }
    return certificate
