"""A contest without a model: every text is a random table game, so rows take milliseconds and worker processes can run them."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from accredit.arena.contest import METRICS, MethodRun
from accredit.core import Attribution, Selection
from accredit.errors import InvalidInput
from accredit.games import TableGame
from accredit.values import banzhaf, leave_one_out, shapley


@dataclass(frozen=True)
class ToyContest:
    """Five methods, of which one chooses, one ignores its input and one may fail."""

    methods: tuple[str, ...] = ("shapley", "leave-one-out", "banzhaf", "position", "chosen", "brittle")
    metrics: tuple[str, ...] = ("comprehensiveness", "deletion", "insertion", "sensitivity-n", "infidelity")
    stands_at: int | None = None  # the row at which it stands still, to be killed there
    seed: int = 0

    def settings(self):
        return {"methods": list(self.methods), "metrics": list(self.metrics), "seed": self.seed}

    def steady(self):
        return nullcontext()

    def game(self, example):
        if not example.text.strip():
            raise InvalidInput(f"text is {example.text!r}: there is nothing to credit")
        names = tuple(f"w{i}" for i in range(6))
        rng = np.random.default_rng([crc32(example.text.encode()), self.seed])
        dividends = rng.normal(size=64) * 0.5 ** np.bitwise_count(np.arange(64))
        bits = np.arange(64)
        inside = (bits[:, None] & bits[None, :]) == bits[None, :]
        return TableGame(names, 1 / (1 + np.exp(-(inside @ dividends))))

    def metric(self, name, example):
        return METRICS[name]

    def explain(self, method, example):
        if example.row == self.stands_at:
            time.sleep(600)
        game = self.game(example)
        if method == "brittle" and example.row == 3:
            raise ArithmeticError("no convergence on this row")
        if method in ("shapley", "brittle"):
            return MethodRun(shapley(game), 64)
        if method == "leave-one-out":
            return MethodRun(leave_one_out(game), 8)
        if method == "banzhaf":
            return MethodRun(banzhaf(game), 64)
        if method == "chosen":
            return MethodRun(Selection(game.players, np.arange(6) < 2, method="first two"), 1)
        return MethodRun(Attribution(game.players, -np.arange(6.0), None, "by position"), 0)
