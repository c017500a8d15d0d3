"""Files that claim to be pictures: each is read or refused in our own words, and measured before it is decoded."""

from __future__ import annotations

import base64
import io
import re
import struct
import zlib
from collections.abc import Iterator

import numpy as np
import pytest

from accredit.errors import InvalidInput
from accredit.web.explaining import FORMATS, PIXELS, _picture
from tests.wording import refused

Image = pytest.importorskip("PIL.Image", reason="pillow is not installed: pip install 'accredit[text]'")
UNCLEAN = re.compile(r"0x[0-9a-f]{4}|object at|Traceback|BytesIO|DecompressionBomb|[A-Z][a-z]+Error|/[a-z]+/|\.py\b")


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_head(width: int, height: int, depth: int = 8, colour: int = 2) -> bytes:
    head = struct.pack(">IIBBBBB", width & 0xFFFFFFFF, height & 0xFFFFFFFF, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")


def bmp_head(width: int, height: int, bits: int = 24) -> bytes:
    info = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, 0, 0, 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) + info


def gif_head(width: int, height: int) -> bytes:
    return (
        b"GIF89a"
        + struct.pack("<HHBBB", width, height, 0x80, 0, 0)
        + b"\0" * 6
        + b","
        + struct.pack("<HHHHB", 0, 0, width, height, 0)
        + b"\x02\x01"
    )


def saved(kind: str) -> bytes:
    buffer = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 256, (40, 30, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(buffer, kind)
    return buffer.getvalue()


def hostile() -> Iterator[tuple[str, bytes]]:
    """Families of files: huge, empty, cut short, damaged, mixed, of other kinds."""
    yield "nothing", b""
    for width, height in ((60_000, 60_000), (2**31 - 1, 2**31 - 1), (0, 5), (5, 0), (1, 16_000_001), (10_000, 10_000)):
        yield f"png {width} × {height}", png_head(width, height)
        yield f"bmp {width} × {height}", bmp_head(width, height)
        yield f"gif {width} × {height}", gif_head(width % 65_536, height % 65_536)
    for width, height in ((-5, 5), (5, -2_000_000_000)):
        yield f"bmp {width} × {height}", bmp_head(width, height)
    for depth, colour in ((16, 6), (1, 2), (7, 9)):
        yield f"png of depth {depth} and colour {colour}", png_head(8, 8, depth, colour)
    rng = np.random.default_rng(1)
    for kind in FORMATS:
        whole = saved(kind)
        for share in (0.02, 0.1, 0.5, 0.9, 0.999):
            yield f"{kind} cut at {share}", whole[: int(share * len(whole))]
        for k in range(6):
            damaged = bytearray(whole)
            for place in rng.integers(0, len(whole), 1 + 8 * k):
                damaged[place] = int(rng.integers(0, 256))
            yield f"{kind} damaged {k}", bytes(damaged)
        yield f"{kind} behind another head", b"\x89PNG\r\n\x1a\n" + whole
    for name, start in {
        "pdf": b"%PDF-1.4",
        "svg": b"<svg onload=alert(1)>",
        "tiff": b"II*\0",
        "zip": b"PK\3\4",
        "eps": b"%!PS",
    }.items():
        yield name, start + bytes(rng.integers(0, 256, 200, dtype=np.uint8))


FILES = dict(hostile())


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_or_refused_in_our_own_words(name, capfd):
    try:
        photo = _picture(base64.b64encode(FILES[name]).decode())
    except InvalidInput as error:
        assert not UNCLEAN.search(str(error)), error
        assert str(error).startswith("the file ")
    else:
        assert photo.image.width * photo.image.height <= PIXELS and not any(map(UNCLEAN.search, photo.steps)), photo.steps
    said = capfd.readouterr()
    assert said.out == said.err == ""


def test_a_picture_that_is_too_large_is_measured_and_not_decoded():
    """A few bytes that announce ten thousand million pixels: what is said is their size."""
    for file in (png_head(100_000, 100_000), bmp_head(20_000, 20_000)):
        with pytest.raises(InvalidInput, match="pixels"):
            _picture(base64.b64encode(file).decode())


@pytest.mark.parametrize("encoded", ["!!!", "abc", "é" * 4, "=" * 8, "A" * 5])
def test_what_is_not_base64_did_not_arrive_whole(encoded):
    with refused("unreadable"):
        _picture(encoded)
