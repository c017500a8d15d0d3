"""Shapley values of a review's tokens: the CPU time that shap's Permutation explainer needs to be as exact as the default.

The built-in sentiment model, tokens as players, log-odds as payoff, both asking the same batched game. The error is the
root-mean-square distance from the truth, relative to its length, over seeds. The truth is exact for 16 tokens; beyond that it
is the default estimator with many more payoffs, and the square of the error that it reports for itself is taken off both
squared distances. The error of random orders falls with the root of their number, so the CPU time that the Permutation
explainer would need is that of its run times the squared ratio of the errors.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from accredit.core import FloatArray, Game
from accredit.games import cached
from accredit.values import shapley
from benchmarks.peers import shap_permutation

REVIEW = (
    "I went in expecting very little, and for the first half hour that is what I got: a thin plot, two brothers who shout, a "
    "dog that is played for cheap laughs. Then the older one opens the letter, and the film becomes something else. It is "
    "still not a great story, but the acting is warm, the camera finally holds still, and one long scene at the kitchen table "
    "is as good as anything I have seen this year. The ending is rushed and the music never stops telling you what to feel, "
    "which is a pity. I would not call it a masterpiece, but I left the cinema quiet and a little moved, and that is rare."
)
BUDGET = 2_000  # payoffs of the default estimate, and of the Permutation explainer before it is scaled
TRUTH = {16: 1 << 16, 32: 16_000, 64: 12_000, 128: 12_000}  # payoffs of the truth


def token_game(tokens: int) -> Game:
    """A game of the review's first words, with as many tokens as fit, the model's own two included in 128."""
    from accredit.games import text_game
    from accredit.models import load_text_model
    from accredit.models.builtin import text_folder

    model, words = load_text_model(text_folder()), REVIEW.split()
    most = min(tokens, 126)
    fitting = (model.encode(" ".join(words[:k]), cut=True) for k in range(len(words), 0, -1))
    encoded = next(e for e in fitting if not e.cut and int((~e.special).sum()) <= most)
    return text_game(model, encoded, players="token", payoff="log-odds")


def equal_error(tokens: int, seeds: int, truth: int, budget: int = BUDGET) -> dict[str, Any]:
    """Both estimators on one game: errors, CPU seconds, and how many times ours the other one needs."""
    game = token_game(tokens)
    best = shapley(cached(game), budget=truth, seed=99)
    shap_permutation(game, 2 * len(game.players) + 1, 0)  # the first call compiles
    ours = [_timed(lambda seed=seed: shapley(game, budget=budget, seed=seed).credit) for seed in range(seeds)]
    theirs = [_timed(lambda seed=seed: shap_permutation(game, budget, seed)) for seed in range(seeds)]
    off = 0.0 if best.stderr is None else float((best.stderr**2).sum())
    error, other = (_error([credit for _, credit in runs], best.credit, off) for runs in (ours, theirs))
    seconds, shap_seconds = (float(np.mean([cpu for cpu, _ in runs])) for runs in (ours, theirs))
    return {
        "tokens": len(game.players), "error": error, "shap error": other, "CPU s": seconds, "shap CPU s": shap_seconds,
        "CPU ratio": shap_seconds / seconds * (other / error) ** 2, "truth payoffs": truth,
        "truth error": float(np.sqrt(off / (best.credit**2).sum())),
    }  # fmt: skip


def _error(found: list[FloatArray], truth: FloatArray, off: float) -> float:
    """Root-mean-square distance, without what the truth itself is off, relative to the length of the truth."""
    square = float(np.mean([((credit - truth) ** 2).sum() for credit in found]))
    if square <= 2 * off:
        raise RuntimeError("the truth is not much better than an estimate; give it more payoffs")
    return float(np.sqrt((square - off) / (truth**2).sum()))


def _timed(run: Any) -> tuple[float, Any]:
    began = time.process_time()
    found = run()
    return time.process_time() - began, found
