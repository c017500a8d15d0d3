"""Propositions 1 to 3 of “Attention Flows are Shapley Value Explanations”, run on a real model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accredit.arena.texts import sample
from accredit.core import FloatArray, IntArray
from accredit.core.coalitions import from_index
from accredit.evaluate.agreement import spearman
from accredit.games import TableGame, text_game
from accredit.values import leave_one_out, shapley
from accredit.values.semivalues import leave_one_out_weights, semivalue_from_table, shapley_from_table
from accredit_papers import beside_propositions as beside
from accredit_papers.report import Report, Whose

if TYPE_CHECKING:
    import matplotlib.axes

    from accredit.models.text import TextModel

SENTENCE = "The plot is thin but the acting is superb."
TWICE = "A superb film with superb acting."


def propositions(model: TextModel, quick: bool = False, seed: int = 0, texts: Sequence[str] | None = None) -> Report:
    """Run all three; `model` is a `TextModel` whose attention is read."""
    report = Report("propositions", "Attention, flows, leave-one-out and Shapley: three propositions, run")
    report.say(
        "Ethayarajh and Jurafsky (2021) prove that attention weights are not Shapley values (Proposition 1), that "
        "attention flows are (Proposition 2), and that leave-one-out values are not (Proposition 3). Each is run here "
        "as a program. The first holds for the game that its proof builds, the second only for a frozen flow, the "
        "third not for every game it covers."
    )
    seen = model.encode(SENTENCE)
    attention = model.attentions(seen).mean(axis=1)
    tokens = tuple(f"{token}·{i}" for i, token in enumerate(seen.tokens))
    name = Path(model.name).name
    report.say(f"Model: {name}, {len(attention)} layers; sentence: “{SENTENCE}” ({len(tokens)} tokens); heads averaged.")
    weights(report, attention[-1], tokens)
    flows(report, attention, tokens, 4 if quick else 30, seed)
    beside.mix_layers(report, attention, tokens)
    beside.roll(report, attention, tokens)
    erasure(report, 20 if quick else 500, seed)
    beside.degenerate(report)
    redundancy(report, model)
    beside.correctness(report, model, SENTENCE)
    beside.allocations(report, seed)
    sentences = [example.text for example in sample()] if texts is None else texts
    beside.confidence(report, model, sentences[: 8 if quick else None], seed)
    return report


def _of(model: str, text: str) -> str:
    return f"{model}: {text}" if model else text


# Proposition 1


def renormalise_game(attention: FloatArray, tokens: tuple[str, ...]) -> TableGame:
    """The proof's game: the attention paid within S, every member's weights renormalised over S: v(S) = |S|."""
    members = from_index(np.arange(1 << len(tokens)), len(tokens))
    heard = members @ attention.T  # (coalitions, tokens): what each token pays to S
    paid = np.divide(heard, heard, out=np.zeros_like(heard), where=heard > 0)
    return TableGame(tokens, (paid * members).sum(axis=1))


def plain_game(attention: FloatArray, tokens: tuple[str, ...]) -> TableGame:
    """The attention paid within S as it is: v(S) = Σ_{i,j ∈ S} a_ij."""
    members = from_index(np.arange(1 << len(tokens)), len(tokens)).astype(float)
    return TableGame(tokens, np.einsum("si,ij,sj->s", members, attention, members))


def weights(report: Report, attention: FloatArray, tokens: tuple[str, ...], model: str = "") -> None:
    """Proposition 1 on one attention matrix; statements name the model where one is given."""
    report.heading(_of(model, "Proposition 1: attention weights are not Shapley values"))
    paid_to = attention.sum(axis=0)
    proof = shapley(renormalise_game(attention, tokens)).credit
    plain = shapley(plain_game(attention, tokens)).credit
    additive = TableGame(tokens, from_index(np.arange(1 << len(tokens)), len(tokens)) @ paid_to)
    report.table(
        ["token", "attention paid to it", "Shapley, proof's game", "Shapley, attention within S"],
        [[t, a, b, c] for t, a, b, c in zip(tokens, paid_to, proof, plain, strict=True)],
        detail=True,
    )
    off = float(np.abs(paid_to - proof).max())
    report.verdict(
        _of(model, "Proposition 1 for the game of its proof: total attention is not the Shapley value"),
        off > 1e-3,
        "every row sums to 1, so each member of a coalition adds exactly 1 and every Shapley value is 1; the "
        f"attention paid to tokens runs from {paid_to.min():.3f} to {paid_to.max():.3f}. The contradiction is "
        f"{off:.3f} wide",
    )
    report.verdict(
        _of(model, "The same without renormalising: total attention is not the Shapley value"),
        float(np.abs(paid_to - plain).max()) > 1e-3,
        f"then φ_i = (1 + attention paid to i)/2 (checked to {np.abs(plain - (1 + paid_to) / 2).max():.0e}), which is "
        "the attention only where that is 1",
        whose=Whose.OURS,
    )
    same = float(np.abs(shapley(additive).credit - paid_to).max())
    report.verdict(
        _of(model, "Proposition 1 as stated: there is *no* game whose Shapley values are the attention weights"),
        same > 1e-9,
        "v(S) = total attention paid to members of S is a game, additive, and its Shapley values are those totals "
        f"(gap {same:.0e}). Any numbers are the Shapley values of some game; the proposition needs the game that its "
        "proof builds",
    )


# Proposition 2


def inflow(attention: FloatArray, order: IntArray) -> tuple[float, FloatArray]:
    """One max flow through the attention graph, and what it brings to each input token, with tokens renumbered by `order`."""
    from accredit.flow.maximum import MaximumFlows
    from accredit.flow.network import LayeredNetwork

    renumbered = attention[:, order][:, :, order]
    found = MaximumFlows(LayeredNetwork.from_attention(renumbered)).solve()
    credit = np.empty(len(order))
    credit[order] = found.demand
    return found.value, credit


def resolve_game(attention: FloatArray, tokens: tuple[str, ...]) -> TableGame:
    """v(S) = the max flow when only the input tokens of S may receive any, solved anew for every S."""
    from accredit.flow.maximum import MaximumFlows
    from accredit.flow.network import LayeredNetwork

    solver = MaximumFlows(LayeredNetwork.from_attention(attention))
    return TableGame(tokens, solver.values(from_index(np.arange(1 << len(tokens)), len(tokens))))


def flows(
    report: Report, attention: FloatArray, tokens: tuple[str, ...], renumberings: int, seed: int, model: str = ""
) -> None:
    """Proposition 2 on one attention stack: frozen against solved anew."""
    from accredit.flow.maximum import MaximumFlows
    from accredit.flow.network import LayeredNetwork

    report.heading(_of(model, "Proposition 2: attention flows are Shapley values"))
    rng = np.random.default_rng(seed)
    total, first = inflow(attention, np.arange(len(tokens)))
    others = [inflow(attention, rng.permutation(len(tokens)))[1] for _ in range(renumberings)]
    game = resolve_game(attention, tokens)
    v = game.table
    members = from_index(np.arange(v.size), len(tokens))
    phi = shapley(game)
    low = v[-1] - v[(v.size - 1) ^ (1 << np.arange(len(tokens)))]
    high = v[1 << np.arange(len(tokens))]
    spread = np.ptp(np.array([first, *others]), axis=0)
    report.table(
        ["token", "one max flow", "least in any max flow", "most in any", "Shapley of the re-solved game"],
        [[t, a, b, c, d] for t, a, b, c, d in zip(tokens, first, low, high, phi.credit, strict=True)],
        detail=True,  # the figure shows them
    )
    frozen = members @ first
    report.verdict(
        _of(model, "Proposition 2 for one frozen flow: each token's inflow is its Shapley value"),
        np.abs(shapley(TableGame(tokens, frozen)).credit - first).max() < 1e-9,
        "v(S) adds up what one fixed flow brings to S: an additive game, in which any numbers are their own Shapley "
        "values. Nothing about flows is used",
    )
    gap = float((v - frozen).max())
    report.verdict(
        _of(model, "The frozen payoff is less than the max flow through S, for some S"),
        gap > 1e-6,
        f"solving anew for S finds up to {gap:.3f} more (max flow in all: {total:.3f}), in "
        f"{np.mean(v - frozen > 1e-6):.0%} of the {v.size:,} coalitions",
        whose=Whose.OURS,
    )
    report.verdict(
        _of(model, "Proposition 2 for the max flow through S, solved anew: the inflow of a max flow is the Shapley value"),
        np.abs(first - phi.credit).max() < 1e-6,
        f"the flow found and the Shapley value differ by up to {np.abs(first - phi.credit).max():.3f}",
    )
    agree = float(np.mean([spearman(first, other) for other in others]))
    report.verdict(
        _of(model, "Maximum flows are not unique: the credit of a token depends on the solver (4.1 of the draft)"),
        spread.max() > 1e-6,
        f"renumbering the tokens {renumberings} times moves a token's inflow by up to {spread.max():.3f} (mean "
        f"Spearman {agree:.2f}); the widest interval over all max flows is {np.max(high - low):.3f}",
    )
    report.figure(
        "_".join(["intervals", *re.findall(r"\w+", model.lower())]),
        _of(model, "What each token can receive in any max flow (line), in one (open), and its Shapley value (filled)."),
        lambda axes: _draw(axes, tokens, low, high, first, phi.credit),
    )
    realised = MaximumFlows(LayeredNetwork.from_attention(attention)).value(demand=phi.credit)
    inside = bool(((phi.credit >= low - 1e-9) & (phi.credit <= high + 1e-9)).all())
    report.verdict(
        _of(
            model,
            "The repair, for players of the input or the output layer: the Shapley value of the re-solved game is unique, "
            "shares the whole flow, and is itself a max flow",
        ),
        abs(phi.credit.sum() - total) < 1e-6 and inside and abs(realised - total) < 1e-6,
        f"it sums to {phi.credit.sum():.6f} of {total:.6f}, lies in every token's interval, and with these numbers as "
        f"sink capacities the max flow is still {realised:.6f}",
        whose=Whose.OURS,
    )


def _draw(
    axes: matplotlib.axes.Axes, tokens: tuple[str, ...], low: FloatArray, high: FloatArray, one: FloatArray, value: FloatArray
) -> None:
    x = np.arange(len(tokens))
    axes.vlines(x, low, high, color="0.6", lw=3)
    axes.plot(x, one, "o", mfc="none", color="C1", label="one max flow")
    axes.plot(x, value, "o", color="C0", ms=4, label="Shapley, re-solved")
    axes.set_xticks(x, [token.rpartition("·")[0] for token in tokens], rotation=45, ha="right")
    axes.set_ylabel("flow into the token")
    axes.legend(frameon=False)


# Proposition 3


def project_game(rng: np.random.Generator, players: int) -> TableGame:
    """A random game moved to the nearest one in which leave-one-out values are the Shapley values."""
    size = 1 << players
    rules = np.array(
        [shapley_from_table(row) - semivalue_from_table(row, leave_one_out_weights(players)) for row in np.eye(size)]
    ).T  # (players, size): φ − leave-one-out as a linear map of the table
    rules = np.vstack([rules, np.eye(size)[0]])  # and v(∅) = 0
    table = rng.normal(size=size)
    return TableGame(tuple("abcdefgh"[:players]), table - np.linalg.pinv(rules) @ (rules @ table))


def erasure(report: Report, games: int, seed: int) -> None:
    """Proposition 3, with the games it overlooks."""
    report.heading("Proposition 3: leave-one-out values are not Shapley values")
    rng = np.random.default_rng(seed)
    apart = []
    for _ in range(games):
        table = rng.normal(size=32)
        table[0] = 0
        game = TableGame(tuple("abcde"), table)
        apart.append(float(np.abs(leave_one_out(game).credit - shapley(game).credit).max()))
    report.verdict(
        "In a random game the two differ",
        min(apart) > 1e-9,
        f"{games} games of five players with normal payoffs: largest difference between {min(apart):.3f} and {max(apart):.3f}",
    )
    weights = rng.normal(size=5)
    additive = TableGame(tuple("abcde"), from_index(np.arange(32), 5) @ weights)
    gap = float(np.abs(leave_one_out(additive).credit - shapley(additive).credit).max())
    report.verdict(
        "Proposition 3 as stated: if some player matters elsewhere than in N∖i, leave-one-out is not the Shapley value",
        gap > 1e-9,
        f"an additive game with weights {', '.join(f'{w:.2f}' for w in weights)}: nobody is null anywhere, and both "
        f"give the weights (gap {gap:.0e}). The proof shows that a term is not zero; it does not show that the terms "
        "do not add up",
    )
    other = project_game(rng, 4)
    pair = other.table[3] - other.table[1] - other.table[2]
    same = float(np.abs(leave_one_out(other).credit - shapley(other).credit).max())
    report.verdict(
        "Other games than additive ones are exceptions, too",
        same < 1e-9,
        f"a game of four players that is not additive (a and b together earn {pair:+.2f} beyond their own) in which "
        f"both are equal to {same:.0e}. The two agree on a linear space of games: n equations for 2ⁿ − 1 payoffs",
        whose=Whose.OURS,
    )


def redundancy(report: Report, model: TextModel) -> None:
    """Two players that can replace each other, in a table and in a real model."""
    report.heading("Redundancy")
    either = TableGame(("first", "second"), [0, 1, 1, 1])
    out, fair = leave_one_out(either).credit, shapley(either).credit
    report.verdict(
        "Two identical tokens of which one is enough: leave-one-out 0, Shapley equal and not 0",
        np.allclose(out, 0) and np.allclose(fair, 0.5),
        f"leave-one-out {out[0]:g} and {out[1]:g}, Shapley {fair[0]:g} and {fair[1]:g}",
    )
    game = text_game(model, TWICE, players="word", payoff="probability")
    out_real, fair_real = leave_one_out(game), shapley(game)
    report.say(f"A real model, “{TWICE}”, probability of {model.label(game.target)}, words masked:")
    report.table(
        ["word", "leave-one-out", "Shapley"],
        [[p, a, b] for p, a, b in zip(game.players, out_real.credit, fair_real.credit, strict=True)],
    )
    twins = [p for p in game.players if p.startswith("superb")]
    lost, shared = (sum(result[p] for p in twins) for result in (out_real, fair_real))
    report.verdict(
        "A real model shows it too: repeated words get less from leave-one-out than from Shapley",
        lost < shared,
        f"the two “superb” together: leave-one-out {lost:.3f}, Shapley {shared:.3f}, of {fair_real.total or 0:.3f} to share",
        whose=Whose.OURS,
    )
