"""Rows that several annotators labelled: which single labels are wrong, who labels how well, what they say together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from accredit.checks.arguments import check_arguments
from accredit.core import FloatArray, IntArray
from accredit.errors import InvalidInput
from accredit.labels.annotators import Annotator, Consensus, Votes, consensus_of, too_few_labels, worst_of
from accredit.labels.duplicates_outliers import nearest, oddities
from accredit.labels.find import (
    check_extra,
    check_rows_agree,
    encode_labels,
    find_confusions,
    first_numbers,
    judge,
    read_views,
    row_names,
)
from accredit.labels.out_of_fold import copies_of
from accredit.labels.probability import LIKELY, rate_interval, share_interval
from accredit.labels.result import WrongLabels, expected_of, with_excerpts
from accredit.labels.row_views import View
from accredit.valuation.split import missing

UNKNOWN_WEIGHT = 1.0  # what models count beside one annotator, where they say anything


@check_arguments
def wrong_votes(
    votes: Mapping[str, Sequence[object]],
    *,
    texts: Sequence[str] | None = None,
    features: View | Mapping[str, View] | None = None,
    names: Sequence[str] | None = None,
    excerpts: Sequence[str] | None = None,
    seed: int = 0,
    watch: Callable[[float], None] | None = None,
) -> WrongLabels:
    """Find wrong labels among those of several annotators: `votes` holds one label per row for each, None where there is none.

    The rows of the result are single labels, named "row 3 · ann". `annotators` says who is how often wrong and agrees how
    often with the others, `consensus` what they say together of each row, with the probability that even this is wrong.

    >>> rng = np.random.default_rng(0)
    >>> true = np.arange(60) % 2
    >>> x = rng.normal(size=(60, 2)) + 3 * true[:, None]
    >>> careless = np.where(rng.random(60) < 0.4, 1 - true, true)
    >>> found = wrong_votes({"ann": true.tolist(), "bob": careless.tolist(), "eve": true.tolist()}, features=x)
    >>> found.annotators[0].name, [int(one.label) for one in found.consensus] == true.tolist()
    ('bob', True)
    """
    check_extra()
    who = list(votes)
    length = {name: len(labels) for name, labels in votes.items()}
    if len(who) < 2 or len(set(length.values())) > 1:
        raise InvalidInput(
            f"votes holds {length}; two annotators or more are needed, with one label or None for every row",
            argument="votes",
            code="shape",
        )
    (first, column), *others = ((f"votes[{name!r}]", labels) for name, labels in votes.items())
    check_rows_agree(column, first, texts=texts, features=features, names=names, excerpts=excerpts, **dict(others))
    rows = row_names(names, next(iter(length.values())))
    columns = [list(column) for column in votes.values()]
    cells = [(i, a, str(c[i])) for i in range(len(rows)) for a, c in enumerate(columns) if not missing(c[i])]
    seen = {i for i, _, _ in cells}
    bare = [i for i in range(len(rows)) if i not in seen]
    if bare:
        raise InvalidInput(
            f"votes hold no label for {rows[bare[0]]}{f' and {len(bare) - 1} more rows' * (len(bare) > 1)}; drop such rows",
            argument="votes",
            code="missing",
        )
    y_all, classes = encode_labels([label for _, _, label in cells])
    row, annotator = (np.array([cell[k] for cell in cells], dtype=np.int64) for k in (0, 1))
    given = Votes(row, annotator, y_all, len(rows), len(who), len(classes))
    views = read_views(texts, features, len(rows))
    majority = given.majority()
    together, logs, agreement, notes = _models(views, texts, majority, given, seed, watch)
    post, wrong = consensus_of(given, logs, together)
    probability = np.clip(1 - post[row, y_all], 1e-9, 1 - 1e-9)
    best = post.argmax(axis=1)
    suspects = tuple(i for i in np.argsort(-probability, kind="stable").tolist() if probability[i] >= LIKELY)
    precision = float(probability[list(suspects)].mean()) if suspects else None
    annotators = _rate(who, given, wrong, probability)
    rate = float(probability.mean())
    verdict = f"about {rate:.1%} of {len(cells):,} labels by {len(who)} annotators look wrong"
    interval = share_interval(probability[list(suspects)]) if suspects else None
    verdict += f"; {expected_of(len(suspects), precision, interval) or 'none stands out'}; {worst_of(annotators)}"
    agree = given.count(np.ones(len(who)))
    judged_by = np.log(np.clip(post, 1e-12, 1.0))
    found = WrongLabels(
        names=tuple(f"{rows[i]} · {who[a]}" for i, a, _ in cells),
        given=tuple(classes[k] for k in y_all),
        suggested=tuple(classes[best[i]] for i in row),
        probability=probability,
        suspects=suspects,
        rate=rate,
        rate_interval=rate_interval(probability),
        precision=precision,
        precision_interval=interval,
        confusions=find_confusions(probability, judged_by[row], y_all, classes),
        evidence=(),
        agreement=agreement,
        majority=float(np.bincount(majority).max() / len(rows)),
        verdict=verdict,
        oddities=oddities(nearest(next(iter(views.values()))), best, texts),
        seen_as=tuple(views),
        notes=(*notes, *too_few_labels(annotators)),
        annotators=annotators,
        consensus=tuple(
            Consensus(rows[i], classes[best[i]], float(1 - post[i, best[i]]), int(agree[i].sum()), int(agree[i, best[i]]))
            for i in range(len(rows))
        ),
        rows=rows,
    )
    return with_excerpts(found, excerpts or texts or first_numbers(views), row.tolist())


def _models(
    views: Mapping[str, View],
    texts: Sequence[str] | None,
    majority: IntArray,
    given: Votes,
    seed: int,
    watch: Callable[[float], None] | None,
) -> tuple[float, FloatArray, float, tuple[str, ...]]:
    """What the out-of-fold models count, their log probabilities (rows, classes), the share of majorities that they predict,
    and what there is to say about them."""
    flat = np.zeros((given.rows, given.classes))
    count = np.bincount(majority, minlength=given.classes)
    rare = np.isin(majority, np.flatnonzero(count < 2))
    present, codes = np.unique(majority[~rare], return_inverse=True)
    if len(present) < 2:
        return 0.0, flat, 0.0, ("models are not heard: the majorities hold fewer than two classes of two rows",)
    some = {name: view[np.flatnonzero(~rare)] for name, view in views.items()}
    copies = None if texts is None else copies_of([texts[i] for i in np.flatnonzero(~rare).tolist()], codes)
    judged = judge(some, codes, copies, seed, watch)
    if judged.skill.refusal:
        return 0.0, flat, judged.skill.agreement, (f"models are not heard: {judged.skill.refusal}",)
    least = float(judged.logs.min())
    flat[~rare] = least
    flat[np.ix_(~rare, present)] = judged.logs
    return UNKNOWN_WEIGHT, flat, judged.skill.agreement, ()


def _rate(who: Sequence[str], votes: Votes, wrong: FloatArray, probability: FloatArray) -> tuple[Annotator, ...]:
    """Every annotator, the worst first, with an interval of 90 % (Beta) for so few labels."""
    from scipy.stats import beta

    count = np.bincount(votes.annotator, minlength=len(who))
    mistakes = np.bincount(votes.annotator, probability, len(who))
    agreement = votes.agreement()
    found = []
    for a in np.argsort(-wrong, kind="stable").tolist():
        low, high = beta.ppf([0.05, 0.95], mistakes[a] + 0.5, count[a] - mistakes[a] + 0.5)
        found.append(
            Annotator(
                who[a], int(count[a]), float(wrong[a]), float(min(low, wrong[a])), float(max(high, wrong[a])), agreement[a]
            )
        )
    return tuple(replace(one, like_worst=one.high >= found[0].low) for one in found)
