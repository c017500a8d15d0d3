"""Games and flows: every value, every solver, every rule."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tools.proof.golden import doors as d
from tools.proof.golden import subjects as s
from tools.proof.golden.asking import Entries, methods, spelled


def _value(name: str, game: Callable[[], Any], **settings: Any) -> Any:
    playing = game()
    groups = s.GROUPS if playing.players == s.PLAYERS else [list(playing.players[:5]), list(playing.players[5:9])]
    return d.value_of(playing, spelled(name, len(playing.players)), groups=groups if "owen" in name else None, **settings)


def games() -> Entries:
    every = {f"table, {name}": partial(_value, name, s.table_game) for name in methods("game")}
    sampled = [name for name in methods("game") if name not in ("nucleolus", "banzhaf-owen")]
    many = {f"function, {name}": partial(_value, name, s.function_game, budget=s.BUDGET, seed=2) for name in sampled}
    return every | many | VALUES | INTERACTIONS | SOLVERS | SEVERAL | CHOICES | TEXTBOOK


VALUES: Entries = {
    "shapley": lambda: d.shapley(s.table_game()),
    "shapley, sampled by itself": lambda: d.shapley(s.function_game(), budget=300, seed=1),
    "shapley to a half-width": lambda: d.shapley(s.function_game(), half_width=0.05, seed=1),
    "shapley of a cached game": lambda: d.shapley(d.cached(s.table_game())),
    "shapley of a group": lambda: d.shapley(d.grouped(s.table_game(), s.GROUPS)),
    "shapley of some, given others": lambda: d.shapley(d.restricted(s.table_game(), s.PLAYERS[:3], given=["eve"])),
    "shapley of cubes": lambda: d.shapley(d.CubeGame("abc", [1.5, -2.0], [[1, 0, 0], [0, 1, 1]], [[0, 1, 0], [0, 0, 0]])),
    "banzhaf": lambda: d.banzhaf(s.table_game()),
    "normalised banzhaf": lambda: d.normalised_banzhaf(s.table_game()),
    "beta 4, 1": lambda: d.beta(s.table_game(), 4.0, 1.0),
    "semivalue": lambda: d.semivalue(s.table_game(), np.array([0.4, 0.075, 0.025, 0.0125, 0.1])),
    "leave one out": lambda: d.leave_one_out(s.table_game()),
    "leaving out": lambda: d.leaving_out(s.table_game()),
    "owen, nested": lambda: d.owen(s.table_game(), [["ann", ["ben", "cas"]], ["dot", "eve"]]),
    "owen by orders": lambda: d.owen(s.function_game(), [list(s.MANY[:4]), list(s.MANY[4:9])], orders=40, seed=3),
    "banzhaf-owen": lambda: d.banzhaf_owen(s.table_game(), [["ann", "ben"], ["cas", "dot"]]),
    "nucleolus": lambda: d.nucleolus(s.table_game()),
    "nucleolus, any sharing": lambda: d.nucleolus(s.table_game(), imputations=False),
    "least core": lambda: d.least_core(s.table_game()),
    "value given": lambda: [d.value_given(s.table_game(), "ann", given=g) for g in ((), ("ben",), ("cas", "dot"))],
    "payoff of a coalition": lambda: d.payoff_of(s.table_game(), ["ann", "eve"]),
    "permutations needed": lambda: d.permutations_needed(10, 2.0, 0.05, 0.01, norm="max"),
    "claims checked": lambda: d.check_claims(d.shapley(s.table_game()), s.table_game(), d.shapley),
    "axioms kept by banzhaf": lambda: d.axioms_kept(d.banzhaf, s.table_game()),
    "report": lambda: d.report(s.table_game()),
}
INTERACTIONS: Entries = {
    "mobius": lambda: d.mobius(s.table_game()),
    "shapley interactions": lambda: d.shapley_interactions(s.table_game()),
    "shapley interactions of three": lambda: d.shapley_interactions(s.table_game(), 3),
    "banzhaf interactions": lambda: d.banzhaf_interactions(s.table_game()),
    "interactions, k-sii": lambda: d.interactions(s.table_game()),
    "interactions, stii": lambda: d.interactions(s.table_game(), "stii"),
    "interactions, fsii": lambda: d.interactions(s.table_game(), "fsii"),
    "interactions, sampled": lambda: d.interactions(s.function_game(), budget=s.BUDGET, seed=4),
    "shapley interactions, sampled": lambda: d.shapley_interactions(s.function_game(), budget=s.BUDGET, seed=4),
    "banzhaf interactions, sampled": lambda: d.banzhaf_interactions(s.function_game(), budget=s.BUDGET, seed=4),
    "best subsets": lambda: d.best_subsets(s.table_game()),
}
SOLVERS: Entries = {
    "Exact": lambda: d.Exact().solve(s.table_game()),
    "Permutations": lambda: d.Permutations(orders=30, seed=5).solve(s.function_game()),
    "Permutations, certified": lambda: d.Permutations(
        budget=300, seed=5, certify=True, payoff_range=(-9.0, 9.0), simultaneous=True
    ).solve(s.function_game()),
    "Antithetic": lambda: d.Antithetic(orders=30, seed=5).solve(s.function_game()),
    "Differences": lambda: d.Differences(budget=300, seed=5, level=0.9).solve(s.function_game()),
    "DifferencesHint": lambda: d.DifferencesHint(budget=300, seed=5).solve(s.function_game()),
    "KernelShap": lambda: d.KernelShap(300, seed=5).solve(s.function_game()),
    "Leverage": lambda: d.Leverage(300, seed=5).solve(s.function_game()),
    "Lime": lambda: d.Lime(300, features=4, seed=5).solve(s.function_game()),
    "Lasso": lambda: d.Lasso(300, alpha=0.02, seed=5).solve(s.function_game()),
    "Surrogate": lambda: d.Surrogate(300, seed=5).solve(s.function_game()),
    "Surrogate, debiased": lambda: d.Surrogate(300, seed=5, centre="debiased").solve(s.function_game()),
    "Truncated": lambda: d.Truncated(300, tolerance=0.05, seed=5).solve(s.function_game()),
    "SampledBanzhaf": lambda: d.SampledBanzhaf(budget=300, seed=5).solve(s.function_game()),
    "SampledBeta": lambda: d.SampledBeta(4.0, 1.0, budget=300, seed=5).solve(s.function_game()),
    "SampledSemivalue": lambda: d.SampledSemivalue((0.4, 0.075, 0.025, 0.0125, 0.1), budget=200, seed=5).solve(s.table_game()),
}
SEVERAL: Entries = {
    "two outputs": lambda: d.shapley(s.tables()),
    "two outputs, sampled": lambda: d.shapley(s.function_games(), budget=300, seed=6),
    "two outputs, banzhaf": lambda: d.banzhaf(s.tables()),
    "one of two outputs": lambda: d.shapley(d.output(s.tables(), "y")),
}
CHOICES: Entries = {
    "multichoice": lambda: d.multichoice(s.levels_game()),
    "multichoice, sampled": lambda: d.multichoice(s.levels_game(), budget=60, seed=7),
    "multichoices": lambda: d.multichoices(s.levels_game()),
    "by player": lambda: d.by_player(d.multichoice(s.levels_game()), s.levels_game()),
    "roll calls": lambda: d.roll_calls(s.levels_game()),
    "bolger": lambda: d.bolger(s.alternatives_game()),
}
TEXTBOOK: Entries = {
    "security council": lambda: d.shapley(d.security_council()),
    "security council, banzhaf": lambda: d.banzhaf(d.security_council()),
    "weighted vote": lambda: d.normalised_banzhaf(d.WeightedVote("abcd", [50, 49, 1, 20], 61)),
    "bankruptcy": lambda: d.nucleolus(d.bankruptcy(200.0, {"a": 100.0, "b": 200.0, "c": 300.0})),
    "airport": lambda: d.shapley(d.airport({"a": 12.0, "b": 28.0, "c": 30.0})),
    "apex": lambda: d.nucleolus(d.apex(5)),
    "gloves": lambda: d.least_core(d.gloves(2, 3)),
}


FLOWS: Entries = {
    "raw attention": lambda: d.raw_attention(s.attention()),
    "rollout": lambda: d.rollout(s.attention()),
    "pairwise flow": lambda: d.pairwise_flow(s.attention()),
    "joint flow, barrier": lambda: d.joint_flow(s.attention(), outputs=0, players=s.TOKENS),
    "joint flow, l2": lambda: d.joint_flow(s.attention(), rule="l2", players=s.TOKENS),
    "joint flow, shapley": lambda: d.joint_flow(s.attention(), rule="shapley", players=s.TOKENS),
    "joint flow, groups": lambda: d.joint_flow(
        s.attention(), rule="shapley", players=s.TOKENS, groups={"negation": ["not", "very", "good"]}
    ),
    "joint flow, sampled": lambda: d.joint_flow(s.attention(2, 14), rule="shapley", orders=60, seed=1),
    "joint flow, inner layer": lambda: d.joint_flow(s.attention(), layer=2, outputs=[0, 3]),
    "joint flow, causal": lambda: d.joint_flow(s.causal(), outputs=5),
    "joint flow, super edges": lambda: d.joint_flow(s.attention(), super_edges=6.0),
    "layerwise flow": lambda: d.layerwise_flow(s.causal(), outputs=5, players=s.TOKENS),
    "spent tokens": lambda: d.spent_tokens(d.layerwise_flow(s.causal(), outputs=5, players=s.TOKENS)),
    "frozen flow": lambda: d.frozen_flow(s.attention(), players=s.TOKENS)[0],
    "flow report": lambda: d.flow_report(s.attention(), players=s.TOKENS),
    "flow report, causal": lambda: d.flow_report(s.causal(), outputs=5, trials=2),
    "flow report, shown": lambda: str(d.flow_report(s.attention(), players=s.TOKENS)),
    "solved flow": lambda: d.solve_joint(s.attention(), rule="l2"),
    "maximum flow": lambda: d.maximum_flow(s.network()),
    "unique flow": lambda: d.unique_flow(s.network(), epsilon=1e-4),
    "flow game": lambda: d.shapley(d.FlowGame(s.network(), players=s.TOKENS)),
    "flow game, nucleolus": lambda: d.nucleolus(d.FlowGame(s.network()), imputations=False),
    "mixed flow game": lambda: d.shapley(d.MixedFlowGame(s.network(), {"low": [(0, 0), (0, 1)], "high": [(2, 0), (2, 4)]})),
    "intervals of credit": lambda: d.credit_intervals(d.FlowGame(s.network())),
    "bounds of pairs": lambda: d.pair_bounds(s.attention(), 2),
    "encoder and decoder": lambda: d.joint_flow(
        d.encoder_decoder(s.attention(2, 4), s.causal()[:2, :3, :3], np.full((2, 3, 4), 0.25)), outputs=6
    ),
    "uniform attention": lambda: d.uniform_attention(s.causal()),
    "graph flow": lambda: d.graph_flow(d.Graph.of(s.EDGES), "s", "t"),
    "least cost": lambda: d.least_cost(d.Graph.of(s.EDGES)),
    "graph flow, its centre": lambda: d.graph_flow(d.Graph.of(s.EDGES), "s", "t", rule="barrier", epsilon=1e-4),
    "graph flow game": lambda: d.shapley(d.GraphFlowGame(d.Graph.of([edge[:3] for edge in s.EDGES]), "s", "t")),
    "several commodities": lambda: d.multi_commodity(d.Graph.of([edge[:3] for edge in s.EDGES]), [("s", "t"), ("a", "b")]),
}
