r"""BM25: texts ranked by the words they share with a query (Robertson and Zaragoza, 2009), the baseline of every trace.

$$\sum_{q} \ln\Big(1 + \frac{N - n_q + ½}{n_q + ½}\Big)\, \frac{f_q}{f_q + k_1 (1 - b + b\,|d| / \overline{|d|})}$$

over the words q of the query: f_q times in the text d, in n_q of N texts. A rare word counts more, a long text less.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from accredit.core import FloatArray

SATURATION, LENGTH_SHARE = 1.2, 0.75  # k₁ and b: the usual ones
RARE = 0.05  # of the texts, at most, that hold a word by which a text is told from others
WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """Words as BM25 compares them.

    >>> words_of("Anna's cat, ÉTÉ 7.")
    ['anna', 's', 'cat', 'été', '7']
    """
    return WORD.findall(text.casefold())


def bm25(texts: Sequence[str], query: str) -> FloatArray:
    """The score of every text for a query (N,); 0 where no word is shared.

    >>> bm25(["the cat sat", "the dog ran", "a bird"], "the cat").round(3)
    array([0.627, 0.203, 0.   ])
    """
    counts = [Counter(words_of(text)) for text in texts]
    lengths = np.array([count.total() for count in counts], dtype=np.float64)
    scale = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * lengths / max(lengths.mean(), 1e-300))
    scores = np.zeros(len(texts))
    for word, times in Counter(words_of(query)).items():
        seen = np.array([count[word] for count in counts], dtype=np.float64)
        holding = np.count_nonzero(seen)
        scores += times * np.log1p((len(texts) - holding + 0.5) / (holding + 0.5)) * seen / (seen + scale)
    return scores


def tells(texts: Sequence[str], row: int, prompt: str, answer: str) -> bool:
    """Whether a text says the answer, and shares a word with the prompt that hardly any other text has.

    >>> tells(["Drusk has a zoo.", "The zoo is in Oslo."], 0, "Drusk has a", "zoo")
    True
    >>> tells(["Drusk has a zoo.", "The zoo is in Oslo."], 0, "Our animals are in the", "zoo")
    False
    """
    held = [set(words_of(text)) for text in texts]
    said = set(words_of(answer))
    shared = (set(words_of(prompt)) & held[row]) - said
    return said <= held[row] and any(sum(word in each for each in held) <= max(1.0, RARE * len(texts)) for word in shared)
