"""Texts in the arena: any method of `accredit.explain` against any other, on a text classifier."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, cast

from accredit.arena.contest import DEFAULT_METRICS, METRICS, Example, MethodRun
from accredit.checks.tables import read_sheet, warn_notes
from accredit.core import Attribution, Game, Selection
from accredit.core.threads import one_torch_thread
from accredit.errors import InvalidInput
from accredit.evaluate.erasure import PostHocAccuracy
from accredit.evaluate.metric import Metric, Unfit
from accredit.methods import find, find_all

if TYPE_CHECKING:
    import torch
    from transformers.utils import ModelOutput

    from accredit.explanation.explainer import Explainer
    from accredit.explanation.subject import Subject
    from accredit.models.text import TextModel

BUILTIN = "builtin"


@dataclass(frozen=True)
class TextContest:
    """Settings of a contest on texts. The model is loaded once in every process that runs rows.

    >>> from accredit.arena import sample
    >>> contest = TextContest(("leave-one-out", "saliency"))
    >>> contest.check()
    >>> sample()[0].text, len(contest.game(sample()[0]).players)
    ('The bakery on the corner sells the best rye bread I have ever eaten.', 15)
    """

    methods: tuple[str, ...]
    model: str = BUILTIN  # or a folder
    metrics: tuple[str, ...] = DEFAULT_METRICS
    players: str = "word"
    payoff: str = "probability"  # what is explained and what is measured
    removal: str | None = None  # None: the mask token, or deletion where there is none
    budget: int | None = None  # payoffs that each game method may ask
    seed: int = 0
    judge: str | None = None  # removal by which explanations are measured, if another than the methods use

    def check(self) -> None:
        """Refuse what would fail on every row: unknown names, a model that cannot be loaded or does not classify."""
        find_all(self.methods, "text")
        model = load(self.model)
        from accredit.games.text import REMOVALS  # after the model, which says what it needs
        from accredit.models.payoffs import check_payoff

        for name, removal in (("removal", self.removal), ("judge", self.judge)):
            if removal is not None and removal not in REMOVALS:
                raise InvalidInput(f"{name} is {removal!r}; write one of {', '.join(REMOVALS)}", argument=name, code="unknown")
        if model.task != "classify":
            raise InvalidInput(
                f"model {self.model} does not classify texts ({model.task}); give a sequence classifier",
                argument="model",
                code="unsupported",
            )
        check_payoff(self.payoff, model.law, model.classes)

    def settings(self) -> Mapping[str, object]:
        from accredit.core.version import __version__

        chosen = {name: value for name, value in vars(self).items() if name != "judge" or value is not None}
        return {**chosen, "model": weights_digest(load(self.model).model), "accredit": __version__}

    def steady(self) -> AbstractContextManager[None]:
        return one_torch_thread()

    def game(self, example: Example) -> Game:
        game: Game = self._subject(example, self.judge or self.removal).game
        return game

    def explain(self, method: str, example: Example) -> MethodRun:
        return _explain(replace(self, judge=None), weights_digest(load(self.model).model), method, example)

    def metric(self, name: str, example: Example) -> Metric:
        because = self._unfit(name)
        if because:
            return Unfit(name, METRICS[name].better, METRICS[name].paper, because)
        if name == "post-hoc accuracy":
            return PostHocAccuracy(threshold=0.5 if self.payoff == "probability" else 0.0)
        return METRICS[name]

    def _unfit(self, name: str) -> str:
        """Why a metric means nothing for this payoff or this judge."""
        model = load(self.model)
        if name == "log-odds" and self.payoff != "probability":
            return f"log-odds needs payoffs that are probabilities, and the payoff is {self.payoff}"
        decides = self.payoff == "margin" or model.law == "sigmoid" or (model.classes == 2 and self.payoff != "logit")
        if name == "post-hoc accuracy" and not decides:
            return (
                f"post-hoc accuracy needs a payoff that shows the decision, and the {self.payoff} of one class of "
                f"{model.classes} does not; ask for the margin"
            )
        usual = self.removal or ("delete" if model.tokenizer.mask_token_id is None else "mask")
        if name == "infidelity" and self.judge not in (None, usual):
            return (
                f"infidelity compares credit with payoff lost, and credit of removal={usual} is not a share of what is lost by "
                f"removal={self.judge}"
            )
        return ""

    def _subject(self, example: Example, removal: str | None) -> Subject:
        from accredit.explanation.requests import TextRequest

        request = TextRequest(
            target=example.target,
            removal=removal,
            players=self.players,
            payoff=self.payoff,
            budget=self.budget,
            seed=self.seed,
        )
        return explainer_of(self.model).subject(example.text, request)


@lru_cache(maxsize=8192)
def _explain(contest: TextContest, weights: str, method: str, example: Example) -> MethodRun:
    """One explanation, whoever judges it: contests that differ in their judge alone share it."""
    from accredit.explanation.stream import Done, answer

    subject = contest._subject(example, contest.removal)
    with count_passes(subject.model.model) as passes:
        event = answer(subject, find(method, "text"))
    if not isinstance(event, Done):
        raise InvalidInput(event.why, code="unsupported")
    return MethodRun(among(event.attribution, subject.players), passes[0])


def among(result: Attribution | Selection, players: tuple[str, ...]) -> Attribution | Selection:
    """A result without special tokens, in the order of the players; its claims stay those of the whole."""
    if isinstance(result, Selection) or result.players == players:
        return result
    return replace(result[list(players)], claims=result.claims)


@lru_cache(maxsize=2)
def explainer_of(model: str) -> Explainer:
    """What explains the inputs of a contest, made once in every process that runs rows."""
    from accredit.explanation.explainer import Explainer

    return Explainer(None if model == BUILTIN else model)


def load(model: str) -> TextModel:
    """The model of a contest on texts."""
    return cast("TextModel", explainer_of(model).model_for("text"))  # others are refused before a row is run


@lru_cache(maxsize=4)
def weights_digest(model: torch.nn.Module) -> str:
    """A digest of a model's weights: a model trained again is another model."""
    digest = sha256()
    for name, weights in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(weights.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


@contextmanager
def count_passes(model: torch.nn.Module) -> Iterator[list[int]]:
    """Counts the rows that go through a model's forward pass."""
    count = [0]

    def forward(module: torch.nn.Module, args: object, kwargs: object, output: ModelOutput) -> None:
        count[0] += int(output.logits.shape[0])

    hook = model.register_forward_hook(forward, with_kwargs=True)
    try:
        yield count
    finally:
        hook.remove()


SENTENCES = Path(__file__).parent / "sentences.tsv"


def sample() -> list[Example]:
    """The forty sentences that were written for this project.

    >>> len(sample()), sample()[0].text
    (40, 'The bakery on the corner sells the best rye bread I have ever eaten.')
    """
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
            raise InvalidInput(
                f"where takes COLUMN=VALUE, got {part!r}; write for example split=dev", argument="where", code="unreadable"
            )
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
    """Rows of a CSV, TSV or JSONL file (also gzipped): the column `text`, and `target` where the label to explain is given.

    `where` keeps only rows with the given values in other columns, for example {"split": "dev"};
    `longest` keeps only texts of at most so many words.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "reviews.csv")
    >>> _ = file.write_text("review,split\\nA gripping film.,train\\nIt never lands.,dev\\n")
    >>> read_examples(file, "review", None, where={"split": "dev"})
    [Example(row=0, text='It never lands.', target=None)]
    """
    sheet, wanted = warn_notes(read_sheet(file)), dict(where or {})
    texts = sheet.column(text, "text")
    labels = [""] * len(sheet) if target is None else sheet.column(target, "target")
    needed = [(sheet.column(column, "where"), value) for column, value in wanted.items()]
    kept = [i for i in range(len(sheet)) if all(cells[i] == value for cells, value in needed)]
    if longest is not None:
        kept = [i for i in kept if len(texts[i].split()) <= longest]
    if not kept:
        asked = [f"{column}={value}" for column, value in wanted.items()]
        asked += [f"at most {longest} words"] if longest is not None else []
        raise InvalidInput(
            f"{str(file)!r} has no row to explain" + f" with {' and '.join(asked)}" * bool(asked), argument="file", code="empty"
        )
    return [Example(k, texts[i], labels[i] or None) for k, i in enumerate(kept[:limit])]
