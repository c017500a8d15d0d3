"""Explaining a text: payoff throughput against the bare model, seconds and memory for 128 tokens, time against shap.

    python -m benchmarks.explain [--model FOLDER] [--quick]

Needs the extra [bench]. One thread and process CPU seconds unless said otherwise, the least of several repeats. The last line
is one JSON object:

* `payoff_throughput`: payoffs a second of token Shapley on 32, 64 and 128 tokens, as a share of what the bare model does in
  batches of the same shape. `payoff_throughput_with_solver` also counts the estimator's own arithmetic.
* `seconds_128`, `peak_mb_128`, `extra_mb_128`: one explanation of a 128-token text by the default methods in a fresh process;
  `extra` is above the process that has loaded the model.
* `shap_ratio`: seconds on the clock, all cores, of shap's text explainer on a transformers pipeline over ours: same model, same
  number of evaluations, the sum over the project's own evaluation sentences. `shap_ratio_cpu` and `shap_ratio_clock`: the same
  for texts of 16, 32 and 64 tokens, in CPU seconds on one thread and on the clock; `shap_ratio_batched`: in CPU seconds with a
  scoring function that we batched for shap by hand.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

from accredit.arena.texts import sample
from accredit.core import BoolArray, FloatArray
from accredit.explanation import explain
from accredit.explanation.loading import load_model
from accredit.games import text_game
from accredit.models import TextModel
from accredit.values import shapley
from benchmarks.record import record

PROSE = (
    "a gripping film that never quite lands and yet the camera finds something true in every face while the story drifts from "
    "room to room without hurry or purpose until the last scene turns it all into a quiet kind of joy"
)
LENGTHS = (32, 64, 128)
SENTENCES = (16, 32, 64)  # for shap, whose pipeline costs the same for short texts as for long ones
CORES = len(os.sched_getaffinity(0))
PEAK = "import sys; from benchmarks.explain import peak; peak(sys.argv[1] or None)"


def text_of(model: TextModel, tokens: int) -> str:
    """A text of exactly so many tokens, special ones included."""
    words: list[str] = []
    every = PROSE.split()
    while True:
        longer = [*words, every[len(words) % len(every)]]
        count = len(model.encode(" ".join(longer)))
        if count > tokens:
            return " ".join([*words, *("," * (tokens - len(model.encode(" ".join(words)))))])
        words = longer
        if count == tokens:
            return " ".join(words)


def least(run: Callable[[], object], repeats: int, clock: Callable[[], float] = time.process_time) -> float:
    """Least time of a call by a clock (CPU seconds), after one call to warm up."""
    run()
    times = []
    for _ in range(repeats):
        began = clock()
        run()
        times.append(clock() - began)
    return min(times)


class Timed:
    """A game that keeps the batches it was asked and the CPU seconds they took."""

    def __init__(self, game: Any) -> None:
        self.game, self.seconds, self.batches = game, 0.0, []

    @property
    def players(self) -> tuple[str, ...]:
        return self.game.players

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        began = time.process_time()
        earned = self.game.payoff(coalitions)
        self.seconds += time.process_time() - began
        self.batches.append(coalitions)
        return earned


def bare_seconds(model: TextModel, game: Any, batches: list[BoolArray]) -> float:
    """CPU seconds of the bare model on ready-made inputs of the same rows, cut into the same batches."""
    ids = torch.from_numpy(game.encoded.ids)
    mask = model.tokenizer.mask_token_id
    ready = []
    for coalitions in batches:
        kept = torch.from_numpy(game.partition.kept(coalitions))
        for part in torch.where(kept, ids, mask).split(game.rows):
            ready.append((part, torch.ones_like(part)))
    began = time.process_time()
    with torch.inference_mode():
        for part, attends in ready:
            model.model(input_ids=part, attention_mask=attends)
    return time.process_time() - began


def throughput(model: TextModel, tokens: int, budget: int, repeats: int) -> dict[str, float]:
    """Payoffs a second of token Shapley beside rows a second of the bare model, interleaved so that both see the same load."""
    text = text_of(model, tokens)
    ours, bare, whole, count = [], [], [], 0
    for _ in range(repeats + 1):
        game = Timed(text_game(model, text, players="token", payoff="log-odds"))
        began = time.process_time()
        shapley(game, budget=budget)
        whole.append(time.process_time() - began)
        ours.append(game.seconds)
        bare.append(bare_seconds(model, game.game, game.batches))
        count = sum(len(batch) for batch in game.batches)
    ours, bare, whole = ours[1:], bare[1:], whole[1:]  # the first round warms up
    return {
        "tokens": tokens,
        "payoffs": count,
        "rows at a time": game.game.rows,
        "payoffs/s": count / min(ours),
        "bare/s": count / min(bare),
        "ratio": min(bare) / min(ours),
        "with solver": min(bare) / min(whole),
    }


def peak(folder: str | None) -> None:
    """Explain 128 tokens in this process and print seconds and memory as JSON."""
    torch.set_num_threads(1)
    model = load_model("text", folder)
    text = text_of(model, 128)
    model.predict(model.encode(text))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    began, cpu = time.perf_counter(), time.process_time()
    result = explain(text, model)
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": wall, "cpu": cpu, "peak_mb": after, "extra_mb": after - before, "each": dict(result.seconds)}))


class Peer:
    """shap's text explainer, as its documentation uses it (a transformers pipeline) and with scores batched by us."""

    def __init__(self, model: TextModel, text: str, budget: int) -> None:
        import shap
        from transformers import TextClassificationPipeline

        self.model, self.text, self.budget, self.asked = model, text, budget, 0
        self.target = int(model.predict(model.encode(text)).argmax())
        pipeline = TextClassificationPipeline(model=model.model, tokenizer=model.tokenizer, top_k=None)
        masker = shap.maskers.Text(model.tokenizer, mask_token=model.tokenizer.mask_token)
        self.by_pipeline, self.by_scores = shap.Explainer(pipeline, masker), shap.Explainer(self._scores, masker)

    def _scores(self, texts: Any) -> FloatArray:
        """Log-odds in batches of 64: nearly all of shap's time is then the model's own, which bounds what it could do."""
        self.asked += len(texts)
        batch = self.model.tokenizer(list(texts), padding=True, return_tensors="pt")
        with torch.inference_mode():
            z = self.model.model(**batch).logits.double()
        others = torch.cat([z[:, : self.target], z[:, self.target + 1 :]], dim=1)
        return (z[:, self.target] - torch.logsumexp(others, dim=1)).numpy()

    def run(self, explainer: Any) -> None:
        explainer([self.text], max_evals=self.budget, batch_size=64, silent=True)

    def evaluations(self) -> int:
        """How many texts shap scores, which may be fewer than its budget."""
        before = self.asked
        self.run(self.by_scores)
        return self.asked - before


def shap_ratio(model: TextModel, text: str, budget: int, repeats: int) -> dict[str, float]:
    """Seconds of shap's text explainer and of token Shapley for the same text and number of evaluations."""
    peer = Peer(model, text, budget)
    used = peer.evaluations()

    def own() -> None:
        shapley(text_game(model, text, players="token", payoff="log-odds"), budget=used)

    def pipeline() -> None:
        peer.run(peer.by_pipeline)

    cpu, shap_cpu, batched = (least(run, repeats) for run in (own, pipeline, lambda: peer.run(peer.by_scores)))
    torch.set_num_threads(CORES)
    clock, shap_clock = (least(run, repeats, time.perf_counter) for run in (own, pipeline))
    torch.set_num_threads(1)
    return {
        "tokens": len(model.encode(text)),
        "evaluations": used,
        "CPU s": cpu,
        "shap CPU s": shap_cpu,
        "batched CPU s": batched,
        "clock s": clock,
        "shap clock s": shap_clock,
        "ratio CPU": shap_cpu / cpu,
        "ratio clock": shap_clock / clock,
        "ratio batched": batched / cpu,
    }


def main() -> None:
    """Run everything and print tables, then one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a folder with a text classifier; the built-in one by default")
    parser.add_argument("--quick", action="store_true", help="fewer repeats and payoffs")
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = load_model("text", options.model)
    assert isinstance(model, TextModel)
    budget, repeats = (500, 1) if options.quick else (2000, 3)

    rows = [throughput(model, tokens, budget, repeats) for tokens in LENGTHS]
    show("payoffs a second, beside the bare model", rows)
    done = subprocess.run([sys.executable, "-c", PEAK, options.model or ""], capture_output=True, text=True, check=True)
    whole = json.loads(done.stdout.splitlines()[-1])
    cost = f"{whole['seconds']:.2f} s ({whole['cpu']:.2f} CPU-s), peak {whole['peak_mb']:.0f} MB"
    print(f"\n128 tokens by the default methods: {cost}")
    print("  " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in whole["each"].items()))
    peers = [shap_ratio(model, text_of(model, tokens), 500, repeats) for tokens in SENTENCES]
    print()
    show("seconds for one text of a given length, shap's text explainer beside token Shapley", peers)
    written = [shap_ratio(model, example.text, 500, 1) for example in sample()[: 3 if options.quick else 12]]
    print()
    show("the same for sentences of the project", written)
    record(
        {
            "payoff_throughput": round(min(row["ratio"] for row in rows), 3),
            "payoff_throughput_with_solver": round(min(row["with solver"] for row in rows), 3),
            "seconds_128": round(whole["seconds"], 3),
            "cpu_seconds_128": round(whole["cpu"], 3),
            "peak_mb_128": round(whole["peak_mb"]),
            "extra_mb_128": round(whole["extra_mb"]),
            "shap_ratio": round(sum(row["shap clock s"] for row in written) / sum(row["clock s"] for row in written), 2),
            "shap_ratio_cpu": {str(row["tokens"]): round(row["ratio CPU"], 2) for row in peers},
            "shap_ratio_clock": {str(row["tokens"]): round(row["ratio clock"], 2) for row in peers},
            "shap_ratio_batched": {str(row["tokens"]): round(row["ratio batched"], 2) for row in peers},
        }
    )


def show(title: str, rows: list[dict[str, float]]) -> None:
    """A small table."""
    print(title)
    print("  " + "".join(f"{name:>16}" for name in rows[0]))
    for row in rows:
        print("  " + "".join(f"{value:>16.4g}" for value in row.values()))


if __name__ == "__main__":
    main()
