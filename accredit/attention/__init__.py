"""Attention as explanation: raw weights, rollout, pairwise flow, joint flow, and a report of what the flow determines."""

from accredit.attention.joint import (
    SpentToken,
    flow_credit,
    frozen_flow,
    joint_flow,
    layerwise_flow,
    solve_joint,
    spent_tokens,
)
from accredit.attention.report import FlowReport, Relabelling, flow_report, pairwise_flow
from accredit.attention.rollout import raw_attention, rollout

__all__ = [
    "FlowReport",
    "Relabelling",
    "SpentToken",
    "flow_credit",
    "flow_report",
    "frozen_flow",
    "joint_flow",
    "layerwise_flow",
    "pairwise_flow",
    "raw_attention",
    "rollout",
    "solve_joint",
    "spent_tokens",
]
