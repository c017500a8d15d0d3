"""Every view that is not an explanation, made by hand around any names: players, labels, methods, notes and titles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from accredit import views
from accredit.arena.standings import Standing, Standings
from accredit.audit.finding import AuditFinding, Findings
from accredit.core import Attribution, Claim, Estimate, Holds, Interactions, Precision, Selection
from accredit.evaluate.data import Curve
from accredit.games import TableGame
from accredit.influence.trace import Trace
from accredit.labels.annotators import Annotator, Consensus
from accredit.labels.duplicates_outliers import Oddities
from accredit.labels.result import Confusion, Evidence, WrongLabels
from accredit.rows.result import TableExplanation
from accredit.training_data.report import DataReport, Valuation
from accredit.training_data.suspects import Harmful, RowFacts, Sureness
from accredit.values.report import report
from accredit.views.pages.arena_page import arena_page
from accredit.views.pages.audit_page import audit_page
from accredit.views.pages.flow_page import edges_page, flow_body, flow_page
from accredit.views.pages.journal_page import data_page
from accredit.views.pages.table_page import row_body, table_body
from accredit.views.pages.trace_page import trace_page
from accredit.views.pages.valuation_page import report_page
from accredit.web.data import WatchedRun
from tests.views.samples import flow_picture

Names = Sequence[str]
COUNT = 40  # names that each view takes


def attribution(names: Names) -> Attribution:
    credit = np.linspace(1, -1, len(names))
    claims = (Claim(names[0], Holds.NO, names[1]), Claim("symmetry", Holds.EXACTLY, names[2]))
    around = np.stack([credit - 0.1, credit + 0.1], axis=1)
    return Attribution(names, credit, None, names[3], claims, interval=around, level=0.9, stopped=names[5])


def interactions(names: Names) -> str:
    """Pairs, singles and nobody, with names in every place that takes one."""
    values = {(): 1.0, (names[0],): 2.0, (names[0], names[1]): -3.0, (names[2], names[3]): 1.5}
    ends = [[x - 1, x + 1] for x in values.values()]
    claims = (Claim(names[6], Holds.NO, names[7]),)
    known = Precision.interval(names[8])
    return views.fragment(Interactions(names, names[4], names[5], values, claims, interval=ends, level=0.9, precision=known))


def curve(names: Names) -> Curve:
    return Curve(names[0], np.array([0.0, 1.0]), np.array([1.0, 0.0]))


def game(names: Names) -> str:
    found = report(TableGame(names[:3], [0, 1, 2, 4, 8, 9, 11, 20]))
    return views.game_page(replace(found, reading=tuple(names)), names[4])


def wrong_labels(names: Names) -> WrongLabels:
    """A list of suspects made by hand, with names in every place that takes one."""
    rows = tuple(range(len(names)))
    pairs = ((0, 1), (2, 3))
    return WrongLabels(
        names=tuple(names),
        given=tuple(names),
        suggested=tuple(reversed(names)),
        probability=np.linspace(1, 0, len(names)),
        suspects=rows,
        rate=0.1,
        rate_interval=(0.05, 0.2),
        precision=0.9,
        precision_interval=(0.8, 1.0),
        confusions=(Confusion(names[0], names[1], 0.2, 3.0),),
        evidence=(Evidence(names[0], 0.9),),
        agreement=0.8,
        majority=0.5,
        verdict=names[1],
        oddities=Oddities(pairs, pairs[:1], rows[:3]),
        seen_as=(names[2],),
        notes=(names[4],),
        annotators=(Annotator(names[0], 3, 0.1, 0.0, 0.3, 0.5),),
        consensus=(Consensus(names[1], names[2], 0.1, 3, 2),),
        excerpts={name: name for name in names},
    )


def valuation(names: Names) -> str:
    harmful = tuple(Harmful(name, -1.0, Sureness.SURE, name, name) for name in names)
    made = Valuation(
        attribution(names),
        harmful,
        (curve(names),),
        names[0],
        3,
        4,
        synergy=(((names[1], names[2]), 0.5),),
        silent=names[5],
        warnings=(names[6],),
        rows=RowFacts({n: n for n in names}, {n: n for n in names}),
    )
    return report_page(DataReport(wrong_labels(names), made, "", (names[7],)), names[3])


def trace(names: Names) -> str:
    facts = {
        "scale": names[0],
        "texts cut": 1,
        "texts known in part": 0,
        "longest": 4,
        "saturated": True,
        "first token not judged": True,
        "gradient norm": 1.0,
        "gradient norm of a row": 1.0,
        "gradient norm by chance": 0.1,
        "stationary": False,
        "layers": list(names),
        "parameters": 9,
        "left out": list(names),
    }
    scores = np.linspace(1, -1, len(names))
    by_token = np.stack([scores, scores], axis=1) / 2
    return trace_page(Trace(tuple(names), names[1], names[2], tuple(names[3:5]), scores, by_token, 0.0001, facts), len(names))


def audit(names: Names) -> str:
    found = tuple(
        AuditFinding(n, n, 0.8, 0.5, Estimate(0.3, 0.2, 0.4), 0.05, "flagged", n, n, 9, details={n: 0.5}) for n in names
    )
    return audit_page(Findings(names[0], found, {n: n for n in names}, tuple(names)))


def arena(names: Names) -> str:
    lines = tuple(
        Standing(n, Estimate(0.5, 0.4, 0.6), {}, {n: n}, {}, 9.0, 0.1, {"efficiency": "exactly"}, 3, {0: n}) for n in names
    )
    curves = {n: {"deletion": [1.0, 0.0], "insertion": [0.0, 1.0]} for n in names}
    square = np.full((len(names), len(names)), 0.5)
    return arena_page(Standings(lines, tuple(names), square, tuple(names), 3, {1: names[0]}, curves, 0.95), names[1])


def flow(names: Names) -> str:
    tokens = [(name, name) for name in names]
    picture = replace(flow_picture([f"c{k}" for k in range(5)]), columns=tuple(names[:5]), notes=tuple(names))
    credit = replace(attribution([*names, *(f"t{k}" for k in range(30))]), interval=None, precision=None)
    return flow_page(names[0], flow_body(picture, credit, 0, "shapley", tokens, None, None))


def rows_of_a_table(names: Names) -> str:
    """An explained table with names as columns, words, rows, outputs, model, notes and what is said of the model."""
    count, few = len(names), 6
    credit = np.linspace(-1, 1, 8 * few * 2).reshape(8, few, 2)
    made = TableExplanation(
        names[:few],
        names[few : few + 2],
        credit,
        [0.0, 0.0],
        credit.sum(axis=1),
        [names[k : k + 8] for k in range(few)],
        names[9],
        rows=names[count - 8 :],
        payoff=names[10],
        model=names[11],
        dependence=names[12],
        claims=(Claim(names[0], Holds.NO, names[1]),),
        precision=Precision.exact(names[13]),
        notes=tuple(names[14:20]),
    )
    return views.table_page(made, tuple(names[20:22])) + str(row_body(made, 3)) + str(table_body(made, live=True))


def data(names: Names) -> str:
    known = RowFacts({n: n for n in names}, {n: n for n in names}, None, True, names[8])
    harmful = tuple(Harmful(name, -1.0, Sureness.SURE) for name in names)
    seen = WatchedRun(
        9,
        9,
        0,
        1.0,
        True,
        known,
        attribution(names),
        True,
        harmful,
        tuple(names[:2]),
        np.eye(2)[::-1],
        names[3],
        (curve(names),),
        wrong_labels(names),
        "",
        tuple(names[4:6]),
        tuple(names[6:8]),
    )
    return data_page(seen)


def cell(names: Names) -> str:
    chosen = Selection(names, [True] * len(names), names[0], names[1])
    return views.fragment(attribution(names)) + views.fragment(chosen)


def edges(names: Names) -> str:
    return edges_page(names[0], f"{names[1]}; {names[2]}", [(name, k - 1.0, len(names)) for k, name in enumerate(names)])


VIEWS: dict[str, Callable[[Names], str]] = {
    "game": game,
    "valuation": valuation,
    "audit": audit,
    "arena": arena,
    "flow": flow,
    "data": data,
    "cell": cell,
    "interactions": interactions,
    "trace": trace,
    "table": rows_of_a_table,
    "edges": edges,
}
