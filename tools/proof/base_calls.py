"""One call that works for every public name, from examples by parameter name; what is left out, and why.

A public function without a base call stops `make matrix`: add an example here, or a reason to leave it out.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import accredit
from tools.proof import examples

ROOMS = (
    "accredit",
    "checks",
    "core",
    "games",
    "values",
    "products",
    "trees",
    "flow",
    "attention",
    "gradients",
    "store",
    "evaluate",
    "arena",
    "answers",
    "rows",
    "series",
    "results",
    "explanation",
    "valuation",
    "influence",
    "labels",
    "training_data",
    "learned",
    "views",
    "models",
    "audit",
    "shortcuts",
)

SHELVES = {"games": ("textbook",), "flow": ("graph",)}  # modules of a room that are imported by their own name

LEFT_OUT = {  # pattern of a name -> why it is not called with bad values
    "answers.AnsweringModel*": "built by as_answering_model; methods take the library's own objects",
    "models.ArrayModel*": "built by as_array_model",
    "models.Encoded*": "a record",
    "models.ImageModel*": "built by as_image_model",
    "models.Partition*": "a record",
    "models.Pixels*": "a record",
    "models.Preparation*": "built by as_image_model",
    "models.StringModel*": "built by as_string_model",
    "models.TextModel*": "built by as_text_model",
    "arena.*": "takes the library's own examples, methods and models; files and names are tried through the command compare",
    "shortcuts.*": "training classes of one study; every argument is a network or its data",
    "audit.AuditFinding*": "a record",
    "audit.Findings*": "a record",
    "learned.*.*": "methods that train or read networks; each is reached through the command learn",
    "learned.CXPlain": "built by recipe",
    "learned.EvalX": "takes a network",
    "learned.FastShapley": "built by fit_fast_rows",
    "learned.Gradient": "takes a network",
    "learned.LimeExplainer": "built by recipe",
    "learned.MaskLabels": "takes a network",
    "learned.TrainedExplainer": "built by recipe",
    "learned.as_black_box": "takes a network",
    "learned.fit_fast_inputs": "trains for minutes; reached through the command learn",
    "core.Procedure.by": "takes a solver of the library",
    "core.Procedure.then": "called by what sums, averages or normalises",
    "core.payoffs": "the door that games are asked through; every game below goes through it",
    "core.every_payoff": "the door of games with several outputs",
    "core.write_coalition": "words for messages",
    "core.no_division": "a claim for messages",
    "errors.MissingExtra": "an error",
    "checks.needs": "opens optional libraries",
    "errors.BrokenLibrary": "an error",
    "checks.shown": "words for messages",
    "checks.real_number*": "a door: every number below goes through it",
    "checks.*whole*": "a door: every count below goes through it",
    "checks.check_text": "a door: every text below goes through it",
    "checks.as_array": "a door: cells of any type, NaN included, for those who know what to do with them",
    "core.check_names(what)": "a word for messages",
    "core.player_index(players)": "the players of a game, which were checked when it was made",
    "answers.AnswerGame": "built by answer_game",
    "games.ImageGame": "built by image_game",
    "games.StringGame": "built by string_game",
    "games.TextGame": "built by text_game",
    "games.PartsGames": "built by a model's game",
    "games.ComponentGame*": "built by component_game",
    "games.Cached*": "built by cached",
    "games.Counted*": "built by counted",
    "values.Cubes": "a record",
    "values.Exact.semivalue": "called by semivalue",
    "evaluate.Finding": "a record",
    "evaluate.Score": "a record",
    "evaluate.Sanity": "a record",
    "evaluate.linear_datamodeling_score": "takes outputs of retrained models",
    "evaluate.mislabel_auc": "credit and flags of rows, as in the tests of data metrics",
    "evaluate.removal_curve": "takes a game of retrained models",
    "evaluate.*.plan": "called by measure",
    "evaluate.*.score": "called by measure",
    "evaluate.*.oracle": "called by oracle",
    "evaluate.nudge_embeddings": "takes a loaded model",
    "evaluate.randomised_layers": "takes a loaded model",
    "flow.kkt": "takes a solver's own point",
    "flow.kkt_of": "takes a solver's own point",
    "flow.KKT": "a record",
    "values.LeastCore": "a record",
    "values.LeavingOut": "a record",
    "games.read_choices": "reads as read_game does",
    "flow.Continued": "a record",
    "flow.continued_credit": "called by joint_flow",
    "flow.Certificate": "a record",
    "flow.Graph": "built by Graph.of",
    "flow.GraphFlow": "a record",
    "flow.Graph.node(argument)": "a word for messages",
    "flow.join_ends": "called by graph_flow",
    "flow.widest_path": "a kernel",
    "flow.GraphFlow.ranges": "asked of what graph_flow returns",
    "flow.Optima": "asked by graph_flow",
    "flow.Optima.*": "asked by graph_flow",
    "flow.Ranges": "a record",
    "flow.Chosen": "a record",
    "flow.FlowProgram": "built by graph_flow",
    "flow.FlowProgram.*": "built by graph_flow",
    "flow.ManyFlows": "a record",
    "flow.Circulation": "a record",
    "flow.Flow": "a record",
    "flow.MaximumFlow": "a record",
    "flow.LayeredNetwork.balance": "a kernel",
    "flow.LayeredNetwork.cut_parts": "a kernel",
    "flow.LayeredNetwork.renumber": "a kernel",
    "flow.MaximumFlows.*": "asked by maximum_flow",
    "attention.FlowReport": "a record",
    "attention.Relabelling": "a record",
    "attention.SpentToken": "a record",
    "rows.*.of": "picks one of its own outputs",
    "explanation.*.of": "picks one of its own outputs",
    "explanation.FlowPicture": "a record",
    "explanation.Picture": "a record",
    "explanation.Said": "a record",
    "explanation.Token": "a record",
    "explanation.Explanation": "built by explain",
    "rows.TableExplanation": "built by explain",
    "series.SeriesExplanation*": "built by explain; its table is a TableExplanation, whose methods are called",
    "explanation.explain_series": "series of every odd shape are in tests/series",
    "explanation.explain_refits": "fits, data and settings that cannot be used are in tests/explanation/test_refits.py",
    "explanation.RefitExplanation*": "built by explain_refits",
    "explanation.SeriesRequest": "checked where it is asked; odd values are in tests/series",
    "results.Result": "built by explain",
    "results.Result.place": "called by everything that takes an output",
    "explanation.explain_answer": "reached through explain(prompt, answer=…)",
    "explanation.*Request": "given by the doors, one setting each",
    "explanation.Explainer*": "takes a model and the settings of the doors; its methods take requests, which the doors try",
    "rows.TableExplanation.cohorts": "takes what indexes rows",
    "valuation.*.score_tests": "takes payoffs that the game itself made",
    "valuation.Recipe.optimiser": "takes parameters of a network",
    "influence.TrainingRun*": "built by training_run",
    "influence.training_*": "takes a network and its recipe",
    "answers.HostedModel*": "asks a server, whose bad replies have tests of their own",
    "answers.AnswerGame.blur_of_view": "takes the function of a view",
    "answers.AnswerGame.evaluate_by": "takes two functions of the journal",
    "explanation.kind_of": "decides; what it is given is checked by the door it leads to",
    "trees.Ensemble*": "built by ensemble_of",
    "products.Form*": "built by form_of",
    "products.Linear*": "built by linear_of",
    "products.Additive*": "built by form_of",
    "products.Product*": "built by form_of",
    "values.Products": "a record",
    "trees.Forest*": "built by forest_of",
    "trees.Tree": "a record",
    "trees.TreeCredit": "a record",
    "trees.RowCredit": "a record",
    "influence.*.solve": "called by influence",
    "valuation.*.retrain": "called by payoff",
    "influence.*_products": "kernels of an objective",
    "valuation.Datamodels": "a record",
    "influence.Influences": "a record",
    "valuation.Harmonics": "a record",
    "valuation.Split": "built by split",
    "labels.WrongLabels*": "built by wrong_labels",
    "influence.Trace*": "a record; its JSON is read by load",
    "influence.Network*": "built by network",
    "influence.network*": "takes a network and its batches",
    "influence.tracin": "takes networks and their batches",
    "influence.trace": "reached through the command",
    "influence.GradientStore*": "reached through the command trace",
    "valuation.TorchTraining*": "takes a network to train",
    "influence.TorchObjective*": "takes a trained network",
    "valuation.Retraining.fitted": "called by payoff",
    "valuation.text_features": "takes a model folder",
    "influence.mean_influence": "takes the library's own results",
    "store.Durable*": "built by durable",
    "store.Entry": "a record",
    "store.Fingerprint*": "built by fingerprint",
    "store.Run": "a record",
    "store.Journal.*": "rows of the library's own journal; damaged files are fuzzed",
    "store.Finished*": "as a journal",
    "store.crew_of": "starts workers",
    "store.Executor*": "a protocol",
    "views.page": "takes markup that the library rendered",
    "views.show": "for notebooks",
}


@dataclass(frozen=True)
class Base:
    """A call that works: what is called, with which arguments, and what each parameter expects."""

    name: str
    call: Callable[..., Any]
    arguments: dict[str, Any]
    expects: dict[str, str]
    optional: frozenset[str]  # parameters for which None is a good value


def public() -> Iterator[tuple[str, Any]]:
    """Every public function, class and method: its short name and itself."""
    seen: set[int] = set()
    for room in ROOMS:
        module = accredit if room == "accredit" else importlib.import_module(f"accredit.{room}")
        for name, thing in _named(room, module):
            if id(thing) in seen or not (inspect.isfunction(thing) or inspect.isclass(thing)):
                continue
            seen.add(id(thing))
            home = thing.__module__.split(".")[1] if room == "accredit" else room
            if inspect.isfunction(thing) or hasattr(thing, "__wrapped__"):
                yield f"{home}.{name}", thing
            elif not issubclass(thing, BaseException) and not _abstract(thing):
                yield f"{home}.{name}", thing
                yield from _methods(f"{home}.{name}", thing)


def _named(room: str, module: Any) -> Iterator[tuple[str, Any]]:
    """What a room declares, and what the modules on its shelves define."""
    yield from ((name, getattr(module, name)) for name in getattr(module, "__all__", ()))
    for shelf in SHELVES.get(room, ()):
        book = importlib.import_module(f"accredit.{room}.{shelf}")
        own = {name: thing for name, thing in vars(book).items() if getattr(thing, "__module__", "") == book.__name__}
        yield from ((name, thing) for name, thing in own.items() if not name.startswith("_"))


def rooms() -> set[str]:
    """Rooms that declare public names."""
    listed = {module.name for module in pkgutil.iter_modules(accredit.__path__)}
    return {room for room in listed if hasattr(importlib.import_module(f"accredit.{room}"), "__all__")}


def _abstract(kind: type) -> bool:
    return bool(getattr(kind, "_is_protocol", False)) or hasattr(kind, "__members__")


def _methods(name: str, kind: type) -> Iterator[tuple[str, Any]]:
    for method, found in vars(kind).items():
        plain = getattr(found, "__func__", found)
        if not method.startswith("_") and inspect.isfunction(plain) and len(inspect.signature(plain).parameters) > 1:
            yield f"{name}.{method}", found


def left_out(name: str) -> str | None:
    """Why a name, or one parameter of it, is not called with bad values; None: it is."""
    from fnmatch import fnmatch

    return next((why for pattern, why in LEFT_OUT.items() if fnmatch(name, pattern)), None)


@cache
def bases(folder: Path, room: str | None = None) -> dict[str, Base]:
    """Every public name that is called, of one room or of all, with a call that works."""
    found = {}
    for name, thing in public():
        if left_out(name) is None and room in (None, name.split(".")[0]):
            found[name] = _base(name, thing, folder)
    return found


def _base(name: str, thing: Any, folder: Path) -> Base:
    owner, _, method = name.rpartition(".")
    call = thing
    if owner.count("."):  # a method: of the class, or of an instance built by the base call of its class
        kind = _class_of(owner)
        call = getattr(kind if isinstance(thing, classmethod | staticmethod) else _instance(owner, kind, folder), method)
    signature = inspect.signature(call)
    arguments, expects, optional = {}, {}, set()
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        note = str(parameter.annotation)
        expects[parameter.name] = examples.expectation(name, parameter.name, note)
        if "None" in note or note in ("Any", "object") or parameter.default is None:
            optional.add(parameter.name)
        good = examples.example(name, parameter.name, expects[parameter.name], folder)
        if good is not examples.NOTHING:
            arguments[parameter.name] = good
        elif parameter.default is inspect.Parameter.empty:
            raise LookupError(f"{name} has no base call: give an example of {parameter.name} in tools/proof/examples.py")
    return Base(name, call, arguments, expects, frozenset(optional))


def _class_of(owner: str) -> Any:
    room, _, name = owner.partition(".")
    found = dict(_named(room, importlib.import_module(f"accredit.{room}")))
    return found[name] if name in found else getattr(accredit, name)


def _instance(owner: str, kind: Any, folder: Path) -> Any:
    if owner in examples.INSTANCES:
        return examples.INSTANCES[owner]()
    base = _base(owner, kind, folder)
    return base.call(**base.arguments)
