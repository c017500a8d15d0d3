"""The trained explainer: Selector × MaskLaw × Surrogate × TrainingSchedule, for any black box."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from accredit.core import BoolArray, FloatArray, Procedure, Selection
from accredit.core.statistics import units
from accredit.errors import InvalidInput
from accredit.learned.batches import ask_black_box, rows_of
from accredit.learned.black_boxes import BlackBox
from accredit.learned.encoders import Encoder
from accredit.learned.folders import write
from accredit.learned.inputs import SEEDS_BELOW, Array, Inputs, one_input, whole
from accredit.learned.mask_distributions import MaskLaw, law_settings
from accredit.learned.masks import check_k, check_mask
from accredit.learned.networks import network_for, selector_for
from accredit.learned.schedules import Job, TrainingSchedule
from accredit.learned.stages import Batch, History, Training, choose_players, run, surprise
from accredit.learned.training_checks import doubts, uneven_columns
from accredit.values.solver import progress as progress_bar

if TYPE_CHECKING:
    import transformers

KIND = "trained explainer"
TARGETS = ("answers", "choices", "labels")
INPUTS_PER_PASS = 512  # rows asked of a network or a black box at once
Networks = Callable[[], tuple[nn.Module, nn.Module]]  # selector(x, answer) -> (N, n), surrogate(x, mask) -> (N, classes)


class TrainedExplainer:
    """A selector that learned which k players reveal a black box's answer, and the surrogate that reads them.

    `fit` trains both; afterwards one pass of the selector explains an input, without asking the black box (unless `query`).
    A selection can carry the answer in *which* players it shows rather than in what they say: run
    `accredit.audit.leakage_report` before you believe it.

    `target` is what the surrogate must predict: the black box's probabilities ("answers"), the class it chooses ("choices"),
    or the true class ("labels"). With `query` the selector is given the black box's answer. `k=None` is for laws of
    independent coins: then every player with chance above ½ is chosen. `classes=1` explains a regression: one number per input.

    Networks are those of `accredit.learned.networks`; or `encoder`, a Hugging Face model or configuration, is the body of both;
    or `networks` makes them: selector(x, answer) gives logits (N, n), surrogate(x, mask) gives logits (N, classes).

    >>> from accredit.learned import Tabular, l2x
    >>> x = np.random.default_rng(0).normal(size=(600, 4))
    >>> def box(rows):  # only the first column matters
    ...     return np.stack([rows[:, 0] < 0, rows[:, 0] >= 0], axis=1).astype(float)
    >>> explainer = l2x(Tabular(4), classes=2, k=1, training=Training(epochs=20, rate=0.01)).fit(x, box)
    >>> explainer.explain(x[0]).chosen
    array([ True, False, False, False])
    """

    def __init__(
        self,
        method: str,
        inputs: Inputs,
        classes: int,
        k: int | None,
        law: MaskLaw,
        schedule: TrainingSchedule,
        *,
        query: bool = False,
        target: str = "answers",
        price: float = 0.0,
        training: Training = Training(),
        selector_width: int | None = None,
        surrogate_width: int | None = None,
        surrogate: str = "auto",
        count: float | None = None,
        encoder: transformers.PreTrainedModel | transformers.PretrainedConfig | Mapping[str, object] | None = None,
        networks: Networks | None = None,
    ) -> None:
        whole("classes", classes)
        if classes == 1 and target != "answers":
            raise InvalidInput(
                f"target is {target!r}, and with classes=1 the answer is a number; leave target out",
                argument="target",
                code="conflict",
            )
        if encoder is not None and networks is not None:
            raise InvalidInput("encoder and networks are given; leave one of them out", argument="encoder", code="conflict")
        if target not in TARGETS:
            raise InvalidInput(
                f"target {target!r} is unknown; write one of {', '.join(map(repr, TARGETS))}", argument="target", code="unknown"
            )
        if not price >= 0:
            raise InvalidInput(f"price must not be negative, got {price}", argument="price", code="range")
        if count is not None and not 0 < count < float("inf"):
            raise InvalidInput(
                f"count must be positive, got {count}; leave it out to divide by the number of kept words",
                argument="count",
                code="range",
            )
        self.method, self.inputs, self.classes = method, inputs, classes
        self.k = None if k is None else check_k(k, inputs.n)
        self.law, self.schedule, self.query, self.target, self.price = law, schedule, query, target, price
        self.training, self.selector_width, self.surrogate_width = training, selector_width, surrogate_width
        self.surrogate, self.count = surrogate, None if count is None else float(count)
        self.encoder, self.networks = None if encoder is None else Encoder.of(encoder), networks
        self.centre, self.spread = 0.0, 1.0  # of a regression's answers in training; surrogates learn them scaled
        self.history, self.seed = History(), 0
        self.explains = ""  # a digest of the model, where it is known; another model is then refused
        self.black_box: BlackBox | None = None
        self._networks: tuple[nn.Module, nn.Module] | None = None

    def fit(
        self,
        x: npt.ArrayLike,
        black_box: BlackBox,
        labels: npt.ArrayLike | None = None,
        seed: int = 0,
        progress: bool = False,
    ) -> Self:
        """Train on inputs (N, ...) and what the black box answers to them; the same seed gives the same explainer.

        Part of the rows is kept aside for early stopping (`training.validation`). The black box is asked once per row. When
        the loss is no longer a number, training stops, the last good weights are kept, and a warning and
        `history.stopped_because` say so.
        """
        began = time.perf_counter()
        given = self.inputs.check(x)
        answers = ask_black_box(black_box, given, self.classes)
        scale = (float(answers.mean()), float(units(answers)[0])) if self.classes == 1 else (0.0, 1.0)
        rows = rows_of(self.inputs, given, (answers - scale[0]) / scale[1], labels, self.target, self.query)
        rng = np.random.default_rng(whole("seed", seed, 0, SEEDS_BELOW))
        order = torch.from_numpy(rng.permutation(len(given)))
        aside = max(1, round(self.training.validation * len(given)))
        watched, learning = rows[order[:aside]], rows[order[aside:]]
        history = History()
        with torch.random.fork_rng(devices=[]):  # dropout draws from the global state, which is put back
            torch.manual_seed(seed)
            selector, surrogate = (module.to(self.training.device) for module in self._build(seed))
            self._try(selector, surrogate, rows[torch.arange(2)].to(self.training.device))
            prior = torch.bincount(rows.choice, minlength=self.classes) / len(rows)
            job = Job(
                selector,
                surrogate,
                self.law,
                self.price,
                self.training,
                torch.Generator().manual_seed(seed),
                prior,
                lambda: self._build(seed + 1)[1],
                self.inputs.n,
                seed,
                self.k,
            )
            stages = self.schedule.stages(job)
            with progress_bar(self.method, sum(stage.epochs for stage in stages) if progress else 0) as bar:
                for stage in stages:
                    if not run(stage, (selector, surrogate), learning, watched, self.training, history, rng, bar):
                        break
        history.seconds = time.perf_counter() - began
        for module in (selector, surrogate):
            module.cpu()
            module.eval()
        history.doubts = self._doubts(selector, surrogate, given, watched, history)
        self._networks, (self.centre, self.spread) = (selector, surrogate), scale
        self.history, self.seed, self.black_box = history, seed, black_box
        for doubt in history.doubts:
            warnings.warn(f"{self.method}: {doubt}", RuntimeWarning, stacklevel=2)
        return self

    def _doubts(self, selector: nn.Module, surrogate: nn.Module, x: Array, watched: Batch, history: History) -> list[str]:
        """What speaks against it; `history` learns what masks cost as they were trained, and as they are used."""
        with torch.no_grad():
            logits = selector(watched.x, watched.answer)
            chosen = choose_players(logits, watched.present, self.k)
            shown = self.law.final_mask(logits, watched.present, chosen)

            def loss(mask: Tensor) -> Tensor:
                return surprise(surrogate(watched.x, mask), watched.target)

            drawn = self.law.draw(logits, watched.present, loss, torch.Generator().manual_seed(0))
            history.as_trained, history.as_used = float(drawn.losses.mean()), float(loss(shown).mean())
        return [*uneven_columns(self.inputs, x), *doubts(surrogate, watched, shown, history)]

    def _try(self, selector: nn.Module, surrogate: nn.Module, rows: Batch) -> None:
        """Refuse networks of one's own that answer in the wrong shape."""
        if self.networks is None:
            return
        with torch.no_grad():
            found = (
                tuple(selector.eval()(rows.x, rows.answer).shape),
                tuple(surrogate.eval()(rows.x, rows.present).shape),
            )
        if found != ((2, self.inputs.n), (2, self.classes)):
            raise InvalidInput(
                f"networks gave a selector and a surrogate that answer {found[0]} and {found[1]} to two inputs; they must "
                f"answer (2, {self.inputs.n}) and (2, {self.classes})",
                argument="networks",
                code="shape",
            )

    def scores(self, x: npt.ArrayLike) -> FloatArray:
        """How soon each player is chosen: (N, n), higher first; absent players have −10⁹.

        The logarithm of a player's chance in one draw, or the log-odds of its own coin, by the mask law.
        """
        logits, present = self._logits(self.inputs.check(x))
        return self.law.scores(logits, present).double().numpy()

    def select(self, x: npt.ArrayLike, k: int | None = None) -> BoolArray:
        """Exactly k players per row (all that are present, if fewer), ties to the lowest index: (N, n)."""
        logits, present = self._logits(self.inputs.check(x))
        return choose_players(logits, present, self.k if k is None else k).numpy() > 0

    def masks(self, x: npt.ArrayLike) -> FloatArray:
        """What the surrogate is shown of each row: the chosen set, or the law's own soft mask, (N, n)."""
        logits, present = self._logits(self.inputs.check(x))
        shown = self.law.final_mask(logits, present, choose_players(logits, present, self.k))
        return shown.double().numpy()

    def answer(self, x: npt.ArrayLike, mask: npt.ArrayLike) -> FloatArray:
        """The surrogate's answer from x under any mask (N, n), also one that audits make up: (N, classes); a regression's
        number in the units of the black box."""
        given = self.inputs.check(x)
        shown = torch.from_numpy(check_mask(mask, len(given), self.inputs.n)).float()
        surrogate = self._get_networks()[1]
        logits = _in_parts(lambda part: surrogate(torch.tensor(given[part]), shown[part]), len(given))
        if self.classes == 1:
            return logits.double().numpy() * self.spread + self.centre
        return logits.double().softmax(dim=1).numpy()

    def predict(self, x: npt.ArrayLike) -> FloatArray:
        """The surrogate's own answer from what the explainer shows it: (N, classes)."""
        return self.answer(x, self.masks(x))

    def explain(self, one: npt.ArrayLike, names: Sequence[str] | None = None, k: int | None = None) -> Selection:
        """The chosen players of one input, among those that are present; `names` for them, or for every position."""
        given, named, present = one_input(self.inputs, one, names)
        chosen = self.select(given, k)[0][present]
        answer = self.predict(given)[0]
        return Selection(
            named,
            chosen,
            method=Procedure(self.method),
            rule=self.rule(k),
            scores=self.scores(given)[0][present],
            seed=self.seed,
            certificate={
                "surrogate_answer": answer.tolist(),
                "stopped_because": self.history.stopped_because,
                "doubts": self.history.doubts,
                "as_trained": self.history.as_trained,
                "as_used": self.history.as_used,
                "by_chance": self.history.by_chance,
            },
            provenance={"settings": self.settings()},
        )

    def rule(self, k: int | None = None) -> str:
        """How many are chosen, by which mask law, and what replaces the others."""
        k = self.k if k is None else k
        many = "every player with chance above 1/2" if k is None else f"the {k} highest of {self.inputs.n}"
        query = "; the selector sees the black box's answer" if self.query else ""
        return f"{many}; trained with {self.law.describe()}; {self.inputs.describe()}{query}"

    def settings(self) -> dict[str, object]:
        """Everything but the weights, as plain JSON."""
        return {
            "method": self.method,
            "inputs": self.inputs.settings(),
            "classes": self.classes,
            "k": self.k,
            "law": law_settings(self.law),
            "schedule": self.schedule.settings(),
            "query": self.query,
            "target": self.target,
            "price": self.price,
            "training": asdict(self.training),
            "selector_width": self.selector_width,
            "surrogate_width": self.surrogate_width,
            "surrogate": self.surrogate,
            "count": self.count,
            "encoder": None if self.encoder is None else dict(self.encoder.config),
        }

    def save(self, folder: str | Path) -> None:
        """Settings and history as JSON, weights as safetensors, into `folder`; read them with `accredit.learned.load`."""
        selector, surrogate = self._get_networks()
        state = {f"selector.{name}": value for name, value in selector.state_dict().items()}
        state |= {f"surrogate.{name}": value for name, value in surrogate.state_dict().items()}
        about = {
            "seed": self.seed,
            "history": asdict(self.history),
            "settings": self.settings(),
            "explains": self.explains,
            "scale": [self.centre, self.spread],
            "own networks": self.networks is not None,
        }
        write(folder, KIND, about, state)

    def __repr__(self) -> str:
        return f"{self.method}({type(self.inputs).__name__}, {self.inputs.n} players, k={self.k}, {self.law.describe()})"

    def _build(self, seed: int) -> tuple[nn.Module, nn.Module]:
        """Selector and surrogate, untrained."""
        if self.networks is not None or self.encoder is not None:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                if self.networks is not None:
                    return self.networks()
                assert self.encoder is not None
                return self.encoder.networks(self.inputs, self.classes, self.query)
        selector = selector_for(self.inputs, self.classes, query=self.query, width=self.selector_width, seed=seed)
        surrogate = network_for(
            self.inputs,
            self.classes,
            width=self.surrogate_width,
            kind=self.surrogate,
            count=self.count,
            seed=seed + 10_000,
        )
        return selector, surrogate

    def _get_networks(self) -> tuple[nn.Module, nn.Module]:
        if self._networks is None:
            raise InvalidInput(f"{self.method} is not trained yet; call explainer.fit(x, black_box) first", code="not-fitted")
        return self._networks

    def _logits(self, x: Array) -> tuple[Tensor, Tensor]:
        """The selector's logits and the present players, both (N, n)."""
        selector = self._get_networks()[0]
        answer: Tensor | None = None
        if self.query:
            if self.black_box is None:
                raise InvalidInput(
                    f"{self.method} asks for the black box's answer; write accredit.learned.load(folder, black_box)",
                    argument="black_box",
                    code="missing",
                )
            answer = torch.from_numpy((ask_black_box(self.black_box, x, self.classes) - self.centre) / self.spread).float()
        rows = torch.tensor(x)
        logits = _in_parts(lambda part: selector(rows[part], None if answer is None else answer[part]), len(x))
        if not torch.isfinite(logits).all():
            raise InvalidInput(
                "the selector gives numbers that are not finite: its weights are damaged; train it again", code="not-finite"
            )
        return logits, torch.from_numpy(self.inputs.present(x)).float()


def _in_parts(ask: Callable[[slice], Tensor], rows: int) -> Tensor:
    """One answer for all rows, asked in parts."""
    if rows == 0:
        raise InvalidInput("x holds no rows", argument="x", code="empty")
    with torch.inference_mode():
        return torch.cat([ask(slice(k, k + INPUTS_PER_PASS)) for k in range(0, rows, INPUTS_PER_PASS)])
