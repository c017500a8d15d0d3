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
)  # fmt: skip
