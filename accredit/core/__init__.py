"""Players, coalitions, games, credit and claims: the words every other part speaks."""

from accredit.checks.numbers import BoolArray, FloatArray, IntArray
from accredit.core.attribution import Attribution
from accredit.core.attributions import Attributions
from accredit.core.claims import AXIOMS, Claim, Holds, no_division
from accredit.core.estimate import Estimate, Known, Precision
from accredit.core.game import (
    Game,
    Tabulated,
    check_game,
    check_groups,
    check_names,
    check_players,
    coalition_of,
    distinct_names,
    endpoints,
    payoffs,
    player_index,
    tabulate,
    write_coalition,
)
from accredit.core.games import Games, every_payoff, output
from accredit.core.interactions import Coalition, Interactions
from accredit.core.notes import Note, NoteKind
from accredit.core.procedure import Procedure
from accredit.core.selection import Selection

__all__ = [
    "AXIOMS",
    "Attribution",
    "Attributions",
    "BoolArray",
    "Claim",
    "Coalition",
    "Estimate",
    "FloatArray",
    "Game",
    "Games",
    "Holds",
    "IntArray",
    "Interactions",
    "Known",
    "Note",
    "NoteKind",
    "Precision",
    "Procedure",
    "Selection",
    "Tabulated",
    "check_game",
    "check_groups",
    "check_names",
    "check_players",
    "coalition_of",
    "distinct_names",
    "endpoints",
    "every_payoff",
    "no_division",
    "output",
    "payoffs",
    "player_index",
    "tabulate",
    "write_coalition",
]  # fmt: skip
