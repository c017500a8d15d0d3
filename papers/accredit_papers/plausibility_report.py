"""Do people agree with explanations? Human rationales of movie reviews (ERASER) against every cheap method."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accredit.arena.texts import among, load
from accredit.core import Attribution, BoolArray, FloatArray
from accredit.core.statistics import falling
from accredit.errors import AccreditError, InvalidInput
from accredit.evaluate.bootstrap import bootstrap
from accredit.evaluate.chains import tops
from accredit.evaluate.metric import rounding_between
from accredit.evaluate.plausibility import auprc, iou_f1, spans_of, token_f1
from accredit.evaluate.sanity import random_scores
from accredit_papers.report import Report, Whose
from accredit_papers.verdicts import over_runs

if TYPE_CHECKING:
    from accredit.explanation.subject import Subject
    from accredit.models.text import TextModel

METHODS = (
    "shapley",
    "leave-one-out",
    "integrated-gradients",
    "input-x-gradient",
    "saliency",
    "attention",
    "rollout",
    "flow",
    "flow:agf",
)
PASSAGE_WORDS = 70  # words of a passage
METHOD_BUDGET = 300


@dataclass(frozen=True)
class Passage:
    """Words of a review around its first rationale, and which of them people marked."""

    words: tuple[str, ...]
    marked: tuple[bool, ...]
    positive: bool


def passages(file: str | Path, split: str = "test") -> Iterator[Passage]:
    """One passage for each review that has a rationale."""
    path = Path(file)
    if not path.exists():
        raise InvalidInput(f"there is no file {file}; give eraser_movies.jsonl.gz", argument="file", code="missing")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            review = json.loads(line)
            if review["split"] != split or not review["rationales"]:
                continue
            words = review["tokens"].split(" ")
            marked = np.zeros(len(words), dtype=bool)
            for start, end in review["rationales"]:
                marked[start:end] = True
            first = int(np.argmax(marked))
            begin = max(0, min(first - PASSAGE_WORDS // 3, len(words) - PASSAGE_WORDS))
            part = slice(begin, begin + PASSAGE_WORDS)
            yield Passage(tuple(words[part]), tuple(marked[part].tolist()), review["label"] == 1)


def plausibility_report(model_name: str, file: str | Path, count: int | None, quick: bool, seed: int) -> Report:
    """AUPRC, token F1 and IOU F1 of every method, with chance beside them."""
    report = Report("plausibility", "Explanations against human rationales")
    model = load(model_name)
    found: dict[str, list[list[float]]] = {}
    shares, right, used = [], [], 0
    for passage in passages(file):
        try:
            scores, marked, agrees = _scores(model, passage, seed + used)
        except AccreditError:
            continue
        if not marked.any() or marked.all():
            continue
        for name, row in scores.items():
            found.setdefault(name, []).append(_measure(row, marked))
        shares.append(float(marked.mean()))
        right.append(agrees)
        used += 1
        if used == count:
            break
    if not used:
        raise InvalidInput(
            f"data file {Path(file).name} has no test review with a rationale that could be explained",
            argument="file",
            code="empty",
        )
    report.say(
        f"{Path(model.name).name}, {used} test reviews of ERASER movies, each a passage of at most {PASSAGE_WORDS} words "
        f"around its first rationale; the model is right on {np.mean(right):.0%}. The label that people gave reasons "
        f"for is explained (log-odds, words masked). People marked {np.mean(shares):.0%} of the words, which is the "
        "AUPRC of chance. F1: as many top words as people marked; IOU F1: runs of them that overlap a marked run by "
        "half."
    )
    rows = []
    for name, values in sorted(found.items(), key=lambda item: -float(np.mean([v[0] for v in item[1]]))):
        cells = [bootstrap(np.array(column), seed=seed) for column in zip(*values, strict=True)]
        rows.append([name, *(f"{i:.3f}" for i in cells)])
    report.table(["method", "AUPRC", "token F1", "IOU F1"], rows)
    chance = np.array([measures[0] for measures in found["random"]])
    for name in METHODS:
        gains = np.array([measures[0] for measures in found[name]]) - chance
        report.verdict(
            f"{name} ranks the words that people marked higher than random scores do",
            over_runs(gains, low=0, unit="review", family=len(METHODS)),
            f"AUPRC {bootstrap(gains, seed=seed):+.3f} review by review, an interval of 95 %; the verdict asks that of the "
            f"intervals of all {len(METHODS)} methods together",
            whose=Whose.OURS,
        )
    report.say(
        "Plausible is not faithful. People mark whole phrases; a model may need one word of each. Compare the order "
        "of methods here with their order by faithfulness."
    )
    return report


def _scores(model: TextModel, passage: Passage, seed: int) -> tuple[dict[str, FloatArray], BoolArray, bool]:
    """Every method's scores for the words, which words people marked, and whether the model agrees with the label."""
    from accredit.explanation.stream import attribution_of
    from accredit.explanation.subject import text_subject

    text = " ".join(passage.words)
    target = int(passage.positive)
    subject = text_subject(model, text, target=target, payoff="log-odds", cut=True, budget=METHOD_BUDGET, seed=seed)
    scores: dict[str, FloatArray] = {"random": random_scores(subject.game, seed).credit}
    for name in METHODS:
        result = among(attribution_of(subject, name), subject.players)
        assert isinstance(result, Attribution)
        scores[name] = result.credit
    agrees = int(model.predict(subject.seen).argmax()) == target
    return scores, _mark(subject, passage), agrees


def _mark(subject: Subject, passage: Passage) -> BoolArray:
    """Which players overlap a word that people marked: (n,)."""
    ends = np.cumsum([len(word) + 1 for word in passage.words])
    starts = np.concatenate([[0], ends[:-1]])
    marked = np.zeros(int(ends[-1]), dtype=bool)
    for start, end, mark in zip(starts, ends, passage.marked, strict=True):
        marked[start : end - 1] = mark
    spans, owner = subject.seen.spans, subject.partition.owner
    return np.array([any(marked[a:b].any() for a, b in spans[owner == k]) for k in range(len(subject.players))])


def _measure(scores: FloatArray, marked: BoolArray) -> list[float]:
    chosen = tops(falling(scores, rounding_between(scores, scores)), [int(marked.sum())])[0]
    return [auprc(scores, marked), token_f1(chosen, marked), iou_f1(spans_of(chosen), spans_of(marked))]
