"""Texts as rows: a frozen encoder turns each into features once, and only a linear head is retrained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accredit.checks import needs
from accredit.core import FloatArray
from accredit.errors import InvalidInput

if TYPE_CHECKING:
    import transformers

TEXTS_PER_PASS = 32
BUILTIN = "builtin"  # names the encoder that comes with accredit
TOKENS_AT_MOST = 512  # tokens, where the encoder states no limit


def text_features(texts: Sequence[str], encoder: str | Path) -> FloatArray:
    """One row of features per text: the encoder's last hidden states, averaged over the tokens of the text.

    `encoder` is a folder with any Hugging Face text model, or "builtin": a small one that was trained on film sentences, and
    knows little of anything else. Texts longer than the encoder reads are cut. Texts are encoded in batches of like length,
    so that little is spent on padding.

    >>> text_features(["A gripping film.", "It never lands."], "builtin").shape
    (2, 128)
    """
    return text_encoder(encoder)(texts)[0]


def check_texts(texts: Sequence[str]) -> None:
    if isinstance(texts, str) or not all(isinstance(text, str) and text.strip() for text in texts):
        bad = texts if isinstance(texts, str) else next(t for t in texts if not isinstance(t, str) or not t.strip())
        raise InvalidInput(f"texts must be non-empty strings, one per row; got {bad!r:.60}", argument="texts", code="type")


def text_encoder(encoder: str | Path) -> Callable[[Sequence[str]], tuple[FloatArray, int]]:
    """`text_features` with an encoder that is loaded once for several lists of texts; it also says how many were cut."""
    with needs("text", "encoding texts"):
        import transformers  # noqa: F401
    return partial(_encode, *load_encoder(encoder))


def _encode(
    body: transformers.PreTrainedModel, tokenizer: transformers.PreTrainedTokenizerBase, longest: int, texts: Sequence[str]
) -> tuple[FloatArray, int]:
    """Features of texts, (texts, D), and how many texts were longer than `longest` tokens."""
    import torch

    check_texts(texts)
    order = np.argsort([len(text) for text in texts], kind="stable")
    features: dict[int, FloatArray] = {}
    cut = 0
    with torch.no_grad():
        for start in range(0, len(order), TEXTS_PER_PASS):
            rows = order[start : start + TEXTS_PER_PASS]
            batch = [texts[i] for i in rows]
            tokens = tokenizer(batch, return_tensors="pt", padding=True, truncation=True, max_length=longest)
            if tokens["input_ids"].shape[1] >= longest:
                cut += sum(len(ids) > longest for ids in tokenizer(batch)["input_ids"])
            allowed = {k: v for k, v in tokens.items() if k in ("input_ids", "attention_mask", "token_type_ids")}
            hidden = body(**allowed).last_hidden_state.double()  # (batch, tokens, D)
            weight = tokens["attention_mask"].double()[:, :, None]
            pooled = ((hidden * weight).sum(dim=1) / weight.sum(dim=1)).numpy()
            features |= dict(zip(rows.tolist(), pooled, strict=True))
    return np.array([features[i] for i in range(len(texts))]), cut


def load_encoder(encoder: str | Path) -> tuple[transformers.PreTrainedModel, transformers.PreTrainedTokenizerBase, int]:
    """The body of a model without its head, its tokenizer, and how many tokens it reads."""
    import transformers

    from accredit.models import load_text_model
    from accredit.models.builtin import text_folder
    from accredit.models.folders import model_config
    from accredit.models.loading import model_folder
    from accredit.models.state import quiet, settle
    from accredit.models.tasks import HEADS

    folder = model_folder(text_folder() if encoder == BUILTIN else encoder)
    architecture = str((model_config(folder).get("architectures") or [""])[0])
    if architecture.endswith(tuple(HEADS)):
        loaded = load_text_model(folder)
        body, tokenizer, longest = loaded.model.base_model, loaded.tokenizer, loaded.longest()
    else:  # an encoder that never had a head
        local = {"local_files_only": True, "trust_remote_code": False}
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **local)
        with quiet():
            body = settle(transformers.AutoModel.from_pretrained(folder, use_safetensors=True, **local))
        longest = min(tokenizer.model_max_length, getattr(body.config, "max_position_embeddings", TOKENS_AT_MOST))
    if body.config.is_encoder_decoder:
        body = body.get_encoder()
    return body.float().eval(), tokenizer, longest
