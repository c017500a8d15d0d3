"""Audits of explanations that a model gives itself: does a chosen mask leak the answer, does attention explain it?"""

from typing import TYPE_CHECKING

from accredit.audit.finding import Finding, Findings
from accredit.core.lazy import lazy

if TYPE_CHECKING:
    from accredit.audit.leakage import leakage_report as leakage_report

__getattr__ = lazy(__name__, {"leakage_report": "accredit.audit.leakage"})

__all__ = ["Finding", "Findings", "leakage_report"]
