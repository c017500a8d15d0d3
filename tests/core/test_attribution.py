import json
import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accredit.core import Attribution, Claim, Estimate, Holds, Known, Precision, Selection
from accredit.errors import InvalidInput
from tests.wording import refused

finite = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def known(draw, n):
    """Standard errors, interval and precision as they go together."""
    rows = st.lists(st.tuples(finite, finite).map(sorted), min_size=n, max_size=n)
    errors = st.none() | st.lists(finite.map(abs), min_size=n, max_size=n)
    why = draw(st.text(max_size=5))
    return draw(
        st.sampled_from([{"precision": Precision.exact(why)}, {"precision": Precision.unknown(why), "stderr": draw(errors)}])
        | st.just({"precision": Precision.interval(why), "stderr": draw(errors), "interval": draw(rows)})
    )


@st.composite
def attributions(draw):
    players = draw(st.lists(st.text(max_size=8), min_size=1, max_size=6, unique=True))
    n = len(players)
    numbers = st.lists(finite, min_size=n, max_size=n)
    return Attribution(
        tuple(players),
        draw(numbers),
        total=draw(st.none() | finite),
        method=draw(st.text(max_size=10)),
        claims=tuple(Claim(a, draw(st.sampled_from(Holds)), draw(st.text(max_size=5))) for a in ("efficiency", "symmetry")),
        **draw(known(n)),
        level=0.95,
        baseline=draw(st.none() | finite),
        payoffs=draw(st.none() | st.integers(0, 10**9)),
        seed=draw(st.none() | st.integers(0, 10**9)),
        certificate={"gap": draw(finite), "cut": [[1, 2], [3, 4]], "rule": "barrier", "deep": {"x": None, "ok": True}},
    )


@pytest.mark.slow
@settings(deadline=None)
@given(attributions())
def test_json_gives_back_an_equal_attribution(attribution):
    again = Attribution.from_json(attribution.to_json())
    assert again == attribution
    assert again.credit.tobytes() == attribution.credit.tobytes()
    assert json.loads(attribution.to_json())["kind"] == "attribution"


@pytest.mark.parametrize(
    ("given", "known", "words"),
    [
        ({}, Known.UNKNOWN, ""),
        ({"stderr": [0.1, 0.1]}, Known.UNKNOWN, ""),
        ({"interval": [(0, 2), (1, 3)]}, Known.INTERVAL, ""),
        ({"precision": Precision.exact()}, Known.EXACT, "exact: there is no sampling error"),
        ({"precision": Precision.unknown("two draws")}, Known.UNKNOWN, "no interval: two draws"),
        ({"interval": [(0, 2), (1, 3)], "precision": Precision.interval("Student t")}, Known.INTERVAL, "Student t"),
    ],
)
def test_a_result_says_how_well_it_is_known(given, known, words):
    found = Attribution(("x", "y"), [1, 2], 3, "m", **given)
    assert found.precision.known is known and found.interval_because == words
    assert found.exact == (known is Known.EXACT)
    ends = {Known.EXACT: (1, 1), Known.INTERVAL: (0, 2), Known.UNKNOWN: (None, None)}[known]
    one = found.estimate("x")
    assert (one.value, one.low, one.high) == (1, *ends)
    assert one.above(0.5) is {Known.EXACT: True, Known.INTERVAL: False, Known.UNKNOWN: None}[known]
    assert Attribution.from_json(found.to_json()).precision == found.precision
    assert found[["y"]].ranked().precision == found.precision


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"interval": [(0, 2), (1, 3)], "precision": Precision.exact()}, "says 'exact' and an interval is given"),
        ({"interval": [(0, 2), (1, 3)], "precision": Precision.unknown()}, "says 'unknown' and an interval is given"),
        ({"precision": Precision.interval("Student t")}, "says 'interval' and no interval is given"),
        ({"interval": [(2, 0), (1, 3)]}, "low end above its high end"),
        ({"stderr": [0.1, -0.1]}, r"stderr holds -0\.1"),
        ({"stderr": [0.1, 0.1], "precision": Precision.exact()}, "leave out stderr"),
        ({"precision": "exact"}, r"write for example Precision\.exact\(\)"),
        ({"level": 95}, "level is 95"),
        ({"level": True}, "level must be one number, got True"),
    ],
)
def test_statements_about_the_error_agree(given, why):
    with pytest.raises(InvalidInput, match=why):
        Attribution(("x", "y"), [1, 2], 3, "m", **given)


@pytest.mark.parametrize(
    "precision",
    [
        None,
        "exact",
        {"known": "exact"},
        {"known": "surely", "because": ""},
        {"known": "exact", "because": 3},
        {"known": "interval", "because": ""},
    ],
)
def test_json_without_a_sound_precision_is_refused(precision):
    data = json.loads(Attribution(("x",), [1], 1, "m", precision=Precision.exact()).to_json()) | {"precision": precision}
    with pytest.raises(InvalidInput):
        Attribution.from_json(json.dumps(data))
    del data["precision"]
    with refused("missing"):
        Attribution.from_json(json.dumps(data))


@pytest.mark.parametrize(
    "given",
    [
        (1.0, 2.0),
        (1.0, 2.0, 0.0),
        (1.0, 0.0, 2.0, Precision.exact()),
        (1.0, 0.0, 2.0, Precision.unknown()),
        (1.0, None, None, Precision.interval()),
        (1.0, None, None),
    ],
)
def test_an_estimate_is_whole(given):
    with pytest.raises(InvalidInput):
        Estimate(*given)


def test_estimates_compare_by_their_whole_intervals():
    low, high, point = Estimate(1, 0, 2), Estimate(4, 3, 5), Estimate.exact(2.5)
    guess = Estimate.unknown(9, "one draw")
    assert high.exceeds(low) and point.exceeds(low) and high.exceeds(point) and not low.exceeds(high)
    assert guess.exceeds(low) is None and high.exceeds(guess) is None and 9 not in guess
    assert (f"{low:.0f}", f"{point:.1f}", f"{guess:.0f}", str(high)) == (
        "1 [0, 2]",
        "2.5",
        "9 [unknown]",
        "4.000 [3.000, 5.000]",
    )


@pytest.mark.parametrize("whole", [Attribution(("x",), [1], 1, "m"), Selection(("x",), [True], "m")])
def test_fields_that_do_not_exist_and_fields_given_twice_are_refused(whole):
    text = whole.to_json()
    with refused("unknown"):
        type(whole).from_json(text.replace('"seed"', '"sede"'))
    with pytest.raises(InvalidInput, match="gives 'method' twice"):
        type(whole).from_json(text[:-1] + ', "method": "n"}')
    with refused("format"):
        type(whole).from_json(json.dumps(json.loads(text) | {"format": 0}))


def test_json_notices_one_changed_bit():
    a = Attribution(("x",), [0.1], total=0.1, method="m")
    b = Attribution(("x",), [np.nextafter(0.1, 1)], total=0.1, method="m")
    assert a != b


def test_is_frozen():
    a = Attribution(("x", "y"), [1, 2], total=3, method="m")
    with pytest.raises(AttributeError):
        a.total = 4
    with pytest.raises(ValueError):
        a.credit[0] = 5


def test_does_not_share_memory_with_its_arguments():
    credit = np.array([1.0, 2.0])
    a = Attribution(("x", "y"), credit, total=3, method="m")
    credit[0] = 9
    assert a["x"] == 1


def test_a_part_keeps_the_total_and_drops_efficiency():
    a = Attribution(
        ("x", "y", "z"),
        [1, 2, 3],
        total=6,
        method="m",
        claims=(Claim("efficiency", Holds.EXACTLY, "sum"),),
        stderr=[0.1, 0.2, 0.3],
        interval=[(0, 2), (1, 3), (2, 4)],
    )
    part = a[1:]
    assert part.players == ("y", "z") and part.unshared == 1
    assert part.claim("efficiency").holds is Holds.NO
    assert part.stderr.tolist() == [0.2, 0.3] and part.interval.tolist() == [[1, 3], [2, 4]]
    assert a[["z", "x"]].credit.tolist() == [3, 1]
    assert a[[-1]].players == ("z",)
    assert a[:].claim("efficiency").holds is Holds.EXACTLY
    assert a.ranked().players == ("z", "y", "x")
    assert a.top(1).players == ("z",)
    assert a[[True, False, True]].players == a[np.array([True, False, True])].players == ("x", "z")


@pytest.mark.parametrize("which", [0, [7], [True, False], [1.5], [None], None])
def test_a_part_that_is_none_is_named(which):
    with refused("unknown"):
        Attribution(("x", "y", "z"), [1, 2, 3], total=6, method="m")[which]


@pytest.mark.parametrize("count", [0, -1, 1.5, True])
def test_top_needs_a_count(count):
    with pytest.raises(InvalidInput, match="count must be"):
        Attribution(("x", "y"), [1, 2], total=3, method="m").top(count)


def test_top_goes_by_magnitude():
    assert Attribution(("x", "y"), [-3, 2], total=-1, method="m").top(1).players == ("x",)


def test_scores_share_nothing():
    assert Attribution(("x",), [1], total=None, method="m").unshared is None


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"players": ("x", "x")}, "twice"),
        ({"players": ()}, "empty"),
        ({"players": ("x", 3.5)}, "strings"),
        ({"credit": [1.0]}, "shape"),
        ({"credit": [1.0, float("nan")]}, "nan"),
        ({"credit": [1.0, float("inf")]}, "inf"),
        ({"credit": "ab"}, "numbers"),
        ({"total": float("nan")}, "total is nan"),
        ({"total": "x"}, "total must be"),
        ({"baseline": float("inf")}, "baseline is inf"),
        ({"stderr": [1.0]}, "stderr"),
        ({"interval": [1.0, 2.0]}, "interval"),
        ({"certificate": {"x": object()}}, "certificate.x"),
        ({"certificate": {"x": [float("nan")]}}, "certificate.x[0]"),
    ],
)
def test_names_what_is_wrong(changes, word):
    good = {"players": ("x", "y"), "credit": [1.0, 2.0], "total": 3.0, "method": "m"}
    with pytest.raises(InvalidInput, match=word.replace("[", r"\[")):
        Attribution(**(good | changes))


FOREIGN = [
    "",
    "[]",
    "{}",
    "null",
    "{",
    "[" * 100_000,
    '{"kind": "selection"}',
    '{"kind": "attribution"}',
    '{"kind": "attribution", "format": 1}',
    '{"kind": "attribution", "format": 1, "players": ["x"], "credit": ["y"], "total": 1, "method": "m"}',
]


@pytest.mark.parametrize("text", FOREIGN, ids=range(len(FOREIGN)))
def test_refuses_foreign_json(text):
    with pytest.raises(InvalidInput):
        Attribution.from_json(text)


def test_shows_itself_as_table_pandas_and_html():
    hostile = "<script>alert(1)</script>"
    a = Attribution((hostile, "\x1b[31mred\u202e"), [1, -2], total=-1, method="m", interval=[(0, 2), (-3, -1)], level=0.95)
    assert "\x1b" not in str(a) and "\u202e" not in str(a)
    html = a._repr_html_()
    assert "<script" not in html and "&lt;script&gt;" in html and "\u202e" not in html
    frame = a.to_pandas()
    assert frame.loc[hostile, "credit"] == 1 and frame.columns.tolist() == ["credit", "low", "high"]


def test_many_players_are_cut_in_the_terminal():
    a = Attribution(tuple(map(str, range(1000))), np.arange(1000.0), total=None, method="m")
    assert len(str(a).splitlines()) < 60 and "960 more" in str(a)


def test_selection_survives_json_and_slicing():
    s = Selection(tuple(string.ascii_lowercase[:3]), [True, False, True], "l2x", "top 2", scores=[0.1, 0.2, 0.3], seed=1)
    assert Selection.from_json(s.to_json()) == s
    assert s[:2].names == ("a",) and "a" in s and "b" not in s
    assert s.to_pandas()["chosen"].tolist() == [True, False, True]
    assert str(s).startswith("a and c are chosen, of 3 players") and "<table" in s._repr_html_()
    with pytest.raises(InvalidInput, match="booleans"):
        Selection(("a", "b"), [1, 0], "l2x")
    with pytest.raises(InvalidInput, match="slice"):
        s["a"]


def test_as_an_array_it_is_its_credit():
    shares = Attribution(("a", "b"), [6, 4], 10, "by hand")
    assert np.asarray(shares).tolist() == [6.0, 4.0] and np.asarray(shares).dtype == np.float64
    changed = np.array(shares, dtype=np.float32)
    changed[0] = 0
    assert changed.dtype == np.float32 and shares["a"] == 6


ODD_PARTS = [
    [[0, 1]], [[[0, 1]]], [[]], [["a", "b"]], ["a", ["b"]], np.array([[0, 1]]), np.array([["a", "b"]]), np.zeros((2, 0)),
    slice("a", "b"), slice("a", None), slice(1.5, 2), slice(None, None, 0), (slice(0, 2), 1), [slice(0, 2)], None, ..., 0, 1.5,
    True, [True], [True, 1], [True, "a"], [[True, False, True]], np.array(0), np.array("a"), np.array([True]), [0.0, 1.0],
    [float("nan")], [None], [99], [-4], [10**30], 10**30, [1 + 0j], b"a", np.ma.array([0, 1], mask=[0, 1]), object(),
]  # fmt: skip


@pytest.mark.parametrize("which", ODD_PARTS)
def test_what_picks_nobody_is_refused_with_the_call_that_picks_somebody(which):
    abc = Attribution("abc", [1, 2, 3], 6, "by hand")
    with refused("unknown"):
        abc[which]


@pytest.mark.parametrize(
    "which",
    [
        slice(0, 2),
        [0, 1],
        (0, 1),
        ["a", "b"],
        ("a", 1),
        [True, True, False],
        np.array([0, 1]),
        np.array(["a", "b"]),
        np.array([True, True, False]),
        [-3, -2],
        range(2),
        {"a": 1, "b": 2},
    ],
)
def test_parts_are_picked_by_slices_positions_names_and_flags(which):
    assert Attribution("abc", [1, 2, 3], 6, "by hand")[which].as_dict() == {"a": 1, "b": 2}


def test_an_empty_part_is_refused():
    for which in ([], slice(2, 1), np.zeros(0), [False, False, False]):
        with refused("empty"):
            Attribution("abc", [1, 2, 3], 6, "by hand")[which]


def test_an_unknown_name_in_a_list_is_named():
    with refused("unknown"):
        Attribution("abc", [1, 2, 3], 6, "by hand")[["a", "z"]]
