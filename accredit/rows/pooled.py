r"""Many rows of a slow model: one budget of model rows for all of them, and one surrogate that learns from every answer.

A payoff of one row asks the model once for every background row. Here a question is a single model row: the row x_r in the
columns of T and one background row b in the others. Every question is asked with its complement, and serves twice:

* all of them together train a surrogate g of the model: a linear part, a small network where that helps, boosted
  trees on the rest. Its credit is known exactly, that of the network from many coalitions;
* those about row r correct that credit, because the error of g's credit is the credit of the difference f − g:

$$\phi_r(f) = \phi_r(g) + \phi_r(f - g), \qquad \hat\phi_r(f - g) = \arg\min_c \sum_T w_T \bigl(y_r(T) - z(T) \cdot c\bigr)^2$$

with y_r(T) half the difference between f − g at T and at its complement, and z_i(T) = 1[i ∈ T] − |T|/n. A surrogate is only
ever subtracted from answers that it has not seen (cross-fitting), so the correction needs no faith in it: a bad one makes the
intervals wide, not wrong. Corrections are shrunk by what they are worth over all rows (empirical Bayes); half-widths are not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from accredit import defaults
from accredit.checks import needs
from accredit.core import BoolArray, FloatArray, IntArray
from accredit.core.threads import one_blas_thread
from accredit.errors import InvalidInput
from accredit.models.cells import columns_of
from accredit.models.partition import Partition
from accredit.rows.surrogate_network import SurrogateNetwork
from accredit.trees.closed_form import ClosedForm
from accredit.trees.separable import mixtures
from accredit.values.solver import progress
from accredit.values.surrogate.intervals import UNSEEN

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingRegressor

    from accredit.models.row_types import Table

CAUTION = 1.2  # on the variance: left-out residuals share the settings of the surrogates
FOLDS = 3  # surrogates, each trained without the answers that it is subtracted from
PILOT = 0.5  # of the questions are dealt out evenly; the others go where the surrogate errs most
FEWEST_PAIRS = 8  # of questions about one row: fewer show no spread
MOST_TRAINED = 1 << 18  # answers that a surrogate is trained on
ROUNDS, PILOT_ROUNDS = 500, 100  # of boosting, at most; those of the pilot only say which rows need more questions
FEWEST_TO_HOLD_OUT = 500  # answers from which a tenth says when boosting should stop
HELD_OUT = 10  # one answer in so many decides whether the network helps
NETWORK_PAIRS, NETWORK_CALLS = (
    512,
    150_000_000,
)  # coalitions with their complements that a network's credit rests on; its answers
RIDGE = 1e-6  # of the linear part, relative to the spread of a column
ROUNDING = 1e-6  # of the largest output: also single precision
ROWS_PER_CALL = 4096  # of the model
FEW_ROWS = 20  # below which a player's corrections are too few to say what they are worth


@dataclass(frozen=True, eq=False)
class PairedRows:
    """Pairs of model rows: the explained row in the columns of a coalition and a background row in the others, and its
    complement."""

    row: IntArray  # (m,)
    coalition: BoolArray  # (m, players)
    background: IntArray  # (m,)

    def __len__(self) -> int:
        return len(self.row)

    def __add__(self, other: PairedRows) -> PairedRows:
        return PairedRows(
            np.concatenate([self.row, other.row]),
            np.concatenate([self.coalition, other.coalition]),
            np.concatenate([self.background, other.background]),
        )

    def halves(self) -> BoolArray:
        """Coalitions and, below them, their complements: (2m, players)."""
        return np.concatenate([self.coalition, ~self.coalition])


def size_law(n: int) -> FloatArray:
    """How likely a coalition of 1 … n − 1 players is: the law of the paired design, proportional to 1/√(k(n − k))."""
    k = np.arange(1, n)
    law = (k * (n - k)) ** -0.5
    return np.asarray(law / law.sum())


def draw(counts: IntArray, players: int, weights: FloatArray, rng: np.random.Generator) -> PairedRows:
    """So many pairs for each row; sizes and background rows by systematic draws, so that each comes as often as it should."""
    m, law = int(counts.sum()), size_law(players)
    size = rng.permutation(1 + np.searchsorted(np.cumsum(law), (np.arange(m) + rng.random()) / m).clip(max=players - 2))
    chosen = rng.permutation(np.searchsorted(np.cumsum(weights), (np.arange(m) + rng.random()) / m).clip(max=len(weights) - 1))
    rank = rng.random((m, players)).argsort(axis=1).argsort(axis=1)
    return PairedRows(np.repeat(np.arange(len(counts)), counts), rank < size[:, None], chosen)


@dataclass(frozen=True, eq=False)
class Answers:
    """What the model said to questions: to each coalition, and to its complement."""

    questions: PairedRows
    said: FloatArray  # (2, m, outputs)

    def __add__(self, other: Answers) -> Answers:
        return Answers(self.questions + other.questions, np.concatenate([self.said, other.said], axis=1))


@dataclass(frozen=True, eq=False)
class Pool:
    """The rows that share a budget, as numbers that a surrogate can learn from, and what the model says about them."""

    matrix: FloatArray  # (background rows and then explained ones, columns)
    background: FloatArray  # (b, outputs): what the model says about background rows
    prediction: FloatArray  # (rows, outputs)
    weights: FloatArray  # (b,), summing to 1
    partition: Partition
    seed: int

    @property
    def rows(self) -> int:
        return len(self.prediction)

    @property
    def start(self) -> int:
        return len(self.background)

    @property
    def players(self) -> int:
        return len(self.partition.players)

    def cells(self, asked: PairedRows, coalition: BoolArray) -> FloatArray:
        """Questions as the surrogate reads them, with these coalitions: (m, columns)."""
        table = mixtures(self.matrix, self.start + asked.row, asked.background, self.partition.kept(coalition))
        return np.asarray(table, dtype=np.float64)


class TableSurrogate:
    """A linear function, a network where it helps, and boosted trees on what they leave, fitted to one output of a model at
    cells of a table."""

    def __init__(self, cells: FloatArray, output: FloatArray, rounds: int, seed: int, network: bool = False) -> None:
        known = np.isfinite(cells)
        count = np.maximum(known.sum(axis=0), 1)
        self._mean = np.where(known, cells, 0.0).sum(axis=0) / count
        centred = self._centre(cells)
        scale = np.maximum((centred**2).mean(axis=0), np.finfo(float).tiny)
        normal = centred.T @ centred / len(cells) + np.diag(RIDGE * scale)
        self._level = float(output.mean())
        self._slope = np.linalg.solve(normal, centred.T @ (output - self._level) / len(cells))
        left = output - self._level - centred @ self._slope
        self.network: SurrogateNetwork | None = None
        if not (network and len(cells) >= FEWEST_TO_HOLD_OUT and left.any()):
            self._trees = _boost(cells, left, rounds, seed)
            return
        out = np.arange(len(cells)) % HELD_OUT == 0  # cells come in random order
        alone = _boost(cells[~out], left[~out], rounds, seed)
        made = SurrogateNetwork(centred[~out], left[~out], seed)
        after = left - made.predict(centred)
        both = _boost(cells[~out], after[~out], rounds, seed)
        helps = ((after[out] - both.predict(cells[out])) ** 2).sum() < ((left[out] - alone.predict(cells[out])) ** 2).sum()
        self.network, self._trees = (made, both) if helps else (None, alone)

    def _centre(self, cells: FloatArray) -> FloatArray:
        return np.where(np.isfinite(cells), cells - self._mean, 0.0)

    def predict(self, cells: FloatArray) -> FloatArray:
        """(m, columns) -> (m,)."""
        centred = self._centre(cells)
        found = np.asarray(self._level + centred @ self._slope + self._trees.predict(cells))
        return found if self.network is None else found + self.network.predict(centred)

    def credit(self, pool: Pool) -> FloatArray:
        """Exact Shapley values of the linear part and of the trees: (rows, players)."""
        background, rows = pool.matrix[: pool.start], pool.matrix[pool.start :]
        owner = pool.partition.owner
        form = ClosedForm(self._trees, background, weight=pool.weights, players=owner, count=pool.players)
        by_column = (self._centre(rows) - pool.weights @ self._centre(background)) * self._slope
        return np.asarray(form.share(rows).credit[..., 0] + pool.partition.shares(by_column))

    def network_total(self, pool: Pool) -> FloatArray:
        """What there is to share in the network, by the same rounding as in `predict`: (rows,)."""
        if self.network is None:
            return np.zeros(pool.rows)
        said = self.network.predict(self._centre(pool.matrix))
        return np.asarray(said[pool.start :] - pool.weights @ said[: pool.start])

    def network_payoffs(self, pool: Pool, coalition: BoolArray) -> FloatArray:
        """What the network pays to coalitions of every row: (m, players) -> (rows, m)."""
        if self.network is None:
            return np.zeros((pool.rows, len(coalition)))
        centred = self._centre(pool.matrix)
        rows, background = centred[pool.start :], centred[: pool.start]
        return self.network.payoffs(rows, background, pool.weights, pool.partition.kept(coalition))


def _boost(cells: FloatArray, output: FloatArray, rounds: int, seed: int) -> HistGradientBoostingRegressor:
    with needs("data", "a budget that rows share"):
        from sklearn.ensemble import HistGradientBoostingRegressor
    stops = len(cells) >= FEWEST_TO_HOLD_OUT
    return HistGradientBoostingRegressor(max_iter=rounds, early_stopping=stops, random_state=seed).fit(cells, output)


def network_pairs(rows: int, background: int, players: int) -> int:
    """Pairs of coalitions that the credit of networks may rest on; 0: too few, so that there is no network.

    >>> network_pairs(400, 100, 70), network_pairs(100_000, 1000, 70)
    (512, 0)
    """
    pairs = min(NETWORK_PAIRS, NETWORK_CALLS // (2 * FOLDS * rows * background))
    return pairs if pairs > 3 * players else 0


def network_credit(pool: Pool, surrogates: list[TableSurrogate]) -> tuple[FloatArray, FloatArray]:
    """Credit of the mean of the surrogates' networks, and its standard error: (rows, players) each."""
    if all(one.network is None for one in surrogates):
        return np.zeros((pool.rows, pool.players)), np.zeros((pool.rows, pool.players))
    pairs = network_pairs(pool.rows, pool.start, pool.players)
    asked = draw(np.array([pairs]), pool.players, np.ones(1), np.random.default_rng([pool.seed, pairs]))
    paid = np.mean([one.network_payoffs(pool, asked.halves()) for one in surrogates], axis=0)
    total = np.mean([one.network_total(pool) for one in surrogates], axis=0)
    odd = (paid[:, :pairs] - paid[:, pairs:]) / 2 - np.outer(total, asked.coalition.mean(axis=1) - 0.5)
    each = [correction(asked.coalition, one) for one in odd]
    return total[:, None] / pool.players + np.stack([c for c, _, _ in each]), np.stack([error for _, error, _ in each])


@dataclass(frozen=True, eq=False)
class PooledCredit:
    """Credit of rows that shared a budget: (rows, players, outputs)."""

    credit: FloatArray
    half_width: FloatArray
    pairs: IntArray  # (rows,) questions and their complements
    explained: float  # the share of the answers' variance that surrogates foresee in answers they were not trained on


def solve(pool: Pool, answers: Answers, rounds: int = ROUNDS) -> PooledCredit:
    """Credit of every row in every output, from all answers."""
    with one_blas_thread():
        each = [
            _solve_output(pool, answers, k, rounds) for k in ([1] if _opposite(answers) else range(pool.prediction.shape[1]))
        ]
    if _opposite(answers):
        (credit, width, explained), *_ = each
        each = [(-credit, width, explained), (credit, width, explained)]
    return PooledCredit(
        np.stack([credit for credit, _, _ in each], axis=-1),
        np.stack([width for _, width, _ in each], axis=-1),
        np.bincount(answers.questions.row, minlength=pool.rows),
        min(explained for _, _, explained in each),
    )


def _opposite(answers: Answers) -> bool:
    """Do two outputs always add up to the same number, as two probabilities do? Then their credits are opposite."""
    said = answers.said
    if said.shape[-1] != 2:
        return False
    total = said.sum(axis=-1)
    return float(np.ptp(total)) <= ROUNDING * float(np.abs(said).max())


def _solve_output(pool: Pool, answers: Answers, k: int, rounds: int) -> tuple[FloatArray, FloatArray, float]:
    known, blur, total, odd, explained = _subtract_surrogates(pool, answers, k, rounds)
    u, stderr, multiple = np.empty_like(known), np.empty_like(known), np.empty(pool.rows)
    asked = answers.questions
    order = np.argsort(asked.row, kind="stable")
    ends = np.cumsum(np.bincount(asked.row, minlength=pool.rows))
    for r, some in enumerate(np.split(order, ends[:-1])):
        c, stderr[r], freedom = correction(asked.coalition[some], odd[some])
        u[r] = total[r] / pool.players + c
        multiple[r] = stdtrit(freedom, 0.5 + defaults.LEVEL / 2)
    cautious = multiple[:, None] * np.hypot(CAUTION**0.5 * stderr, blur)
    return known + shrink(u, stderr, total), cautious, explained


def _subtract_surrogates(
    pool: Pool, answers: Answers, k: int, rounds: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, float]:
    """The surrogates' credit and its standard error, what they leave of each row's total, and of the uneven odd part of every
    answer; and how much of the answers they foresee."""
    asked, said = answers.questions, answers.said[..., k]
    m = len(asked)
    fold = np.random.default_rng(pool.seed).permutation(m) % FOLDS
    cells = np.concatenate([pool.cells(asked, asked.coalition), pool.cells(asked, ~asked.coalition)])
    left = np.empty((2, m))
    network = rounds > PILOT_ROUNDS and network_pairs(pool.rows, pool.start, pool.players) > 0
    surrogates, credit, ends_rows, ends_background = [], [], [], []
    for one in range(FOLDS):
        train = np.flatnonzero(np.tile(fold != one, 2))
        train = np.random.default_rng([pool.seed, one]).permutation(train)[:MOST_TRAINED]
        surrogate = TableSurrogate(cells[train], said.ravel()[train], rounds, pool.seed, network)
        surrogates.append(surrogate)
        own = np.tile(fold == one, 2)
        left.ravel()[own] = said.ravel()[own] - surrogate.predict(cells[own])
        credit.append(surrogate.credit(pool))
        ends = surrogate.predict(pool.matrix)
        ends_background.append(pool.background[:, k] - ends[: pool.start])
        ends_rows.append(pool.prediction[:, k] - ends[pool.start :])
    at_row, at_background = np.stack(ends_rows), np.stack(ends_background)
    total = (at_row - (at_background @ pool.weights)[:, None]).mean(axis=0)
    share = asked.coalition.mean(axis=1) - 0.5
    odd = (left[0] - left[1]) / 2 - (at_row[fold, asked.row] - at_background[fold, asked.background]) * share
    explained = 1 - float((left**2).mean()) / max(float(said.var()), np.finfo(float).tiny)
    drawn, blur = network_credit(pool, surrogates)
    return np.mean(credit, axis=0) + drawn, blur, total, odd, explained


def correction(coalition: BoolArray, odd: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Uneven credit of a game from its uneven odd part at pairs drawn by `size_law`: (m, n), (m,) -> (n,), its standard error
    and their degrees of freedom.

    Weighted regression once the pairs outnumber the players twice, with left-out residuals; before that the mean of the
    unbiased terms n/(k(n − k) p_k) z(T) y(T). Differences as large as the largest may sit in pairs that were not asked, about 3
    in m of them, and are allowed for as in the intervals of one game.
    """
    m, n = coalition.shape
    k = coalition.sum(axis=1)
    z = coalition - (k / n)[:, None]
    weight = n / (k * (n - k) * size_law(n)[k - 1])
    if m <= 2 * n:
        terms = (weight * odd)[:, None] * z
        variance = terms.var(axis=0, ddof=1) + UNSEEN * (terms**2).max(axis=0) / m
        return terms.mean(axis=0), np.sqrt(variance / m), m - 1.0
    weighted = z.T * weight
    normal = weighted @ z
    operator = np.linalg.solve(normal + np.trace(normal) / n**2, weighted)  # z sums to 0: what is added changes no solution
    operator -= operator.mean(axis=0)
    found = operator @ odd
    left_out = (odd - z @ found) / (1 - np.einsum("mn,nm->m", z, operator).clip(max=0.99))
    squares = left_out**2 + UNSEEN * (left_out**2).max() / m
    return found, np.sqrt(operator**2 @ squares), float(m - n)


def shrink(credit: FloatArray, stderr: FloatArray, total: FloatArray) -> FloatArray:
    """Corrections drawn towards 0 by what they are worth over all rows, and made to sum to each row's total: (rows, players).

    A player's corrections have variance τ² beyond their error, estimated over the rows (over all players where rows are few);
    each is multiplied by τ²/(τ² + its squared error), but moved by one standard error at most, so that no single cell pays for
    the others (Efron & Morris, 1972). What a row's total then lacks goes where most is uncertain.
    """
    beyond = (credit**2 - stderr**2).mean(axis=0)
    if len(credit) < FEW_ROWS:
        beyond = np.full(credit.shape[1], beyond.mean())
    variance = np.maximum(beyond, 0.0)
    kept = variance / np.maximum(variance + stderr**2, np.finfo(float).tiny)
    found = np.clip(kept * credit, credit - stderr, credit + stderr)
    doubt = kept * stderr**2
    doubt += np.maximum(doubt.sum(axis=1, keepdims=True), 1.0) * 1e-12  # nothing is uncertain: equal shares
    gap = total - found.sum(axis=1)
    return np.asarray(found + gap[:, None] * doubt / doubt.sum(axis=1, keepdims=True))


def deal(pairs: int, spread: FloatArray, had: IntArray) -> IntArray:
    """How many of `pairs` new questions each row gets: in all, rows should have them in proportion to their spread.

    >>> deal(10, np.array([1.0, 3.0]), np.array([5, 5]))
    array([ 0, 10])
    """
    wanted = np.maximum(spread / max(spread.sum(), np.finfo(float).tiny) * (had.sum() + pairs) - had, 0.0)
    if not wanted.any():
        wanted = np.ones(len(had))
    ends = np.floor(np.cumsum(wanted / wanted.sum()) * pairs + 0.5).astype(np.int64)
    return np.diff(ends, prepend=0)


# A budget, spent


Ask = Callable[["Table"], FloatArray]  # the model's outputs of some rows: (m, columns) -> (m, outputs)


def least_budget(rows: int, background: int) -> int:
    """Model rows below which nothing honest can be said about every row."""
    return rows + background + 2 * FEWEST_PAIRS * rows


def spend(
    ask: Ask,
    both: Table,  # background rows and then explained ones, as the model reads them
    background: FloatArray,  # what the model says about the former …
    prediction: FloatArray,  # … and about the latter
    weights: FloatArray,
    partition: Partition,
    model_rows: int,
    seed: int,
) -> PooledCredit:
    """Credit of all rows for `model_rows` rows asked of the model, background and explained rows counted among them."""
    rows, start = len(prediction), len(weights)
    if model_rows < least_budget(rows, start):
        raise InvalidInput(
            f"model_rows is {model_rows:,}, and {rows:,} rows beside {start:,} background rows need "
            f"{least_budget(rows, start):,} at the least; write model_rows={100 * rows + start}, or explain fewer rows",
            argument="model_rows",
            code="range",
        )
    rng = np.random.default_rng(seed)
    pairs = (model_rows - rows - start) // 2
    with progress("asking the model", model_rows) as bar:

        def answer(asked: PairedRows) -> Answers:
            """In batches, each said to the bar."""
            kept, row, other = partition.kept(asked.halves()), np.tile(start + asked.row, 2), np.tile(asked.background, 2)
            said = []
            for first in range(0, len(kept), ROWS_PER_CALL):
                some = slice(first, first + ROWS_PER_CALL)
                said.append(ask(mixtures(both, row[some], other[some], kept[some])))
                bar.update(rows + start + done + first + len(said[-1]))
            return Answers(asked, np.concatenate(said).reshape(2, len(asked), -1))

        done = 0
        pool = Pool(as_numbers(both), background, prediction, weights, partition, seed)
        even = deal(max(int(PILOT * pairs), FEWEST_PAIRS * rows), np.ones(rows), np.zeros(rows, dtype=np.int64))
        answers = answer(draw(even, pool.players, weights, rng))
        found = solve(pool, answers, PILOT_ROUNDS)
        done = 2 * int(even.sum())
        more = deal(pairs - int(even.sum()), found.half_width.mean(axis=(1, 2)), even)
        answers += answer(draw(more, pool.players, weights, rng))
        found = solve(pool, answers)
    return found


def as_numbers(table: Table) -> FloatArray:
    """Cells that trees can be grown on: numbers stay, anything else becomes the place of its text among the column's texts."""
    if isinstance(table, np.ndarray) and table.dtype.kind in "biuf":
        return np.asarray(table, dtype=np.float64)
    return np.stack([_column_as_numbers(column) for column in columns_of(table)], axis=1)


def _column_as_numbers(column: object) -> FloatArray:
    import pandas

    series = pandas.Series(column)
    if pandas.api.types.is_numeric_dtype(series):
        return np.asarray(series.astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan))
    codes = pandas.factorize(series.astype("string"), sort=True)[0].astype(np.float64)
    return np.where(codes < 0, np.nan, codes)
