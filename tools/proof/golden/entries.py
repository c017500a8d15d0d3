"""What is recorded: small named calls in tables by kind, through the names in `doors` and through the command line.

An entry takes nothing and returns a result, a text or plain data. Where there is one entry for every method, the table is made
from the registry, so that a new method is recorded without being named here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tools.proof.golden.as_shown import PAGE, commands, forms, refusals
from tools.proof.golden.asking import Entries
from tools.proof.golden.of_games import FLOWS, games
from tools.proof.golden.of_inputs import answers, pairs, pictures, strings, texts
from tools.proof.golden.of_rows import rows
from tools.proof.golden.of_training import ARENA, AUDITS, EVALUATE, data, learned

# Kinds, each with the entries of its table, and about how many CPU-seconds they take: for sharing them among processes

KINDS: dict[str, tuple[float, Callable[[], Entries]]] = {
    "games": (2, games),
    "text": (25, texts),
    "pair": (4, pairs),
    "picture": (14, pictures),
    "strings": (1, strings),
    "answer": (6, answers),
    "rows": (5, rows),
    "flow": (1, lambda: FLOWS),
    "data": (22, data),
    "learned": (4, learned),
    "audit": (3, lambda: AUDITS),
    "evaluate": (1, lambda: EVALUATE),
    "arena": (5, lambda: ARENA),
    "form": (6, forms),
    "refusal": (1, refusals),
    "command": (42, commands),
    "page": (30, lambda: PAGE),
}


def entries(kinds: Iterable[str] = KINDS) -> Entries:
    """Every entry of some kinds by its name, `kind/name`."""
    return {f"{kind}/{name}": entry for kind in kinds for name, entry in KINDS[kind][1]().items()}
