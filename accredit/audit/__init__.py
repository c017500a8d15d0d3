"""Audits of explanations that a model gives of itself: does a chosen mask leak the answer, does attention explain it?"""

from typing import TYPE_CHECKING

from accredit.audit.finding import AuditFinding, Findings
from accredit.checks.lazy import lazy

if TYPE_CHECKING:
    from accredit.audit.classifier import audit_attention
    from accredit.audit.leakage import leakage_report
    from accredit.audit.saved import audit_saved
    from accredit.audit.transformer import audit_texts

__getattr__ = lazy(
    __name__,
    {
        "audit_attention": "accredit.audit.classifier",
        "audit_saved": "accredit.audit.saved",
        "audit_texts": "accredit.audit.transformer",
        "leakage_report": "accredit.audit.leakage",
    },
    extra="text",
)

__all__ = ["AuditFinding", "Findings", "audit_attention", "audit_saved", "audit_texts", "leakage_report"]
