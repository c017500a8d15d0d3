"""Ctrl-C ends the command with one line, also while modules are still being imported.

An interrupt inside an import surfaces as anything: a traceback, an ImportError of a library that blames its installation. While
a module is being imported there is nothing to put away, so the command ends at once; otherwise `KeyboardInterrupt` is raised as
usual. This is for the command only: a program that imports accredit keeps its own handler.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # that of typing costs its import
if TYPE_CHECKING:
    import signal
    from types import FrameType
else:
    import _signal as signal  # signal itself imports a dozen modules, and Ctrl-C may come in any of them

CODE = 130  # what shells report for a command that Ctrl-C has ended
NAMES = ("accredit", "accredit.exe", "accredit-script.py")


def is_command(argv: list[str], original: list[str]) -> bool:
    """Was this process started as `accredit …` or as `python -m accredit …`?

    >>> is_command(["/usr/bin/accredit", "methods"], ["python", "/usr/bin/accredit", "methods"])
    True
    >>> is_command(["-m", "methods"], ["python", "-m", "accredit", "methods"])
    True
    >>> is_command(["-m"], ["python", "-m", "mine"]) or is_command([""], ["python"])
    False
    """
    started = argv[0] if argv else ""
    module = started == "-m" and ("-m", "accredit") in zip(original, original[1:], strict=False)  # noqa: RUF007
    return module or (os.path.basename(started) in NAMES and started in original)  # a worker process inherits only argv


def interrupt(number: int, frame: FrameType | None) -> None:
    """End the process if a module is being imported; else raise `KeyboardInterrupt`."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            try:  # noqa: SIM105  contextlib is an import, too
                sys.stdout.flush()
            except Exception:  # it may have been interrupted while it was writing
                pass
            os.write(2, b"interrupted\n")
            os._exit(CODE)
        frame = frame.f_back
    raise KeyboardInterrupt


def deaf() -> None:
    """From here on Ctrl-C changes nothing: the work is done, and the process is about to end."""
    if signal.getsignal(signal.SIGINT) is interrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


if is_command(sys.argv, sys.orig_argv) and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    try:  # noqa: SIM105
        signal.signal(signal.SIGINT, interrupt)
    except ValueError:  # only the main thread can
        pass
