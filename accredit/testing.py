"""For the tests of other projects: credit that must keep what it claims."""

from __future__ import annotations

from accredit.core import Attribution, Game
from accredit.evaluate.axioms import ClaimRefuted, Finding, Method, check_claims


def assert_claims(attribution: Attribution, game: Game, method: Method | None = None) -> tuple[Finding, ...]:
    """Test every claim of an attribution on its game; a refuted one is an `AssertionError` that names it, with its witness.

    Linearity needs the `method` that computed the credit, to be run on another game. What could not be tested is among the
    findings that are returned: their verdict says so, and it is for the test to decide whether that is enough.

    >>> from accredit import TableGame, shapley
    >>> cookies = TableGame(("alice", "bob"), [0, 5, 3, 10])
    >>> {finding.axiom: str(finding.verdict) for finding in assert_claims(shapley(cookies), cookies, shapley)}["efficiency"]
    'kept'
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    try:
        return check_claims(attribution, game, method)
    except ClaimRefuted as refuted:
        raise AssertionError(str(refuted)) from None
