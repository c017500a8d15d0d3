r"""The credit of one leaf for every pattern of a row, many leaves at once.

A leaf of value 1 whose path tests k players pays when each of them is passed by the row (if it plays) or by the background
(if it does not). Let z be the players that a background row fails, with weight N[z], and p those that the explained row
passes: the leaf is a sum of cubes with A = z and B = the players outside p, over all z ⊆ p. At a node t of the semivalue's
rule the subset sums $Z_t[p] = \sum_{z \subseteq p} N[z]\,t^{|z|}$ hold all that is needed:

$$\phi_i(p) = \sum_t \omega_t (1-t)^{c} \frac{Z_t[p] - Z_t[p \setminus i]}{t}\ (i \in p), \qquad
  \phi_i(p) = -\sum_t \omega_t (1-t)^{c-1} Z_t[p]\ (i \notin p), \qquad c = k - |p|.$$

Both are differences of tables $E_{uv}[p] = \sum_t \omega_t (1-t)^{c-u} t^{-v} Z_t[p]$, because p∖i has one more outside.
Sets z too small to matter to a difference are left out of its tables, so nothing large cancels.
Arrays have the pattern first and the leaf last: (2ᵏ, leaves), bit i of the pattern telling whether player i passes.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from accredit.core import FloatArray
from accredit.values.semivalue_rules import Semivalue

_CREDIT = ((0, 1), (1, 1), (1, 0))  # (u, v) of the tables that credits need
_PAIRS = ((0, 2), (1, 2), (2, 2), (1, 1), (2, 1), (2, 0))


def coin_weights(ratio: FloatArray) -> FloatArray:
    """N[z] of independent coins: player j passes with chance ratio[j]. (k, leaves) -> (2ᵏ, leaves)."""
    weights = np.ones((1, ratio.shape[1]))
    for r in ratio:
        weights = np.concatenate([weights * r, weights * (1 - r)])
    return weights


def leaf_credits(weights: FloatArray, rule: Semivalue) -> FloatArray:
    """Credit of each of the k players for each pattern p: (2ᵏ, leaves) -> (k, 2ᵏ, leaves)."""
    k = weights.shape[0].bit_length() - 1
    inside, without, outside = _tables(weights, rule, _CREDIT)
    credits = np.empty((k, *weights.shape))
    for i in range(k):
        part = _split(credits[i], i)
        np.subtract(_split(inside, i)[:, 1], _split(without, i)[:, 0], out=part[:, 1])
        np.negative(_split(outside, i)[:, 0], out=part[:, 0])
    return credits


def leaf_pairs(weights: FloatArray, rule: Semivalue) -> FloatArray:
    """Interaction of each pair i < j, in the order of `combinations`: (2ᵏ, leaves) -> (k(k−1)/2, 2ᵏ, leaves)."""
    k = weights.shape[0].bit_length() - 1
    e02, e12, e22, e11, e21, e20 = _tables(weights, rule, _PAIRS)
    pairs = np.empty((k * (k - 1) // 2, *weights.shape))
    for pair, (i, j) in zip(pairs, combinations(range(k), 2), strict=True):
        out, a02, a12, a22, a11, a21, a20 = (_split2(x, i, j) for x in (pair, e02, e12, e22, e11, e21, e20))
        out[:, 1, :, 1] = a02[:, 1, :, 1] - a12[:, 1, :, 0] - a12[:, 0, :, 1] + a22[:, 0, :, 0]
        out[:, 0, :, 1] = a21[:, 0, :, 0] - a11[:, 0, :, 1]  # i passes, j does not
        out[:, 1, :, 0] = a21[:, 0, :, 0] - a11[:, 1, :, 0]
        out[:, 0, :, 0] = a20[:, 0, :, 0]
    return pairs


def _split(table: FloatArray, i: int) -> FloatArray:
    """A view whose axis 1 is bit i of the pattern."""
    return table.reshape(-1, 2, 1 << i, table.shape[-1])


def _split2(table: FloatArray, i: int, j: int) -> FloatArray:
    """A view whose axes 1 and 3 are bits j and i of the pattern, i < j."""
    return table.reshape(-1, 2, 1 << (j - i - 1), 2, 1 << i, table.shape[-1])


def _tables(weights: FloatArray, rule: Semivalue, kinds: tuple[tuple[int, int], ...]) -> list[FloatArray]:
    """E_uv[p] for each kind (u, v), from sets z of at least v players: each (2ᵏ, leaves)."""
    patterns = weights.shape[0]
    k = patterns.bit_length() - 1
    t, omega = rule.rule(max(k, 1))
    size = np.bitwise_count(np.arange(patterns))
    outside = (k - size.astype(np.int64))[:, None]
    made: dict[tuple[int, int], FloatArray] = {}
    for least in sorted({v for _, v in kinds}):
        power = np.where(size[:, None] >= least, t ** size[:, None], 0.0)  # (2ᵏ, nodes)
        sums = subset_sums(weights[:, None, :] * power[:, :, None])
        same = [(u, v) for u, v in kinds if v == least]
        mix = np.stack([np.where(outside >= u, omega * (1 - t) ** (outside - u) / t**v, 0.0) for u, v in same], axis=1)
        made |= dict(zip(same, np.moveaxis(mix @ sums, 1, 0), strict=True))  # (2ᵏ, kinds, nodes) @ (2ᵏ, nodes, leaves)
    return [np.ascontiguousarray(made[kind]) for kind in kinds]


def subset_sums(table: FloatArray) -> FloatArray:
    """Σ over subsets of the pattern on the first axis, in place."""
    for i in range(table.shape[0].bit_length() - 1):
        halves = table.reshape(-1, 2, 1 << i, *table.shape[1:])
        halves[:, 1] += halves[:, 0]
    return table
