"""Rows with several tags each: every tag is a question of its own, yes or no, and the lists are joined."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from accredit.checks import shown
from accredit.checks.arguments import check_arguments
from accredit.errors import InvalidInput
from accredit.labels.duplicates_outliers import Oddities
from accredit.labels.find import (
    HARD_OR_WRONG,
    ROWS_NEEDED,
    check_rows_agree,
    first_numbers,
    read_views,
    row_names,
    wrong_labels,
)
from accredit.labels.probability import rate_interval, share_interval
from accredit.labels.result import WrongLabels, expected_of, with_excerpts
from accredit.labels.row_views import View

FEWEST_ROWS = 5  # with and without a tag, below which it is not judged
YES, NO = "yes", "no"


@check_arguments
def wrong_tags(
    tags: Sequence[Collection[str]],
    *,
    texts: Sequence[str] | None = None,
    features: View | Mapping[str, View] | None = None,
    names: Sequence[str] | None = None,
    excerpts: Sequence[str] | None = None,
    wanted: float | None = None,
    seed: int = 0,
    watch: Callable[[float], None] | None = None,
) -> WrongLabels:
    """Find tags that are likely missing or wrong, where a row may have any number of them.

    The rows of the result are pairs of a row and a tag, named "row 3 · sport", labelled yes or no.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(120, 2))
    >>> tags = [{tag for tag, number in zip(["a", "b"], row) if number > 0} for row in x]
    >>> row = int(x[:, 0].argmax()); tags[row].discard("a")
    >>> found = wrong_tags(tags, features=x)
    >>> first = found.suspects[0]
    >>> found.names[first] == f"row {row} · a", found.given[first], found.suggested[first]
    (True, 'no', 'yes')
    """
    whole = next((one for one in tags if isinstance(one, str)), None)
    if len(tags) < ROWS_NEEDED or whole is not None:
        held = f"{len(tags)} rows; at least {ROWS_NEEDED} are needed" if whole is None else f"the string {shown(whole)}"
        raise InvalidInput(
            f"tags holds {held}; give each row a set of tags, such as {{'a', 'b'}}", argument="tags", code="type"
        )
    check_rows_agree(tags, "tags", texts=texts, features=features, names=names, excerpts=excerpts)
    rows = row_names(names, len(tags))
    known = sorted({str(tag) for one in tags for tag in one})
    count = {tag: sum(tag in one for one in tags) for tag in known}
    judged = [tag for tag in known if FEWEST_ROWS <= count[tag] <= len(tags) - FEWEST_ROWS]
    if not judged:
        raise InvalidInput(
            f"tags holds {len(known)} tags, and none has {FEWEST_ROWS} rows with it and {FEWEST_ROWS} without it; merge "
            "rare tags",
            argument="tags",
            code="undefined",
        )
    found = []
    for place, tag in enumerate(judged):

        def part(share: float, place: int = place) -> None:
            if watch:
                watch((place + share) / len(judged))

        labels = [YES if tag in one else NO for one in tags]
        found.append(wrong_labels(labels, texts=texts, features=features, names=rows, wanted=wanted, seed=seed, watch=part))
    left = [tag for tag in known if tag not in judged]
    notes: tuple[str, ...] = (
        (f"not judged, in too few rows or in nearly all: {', '.join(left[:10])}" + ", …" * (len(left) > 10),) if left else ()
    )
    bare = sum(not one for one in tags)
    notes += (f"{bare} of {len(tags)} rows have no tag; that is read as an answer, not as one that is missing",) if bare else ()
    shown_rows = excerpts or texts or (None if features is None else first_numbers(read_views(None, features, len(tags))))
    return with_excerpts(_join(rows, judged, found, notes), shown_rows, [*range(len(rows))] * len(judged))


def _join(rows: Sequence[str], tags: Sequence[str], found: Sequence[WrongLabels], notes: tuple[str, ...]) -> WrongLabels:
    """The answers about all tags as one."""
    said = [one for one in found if one.probability is not None]
    silent = [tag for tag, one in zip(tags, found, strict=True) if one.probability is None]
    notes += (f"nobody is accused, the features say nothing about them: {', '.join(silent)}",) if silent else ()
    probability = np.concatenate([np.zeros(len(rows)) if one.probability is None else one.probability for one in found])
    pairs = [len(rows) * k + i for k, one in enumerate(found) for i in one.suspects]
    suspects = tuple(sorted(pairs, key=lambda pair: (-probability[pair], pair)))
    precision = float(probability[list(suspects)].mean()) if suspects else None
    heard = np.concatenate([one.probability for one in said if one.probability is not None]) if said else None
    rate = None if heard is None else float(heard.mean())
    interval = share_interval(probability[list(suspects)]) if suspects else None
    known = None if heard is None else rate_interval(heard)
    verdict = found[0].verdict if not said else f"about {rate:.1%} of {len(said) * len(rows):,} answers about tags look wrong"
    if known and all(one.may_be_clean for one in said):
        known, interval = (0.0, known[1]), interval and (0.0, interval[1])
        verdict = HARD_OR_WRONG.format(known[1], "answers about tags")
    verdict += f"; {expected_of(len(suspects), precision, interval)}" if suspects else ""
    odd = found[0].oddities
    first = next(iter(said), found[0])
    return replace(
        first,
        names=tuple(f"{row} · {tag}" for tag in tags for row in rows),
        given=tuple(label for one in found for label in one.given),
        suggested=tuple(label for one in found for label in one.suggested),
        probability=probability if said else None,
        suspects=suspects,
        rate=rate,
        rate_interval=known,
        precision=precision,
        precision_interval=interval,
        confusions=tuple(
            replace(c, true=f"{tag} {c.true}", given=f"{tag} {c.given}")
            for tag, one in zip(tags, found, strict=True)
            for c in one.confusions
        ),
        evidence=tuple(
            replace(one.evidence[0], score=f"{one.evidence[0].score}, {tag}") for tag, one in zip(tags, found, strict=True)
        ),
        agreement=float(np.mean([one.agreement for one in found])),
        majority=float(np.mean([one.majority for one in found])),
        verdict=verdict,
        oddities=Oddities(odd.duplicates, (), odd.outliers),
        notes=notes,
        excerpts={},
        rows=tuple(rows),
    )
