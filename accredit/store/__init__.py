"""Payoffs and results that outlive the process: the journal, the executors that fill it, and files of results."""

from accredit.store.durable import Durable, Quarantined, durable
from accredit.store.entries import Entry
from accredit.store.executors import Executor, ExecutorError, crew_of
from accredit.store.fingerprint import Fingerprint, fingerprint
from accredit.store.journal import Journal, Run
from accredit.store.journal_file import JournalError
from accredit.store.results import load, load_arrays, save
from accredit.store.results_cache import Finished

__all__ = [
    "Durable",
    "Entry",
    "Executor",
    "ExecutorError",
    "Fingerprint",
    "Finished",
    "Journal",
    "JournalError",
    "Quarantined",
    "Run",
    "crew_of",
    "durable",
    "fingerprint",
    "load",
    "load_arrays",
    "save",
]
