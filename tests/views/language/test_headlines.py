"""First sentences, held against thousands of made results: what they state, not how they are worded."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from accredit.core import Attribution, Attributions, FloatArray, Interactions, Known, Note, NoteKind, Precision, Selection
from accredit.explanation import Explanation
from accredit.rows.result import TableExplanation
from accredit.series.result import SeriesExplanation
from accredit.valuation.purchases import best_purchases
from accredit.views.language.headlines import (
    NAMED,
    credit_headline,
    flow_headline,
    headline,
    output_move,
    parts_headline,
    purchase_headline,
    row_headline,
    worth_headline,
)
from accredit.views.language.leaders import Lead, Leaders, Support, lead, leaders

RESULTS = 2000  # made results
NAMES = tuple(f"zq{k}x" for k in range(9))  # names that no sentence holds by itself
NUMBER = r"([−-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)"


def made(rng: np.random.Generator) -> Attribution:
    """A result of any kind: signed or not, tied or not, exact, with intervals or neither, large, small or nothing."""
    n = int(rng.integers(1, len(NAMES) + 1))
    scale = 10.0 ** rng.integers(-6, 5)
    credit = rng.normal(0, 1, n) * scale
    shape = rng.integers(6)
    if shape == 0:
        credit = np.abs(credit)
    elif shape == 1:
        credit = -np.abs(credit)
    elif shape == 2:
        credit = rng.integers(-2, 3, n) * scale  # ties
    elif shape == 3:
        credit = credit * (rng.random(n) < 0.3)  # many null players
    elif shape == 4:
        credit = credit * 0.0 if rng.random() < 0.3 else credit - credit.mean()  # nothing; cancels
    total = None if rng.random() < 0.2 else float(credit.sum()) * (1.0 if rng.random() < 0.8 else 0.3)
    known = rng.integers(3)
    if known == 0:
        return Attribution(NAMES[:n], credit, total, "by hand", precision=Precision.exact())
    if known == 1:
        return Attribution(NAMES[:n], credit, total, "by hand")
    half = np.abs(rng.normal(0, 10.0 ** rng.integers(-3, 1), (2, n))) * scale
    return Attribution(NAMES[:n], credit, total, "by hand", interval=np.stack([credit - half[0], credit + half[1]], axis=1))


def every(seed: int, count: int = RESULTS) -> list[Attribution]:
    rng = np.random.default_rng(seed)
    return [made(rng) for _ in range(count)]


def check_lead(result: Attribution, end: Lead) -> None:
    """Nobody outside the named is, or may be, as far out as the first; the first has the sign of its end."""
    inside = set(end.players)
    credit = {player: end.sign * x for player, x in result}
    first = credit[end.players[0]]
    assert max(credit.values()) >= first > 0 and first >= max(credit.values()) * (1 - 1e-5)
    assert [end.sign * x for x in end.credit] == [credit[player] for player in end.players]
    if result.interval is None:
        assert end.support in (Support.ALONE, Support.TIED)
        assert all(abs(credit[p] - first) <= 1e-5 * first for p in inside)
        assert all(credit[p] < first for p in credit if p not in inside)
        return
    ends = {p: sorted(end.sign * x for x in result.interval[k]) for k, p in enumerate(result.players)}
    low = min(ends[end.players[0]][0], first)
    assert all(ends[p][1] < low for p in credit if p not in inside)
    assert all(max(ends[p][1], credit[p]) >= low for p in inside)
    assert (end.support is Support.UNCERTAIN) == (low <= 0)
    if end.support is Support.TIED:
        assert all(ends[p][1] - ends[p][0] <= 1e-5 * first for p in inside)
    if end.support is Support.ALONE:
        assert len(inside) == 1 and all(not e[0] <= first <= e[1] for p, e in ends.items() if p not in inside)


@pytest.mark.slow
def test_leaders_are_those_that_nothing_else_reaches():
    for result in every(0):
        told = leaders(result)
        assert told.nothing == (told.up is None and told.down is None)
        for end in (told.up, told.down):
            if end is not None:
                check_lead(result, end)


@pytest.mark.slow
def test_most_is_more_than_half_of_a_whole_that_nothing_is_taken_from():
    met = 0
    for result in every(1):
        told = leaders(result)
        if told.share is not None:
            assert result.total is not None and 0 < told.share <= 1
            assert not (result.credit > 10 * result.rounding).any() or not (result.credit < -10 * result.rounding).any()
        if told.is_most:
            met += 1
            assert told.first is not None and told.first.support is Support.ALONE and told.known is not Known.UNKNOWN
            assert abs(told.first.credit[0]) > abs(result.total or 0.0) / 2
    assert met > RESULTS / 50  # the rule was put to the test


def statements_hold(said: str, told: Leaders | None, result: Attribution) -> None:
    """What is written is in the records: who is named, "most", and every "x of y"."""
    names = {name for name in NAMES if re.search(rf"\b{name}\b", said)}
    ends = [] if told is None else [end for end in (told.up, told.down) if end is not None]
    allowed = {
        p
        for end in ends
        if end.support is not Support.UNCERTAIN
        for p in end.players[: NAMED if len(end.players) <= NAMED else 0]
    }
    assert names <= allowed, said
    if re.search(r"\bmost\b", said):
        assert told is not None and told.is_most, said
    for x, y in re.findall(rf"{NUMBER} of {NUMBER}", said):
        part, whole = (float(text.replace("−", "-").replace(",", "")) for text in (x, y))
        assert 0 <= part <= whole * (1 + 1e-9), said
    if told is not None and told.known is Known.UNKNOWN and names:
        assert "not known" in said, said


@pytest.mark.slow
def test_sentences_say_what_their_records_hold():
    for result in every(2):
        for made_headline in (credit_headline(result), worth_headline(result), headline(result)):
            statements_hold(made_headline.text, made_headline.leaders, result)
            assert made_headline.text.startswith(NAMES) or not made_headline.text[0].islower()
            assert made_headline.text.endswith(".")


def explained(result: Attribution, rng: np.random.Generator, payoff: str = "log-odds") -> Explanation:
    """A text whose first method gave this result, with the probability that goes with it."""
    whole = (result.baseline or 0.0) + (result.total or 0.0)
    p = 1 / (1 + np.exp(-np.clip(whole, -30, 30)))
    prediction = (("POSITIVE", float(p)), ("NEGATIVE", float(1 - p)))
    return Explanation(
        " ".join(result.players), prediction, "POSITIVE", result.players, ("shapley",), {"shapley": result}, payoff=payoff
    )


@pytest.mark.slow
def test_texts_begin_with_the_probability_and_where_it_came_from():
    rng = np.random.default_rng(3)
    for result in every(3, 800):
        result = replace(result, credit=np.clip(result.credit, -9, 9), interval=None, precision=None)
        result = replace(result, total=float(result.credit.sum()), baseline=float(rng.normal()))
        found = headline(explained(result, rng))
        assert found.kind == "text" and found.move is not None
        statements_hold(found.text, found.leaders, result)
        after, before = (1 / (1 + np.exp(-x)) for x in (result.baseline + result.total, result.baseline))
        for said, p in ((found.move.after, after), (found.move.before, before)):
            assert said not in ("0.0%", "100.0%")
            assert (
                p < 5e-5 if "below" in said else p > 1 - 5e-5 if "above" in said else abs(float(said[:-1]) - 100 * p) <= 0.051
            )
        if found.move.rises is not None:
            assert found.move.rises == (after > before)
        assert found.text.startswith(f"POSITIVE {found.move.after}")


@pytest.mark.slow
def test_over_all_parts_of_a_text_a_word_is_named_that_no_word_of_a_part_with_its_output_reaches():
    rng, results, named = np.random.default_rng(5), every(5, 300), 0
    for k in range(0, len(results), 4):
        targets = ("POSITIVE", "NEGATIVE")
        parts = [replace(explained(result, rng), target=targets[rng.integers(2)]) for result in results[k : k + 4]]
        said = parts_headline("Read in 4 parts.", parts)
        assert said.startswith("Read in 4 parts") and said.endswith(".") and said.count(".", len(said) - 1) == 1
        for player, number, verb, output in re.findall(r"“(\w+)” in part (\d) (raises|lowers) (\w+) more than any other", said):
            sign, named = 1 if verb == "raises" else -1, named + 1
            first = parts[int(number) - 1]["shapley"].estimate(player)
            others = [
                part["shapley"].estimate(each)
                for place, part in enumerate(parts, 1)
                if part.target == output
                for each in part.players
                if (each, place) != (player, int(number))
            ]
            assert parts[int(number) - 1].target == output and all(sign * first.value > sign * other.value for other in others)
            if first.low is not None and first.low < first.high:
                assert sign * min(first.ends, key=lambda x: sign * x) > max(sign * x for other in others for x in other.ends)
    assert named > 15


def test_other_payoffs_are_not_called_probabilities():
    result = Attribution(NAMES[:2], [2.0, 1.0], 3.0, "by hand", baseline=0.5, precision=Precision.exact())
    found = output_move(explained(result, np.random.default_rng(0), "margin"))
    assert (found.after, found.before) == ("3.5", "0.5") and "margin" in found.label and "%" in found.label


@pytest.mark.parametrize("kind", [NoteKind.NOTHING_KNOWN, NoteKind.NOTHING_EARNED])
def test_that_nothing_was_earned_comes_before_anything_else(kind):
    result = Attribution(NAMES[:2], [2.0, 1.0], 3.0, "by hand", baseline=0.5)
    said = replace(explained(result, np.random.default_rng(0)), notes=(Note(kind, "Nothing was there to earn."),))
    assert headline(said).text == "Nothing was there to earn." and headline(said).leaders is None


def rows_of(rng: np.random.Generator, link: str) -> TableExplanation:
    n, columns = int(rng.integers(1, 30)), int(rng.integers(1, 8))
    credit = rng.normal(0, 1, (n, columns, 1)) * rng.random((1, columns, 1)) * (rng.random() > 0.05)
    base = rng.normal(0, 1, 1)
    values = [[float(x) for x in rng.normal(size=n)] for _ in range(columns)]
    return TableExplanation(
        NAMES[:columns], ("yes",), credit, base, base + credit.sum(axis=1), values, "by hand", "yes", link=link,
        precision=Precision.exact(),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("link", ["", "sigmoid"])
def test_rows_name_columns_that_their_intervals_set_apart(link):
    rng = np.random.default_rng(4)
    for _ in range(400):
        table = rows_of(rng, link)
        found = headline(table)
        of = table.row(0) if len(table) == 1 else table.importance()
        statements_hold(found.text, found.leaders, of)
        if found.leaders is not None and found.leaders.first is not None:
            check_lead(of, found.leaders.first)
        one = row_headline(table, len(table) - 1)
        statements_hold(one.text, one.leaders, table.row(len(table) - 1))
        assert ("%" in str(one.move)) == (link == "sigmoid")


@pytest.mark.slow
def test_a_flow_names_a_token_only_where_every_maximum_flow_agrees():
    rng = np.random.default_rng(5)
    agreed = 0
    for _ in range(800):
        n = int(rng.integers(2, 8))
        credit = rng.dirichlet(np.ones(n))
        width = rng.random((2, n)) * 10.0 ** rng.integers(-4, 1)
        ranges: FloatArray = np.stack([np.maximum(credit - width[0], 0), np.minimum(credit + width[1], 1)], axis=1)
        found = flow_headline(Attribution(NAMES[:n], credit, 1.0, "flow"), 1.0, "input", ranges)
        named = {name for name in NAMES[:n] if name in found.text and "cannot" not in found.text}
        best = int(credit.argmax())
        alone = all(ranges[k, 1] < ranges[best, 0] for k in range(n) if k != best)
        agreed += alone
        assert named == ({NAMES[best]} if alone else set()), found.text
    assert 0 < agreed < 800


def test_flows_that_are_alike_in_every_maximum_flow_are_a_tie():
    for ranges, said in (([[0.5, 0.5]] * 2, "carry the same in every maximum flow"), ([[0.4, 0.6]] * 2, "cannot rank")):
        known: FloatArray = np.array(ranges)
        assert said in flow_headline(Attribution(NAMES[:2], [0.5, 0.5], 1.0, "flow"), 1.0, "input", known).text


def test_nothing_flows():
    assert not any(name in flow_headline(Attribution(NAMES[:2], [0, 0], 0.0, "flow"), 0.0, "input").text for name in NAMES)


def test_lead_of_the_other_end():
    result = Attribution(NAMES[:3], [1.0, -5.0, -5.0], -9.0, "by hand", precision=Precision.exact())
    low = lead(result, -1)
    assert low is not None and low.players == NAMES[1:3] and low.support is Support.TIED
    assert lead(replace(result, credit=np.array([1.0, 2.0, 3.0]), total=6.0), -1) is None


def test_series_speak_of_their_parts(series_of_two: SeriesExplanation):
    assert headline(series_of_two).kind == "series"


@pytest.fixture
def series_of_two() -> SeriesExplanation:
    from accredit.explanation import explain_series

    rng = np.random.default_rng(0)
    return explain_series(rng.normal(size=(2, 6, 1)), lambda x: x.sum(axis=(1, 2)), background="zeros")


UP = r"(?:raises?|earns?|is worth|are worth|scores? highest)"
DOWN = r"(?:lowers?|loses?|costs?|scores? lowest)"


def numbers_in(said: str) -> list[tuple[bool, float, float]]:
    """Every number that is written, but for those inside names: is it an error behind ±; half of its last digit."""
    found = re.findall(rf"(±?){NUMBER}", re.sub(r"zq\d+x", "", said))
    numbers = [(error, x.replace("−", "-").replace(",", "")) for error, x in found]
    return [(bool(error), float(x), 0.51 * 10.0 ** -len(x.partition(".")[2]) * ("." in x)) for error, x in numbers]


def hold_direction_and_numbers(said: str, result: Attribution) -> None:
    """Who is said to raise has credit above zero, who lowers below; every number is one that the result holds, as written."""
    credit = dict(result)
    for name, verb in re.findall(rf"“?(zq\d+x)”? ({UP}|{DOWN})\b", said):
        assert (credit[name] > 0) == bool(re.fullmatch(UP, verb)), said
    held = [*result.credit.tolist(), float(np.abs(result.credit).max()), float(result.credit.sum())]
    held += [] if result.total is None else [result.total, abs(result.total)]
    if result.interval is not None:
        low, high = result.interval.T
        held += [*low.tolist(), *high.tolist()]
    held += range(len(result) + 1)  # how many players
    for is_error, x, last in numbers_in(said):
        if is_error:
            assert result.interval is not None
            assert min(abs(x - np.abs(result.interval - result.credit[:, None]).ravel())) <= 0.5 * x, said
        else:
            assert any(abs(abs(x) - abs(y)) <= max(0.06 * abs(y), last, 1e-12) for y in held), (x, said)


@pytest.mark.slow
def test_direction_words_match_signs_and_numbers_are_those_of_the_table():
    for result in every(6):
        for found in (credit_headline(result), worth_headline(result)):
            hold_direction_and_numbers(found.text, result)


@pytest.mark.slow
def test_scores_of_both_signs_name_the_highest_and_the_lowest():
    rng = np.random.default_rng(7)
    for _ in range(500):
        result = Attribution(NAMES, rng.normal(size=len(NAMES)), None, "by hand", precision=Precision.exact())
        if not (result.credit < 0).any() or not (result.credit > 0).any():
            continue
        said = headline(result).text
        high, low = NAMES[int(result.credit.argmax())], NAMES[int(result.credit.argmin())]
        assert not re.search(r"ranks? first", said)
        assert (f"{high} scores highest" in said) or (f"{high} highest" in said) or f"{low} scores lowest" in said
        hold_direction_and_numbers(said, result)
        if min(result.credit.max(), -result.credit.min()) > 0.1 * np.abs(result.credit).max():
            assert high in said and low in said


@pytest.mark.slow
@pytest.mark.parametrize("players", [1, 2, 1000])
@pytest.mark.parametrize("spread", [0.0, 1e-12, 1.0])
def test_one_player_and_a_thousand(players, spread):
    rng = np.random.default_rng(8)
    for total in (-3.0, 0.0, 1e-9, 5.0):
        credit = total / players + spread * (lambda x: x - x.mean())(rng.normal(size=players))
        for half in (None, 0.0, 10.0):
            interval = None if half is None else np.stack([credit - half, credit + half], axis=1)
            names = tuple(f"zq{k}x" for k in range(players))
            result = Attribution(names, credit, float(credit.sum()), "by hand", interval=interval)
            found = headline(result)
            assert len(found.text) < 500 and len(re.findall(r"zq\d+x", found.text)) <= 2 * NAMED, found.text
            hold_direction_and_numbers(found.text, result)
            if half == 10.0:
                assert not re.search(r"more than any other|\bmost\b", found.text)


def test_nearly_all_is_said_where_a_part_is_written_like_the_whole():
    for part, said in ((2.4813, "nearly all of it: 2.48 of 2.48"), (2.2, "most of it: 2.20 of 2.48")):
        result = Attribution(NAMES[:2], [part, 2.482 - part], 2.482, "by hand", precision=Precision.exact())
        assert said in headline(result).text
    alone = Attribution(NAMES[:2], [2.5, 0.0], 2.5, "by hand", precision=Precision.exact())
    assert "earns all of it: 2.5 of 2.5" in headline(alone).text


@pytest.mark.slow
def test_of_several_outputs_nobody_is_largest_who_may_be_smaller_than_the_other_end():
    rng = np.random.default_rng(9)
    for _ in range(500):
        credit = rng.choice([-2.0, -1.9, -1.0, 0.0, 1.0, 1.9, 2.0], size=(2, 4))
        half = float(rng.choice([0.0, 0.15, 5.0]))
        several = {
            name: Attribution(NAMES[:4], row, float(row.sum()), "by hand", interval=np.stack([row - half, row + half], axis=1))
            for name, row in zip(("one", "two"), credit, strict=True)
        }
        said = headline(Attributions(several)).text
        clauses = {where: who for who, where in re.findall(r"(?:: |; )([^;]*?) in “(\w+)”", said)}
        assert set(clauses) == set(several), said
        for name, row in zip(several, credit, strict=True):
            named = [k for k in range(4) if NAMES[k] in clauses[name]]
            others = [abs(row[k]) + half for k in range(4) if k not in named]
            assert not named or max(others, default=-1.0) < np.abs(row).max() - half, said


def purchases(best: float, copied: bool) -> str:
    """The first sentence about three sources whose payoffs are known to about 0.01; all of them together pay `best`."""
    mean = np.array([0, 0.5, 0.2, 0.75, 0.25, 0.8, 0.9, best])
    parts = mean[:, None] + np.random.default_rng(0).normal(size=(8, 40)) * 0.05
    prices, twins = {"A": 5, "B": 3, "C": 2}, {("A", "B"): 1.0} if copied else {}
    return purchase_headline(best_purchases(("A", "B", "C"), parts.mean(axis=1), prices, by_part=parts, copied=twins)).text


def test_the_first_sentence_about_prices_says_what_to_buy():
    assert purchases(1.2, copied=False).startswith("Buy A + B + C for 10 (payoff 1.")
    assert "surely the best" in purchases(1.2, copied=False)
    nearly = purchases(0.915, copied=False)  # beyond B + C by less than test rows can tell
    assert (
        nearly.startswith("Buy B + C for 5 ") and "the best of all sets, A + B + C" in nearly and "not surely better" in nearly
    )
    copied = purchases(1.2, copied=True)  # what a copy adds is not worth money, however much it seems
    assert copied.startswith("Buy B + C for 5 ") and "all sets without copies" in copied and "A is a copy of B" in copied


def test_where_nothing_is_better_than_none_nothing_is_bought():
    assert purchase_headline(best_purchases(("A",), np.array([0.0, -1.0]), {"A": 5})).text.startswith("Buy nothing")
    unknown = purchase_headline(best_purchases(("A",), np.array([0.0, 1.0]), {"A": 5})).text
    assert unknown.startswith("Buy A for 5 ") and "not known" in unknown


def test_rows_that_are_called_by_their_sentences_are_quoted():
    named = Attribution(("It never lands, and it bores.", "A mess."), [0.3, 0.1], 0.4, "by hand", precision=Precision.exact())
    assert worth_headline(named).text.startswith("“It never lands, and it bores.” is worth")
    assert worth_headline(replace(named, players=("row 1", "row 2"))).text.startswith("Row 1 is worth")


def test_what_is_written_as_half_is_not_called_most():
    rng = np.random.default_rng(10)
    for _ in range(300):
        part = 0.5 + rng.choice([0.0, 1e-9, 1e-5, 1e-4, 1e-3, 1e-2])
        scale = 10.0 ** rng.integers(-5, 6)
        rest = (1 - part) * np.array([0.6, 0.4])
        result = Attribution(NAMES[:3], scale * np.array([part, *rest]), scale, "by hand", precision=Precision.exact())
        said = headline(result).text
        of = re.search(rf"{NUMBER} of {NUMBER}", said)
        assert of is not None
        assert not re.search(r"\bmost\b", said) or float(of[1].replace(",", "")) > float(of[2].replace(",", "")) / 2, said


def test_credit_of_nothing_is_not_called_certain_where_intervals_are_wide():
    wide = Attribution(NAMES[:3], [0.0, 0.0, 0.0], 0.0, "by hand", interval=[[-1, 1]] * 3)
    assert "interval" in headline(wide).text
    short_of = Attribution(NAMES[:3], [0.0, 0.0, 0.0], 5.0, "by hand", precision=Precision.exact())
    assert "not to the total of 5" in headline(short_of).text


def test_rows_that_all_do_harm_are_not_called_rounding():
    said = worth_headline(Attribution(NAMES[:3], [-3.0, -2.0, -1.0], -6.0, "by hand", precision=Precision.exact())).text
    assert "rounding" not in said and f"{NAMES[0]} costs more" in said


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("known", [Precision.exact(), Precision.unknown()])
def test_over_rows_nobody_is_more_than_the_others_where_there_are_none(columns, known):
    credit, names = np.ones((9, columns, 1)), NAMES[:columns]
    values = [[float(k) for k in range(9)]] * columns
    table = TableExplanation(
        names, ("yes",), credit, np.zeros(1), credit.sum(axis=1), values, "by hand", "yes", precision=known
    )  # fmt: skip
    said = headline(table).text
    assert "others" not in said and "overlap" not in said and "any other" not in said
    assert ("not known" in said) == (known.known is Known.UNKNOWN)


@pytest.mark.parametrize("name", ["", " ", "12", "-3.5", "no", "All of it", "Ends.", "why?", "…"])
def test_a_name_that_is_not_seen_to_be_one_is_quoted(name):
    said = headline(Attribution((name, "b"), [3.0, 1.0], 4.0, "by hand", precision=Precision.exact())).text
    assert said.startswith(f"“{name}” earns")


def test_interactions_begin_with_the_strongest_pair():
    pairs = {("A", "B"): -20.0, ("A", "C"): 5.0, ("B", "C"): 20.0}
    said = headline(Interactions(("A", "B", "C"), "sii", "by hand", pairs, precision=Precision.exact())).text
    assert said.startswith("B + C scores highest (+20), A + B lowest (−20)")
    still = dict.fromkeys(pairs, 1e-17)
    assert "all numbers are 0" in headline(Interactions(("A", "B", "C"), "sii", "by hand", still, total=5.0)).text


def test_a_selection_names_the_chosen():
    chosen = [True, False, True]
    assert (
        headline(Selection(NAMES[:3], chosen, method="by hand")).text == f"{NAMES[0]} and {NAMES[2]} are chosen, of 3 players."
    )
    assert headline(Selection(NAMES[:3], [False] * 3, method="by hand")).text.startswith("Nobody is chosen")
