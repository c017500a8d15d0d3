"""The audit of an attention classifier: is its attention explanation, and is its mask a code for the answer?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from accredit.audit.attention import (
    ADVERSARY,
    GRADIENT,
    LEAVE_ONE_OUT,
    PERMUTATION,
    NothingToRank,
    adversary,
    adversary_finding,
    permutation_finding,
    permute,
    rank_agreement,
    rank_finding,
)
from accredit.audit.counterchecks import COUNTERCHECKS, CounterTraining, counterchecks
from accredit.audit.finding import INERT, PROBE, SCRAMBLE, TRANSPLANT, AuditFinding, Findings
from accredit.audit.leakage import leakage_report
from accredit.audit.probes import inert_mask
from accredit.audit.reader_gaps import Reader
from accredit.checks.arguments import check_arguments
from accredit.core import BoolArray, FloatArray
from accredit.errors import InvalidInput
from accredit.learned.inputs import Array
from accredit.shortcuts.models import AttentionClassifier, AttentionData

if TYPE_CHECKING:
    from accredit.learned.inputs import Numbers  # unseen by `check_arguments`: `AttentionData.of` says more

JAIN_WALLACE = (GRADIENT, LEAVE_ONE_OUT, PERMUTATION, ADVERSARY)
LEAKS = (PROBE, INERT, SCRAMBLE, TRANSPLANT)
TESTS = (*JAIN_WALLACE, *COUNTERCHECKS, *LEAKS)
ROWS_ATTACKED = 200  # rows on which attention is permuted and attacked; more change little and cost much


@check_arguments
def audit_attention(
    model: AttentionClassifier,
    tokens: Numbers,
    query: Numbers,
    labels: Numbers | None = None,
    present: Numbers | None = None,
    *,
    inert: npt.ArrayLike | None = None,
    tests: Sequence[str] = TESTS,
    retraining: CounterTraining = CounterTraining(),
    steps: int = 500,
    permutations: int = 100,
    seed: int = 0,
) -> Findings:
    """Jain & Wallace's tests, Wiegreffe & Pinter's counter-checks and the leakage detectors that need no other model.

    `tokens` (N, T, width), `query` (N, query) and `present` (N, T) are as for the model; `labels` (N,) are needed for the
    counter-checks only, which train models again. `inert` (T,) marks tokens that cannot inform. Leakage is measured about the
    model's own answers. Cost: `steps` passes over at most 200 rows × 5 candidates; the counter-checks train about ten
    small models.

    >>> from accredit.shortcuts import AttentionShape
    >>> rng = np.random.default_rng(0)
    >>> tokens, query = rng.normal(size=(60, 5, 3)), rng.normal(size=(60, 2))
    >>> model = AttentionClassifier(AttentionShape(width=3, query=2), seed=0)
    >>> report = audit_attention(model, tokens, query, tests=JAIN_WALLACE, permutations=5, steps=5)
    >>> [finding.name for finding in report]
    ['gradients', 'leave-one-out', 'permuted attention', 'adversarial attention']
    """
    data = AttentionData.of(model.shape, tokens, query, labels, present)
    unknown = sorted(set(tests) - set(TESTS))
    if unknown:
        raise InvalidInput(
            f"there is no test {unknown[0]!r} of attention; write some of {', '.join(TESTS)}", argument="tests", code="unknown"
        )
    if model.shape.attention == "uniform":
        raise InvalidInput(
            "this model has uniform attention: it selects nothing, so there is nothing to audit",
            argument="model",
            code="unsupported",
        )
    if inert is not None:
        inert_mask(inert, tuple(data.tokens.shape[:2]))
    not_run: dict[str, str] = {}
    found = {finding.name: finding for finding in _jain_wallace(model, data, tests, permutations, steps, seed, not_run)}
    if set(tests) & set(COUNTERCHECKS):
        if labels is None:
            not_run |= dict.fromkeys(COUNTERCHECKS, "needs labels, to train models again")
        else:
            found |= {finding.name: finding for finding in counterchecks(model, data, retraining, seed)}
    leaks = tuple(name for name in LEAKS if name in tests)
    answers, masks = model.predict(data.tokens, data.query, data.present)
    said = answers.argmax(axis=1)
    if leaks and len(np.unique(said)) < 2:
        not_run |= dict.fromkeys(leaks, "the model gives one answer to all rows, so there is nothing to leak")
    elif leaks:
        report = leakage_report(
            None, _rows(data), masks, said, surrogate=_reader(model, data), inert=inert, tests=leaks, seed=seed
        )
        found |= {finding.name: finding for finding in report}
        not_run |= report.not_run
    kept = tuple(found[name] for name in TESTS if name in tests and name in found)
    return Findings(
        f"attention of a {model.shape.encoder} classifier",
        kept,
        {name: why for name, why in not_run.items() if name in tests},
        (f"{len(data)} rows; leave-one-out removes a token, not its trace in the query",),
    )


def _jain_wallace(
    model: AttentionClassifier,
    everything: AttentionData,
    tests: Sequence[str],
    permutations: int,
    steps: int,
    seed: int,
    not_run: dict[str, str],
) -> list[AuditFinding]:
    """The findings; a test that these rows cannot answer is put into `not_run` instead."""
    chosen = torch.from_numpy(np.random.default_rng(seed).permutation(len(everything))[:ROWS_ATTACKED])
    data = everything.take(chosen)
    with torch.no_grad():
        attention = model.select(*data.given)
    there: BoolArray = data.there.numpy()
    weights, found = attention.double().numpy(), []
    for name, importance in ((GRADIENT, gradients), (LEAVE_ONE_OUT, removals)):
        if name in tests:
            try:
                found.append(rank_finding(name, name, rank_agreement(weights, importance(model, data), there)))
            except NothingToRank as error:
                not_run[name] = str(error)
    answer = impose(model, data)
    if PERMUTATION in tests:
        found.append(permutation_finding(permute(answer, attention[:, None], data.there, permutations, seed)))
    if ADVERSARY in tests:
        result = adversary(answer, attention[:, None], data.there, steps=steps, seed=seed)
        found.append(adversary_finding(result.divergence, result.found))
    return found


def gradients(model: AttentionClassifier, data: AttentionData) -> FloatArray:
    """|Σ slope · token| of the predicted class's log-odds with attention detached: (N, T) (Jain & Wallace, 2019)."""
    tokens = data.tokens.detach().clone().requires_grad_(True)
    with torch.no_grad():
        mask = model.select(*data.given)
    logits = model.answer(tokens, mask, data.present)
    said = logits.argmax(dim=1, keepdim=True)
    others = logits.scatter(1, said, -torch.inf)
    worth = logits.gather(1, said).squeeze(1) - others.logsumexp(dim=1)
    (slope,) = torch.autograd.grad(worth.sum(), tokens)
    return np.asarray((slope * tokens.detach()).sum(dim=2).abs().double().numpy())


@torch.no_grad()
def removals(model: AttentionClassifier, data: AttentionData) -> FloatArray:
    """|Δ probability| of the predicted class when a token is taken away, attention made anew: (N, T); 0 for padding."""
    before = model(*data.given)[0].softmax(dim=1)
    said = before.argmax(dim=1, keepdim=True)
    lost = torch.zeros(data.tokens.shape[:2])
    for place in range(data.tokens.shape[1]):
        there = data.there.clone()
        there[:, place] = False
        rows = (data.there[:, place] & there.any(dim=1)).nonzero().squeeze(1)
        if len(rows):
            after = model(data.tokens[rows], data.query[rows], there[rows])[0].softmax(dim=1)
            lost[rows, place] = (after - before[rows]).gather(1, said[rows]).abs().squeeze(1)
    return np.asarray(lost.double().numpy())


def impose(model: AttentionClassifier, data: AttentionData) -> Callable[[Tensor], Tensor]:
    """The model's probabilities under imposed attention: (K, N, 1, T) -> (K, N, classes)."""

    def answer(attention: Tensor) -> Tensor:
        copies = attention.shape[0]
        tokens = data.tokens.repeat(copies, 1, 1)
        present = None if data.present is None else data.present.repeat(copies, 1)
        logits = model.answer(tokens, attention.flatten(0, 1).squeeze(1), present)
        return torch.reshape(logits.softmax(dim=1), (copies, len(data), -1))

    return answer


def _rows(data: AttentionData) -> npt.NDArray[np.int64]:
    """Row numbers stand for tokens, so that a reader finds the tokens and the padding that belong to them."""
    return np.arange(len(data))


def _reader(model: AttentionClassifier, data: AttentionData) -> Reader:
    """The answering part as a reader of (row numbers, masks)."""

    @torch.no_grad()
    def read(rows: Array, masks: FloatArray) -> FloatArray:
        taken = data.take(torch.from_numpy(np.asarray(rows)))
        logits = model.answer(taken.tokens, torch.from_numpy(masks).float(), taken.present)
        return np.asarray(logits.double().softmax(dim=1).numpy())

    return read
