"""What one rounding must not decide: whether a column varies, whether rows agree, who is first, who is accused.

0.1 + 0.2 and 0.3 are the same number, and the mean of equal numbers may be one rounding away from them. Each fact here holds
in whole numbers, where it needs no tolerance.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from torch import nn

from accredit.arena.standings import _is_above, _share_interval
from accredit.audit.attention import rank_agreement
from accredit.audit.finding import interval_of, interval_of_pairs
from accredit.audit.probes import _order_and_size
from accredit.core import Attribution, Known
from accredit.errors import InvalidInput
from accredit.evaluate import (
    AOPC,
    Comprehensiveness,
    Deletion,
    DropAt,
    Insertion,
    LinearDatamodelingScore,
    LogOdds,
    NotApplicable,
    PostHocAccuracy,
    SensitivityN,
    auprc,
    bootstrap,
    measure,
)
from accredit.evaluate.bootstrap import sign_flips
from accredit.evaluate.data import linear_datamodeling_score, mislabel_auc
from accredit.explanation.flows import beside_uniform
from accredit.games import FunctionGame, TableGame
from accredit.games.textbook import bankruptcy
from accredit.gradients.concepts import Concept, _measure, _p_value, concept_vector
from accredit.labels.row_views import scale
from accredit.learned import Tabular, batches
from accredit.learned.columns import Columns
from accredit.learned.training_checks import uneven_columns
from accredit.learned.valuers import CoalitionTargets, NetworkInputs, fit
from accredit.rows.backgrounds import _points
from accredit.rows.frames import rows_of
from accredit.rows.normal import covariance
from accredit.training_data.features import features
from accredit.training_data.suspects import RowFacts, harmful
from accredit.training_data.tables import _standardise
from accredit.valuation.datamodels import fit_datamodels
from accredit.valuation.harmonics import SUBSETS_NEEDED, harmonic_facts, read
from accredit.valuation.resolution import resolution
from accredit.valuation.scores import accuracy
from accredit.values import banzhaf, normalised_banzhaf
from accredit.values.leaving_out import leaving_out
from accredit.values.lime import fit_of
from accredit.values.report import report
from accredit.views.language.headlines import headline
from accredit.views.language.leaders import leaders
from accredit_papers.payoff_agreement import payoff_moves
from tests.wording import refused, says

THIRTY = 0.1 + 0.2  # one rounding more than 0.3
TENTHS = np.full((30, 1), 0.1)  # their mean is not 0.1


def test_the_numbers_are_as_said():
    assert THIRTY != 0.3 and TENTHS.mean() != 0.1 and TENTHS.std() > 0


# Columns that are constant


def test_a_constant_column_of_a_table_is_not_divided_by_rounding():
    """A test row that is 0.2 where all training rows are 0.1 became 3.6e15 standard deviations."""
    train, test = _standardise(TENTHS, np.array([[0.2]]))
    assert_allclose(train, 0, atol=1e-15)
    assert_allclose(test, 0.1)


def test_constant_columns_of_features_stay_what_they_are(tmp_path):
    assert_allclose(scale(TENTHS, "columns"), 0, atol=1e-15)
    np.save(tmp_path / "own.npy", np.append(TENTHS, [[0.2]], axis=0))
    found = features(str(tmp_path / "own.npy"), None, 31, np.arange(30))
    assert_allclose(found.scaled[-1], 0.1)


def test_constant_columns_have_a_spread_of_one_for_networks():
    assert Tabular.of(TENTHS).spread == (1.0,)
    assert Columns.of(rows_of(TENTHS)).each[0].spread == 1.0
    assert uneven_columns(Tabular(2), np.hstack([TENTHS, np.arange(30.0)[:, None]])) == []


def test_constant_columns_place_no_background_row():
    assert _points(rows_of(np.hstack([TENTHS, np.arange(30.0)[:, None]]))).shape == (30, 1)


def test_a_constant_column_goes_with_no_other():
    """In whole numbers the covariance is that of the other column and 1e-6; a row in which the constant differs then says
    nothing about the others."""
    rows = np.hstack([np.random.default_rng(0).normal(size=(30, 1)), TENTHS])
    found, whole = (covariance(x, np.full(30, 1 / 30)) for x in (rows, rows * [1, 0] + [0, 1]))
    assert_allclose(found, whole, rtol=1e-12, atol=0)


def test_outputs_that_never_change_do_not_choose_the_shrinkage_of_the_others():
    """R² of an output that is always 0.1 was −1e30, and its mean with the others chose between lasso and ridge."""
    rng = np.random.default_rng(0)
    masks = rng.random((60, 6)) < 0.5
    moves = masks @ rng.normal(size=6)
    outputs = np.column_stack([moves, np.where(masks[:, 0], 0.3, THIRTY)])
    found = fit_datamodels(tuple("abcdef"), ("moves", "stays"), masks, outputs, fraction=0.5)
    assert found.held_out is not None and abs(found.held_out[1]) <= 1


def test_a_number_that_is_always_the_same_teaches_nothing():
    x = np.random.default_rng(0).normal(size=(30, 2))
    answers = np.where(x[:, :1] > 0, 0.3, THIRTY)
    with refused("undefined"):
        batches.rows_of(Tabular(2), x, answers - answers.mean(), None, "answers", False)


def test_scores_that_are_all_the_same_have_no_size():
    _, size = _order_and_size(np.full((1, 3), 0.1), np.ones((1, 3), dtype=bool))
    assert size.tolist() == [[0.0, 0.0, 0.0]]


# Rows that agree


def test_rows_that_agree_but_for_rounding_prove_no_more_than_rows_that_agree():
    """The interval of ten rows that are all 0.3 is 0.31 wide on both sides; one rounding made it 1e-17."""
    same, rounded = np.full(10, 0.3), np.array([0.3] * 9 + [THIRTY])
    for found, wanted in zip(interval_of(rounded).ends, interval_of(same).ends, strict=True):
        assert found == pytest.approx(wanted)
    nothing = np.array([0.0] * 9 + [THIRTY - 0.3])
    assert interval_of(nothing).ends == pytest.approx(interval_of(np.zeros(10)).ends)
    pairs = interval_of_pairs(rounded, np.arange(10), np.roll(np.arange(10), 1), 10)
    assert pairs.ends == pytest.approx(interval_of(same).ends)


def test_examples_that_agree_but_for_rounding_have_no_spread():
    assert bootstrap(np.array([0.3] * 9 + [THIRTY])).precision.known is Known.UNKNOWN
    ones = bootstrap(np.array([1.0] * 9 + [1 - 2**-53]), within=(0, 1))
    assert (ones.low, ones.high) == pytest.approx((0.69, 1.0), abs=0.01)


def test_methods_as_good_as_the_best_but_for_rounding_show_no_spread():
    class Scores:
        rows = 10

        def share(self, name, index):
            return np.where(index == 9, 1 - 2**-48, 1.0).mean(axis=1)

    assert _share_interval(Scores(), "shapley", 0.95, 0).precision.known is Known.UNKNOWN


def test_signs_are_flipped_as_if_sums_were_exact():
    """0.1 + 0.1 + 0.1 − 0.3 is nothing, so every assignment of signs goes as far: p = 1."""
    assert sign_flips(np.array([[1.0], [1.0], [1.0], [-3.0]]))[0] == 1.0
    assert sign_flips(np.array([[0.1], [0.1], [0.1], [-0.3]]))[0] == 1.0


def test_equal_shares_of_inputs_are_not_a_finding():
    """Welch's t of scores that are all 0.3, against scores that are all 0.3 or all 0.7."""

    def concept(score):
        return Concept(np.full(10, score), np.zeros(1), 1.0)

    assert np.full(10, 0.3).std() > 0
    assert _p_value(concept(0.3), [concept(0.3)] * 3, "t") == 1.0
    assert _p_value(concept(0.3), [concept(0.7)] * 3, "t") == 0.0


def test_activations_that_are_equal_but_for_rounding_have_no_direction():
    with refused("undefined"):
        concept_vector(np.full((5, 2), 0.3), np.full((5, 2), THIRTY))


def test_ranks_of_what_is_equal_but_for_rounding_are_not_compared():
    even = np.array([[0.3, THIRTY, 0.3]])
    assert math.isnan(rank_agreement(even, np.array([[1.0, 2.0, 3.0]]), np.ones((1, 3), dtype=bool))[0])
    credit = beside_uniform(Attribution("abc", even[0], None, "by hand"), np.array([1.0, 2.0, 3.0]))
    assert "uniform_rank_correlation" not in credit.certificate


def test_subsets_that_all_earn_the_same_are_not_read():
    subsets = np.random.default_rng(0).random((4 * SUBSETS_NEEDED, 8)) < 0.5
    same = np.where(subsets[:, 0], 0.3, THIRTY)
    assert harmonic_facts(subsets, same, 0.5) == {}
    with refused("undefined"):
        read(subsets, same, 0.5)


# Who is first, who adds nothing, who is accused


def test_a_tie_of_answers_counts_its_fair_share():
    assert accuracy(np.array([[[THIRTY, 0.3]]]), np.array([1])).tolist() == [0.5]


def test_rounding_accuses_nobody():
    credit = np.zeros(12)
    credit[3], credit[5] = 0.3 - THIRTY, 1.0
    values = Attribution(tuple("abcdefghijkl"), credit, 1.0, "by hand")
    assert harmful(values, RowFacts({"d": "spam"}, {})) == ()


def test_a_total_of_rounding_is_no_share_to_measure_by():
    interval = np.array([[-1.2, 1.4], [-1.4, 1.2]])
    zero, rounded = (
        Attribution(("a", "b"), [0.1, -0.1], total, "by hand", interval=interval, payoffs=100) for total in (0.0, THIRTY - 0.3)
    )
    assert resolution(zero) == resolution(rounded) == ()


def test_the_whole_estate_may_be_claimed_in_any_order():
    assert bankruptcy(0.1 + 0.2 + 0.3, {"a": 0.3, "b": 0.2, "c": 0.1}).players == ("a", "b", "c")


def test_a_player_who_adds_rounding_adds_nothing():
    game = TableGame(("a", "b"), [0, 0.3, 0, THIRTY])
    assert says(report(game).reading, "b adds nothing")
    lifted = TableGame(("a", "b"), [THIRTY - 0.3, 0.3, 0, 0.3])
    assert says(report(lifted).reading[0], "together earns 0.3")


def test_leave_one_out_of_an_additive_game_is_enough_whoever_rounding_puts_first():
    found = leaving_out(FunctionGame("abcd", lambda s: s[:, 1] * 0.2 + s[:, 2] * 0.3 + s[:, 0] * 0.1 + s[:, 3] * 0.3))
    assert found.loo.argmax() != found.shapley.argmax()
    assert found.enough is True and found.same_order
    nothing = leaving_out(FunctionGame("ab", lambda s: np.where(s[:, 0], 0.3, THIRTY)))
    assert nothing.share_above == 0


def test_precision_and_recall_do_not_tell_equal_scores_apart():
    marked = np.array([True, False, False])
    for scores in ([0.3, THIRTY, 0.1], [THIRTY, 0.3, 0.1]):
        assert auprc(np.array(scores), marked) == auprc(np.array([3.0, 3.0, 1.0]), marked) == 0.5


def test_wrong_rows_are_not_below_right_ones_by_rounding():
    wrong = [True, False, False]
    for credit in ([0.3, THIRTY, 0.5], [THIRTY, 0.3, 0.5]):
        assert mislabel_auc(np.array(credit), wrong).value == mislabel_auc(np.array([3.0, 3.0, 5.0]), wrong).value == 0.75


def test_sums_of_scores_tie_in_any_order_of_summation():
    """Row sums of three tenths, 0.1 + 0.2 beside 0.3: the subsets tie, as they do in whole numbers."""
    subsets = np.array([[1, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 1]], dtype=bool)
    outputs = np.array([2.0, 1.0, 0.0, 3.0])
    tenths, whole = (linear_datamodeling_score(np.array([1.0, 2, 3]) / unit, subsets, outputs) for unit in (10, 1))
    assert tenths.value == whole.value < 1


@pytest.mark.parametrize(
    "metric", [Deletion(), Insertion(), AOPC(), DropAt(1), Comprehensiveness((0.3,))], ids=lambda m: m.name
)
def test_equal_players_leave_in_their_own_order(metric):
    """a and c earn 0.3 in one order of summation and in the other; a is taken first, as by credit in whole numbers."""
    game = FunctionGame("abc", lambda s: s @ [0.3, 0.1, 0.3] + 0.7 * s[:, 0])
    plans = [
        metric.plan(Attribution("abc", np.array(credit), None, "by hand"))
        for credit in ([3.0, 1.0, 3.0], [0.3, 0.1, THIRTY], [THIRTY, 0.1, 0.3])
    ]
    assert (plans[0] == plans[1]).all() and (plans[0] == plans[2]).all()
    assert measure(metric, game, Attribution("abc", [0.3, 0.1, THIRTY], None, "by hand")) > 0


def test_half_of_a_vote_is_not_above_half():
    even = FunctionGame("ab", lambda s: np.where(s.all(axis=1), 0.5 + 2**-53, 0.5), blur=1e-9)
    assert measure(PostHocAccuracy(fraction=0.5), even, Attribution("ab", [1.0, 0.0], 0.0, "by hand", blur=1e-9)) == 1.0


def test_a_certain_answer_in_single_precision_is_a_probability():
    """A sum of shares in float32 may be one rounding above 1."""
    sure = FunctionGame("ab", lambda s: np.where(s[:, 0], 1 + 2.0**-23, 0.5))
    assert measure(LogOdds(), sure, Attribution("ab", [1.0, 0.0], 0.5, "by hand")) < 0


def test_losses_that_are_rounding_correlate_with_nothing():
    """A network of single precision that does not listen: its losses are noise, and say so."""
    noise = np.random.default_rng(0).normal(size=16) * 1e-7
    deaf = FunctionGame("abcd", lambda s: 1 + noise[s @ [1, 2, 4, 8]], blur=1e-5)
    credit = Attribution("abcd", [4.0, 3.0, 2.0, 1.0], None, "by hand", blur=1e-5)
    for metric in (SensitivityN(), LinearDatamodelingScore()):
        with pytest.raises(NotApplicable):
            measure(metric, deaf, credit)


def test_an_oracle_is_not_a_tie_because_payoffs_are_large():
    """Its scores are in a unit of their own: ranks of payoffs, which are small beside a payoff of 1e9."""
    game = FunctionGame("abcd", lambda s: 1e9 * (s @ [4.0, 3.0, 2.0, 1.0]))
    for metric in (SensitivityN(), LinearDatamodelingScore()):
        assert measure(metric, game, metric.oracle(game)) > 0.9


def test_banzhaf_values_that_add_up_to_rounding_are_not_scaled_by_it():
    """In exact arithmetic they add up to zero; single precision leaves 1e-8, and a scale of millions."""
    table = [0.0, 1.0, -1.0, 1e-8]
    assert abs(banzhaf(FunctionGame("ab", lambda s: np.array(table)[s @ [1, 2]])).credit.sum()) > 0
    with pytest.raises(InvalidInput, match="cannot be scaled"):
        normalised_banzhaf(FunctionGame("ab", lambda s: np.array(table)[s @ [1, 2]], blur=1e-6))


def test_a_report_believes_what_a_game_says_of_its_rounding():
    game = FunctionGame("ab", lambda s: s[:, 0] + 1e-8 * s[:, 1], blur=1e-7)
    assert says(report(game).reading, "b adds nothing")


def test_leave_one_out_of_blurred_payoffs_is_in_the_same_order():
    """a and b are equal, but for rounding: what they earn alone puts a first, what is left without them puts b first."""
    paid = np.array([0.0, 1 + 5e-7, 1.0, 2.0, 0.0, 1.0, 1 + 1e-7, 2.0])

    def game(blur):
        return FunctionGame("abc", lambda s: paid[s @ [1, 2, 4]], blur=blur)

    assert not leaving_out(game(0.0)).same_order
    assert leaving_out(game(1e-6)).same_order


def test_credit_that_is_rounding_has_no_sign_and_no_first():
    game = FunctionGame("abc", lambda s: s[:, 0] - 1e-9 * s[:, 1] + 1e-9 * s[:, 2], blur=1e-7)
    plain = FunctionGame("abc", lambda s: s[:, 0] * 1.0, blur=1e-7)
    moved = payoff_moves({"plain": plain, "rounded": game})
    assert moved.signs[0, 1] == 1.0 and moved.ranks[0, 1] == 1.0
    one, other = (FunctionGame("ab", lambda s, w=w: s @ w) for w in ([0.3, THIRTY], [THIRTY, 0.3]))
    even = payoff_moves({"one": one, "other": other})
    assert even.first == ("a", "a")


def test_slopes_that_cancel_but_for_rounding_do_not_point_to_a_concept():
    """0.1 + 0.2 − 0.3 along a direction is nothing, in either order of summation."""
    slopes = np.array([[0.1, 0.2, -0.3], [0.2, 0.1, -0.3]])
    direction, _ = concept_vector(np.ones((4, 3)), -np.ones((4, 3)))
    assert_allclose(direction, direction[0])
    found = _measure(np.ones((4, 3)), -np.ones((8, 3)), slopes, 2, 1.0, np.random.default_rng(0))
    assert found.scores.tolist() == [0.0, 0.0]


def test_an_oracle_above_chance_by_rounding_is_no_scale():
    top, chance = np.array([0.3 + 1e-9, 0.5, 0.0]), np.array([0.3, 0.3, 0.0])
    assert _is_above(top, chance).tolist() == [False, True, False]


def test_nobody_earned_most_of_what_is_rounding():
    rounded = Attribution("ab", [1e-9, -1e-9], 0.0, "by hand", blur=1e-7)
    assert leaders(rounded).nothing and "most" not in headline(rounded).text


def test_payoffs_that_differ_by_rounding_are_not_learned():
    """Payoffs that differ by rounding were divided by its variance, and learned."""
    rng = np.random.default_rng(0)
    shown = rng.random((20, 4, 3)) < 0.5
    rounding = 1e-8 * rng.normal(size=(20, 4, 2))
    seen = NetworkInputs(rng.normal(size=(20, 3)).astype(np.float32), np.tile(np.arange(3), (20, 1)))
    asked = CoalitionTargets(shown, rounding, np.zeros((20, 2)), blur=1e-6)
    with pytest.raises(InvalidInput, match="earns the same"):
        fit(nn.Identity(), seen, asked, epochs=1, patience=1, batch=8, rate=0.1, seed=0)


def test_a_line_fits_payoffs_that_are_all_the_same():
    earned = np.array([0.3, THIRTY, 0.3, THIRTY])
    assert fit_of(earned, np.full(4, 0.3), np.ones(4)) == fit_of(np.full(4, 0.3), np.full(4, 0.3), np.ones(4)) == 1.0
