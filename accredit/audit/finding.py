"""What one check found: a number, what chance gives, how sure it is, and what the check cannot see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from accredit import defaults
from accredit.checks.json_data import plain
from accredit.core import Estimate, FloatArray, IntArray, Precision
from accredit.core.statistics import alike
from accredit.errors import InvalidInput

PROBE = "mask-only probe"
SURROGATE = "surrogate gap"
EVALX = "EVAL-X gap"
SURENESS = "sureness gap"
METER = "encode-meter"
SCORES = "score code"
INERT = "inert players"
SCRAMBLE = "value scramble"
TRANSPLANT = "mask transplant"
RANDOM = "random selector"
NAMES = (PROBE, SURROGATE, EVALX, SURENESS, METER, SCORES, INERT, SCRAMBLE, TRANSPLANT, RANDOM)
READ = "share that the black box reads through random holes"  # in the details of the surrogate gap
EXCESS_MARGIN = 0.05  # of a share, or nats: excess that is not worth an alarm
NEEDS: Mapping[str, str] = {
    SURROGATE: "needs the explainer's own surrogate and the black box",
    EVALX: "needs the explainer's own surrogate and EVAL-X",
    SURENESS: "needs the explainer's own surrogate and EVAL-X",
    METER: "needs the kind of inputs, to train EVAL-X and a reader",
    SCORES: "needs the scores by which players were ranked",
    INERT: "needs to know which players cannot inform",
    SCRAMBLE: "needs the explainer's own surrogate",
    TRANSPLANT: "needs the explainer's own surrogate",
    RANDOM: "needs EVAL-X or the black box",
}


Verdict = Literal["flagged", "passes", "unclear"]
Leakage = Literal["leaks", "does not leak", "cannot tell"]


@dataclass(frozen=True)
class AuditFinding:
    """One check. `value` is measured, `chance` is what an honest explainer, or no explanation at all, would get.

    `excess` is value − chance with its 95 % interval over rows (`interval_of`). A check that looks for something bad is
    *flagged* when the whole interval lies above `margin`, *passes* when it lies below, and is *unclear* between: more rows
    would tell. A check that asks for something good (`wanted`) passes and fails the other way round.

    >>> found = judge_finding(
    ...     "mask-only probe", value=[1, 1, 0, 1], chance=0.5, asks="does the mask alone tell the answer?", margin=0.05,
    ...     readings={"flagged": "it does", "passes": "it does not", "unclear": "more rows would tell"}, blind="long codes",
    ... )
    >>> found.value, found.verdict, found.reading
    (0.75, 'unclear', 'more rows would tell')
    """

    name: str
    asks: str  # the question, in words
    value: float
    chance: float
    excess: Estimate
    margin: float
    verdict: Verdict
    reading: str  # what the verdict means
    blind: str  # what this check cannot see
    rows: int
    unit: Literal["share", "nats", "τ", "distance"] = "share"
    random: float | None = None  # the same value for a random selector of the same size
    details: Mapping[str, float] = field(default_factory=dict)
    wanted: bool = False  # the check asks for something good: high is good

    @property
    def interval(self) -> Estimate:
        """The interval around `value`, with chance held where it is."""
        if self.rows == 1:
            return Estimate.exact(self.value, self.excess.precision.because)
        low, high = (self.chance + end for end in self.excess.ends)
        return Estimate(self.value, low, high, self.excess.precision, self.excess.level)

    def to_plain(self) -> dict[str, object]:
        """Everything as JSON types."""
        kept = {name: value for name, value in vars(self).items() if name not in ("excess", "details")}
        interval = {"estimate": self.excess.value, "low": self.excess.low, "high": self.excess.high}
        return dict(plain({**kept, "excess": interval, "details": dict(self.details)}, self.name))


@dataclass(frozen=True)
class Conclusion:
    """The verdict of a leakage report, in one sentence."""

    answer: Leakage
    because: str
    evidence: tuple[str, ...] = ()  # names of the detectors that it rests on
    rows: int | None = None  # about how many rows would decide, where these cannot tell

    def __str__(self) -> str:
        return f"{self.answer}: {self.because}"

    def to_plain(self) -> dict[str, object]:
        return {"answer": self.answer, "because": self.because, "evidence": list(self.evidence), "rows": self.rows}


@dataclass(frozen=True)
class Findings:
    """Several checks of one subject, those that were not run with the reason, and what else a reader must know.

    >>> report = Findings("explainer", (), not_run={"inert players": "needs inert: which players cannot inform"})
    >>> "inert players" in report, report.not_run["inert players"]
    (False, 'needs inert: which players cannot inform')
    """

    subject: str
    found: tuple[AuditFinding, ...]
    not_run: Mapping[str, str] = field(default_factory=dict)  # name of a check -> why
    notes: tuple[str, ...] = ()
    conclusion: Conclusion | None = None  # the verdict of a leakage report; other audits have none

    def __iter__(self) -> Iterator[AuditFinding]:
        return iter(self.found)

    def __getitem__(self, name: str) -> AuditFinding:
        for finding in self.found:
            if finding.name == name:
                return finding
        if name in self.not_run:
            raise InvalidInput(f"check {name!r} was not run: {self.not_run[name]}", code="missing")
        raise InvalidInput(f"there is no check {name!r}; there are {', '.join(f.name for f in self.found)}", code="unknown")

    def __contains__(self, name: object) -> bool:
        return any(finding.name == name for finding in self.found)

    @property
    def flagged(self) -> tuple[str, ...]:
        """Names of the checks that were flagged."""
        return tuple(finding.name for finding in self.found if finding.verdict == "flagged")

    def to_plain(self) -> dict[str, object]:
        """Everything as JSON types."""
        return {
            "kind": "audit",
            "subject": self.subject,
            "findings": [finding.to_plain() for finding in self.found],
            "not_run": dict(self.not_run),
            "notes": list(self.notes),
            "conclusion": None if self.conclusion is None else self.conclusion.to_plain(),
        }


def judge_finding(
    name: str,
    value: npt.ArrayLike,
    chance: npt.ArrayLike,
    *,
    asks: str,
    readings: Mapping[Verdict, str],
    blind: str,
    margin: float,
    wanted: bool = False,
    unit: Literal["share", "nats", "τ", "distance"] = "share",
    details: Mapping[str, float] | None = None,
    excess: Estimate | None = None,
) -> AuditFinding:
    """A finding from one number per row, and what chance gives in each row (or in all of them).

    `excess` is given where numbers belong to pairs of rows (`interval_of_pairs`), so that they do not count as so many rows.

    >>> readings = {"flagged": "the mask gives the label", "passes": "it does not", "unclear": "more rows would tell"}
    >>> judge_finding("probe", np.ones(50), 0.5, asks="?", readings=readings, blind="", margin=0.05).verdict
    'flagged'
    """
    measured = np.asarray(value, dtype=np.float64)
    expected = np.broadcast_to(np.asarray(chance, dtype=np.float64), measured.shape)
    if measured.ndim != 1 or len(measured) == 0:
        raise InvalidInput(
            f"{name} needs one number for each of at least one row, got shape {measured.shape}", argument="value", code="shape"
        )
    excess = interval_of(measured - expected) if excess is None else excess
    verdict = verdict_of(excess, margin, wanted)
    return AuditFinding(
        name,
        asks,
        float(measured.mean()),
        float(expected.mean()),
        excess,
        margin,
        verdict,
        readings[verdict],
        blind,
        len(measured),
        unit,
        details=details or {},
        wanted=wanted,
    )


def interval_of(excess: FloatArray) -> Estimate:
    r"""Student's interval for the mean of one number per row, at level 0.95: $\bar d \pm t_{N-1} s / \sqrt N$.

    Where all N rows agree, s is 0 and says nothing: a row unlike them may still have a chance of $1 - 0.025^{1/N}$, about
    3.7/N, and the interval is wide enough for such rows to differ by 1. One row stands for itself alone:
    its number is exact, and says nothing about others. With few rows and skewed numbers (mean 0.05, exponential, ten rows)
    the upper end was too low in 10 % of trials instead of 2.5 %; otherwise both ends held what they say.

    >>> interval_of(np.zeros(37))
    Estimate(value=0.0, low=-0.094..., high=0.094..., ...)
    """
    from scipy.special import stdtrit

    count, mean = len(excess), float(excess.mean())
    if count == 1:
        return Estimate.exact(mean, "one row stands for itself alone")
    if alike(excess, size=1.0):
        reach = 1 - ((1 - defaults.LEVEL) / 2) ** (1 / count)
    else:
        reach = float(stdtrit(count - 1, (1 + defaults.LEVEL) / 2) * excess.std(ddof=1) / np.sqrt(count))
    return Estimate(mean, mean - reach, mean + reach, Precision.interval("Student t over rows"), defaults.LEVEL)


def interval_of_pairs(excess: FloatArray, first: IntArray, second: IntArray, rows: int) -> Estimate:
    r"""The same for numbers of pairs of rows, where every row takes part in several pairs: (pairs,) each.

    With $A_i$ and $B_j$ the sums of deviations over the pairs in which row i is the first and row j the second, the variance of
    the mean over M pairs is $(\sum A_i^2 + \sum B_j^2 - \sum d^2)/M^2$ (clustered both ways: Cameron, Gelbach and Miller,
    2011), and at least that of either sum alone. One pair per row gives `interval_of`.
    """
    from scipy.special import stdtrit

    mean, away = float(excess.mean()), excess - excess.mean()
    if alike(excess, size=1.0):
        return interval_of(np.full(rows, mean))
    ours, theirs = (float((np.bincount(who, away, rows) ** 2).sum()) for who in (first, second))
    spread = np.sqrt(max(ours + theirs - float((away**2).sum()), ours, theirs) * rows / (rows - 1)) / len(excess)
    reach = float(stdtrit(rows - 1, (1 + defaults.LEVEL) / 2) * spread)
    return Estimate(mean, mean - reach, mean + reach, Precision.interval("Student t over rows"), defaults.LEVEL)


def find_checks(asked: Sequence[str] | None, known: Sequence[str]) -> tuple[str, ...]:
    """Checks by name, whatever the case and with hyphens for spaces; all of them when none is named.

    >>> find_checks(["eval-x-gap", "Value scramble"], ["value scramble", "EVAL-X gap"])
    ('value scramble', 'EVAL-X gap')
    """

    def simple(name: str) -> str:
        return "-".join(name.lower().replace("-", " ").split())

    wanted = {simple(name) for name in asked} if asked is not None else {simple(name) for name in known}
    if not wanted:
        raise InvalidInput(
            f"no test is named; write some of {', '.join(simple(k) for k in known)}", argument="tests", code="empty"
        )
    unknown = sorted(wanted - {simple(name) for name in known})
    if unknown:
        raise InvalidInput(
            f"there is no test {unknown[0]!r} here; write some of {', '.join(simple(k) for k in known)}",
            argument="tests",
            code="unknown",
        )
    return tuple(name for name in known if simple(name) in wanted)


def verdict_of(excess: Estimate, margin: float, wanted: bool = False) -> Verdict:
    """Where the interval lies.

    >>> verdict_of(Estimate(0.2, 0.1, 0.3), margin=0.05), verdict_of(Estimate(0.2, 0.1, 0.3), margin=0.05, wanted=True)
    ('flagged', 'passes')
    >>> verdict_of(Estimate(0.05, -0.1, 0.2), margin=0.05)
    'unclear'
    """
    above: Verdict = "passes" if wanted else "flagged"
    below: Verdict = "flagged" if wanted else "passes"
    return above if excess.above(margin) else below if excess.below(margin) else "unclear"


def right(answers: FloatArray, labels: npt.NDArray[np.int64], lead: float = 0.0) -> FloatArray:
    """1 where the most probable answer is the label, else 0: (N, classes), (N,) -> (N,).

    Answers that the best one leads by less than `lead` are a toss among them: a reader who knows nothing answers 0.51 or 0.49,
    and which of the two may depend on the mask it was shown.

    >>> right(np.array([[0.9, 0.1], [0.51, 0.49]]), np.array([0, 0]), lead=0.1)
    array([1. , 0.5])
    """
    if lead == 0:
        return np.asarray(answers.argmax(axis=1) == labels, dtype=np.float64)
    close = answers > answers.max(axis=1, keepdims=True) - lead
    return np.asarray(close[np.arange(len(labels)), labels] / close.sum(axis=1), dtype=np.float64)
