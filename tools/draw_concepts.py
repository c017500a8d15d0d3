"""Draw the pictures of docs/concepts from real results: `python tools/draw_concepts.py [FOLDER]`."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np

import accredit
from accredit.views.language.palette import NEGATIVE, POSITIVE

ROOT = Path(__file__).parent.parent
INK, GREY = "#1b1d22", "#9aa5b1"
PLUS, MINUS = (tuple(part / 255 for part in colour) for colour in (POSITIVE, NEGATIVE))
STYLE = {
    "svg.hashsalt": "accredit",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "text.color": INK,
    "axes.labelcolor": INK,
}


def intervals() -> plt.Figure:
    """Sampled credit of twelve players with its intervals, beside what all coalitions say."""
    weights = np.linspace(1, 3, 12)
    game = accredit.FunctionGame([f"p{k}" for k in range(12)], lambda members: np.sqrt(members @ weights))
    exact = accredit.shapley(game).credit
    found = accredit.shapley(game, accredit.values.Permutations(budget=400, seed=0))
    figure, ax = plt.subplots(figsize=(7, 2.8))
    ax.vlines(range(12), *found.interval.T, color=PLUS, linewidth=4, alpha=0.5, label=f"interval, {found.level:.0%}")
    ax.plot(found.credit, "o", color=PLUS, markersize=4, label="estimate")
    ax.plot(exact, "x", color=INK, label="exact")
    ax.set(xticks=range(12), xticklabels=found.players, ylabel="credit")
    ax.legend(frameon=False, ncols=3, loc="upper left")
    return figure


def dependence() -> plt.Figure:
    """A row whose model reads one of two columns that go together, under both questions."""
    import pandas as pd
    from sklearn.linear_model import LinearRegression

    rng = np.random.default_rng(0)
    height = rng.normal(size=400)
    rows = pd.DataFrame({"height": height, "shoe": height + 0.1 * rng.normal(size=400)})
    model = LinearRegression().fit(rows, height)
    model.coef_[:] = (1.0, 0.0)
    figure, panels = plt.subplots(1, 2, figsize=(7, 1.8), sharex=True, sharey=True)
    for ax, asked, title in zip(panels, (None, "gaussian"), ("what the model uses", "what the data tell"), strict=True):
        settings = {} if asked is None else {"dependence": asked}
        credit = accredit.explain(rows[:1], model, background=rows, **settings).row(0)
        ax.barh(credit.players, credit.credit, color=[PLUS if value >= 0 else MINUS for value in credit.credit])
        ax.set_title(title, fontsize=10)
        ax.locator_params(axis="x", nbins=4)
    panels[0].invert_yaxis()
    return figure


def uniqueness() -> plt.Figure:
    """Three flows through two words in the middle: left, right, and the one furthest from all limits."""
    figure, panels = plt.subplots(1, 3, figsize=(7, 2.4))
    credit = accredit.joint_flow(np.full((2, 2, 2), 0.5), residual=0).credit
    middle = float(credit[0] / credit.sum())
    for ax, left, title in zip(
        panels, (1.0, 0.0, middle), ("all on the left", "all on the right", "the unique one"), strict=True
    ):
        for x, share in ((-1, left), (1, 1 - left)):
            for low, high in (((0, 0), (x, 1)), ((x, 1), (0, 2))):
                ax.plot(*zip(low, high, strict=True), color=GREY, linewidth=1)
                ax.plot(*zip(low, high, strict=True), color=PLUS, linewidth=8 * share, alpha=0.6, solid_capstyle="butt")
        ax.plot([0, -1, 1, 0], [0, 1, 1, 2], "o", color=INK, markersize=7)
        ax.set_title(title, fontsize=10)
        ax.axis("off")
    return figure


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    plt.rcParams.update(STYLE)
    for draw in (intervals, dependence, uniqueness):
        figure = draw()
        figure.tight_layout()
        figure.savefig(folder / f"{draw.__name__}.svg", metadata={"Date": None})
        print(folder / f"{draw.__name__}.svg")


if __name__ == "__main__":
    main()
