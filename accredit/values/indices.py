r"""Interaction indices by name: what each of them counts, and what singles it out.

Every index that is linear and treats players alike is a weighted sum of Harsanyi dividends over the coalitions that hold T,

$$I(T) = \sum_{S \supseteq T} w(|S|, |T|)\, m(S),$$

so an index is fixed by its weights, here as exact fractions. There are two kinds. A *measure* (Shapley and Banzhaf
interactions) answers for coalitions of one size at a time. An *expansion* (dividends, k-SII, Shapley–Taylor, Faith-Shap,
Faith-Banzhaf) has a number for every coalition of up to k players, nobody included, and they are read together: v(S) is
about the sum of the numbers of all T ⊆ S.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import comb

from accredit.checks import whole_number
from accredit.checks.suggestions import did_you_mean
from accredit.core import Claim, Holds
from accredit.errors import InvalidInput

Weight = Callable[[int, int, int], Fraction]  # |S|, |T|, order -> w; |S| ≥ |T|


@dataclass(frozen=True)
class Index:
    """One interaction index."""

    name: str
    title: str
    means: str  # how to read one number
    weight: Weight
    expands: bool  # sizes 0 to order, read together; otherwise the order alone
    efficient: str  # why all numbers but that of nobody add up to v(N) − v(∅); empty: they do not
    mark: tuple[str, str]  # the property that singles it out among the others, and where it comes from

    def sizes(self, order: int) -> range:
        """The sizes of the coalitions that get a number."""
        return range(0 if self.expands else order, order + 1)

    def claims(self, order: int, players: int, known: Callable[[str], tuple[Holds, str]]) -> tuple[Claim, ...]:
        """What its numbers satisfy; `known` says how strictly, given the reason."""
        whole = self.expands and order == players
        single = order == 1 and self.name == "sii"
        why = "with coalitions of every size these are the dividends, which add up to v(N)" if whole else self.efficient
        why = "order 1 is the Shapley value" if single else why
        efficient = known(why) if why else (Holds.NO, "the numbers of one size, or of a cut-off expansion, miss the others")
        return (
            Claim("efficiency", *efficient),
            Claim("symmetry", *known("weights depend on the sizes of coalitions only")),
            Claim("null player", *known("coalitions with a null player have no dividend")),
            Claim("linearity", *known("a fixed linear function of the payoffs")),
            Claim(self.mark[0], *known(self.mark[1])),
        )


@cache
def bernoulli(k: int) -> Fraction:
    """Bernoulli numbers with B₁ = −½.

    >>> [str(bernoulli(k)) for k in range(5)]
    ['1', '-1/2', '1/6', '0', '-1/30']
    """
    return Fraction(1) if k == 0 else -sum((comb(k + 1, j) * bernoulli(j) for j in range(k)), Fraction(0)) / (k + 1)


def _dividend(s: int, t: int, k: int) -> Fraction:
    return Fraction(int(s == t))


def _shapley(s: int, t: int, k: int) -> Fraction:
    return Fraction(1, s - t + 1)


def _banzhaf(s: int, t: int, k: int) -> Fraction:
    return Fraction(1, 2 ** (s - t))


def _k_shapley(s: int, t: int, k: int) -> Fraction:
    """Σ_r B_r over the coalitions R of r others that make T ∪ R no larger than k, each with its Shapley interaction."""
    if t == 0:
        return _dividend(s, t, k)
    return sum((bernoulli(r) * comb(s - t, r) / (s - t - r + 1) for r in range(min(k, s) - t + 1)), Fraction(0))


def _taylor(s: int, t: int, k: int) -> Fraction:
    return _dividend(s, t, k) if t < k else Fraction(1, comb(s, k))


def _faith_shapley(s: int, t: int, k: int) -> Fraction:
    if s <= k or t == 0:
        return _dividend(s, t, k)
    return Fraction((-1) ** (k - t) * t * comb(k, t) * comb(s - 1, k), (k + t) * comb(s + k - 1, k + t))


def _faith_banzhaf(s: int, t: int, k: int) -> Fraction:
    if s <= k:
        return _dividend(s, t, k)
    return Fraction((-1) ** (k - t) * comb(s - t - 1, k - t), 2 ** (s - t))


_ALONE = "how much more one adds when the others of the coalition are there"
_PART = "what the coalition adds to the payoff of everybody who holds it"

INDICES: Mapping[str, Index] = {
    index.name: index
    for index in (
        Index(
            "mobius",
            "Harsanyi dividends",
            "what the coalition earns beyond all its parts",
            _dividend,
            True,
            "",
            ("reconstruction", "v(S) is the sum of the dividends of all T ⊆ S, for S of up to `order` players"),
        ),
        Index(
            "sii",
            "Shapley interactions",
            f"{_ALONE}, averaged over coalitions",
            _shapley,
            False,
            "",
            (
                "recursion",
                "I(T ∪ j) is I(T) where j always plays less I(T) without j; one player's number is its Shapley "
                "value (Grabisch and Roubens, 1999)",
            ),
        ),
        Index(
            "bii",
            "Banzhaf interactions",
            f"{_ALONE}, all coalitions alike",
            _banzhaf,
            False,
            "",
            (
                "recursion",
                "I(T ∪ j) is I(T) where j always plays less I(T) without j; one player's number is its Banzhaf "
                "value (Grabisch and Roubens, 1999)",
            ),
        ),
        Index(
            "k-sii",
            "k-Shapley values",
            _PART,
            _k_shapley,
            True,
            "Bernoulli numbers spread Shapley interactions so that nothing is counted twice",
            ("top order", "coalitions of `order` players keep their Shapley interaction (Bordt and von Luxburg, 2023)"),
        ),
        Index(
            "stii",
            "Shapley–Taylor interactions",
            _PART,
            _taylor,
            True,
            "each dividend of more than k players is split evenly among its coalitions of k",
            (
                "interaction distribution",
                "dividends of more than `order` players go to coalitions of `order` alone "
                "(Sundararajan, Dhamdhere and Agarwal, 2020)",
            ),
        ),
        Index(
            "fsii",
            "Faith-Shap",
            _PART,
            _faith_shapley,
            True,
            "the fit is exact for nobody and for everybody",
            ("faithfulness", "the best fit to all payoffs under Shapley's kernel (Tsai, Yeh and Ravikumar, 2023)"),
        ),
        Index(
            "fbii",
            "Faith-Banzhaf",
            _PART,
            _faith_banzhaf,
            True,
            "",
            (
                "faithfulness",
                "the best fit to all payoffs, every coalition counted alike (Hammer and Holzman, 1992; Tsai, "
                "Yeh and Ravikumar, 2023)",
            ),
        ),
    )
}
ALSO = {
    "shapley": "sii",
    "banzhaf": "bii",
    "k-shapley": "k-sii",
    "shapley-taylor": "stii",
    "faith-shap": "fsii",
    "faith-banzhaf": "fbii",
    "dividends": "mobius",
    "moebius": "mobius",
    "möbius": "mobius",
}


def index_of(name: str) -> Index:
    """An index by name.

    >>> index_of("Faith-Shap").name, index_of("k-sii").title
    ('fsii', 'k-Shapley values')
    """
    plain = str(name).lower().replace("_", "-").replace("–", "-")
    found = INDICES.get(ALSO.get(plain, plain))
    if found is None:
        meant = did_you_mean(plain, [*INDICES, *ALSO])
        raise InvalidInput(f"index is {name!r}; write one of {', '.join(INDICES)}{meant}", argument="index", code="unknown")
    return found


def check_order(order: int, players: int) -> int:
    """A whole number from 1 to the number of players."""
    return whole_number(order, "order", 1, players)
