"""Fine-tuned Hugging Face models: what each of their training rows did to the loss of test rows, by their own loss.

A classifier is judged by the class of a text, a language model by the text itself or, where a target is given, by that
answer to it. Influence is that of `network_influence` at its defaults: no damping to search for, no matrix of rows ×
parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np

from accredit.checks import needs
from accredit.checks.numbers import a_type
from accredit.checks.tables import ending, is_table, read_lines
from accredit.errors import InvalidInput
from accredit.influence.functions import moving
from accredit.influence.kfac import PASSES, choose, network_influence
from accredit.influence.losses import IGNORED, Batch, Classification, answers_of, check_rows, pick
from accredit.influence.network import MEMORY_BYTES, Network, evaluating, network
from accredit.influence.trace import answer_places, encode_texts, pad
from accredit.labels.predictability import Skill, skill
from accredit.store.frames import read_frame, warn_reading
from accredit.training_data.report import DataReport, Valuation
from accredit.training_data.rules import sum_up
from accredit.training_data.suspects import RowFacts, harmful
from accredit.training_data.tables import Table, check_columns, groups_by, parts, texts_in

if TYPE_CHECKING:
    import pandas
    import torch
    import transformers

    from accredit.models.text import TextModel

ROWS_PER_BATCH = 16  # rows at a time
LAYERS_NAMED = 3  # names of layers in a note


class GradientSettings(TypedDict, total=False):
    """How gradients of a fine-tuned model are followed: settings of `value_finetuned` by name."""

    layers: Sequence[str] | None
    batch_size: int
    memory: float
    watch: Callable[[float], None] | None


@dataclass(frozen=True)
class Taught:
    """Texts and, where the model is judged by more than the text itself, what it should answer: a class, a number, words."""

    texts: Sequence[str]
    targets: Sequence[str] | Sequence[float] | None = None

    def __len__(self) -> int:
        return len(self.texts)


def is_language_model(folder: str | Path) -> bool:
    """Does the folder hold a causal language model? Only its settings are read."""
    from accredit.models.folders import model_config
    from accredit.models.loading import base_folder, model_folder

    names = model_config(base_folder(model_folder(folder))).get("architectures") or [""]
    return str(names[0]).endswith(("ForCausalLM", "LMHeadModel"))


def finetune(folder: str | Path) -> TextModel:
    """The model in a folder with its tokenizer; a classifier or a causal language model."""
    with needs("text", "influence of a fine-tuned model"):
        from accredit.models import load_text_model
    loaded = load_text_model(folder)
    if loaded.task not in ("classify", "continue"):
        raise InvalidInput(
            f"{folder} holds {a_type(loaded.model)}; influence is for classifiers (…ForSequenceClassification) "
            "and causal language models (…ForCausalLM, …LMHeadModel)",
            argument="model",
            code="unsupported",
        )
    return loaded


def value_classifier(
    folder: str | Path, table: Table, *, seed: int = 0, **settings: Unpack[GradientSettings]
) -> tuple[Valuation, tuple[str, ...]]:
    """What the rows of a table did to a classifier that was fine-tuned on its texts."""
    if table.texts is None or table.held_texts is None:
        raise InvalidInput(f"{folder} reads texts; name their column with text=COLUMN", argument="text", code="missing")
    data = table.data
    train, test = (
        Taught(texts, y.tolist() if data.classes is None else [data.classes[k] for k in y])
        for texts, y in ((table.texts, data.y), (table.held_texts, data.test_y))
    )
    return value_finetuned(folder, train, test, names=data.names, groups=table.groups, seed=seed, **settings)


def language_report(
    folder: str | Path,
    file: str | Path,
    text: str | None,
    target: str | None = None,
    *,
    test: str | float | None = None,
    players: str = "row",
    seed: int = 0,
    split_seed: int = 0,
    **settings: Unpack[GradientSettings],
) -> DataReport:
    """What the texts of a file, or with `target` the answers in that column, did to a language model fine-tuned on them."""
    frame = warn_reading(read_frame(file))
    if text is None:
        raise InvalidInput(f"{folder} reads texts; name their column with text=COLUMN", argument="text", code="missing")
    by_column = None if players == "row" else players
    check_columns(frame, file, {"text": text, "target": target, "players": by_column})
    needed = [text] if target is None else [text, target]
    train, held, held_name = parts(frame, file, test, needed, split_seed)
    taught, asked = (
        Taught(texts_in(part, text, name), None if target is None else texts_in(part, target, name, "target"))
        for part, name in ((train, str(file)), (held, held_name or str(file)))
    )
    names = [f"row {i + 1}" for i in train.index]
    groups = groups_by(train, by_column, "players")
    worth, notes = value_finetuned(folder, taught, asked, names=names, groups=groups, seed=seed, **settings)
    return DataReport(None, worth, "the texts of a language model carry no labels that could be wrong", notes)


def value_finetuned(
    folder: str | Path,
    train: Taught,
    test: Taught,
    *,
    names: Sequence[str],
    groups: Mapping[str, Sequence[str]] | None = None,
    layers: Sequence[str] | None = None,
    batch_size: int = ROWS_PER_BATCH,
    memory: float = MEMORY_BYTES,
    seed: int = 0,
    watch: Callable[[float], None] | None = None,
) -> tuple[Valuation, tuple[str, ...]]:
    """The influence of every training row on the mean loss of the test rows, and what was cut or left out on the way.

    `watch` is called with the share of the work that is done.
    """
    loaded = finetune(folder)
    if loaded.model.config.pad_token_id is None and loaded.task == "classify":
        batch_size = 1  # such a model finds the end of a text by its padding
    net = network(loaded.model, layers=layers, batch_size=batch_size, memory=memory)
    (data, cut), (queries, also_cut) = (_batch(loaded, part) for part in (train, test))
    if watch:
        net = replace(net, watch=_count(watch, PASSES[choose(net, data, queries=1)[0]] * len(train) + len(test)))
    found = network_influence(net, data, queries, names=names, on_mean=True, seed=seed)
    values = found.attribution() if groups is None else sum_up(found.attribution(), groups)
    is_class = isinstance(net.loss, Classification)
    silent = _predict(net, queries).refusal if is_class else ""
    labels = dict(zip(names, map(str, train.targets), strict=True)) if train.targets is not None else {}
    texts = dict(zip(names, train.texts, strict=True))
    rows = RowFacts(labels, texts, groups, is_class, silent)
    payoff = f"minus the mean loss of {len(test)} test rows of {type(loaded.model).__name__}; scores are slopes of it"
    warnings = tuple(word for word in (moving(found.certificate),) if word)
    worth = Valuation(values, harmful(values, rows), (), payoff, 0, 0, silent=silent, warnings=warnings, rows=rows)
    return worth, _notes(net, cut + also_cut, loaded)


def _count(watch: Callable[[float], None], total: int) -> Callable[[int], None]:
    """Numbers of rows, as the share of `total` that was passed so far."""
    passed = 0

    def count(rows: int) -> None:
        nonlocal passed
        passed += rows
        watch(min(1.0, passed / total))

    return count


def _notes(net: Network, cut: int, loaded: TextModel) -> tuple[str, ...]:
    notes = [f"looked at {len(net.layers)} layers, {net.parameters:,} parameters"]
    if net.left_out:
        more = f" and {len(net.left_out) - LAYERS_NAMED} more" if len(net.left_out) > LAYERS_NAMED else ""
        notes.append(f"not looked at: {', '.join(net.left_out[:LAYERS_NAMED])}{more}")
    if cut:
        notes.append(f"{cut} texts are longer than the {_longest(loaded)} tokens that the model reads and were cut")
    return tuple(notes)


def _longest(loaded: TextModel) -> int:
    return int(loaded.longest())


def _batch(loaded: TextModel, rows: Taught) -> tuple[Batch, int]:
    """Rows as the model was trained on them, and how many texts were cut."""
    import torch

    tokenizer, config, longest = loaded.tokenizer, loaded.model.config, _longest(loaded)
    if loaded.task == "continue":
        return encode_texts(tokenizer, rows.texts, longest) if rows.targets is None else _answer(tokenizer, rows, longest)
    if rows.targets is None:
        raise InvalidInput(
            "a classifier is judged by classes; name their column with target=COLUMN", argument="target", code="missing"
        )
    ids = tokenizer(list(rows.texts), truncation=True, max_length=longest)["input_ids"]
    cut = sum(len(whole) > longest for whole in tokenizer(list(rows.texts))["input_ids"])
    return pad(ids, config.pad_token_id or 0) | {"labels": torch.tensor(_codes(config, rows.targets))}, cut


def _codes(config: transformers.PretrainedConfig, targets: Sequence[str] | Sequence[float]) -> list[int] | list[float]:
    """Targets as the model numbers them, by name or by number; numbers as they are where it predicts one."""
    from accredit.models.labels import label_index
    from accredit.models.tasks import label_of

    if config.problem_type == "regression":
        return [float(target) for target in targets]
    labels = tuple(label_of(config, i) for i in range(config.num_labels))
    place = {word: label_index(word, labels) for word in sorted({str(target) for target in targets})}
    return [place[str(target)] for target in targets]


def _answer(tokenizer: transformers.PreTrainedTokenizerBase, rows: Taught, longest: int) -> tuple[dict[str, torch.Tensor], int]:
    """Texts with their answers, of which only the answers are judged; one that does not fit is refused, not cut."""
    assert rows.targets is not None
    found = [answer_places(tokenizer, text, str(answer)) for text, answer in zip(rows.texts, rows.targets, strict=True)]
    for row, (whole, first, last) in enumerate(found):
        if len(whole) > longest or last <= max(first, 1):
            raise InvalidInput(
                f"row {row + 1} has {len(whole)} tokens, {last - first} of them the target's; up to {longest} fit, "
                "and one must be judged",
                code="too-many",
            )
    batch = pad([whole for whole, _, _ in found])
    for row, (_, first, last) in enumerate(found):
        batch["labels"][row, : max(first, 1)] = IGNORED
        batch["labels"][row, last:] = IGNORED
    return batch, 0


def _predict(net: Network, queries: Batch) -> Skill:
    """How well the model itself predicts the labels of the test rows."""
    import torch

    count, said = check_rows(queries), []
    with evaluating(net.model), torch.no_grad():
        for start in range(0, count, net.batch_size):
            part = pick(queries, slice(start, start + net.batch_size), net.device)
            said.append(answers_of(net.model, part).double().log_softmax(dim=1).cpu().numpy())
    return skill(np.concatenate(said), queries["labels"].cpu().numpy())


def read_texts(file: str | Path, column: str | None = None) -> list[str]:
    """Training texts: the lines of a .txt file, or a column of a table (its only one, where none is named)."""
    if ending(file) == ".txt":
        if column is not None:
            raise InvalidInput(
                f"text={column!r} names a column, and {file} has one text on each line; leave it out",
                argument="text",
                code="misplaced",
            )
        texts = read_lines(file)
        if not texts:
            raise InvalidInput(f"{file} holds no text; write one on each line", code="empty")
        if blank := [number for number, line in enumerate(texts, start=1) if not line.strip()]:
            raise InvalidInput(f"line {blank[0]} of {file} is empty; one text on each line is needed", code="empty")
    elif is_table(file) or ending(file) == ".parquet":
        texts = _column(warn_reading(read_frame(file)), file, column)
    else:
        raise InvalidInput(
            f"{str(file)!r} ends in neither .txt (one text on each line) nor .csv, .tsv, .jsonl (.gz may follow) or .parquet",
            code="format",
        )
    return texts


def read_completions(file: str | Path, prompt: str | None, completion: str) -> list[tuple[str, str]]:
    """Pairs of a prompt and the completion that was learned, from two columns of a table."""
    if prompt is None:
        raise InvalidInput(
            f"completion={completion!r} follows a prompt; name the column of the prompts with text=COLUMN",
            argument="text",
            code="missing",
        )
    if not is_table(file) and ending(file) != ".parquet":
        raise InvalidInput(
            f"completion={completion!r} names a column, and {str(file)!r} is not a table: .csv, .tsv, .jsonl or .parquet",
            argument="completion",
            code="misplaced",
        )
    frame = read_frame(file)
    check_columns(frame, file, {"text": prompt, "completion": completion})
    said = (texts_in(frame, column, str(file), name) for column, name in ((prompt, "text"), (completion, "completion")))
    return list(zip(*said, strict=True))


def _column(frame: pandas.DataFrame, file: str | Path, column: str | None) -> list[str]:
    columns = [str(name) for name in frame.columns]
    if column is None and len(columns) > 1:
        raise InvalidInput(
            f"{file} has the columns {', '.join(columns)}; name that of the texts with text=COLUMN",
            argument="text",
            code="missing",
        )
    check_columns(frame, file, {"text": column})
    return texts_in(frame, columns[0] if column is None else column, str(file))
