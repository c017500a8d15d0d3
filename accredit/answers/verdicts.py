"""Where a sentence of an answer comes from: verdicts with an error rate, calibrated on prompts whose truth is known.

The *surprise* of a sentence after some passages is what its least likely new word costs: minus the log-probability of that
word, after the answer so far. New are the content words that the question does not say (`new_words`). The log-probability of a
whole sentence cannot tell a copied name from a supported fact: most of a sentence may become likely while the one word
that matters is contradicted, and a fact that is known by heart may be put in words the model would not choose.

Three surprises decide: m without any passage, w with all of them, and d, the least with a group of passages alone that may be
cited for it (m, if none may): it holds the names that sentence and question share, and its passages hang together
(`says_together`). Supported: d and w are small and m is not. From memory: m is small. Unsupported: all are large. A passage
that says it of somebody else makes it likely, too, but neither names whom the question is about nor anything that a passage
about them names. Beside what the model reads stands what anybody can: h, the share of m's surprise, word by word, that falls on
words which a group that may be cited says (`words_said`); a denial is said by a sentence that denies. A logistic regression on
the logarithms and h, fitted to planted prompts, says how likely each origin is, and how unlike the others of its origin a
sentence is: the *nonconformity* −log p(origin).

Some verdicts are barred whatever the numbers are (`Surprise.bars`): that passages support a name, a number with its unit or a
denial which none of them says, or names that could be exchanged; that a denial is from memory, since it can be guessed; any of
a sentence that says nothing beyond the question. A verdict that is barred cannot be given wrongly: p(origin) is that among
the origin and what is not barred.

Conformal prediction with one calibration set per origin (Vovk, 2012) turns nonconformities into p-values. The unit is the book
of planted facts, with people, topics and wordings of its own: each is scored by a regression that was fitted to the others, as
a book will be that nobody has seen, and a new sentence is compared with each book by the regression of that book. The largest
p-value counts: of sentences of one origin that are like those of any one book, or of any mixture of books, at most a share ε
has a p-value of ε or less for its own origin. The verdict is the one origin with a larger p-value than ε. Where two or none are
left, it is "cannot tell". So, whatever its origin, such a sentence gets a wrong verdict with probability at most ε.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from accredit.checks import real_number, real_numbers
from accredit.checks.json_data import Facts, damaged, fields_of, plain, plain_mapping, read_object
from accredit.core import FloatArray
from accredit.errors import InvalidInput

FEATURES = 5  # a constant, three surprises, and the share that the words of passages account for
EVERY = 3  # of so many planted sentences of each origin one is fitted to, where there is no other book
LEAST = 20  # sentences of each origin that make a set of a book; smaller books are put together
SUFFICES = 0.85  # share of the surprise that passages alone must take away to be cited; chosen on the calibration prompts
UNLIKELY = 3.0  # nats; a word that a model gives less than one chance in twenty, it does not say by itself
PENALTY = 0.01  # on the squares of the weights
ERROR = 0.1  # share of wrong verdicts that is allowed, for each origin
Passages = frozenset[int]
FORMAT = 5  # of the JSON
CALIBRATED = Path(__file__).with_name("calibration.json")


class Origin(StrEnum):
    """Where a sentence of an answer comes from.

    >>> [origin.value for origin in Origin.known()]
    ['supported', 'from memory', 'unsupported']
    """

    PASSAGES = "supported"  # passages say it
    MEMORY = "from memory"  # the model says it without any passage
    NOWHERE = "unsupported"  # neither
    UNTOLD = "cannot tell"  # no verdict keeps the error rate

    @classmethod
    def known(cls) -> tuple[Origin, ...]:
        """Those that a sentence may have."""
        return cls.PASSAGES, cls.MEMORY, cls.NOWHERE


@dataclass(frozen=True)
class Surprise:
    """How surprised a model is at a sentence: without any passage, with all, and with some passages alone.

    >>> seen = Surprise(8.0, 0.0, {frozenset({0}): 0.0, frozenset({1}): 7.5, frozenset({0, 1}): 0.1})
    >>> seen.least, [sorted(each) for each in seen.support()]
    (0.0, [[0]])
    """

    memory: float
    whole: float
    alone: Mapping[Passages, float] = field(default_factory=dict)
    named: frozenset[Passages] | None = None  # groups of `alone` that may be cited; None: all of them
    held: Mapping[Passages, float] | None = None  # share of `memory` on words that each group says; None: all of it
    unlikely: str = ""  # a new word that surprises without any passage, where those that count do not (`unlikely_word`)
    bars: Mapping[Origin, str] = field(default_factory=dict)  # verdicts that must not be given, and why

    @property
    def least(self) -> float:
        """The least surprise with some passages alone; with all, where none were tried."""
        return min(self.alone.values(), default=self.whole)

    @property
    def sources(self) -> Mapping[Passages, float]:
        """Those of `alone` that may be cited."""
        return self.alone if self.named is None else {group: x for group, x in self.alone.items() if group in self.named}

    @property
    def least_named(self) -> float:
        """The least surprise with passages that may be cited; without any passage, where none may be."""
        return min(self.sources.values(), default=self.memory if self.alone else self.whole)

    @property
    def most_held(self) -> float:
        """The largest share of the surprise on words that passages say which may be cited."""
        return 1.0 if self.held is None else max((self.held[group] for group in self.sources), default=0.0)

    def support(self) -> tuple[Passages, ...]:
        """The smallest groups of passages each of which alone takes away most of the surprise, as far as any that may be
        cited does: none holds another, and the least surprising comes first."""
        most = self.memory - SUFFICES * (self.memory - self.least_named)
        found: list[Passages] = []
        for each in sorted(self.sources, key=lambda passages: (len(passages), self.alone[passages])):
            if self.alone[each] <= most and not any(smaller < each for smaller in found):
                found.append(each)
        return tuple(sorted(found, key=lambda passages: self.alone[passages]))

    def suffices(self, group: Passages) -> bool:
        """Whether a group alone takes away most of the surprise that all passages take away."""
        return self.alone[group] <= self.memory - SUFFICES * (self.memory - self.whole)

    @property
    def misses(self) -> bool:
        """Whether all passages take half of the surprise away, and what was tried alone takes less than half of that."""
        return 2 * self.whole < self.memory and 2 * self.least > self.whole + self.memory

    @property
    def features(self) -> FloatArray:
        """What the regression reads: a constant, the logarithms of 1 + m, 1 + w and 1 + d, and h; (5,)."""
        return np.concatenate([[1.0], np.log1p([self.memory, self.whole, self.least_named]), [self.most_held]])


def unlikely_word(words: Sequence[str], costs: Sequence[float], memory: float) -> str:
    """The new word of a sentence that costs most without any passage, if that is much, and what was counted is not.

    >>> unlikely_word(["Rome", "ploughs"], [0.1, 8.0], memory=0.1)
    'ploughs'
    """
    cost, word = max(zip(costs, words, strict=True))
    return word if cost > UNLIKELY >= memory else ""


@dataclass(frozen=True)
class Scored:
    """A planted sentence: how surprised a model was at it, where it comes from, and which book it is from."""

    seen: Surprise
    origin: Origin
    book: str = ""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Nonconformities of planted sentences of each origin, as one model read them: one set per book, or of small books
    together, and the weights of the regression that was fitted to all other sets."""

    model: str  # the name of the model
    weights: FloatArray  # (sets, 5, 3): features × origins, in the order of `Origin.known`
    scores: Mapping[Origin, Sequence[Sequence[float]]]  # of each set in rising order
    fingerprint: str = ""  # of the model's weights; empty: not known
    facts: Facts = field(default_factory=dict)  # what was run, and how it did on other planted prompts

    def __post_init__(self) -> None:
        weights = real_numbers(self.weights, "weights")
        scores = {
            Origin(origin): tuple(tuple(sorted(float(x) for x in each)) for each in some)
            for origin, some in self.scores.items()
        }
        if weights.ndim != 3 or weights.shape[1:] != (FEATURES, len(Origin.known())):
            raise InvalidInput(
                f"weights has shape {weights.shape}; sets × {FEATURES} × 3 are needed", argument="weights", code="shape"
            )
        if set(scores) != set(Origin.known()) or not all(len(some) == len(weights) and all(some) for some in scores.values()):
            raise InvalidInput(
                f"scores has {', '.join(scores) or 'nothing'}; give {len(weights)} sets of numbers for each of "
                f"{', '.join(Origin.known())}",
                argument="scores",
                code="missing",
            )
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "scores", scores)
        object.__setattr__(self, "facts", plain_mapping(self.facts, "facts"))

    @classmethod
    def fit(cls, model: str, planted: Sequence[Scored], fingerprint: str = "", **facts: Any) -> Calibration:
        """From planted sentences of several books: each set is scored by a regression that was fitted to the others. Of one
        book alone every third sentence is fitted to, and the rest is scored."""
        counts = {origin: sum(one.origin is origin for one in planted) for origin in Origin.known()}
        if min(counts.values()) < EVERY:
            told = ", ".join(f"{count} {origin}" for origin, count in counts.items())
            raise InvalidInput(
                f"{len(planted)} planted sentences are too few ({told}): {EVERY} of each origin are needed; ask for more "
                "prompts",
                argument="prompts",
                code="range",
            )
        sets = _sets(planted)
        if len(sets) > 1:
            fitted_to = [[one for other in sets if other is not some for one in other] for some in sets]
        else:
            by_origin = [[one for one in planted if one.origin is origin] for origin in Origin.known()]
            fitted_to = [[one for some in by_origin for one in some[::EVERY]]]
            sets = [[one for some in by_origin for i, one in enumerate(some) if i % EVERY]]
        weights = [_fit(some) for some in fitted_to]
        scores = {
            origin: [
                [_nonconformity(fitted, one.seen, origin) for one in some if one.origin is origin]
                for some, fitted in zip(sets, weights, strict=True)
            ]
            for origin in Origin.known()
        }
        return cls(model, np.stack(weights), scores, fingerprint, facts)

    def p_value(self, seen: Surprise, origin: Origin) -> float:
        """(1 + how many planted sentences of this origin are no less unlike it) / (1 + how many there are), the largest over
        the sets."""
        found = []
        for weights, scores in zip(self.weights, self.scores[origin], strict=True):
            mine = _nonconformity(weights, seen, origin)
            found.append((1 + sum(score >= mine for score in scores)) / (1 + len(scores)))
        return max(found)

    def p_values(self, seen: Surprise) -> dict[Origin, float]:
        """One for each origin."""
        return {origin: self.p_value(seen, origin) for origin in Origin.known()}

    def judge(self, seen: Surprise, error: float = ERROR) -> Origin:
        """The only origin that is not refused at this error rate; "cannot tell" if two or none are left, or if it is barred."""
        left = [origin for origin, p in self.p_values(seen).items() if p > error]
        return left[0] if len(left) == 1 and left[0] not in seen.bars else Origin.UNTOLD

    def check_error(self, error: float) -> float:
        """An error rate that there are enough planted sentences for."""
        error = real_number(error, "error", 0)
        fewest = min(len(each) for some in self.scores.values() for each in some)
        if not 1 / (fewest + 1) <= error < 1:
            raise InvalidInput(
                f"error is {error:g}; the calibration has {fewest} planted sentences of one origin, which is enough for "
                f"{1 / (fewest + 1):.3g} up to 1",
                argument="error",
                code="range",
            )
        return error

    def to_json(self) -> str:
        """As JSON."""
        data = {each.name: getattr(self, each.name) for each in fields(self)}
        return json.dumps({"kind": "calibration", "format": FORMAT} | plain(data, "calibration"), indent=1, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Calibration:
        """Read what `to_json` wrote; anything else is refused."""
        values = fields_of(cls, read_object(text, "calibration"), "calibration", FORMAT)
        with damaged("calibration"):
            try:
                values["scores"] = {
                    Origin(origin): [[real_number(x, "scores") for x in each] for each in some]
                    for origin, some in values["scores"].items()
                }
            except (AttributeError, TypeError, ValueError) as error:
                raise InvalidInput(f"scores cannot be read: {error}", argument="scores", code="type") from None
            return cls(**values)


def _nonconformity(weights: FloatArray, seen: Surprise, origin: Origin) -> float:
    z = seen.features @ weights
    here = Origin.known().index(origin)
    may = [i for i, each in enumerate(Origin.known()) if i == here or each not in seen.bars]
    return float(np.logaddexp.reduce(z[may]) - z[here])


def _sets(planted: Sequence[Scored]) -> list[list[Scored]]:
    """The sentences of each book; books with few of an origin are put together, and with the last of these what is left."""
    books: dict[str, list[Scored]] = {}
    for one in planted:
        books.setdefault(one.book, []).append(one)
    large, small = [], list[list[Scored]]()
    for book in books.values():
        if _has_enough(book):
            large.append(book)
        elif small and not _has_enough(small[-1]):
            small[-1] += book
        else:
            small.append([*book])
    if small and not _has_enough(small[-1]) and len(small) + len(large) > 1:
        rest = small.pop()
        (small or large)[-1] += rest
    return [*large, *small]


def _has_enough(some: Sequence[Scored]) -> bool:
    return all(sum(one.origin is origin for one in some) >= LEAST for origin in Origin.known())


def _fit(planted: Sequence[Scored]) -> FloatArray:
    """Multinomial logistic regression, every origin counted alike, with a small penalty: (5, 3)."""
    from scipy.optimize import minimize

    origins = np.array([Origin.known().index(one.origin) for one in planted])
    read = np.stack([one.seen.features for one in planted])
    barred = np.array([[each in one.seen.bars and each is not one.origin for each in Origin.known()] for one in planted])
    share = 1 / np.bincount(origins, minlength=3)[origins]
    shape = read.shape[1], len(Origin.known())

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        weights = flat.reshape(shape)
        z = np.where(barred, -np.inf, read @ weights)
        log_p = z - np.logaddexp.reduce(z, axis=1, keepdims=True)
        slope = share[:, None] * (np.exp(log_p) - np.eye(3)[origins])
        missed = -float(share @ log_p[np.arange(len(origins)), origins])
        return missed + PENALTY * float(flat @ flat), (read.T @ slope).ravel() + 2 * PENALTY * flat

    found = minimize(loss, np.zeros(shape[0] * shape[1]), jac=True, method="L-BFGS-B")
    return np.asarray(found.x).reshape(shape)


def usual_calibration() -> Calibration:
    """The calibration that comes with the package, of SmolLM2-135M-Instruct.

    >>> usual_calibration().model
    'SmolLM2-135M-Instruct'
    """
    return Calibration.from_json(CALIBRATED.read_text(encoding="utf-8"))
