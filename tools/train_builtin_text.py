"""Train the built-in text model: a small BERT for sentiment, robust to removed tokens, taught by a fine-tuned MiniLM.

    python tools/train_builtin_text.py DATA_FOLDER --out FOLDER [--teacher FOLDER] [--seed 0] [--quick]

DATA_FOLDER holds `sst2.tsv.gz`, `mr_sentence_polarity.tsv.gz`, `yelp_sentences.tsv.gz` and `imdb_400.tsv.gz`. The teacher is a
folder written by `tools/finetune_minilm.py`; its probabilities, mixed with the true labels, are what the student learns, and
its word embeddings, reduced by PCA, are where the student's begin. Without a teacher the true labels alone are used.

In most training texts a random share of the tokens is removed, by [MASK] or by the attention mask, while the target stays that
of the whole text. The best answer the student can give to a text with holes is therefore the expected answer given what is
left, which is what a game that removes tokens asks for.

No setting is chosen on SST-2 dev or test: training runs a fixed number of passes, a held-out part of the training sentences is
watched, and the dev set is measured at the end, through the files as written. The figures go into the model card by themselves.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from finetune_minilm import LABELS, accuracy, batches_of_like_length, logits
from safetensors.torch import save_file
from sentiment_texts import WINDOW, Example, collect
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    PreTrainedTokenizerFast,
)

SPECIAL = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
POSITIONS = 128
# Words, numbers, and the English contractions as treebanks split them ("do n't", "it 's"): SST-2's form and ordinary
# spelling then give the same tokens. Any other character that is not a space stands alone, and so do kana and Han, which are
# written without spaces: a clause would be one unknown word.
OWN_WORDS = r"\x{3040}-\x{30ff}\x{3400}-\x{4dbf}\x{4e00}-\x{9fff}\x{f900}-\x{faff}"
LETTER = rf"(?:(?![{OWN_WORDS}])\w)"
WORDS = rf"n't\b|'(?:s|re|ve|ll|d|m)\b|{LETTER}+?(?=n't\b)|{LETTER}+|[{OWN_WORDS}]|[^\w\s]"


def wordpiece(texts: list[str], size: int) -> Any:
    """A lower-casing WordPiece tokenizer of at most `size` tokens, learnt from the texts."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.NFD(),
            normalizers.StripAccents(),
            normalizers.Lowercase(),
            normalizers.Replace(Regex("[‘’`´]"), "'"),
            normalizers.Replace(Regex("[“”]"), '"'),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(WORDS), behavior="removed", invert=True)
    special = list(SPECIAL.values())
    tokenizer.train_from_iterator(
        texts, trainers.WordPieceTrainer(vocab_size=size, min_frequency=2, special_tokens=special, show_progress=False)
    )
    ends = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=POSITIONS, **SPECIAL)


def student(tokenizer: Any, width: int) -> Any:
    """The untrained model."""
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=3 * width,
        max_position_embeddings=POSITIONS,
        pad_token_id=tokenizer.pad_token_id,
        initializer_range=width**-0.5,  # the usual 0.02 is meant for widths near 768; here it starts too quietly
        hidden_dropout_prob=0.1,
        attention_probs_dropout_prob=0.0,
        id2label=LABELS,
        label2id={name: i for i, name in LABELS.items()},
    )
    return BertForSequenceClassification(config)


def reduced_embeddings(tokenizer: Any, teacher: Any, teacher_tokenizer: Any, width: int) -> torch.Tensor:
    """For each token, the mean embedding of its pieces in the teacher's vocabulary, reduced by PCA: (tokens, width)."""
    names = [name.removeprefix("##") for name in tokenizer.convert_ids_to_tokens(range(len(tokenizer)))]
    pieces = teacher_tokenizer(names, add_special_tokens=False)["input_ids"]
    table = teacher.get_input_embeddings().weight.detach()
    unknown = [teacher_tokenizer.unk_token_id]
    means = torch.stack([table[ids or unknown].mean(0) for ids in pieces])
    centred = means - means.mean(0)
    axes = torch.linalg.svd(centred, full_matrices=False).Vh[:width]
    reduced = centred @ axes.T
    return torch.div(reduced, reduced.std())


def soft_targets(examples: list[Example], teacher: Any, teacher_tokenizer: Any, kept: Path | None) -> torch.Tensor:
    """The probability of each class that the student should learn, (n, 2).

    0.7 teacher + 0.3 truth; the truth alone for Yelp sentences and long passages, where it is dependable; the teacher alone
    for single IMDB sentences, whose label is that of the whole review.
    """
    trust = {"sst2": 0.3, "mr": 0.3, "yelp": 1.0, "passages": 1.0, "imdb": 0.0}
    truth = torch.nn.functional.one_hot(torch.tensor([example.label for example in examples]), 2).float()
    weight = torch.tensor([trust[example.source] for example in examples])[:, None]
    asked = [i for i, example in enumerate(examples) if trust[example.source] < 1]
    taught = truth.clone()
    taught[asked] = answers(teacher, teacher_tokenizer, [examples[i].text for i in asked], kept)
    return weight * truth + (1 - weight) * taught


def answers(teacher: Any, tokenizer: Any, texts: list[str], kept: Path | None) -> torch.Tensor:
    """The teacher's probabilities, (n, 2), read from the folder `kept` if the same texts were asked before."""
    key = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
    file = kept / f"teacher-{key}.npy" if kept else None
    if file and file.exists():
        return torch.from_numpy(np.load(file, allow_pickle=False))
    found = logits(teacher, tokenizer, texts).softmax(1)
    if file:
        np.save(file, found.numpy(), allow_pickle=False)
    return found


def removable(ids: torch.Tensor, tokenizer: Any) -> torch.Tensor:
    """Which positions hold a token of the text, (B, T) -> bool (B, T)."""
    special = torch.tensor([tokenizer.pad_token_id, tokenizer.cls_token_id, tokenizer.sep_token_id])
    return ~torch.isin(ids, special)


def with_holes(inputs: dict[str, torch.Tensor], tokenizer: Any, generator: torch.Generator) -> dict[str, torch.Tensor]:
    """Remove a random share of the tokens of a batch: by [MASK] in 40 % of the texts, by attention in 20 %, else none."""
    ids, attention = inputs["input_ids"], inputs["attention_mask"]
    share = torch.rand(len(ids), 1, generator=generator)
    hit = (torch.rand(ids.shape, generator=generator) < share) & removable(ids, tokenizer)
    how = torch.rand(len(ids), 1, generator=generator)
    masked, unattended = hit & (how < 0.4), hit & (how >= 0.4) & (how < 0.6)
    return {
        "input_ids": ids.masked_fill(masked, tokenizer.mask_token_id),
        "attention_mask": attention.masked_fill(unattended, 0),
    }


def distil(model: Any, tokenizer: Any, texts: list[str], targets: torch.Tensor, watch: list[Example], **how: Any) -> None:
    """AdamW with one cycle of the learning rate on the cross-entropy to the targets, with holes in the texts."""
    ids = tokenizer(texts, truncation=True)["input_ids"]
    lengths = torch.tensor([len(row) for row in ids])
    generator = torch.Generator().manual_seed(how["seed"])
    steps = how["epochs"] * -(-len(texts) // how["size"])
    optimiser = torch.optim.AdamW(model.parameters(), lr=how["rate"], weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, how["rate"], total_steps=steps + 1, pct_start=0.1)
    started, step, running = time.perf_counter(), 0, 0.7
    for epoch in range(how["epochs"]):
        model.train()
        for batch in batches_of_like_length(lengths, how["size"], generator):
            padded = tokenizer.pad({"input_ids": [ids[i] for i in batch.tolist()]}, return_tensors="pt")
            scores = model(**with_holes(padded, tokenizer, generator)).logits
            loss: Any = torch.nn.functional.cross_entropy(scores, targets[batch])
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            optimiser.zero_grad()
            step, running = step + 1, 0.99 * running + 0.01 * loss.item()
            if step % 200 == 0:
                print(f"  step {step}/{steps}  loss {running:.4f}  {time.perf_counter() - started:.0f} s", flush=True)
        print(f"  pass {epoch + 1}/{how['epochs']}  held-out {accuracy(model, tokenizer, watch):.4f}", flush=True)


@torch.no_grad()
def accuracy_with_holes(model: Any, tokenizer: Any, examples: list[Example], share: float, by: str) -> float:
    """The share classified right when each token is removed with probability `share`, by "mask" or by "attention"."""
    generator = torch.Generator().manual_seed(0)
    right = 0
    for example in examples:
        inputs = tokenizer(example.text, truncation=True, return_tensors="pt")
        ids, attention = inputs["input_ids"], inputs["attention_mask"]
        hit = (torch.rand(ids.shape, generator=generator) < share) & removable(ids, tokenizer)
        if by == "mask":
            ids = ids.masked_fill(hit, tokenizer.mask_token_id)
        else:
            attention = attention.masked_fill(hit, 0)
        right += int(model(input_ids=ids, attention_mask=attention).logits.argmax() == example.label)
    return right / len(examples)


def write_model(model: Any, tokenizer: Any, folder: Path) -> None:
    """Weights as float16, half the size on disk; the config says float32, so that loading widens them again."""
    folder.mkdir(parents=True, exist_ok=True)
    model.config.architectures, model.config.dtype = ["BertForSequenceClassification"], "float32"
    model.config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    weights = {name: w.half() if w.is_floating_point() else w for name, w in model.state_dict().items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)


def measured(folder: Path, heldout: list[Example], dev: list[Example]) -> dict[str, float]:
    """The figures of the model card, from the files in the folder, loaded as a user would load them."""
    model = AutoModelForSequenceClassification.from_pretrained(folder, local_files_only=True, use_safetensors=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return {
        f"held-out MR sentences ({len(heldout)})": accuracy(model, tokenizer, heldout),
        f"SST-2 dev ({len(dev)})": accuracy(model, tokenizer, dev),
        "the same, 30 % of tokens set to [MASK]": accuracy_with_holes(model, tokenizer, dev, 0.3, "mask"),
        "the same, 30 % of tokens not attended to": accuracy_with_holes(model, tokenizer, dev, 0.3, "attention"),
    }


def card(model: Any, train: list[Example], figures: dict[str, float], choice: argparse.Namespace) -> str:
    """The model card, with the figures this run measured."""
    config = model.config
    table = "\n".join(f"| {name} | {100 * value:.2f} % |" for name, value in figures.items())
    trial = "**A quick trial of the script, not a usable model.**\n\n" if choice.quick else ""
    counts = Counter(example.source for example in train)
    taught = (
        "The targets are 0.7 x the probabilities of an all-MiniLM-L6-v2 (Apache-2.0) fine-tuned by\n"
        "`tools/finetune_minilm.py` + 0.3 x the true label (IMDB sentences: the teacher alone; Yelp and\n"
        "passages: the label alone). Word embeddings begin at a PCA of the teacher's."
        if choice.teacher
        else "The targets are the true labels; there was no teacher."
    )
    return f"""---
license: mit
language: en
pipeline_tag: text-classification
---
# Built-in text model

{trial}A BERT for the sentiment of short English texts (NEGATIVE, POSITIVE): {config.num_hidden_layers} layers,
width {config.hidden_size}, {config.num_attention_heads} heads, {config.vocab_size:,} WordPiece tokens, {POSITIONS} positions,
{model.num_parameters():,} weights. It exists so that explanations can be tried offline, on a real transformer that
answers in milliseconds.

| measured by the training script | accuracy |
|---|---|
{table}

**Use.** `AutoModelForSequenceClassification.from_pretrained(folder)` and `AutoTokenizer.from_pretrained(folder)`.
Weights are stored as float16 and loaded as float32. The tokenizer lower-cases, strips accents, and splits contractions
as SST-2 does ("do n't"). To remove a token, replace it by [MASK] or clear its attention mask: the model was trained with
both, so its answer to a text with holes estimates the expected answer given the tokens that are left.

**Recipe.** `tools/train_builtin_text.py`, seed {choice.seed}, {choice.epochs} passes of AdamW in batches of {choice.batch},
learning rate {choice.rate:g}, over {len(train):,} texts: {counts["sst2"]:,} SST-2 phrases, {counts["mr"]:,} MR sentences,
{counts["yelp"]:,} Yelp sentences, {counts["imdb"]:,} IMDB sentences and {counts["passages"]:,} IMDB passages. {taught}
A random share of tokens is masked in 40 % of the texts and unattended in 20 %. No choice was made on SST-2 dev,
which served for the table only.

**Data.** SST-2 (Socher et al. 2013, GLUE split), MR (Pang & Lee 2005), IMDB (Maas et al. 2011, training half), Yelp
sentences (Shen et al. 2017; Yelp's own terms apply to the reviews). No licence is stated for the first three. Any
training text that shares {WINDOW} consecutive letters or digits with an SST-2 dev or test sentence, or with a held-out
one, was removed first (MR holds most of SST-2). The data are not part of this package.

**Limits.** Movie and restaurant opinions in English; every text gets one of two labels, also a neutral one. Irony,
comparisons and long negations are often misread. Texts beyond {POSITIONS} tokens are cut.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DATA_FOLDER")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--teacher", type=Path, help="folder written by tools/finetune_minilm.py")
    parser.add_argument("--keep", type=Path, help="folder where the teacher's answers are kept, and read from the next time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--vocabulary", type=int, default=8_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="one pass over 3,000 texts: checks the script, not the model")
    choice = parser.parse_args()
    choice.epochs = 1 if choice.quick else choice.epochs
    torch.set_num_threads(choice.threads)
    torch.manual_seed(choice.seed)

    limits = {"phrases": 70_000, "yelp": 12_000, "imdb": 20_000 if choice.teacher else 0, "passages": 3_000}
    texts = collect(choice.data, **limits, seed=0)
    train = texts.train[:3_000] if choice.quick else texts.train
    print(f"{len(train)} texts: {dict(Counter(example.source for example in train))}", flush=True)
    tokenizer = wordpiece([example.text for example in train], choice.vocabulary)
    model = student(tokenizer, choice.width)
    if choice.teacher:
        teacher = AutoModelForSequenceClassification.from_pretrained(
            choice.teacher, local_files_only=True, use_safetensors=True
        )
        teacher_tokenizer = AutoTokenizer.from_pretrained(choice.teacher, local_files_only=True)
        print(f"asking the teacher ({accuracy(teacher, teacher_tokenizer, texts.heldout):.4f} on held-out)", flush=True)
        targets = soft_targets(train, teacher, teacher_tokenizer, choice.keep)
        with torch.no_grad():
            start = reduced_embeddings(tokenizer, teacher, teacher_tokenizer, choice.width)
            model.get_input_embeddings().weight.copy_(2 * model.config.initializer_range * start)
    else:
        targets = torch.nn.functional.one_hot(torch.tensor([example.label for example in train]), 2).float()
    print(f"training {model.num_parameters():,} weights, {len(tokenizer)} tokens, seed {choice.seed}", flush=True)
    distil(
        model,
        tokenizer,
        [example.text for example in train],
        targets,
        texts.heldout,
        epochs=choice.epochs,
        size=choice.batch,
        rate=choice.rate,
        seed=choice.seed,
    )
    write_model(model, tokenizer, choice.out)
    figures = measured(choice.out, texts.heldout, texts.dev)
    (choice.out / "README.md").write_text(card(model, train, figures, choice), encoding="utf-8")
    print("\n".join(f"{name}: {value:.4f}" for name, value in figures.items()))
    print(f"written to {choice.out}")


if __name__ == "__main__":
    main()
