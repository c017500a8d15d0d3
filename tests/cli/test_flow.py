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
    assert code == 0 and says(out, "maximum flow 5") and "s → a" in out
    found = json.loads(run("flow", "pipes.csv", "--from", "s", "--to", "t", "--json")[1])
    assert found["value"] == pytest.approx(5) and abs(found["gap"]) < 1e-9


def test_least_cost_and_commodities(run):
    assert says(run("flow", "pipes.csv")[1], "least cost −15")
    found = json.loads(run("flow", "pipes.csv", "--json")[1])
    assert found["cost"] == pytest.approx(-15) and max(found["certificate"].values()) < 1e-9
    out = run("flow", "crossed.csv", "--from", "s1", "--to", "t1", "--from", "s2", "--to", "t2")[1]
    assert says(out, "maximum sum of")


def test_mistakes_are_named(run):
    assert says(run("flow", "pipes.csv", "--from", "s")[2], "for each --from")
    assert "unknown node" in run("flow", "pipes.csv", "--from", "x", "--to", "t")[2]
    assert says(run("flow", "pipes.csv", "--from", "s", "--to", "s")[2], "are both 's'")
