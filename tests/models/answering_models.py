"""Small random language models that answer, of many families, and tokenizers with and without a chat template."""

from __future__ import annotations

from typing import Any

import torch
import transformers

from accredit.answers.model import AnsweringModel, as_answering_model
from tests.models.more_models import SEQ2SEQ, T5, TOKENIZERS
from tests.models.small_models import SIZES, _made

TEXT = "A gripping film. It never lands! It is good, not bad. A bad shot. It is a film! It is very very good."
FIXED = ["A gripping film.", "It is very very good."]
CHAT = (
    "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>\n{{ m.content | trim }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
LONG = SIZES | {"max_position_embeddings": 128}
GROUPED = LONG | {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
SLIDING = {"sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"], "query_pre_attn_scalar": 8}
# name: (configuration, class, its settings, tokenizer)
FAMILIES: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "gpt2": ("GPT2", "GPT2LMHeadModel", {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 128}, "bytes"),
    "llama": ("Llama", "LlamaForCausalLM", GROUPED, "starts"),
    "qwen2": ("Qwen2", "Qwen2ForCausalLM", LONG | {"num_key_value_heads": 2}, "bytes"),
    "qwen3": ("Qwen3", "Qwen3ForCausalLM", GROUPED, "bytes"),
    "qwen3, window": (
        "Qwen3", "Qwen3ForCausalLM",
        GROUPED | {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1}, "bytes",
    ),
    "gemma2": ("Gemma2", "Gemma2ForCausalLM", GROUPED | SLIDING, "starts"),
    "gemma3": ("Gemma3Text", "Gemma3ForCausalLM", GROUPED | SLIDING, "starts"),
    "mistral": ("Mistral", "MistralForCausalLM", GROUPED | {"sliding_window": 6}, "starts"),
    "bloom": ("Bloom", "BloomForCausalLM", {"hidden_size": 16, "n_layer": 2, "n_head": 2}, "bytes"),
    "t5": ("T5", "T5ForConditionalGeneration", T5, "pieces"),
    "bart": ("Bart", "BartForConditionalGeneration", SEQ2SEQ | {"max_position_embeddings": 128}, "framed"),
}  # fmt: skip
EAGER = {"gemma2", "bloom"}


def answering(family: str, dtype: torch.dtype = torch.float32, chat: bool = False, **settings: Any) -> AnsweringModel:
    """A small model of one family."""
    config, kind, sizes, tokenizer = FAMILIES[family]
    words = TOKENIZERS[tokenizer]()
    words.chat_template = CHAT if chat else None
    special = {name: getattr(words, name) for name in ("pad_token_id", "bos_token_id", "eos_token_id")}
    made = getattr(transformers, f"{config}Config")(**(sizes | special | {"vocab_size": len(words)} | settings))
    kernel = "eager" if family in EAGER else "sdpa"
    return as_answering_model(_made(getattr(transformers, kind), made, kernel, dtype), words)


def many_sided() -> AnsweringModel:
    """A decoder-only model of a class that also reads pictures, fed text."""
    words = TOKENIZERS["starts"]()
    text = GROUPED | SLIDING | {"vocab_size": len(words) + 8}
    seen = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "image_size": 8,
        "patch_size": 4,
    }
    config = transformers.Gemma3Config(text_config=text, vision_config=seen, image_token_index=len(words) + 1)
    return as_answering_model(_made(transformers.Gemma3ForConditionalGeneration, config, "sdpa", torch.float32), words)
