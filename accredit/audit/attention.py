r"""Is attention explanation? The tests of Jain & Wallace (2019), for anything whose answer can be computed under any attention.

All work on a batch at once: attention is (N, H, T), rows sum to 1, with H heads that are changed together (one for a plain
attention classifier); `there` (N, T) marks tokens that exist. `answer` gives the probabilities under *imposed* attention
and must take a leading axis of candidates: (K, N, H, T) -> (K, N, classes).

Distances: TVD $= \tfrac12 \sum_y |p_y - q_y|$, which for two classes is $|\Delta \hat y|$; the Jensen–Shannon divergence
between attentions is at most $\ln 2 = 0.69$, reached when they share no token.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from accredit.audit.finding import AuditFinding, judge_finding
from accredit.core import BoolArray, FloatArray
from accredit.core.rounding import SINGLE, blur
from accredit.core.statistics import tied
from accredit.errors import InvalidInput
from accredit.evaluate.agreement import kendall

Answer = Callable[[Tensor], Tensor]
SAME_PREDICTION = 0.05  # |Δŷ| up to which two predictions count as the same (Jain & Wallace)
HALF_ORDERED = 0.5  # τ: three of four pairs of tokens in the same order
FAR = float(np.log(2)) / 2  # half of the largest Jensen–Shannon divergence
GRADIENT, LEAVE_ONE_OUT = "gradients", "leave-one-out"
PERMUTATION, ADVERSARY = "permuted attention", "adversarial attention"


class NothingToRank(InvalidInput):
    """Two scores cannot be compared by rank on these inputs."""


def jensen_shannon(a: Tensor, b: Tensor) -> Tensor:
    """½ KL(a ‖ m) + ½ KL(b ‖ m) with m the mean, in nats, averaged over heads: (..., H, T) twice -> (...).

    >>> float(jensen_shannon(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])))  # ln 2
    0.6931...
    """
    middle = (a + b) / 2
    return (_kl(a, middle) + _kl(b, middle)).mean(dim=-1) / 2


def _kl(a: Tensor, b: Tensor) -> Tensor:
    tiny = 1e-30  # absent tokens have weight 0, whose logarithm must not reach the gradient
    return (a * (a.clamp(min=tiny).log() - b.clamp(min=tiny).log())).sum(dim=-1)


def total_variation(p: Tensor, q: Tensor) -> Tensor:
    """½ Σ |p − q| over the last axis."""
    return (p - q).abs().sum(dim=-1) / 2


def rank_agreement(first: FloatArray, second: FloatArray, there: BoolArray) -> FloatArray:
    """Kendall's τ_b of two scores (N, T) in every row, over the tokens that are there.

    Scores come from single precision, whose roundings are ties. NaN where one of the two ranks nothing: fewer than two tokens,
    or the same score for all of them.
    """
    pairs = ((_places(a[t]), _places(b[t])) for a, b, t in zip(first, second, there, strict=True))
    return np.array([kendall(a, b) if a.any() and b.any() else np.nan for a, b in pairs])


def _places(scores: FloatArray) -> FloatArray:
    return tied(scores, blur(float(np.abs(scores).max(initial=0.0)), SINGLE))


@torch.no_grad()
def permute(answer: Answer, attention: Tensor, there: Tensor, count: int = 100, seed: int = 0) -> FloatArray:
    """Median TVD of the answer over `count` shuffles of attention among the tokens that are there: (N,).

    All heads are shuffled alike. Near 0: the answer does not care where attention goes.
    """
    if count < 1:
        raise InvalidInput(f"count must be at least 1, got {count}; write 100", argument="count", code="range")
    before = answer(attention[None])[0]
    generator = torch.Generator().manual_seed(seed)
    draws = torch.rand((count, *there.shape), generator=generator)
    to = torch.where(there, draws, 2.0).argsort(dim=-1)  # present tokens first, in random order
    values = attention.gather(-1, (~there).to(torch.uint8).argsort(dim=-1, stable=True)[:, None].expand_as(attention))
    shuffled = torch.zeros((count, *attention.shape)).scatter(
        -1, to[:, :, None].expand(count, *attention.shape), values.expand(count, *attention.shape)
    )
    moved = torch.stack([total_variation(answer(row[None])[0], before) for row in shuffled])
    return np.asarray(moved.median(dim=0).values.double().numpy())


@dataclass(frozen=True, eq=False)
class Adversarial:
    """What the adversary found for each row: the most different attention that leaves the answer as it is."""

    attention: FloatArray  # (N, H, T)
    divergence: FloatArray  # (N,) Jensen–Shannon divergence from the model's own attention; 0 where none was found
    moved: FloatArray  # (N,) TVD between the two answers
    found: BoolArray  # (N,)


def adversary(
    answer: Answer,
    attention: Tensor,
    there: Tensor,
    *,
    candidates: int = 5,
    steps: int = 500,
    rate: float = 0.01,
    allowed: float = SAME_PREDICTION,
    seed: int = 0,
) -> Adversarial:
    r"""Search for attention far from the model's own that gives the same answer (Jain & Wallace, 2019, §4.2.2).

    Several candidates per row start from $3\,\mathcal N(0,1)$ logits and descend, all rows and candidates at once, on

    $$ -\mathrm{JSD}(\tilde\alpha, \alpha) + 500\,\max(0, \mathrm{TVD} - 0.01) - \mathrm{JSD\ among\ the\ candidates} $$

    by Adam with AMSGrad. Of the candidates with TVD ≤ `allowed` the farthest one counts. Hidden states do not move: this says
    what an answer *could* have been computed from, not that a model with such attention exists (Wiegreffe & Pinter, 2019).
    Cost: `steps` passes with K·N rows.
    """
    if candidates < 2 or steps < 1:
        raise InvalidInput(
            f"candidates is {candidates} and steps {steps}; give at least two candidates and one step",
            argument="candidates",
            code="range",
        )
    generator = torch.Generator().manual_seed(seed)
    before = answer(attention[None])[0].detach()
    logits = (3 * torch.randn((candidates, *attention.shape), generator=generator)).requires_grad_(True)
    optimiser = torch.optim.Adam([logits], lr=rate, amsgrad=True)
    absent = ~there[:, None, :]
    for _ in range(steps):
        tried = logits.masked_fill(absent, -torch.inf).softmax(dim=-1)
        far = jensen_shannon(tried, attention)  # (K, N)
        moved = total_variation(answer(tried), before)
        apart = jensen_shannon(tried[:, None], tried[None]).sum(dim=(0, 1)) / (candidates * (candidates - 1))  # (N,)
        loss = (500 * (moved - 0.01).clamp(min=0) - far).mean(dim=0) - apart
        optimiser.zero_grad()
        torch.autograd.backward(loss.sum(), inputs=[logits])
        optimiser.step()
    with torch.no_grad():
        tried = logits.masked_fill(absent, -torch.inf).softmax(dim=-1)
        far, moved = jensen_shannon(tried, attention), total_variation(answer(tried), before)
        worth = torch.where(moved <= allowed, far, -1.0)
        best, rows = worth.argmax(dim=0), torch.arange(attention.shape[0])
        found = worth[best, rows] >= 0
    return Adversarial(
        tried[best, rows].double().numpy(),
        torch.where(found, far[best, rows], 0.0).double().numpy(),
        moved[best, rows].double().numpy(),
        found.numpy(),
    )


# Findings


def rank_finding(name: str, against: str, tau: FloatArray, details: dict[str, float] | None = None) -> AuditFinding:
    """Rank correlation of attention with another importance, one τ per row; rows without two tokens are left out."""
    measured = tau[~np.isnan(tau)]
    if len(measured) == 0:
        raise NothingToRank(f"no text has two tokens that attention and {against} rank; give longer texts", code="undefined")
    return judge_finding(
        name,
        measured,
        0.0,
        asks=f"Kendall τ of attention with {against}; 0 is chance, 0.5 is three of four pairs in the same order",
        readings={
            "passes": f"attention ranks tokens much like {against}",
            "flagged": f"attention ranks tokens unlike {against}",
            "unclear": f"attention and {against} agree in part, or there are too few texts",
        },
        blind="both are judged against one another: a low τ does not say which of the two is wrong",
        margin=HALF_ORDERED,
        wanted=True,
        unit="τ",
        details=details,
    )


def permutation_finding(medians: FloatArray) -> AuditFinding:
    """Whether the answer depends on where attention goes."""
    return judge_finding(
        PERMUTATION,
        medians,
        0.0,
        asks="median change of the answer when attention is shuffled among the tokens; "
        f"below {SAME_PREDICTION} it is the same answer",
        readings={
            "passes": "the answer depends on where attention goes",
            "flagged": "shuffled attention gives the same answer: where it goes does not matter",
            "unclear": "shuffling moves some answers and not others, or there are too few of them",
        },
        blind="flat attention, and an answer that is very sure, cannot move much; the model never met shuffled attention",
        margin=SAME_PREDICTION,
        wanted=True,
    )


def adversary_finding(divergence: FloatArray, found: BoolArray) -> AuditFinding:
    """Whether other attention would have given the same answer, from what `adversary` found in every row."""
    return judge_finding(
        ADVERSARY,
        divergence,
        0.0,
        asks="Jensen–Shannon divergence of the farthest attention with the same answer; at most ln 2 = 0.69",
        readings={
            "flagged": "very different attention gives the same answer: this attention is not the only explanation",
            "passes": "no very different attention gives the same answer",
            "unclear": "for some inputs different attention gives the same answer, or there are too few of them",
        },
        blind="made for one input at a time, with hidden states held: it does not show a model that attends like this "
        "(see the model-level adversary)",
        margin=FAR,
        unit="nats",
        details={"found": float(found.mean())},
    )
