r"""Mask laws: how one logit per player becomes a mask, and how a loss of that mask teaches the logits.

Every law answers three questions. `draw` takes logits (N, n) and a loss of masks, and gives losses together with an
objective whose gradient estimates $\nabla E[\mathrm{loss}(m)]$; `random` draws masks that know nothing of the input, as
sparse as the law's own; `price` is what the law charges for choosing: the information in the choice, or its size.

Random numbers come from the generator that is handed in. Absent players (padding) have mask 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, final

import torch
from torch import Tensor

from accredit.errors import InvalidInput
from accredit.learned.networks import LOWEST

Loss = Callable[[Tensor], Tensor]  # masks (N, n) -> losses (N,)
LOGITS_WITHIN = 30.0  # logits of Bernoulli laws are held within ±30: e⁻³⁰ is never drawn


@dataclass(frozen=True, eq=False)
class Draw:
    """A mask (N, n), its losses (N,), and an objective (N,) to differentiate: its gradient counts, not its value."""

    mask: Tensor
    losses: Tensor
    objective: Tensor


class MaskLaw(Protocol):
    """How logits become masks."""

    def draw(
        self, logits: Tensor, present: Tensor, loss: Loss, generator: torch.Generator, baseline: Tensor | None = None
    ) -> Draw: ...

    def random(self, present: Tensor, generator: torch.Generator) -> Tensor:
        """Masks drawn without looking: (N, n) present -> (N, n)."""
        ...

    def price(self, logits: Tensor, present: Tensor) -> Tensor:
        """What the choice costs, (N,)."""
        ...

    def scores(self, logits: Tensor, present: Tensor) -> Tensor:
        """The logits made comparable between inputs, (N, n)."""
        ...

    def final_mask(self, logits: Tensor, present: Tensor, chosen: Tensor) -> Tensor:
        """The mask that is shown once training is over: the chosen set (N, n), or the law's own soft mask."""
        ...

    def describe(self) -> str: ...


@final
@dataclass(frozen=True)
class SoftmaxMask:
    """Attention: m = softmax(logits / temperature), the same each time; random masks are Dirichlet(`concentration`)."""

    temperature: float = 1.0
    concentration: float = 1.0

    def __post_init__(self) -> None:
        _positive(self, "temperature", "concentration")

    def mean(self, logits: Tensor, present: Tensor) -> Tensor:
        """The mask itself."""
        return (logits / self.temperature).softmax(dim=1) * present

    def draw(
        self, logits: Tensor, present: Tensor, loss: Loss, generator: torch.Generator, baseline: Tensor | None = None
    ) -> Draw:
        mask = self.mean(logits, present)
        losses = loss(mask)
        return Draw(mask, losses, losses)

    def random(self, present: Tensor, generator: torch.Generator) -> Tensor:
        return dirichlet(torch.full_like(present, self.concentration), present, generator)

    def price(self, logits: Tensor, present: Tensor) -> Tensor:
        return information(logits / self.temperature, present)

    def scores(self, logits: Tensor, present: Tensor) -> Tensor:
        return log_chances(logits / self.temperature, present)

    def final_mask(self, logits: Tensor, present: Tensor, chosen: Tensor) -> Tensor:
        return self.mean(logits, present)

    def describe(self) -> str:
        return f"softmax attention, temperature {self.temperature:g}"


@dataclass(frozen=True)
class _SetsOfK:
    """What all laws of k players share: they are charged for what the choice tells, and show the chosen set itself."""

    k: int

    def price(self, logits: Tensor, present: Tensor) -> Tensor:
        return self.k * information(logits, present)

    def scores(self, logits: Tensor, present: Tensor) -> Tensor:
        return log_chances(logits, present)

    def final_mask(self, logits: Tensor, present: Tensor, chosen: Tensor) -> Tensor:
        return chosen


@final
@dataclass(frozen=True)
class RelaxedTopK(_SetsOfK):
    """k draws of a Gumbel-softmax over all players, and their maximum: a soft set of at most k (Chen et al., 2018).

    The noise is new in every call. One call takes memory for N · k · n numbers. With several `draws` a row's loss is the mean
    over as many masks (Bang et al., 2021, take 12).
    """

    temperature: float = 0.5
    draws: int = 1

    def __post_init__(self) -> None:
        _positive(self, "k", "temperature", "draws")

    def relax(self, logits: Tensor, present: Tensor, generator: torch.Generator) -> Tensor:
        """One soft set per row: (N, n) -> (N, n)."""
        rows, n = logits.shape
        noise = _minus_gumbel((rows, self.k, n), generator, logits)
        return ((logits[:, None] - noise) / self.temperature).softmax(dim=2).amax(dim=1) * present

    def draw(
        self, logits: Tensor, present: Tensor, loss: Loss, generator: torch.Generator, baseline: Tensor | None = None
    ) -> Draw:
        masks = [self.relax(logits, present, generator) for _ in range(self.draws)]
        losses = torch.stack([loss(mask) for mask in masks]).mean(dim=0)
        return Draw(masks[0], losses, losses)

    def random(self, present: Tensor, generator: torch.Generator) -> Tensor:
        return self.relax(indifferent(present), present, generator)

    def describe(self) -> str:
        many = f", {self.draws} masks per row" if self.draws > 1 else ""
        return f"relaxed top-{self.k}, temperature {self.temperature:g}{many}"


@final
@dataclass(frozen=True)
class DrawnTopK(_SetsOfK):
    r"""Sets of exactly k players, drawn one after the other in proportion to exp(logit) among those that are left.

    What is trained is what is used: hard sets of k. The logits learn by REINFORCE, each draw measured against a second one,
    $\tfrac12(\ell_1 - \ell_2)\,\nabla(\log\pi_1 - \log\pi_2)$, which is unbiased; π is the chance of the players in the order
    in which they were drawn (Plackett and Luce). Random masks are drawn with equal logits.
    """

    def __post_init__(self) -> None:
        _positive(self, "k")

    def draw_set(self, logits: Tensor, present: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """One set per row (N, n), and the logarithm of the chance of its order (N,)."""
        noisy = logits.detach() - _minus_gumbel(logits.shape, generator, logits)
        order = noisy.masked_fill(present == 0, LOWEST).topk(min(self.k, logits.shape[1]), dim=1).indices
        left, chance = logits.masked_fill(present == 0, LOWEST), logits.new_zeros(len(logits))
        for at in order.T[:, :, None]:  # (N, 1)
            there = present.gather(1, at).squeeze(1)  # a row with fewer than k players has no more to draw
            chance = chance + there * (left.gather(1, at).squeeze(1) - left.logsumexp(dim=1))
            left = left.scatter(1, at, LOWEST)
        return torch.zeros_like(present).scatter(1, order, 1.0) * present, chance

    def draw(
        self, logits: Tensor, present: Tensor, loss: Loss, generator: torch.Generator, baseline: Tensor | None = None
    ) -> Draw:
        (mask, chance), (other, its) = (self.draw_set(logits, present, generator) for _ in range(2))
        losses = loss(mask)
        with torch.no_grad():
            apart = losses - loss(other)
        return Draw(mask, losses, losses + apart * (chance - its) / 2)

    def random(self, present: Tensor, generator: torch.Generator) -> Tensor:
        return self.draw_set(indifferent(present), present, generator)[0]

    def describe(self) -> str:
        return f"drawn sets of {self.k}, taught by reinforce"


@final
@dataclass(frozen=True)
class Bernoulli:
    r"""Every player is kept by its own coin, with chance σ(logit); random masks keep each with chance `rate`.

    `gradient` says how the coins learn, with b the coins and ℓ the loss:

    - `relaxed`: the mask is σ((logit + logistic noise) / temperature), and ℓ is differentiated through it. Biased, low noise.
    - `reinforce`: $(\ell(b) - \mathrm{baseline})\,\nabla\log\pi(b)$. Unbiased with any baseline that does not see b,
      noisy (Williams, 1992).
    - `rebar`: the same with a relaxed twin of the coins as control variate. Unbiased, low noise, three losses per draw
      (Tucker et al., 2017).
    """

    gradient: str = "reinforce"
    temperature: float = 0.1
    rate: float = 0.5

    def __post_init__(self) -> None:
        _positive(self, "temperature")
        if self.gradient not in ("relaxed", "reinforce", "rebar"):
            raise InvalidInput(
                f"gradient {self.gradient!r} is unknown; write 'relaxed', 'reinforce' or 'rebar'",
                argument="gradient",
                code="unknown",
            )
        if not 0 < self.rate < 1:
            raise InvalidInput(f"rate must lie between 0 and 1, got {self.rate}", argument="rate", code="range")

    def draw(
        self, logits: Tensor, present: Tensor, loss: Loss, generator: torch.Generator, baseline: Tensor | None = None
    ) -> Draw:
        logits = logits.clamp(-LOGITS_WITHIN, LOGITS_WITHIN)
        noisy = logits + logistic(logits, generator)
        if self.gradient == "relaxed":
            mask = (noisy / self.temperature).sigmoid() * present
            losses = loss(mask)
            return Draw(mask, losses, losses)
        coins = (noisy > 0).to(logits) * present
        losses = loss(coins)
        log_chance = -torch.nn.functional.binary_cross_entropy_with_logits(logits, coins, reduction="none")
        log_chance = (log_chance * present).sum(dim=1)
        if self.gradient == "reinforce":
            reward = losses.detach() - (0 if baseline is None else baseline.detach())
            return Draw(coins, losses, losses + reward * log_chance)
        twin = loss((condition(logits, coins, generator) / self.temperature).sigmoid() * present)
        relaxed = loss((noisy / self.temperature).sigmoid() * present)
        return Draw(coins, losses, losses + (losses - twin).detach() * log_chance + relaxed - twin)

    def random(self, present: Tensor, generator: torch.Generator) -> Tensor:
        return (torch.rand(present.shape, generator=generator) < self.rate).to(present) * present

    def price(self, logits: Tensor, present: Tensor) -> Tensor:
        """The expected share of players that are chosen."""
        return (logits.sigmoid() * present).sum(dim=1) / present.sum(dim=1).clamp(min=1)

    def scores(self, logits: Tensor, present: Tensor) -> Tensor:
        return logits

    def final_mask(self, logits: Tensor, present: Tensor, chosen: Tensor) -> Tensor:
        return chosen

    def describe(self) -> str:
        return f"a coin for every player, taught by {self.gradient}"


@final
@dataclass(frozen=True)
class Dirichlet:
    r"""Masks that sum to 1, $m \sim \mathrm{Dirichlet}(n\,c\,\mathrm{softmax}(\mathrm{logits}))$ with c = `concentration`.

    Small c gives sparse masks. With equal logits it is Dirichlet(c) on all players, which is also its random law; the
    logits are taught through the draw (implicit differentiation of the gamma quantiles).
    """

    concentration: float = 1.0

    def __post_init__(self) -> None:
        _positive(self, "concentration")

    def mean(self, logits: Tensor, present: Tensor) -> Tensor:
        """The expected mask."""
        return logits.softmax(dim=1) * present

    def draw(
        self, logits: Tensor, present: Tensor, loss: Loss, generator: torch.Generator, baseline: Tensor | None = None
    ) -> Draw:
        many = present.sum(dim=1, keepdim=True)
        mask = dirichlet(self.concentration * many * self.mean(logits, present), present, generator)
        losses = loss(mask)
        return Draw(mask, losses, losses)

    def random(self, present: Tensor, generator: torch.Generator) -> Tensor:
        return dirichlet(torch.full_like(present, self.concentration), present, generator)

    def price(self, logits: Tensor, present: Tensor) -> Tensor:
        return information(logits, present)

    def scores(self, logits: Tensor, present: Tensor) -> Tensor:
        return log_chances(logits, present)

    def final_mask(self, logits: Tensor, present: Tensor, chosen: Tensor) -> Tensor:
        return self.mean(logits, present)

    def describe(self) -> str:
        return f"Dirichlet masks, concentration {self.concentration:g}"


LAWS: dict[str, Callable[..., MaskLaw]] = {
    "softmax": SoftmaxMask,
    "relaxed top-k": RelaxedTopK,
    "drawn top-k": DrawnTopK,
    "bernoulli": Bernoulli,
    "dirichlet": Dirichlet,
}


def law_settings(law: MaskLaw) -> dict[str, object]:
    """What `law_from` needs to make the law again, as plain JSON."""
    kind = next(name for name, made in LAWS.items() if made is type(law))
    return {"kind": kind, **vars(law)}


def law_from(settings: Mapping[str, object]) -> MaskLaw:
    """Inverse of `law_settings`.

    >>> law_from({"kind": "relaxed top-k", "k": 10})
    RelaxedTopK(k=10, temperature=0.5, draws=1)
    """
    given = dict(settings) if isinstance(settings, Mapping) else {}
    kind = given.pop("kind", None)
    if kind not in tuple(LAWS):
        raise InvalidInput(f"mask law {kind!r} is unknown; known are {', '.join(LAWS)}", argument="kind", code="unknown")
    try:
        return LAWS[kind](**given)
    except TypeError as error:
        raise InvalidInput(
            f"settings of the mask law {kind} are damaged: {error}", argument="settings", code="unreadable"
        ) from None


def indifferent(present: Tensor) -> Tensor:
    """Logits that prefer nobody among those present."""
    return torch.zeros_like(present).masked_fill(present == 0, LOWEST)


def information(logits: Tensor, present: Tensor) -> Tensor:
    """KL(p ‖ uniform on the present players), p = softmax(logits), in nats: (N,)."""
    chances, many = logits.softmax(dim=1), present.sum(dim=1).clamp(min=1)
    return (chances * log_chances(logits, present) * present).sum(dim=1) + many.log()


def log_chances(logits: Tensor, present: Tensor) -> Tensor:
    """log softmax over the present players; `LOWEST` for the absent."""
    return logits.log_softmax(dim=1).masked_fill(present == 0, LOWEST)


def logistic(like: Tensor, generator: torch.Generator) -> Tensor:
    """Standard logistic noise of that shape, drawn on the CPU so that every device gets the same."""
    return torch.rand(like.shape, generator=generator).clamp(1e-7, 1 - 1e-7).logit().to(like)


def condition(logits: Tensor, coins: Tensor, generator: torch.Generator) -> Tensor:
    """logit + logistic noise, given on which side of 0 it fell: over coins ~ σ(logits) it is distributed as without them."""
    uniform = torch.rand(logits.shape, generator=generator).clamp(1e-7, 1 - 1e-7).to(logits)
    odds = uniform / (1 - uniform)
    heads, tails = (odds / (-logits).sigmoid()).log1p(), -(odds / logits.sigmoid()).log1p()
    return torch.where(coins > 0, heads, tails)


def dirichlet(concentration: Tensor, present: Tensor, generator: torch.Generator) -> Tensor:
    """A differentiable draw of Dirichlet(concentration) on the present players of each row."""
    positive = torch.where(present > 0, concentration, torch.ones_like(concentration)).clamp(min=1e-4)
    gamma = torch._standard_gamma(positive.cpu(), generator=generator).to(present).clamp(min=1e-30) * present
    return gamma / gamma.sum(dim=1, keepdim=True).clamp(min=1e-30)


def _positive(law: object, *names: str) -> None:
    for name in names:
        value = getattr(law, name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
            raise InvalidInput(f"{name} must be a positive number, got {value!r}", argument=name, code="range")
        if name == "k" and not isinstance(value, int):
            raise InvalidInput(f"k must be a whole number of players, got {value!r}", argument="k", code="type")


def _minus_gumbel(shape: Sequence[int], generator: torch.Generator, like: Tensor) -> Tensor:
    """Noise on the CPU, whose generator is the same everywhere, then where `like` is. The exponentials are those of
    `exponential_`, which takes two and a half times as long."""
    waited = torch.rand(tuple(shape), dtype=torch.float64, generator=generator).neg_().log1p_().neg_()
    return waited.float().clamp_(min=1e-30).log_().to(like)
