"""Layered capacity networks: exact max flow, unique flows, the flow game, and certificates for all of them."""

from accredit.flow.certificate import Certificate, Flow
from accredit.flow.circulation import KKT, Circulation, circulation, kkt, kkt_of
from accredit.flow.game import FlowGame, FrozenFlowGame
from accredit.flow.intervals import credit_intervals
from accredit.flow.maximum import MaximumFlow, MaximumFlows, maximum_flow
from accredit.flow.network import LayeredNetwork, flow_matrix
from accredit.flow.pairs import PairFlows, pair_bounds
from accredit.flow.unique import unique_flow

__all__ = [
    "KKT", "Certificate", "Circulation", "Flow", "FlowGame", "FrozenFlowGame", "LayeredNetwork", "MaximumFlow", "MaximumFlows",
    "PairFlows", "circulation", "credit_intervals", "flow_matrix", "kkt", "kkt_of", "maximum_flow", "pair_bounds",
    "unique_flow",
]  # fmt: skip
