import json
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import accredit
from accredit.core import Claim, Holds, Interactions, Precision
from accredit.errors import InvalidInput
from accredit.games import FunctionGame, TableGame
from tests.random_games import games
from tests.wording import refused, says

finite = st.floats(-1e300, 1e300)
ABC = TableGame("ABC", [0, 50, 20, 75, 25, 80, 90, 100])


@pytest.mark.slow
@given(st.lists(st.tuples(finite, finite, finite), min_size=6, max_size=6), st.text(max_size=5))
@settings(deadline=None)
def test_json_brings_back_every_bit(numbers, why):
    pairs = list(combinations(("a", "b", "<c>", "d\n"), 2))
    x = [n[0] for n in numbers]
    ends = [sorted(n[1:]) for n in numbers]
    kept = Interactions(
        ("a", "b", "<c>", "d\n"),
        "sii",
        why,
        dict(zip(pairs, x, strict=True)),
        (Claim("symmetry", Holds.EXACTLY, why),),
        np.abs(x),
        ends,
        0.9,
        Precision.interval(why),
        2.5,
        7,
        3,
    )
    back = Interactions.from_json(kept.to_json())
    assert back == kept and list(back) == list(kept) and np.array_equal(back.interval, kept.interval)
    assert back.to_json() == kept.to_json()


@pytest.mark.slow
@given(games(most=5), st.sampled_from(["k-sii", "sii", "fbii", "mobius"]))
@settings(deadline=None, max_examples=30)
def test_real_results_travel_too(game, index):
    found = accredit.interactions(game, index, 1)
    assert Interactions.from_json(found.to_json()) == found


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"kind": "attribution"}, "kind"),
        ({"format": 9}, "format"),
        ({"extra": 1}, "unknown field"),
        ({"values": [[["A"], 1.0], [["A"], 2.0]]}, "listed twice"),
        ({"values": [[["A", "B"], 1.0], [["B", "A"], 2.0]]}, "twice"),
        ({"values": [[["D"], 1.0]]}, "unknown player"),
        ({"values": []}, "empty"),
        ({"values": 3}, "damaged"),
        ({"precision": {"known": "interval", "because": ""}}, "interval"),
    ],
)
def test_damaged_json_is_refused(change, match):
    data = json.loads(accredit.shapley_interactions(ABC).to_json()) | change
    with pytest.raises(InvalidInput, match=match):
        Interactions.from_json(json.dumps(data))


def test_a_matrix_holds_pairs_or_is_refused():
    square = accredit.shapley_interactions(ABC).matrix()
    assert square.tolist() == [[0, -20, -20], [-20, 0, 20], [-20, 20, 0]]
    several = accredit.interactions(ABC, "k-sii", 3)
    assert several.matrix()[0, 1] == several["A", "B"] and several.matrix()[0, 0] == 0
    for order in (1, 3):
        with refused("missing"):
            accredit.shapley_interactions(ABC, order).matrix()


def test_sizes_are_those_of_the_kind_of_index():
    assert accredit.shapley_interactions(ABC).sizes == accredit.banzhaf_interactions(ABC).sizes == (2,)
    for name in ("mobius", "k-sii", "stii", "fsii", "fbii"):
        assert accredit.interactions(ABC, name).sizes == (0, 1, 2)
    assert accredit.mobius(ABC, 2).sizes == (2,) and accredit.mobius(ABC).sizes == (0, 1, 2, 3)


def test_parts_no_longer_claim_to_add_up():
    found = accredit.interactions(ABC, "k-sii")
    pairs = found.of_size(2)
    assert pairs.sizes == (2,) and pairs["B", "C"] == 20
    assert found.claims[0].holds is Holds.EXACTLY and pairs.claims[0].holds is Holds.NO
    assert found.top(2).strongest() == found.strongest(2) and () not in found.top(99).values
    with pytest.raises(InvalidInput, match="of size 3"):
        found.of_size(3)
    with pytest.raises(InvalidInput, match="count"):
        found.top(0)


def test_one_number_and_how_well_it_is_known():
    exact = accredit.shapley_interactions(ABC).estimate(("B", "C"))
    assert exact.low == exact.value == exact.high == 20
    game = FunctionGame([f"p{i}" for i in range(26)], lambda c: np.sin(c.sum(axis=1)) + c[:, 0] * c[:, 1])
    found = accredit.shapley_interactions(game, budget=300)
    one = found.estimate(("p1", "p0"))
    assert one.low < one.value < one.high and one.level == 0.95 and one.value == found["p0", "p1"]
    assert accredit.shapley_interactions(game, budget=10).estimate(("p0", "p1")).low is None


def test_as_a_frame():
    pytest.importorskip("pandas")
    frame = accredit.interactions(ABC, "stii").to_pandas()
    assert list(frame.columns) == ["coalition", "size", "interaction"] and len(frame) == 7
    assert frame["coalition"].iloc[-1] == ("B", "C") and frame["size"].tolist() == [0, 1, 1, 1, 2, 2, 2]
    game = FunctionGame([f"p{i}" for i in range(26)], lambda c: np.sin(c.sum(axis=1)))
    assert {"stderr", "low", "high"} <= set(accredit.shapley_interactions(game, budget=100).to_pandas().columns)


def test_printed_and_on_a_page():
    found = accredit.interactions(ABC, "k-sii")
    shown = str(found)
    assert says(" ".join(shown.splitlines()[:2]), "of 6 coalitions") and "B + C" in shown and "exact" in shown
    page = found._repr_html_()
    assert "complement each other" in page and "top order" in page and "<script" not in page
    many = FunctionGame([f"p{i}" for i in range(30)], lambda c: c[:, 0] * c[:, 1])
    estimated = accredit.shapley_interactions(many, budget=200)
    assert "395 more coalitions" in str(estimated) and "95% interval" in str(estimated)
    drawn = estimated._repr_html_()
    assert says(drawn, "of 30 players") and "395 more coalitions" in drawn


@pytest.mark.parametrize(
    "which",
    [
        0,
        None,
        ...,
        slice(0, 2),
        slice("A", "B"),
        [["A", "B"]],
        np.array([["A", "B"]]),
        np.array(0),
        np.array([0, 1]),
        1.5,
        b"AB",
        [None],
        [True, False],
        ["A", "Z"],
        [],
        "A",
        object(),
    ],
)
def test_what_is_not_a_coalition_is_refused_in_words(which):
    pairs = Interactions(("A", "B", "C"), "sii", "by hand", {("A", "B"): -20.0, ("B", "C"): 20.0})
    with pytest.raises(InvalidInput, match=r"is not a coalition|unknown player|there is no number of the coalition"):
        pairs[which]


@pytest.mark.parametrize("which", [("C", "B"), ["B", "C"], {"C", "B"}, np.array(["C", "B"]), list("CB")])
def test_a_coalition_is_its_members_in_any_order(which):
    assert Interactions(("A", "B", "C"), "sii", "by hand", {("A", "B"): -20.0, ("B", "C"): 20.0})[which] == 20
