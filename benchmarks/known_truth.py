"""Attribution held to what is known: our methods and peers on problems whose truth was planted.

    python -m benchmarks.known_truth [--count 12] [--tracks columns,context,…]

Peers run in their own environments (`make peers`); one without is left out. A method may ask 128 payoffs of a game. With all
tracks it writes docs/reports/known_truth.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np

from accredit.arena.known_truth import BUDGET, TRACKS, Method, Problem, TrackScore, leaderboard
from accredit.core import Game
from benchmarks.peers.environments import PINS, ready
from benchmarks.peers.pipe import side
from benchmarks.peers.shapley import PEERS, PeerEstimator
from benchmarks.record import ROOT, filled, record

PAGE = ROOT / "docs" / "reports" / "known_truth.md"
ESTIMATORS = ("shap Permutation", "shap Kernel", "shapiq KernelSHAP paired", "shapiq OddSHAP", "captum ShapleyValueSampling")


def of_game(solve: Any) -> Method:
    """A method for problems about players of a game."""
    return lambda problem: None if problem.game is None or problem.pairs else solve(problem.game, problem)


def ours() -> dict[str, Method]:
    """What accredit has, as it ships."""
    from accredit import banzhaf, leave_one_out, shapley, shapley_interactions
    from accredit.games import ComponentGame, attribution_patching
    from accredit.labels import wrong_labels
    from accredit.valuation import knn_shapley, split

    def pairs(problem: Problem) -> Any:
        if problem.game is None or not problem.pairs:
            return None
        found = shapley_interactions(problem.game, order=2, budget=problem.budget)
        n = len(problem.game.players)
        return np.array([found[problem.game.players[i], problem.game.players[j]] for i in range(n) for j in range(i + 1, n)])

    def suspicion(problem: Problem) -> Any:
        if problem.rows is None or problem.labels is None:
            return None
        return wrong_labels(problem.labels, features=problem.rows).probability

    def worth(problem: Problem) -> Any:
        if problem.rows is None or problem.labels is None:
            return None
        half = np.arange(len(problem.labels)) % 2 == 0  # each half is worth what it does for the other
        found = np.empty(len(half))
        for part in (half, ~half):
            parts = split(problem.rows[part], problem.labels[part], problem.rows[~part], problem.labels[~part])
            found[part] = -knn_shapley(parts, 5).credit
        return found

    def chance(problem: Problem) -> Any:
        return np.random.default_rng(problem.number).normal(size=len(problem.players))

    return {
        "accredit shapley": of_game(lambda game, problem: shapley(game, budget=problem.budget)),
        "accredit banzhaf": of_game(lambda game, problem: banzhaf(game, budget=problem.budget)),
        "accredit leave_one_out": of_game(lambda game, problem: leave_one_out(game)),
        "accredit attribution_patching": of_game(
            lambda game, problem: attribution_patching(game) if isinstance(game, ComponentGame) else None
        ),
        "accredit shapley_interactions": pairs,
        "accredit wrong_labels": suspicion,
        "accredit knn_shapley": worth,
        "random numbers": chance,
    }


def theirs() -> dict[str, Method]:
    """Peers whose environments are here."""

    def estimate(peer: PeerEstimator) -> Method:
        def run(game: Game, problem: Problem) -> Any:
            return peer(game, problem.budget, problem.number)

        return of_game(run)

    found = {name: estimate(PEERS[name]) for name in ESTIMATORS if ready(PINS[PEERS[name].package])}
    if ready(PINS["cleanlab"]):
        found["cleanlab quality"] = cleanlab
    return found


def cleanlab(problem: Problem) -> Any:
    """One minus cleanlab's label quality, of a forest's probabilities out of fold."""
    if problem.rows is None or problem.labels is None:
        return None
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import cross_val_predict

    model = RandomForestClassifier(100, random_state=0, n_jobs=1)
    answers = cross_val_predict(model, problem.rows, problem.labels, cv=5, method="predict_proba")
    return 1 - side("cleanlab", "data").call("cleanlab_lists", y=problem.labels, forest=answers)["forest.quality"]


def table(board: Mapping[str, Mapping[str, TrackScore]]) -> str:
    """One table: methods down, tracks across; the share found with its interval, and the error where values are known."""
    methods = [name for name in (*ours(), *theirs()) if any(name in scores for scores in board.values())]

    def cell(track: str, name: str) -> str:
        score = board[track].get(name)
        if score is None:
            return "—"
        off = "" if score.error is None else f"; off by {score.error:.2g}"
        return f"{score.found:.2f}{off}"

    head = [f"| | {' | '.join(board)} |", "|---|" + "---|" * len(board)]
    lines = [f"| {name} | {' | '.join(cell(track, name) for track in board)} |" for name in methods]
    return "\n".join([*head, *lines]) + "\n"


def main(arguments: list[str] | None = None) -> None:
    """Run the leaderboard, keep its line and write its page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.known_truth", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=12, help="problems per track")
    parser.add_argument("--tracks", help="some tracks, with commas between them")
    asked = parser.parse_args(arguments)
    tracks = asked.tracks.split(",") if asked.tracks else list(TRACKS)
    board = leaderboard(ours() | theirs(), asked.count, tracks)
    print(table(board))
    record(
        {
            track: {name: [score.found.value, score.found.low, score.found.high, score.error] for name, score in scores.items()}
            for track, scores in board.items()
        }
    )
    if tracks == list(TRACKS):
        here = [name for name in ("shap", "shapiq", "captum", "cleanlab") if ready(PINS[name])]
        peers = ", ".join(f"{name} {PINS[name].version}" for name in here)
        said = f"{asked.count} problems per track, {BUDGET} payoffs per game, beside {peers}.\n\n{table(board)}"
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), "leaderboard", said), encoding="utf-8")


if __name__ == "__main__":
    main()
