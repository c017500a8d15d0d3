"""Shapley values of a review's tokens: the CPU time that shap's Permutation explainer needs to be as exact as the default.

The built-in sentiment model, tokens as players, log-odds as payoff, several reviews and seeds. The Permutation explainer, in a
process of its own, asks a function batched by hand: mask tokens put in place, plain passes of the model without gradients, in
the batch size that suits it best of four. The error is the root-mean-square distance from the truth, relative to its length,
over reviews and seeds. The truth is exact for 16 tokens; beyond that it is the default estimator with many more payoffs, and
the square of the error that it reports for itself is taken off both squared distances. The error of random orders falls with
the root of their number, so the CPU time that the Permutation explainer would need is that of its run times the squared ratio
of the errors.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from accredit.core import BoolArray, FloatArray
from accredit.games import cached
from accredit.games.text import TextGame
from accredit.values import shapley
from benchmarks.peers.shapley import PEERS

REVIEWS = (
    "I went in expecting very little, and for the first half hour that is what I got: a thin plot, two brothers who shout, a "
    "dog that is played for cheap laughs. Then the older one opens the letter, and the film becomes something else. It is "
    "still not a great story, but the acting is warm, the camera finally holds still, and one long scene at the kitchen table "
    "is as good as anything I have seen this year. The ending is rushed and the music never stops telling you what to feel, "
    "which is a pity. I would not call it a masterpiece, but I left the cinema quiet and a little moved, and that is rare.",
    "Somebody spent a fortune on this ship, and it shows in every rivet, yet nobody thought to write a captain worth following "
    "aboard. The first storm is thrilling. By the third one I had stopped caring who would drown. What saves the evening is "
    "the cook, a small part played with such sly good humour that the hall woke up whenever he lifted a ladle. The rest of the "
    "crew recite their lines as if reading a menu. Two hours and forty minutes is far too long for a tale that ends where it "
    "began, with the same boring speech about honour. See it for the waves and the cook, or wait until it is on television.",
    "My grandmother grew up in a village like this one, and she laughed out loud at things that the rest of us missed. That is "
    "the best praise I can offer: it knows its people. The young director lets them talk, burn the soup, cheat at cards and "
    "forgive each other, and he never once makes fun of them. There is hardly any story, and I did not want one. The picture "
    "is grainy, the sound is poor in the church, and the boy who plays the nephew cannot act at all. None of that matters. "
    "I have already told three friends to go, and I will go again with my sister on Sunday, because it is simply lovely.",
)
BUDGET = 2_000  # payoffs of the default estimate, and of the Permutation explainer before it is scaled
TRUTH = {16: 1 << 16, 32: 16_000, 64: 12_000, 128: 12_000}  # payoffs of the truth
BATCHES = (8, 16, 32, 64)  # rows of one plain pass


@dataclass
class ByHand:
    """The payoffs of a text game from plain passes, as somebody would write them for shap."""

    game: TextGame
    batch: int = 0  # 0: the best of some, found by trying them

    def __post_init__(self) -> None:
        trial = np.random.default_rng(0).random((128, len(self.players))) < 0.5
        self.batch = self.batch or min(
            BATCHES, key=lambda rows: min(_timed(lambda: self._passes(trial, rows))[0] for _ in range(3))
        )

    @property
    def players(self) -> tuple[str, ...]:
        """Those of the game."""
        return self.game.players

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        """Log-odds of the target: (batch, n) -> (batch,)."""
        return self._passes(coalitions, self.batch)

    def _passes(self, coalitions: BoolArray, batch: int) -> FloatArray:
        model, encoded = self.game.model, self.game.encoded
        stays = np.tile(encoded.special, (len(coalitions), 1))
        stays[:, ~encoded.special] = coalitions
        ids = torch.from_numpy(np.where(stays, encoded.ids, model.tokenizer.mask_token_id))
        with torch.no_grad():
            logits = torch.cat([model.model(input_ids=part).logits for part in torch.split(ids, batch)]).double()
        other = 1 - self.game.target  # there are two classes
        return np.asarray((logits[:, self.game.target] - logits[:, other]).numpy())


def token_game(tokens: int, review: str = REVIEWS[0]) -> TextGame:
    """A game of a review's first words, with as many tokens as fit, the model's own two included in 128."""
    from accredit.games import text_game
    from accredit.models import load_text_model
    from accredit.models.builtin import text_folder

    model, words = load_text_model(text_folder()), review.split()
    most = min(tokens, 126)
    fitting = (model.encode(" ".join(words[:k]), cut=True) for k in range(len(words), 0, -1))
    encoded = next(e for e in fitting if not e.cut and int((~e.special).sum()) <= most)
    return text_game(model, encoded, players="token", payoff="log-odds")


def equal_error(
    tokens: int, seeds: int, truth: int, budget: int = BUDGET, reviews: tuple[str, ...] = REVIEWS
) -> dict[str, Any]:
    """Both estimators on each review: errors, CPU seconds, and how many times ours the other one needs."""
    each = [_compared(token_game(tokens, review), seeds, truth, budget) for review in reviews]
    error, other = (float(np.sqrt(np.mean([row[name] ** 2 for row in each]))) for name in ("error", "shap error"))
    seconds, shap_seconds = (float(np.mean([row[name] for row in each])) for name in ("CPU s", "shap CPU s"))
    return {
        "tokens": tokens,
        "reviews": len(reviews),
        "seeds": seeds,
        "error": error,
        "shap error": other,
        "CPU s": seconds,
        "shap CPU s": shap_seconds,
        "CPU ratio": shap_seconds / seconds * (other / error) ** 2,
        "least": min(row["CPU ratio"] for row in each),
        "most": max(row["CPU ratio"] for row in each),
        "truth payoffs": truth,
        "truth error": max(row["truth error"] for row in each),
    }


def _compared(game: TextGame, seeds: int, truth: int, budget: int) -> dict[str, float]:
    """Both estimators on one game, run by run in turn."""
    best = shapley(cached(game), budget=truth, seed=99)
    by_hand = ByHand(game)
    peer = PEERS["shap Permutation"]
    peer(by_hand, 2 * len(game.players) + 1, 0)  # the first call starts its process
    ours, theirs = [], []
    for seed in range(seeds):
        ours.append(_timed(lambda seed=seed: shapley(game, budget=budget, seed=seed).credit))
        passes, credit = _timed(lambda seed=seed: peer(by_hand, budget, seed))
        theirs.append((passes + peer.seconds, credit))
    off = 0.0 if best.stderr is None else float((best.stderr**2).sum())
    error, other = (_error([credit for _, credit in runs], best.credit, off) for runs in (ours, theirs))
    seconds, shap_seconds = (float(np.mean([cpu for cpu, _ in runs])) for runs in (ours, theirs))
    return {
        "error": error,
        "shap error": other,
        "CPU s": seconds,
        "shap CPU s": shap_seconds,
        "CPU ratio": shap_seconds / seconds * (other / error) ** 2,
        "truth error": float(np.sqrt(off / (best.credit**2).sum())),
    }


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
