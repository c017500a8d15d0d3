"""Which labels are wrong? Suspects, the probability of each, how many of them to expect to be right, and when to say nothing.

This is another question than what a row is worth: a rightly labelled row can be useless, a wrongly labelled one harmless.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from unicodedata import normalize

import numpy as np
import numpy.typing as npt

from accredit.checks import needs
from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import as_array, check_same_order, check_text, shown
from accredit.core import FloatArray, IntArray
from accredit.core.game import as_name
from accredit.core.threads import one_thread
from accredit.errors import InvalidInput
from accredit.labels import row_views
from accredit.labels.annotators import Annotator, rate_by_annotator, too_few_labels, worst_of
from accredit.labels.duplicates_outliers import nearest, oddities
from accredit.labels.out_of_fold import (
    belief,
    copies_of,
    fits_needed,
    likeliest_penalty,
    out_of_fold,
    pool,
    pool_shares,
    rotate,
)
from accredit.labels.predictability import Skill, skill
from accredit.labels.probability import (
    CONTRADICTED,
    best_cut,
    between_counts,
    rate_interval,
    share_interval,
    wrong_probability,
)
from accredit.labels.rate import RandomRate, random_rate
from accredit.labels.result import NOBODY, Confusion, Evidence, WrongLabels, expected_of, with_excerpts
from accredit.labels.row_views import View, margin
from accredit.valuation.split import is_number, missing

UNSURE = 0.5  # width of the interval of a precision above which little is known of it
LOOK_FIRST = "; look at the first rows before you trust the list"
HARD_OR_WRONG = "up to {:.1%} of the {} may be wrong, or none: the data cannot tell wrong labels from hard rows"
NEARLY_CLEAN = np.log(400.0)  # log odds of the label in the middle row, from which hardly any label is doubtful
THIN = 1 / 3  # expected share of a list below which, if no rate is proven, it is no longer than the wrong labels expected
ROWS_NEEDED = 20  # rows
ROWS_PER_CLASS = 2.0  # on average, up to which labels are taken for names of rows
FEWEST_CONFUSED = 2.0  # expected rows from which a confusion is named


@check_arguments
def wrong_labels(
    labels: Sequence[object] | npt.NDArray[np.generic],
    *,
    texts: Sequence[str] | None = None,
    features: View | Mapping[str, View] | None = None,
    names: Sequence[str] | None = None,
    annotators: Sequence[str] | None = None,
    excerpts: Sequence[str] | None = None,
    wanted: float | None = None,
    seed: int = 0,
    watch: Callable[[float], None] | None = None,
) -> WrongLabels:
    """Find rows whose label is likely wrong, from texts, from features of any encoder, or from both.

    Texts are seen as weighted words and parts of words; `features` are further views: one matrix, or several by name. All
    out-of-fold models together rank the rows and give each label a probability to be wrong. The list holds the rows of which
    another class is likelier than their label, as long as they are wrong with a probability of `wanted`; left out, of that
    which makes the list best by the F-measure to be expected, recall counting twice. If the views say nothing about the labels,
    nobody is accused. `annotators` says who gave each label; `excerpts` what to show of each row, its text or its first numbers
    where left out; `watch` is called with the share of the work that is done.

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
    check_extra()
    y, classes = encode_labels(labels)
    views = read_views(texts, features, len(y))
    rows = row_names(names, len(y))
    check_rows_agree(labels, "labels", texts=texts, features=features, names=names, annotators=annotators, excerpts=excerpts)
    if excerpts is not None:
        excerpts = _name(excerpts, "excerpts", len(y))
    by = None if annotators is None else _name(annotators, "annotators", len(y))
    if wanted is not None and not 0 < wanted < 1:
        raise InvalidInput(
            f"wanted is {wanted!r}; it must lie between 0 and 1, for example wanted=0.1", argument="wanted", code="range"
        )
    judged = judge(views, y, None if texts is None else copies_of(texts, y), seed, watch)
    listed = _accuse(judged, y, wanted, by)
    found = WrongLabels(
        names=rows,
        given=tuple(classes[i] for i in y),
        suggested=tuple(classes[i] for i in _instead(judged.logs, y, listed.suspects)),
        probability=listed.probability,
        suspects=listed.suspects,
        rate=listed.rate,
        rate_interval=listed.rate_interval,
        precision=listed.precision,
        precision_interval=listed.precision_interval,
        confusions=() if listed.probability is None else find_confusions(listed.probability, judged.logs, y, classes),
        evidence=judged.evidence,
        agreement=judged.skill.agreement,
        majority=judged.skill.majority,
        verdict=listed.verdict,
        oddities=oddities(nearest(next(iter(views.values()))), y, texts),
        seen_as=tuple(views),
        notes=_spellings(classes) + too_few_labels(listed.annotators),
        annotators=listed.annotators,
    )
    return with_excerpts(found, excerpts or texts or first_numbers(views))


def check_rows_agree(labels: object, called: str, /, **others: object) -> None:
    """Refuse columns, frames and views of pandas that name the rows of the labels in another order."""
    for what, other in others.items():
        for view in other.values() if isinstance(other, Mapping) else (other,):
            check_same_order(labels, view, called, what)


@dataclass(frozen=True, eq=False)
class Judged:
    """What models that never saw a row say about its label."""

    logs: FloatArray  # (N, C), log probabilities after both looks, as if classes were less unlike in size
    margins: FloatArray  # (N,), log odds of the label against the best other class
    at_random: RandomRate  # of labels that are wrong at random
    skill: Skill  # of the first look
    evidence: tuple[Evidence, ...]


def judge(
    views: Mapping[str, View], y: IntArray, copies: IntArray | None, seed: int, watch: Callable[[float], None] | None = None
) -> Judged:
    """Every model of every view, twice: in the second look a row teaches as much as the first believed its label."""
    done, needed = 0, sum(fits_needed(view, y, copies) for view in views.values())

    def tick() -> None:
        nonlocal done
        done += 1
        if watch:
            watch(min(1.0, done / needed))

    with one_thread():
        views = {name: rotate(view) for name, view in views.items()}
        penalties = {name: likeliest_penalty(view, y, seed, copies, tick) for name, view in views.items()}
        said = {n: out_of_fold(view, y, seed, None, penalties[n], copies, tick) for n, view in views.items()}
        heard = _hear({name: list(logs.values()) for name, logs in said.items()}, y)
        first = [logs for name in heard for logs in said[name].values()]
        shares = pool_shares(first, y)
        pooled = pool(first, shares)
        believed = belief(pooled, y)
        again = [out_of_fold(views[name], y, seed, believed, penalties[name], copies, tick) for name in heard]
    both = level_classes((pooled + pool([logs for view in again for logs in view.values()], shares)) / 2, y)
    models = {f"{model}, {name}": logs for name in said for model, logs in said[name].items()}
    found = [Evidence(name, area_in_thought(logs, y)) for name, logs in models.items()]
    together = Evidence(TOGETHER, area_in_thought(both, y))
    return Judged(
        both,
        margin(both, y),
        random_rate(pooled, y),
        skill(pooled, y),
        (together, *sorted(found, key=lambda one: -one.area)),
    )


TOGETHER = "all models together"


def level_classes(logs: FloatArray, y: IntArray) -> FloatArray:
    """Log probabilities (N, C) without half of what the sizes of the classes say.

    A class that others are written as looks too frequent, and rows of the class that lost them too unlikely to be of it. How
    much of a difference in size is the world's, and how much comes from wrong labels, is not known: half is left.

    >>> np.exp(level_classes(np.log([[0.8, 0.2]] * 10), np.array([0] * 8 + [1] * 2)))[0].round(2)
    array([0.67, 0.33])
    """
    count = np.maximum(np.bincount(y, minlength=logs.shape[1]), 1)
    level = logs - np.log(count) / 2
    return np.asarray(level - np.logaddexp.reduce(level, axis=1, keepdims=True))


def area_in_thought(logs: FloatArray, y: IntArray) -> float:
    """The chance that a label moved to another class at random is more suspect than a label as given (ROC area).

    A model out of fold never saw the label that it judges, so a label can be moved in thought, without training anything.
    Labels as given are taken for right, which makes the area rather too small.

    >>> area_in_thought(np.log([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 1]))
    1.0
    """
    from scipy.stats import rankdata

    moved = np.concatenate([margin(logs, (y + step) % logs.shape[1]) for step in range(1, logs.shape[1])])
    ranks = rankdata(np.concatenate([moved, margin(logs, y)]))
    above = ranks[len(moved) :].sum() - len(y) * (len(y) + 1) / 2
    return float(above / (len(moved) * len(y)))


@dataclass(frozen=True, eq=False)
class _List:
    """The rows that are accused, and what to expect of them."""

    verdict: str
    probability: FloatArray | None = None
    suspects: tuple[int, ...] = ()
    rate: float | None = None
    rate_interval: tuple[float, float] | None = None
    precision: float | None = None
    precision_interval: tuple[float, float] | None = None
    annotators: tuple[Annotator, ...] = ()


def _accuse(judged: Judged, y: IntArray, wanted: float | None, by: tuple[str, ...] | None) -> _List:
    """Whose label is wrong with which probability, and who is listed; nobody where the views say nothing.

    Where right labels of hard rows explain all that is seen as well as wrong ones, the rate may be nothing; a list that would
    mostly accuse right labels then holds no more than the number of wrong ones expected, all of them contradicted.
    """
    if silent := judged.skill.refusal:
        return _List(NOBODY + silent)
    contradicted, at_random = float((judged.margins < -CONTRADICTED).mean()), judged.at_random.rate
    if quiet := float(np.median(judged.margins)) >= NEARLY_CLEAN:
        rate = min(at_random, max(contradicted, 0.5 / len(y)))
    else:
        rate = between_counts(judged.margins, at_random, contradicted)
    probability = wrong_probability(judged.margins, rate)
    raters: tuple[Annotator, ...] = ()
    if by is not None:
        probability, raters = rate_by_annotator(probability, by)
        rate = float(probability.mean())
    listed = np.flatnonzero((judged.margins < 0) & (probability >= (wanted or best_cut(probability))))
    suspects = listed[np.argsort(-probability[listed], kind="stable")]
    if wanted is None and not judged.at_random.is_proven and len(suspects) and probability[suspects].mean() < THIN:
        suspects = suspects[judged.margins[suspects] < -CONTRADICTED][: int(np.ceil(rate * len(y)))]
    known = rate_interval(probability)
    if proven := judged.at_random.is_proven:
        said = f"about {rate:.1%} of the labels look wrong ({known[0]:.1%} to {known[1]:.1%})"
    else:
        known = (0.0, known[1])
        said = (
            f"few of the labels look wrong, if any: up to {known[1]:.1%}" if quiet else HARD_OR_WRONG.format(known[1], "labels")
        )
    if not len(suspects):
        why = "no label looks wrong: none is contradicted by the other rows"
        verdict = (
            f"{why}; up to {known[1]:.1%} may be, more only if whole classes are swapped"
            if not contradicted
            else f"{said}; none stands out"
        )
        return _List(verdict, probability, (), rate, known, annotators=raters)
    precision = float(probability[suspects].mean())
    low, high = share_interval(probability[suspects])
    low, high = min(low, precision) if proven else 0.0, max(high, precision)
    verdict = f"{said}; {expected_of(len(suspects), precision, (low, high))}"
    verdict += f"; {worst_of(raters)}" if len(raters) > 1 else ""
    verdict += LOOK_FIRST if high - low > UNSURE else ""
    return _List(verdict, probability, tuple(suspects.tolist()), rate, known, precision, (low, high), raters)


def _instead(logs: FloatArray, y: IntArray, suspects: Sequence[int]) -> IntArray:
    """The likeliest class of every row (N,), and of a suspect the likeliest among the others: its label is what is doubted.

    >>> _instead(np.log([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 0]), [1])
    array([0, 1])
    """
    doubted = logs.copy()
    doubted[list(suspects), y[list(suspects)]] = -np.inf
    return np.asarray(doubted.argmax(axis=1))


def find_confusions(probability: FloatArray, logs: FloatArray, y: IntArray, classes: Sequence[str]) -> tuple[Confusion, ...]:
    """Which class is written as which, how often: the expected share of the rows that truly are of the first, most rows first.

    >>> logs = np.log([[0.98, 0.02]] * 10)
    >>> find_confusions(np.array([0.9] * 3 + [0.0] * 7), logs, np.array([1] * 3 + [0] * 7), ["8", "9"])
    (Confusion(true='8', given='9', share=0.278, rows=2.7),)
    """
    others = np.exp(logs)
    others[np.arange(len(y)), y] = 0.0
    others /= np.maximum(others.sum(axis=1, keepdims=True), 1e-300)
    wrong = np.array([(probability[y == k, None] * others[y == k]).sum(axis=0) for k in range(len(classes))])  # (given, true)
    right = np.bincount(y, 1 - probability, len(classes))
    truly = right + wrong.sum(axis=0)
    pairs = [
        Confusion(classes[true], classes[given], round(float(wrong[given, true] / truly[true]), 3), round(rows, 1))
        for given, true in zip(*np.nonzero(wrong >= FEWEST_CONFUSED), strict=True)
        for rows in [float(wrong[given, true])]
    ]
    return tuple(sorted(pairs, key=lambda one: -one.rows))


def _hear(said: Mapping[str, list[FloatArray]], y: IntArray) -> list[str]:
    """The views that say something about the labels: others have no vote. All of them, where none does."""
    return [n for n, logs in said.items() if not skill(pool(logs, pool_shares(logs, y)), y).refusal] or list(said)


def row_names(names: Sequence[str] | None, rows: int) -> tuple[str, ...]:
    """The names of rows, their numbers where there are none."""
    return tuple(f"row {i}" for i in range(rows)) if names is None else _name(names, "names", rows)


def _name(names: Sequence[str], argument: str, rows: int) -> tuple[str, ...]:
    found = tuple(check_text(as_name(name), argument) for name in names)
    if len(found) != rows:
        raise InvalidInput(
            f"{argument} holds {len(found)} for {rows} labels; give one per label", argument=argument, code="shape"
        )
    return found


def first_numbers(views: Mapping[str, View]) -> list[str] | None:
    """How each row of the first view begins, where that is a matrix of numbers."""
    view = next(iter(views.values()))
    if row_views.is_sparse(view):
        return None
    return [", ".join(f"{number:.3g}" for number in row) + ", …" * (view.shape[1] > 6) for row in np.asarray(view[:, :6])]


def read_views(texts: Sequence[str] | None, features: View | Mapping[str, View] | None, rows: int) -> dict[str, View]:
    given = {} if features is None else features if isinstance(features, Mapping) else {"features": features}
    views = {} if texts is None else row_views.text_views(_check_texts(texts))
    views |= {str(name): row_views.scale(view, str(name)) for name, view in given.items()}
    if not views:
        raise InvalidInput("nothing to judge labels by: give texts=…, features=…, or both", argument="features", code="missing")
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


def encode_labels(labels: Sequence[object] | npt.NDArray[np.generic]) -> tuple[IntArray, tuple[str, ...]]:
    """Class numbers (N,) and class names; every class needs two rows, since each is predicted from the others."""
    shape = getattr(labels, "shape", ())
    if len(shape) > 1 and shape[1:] != (1,):
        raise InvalidInput(
            f"labels has shape {shape}, and one label per row is needed; of one-hot rows write labels.argmax(axis=1), of "
            "several annotators wrong_votes, of several tags wrong_tags",
            argument="labels",
            code="shape",
        )
    array = None if isinstance(labels, list | tuple) else as_array(labels, "labels")
    given = list(labels) if array is None else (array.ravel() if shape[1:] else array).tolist()
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
            f"{len(words)} labels of {len(classes)} {'class' if len(classes) == 1 else 'classes'}; at least {ROWS_NEEDED} "
            "rows of two classes are needed",
            argument="labels",
            code="range",
        )
    if len(words) < ROWS_PER_CLASS * len(classes):
        raise InvalidInput(
            f"labels hold {len(classes)} different values in {len(words)} rows, as names or numbers do; give classes; numbers "
            "are judged by wrong_numbers",
            argument="labels",
            code="undefined",
        )
    rare = classes[np.bincount(y) < 2]
    if len(rare):
        alike = next((same for same in _alike(classes.tolist()) if rare[0] in same), [])
        other = next((name for name in alike if name != rare[0]), None)
        merge = "drop or merge such classes" if other is None else f"if it is {other!r}, write both alike, else drop it"
        raise InvalidInput(
            f"labels hold the class {shown(str(rare[0]))} in one row only; nothing else can vouch for it: {merge}",
            argument="labels",
            code="undefined",
        )
    return y.astype(np.int64), tuple(map(str, classes))


def _spellings(classes: Sequence[str]) -> tuple[str, ...]:
    """Classes that may be one class written in several ways.

    >>> _spellings(["Yes", "no", "yes "])
    ("the classes 'Yes' and 'yes ' differ in writing only; if they are one class, write them alike",)
    >>> _spellings(["0", "no"])
    ("some labels are numbers, as '0', and some words, as 'no'; if they mean the same, write them alike",)
    """
    said = tuple(
        f"the classes {' and '.join(map(repr, same))} differ in writing only; if they are one class, write them alike"
        for same in _alike(classes)
    )
    numeric = [name for name in classes if is_number(name)]
    if not 0 < len(numeric) < len(classes):
        return said
    word = next(name for name in classes if not is_number(name))
    return (
        *said,
        f"some labels are numbers, as {numeric[0]!r}, and some words, as {word!r}; if they mean the same, write them alike",
    )


def _alike(classes: Sequence[str]) -> list[list[str]]:
    """Classes that differ in blanks, capitals or a decimal zero only."""
    alike: dict[str, list[str]] = {}
    for name in classes:
        plain = normalize("NFKC", name).strip().casefold()
        alike.setdefault(plain.removesuffix(".0"), []).append(name)
    return [same for same in alike.values() if len(same) > 1]


def check_extra() -> None:
    with needs("data", "finding wrong labels"):
        import sklearn  # noqa: F401
