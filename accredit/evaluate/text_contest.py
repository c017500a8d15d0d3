"""Texts in the arena: any method of `accredit.explain` against any other, on a text classifier."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from accredit.core import Attribution, Game, InvalidInput, Selection
from accredit.evaluate.arena import DEFAULT_METRICS, Example, Explained

BUILTIN = "builtin"
SENTENCES = Path(__file__).parent / "sentences.tsv"


@dataclass(frozen=True)
class TextContest:
    """Settings of a contest on texts. The model is loaded once in every process that runs rows."""

    methods: tuple[str, ...]
    model: str = BUILTIN  # or a folder
    metrics: tuple[str, ...] = DEFAULT_METRICS
    players: str = "word"
    payoff: str = "probability"  # what is explained and what is measured
    removal: str | None = None  # None: the mask token, or deletion where there is none
    budget: int | None = None  # payoffs that each game method may ask
    seed: int = 0
    judge: str | None = None  # removal by which explanations are measured, if another than the methods use

    def checked(self) -> None:
        """Refuse what would fail on every row: unknown methods, a model that cannot be loaded or does not classify."""
        from accredit.explanation.methods import recipe

        for method in self.methods:
            recipe(method)
        model = loaded(self.model)
        if model.task != "classify":
            raise InvalidInput(f"model {self.model} does not classify texts ({model.task}); give a sequence classifier")

    def settings(self) -> Mapping[str, Any]:
        from accredit import __version__

        chosen = {name: value for name, value in vars(self).items() if name != "judge" or value is not None}
        return {**chosen, "model": _digest(self.model), "accredit": __version__}

    def steady(self) -> AbstractContextManager[None]:
        return one_thread()

    def game(self, example: Example) -> Game:
        game: Game = self._subject(example, self.judge or self.removal).payoffs
        return game

    def explain(self, method: str, example: Example) -> Explained:
        from accredit.explanation.methods import recipe

        subject = self._subject(example, self.removal)
        subject.budget, subject.seed = self.budget, self.seed
        subject.flows["measured"] = None  # flows are not drawn here: drawing is no part of the method
        with counted_passes(subject.model.model) as passes:
            result = recipe(method).run(subject)
        return Explained(among(result, subject.players), passes[0])

    def _subject(self, example: Example, removal: str | None) -> Any:
        from accredit.explanation.subject import text_subject

        model = loaded(self.model)
        return text_subject(model, example.text, self.players, example.target, self.payoff, removal, False, "")


def default_methods() -> tuple[str, ...]:
    """Every method of `accredit.explain`, flows also on gradients."""
    from accredit.explanation.methods import RECIPES

    return (*RECIPES, "flow:gf", "flow:agf")


def among(result: Attribution | Selection, players: tuple[str, ...]) -> Attribution | Selection:
    """A result without special tokens, in the order of the players; its claims stay those of the whole."""
    from dataclasses import replace

    if isinstance(result, Selection) or result.players == players:
        return result
    return replace(result[list(players)], claims=result.claims)


@lru_cache(maxsize=1)
def loaded(model: str) -> Any:
    """The model of a contest, loaded once."""
    from accredit.explanation.explainer import loaded_model

    return loaded_model("", None if model == BUILTIN else model)


@lru_cache(maxsize=4)
def _digest(model: str) -> str:
    """A digest of the model's weights: a model trained again is another model."""
    digest = sha256()
    for name, weights in sorted(loaded(model).model.state_dict().items()):
        digest.update(name.encode())
        digest.update(weights.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


@contextmanager
def counted_passes(model: Any) -> Iterator[list[int]]:
    """Counts the rows that go through a model's forward pass."""
    count = [0]

    def forward(module: Any, args: Any, kwargs: Any, output: Any) -> None:
        count[0] += int(output.logits.shape[0])

    hook = model.register_forward_hook(forward, with_kwargs=True)
    try:
        yield count
    finally:
        hook.remove()


@contextmanager
def one_thread() -> Iterator[None]:
    """One torch thread: sums come out in one order, so a row gives the same digits wherever it runs."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def sample() -> list[Example]:
    """The forty sentences that were written for this project."""
    return read_examples(SENTENCES, "text", None)


def filters(where: Iterable[str]) -> dict[str, str]:
    """Rows to keep, from words like split=dev.

    >>> filters(["split=dev"])
    {'split': 'dev'}
    """
    found = {}
    for part in where:
        column, equals, value = part.partition("=")
        if not equals or not column:
            raise InvalidInput(f"where takes COLUMN=VALUE, got {part!r}; write for example split=dev")
        found[column] = value
    return found


def read_examples(
    file: str | Path,
    text: str,
    target: str | None,
    limit: int | None = None,
    where: Mapping[str, str] | None = None,
    longest: int | None = None,
) -> list[Example]:
    """Rows of a CSV or TSV file (also gzipped): the column `text`, and `target` where the label to explain is given.

    `where` keeps only rows with the given values in other columns, for example {"split": "dev"};
    `longest` keeps only texts of at most so many words.
    """
    path = Path(file)
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        content = raw.decode("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"data file {file} cannot be read: {error.strerror or error}") from None
    except (UnicodeDecodeError, EOFError) as error:
        raise InvalidInput(f"data file {file} is not UTF-8 text: {error}") from None
    if "\t" in content.partition("\n")[0]:
        rows = csv.DictReader(io.StringIO(content), delimiter="\t", quoting=csv.QUOTE_NONE)
    else:
        rows = csv.DictReader(io.StringIO(content))
    columns = list(rows.fieldnames or [])
    wanted = dict(where or {})
    for column in (text, *([target] if target else []), *wanted):
        if column not in columns:
            raise InvalidInput(
                f"data file {path.name} has no column {column!r}; its columns are {', '.join(columns) or 'none'}"
            )
    kept = [row for row in rows if all(row[k] == v for k, v in wanted.items())]
    if longest is not None:
        kept = [row for row in kept if len((row[text] or "").split()) <= longest]
    examples = [Example(i, row[text] or "", (row[target] or None) if target else None) for i, row in enumerate(kept)]
    if not examples:
        asked = [f"{column}={value}" for column, value in wanted.items()]
        asked += [f"at most {longest} words"] if longest is not None else []
        raise InvalidInput(
            f"data file {path.name} has no row to explain" + f" with {' and '.join(asked)}" * bool(asked)
        )
    return examples[:limit] if limit else examples
