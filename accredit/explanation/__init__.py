"""One input, one output, many methods."""

from accredit.explanation.explainer import explain
from accredit.explanation.result import Explanation, FlowPicture, Picture, Token

__all__ = ["Explanation", "FlowPicture", "Picture", "Token", "explain"]
