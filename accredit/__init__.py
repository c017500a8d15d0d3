"""accredit: credit where it is due, and how far to trust it.

>>> import accredit
>>> cookies = accredit.TableGame(("alice", "bob"), [0, 5, 3, 10])
>>> accredit.shapley(cookies).as_dict()
{'alice': 6.0, 'bob': 4.0}

What 1.0 freezes is listed in docs/stable.md; every other name, here and in the rooms, is internal and may change.
"""

from accredit import interrupts as interrupts  # first: Ctrl-C may come while numpy is being imported

# isort: split
from typing import TYPE_CHECKING, Any

from accredit.checks.lazy import lazy
from accredit.core import Attribution, Attributions, Claim, Game, Games, Holds, Interactions, Selection, output
from accredit.core.display import draw_with
from accredit.core.version import __version__ as __version__
from accredit.errors import AccreditError, InvalidInput, TooManyPlayers
from accredit.evaluate import axioms_kept, check_claims
from accredit.games import (
    ChoiceFunction,
    ChoiceTable,
    FunctionGame,
    FunctionGames,
    TableGame,
    TableGames,
    WeightedVote,
    cached,
    counted,
    grouped,
    read_choices,
    read_game,
    read_games,
    restricted,
)
from accredit.values import (
    asymmetric,
    banzhaf,
    banzhaf_interactions,
    banzhaf_owen,
    best_subsets,
    beta,
    bolger,
    interactions,
    least_core,
    leave_one_out,
    leaving_out,
    mobius,
    multichoice,
    normalised_banzhaf,
    nucleolus,
    owen,
    roll_calls,
    semivalue,
    shapley,
    shapley_interactions,
    value_given,
)

if TYPE_CHECKING:
    from accredit.attention import flow_report, joint_flow, pairwise_flow
    from accredit.attention.readings import rollout as rollout
    from accredit.explanation import (
        Explainer,
        calibrate,
        cite,
        explain,
        explain_answer,
        explain_picture,
        explain_refits,
        explain_rows,
        explain_series,
        explain_text,
    )
    from accredit.rows import from_shap


def _views() -> Any:
    from accredit import views

    return views


draw_with(_views)
__getattr__ = lazy(
    __name__,
    {
        "Explainer": "accredit.explanation",
        "calibrate": "accredit.explanation",
        "cite": "accredit.explanation",
        "explain": "accredit.explanation",
        "explain_answer": "accredit.explanation",
        "explain_picture": "accredit.explanation",
        "explain_refits": "accredit.explanation",
        "explain_rows": "accredit.explanation",
        "explain_series": "accredit.explanation",
        "explain_text": "accredit.explanation",
        "flow_report": "accredit.attention",
        "from_shap": "accredit.rows",
        "joint_flow": "accredit.attention",
        "pairwise_flow": "accredit.attention",
        "rollout": "accredit.attention",
    },
)

__all__ = [
    "AccreditError", "Attribution", "Attributions", "ChoiceFunction", "ChoiceTable", "Claim", "Explainer", "FunctionGame",
    "FunctionGames",
    "Game", "Games", "Holds", "Interactions", "InvalidInput", "Selection", "TableGame", "TableGames", "TooManyPlayers",
    "WeightedVote", "asymmetric", "axioms_kept", "banzhaf", "banzhaf_interactions", "banzhaf_owen", "best_subsets", "beta",
    "bolger", "cached", "calibrate", "check_claims", "cite", "counted", "explain", "explain_answer", "explain_picture",
    "explain_refits", "explain_rows", "explain_series", "explain_text", "flow_report", "from_shap", "grouped", "interactions",
    "joint_flow", "least_core", "leave_one_out", "leaving_out", "mobius", "multichoice", "normalised_banzhaf", "nucleolus",
    "output", "owen",
    "pairwise_flow", "read_choices", "read_game", "read_games", "restricted", "roll_calls", "rollout", "semivalue",
    "shapley", "shapley_interactions", "value_given",
]  # fmt: skip
