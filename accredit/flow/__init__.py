"""Layered capacity networks: exact max flow, unique flows, the flow game, and certificates for all of them."""

from accredit.flow.certificate import Certificate, Flow
from accredit.flow.circulation import KKT, Circulation, circulation, kkt, kkt_of
from accredit.flow.game import FlowGame, FrozenFlowGame, MixedFlowGame, credit_intervals
from accredit.flow.maximum import MaximumFlow, MaximumFlows, maximum_flow
from accredit.flow.network import LayeredNetwork, flow_matrix
from accredit.flow.pairs import PairFlows, pair_bounds
from accredit.flow.stack import AttentionStack, encoder_decoder, is_causal, leave_unread, some_layers, uniform_attention
from accredit.flow.uniform import Continued, continued_credit
from accredit.flow.unique import unique_flow

__all__ = [
    "KKT", "AttentionStack", "Certificate", "Circulation", "Continued", "Flow", "FlowGame", "FrozenFlowGame",
    "LayeredNetwork", "MaximumFlow", "MaximumFlows", "MixedFlowGame", "PairFlows", "circulation", "continued_credit",
    "credit_intervals", "encoder_decoder", "flow_matrix", "is_causal", "kkt", "kkt_of", "leave_unread", "maximum_flow",
    "pair_bounds", "some_layers", "uniform_attention", "unique_flow",
]  # fmt: skip
