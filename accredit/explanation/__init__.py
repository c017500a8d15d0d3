"""One input, one output, many methods."""

from accredit.explanation.explainer import explain, explain_answer
from accredit.explanation.result import Explanation, FlowPicture, Picture, Said, Token

__all__ = ["Explanation", "FlowPicture", "Picture", "Said", "Token", "explain", "explain_answer"]
