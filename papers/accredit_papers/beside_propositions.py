"""What the paper says beside its propositions: mixed layers, rollout, the degenerate case, correctness, the axioms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import Estimate, FloatArray
from accredit.core.coalitions import from_index
from accredit.evaluate.agreement import spearman
from accredit.evaluate.bootstrap import bootstrap
from accredit.games import TableGame, text_game
from accredit.values import leave_one_out, shapley
from accredit_papers.report import Report
from accredit_papers.verdicts import of_estimate

if TYPE_CHECKING:
    from accredit.models.text import TextModel


def degenerate(report: Report) -> None:
    """The case that the proposition sets aside: a player who matters only when all others are there."""
    n = 5
    game = TableGame(tuple("abcde"), [0.0] * 31 + [1.0])
    out, fair = leave_one_out(game).credit, shapley(game).credit
    report.verdict(
        "The degenerate case: where only N∖i matters to a player, leave-one-out is the Shapley value",
        np.allclose(out, fair),
        f"v(N) = 1 and 0 elsewhere: leave-one-out gives {out[0]:g} to each of {n}, Shapley {fair[0]:g}. Only one term in n is "
        "left, so the value is leave-one-out divided by n",
    )


def mix_layers(report: Report, attention: FloatArray, tokens: tuple[str, ...]) -> None:
    """Players of different layers: the flow is still shared, the outflows no longer add up."""
    from accredit.flow.game import MixedFlowGame
    from accredit.flow.network import LayeredNetwork
    from accredit.flow.unique import unique_flow

    report.heading("Players of different layers")
    few = np.array_split(np.arange(len(tokens)), 3)
    places = {
        f"layer {layer}, third {k + 1}": [(layer, int(t)) for t in third] for layer in (0, 1) for k, third in enumerate(few)
    }
    network = LayeredNetwork.from_attention(attention)
    game = MixedFlowGame(network, places)
    credit = shapley(game)
    through = unique_flow(network).through
    outflow = np.array([sum(through[layer, token] for layer, token in listed) for listed in places.values()])
    shares = zip(game.players, outflow, credit.credit, strict=True)
    report.table(["player", "outflow", "Shapley, solved anew"], [[p, a, b] for p, a, b in shares])
    total = float(credit.total or 0.0)
    report.verdict(
        "With players of different layers the Shapley value is not efficient",
        abs(float(credit.credit.sum()) - total) > 1e-6,
        f"it adds up to {credit.credit.sum():.4f} of {total:.4f}: every Shapley value is efficient. The outflow is "
        f"not: it adds up to {outflow.sum():.4f}, because what passes two layers is counted twice",
    )


def roll(report: Report, attention: FloatArray, tokens: tuple[str, ...]) -> None:
    """The remark on attention rollout."""
    from accredit.attention import rollout

    report.heading("Attention rollout")
    paid = rollout(attention).sum(axis=0)
    additive = TableGame(tokens, from_index(np.arange(1 << len(tokens)), len(tokens)) @ paid)
    gap = float(np.abs(shapley(additive).credit - paid).max())
    report.verdict(
        "Rollout values cannot be Shapley values, of any game",
        gap > 1e-9,
        f"v(S) = what rollout pays to members of S is a game, and its Shapley values are the rollout values (gap {gap:.0e}), "
        "as for Proposition 1. In the game of the proof, where rows are renormalised, every value is 1 and rollout pays "
        f"{paid.min():.2f} to {paid.max():.2f}",
    )


def correctness(report: Report, model: TextModel, sentence: str) -> None:
    """Leave-one-out for a payoff of 0 or 1, on a real model."""
    game = text_game(model, sentence, players="word", payoff="correctness")
    out, fair = leave_one_out(game).credit, shapley(game).credit
    report.verdict(
        "With correctness as the payoff leave-one-out is binary, and the Shapley value is not",
        set(out.tolist()) <= {0.0, 1.0} and len({round(float(x), 9) for x in fair}) > 2,
        f"“{sentence}”: leave-one-out {', '.join(f'{x:g}' for x in out)}; Shapley from {fair.min():.3f} to {fair.max():.3f}",
    )


def allocations(report: Report, seed: int) -> None:
    """Statements beside the propositions: what singles out Shapley, what zero credit says, what SHAP assumes."""
    from accredit.evaluate import axioms_kept
    from accredit.values import KernelShap, banzhaf

    report.heading("Beside the propositions")
    rng = np.random.default_rng(seed)
    table = rng.normal(size=32)
    game = TableGame(tuple("abcde"), table)
    three = all(found.verdict != "broken" for found in axioms_kept(banzhaf, game) if found.axiom != "efficiency")
    report.verdict(
        "Null player, symmetry and additivity single out the Shapley value (2.2)",
        not three,
        "the Banzhaf value keeps all three and is another value; what singles out Shapley is efficiency with them",
    )
    hidden = TableGame(("a", "b"), [0, 1, 0, -1])
    report.verdict(
        "A player with zero credit is a null player (6)",
        abs(shapley(hidden)["a"]) > 1e-12,
        f"a adds {hidden.table[1]:g} alone and {hidden.table[3] - hidden.table[2]:g} beside b: its Shapley value is 0 and it "
        "is not a null player. The axiom says the converse",
    )
    found = KernelShap(budget=32, seed=seed).solve(game).credit
    gap = float(np.abs(found - shapley(game).credit).max())
    report.verdict(
        "SHAP assumes that contributions are linear, that a coalition is the sum of its parts (7)",
        gap > 1e-6,
        f"Kernel SHAP from all coalitions of a random game of five is its Shapley value (gap {gap:.0e}), interactions and all; "
        "what is linear is the explanation, not the game",
    )


def confidence(report: Report, model: TextModel, texts: Sequence[str], seed: int) -> None:
    """Whether the total flow says how sure the model is, over sentences: as it is, and for each token."""
    from accredit.flow.maximum import MaximumFlows
    from accredit.flow.network import LayeredNetwork

    rows = []
    for text in texts:
        seen = model.encode(text)
        total = MaximumFlows(LayeredNetwork.from_attention(model.attentions(seen).mean(axis=1))).value()
        rows.append((total, total / len(seen.tokens), float(model.predict(seen).max())))
    flow, share, sure = np.array(rows).T
    found = [correlate(x, sure, seed) for x in (flow, share)]
    report.verdict(
        "The total flow reflects the model's confidence (7)",
        of_estimate(found[0], low=0, count=len(texts), unit="sentence"),
        f"Spearman of total flow and the probability of the answer over {len(texts)} sentences: {found[0]:+.2f}; of the flow "
        f"per token: {found[1]:+.2f}. The total is at most the number of tokens, whatever the answer",
    )


def correlate(x: FloatArray, y: FloatArray, seed: int) -> Estimate:
    """The rank correlation of two rows of numbers, with an interval over pairs."""

    def of(picked: FloatArray) -> FloatArray:
        at = picked.astype(np.int64)
        rows = at.reshape(-1, at.shape[-1])
        return np.array([spearman(x[row], y[row]) for row in rows]).reshape(at.shape[:-1])

    return bootstrap(np.arange(float(len(x))), of, seed=seed)
