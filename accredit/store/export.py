"""A journal as a table that any program reads."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from accredit.checks.files import put
from accredit.checks.json_data import cell
from accredit.core.coalitions import unpack
from accredit.errors import InvalidInput
from accredit.store.journal import Journal

COLUMNS = ("game", "coalition", "seed", "status", "value", "seconds", "attempts", "problem")


def export_rows(journal: Journal) -> Iterator[dict[str, Any]]:
    """Every payoff of every game, its coalition by names."""
    for game in journal.games():
        players = game["players"]
        for seed, entry in journal.entries(game["id"]):
            plays = unpack(np.frombuffer(entry.coalition, dtype=np.uint8)[None], len(players))[0]
            who = [player for player, is_in in zip(players, plays, strict=True) if is_in]
            row = (game["digest"], who, seed, entry.status, entry.value, entry.seconds, entry.attempts, entry.problem)
            yield dict(zip(COLUMNS, row, strict=True))


def export(journal: Journal, path: str | Path) -> None:
    """Write every payoff to a .csv (coalitions as A+B) or .json file, whole or not at all."""
    place = Path(path)
    if place.suffix == ".json":
        put(place, json.dumps(list(export_rows(journal)), ensure_ascii=False).encode())
    elif place.suffix == ".csv":
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([*({**row, "coalition": cell("+".join(row["coalition"]))}).values()] for row in export_rows(journal))
        put(place, out.getvalue().encode())
    else:
        raise InvalidInput(f"{place} must end in .csv or .json", argument="path", code="format")
