"""The report: what a max flow determines, in numbers and in words."""

import json

import numpy as np
import pytest

from accredit.attention import flow_report, pairwise_flow
from accredit.errors import InvalidInput
from accredit.flow import LayeredNetwork, maximum_flow
from accredit.flow.network import with_residual
from tests.flow.attention_samples import awkward, soft


def test_says_what_the_parts_say():
    attention = soft(6, 10)
    network = LayeredNetwork.from_attention(attention)
    report = flow_report(attention, players=[f"t{k}" for k in range(10)])
    assert report.max_flow == pytest.approx(maximum_flow(network).value)
    assert report.cut.sum() == pytest.approx(report.max_flow)
    assert report.binding_layer == int(report.cut.argmax())
    assert (report.intervals[:, 0] <= report.credit + 1e-6).all() and (report.credit <= report.intervals[:, 1] + 1e-9).all()
    capacity = with_residual(attention, 0.5)
    bound = np.minimum(capacity[-1].sum(axis=1)[:, None], capacity[0].sum(axis=0))
    assert report.collapse_share == pytest.approx((pairwise_flow(attention) >= bound * (1 - 1e-9)).mean())
    assert report.collapse_pairs == 100 and not report.collapse_sampled
    for layer, i, j, room in report.cut_edges:
        assert room == pytest.approx(capacity[layer - 1, i, j], abs=1e-14)
        assert report.source_side[layer, i] and not report.source_side[layer - 1, j]


def test_relabelling_moves_a_solver_but_not_the_barrier():
    test = flow_report(soft(8, 16), intervals=False, pairs=16).relabelling
    assert test.solver_change > 0.05
    assert test.solver_rank_correlation < 0.999
    assert test.barrier_change < 1e-8


def test_renumbering_may_be_left_out():
    report = flow_report(soft(2, 6), trials=0)
    assert report.relabelling is None and json.loads(report.to_json())["relabelling"] is None
    assert "Renumbering" not in report.summary and "Renumbering" in flow_report(soft(2, 6)).summary


def test_relabelling_moves_nothing_where_the_max_flow_is_unique():
    only = np.diag([0.1, 0.2, 0.3, 0.4])[None].repeat(3, axis=0)
    test = flow_report(only, residual=0.0, normalise=False).relabelling
    assert test.solver_change < 1e-12 and test.solver_rank_correlation == pytest.approx(1)
    assert test.barrier_change < 1e-8


def test_deep_attention_collapses_and_the_words_say_so():
    deep = flow_report(soft(12, 16), outputs=0, intervals=False)
    assert deep.collapse_share == 1
    assert "ignores every layer" in deep.summary
    shallow = flow_report(soft(2, 16), outputs=0, intervals=False)
    assert shallow.collapse_share < 0.5
    assert "ignores" not in shallow.summary


def test_collapse_is_sampled_when_there_are_many_pairs():
    report = flow_report(soft(2, 12), pairs=20, trials=1, intervals=False)
    assert report.collapse_pairs == 20 and report.collapse_sampled and "20 random pairs" in report.summary


@pytest.mark.parametrize("name", awkward(2, 6))
def test_awkward_input_is_reported_in_words_and_json(name):
    attention, settings = awkward(3, 6)[name]
    report = flow_report(attention, trials=1, **settings)
    data = json.loads(report.to_json())
    assert data["kind"] == "flow report" and data["max_flow"] == report.max_flow
    assert len(data["intervals"]) == 6 and len(data["cut"]) == 5
    assert report.summary in str(report)
    if name == "nothing":
        assert "No flow" in report.summary


def test_bad_settings_are_refused():
    for settings in ({"pairs": 0}, {"trials": -1}, {"trials": True}, {"outputs": 9}, {"players": ["a"]}):
        with pytest.raises(InvalidInput):
            flow_report(soft(2, 3), **settings)


def test_large_capacities_are_reported_like_small_ones():
    small = np.maximum(np.random.default_rng(3).normal(size=(3, 4, 4)), 0)
    reports = [flow_report(scale * small, normalise=False, residual=0.0, trials=1) for scale in (1.0, 1e12)]
    np.testing.assert_allclose(reports[1].credit, 1e12 * reports[0].credit, rtol=1e-5)
    np.testing.assert_allclose(reports[1].intervals, 1e12 * reports[0].intervals, rtol=1e-9, atol=1e-3)
    assert reports[1].relabelling.barrier_change < 1e-6 * reports[1].max_flow
