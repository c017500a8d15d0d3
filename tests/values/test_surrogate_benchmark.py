"""The benchmark runs end to end on tiny settings without the peer libraries, and its closed-form values are right."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.core.coalitions import all_coalitions
from accredit.values.semivalues import shapley_from_table
from benchmarks import estimation, games, shapley
from tests.wording import says

COMMAND = "python -m benchmarks.shapley --quick"


@pytest.mark.slow
def test_runs_end_to_end_and_ends_with_json(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("ACCREDIT_PEERS", str(tmp_path))  # as on a machine without environments of peers
    monkeypatch.setattr(shapley, "QUICK_GAMES", ("text14", "unan60"))
    monkeypatch.setattr(shapley, "QUICK_BUDGETS", [130])
    monkeypatch.setattr(shapley, "QUICK_COVERAGE", {130: 1})
    monkeypatch.setattr(shapley, "EXACT_PLAYERS", 10)
    monkeypatch.setenv("ACCREDIT_RESULTS", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["benchmarks/shapley.py", "--quick"])
    shapley.main(["--quick"])
    printed = capsys.readouterr().out
    ratios = json.loads(printed.splitlines()[-1])
    kept = json.loads((tmp_path / "shapley.jsonl").read_text())
    assert kept["figures"] == ratios and kept["command"] == COMMAND
    assert kept["machine"]["cores"] and kept["versions"]["numpy"] == np.__version__
    assert says(printed, "skipped, without an environment")
    assert ratios["exact_extra_mb"] < 64 and ratios["mse_130_worst_over_regression"]["ratio"] > 0
    assert 0 <= ratios["coverage_130_mean"] <= 1


@pytest.mark.slow
def test_the_cost_of_an_estimate_ends_with_json(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("ACCREDIT_RESULTS", str(tmp_path))
    monkeypatch.setattr(estimation, "PLAYERS", (9,))
    monkeypatch.setattr(estimation, "BUDGETS", (60, 1000))
    monkeypatch.setattr(estimation, "BUDGET", 60)
    monkeypatch.setattr(estimation, "MOST", 300)
    monkeypatch.setattr(estimation, "TIMED_GAMES", ("unan60", "text14"))
    monkeypatch.setattr(estimation, "models", lambda: {"wavy": estimation.wavy(9)})
    estimation.main(["--quick"])
    printed = capsys.readouterr().out
    found = json.loads(printed.splitlines()[-1])
    assert "arithmetic_us_9_60" in found and "arithmetic_us_9_1000" not in found  # 2⁹ payoffs are all there are
    assert "exact" in printed and found["regression_over_ours_100us"] > 0


@pytest.mark.parametrize(
    "known",
    [
        games.unanimity(9, 12, 5, 0),
        games.voting(9, 7, 1),
        games.facility(8, 5, 2),
        games.gloves(3, 6),
        games.capped(9, 6, 3),
        games.coverage(9, 12, 4),
        games.closed("product", *games.of_product(np.random.default_rng(5).normal(0, 0.3, 8))),
    ],
    ids=lambda known: known.name,
)
def test_closed_forms_agree_with_the_table(known):
    table = np.concatenate([known.game.payoff(chunk) for chunk in all_coalitions(known.players)])
    assert_allclose(known.values, shapley_from_table(table), atol=1e-12)


def test_leaf_by_leaf_values_of_a_forest_agree_with_the_table():
    from sklearn.ensemble import RandomForestRegressor

    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 7)).astype(np.float32).astype(float)
    model = RandomForestRegressor(8, random_state=0).fit(x, x[:, 0] * x[:, 1] + x[:, 2])
    payoff = games.masked(model.predict, x[0], x[10:14])
    table = np.concatenate([payoff(chunk) for chunk in all_coalitions(7)])
    values = games.forest_values(model.estimators_, 1 / 8, x[0], x[10:14])
    assert_allclose(values, shapley_from_table(table), atol=1e-12)


def test_every_neighbour_and_knn_closed_form_is_efficient():
    known = games.neighbours_closed()
    ends = known.game.payoff(np.array([[False] * 70, [True] * 70]))
    assert_allclose(known.values.sum(), ends[1] - ends[0], atol=1e-12)
