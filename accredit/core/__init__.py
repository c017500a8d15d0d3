"""Players, coalitions, games, credit and claims: the words every other part speaks."""

from accredit.core.attribution import Attribution
from accredit.core.attributions import Attributions
from accredit.core.claims import AXIOMS, Claim, Holds, no_division
from accredit.core.coalitions import BoolArray, FloatArray, IntArray
from accredit.core.errors import (
    AccreditError,
    BadPayoff,
    BrokenLibrary,
    InvalidInput,
    MissingExtra,
    NotConverged,
    TooManyOutputs,
    TooManyPlayers,
)
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
from accredit.core.lazy import needs
from accredit.core.notes import Note, NoteKind
from accredit.core.numbers import (
    as_array,
    check_seed,
    check_text,
    optional_whole,
    real_number,
    real_numbers,
    shown,
    whole_number,
)
from accredit.core.procedure import Procedure
from accredit.core.selection import Selection

__all__ = [
    "AXIOMS",
    "AccreditError",
    "Attribution",
    "Attributions",
    "BadPayoff",
    "BoolArray",
    "BrokenLibrary",
    "Claim",
    "Coalition",
    "Estimate",
    "FloatArray",
    "Game",
    "Games",
    "Holds",
    "IntArray",
    "Interactions",
    "InvalidInput",
    "Known",
    "MissingExtra",
    "NotConverged",
    "Note",
    "NoteKind",
    "Precision",
    "Procedure",
    "Selection",
    "Tabulated",
    "TooManyOutputs",
    "TooManyPlayers",
    "as_array",
    "check_game",
    "check_groups",
    "check_names",
    "check_players",
    "check_seed",
    "check_text",
    "coalition_of",
    "distinct_names",
    "endpoints",
    "every_payoff",
    "needs",
    "no_division",
    "optional_whole",
    "output",
    "payoffs",
    "player_index",
    "real_number",
    "real_numbers",
    "shown",
    "tabulate",
    "whole_number",
    "write_coalition",
]  # fmt: skip
