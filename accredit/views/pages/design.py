"""Every part of the design language, drawn by the templates of the pages: `python -m accredit.views.pages.design FILE.html`.

docs/design.md says what each part means and when to use it. This page shows what it looks like, so that a change of a template
or of the style can be judged at a glance, at any width, in light, in dark and on paper.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import Attribution, Claim, Holds, Precision, Procedure
from accredit.evaluate.data import Curve
from accredit.explanation.result import FlowPicture
from accredit.rows.result import TableExplanation
from accredit.views.language.numbers import between, brief, column, credit_number, percent
from accredit.views.language.phrases import duration
from accredit.views.pages.document import page
from accredit.views.pages.engine import render
from accredit.views.pages.explanation_page import SIGNED, UNSIGNED
from accredit.views.pages.flow_drawing import flow_svg
from accredit.views.pages.parts import Who, attribution_table, claims_table, heat
from accredit.views.pages.table_page import row_body, table_body
from accredit.views.pages.valuation_page import curves_svg

if TYPE_CHECKING:
    from markupsafe import Markup

NUMBERS = [
    ("a credit beside a drawing", "brief", brief(0.51234)),
    ("below zero: a true minus", "brief", brief(-20.0)),
    ("nothing", "brief", brief(0.0)),
    ("a column to read down", "credit_number", credit_number(1.2406, 2.0)),
    ("numbers below one another", "column", " · ".join(column([1.25, 1.2, -0.5]))),
    ("a range", "between", between(-0.5, 0.25)),
    ("a share", "percent", percent(0.931)),
    ("a time", "duration", duration(75.3)),
]

PARTS = {
    "Head": "The question, the answer in one sentence, then what was asked, how, of which model.",
    "Text": "One family, four sizes. Grey text explains; it never carries the answer.",
    "Numbers": "Three digits beside a drawing, four alone; one minus; no digit that is not known.",
    "Colour": "Blue raises, orange lowers, grey has a size and no direction, paper is zero.",
    "Bars with intervals": "Zero is a thin line, the whisker is the interval. On a phone the bar has a line of its own.",
    "Bars without direction": "Means of sizes, attention, flow: grey.",
    "Pairs": "A square of numbers on the colours of their size; what is not known stays empty.",
    "Steps": "From the base value to the output; each bar starts where the one before it ended.",
    "Points": "Every row a point: across, its credit; light to dark, its value.",
    "Flow": "Width is flow, names stand at both ends. Point at a name to follow it.",
    "Curves": "Lines differ by colour and by dash.",
    "Doubt": "Below what it is about, with an orange edge; a sentence, and what to do.",
    "Trust": "Which axioms hold, how strictly, and why.",
    "Nothing found": "An empty answer is a sentence too.",
}


def design_page() -> str:
    """The page with a sample of every part."""
    return page("The parts of every page", render("design", "body", parts=_parts()), script_of=("sorting", "following"))


def _parts() -> list[tuple[str, str, Markup]]:
    """Name, what it is for, and the drawing of each part."""
    shared, rows = _share(), _table()
    square = np.array([[0.0, 0.8, -0.3], [0.8, 0.0, 0.1], [-0.3, 0.1, 0.0]])
    along = np.linspace(0, 1, 5)
    curves = [
        Curve("highest first", along, np.array([9.0, 5, 3, 2, 1])),
        Curve("lowest first", along, np.array([9.0, 8.8, 8, 6, 1])),
    ]
    why = "the target is a number, and wrong labels are found among classes."
    drawn = {
        "Head": render("design", "head"),
        "Text": render("design", "text"),
        "Numbers": render("design", "numbers", rows=NUMBERS),
        "Colour": render("explanation", "legend", signed=SIGNED, unsigned=UNSIGNED),
        "Bars with intervals": attribution_table(shared, _people(), sorts=True),
        "Bars without direction": attribution_table(_sizes(), header=("column", "mean |credit|"), signed=False),
        "Pairs": render("design", "square", drawn=heat(["TV", "web", "radio"], square, 3)),
        "Steps": row_body(rows, 0),
        "Points": table_body(rows, ("Made up for this page.",)),
        "Flow": flow_svg(_flow()),
        "Curves": curves_svg(curves),
        "Doubt": render("design", "doubt"),
        "Trust": claims_table(shared),
        "Nothing found": render("labels", "unanswered", question="Which labels are wrong?", why=why),
    }
    return [(name, PARTS[name], piece) for name, piece in drawn.items()]


def _share() -> Attribution:
    credit = np.array([38.3, 33.3, -20.0])
    ends = np.stack([credit - 6, credit + 6], axis=1)
    claims = (
        Claim("efficiency", Holds.EXACTLY, "gains along one order telescope"),
        Claim("symmetry", Holds.IN_EXPECTATION, "equal players meet different orders"),
    )
    return Attribution(
        ("TV", "web", "radio"),
        credit,
        51.6,
        Procedure("shapley", "Permutations", {"orders": 200}),
        claims,
        interval=ends,
        level=0.95,
        payoffs=800,
    )


def _people() -> dict[str, Who]:
    return {"radio": Who("radio", "doubtful", "A spot that ran for three weeks in spring", ("It costs more than it brings.",))}


def _sizes() -> Attribution:
    return Attribution(
        ("age", "pay"),
        np.array([1.48, 0.47]),
        None,
        Procedure("mean |credit| over 40 rows"),
        precision=Precision.exact("by hand"),
    )


def _table() -> TableExplanation:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2, 30))
    credit = (values * np.array([[2.0], [-1.0]])).T[:, :, None]
    return TableExplanation(
        ("age", "pay"),
        ("price",),
        credit,
        np.array([10.0]),
        10 + credit.sum(axis=1),
        values.round(2).tolist(),
        Procedure("by hand"),
        precision=Precision.exact("made up"),
    )


def _flow() -> FlowPicture:
    """Three layers of four tokens; what leaves a token is what arrived."""
    rng = np.random.default_rng(1)
    names, layers = ("[CLS]", "not", "a", "bad", "film"), 3
    through, edges = np.zeros((layers + 1, len(names))), np.zeros((layers, len(names), len(names)))
    through[layers, 0] = 1.0
    for layer in range(layers - 1, -1, -1):
        edges[layer] = through[layer + 1][:, None] * rng.dirichlet(np.full(len(names), 0.4), size=len(names))
        through[layer] = edges[layer].sum(axis=0)
    nothing = np.zeros(len(names))
    return FlowPicture("flow", names, through, edges, np.zeros_like(edges), through[layers], nothing, 1.0, ())


def main() -> None:
    """Write the page to the file that is named."""
    Path(sys.argv[1]).write_text(design_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
