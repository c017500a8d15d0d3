"""One sentence about a leakage report: leaks, does not leak, or cannot tell; with its evidence, and how many rows would decide.

The rule was chosen by hits and false alarms over explainers that cheat on purpose and honest ones (docs/reports/leaks.md has
the table). Four detectors that read the explainer's own surrogate decide: surrogate gap, EVAL-X gap, value scramble and mask
transplant; and the score code, where scores are shown. One of them flagged is a leak. The encode-meter, the mask-only probe and
the sureness gap accuse honest explainers too, so they never convict. While the meter is flagged or unclear, nothing is
acquitted, unless the other two pass: then neither the mask by itself nor the explainer's own reader makes anything of what the
meter may read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from accredit.audit.finding import AuditFinding, Conclusion
from accredit.audit.names import EVALX, METER, NAMES, PROBE, READ, SCORES, SCRAMBLE, SURENESS, SURROGATE, TRANSPLANT

DECIDING = (SURROGATE, EVALX, SCRAMBLE, TRANSPLANT, SCORES)
OWN = (
    SURROGATE,
    EVALX,
    SCRAMBLE,
    TRANSPLANT,
)  # they ask the explainer's own surrogate; without one, scores convict nobody
NEEDED = (EVALX, SCRAMBLE, TRANSPLANT)  # without all of them nothing is acquitted
ABLE = 0.9  # share of what the best reader finds through random holes, from which a black box counts as a judge
ROWS_WORTH_ASKING = 1_000_000  # rows beyond which a question is not worth asking
SURELY = 2.8  # standard errors off the margin (1.96 + 0.84): four intervals in five then lie off it
BLURRED = 0.5  # standard errors by which the middle is taken to be nearer to the margin than it was seen


def conclude(found: Sequence[AuditFinding], not_run: Mapping[str, str], total: int) -> Conclusion:
    """The verdict from what the detectors found on `total` rows."""
    by_name = {finding.name: finding for finding in found}
    convicts = DECIDING if any(name in by_name for name in OWN) else ()
    guilty = [by_name[name] for name in convicts if name in by_name and by_name[name].verdict == "flagged"]
    if guilty:
        return Conclusion("leaks", "; ".join(map(_evidence, guilty)), tuple(finding.name for finding in guilty))
    missing = [name for name in NEEDED if name not in by_name]
    if missing:
        why = "; ".join(f"{name} {not_run.get(name, 'was not asked for')}" for name in missing)
        return Conclusion("cannot tell", why)
    meter = by_name.get(METER)
    beside = [by_name[name].verdict if name in by_name else "not run" for name in (PROBE, SURENESS)]
    hinted = meter is not None and meter.verdict != "passes" and set(beside) != {"passes"}
    hint = _evidence(meter) if meter is not None and hinted else ""
    unclear = [by_name[name] for name in DECIDING if name in by_name and by_name[name].verdict == "unclear"]
    if _reads_as_much(by_name.get(SURROGATE)):
        unclear = [finding for finding in unclear if finding.name != EVALX]
    if unclear:
        rows = rows_to_decide(unclear, total)
        more = f"about {rows:,} rows might decide" if rows else _not_by_rows(unclear)
        names = tuple(finding.name for finding in unclear)
        blocked = f" whether it leaks; {hint} keeps it from being acquitted" if rows and hint else ""
        return Conclusion("cannot tell", f"{', '.join(names)} unclear on {total:,} rows; {more}{blocked}", names, rows)
    if hint:
        return Conclusion(
            "cannot tell",
            f"{hint}, which honest explainers whose choice depends on the class have too; every deciding detector passes",
            (METER,),
        )
    passed = tuple(name for name in NAMES if name in DECIDING and name in by_name)
    return Conclusion("does not leak", f"{', '.join(passed)} find no code on {total:,} rows; none of them is a proof", passed)


def _reads_as_much(gap: AuditFinding | None) -> bool:
    """Whether the black box, which reads random holes as well as anybody, gets as much out of what is shown as the surrogate:
    then a judge that may be weaker has nothing to add."""
    return gap is not None and gap.verdict == "passes" and gap.details.get(READ, 0.0) >= ABLE


def rows_to_decide(unclear: Sequence[AuditFinding], total: int) -> int | None:
    """About how many rows would move every interval off its margin, four times in five, its middle taken a little nearer to the
    margin than seen; None beyond a million, where the middle is too near to say, and where an interval is off its margin
    already, so that something else is missing."""
    if any(map(_is_decided, unclear)):
        return None
    most = 0.0
    for finding in unclear:
        low, high = finding.excess.ends
        error = (high - low) / 2 / 1.96
        gap = abs(finding.excess.value - finding.margin) - BLURRED * error
        most = max(most, (SURELY * error / gap) ** 2 if gap > 0 else math.inf)
    rows = most * total
    return None if not rows <= ROWS_WORTH_ASKING else int(math.ceil(rows / 100) * 100)


def _is_decided(finding: AuditFinding) -> bool:
    """Whether its interval is off its margin, although it is unclear: the judge is too weak, or nobody reads holes."""
    low, high = finding.excess.ends
    return not low <= finding.margin <= high


def _not_by_rows(unclear: Sequence[AuditFinding]) -> str:
    """What is missing where a number of rows cannot be said."""
    missing = [f"{finding.name}: {finding.reading}" for finding in unclear if _is_decided(finding)]
    return "; ".join(missing) or "more rows of this kind would hardly decide"


def _evidence(finding: AuditFinding) -> str:
    share = finding.unit == "share"
    value, chance = ((f"{number:.0%}" if share else f"{number:.2f}") for number in (finding.value, finding.chance))
    return f"{finding.name} {value} against {chance}"
