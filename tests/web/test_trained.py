"""Explainers that were trained before: offered by name, found in their folders, refused where they were not named."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from accredit.web.explaining import explain
from accredit.web.requests import ExplainRequest
from accredit.web.tasks import Models
from accredit.web.trained import offer
from tests.wording import refused

WORDS = ("good", "dull", "film", "story", "never", "a", "and", "quite")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import numpy as np

    from accredit.explanation.loading import builtin_model
    from accredit.learned import fit_fast_inputs

    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, 4)) for _ in range(40)]
    fast = fit_fast_inputs(texts, builtin_model("text"), calibration=24, epochs=2, width=8)
    place = tmp_path_factory.mktemp("private") / "films"
    fast.save(place)
    return place


def asked(*methods, text="A good film."):
    return {"task": "explain", **ExplainRequest(text=text, methods=methods).model_dump()}


@pytest.mark.slow
def test_an_explainer_named_at_the_start_is_a_method_like_others_and_its_folder_stays_unknown(folder):
    models = Models((), (str(folder),))
    listed = [method["spelled"] for method in models.about()["methods"]]
    assert "fast-shapley:films" in listed
    events = list(explain(models, asked("leave-one-out", "fast-shapley:films")))
    assert events[-1]["event"] == "done"
    assert "Fast Shapley (films)" in events[-1]["page"] and str(folder.parent) not in str(events)
    assert '"fast-shapley:films"' in events[-1]["json"]
    with refused("unknown"):
        next(explain(models, asked("selector:films")))


@pytest.mark.slow
def test_a_model_is_known_by_the_last_name_of_its_folder_and_nowhere_by_its_place(tmp_path):
    """On the page, in the saved file, in the JSON, and where a text is too long."""
    from accredit.explanation.loading import builtin_model

    place = tmp_path / "private" / "films"
    builtin_model("text").model.save_pretrained(place)
    builtin_model("text").tokenizer.save_pretrained(place)
    models = Models((str(place),))
    seen = [
        models.about(),
        *explain(models, asked("leave-one-out")),
        *explain(models, asked("flow", text="good " * 400)),
    ]
    assert "'name': 'films'" in str(seen[0]) and "private" not in str(seen)


def test_a_browser_cannot_name_a_folder():
    for name in ("fast-shapley:/tmp/films", "selector:../films", "fast-shapley:a\\b"):
        with pytest.raises(ValidationError, match="the page takes none"):
            asked(name)


def test_folders_that_hold_no_explainer_or_share_a_name_are_refused_at_the_start(tmp_path):
    with refused("missing"):
        offer([str(tmp_path)])
    for place in ("a/films", "b/films"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "explainer.json").write_text('{"kind": "fast shapley"}')
    assert offer([str(tmp_path / "a/films")]) == {"fast-shapley:films": str(tmp_path / "a/films")}
    with refused("duplicate"):
        offer([str(tmp_path / "a/films"), str(tmp_path / "b/films")])
    (tmp_path / "a/films/explainer.json").write_text('{"kind": "judge"}')
    with refused("type"):
        offer([str(tmp_path / "a/films")])
