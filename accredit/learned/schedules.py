r"""Schedules: in which order, and on which loss, selector and surrogate are trained.

With selector $s$, surrogate $q$, mask $m \sim \mathrm{law}(s(x))$ and $\ell = -\sum_y t_y \log q(y \mid x \odot m)$:

- `JointSchedule`: both down E[ℓ] (L2X; with a price on the choice, VIBI).
- `ReinforceSchedule`: the same, the reward measured against a network that sees the whole input (INVASE).
- `RandomFirstSchedule`: q on masks that know nothing of x, then frozen while s learns (REAL-X; random-mask pretraining). What s
  then finds is read by a q that never met s, so q cannot have agreed on a code with it.
- `WeightedSchedule`: q down E[w ℓ] with w = P(y)/P(y|m), s down E[ℓ], through the same pass (mask-neutral learning).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Protocol, final

import torch
from torch import Tensor, nn

from accredit.errors import InvalidInput
from accredit.learned.mask_distributions import Draw, MaskLaw, law_from, law_settings
from accredit.learned.stages import Batch, Stage, Training, choose_players, descend, surprise
from accredit.learned.weighting import MaskLabels


@dataclass(frozen=True, eq=False)
class Job:
    """What a schedule works on: the networks, the law of their masks, what a choice costs, and how to train."""

    selector: nn.Module
    surrogate: nn.Module
    law: MaskLaw
    price: float
    training: Training
    generator: torch.Generator
    prior: Tensor  # (classes,) how often the black box chooses each
    classifier: Callable[[], nn.Module]  # a fresh network like the surrogate, for a baseline
    players: int
    seed: int
    k: int | None = None  # how many are shown once training is over

    def losses(self, batch: Batch, mask: Tensor | None) -> Tensor:
        """Loss of the surrogate's answer on masked rows: (N,)."""
        return surprise(self.surrogate(batch.x, mask), batch.target)

    def draw(self, batch: Batch, generator: torch.Generator, baseline: Tensor | None = None) -> Draw:
        """Masks by the selector, their losses, and the objective that teaches the selector, its price included."""
        logits = self.selector(batch.x, batch.answer)
        drawn = self.law.draw(logits, batch.present, lambda mask: self.losses(batch, mask), generator, baseline)
        if not self.price:
            return drawn
        charge = self.price * self.law.price(logits, batch.present)
        return replace(drawn, losses=drawn.losses + charge, objective=drawn.objective + charge)

    def judge(self, batch: Batch, generator: torch.Generator) -> Tensor:
        """Losses of rows kept aside by what will be shown: the k highest, not a soft draw. Coins without k are drawn."""
        if self.k is None:
            return self.draw(batch, generator).losses
        logits = self.selector(batch.x, batch.answer)
        if not torch.isfinite(logits).all():
            return torch.full((len(batch),), torch.nan)  # which ends training
        chosen = choose_players(logits, batch.present, self.k)
        losses = self.losses(batch, self.law.final_mask(logits, batch.present, chosen))
        return losses + self.price * self.law.price(logits, batch.present) if self.price else losses


class TrainingSchedule(Protocol):
    """An order of training."""

    def stages(self, job: Job) -> list[Stage]: ...

    def settings(self) -> dict[str, object]: ...


@final
@dataclass(frozen=True)
class JointSchedule:
    """Selector and surrogate together."""

    def stages(self, job: Job) -> list[Stage]:
        both = (job.selector, job.surrogate)
        optimiser = job.training.optimise(*both)

        def step(batch: Batch) -> float:
            drawn = job.draw(batch, job.generator)
            descend(drawn.objective.mean(), optimiser, *both)
            return float(drawn.losses.detach().mean())

        return [Stage("joint", job.training.epochs, both, step, job.judge)]

    def settings(self) -> dict[str, object]:
        return {"kind": "joint"}


@final
@dataclass(frozen=True)
class ReinforceSchedule:
    """Selector and surrogate together; the selector is rewarded for losing less than a network that sees everything."""

    def stages(self, job: Job) -> list[Stage]:
        both, seer = (job.selector, job.surrogate), job.classifier().to(job.training.device)
        optimiser, seeing = job.training.optimise(*both), job.training.optimise(seer)

        def step(batch: Batch) -> float:
            baseline = surprise(seer(batch.x), batch.target)
            descend(baseline.mean(), seeing, seer)
            drawn = job.draw(batch, job.generator, baseline.detach())
            descend(drawn.objective.mean(), optimiser, *both)
            return float(drawn.losses.detach().mean())

        return [Stage("reinforce", job.training.epochs, (*both, seer), step, job.judge)]

    def settings(self) -> dict[str, object]:
        return {"kind": "reinforce"}


@final
@dataclass(frozen=True)
class RandomFirstSchedule:
    """The surrogate on random masks for `epochs` (as many as the selector's, if not given); then the selector alone.

    `random` is the law of those masks; left out, it is the explainer's own, drawn without looking.
    """

    epochs: int | None = None
    random: MaskLaw | None = None

    def __post_init__(self) -> None:
        if self.epochs is not None and self.epochs < 1:
            raise InvalidInput(f"epochs must be positive, got {self.epochs}", argument="epochs", code="range")

    def stages(self, job: Job) -> list[Stage]:
        law = self.random or job.law
        reading, choosing = job.training.optimise(job.surrogate), job.training.optimise(job.selector)

        def read(batch: Batch) -> float:
            loss = job.losses(batch, law.random(batch.present, job.generator)).mean()
            descend(loss, reading, job.surrogate)
            return float(loss.detach())

        def read_aside(batch: Batch, generator: torch.Generator) -> Tensor:
            return job.losses(batch, law.random(batch.present, generator))

        def choose(batch: Batch) -> float:
            drawn = job.draw(batch, job.generator)
            descend(drawn.objective.mean(), choosing, job.selector)
            return float(drawn.losses.detach().mean())

        first = Stage("random masks", self.epochs or job.training.epochs, (job.surrogate,), read, read_aside)
        return [first, Stage("selector", job.training.epochs, (job.selector,), choose, job.judge)]

    def settings(self) -> dict[str, object]:
        law = None if self.random is None else law_settings(self.random)
        return {"kind": "random first", "epochs": self.epochs, "random": law}


@final
@dataclass(frozen=True)
class WeightedSchedule:
    r"""Mask-neutral learning: rows are weighted by P(y)/P(y|m), so that the mask alone tells the surrogate nothing.

    In every step the surrogate descends E[w ℓ] and the selector E[ℓ], through the same pass; then the classifier P(Y|M) takes
    `steps` steps on the drawn masks. So it weighs rows that it has not learned from. An estimate of P(y|m) makes weights too
    large on average, 1 + χ², so each batch is divided by its mean: the true ones have mean 1. Weights are at most `cap`
    before that, chances at least `floor`; y is the class the black box chooses. With `weigh_selector` the selector descends
    E[w ℓ] too, which brought the shortcut back in most trials. With `learn_first` the classifier learns from a batch before
    it weighs it and nothing is divided: of masks of 400 players that know nothing of y the weights then have mean 0.86.
    """

    steps: int = 5
    cap: float = 50.0
    floor: float = 1e-3
    hidden: tuple[int, ...] = (64,)
    weigh_selector: bool = False
    learn_first: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(self.hidden))
        if self.steps < 1 or not self.cap > 0 or not 0 < self.floor < 1:
            raise InvalidInput(f"{self}: steps and cap must be positive, floor between 0 and 1", code="range")

    def stages(self, job: Job) -> list[Stage]:
        mask_labels = MaskLabels(job.players, len(job.prior), self.hidden, seed=job.seed).to(job.training.device)
        reading, choosing = job.training.optimise(job.surrogate), job.training.optimise(job.selector)
        seen: list[Tensor] = []

        def weights(batch: Batch, mask: Tensor) -> Tensor:
            w = mask_labels.weights(mask.detach(), batch.choice, job.prior, self.floor, self.cap)
            return w if self.learn_first else w / w.mean()

        def step(batch: Batch) -> float:
            drawn = job.draw(batch, job.generator)
            if self.learn_first:
                mask_labels.learn(drawn.mask, batch.choice, self.steps)
            w = weights(batch, drawn.mask)
            if not self.learn_first:
                mask_labels.learn(drawn.mask, batch.choice, self.steps)
            seen.append(w)
            weighted = (w * drawn.losses).mean()
            objective = (w * drawn.objective if self.weigh_selector else drawn.objective).mean()
            slopes = torch.autograd.grad(weighted, list(job.surrogate.parameters()), retain_graph=True)
            descend(objective, choosing, job.selector)
            for parameter, slope in zip(job.surrogate.parameters(), slopes, strict=True):
                parameter.grad = slope
            reading.step()
            return float(weighted.detach())

        def aside(batch: Batch, generator: torch.Generator) -> Tensor:
            drawn = job.draw(batch, generator)
            return weights(batch, drawn.mask) * drawn.losses

        return [Stage("weighted", job.training.epochs, (job.selector, job.surrogate), step, aside, seen)]

    def settings(self) -> dict[str, object]:
        return {"kind": "weighted"} | asdict(self)


SCHEDULES: dict[str, Callable[..., TrainingSchedule]] = {
    "joint": JointSchedule,
    "reinforce": ReinforceSchedule,
    "random first": RandomFirstSchedule,
    "weighted": WeightedSchedule,
}


def schedule_from(settings: Mapping[str, object]) -> TrainingSchedule:
    """Inverse of `TrainingSchedule.settings`.

    >>> schedule_from(RandomFirstSchedule(epochs=3).settings())
    RandomFirstSchedule(epochs=3, random=None)
    """
    given = dict(settings) if isinstance(settings, Mapping) else {}
    kind = given.pop("kind", None)
    if kind not in tuple(SCHEDULES):
        raise InvalidInput(f"schedule {kind!r} is unknown; known are {', '.join(SCHEDULES)}", argument="kind", code="unknown")
    random = given.get("random")
    if random is not None:
        given["random"] = law_from(random if isinstance(random, Mapping) else {})
    try:
        return SCHEDULES[kind](**given)
    except TypeError as error:
        raise InvalidInput(
            f"settings of the schedule {kind} are damaged: {error}", argument="settings", code="unreadable"
        ) from None
