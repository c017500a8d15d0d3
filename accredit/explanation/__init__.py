"""One input, one output, many methods."""

from accredit.explanation.explainer import explain, explain_answer
from accredit.explanation.result import Explanation, FlowPicture, Picture, Said, Token
from accredit.explanation.table import TableExplanation

__all__ = ["Explanation", "FlowPicture", "Picture", "Said", "TableExplanation", "Token", "explain", "explain_answer"]
