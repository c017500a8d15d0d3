"""What runs inside the process of a valuation: the command, which ends with the server. Only `Runs` starts it."""

from __future__ import annotations

import os
import runpy
import threading


def main() -> None:
    threading.Thread(target=_leave_with_server, daemon=True).start()
    runpy.run_module("accredit", run_name="__main__", alter_sys=True)


def _leave_with_server() -> None:
    """The server holds the other end of standard input and writes nothing: it ends when the server does, or is killed."""
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    main()
