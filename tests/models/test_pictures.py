"""Pictures from files, images and arrays: every conversion is stated, and what cannot be converted is refused."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from PIL import Image

from accredit.errors import InvalidInput
from accredit.models.pictures import array_photo, is_picture_file, open_picture, photo_of, pictures_in, read_labels
from tests.wording import reads, refused, says

GREY = np.random.default_rng(0).integers(0, 256, (6, 9), dtype=np.uint8)
COLOUR = np.random.default_rng(1).integers(0, 256, (6, 9, 3), dtype=np.uint8)


def saved(tmp_path, picture, name="a.png", **options):
    picture.save(tmp_path / name, **options)
    return tmp_path / name


def png_head(width: int, height: int) -> bytes:
    """A PNG that announces a size and holds no pixels."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I", 13)
        + head
        + struct.pack(">I", zlib.crc32(head))
        + struct.pack(">I", 9)
        + b"IDAT"
    )


@pytest.mark.parametrize("pixels", [GREY, COLOUR], ids=["grey", "colour"])
def test_plain_pictures_are_taken_as_they_are(tmp_path, pixels):
    photo = open_picture(saved(tmp_path, Image.fromarray(pixels)))
    assert_array_equal(np.asarray(photo.image), pixels)
    assert photo.steps == () and photo.name == "a.png"
    assert_array_equal(np.asarray(array_photo(pixels, first=False).image), pixels)


def test_a_turned_picture_is_put_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned: shown a quarter turn to the right
    photo = open_picture(saved(tmp_path, Image.fromarray(COLOUR), exif=exif))
    assert_array_equal(np.asarray(photo.image), np.rot90(COLOUR, -1))
    assert reads(photo.steps)


def test_transparent_parts_lie_on_white(tmp_path):
    alpha = np.where(np.arange(9) < 4, 0, 255).astype(np.uint8) * np.ones((6, 1), dtype=np.uint8)
    photo = open_picture(saved(tmp_path, Image.fromarray(np.dstack([COLOUR, alpha]))))
    assert_array_equal(np.asarray(photo.image)[:, :4], 255)
    assert_array_equal(np.asarray(photo.image)[:, 4:], COLOUR[:, 4:])
    assert reads(photo.steps)
    opaque = open_picture(saved(tmp_path, Image.fromarray(np.dstack([COLOUR, alpha * 0 + 255]))))
    assert opaque.steps == () and opaque.image.mode == "RGB"
    grey = photo_of(Image.merge("LA", [Image.fromarray(GREY), Image.fromarray(alpha)]))
    assert grey.image.mode == "L" and np.asarray(grey.image)[0, 0] == 255


def test_a_palette_black_and_white_and_cmyk_are_stated(tmp_path):
    palette = Image.fromarray(COLOUR).quantize(8)
    photo = open_picture(saved(tmp_path, palette))
    assert_array_equal(np.asarray(photo.image), np.asarray(palette.convert("RGB")))
    assert reads(photo.steps)
    two = photo_of(Image.fromarray(GREY > 99))
    assert reads(two.steps) and set(np.unique(np.asarray(two.image))) == {0, 255}
    inks = photo_of(Image.fromarray(COLOUR).convert("CMYK"))
    assert reads(inks.steps)
    with pytest.raises(InvalidInput, match="mode LAB"):
        photo_of(Image.new("LAB", (4, 4)))


def test_sixteen_bits_are_scaled_not_clipped(tmp_path):
    deep = np.array([[0, 257, 65535], [514, 30000, 40000]], dtype=np.uint16)
    photo = open_picture(saved(tmp_path, Image.fromarray(deep)))
    assert_array_equal(np.asarray(photo.image), np.round(deep / 257))
    assert reads(photo.steps)
    head = b"IHDR" + struct.pack(">IIBBBBB", 2, 1, 16, 2, 0, 0, 0)
    rows = zlib.compress(b"\0" + struct.pack(">6H", *range(0, 60000, 10000)))
    chunks = [head, b"IDAT" + rows, b"IEND"]
    body = b"".join(struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in chunks)
    colour = open_picture(b"\x89PNG\r\n\x1a\n" + body)  # Pillow alone would say nothing
    assert reads(colour.steps)
    for mode in ("I", "F"):
        with refused("unsupported"):
            photo_of(Image.new(mode, (3, 3)))


def test_of_several_frames_the_first_is_taken(tmp_path):
    frames = [Image.fromarray(GREY // (k + 1)) for k in range(3)]
    file = saved(tmp_path, frames[0], "a.gif", save_all=True, append_images=frames[1:])
    photo = open_picture(file)
    assert reads(photo.steps[0])
    assert_array_equal(np.asarray(photo.image.convert("L")), GREY)
    with Image.open(file) as opened:
        opened.seek(2)
        assert reads(photo_of(opened).steps[0])


def test_a_huge_size_is_refused_before_any_pixel_is_decoded():
    with refused("too-many"):
        open_picture(png_head(10_000, 9_000))
    with refused("too-many"):
        open_picture(png_head(2**31 - 1, 2**31 - 1))


BROKEN = {
    "empty": (b"", "is empty"),
    "text": (b"<script>alert(1)</script>", "cannot be opened as a picture; PNG"),
    "postscript": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "cannot be opened as a picture"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_files_that_hold_no_picture(tmp_path, case):
    content, said = BROKEN[case]
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(InvalidInput, match=said) as refused:
        open_picture(tmp_path / "a.png")
    assert "a.png" in str(refused.value)


@pytest.mark.parametrize("kind", ["png", "jpg", "gif", "webp", "bmp"])
def test_a_picture_that_ends_too_early_is_refused(tmp_path, kind):
    noise = np.random.default_rng(0).integers(0, 256, (40, 40, 3), dtype=np.uint8)
    file = saved(tmp_path, Image.fromarray(noise), f"a.{kind}")
    file.write_bytes(file.read_bytes()[:-300])
    with refused("unreadable", has="as a picture"):
        open_picture(file)


def test_damaged_bytes_are_refused_or_doubted_and_never_a_fault_of_ours():
    """A few changed bytes in each of many files: some still hold a picture, and no other error than ours comes out."""
    rng, files = np.random.default_rng(0), []
    for kind, mode in (("PNG", "P"), ("JPEG", "CMYK"), ("GIF", "L"), ("BMP", "RGB"), ("TIFF", "RGB"), ("PPM", "RGB")):
        content = io.BytesIO()
        Image.fromarray(COLOUR).convert(mode).save(content, kind)
        files.append(content.getvalue())
    doubts = 0
    for content in files * 12:
        damaged = np.frombuffer(content, dtype=np.uint8).copy()
        damaged[rng.integers(0, min(len(damaged), 200), 3)] = rng.integers(0, 256, 3)
        try:
            doubts += "doubt" in " ".join(open_picture(damaged.tobytes()).steps)
        except InvalidInput as error:
            doubts += "the file" in str(error)
    assert doubts > 9


def test_a_file_that_is_read_with_a_doubt_says_so(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    file = saved(tmp_path, Image.fromarray(COLOUR), "a.jpg", exif=exif)
    content = file.read_bytes()
    at = content.index(b"Exif\0\0") + 6 + 8  # the number of entries, which becomes 200
    photo = open_picture(content[:at] + b"\x00\xc8" + content[at + 2 :])
    assert any(says(step, "doubt (Corrupt EXIF") for step in photo.steps)


def test_missing_files_and_folders_say_what_works(tmp_path):
    with refused("missing"):
        open_picture(tmp_path / "cat.png")
    with refused("type"):
        open_picture(tmp_path)


def test_which_files_are_pictures(tmp_path):
    saved(tmp_path, Image.fromarray(GREY), "b.png")
    saved(tmp_path, Image.fromarray(GREY), "a", format="JPEG")
    (tmp_path / "notes.txt").write_text("b.png")
    (tmp_path / "inner").mkdir()
    assert [path.name for path in pictures_in(tmp_path)] == ["a", "b.png"]
    assert not is_picture_file("x" * 5000) and not is_picture_file("a\0b.png") and not is_picture_file(tmp_path)


GOOD_ARRAYS = {
    "channels last": (COLOUR, False, ()),
    "channels first": (COLOUR.transpose(2, 0, 1), True, ("channels moved from first to last",)),
    "an array with channels first": (COLOUR.transpose(2, 0, 1), False, ("channels moved from first to last",)),
    "wide integers": (COLOUR.astype(np.int64), False, ()),
    "fractions": (COLOUR / 255, False, ("fractions 0…1 rounded to 8 bits",)),
    "one more channel": (np.dstack([COLOUR, np.full((6, 9), 255, np.uint8)]), False, ()),
}


@pytest.mark.parametrize("case", GOOD_ARRAYS)
def test_arrays_of_one_picture_are_that_picture(case):
    array, first, steps = GOOD_ARRAYS[case]
    photo = array_photo(array, first)
    assert_array_equal(np.asarray(photo.image), COLOUR)
    assert photo.steps == steps


BAD_ARRAYS = {
    "booleans": (GREY > 9, r"bool.*astype\(np.uint8\) \* 255"),
    "too large": (GREY.astype(np.int64) * 9, r"from 36 to 2232; give 0…255"),
    "negative": (GREY.astype(np.int64) - 9, "give 0…255"),
    "not a number": (np.full((4, 4, 3), np.nan), "NaN"),
    "floats to 255": (COLOUR.astype(float), r"0…255 as image.astype\(np.uint8\)"),
    "two channels": (np.zeros((5, 5, 2), np.uint8), r"shape \(5, 5, 2\)"),
    "one number": (np.array(3), "shape"),
    "words": (np.array([["a"]]), "array of <U1"),
    "nothing": (np.zeros((0, 4), np.uint8), r"shape \(0, 4\)"),
}


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_arrays_that_are_no_picture(case):
    array, said = BAD_ARRAYS[case]
    with pytest.raises(InvalidInput, match=said):
        array_photo(array, first=False)


def test_labels_from_files(tmp_path):
    labels = np.arange(12).reshape(3, 4)
    np.save(tmp_path / "a.npy", labels)
    Image.fromarray(labels.astype(np.uint8)).save(tmp_path / "a.png")
    Image.fromarray((labels * 1000).astype(np.uint16)).save(tmp_path / "deep.png")
    assert_array_equal(read_labels(tmp_path / "a.npy"), labels)
    assert_array_equal(read_labels(tmp_path / "a.png"), labels)
    assert_array_equal(read_labels(tmp_path / "deep.png"), labels * 1000)
    np.save(tmp_path / "objects.npy", np.array([{}]), allow_pickle=True)
    np.save(tmp_path / "floats.npy", labels / 2)
    (tmp_path / "text.png").write_text("no")
    for name, said in {
        "objects.npy": "holds objects",
        "floats.npy": "whole numbers",
        "text.png": "cannot be read",
        "none.npy": "no file",
    }.items():
        with pytest.raises(InvalidInput, match=said):
            read_labels(tmp_path / name)
