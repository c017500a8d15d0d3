"""What the data view is pointed at, told apart by its name: a journal, or a trace that `accredit trace --json` wrote."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from accredit.checks.files import LIMIT, read_bytes, read_json_object
from accredit.checks.json_data import cell
from accredit.errors import InvalidInput
from accredit.influence.trace import Trace
from accredit.store.journal import existing
from accredit.views.pages.journal_page import data_body, data_page
from accredit.views.pages.trace_page import trace_body, trace_page
from accredit.web import data
from accredit.web.runs import in_command_words, in_form_words

TEXTS = 50  # of a trace that are shown


def is_trace(path: str) -> bool:
    return Path(path).suffix.lower() == ".json"


def check(path: str) -> None:
    """Refuse, before the page is served, what it could not show."""
    if is_trace(path):
        _trace(path)
        return
    with existing(path):
        pass


def state_of(path: str) -> str:
    """Changes whenever the file does."""
    return sha256(read_bytes(path)).hexdigest() if is_trace(path) else data.state_of(path)


def shown(path: str, run: Mapping[str, object] | None) -> dict[str, object]:
    """The view and the same as one file; how many payoffs there are, None where nothing was paid for."""
    if is_trace(path):
        found = _trace(path)
        return {"html": trace_body(found, TEXTS), "page": trace_page(found, TEXTS), "payoffs": None}
    now = data.watch(path)
    speak = in_form_words if run else in_command_words
    notes, warnings = (tuple(map(speak, words)) for words in (now.notes, now.warnings))
    now = replace(now, unanswered=speak(now.unanswered), notes=notes, warnings=warnings)
    return {"html": data_body(now, run), "page": data_page(now), "payoffs": now.payoffs}


def values_csv(path: str) -> str:
    """One line per player, or per training text."""
    if not is_trace(path):
        return data.values_csv(path)
    found, out = _trace(path), io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["row", "score", "text"])
    writer.writerows([i + 1, float(found.scores[i]), cell(found.texts[i])] for i in found.order)
    return out.getvalue()


def payoffs_csv(path: str) -> str:
    """Every payoff of a journal."""
    if is_trace(path):
        raise InvalidInput("a trace has no payoffs; export its values", code="unsupported")
    return data.as_csv(path)


def _trace(path: str) -> Trace:
    return Trace.from_plain(read_json_object(path, LIMIT))
