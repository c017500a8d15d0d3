"""One evaluated coalition, as it is kept: what it earned, and a proof that nobody changed it since."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from accredit.core import FloatArray

PROOF_BYTES = 8  # one damaged row in 2^64 would pass


@dataclass(frozen=True)
class Entry:
    """One evaluated coalition.

    >>> Entry(b"\\x03", "ok", 10.0, seconds=0.5).status, Entry(b"\\x01", "failed", None, 0.1, problem="out of memory").value
    ('ok', None)
    """

    coalition: bytes  # packed bits
    status: str  # ok, failed (will be tried again), quarantined (kept failing)
    value: float | None
    seconds: float
    attempts: int = 1
    problem: str = ""
    outputs: FloatArray | None = None  # (targets,)


def as_bytes(outputs: FloatArray | None) -> bytes:
    """Outputs as little-endian float64; none at all for a game that yields only payoffs."""
    return b"" if outputs is None else np.ascontiguousarray(outputs, dtype="<f8").tobytes()


def as_outputs(stored: bytes) -> FloatArray | None:
    return np.frombuffer(stored, dtype="<f8").astype(np.float64) if stored else None


def proof(game: str, seed: int, coalition: bytes, status: str, value: float | None, outputs: bytes) -> bytes:
    """The checksum of a row, over all that a result is computed from. `game` is the digest of its fingerprint.

    >>> proof("cookies", 0, b"\\x03", "ok", 10.0, b"") == proof("cookies", 0, b"\\x03", "ok", 10.1, b"")
    False
    """
    number = b"" if value is None else struct.pack("<d", value + 0.0)  # a file has only one zero
    return fingerprint([game.encode(), str(seed).encode(), coalition, status.encode(), number, outputs])


def fingerprint(parts: Sequence[bytes]) -> bytes:
    """Eight bytes that depend on every part and on where one ends and the next begins."""
    digest = blake2b(digest_size=PROOF_BYTES)
    for part in parts:
        digest.update(struct.pack("<I", len(part)) + part)
    return digest.digest()
