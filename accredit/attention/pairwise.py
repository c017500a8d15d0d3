"""Pairwise attention flow: a max flow of its own for every pair of output and input token (Abnar & Zuidema, 2020)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from accredit.checks.arguments import check_arguments
from accredit.core import FloatArray
from accredit.flow.network import LayeredNetwork, output_rows
from accredit.flow.pairs import PairFlows
from accredit.flow.stack import AttentionStack


@check_arguments
def pairwise_flow(
    attention: object, *, outputs: int | Sequence[int] | None = None, residual: float = 0.5, normalise: bool = True
) -> FloatArray:
    """Max flow from each chosen output token to each input token, (len(outputs), T).

    Every entry is a different flow that has the network for itself, so a row is not a division of anything: its sum
    can exceed all that the output token can emit many times over. Use `joint_flow` to share one flow. Deep attention
    often makes entry (i, j) equal to min(all that leaves i, all that enters j); `flow_report` shows how often.

    Cost: one max flow per pair (about 2 ms at T = 64, L = 12), or O(T²) for pairs whose bound is met by a flow that can
    be written down; see `accredit.flow.pairs`.

    >>> pairwise_flow([[[0.5, 0.5], [0.0, 1.0]]], outputs=0, residual=0.0)
    array([[0.5, 0.5]])
    """
    network = LayeredNetwork.from_attention(attention, outputs=outputs, residual=residual, normalise=normalise)
    if outputs is None and isinstance(attention, AttentionStack):
        outputs = np.flatnonzero(~attention.carried[-1]).tolist()
    flows = PairFlows(network.capacity)
    return np.array([flows.row(int(i)) for i in output_rows(outputs, network.tokens)])
