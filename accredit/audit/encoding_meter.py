"""The encode-meter: what does the choice add to the values that are shown?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from accredit.audit.finding import AuditFinding, interval_of, judge_finding
from accredit.audit.names import EXCESS_MARGIN, METER
from accredit.audit.probes import halves
from accredit.audit.readers import Reader, ask, patience_for, surprise
from accredit.audit.value_swaps import others
from accredit.core import FloatArray, IntArray
from accredit.learned.evalx import answers, train_masked
from accredit.learned.inputs import Array, Inputs
from accredit.learned.networks import network_for


def encode_meter(
    inputs: Inputs,
    x: Array,
    masks: FloatArray,
    labels: IntArray,
    evalx: Reader,
    *,
    fit: IntArray | None = None,
    score: IntArray | None = None,
    width: int | None = None,
    seed: int = 0,
) -> AuditFinding:
    r"""What the choice adds to the shown values, in nats: CE of EVAL-X on $x_S$ − CE of a reader trained on $(x_S, S)$.

    An estimate of $E[\log P(Y \mid X_S, M{=}S) - \log P(Y \mid X_S)]$ (after Puli et al., 2024). A reader trained on just
    these masks also gains from practice; chance is the same meter with the masks dealt out to other rows, where nothing
    can be encoded and practice is all there is. Two trainings.
    """
    fit, score = halves(len(masks), seed) if fit is None or score is None else (fit, score)
    rng = np.random.default_rng(seed)
    dealt = masks.copy()
    for part in (fit, score):
        dealt[part] = masks[part[others(len(part), rng)]]
    gains = []
    for drawn in (masks, dealt):
        reader = _reader(inputs, x[fit], drawn[fit], labels[fit], int(labels.max()) + 1, width, seed)
        ours = surprise(answers(reader, x[score], drawn[score]), labels[score])
        gains.append(surprise(ask(evalx, x[score], drawn[score], labels[score]), labels[score]) - ours)
    found = judge_finding(
        METER,
        gains[0],
        gains[1],
        asks="nats about the answer in the choice, beyond the values shown; chance column: masks dealt out at random",
        readings={
            "flagged": "the choice says more about the answer than the chosen values do",
            "passes": "a reader of values and choice finds nothing in the choice beyond the values",
            "unclear": "the choice may add a little; more rows would show",
        },
        blind="a better reader may find a code that this one misses; it also accuses honest explainers whose choice depends on "
        "the class, so it is a hint and decides nothing",
        margin=EXCESS_MARGIN,
        unit="nats",
    )
    if found.verdict == "flagged" and not interval_of(gains[0]).above(EXCESS_MARGIN):  # less than chance is not evidence
        return replace(found, verdict="unclear", reading="the choice adds less than the margin; only chance is lower still")
    return found


class _MaskAware(nn.Module):
    """A network of x ⊙ m that also sees the mask, which removed words or dark pixels do not always show."""

    def __init__(self, inputs: Inputs, classes: int, width: int | None, seed: int) -> None:
        super().__init__()
        self.values = network_for(inputs, classes, width=width, seed=seed)
        self.join = nn.Sequential(nn.Linear(classes + inputs.n, 64), nn.ReLU(), nn.Linear(64, classes))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        from_values: Tensor = self.values(x, mask)
        both: Tensor = from_values + self.join(torch.cat([from_values, mask], dim=1))
        return both


def _reader(
    inputs: Inputs, x: Array, masks: FloatArray, labels: IntArray, classes: int, width: int | None, seed: int
) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = _MaskAware(inputs, classes, width, seed)
    epochs, patience = patience_for(len(x))
    train_masked(
        network,
        x,
        np.eye(classes)[labels],
        lambda _rng, index: masks[index],
        epochs=epochs,
        patience=patience,
        batch=128,
        rate=1e-3,
        seed=seed,
    )
    return network
