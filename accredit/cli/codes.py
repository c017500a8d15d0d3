"""What the command returns to the shell."""

from __future__ import annotations

from accredit.interrupts import CODE

DONE, BROKEN, REFUSED, INTERRUPTED, CLOSED = 0, 1, 2, CODE, 141
CODES = {
    DONE: "Done: the result is printed or written. Also --help and --version.",
    BROKEN: "A fault of accredit itself, with a traceback; please report it.",
    REFUSED: "It could not be done as asked: wrong words, a file that is not there or cannot be read, a missing package, a "
    "full disk. One line on standard error says what to type instead.",
    INTERRUPTED: "Interrupted by Ctrl+C. What --store or --out keeps row by row is kept.",
    CLOSED: "Whoever read the output has stopped, as when it is piped into head.",
}

ERRORS = "ACCREDIT_ERRORS"  # a variable of the environment; "json": an error is printed as a record, in the library's words
