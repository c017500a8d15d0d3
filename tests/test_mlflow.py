"""Results in MLflow, with the real library: skipped, and said so, where it is not installed.

It is not among the test dependencies, because what it asks for does not go with the newest of the others; `pip install
mlflow-skinny` in an environment of its own runs these.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import accredit
from accredit.errors import MissingExtra
from accredit.rows import TableExplanation

HERE = importlib.util.find_spec("mlflow") is not None


def explained():
    return accredit.explain(np.array([[1.0, 2.0]]), lambda rows: rows @ [2.0, 1.0], background=np.zeros((3, 2)), seed=5)


@pytest.mark.skipif(not HERE, reason="mlflow is not installed: pip install mlflow-skinny")
def test_a_run_holds_page_json_and_settings(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # mlflow-skinny has no other store
    import mlflow

    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    with mlflow.start_run() as run:
        explained().log_to_mlflow()
        explained().log_to_mlflow("again")
    kept = mlflow.get_run(run.info.run_id)
    assert kept.data.params["explanation.seed"] == "5" and kept.data.params["again.payoff"] == "value"
    folder = Path(mlflow.artifacts.download_artifacts(run_id=run.info.run_id, dst_path=str(tmp_path / "out")))
    assert TableExplanation.from_json((folder / "explanation.json").read_text()) == explained()
    assert (folder / "again.html").read_text() == explained().to_html()


@pytest.mark.skipif(HERE, reason="mlflow is installed")
def test_without_the_library_the_extra_is_named():
    with pytest.raises(MissingExtra, match=r"accredit\[mlflow\]"):
        explained().log_to_mlflow()
