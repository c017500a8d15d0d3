"""One row of the selection experiment: train a black box, explain it, and ask who can still tell its answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.learned.black_boxes import BlackBox
from accredit.learned.inputs import Array, PixelGrid
from accredit.learned.masks import top
from accredit_papers.selection_data import OTHER_READINGS, SelectionTask, kind, task

if TYPE_CHECKING:
    from accredit.learned.evalx import EvalX
    from accredit.learned.networks import ConvolutionOfPixels, ConvolutionOfWords
    from accredit.learned.trainer import TrainedExplainer

PAPER_METHODS = (
    "gradient",
    "lime",
    "cxplain",
    "l2x",
    "vibi",
    "l2x+answer",
    "l2x+answer+pretraining",
    "l2x+answer+weighting",
)
TRAINED = PAPER_METHODS[3:]  # a selector and a surrogate, whose settings are chosen on training rows
WEIGHTING = "+weighting"  # how the names of methods end that weigh rows
METHODS = ("random", "gradient", "gradient x input", "lime", "lime, supporting", *PAPER_METHODS[2:])


@dataclass(frozen=True)
class RunSizes:
    """How much of everything: what a run costs, and what its report must say."""

    train: int  # rows that black box and explainers learn from
    test: int  # rows that methods are judged on
    epochs: int  # of a trained explainer; pretraining takes as many for each of its two stages
    batch: int  # rows in one of its steps
    judge_epochs: int  # of EVAL-X and of the black box, at most
    lime_rows: int  # test rows that LIME explains
    lime_budget: int  # coalitions per row
    cxplain_rows: int  # training rows whose removals are asked
    cxplain_epochs: int
    cxplain_models: int
    width: int  # filters of the black box
    selector: int  # filters of a selector
    surrogate: str = "auto"  # the reader of a trained explainer: a kind that `network_for` knows
    temperatures: tuple[float, ...] = (0.5,)  # of the relaxed choice; of several, rows of the training split decide
    selectors: tuple[int, ...] = ()  # filters of a selector that are tried beside `selector`
    weightings: tuple[tuple[int, float], ...] = ()  # steps of P(Y|M) and caps of weights that are tried beside the recipe's

    def scale(self, factor: float) -> RunSizes:
        """`factor` times the rows to learn from, and to explain by LIME and CXPlain; everything else as it is."""
        rows = {name: round(getattr(self, name) * factor) for name in ("train", "lime_rows", "cxplain_rows")}
        return replace(self, **rows)


FULL = {
    "texts": RunSizes(4000, 1500, 3, 40, 5, 150, 400, 300, 10, 3, 100, 50),
    "pictures": RunSizes(2000, 1500, 4, 32, 6, 100, 600, 300, 10, 3, 16, 8),
}
ALL_ROWS = 10**6  # more rows than any of the data sets has
WHOLE = {  # every training row, one network of CXPlain that is asked about all of them, settings chosen on training rows
    "texts": RunSizes(ALL_ROWS, 5000, 2, 40, 5, 150, 400, ALL_ROWS, 6, 1, 100, 50, "places", (0.5, 0.1), (100,), ((10, 50.0),)),
    "pictures": RunSizes(ALL_ROWS, 5000, 2, 32, 6, 100, 600, ALL_ROWS, 6, 1, 16, 8, "auto", (0.5, 0.1), (32,), ((10, 50.0),)),
}
FORMATS = {"texts": 4, "pictures": 5}  # of stored cells; 5: pixels from −1 to 1
CHOOSING = 0.125  # of the training rows that an explainer learns from while its settings are chosen
QUICK = {
    "texts": RunSizes(1500, 400, 2, 40, 4, 60, 200, 100, 5, 1, 50, 25),
    "pictures": RunSizes(1000, 400, 2, 32, 4, 60, 400, 100, 5, 1, 8, 8),
}


@dataclass(frozen=True)
class SelectionRun:
    """One black box: a data set, a seed, and the sizes."""

    data: str  # folder
    name: str
    seed: int
    sizes: RunSizes
    reading: str = ""  # of the rows, where it is not the usual one: a name in OTHER_READINGS
    settings: tuple[tuple[str, object], ...] = ()  # of the explainer, by name, instead of its recipe's

    def key(self, method: str) -> dict[str, object]:
        """Everything but the folder that the numbers of a method depend on."""
        sizes = asdict(self.sizes)
        tried = {name: value for name in ("selectors", "weightings") if (value := sizes.pop(name))}
        weighted = method.endswith(WEIGHTING)
        usual = {"set": self.name, "seed": self.seed, "method": method, "sizes": sizes, "format": FORMATS[kind(self.name)]}
        if method in TRAINED:
            usual |= {name: value for name, value in tried.items() if weighted or name == "selectors"}
        changed = {"reading": self.reading, "settings": dict(self.settings)}
        return usual | {name: value for name, value in changed.items() if value}


@dataclass(frozen=True)
class SelectionOutcome:
    """What became of one method's selections; shares of test rows. None: there is no such thing for this method."""

    post_hoc: float  # the black box on the kept players gives its own full answer
    evalx: float  # EVAL-X on the kept players gives it
    surrogate: float | None  # the explainer's own surrogate gives it
    accuracy: float  # of the black box on full inputs, against the true labels
    judge: float  # of EVAL-X on full inputs, against the black box's answer
    rows: int  # test rows judged
    seconds: float  # CPU, training and explaining
    ended: str  # why training stopped
    building: float = 0.0  # CPU seconds of the black box and its judge, which all methods of a run share
    chosen: str = ""  # the settings that training rows preferred, where several were tried
    commonest: float | None = None  # share of the black box's most frequent answer when it sees the kept players alone


@dataclass(frozen=True, eq=False)
class Bench:
    """A data set with its trained black box and its judge."""

    task: SelectionTask
    network: ConvolutionOfWords | ConvolutionOfPixels
    black_box: BlackBox
    judge: EvalX
    choice: IntArray  # the black box's class of every test row
    seconds: float  # CPU, that black box and judge took


def measure(run: SelectionRun, methods: Sequence[str]) -> Iterator[tuple[str, SelectionOutcome]]:
    """Methods on one black box, one after another."""
    yield from ((method, outcome) for _, method, outcome in measure_together([(run, m) for m in methods]))


def measure_together(asked: Sequence[tuple[SelectionRun, str]]) -> Iterator[tuple[SelectionRun, str, SelectionOutcome]]:
    """Runs that differ in their explainers alone, on the black box of the first; on one thread, so that the numbers are the
    same everywhere."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        world = build(asked[0][0])
        for run, method in asked:
            yield run, method, _measure(world, run, method)
    finally:
        torch.set_num_threads(threads)


def _measure(world: Bench, run: SelectionRun, method: str) -> SelectionOutcome:
    began = time.process_time()
    chosen, surrogate, ended, preferred = EXPLAIN[method](world, run)
    spent = time.process_time() - began
    given, rows = world.task, len(chosen)
    x, choice = given.x_test[:rows], world.choice[:rows]
    answers = world.black_box(given.inputs.keep(x, chosen)).argmax(axis=1)
    return SelectionOutcome(
        float((answers == choice).mean()),
        world.judge.accuracy(x, chosen, choice),
        None if surrogate is None else float((surrogate.argmax(axis=1) == choice).mean()),
        float((world.choice == given.y_test).mean()),
        world.judge.accuracy(given.x_test, given.inputs.present(given.x_test), world.choice),
        rows,
        spent,
        ended,
        world.seconds,
        preferred,
        float(np.bincount(answers).max() / rows),
    )


def build(run: SelectionRun) -> Bench:
    """Train the black box on true labels and EVAL-X on its answers; both stop early on rows of the training split."""
    from accredit.learned.evalx import EvalX, train_masked
    from accredit.learned.networks import ConvolutionOfPixels, ConvolutionOfWords, as_black_box, network_for

    began, given, sizes = time.process_time(), read(run), run.sizes
    network = network_for(given.inputs, 2, kind="convolution", width=sizes.width, seed=run.seed)
    assert isinstance(network, ConvolutionOfWords | ConvolutionOfPixels)
    train_masked(
        network,
        given.x,
        np.eye(2)[given.y],
        lambda rng, rows: np.ones((len(rows), given.inputs.n)),
        epochs=sizes.judge_epochs,
        patience=2,
        batch=64,
        rate=1e-3,
        seed=run.seed,
    )
    black_box = as_black_box(network, given.inputs)
    width = sizes.width if isinstance(given.inputs, PixelGrid) else None
    judge = EvalX(given.inputs, k=given.k, width=width, epochs=sizes.judge_epochs, patience=3)
    judge.fit(given.x, black_box, seed=run.seed + 1000)
    choice = black_box(given.x_test).argmax(axis=1)
    return Bench(given, network, black_box, judge, choice, time.process_time() - began)


def read(run: SelectionRun) -> SelectionTask:
    """The data of a run."""
    found = _task(run.data, run.name, run.sizes.train, run.sizes.test)
    return OTHER_READINGS[run.reading](found) if run.reading else found


@lru_cache(maxsize=1)
def _task(data: str, name: str, train: int, test: int) -> SelectionTask:
    return task(data, name, train, test)


# Every method: (world, run) -> (what it keeps, its own surrogate's answers, why training ended, settings that were chosen)

Explained = tuple[BoolArray, FloatArray | None, str, str]


def _random(world: Bench, run: SelectionRun) -> Explained:
    x = world.task.x_test
    drawn = np.random.default_rng(run.seed).random((len(x), world.task.inputs.n))
    return top(drawn, world.task.k, world.task.inputs.present(x)), None, "nothing is trained", ""


def _gradient(times_input: bool) -> Callable[[Bench, SelectionRun], Explained]:
    def explain(world: Bench, run: SelectionRun) -> Explained:
        from accredit.learned.gradient import Gradient

        explainer = Gradient(world.task.inputs, world.task.k, world.network, times_input)
        return explainer.select(world.task.x_test), None, str(explainer.history["stopped_because"]), ""

    return explain


def _lime(rank: str) -> Callable[[Bench, SelectionRun], Explained]:
    def explain(world: Bench, run: SelectionRun) -> Explained:
        x = world.task.x_test[: run.sizes.lime_rows]
        slopes = _slopes(world, run)
        scores = np.abs(slopes) if rank == "magnitude" else slopes
        return top(scores, world.task.k, world.task.inputs.present(x)), None, "nothing is trained", ""

    return explain


@lru_cache(maxsize=1)
def _slopes(world: Bench, run: SelectionRun) -> FloatArray:
    """LIME's slopes, which both of its rows read."""
    from accredit.learned.lime import LimeExplainer
    from accredit.values.lime import Lime

    x = world.task.x_test[: run.sizes.lime_rows]
    law = "coins" if isinstance(world.task.inputs, PixelGrid) else "sizes"
    explainer = LimeExplainer(world.task.inputs, world.task.k, Lime(run.sizes.lime_budget, law=law))
    return explainer.fit(x, world.black_box, seed=run.seed).lines(x)[0]


def _cxplain(world: Bench, run: SelectionRun) -> Explained:
    from accredit.learned.cxplain import CXPlain, shares
    from accredit_papers.convolution_ablation import losses_without_each

    sizes, given = run.sizes, world.task
    explainer = CXPlain(
        given.inputs,
        given.k,
        block=2 if isinstance(given.inputs, PixelGrid) else 1,
        models=sizes.cxplain_models,
        epochs=sizes.cxplain_epochs,
        width=sizes.selector,
    )
    x, y = given.x[: sizes.cxplain_rows], given.y[: sizes.cxplain_rows]
    if dict(run.settings).get("labels") == "answers":
        y = world.black_box(x).argmax(axis=1)
    grown = losses_without_each(world.network, x, y)
    explainer.learn(x, shares(grown, explainer.removed.present(x)), seed=run.seed)
    return explainer.select(given.x_test), None, str(explainer.history["stopped_because"]), ""


def _train(name: str) -> Callable[[Bench, SelectionRun], Explained]:
    def explain(world: Bench, run: SelectionRun) -> Explained:
        given, (setting, several) = world.task, choose_setting(world, run, name)
        explainer = _learn(world, run, name, setting, given.x)
        preferred = setting.words() if several else ""
        chosen = explainer.select(given.x_test)
        return chosen, explainer.answer(given.x_test, chosen), explainer.history.stopped_because, preferred

    return explain


@dataclass(frozen=True)
class ExplainerSetting:
    """What may be chosen of a trained explainer."""

    temperature: float
    selector: int  # filters
    weighting: tuple[int, float] | None = None  # steps of P(Y|M) and cap of the weights; None: the recipe's own, or none

    def words(self) -> str:
        """The setting for a table.

        >>> ExplainerSetting(0.5, 32, (10, 50.0)).words()
        'temperature 0.5, 32 filters, 10 steps of P(Y|M), weights at most 50'
        """
        weighing = (
            "" if self.weighting is None else f", {self.weighting[0]} steps of P(Y|M), weights at most {self.weighting[1]:g}"
        )
        return f"temperature {self.temperature:g}, {self.selector} filters{weighing}"


def _learn(world: Bench, run: SelectionRun, name: str, setting: ExplainerSetting, x: Array) -> TrainedExplainer:
    """A trained explainer of these rows, by the recipe that ships."""
    from accredit.learned.recipes import RECIPES, defaults

    given, sizes = world.task, run.sizes
    training = replace(defaults(given.inputs, given.k)["training"], epochs=sizes.epochs, batch=sizes.batch)
    weighing = {} if setting.weighting is None else dict(zip(("steps", "cap"), setting.weighting, strict=True))
    explainer = RECIPES[name](
        given.inputs,
        2,
        given.k,
        training=training,
        selector_width=setting.selector,
        surrogate=sizes.surrogate,
        temperature=setting.temperature,
        **weighing | dict(run.settings),
    )
    return explainer.fit(x, world.black_box, seed=run.seed)


def choose_setting(world: Bench, run: SelectionRun, name: str) -> tuple[ExplainerSetting, bool]:
    """The setting whose choices keep most answers on training rows that it has not learned from, and whether several were
    tried: the temperature first, then the selector, then the weighting, each beside what is already chosen."""
    sizes, given = run.sizes, world.task
    ways: list[dict[str, object]] = [{"temperature": t} for t in sizes.temperatures[1:]]
    ways += [{"selector": width} for width in sizes.selectors]
    ways += [{"weighting": pair} for pair in sizes.weightings if name.endswith(WEIGHTING)]
    best = ExplainerSetting(sizes.temperatures[0], sizes.selector)
    if not ways:
        return best, False
    cut = round(CHOOSING * len(given.x))
    learned, held = given.x[:cut], given.x[cut : 2 * cut]
    choice = world.black_box(held).argmax(axis=1)

    def keep(setting: ExplainerSetting) -> float:
        chosen = _learn(world, run, name, setting, learned).select(held)
        answers = world.black_box(given.inputs.keep(held, chosen)).argmax(axis=1)
        return float((answers == choice).mean())

    kept = keep(best)
    for way in ways:
        other = replace(best, **way)  # type: ignore[arg-type]
        reached = keep(other)
        if reached > kept:
            best, kept = other, reached
    return best, True


EXPLAIN: dict[str, Callable[[Bench, SelectionRun], Explained]] = {
    "random": _random,
    "gradient": _gradient(False),
    "gradient x input": _gradient(True),
    "lime": _lime("magnitude"),
    "lime, supporting": _lime("support"),
    "cxplain": _cxplain,
    **{name: _train(name) for name in TRAINED},
}
