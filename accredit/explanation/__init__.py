"""One input, one output, many methods."""

from accredit.explanation.explainer import (
    Explainer,
    explain,
    explain_answer,
    explain_picture,
    explain_rows,
    explain_text,
    kind_of,
)
from accredit.explanation.family import Result
from accredit.explanation.requests import AnswerRequest, PictureRequest, RowRequest, TextRequest
from accredit.explanation.result import Explanation, FlowPicture, Picture, Said, Token
from accredit.explanation.shap_reading import from_shap
from accredit.explanation.table import TableExplanation

__all__ = [
    "AnswerRequest",
    "Explainer",
    "Explanation",
    "FlowPicture",
    "Picture",
    "PictureRequest",
    "Result",
    "RowRequest",
    "Said",
    "TableExplanation",
    "TextRequest",
    "Token",
    "explain",
    "explain_answer",
    "explain_picture",
    "explain_rows",
    "explain_text",
    "from_shap",
    "kind_of",
]
