"""`accredit runs`: what a journal holds; export it, or go on where a run was interrupted."""

from __future__ import annotations

import contextlib
import json
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from accredit.cli.command import Command, wants_more
from accredit.cli.options import NamedPath
from accredit.cli.output import NewFile, write

if TYPE_CHECKING:
    from accredit.store import Run


@click.command(cls=Command, cuts=True)
@click.argument("file", type=NamedPath())
@click.option("--export", "export_file", type=NewFile(), help="Write every payoff to this .csv or .json file.")
@click.option("--resume", is_flag=True, help="Run the last unfinished command again; what is stored is not trained again.")
@click.option("--check", is_flag=True, help="Verify every page of the file and the checksum of every payoff.")
@click.option("--salvage", "rescued", type=NamedPath(), metavar="NEW.db", help="Save what is whole in a damaged FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def runs(file: str, export_file: str | None, resume: bool, check: bool, rescued: str | None, as_json: bool) -> None:
    """List the games and runs in the journal FILE."""
    from accredit.errors import InvalidInput
    from accredit.store.export import export
    from accredit.store.journal import existing

    if rescued:
        _save_what_is_whole(file, rescued)
        file = rescued
    if Path(file).is_file() and not Path(file).stat().st_size:
        raise InvalidInput(f"{file} is empty, so it is not a journal; a run writes one with --store NAME.db", code="empty")
    with existing(file) as journal:
        if check:
            rows = journal.check()
            click.echo(f"all is well: every page of {file} is sound, and {rows:,} payoffs match their checksums", err=True)
        games, known = journal.games(), journal.runs()
        remarks = [journal.remarks(run.id) for run in known]
        unfinished = [run for run in known if run.ended is None]
        if resume and not unfinished:
            raise InvalidInput(f"{file} holds no unfinished run; all {len(known)} have ended", code="missing")
        if export_file:
            export(journal, export_file)
    if resume:
        _go_on(unfinished[-1], Path(file).resolve(), as_json)
    elif as_json:
        shown = [{**game, "players": len(game["players"])} for game in games]
        told = [vars(run) | said for run, said in zip(known, remarks, strict=True)]
        click.echo(json.dumps({"games": shown, "runs": told}, ensure_ascii=False))
    else:
        click.echo(_read_list(file, games, known, remarks))
    if export_file:
        write(export_file)


def _save_what_is_whole(file: str, new: str) -> None:
    from accredit.store.salvage import salvage

    got = salvage(file, new)
    lost = f"; {got.damaged:,} more were found damaged and left out" if got.damaged else ""
    click.echo(f"{got.payoffs:,} payoffs match their checksums and are now in {new}{lost}", err=True)


def _go_on(run: Run, journal: Path, as_json: bool) -> None:
    """The same command, in the folder where it was started; the journal may have been moved since."""
    from accredit.cli.value import value
    from accredit.errors import InvalidInput

    if not Path(run.folder).is_dir():
        raise InvalidInput(
            f"run {run.id} was started in {run.folder}, which is gone; run its command again elsewhere", code="missing"
        )
    shown = ["--json"] if as_json else [*run.shown, *["--more"] * wants_more()]
    words = [*run.command[1:], "--store", str(journal), *shown]
    click.echo(f"resuming: accredit value {shlex.join(words)}", err=True)
    with contextlib.chdir(run.folder):
        value.main(args=words, standalone_mode=False)


def _read_list(file: str, games: list[dict[str, Any]], known: list[Run], remarks: list[dict[str, list[str]]]) -> str:
    from accredit.views.language.printable import printable
    from accredit.views.terminal.columns import table
    from accredit.views.terminal.screen import clip, fold_all, screen

    if not games and not known:
        return f"{file} holds no game and no run yet"
    counts = [[str(game[kind]) for kind in ("ok", "failed", "quarantined")] for game in games]
    lines = table(
        ["game", "players", "payoffs", "failed", "quarantined", "seconds"],
        [
            [game["digest"][:12], str(len(game["players"])), *count, f"{game['seconds']:.1f}"]
            for game, count in zip(games, counts, strict=True)
        ],
    )
    rows, commands = [], []
    for run in known:
        state = "unfinished" if run.ended is None else f"{run.ended - run.began:.1f} s"
        best = run.values.ranked().players[0] if run.values else ""
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.began))
        rows.append([str(run.id), when, state, printable(best)])
        commands.append(f"run {run.id}: accredit {shlex.join([*run.command, '--store', file])}")
    if rows:
        lines += ["", *table(["run", "began", "took", "highest"], rows, left=True), "", *fold_all(commands)]
    told: dict[str, list[str]] = {}
    for run, kinds in zip(known, remarks, strict=True):
        for kind, those in kinds.items():
            told.setdefault(kind, []).extend(f"run {run.id}, {kind[:-1]}: {remark}" for remark in those)
    warned = told.pop("warnings", [])
    return screen(
        _counts(games, known), ["", *clip(lines)], [line for each in told.values() for line in each], wants_more(), warned
    )


def _counts(games: list[dict[str, Any]], known: list[Run]) -> str:
    """What the journal holds, in a sentence, and what to do where a run was stopped."""
    from accredit.views.language.phrases import counted

    open_runs = sum(run.ended is None for run in known)
    kept, failed = (sum(int(game[kind]) for game in games) for kind in ("ok", "failed"))
    said = f"{counted(len(known), 'run')} of {counted(len(games), 'game')}, {counted(kept, 'payoff')} kept"
    said += f", {failed:,} failed" if failed else ""
    return said + (
        f"; {open_runs:,} unfinished, which --resume takes up again." if open_runs else "; all finished." * bool(known)
    )
