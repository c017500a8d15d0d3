"""A journal as the page sees it: while it fills, when it is done, and for groups."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.core import Attribution, Precision
from accredit.core.coalitions import pack
from accredit.errors import InvalidInput
from accredit.games import FunctionGame, TableGame
from accredit.influence.trace import Trace
from accredit.labels.find import wrong_labels
from accredit.store import Entry, Journal, fingerprint
from accredit.training_data.report import DataReport, Valuation
from accredit.training_data.rules import linear_fit
from accredit.training_data.suspects import Harmful, RowFacts, Sureness, harmful
from accredit.training_data.worth import CURVE_STEPS
from accredit.valuation.certainty import FREEDOM
from accredit.values.interactions import shapley_interactions
from accredit.views.pages.journal_page import data_body
from accredit.views.pages.trace_page import trace_body
from accredit.views.pages.valuation_page import report_page
from accredit.views.terminal.trace_text import trace_text
from accredit.views.terminal.valuation_text import report_text
from accredit.web import journal_view
from accredit.web.data import as_csv, state_of, values_csv, watch
from tests.web.conftest import ROWS, WORTH, additive, random_masks, store
from tests.wording import refused, says

SILENT = "these features are at chance"
TWO_ROWS = "a and 1 with it"


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "run.db")


def test_an_empty_journal_is_shown_as_such(path):
    Journal(path).close()
    assert watch(path).values is None
    assert says(data_body(watch(path)), "first values appear")


def test_a_missing_journal_is_refused(path):
    with pytest.raises(InvalidInput, match="no journal"):
        watch(path)


def test_a_running_journal_ranks_by_what_is_stored(path):
    with Journal(path) as journal:
        journal.begin_run(["value"], "/nowhere")
        store(journal, random_masks(4000))
        before = state_of(path)
        seen = watch(path)
        store(journal, random_masks(10, seed=1))
        assert state_of(path) != before
    assert seen.provisional and seen.unfinished and seen.values is not None
    truth = WORTH + np.where(np.arange(16) < 2, 1.0, 0.0)  # at p = 1/2 the pair adds half of its 2 to either row
    # Each error is below 5.5 of its standard errors: 16 rows, false alarms below 1e-6.
    assert (np.abs(seen.values.credit - truth) < 5.5 * seen.values.stderr).all()
    assert seen.values.total is None and seen.values.claim("efficiency").holds == "no"
    assert "Provisional" in data_body(seen)
    place = seen.pair_players.index("row 0"), seen.pair_players.index("row 1")
    assert seen.square is not None and np.unravel_index(np.argmax(seen.square), seen.square.shape) in (
        place,
        place[::-1],
    )
    assert abs(seen.square[place] - 2.0) < 0.5  # four means of about 1000 payoffs: six standard errors


def finished(path: str, credit: np.ndarray) -> Attribution:
    """A run that trained its curves and wrote its result."""
    result = Attribution(ROWS, credit, float(credit.sum()), "by hand")
    masks = [random_masks(30)]
    for order in (np.argsort(-credit, kind="stable"), np.argsort(credit, kind="stable")):
        counts = np.unique(np.round(np.linspace(0, 16, CURVE_STEPS + 1)).astype(int))
        left = np.ones((len(counts), 16), dtype=bool)
        for row, count in enumerate(counts):
            left[row, order[:count]] = False
        masks.append(left)
    with Journal(path) as journal:
        run = journal.begin_run(["value"], "/nowhere")
        store(journal, np.concatenate(masks))
        journal.end_run(run, result.to_json())
    return result


def test_a_finished_run_shows_its_own_result_and_its_curves(path):
    credit = WORTH.copy()
    credit[-1] = -6.0
    result = finished(path, credit)
    seen = watch(path)
    assert not seen.provisional and seen.values == result
    assert [(s.player, s.surely) for s in seen.harmful] == [("row 15", Sureness.CANNOT_TELL)]
    assert [c.label for c in seen.curves] == ["remove highest first", "remove lowest first"]
    assert_allclose(seen.curves[0].payoffs[[0, -1]], additive(np.array([[True] * 16, [False] * 16])))
    body = data_body(seen)
    assert (
        "Harmful rows" in body and "mislabelled" not in body and says(body, "Payoff while rows") and "Provisional" not in body
    )


LOW = np.where(np.arange(16) < 14, 1.0, -6.0)


@pytest.mark.parametrize(
    ("known", "surely"),
    [
        ({}, "cannot tell"),
        ({"precision": Precision.unknown("59 pairs are too few")}, "cannot tell"),
        ({"stderr": np.ones(16)}, "cannot tell"),
        ({"precision": Precision.exact()}, "cannot tell"),  # exact for these test rows
        ({"interval": np.column_stack([LOW - 1, LOW + 1]), "level": 0.95}, "cannot tell"),
        ({"interval": np.column_stack([LOW - 1, LOW + 1]), "stderr": np.full(16, 0.5), "certificate": {FREEDOM: 99}}, "sure"),
    ],
)
def test_page_command_and_json_agree_who_does_harm_and_how_surely(path, known, surely):
    """A result without an interval is not a result without an error."""
    result = Attribution(ROWS, LOW, None, "by hand", **known)
    facts = {"labels": ["x"] * 16, "texts": None, "groups": None, "classes": True}
    with Journal(path) as journal:
        run = journal.begin_run(["value"], "/nowhere")
        journal.describe(run, facts)
        journal.end_run(run, result.to_json())
    seen = watch(path)
    worth = Valuation(result, harmful(result, RowFacts.of(facts, ROWS)), (), "accuracy", 0, 0)
    report = DataReport(None, worth)
    assert seen.harmful == worth.harmful and {s.surely for s in seen.harmful} == {surely}
    assert [s.player for s in seen.harmful] == ["row 14", "row 15"]
    page, command, file = data_body(seen), report_text(report), report_page(report, "films")
    listed = command[command.index("certainty") :].splitlines()[1:3]
    assert page.count(f">{surely}<") == file.count(f">{surely}<") == 2
    assert all(surely in line for line in listed)
    heads = [re.findall(r"<th[^>]*>(worth|credit|value|difference)", drawn) for drawn in (page, file)]
    assert heads == [["worth", "worth"]] * 2 and " worth " in command  # one word for what a row is worth
    assert [s["surely"] for s in json.loads(report.to_json())["worth"]["harmful"]] == [surely] * 2


def test_few_rows_groups_numbers_and_features_at_chance_name_nobody():
    values = Attribution(ROWS, LOW, None, "by hand")
    assert len(harmful(values, RowFacts({}, {}))) == 2
    assert harmful(values[[*range(5), 14, 15]], RowFacts({}, {})) == ()
    assert harmful(values, RowFacts({}, {}, {"all": ROWS})) == ()
    assert harmful(values, RowFacts({}, {}, classes=False)) == ()
    assert harmful(values, RowFacts({}, {}, silent=SILENT)) == ()
    assert harmful(None, RowFacts({}, {})) == ()


@pytest.mark.slow
def test_the_page_answers_both_questions_and_says_why_it_names_nobody(path):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    x = rng.normal(size=(60, 3)) + 4 * y[:, None]
    x[41] = x[40]  # twins of different classes
    found = wrong_labels(np.where(np.arange(60) < 4, 1 - y, y), features=x, names=[f"<i>{i}" for i in range(60)])
    assert found.suspects
    facts = {"labels": ["x"] * 16, "groups": None, "silent": "these <features> are at chance"}
    with Journal(path) as journal:
        run = journal.begin_run(["value"], "/nowhere")
        journal.describe(run, facts | {"wrong labels": found.to_plain(), "unanswered": ""})
        journal.end_run(run, Attribution(ROWS, LOW, None, "by hand").to_json())
    seen = watch(path)
    assert seen.labels is not None and seen.labels.to_plain() == found.to_plain()
    body = data_body(seen)
    assert body.index("Which labels are") < body.index("What is each")
    assert "&lt;i&gt;0" in body and "<i>" not in body and "one is likely wrong" in body
    assert "harmful row" not in body and "do harm" not in body and says(body, "rank first together")
    assert seen.harmful == () and says(body, "row is called") and "these &lt;features&gt; are" in body
    with Journal(path) as journal:
        journal.describe(run, facts | {"wrong labels": None, "unanswered": "the target is a number"})
    assert says(data_body(watch(path)), "answered: the target")


def test_rows_that_always_play_together_are_one_player_and_a_full_table_gives_exact_interactions(path):
    table = np.array([0.0, 1.0, 2.0, 7.0])
    bits = np.array([[0b000], [0b011], [0b100], [0b111]], dtype=np.uint8)
    with Journal(path) as journal:
        game = journal.enter(fingerprint(data="groups"), ("a", "b", "c"))
        many = [Entry(bytes(row), "ok", x, 0.1) for row, x in zip(bits, table, strict=True)]
        for seed in range(6):
            journal.record(game, seed, many)
    seen = watch(path)
    assert seen.values is not None and seen.values.players == (TWO_ROWS, "c")
    assert_allclose(seen.square, shapley_interactions(TableGame(("ab", "c"), table)).matrix())
    assert "all coalitions" in seen.pairs_because


def test_a_coalition_that_was_paid_for_twice_counts_with_its_mean(path):
    with Journal(path) as journal:
        game = journal.enter(fingerprint(data="noisy"), ("a", "b"))
        for seed, noise in enumerate([3.0, -1.0, -1.0, -1.0, 1.0, -1.0]):
            worth = [0.0 + noise, 1.0, 2.0, 5.0]
            journal.record(game, seed, [Entry(bytes([k]), "ok", x, 0.1) for k, x in enumerate(worth)])
    seen = watch(path)
    assert seen.square is not None and seen.square[0, 1] == pytest.approx(5 - 1 - 2 + 0)


def test_a_difference_of_means_is_that_of_two_samples(path):
    from scipy.stats import ttest_ind

    with Journal(path) as journal:
        store(journal, random_masks(300))
    seen, masks = watch(path), random_masks(300)
    assert seen.values is not None
    for k, name in enumerate(ROWS):
        worth = additive(masks)
        test = ttest_ind(worth[masks[:, k]], worth[~masks[:, k]], equal_var=False)
        assert test.statistic == pytest.approx(seen.values[name] / seen.values.stderr[k])


def test_what_is_not_known_of_a_pair_is_left_empty(path):
    masks = random_masks(200)
    masks[:, 1] |= masks[:, 0]  # row 0 never plays without row 1
    with Journal(path) as journal:
        store(journal, masks)
    seen = watch(path)
    pair = seen.pair_players.index("row 0"), seen.pair_players.index("row 1")
    assert seen.square is not None and np.isnan(seen.square[pair]) and says(seen.pairs_because, "for 1 of")
    assert "nan" not in data_body(seen)


def test_a_finished_run_of_which_nothing_is_stored_has_no_interactions(path):
    with Journal(path) as journal:
        journal.enter(fingerprint(data="toy"), ROWS)
        run = journal.begin_run(["value"], "/nowhere")
        journal.end_run(run, Attribution(ROWS, WORTH, float(WORTH.sum()), "by hand").to_json())
    seen = watch(path)
    assert seen.square is None and "Interactions" not in data_body(seen)


def test_names_in_a_journal_are_shown_and_never_obeyed(path):
    hostile = ("<script>x</script>", '"><img src=x onerror=x>')
    with Journal(path) as journal:
        game = journal.enter(fingerprint(data="hostile"), hostile)
        for seed in range(6):
            entries = [Entry(bytes([k]), "ok", float(k), 0.1) for k in range(4)]
            journal.record(game, seed, entries)
    seen = replace(watch(path), harmful=(Harmful(hostile[0], -1.0, Sureness.SURE),))
    body = data_body(seen)
    assert "<script" not in body and "<img" not in body and "&lt;script&gt;" in body


def test_the_export_holds_every_payoff(path):
    finished(path, WORTH)
    lines = as_csv(path).splitlines()
    assert lines[0].startswith("game,coalition,seed,status,value") and len(lines) == 1 + watch(path).payoffs


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    """A small table with one wrong label, and the command that values it."""
    pytest.importorskip("pandas", reason="pandas is not installed: pip install 'accredit[data]'")
    from click.testing import CliRunner

    from accredit.cli.value import value

    folder = tmp_path_factory.mktemp("films")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    lines = [f"{a:.3f},{b:.3f},{'yes' if a > 0 else 'no'},{'<b>press</b>' if k % 3 else 'blogs'}" for k, (a, b) in enumerate(x)]
    (folder / "films.csv").write_text("\n".join(["a,b,label,source", *lines]) + "\n")

    def run(name: str, *options: str) -> str:
        store = str(folder / name)
        words = [
            str(folder / "films.csv"),
            "--target",
            "label",
            "--model",
            "ridge",
            "--method",
            "shapley",
            "--only",
            "values",
            "--store",
            store,
        ]
        done = CliRunner().invoke(value, [*words, *options], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return store

    return run


def test_a_run_over_rows_tells_their_labels(films):
    seen = watch(films("rows.db", "--budget", "200"))
    assert seen.values is not None and not seen.provisional and len(seen.curves) == 3
    assert set(seen.known.labels) == set(seen.values.players) and set(seen.known.labels.values()) == {"yes", "no"}
    body = data_body(replace(seen, harmful=(Harmful(seen.values.players[0], -1.0, Sureness.SURE),)))
    assert body.count(">yes</b>") > 3 and "not hold labels" not in body and "45 rows" in body


def test_a_run_over_groups_has_names_curves_and_interactions(films):
    path = films("groups.db", "--budget", "50", "--players", "source")
    seen = watch(path)
    assert seen.values is not None and set(seen.values.players) == {"blogs", "<b>press</b>"}
    assert seen.pair_players == seen.values.players or set(seen.pair_players) == set(seen.values.players)
    assert [c.label for c in seen.curves] == ["remove highest first", "remove lowest first", "remove at random"]
    assert_allclose(seen.curves[0].payoffs[0], seen.curves[1].payoffs[0])
    assert seen.harmful == () and seen.square is not None and "all coalitions" in seen.pairs_because
    body = data_body(seen)
    assert says(body, "groups of 45") and says(body, "Payoff while groups") and "<b>press" not in body
    lines = values_csv(path).splitlines()
    assert lines[0] == "player,credit,low,high,label,text" and len(lines) == 3


def test_groups_are_named_while_the_run_goes_on(path):
    with Journal(path) as journal:
        run = journal.begin_run(["value"], "/nowhere")
        journal.describe(run, {"labels": ["x"] * 16, "groups": {"first": list(ROWS[:8]), "last": list(ROWS[8:])}})
        masks = np.repeat(np.random.default_rng(0).random((60, 2)) < 0.5, 8, axis=1)
        game = journal.enter(fingerprint(data="toy"), ROWS)
        for seed, (bits, x) in enumerate(zip(pack(masks), additive(masks), strict=True)):
            journal.record(game, seed, [Entry(bytes(bits), "ok", float(x), 0.01)])
    seen = watch(path)
    assert seen.values is not None and seen.provisional and seen.values.players == ("first", "last")
    assert seen.values.credit[0] > seen.values.credit[1]


def test_a_run_without_trainings_shows_its_result(path):
    result = Attribution(("row 1", "row 2"), [1.0, -1.0], 0.0, "knn")
    with Journal(path) as journal:
        run = journal.begin_run(["value"], "/nowhere")
        journal.describe(run, {"labels": ["a", "b"], "texts": ["fine <i>film</i>", "dull"], "groups": None, "classes": True})
        journal.end_run(run, result.to_json())
    seen = watch(path)
    assert seen.values == result and seen.known.texts["row 2"] == "dull"
    assert "fine &lt;i&gt;film" in data_body(seen)
    assert "row 1,1.0,,,a,fine <i>film</i>" in values_csv(path)


def test_a_long_ranking_is_shown_by_its_ends_and_listed_between(path):
    rows = tuple(f"row {k}" for k in range(500))
    result = Attribution(rows, np.linspace(1, -1, 500), 0.0, "by hand")
    with Journal(path) as journal:
        run = journal.begin_run(["value"], "/nowhere")
        journal.end_run(run, result.to_json())
    body = data_body(watch(path))
    assert (
        body.count("<svg") <= 200
        and "300 between" in body
        and all(f"row {k} " in body or f">row {k}<" in body for k in range(500))
    )


def test_how_much_is_linear_is_shown_where_a_datamodel_read_it(path):
    """At p = ½ a row has half its weight as coefficient, rows 0 and 1 half of their pair's 2 besides, the pair a quarter."""
    linear = ((WORTH + np.where(np.arange(16) < 2, 1.0, 0.0)) ** 2).sum() / 4
    game = FunctionGame(ROWS, additive)
    values = linear_fit(None, game, 400, 0)
    share, low, high = values.certificate["harmonics"]["linear"]
    assert low < share < high and abs(share - linear / (linear + 0.25)) < 0.15
    with Journal(path) as journal:
        run = journal.begin_run(["value"], "/nowhere")
        store(journal, random_masks(30))
        assert "much is linear" not in data_body(watch(path))
        journal.end_run(run, values.to_json())
    body = str(data_body(watch(path)))
    assert says(body, "much is linear") and f"{share:.3g}" in body and "400 random parts" in body
    found = Valuation(values, (), (), "by hand", 400, 0)
    printed = report_text(DataReport(None, found))
    assert says(" ".join(printed[printed.index("Of the variance") :].split()), "who takes part")
    assert says(report_page(DataReport(None, found), "rows"), "much is linear")


def traced(texts: tuple[str, ...]) -> Trace:
    """A trace of an answer of two tokens; the last text made it likeliest."""
    facts = {
        "scale": "plain",
        "texts cut": 0,
        "texts known in part": 0,
        "longest": 8,
        "saturated": False,
        "first token not judged": False,
        "stationary": True,
        "gradient norm": 0.01,
        "gradient norm of a row": 1.0,
        "gradient norm by chance": 0.1,
        "layers": ["a"],
        "parameters": 12,
        "left out": [],
    }
    by_token = np.column_stack([np.arange(len(texts)) - 1.0, np.ones(len(texts))])
    return Trace(texts, "the capital is", "be m", ("be", " m"), by_token.sum(axis=1), by_token, 0.5, facts)


def test_a_trace_is_shown_in_the_data_view_and_never_obeyed(tmp_path):
    file = tmp_path / "trace.json"
    found = traced(("one", "two", "<script>alert(1)</script>", "=1+1"))
    file.write_text(found.to_json(), encoding="utf-8")
    journal_view.check(str(file))
    seen = journal_view.shown(str(file), None)
    body = str(seen["html"])
    assert seen["payoffs"] is None and "<script>alert" not in seen["page"] and "&lt;script&gt;" in body
    assert body.index("row 4") < body.index("row 3") < body.index("row 2")
    assert "row 1" not in body  # its score is nothing
    assert "with probability 50.0%" in body and says(body, "cannot be known")
    assert journal_view.values_csv(str(file)).splitlines()[:2] == ["row,score,text", "4,3.0,'=1+1"]
    with refused("unsupported"):
        journal_view.payoffs_csv(str(file))
    before = journal_view.state_of(str(file))
    file.write_text(traced(("one", "two")).to_json(), encoding="utf-8")
    assert journal_view.state_of(str(file)) != before
    back = Trace.from_plain(json.loads(found.to_json()))
    assert back.to_json() == found.to_json()


def test_texts_that_made_an_answer_less_likely_are_not_among_those_that_made_it_likelier():
    found = traced(("one", "two", "three"))
    below = replace(found, scores=found.scores - 1.5, by_token=found.by_token - 0.75)  # −1.5, −0.5, 0.5
    body = str(trace_body(below, 50))
    assert body.index("row 3") < body.index("spoke against it") < body.index("row 1") < body.index("row 2")
    lines = trace_text(below).splitlines()
    assert [line.split("row ")[1][0] for line in lines if "  row " in line] == ["3", "1", "2"]
    none = replace(found, scores=-found.scores, by_token=-found.by_token)
    assert "What made it" not in trace_body(none) and says(" ".join(trace_text(none).split()), "made it likelier")
    nothing = replace(found, scores=0 * found.scores, by_token=0 * found.by_token)
    assert says(trace_body(nothing), "training texts made") and "row" not in trace_text(nothing)[:120]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"kind": "valuation"}, "expected a trace of format 2"),
        ({"format": 1}, "expected a trace of format 2"),
        ({"texts": []}, "not numbered from 1"),
        ({"tokens": ["one"]}, "the trace is damaged"),
        ({"facts": {}}, "the trace is damaged"),
        ({"probability": 1e-9}, "warnings do not follow"),
    ],
)
def test_a_damaged_trace_is_refused_before_the_page_is_served(tmp_path, change, why):
    file = tmp_path / "trace.json"
    file.write_text(json.dumps(json.loads(traced(("one", "two")).to_json()) | change), encoding="utf-8")
    with pytest.raises(InvalidInput, match=why):
        journal_view.check(str(file))
