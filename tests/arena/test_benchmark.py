"""The benchmark of metrics keeps up with the metrics that there are."""

import pytest

from benchmarks.arena import METRICS, metric_overhead


@pytest.mark.slow
def test_every_metric_of_a_contest_of_texts_is_measured_or_does_not_apply():
    (found,) = metric_overhead(sentences=1, repeats=1)
    assert len(METRICS) == 8
    assert found["payoffs"] > 256 and found["passes_s"] > 0 < found["metrics_s"]
