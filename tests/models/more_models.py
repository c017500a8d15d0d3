"""Small random models of families beyond the nine of `small_models`: other attentions, other heads, other inputs."""

from __future__ import annotations

from typing import Any

import torch
import transformers

from accredit.models import ImageModel, TextModel
from tests.models.small_models import SIZES, TEXT, _made, byte_pairs, metaspace, wordpiece

LABELS = {"id2label": {0: "NO", 1: "MAYBE", 2: "YES"}, "label2id": {"NO": 0, "MAYBE": 1, "YES": 2}}
GROUPED = SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2}
SEQ2SEQ = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
    "max_position_embeddings": 48,
    "decoder_start_token_id": 2,
}
T5 = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2, "decoder_start_token_id": 0}
OPT = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "ffn_dim": 32, "word_embed_proj_dim": 16}
RELATIVE = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "type_vocab_size": 0}
MODERN = {"cls_token_id": 2, "sep_token_id": 3, "local_attention": 4, "global_attn_every_n_layers": 2}
MOBILE = {"embedding_size": 16, "intra_bottleneck_size": 16}

# name: (class, its configuration, tokenizer, kernels)
BOTH, EAGER = ("sdpa", "eager"), ("eager",)
TEXT_FAMILIES: dict[str, tuple[str, dict[str, Any], str, tuple[str, ...]]] = {
    "Albert": ("SequenceClassification", SIZES | LABELS | {"embedding_size": 8}, "wordpiece", BOTH),
    "DebertaV2": ("SequenceClassification", SIZES | LABELS | RELATIVE, "wordpiece", EAGER),
    "XLMRoberta": ("SequenceClassification", SIZES | LABELS, "framed", BOTH),
    "MPNet": ("SequenceClassification", SIZES | LABELS, "framed", EAGER),
    "ModernBert": ("SequenceClassification", SIZES | LABELS | MODERN, "wordpiece", BOTH),
    "Bart": ("SequenceClassification", SEQ2SEQ | LABELS, "framed", BOTH),
    "T5": ("SequenceClassification", T5 | LABELS, "pieces", BOTH),
    "Qwen2": ("SequenceClassification", GROUPED | LABELS, "bytes", BOTH),
    "OPT": ("SequenceClassification", OPT | LABELS, "framed", BOTH),
    "XLNet": ("SequenceClassification", {"d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 32} | LABELS, "wordpiece", EAGER),
    "ConvBert": ("SequenceClassification", SIZES | LABELS | {"embedding_size": 16}, "wordpiece", EAGER),
    "MobileBert": ("SequenceClassification", SIZES | LABELS | MOBILE, "wordpiece", BOTH),
    "FNet": ("SequenceClassification", SIZES | LABELS, "wordpiece", EAGER),
    "Mistral": ("CausalLM", GROUPED | {"head_dim": 4, "sliding_window": 6}, "starts", BOTH),
    "Gemma": ("CausalLM", GROUPED | {"head_dim": 4}, "starts", BOTH),
    "GPTNeoX": ("CausalLM", SIZES, "bytes", BOTH),
    "Falcon": ("CausalLM", SIZES, "bytes", BOTH),
    "Bloom": ("CausalLM", {"hidden_size": 16, "n_layer": 2, "n_head": 2}, "bytes", EAGER),
    "Pegasus": ("ConditionalGeneration", SEQ2SEQ | {"decoder_start_token_id": 0}, "pieces", BOTH),
}  # fmt: skip
TOKENIZERS = {
    "wordpiece": wordpiece,
    "framed": lambda: byte_pairs(framed=True),
    "bytes": byte_pairs,
    "pieces": lambda: metaspace(starts=False),
    "starts": lambda: metaspace(starts=True),
}


def other_model(family: str, kernel: str = "", dtype: torch.dtype = torch.float32, **settings: Any) -> TextModel:
    """A small text model of one family; `settings` go into its configuration."""
    head, sizes, kind, kernels = TEXT_FAMILIES[family]
    tokenizer = TOKENIZERS[kind]()
    special = {name: getattr(tokenizer, name) for name in ("pad_token_id", "bos_token_id", "eos_token_id")}
    config = getattr(transformers, f"{family}Config")(**(sizes | special | {"vocab_size": len(tokenizer)} | settings))
    model = _made(getattr(transformers, f"{family}For{head}"), config, kernel or kernels[0], dtype)
    return TextModel(model, tokenizer, f"small {family}")


PATCHES = {"image_size": 12, "patch_size": 4, "num_channels": 3} | {
    k: SIZES[k] for k in ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
}
IMAGE_FAMILIES: dict[str, dict[str, Any]] = {
    "DeiT": PATCHES,
    "Beit": PATCHES | {"use_relative_position_bias": True},
    "Dinov2WithRegisters": PATCHES | {"num_register_tokens": 3},
    "CLIP": {"vision_config": PATCHES},
    "Siglip": {"vision_config": PATCHES},
    "Swin": {
        "image_size": 16,
        "patch_size": 2,
        "embed_dim": 8,
        "depths": [1, 1],
        "num_heads": [2, 2],
        "window_size": 4,
    },
    "ConvNext": {"image_size": 16, "patch_size": 4, "num_stages": 2, "hidden_sizes": [8, 8], "depths": [1, 1]},
}


def other_image_model(family: str, kernel: str = "eager", **settings: Any) -> ImageModel:
    """A small image classifier of one family."""
    config = getattr(transformers, f"{family}Config")(**(IMAGE_FAMILIES[family] | LABELS | settings))
    kind = getattr(transformers, f"{family}ForImageClassification")
    return ImageModel(_made(kind, config, kernel, torch.float32), None, f"small {family}")


__all__ = ["IMAGE_FAMILIES", "TEXT", "TEXT_FAMILIES", "other_image_model", "other_model"]
