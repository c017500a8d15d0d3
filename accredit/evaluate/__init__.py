"""Is it true, and is it any good: axiom checks, faithfulness, agreement."""

from accredit.evaluate.axioms import ClaimRefuted, Finding, audit, check_claims

__all__ = ["ClaimRefuted", "Finding", "audit", "check_claims"]
