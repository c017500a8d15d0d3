"""Which labels are wrong? Suspects, how they were found, how many of them to expect to be right, and when to say nothing.

This is another question than what a row is worth: a rightly labelled row can be useless, a wrongly labelled one harmless.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from accredit.checks import needs
from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import as_array, check_text, shown
from accredit.core import BoolArray, FloatArray, IntArray
from accredit.core.game import as_name
from accredit.core.statistics import ALIKE
from accredit.core.threads import one_thread
from accredit.errors import InvalidInput
from accredit.labels import scores
from accredit.labels.duplicates_outliers import Nearest, nearest, oddities
from accredit.labels.out_of_fold import belief, copies_of, likeliest_penalty, out_of_fold, pool, pool_shares
from accredit.labels.planted_flips import PLANTED, Trial, find_share, plant
from accredit.labels.predictability import Foretold
from accredit.labels.rate import ENDS, error_rate
from accredit.labels.result import Evidence, WrongLabels, with_excerpts
from accredit.labels.scores import View, margin
from accredit.valuation.split import missing

# How right a list of suspects is, at a given rate π of wrong labels.
#
# Flip a label, and its row moves to where wrong labels are. A model out of fold never saw the label that it judges, so its
# answer
# stays what it is: every row can be flipped in thought, to every other class, without training anything. Let F be the share of
# rows as given below some score, and G the share of flipped ones; A and B those of rows that are labelled rightly and wrongly.
# Of C classes,
#
# $$F = (1-\pi)\,A + \pi\,B, \qquad G = (1-\pi)\,B + \pi\,\frac{A + (C-2)\,B}{C-1},$$
#
# since a flip may also put a wrong label right. That is solved for B, and πB/F of the rows below that score are wrong.
#
# A score that is not of that kind is judged by planted flips: they say which share of wrong labels is found (B) beside which
# share of right ones (A), from models that learned from more wrong labels than there are, so that it rather promises too
# little.

SHORTEST_LIST = 0.05  # share of rows; the precision of shorter lists cannot be told from that of one as long as this


def precision_in_thought(logs: FloatArray, y: IntArray, rate: float) -> FloatArray:
    """Of the K most suspect rows by out-of-fold `logs` (N, C), the share whose label is wrong, for K = 1 … N.

    >>> logs = np.log([[0.9, 0.1]] * 90 + [[0.1, 0.9]] * 10)  # ten labels of a hundred contradict what is predicted
    >>> float(precision_in_thought(logs, np.zeros(100, dtype=int), rate=0.1)[9].round(2))
    1.0
    """
    rows, classes = logs.shape
    given = np.sort(margin(logs, y))
    flipped = np.sort(np.concatenate([margin(logs, (y + step) % classes) for step in range(1, classes)]))
    f = np.arange(1, rows + 1) / rows
    g = np.searchsorted(flipped, given, side="right") / len(flipped)
    back = rate / (classes - 1)  # a flip that puts a wrong label right
    wrong = ((1 - rate) * g - back * f) / ((1 - rate) * (1 - back) - rate * back)
    return _of_every_length(rate * wrong / f)


def precision_by_planting(trials: list[Trial], rate: float) -> FloatArray:
    """The same by planted flips, for any score."""
    after = rate + PLANTED * (1 - rate)
    by_rank = np.mean([trial.flipped[np.argsort(trial.score, kind="stable")] for trial in trials], axis=0)  # (N,)
    listed = np.arange(1, len(by_rank) + 1) / len(by_rank)
    found = np.cumsum(by_rank) / by_rank.sum()
    right = np.clip((listed - after * found) / (1 - after), 0.0, 1.0)
    length = rate * found + (1 - rate) * right  # of the list in the data as given that ends at the same score
    return _of_every_length(np.interp(listed, length, rate * found / np.maximum(length, 1e-12)))


def share_interval(size: int, shares: FloatArray, chances: FloatArray) -> tuple[float, float]:
    """Between which shares of a list of `size` rows are wrong, with 90 % chance, where each is wrong with one of the
    `shares` (R,), which have the `chances` (R,). It is wide where rows are few, and where nobody knows the rate.

    >>> share_interval(1000, np.array([0.5]), np.array([1.0]))
    (0.474, 0.526)
    >>> share_interval(10, np.array([0.5]), np.array([1.0]))
    (0.2, 0.8)
    """
    from scipy.stats import binom

    up_to = binom.cdf(np.arange(size + 1)[:, None], size, shares) @ chances  # (size + 1,)
    low, high = np.searchsorted(up_to, ENDS)
    return float(low / size), float(min(high, size) / size)


def _of_every_length(curve: FloatArray) -> FloatArray:
    shortest = max(1, round(SHORTEST_LIST * len(curve)))
    curve = np.clip(curve, 0.0, 1.0)
    curve[: shortest - 1] = curve[shortest - 1]
    return curve


PLANTINGS = 3  # plantings
WANTED = 1 / 3  # a list ends where fewer than this share of the next rows are expected to be wrong
COMBINED, CLEARLY = "out-of-fold models together", 0.02  # the score to beat, and by how much area
UNSURE = 0.5  # width of the interval of a precision above which nothing is known of it
CANNOT_TELL = ", but these features cannot tell how many: look at the first rows before you trust the list"
FINDS = 0.6  # the least area that planted flips must be found with
ROWS_NEEDED = 20  # rows
ROWS_FOR_ALL_SCORES = 20_000  # rows, above which the dearer scores are left out, and said so


@check_arguments
def wrong_labels(
    labels: Sequence[object] | npt.NDArray[np.generic],
    *,
    texts: Sequence[str] | None = None,
    features: View | Mapping[str, View] | None = None,
    names: Sequence[str] | None = None,
    wanted: float = WANTED,
    seed: int = 0,
) -> WrongLabels:
    """Find rows whose label is likely wrong, from texts, from features of any encoder, or from both.

    Texts are seen as weighted words and parts of words; `features` are further views: one matrix, or several by name. Every
    score is tried on planted flips of these very data; all out-of-fold models together rank the rows unless another finds
    clearly more. The list ends where less than a share `wanted` of the next rows is expected to be wrong. If the views hardly
    predict the given labels better than the largest class does, nobody is accused.

    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(200) % 2
    >>> x = rng.normal(size=(200, 4)) + 3 * y[:, None]
    >>> y[:8] = 1 - y[:8]
    >>> found = wrong_labels(y, features=x)
    >>> set(range(8)) <= set(found.suspects[:10])
    True
    >>> wrong_labels(rng.permutation(y), features=x).suspects  # features that say nothing accuse nobody
    ()
    """
    _check_extra()
    y, classes = _codes(labels)
    views = _views(texts, features, len(y))
    rows = _name(names) if names is not None else tuple(f"row {i}" for i in range(len(y)))
    if len(rows) != len(y):
        raise InvalidInput(
            f"names holds {len(rows)} for {len(y)} labels; give one name per label", argument="names", code="shape"
        )
    if not 0 < wanted < 1:
        raise InvalidInput(
            f"wanted is {wanted!r}; it must lie between 0 and 1, for example wanted={WANTED:.2f}",
            argument="wanted",
            code="range",
        )
    with one_thread():
        near = {name: nearest(view) for name, view in views.items()}
        copies = None if texts is None else copies_of(texts, y)
        penalties = {name: likeliest_penalty(view, y, seed, copies) for name, view in views.items()}
        rows_seen = _Seen(views, near, penalties, copies)
        seen = _score(rows_seen, y, seed)
        trials = [_trial(rows_seen, y, len(classes), seed + 1 + i) for i in range(PLANTINGS)]
    if not all(flips.any() for _, flips in trials):
        raise InvalidInput(
            f"{len(y)} labels of {len(classes)} classes: hardly a class could spare a row, so nothing can be planted among "
            "them; drop or merge small classes",
            argument="labels",
            code="undefined",
        )
    evidence = _evidence([{n: find_share(s, flips) for n, s in found.scores.items()} for found, flips in trials])
    chosen = _choose(evidence).score
    kept = [Trial(flips, found.scores[chosen]) for found, flips in trials]
    agreement, majority = float(seen.agrees.mean()), float(np.bincount(y).max() / len(y))
    refused = _refusal(agreement, majority, _choose(evidence), len(y))
    order = np.argsort(seen.scores[chosen], kind="stable")
    suspicion = np.empty(len(y))
    suspicion[order] = 1 - np.arange(len(y)) / max(len(y) - 1, 1)
    listed = _List((), None, refused)
    if not refused:
        with one_thread():
            listed = _make_list(order, seen, y, chosen, kept, wanted)
    found = WrongLabels(
        names=rows,
        given=tuple(classes[i] for i in y),
        suggested=tuple(classes[i] for i in _instead(seen.logs, y, listed.suspects)),
        suspicion=suspicion,
        suspects=listed.suspects,
        rate=listed.rate,
        chosen=chosen,
        evidence=evidence,
        agreement=agreement,
        majority=majority,
        verdict=listed.verdict,
        oddities=oddities(next(iter(near.values())), y),
        seen_as=tuple(views),
        precision=listed.precision,
        precision_interval=listed.precision_interval,
        left_out=_not_tried(len(y)),
        precision_at=listed.precision_at,
    )
    return with_excerpts(found, texts)


def _name(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(check_text(as_name(name), "names") for name in names)


def _instead(logs: FloatArray, y: IntArray, suspects: Sequence[int]) -> IntArray:
    """The likeliest class of every row (N,), and of a suspect the likeliest among the others: its label is what is doubted.

    >>> _instead(np.log([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 0]), [1])
    array([0, 1])
    """
    doubted = logs.copy()
    doubted[list(suspects), y[list(suspects)]] = -np.inf
    return np.asarray(doubted.argmax(axis=1))


@dataclass(frozen=True, eq=False)
class _List:
    """The rows that are accused, and what to expect of them."""

    suspects: tuple[int, ...]
    rate: float | None
    verdict: str
    precision_at: FloatArray | None = None
    precision: float | None = None
    precision_interval: tuple[float, float] | None = None


def _make_list(order: IntArray, seen: _Scored, y: IntArray, chosen: str, trials: list[Trial], wanted: float) -> _List:
    """Where the list ends, and what to expect of it; no list where none would be right often enough."""

    def expect(rate: float) -> FloatArray:  # of the first look: the second has learned from the labels judged
        return precision_in_thought(seen.logs, y, rate) if chosen == COMBINED else precision_by_planting(trials, rate)

    errors = error_rate(seen.logs, y)
    rate, curve = errors.likeliest, expect(errors.likeliest)
    size = 0 if seen.agrees.all() else _length(curve, wanted)
    if not size:
        verdict = f"about {rate:.1%} of the labels look wrong, but no list is expected to be {wanted:.0%} right"
        if seen.agrees.all():
            most = f"at most about {errors.interval[1]:.1%} could be wrong"
            verdict = f"no label looks wrong: all are predicted from the other rows; {most}"
        return _List((), rate, verdict, curve)
    shares = np.array([expect(other)[size - 1] for other in errors.rates])
    precision = float(curve[size - 1])
    low, high = share_interval(size, shares, errors.chances)
    verdict = f"about {rate:.1%} of the labels look wrong; of the {size} listed about {precision:.0%} should be"
    if high - low > UNSURE:
        verdict += CANNOT_TELL
    return _List(tuple(order[:size].tolist()), rate, verdict, curve, precision, (min(low, precision), max(high, precision)))


@dataclass(frozen=True, eq=False)
class _Seen:
    """What is known of the rows, whatever their labels."""

    views: Mapping[str, View]
    near: Mapping[str, Nearest]  # their nearest neighbours in each view
    penalties: Mapping[str, float | None]
    copies: IntArray | None  # (N,), the same number for the same text

    def predict(self, name: str, y: IntArray, seed: int, believed: FloatArray | None = None) -> dict[str, FloatArray]:
        return out_of_fold(self.views[name], y, seed, believed, self.penalties[name], self.copies)


@dataclass(frozen=True, eq=False)
class _Scored:
    scores: dict[str, FloatArray]  # name -> (N,)
    logs: FloatArray  # (N, C), out-of-fold log probabilities of all models together
    agrees: BoolArray  # (N,), whether the likeliest class of `logs` is the label


def _score(rows: _Seen, y: IntArray, seed: int) -> _Scored:
    """Every score of every view, and two that combine them."""
    from scipy.stats import rankdata

    found: dict[str, FloatArray] = {}
    said: dict[str, list[FloatArray]] = {}
    for name, near in rows.near.items():
        predicted = rows.predict(name, y, seed)
        said[name] = list(predicted.values())
        found |= {f"{model}, {name}": scores.margin(log, y) for model, log in predicted.items()}
        found[f"neighbours, {name}"] = scores.neighbour_agreement(near.rows, y)
        if len(y) <= ROWS_FOR_ALL_SCORES:
            found[f"margin over training, {name}"] = scores.margin_over_training(near.points, y, seed)
            found[f"KNN-Shapley, {name}"] = scores.knn_value(near.points, y, seed)
    heard = _hear(said, y)
    first = [log for name in heard for log in said[name]]
    shares = pool_shares(first, y)
    logs = pool(first, shares)
    believed = belief(logs, y)  # a second look, in which doubtful labels teach less
    again = [rows.predict(name, y, seed, believed) for name in heard]
    found[COMBINED] = scores.margin(logs + pool([log for view in again for log in view.values()], shares), y)
    found["mean rank of all"] = np.mean([rankdata(s) for s in found.values()], axis=0)
    return _Scored(found, logs, logs.argmax(axis=1) == y)


def _hear(said: Mapping[str, list[FloatArray]], y: IntArray) -> list[str]:
    """The views that predict more labels than the largest class does: others have no vote. All of them, where none does."""
    majority = float(np.bincount(y).max() / len(y))
    right = {name: float((np.mean(logs, axis=0).argmax(axis=1) == y).mean()) for name, logs in said.items()}
    return [name for name, share in right.items() if not Foretold(share, majority, len(y)).refusal] or list(said)


def _trial(rows: _Seen, y: IntArray, classes: int, seed: int) -> tuple[_Scored, BoolArray]:
    labels, flipped = plant(y, classes, seed, rows.copies)
    return _score(rows, labels, seed), flipped


def _evidence(areas: list[dict[str, float]]) -> tuple[Evidence, ...]:
    """Scores by how well they found planted flips, best first."""
    found = [
        Evidence(name, float(np.mean(a)), float(np.std(a, ddof=1) / np.sqrt(len(a))))
        for name in areas[0]
        for a in [[one[name] for one in areas]]
    ]
    return tuple(sorted(found, key=lambda e: -e.area))


def _choose(evidence: tuple[Evidence, ...]) -> Evidence:
    """All out-of-fold models together, unless another score finds clearly more: three plantings cannot tell near ones apart."""
    combined = next(e for e in evidence if e.score == COMBINED)
    return evidence[0] if evidence[0].area > combined.area + CLEARLY else combined


def _refusal(agreement: float, majority: float, best: Evidence, rows: int) -> str:
    """Why nobody is accused; empty where somebody may be."""
    if silent := Foretold(agreement, majority, rows).refusal:
        return f"nobody is accused: {silent}"
    if best.area < FINDS:
        return f"nobody is accused: planted wrong labels are found with an area of {best.area:.2f}, hardly above chance (0.5)"
    return ""


def _length(curve: FloatArray, wanted: float) -> int:
    """The list whose next rows are no longer worth a look: K·(precision − wanted) is largest; 0 where it is never positive."""
    gain = np.arange(1, len(curve) + 1) * (curve - wanted)
    best = int(gain.argmax())
    return best + 1 if gain[best] > ALIKE else 0


def _not_tried(rows: int) -> tuple[str, ...]:
    if rows <= ROWS_FOR_ALL_SCORES:
        return ()
    return (f"margin over training and KNN-Shapley: not tried above {ROWS_FOR_ALL_SCORES:,} rows",)


def _views(texts: Sequence[str] | None, features: View | Mapping[str, View] | None, rows: int) -> dict[str, View]:
    given = {} if features is None else features if isinstance(features, Mapping) else {"features": features}
    views = {} if texts is None else scores.text_views(_check_texts(texts))
    views |= {str(name): scores.scale(view, str(name)) for name, view in given.items()}
    if not views:
        raise InvalidInput("nothing to judge labels by: give texts=…, features=…, or both", code="missing")
    for name, view in views.items():
        if view.shape[0] != rows:
            whose = f"features {name!r}" if name in given else "texts"
            raise InvalidInput(
                f"{whose} holds {view.shape[0]} rows and labels {rows}; give one of each for every row",
                argument="features" if name in given else "texts",
                code="shape",
            )
    return views


def _check_texts(texts: Sequence[str]) -> list[str]:
    bad = [i for i, text in enumerate(texts) if not isinstance(text, str) or not text.strip()]
    if isinstance(texts, str) or bad or not len(texts):
        raise InvalidInput(
            f"texts must be non-empty strings, one per row; row {bad[0] if bad else 0} holds "
            f"{shown(texts[bad[0]] if bad else texts)}",
            argument="texts",
            code="type",
        )
    return list(texts)


def _codes(labels: Sequence[object] | npt.NDArray[np.generic]) -> tuple[IntArray, tuple[str, ...]]:
    """Class numbers (N,) and class names; every class needs two rows, since each is predicted from the others."""
    given = as_array(labels, "labels").tolist() if not isinstance(labels, list | tuple) else list(labels)
    if not isinstance(given, list):
        raise InvalidInput(f"labels is {shown(labels)}; give one label per row", argument="labels", code="type")
    unknown = [row for row, label in enumerate(given) if missing(label)]
    if unknown:
        raise InvalidInput(
            f"labels hold {given[unknown[0]]!r} in row {unknown[0]}; fill or drop such rows first",
            argument="labels",
            code="missing",
        )
    words = [str(label) for label in given]
    classes, y = np.unique(words, return_inverse=True)
    if len(words) < ROWS_NEEDED or len(classes) < 2:
        raise InvalidInput(
            f"{len(words)} labels of {len(classes)} classes; at least {ROWS_NEEDED} rows of two classes are needed",
            argument="labels",
            code="range",
        )
    rare = classes[np.bincount(y) < 2]
    if len(rare):
        raise InvalidInput(
            f"labels hold the class {shown(str(rare[0]))} in one row only; nothing else can vouch for it: drop or merge such "
            "classes",
            argument="labels",
            code="undefined",
        )
    return y.astype(np.int64), tuple(map(str, classes))


def _check_extra() -> None:
    with needs("data", "finding wrong labels"):
        import sklearn  # noqa: F401
