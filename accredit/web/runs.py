"""A valuation started from the page: the command itself, in a process and a folder of its own, watched through its journal."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path, PurePath

from accredit.errors import InvalidInput
from accredit.values.solver import PROGRESS_FILE
from accredit.views.language.arguments import as_field, as_option, in_words_of
from accredit.web.requests import RunRequest
from accredit.web.uploads import kind_of

STOP_SECONDS = 5.0  # that a run may take to put its last payoff away
PROGRESS = "progress.json"  # where a run says how far it has got
LINES = 3  # of what the command said, when it failed
FIELDS = {  # argument -> what the form calls it
    "target": "Column to predict",
    "task": "Its kind",
    "text": "Column of texts",
    "method": "Method",
    "model": "Model",
    "budget": "Trainings to spend",
}
ELSEWHERE = {  # argument -> option of `accredit value`, where the form has no field
    "test": "--test",
    "split_seed": "--split-seed",
    "players": "--players",
    "groups": "--groups",
    "half_width": "--half-width",
    "seen_as": "--features",
    "executor": "--executor",
}


def in_form_words(said: str, argument: str = "") -> str:
    """A message of the library in the words of the form that started a run; what the form does not have is of the command.

    >>> in_form_words("the target is a number; write method='loo', model='ridge', or task='class' if it is one")
    'the target is a number; write “Method: loo”, “Model: ridge”, or “Its kind: class” if it is one'
    >>> in_form_words("column 'a' holds 30 different words; name it with text=COLUMN, or leave it out of the file")
    "column 'a' holds 30 different words; name it with “Column of texts”, or leave it out of the file"
    """
    said = in_words_of(FIELDS, as_field, said, argument)
    return in_words_of({name: f"{option} of accredit value" for name, option in ELSEWHERE.items()}, as_option, said)


def in_command_words(said: str) -> str:
    """The same for a run that the command started."""
    return in_words_of({name: f"--{name}" for name in FIELDS} | ELSEWHERE, as_option, said)


class Runs:
    """The one run that was started here, if any; the next one takes its place."""

    def __init__(self) -> None:
        self.name = ""
        self.budget: int | None = None
        self.lines = 0  # of the table
        self.stopped = False
        self._began = 0.0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: asyncio.subprocess.Process | None = None

    @property
    def journal(self) -> str | None:
        """Where the run writes; None before anything was started."""
        return None if self._folder is None else str(Path(self._folder.name) / "run.db")

    def state(self) -> dict[str, object] | None:
        """What became of the run, for the page."""
        if self._process is None:
            return None
        code = self._process.returncode
        how = "running" if code is None else "cancelled" if self.stopped else "finished" if code == 0 else "failed"
        return {
            "name": self.name,
            "budget": self.budget,
            "lines": self.lines,
            "how": how,
            "problem": self._say() if how == "failed" else "",
        }

    def progress(self) -> dict[str, object]:
        """How long the run has lasted, what it does, and as far as it can say the share that is done and the seconds left."""
        assert self._folder is not None
        line = None
        with suppress(OSError, ValueError):  # it has not got so far
            line = json.loads((Path(self._folder.name) / PROGRESS).read_text(encoding="utf-8"))
        return {"seconds": round(time.monotonic() - self._began), **(line or {"label": "reading and training", "share": None})}

    async def start(self, asked: RunRequest) -> None:
        """Write the table down and start the command on it."""
        kind = kind_of(asked.name)
        if not asked.table.strip():
            raise InvalidInput(f"{PurePath(asked.name).name} is empty; its first line must name the columns", code="empty")
        await self.close()
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        (folder / f"data{kind}").write_text(asked.table, encoding="utf-8")
        self.name, self.budget, self.stopped = PurePath(asked.name).name, asked.budget, False
        self.lines, self._began = len(asked.table.splitlines()), time.monotonic()
        options = [f"--target={asked.target}", f"--method={asked.method}", f"--model={asked.model}", "--store=run.db"]
        options += [f"--budget={asked.budget}"] if asked.budget else []
        options += [f"--text={asked.text}"] if asked.text else []
        options += [f"--task={asked.task}"] if asked.task else []
        with (folder / "said.txt").open("wb") as said:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                "accredit.web.run_process",
                "value",
                f"data{kind}",
                *options,
                cwd=folder,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=said,
                env={**os.environ, "ACCREDIT_ERRORS": "json", PROGRESS_FILE: PROGRESS},
                start_new_session=True,
            )

    async def stop(self) -> None:
        """Interrupt the run; what is trained stays in the journal, and stays on the page."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        self.stopped = True
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()

    async def close(self) -> None:
        """End the run and delete its folder."""
        await self.stop()
        if self._folder is not None:
            self._folder.cleanup()
        self._folder = self._process = None

    def _say(self) -> str:
        """Why the run ended, in the words of the page."""
        assert self._folder is not None
        said = (Path(self._folder.name) / "said.txt").read_text(encoding="utf-8", errors="replace").strip()
        last = " ".join(said.splitlines()[-LINES:]) or "it ended without a word"
        with suppress(ValueError, KeyError, TypeError, IndexError):  # what ended it was not an error of the library
            record = json.loads(said.splitlines()[-1])
            last = in_form_words(record["message"], record["argument"])
        return last.replace(f"{self._folder.name}{os.sep}", "").replace(f"data{kind_of(self.name)}", self.name)[:500]
