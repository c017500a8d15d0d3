"""What a max flow on this attention determines and what it leaves open: cut, freedom, collapse, and if numbering matters."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields

import numpy as np

from accredit import defaults
from accredit.checks import check_seed, whole_number
from accredit.checks.arguments import check_arguments
from accredit.checks.json_data import plain, round_off
from accredit.core import BoolArray, FloatArray, Note, NoteKind
from accredit.core.notes import check_notes
from accredit.core.rounding import blur
from accredit.core.statistics import rank_correlation, tied
from accredit.errors import InvalidInput
from accredit.flow.certificate import Flow
from accredit.flow.game import FlowGame, credit_intervals
from accredit.flow.maximum import MaximumFlow, maximum_flow
from accredit.flow.network import LayeredNetwork, Outputs
from accredit.flow.pairs import MEETS, PairFlows, pair_bounds
from accredit.flow.unique import unique_flow

CUT_EDGES_LISTED = 20  # cut edges named in a report
FREE_WIDTH = 1e-6  # width of a credit interval, as a share of the mean credit, from which a token counts as free


@dataclass(frozen=True)
class Relabelling:
    """Does the answer depend on how tokens are numbered?

    >>> moved = flow_report(np.full((2, 3, 3), 1 / 3), outputs=0, trials=2).relabelling
    >>> moved.trials, moved.barrier_change < 1e-6  # the barrier rule does not see the numbering
    (2, True)
    """

    trials: int
    solver_change: float  # largest change of a token's credit by a plain max-flow solver
    solver_rank_correlation: float  # mean Spearman correlation of the solver's credits before and after renumbering
    barrier_change: float  # largest change of a token's credit by the barrier rule


@dataclass(frozen=True, eq=False)
class FlowReport:
    """What is known about all max flows of one attention tensor. `print(report)` says it in words.

    >>> report = flow_report(np.full((2, 2, 2), 0.5), outputs=0)
    >>> report.max_flow, report.binding_layer, report.free_share
    (1.0, 3, 1.0)
    """

    players: tuple[str, ...]  # input tokens
    layers: int
    max_flow: float
    max_flow_error: float
    cut: FloatArray  # (L+2,): capacity of a minimum cut at the sink edges, in layer 1 … L, at the source edges
    binding_layer: int  # where the cut is widest: 1 … L, 0 for the sink edges, L+1 for the source edges
    source_side: BoolArray  # (L+1, T): nodes on the source's side of the cut
    cut_edges: tuple[tuple[int, int, int, float], ...]  # widest edges of the cut: layer, from token, to token, capacity
    credit: FloatArray  # (T,): barrier rule unless another flow was given, input tokens
    intervals: FloatArray | None  # (T, 2): least and most that any max flow sends to a token; None: not asked for
    collapse_share: float  # share of pairs whose pairwise flow equals min(all that leaves i, all that enters j)
    collapse_pairs: int  # pairs looked at
    collapse_sampled: bool  # whether those pairs are a random part of all
    relabelling: Relabelling | None  # None: not asked for

    @property
    def free_share(self) -> float | None:
        """Share of tokens whose credit differs between max flows."""
        if self.intervals is None:
            return None
        width = self.intervals[:, 1] - self.intervals[:, 0]
        return float((width > FREE_WIDTH * max(self.max_flow / len(self.players), 1e-300)).mean())

    @property
    def summary(self) -> str:
        """The report in plain words."""
        return "\n".join(map(str, self.notes))

    @property
    def notes(self) -> tuple[Note, ...]:
        """The report in plain words, one note for each thing that was found."""
        if self.max_flow == 0:
            return check_notes(["No flow: no path of positive capacity leads from the chosen outputs to the inputs."])
        lines: list[Note | str] = [f"Max flow {round_off(self.max_flow, 6)} through {self.layers} layers; {self._where()}"]
        if self.intervals is not None:
            lines.append(Note(NoteKind.NOT_UNIQUE, self._disagreement(self.intervals)) if self.alike else self._agreement())
        kind = "random " if self.collapse_sampled else ""
        pairs = f"{self.collapse_share:.0%} of {self.collapse_pairs} {kind}pairs"
        verdict = f"{pairs} carry the smaller of what leaves one and what enters the other"
        if self.collapse_share > 0.5:
            verdict += ": for those the pairwise flow ignores every layer but the first and the last"
        lines.append(Note(NoteKind.COLLAPSE, f"Collapse: {verdict}."))
        if (test := self.relabelling) is not None:
            lines.append(
                f"Renumbering the tokens moves a plain solver's credit by up to {round_off(test.solver_change, 3)} (rank "
                f"correlation {test.solver_rank_correlation:.2f}), the barrier rule's by {round_off(test.barrier_change, 2)}."
            )
        return check_notes(lines)

    @property
    def alike(self) -> int:
        """Tokens any of which may come first, depending on the maximum flow; 0 where one leads in all, or it is not known."""
        if self.intervals is None:
            return 0
        low, high = self.intervals.T
        first = int(np.argmax(self.credit))
        others = int((np.delete(high, first) >= low[first]).sum())
        return others + 1 if others else 0

    def _disagreement(self, ends: FloatArray) -> str:
        low, high = round_off(float(ends[:, 0].min()), 2), round_off(float(ends[:, 1].max()), 2)
        if self.alike == len(self.players):
            return (
                "Attention flow cannot rank these tokens: other maximum flows give each of them anything from "
                f"{low} to {high}, where the mean credit is {round_off(self.max_flow / len(self.players), 2)}."
            )
        return (
            f"Attention flow cannot tell which of {self.alike} tokens comes first: the credit of {self.free_share:.0%} of all "
            f"tokens differs between maximum flows, from {low} to {high}."
        )

    def _agreement(self) -> str:
        first = self.players[int(np.argmax(self.credit))]
        free = self.free_share or 0.0
        return f"“{first}” comes first in every maximum flow" + (
            f"; the credit of {free:.0%} of the tokens differs between them." if free else ", and every credit is fixed."
        )

    def _where(self) -> str:
        share = self.cut[self.binding_layer] / max(self.cut.sum(), 1e-300)
        if self.binding_layer == 0:
            place = "where it reaches the input"
        elif self.binding_layer == self.layers + 1:
            place = "where it leaves the output"
        else:
            place = f"in layer {self.binding_layer}"
        return f"the narrowest place is {place} ({share:.0%} of the minimum cut)."

    def __str__(self) -> str:
        rows = [self.summary, ""]
        order = np.argsort(-self.credit, kind="stable")[:10]
        width = max(len(self.players[k]) for k in order)
        for k in order:
            line = f"{self.players[k]:<{width}}  {round_off(float(self.credit[k])):>8}"
            if self.intervals is not None:
                line += f"   [{round_off(float(self.intervals[k, 0]), 3)}, {round_off(float(self.intervals[k, 1]), 3)}]"
            rows.append(line)
        if len(self.players) > len(order):
            rows.append(f"… and {len(self.players) - len(order)} more")
        return "\n".join(rows)

    def to_json(self) -> str:
        """Everything, as JSON."""
        data = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "relabelling"}
        data["relabelling"] = None if self.relabelling is None else asdict(self.relabelling)
        return json.dumps({"kind": "flow report", "format": 1, "summary": self.summary} | plain(data), ensure_ascii=False)


@check_arguments
def flow_report(
    attention: object,
    *,
    outputs: Outputs = None,
    residual: float = 0.5,
    normalise: bool = True,
    players: Iterable[str] | None = None,
    intervals: bool = True,
    pairs: int = 256,
    trials: int = 5,
    seed: int = 0,
    flow: Flow | None = None,
) -> FlowReport:
    """Measure what a max flow on this attention (L, T, T) determines, and what it leaves open.

    Cost: 2·T max flows for the intervals (leave them out with `intervals=False`), at most `pairs` pairs for the
    collapse share (a random sample when there are more), and `trials` renumberings (0 for none), each one max flow and
    one barrier solve. `flow` is one that is already solved on this network: its credit is shown, nothing is solved again, and
    there are no trials.

    >>> report = flow_report(np.full((2, 2, 2), 0.5), outputs=0)
    >>> report.max_flow, report.intervals.tolist()
    (1.0, [[0.5, 1.0], [0.0, 0.5]])
    """
    for name, count, least in (("pairs", pairs, 1), ("trials", trials, 0)):
        whole_number(count, name, least)
    if flow is not None and trials:
        raise InvalidInput(
            f"trials is {trials} and a flow is given; renumbering solves flows again, so give trials=0",
            argument="trials",
            code="conflict",
        )
    network = LayeredNetwork.from_attention(attention, outputs=outputs, residual=residual, normalise=normalise)
    game = FlowGame(network, players=players)
    rng = np.random.default_rng(check_seed(seed))
    exact = game.flows.solve()
    share, looked_at, sampled = _collapse(network, pairs, rng)
    credit = flow.demand if flow is not None else _barrier_credit(network, exact)
    return FlowReport(
        players=game.players,
        layers=network.layers,
        max_flow=exact.value,
        max_flow_error=exact.error,
        cut=exact.cut,
        binding_layer=exact.layer,
        source_side=exact.source_side,
        cut_edges=_cut_edges(game.network, exact),
        credit=credit,
        intervals=credit_intervals(game) if intervals else None,
        collapse_share=share,
        collapse_pairs=looked_at,
        collapse_sampled=sampled,
        relabelling=_relabelling(network, exact, credit, trials, rng) if trials else None,
    )


def _cut_edges(network: LayeredNetwork, exact: MaximumFlow) -> tuple[tuple[int, int, int, float], ...]:
    """The widest attention edges of the minimum cut: (layer, from token, to token, capacity), layer counted from 1."""
    side = exact.source_side
    crossing = network.capacity * side[1:, :, None] * ~side[:-1, None, :]
    widest = np.argsort(-crossing, axis=None, kind="stable")[:CUT_EDGES_LISTED]
    places = zip(*np.unravel_index(widest, crossing.shape), strict=True)
    return tuple((int(n) + 1, int(i), int(j), float(crossing[n, i, j])) for n, i, j in places if crossing[n, i, j] > 0)


def _collapse(network: LayeredNetwork, limit: int, rng: np.random.Generator) -> tuple[float, int, bool]:
    """Share of (open output, input) pairs whose max flow meets its trivial bound, how many were seen, and whether sampled."""
    rows = np.flatnonzero(network.supply)
    columns = np.flatnonzero(network.demand)
    every = [(int(i), int(j)) for i in rows for j in columns]
    sampled = len(every) > limit
    if sampled:
        every = [every[k] for k in rng.choice(len(every), limit, replace=False)]
    if not every:
        return 0.0, 0, False
    flows, met = PairFlows(network.capacity), 0
    for i in sorted({i for i, _ in every}):
        inputs = np.array([j for row, j in every if row == i])
        met += int((flows.row(i, inputs) >= (1 - MEETS) * pair_bounds(network.capacity, i)[inputs]).sum())
    return met / len(every), len(every), sampled


def _barrier_credit(network: LayeredNetwork, exact: MaximumFlow) -> FloatArray:
    """What the barrier rule sends to each input token."""
    return unique_flow(network, epsilon=defaults.FLOW_EPSILON * max(1.0, exact.value)).demand


def _relabelling(
    network: LayeredNetwork, exact: MaximumFlow, credit: FloatArray, trials: int, rng: np.random.Generator
) -> Relabelling:
    solver_change = barrier_change = 0.0
    correlations = []
    for _ in range(trials):
        order = rng.permutation(network.tokens)
        other = network.renumber(order)
        plain_credit = maximum_flow(other.prune()).demand
        solver_change = max(solver_change, float(np.abs(plain_credit - exact.demand[order]).max()))
        places = [tied(x, blur(float(x.max()))) for x in (plain_credit, exact.demand[order])]
        ranked = places[0].any() and places[1].any()  # ties alone leave nothing to compare
        correlations.append(float(rank_correlation(*places)) if ranked else 1.0)
        barrier_change = max(barrier_change, float(np.abs(_barrier_credit(other, exact) - credit[order]).max()))
    return Relabelling(trials, solver_change, float(np.mean(correlations)), barrier_change)
