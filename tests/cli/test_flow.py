"""`accredit flow` reads edges, and proves what it prints."""

import json

import pytest

from tests.wording import says

PIPES = "from,to,capacity,lower,cost\ns,a,3,0,1\ns,b,2,0,2\na,b,1,0,0\na,t,2,0,0\nb,t,3,0,1\nt,s,9,0,-5\n"


@pytest.fixture
def run(typed, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pipes.csv").write_text(PIPES)
    (tmp_path / "crossed.csv").write_text("from,to,capacity\ns1,t2,1\ns2,t1,1\n")
    return typed


def test_maximum_flow_and_its_cut(run):
    code, out, _ = run("flow", "pipes.csv", "--from", "s", "--to", "t")
    assert code == 0 and says(out, "Maximum flow 5") and "s → a" in out
    found = json.loads(run("flow", "pipes.csv", "--from", "s", "--to", "t", "--json")[1])
    assert found["value"] == pytest.approx(5) and abs(found["gap"]) < 1e-9


def test_least_cost_and_commodities(run):
    assert says(run("flow", "pipes.csv")[1], "Least cost −15")
    found = json.loads(run("flow", "pipes.csv", "--json")[1])
    assert found["cost"] == pytest.approx(-15) and max(found["certificate"].values()) < 1e-9
    out = run("flow", "crossed.csv", "--from", "s1", "--to", "t1", "--from", "s2", "--to", "t2")[1]
    assert says(out, "Maximum sum of")


def test_mistakes_are_named(run):
    assert says(run("flow", "pipes.csv", "--from", "s")[2], "for each --from")
    assert "unknown node" in run("flow", "pipes.csv", "--from", "x", "--to", "t")[2]
    assert says(run("flow", "pipes.csv", "--from", "s", "--to", "s")[2], "are both 's'")


MANY = "from,to,capacity,cost\ns,a,2,1\ns,b,2,1\na,m,2,0\nb,m,2,0\nm,t,3,0\nx,y,2,1\n"


def test_one_of_many_is_said_and_a_rule_picks_one(run, tmp_path):
    (tmp_path / "many.csv").write_text(MANY)
    code, out, _ = run("flow", "many.csv", "--from", "s", "--to", "t")
    assert code == 0 and "One of many maximum flows: 4 of 6 edges" in out and "least  most" in out
    assert max(map(len, out.splitlines())) <= 80
    out = run("flow", "many.csv", "--from", "s", "--to", "t", "--rule", "barrier")[1]
    assert "analytic centre" in out and "left out of the barrier: x → y" in out
    found = json.loads(run("flow", "many.csv", "--from", "s", "--to", "t", "--rule", "l2", "--json")[1])
    assert [edge["flow"] for edge in found["edges"]] == pytest.approx([1.5, 1.5, 1.5, 1.5, 3, 0])
    assert next((edge["least"], edge["most"]) for edge in found["edges"]) == pytest.approx((1, 2))
    assert (found["unique"], found["singled_out"]) == (False, True) and len(found["another"]) == 6
    assert "l1 does not single out" in run("flow", "many.csv", "--from", "s", "--to", "t", "--rule", "l1")[1].replace("\n", " ")
    assert "only one maximum flow, and this is it" in run("flow", "pipes.csv", "--from", "s", "--to", "t")[1]


def test_supplies_several_ends_and_shares(run, tmp_path):
    (tmp_path / "many.csv").write_text(MANY)
    assert run("flow", "many.csv", "--supply", "s=2", "--supply", "m=-2")[1].startswith("Least cost 2;")
    out = run("flow", "many.csv", "--from", "s", "--from", "x", "--to", "t", "--to", "y", "--together")[1]
    assert out.startswith("Maximum flow 5; the cut around s, a, b")
    pytest.importorskip("ortools")
    shares = json.loads(run("flow", "many.csv", "--from", "s", "--to", "t", "--share", "nodes", "--json")[1])
    assert shares["m"] == pytest.approx(3 - shares["a"] - shares["b"]) and shares["x"] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--supply", "s"), "write NODE=AMOUNT"),
        (("--supply", "s=1"), "add up to 1"),
        (("--supply", "s=1", "--from", "s", "--to", "t"), "give one of them"),
        (("--from", "s", "--to", "t", "--rule", "barrier", "--epsilon", "0"), "--epsilon"),
        (("--from", "s", "--to", "t", "--from", "a", "--to", "b", "--rule", "l2"), "--together"),
        (("--cheapest",), "--from and --to"),
        (("--share", "nodes"), "--from and --to"),
    ],
)
def test_what_does_not_fit_together_is_named(run, words, said):
    code, _, error = run("flow", "pipes.csv", *words)
    assert code == 2 and said in " ".join(error.split())


def test_the_page_shows_ranges_and_escapes_names(run, tmp_path):
    (tmp_path / "odd.csv").write_text(MANY.replace("s,", "<i>,"))
    assert run("flow", "odd.csv", "--from", "<i>", "--to", "t", "--rule", "l2", "--html", "odd.html")[0] == 0
    page = (tmp_path / "odd.html").read_text(encoding="utf-8")
    assert "&lt;i&gt; → a" in page and "<i>" not in page and "One of many maximum flows" in page and ">most<" in page


def test_a_capacity_without_a_limit_does_not_hide_the_others(run, tmp_path):
    (tmp_path / "open.csv").write_text("from,to,capacity\ns,a,2.5\na,t,inf\n")
    assert run("flow", "open.csv", "--from", "s", "--to", "t", "--html", "open.html")[0] == 0
    page = (tmp_path / "open.html").read_text(encoding="utf-8")
    assert "<td>2.5</td><td>2.5</td>" in page and "<td>2.5</td><td>∞</td>" in page
