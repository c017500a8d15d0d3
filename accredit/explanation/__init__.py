"""One input, one output, many methods."""

from accredit.explanation.citations import calibrate, cite
from accredit.explanation.explainer import (
    Explainer,
    explain,
    explain_answer,
    explain_picture,
    explain_rows,
    explain_series,
    explain_text,
    kind_of,
)
from accredit.explanation.refits import RefitExplanation, explain_refits
from accredit.explanation.requests import AnswerRequest, PictureRequest, RowRequest, SeriesRequest, TextRequest
from accredit.explanation.result import Explanation, FlowPicture, Picture, Said, Token

__all__ = [
    "AnswerRequest",
    "Explainer",
    "Explanation",
    "FlowPicture",
    "Picture",
    "PictureRequest",
    "RefitExplanation",
    "RowRequest",
    "Said",
    "SeriesRequest",
    "TextRequest",
    "Token",
    "calibrate",
    "cite",
    "explain",
    "explain_answer",
    "explain_picture",
    "explain_refits",
    "explain_rows",
    "explain_series",
    "explain_text",
    "kind_of",
]
