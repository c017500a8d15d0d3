"""Answers as games: the cost of passes that read common beginnings once, beside plain passes; and of Shapley values of tokens.

    python -m benchmarks.answers                     # about a quarter of an hour of CPU
    python -m benchmarks.answers --parts real        # some parts: passes, real, and numbers of tokens
    python -m benchmarks.answers --quick             # small games, to see that everything runs

Needs the extra [text], and shap for the second part. One thread, process CPU seconds, the least of several repeats, both
ways interleaved in one run. The model has the shape of a small Llama (4 layers of width 256, grouped queries, 1,000 words) and
random weights; passages have 60 tokens, the question and the answer 40 together, the answer 20. Plain passes are padded on the
left, sorted by length, with logits at answer positions only, in the batch size that suits them best of four. The last line is
one JSON object:

* `eight_passages`: CPU of plain passes over ours for all 256 coalitions of 8 passages; `twelve_passages`: the same for 1,000
  random coalitions of 12. `…_tokens`: the same ratio counted in tokens read, which is what could be reached at best.
* `real`: the same for 48 random coalitions of 8 planted passages, read by SmolLM2-135M-Instruct, where its folder is found.
* `largest_difference`: between the log-probabilities of the two ways, over all answer tokens of both.
* `equal_error`: by number of tokens, the CPU of shap's Permutation explainer over ours at equal error, see `equal_error.py`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from accredit.answers.game import AnswerGame, answer_game
from accredit.answers.model import AnsweringModel, as_answering_model
from accredit.answers.planted import planted_prompt
from accredit.answers.scoring import ModelPays
from accredit.core import BoolArray, FloatArray
from accredit.core.coalitions import from_index
from accredit.explanation.loading import answering_model
from benchmarks.equal_error import REVIEWS, TRUTH, equal_error
from benchmarks.explain import show
from benchmarks.record import record
from tools.language_model import find_model

WORDS, PASSAGE, ASKED, SAID = 1_000, 60, 20, 20
BATCHES = (4, 8, 16, 32)
REPEATS = 3


def small_llama() -> AnsweringModel:
    """The model and a tokenizer of numbered words."""
    names = ["<s>", "<pad>", *(f"w{i}" for i in range(WORDS))]
    words = Tokenizer(models.WordLevel({name: i for i, name in enumerate(names)}, unk_token="<pad>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    config = LlamaConfig(
        vocab_size=len(names),
        hidden_size=256,
        num_hidden_layers=4,
        num_attention_heads=8,
        num_key_value_heads=4,
        intermediate_size=704,
        max_position_embeddings=2048,
        initializer_range=0.05,
    )
    torch.manual_seed(0)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>", pad_token="<pad>")
    return as_answering_model(LlamaForCausalLM(config).eval(), tokenizer)


def game_of(model: AnsweringModel, passages: int) -> AnswerGame:
    """Random passages, a question and an answer."""
    rng = np.random.default_rng(passages)

    def text(count: int) -> str:
        return " ".join(f"w{i}" for i in rng.integers(0, WORDS, count))

    context = [text(PASSAGE) for _ in range(passages)]
    return answer_game(model, context=context, query=text(ASKED), answer=" " + text(SAID))


def real_game(model: AnsweringModel, passages: int = 8) -> AnswerGame:
    """Planted passages, a question and its answer, as a chat."""
    asked = planted_prompt("plain", "people", passages=passages, seed=0)
    return answer_game(model, context=list(asked.context), query=asked.query, answer=asked.answer)


def plain(model: AnsweringModel, game: AnswerGame, coalitions: BoolArray, batch: int) -> tuple[FloatArray, int]:
    """The same log-probabilities from rows padded on the left and sorted by length, and the tokens read."""
    pays = game.pays
    assert isinstance(pays, ModelPays)
    rows = pays.parts.rows(coalitions, pays.answers[0])
    order = np.argsort([len(row.ids) for row in rows], kind="stable")
    said = torch.from_numpy(pays.answers[0].ids)
    earned, read = np.empty((len(rows), len(said))), 0
    with torch.inference_mode():
        for start in range(0, len(order), batch):
            part = order[start : start + batch]
            length = max(len(rows[i].read) for i in part)
            ids = torch.zeros((len(part), length), dtype=torch.int64)
            mask = torch.zeros_like(ids)
            for r, i in enumerate(part):
                ids[r, length - len(rows[i].read) :] = torch.from_numpy(rows[i].read)
                mask[r, length - len(rows[i].read) :] = 1
            logits = model.model(
                input_ids=ids,
                attention_mask=mask,
                position_ids=(mask.cumsum(1) - 1).clamp(min=0),
                use_cache=False,
                logits_to_keep=len(said),
            ).logits.double()
            earned[part] = (logits.gather(-1, said.expand(len(part), -1)[..., None])[..., 0] - logits.logsumexp(-1)).numpy()
            read += ids.numel()
    return earned, read


def compared(
    model: AnsweringModel, make: Callable[[], AnswerGame], coalitions: BoolArray, repeats: int, tried: int = 64
) -> dict[str, float]:
    """CPU seconds of both ways, interleaved, and how far their numbers differ; `tried` coalitions choose the plain batch."""
    game = make()
    game.payoff(coalitions[:2])  # how the model is read is tried out once
    trial = coalitions[:: max(1, len(coalitions) // tried)]
    best = min(BATCHES, key=lambda batch: min(_cpu(lambda: plain(model, game, trial, batch))[0] for _ in range(2)))
    ours, theirs, off, read, given = [], [], 0.0, 0, 0
    for _ in range(repeats):
        fresh = make()
        assert isinstance(fresh.pays, ModelPays)
        seconds, found = _cpu(lambda game=fresh: game.payoff(coalitions))
        ours.append(seconds)
        given = fresh.pays.reader.tokens
        seconds, (expected, read) = _cpu(lambda: plain(model, game, coalitions, best))
        theirs.append(seconds)
        off = max(off, float(np.abs(found - expected).max()))
    return {
        "passages": coalitions.shape[1],
        "payoffs": len(coalitions),
        "CPU s": min(ours),
        "plain CPU s": min(theirs),
        "plain batch": best,
        "ratio": min(theirs) / min(ours),
        "tokens": given,
        "plain tokens": read,
        "token ratio": read / given,
        "difference": off,
    }


def _cpu(run: Any) -> tuple[float, Any]:
    began = time.process_time()
    found = run()
    return time.process_time() - began, found


def passes(model: AnsweringModel, quick: bool) -> list[dict[str, float]]:
    """Ours beside plain passes: all coalitions of 8 passages, 1,000 of 12; when quick, of 3 and 4 passages."""
    few, many, drawn = (3, 4, 6) if quick else (8, 12, 1_000)
    random = np.random.default_rng(0).random((drawn, many)) < 0.5
    return [
        compared(model, lambda: game_of(model, few), from_index(np.arange(1 << few), few), 1 if quick else REPEATS),
        compared(model, lambda: game_of(model, many), random, 1),
    ]


def real_passes(quick: bool) -> list[dict[str, float]]:
    """Ours beside plain passes of a real language model; nothing where its folder is not found."""
    if quick or (folder := find_model()) is None:
        return []
    model = answering_model(str(folder), None)
    assert isinstance(model, AnsweringModel)
    return [compared(model, lambda: real_game(model), np.random.default_rng(0).random((48, 8)) < 0.5, 1, tried=12)]


def at_equal_error(quick: bool, parts: list[str]) -> list[dict[str, Any]]:
    """The default estimate beside shap's Permutation explainer, by number of tokens; nothing where shap is not installed."""
    if not find_spec("shap"):
        return []
    if quick:
        return [equal_error(10, seeds=1, truth=1 << 10, budget=200, reviews=REVIEWS[:1])]
    return [equal_error(tokens, seeds=3, truth=truth) for tokens, truth in TRUTH.items() if str(tokens) in parts]


def main(words: list[str] | None = None) -> None:
    """Run everything and print tables, then one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small games, to see that everything runs")
    every = ["passes", "real", *map(str, TRUTH)]
    parser.add_argument("--parts", nargs="+", choices=every, default=every, help="what is run; everything by default")
    options = parser.parse_args(words)
    torch.set_num_threads(1)
    read = passes(small_llama(), options.quick) if "passes" in options.parts else []
    if read:
        show("log-probabilities of a 20-token answer, beside plain passes", read)
    real = real_passes(options.quick) if "real" in options.parts else []
    if real:
        show("the same of SmolLM2-135M-Instruct", real)
    estimated = at_equal_error(options.quick, options.parts)
    if estimated:
        show("Shapley values of tokens, at the error of shap's Permutation explainer", estimated)
    figures: dict[str, Any] = {"equal_error": {row["tokens"]: round(row["CPU ratio"], 1) for row in estimated}}
    for name, row in [*zip(("eight_passages", "twelve_passages"), read, strict=False), *(("real", row) for row in real)]:
        figures |= {name: round(row["ratio"], 2), f"{name}_tokens": round(row["token ratio"], 2)}
    if read or real:
        figures["largest_difference"] = max(row["difference"] for row in [*read, *real])
    record(figures | {"quick": options.quick})


if __name__ == "__main__":
    main()
