"""The registry says of every game value exactly what its attributions claim."""

import pytest

from accredit.core import Holds
from accredit.games import TableGame
from accredit.methods import METHODS
from accredit.valuation import Softmax, Truncated, datamodels, influence, knn_shapley, split
from accredit.values import banzhaf, beta, leave_one_out, owen, semivalue, shapley

GAME = TableGame("abc", [0, 1, 2, 4, 8, 9, 11, 20])
ROWS = split([[0.0], [1.0], [2.0]], ["a", "b", "b"], [[0.4]], ["b"])
RUN = {
    "shapley": shapley,
    "banzhaf": banzhaf,
    "beta": lambda g: beta(g, 4, 1),
    "semivalue": lambda g: semivalue(g, [0.5, 0.25, 0.0]),
    "leave-one-out": leave_one_out,
    "owen": lambda g: owen(g, [["a", "b"], "c"]),
    "knn-shapley": lambda _: knn_shapley(ROWS),
    "truncated": Truncated(budget=20).solve,
    "influence": lambda _: influence(Softmax(ROWS, 0.1)).attribution(),
    "datamodel": lambda g: datamodels(g, 40).attribution(),
}


@pytest.mark.parametrize("name", RUN)
def test_registry_agrees_with_the_claims(name):
    listed = next(m for m in METHODS if m.name == name)
    kept = {c.axiom for c in RUN[name](GAME).claims if c.holds is Holds.EXACTLY}
    assert kept == set(listed.axioms)


def test_names_differ():
    assert len({m.name for m in METHODS}) == len(METHODS)
