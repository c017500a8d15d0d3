"""A durable game: every payoff is evaluated by a crew, written to a journal, and never paid for twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import NoReturn, overload

import numpy as np

from accredit.checks import real_numbers
from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import check_seed, check_text, whole_number
from accredit.core import BoolArray, FloatArray, Game, Games, write_coalition
from accredit.core.coalitions import keys, unique
from accredit.core.multi_target import Predicting
from accredit.core.rounding import blur_of
from accredit.errors import BadPayoff
from accredit.store.entries import Entry
from accredit.store.executors import Crew, Executor, crew_of
from accredit.store.fingerprint import Fingerprint, fingerprint, fingerprint_of
from accredit.store.journal import Journal
from accredit.store.schedule import FinishedBatch, Schedule
from accredit.store.workers import Renewal, new_holder

COMMIT_SECONDS = 0.2  # the longest that a finished payoff waits in memory
COMMIT_ROWS = 2000
WATCH_SECONDS = 0.02  # between looks at what another process is evaluating, at first


class Quarantined(BadPayoff):
    """Some coalitions have no payoff after every retry; all others are stored.

    >>> from accredit.games import FunctionGame
    >>> def fails(coalitions):
    ...     raise OSError("the disk is full")
    >>> with durable(FunctionGame("ab", fails), executor="serial", name={"game": "fails"}, retries=0) as game:
    ...     game.payoff(np.array([[True, False]]))
    Traceback (most recent call last):
        ...
    accredit.store.durable.Quarantined: 1 of 1 coalitions have no payoff after 1 attempts; the first, {a}, says: ...
    """


class Durable:
    """See `durable`.

    >>> from accredit.games import TableGame
    >>> from accredit.values import shapley
    >>> with durable(TableGame(("alice", "bob"), [0, 5, 3, 10]), executor="serial") as game:
    ...     shapley(game).credit, game.evaluated
    (array([6., 4.]), 4)
    """

    def __init__(
        self,
        game: Game,
        journal: Journal,
        crew: Crew,
        name: Fingerprint,
        seed: int,
        retries: int,
        failed: float | None,
        watch: Callable[[int], None] | None,
    ) -> None:
        self._game, self._journal, self._crew, self._seed, self._retries = game, journal, crew, seed, retries
        self._failed, self._watch = failed, watch
        self._number = journal.enter(name, game.players)
        self._leases = _Leases(journal, self._number, seed)
        self._started = False
        self.fingerprint = name
        self.evaluated = 0  # payoffs paid for by this object
        self.recalled = 0  # payoffs found in the journal, those of other processes at work among them
        self.quarantined: dict[bytes, str] = {}  # packed coalition -> problem

    @property
    def players(self) -> tuple[str, ...]:
        return self._game.players

    @property
    def blur(self) -> float:
        return blur_of(self._game)

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets whose outputs are kept; none, if the game yields only payoffs."""
        return self._game.targets if isinstance(self._game, Predicting) else ()

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        return self.retrain(coalitions)[0]

    def retrain(self, coalitions: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Payoffs (batch,) and outputs (batch, targets), from the journal where known."""
        distinct, index = unique(np.asarray(coalitions, dtype=bool))
        names = keys(distinct)
        known = self._known(names)
        self.recalled += len(known)
        given_up = self.quarantined if self._failed is not None else {}
        missing = [row for row, key in enumerate(names) if key not in known and key not in given_up]
        if missing:
            known |= self._evaluate(distinct[missing])
        values = np.array([self._value(known, key) for key in names])
        outputs = np.full((len(names), len(self.targets)), np.nan)
        for row, key in enumerate(names):
            if key in known and known[key].outputs is not None:
                outputs[row] = known[key].outputs
        if self._watch:
            self._watch(self.recalled + self.evaluated)
        return values[index], outputs[index]

    def _known(self, names: list[bytes]) -> dict[bytes, Entry]:
        rows = self._journal.recall(self._number, self._seed, names)
        return {key: entry for key, entry in rows.items() if entry.status == "ok"}

    def _value(self, known: Mapping[bytes, Entry], key: bytes) -> float:
        if key in known:
            value = known[key].value
            assert value is not None
            return value
        assert self._failed is not None  # otherwise `_evaluate` has raised
        return self._failed

    def _evaluate(self, coalitions: BoolArray) -> dict[bytes, Entry]:
        """One entry for each coalition that has a payoff. Leases last until the last coalition is settled, or the work is
        interrupted."""
        if not self._started:
            self._crew.start(self._game)
            self._started = True
        names, before = keys(coalitions), self.evaluated
        try:
            known, bad = self._settle(coalitions, names)
        finally:
            self._leases.end()
        self.recalled += max(0, len(known) - (self.evaluated - before))  # what other processes paid for
        if bad and self._failed is None:
            self._give_up(coalitions, names, bad)
        return known

    def _settle(self, coalitions: BoolArray, names: list[bytes]) -> tuple[dict[bytes, Entry], set[bytes]]:
        """Evaluate what nobody else does, then wait for the rest; a coalition that its process lost is evaluated here.
        Returns the payoffs, and the coalitions that were set aside."""
        bad: set[bytes] = set()
        known: dict[bytes, Entry] = {}
        left, pause = list(range(len(names))), WATCH_SECONDS
        while left:
            waiting = [names[row] for row in left]
            bad |= self._work_through(coalitions[left], waiting)
            found = self._journal.recall(self._number, self._seed, waiting)
            bad |= self._set_aside_by_others(found)
            known |= {key: entry for key, entry in found.items() if entry.status == "ok"}
            unsettled = [row for row in left if names[row] not in known and names[row] not in bad]
            pause = WATCH_SECONDS if len(unsettled) < len(left) else min(2 * pause, 1.0)
            left = unsettled
            if left:
                time.sleep(pause)
        return known, bad

    def _set_aside_by_others(self, found: Mapping[bytes, Entry]) -> set[bytes]:
        """The coalitions that a process which we waited for has given up."""
        theirs = {k for k in self._leases.left_to_others if k in found and found[k].status == "quarantined"}
        if theirs:
            theirs -= self._leases.others_work_on(sorted(theirs))
        self.quarantined |= {key: found[key].problem for key in theirs}
        return theirs

    def _work_through(self, coalitions: BoolArray, names: list[bytes]) -> set[bytes]:
        """Evaluate what can be claimed, committing at least every `COMMIT_SECONDS`; an interrupt keeps all that is finished.
        Returns the coalitions that were set aside."""
        bad: set[bytes] = set()
        pending: list[Entry] = []
        last = time.monotonic()

        def claim(rows: list[int], most: int) -> list[int]:
            granted = self._leases.claim([names[row] for row in rows], most)
            return [row for row in rows if names[row] in granted]

        def commit() -> None:
            self._journal.record(self._number, self._seed, pending, self._leases.finished(pending))
            pending.clear()

        try:
            for part in Schedule(self._crew, coalitions, self._retries, claim):
                pending += _entries(part, names)
                self.evaluated += len(part.rows) - len(part.problems)
                if part.final:
                    bad |= {names[part.rows[position]] for position in part.problems}
                    self.quarantined |= {names[part.rows[p]]: text for p, text in part.problems.items()}
                if time.monotonic() - last > COMMIT_SECONDS or len(pending) >= COMMIT_ROWS:
                    commit()
                    last = time.monotonic()
                    if self._watch:
                        self._watch(self.recalled + self.evaluated)
        finally:
            if pending:
                commit()
        return bad

    def _give_up(self, coalitions: BoolArray, names: list[bytes], bad: set[bytes]) -> NoReturn:
        first = min(row for row, key in enumerate(names) if key in bad)
        who = _short(write_coalition(self.players, coalitions[first]))
        raise Quarantined(
            f"{len(bad)} of {len(coalitions)} coalitions have no payoff after {1 + self._retries} attempts; the "
            f"first, {who}, says: {self.quarantined[names[first]]}. They are marked in {self._journal.path}, "
            "all other payoffs are stored. Fix the cause and run again, or say what such a coalition earns: "
            "durable(..., failed=0.0)",
            code="failed",
        )

    def close(self) -> None:
        """Stop the workers."""
        if self._started:
            self._crew.close()
            self._started = False

    def __enter__(self) -> Durable:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class _Leases:
    """What this process has claimed in a journal, and what it left to others. Nothing is leased in memory: it has one user."""

    def __init__(self, journal: Journal, game: int, seed: int) -> None:
        self._journal, self._game, self._seed = journal, game, seed
        self._holder = new_holder()
        self._renewal: Renewal | None = None
        self._open: dict[bytes, int] = {}  # coalition -> its lease
        self.left_to_others: set[bytes] = set()

    def claim(self, wanted: list[bytes], most: int) -> set[bytes]:
        """The first of the coalitions, at most `most`, that are ours to evaluate; those before them are left to others."""
        if not self._journal.shared:
            return set(wanted[:most])
        if self._renewal is None:
            self._renewal = Renewal(self._journal.path, self._holder)
        lease, granted = self._journal.claim(self._game, self._seed, self._holder, wanted, most)
        self._open |= dict.fromkeys(granted, lease)
        looked_at = wanted if len(granted) < most else wanted[: wanted.index(granted[-1])]
        self.left_to_others |= set(looked_at) - set(granted)
        return set(granted)

    def finished(self, entries: list[Entry]) -> list[int]:
        """The leases with nothing left to do once these entries are stored."""
        touched = {self._open.pop(e.coalition) for e in entries if e.status != "failed" and e.coalition in self._open}
        return sorted(touched - set(self._open.values()))

    def others_work_on(self, names: list[bytes]) -> set[bytes]:
        if not self._journal.shared:
            return set()
        return self._journal.others_work_on(self._game, self._seed, self._holder, len(names[0]))

    def end(self) -> None:
        """Give back what was claimed and not finished, and stop renewing."""
        if self._renewal is not None:
            self._renewal.end()
            self._renewal = None
        if self._open:
            self._journal.release(self._holder)
            self._open.clear()


class DurableGames(Durable):
    """Several games, remembered: every evaluation pays all outputs. See `durable`."""

    @property
    def outputs(self) -> tuple[str, ...]:
        return self.targets

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        """One payoff for each coalition and output; a coalition that failed has the stated payoff in all of them."""
        earned = self.retrain(coalitions)[1]
        return earned if self._failed is None else np.where(np.isnan(earned), self._failed, earned)


class _AsTargets:
    """Several games as one that predicts: all outputs are targets, and the first is the payoff that a journal requires."""

    def __init__(self, games: Games) -> None:
        self._games = games

    @property
    def players(self) -> tuple[str, ...]:
        return self._games.players

    @property
    def blur(self) -> float:
        return blur_of(self._games)

    @property
    def targets(self) -> tuple[str, ...]:
        return self._games.outputs

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        return self.retrain(coalitions)[0]

    def retrain(self, coalitions: BoolArray) -> tuple[FloatArray, FloatArray]:
        earned = real_numbers(self._games.payoff(coalitions), "payoff", BadPayoff)
        return earned[:, 0], earned


def _entries(part: FinishedBatch, names: list[bytes]) -> list[Entry]:
    entries = []
    for position, row in enumerate(part.rows):
        if position in part.problems:
            status = "quarantined" if part.final else "failed"
            entries.append(Entry(names[row], status, None, part.seconds, 1, part.problems[position]))
        else:
            outputs = None if part.outputs is None else part.outputs[position]
            entries.append(Entry(names[row], "ok", float(part.values[position]), part.seconds, outputs=outputs))
    return entries


def _short(text: str, width: int = 120) -> str:
    return text if len(text) <= width else text[: width - 2] + " …"


@overload
def durable(
    game: Games,
    journal: Journal | None = None,
    executor: str | Executor | Crew | None = None,
    *,
    name: Fingerprint | Mapping[str, object] | None = None,
    seed: int | None = None,
    retries: int = 2,
    failed: float | None = None,
    limit: float | None = None,
    watch: Callable[[int], None] | None = None,
) -> DurableGames: ...
@overload
def durable(
    game: Game,
    journal: Journal | None = None,
    executor: str | Executor | Crew | None = None,
    *,
    name: Fingerprint | Mapping[str, object] | None = None,
    seed: int | None = None,
    retries: int = 2,
    failed: float | None = None,
    limit: float | None = None,
    watch: Callable[[int], None] | None = None,
) -> Durable: ...
@check_arguments
def durable(
    game: Game,
    journal: Journal | None = None,
    executor: str | Executor | Crew | None = None,
    *,
    name: Fingerprint | Mapping[str, object] | None = None,
    seed: int | None = None,
    retries: int = 2,
    failed: float | None = None,
    limit: float | None = None,
    watch: Callable[[int], None] | None = None,
) -> Durable:
    """`game`, evaluated by `executor` (default: worker processes) and remembered in `journal` (default: in memory).

    It is a game like any other, so every solver works on it unchanged. A run that is killed at any instant and started
    again asks the same coalitions in the same order; the journal answers those already paid for, so the result is the
    same to the last bit, provided that the payoff of a coalition does not depend on the batch it is asked in.

    `name` says which game this is, as a `Fingerprint` or its parts; left out, the game is hashed with its data. `seed`
    is part of the key (default: the game's own `seed`, or 0). A coalition that keeps failing is retried `retries` times
    and then quarantined: `Quarantined` is raised once the rest of the batch is stored, unless `failed` states its
    payoff. With `limit`, a payoff may take so many seconds; a coalition that takes longer is quarantined. Several processes
    may run on one journal: each evaluates what the others do not. `watch` is called with the number of payoffs known so
    far. All outputs of a game that pays several are kept.

    >>> from accredit.games import TableGame
    >>> with durable(TableGame(("alice", "bob"), [0, 5, 3, 10]), executor="serial") as game:
    ...     game.payoff(np.array([[True, True], [True, True]])), game.evaluated
    (array([10., 10.]), 1)
    """
    whole_number(retries, "retries", 0, example=2)
    if name is None:
        name = fingerprint_of(game)
    elif not isinstance(name, Fingerprint):
        name = fingerprint(**{check_text(part, "name"): value for part, value in name.items()})
    chosen = check_seed(getattr(game, "seed", 0) if seed is None else seed)
    kind, kept = (DurableGames, _AsTargets(game)) if isinstance(game, Games) else (Durable, game)
    return kind(kept, journal or Journal(":memory:"), crew_of(executor, limit), name, chosen, retries, failed, watch)
