"""What the page may ask is made of the library's requests, and narrower."""

from __future__ import annotations

import pytest

pytest.importorskip("pydantic")
from pydantic import ValidationError

from accredit.explanation.requests import AnswerRequest, TextRequest, settings_of
from accredit.web import requests as page
from accredit.web.explaining import ask_by

PAGE = {page.ExplainRequest: TextRequest, page.WhatIfRequest: TextRequest, page.AnswerRequest: AnswerRequest}
LEAST = {"text": "A film.", "changed": "A bad film.", "method": "loo"}  # what some of them need


@pytest.mark.parametrize("model", PAGE, ids=lambda model: model.__name__)
def test_what_is_not_asked_is_what_the_library_does_by_itself(model):
    needed = {name: LEAST[name] for name, field in model.model_fields.items() if field.is_required()}
    assert ask_by(model(**needed).model_dump(), PAGE[model]) == PAGE[model]()


def test_a_setting_that_no_request_has_cannot_be_offered():
    with pytest.raises(KeyError, match="colour"):
        page.ask_with("Odd", "…", (TextRequest,), {"colour": str})


@pytest.mark.parametrize("name", sorted(set(settings_of(TextRequest)) - set(page.ExplainRequest.model_fields)))
def test_what_a_browser_may_not_say_is_refused(name):
    with pytest.raises(ValidationError, match="Extra inputs"):
        page.ExplainRequest(text="A film.", **{name: 1})
