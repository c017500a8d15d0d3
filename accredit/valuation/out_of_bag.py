"""Data-OOB: how often trees that never saw a row are right about it (Kwon and Zou, 2023).

A forest of trees, each trained on rows drawn with replacement, leaves about a third of the rows out of every bag. The score of
a row is the mean, over the trees that did not see it, of 1 for a right label, or of minus the squared error of a number: what a
bagged model learned elsewhere says about this row. One forest values all rows; no test rows are needed. It is not a value of a
game: a row is judged by the others and not by what it adds to them.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from accredit import defaults
from accredit.checks import check_seed, needs, whole_number
from accredit.checks.arguments import check_arguments
from accredit.core import Attribution, Claim, FloatArray, Holds, Precision, Procedure
from accredit.errors import InvalidInput
from accredit.valuation.split import Labels, Split

LEAST_VOTES = 2  # below this a row has no spread, hence no interval


@check_arguments
def data_oob(data: Split, trees: int = 500, seed: int = 0) -> Attribution:
    """Out-of-bag score of every training row, with a standard error over the trees that did not see it.

    >>> from accredit.valuation import split
    >>> data = split([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]], list("aabbbb"), [[0.0]], ["a"])
    >>> int(data_oob(data, trees=200).credit.argmin())  # the row among its opposites
    2
    """
    whole_number(trees, "trees", 20, example=500)
    with needs("data", "method='data-oob'"):
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
    kind = DecisionTreeRegressor if data.classes is None else DecisionTreeClassifier
    rng, n = np.random.default_rng(check_seed(seed)), len(data)
    votes, sums, squares = np.zeros(n), np.zeros(n), np.zeros(n)
    for _ in range(trees):
        bag = rng.integers(0, n, size=n)
        outside = np.setdiff1d(np.arange(n), bag)
        if len(outside) == 0:
            continue
        tree = kind(max_features="sqrt", random_state=int(rng.integers(2**31))).fit(data.x[bag], data.y[bag])
        right = _right(tree.predict(data.x[outside]), data.y[outside], data.classes is None)
        votes[outside] += 1
        sums[outside] += right
        squares[outside] += right**2
    if votes.min() < LEAST_VOTES:
        raise InvalidInput(
            f"trees is {trees}, and {data.names[int(votes.argmin())]!r} was out of the bag of {int(votes.min())} of them; "
            f"write trees={4 * trees}",
            argument="trees",
            code="range",
        )
    return _scores(data, votes, sums / votes, squares / votes, trees, seed)


def _right(predicted: FloatArray, truth: Labels, numbers: bool) -> FloatArray:
    return np.asarray(-((predicted - truth) ** 2) if numbers else predicted == truth, dtype=np.float64)


def _scores(data: Split, votes: FloatArray, mean: FloatArray, square: FloatArray, trees: int, seed: int) -> Attribution:
    spread = np.sqrt(np.maximum(square - mean**2, 0.0) / (votes - 1))
    reach = NormalDist().inv_cdf((1 + defaults.LEVEL) / 2) * spread
    return Attribution(
        data.names,
        mean,
        total=None,
        method=Procedure("data-oob", settings={"trees": trees}),
        claims=(
            Claim("efficiency", Holds.NO, "a score is a mean over trees; scores share nothing out"),
            Claim("symmetry", Holds.IN_THE_LIMIT, "equal rows meet the same distribution of trees"),
            Claim("null player", Holds.NO, "a row that teaches nothing is still judged by the others"),
        ),
        stderr=spread,
        interval=np.column_stack([mean - reach, mean + reach]),
        level=defaults.LEVEL,
        precision=Precision.interval("of the mean over more trees of these rows"),
        payoffs=trees,
        seed=seed,
        stopped=f"{trees} trees",
        certificate={"fewest votes": int(votes.min())},
    )
