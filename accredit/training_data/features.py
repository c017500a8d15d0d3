"""How the rows of a file are seen: which numbers stand for a text. Decided here for labels and for values alike.

- `tfidf`: words, pairs of words and parts of words, weighed by how rare they are; the default for texts.
- `encoder:FOLDER`: the mean hidden state of a Hugging Face text model; `encoder:builtin` is the one that comes along.
- `glove:FILE`: the mean of word vectors, rare words counting more.
- `FILE`: your own vectors, one for each row.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from accredit.checks.arrays import read_arrays
from accredit.core import FloatArray, IntArray
from accredit.core.statistics import units
from accredit.errors import InvalidInput
from accredit.labels.row_views import word_vectors
from accredit.store.frames import read_frame, warn_reading
from accredit.valuation.text import text_encoder

FORMS = "tfidf, encoder:FOLDER, glove:FILE, or a file of vectors (.npy, .npz, or a table of numbers)"
WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, eq=False)
class Features:
    """Numbers for every row, as one name asked for them."""

    name: str
    rows: FloatArray  # (rows, d), as they are
    scaled: FloatArray  # (rows, d), in units of what varies among the training rows
    notes: tuple[str, ...] = ()  # what was cut or not known


def features(name: str, texts: Sequence[str] | None, rows: int, training: IntArray) -> Features:
    """The features of that name for every row; what has to be fitted is fitted to the `training` rows.

    >>> features("tfidf", ["good film", "bad film", "good plot", "bad plot"], 4, np.arange(4)).rows.shape
    (4, 3)
    """
    kind, colon, where = name.partition(":")
    if name == "tfidf" or (colon and kind in OF_TEXTS):
        if texts is None:
            raise InvalidInput(
                f"seen_as={name!r} reads texts; name their column with text=COLUMN", argument="text", code="missing"
            )
        if name == "tfidf":
            found = word_vectors(texts, training)
            return Features(name, found, found * np.sqrt(found.shape[1]))  # one scale for all: rare directions stay small
        if not where:
            raise InvalidInput(
                f"seen_as {name!r} names nothing after the colon; write {FORMS}", argument="seen_as", code="missing"
            )
        found, notes = OF_TEXTS[kind](where, texts)
    else:
        found, notes = _own(name, rows), ()
    centred = found - found[training].mean(axis=0)
    return Features(name, found, centred / units(found[training]), notes)


def _encode(where: str, texts: Sequence[str]) -> tuple[FloatArray, tuple[str, ...]]:
    found, cut = text_encoder(where)(texts)
    return found, (f"{cut} of {len(texts)} texts are longer than {where} reads and were cut",) if cut else ()


def glove(file: str | Path, texts: Sequence[str]) -> tuple[FloatArray, tuple[str, ...]]:
    """The mean vector of the known words of each text (N, d), rare words counting more, and how many texts have none.

    `file` holds a word and its numbers on each line (.txt, .gz may follow), or is an .npz with `vectors` and either `words` in
    it or a file NAME_vocab.txt beside it.
    """
    said = [WORD.findall(text.lower()) for text in texts]
    known = _word_vectors(Path(file), {word for words in said for word in words})
    if not known:
        raise InvalidInput(
            f"glove:{file} has a vector for none of the words; are the texts in another language?",
            argument="seen_as",
            code="undefined",
        )
    middle = np.mean(list(known.values()), axis=0)
    rows = [[word for word in words if word in known] for words in said]
    count = Counter(word for words in rows for word in set(words))
    rare = {word: np.log((1 + len(rows)) / (1 + times)) + 1 for word, times in count.items()}
    silent = sum(not words for words in rows)
    notes = (f"{silent} of {len(rows)} texts have no word in {file}; they are seen as the mean word",) if silent else ()

    def weigh(words: list[str]) -> FloatArray:
        return np.asarray(np.average([known[w] for w in words], axis=0, weights=[rare[w] for w in words]))

    return np.array([weigh(words) if words else middle for words in rows]), notes


OF_TEXTS: Mapping[str, Callable[[str, Sequence[str]], tuple[FloatArray, tuple[str, ...]]]] = {
    "encoder": _encode,
    "glove": glove,
}


def _word_vectors(file: Path, wanted: set[str]) -> dict[str, FloatArray]:
    """Vectors of the wanted words."""
    if not file.is_file():
        raise InvalidInput(
            f"glove:{file} does not exist; give a file with a word and its numbers on each line",
            argument="seen_as",
            code="missing",
        )
    if file.suffix == ".npz":
        return _pack(file, wanted)
    found: dict[str, FloatArray] = {}
    number = 0
    with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as lines:
        try:
            for line in lines:
                number += 1
                word, *numbers = line.rstrip().split(" ")
                if word in wanted and len(numbers) > 1:  # a first line of two numbers counts words and dimensions
                    found[word] = np.array(numbers, dtype=np.float64)
        except (ValueError, OSError) as error:
            raise InvalidInput(
                f"line {number} of glove:{file} is not a word and its numbers: {error}", argument="seen_as", code="unreadable"
            ) from None
    sizes = sorted({len(vector) for vector in found.values()})
    if len(sizes) > 1:
        raise InvalidInput(
            f"glove:{file} holds vectors of {sizes[0]} and of {sizes[1]} numbers; all must be as long",
            argument="seen_as",
            code="shape",
        )
    return found


def _pack(file: Path, wanted: set[str]) -> dict[str, FloatArray]:
    arrays = _arrays(file, "glove:")
    beside = file.with_name(f"{file.stem}_vocab.txt")
    if "words" not in arrays and not beside.is_file():
        raise InvalidInput(
            f"glove:{file} holds no `words`, and there is no {beside.name} beside it with one on each line",
            argument="seen_as",
            code="missing",
        )
    words = arrays["words"].tolist() if "words" in arrays else beside.read_text(encoding="utf-8").split("\n")
    vectors = _matrix(arrays.get("vectors"), f"`vectors` of glove:{file}")
    if len(words) < len(vectors):
        raise InvalidInput(
            f"glove:{file} has {len(vectors)} vectors and {len(words)} words; give one for each",
            argument="seen_as",
            code="shape",
        )
    return {str(word): vectors[i] for i, word in enumerate(words[: len(vectors)]) if word in wanted}


def _own(name: str, rows: int) -> FloatArray:
    """The user's own vectors, one for each row."""
    file = Path(name)
    if not file.is_file():
        raise InvalidInput(
            f"seen_as {name!r} is neither a file nor a kind of features; write {FORMS}", argument="seen_as", code="unknown"
        )
    if file.suffix in (".npy", ".npz"):
        arrays = _arrays(file, "seen_as=")
        found = _matrix(arrays.get("vectors", next(iter(arrays.values()))), f"seen_as={name!r}")
    else:
        frame = warn_reading(read_frame(file))
        words = [c for c in frame.columns if frame[c].dtype.kind not in "iufb"]
        if words:
            raise InvalidInput(
                f"seen_as={name!r} holds words in its column {words[0]!r}; vectors are numbers",
                argument="seen_as",
                code="type",
            )
        found = _matrix(frame.to_numpy(dtype=np.float64), f"seen_as={name!r}")
    if len(found) != rows:
        raise InvalidInput(
            f"seen_as={name!r} holds {len(found)} vectors for {rows} rows; give one for each row of the file, then one for "
            "each row of the test file, if there is one",
            argument="seen_as",
            code="shape",
        )
    return found


def _arrays(file: Path, said: str) -> dict[str, npt.NDArray[np.generic]]:
    """Arrays in a .npy or .npz file; pickled ones are refused."""
    try:
        return {name or "vectors": array for name, array in read_arrays(file).items()}
    except InvalidInput as error:
        raise InvalidInput(
            f"{said}{file} cannot be read as arrays of numbers: {error}", argument="seen_as", code="unreadable"
        ) from None


def _matrix(array: npt.NDArray[np.generic] | None, said: str) -> FloatArray:
    if array is None or array.ndim != 2 or array.dtype.kind not in "iufb" or 0 in array.shape:
        seen = "nothing" if array is None else f"shape {array.shape} and type {array.dtype}"
        raise InvalidInput(f"{said} has {seen}; rows and columns of numbers are needed", argument="seen_as", code="type")
    found = np.asarray(array, dtype=np.float64)
    if not np.isfinite(found).all():
        raise InvalidInput(
            f"{said} holds numbers that are not finite, first in row {int((~np.isfinite(found)).any(axis=1).argmax()) + 1}",
            argument="seen_as",
            code="not-finite",
        )
    return found
