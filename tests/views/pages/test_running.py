"""From the base value to the output: every step begins where the last one ended."""

import re

import numpy as np
from numpy.testing import assert_allclose

from accredit.core import Attribution
from accredit.explanation import Explanation
from accredit.views.language.largest import climb
from accredit.views.pages.explanation_page import STEPS, _steps, adds_up, explanation_blocks, running_sum
from accredit.views.pages.parts import step_bar


def explained(**methods: Attribution) -> Explanation:
    players = next(iter(methods.values())).players
    return Explanation("a b", (("YES", 1.0),), "YES", players, tuple(methods), methods)


def shares(credit: list[float], base: float | None = 1.0, total: float | None = None) -> Attribution:
    names = tuple(f"w{k}" for k in range(len(credit)))
    return Attribution(names, credit, sum(credit) if total is None else total, "by hand", baseline=base)


def test_steps_lead_from_the_base_value_to_the_output_in_the_order_of_the_text():
    steps = _steps(shares([2.0, -3.0, 0.5]), 1.0, {"w1": "second"})
    assert [step.name for step in steps] == ["w0", "second", "w2"]
    assert [(step.start, step.end) for step in steps] == [(1.0, 3.0), (3.0, 0.0), (0.0, 0.5)]


def test_bars_of_steps_stand_end_to_end():
    drawn = [step_bar(step, (0.0, 3.0)) for step in climb(1.0, [("a", "", 2.0), ("b", "", -3.0), ("c", "", 0.5)])]
    starts = [float(bar.axis[1:].split(" ")[0]) for bar in drawn]
    edges = [[float(x) for x in re.findall(r"M([\d.]+) 3h([\d.]+)", bar.fill)[0]] for bar in drawn]
    assert starts[1] == edges[0][0] + edges[0][1] and starts[2] == edges[1][0] == edges[2][0]
    assert [bar.kind for bar in drawn] == ["up", "down", "up"]


def test_of_many_players_those_of_largest_credit_are_steps_and_the_others_one():
    credit = np.random.default_rng(0).normal(size=100)
    steps = _steps(shares(credit.tolist()), 1.0, {})
    assert len(steps) == STEPS and steps[-1].name == f"{100 - STEPS + 1} others together"
    assert_allclose(steps[-1].end, 1.0 + credit.sum(), rtol=1e-12)
    assert [s.name for s in steps[:-1]] == sorted((s.name for s in steps[:-1]), key=lambda name: int(name[1:]))


def test_only_credit_that_adds_up_from_a_known_beginning_is_summed():
    adding, scores = shares([1.0, 2.0]), Attribution(("w0", "w1"), [1.0, 2.0], None, "scores")
    short = shares([1.0, 2.0], total=9.0)
    assert adds_up(explained(a=scores, b=short, c=adding)) == ("c", adding)
    for none in (explained(a=scores), explained(a=short), explained(a=shares([1.0, 2.0], base=None))):
        assert running_sum(none, {}) is None and "sum" not in explanation_blocks(none)
    assert list(explanation_blocks(explained(c=adding))).index("sum") == 5
