"""accredit: credit where it is due, and how far to trust it.

>>> import accredit
>>> cookies = accredit.TableGame(("alice", "bob"), [0, 5, 3, 10])
>>> accredit.shapley(cookies).as_dict()
{'alice': 6.0, 'bob': 4.0}
"""

from accredit.core import AccreditError, Attribution, Claim, Game, Holds, InvalidInput, Selection, TooManyPlayers
from accredit.evaluate import audit, check_claims
from accredit.games import FunctionGame, TableGame, cached, counted, grouped, read_game, restricted
from accredit.values import (
    banzhaf,
    best_subsets,
    beta,
    leave_one_out,
    mobius,
    owen,
    semivalue,
    shapley,
    shapley_interactions,
    value_given,
)

__version__ = "0.1.0"

__all__ = [
    "AccreditError", "Attribution", "Claim", "FunctionGame", "Game", "Holds", "InvalidInput", "Selection", "TableGame",
    "TooManyPlayers", "audit", "banzhaf", "best_subsets", "beta", "cached", "check_claims", "counted", "grouped",
    "leave_one_out", "mobius", "owen", "read_game", "restricted", "semivalue", "shapley", "shapley_interactions",
    "value_given",
]  # fmt: skip
