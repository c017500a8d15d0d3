"""Good arguments of calls that take loaded models: adapters, gradients, trained explainers and audits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

PROMPTS = ("good film", "bad film")


@cache
def text_model() -> Any:
    from accredit.models import as_text_model

    return as_text_model(*_loaded())


@cache
def _loaded() -> Any:
    from accredit.models.builtin import load_text

    return load_text()


@cache
def answering() -> Any:
    from accredit.models.builtin import load_answers

    return load_answers()


@cache
def _vision() -> Any:
    from accredit.models.builtin import load_vision

    return load_vision()


@cache
def image_model() -> Any:
    from accredit.models import as_image_model

    return as_image_model(*_vision())


@cache
def _encoder() -> Any:
    """A small network without a head, as embedders are."""
    return _loaded()[0].base_model


@cache
def _head(kind: str) -> Any:
    """A small network made from a configuration, with a head for spans or for the labels of tokens."""
    import torch
    from transformers import BertConfig, BertForQuestionAnswering, BertForTokenClassification

    torch.manual_seed(0)
    small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(vocab_size=len(_loaded()[1]), **small)
    return {"span": BertForQuestionAnswering, "label": BertForTokenClassification}[kind](config).eval()


@cache
def _table() -> Any:
    """Six columns of numbers; the first decides."""
    from accredit.learned import Tabular

    return Tabular(6)


def _rows(count: int = 12) -> Any:
    return np.random.default_rng(0).normal(size=(count, 6))


def _black_box(x: Any) -> Any:
    high = 1 / (1 + np.exp(-np.asarray(x, float)[:, 0]))
    return np.stack([1 - high, high], axis=1)


def _masks(count: int = 40) -> Any:
    return np.random.default_rng(1).random((count, 6)) < 0.5


@cache
def _classifier() -> Any:
    from accredit.shortcuts import AttentionClassifier, AttentionShape

    return AttentionClassifier(AttentionShape(width=3, query=2), seed=0)


@cache
def _linear() -> Any:
    from sklearn.linear_model import LinearRegression

    x = _rows(40)
    return LinearRegression().fit(x, x @ np.arange(6.0))


@cache
def _fast() -> Any:
    from accredit.learned import fit_fast_rows

    return fit_fast_rows(_rows(120), _linear(), _rows(5))


def _saved(folder: Path) -> Path:
    """A trained explainer on disk."""
    from accredit.learned import Training, l2x

    place = folder / "explainer"
    if not place.exists():
        explainer = l2x(_table(), 2, 2, training=Training(epochs=1))
        explainer.fit(_rows(40), _black_box)
        explainer.save(place)
    return place


def _rows_file(folder: Path) -> Path:
    file = folder / "labelled.csv"
    if not file.exists():
        lines = [",".join(f"{v:.3f}" for v in row) + f",{int(row[0] > 0)}" for row in _rows(40)]
        file.write_text("a,b,c,d,e,f,label\n" + "\n".join(lines) + "\n")
    return file


def _model_folder(which: str) -> Any:
    from accredit.models import builtin

    return {"text": builtin.text_folder, "image": builtin.vision_folder}[which]()


Examples = dict[str, Callable[[Path], Any]]
GRADIENTS: Examples = {
    "gradients.*.model": lambda f: text_model(),
    "gradients.*.given": lambda f: PROMPTS[0],
    "gradients.*.target": lambda f: "positive",
    "gradients.*.players": lambda f: "word",
    "gradients.smoothgrad.count": lambda f: 3,
    "gradients.tcav.examples": lambda f: ["good film", "fine film", "great film"],
    "gradients.tcav.concepts": lambda f: {"praise": ["good", "great", "fine", "lovely"]},
    "gradients.tcav.random": lambda f: ["a", "the", "film", "of", "in", "on", "at", "by", "to", "so", "as", "an"],
    "gradients.tcav.layer": lambda f: next(n for n, _ in _loaded()[0].named_modules() if n.endswith("layer.0")),
    "gradients.tcav.random_concepts": lambda f: 19,
    "gradients.tcav.negatives": lambda f: 2,
}
MODELS: Examples = {
    "models.as_text_model.model": lambda f: _loaded()[0],
    "models.as_text_model.tokenizer": lambda f: _loaded()[1],
    "answers.as_answering_model.model": lambda f: answering()[0],
    "answers.as_answering_model.tokenizer": lambda f: answering()[1],
    "models.as_image_model.model": lambda f: _vision()[0],
    "models.as_image_model.processor": lambda f: _vision()[1],
    "models.as_image_model.size": lambda f: None,
    "models.as_array_model.model": lambda f: _linear(),
    "models.as_string_model.model": lambda f: lambda texts: np.array([[0.25, 0.75]] * len(texts)),
    "models.load_model.folder_or_name": lambda f: _model_folder("text"),
    "models.load_text_model.folder_or_name": lambda f: _model_folder("text"),
    "models.load_image_model.folder_or_name": lambda f: _model_folder("image"),
    "models.*.tokenizer": lambda f: _loaded()[1],
    "models.read_model.model": lambda f: _loaded()[0],
    "models.read_model.read": lambda f: lambda out: out.logits,
    "models.read_model.labels": lambda f: ("negative", "positive"),
    "models.similarity_model.model": lambda f: _encoder(),
    "models.similarity_model.to": lambda f: "good film",
    "models.span_model.model": lambda f: _head("span"),
    "models.span_model.start": lambda f: 1,
    "models.span_model.end": lambda f: 1,
    "models.token_label_model.model": lambda f: _head("label"),
    "models.token_label_model.at": lambda f: 1,
    "models.*.labels": lambda f: ("negative", "positive"),
}
LEARNED: Examples = {
    "learned.*.inputs": lambda f: _table(),
    "learned.*.classes": lambda f: 2,
    "learned.*.k": lambda f: 2,
    "learned.Tabular.n": lambda f: 6,
    "learned.PixelGrid.shape": lambda f: (4, 4),
    "learned.Words.length": lambda f: 5,
    "learned.Words.vocabulary": lambda f: 20,
    "learned.recipe.name": lambda f: "l2x",
    "learned.effective_sample_size.weights": lambda f: np.array([0.5, 0.25, 0.25]),
    "learned.fit_fast_rows.rows": lambda f: _rows(120),
    "learned.fit_fast_rows.model": lambda f: _linear(),
    "learned.fit_fast_rows.background": lambda f: _rows(5),
    "learned.explain_rows_fast.explainer": lambda f: _fast(),
    "learned.explain_rows_fast.rows": lambda f: _rows(3),
    "learned.explain_rows_fast.model": lambda f: _linear(),
    "learned.explain_rows_fast.background": lambda f: _rows(5),
    "learned.load.folder": _saved,
    "learned.load.black_box": lambda f: _black_box,
    "learned.*.players": lambda f: None,
    "learned.*.weights": lambda f: None,
    "learned.*.budget": lambda f: None,
}
AUDITS: Examples = {
    "audit.audit_texts.model": lambda f: text_model(),
    "audit.audit_texts.texts": lambda f: list(PROMPTS),
    "audit.audit_texts.tests": lambda f: ("gradients",),
    "audit.audit_attention.model": lambda f: _classifier(),
    "audit.audit_attention.tokens": lambda f: np.random.default_rng(0).normal(size=(12, 4, 3)),
    "audit.audit_attention.query": lambda f: np.random.default_rng(1).normal(size=(12, 2)),
    "audit.audit_attention.labels": lambda f: np.arange(12) % 2,
    "audit.audit_attention.tests": lambda f: ("gradients",),
    "audit.audit_saved.folder": _saved,
    "audit.audit_saved.data": _rows_file,
    "audit.audit_saved.black_box": lambda f: _black_box,
    "audit.leakage_report.inputs": lambda f: _table(),
    "audit.leakage_report.x": lambda f: _rows(40),
    "audit.leakage_report.masks": lambda f: _masks(40),
    "audit.leakage_report.labels": lambda f: np.arange(40) % 2,
    "audit.leakage_report.scores": lambda f: None,
    "audit.leakage_report.tests": lambda f: ("mask-only probe",),
    "audit.audit_saved.tests": lambda f: ("mask-only probe",),
}
TAKING_MODELS: Examples = GRADIENTS | MODELS | LEARNED | AUDITS
