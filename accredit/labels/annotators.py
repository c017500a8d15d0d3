r"""Who labels how well, and what several annotators together say of a row.

One label per row: the labels of an annotator are wrong as often as their probabilities say on average, drawn towards the rate
of all, as if `PRIOR_LABELS` more labels of his had been seen at that rate. The rate found that way moves the odds of his other
labels, so a careless annotator is doubted more in every row.

Several labels per row: Dawid and Skene's model by expectation–maximisation, with the out-of-fold models as one more annotator,
who sees every row. Row i has the class k with

$$P(k) \propto \rho_k \, q_{ik}^{w} \prod_{a \in A_i} \theta^{a}_{k, y_{ia}},$$

where θ is how annotator a writes class k: right with a share that is his own, and else as all annotators confuse k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.labels.probability import ENDS, ERRORS_TRIED, shift_odds

PRIOR_LABELS = 20.0  # labels as if seen of every annotator, wrong as often as those of all
FEWEST_LABELS = 5  # of an annotator, below which nothing is known of him
NAMED = 3  # annotators in a sentence
ROUNDS = 30  # of expectation and maximisation
SETTLED = 1e-6


@dataclass(frozen=True)
class Annotator:
    """How often one annotator is wrong."""

    name: str
    labels: int  # that he gave
    rate: float  # expected share of them that is wrong
    low: float  # 90 % interval of it
    high: float
    agreement: float | None = None  # with the others, where they labelled the same rows; None: nobody did
    like_worst: bool = False  # cannot be told from the one who is wrong most often, or is the one


@dataclass(frozen=True)
class Consensus:
    """What all labels of one row say together."""

    row: str
    label: str
    probability: float  # that this label is wrong
    labels: int  # that were given
    agreeing: int  # of them that are the same


def rate_by_annotator(probability: FloatArray, by: Sequence[str]) -> tuple[FloatArray, tuple[Annotator, ...]]:
    """Probabilities (N,) in the light of who gave each label, and every annotator, the worst first.

    >>> doubted = np.array([0.6] * 10 + [0.01] * 30)
    >>> moved, who = rate_by_annotator(doubted, ["ann"] * 10 + ["bob"] * 30)
    >>> [one.name for one in who], bool(moved[0] > 0.6 and moved[-1] < 0.01)
    (['ann', 'bob'], True)
    """
    names, codes = np.unique(np.asarray(by, dtype=object).astype(str), return_inverse=True)
    count = np.bincount(codes)
    overall = float(probability.mean())

    def draw(shares: FloatArray) -> FloatArray:
        return np.asarray((np.bincount(codes, shares) + PRIOR_LABELS * overall) / (count + PRIOR_LABELS))

    rates = draw(probability)
    odds = np.log(rates / (1 - rates)) - np.log(overall / (1 - overall))
    logits = np.log(probability) - np.log1p(-np.clip(probability, 0.0, 1 - 1e-12)) + odds[codes]
    moved = 1 / (1 + np.exp(-logits))
    rates = draw(moved)
    tried = np.array([draw(shares) for shares in shift_odds(moved, ERRORS_TRIED)])  # (E, annotators)
    chance = np.sqrt(rates * (1 - rates) / (count + PRIOR_LABELS))
    low, high = np.quantile(tried, ENDS, axis=0)
    better = _surely_better(tried, np.asarray(count + PRIOR_LABELS, dtype=np.float64))
    found = [
        Annotator(
            str(names[a]),
            int(count[a]),
            float(rates[a]),
            float(max(0.0, low[a] - chance[a])),
            float(min(1.0, high[a] + chance[a])),
            like_worst=not better[a],
        )
        for a in np.argsort(-rates, kind="stable")
    ]
    return np.asarray(moved), tuple(found)


def _surely_better(tried: FloatArray, count: FloatArray) -> BoolArray:
    """Who is surely wrong less often than the worst (annotators,). `tried` are rates for each of the errors that probabilities
    may have (E, annotators): such an error goes for the labels of everybody, so that rates are compared under each of them.
    `count` (annotators,) labels were given; the level holds for all comparisons at once."""
    worst = int(tried.mean(axis=0).argmax())
    spread = tried * (1 - tried) / count
    error = np.sqrt(spread + spread[:, [worst]])
    ahead = np.quantile((tried[:, [worst]] - tried) / np.maximum(error, 1e-300), ENDS[0], axis=0)
    return np.asarray(ahead > ndtri(1 - ENDS[0] / max(1, tried.shape[1] - 1)))


def too_few_labels(annotators: Sequence[Annotator]) -> tuple[str, ...]:
    """A note on annotators of whom hardly anything is known.

    >>> too_few_labels([Annotator("zoe", 1, 0.1, 0.0, 0.6), Annotator("ann", 50, 0.1, 0.05, 0.15)])
    ('too few labels to say how often they are wrong, 5 are needed: zoe (1)',)
    """
    few = [f"{one.name} ({one.labels})" for one in annotators if one.labels < FEWEST_LABELS]
    more = f", … {len(few) - NAMED} more" if len(few) > NAMED else ""
    named = ", ".join(few[:NAMED])
    return (f"too few labels to say how often they are wrong, {FEWEST_LABELS} are needed: {named}{more}",) if few else ()


@dataclass(frozen=True, eq=False)
class Votes:
    """Labels that several annotators gave to the same rows: one entry per label."""

    row: IntArray  # (V,)
    annotator: IntArray  # (V,)
    label: IntArray  # (V,)
    rows: int
    annotators: int
    classes: int

    def majority(self) -> IntArray:
        """The most frequent label of every row (rows,); of equally frequent ones that of the annotators who agree most with
        the others."""
        counts = self.count(np.ones(self.annotators))
        first = counts.argmax(axis=1)
        agree = np.bincount(self.annotator, first[self.row] == self.label, self.annotators)
        weight = (agree + 1) / (np.bincount(self.annotator, minlength=self.annotators) + 2)
        return np.asarray((counts + 1e-3 * self.count(weight)).argmax(axis=1))

    def count(self, weight: FloatArray) -> FloatArray:
        """How much weight of annotators (annotators,) each class has in each row: (rows, classes)."""
        counts = np.zeros((self.rows, self.classes))
        np.add.at(counts, (self.row, self.label), weight[self.annotator])
        return counts

    def agreement(self) -> list[float | None]:
        """How often each annotator agrees with another who labelled the same row."""
        counts = self.count(np.ones(self.annotators))
        same = counts[self.row, self.label] - 1
        others = counts.sum(axis=1)[self.row] - 1
        agree, asked = (np.bincount(self.annotator, x, self.annotators) for x in (same, others))
        return [float(a / n) if n else None for a, n in zip(agree, asked, strict=True)]


def consensus_of(votes: Votes, logs: FloatArray, weight: float) -> tuple[FloatArray, FloatArray]:
    """The probability of each class of each row (rows, classes), and how often each annotator is wrong (annotators,).

    `logs` (rows, classes) are out-of-fold log probabilities of models that learned from majorities, `weight` what they count.

    >>> labels = np.array([0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0])
    >>> votes = Votes(np.repeat(np.arange(4), 3), np.tile([0, 1, 2], 4), labels, 4, 3, 2)
    >>> classes, wrong = consensus_of(votes, np.log(np.full((4, 2), 0.5)), 1.0)
    >>> classes.argmax(axis=1).tolist(), bool(wrong[2] > wrong[0])
    ([0, 1, 0, 1], True)
    """
    given = np.bincount(votes.annotator, minlength=votes.annotators)
    post = votes.count(np.ones(votes.annotators)) + 1e-3
    post /= post.sum(axis=1, keepdims=True)
    wrong = np.full(votes.annotators, 0.1)
    for _ in range(ROUNDS):
        doubt = 1 - post[votes.row, votes.label]
        overall = (doubt.sum() + 1) / (len(doubt) + 10)
        mistaken = np.bincount(votes.annotator, doubt, votes.annotators)
        wrong = np.clip((mistaken + 4 * overall) / (given + 4), 1e-4, 0.95)
        spread = np.full((votes.classes, votes.classes), 1.0)  # how class k is confused, drawn towards all classes alike
        np.add.at(spread.T, votes.label, post[votes.row])
        np.fill_diagonal(spread, 0.0)
        spread /= spread.sum(axis=1, keepdims=True)
        says = np.log(np.where(np.eye(votes.classes, dtype=bool), 1.0, np.maximum(spread, 1e-9)))  # (true, given)
        right, off = np.log(1 - wrong), np.log(wrong)
        score = weight * logs + np.log(post.mean(axis=0))
        for k in range(votes.classes):
            by = np.where(votes.label == k, right[votes.annotator], off[votes.annotator] + says[k, votes.label])
            score[:, k] += np.bincount(votes.row, by, votes.rows)
        score -= np.logaddexp.reduce(score, axis=1, keepdims=True)
        moved = float(np.abs(np.exp(score) - post).max())
        post = np.exp(score)
        if moved < SETTLED:
            break
    return post, wrong


def worst_of(annotators: Sequence[Annotator]) -> str:
    """Who is wrong most often, where that is known; `annotators` begin with the worst.

    >>> bob, eve = (Annotator(name, 50, 0.3, 0.2, 0.4, like_worst=True) for name in ("bob", "eve"))
    >>> ann = Annotator("ann", 50, 0.1, 0.05, 0.15)
    >>> worst_of([bob, ann]), worst_of([bob, eve])
    ('bob is wrong most often, in about 30%', 'who of them is wrong most often cannot be told')
    >>> worst_of([bob, eve, ann])
    'bob (30%) or eve (30%) is wrong most often'
    """
    judged = [one for one in annotators if one.labels >= FEWEST_LABELS]
    worst = [one for one in judged if one.like_worst]
    if not worst or len(worst) == len(judged) or len(worst) > NAMED:
        return "who of them is wrong most often cannot be told"
    if len(worst) == 1:
        return f"{worst[0].name} is wrong most often, in about {worst[0].rate:.0%}"
    return f"{' or '.join(f'{one.name} ({one.rate:.0%})' for one in worst)} is wrong most often"
