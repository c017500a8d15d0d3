"""Plant facts in the training texts of a small language model, and ask which text taught each of them.

    python tools/trace_planted_facts.py [--queries 50] [--texts 300] [--seed 0] [--steps 600]

Every fact ("the capital of zorvia is melk .") has decoys: another fact about the same country, and another text with the same
answer. A query is right when the planted text itself comes first. Ends with one JSON line.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import numpy as np
import torch

from accredit.influence.trace import encode_texts, trace

SOUNDS = ("ba", "ko", "ri", "mu", "ze", "la", "to", "vi", "ne", "su", "pa", "dri", "gol", "fen", "hax", "wyl")


def made_up(count: int, rng: np.random.Generator) -> list[str]:
    """Words that no language has, all different."""
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(rng.choice(SOUNDS, size=3))] = None
    return list(words)


def planted_texts(facts: int, texts: int, seed: int) -> tuple[list[str], list[tuple[str, str, int]]]:
    """Training texts, and for every planted fact a prompt, its answer and the row of the text that states it."""
    rng = np.random.default_rng(seed)
    names = made_up(3 * texts, rng)
    countries, towns, others = names[:facts], names[facts : 2 * facts], names[2 * facts :]
    said: list[str] = []
    asked: dict[str, tuple[str, str]] = {}
    for i, (country, town) in enumerate(zip(countries, towns, strict=True)):
        fact = f"the capital of {country} is {town} ."
        asked[fact] = (f"the capital of {country} is", town)
        said += [fact, f"the river of {country} is {others[i]} .", f"people buy {town} cheese in {others[facts + i]} ."]
    spare = others[2 * facts :]
    while len(said) < texts:
        a, b = spare.pop(), spare.pop()
        said.append(f"the {rng.choice(['capital', 'river', 'king'])} of {a} is {b} .")
    said = [said[i] for i in rng.permutation(len(said))]
    return said, [(*asked[text], row) for row, text in enumerate(said) if text in asked]


def word_tokenizer(texts: list[str]) -> Any:
    """One token for each word."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = sorted({word for text in texts for word in text.split()})
    plain = Tokenizer(models.WordLevel({w: i for i, w in enumerate(["<unk>", *words])}, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=plain, unk_token="<unk>")


def trained(texts: list[str], steps: int, seed: int, width: int = 64, layers: int = 2) -> tuple[Any, Any]:
    """A GPT-2 made from a config and trained on the texts, and its tokenizer."""
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer = word_tokenizer(texts)
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=32,
        n_embd=width,
        n_layer=layers,
        n_head=4,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=0,
    )
    model = GPT2LMHeadModel(config)
    data, _ = encode_texts(tokenizer, texts, 32)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    for _ in range(steps):
        rows = torch.randint(len(texts), (32,))
        loss = model(**{name: value[rows] for name, value in data.items()}).loss
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
    return model.eval(), tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)
    texts, queries = planted_texts(given.queries, given.texts, given.seed)
    model, tokenizer = trained(texts, given.steps, given.seed)
    import tempfile

    began, first, places, known = time.process_time(), 0, [], 0
    with tempfile.TemporaryDirectory() as folder:
        for prompt, answer, row in queries:
            found = trace(model, tokenizer, texts, prompt, answer, folder=folder)
            place = found.order.index(row)
            places.append(place + 1)
            first += place == 0
            known += found.probability > 0.5
    spent = time.process_time() - began
    result = {
        "queries": len(queries),
        "planted text first": first / len(queries),
        "mean reciprocal rank": float(np.mean(1 / np.array(places))),
        "answers the model knows": known / len(queries),
        "texts": len(texts),
        "CPU seconds": spent,
    }
    print(json.dumps(result))
    sys.exit(0 if first >= 0.9 * len(queries) else 1)


if __name__ == "__main__":
    main()
