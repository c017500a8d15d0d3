"""Language models and classifiers small enough to be made and trained inside a test, saved as Hugging Face folders are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

COUNTRIES = ("zorba", "kelu", "minro", "tava", "bexo", "lurn", "fadi", "wope")
TOWNS = ("arl", "bem", "cos", "dyx", "eno", "fim", "gry", "hul")
RIVERS = ("ib", "jo", "ka", "lu", "my", "ne", "op", "qi")
FACTS = [f"the capital of {c} is {t} ." for c, t in zip(COUNTRIES, TOWNS, strict=True)] + [
    f"the river of {c} is {r} ." for c, r in zip(COUNTRIES, RIVERS, strict=True)
]


def words_tokenizer(texts: list[str], **special: str) -> Any:
    """One token for each word."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = sorted({word for text in texts for word in text.split()})
    plain = Tokenizer(models.WordLevel({w: i for i, w in enumerate(["<unk>", *special.values(), *words])}, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=plain, unk_token="<unk>", **special)


def trained(model: Any, batch: Any, steps: int, rate: float = 3e-3) -> Any:
    """A model after some steps on all rows at once."""
    import torch

    optimiser = torch.optim.AdamW(model.parameters(), lr=rate)
    for _ in range(steps):
        loss = model(**batch).loss
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
    return model.eval()


def language_model(steps: int = 60) -> tuple[Any, Any]:
    """A GPT-2 of one layer that knows eight capitals and eight rivers, and its tokenizer."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    from accredit.influence.trace import encode_texts

    tokenizer = words_tokenizer(FACTS)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = GPT2Config(
            vocab_size=len(tokenizer),
            n_positions=16,
            n_embd=32,
            n_layer=1,
            n_head=2,
            initializer_range=0.2,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=0,
            eos_token_id=0,
        )
        return trained(GPT2LMHeadModel(config), encode_texts(tokenizer, FACTS, 16)[0], steps), tokenizer


def classifier(texts: list[str], labels: list[int], steps: int = 40) -> tuple[Any, Any]:
    """A BERT of one layer, fine-tuned on texts of two classes, and its tokenizer."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    tokenizer = words_tokenizer(texts, pad_token="<pad>")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
            max_position_embeddings=16,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            pad_token_id=1,
            id2label={0: "bad", 1: "good"},
            label2id={"bad": 0, "good": 1},
            initializer_range=0.2,
        )
        batch = dict(tokenizer(texts, return_tensors="pt", padding=True)) | {"labels": torch.tensor(labels)}
        batch.pop("token_type_ids", None)
        return trained(BertForSequenceClassification(config), batch, steps, 1e-2), tokenizer


def saved(made: tuple[Any, Any], folder: Path) -> Path:
    for part in made:
        part.save_pretrained(folder)
    return folder
