"""Flow as the model's process computes it: heads, layers, and what a causal mask gives by itself."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from accredit import Explainer
from accredit.errors import InvalidInput
from accredit.web.flowing import GRAPH_EDGES, ROWS_OF_EDGES, flow, graph, heads_of
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
        assert says(html, "carries most at") or says(html, "cannot rank these tokens")
        assert np.all([name in html for name in ("all maximum flows", 'class="followed')])


PIPES = "from,to,capacity\ns,a,2\ns,b,2\na,t,2\nb,t,2\nt,u,3\n"


def solved(**other):
    """The last table and the page to save."""
    task = {"edges": PIPES, "name": "edges.csv", "source": ["s"], "sink": ["u"], "rule": "barrier", "cheapest": False}
    *_, shown, end = [event for event in graph(models("bert"), task | other) if event["event"] != "progress"]
    return shown["html"], end["page"]


def test_a_graph_is_solved_with_its_proof_and_the_range_of_every_edge():
    shown, page = solved()
    assert says(shown, "Maximum flow 3") and says(shown, "no more than 3") and says(shown, "One of many maximum flows")
    assert "<td>s → a</td><td>1.5</td><td>2</td><td>1</td><td>2</td>" in shown  # worked by hand: 3 in all, halves by symmetry
    assert "s → a" in page
    only, _ = solved(edges="from,to,capacity\ns,u,2\n")
    assert says(only, "only one") and '<th scope="col">least' not in only


def test_a_graph_without_ends_is_a_circulation_of_least_cost():
    shown, _ = solved(edges="from,to,capacity,lower,cost\na,b,4,0,-3\nb,a,9,2,1\n", source=[], sink=[], rule="none")
    assert says(shown, "Least cost −8") or says(shown, "Least cost -8")


def test_a_graph_that_cannot_be_solved_is_refused_in_the_words_of_the_page():
    with refused("missing"):
        solved(sink=[])
    with refused("unknown"):
        solved(source=["nobody"])
    with refused("conflict") as found:  # 3 must pass an edge after which there is room for 1
        solved(edges="from,to,capacity,lower\ns,a,4,3\na,u,1,0\n")
    assert says(str(found.value), "3 must enter and at most 1 can")
    with refused("too-many"):
        solved(edges="from,to,capacity\n" + "s,u,1\n" * (GRAPH_EDGES + 1))


def test_of_many_edges_the_largest_flows_are_shown_and_the_rest_is_counted():
    edges = "from,to,capacity\n" + "".join(f"s,u,{k + 1}\n" for k in range(ROWS_OF_EDGES + 7))
    shown, page = solved(edges=edges, rule="none")
    assert shown.count("<tr>") == ROWS_OF_EDGES + 1 and says(shown, "7 more are left out")
    assert page.count("<td>s → u</td>") == ROWS_OF_EDGES + 7  # what is saved has all
