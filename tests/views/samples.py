"""Explanations made by hand, for views that must be right without any model."""

from __future__ import annotations

import base64
import io
import re

import numpy as np

from accredit.core import Attribution, Claim, Holds, Precision, distinct_names, no_division
from accredit.explanation import Explanation, FlowPicture, Picture, Token

SENTENCE = "A gripping, beautifully shot film that never quite lands."
ALL = tuple(
    Claim(a, Holds.EXACTLY, "computed from all payoffs") for a in ("efficiency", "symmetry", "null player", "linearity")
)


def tokens_of(text: str, special: bool = True) -> tuple[Token, ...]:
    """Words and marks as tokens, between two special ones."""
    found = [(m.group(), m.start(), m.end()) for m in re.finditer(r"\w+|[^\w\s]", text)]
    names = distinct_names([word for word, _, _ in found])
    tokens = [Token(word, a, b, name) for (word, a, b), name in zip(found, names, strict=True)]
    first, last = Token("[CLS]", 0, 0, "[CLS]", True), Token("[SEP]", len(text), len(text), "[SEP]", True)
    return (first, *tokens, last) if special else tuple(tokens)


def sample(
    text: str = SENTENCE, labels: tuple[str, str] = ("POSITIVE", "NEGATIVE"), seed: int = 0, flow: bool = True
) -> Explanation:
    """Six methods with every kind of result: exact, with intervals, scores, refused."""
    rng = np.random.default_rng(seed)
    tokens = tokens_of(text)
    players = tuple(dict.fromkeys(t.player for t in tokens if not t.special))
    n = len(players)
    raw = rng.normal(0, 0.4, n) * (rng.random(n) < 0.6) + rng.normal(0, 0.05, n)
    total = float(raw.sum())
    half = 0.05 + 0.1 * rng.random(n)
    everyone = ("[CLS]", *players, "[SEP]")
    spread = rng.dirichlet(np.ones(n + 2))
    attributions = {
        "shapley": Attribution(
            players,
            raw,
            total,
            "shapley/Surrogate(2000)",
            ALL,
            stderr=half / 2,
            interval=np.stack([raw - half, raw + half], axis=1),
            level=0.95,
            payoffs=2000,
            seed=seed,
            baseline=0.31,
            precision=Precision.interval("Gaussian-process posterior"),
            stopped="budget spent",
        ),
        "leave-one-out": Attribution(
            players,
            raw * 0.7 + rng.normal(0, 0.05, n),
            total,
            "leave-one-out",
            payoffs=n + 2,
            claims=(Claim("efficiency", Holds.NO, "only Shapley's weights share all"), *ALL[1:]),
        ),
        "integrated-gradients": Attribution(
            players,
            raw + rng.normal(0, 0.1, n),
            total,
            "integrated-gradients/steps=64",
            (Claim("efficiency", Holds.IN_THE_LIMIT, "completeness up to the gap"),),
            certificate={"completeness gap": 3.2e-7, "steps": 64},
        ),
        "flow": Attribution(
            everyone,
            spread,
            1.0,
            "flow/barrier(1e-06)",
            ALL[:1],
            certificate={"max flow": 1.0, "duality gap": 4e-9, "iterations": 14},
        ),
        "attention": Attribution(everyone, spread[::-1], None, "attention", no_division("attention weights rank")),
    }
    return Explanation(
        text,
        ((labels[0], 0.931), (labels[1], 0.069)),
        labels[0],
        players,
        (*attributions, "tcav"),
        attributions,
        {"tcav": "no concept was given"},
        dict.fromkeys(attributions, 0.25),
        tokens,
        flow=flow_picture([t.shown for t in tokens], seed) if flow else None,
        payoff="log-odds",
        unsigned=("flow", "attention"),
        provenance={
            "model": "by hand",
            "players": "word",
            "removal": "mask",
            "seed": seed,
            "accredit": "0.1.0",
            "command": f"accredit explain '{text[:30]}'",
        },
    )


def flow_picture(columns: list[str], seed: int = 0, layers: int = 4) -> FlowPicture:
    """Mass 1 carried from the first column of the last layer down through random rows; it is conserved by construction."""
    rng = np.random.default_rng(seed)
    count = len(columns)
    through, edges = np.zeros((layers + 1, count)), np.zeros((layers, count, count))
    through[layers, 0] = 1.0
    for layer in range(layers - 1, -1, -1):
        rows = 0.5 * rng.dirichlet(np.full(count, 0.3), size=count) + 0.5 * np.eye(count)
        edges[layer] = through[layer + 1][:, None] * rows
        through[layer] = edges[layer].sum(axis=0)
    cut = np.zeros_like(edges)
    cut[layers - 1, 0] = np.where(edges[layers - 1, 0] > 0.01, edges[layers - 1, 0], 0.0)
    notes = ("The minimum cut lies between layer 3 and the output: what the output token attends to bounds everything.",)
    return FlowPicture(
        "flow", tuple(distinct_names(columns)), through, edges, cut, np.zeros(count), np.zeros(count), 1.0, notes
    )


def picture_sample(seed: int = 0) -> Explanation:
    """An image of 28 × 28 pixels with 4 × 4 patches."""
    from PIL import Image

    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:28, :28]
    shirt = ((abs(x - 14) < 6) & (y > 5) & (y < 25)) | ((abs(x - 14) < 11) & (y > 5) & (y < 11))
    buffer = io.BytesIO()
    Image.fromarray((shirt * 180 + rng.integers(0, 40, (28, 28))).astype(np.uint8)).save(buffer, "PNG")
    players = tuple(f"r{k // 4}c{k % 4}" for k in range(16))
    credit = rng.normal(0, 1, 16)
    attributions = {
        "shapley": Attribution(players, credit, float(credit.sum()), "shapley/Exact()", ALL, payoffs=65536),
        "saliency": Attribution(players, abs(credit), None, "saliency", no_division("slopes rank")),
    }
    data = "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
    return Explanation(
        "shirt.png",
        (("T-shirt/top", 0.71), ("Shirt", 0.22), ("Pullover", 0.04)),
        "T-shirt/top",
        players,
        tuple(attributions),
        attributions,
        unsigned=("saliency",),
        picture=Picture.of(data, y // 7 * 4 + x // 7),
        seconds={"shapley": 1.2, "saliency": 0.02},
        provenance={"model": "by hand"},
    )
