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
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    return done.stderr


def test_a_missing_journal_is_told_before_any_model_is_loaded(tmp_path):
    told = refused("--store", str(tmp_path / "none.db"))
    assert "no journal" in told and "loading" not in told


def test_a_taken_port_is_told():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        told = refused("--port", port)
    assert port in told and "--port" in told


def test_a_model_that_cannot_be_loaded_is_told(tmp_path):
    assert "config.json" in refused("--port", "0", "--model", str(tmp_path))


def test_it_listens_on_loopback_only_and_ends_when_interrupted():
    from tests.web.conftest import started

    process, address = started([])
    assert address.startswith("http://127.0.0.1:")
    port = int(address.split(":")[2].split("/")[0])
    socket.create_connection(("127.0.0.1", port), timeout=5).close()
    with pytest.raises(
        OSError
    ):  # 127.0.0.2 is this machine too, and only a server on all interfaces would answer there
        socket.create_connection(("127.0.0.2", port), timeout=5).close()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert "Traceback" not in said
