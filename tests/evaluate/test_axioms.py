from dataclasses import replace

import numpy as np
import pytest

from accredit.core import Attribution, Claim, Holds
from accredit.evaluate import ClaimRefuted, axioms_kept, check_claims
from accredit.evaluate.axioms import equal_players, null_players
from accredit.games import FunctionGame, TableGame
from accredit.values import banzhaf, leave_one_out, shapley
from tests.random_games import random_games
from tests.wording import refused

CORNER = TableGame(("TL", "TR", "BL", "BR"), [float(s & 7 == 7) for s in range(16)])


def claiming(axiom, holds=Holds.EXACTLY):
    return (Claim(axiom, holds, "for the test"),)


def test_finds_null_and_equal_players():
    assert null_players(CORNER.table) == [3]
    assert equal_players(CORNER.table) == [(0, 1), (0, 2), (1, 2)]
    assert null_players(np.zeros(8)) == [0, 1, 2] and len(equal_players(np.zeros(8))) == 3
    for game in random_games(players=4, count=3, seed=0):
        assert not null_players(game.table) and not equal_players(game.table)


@pytest.mark.parametrize(
    ("axiom", "credit", "witness"),
    [
        ("efficiency", [0.5, 0.5, 0.5, 0], "sum to 1.5"),
        ("symmetry", [0.5, 0.25, 0.25, 0], "'TL' and 'TR'|'TL' and 'BL'"),
        ("null player", [0.3, 0.3, 0.3, 0.1], "'BR' adds nothing and gets 0.1"),
    ],
)
def test_a_false_claim_is_refuted_with_its_witness(axiom, credit, witness):
    lie = Attribution(CORNER.players, credit, total=1, method="lie", claims=claiming(axiom))
    with pytest.raises(ClaimRefuted, match=witness):
        check_claims(lie, CORNER)
    honest = replace(lie, claims=claiming(axiom, Holds.NO))
    assert [f.verdict for f in check_claims(honest, CORNER)] == ["untested"]


def test_linearity_needs_the_method_and_refutes_squares():
    def squares(game):
        return Attribution(game.players, shapley(game).credit ** 2, total=None, method="squares", claims=claiming("linearity"))

    game = next(random_games(players=3, count=1, seed=1))
    assert check_claims(squares(game), game)[0].verdict == "untested"
    with pytest.raises(ClaimRefuted, match="2v \\+ w"):
        check_claims(squares(game), game, squares)


def test_statistical_claims_are_held_to_their_standard_errors():
    off = Attribution(
        CORNER.players,
        [0.34, 0.33, 0.33, 0.01],
        total=1,
        method="m",
        claims=claiming("null player", Holds.IN_EXPECTATION),
    )
    assert check_claims(off, CORNER)[0].verdict == "untested"
    assert check_claims(replace(off, stderr=np.full(4, 0.01)), CORNER)[0].verdict == "kept"
    with pytest.raises(ClaimRefuted):
        check_claims(replace(off, stderr=np.full(4, 1e-4)), CORNER)


def test_which_axioms_a_method_keeps():
    def equal_split(game):
        v = game.payoff(np.ones((1, len(game.players)), bool))[0] - game.payoff(np.zeros((1, len(game.players)), bool))[0]
        return Attribution(game.players, np.full(len(game.players), v / len(game.players)), total=v, method="equal split")

    def first_takes_all(game):
        split = shapley(game).credit
        return Attribution(game.players, np.eye(len(split))[0] * split.sum(), total=split.sum(), method="first takes all")

    def broken(method, game):
        return [f.axiom for f in axioms_kept(method, game) if f.verdict == "broken"]

    for game in random_games(players=4, count=3, seed=2):
        assert broken(shapley, game) == []
        assert broken(banzhaf, game) == ["efficiency"]
        assert broken(leave_one_out, game) == ["efficiency"]
        assert broken(equal_split, game) == ["null player"]
        assert broken(first_takes_all, game) == ["symmetry"]


def test_large_games_are_untested_not_passed():
    game = FunctionGame([str(i) for i in range(40)], lambda c: c.sum(axis=1))
    fine = Attribution(
        game.players,
        np.ones(40),
        total=40,
        method="m",
        claims=(*claiming("efficiency"), *claiming("symmetry"), *claiming("null player")),
    )
    assert [f.verdict for f in check_claims(fine, game)] == ["kept", "untested", "untested"]


@pytest.mark.parametrize("players", [6, 18])
def test_rounding_refutes_no_claim_where_everything_cancels(players):
    """Odd coalitions earn 1: all credits and their sum are zero, but for the rounding of payoffs of size 1."""
    size = np.bitwise_count(np.arange(1 << players))
    parity = TableGame([str(i) for i in range(players)], size % 2)
    credit = np.full(players, 1e-15)
    check_claims(Attribution(parity.players, credit, 0, "by hand", shapley(parity).claims), parity)
    with pytest.raises(ClaimRefuted, match="efficiency"):
        check_claims(Attribution(parity.players, credit + 1e-3, 0, "by hand", shapley(parity).claims), parity)


def test_rounding_of_a_large_constant_refutes_no_claim():
    constant = TableGame("abc", np.full(8, 7e9))
    claims = shapley(constant).claims
    check_claims(Attribution("abc", [1e-9, 0, 0], 0, "by hand", claims), constant)
    with refused("refuted", kind=ClaimRefuted):
        check_claims(Attribution("abc", [1e-3, -1e-3, 0], 0, "by hand", claims), constant)


def test_claims_are_tested_by_name_whatever_the_order():
    game = TableGame(tuple("abcd"), np.random.default_rng(0).normal(size=16))
    found = shapley(game)
    assert [f.verdict for f in check_claims(found.ranked(), game)] == [f.verdict for f in check_claims(found, game)]
    check_claims(found.top(2), game)
    strangers = replace(found, players=tuple("wxyz"))
    with refused("conflict", "attribution"):
        check_claims(strangers, game)


@pytest.mark.parametrize("holds", [Holds.EXACTLY, Holds.IN_EXPECTATION, Holds.IN_THE_LIMIT])
def test_a_part_of_the_players_does_not_share_everything(holds):
    """Of a majority of three, two get one half each: their credits add up to v(N), and the third is not there."""
    majority = TableGame("abc", [0, 0, 0, 1, 0, 1, 1, 1])
    part = Attribution("ab", [0.5, 0.5], 1, "by hand", (Claim("efficiency", holds, "so it is said"),), stderr=[0.1, 0.1])
    with refused("refuted", kind=ClaimRefuted):
        check_claims(part, majority)
    honest = shapley(majority)[:2]
    assert [f.verdict for f in check_claims(honest, majority)] == ["untested", "kept", "untested", "untested"]
