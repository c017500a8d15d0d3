"""An explainer that is asked row by row, or from several threads: read once, the same answers, and no memory that grows."""

from __future__ import annotations

import gc
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgboost
from numpy.testing import assert_allclose
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import accredit
from accredit import Explainer
from accredit.trees.reading import boosters

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 16))
Y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
BACKGROUND = X[200:230]
FEW: dict[str, Any] = {"n_estimators": 8, "max_depth": 3, "random_state": 0}
STREAMS: dict[str, Any] = {
    "xgboost": lambda: Explainer(xgboost.XGBClassifier(**FEW, n_jobs=1).fit(X, Y), background=BACKGROUND),
    "cover ratios": lambda: Explainer(xgboost.XGBClassifier(**FEW, n_jobs=1).fit(X, Y), dependence="cover"),
    "probability": lambda: Explainer(
        xgboost.XGBClassifier(**FEW, n_jobs=1).fit(X, Y), background=BACKGROUND, payoff="probability"
    ),
    "forest": lambda: Explainer(RandomForestClassifier(**FEW).fit(X, Y), background=BACKGROUND),
    "pipeline": lambda: Explainer(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y), background=BACKGROUND),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STREAMS)
def test_threads_that_share_an_explainer_get_what_one_caller_gets(name):
    explainer, alone = STREAMS[name](), STREAMS[name]()
    batches = [X[k : k + 1 + k % 3] for k in range(120)]
    with ThreadPoolExecutor(6) as threads:
        together = list(threads.map(explainer, batches))  # the very first calls, too, come from several threads
    for rows, found in zip(batches, together, strict=True):
        expected = alone(rows)
        assert_allclose(found.credit, expected.credit, rtol=1e-9, atol=1e-12)
        assert_allclose(found.prediction, expected.prediction, rtol=1e-12)
        assert found.notes == expected.notes and found.rows == expected.rows


def test_a_model_is_read_once_though_threads_come_at_the_same_time(monkeypatch):
    calls: list[object] = []
    read = boosters.read_xgboost
    monkeypatch.setattr(boosters, "read_xgboost", lambda *args, **more: (calls.append(args), read(*args, **more))[1])
    explainer = STREAMS["xgboost"]()
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(explainer, [X[k : k + 1] for k in range(30)]))
    assert len(calls) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", STREAMS)
def test_memory_does_not_grow_with_the_calls(name):
    explainer = STREAMS[name]()

    def ask(count: int) -> None:
        for k in range(count):
            explainer(X[k % 200 : k % 200 + 1])

    def held() -> int:
        """Bytes that our own lines hold; scikit-learn's checks of arrays keep a few for each call."""
        gc.collect()
        ours = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, f"{Path(accredit.__file__).parent}/*")])
        return sum(trace.size for trace in ours.traces)

    ask(120)  # every row that is asked again below: what is kept of each size of table is kept by then
    tracemalloc.start()
    ask(20)
    before = held()
    ask(100)
    grown = held() - before
    tracemalloc.stop()
    assert grown < 10_000  # bytes: a hundred for each call would be as many
