"""Tables on the page: what is read, what is refused, what is said of a model that was fitted on the spot."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pytest

from accredit import Explainer
from accredit.errors import InvalidInput
from accredit.web import tables
from accredit.web.tables import explain_table
from accredit.web.tasks import Recent
from accredit.web.uploads import drop
from tests.wording import refused, says

pytest.importorskip("pandas", reason="pandas is not installed: pip install 'accredit[data]'")
pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install 'accredit[data]'")


class Served:
    """What the tasks need of the models: those that were named at the start, and what was computed last."""

    def __init__(self, **by_kind):
        self.by_kind, self.recent = by_kind, Recent(4)


def staff(rows: int = 60, seed: int = 0, names: tuple[str, ...] = ("age", "pay", "team", "stays")) -> str:
    """Whether somebody stays, by age and pay; a team of three, which says nothing."""
    rng = np.random.default_rng(seed)
    age, pay = rng.integers(20, 65, rows), rng.normal(2000, 400, rows).round()
    stays = np.where((age - 42) / 12 + (pay - 2000) / 400 > 0, "yes", "no")
    team = rng.choice(["north", "south", "west"], rows)
    out = io.StringIO()
    csv.writer(out).writerows([names, *zip(age.tolist(), pay.tolist(), team.tolist(), stays.tolist(), strict=True)])
    return out.getvalue()


def asked(table: str = "", **other):
    return {"table": table, "name": "staff.csv", "target": "stays", "shown": None, "row": None} | other


def answer(task, served=None):
    """The last result, and the end."""
    events = list(explain_table(served or Served(), task))
    assert events[0]["event"] == "progress" and events[-1]["event"] == "done"
    return next(e for e in events if e["event"] == "result"), events[-1]


@pytest.mark.slow
def test_a_model_is_fitted_on_the_spot_and_the_page_says_so_and_how_good_it_is():
    result, done = answer(asked(staff()))
    body = result["html"]
    assert says(body, "model was given") and "staff.csv, 60 rows" in body
    assert says(body, "seen (5 folds)") and "always saying" in body
    assert result["outputs"] == ["no", "yes"] and result["rows"] == 60
    assert body.count('data-r="') == 3 * 60 and "<title>row 1: " in body  # every row a point that says its value
    assert 'href="#row-59"' in body and body.count('class="steps"') == 1  # the page asks for the steps of other rows
    assert done["page"].count('class="steps"') == 60 and says(done["page"], "model was given")


@pytest.mark.slow
def test_any_row_is_a_waterfall_whose_steps_add_up_and_is_computed_once(monkeypatch):
    served, table, fits = Served(), staff(), []
    monkeypatch.setattr(tables, "fit", lambda *a, made=tables.fit: fits.append(1) or made(*a))
    answer(asked(table), served)
    explained = next(iter(served.recent._kept.values())).overview
    for row in (0, 59):
        result, _ = answer(asked(table, row=row), served)
        assert f'id="row-{row}"' in result["row"] and "base value" in result["row"] and "output" in result["row"]
    other, _ = answer(asked(table, row=0, shown="no"), served)
    assert "“no” from" in other["row"]
    assert len(fits) == 1 and float(abs(explained.unshared).max()) < 1e-9
    with refused("range"):
        answer(asked(table, row=60), served)


@pytest.mark.slow
def test_what_guessing_does_as_well_is_said_to_explain_the_model_only():
    rng = np.random.default_rng(1)
    noise = "\n".join(
        [
            "a,y",
            *(f"{x:.3f},{'up' if u else 'down'}" for x, u in zip(rng.normal(size=60), rng.random(60) < 0.5, strict=True)),
        ]
    )
    result, _ = answer(asked(noise, target="y"))
    assert "hardly beats guessing" in result["html"]
    number = "\n".join(["a,y", *(f"{x},{2 * x + 0.5}" for x in range(40))])
    result, _ = answer(asked(number, target="y"))
    assert "of its variance" in result["html"] and "hardly" not in result["html"]


@pytest.mark.slow
def test_columns_of_words_and_rows_without_an_answer_are_left_out_and_named():
    lines = [f"person {k},{k % 7},{'' if k == 3 else 'yes' if k % 7 > 3 else 'no'}" for k in range(40)]
    result, _ = answer(asked("\n".join(["who,age,stays", *lines])))
    assert says(result["html"], "nearly every row")
    assert says(result["html"], "1 row without")


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (asked(staff(), target=None), "choose the column that one fitted here is to predict"),
        (asked(staff(), target="shoe"), "has no column 'shoe'; choose one of age, pay"),
        (asked("a,stays\n1,yes\n2,no\n"), "staff.csv has 2 rows"),
        (asked("a,stays\n1,yes,3\n"), "line 2 of 'staff.csv' has 3 cells"),
        (asked(staff(), name="staff.xlsx"), "is not a file that this page reads"),
        (asked(staff(), name="../../etc/passwd"), "'passwd' is not a file that this page reads"),
        (asked("a," * 2000 + "stays\n" + "\n" * 600), "holds about 1,204,602 cells"),
        (asked("text,stays\n" + "".join(f"text {k},{'yes' if k % 2 else 'no'}\n" for k in range(40))), "no column is left"),
        (asked("a,stays\n" + "".join(f"{k},w{k}\n" for k in range(40))), "the column 'stays' has 40 different values"),
    ],
)
def test_what_cannot_be_explained_is_said_in_a_sentence_without_a_path(task, said):
    with pytest.raises(InvalidInput) as refused:
        answer(task)
    assert said in str(refused.value) and "/tmp" not in str(refused.value)


def test_the_size_of_a_table_is_known_before_it_is_read(monkeypatch):
    monkeypatch.setattr("accredit.store.frames.read_frame", lambda path: pytest.fail("it was read"))
    with pytest.raises(InvalidInput, match="holds about"):
        answer(asked("a," * 2000 + "stays\n" + "\n" * 600))


@pytest.mark.slow
def test_a_model_that_was_named_at_the_start_reads_the_rows_and_not_the_column_left_out():
    from sklearn.linear_model import LinearRegression

    from accredit.models.rows import as_row_model

    rows = "a,b,y\n" + "".join(f"{k},{k % 3},{2 * k}\n" for k in range(50))
    model = LinearRegression().fit(np.array([[k, k % 3] for k in range(50)]), np.arange(50.0) * 2)
    served = Served(rows=Explainer(as_row_model(model)))
    result, _ = answer(asked(rows, target="y"), served)
    assert "Model: LinearRegression" in result["html"] and "fitted on the" not in result["html"]
    assert says(result["html"], "of 50 rows")  # no trees: asked coalition by coalition, so fewer rows at once


@pytest.mark.slow
def test_every_row_of_a_long_table_is_on_some_page_under_its_own_number(monkeypatch):
    monkeypatch.setattr(tables, "ROWS", 25)
    served, table = Served(), staff().replace("yes", "", 1)  # a row without a value to predict is left out
    result, _ = answer(asked(table), served)
    assert result["rows"] == 59 and says(result["html"], "25 of 59 rows") and result["html"].count("<button") == 3
    lost = next(k for k, line in enumerate(table.splitlines()) if line.endswith(","))  # counted from 1, as the head is line 0
    seen = re.findall(r'href="#row-(\d+)">(\d+)<', result["html"])
    for page in (1, 2):
        seen += re.findall(r'href="#row-(\d+)">(\d+)<', answer(asked(table, page=page), served)[0]["list"])
    assert [int(place) for place, _ in seen] == list(range(59))
    assert [int(number) for _, number in seen] == [k for k in range(1, 61) if k != lost]
    last, _ = answer(asked(table, row=58), served)
    assert 'id="row-58"' in last["row"] and "Row 60: " in last["row"]
    age = table.splitlines()[60].split(",")[0]
    assert f"<td>age</td><td>{age}</td>" in last["row"]
    with refused("range"):
        answer(asked(table, page=3), served)


@pytest.mark.slow
def test_the_built_in_table_needs_no_file():
    result, _ = answer(asked(name=""))
    assert says(result["html"], "100 patients whom") and result["rows"] == 100


def test_a_file_that_was_dropped_is_gone_afterwards():
    with drop("a\n1\n", "x.csv") as path:
        assert path.read_text() == "a\n1\n"
    assert not path.exists()


@pytest.mark.slow
def test_columns_without_any_value_are_left_out_and_named():
    lines = staff().splitlines()
    table = "\n".join([f"{lines[0]},notes", *(f"{line}," for line in lines[1:])])
    result, _ = answer(asked(table))
    assert says(result["html"], "value there: notes") and says(result["html"], "3 other columns")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("a,b,stays\n" + ",,yes\n,,no\n" * 20, "not columns without any value"),
        ("a,stays\n" + "1,yes\n2,yes\n" * 20, "the column 'stays' has one value only"),
        ("a,stays\n1,yes\n", "staff.csv has 1 row with a value of 'stays'"),
    ],
)
def test_a_table_that_nothing_can_be_learned_from_is_refused_in_words(table, said):
    with pytest.raises(InvalidInput, match=said):
        list(explain_table(Served(), asked(table)))


@pytest.mark.slow
def test_a_table_with_semicolons_is_read_and_the_page_says_how():
    result, done = answer(asked(staff().replace(",", ";")))
    for page in (result["html"], done["page"]):
        assert page.count("The file staff.csv was read with ; as delimiter.") == 1


def test_what_the_file_does_not_tell_is_said_in_fields_and_part_of_the_question():
    rows = "\n".join(f"{k};1,{k:03d};{'unknown' if k == 3 else k};{'yes' if k % 2 else 'no'}" for k in range(30))
    task = asked(f"n;size;age;stays\n{rows}\n")
    with refused("ambiguous", "decimal"):
        answer(task)
    served = Served()
    by_comma, _ = answer(task | {"writing": {"decimal": ",", "missing": ["unknown"]}}, served)
    by_point, _ = answer(task | {"writing": {"decimal": ".", "index": "n"}}, served)
    assert "1,029" in by_point["html"] or "1029" in by_point["html"]
    assert by_comma["html"] != by_point["html"]
    assert by_comma["html"].count('data-r="') == 3 * 30 and by_point["html"].count('data-r="') == 2 * 30
