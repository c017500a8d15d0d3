"""Random games with structure, and Hypothesis strategies for them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hypothesis import strategies as st

from accredit.games import TableGame

NAMES = tuple("abcdefghijklmnop")


def random_games(players: int, count: int, seed: int) -> Iterator[TableGame]:
    """Games with normal payoffs, v(∅) included."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield TableGame(NAMES[:players], rng.normal(size=1 << players))


@st.composite
def games(draw: st.DrawFn, most: int = 6) -> TableGame:
    """Games of 1 to `most` players: any scale, any offset, sometimes with null and equal players planted."""
    n = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = 10.0 ** draw(st.integers(-6, 6))
    offset = draw(st.sampled_from([0.0, 1.0, -1e3]))
    v = rng.normal(size=1 << n)
    index = np.arange(1 << n)
    if draw(st.booleans()):
        i = draw(st.integers(0, n - 1))
        v = v[index & ~(1 << i)]  # player i never matters
    if n > 1 and draw(st.booleans()):
        i, j = draw(st.lists(st.integers(0, n - 1), min_size=2, max_size=2, unique=True))
        differ = (index >> i ^ index >> j) & 1
        v = (v + v[index ^ (differ << i | differ << j)]) / 2  # i and j are equal
    return TableGame(NAMES[:n], scale * (v + offset))
