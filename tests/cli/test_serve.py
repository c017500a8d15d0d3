"""`accredit serve`: what it refuses before it starts, and how it ends."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'accredit[serve]'")


def refused(*arguments: str) -> str:
    """What the command says when it does not start."""
    command = [sys.executable, "-m", "accredit", "serve", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    return done.stderr


@pytest.mark.slow
def test_a_missing_journal_is_told_before_any_model_is_loaded(tmp_path):
    told = refused("--store", str(tmp_path / "none.db"))
    assert "no journal" in told and "loading" not in told


@pytest.mark.slow
def test_a_taken_port_is_told():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        told = refused("--port", port)
    assert port in told and "--port" in told


@pytest.mark.slow
def test_a_model_that_cannot_be_loaded_is_told(tmp_path):
    assert "config.json" in refused("--port", "0", "--model", str(tmp_path))


def ignore_interrupts():
    """What a shell does to the programs that a script starts in the background."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.mark.slow
def test_it_listens_on_loopback_only_and_ends_when_interrupted(tmp_path):
    from tests.web.conftest import started

    with started(tmp_path, preexec_fn=ignore_interrupts) as (process, address):
        port = int(address.split(":")[2].split("/")[0])
        socket.create_connection(("127.0.0.1", port)).close()
        # 127.0.0.2 is this machine too, and only a server on all interfaces would answer there
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.2", port), timeout=5).close()
    assert process.returncode == 130 and "Traceback" not in (tmp_path / "said.txt").read_text()
