"""`accredit serve`: what it refuses before it starts. How it serves and ends is in tests/web."""

from __future__ import annotations

import signal
import socket

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'accredit[serve]'")


@pytest.fixture
def refused(typed):
    """What the command says when it does not start."""

    def call(*words):
        code, _, said = typed("serve", *words)
        assert code == 2, said
        return said

    before = signal.getsignal(signal.SIGINT)  # which the command sets
    yield call
    signal.signal(signal.SIGINT, before)


def test_a_missing_journal_is_told_before_any_model_is_loaded(refused, tmp_path):
    told = refused("--store", tmp_path / "none.db")
    assert "no journal" in told and "loading" not in told


@pytest.mark.slow
def test_a_taken_port_is_told(refused):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        told = refused("--port", port)
    assert port in told and "--port" in told


@pytest.mark.slow
def test_a_model_that_cannot_be_loaded_is_told(refused, tmp_path):
    assert "config.json" in refused("--port", "0", "--model", tmp_path)
