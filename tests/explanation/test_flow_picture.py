"""The drawing of a flow holds the flow: what enters a column leaves it, and the cut carries all of it."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("ortools")

from accredit.explanation import explain
from accredit.explanation.flows import OTHERS
from tests.models.small_models import TEXT, image_model, text_model

LONG = "the film is not very good , a gripping shot never lands ! it is bad . a beautifully shot film"


def checked(flow):
    """Conservation, cut = value, and non-negative numbers."""
    np.testing.assert_allclose(flow.edges.sum(axis=2), flow.through[1:], atol=1e-7)
    np.testing.assert_allclose(flow.edges.sum(axis=1), flow.through[:-1], atol=1e-7)
    np.testing.assert_allclose(flow.through.sum(axis=1), flow.value, atol=1e-7)
    assert flow.cut.sum() + flow.source_cut.sum() + flow.sink_cut.sum() == pytest.approx(flow.value, abs=2e-6)
    assert min(flow.edges.min(), flow.cut.min()) >= -1e-12
    return flow


@pytest.mark.slow
@pytest.mark.parametrize("method", ["flow", "flow-l2", "flow-shapley", "flow:gf", "flow:agf"])
def test_a_short_text_is_drawn_token_by_token(method):
    explanation = explain(TEXT, text_model("bert"), methods=method)
    flow = checked(explanation.flow)
    assert len(flow.columns) == len(explanation.tokens) and flow.layers == 2 and flow.method == method
    if method in ("flow", "flow-l2"):  # the drawing shows the very flow that is credited
        arrived = dict.fromkeys(explanation[method].players, 0.0)
        for token, amount in zip(explanation.tokens, flow.through[0], strict=True):
            arrived[token.player] += amount
        assert arrived == pytest.approx(explanation[method].as_dict(), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [4, 8])
@pytest.mark.parametrize("family", ["bert", "gpt2", "t5"])
def test_a_long_text_is_gathered_into_columns(family, columns, monkeypatch):
    monkeypatch.setattr("accredit.explanation.flows.COLUMNS", columns)
    flow = checked(explain(LONG, text_model(family), methods="flow").flow)
    assert len(flow.columns) == columns and flow.columns[-1] == OTHERS
    if family != "t5":  # its decoder reads every position
        assert flow.through[-1, -1] == 0  # where the flow starts is seen, not among the others


def test_a_picture_is_drawn_patch_by_patch():
    image = np.random.default_rng(0).integers(0, 256, (12, 12))
    flow = checked(explain(image, image_model(), methods="flow").flow)
    assert flow.columns == ("[CLS]", *(f"r{r}c{c}" for r in range(3) for c in range(3)))


def test_only_flows_are_drawn():
    assert explain(TEXT, text_model("bert"), methods="attention").flow is None
