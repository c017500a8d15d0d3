"""Credit in several outputs at once: a mapping, a matrix, and what is written and read back."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accredit.core import Attribution, Attributions
from accredit.errors import InvalidInput
from tests.wording import reads, refused

finite = st.floats(allow_nan=False, allow_infinity=False)
PLAYERS = ("alice", "bob", "carol")


def grades():
    credits = {"maths": [6, -4, 1], "music": [1, 2, -9]}
    each = {name: Attribution(PLAYERS, credit, 3, "by hand", payoffs=8) for name, credit in credits.items()}
    return Attributions(each, payoffs=8)


def test_is_a_mapping_from_output_to_attribution_and_a_matrix():
    found = grades()
    assert found.players == PLAYERS
    assert (found.outputs, len(found), list(found)) == (("maths", "music"), 2, ["maths", "music"])
    assert found.credit.tolist() == [[6, 1], [-4, 2], [1, -9]]
    assert dict(found) == dict(found.items())
    assert found["music"]["carol"] == -9
    assert "music" in found and "sports" not in found


def test_ranks_by_one_output_and_cuts_by_any():
    found = grades()
    assert found.ranked("music").players == ("bob", "alice", "carol")
    assert found.ranked("music").credit.tolist() == [[-4, 2], [6, 1], [1, -9]]
    assert found.top(2).players == ("carol", "alice")
    assert found.top(2)["maths"] == found["maths"][["carol", "alice"]]


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.lists(st.text(max_size=5), min_size=1, max_size=4, unique=True),
    st.lists(finite, min_size=2, max_size=2),
    st.none() | st.integers(0, 10**9),
)
def test_json_gives_back_equal_attributions(outputs, credit, payoffs):
    each = {name: Attribution(("x", "y"), credit, None, f"m{k}", seed=k) for k, name in enumerate(outputs)}
    found = Attributions(each, payoffs)
    assert Attributions.from_json(found.to_json()) == found
    assert Attributions.from_json(found.to_json()).outputs == tuple(outputs)  # in their order


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "attribution"},
        {"format": 99},
        {"by_output": {"maths": None}},
        {"by_output": [["maths", {}], ["maths", {}]]},
        {"by_output": []},
        {"payoffs": {}, "by_output": 3},
    ],
)
def test_damaged_json_is_refused(change):
    with pytest.raises(InvalidInput):
        Attributions.from_json(json.dumps(json.loads(grades().to_json()) | change))


def test_refuses():
    with refused("unknown"):
        grades()["sports"]
    with pytest.raises(InvalidInput, match="outputs is empty"):
        Attributions({})
    with pytest.raises(InvalidInput, match="different players"):
        Attributions(dict(grades().items()) | {"art": Attribution(("x",), [1], 1, "m")})
    with pytest.raises(InvalidInput, match="count must be"):
        grades().top(0)


def test_is_frozen():
    found = grades()
    with pytest.raises(AttributeError):
        found.payoffs = 3
    each = dict(found.items())
    kept = Attributions(each)
    each.clear()
    assert kept.outputs == ("maths", "music")


def test_prints_a_table_with_one_column_per_output():
    assert reads(str(grades()).splitlines())
    many = Attributions({f"<b>{k}": Attribution(("x", "y"), [1, 2], 3, "m") for k in range(12)})
    assert "2 more outputs" in str(many)
    assert "&lt;b&gt;0" in many._repr_html_() and "<b>0" not in many._repr_html_()


def test_levels_of_a_choice_and_rules_are_called_so():
    from accredit.games import ChoiceTable
    from accredit.values import multichoice, multichoices

    effort = ChoiceTable(("ann", "bob"), [[0, 1, 4], [2, 5, 9]])
    for found in (multichoices(effort), multichoice(effort, "orders")):
        first, *lines = str(found).splitlines()
        assert reads(first) and any(line.startswith("level ") for line in lines)


def test_is_a_data_frame_of_players_by_outputs():
    frame = grades().to_pandas()
    assert frame.loc["carol", "music"] == -9
    assert np.array_equal(frame.to_numpy(), grades().credit)


@pytest.mark.parametrize(
    "which",
    [
        0,
        7,
        None,
        ...,
        slice(0, 1),
        slice("maths", "music"),
        ["maths"],
        [["maths"]],
        np.array(["maths", "music"]),
        np.array([0, 1]),
        True,
        1.5,
        b"maths",
        {"maths"},
        object(),
    ],
)
def test_what_is_not_an_output_is_refused_by_the_outputs_there_are(which):
    one = Attribution("ab", [1, 2], 3, "by hand")
    with refused("unknown"):
        Attributions({"maths": one, "music": one})[which]


def test_a_numbered_output_may_be_asked_for_by_its_number():
    one = Attribution("ab", [1, 2], 3, "by hand")
    assert Attributions({"1": one, "2": one})[2] is one
