import json
import subprocess
import sys

import pytest

from tests.wording import says

PRICING = "coalition,payoff\n,0\nA,50\nB,20\nC,25\nA+B,75\nA+C,80\nB+C,90\nA+B+C,100\n"


@pytest.fixture
def run(typed, monkeypatch, tmp_path):
    """The command in a folder with a table of payoffs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pricing.csv").write_text(PRICING)
    return typed


def test_pricing_problem_in_words(run):
    code, out, _ = run("game", "pricing.csv")
    assert code == 0
    assert says(out, "worth 80 together")
    for line in ("A        38.33", "B        28.33", "C        33.33", "B + C     20", "A + B    −20"):
        assert line in out
    assert says(out, "25       30       70")


def test_json_has_values_and_the_rest(run):
    code, out, _ = run("game", "pricing.csv", "--json")
    data = json.loads(out)
    assert code == 0
    assert data["values"] == pytest.approx({"A": 115 / 3, "B": 85 / 3, "C": 100 / 3})
    assert data["interactions"] == {"A+B": -20, "A+C": -20, "B+C": 20}
    assert data["conditional"]["C"] == {"alone": 25, "given": {"A": 30, "B": 70}, "last": 25}
    assert data["best"]["2"] == {"coalition": ["B", "C"], "payoff": 90}
    assert {c["axiom"]: c["holds"] for c in data["claims"]}["efficiency"] == "exactly"


def rows(payoffs):
    return "coalition,payoff\n" + "".join(f"{who},{x!r}\n" for who, x in payoffs.items())


def test_rounding_is_not_called_synergy(run, tmp_path):
    weights = {"A": 0.1, "B": 0.2, "C": 0.3}
    sets = ["", "A", "B", "C", "A+B", "A+C", "B+C", "A+B+C"]
    additive = {who: sum(weights[p] for p in who.split("+") if p) for who in sets}  # 0.1 + 0.2 is not 0.3
    (tmp_path / "additive.csv").write_text(rows(additive))
    data = json.loads(run("game", "additive.csv", "--json")[1])
    assert set(data["interactions"].values()) == {0} and len(data["reading"]) == 1


def test_rounding_is_not_called_unshared(run, tmp_path):
    payoffs = {"": 0, "A": 0.1, "B": 0.2, "C": 0.7, "A+B": 0.3, "A+C": 0.5, "B+C": 0.1, "A+B+C": 0}
    (tmp_path / "zero.csv").write_text(rows(payoffs))
    out = run("game", "zero.csv")[1]
    assert "do not add" not in out
    assert says(run("game", "zero.csv", "--method", "leave-one-out")[1], "do not add")


def test_equal_values_may_be_the_best_ones(run, tmp_path):
    """All three are worth 10: nobody can say that A is the highest and B the best."""
    payoffs = {"": 0, "A": 0, "B": 10, "C": 0, "A+B": 10, "A+C": 20, "B+C": 10, "A+B+C": 30}
    (tmp_path / "tie.csv").write_text(rows(payoffs))
    assert "highest" not in run("game", "tie.csv")[1]


def test_names_that_hold_a_plus_keep_their_interactions_apart(run, tmp_path):
    players = ["a", "b+c", "a+b", "c"]
    listed = [{"coalition": [p for i, p in enumerate(players) if s >> i & 1], "payoff": s * s % 7} for s in range(16)]
    (tmp_path / "plus.json").write_text(json.dumps({"players": players, "payoffs": listed}))
    interactions = json.loads(run("game", "plus.json", "--json")[1])["interactions"]
    assert len(interactions) == 6 and {'a+"b+c"', '"a+b"+c'} <= set(interactions)


def test_other_methods(run):
    assert json.loads(run("game", "pricing.csv", "--json", "--method", "leave-one-out")[1])["values"] == {
        "A": 10,
        "B": 20,
        "C": 25,
    }
    assert json.loads(run("game", "pricing.csv", "--json", "--method", "banzhaf")[1])["values"] == {
        "A": 42.5,
        "B": 32.5,
        "C": 37.5,
    }
    one = json.loads(run("game", "pricing.csv", "--json", "--method", "beta:1,1")[1])["values"]
    assert one == pytest.approx({"A": 115 / 3, "B": 85 / 3, "C": 100 / 3})


def test_groups_are_players_or_are_divided_inside(run):
    assert json.loads(run("game", "pricing.csv", "--json", "--groups", "stem=B+C")[1])["values"] == {
        "A": 30,
        "stem": 70,
    }
    inside = json.loads(run("game", "pricing.csv", "--json", "--method", "owen", "--groups", "stem=B+C,A")[1])["values"]
    assert inside["A"] == 30 and inside["B"] + inside["C"] == 70


def test_payoff_of_nobody_is_reported(run, tmp_path):
    (tmp_path / "offset.csv").write_text("coalition,payoff\n,7\nA,9\n")
    assert says(run("game", "offset.csv")[1], "the payoff is 7")


def test_html_is_one_file_with_everything_escaped(run, tmp_path):
    (tmp_path / "hostile.csv").write_text('coalition,payoff\n,0\n"<img src=x onerror=alert(1)>",1\n')
    code, _, _ = run("game", "hostile.csv", "--html", "out.html")
    page = (tmp_path / "out.html").read_text()
    assert code == 0 and "<img" not in page and "&lt;img" in page
    assert "http:" not in page and "https:" not in page and page.count("<script") == 1


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["game", "nothing.csv"], "'nothing.csv' does not exist"),
        (["game", "bad.csv"], "lacks 1 of 4 coalitions"),
        (["game", "bad.csv", "--html", "x.html"], "lacks"),
        (["game", "pricing.csv", "--method", "magic"], "'magic' is unknown"),
        (["game", "pricing.csv", "--method", "owen"], "needs groups"),
        (["game", "pricing.csv", "--method", "beta:x"], "two numbers"),
        (["game", "pricing.csv", "--groups", "x=Z"], "unknown player 'Z'"),
        (["game", "pricing.csv", "--groups", "x=A,y=A"], "overlap"),
        (["game", "pricing.csv", "--groups", "="], "empty group"),
        (["game", "pricing.csv", "--html", "no/such/folder/x.html"], "no/such/folder"),
        (["game"], "FILE"),
        (["nonsense"], "nonsense"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(run, tmp_path, arguments, word):
    (tmp_path / "bad.csv").write_text("coalition,payoff\n,0\nA,1\nB,1\n")
    before = sorted(p.name for p in tmp_path.iterdir())
    code, out, err = run(*arguments)
    assert code == 2 and out == ""
    assert word in err and len(err.strip().splitlines()) == 1 and "Traceback" not in err
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_methods_and_doctor(run, monkeypatch):
    monkeypatch.setattr("accredit.models.precision.trial_command", lambda dtype: (sys.executable, "-I", "-c", ""))
    code, out, _ = run("methods")
    assert code == 0 and "leave-one-out" in out and len(out.splitlines()) <= 24
    assert "linearity" in run("methods", "--more")[1]
    names = [m["name"] for m in json.loads(run("methods", "--json")[1])["methods"]]
    assert "shapley" in names and len(names) == len(set(names))
    code, out, _ = run("doctor")
    assert code == 0 and "numpy" in out
    assert json.loads(run("doctor", "--json")[1])["extras"]["core"]["numpy"]


def modules_after(code):
    script = f"import sys\n{code}\nprint(' '.join(sys.modules))"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()


HEAVY = {
    "torch",
    "transformers",
    "sklearn",
    "pandas",
    "ortools",
    "matplotlib",
    "captum",
    "fastapi",
    "distributed",
    "shap",
}


@pytest.mark.slow
def test_import_is_light():
    assert not HEAVY & set(modules_after("import accredit"))


@pytest.mark.slow
def test_help_is_light():
    help_ = "from accredit.cli import accredit\ntry:\n    accredit(['--help'])\nexcept SystemExit:\n    pass"
    assert not HEAVY & set(modules_after(help_))


def test_a_table_without_nobody_is_read_and_said(run, tmp_path):
    (tmp_path / "short.csv").write_text(PRICING.replace(",0\n", "", 1))
    code, out, _ = run("game", "short.csv")
    assert code == 0 and says(out, "payoff for nobody")
    assert "payoff for nobody" not in run("game", "pricing.csv")[1]


def test_the_values_of_game_theory(run):
    values = json.loads(run("game", "pricing.csv", "--json", "--method", "nucleolus")[1])
    assert sum(values["values"].values()) == pytest.approx(100)
    assert values["attribution"]["certificate"]["balance"] > 0
    scaled = json.loads(run("game", "pricing.csv", "--json", "--method", "normalised-banzhaf")[1])
    assert sum(scaled["values"].values()) == pytest.approx(100)
    grouped = run("game", "pricing.csv", "--json", "--method", "banzhaf-owen", "--groups", "stem=B+C,web=A")
    assert grouped[0] == 0


def test_the_command_reads_choices(run, tmp_path):
    (tmp_path / "levels.csv").write_text("ann,bob,payoff\n0,0,0\n0,1,1\n0,2,4\n1,0,2\n1,1,5\n1,2,9\n")
    (tmp_path / "words.csv").write_text("not,good,payoff\nno,no,0\nno,yes,2\nyes,no,1\nyes,yes,-2\n")
    path = "levels.csv"
    code, out, _ = run("game", path)
    assert code == 0 and says(out, "dividends  weights  vertices") and says(out, "1   3.667      3.333")
    one = json.loads(run("game", path, "--rule", "weights:1,2", "--json")[1])
    assert one["credit"] == pytest.approx([10 / 3, 2, 11 / 3])
    called = json.loads(run("game", path, "--rule", "roll-calls", "--json")[1])
    assert called["players"] == ["ann", "bob"] and sum(called["credit"]) == pytest.approx(9)
    assert says(run("game", path, "--rule", "weights")[2], "--rule weights:1,2")
    assert says(run("game", "words.csv")[1], "not (+1.5) in “no”")
    assert "use --rule" in run("game", path, "--method", "banzhaf")[2]
    assert "lists coalitions" in run("game", "pricing.csv", "--rule", "orders")[2]
    assert json.loads(run("game", "words.csv", "--json")[1])["by_output"][1][0] == "yes"
    assert "write --rule bolger" in run("game", "words.csv", "--rule", "orders")[2]
