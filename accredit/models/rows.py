"""Models of table rows, in the unit they add up in: raw scores, log-odds, probabilities or plain numbers, for every output."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sized
from functools import partial
from typing import TYPE_CHECKING, final

import numpy as np

from accredit.checks import real_numbers
from accredit.checks.numbers import a_type, shown
from accredit.core import FloatArray, IntArray, plugins
from accredit.errors import BadPayoff, InvalidInput
from accredit.models.arrays import (
    ArrayModel,
    RowFunction,
    as_array_model,
    check_made,
    class_decisions,
    class_pairs,
    compares_pairs,
    inner_model,
    is_module,
    pair_decisions,
    predicts_rows,
    two_sided,
    votes_by_pairs,
)
from accredit.models.cells import as_array_of_numbers
from accredit.models.payoffs import OF_ALL, PAYOFFS, Payoff, name_payoff, payoff_blur, payoff_of, payoffs_of
from accredit.models.survival import SurvivalCurves

if TYPE_CHECKING:
    import catboost
    import lightgbm
    import numpy.typing as npt
    import sklearn.base
    import torch
    import xgboost

    from accredit.models.row_types import Table

UNITS = ("logit", "log", "log-odds", "probability", "value", "pairs", "log-joint", "joint", "path length")
LOG_LINK = frozenset(  # objectives of boosters and losses of scikit-learn: the prediction is the exponential of the raw score
    {"count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft", "poisson", "gamma", "tweedie"}
)
BUILT_IN = frozenset({"xgboost", "lightgbm", "catboost", "sklearn", "torch", "builtins", "numpy", "accredit"})  # read here
FORMULAS = ("margin", *OF_ALL)  # payoffs that are computed from probabilities
NOT_ONE = 1e-3  # from the sum of probabilities: more than single precision loses
DOUBTFUL = 1e-4  # chances nearer to 0 or 1 hardly depend on the score
LINK_TOLERANCE = 1e-4  # of a chance: single precision, and what a library clips
OF_THE_MODEL = ("confidence", "entropy")  # the same whatever the class


Formula = tuple[str, Callable[[FloatArray], FloatArray]]  # a unit, and what is computed from its numbers (rows, outputs)


@final
class RowModel:
    """A model of rows that can be asked in several units; each gives one number per row and output.

    `units` maps a unit to its function of rows, the natural one first: "logit" is the raw score (what boosted trees and
    linear models add up), "log" the same where the model predicts its exponential, "value" the number that a regression
    predicts.
    """

    def __init__(
        self,
        units: Mapping[str, RowFunction],
        labels: tuple[str, ...] | None,
        name: str,
        model: object,
        formulas: Mapping[str, Formula] | None = None,
    ) -> None:
        self.units, self._labels, self.name, self.model = dict(units), labels, name, model
        self._links: dict[str, str] = {}  # by unit, once it was seen
        self._formulas = {"log-odds": ("probability", log_odds), **(formulas or {})}

    def __repr__(self) -> str:
        return f"RowModel({self.name!r}, {', '.join(self.units)})"

    @property
    def known_labels(self) -> tuple[str, ...] | None:
        """Names of the classes; None where there are none."""
        return self._labels

    @property
    def classifies(self) -> bool:
        """Are the outputs classes, of which the highest is predicted?"""
        return "value" not in self.units and "pairs" not in self.units

    def unit(self, asked: str | None) -> str:
        """A unit of this model by name; its natural one when None."""
        if asked is None:
            return next(iter(self.units))
        if asked not in self.units:
            formulas = FORMULAS if "probability" in self.units else ()
            raise InvalidInput(
                f"payoff is {asked!r}; {self.name} can be asked for {', '.join((*self.units, *formulas))}, or for a function "
                "of its outputs",
                argument="payoff",
                code="unknown",
            )
        return asked

    def paying(self, payoff: Payoff | None) -> tuple[RowModel, str | None]:
        """The model with a unit for this payoff, and the unit's name; a payoff that is a unit already changes nothing.

        Margin, loss and correctness give one number per class. Confidence, entropy and functions of the outputs give one for
        the model.
        """
        if callable(payoff) and not isinstance(payoff, type):
            name = name_payoff(payoff)
            name = f"{name} (a function)" if name in {*UNITS, *PAYOFFS} else name
            source = "probability" if "probability" in self.units else self.unit(None)
            return self._with(name, (source, lambda outputs: payoff_of(outputs, 0, payoff)), (name,)), name
        if not (payoff is None or isinstance(payoff, str)):
            raise InvalidInput(
                f"payoff is {shown(payoff)}; write a name such as 'log-odds', or a function of the outputs",
                argument="payoff",
                code="type",
            )
        if payoff == "pairs" and votes_by_pairs(_last(self.model)):
            last = _last(self.model)
            decide = _behind(self.model, pair_decisions(last))
            return RowModel({"pairs": decide}, class_pairs(last.classes_), self.name, self.model), payoff
        if payoff is None or payoff in self.units or payoff not in FORMULAS:
            return self, payoff
        if "probability" not in self.units:
            raise InvalidInput(
                f"payoff {payoff!r} needs class probabilities, and {self.name} gives {', '.join(self.units)}; if a function "
                "returns them, say so: as_array_model(function, law='probability')",
                argument="payoff",
                code="unsupported",
            )
        labels = (payoff,) if payoff in OF_THE_MODEL else self._labels
        return self._with(payoff, ("probability", partial(self._pay, payoff=payoff)), labels), payoff

    def _with(self, unit: str, formula: Formula, labels: tuple[str, ...] | None) -> RowModel:
        source, compute = formula
        units = {**self.units, unit: lambda rows: compute(self.outputs(rows, source))}
        return RowModel(units, labels, self.name, self.model, {**self._formulas, unit: formula})

    def formula(self, unit: str) -> Formula:
        """The unit that another is computed from, and how: log-odds, losses and functions from probabilities; a unit that is
        asked of the model itself from itself."""
        return self._formulas.get(unit, (unit, lambda outputs: outputs))

    def _pay(self, chances: FloatArray, payoff: str) -> FloatArray:
        """A payoff of the probabilities: one column per class, or one for the model."""
        if chances.shape[1] < 2:
            raise InvalidInput(
                f"payoff {payoff!r} compares classes, and {self.name} has one output", argument="payoff", code="unsupported"
            )
        if may_hold_together(chances):
            raise InvalidInput(
                f"payoff {payoff!r} compares classes, and the probabilities of {self.name} do not add up to 1: they are of "
                "labels that may hold together; use 'log-odds' or 'probability'",
                argument="payoff",
                code="unsupported",
            )
        targets = (0,) if payoff in OF_THE_MODEL else tuple(range(chances.shape[1]))
        return np.asarray(payoffs_of(chances, targets, payoff, "probability"))

    def predicted(self, outputs: FloatArray, unit: str) -> IntArray:
        """The class that outputs in this unit speak for: (…, classes) -> (…); the highest, or the one of least loss."""
        return np.asarray((-outputs if unit == "loss" else outputs).argmax(axis=-1))

    def unit_for(self, asked: str | None, rows: Sized) -> tuple[str, str]:
        """A unit by name, else the natural one for such rows, and what to say about it: chances of 0 or 1 have no log-odds."""
        unit = self.unit(asked)
        if asked is None and unit == "log-odds" and "log-joint" not in self.units:  # from which log-odds are always had
            chances = self.outputs(rows, "probability")
            if not ((chances > 0) & (chances < 1)).all():
                return "probability", "Probabilities are shared: where a chance is 0 or 1 there are no log-odds."
        return unit, ""

    def outputs(self, rows: Sized, unit: str) -> FloatArray:
        """Outputs of a batch in one unit, checked: (batch, d) -> (batch, outputs)."""
        outputs = ArrayModel(self.units[unit], name=self.name).outputs(rows)
        if self._labels is not None and outputs.shape[1] != len(self._labels):
            raise BadPayoff(f"{self.name} returned {outputs.shape[1]} outputs for {len(self._labels)} classes", code="shape")
        return outputs

    def link(self, unit: str, rows: Sized, outputs: FloatArray) -> str:
        """What turns outputs in this unit into the model's probabilities: "sigmoid", "softmax", or "" where neither does or
        nothing can be told. `outputs` are those of `rows`, on which the model's own probabilities are looked at, once per unit.
        """
        if unit == "log-odds":
            return "sigmoid"  # by definition
        if unit != "logit" or "probability" not in self.units:
            return ""
        if unit not in self._links:
            found = find_link(outputs, self.outputs(rows, "probability"))
            if found is None:
                return ""
            self._links[unit] = found
        return self._links[unit]

    def blur(self, rows: Sized, unit: str) -> float:
        """How far rounding may move outputs in this unit for such rows. Log-odds are made of probabilities in double precision,
        so it is these that show what the model computes in."""
        made = unit in ("log-odds", *FORMULAS) and "probability" in self.units
        said = np.asarray(self.units["probability" if made else unit](rows))
        said = said[:, None] if said.ndim == 1 else said
        return payoff_blur(said, unit, "probability") if made else payoff_blur(said, "logit", "none")

    def labels(self, outputs: int) -> tuple[str, ...]:
        """Names of the outputs: classes, "prediction" for a single number, else their positions."""
        if self._labels is not None:
            return self._labels
        return ("prediction",) if outputs == 1 else tuple(f"output {k}" for k in range(outputs))


def find_link(scores: FloatArray, chances: FloatArray) -> str | None:
    """Which function of the scores the chances are: "sigmoid", "softmax", or "" where it is neither. None: chances so near to
    0 or 1 do not tell.

    >>> find_link(np.array([[-1.0, 1.0]]), np.array([[0.26894142, 0.73105858]])), find_link(np.eye(2), np.eye(2) * 0.6 + 0.2)
    ('sigmoid', '')
    """
    if scores.shape != chances.shape:
        return ""
    telling = ((chances > DOUBTFUL) & (chances < 1 - DOUBTFUL)).all(axis=1)
    if not telling.any():
        return None
    for name, law in (("sigmoid", sigmoid), ("softmax", softmax)):
        if np.allclose(law(scores[telling]), chances[telling], rtol=LINK_TOLERANCE, atol=0):
            return name
    return ""


def as_row_model(model: object) -> RowModel:
    """A model of rows from a scikit-learn estimator or pipeline, a booster of xgboost, lightgbm or catboost, a torch module
    or a function.

    >>> as_row_model(lambda rows: rows.sum(axis=1)).outputs(np.ones((2, 3)), "value")
    array([[3.],
           [3.]])
    """
    if isinstance(model, RowModel):
        return model
    check_made(model)
    if isinstance(model, str):
        raise InvalidInput(
            f"model is {model!r}; read a file with accredit.models.load_row_model(path)", argument="model", code="type"
        )
    if isinstance(model, SurvivalCurves):
        return RowModel({"value": model.predict}, model.labels, model.name, model)
    if hasattr(model, "predict_log_partial_hazard") and hasattr(model, "predict_partial_hazard"):  # Cox models of lifelines
        hazards = {"value": model.predict_partial_hazard, "log": model.predict_log_partial_hazard}
        return RowModel(hazards, None, type(model).__name__, model)
    if (inner := inner_model(model)) is not None:
        return as_row_model(inner)
    home = type(model).__module__.split(".")[0]
    if home in _BOOSTERS:
        return _BOOSTERS[home](model)
    if home not in BUILT_IN and (added := _add_reader(home)) is not None:
        return _read_by(added, model)
    if is_module(model):
        return _of_module(model)
    if predicts_rows(model):
        return _of_estimator(model)
    if isinstance(model, ArrayModel) or callable(model):
        function = as_array_model(model)
        return RowModel({"value": function.outputs, **_chances(function)}, None, function.name, model)
    way = next((name for name in dir(model) if name.startswith("predict_")), "")  # AFT models of lifelines predict medians
    raise InvalidInput(
        f"model is {a_type(model)}; give an estimator, a booster, a torch module or a function of rows"
        + f", such as lambda rows: model.{way}(rows)" * bool(way),
        argument="model",
        code="type",
    )


def add_readers(library: str | None = None) -> tuple[plugins.Addition, ...]:
    """Readers that other packages add, each under the name of the library whose models it reads: all, or those of one."""
    return plugins.additions(plugins.READERS, _library_of, BUILT_IN, library)


def _library_of(library: str, reader: object) -> tuple[str]:
    if not callable(reader):
        raise InvalidInput(f"it leads to {a_type(reader)}; a function of a model is needed", code="type")
    return (library,)


def _add_reader(library: str) -> plugins.Addition | None:
    """The reader for a library's models; one that cannot be used is still the one that was meant."""
    found = add_readers(library)
    return next((one for one in found if not one.problem), found[0] if found else None)


def _read_by(added: plugins.Addition, model: object) -> RowModel:
    read = added.get()(model)
    if not isinstance(read, RowModel):
        raise InvalidInput(
            f"the reader of the package {added.package} gave {a_type(read)} for {a_type(model)}; it must "
            "give an accredit.models.rows.RowModel",
            code="type",
        )
    return read


def _chances(model: ArrayModel) -> dict[str, RowFunction]:
    """Probabilities of classes, where the outputs are known to be them or to become them."""
    if model.law == "softmax":
        return {"probability": lambda rows: softmax(model.outputs(rows))}
    return {"probability": model.outputs} if model.law == "probability" else {}


def reads_rows(model: object) -> bool:
    """Does this model read rows of a table, and nothing else? Estimators and boosters do; functions and networks may."""
    home = type(model).__module__.split(".")[0]
    if isinstance(model, RowModel | SurvivalCurves) or home in _BOOSTERS or hasattr(model, "predict_log_partial_hazard"):
        return True
    if predicts_rows(model):
        return True
    return home not in BUILT_IN and any(entry.name == home for entry in plugins.entries(plugins.READERS))


def _of_estimator(model: sklearn.base.BaseEstimator) -> RowModel:
    """Classifiers by their decision value where they have one, else by probabilities; outlier detectors by their score."""
    name, classes = type(_last(model)).__name__, getattr(model, "classes_", None)
    if classes is not None and not len(classes):  # regressions of catboost say so of themselves
        classes = None
    if isinstance(classes, list):
        first = "[:, 0]" if name == "ClassifierChain" else "[0]"  # a chain gives one array, the others one for each target
        raise InvalidInput(
            f"{name} predicts {len(classes)} targets at once, each with classes of its own; explain one of them: "
            f"lambda rows: model.predict_proba(rows){first}",
            argument="model",
            code="unsupported",
        )
    if classes is None and not hasattr(model, "predict_proba"):
        score = getattr(model, "decision_function", None) or model.predict
        logs: dict[str, RowFunction] = {}
        if scikit_has_log_link(_last(model)):
            logs["log"] = lambda rows: np.log(model.predict(rows))
        if name == "IsolationForest":
            logs["path length"] = _behind(model, partial(path_lengths, _last(model)))
        return RowModel({"value": score, **logs}, None, name, model)
    if compares_pairs(model) and not hasattr(model, "predict_proba"):
        return RowModel({"pairs": model.decision_function}, class_pairs(model.classes_), name, model)
    units: dict[str, RowFunction] = {}
    if hasattr(model, "decision_function") and not (compares_pairs(model) and hasattr(model, "predict_proba")):
        units["logit"] = two_sided(class_decisions(model))
    if hasattr(model, "predict_proba"):
        chances = {"log-odds": _log_odds(model.predict_proba), "probability": model.predict_proba}
        averaged = name in _AVERAGED  # what these add up are probabilities, many of them 0 or 1
        units |= dict(reversed(chances.items())) if averaged else chances
    if hasattr(_last(model), "predict_joint_log_proba"):  # naive Bayes
        joint = _behind(model, _last(model).predict_joint_log_proba)
        units |= {"log-odds": _joint_odds(joint), "log-joint": joint, "joint": lambda rows: np.exp(np.asarray(joint(rows)))}
    if not units and classes is not None:
        raise InvalidInput(
            f"{name} gives neither decision values nor probabilities; give a function of rows that returns numbers, such as "
            f"lambda rows: model.predict(rows) == {np.asarray(classes).tolist()[0]!r}",
            argument="model",
            code="unsupported",
        )
    return RowModel(units, None if classes is None else tuple(map(str, classes)), name, model)


_AVERAGED = (
    *("RandomForestClassifier", "ExtraTreesClassifier", "DecisionTreeClassifier", "ExtraTreeClassifier"),
    *("BaggingClassifier", "VotingClassifier", "KNeighborsClassifier", "RadiusNeighborsClassifier"),
)


def _behind(model: sklearn.base.BaseEstimator, function: RowFunction) -> RowFunction:
    """A function of the rows that the last step of a pipeline reads, as one of the rows that the pipeline reads."""
    if not hasattr(model, "steps"):
        return function
    return lambda rows: function(model[:-1].transform(rows))


def path_lengths(model: sklearn.base.BaseEstimator, rows: Sized) -> FloatArray:
    """How deep an isolation forest looks for rows on average, from its own score 2^(−depth / usual depth)."""
    return np.asarray(-np.log2(-model.score_samples(rows)) * usual_path_length(model.max_samples_))


def usual_path_length(rows: int) -> float:
    """The average depth of a row in a random search tree of so many rows (Liu, Ting and Zhou, 2008).

    >>> usual_path_length(2), round(usual_path_length(256), 2)
    (1.0, 10.24)
    """
    if rows <= 2:
        return float(rows == 2)
    return float(2 * (np.log(rows - 1) + np.euler_gamma) - 2 * (rows - 1) / rows)


def scikit_has_log_link(model: sklearn.base.BaseEstimator) -> bool:
    """Is the prediction of this scikit-learn model the exponential of what it adds up?

    >>> from sklearn.linear_model import PoissonRegressor, TweedieRegressor
    >>> scikit_has_log_link(PoissonRegressor()), scikit_has_log_link(TweedieRegressor(power=0))
    (True, False)
    """
    name = type(model).__name__
    if name == "TweedieRegressor":
        return bool(model.link == "log" or (model.link == "auto" and model.power > 0))
    return name in ("PoissonRegressor", "GammaRegressor") or (
        name == "HistGradientBoostingRegressor" and str(model.loss) in LOG_LINK
    )


def _last(model: sklearn.base.BaseEstimator) -> sklearn.base.BaseEstimator:
    """The estimator at the end of a pipeline."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def _of_xgboost(model: xgboost.XGBModel | xgboost.Booster) -> RowModel:
    name = type(model).__name__
    if hasattr(model, "predict_proba") or hasattr(model, "fit"):
        classes = getattr(model, "classes_", None)
        cells = partial(_xgboost_cells, model)
        raw = lambda rows: model.predict(cells(rows), output_margin=True)  # noqa: E731
        if classes is None:
            value = lambda rows: model.predict(cells(rows))  # noqa: E731
            return RowModel({"value": value, _raw_unit(str(model.objective)): raw}, None, name, model)
        likely = lambda rows: model.predict_proba(cells(rows))  # noqa: E731
        if _labels_at_once(model.get_booster()) > 1:
            return RowModel({"logit": raw, "value": likely}, None, name, model)
        return RowModel(_score(raw, likely), tuple(map(str, classes)), name, model)
    import xgboost

    def predict(rows: Sized, margin: bool) -> npt.NDArray[np.float32]:
        names = None if hasattr(rows, "iloc") else model.feature_names
        frame = xgboost.DMatrix(rows, feature_names=names, enable_categorical=True)
        numbers: npt.NDArray[np.float32] = model.predict(frame, output_margin=margin)
        return numbers

    margin, number = partial(predict, margin=True), partial(predict, margin=False)

    learner = json.loads(model.save_config())["learner"]
    objective = learner["objective"]["name"]
    if _labels_at_once(model) > 1:
        return RowModel({"logit": margin, "value": number}, None, f"xgboost {objective}", model)
    if objective.startswith(("binary:", "multi:")):
        labels = tuple(map(str, range(max(2, int(learner["learner_model_param"]["num_class"])))))
        chances = {"binary:logistic": _both_chances(number)}.get(objective)
        if objective.startswith("multi:"):
            chances = lambda rows: softmax(np.asarray(margin(rows), dtype=np.float64))  # noqa: E731
        units = {"logit": two_sided(margin)} if chances is None else _score(margin, chances)
        return RowModel(units, labels, f"xgboost {objective}", model)
    return RowModel({"value": number, _raw_unit(objective): margin}, None, f"xgboost {objective}", model)


def _xgboost_cells(model: xgboost.XGBModel, rows: Table) -> Table:
    """A frame of numbers of one type as an array, where the model takes one for the other: xgboost looks at every column of a
    frame, which takes ten times as long as predicting a row."""
    booster = model.get_booster()
    named = list(getattr(rows, "columns", ())) == booster.feature_names
    if not named or model.booster == "gblinear" or "c" in (booster.feature_types or ()):
        return rows
    numbers = as_array_of_numbers(rows)
    return rows if numbers is None else numbers


def _labels_at_once(booster: xgboost.Booster) -> int:
    """How many labels, each of which a row may have or not, are predicted at once; 0 of anything else."""
    learner = json.loads(booster.save_config())["learner"]
    yes_or_no = learner["objective"]["name"].startswith("binary:")
    return int(learner["learner_model_param"].get("num_target", 1)) if yes_or_no else 0


def _raw_unit(objective: str) -> str:
    """What the raw score of a regression is called."""
    return "log" if objective in LOG_LINK else "logit"


def _of_lightgbm(model: lightgbm.LGBMModel | lightgbm.Booster) -> RowModel:
    name = type(model).__name__
    booster = getattr(model, "booster_", model)
    summed = lightgbm_summed(booster)
    raw = lambda rows: np.asarray(model.predict(rows, raw_score=True)) / summed  # noqa: E731
    classes, objective = getattr(model, "classes_", None), lightgbm_objective(booster)
    if classes is not None:
        own = objective in ("", "custom")  # an objective of one's own, of which lightgbm knows no link to probabilities
        units = {"logit": two_sided(raw)} if own else _score(raw, model.predict_proba)
        return RowModel(units, tuple(map(str, classes)), name, model)
    if objective in ("binary", "multiclass", "multiclassova") and booster is model:
        labels = tuple(map(str, range(max(2, booster.num_model_per_iteration()))))
        one_by_one = objective == "multiclassova"  # chances of each class against the rest, which do not sum to 1
        units = {"logit": two_sided(raw)} if one_by_one else _score(raw, _both_chances(model.predict))
        return RowModel(units, labels, f"lightgbm {objective}", model)
    return RowModel({"value": model.predict, _raw_unit(objective): raw}, None, name, model)


def lightgbm_objective(booster: lightgbm.Booster) -> str:
    """The name of what a lightgbm Booster was trained for, without its settings."""
    return str(booster.dump_model(num_iteration=1).get("objective", "")).split(" ")[0]


def lightgbm_summed(booster: lightgbm.Booster) -> int:
    """How many rounds a raw score of lightgbm adds up where the model averages them: a random forest's; otherwise 1."""
    if not booster.dump_model(num_iteration=1).get("average_output"):
        return 1
    return int(booster.best_iteration if booster.best_iteration > 0 else booster.current_iteration())


def _of_catboost(model: catboost.CatBoost) -> RowModel:
    name, raw = type(model).__name__, partial(catboost_score, model)
    classes = getattr(model, "classes_", None)
    if classes is None or len(classes) == 0:
        return RowModel({"value": model.predict, "log" if catboost_has_log_link(model) else "logit": raw}, None, name, model)
    return RowModel(
        _score(raw, lambda rows: model.predict(rows, prediction_type="Probability")),
        tuple(map(str, classes)),
        name,
        model,
    )


def catboost_has_log_link(model: catboost.CatBoost) -> bool:
    """Does this catboost model predict the exponential of its raw score? A regressor does, by its loss."""
    loss = str(model.get_params().get("loss_function"))
    return type(model).__name__ == "CatBoostRegressor" and loss.startswith(("Poisson", "Tweedie"))


def catboost_score(model: catboost.CatBoost, rows: Sized, **settings: int) -> FloatArray:
    """The raw score of a catboost model. A ranker's own `predict` takes no kind of prediction; that of its base does."""
    import catboost

    score: FloatArray = catboost.CatBoost.predict(model, rows, prediction_type="RawFormulaVal", **settings)
    return score


_BOOSTERS: dict[str, Callable[..., RowModel]] = {
    "xgboost": _of_xgboost,
    "lightgbm": _of_lightgbm,
    "catboost": _of_catboost,
}


def _of_module(module: torch.nn.Module) -> RowModel:
    rows = as_array_model(module)
    return RowModel({"value": rows.outputs, **_chances(rows)}, None, rows.name, module)


def _score(raw: RowFunction, chances: RowFunction) -> dict[str, RowFunction]:
    """A booster's raw score first, its log-odds and probabilities beside it."""
    return {"logit": two_sided(raw), "log-odds": _log_odds(chances), "probability": chances}


def _both_chances(chance: RowFunction) -> RowFunction:
    """The chance p of the second of two classes as (1 − p, p); several classes stay as they are."""

    def chances(rows: Sized) -> FloatArray:
        p = real_numbers(chance(rows), "what the model returned", BadPayoff)
        return np.stack([1 - p, p], axis=1) if p.ndim == 1 else p

    return chances


def _log_odds(chances: RowFunction) -> RowFunction:
    return lambda rows: log_odds(real_numbers(chances(rows), "what the model returned", BadPayoff))


def _joint_odds(joint: RowFunction) -> RowFunction:
    """Log-odds of every class from the logarithms of joint densities, which chances of 0 and 1 do not lose."""

    def odds(rows: Sized) -> FloatArray:
        logs = real_numbers(joint(rows), "what the model returned", BadPayoff)
        others = np.stack([np.delete(logs, k, axis=1) for k in range(logs.shape[1])], axis=2)  # (rows, classes − 1, classes)
        return np.asarray(logs - np.logaddexp.reduce(others, axis=1))

    return odds


def sigmoid(z: FloatArray) -> FloatArray:
    """1 / (1 + e^−z), number by number."""
    from scipy.special import expit

    return np.asarray(expit(z))


def log_odds(chances: FloatArray) -> FloatArray:
    """Log-odds of every class from probabilities: (rows, classes) -> (rows, classes); of labels that may hold together, each
    against its absence.

    >>> log_odds(np.array([[0.9, 0.5, 0.2]])).round(3).tolist()
    [[2.197, 0.0, -1.386]]
    """
    if may_hold_together(chances) and ((chances > 0) & (chances < 1)).all():
        return np.asarray(np.log(chances) - np.log1p(-chances))
    return np.stack([payoff_of(chances, k, "log-odds", "probability") for k in range(chances.shape[1])], axis=1)


def may_hold_together(chances: FloatArray) -> bool:
    """Are these chances of labels, of which several may hold? Those of classes add up to 1."""
    return chances.ndim == 2 and bool((np.abs(chances.sum(axis=1) - 1) > NOT_ONE).any())


def softmax(z: FloatArray) -> FloatArray:
    shifted = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
