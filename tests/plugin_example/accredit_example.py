"""A method, a reader of models and a command for accredit, in a package of their own."""

import click
import numpy as np

from accredit.core import Attribution, Claim, Holds
from accredit.core.game import endpoints
from accredit.methods import Cost, Method
from accredit.models.rows import RowModel


class EqualSplit:
    """Everybody gets the same."""

    def solve(self, game):
        nobody, everybody = endpoints(game)
        n = len(game.players)
        claims = (Claim("efficiency", Holds.EXACTLY, "n equal parts of the whole"),)
        return Attribution(game.players, np.full(n, (everybody - nobody) / n), everybody - nobody, "equal split", claims)


METHOD = Method(
    "equal-split",
    "game",
    "accredit_example:EqualSplit",
    "accredit_example.EqualSplit().solve(game)",
    "any",
    "v(N) − v(∅)",
    ("efficiency",),
    Cost("2 payoffs", lambda n, budget: 2),
    takes=(),
)


class Line:
    """A model that nobody but this package can read."""

    def __init__(self, slopes):
        self.slopes = np.asarray(slopes)


def read(model):
    return RowModel({"value": lambda rows: np.asarray(rows, dtype=float) @ model.slopes}, None, "a line", model)


@click.command()
def greet():
    """Say hello."""
    click.echo("hello from another package")
