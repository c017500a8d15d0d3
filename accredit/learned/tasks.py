"""A model and inputs from files, as a black box of arrays: what selectors are trained on, explain and are audited by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from accredit.checks.files import read_bytes
from accredit.core import Attribution, FloatArray, Precision, Procedure
from accredit.core.claims import no_division
from accredit.errors import InvalidInput
from accredit.explanation.subject import Subject
from accredit.learned.black_boxes import BlackBox, answers_of, numbers_of, row_black_box
from accredit.learned.cxplain import CXPlain
from accredit.learned.inputs import Array, Inputs, PixelGrid, Tabular, Words
from accredit.learned.recipes import recipe
from accredit.learned.saving import load
from accredit.learned.trainer import TrainedExplainer
from accredit.store.fingerprint import fingerprint

if TYPE_CHECKING:
    import pandas
    import transformers

    from accredit.models import Encoded, ImageModel, Pixels, StringModel, TextModel

    Loaded = TextModel | ImageModel | StringModel

TOKENS_AT_MOST = 128  # tokens of a text that are read where no length is given
INPUTS_PER_CALL = 64  # texts in one call of the model
Selector = TrainedExplainer | CXPlain


@dataclass(frozen=True, eq=False)
class Task:
    """Inputs as arrays, the model as a black box, and a name for every player."""

    inputs: Inputs
    x: Array
    black_box: BlackBox
    names: tuple[tuple[str, ...], ...]  # of the players of each input
    model: str  # a digest
    notes: tuple[str, ...] = ()
    network: transformers.PreTrainedModel | None = None  # the model itself, where it is a Hugging Face one
    regresses: bool = False  # the black box gives one number per input, not probabilities

    def answers(self) -> FloatArray:
        """What the black box says of the inputs: (N, classes), or (N, 1) numbers of a regression."""
        return (numbers_of if self.regresses else answers_of)(self.black_box, self.x)


def row_task(frame: pandas.DataFrame, model: str, trusted: tuple[str, ...] = (), like: Inputs | None = None) -> Task:
    """Rows of a data frame and the classifier in a file. `like` are the inputs of a trained explainer."""
    from accredit.rows.normal import numeric

    columns = tuple(map(str, frame.columns))
    _of_kind(like, Tabular, "rows")
    if isinstance(like, Tabular) and like.columns not in (None, columns):
        raise InvalidInput(
            f"the explainer reads the columns {', '.join(like.columns or ())}, and these are {', '.join(columns)}; give "
            "the same ones in the same order",
            code="conflict",
        )
    numbers = numeric(frame, "selectors read numbers without gaps: encode words, fill gaps, or use method='fast-shapley'")
    inputs = like or Tabular.of(numbers, columns)
    digest = fingerprint(file=read_bytes(model)).parts["file"]
    x = inputs.check(numbers)
    black_box, regresses = row_black_box(model, trusted, columns)
    return Task(inputs, x, black_box, (columns,) * len(x), digest, regresses=regresses)


def text_task(texts: Sequence[str], model: Loaded, length: int | None = None, like: Inputs | None = None) -> Task:
    """Texts as the ids of a classifier's own tokens, and the classifier itself; a removed token is left out.

    Texts longer than `length` tokens (default: the longest, at most 128) are cut, and notes say how many.
    """
    if not _classifies_tokens(model):
        raise InvalidInput(
            f"{getattr(model, 'name', model)} is not a classifier with one right label; selectors need one",
            argument="model",
            code="unsupported",
        )
    _of_kind(like, Words, "texts")
    empty = next((at for at, text in enumerate(texts) if not text.strip()), None)
    if empty is not None:
        raise InvalidInput(
            f"text {empty + 1} of {len(texts)} is empty; leave it out, or write something", argument="texts", code="empty"
        )
    encoded = [model.encode(text, cut=True) for text in texts]
    ids = [one.ids[~one.special] for one in encoded]
    pad = model.padding()
    longest = like.length if isinstance(like, Words) else length or min(TOKENS_AT_MOST, max(map(len, ids)))
    inputs = like or Words(longest, model.known, pad)
    x = np.full((len(ids), longest), pad, dtype=np.int64)
    for row, one in zip(x, ids, strict=True):
        row[: len(one)] = one[:longest]
    names = tuple(
        tuple(token for token, special in zip(one.tokens, one.special, strict=True) if not special)[:longest] for one in encoded
    )
    cut = sum(len(one) > longest for one in ids)
    notes = (f"{cut} of {len(ids)} texts were cut to {longest} tokens",) if cut else ()
    return Task(inputs, inputs.check(x), _reads_ids(model, encoded[0], pad), names, digest_of(model), notes, model.model)


def picture_task(pictures: Sequence[object], model: Loaded, like: Inputs | None = None) -> Task:
    """Pictures as a classifier reads them, in its own patches (of a network without patches: 16 squares, or pixels)."""
    if not _classifies_pictures(model):
        raise InvalidInput(
            f"{model.name} is not a classifier with one right label; selectors need one", argument="model", code="unsupported"
        )
    _of_kind(like, PixelGrid, "pictures")
    seen = [model.encode(one) for one in pictures]
    shapes = {one.values.shape for one in seen}
    if len(shapes) > 1:
        raise InvalidInput(
            f"pictures must have one size, and these have {len(shapes)}; give a model that resizes them",
            argument="pictures",
            code="shape",
        )
    channels, height, width = shapes.pop()
    inputs = like or PixelGrid((channels, height, width), block=_block(seen[0], height, width))
    x = inputs.check(np.stack([one.values for one in seen]))
    return Task(inputs, x, _reads_pixels(model), tuple(inputs.names(one) for one in x), digest_of(model), network=model.model)


def _classifies_tokens(model: Loaded) -> TypeGuard[TextModel]:
    return getattr(model, "task", "") == "classify" and model.law == "softmax"


def _classifies_pictures(model: Loaded) -> TypeGuard[ImageModel]:
    return model.law == "softmax"


def _of_kind(like: Inputs | None, kind: type, given: str) -> None:
    """Refuse inputs that a trained explainer does not read."""
    reads = {Tabular: "rows", Words: "texts", PixelGrid: "pictures"}
    if like is not None and not isinstance(like, kind):
        raise InvalidInput(
            f"the explainer reads {reads.get(type(like), 'other inputs')}, and these are {given}", code="conflict"
        )


def _block(pixels: Pixels, height: int, width: int) -> int:
    """The edge of a square patch: the model's own, or a quarter of the picture where that tiles it."""
    tall, wide = pixels.patch or (height // 4, height // 4)
    return tall if tall == wide and tall and not height % tall and not width % tall else 1


def _reads_pixels(model: ImageModel) -> BlackBox:
    import torch

    from accredit.models.state import device_of

    def answer(x: Array) -> Array:
        dtype = next((p.dtype for p in model.model.parameters()), torch.float32)
        with model.hold(), torch.inference_mode():
            parts = [
                model.outputs(
                    torch.from_numpy(np.ascontiguousarray(x[k : k + INPUTS_PER_CALL])).to(device_of(model.model), dtype)
                )
                for k in range(0, len(x), INPUTS_PER_CALL)
            ]
            return np.asarray(torch.cat(parts).double().softmax(dim=1).cpu().numpy())

    return answer


def digest_of(model: TextModel | ImageModel) -> str:
    """A digest of a Hugging Face model's weights."""
    return fingerprint(model=model.model).parts["model"]


def _reads_ids(model: TextModel, example: Encoded, pad: int) -> BlackBox:
    """The classifier as a function of padded ids; special tokens are put around them as the tokenizer does."""
    import torch

    from accredit.models.state import device_of
    from accredit.models.text import TokenBatch

    players = np.flatnonzero(~example.special)
    before, after = example.ids[: players[0]], example.ids[players[-1] + 1 :]

    def answer(x: Array) -> Array:
        rows = [np.concatenate([before, row[row != pad], after]) for row in np.asarray(x)]
        said = []
        with model.hold(), torch.inference_mode():
            for k in range(0, len(rows), INPUTS_PER_CALL):
                part = rows[k : k + INPUTS_PER_CALL]
                wide = max(1, max(map(len, part)))
                ids, attends = np.full((len(part), wide), pad), np.zeros((len(part), wide), dtype=np.int64)
                for place, row in enumerate(part):
                    ids[place, : len(row)], attends[place, : max(1, len(row))] = row, 1
                device = device_of(model.model)
                types = None if example.types is None else torch.zeros(wide, dtype=torch.int64, device=device)
                batch = TokenBatch(
                    ids=torch.from_numpy(ids).to(device), attends=torch.from_numpy(attends).to(device), types=types
                )
                said.append(model.outputs(batch).double().softmax(dim=1).cpu().numpy())
        return np.concatenate(said)

    return answer


def fit_selector(
    name: str,
    task: Task,
    k: int | None,
    *,
    preset: str | None = None,
    seed: int = 0,
    progress: bool = False,
    **settings: object,
) -> Selector:
    """Train the selector of that recipe on a task; CXPlain takes the model's own answers for the true labels."""
    answers = task.answers()
    made = recipe(name, task.inputs, answers.shape[1], k, preset=preset, **settings)
    if isinstance(made, CXPlain):
        if task.regresses:
            raise InvalidInput(
                "cxplain explains classes, and this model gives one number; write l2x, invase or realx", code="unsupported"
            )
        made.fit(task.x, task.black_box, answers.argmax(axis=1), seed=seed, progress=progress)
    else:
        made.fit(task.x, task.black_box, seed=seed, progress=progress)
    made.explains = task.model
    return made


def open_selector(folder: str, task_of: Callable[[Inputs], Task]) -> tuple[Selector, Task]:
    """A saved selector and a task for it; refused where it was trained on another model."""
    selector = load(folder)
    task: Task = task_of(selector.inputs)
    if selector.explains and selector.explains != task.model:
        raise InvalidInput(
            f"the explainer in {folder} was trained on another model; give the same one, or accredit learn fit", code="conflict"
        )
    if isinstance(selector, TrainedExplainer):
        selector.black_box = task.black_box
    return selector, task


def score(subject: Subject, folder: str) -> Attribution:
    """The method `selector:FOLDER` of `explain`: how soon a trained selector chooses each player of a text or picture."""
    if subject.kind not in ("text", "image"):
        raise InvalidInput(f"selectors read texts and pictures here, and this is a model of {subject.kind}", code="unsupported")
    credit, rule = (_of_words if subject.kind == "text" else _of_patches)(subject, folder)
    return scores_of(subject.players, credit, rule)


def scores_of(players: tuple[str, ...], scores: FloatArray, rule: str) -> Attribution:
    """The scores of a selector, as a result like those of other methods: they rank, they share nothing."""
    return Attribution(
        players,
        scores,
        None,
        Procedure("selector", rule),
        no_division("a selector ranks players by how soon it chooses them"),
        precision=Precision.unknown("one trained network; another seed may rank otherwise"),
    )


def _of_words(subject: Subject, folder: str) -> tuple[FloatArray, str]:
    selector, task = open_selector(folder, lambda like: text_task([subject.seen.text], subject.model, like=like))
    if task.notes:
        raise InvalidInput(
            f"the text has more tokens than the {task.inputs.n} that the explainer in {folder} reads; shorten it",
            code="too-many",
        )
    tokens = np.flatnonzero(~subject.seen.special)
    credit = np.full(len(subject.players), -np.inf)
    np.maximum.at(credit, subject.partition.owner[tokens], selector.scores(task.x)[0][: len(tokens)])
    return credit, selector.rule()


def _of_patches(subject: Subject, folder: str) -> tuple[FloatArray, str]:
    """A player is chosen as soon as one of its pixels is."""
    selector, task = open_selector(folder, lambda like: picture_task([subject.seen], subject.model, like))
    assert isinstance(task.inputs, PixelGrid)
    grid = np.arange(task.inputs.n).reshape(task.inputs.grid)
    places = np.kron(grid, np.ones((task.inputs.block,) * 2, dtype=grid.dtype)).ravel()  # of each pixel
    credit = np.full(len(subject.players), -np.inf)
    np.maximum.at(credit, np.asarray(subject.partition.owner).ravel(), selector.scores(task.x)[0][places])
    return credit, selector.rule()
