"""Flow as the model's process computes it: heads, layers, and what a causal mask gives by itself."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from accredit import Explainer
from accredit.errors import InvalidInput
from accredit.web.flowing import flow, heads_of
from accredit.web.tasks import Models
from tests.models.small_models import TEXT, text_model
from tests.wording import refused, says

pytestmark = pytest.mark.slow


def models(family: str) -> Models:
    """The tasks' models, with one that was made here."""
    made = Models.__new__(Models)
    from accredit.web.tasks import Recent

    made.by_kind, made.builtin, made.recent = {"text": Explainer(text_model(family))}, False, Recent(12)
    return made


def asked(**other):
    return {"text": TEXT, "residual": 0.5, "layer": 0, "rule": "barrier", "heads": "mean", "layers": None} | other


def drawn(served, **other):
    events = [event for event in flow(served, asked(**other)) if event["event"] == "result"]
    return events[-1]


def test_a_causal_model_is_compared_with_its_mask_and_another_is_not():
    causal = drawn(models("gpt2-labels"))["html"]
    assert "mask alone" in causal and says(causal, "uniform attention under")
    assert causal.index("</svg>") < causal.index("same causal mask")
    assert "mask alone" not in drawn(models("bert"))["html"]


def test_heads_and_layers_change_the_flow_and_are_named():
    served = models("bert")
    assert heads_of(served.model("text")) == 2
    whole, one, first = drawn(served), drawn(served, heads=1), drawn(served, layers=[0])
    assert says(whole["html"], "heads, all layers") and says(one["html"], "layer, all layers")
    assert whole["layers"] == 2 and first["layers"] == 1 and "layer 1." in first["html"]
    assert whole["html"] != one["html"]
    again = drawn(served)  # what was kept of other heads is not taken for this one
    assert again["html"] == whole["html"]
    with refused("range"):
        drawn(served, layers=[0], layer=2)
    with pytest.raises(InvalidInput, match="head"):
        drawn(served, heads=7)


def test_a_text_that_is_too_long_to_draw_is_refused_in_the_words_of_the_page():
    with refused("too-many"):
        drawn(models("bert"), text="good film " * 900)


def test_flow_is_kept_by_every_rule():
    served = models("bert")
    for rule in ("barrier", "l2", "shapley"):
        html = drawn(served, rule=rule)["html"]
        assert says(html, "carries most at") and np.all([name in html for name in ("all max flows", 'class="followed')])
