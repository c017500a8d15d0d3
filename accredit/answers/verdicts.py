"""Where a sentence of an answer comes from: verdicts with an error rate, calibrated on prompts whose truth is known.

The *surprise* of a sentence after some passages is what its four least likely tokens cost: minus the sum of their
log-probabilities, each after the answer so far. The log-probability of a whole sentence cannot tell a copied name from a
supported fact, and it grows with length: most of a sentence may become likely while the few words that matter are contradicted.
Those few tell.

Three surprises decide: m without any passage, w with all of them, and c, the least with some passages alone. Supported: c and
w are small and m is not. From memory: m is small. Unsupported: all are large. A logistic regression on their logarithms,
fitted to planted prompts, says how likely each origin is, and how unlike the others of its origin a sentence is: the
*nonconformity* −log p(origin).

Split conformal prediction with one calibration set per origin (Vovk, 2012), from planted prompts that were not fitted to,
turns nonconformities into p-values: of sentences of one origin, drawn like those of the calibration, at most a share ε has
a p-value of ε or less for its own origin. The verdict is the one origin with a larger one. Where two or none are left, it
is "cannot tell". So, whatever its origin, a sentence gets a wrong verdict with probability at most ε.
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

FEATURES = 4  # a constant and three surprises
EVERY = 3  # of so many planted sentences one is fitted to
FEW = 4  # tokens of a sentence, the least likely ones, that make its surprise
SUFFICES = 0.85  # share of the surprise that passages alone must take away to be cited; chosen on the calibration prompts
PENALTY = 0.01  # on the squares of the weights
ERROR = 0.1  # share of wrong verdicts that is allowed, for each origin
Passages = frozenset[int]
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

    @property
    def least(self) -> float:
        """The least surprise with some passages alone; with all, where none were tried."""
        return min(self.alone.values(), default=self.whole)

    def support(self) -> tuple[Passages, ...]:
        """The smallest groups of passages each of which alone takes away most of the surprise, as far as any does: none
        holds another, and the least surprising comes first."""
        most = self.memory - SUFFICES * (self.memory - self.least)
        found: list[Passages] = []
        for each in sorted(self.alone, key=lambda passages: (len(passages), self.alone[passages])):
            if self.alone[each] <= most and not any(smaller < each for smaller in found):
                found.append(each)
        return tuple(sorted(found, key=lambda passages: self.alone[passages]))

    @property
    def misses(self) -> bool:
        """Whether all passages take half of the surprise away, and what was tried alone takes less than half of that."""
        return 2 * self.whole < self.memory and 2 * self.least > self.whole + self.memory

    @property
    def features(self) -> FloatArray:
        """What the regression reads: a constant, and the logarithms of 1 + m, 1 + w and 1 + c; (4,)."""
        return np.concatenate([[1.0], np.log1p([self.memory, self.whole, self.least])])


@dataclass(frozen=True, eq=False)
class Calibration:
    """Weights of the regression, and nonconformities of planted sentences of each origin, as one model read them."""

    model: str  # the name of the model
    weights: FloatArray  # (4, 3) features × origins, in the order of `Origin.known`
    scores: Mapping[Origin, tuple[float, ...]]  # in rising order
    fingerprint: str = ""  # of the model's weights; empty: not known
    facts: Facts = field(default_factory=dict)  # what was run, and how it did on other planted prompts

    def __post_init__(self) -> None:
        weights = real_numbers(self.weights, "weights")
        scores = {Origin(origin): tuple(sorted(float(x) for x in each)) for origin, each in self.scores.items()}
        if weights.shape != (FEATURES, len(Origin.known())):
            raise InvalidInput(f"weights has shape {weights.shape}; 4 × 3 are needed", argument="weights", code="shape")
        if set(scores) != set(Origin.known()) or not all(scores.values()):
            raise InvalidInput(
                f"scores has {', '.join(scores) or 'nothing'}; give numbers for each of {', '.join(Origin.known())}",
                argument="scores",
                code="missing",
            )
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "scores", scores)
        object.__setattr__(self, "facts", plain_mapping(self.facts, "facts"))

    @classmethod
    def fit(cls, model: str, seen: Sequence[tuple[Surprise, Origin]], fingerprint: str = "", **facts: Any) -> Calibration:
        """From planted sentences and their origins: every third one of each origin is fitted to, the others are scored."""
        by_origin = {origin: [one for one, from_where in seen if from_where is origin] for origin in Origin.known()}
        if min(map(len, by_origin.values())) < EVERY:
            raise InvalidInput(
                f"{len(seen)} planted sentences are too few: {EVERY} of each origin are needed; ask for more prompts",
                argument="prompts",
                code="range",
            )
        weights = _fit([(one, origin) for origin, some in by_origin.items() for one in some[::EVERY]])
        scores = {
            origin: tuple(_nonconformity(weights, one, origin) for i, one in enumerate(some) if i % EVERY)
            for origin, some in by_origin.items()
        }
        return cls(model, weights, scores, fingerprint, facts)

    def p_value(self, seen: Surprise, origin: Origin) -> float:
        """(1 + how many planted sentences of this origin are no less unlike it) / (1 + how many there are)."""
        scores, mine = self.scores[origin], _nonconformity(self.weights, seen, origin)
        return (1 + sum(score >= mine for score in scores)) / (1 + len(scores))

    def p_values(self, seen: Surprise) -> dict[Origin, float]:
        """One for each origin."""
        return {origin: self.p_value(seen, origin) for origin in Origin.known()}

    def judge(self, seen: Surprise, error: float = ERROR) -> Origin:
        """The only origin that is not refused at this error rate; "cannot tell" if two or none are left."""
        left = [origin for origin, p in self.p_values(seen).items() if p > error]
        return left[0] if len(left) == 1 else Origin.UNTOLD

    def check_error(self, error: float) -> float:
        """An error rate that there are enough planted sentences for."""
        error = real_number(error, "error", 0)
        fewest = min(len(each) for each in self.scores.values())
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
        return json.dumps({"kind": "calibration", "format": 1} | plain(data, "calibration"), indent=1, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Calibration:
        """Read what `to_json` wrote; anything else is refused."""
        values = fields_of(cls, read_object(text, "calibration"), "calibration", 1)
        with damaged("calibration"):
            try:
                values["scores"] = {
                    Origin(origin): [real_number(x, "scores") for x in each] for origin, each in values["scores"].items()
                }
            except (AttributeError, TypeError, ValueError) as error:
                raise InvalidInput(f"scores cannot be read: {error}", argument="scores", code="type") from None
            return cls(**values)


def _nonconformity(weights: FloatArray, seen: Surprise, origin: Origin) -> float:
    z = seen.features @ weights
    return float(np.logaddexp.reduce(z) - z[Origin.known().index(origin)])


def _fit(seen: Sequence[tuple[Surprise, Origin]]) -> FloatArray:
    """Multinomial logistic regression, every origin counted alike, with a small penalty: (4, 3)."""
    from scipy.optimize import minimize

    origins = np.array([Origin.known().index(origin) for _, origin in seen])
    read = np.stack([surprise.features for surprise, _ in seen])
    share = 1 / np.bincount(origins, minlength=3)[origins]
    shape = read.shape[1], len(Origin.known())

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        weights = flat.reshape(shape)
        z = read @ weights
        log_p = z - np.logaddexp.reduce(z, axis=1, keepdims=True)
        slope = share[:, None] * (np.exp(log_p) - np.eye(3)[origins])
        missed = -float(share @ log_p[np.arange(len(origins)), origins])
        return missed + PENALTY * float(flat @ flat), (read.T @ slope).ravel() + 2 * PENALTY * flat

    found = minimize(loss, np.zeros(shape[0] * shape[1]), jac=True, method="L-BFGS-B")
    return np.asarray(found.x).reshape(shape)


def surprise(log_probabilities: FloatArray) -> float:
    """What the least likely tokens of a sentence cost: (tokens,) -> nats.

    >>> surprise(np.array([-0.1, -6.0, -0.2, -1.0, -0.3, -0.5]))
    7.8
    """
    return -float(np.sort(log_probabilities)[:FEW].sum())


def usual_calibration() -> Calibration:
    """The calibration that comes with the package, of SmolLM2-135M-Instruct.

    >>> usual_calibration().model
    'SmolLM2-135M-Instruct'
    """
    return Calibration.from_json(CALIBRATED.read_text(encoding="utf-8"))
