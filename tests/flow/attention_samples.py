"""Attention tensors for tests: softmax of Gaussian logits and the shapes that break solvers."""

import numpy as np


def soft(layers, tokens, seed=0, spread=2.0):
    """Attention without structure, (L, T, T)."""
    logits = np.random.default_rng(seed).normal(0, spread, (layers, tokens, tokens))
    weights = np.exp(logits - logits.max(axis=2, keepdims=True))
    return weights / weights.sum(axis=2, keepdims=True)


def causal(attention):
    """Attention to earlier tokens only."""
    masked = attention * np.tril(np.ones(attention.shape[1:]))
    return masked / masked.sum(axis=2, keepdims=True)


def awkward(layers, tokens):
    """name -> (attention, settings): degenerate inputs of real life."""
    plain = soft(layers, tokens, seed=layers + tokens)
    rng = np.random.default_rng(5)
    padded = plain.copy()
    padded[:, tokens // 2 :] = 0
    padded[:, :, tokens // 2 :] = 0
    gradients = np.maximum(rng.normal(size=(layers, tokens, tokens)) - 0.5, 0) * 1e-3
    gradients[:, 0] = 0
    shuffles = np.stack([np.eye(tokens)[rng.permutation(tokens)] for _ in range(layers)])
    necks = np.full((layers, tokens, tokens), 1 / tokens)
    necks[[0, -1]] *= 0.1
    free = {"normalise": False, "residual": 0.0}
    return {
        "plain": (plain, {}),
        "no residual": (plain, {"residual": 0.0}),
        "causal": (causal(plain), {}),
        "causal, last output": (causal(plain), {"outputs": -1}),
        "causal, first output": (causal(plain), {"outputs": 0}),
        "one output": (plain, {"outputs": 0}),
        "weighted outputs": (plain, {"outputs": np.full(tokens, 1 / tokens)}),
        "sink of 95 %": (0.05 * plain + 0.95 * np.eye(tokens)[0], {}),
        "sink, one output": (0.05 * plain + 0.95 * np.eye(tokens)[0], {"outputs": tokens - 1}),
        "uniform": (np.full((layers, tokens, tokens), 1 / tokens), {}),
        "identity": (np.broadcast_to(np.eye(tokens), (layers, tokens, tokens)), {}),
        "shuffles": (shuffles, {"residual": 0.0}),
        "padding": (padded, {"normalise": False}),
        "padding, no residual": (padded, free),
        "relu'd gradients": (gradients, free),
        "peaked": (soft(layers, tokens, seed=3, spread=30.0), {}),
        "peaked, no residual": (soft(layers, tokens, seed=3, spread=30.0), {"residual": 0.0}),
        "two equal necks": (necks, free),
        "nothing": (np.zeros((layers, tokens, tokens)), free),
    }
