"""Section 10.5 of the chapter: where one number per player hides what players do together."""

from __future__ import annotations

import numpy as np

from accredit.checks import needs
from accredit.checks.json_data import round_off
from accredit.core import BoolArray, FloatArray
from accredit.core.coalitions import from_index
from accredit.games import TableGame
from accredit.values import banzhaf, best_subsets, leave_one_out, mobius, shapley, shapley_interactions, value_given
from accredit_papers.report import Report
from accredit_papers.verdicts import of_share

LITTLE_ACCURACY = 0.02  # of accuracy


class MatchedPair:
    """Training rows as players: easy rows far from the line y = x, and the two critical ones close to it.

    The payoff is the accuracy of a linear support vector machine, trained on the rows that play, on a grid of test points. Rows
    of one class only predict that class; no rows at all predict the first class.
    """

    def __init__(self, seed: int, easy: int = 6) -> None:
        rng = np.random.default_rng(seed)
        above = rng.random(easy) < 0.5
        above[:2] = [True, False]
        along, away = rng.uniform(-4, 4, easy), rng.uniform(2.0, 5.0, easy)
        offset = np.where(above, away, -away) / np.sqrt(2)
        points = np.column_stack([along - offset, along + offset])
        self.points = np.vstack([points, [[1.0, 1.1], [1.1, 1.0]]])
        self.above = np.concatenate([above, [True, False]])
        side = np.linspace(-5, 5, 40)
        self.test = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
        self.test = self.test[self.test[:, 0] != self.test[:, 1]]
        self.players = (*(f"easy {i + 1}" for i in range(easy)), "d_A", "d_B")

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        return np.array([self._accuracy(row) for row in coalitions])

    def _accuracy(self, rows: BoolArray) -> float:
        truth = self.test[:, 1] > self.test[:, 0]
        labels = self.above[rows]
        if len(labels) == 0 or labels.all() or not labels.any():
            guess = bool(labels[0]) if len(labels) else False
            return float((truth == guess).mean())
        with needs("data", "the matched-pair experiment"):
            from sklearn.svm import SVC
        fitted = SVC(kernel="linear", C=1e4).fit(self.points[rows], labels)
        return float((fitted.predict(self.test) == truth).mean())


def matched_pair(report: Report, seed: int, draws: int) -> None:
    """Section 10.5.1 on a real linear classifier."""
    report.heading("10.5.1 The matched pair")
    report.say(
        f"Six easy rows far from the line, two critical rows d_A = (1, 1.1) and d_B = (1.1, 1), a linear support vector "
        f"machine trained on every one of the 256 subsets, accuracy on {len(MatchedPair(seed).test):,} grid points; {draws} "
        "draws of the easy rows."
    )
    rows, alone, together, pairs, values = [], [], [], [], []
    for draw in range(draws):
        played = MatchedPair(seed + draw)
        game = TableGame(played.players, played.payoff(from_index(np.arange(256), 8)))
        easy = played.players[:6]
        only_a, only_b = value_given(game, "d_A", easy), value_given(game, "d_B", easy)
        after = value_given(game, "d_A", [*easy, "d_B"])
        phi = shapley(game)
        synergy = shapley_interactions(game)["d_A", "d_B"]
        alone.append((only_a + only_b) / 2)
        together.append(after)
        pairs.append(synergy)
        values.append((phi["d_A"] + phi["d_B"]) / 2)
        if draw < 5:
            rows.append([draw + 1, only_a, only_b, after, phi["d_A"], phi["d_B"], synergy])
    report.table(
        [
            "draw",
            "d_A added to the easy rows",
            "d_B added to them",
            "d_A added after d_B",
            "Shapley d_A",
            "Shapley d_B",
            "interaction",
        ],
        rows,
        detail=True,
    )
    a, t, s, phi_mean = (np.array(x) for x in (alone, together, pairs, values))
    report.verdict(
        "A critical row that comes alone adds little or even harms, in most draws",
        of_share(int((a <= LITTLE_ACCURACY).sum()), draws, low=0.5, unit="draw"),
        f"added to the easy rows a critical row changes accuracy by {np.median(a):+.3f} (median of {draws} draws; "
        f"negative in {np.mean(a < 0):.0%})",
    )
    report.verdict(
        "Adding the partner then brings a large gain, in most draws",
        of_share(int(((t > LITTLE_ACCURACY) & (t > a)).sum()), draws, low=0.5, unit="draw"),
        f"{np.median(t):+.3f} (median); more than the first in {np.mean(t > a):.0%} of draws",
    )
    between = (np.minimum(a, t) <= phi_mean) & (phi_mean <= np.maximum(a, t))
    report.verdict(
        "The Shapley value lies between the two, in most draws, and tells neither story",
        of_share(int(between.sum()), draws, low=0.5, unit="draw"),
        f"Shapley of a critical row: {np.median(phi_mean):+.3f} (median); it lies between what the row adds before and after "
        f"its partner in {between.mean():.0%} of draws",
    )
    report.say(
        f"The Shapley interaction of d_A and d_B is {np.median(s):+.3f} (median; positive in {np.mean(s > 0):.0%} of draws): "
        "shown beside the values it tells the buyer to take both or neither."
    )
    report.figure(
        "matched_pair",
        "What a critical row adds to the easy rows before and after its partner, and its Shapley value.",
        lambda axes: _draw_pair(axes, a, t, phi_mean),
    )


def _draw_pair(axes: object, alone: FloatArray, together: FloatArray, values: FloatArray) -> None:
    from matplotlib.axes import Axes

    assert isinstance(axes, Axes)
    order = np.argsort(together)
    x = np.arange(len(order))
    axes.axhline(0, color="0.7", lw=0.8)
    axes.plot(x, together[order], "C0^", ms=4, label="after its partner")
    axes.plot(x, values[order], "k_", ms=7, label="Shapley value")
    axes.plot(x, alone[order], "C1v", ms=4, label="before its partner")
    axes.set(xlabel="draws of the easy rows, sorted", ylabel="accuracy gained")
    axes.legend(frameon=False)


def blame(report: Report) -> None:
    """Whether the linearity axiom is what hides synergy."""
    report.heading("10.5 Is linearity to blame?")
    together = TableGame(("a", "b"), [0, 0, 0, 1])  # only the two together earn anything
    apart = TableGame(("a", "b"), [0, 0.5, 0.5, 1])  # each earns a half, whoever else is there
    same = np.allclose(shapley(together).credit, shapley(apart).credit)
    report.verdict(
        "The linearity axiom is what makes Shapley values hide synergy",
        not same,
        "the games “only together” and “each one half” have the same Shapley values, and the same shares under *any* rule "
        "that is efficient and symmetric, linear or not. The cause is that n numbers summarise "
        "2ⁿ payoffs; interactions restore what is lost",
    )
    report.table(
        ["game", "Shapley", "Banzhaf", "leave-one-out", "interaction of a and b"],
        [
            [
                name,
                *(", ".join(round_off(x) for x in rule(g).credit) for rule in (shapley, banzhaf, leave_one_out)),
                shapley_interactions(g)["a", "b"],
            ]
            for name, g in (("only together", together), ("each one half", apart))
        ],
    )


def pricing(report: Report) -> None:
    """Problem 10.5.1: three data sets."""
    report.heading("10.5.2 Pricing data sets: Problem 10.5.1")
    game = TableGame(("A", "B", "C"), [0, 50, 20, 75, 25, 80, 90, 100])
    phi = shapley(game)
    given_a, given_b = value_given(game, "C", ["A"]), value_given(game, "C", ["B"])
    best = best_subsets(game)
    chosen = phi.ranked().players[:2]
    report.table(
        ["data set", "alone", "given A", "given B", "given C", "last", "Shapley value"],
        [
            [
                p,
                value_given(game, p),
                *(value_given(game, p, [q]) if q != p else "—" for q in "ABC"),
                value_given(game, p, set("ABC") - {p}),
                phi[p],
            ]
            for p in "ABC"
        ],
    )
    report.verdict(
        "Problem 10.5.1, 1: C adds 30 to A and 70 to B",
        (given_a, given_b) == (30, 70),
        f"computed {given_a:g} and {given_b:g}: C complements B",
    )
    report.verdict(
        "Problem 10.5.1, 2: the Shapley values are (115/3, 85/3, 100/3)",
        np.allclose(phi.credit, [115 / 3, 85 / 3, 100 / 3]),
        ", ".join(f"{p} {x:.4f}" for p, x in phi),
    )
    report.verdict(
        "Problem 10.5.1, 3: the best single data set is A, and A and C, as the junior analyst recommends, perform at 80",
        best[1][0] == ("A",) and game.table[5] == 80,
        f"A is worth {best[1][1]:g}, A + C {game.table[5]:g}",
    )
    report.verdict(
        "Problem 10.5.1, 3: Shapley values are a misleading guide for buying two data sets",
        set(chosen) != set(best[2][0]),
        f"the two highest values are {' and '.join(sorted(chosen))}, worth {game.table[5]:g} together; "
        f"the best pair is {' + '.join(best[2][0])}, worth {best[2][1]:g}",
    )
    report.say(
        f"The interaction of B and C is {shapley_interactions(game)['B', 'C']:+.4g}, that of A and C "
        f"{shapley_interactions(game)['A', 'C']:+.4g}: a value prices a share of the grand coalition, not a purchase of two."
    )


def corner(report: Report) -> None:
    """Problem 10.5.2: the corner detector."""
    report.heading("10.5.3 The corner detector: Problem 10.5.2")
    pixels = ("top left", "top right", "bottom left", "bottom right")
    table = [float(mask & 7 == 7) for mask in range(16)]
    game = TableGame(pixels, table)
    phi = shapley(game)
    report.verdict(
        "Problem 10.5.2, 1: the Shapley values are (⅓, ⅓, ⅓, 0)",
        np.allclose(phi.credit, [1 / 3, 1 / 3, 1 / 3, 0]),
        ", ".join(f"{p} {x:.4f}" for p, x in phi),
    )
    report.verdict(
        "Problem 10.5.2, 2: null player, symmetry and efficiency hold, and settle it without any sum",
        phi.credit[3] == 0 and np.ptp(phi.credit[:3]) < 1e-15 and abs(phi.credit.sum() - 1) < 1e-15,
        "the fourth pixel changes no payoff; the other three are interchangeable; the shares add up to 1",
    )
    strongest = mobius(game).strongest(1)[0]
    added = shapley(TableGame(pixels, from_index(np.arange(16), 4) @ [1 / 3, 1 / 3, 1 / 3, 0]))
    report.verdict(
        "Problem 10.5.2, 2: the values obscure that the model is an AND",
        np.allclose(added.credit, phi.credit) and len(strongest[0]) == 3 and strongest[1] == 1,
        f"a model that adds ⅓ for each of the three pixels has the same values. Dividends tell the two apart: here the only "
        f"one that is not 0 is that of {' + '.join(strongest[0])}, worth {strongest[1]:g}",
    )
