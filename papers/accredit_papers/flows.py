"""Attention flow on real models: how much of it is determined, how often it collapses, and what it agrees with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accredit.arena.contest import Example
from accredit.arena.texts import among, load
from accredit.core import Attribution, Estimate, FloatArray, Selection
from accredit.errors import AccreditError
from accredit.evaluate.agreement import spearman
from accredit.evaluate.bootstrap import bootstrap
from accredit_papers.report import Report, Whose
from accredit_papers.verdicts import of_estimate

if TYPE_CHECKING:
    import matplotlib.axes

    from accredit.attention import FlowReport
    from accredit.explanation.subject import Subject
    from accredit.models.text import TextModel

REFERENCES = ("leave-one-out", "shapley", "integrated-gradients")
READINGS = (
    "attention",
    "rollout",
    "pairwise-flow",
    "flow",
    "flow-l2",
    "flow-shapley",
    "pairwise-flow:gf",
    "flow:gf",
    "flow-l2:gf",
    "flow-shapley:gf",
    "pairwise-flow:agf",
    "flow:agf",
    "flow-l2:agf",
    "flow-shapley:agf",
)
WAYS = ("by size", "signed")
SHAPLEY_BUDGET = 300  # payoffs of the Shapley reference


@dataclass(frozen=True)
class SentenceFlows:
    """What one sentence showed."""

    tokens: int
    width: tuple[float, float]  # mean interval over all max flows / mean credit: all outputs, read outputs
    free: tuple[float, float]  # share of tokens without a fixed credit
    collapse: tuple[float, float]  # share of pairs at their trivial bound
    renumbered: tuple[float, float]  # Spearman of a plain solver's credits before and after renumbering
    correlations: dict[str, list[list[float]]]  # reading -> Spearman with each reference, by size and signed
    refused: dict[str, str]


def flows(models: Sequence[str], examples: Sequence[Example], quick: bool = False, seed: int = 0) -> Report:
    """Run the study on every model named."""
    report = Report("flows", "Attention flow on real models")
    report.say(
        "A max flow through the attention graph is not unique. For each sentence and model this measures how far a "
        "token's share may move between max flows, how many pairs carry no more than the trivial bound (then the "
        "layers in between do not matter), what renumbering the tokens does to a plain solver's answer, and how every "
        "reading of attention ranks the words compared with leave-one-out, Shapley values and integrated gradients of "
        "the same output. AF: attention; GF: relu(gradient); AGF: relu(attention × gradient), heads averaged; no "
        "residual for the last two."
    )
    for name in models:
        model = load(name)
        found = [_look(model, example, seed) for example in examples]
        title = Path(model.name).name
        layers = int(model.model.config.num_hidden_layers)
        report.heading(f"{title}: {layers} layers, {len(found)} sentences")
        _structure(report, title, found, seed)
        _faithfulness(report, title, found, seed)
    return report


def _look(model: TextModel, example: Example, seed: int) -> SentenceFlows:
    from accredit.attention import flow_report
    from accredit.explanation.graph import graph_of
    from accredit.explanation.stream import attribution_of
    from accredit.explanation.subject import text_subject

    subject = text_subject(model, example.text, target=example.target, payoff="log-odds", budget=SHAPLEY_BUDGET, seed=seed)
    graph = graph_of(subject)
    reports = [flow_report(graph.attention, outputs=out, seed=seed) for out in (None, graph.outputs)]
    truth = [_credit(attribution_of(subject, name), subject) for name in REFERENCES]
    correlations, refused = {}, {}
    for name in READINGS:
        try:
            mine = _credit(attribution_of(subject, name), subject)
        except AccreditError as error:
            refused[name] = str(error)
            continue
        correlations[name] = [[spearman(np.abs(mine), np.abs(t)), spearman(mine, t)] for t in truth]
    widths, free, collapse, renumbered = (
        tuple(pair)
        for pair in zip(*((_width(r), r.free_share or 0.0, r.collapse_share, _renumber(r)) for r in reports), strict=True)
    )
    return SentenceFlows(len(subject.owner), widths, free, collapse, renumbered, correlations, refused)


def _renumber(report: FlowReport) -> float:
    """Rank correlation of a plain solver's credit before and after renumbering."""
    assert report.relabelling is not None  # asked for above
    return report.relabelling.solver_rank_correlation


def _credit(result: Attribution | Selection, subject: Subject) -> FloatArray:
    mine = among(result, subject.players)
    assert isinstance(mine, Attribution)
    return mine.credit


def _width(report: FlowReport) -> float:
    assert report.intervals is not None  # asked for above
    widths = report.intervals[:, 1] - report.intervals[:, 0]
    return float(widths.mean() / (report.max_flow / len(report.players)))


def _structure(report: Report, model: str, found: Sequence[SentenceFlows], seed: int) -> None:
    rows = []
    for k, outputs in enumerate(("all tokens", "tokens that the output is read from")):
        cells = [
            bootstrap(np.array([getattr(s, field)[k] for s in found]), seed=seed, within=ends)
            for field, ends in (("width", None), ("free", (0, 1)), ("collapse", (0, 1)), ("renumbered", (-1, 1)))
        ]
        rows.append([outputs, *(f"{i:.2f}" for i in cells)])
    report.table(
        ["flow from", "interval / mean credit", "tokens without a fixed credit", "pairs collapsed", "Spearman, renumbered"],
        rows,
    )
    joint, pairs = np.array([s.free[0] for s in found]), np.array([s.collapse[0] for s in found])
    report.verdict(
        f"{model}: maximum flows are not unique, and the credit of a token differs between them",
        bool(joint.any()),  # one example is enough
        f"{joint.mean():.0%} of tokens have a credit that differs between max flows, some in {int((joint > 0).sum())} of "
        f"{len(found)} sentences",
    )
    collapsed = bootstrap(pairs, seed=seed, within=(0, 1))
    report.verdict(
        f"{model}: fewer than half of the pairwise flows ignore the layers in between",
        of_estimate(collapsed, high=0.5, count=len(found), unit="sentence"),
        f"{pairs.mean():.0%} of pairs carry exactly min(row sum, column sum)",
        whose=Whose.OURS,
    )


def _faithfulness(report: Report, model: str, found: Sequence[SentenceFlows], seed: int) -> None:
    rows: list[list[object]] = []
    best: dict[str, dict[str, Estimate]] = {way: {} for way in WAYS}  # way -> reading -> agreement with Shapley
    for name in READINGS:
        measured = [s.correlations[name] for s in found if name in s.correlations]
        values = np.array(measured)  # (sentences, references, ways)
        if not len(values):
            rows.append([name, *("refused" for _ in range(len(REFERENCES) * len(WAYS))), 0])
            continue
        cells = [[bootstrap(values[:, r, w], seed=seed) for w in range(len(WAYS))] for r in range(len(REFERENCES))]
        for w, way in enumerate(WAYS):
            best[way][name] = cells[REFERENCES.index("shapley")][w]
        shown = [f"{i:+.2f}" for reference in cells for i in reference]
        rows.append([name, *shown, len(values)])
    report.table(["reading", *(f"{name}, {way}" for name in REFERENCES for way in WAYS), "sentences"], rows, detail=True)
    report.say(
        "Mean Spearman over words with 95 % bootstrap intervals over sentences: *by size*, magnitudes against "
        "magnitudes; *signed*, the reading against credit that may be negative. Relu'd gradients keep only what "
        "raises the output, so their flows are closer to signed credit. A sentence counts for a reading only where it "
        "is defined: relu'd gradients may leave no path."
    )
    for w, way in enumerate(WAYS):
        plain = max((n for n in best[way] if ":" not in n), key=lambda n: best[way][n].value)
        sloped = max((n for n in best[way] if ":" in n), key=lambda n: best[way][n].value, default=plain)
        gain = _gain(found, sloped, plain, w)
        report.verdict(
            f"{model}: gradients in the capacities bring a reading closer to Shapley values than attention alone, {way}",
            of_estimate(bootstrap(gain, seed=seed), low=0, count=len(gain), unit="sentence"),
            f"best with gradients: {sloped} {best[way][sloped].value:+.2f}; best without: {plain} "
            f"{best[way][plain].value:+.2f}; difference sentence by sentence {bootstrap(gain, seed=seed):+.2f}; which are the "
            "best was seen on the same sentences",
            whose=Whose.OURS,
        )
    report.figure(
        _file_name(model),
        f"{model}: agreement with Shapley values by reading, 95 % intervals.",
        lambda axes: _draw(axes, best),
    )


def _gain(found: Sequence[SentenceFlows], first: str, second: str, way: int) -> FloatArray:
    """How much closer to Shapley values the first reading is, in every sentence that has both."""
    at = REFERENCES.index("shapley")
    both = [s.correlations for s in found if first in s.correlations and second in s.correlations]
    return np.array([c[first][at][way] - c[second][at][way] for c in both])


def _file_name(model: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in model).strip("_").lower()


def _draw(axes: matplotlib.axes.Axes, best: dict[str, dict[str, Estimate]]) -> None:
    names = list(best[WAYS[0]])
    for w, way in enumerate(WAYS):
        y = np.arange(len(names))[::-1] + (0.15 - 0.3 * w)
        middle = np.array([best[way][n].value for n in names])
        reach = np.abs(np.array([best[way][n].ends for n in names]).T - middle)  # (2, names): below and above
        axes.errorbar(middle, y, xerr=reach, fmt="os"[w], ms=3, color=f"C{w}", label=way)
    axes.axvline(0, color="0.7", lw=0.8)
    axes.set_yticks(np.arange(len(names))[::-1], names)
    axes.set_xlabel("Spearman with Shapley")
    axes.legend(frameon=False)
