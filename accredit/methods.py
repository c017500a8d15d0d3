"""Every method by name: what it divides, among whom, and which axioms its credit keeps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Method:
    """One method. `axioms` names those that hold exactly for the value itself, before any sampling."""

    name: str
    call: str
    players: str
    divides: str
    axioms: tuple[str, ...]
    note: str = ""


ALL_FOUR = ("efficiency", "symmetry", "null player", "linearity")
SEMIVALUE = ("symmetry", "null player", "linearity")

METHODS = (
    Method("shapley", "accredit.shapley(game)", "any", "v(N) − v(∅)", ALL_FOUR, "exact, or estimated with intervals"),
    Method("banzhaf", "accredit.banzhaf(game)", "any", "nothing: averages marginals", SEMIVALUE, "robust to noisy payoffs"),
    Method("beta", "accredit.beta(game, α, β)", "any", "nothing: averages marginals", SEMIVALUE, "Beta(1, 1) is Shapley"),
    Method("semivalue", "accredit.semivalue(game, weights)", "any", "nothing: averages marginals", SEMIVALUE),
    Method("leave-one-out", "accredit.leave_one_out(game)", "any", "nothing: v(N) − v(N∖i)", SEMIVALUE,
           "equals Shapley in additive games"),
    Method("owen", "accredit.owen(game, groups)", "any, in nested groups", "v(N) − v(∅)",
           ("efficiency", "null player", "linearity"), "symmetric inside groups"),
    Method("lime", "accredit.values.Lime().solve(game)", "any", "nothing: slopes of a local line", ("linearity",),
           "ridge fit near the whole input; its R² is reported"),
    Method("knn-shapley", "accredit.valuation.knn_shapley(data)", "training rows", "right neighbours", ALL_FOUR,
           "closed form for nearest neighbours; accredit value --method knn"),
    Method("truncated", "accredit.valuation.data_shapley(game, budget, truncation=0.01)", "training rows",
           "v(N) − v(∅), in part", ("null player",), "TMC: cheaper, biased; accredit value --method tmc:0.01"),
    Method("influence", "accredit.valuation.influence(objective)", "training rows", "nothing: slopes", ("symmetry",),
           "first order of leave-one-out on the loss; accredit value --method influence"),
    Method("datamodel", "accredit.valuation.datamodels(game, subsets)", "training rows", "nothing: a linear fit", (),
           "lasso over random subsets; accredit value --method datamodel"),
    Method("integrated-gradients", "accredit.gradients.integrated_gradients(model, text)", "tokens, patches, columns",
           "f(input) − f(baseline)", ("efficiency", "linearity"), "of the integral; the gap of its sum is reported"),
    Method("input-x-gradient", "accredit.gradients.input_x_gradient(model, text)", "tokens, patches, columns",
           "nothing: scores", ("linearity",)),
    Method("saliency", "accredit.gradients.saliency(model, text)", "tokens, patches, columns", "nothing: scores", ()),
    Method("smoothgrad", "accredit.gradients.smoothgrad(model, text)", "tokens, patches, columns", "nothing: scores", ()),
    Method("attention", "accredit.attention.raw_attention(attention)", "tokens, patches", "nothing: scores", ()),
    Method("rollout", "accredit.attention.rollout(attention)", "tokens, patches", "nothing: scores", ()),
    Method("pairwise-flow", "accredit.attention.pairwise_flow(attention)", "tokens, patches", "nothing: one flow a pair", (),
           "also :gf and :agf, on gradients"),
    Method("flow", "accredit.attention.joint_flow(attention)", "tokens of a layer", "the max flow", ("null player",),
           "analytic centre of all max flows, efficient to epsilon; also :gf and :agf"),
    Method("flow-l2", 'accredit.attention.joint_flow(attention, rule="l2")', "tokens of a layer", "the max flow",
           ("efficiency", "null player"), "the max flow of least squares; also :gf and :agf"),
    Method("flow-shapley", 'accredit.attention.joint_flow(attention, rule="shapley")', "tokens of a layer", "the max flow",
           ALL_FOUR, "of the re-solved flow game; also :gf and :agf"),
)  # fmt: skip
