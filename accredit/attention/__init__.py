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
from accredit.attention.readings import pairwise_flow, raw_attention, rollout
from accredit.attention.report import FlowReport, Relabelling, flow_report

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
