"""Results as text: what was shared is said only where it was."""

from accredit.games import TableGame
from accredit.values import leave_one_out, shapley
from tests.wording import reads


def test_a_part_and_a_rule_that_is_not_efficient_do_not_say_that_all_was_shared():
    game = TableGame("abc", [0, 50, 20, 75, 25, 80, 90, 100])
    said = [str(result).partition("\n")[0] for result in (shapley(game).top(1), leave_one_out(game), shapley(game))]
    assert reads(said)


def test_rounding_reads_0_and_has_no_bar():
    noise = str(shapley(TableGame("ab", [0, 2.0, 1e-14, 2.0 + 2e-14])))
    assert [line.split()[:2] for line in noise.splitlines()[2:4]] == [["a", "2"], ["b", "0"]]
    assert "0.5" in str(shapley(TableGame("ab", [0, 1e9, 0.5, 1e9 + 0.5])))  # small, and no rounding
    assert "█" not in str(leave_one_out(TableGame("ab", [0, 2.0, 2.0, 2.0 + 1e-12])))
    assert "█" in str(leave_one_out(TableGame("ab", [0, 2.0, 2.0, 2.1])))
