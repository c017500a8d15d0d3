"""Small random Hugging Face models of many families, and tokenizers made on the spot. Nothing is downloaded."""

from __future__ import annotations

import logging
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    ElectraConfig,
    ElectraForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForSequenceClassification,
    T5Config,
    T5ForConditionalGeneration,
    ViTConfig,
    ViTForImageClassification,
)

from accredit.models import ImageModel, TextModel

logging.getLogger("transformers").setLevel(logging.ERROR)

TEXT = "A gripping, beautifully shot film. It never lands!"
WORDS = [
    "the",
    "a",
    "film",
    "is",
    "not",
    "very",
    "good",
    "bad",
    "it",
    "never",
    "lands",
    "shot",
    ".",
    ",",
    "!",
    "grip",
    "##ping",
    "beauti",
    "##ful",
    "##ly",
]


def wordpiece() -> PreTrainedTokenizerFast:
    """BERT-like: [CLS] … [SEP], a mask token, words in pieces."""
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    tokenizer = Tokenizer(models.WordPiece({w: i for i, w in enumerate(names)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def byte_pairs(*, framed: bool = False) -> PreTrainedTokenizerFast:
    """GPT-2-like byte pairs; `framed` adds <s> … </s> and a mask token, as RoBERTa does."""
    tokenizer = Tokenizer(models.BPE(unk_token=None))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"] if framed else ["<|end|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([TEXT, TEXT.lower(), " good bad film is not very"], trainer)
    if framed:
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
        return PreTrainedTokenizerFast(
            tokenizer_object=tokenizer,
            bos_token="<s>",
            cls_token="<s>",
            eos_token="</s>",
            sep_token="</s>",
            pad_token="<pad>",
            unk_token="<unk>",
            mask_token="<mask>",
        )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<|end|>", eos_token="<|end|>")


def metaspace(*, starts: bool) -> PreTrainedTokenizerFast:
    """SentencePiece-like: spaces inside pieces; BOS in front (Llama) or </s> behind (T5)."""
    tokenizer = Tokenizer(models.Unigram([("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("<s>", 0.0), *_pieces()], unk_id=2))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    template = "<s> $A" if starts else "$A </s>"
    tokenizer.post_processor = processors.TemplateProcessing(single=template, special_tokens=[("<s>", 3), ("</s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )


def _pieces() -> list[tuple[str, float]]:
    words = [
        "▁A",
        "▁a",
        "▁film",
        "▁is",
        "▁not",
        "▁very",
        "▁good",
        "▁bad",
        "▁It",
        "▁it",
        "▁never",
        "▁lands",
        "▁shot",
        ".",
        ",",
        "!",
        "▁grip",
        "ping",
        "▁beauti",
        "ful",
        "ly",
        "▁",
    ]
    letters = [c for c in "abcdefghijklmnopqrstuvwxyz" if c not in words]
    return [(w, -2.0) for w in words] + [(c, -9.0) for c in letters]


SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 48,
}


def _made(kind: Any, config: Any, kernel: str, dtype: torch.dtype) -> Any:
    """A model with fixed random weights, larger than the usual start so that outputs are not all alike."""
    torch_state = torch.random.get_rng_state()
    torch.manual_seed(0)
    model = kind._from_config(config, attn_implementation=kernel)
    with torch.no_grad():
        for p in model.parameters():
            if p.ndim > 1:
                p.copy_(torch.randn_like(p) * 0.3)
    torch.random.set_rng_state(torch_state)
    return model.to(dtype).eval()


def text_model(family: str, kernel: str = "sdpa", dtype: torch.dtype = torch.float32) -> TextModel:
    """A small text model of one family."""
    if family in ("bert", "distilbert", "electra", "bert-lm"):
        tokenizer = wordpiece()
    elif family == "roberta":
        tokenizer = byte_pairs(framed=True)
    elif family.startswith("gpt2"):
        tokenizer = byte_pairs()
    else:
        tokenizer = metaspace(starts=family == "llama")
    size = {"vocab_size": len(tokenizer)}
    special = {
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    labels = {
        "id2label": {0: "NEGATIVE", 1: "NEUTRAL", 2: "POSITIVE"},
        "label2id": {"NEGATIVE": 0, "NEUTRAL": 1, "POSITIVE": 2},
    }
    gpt2 = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 48} | size | special
    made: dict[str, Any] = {
        "bert": lambda: (BertForSequenceClassification, BertConfig(**SIZES, **size, **labels)),
        "distilbert": lambda: (
            DistilBertForSequenceClassification,
            DistilBertConfig(dim=16, n_layers=2, n_heads=2, hidden_dim=32, max_position_embeddings=48, **size, **labels),
        ),
        "roberta": lambda: (RobertaForSequenceClassification, RobertaConfig(**SIZES, **size, **special, **labels)),
        "electra": lambda: (
            ElectraForSequenceClassification,
            ElectraConfig(**SIZES, **size, **labels, embedding_size=12),
        ),
        "gpt2-labels": lambda: (GPT2ForSequenceClassification, GPT2Config(**gpt2, **labels)),
        "bert-lm": lambda: (BertForMaskedLM, BertConfig(**SIZES, **size)),
        "gpt2": lambda: (GPT2LMHeadModel, GPT2Config(**gpt2)),
        "llama": lambda: (
            LlamaForCausalLM,
            LlamaConfig(**(SIZES | {"num_attention_heads": 4}), **size, **special, num_key_value_heads=2),
        ),
        "t5": lambda: (
            T5ForConditionalGeneration,
            T5Config(d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, decoder_start_token_id=0, **size, **special),
        ),
    }
    kind, config = made[family]()
    return TextModel(_made(kind, config, kernel, dtype), tokenizer, f"small {family}")


FAMILIES = ("bert", "distilbert", "roberta", "electra", "gpt2-labels", "bert-lm", "gpt2", "llama", "t5")


def text_for(family: str) -> str:
    """A text that the family can be asked about."""
    return "A film is [MASK] good. It never lands!" if family == "bert-lm" else TEXT


def image_model(kernel: str = "sdpa", dtype: torch.dtype = torch.float32) -> ImageModel:
    """A small vision transformer: 12 × 12 grey pixels in nine patches."""
    config = ViTConfig(
        image_size=12,
        patch_size=4,
        num_channels=1,
        id2label={0: "shoe", 1: "shirt", 2: "bag"},
        label2id={"shoe": 0, "shirt": 1, "bag": 2},
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
    )
    return ImageModel(_made(ViTForImageClassification, config, kernel, dtype), None, "small vit")
