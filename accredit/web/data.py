"""A valuation journal as the page shows it, also while another process writes it.

When the run has ended its own result is shown. Before that, all that is known is a pile of coalitions with their payoffs:
the mean payoff with a player, minus the mean without, ranks the players meanwhile.
"""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from accredit import defaults
from accredit.checks.json_data import cell
from accredit.core import Attribution, BoolArray, FloatArray, Game, Precision, Procedure, no_division
from accredit.core.coalitions import CHUNK_BYTES, pack, to_index, unique, unpack
from accredit.errors import InvalidInput
from accredit.evaluate.data import Curve, random_removal_curve, removal_curve
from accredit.games import TableGame, grouped
from accredit.labels.result import WrongLabels
from accredit.store.export import export
from accredit.store.journal import Journal, existing
from accredit.training_data.suspects import Harmful, RowFacts, harmful
from accredit.training_data.worth import CURVE_ORDERS, CURVE_STEPS
from accredit.values.interactions import shapley_interactions

NORMAL = 1.959964
PAIRED = 12  # players of largest credit whose interactions are shown
FEWEST = 5  # coalitions with and without a player before its difference is shown
TABLED = 12  # players up to which a full table is looked for


@dataclass(frozen=True, eq=False)
class WatchedRun:
    """A journal at one moment."""

    rows: int
    payoffs: int
    failed: int
    seconds: float
    unfinished: bool
    known: RowFacts
    values: Attribution | None
    provisional: bool
    harmful: tuple[Harmful, ...]
    pair_players: tuple[str, ...]
    square: FloatArray | None  # (pairs, pairs) interactions; nan: too few coalitions to tell
    pairs_because: str
    curves: tuple[Curve, ...]
    labels: WrongLabels | None = None  # which labels are wrong, where the run asked
    unanswered: str = ""  # why that could not be answered
    notes: tuple[str, ...] = ()  # what was cut, not known or odd about the rows
    warnings: tuple[str, ...] = ()  # what makes the values doubtful


def state_of(path: str) -> str:
    """Changes whenever the journal does; cheap to ask."""
    with existing(path, verified=False) as journal:
        counts = [(g["ok"], g["failed"], g["quarantined"]) for g in journal.games()]
        runs = [(run.id, run.ended) for run in journal.runs()]
    return sha256(f"{counts}{runs}".encode()).hexdigest()  # short, however many runs there were: an address carries it


def watch(path: str) -> WatchedRun:
    """What the journal says now, of its last game and its last run."""
    with existing(path, verified=False) as journal:
        games, runs = journal.games(), journal.runs()
        unfinished = not runs or runs[-1].ended is None
        result = None if unfinished else runs[-1].values
        game: dict[str, Any] = games[-1] if games else {"players": (), "ok": 0, "failed": 0, "quarantined": 0, "seconds": 0.0}
        rows: tuple[str, ...] = game["players"] or (result.players if result else ())
        facts = journal.description(runs[-1].id) if runs else {}
        known = RowFacts.of(facts, rows)
        masks, worth = _store(journal, game["id"], len(rows)) if games else (np.zeros((0, len(rows)), dtype=bool), np.zeros(0))
    stored = _Stored(rows, masks, worth)
    if known.groups:
        playing: Game = grouped(stored, known.groups)
        names, together = playing.players, masks[:, [rows.index(known.groups[name][0]) for name in playing.players]]
    else:
        playing = stored
        names, together = _players_that_differ(rows, masks)
    values = result or _difference(names, together, worth)
    square, pair_players, because = _interactions(values, names, together, worth)
    return WatchedRun(
        len(rows),
        game["ok"],
        game["failed"] + game["quarantined"],
        game["seconds"],
        unfinished,
        known,
        values,
        result is None,
        harmful(values, known),
        pair_players,
        square,
        because,
        _curves(result, playing),
        WrongLabels.from_plain(facts["wrong labels"]) if facts.get("wrong labels") else None,
        facts.get("unanswered", ""),
        tuple(facts.get("notes", ())),
        tuple(facts.get("warnings", ())),
    )


def _store(journal: Journal, game: int, players: int) -> tuple[BoolArray, FloatArray]:
    """Every coalition that was paid for, (m, n), and its payoff, (m,)."""
    kept = [(e.coalition, e.value) for _, e in journal.entries(game) if e.status == "ok"]
    if not kept:
        return np.zeros((0, players), dtype=bool), np.zeros(0)
    bits = np.frombuffer(b"".join(coalition for coalition, _ in kept), dtype=np.uint8).reshape(len(kept), -1)
    return unpack(bits, players), np.array([value for _, value in kept], dtype=np.float64)


def _players_that_differ(players: Sequence[str], masks: BoolArray) -> tuple[tuple[str, ...], BoolArray]:
    """Rows that always play together are one player: a run over groups stores its coalitions row by row."""
    if not len(masks):
        return tuple(players), masks
    columns, kind = unique(masks.T)  # (kinds, m); kinds are numbered as they first appear
    _, first, sizes = np.unique(kind, return_index=True, return_counts=True)
    names = [
        players[k] + (f" and {size - 1} with it" if size > 1 else "")
        for k, size in zip(first.tolist(), sizes.tolist(), strict=True)
    ]
    return tuple(names), columns.T


def _difference(players: tuple[str, ...], masks: BoolArray, worth: FloatArray) -> Attribution | None:
    """Mean payoff with a player minus the mean without, where both are known; Welch's standard error."""
    inside = masks.sum(axis=0)
    known = (inside >= FEWEST) & (len(masks) - inside >= FEWEST)
    if not known.any():
        return None
    picked = masks[:, known]
    middle = worth.mean()  # squares are taken about it, so that none is lost to rounding
    powers = np.stack([worth - middle, (worth - middle) ** 2])  # (2, m)
    rows = max(1, CHUNK_BYTES // (8 * picked.shape[1]))
    inner = np.zeros((2, picked.shape[1]))
    for k in range(0, len(worth), rows):
        inner += powers[:, k : k + rows] @ picked[k : k + rows]
    means, errors = [], []
    for count, (total, squares) in (
        (inside[known], inner),
        (len(worth) - inside[known], powers.sum(axis=1)[:, None] - inner),
    ):
        means.append(total / count)
        errors.append(np.maximum(squares / count - means[-1] ** 2, 0.0) / (count - 1))
    credit, stderr = means[0] - means[1], np.sqrt(errors[0] + errors[1])
    return Attribution(
        tuple(p for p, is_known in zip(players, known, strict=True) if is_known),
        credit,
        None,
        Procedure(f"difference of means over {len(worth):,} stored payoffs"),
        no_division("means over whatever was stored first: they rank players until the run has its result"),
        stderr=stderr,
        interval=np.column_stack([credit - NORMAL * stderr, credit + NORMAL * stderr]),
        level=defaults.LEVEL,
        precision=Precision.interval("Welch's normal interval, as if stored coalitions were drawn at random"),
    )


def _interactions(
    values: Attribution | None, players: tuple[str, ...], masks: BoolArray, worth: FloatArray
) -> tuple[FloatArray | None, tuple[str, ...], str]:
    """Shapley interactions where every coalition is stored, else differences of differences of means."""
    n = len(players)
    if values is None or n < 2:
        return None, (), ""
    if n <= TABLED and len(masks) >= 1 << n:
        index = to_index(masks)
        times = np.bincount(index, minlength=1 << n)  # a coalition may have been paid for with several seeds
        if times.all():
            table = np.bincount(index, worth, 1 << n) / times
            because = "Shapley interactions from all coalitions. Positive: complements; negative: substitutes."
            return shapley_interactions(TableGame(players, table)).matrix(), players, because
    place = {name: k for k, name in enumerate(players)}
    strongest = [place[name] for name in values.top(PAIRED).players if name in place]
    if len(strongest) < 2:
        return None, (), ""
    inside = masks[:, strongest].astype(np.float64)
    sums, counts = [], []
    for a in (inside, 1 - inside):
        for b in (inside, 1 - inside):
            counts.append(a.T @ b)
            sums.append((a * worth[:, None]).T @ b)
    known = np.minimum.reduce(counts) >= FEWEST  # never so on the diagonal: nobody is with and without itself
    if not known.any():
        return None, (), ""
    with np.errstate(divide="ignore", invalid="ignore"):
        both, first, second, neither = (s / c for s, c in zip(sums, counts, strict=True))
        square = np.where(known, both - first - second + neither, np.nan)
    np.fill_diagonal(square, 0.0)
    missing = int(np.triu(~known, 1).sum())
    because = (
        f"What the {len(strongest)} strongest add together beyond what each adds: differences of differences of mean "
        f"payoffs.{f' Empty: too few coalitions to tell, for {missing} of the pairs.' if missing else ''}"
    )
    return square, tuple(players[k] for k in strongest), because


class _Stored:
    """The game as far as it is stored; a coalition that is not raises."""

    def __init__(self, players: tuple[str, ...], masks: BoolArray, worth: FloatArray) -> None:
        self.players = players
        self._known = dict(zip(map(bytes, pack(masks)), worth.tolist(), strict=True))

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        try:
            return np.array([self._known[bytes(row)] for row in pack(coalitions)])
        except KeyError:
            raise InvalidInput("a coalition of this curve is not in the journal", code="missing") from None


def _curves(result: Attribution | None, game: Game) -> tuple[Curve, ...]:
    """The removal curves that the run trained, found again among its payoffs; groups are removed as groups."""
    if result is None or set(result.players) != set(game.players):
        return ()
    asked: list[Callable[[], Curve]] = [
        lambda: removal_curve(game, result, steps=CURVE_STEPS, highest_first=True),
        lambda: removal_curve(game, result, steps=CURVE_STEPS, highest_first=False),
        lambda: random_removal_curve(game, steps=CURVE_STEPS, orders=CURVE_ORDERS),
    ]
    found = []
    for draw in asked:
        try:
            found.append(draw())
        except InvalidInput:
            continue
    return tuple(found)


def as_csv(path: str) -> str:
    """Every payoff of the journal."""
    with tempfile.TemporaryDirectory() as folder, existing(path) as journal:
        file = Path(folder) / "payoffs.csv"
        export(journal, file)
        return file.read_text(encoding="utf-8")


def values_csv(path: str) -> str:
    """One line per player: credit, interval, label and text as far as they are known."""
    seen = watch(path)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["player", "credit", "low", "high", "label", "text"])
    values = seen.values
    if values is not None:
        for k in np.argsort(-values.credit, kind="stable").tolist():
            name = values.players[k]
            ends = ["", ""] if values.interval is None else values.interval[k].tolist()
            about = [cell(seen.known.labels.get(name, "")), cell(seen.known.texts.get(name, ""))]
            writer.writerow([cell(name), float(values.credit[k]), *ends, *about])
    return out.getvalue()
