"""What arithmetic can blur: one number, known where payoffs are made, and every comparison keeps to it."""

import json

import numpy as np
import pytest

from accredit import Attribution, FunctionGame, TableGame, cached, check_claims, grouped, shapley
from accredit.core import Claim, Holds
from accredit.core.rounding import DOUBLE, SINGLE, blur, blur_of, nearly, precision_of
from accredit.evaluate import ClaimRefuted, axioms_kept
from accredit.games import counted, restricted
from accredit.values import banzhaf, leave_one_out

NAMES = tuple("abcdef")


def network(seed=0, size=40.0):
    """A network in single precision whose sums depend on the shape of the batch, as a BLAS's do: (batch, 6) -> (batch,)."""
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(6, 64)).astype(np.float32), rng.normal(size=64).astype(np.float32)
    first[2] = 0  # player c is nothing to it

    def outputs(coalitions):
        hidden = np.maximum(coalitions.astype(np.float32) @ first, 0) * second
        parts = np.array_split(np.arange(64), 1 + len(coalitions) % 7)
        total = np.zeros(len(coalitions), dtype=np.float32)
        for part in parts:
            total += hidden[:, part].sum(axis=1)
        return (total + np.float32(size)).astype(np.float64)

    return outputs


def game(size=40.0):
    whole = network(size=size)(np.ones((1, 6), bool))
    return FunctionGame(NAMES, network(size=size), blur=blur(float(np.abs(whole).max()), SINGLE))


def test_the_same_coalition_in_another_batch_has_other_digits():
    found = {float(network()(np.ones((rows, 6), bool))[0]) for rows in range(1, 15)}
    assert len(found) > 1
    assert max(found) - min(found) <= game().blur


@pytest.mark.parametrize("value", [shapley, banzhaf, leave_one_out], ids=lambda value: value.__name__)
@pytest.mark.parametrize("size", [0.0, 40.0, 4000.0])
def test_an_honest_credit_is_not_refuted_by_the_shape_of_a_batch(value, size):
    verdicts = {f.axiom: f.verdict for f in check_claims(value(game(size)), game(size))}
    assert verdicts["null player"] == "kept"
    assert "broken" not in verdicts.values()


def test_told_that_nothing_blurs_it_a_game_refutes_its_own_credit():
    """Why the number is needed: the ends are asked again in a batch of two, and some networks then pay otherwise."""
    refuted = 0
    for seed in range(20):
        sharp = FunctionGame(NAMES, network(seed))
        try:
            check_claims(shapley(sharp), sharp)
        except ClaimRefuted:
            refuted += 1
    assert refuted > 0


def test_a_wrong_credit_is_still_refuted():
    honest = shapley(game())
    for moved in (4 * game().blur, 1e-3):
        wrong = Attribution(NAMES, honest.credit + np.eye(6)[2] * moved, honest.total, "moved", honest.claims)
        with pytest.raises(ClaimRefuted):
            check_claims(wrong, game())


def test_blur_goes_through_games_made_from_games():
    plain = game()
    made = [cached(plain), counted(plain), grouped(plain, {"ab": ["a", "b"]}), restricted(plain, ["a", "b"], ["c"])]
    assert {blur_of(one) for one in made} == {plain.blur} and plain.blur > 0
    assert shapley(cached(plain)).blur == plain.blur
    assert blur_of(TableGame("ab", [0, 5, 3, 10])) == 0.0 == shapley(TableGame("ab", [0, 5, 3, 10])).blur


def test_a_result_keeps_its_blur_and_old_files_are_read():
    found = shapley(game())
    again = Attribution.from_json(found.to_json())
    assert again == found and again.rounding == found.blur + blur(
        max(np.abs(found.credit).max(), abs(found.total), abs(found.baseline), abs(found.baseline + found.total))
    )
    older = {key: value for key, value in json.loads(found.to_json()).items() if key != "blur"}
    assert Attribution.from_json(json.dumps(older)).blur is None


def test_precision_is_seen_from_type_or_digits():
    thirds = np.arange(1.0, 9.0) / 3
    assert precision_of(thirds) == DOUBLE
    assert precision_of(thirds.astype(np.float32)) == SINGLE == precision_of(thirds.astype(np.float32).astype(float))
    assert precision_of(thirds.astype(np.float16)) == float(np.finfo(np.float16).eps)
    assert precision_of(np.array([0.0, 5.0, 3.0, 0.25])) == DOUBLE  # whole numbers are exact in any precision


def test_half_precision_hides_less_than_sixty_four_roundings():
    eps = 2.0**-7
    assert nearly(np.array([8.0]), np.array([8.0 + 3.9 * eps * 8]), eps)
    assert not nearly(np.array([8.0]), np.array([8.0 + 4.1 * eps * 8]), eps)
    assert not nearly(np.zeros(2), np.zeros(3), SINGLE)


def test_axioms_of_a_blurred_game_are_kept_and_a_false_claim_is_not():
    assert {f.axiom for f in axioms_kept(shapley, game()) if f.verdict == "broken"} == set()
    lazy = leave_one_out(game())
    claims = (Claim("efficiency", Holds.EXACTLY, "so it is said"),)
    with pytest.raises(ClaimRefuted, match="efficiency"):
        check_claims(Attribution(NAMES, lazy.credit, lazy.total, "loo", claims), game())
