"""Sections 10.1 and 10.3 of the chapter, on training rows: what influence assumes, and why datamodels are linear."""

from __future__ import annotations

import numpy as np

from accredit.checks import needs, real_number
from accredit.core import FloatArray, IntArray
from accredit.core.coalitions import from_index
from accredit.games import TableGame
from accredit_papers.report import Report, Whose
from accredit_papers.verdicts import of_share

TRAINING_ROWS = 10  # training rows whose 2ᴺ subsets are all trained on
SETTLED = 100  # full steps after which the classifier is at its minimum
SUBSETS, READINGS_DRAWN = 200, 600  # of a sampled reading, and how often it is drawn to count its intervals
NOISE_STABILITY = 0.8  # ρ of the noise stability that is checked


def influence_assumption(report: Report, seed: int) -> None:
    """Section 10.1, (i) ∇L(S, θ) = 0: the formula at a minimum and on the way there."""
    with needs("text", "the chapter's assumption on influence"):
        import torch
    from accredit.influence.functions import influence
    from accredit.influence.objectives import TorchObjective
    from accredit.valuation import split

    report.heading("10.1 What influence assumes")
    rng = np.random.default_rng(seed)
    x, decay = rng.normal(size=(60, 4)), 0.05
    y = (x @ [1.5, -1.0, 0.5, 0.0] + rng.normal(size=60) > 0).astype(int)
    data = split(x[:40], y[:40], x[40:], y[40:])

    def descend(steps: int, rows: slice | IntArray = slice(None)) -> torch.nn.Module:
        """A linear classifier after that many full steps of gradient descent from zero."""
        net = torch.nn.Linear(4, 2).double()
        given, labels = torch.tensor(data.x[rows]), torch.tensor(data.y[rows])
        with torch.no_grad():
            for p in net.parameters():
                p.zero_()
        for _ in range(steps):
            penalty = 0.5 * decay * sum((p**2).sum() for p in net.parameters())
            loss = torch.nn.functional.cross_entropy(net(given), labels) + penalty
            for p, slope in zip(net.parameters(), torch.autograd.grad(loss, list(net.parameters())), strict=True):
                p.data -= 1.0 * slope
        return net

    def losses(net: torch.nn.Module) -> FloatArray:
        with torch.no_grad():
            out = torch.nn.functional.cross_entropy(net(torch.tensor(data.test_x)), torch.tensor(data.test_y), reduction="none")
        return np.asarray(out.numpy())

    whole, left_out = losses(descend(SETTLED)), [np.delete(np.arange(40), i) for i in range(40)]
    truth = np.stack([losses(descend(SETTLED, rows)) - whole for rows in left_out])  # (rows, test points)
    table, found = [], {}
    for steps in (1, 4, 16, SETTLED):
        told = influence(TorchObjective(data, descend(steps), decay))
        norm, typical = (real_number(told.certificate[name], name) for name in ("gradient norm", "gradient norm of a row"))
        off = float(np.linalg.norm(told.matrix - truth) / np.linalg.norm(truth))
        found[steps] = (bool(told.certificate["stationary"]), off)
        table.append([steps, norm / typical, found[steps][0], off])
    report.table(["steps of training", "‖∇J‖ beside one row's", "called a minimum", "relative error"], table, detail=True)
    report.verdict(
        "Influence needs ∇L(S, θ) = 0: away from a minimum the formula is about another model",
        found[SETTLED][0] and not found[1][0] and found[1][1] > 2 * found[SETTLED][1],
        f"logistic regression, 40 rows, against training again without each: relative error {found[SETTLED][1]:.2f} at the "
        f"minimum and {found[1][1]:.2f} after one step. The "
        "certificate says so: `influence` reports ‖∇J‖ and refuses a Hessian that is not positive",
    )


def harmonic_analysis(report: Report, seed: int) -> None:
    """Section 10.3: how much of a trained model's output is linear in the subset it was trained on."""
    from accredit.valuation.harmonics import curve, harmonics

    report.heading("10.3 Why datamodels work: harmonic analysis")
    game = train_on_subsets(seed)
    weights = degree_weights(game.table)
    variance = weights[1:].sum()
    signs = 2.0 * from_index(np.arange(1 << TRAINING_ROWS), TRAINING_ROWS) - 1
    design = np.column_stack([np.ones(1 << TRAINING_ROWS), signs])
    fitted = design @ np.linalg.lstsq(design, game.table, rcond=None)[0]
    explained = 1 - ((game.table - fitted) ** 2).mean() / game.table.var()
    report.say(
        f"A ridge regression is trained on each of the {1 << TRAINING_ROWS:,} subsets of {TRAINING_ROWS} rows, and answers at "
        "one test point. At p = ½ the squared coefficients of its expansion in products of x_i = ±1 add up, degree by "
        "degree, to the variance of that answer over subsets:"
    )
    report.table(
        ["degree", *map(str, range(1, 5)), "above"],
        [["share of the variance", *(weights[1:5] / variance), float(weights[5:].sum() / variance)]],
    )
    report.verdict(
        "The R² of the best linear datamodel is the share of degree 1",
        abs(explained - weights[1] / variance) < 1e-9,
        f"least squares over all subsets explains {explained:.4f}, degree 1 weighs {weights[1] / variance:.4f} of the variance",
        whose=Whose.OURS,
    )
    stable = noise_stability(game.table, NOISE_STABILITY)
    by_degrees = float((NOISE_STABILITY ** np.arange(TRAINING_ROWS + 1) * weights).sum())
    report.verdict(
        "Noise stability is Σ ρᵏ times the weight of degree k: an answer that survives changes of the subset is of low degree",
        abs(stable - by_degrees) < 1e-9,
        f"ρ = {NOISE_STABILITY}: by pairs of subsets {stable:.6f}, by degrees {by_degrees:.6f}",
        whose=Whose.OURS,
    )
    seen = [harmonics(game, SUBSETS, seed=seed + draw).linear for draw in range(READINGS_DRAWN)]
    inside = sum(weights[1] / variance in one for one in seen)
    report.verdict(
        f"{SUBSETS} random subsets estimate the linear share: the interval of 95 % holds it nine times in ten or more",
        of_share(inside, READINGS_DRAWN, low=0.9, unit="draw"),
        f"it held {weights[1] / variance:.3f} in {inside} of {READINGS_DRAWN} draws of subsets; the first is {seen[0]:.3f}",
        whose=Whose.OURS,
    )
    report.table(
        ["p", "share of degree 1", "share of degree 2"],
        [[h.fraction, f"{h.linear:.2f}", f"{h.pairs:.2f}"] for h in curve(game, subsets=800, seed=seed)],
        detail=True,
    )


def train_on_subsets(seed: int) -> TableGame:
    """What a ridge regression, trained on the rows that play, answers at a test point."""
    rng = np.random.default_rng(seed)
    x, at = rng.normal(size=(TRAINING_ROWS, 3)), rng.normal(size=3)
    y = x @ rng.normal(size=3) + 0.5 * rng.normal(size=TRAINING_ROWS)
    answers = [
        at @ np.linalg.solve((x * rows[:, None]).T @ x + np.eye(3), x.T @ (rows * y))
        for rows in from_index(np.arange(1 << TRAINING_ROWS), TRAINING_ROWS).astype(float)
    ]
    return TableGame(tuple(f"row {i + 1}" for i in range(TRAINING_ROWS)), np.array(answers))


def degree_weights(table: FloatArray) -> FloatArray:
    """Sum of the squared coefficients of each degree, in products of x_i = ±1 at p = ½: (n + 1,).

    >>> degree_weights(np.array([0.0, 1.0, 1.0, 0.0]))  # ½ − ½ x₁x₂
    array([0.25, 0.  , 0.25])
    """
    n = table.size.bit_length() - 1
    coefficients = table.reshape((2,) * n).astype(float)
    for axis in range(n):
        out, come = np.take(coefficients, 0, axis), np.take(coefficients, 1, axis)
        coefficients = np.stack([(out + come) / 2, (come - out) / 2], axis=axis)
    sizes = np.bitwise_count(np.arange(table.size))
    return np.asarray(np.bincount(sizes, coefficients.reshape(-1) ** 2, n + 1), dtype=np.float64)


def noise_stability(table: FloatArray, rho: float) -> float:
    """E f(x) f(y), x fair coins and y equal to x but for coordinates tossed again with chance 1 − ρ."""
    n = table.size.bit_length() - 1
    moved = table.reshape((2,) * n).astype(float)
    for axis in range(n):
        moved = (1 + rho) / 2 * moved + (1 - rho) / 2 * np.flip(moved, axis)
    return float((table * moved.reshape(-1)).mean())
