"""Models that read rows of numbers: scikit-learn estimators and pipelines, torch modules, any function."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from itertools import combinations
from typing import TYPE_CHECKING, TypeGuard, final

import numpy as np

from accredit.checks import real_numbers
from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import a_type
from accredit.core import FloatArray
from accredit.errors import AccreditError, BadPayoff, InvalidInput
from accredit.models.labels import choose_output
from accredit.models.payoffs import Law

if TYPE_CHECKING:
    import sklearn.base
    import torch
    from transformers.utils import ModelOutput

RowFunction = Callable[..., object]  # of rows, of any library; what it returns is checked


@final
class ArrayModel:
    """A function from a batch of rows to outputs: (batch, …) -> (batch, outputs).

    `rows` may be an array or, for pipelines that name their columns, a DataFrame.

    >>> model = ArrayModel(lambda rows: rows @ np.array([[2.0, 0.0], [0.0, 1.0]]), labels=("price", "size"))
    >>> model.outputs(np.array([[1.0, 3.0]])), model.label(1)
    (array([[2., 3.]]), 'size')
    """

    precision = None  # seen from its outputs

    def __init__(
        self,
        function: RowFunction,
        law: Law = "none",
        labels: tuple[str, ...] | None = None,
        name: str = "function",
        module: torch.nn.Module | None = None,
    ) -> None:
        self._function, self.law, self._labels, self.name = function, law, labels, name
        self.module = module  # the torch module behind it, if there is one: gradients need it

    def __repr__(self) -> str:
        return f"ArrayModel({self.name!r})"

    def outputs(self, rows: Sized) -> FloatArray:
        """Outputs of a batch, checked: (batch, …) -> (batch, outputs)."""
        try:
            given = self._function(_own_copy(rows))
        except AccreditError:
            raise
        except Exception as error:  # a user's model may raise anything; say which model, and what it said
            said = str(error).split("Stack trace")[0].strip()
            raise InvalidInput(
                f"{self.name} failed on {len(rows)} rows: {type(error).__name__}: {said}", code="failed"
            ) from error
        outputs = real_numbers(given, f"what {self.name} returned", BadPayoff)
        outputs = outputs[:, None] if outputs.ndim == 1 else outputs
        if outputs.ndim != 2 or len(outputs) != len(rows) or not outputs.shape[1]:
            raise BadPayoff(
                f"{self.name} returned shape {outputs.shape} for {len(rows)} rows; one row of outputs each is needed"
                + (": lambda rows: function(rows).reshape(len(rows), -1)" if outputs.shape[:1] == (len(rows),) else ""),
                code="shape",
            )
        if not np.isfinite(outputs).all():
            raise BadPayoff(
                f"{self.name} returned {outputs[~np.isfinite(outputs)][0]}; every output must be a finite number",
                code="not-finite",
            )
        return outputs

    def predict(self, row: Sized) -> FloatArray:
        """Outputs of one row, a batch of one: (outputs,)."""
        predicted: FloatArray = self.outputs(row)[0]
        return predicted

    @property
    def predicts(self) -> bool:
        """Whether the largest output is what the model predicts: plain numbers without names are not compared."""
        return self.law != "none" or self._labels is not None

    def labels(self, outputs: int) -> tuple[str, ...]:
        """Names of the outputs; numbers where the model has none."""
        return self._labels if self._labels and len(self._labels) == outputs else tuple(str(i) for i in range(outputs))

    def label(self, index: int) -> str:
        """The name of one output; its number where the model has none."""
        return self._labels[index] if self._labels and index < len(self._labels) else str(index)

    def target(self, target: str | int | None, row: Sized) -> int:
        """The output to explain: by name, by index, or the largest when None. `row` is a batch of one."""
        outputs = self.predict(row)
        if target is None and not self.predicts and len(outputs) > 1:
            raise InvalidInput(
                f"{self.name} has {len(outputs)} outputs, and numbers that are not probabilities have no predicted one; say "
                f"which is explained: target=0 … target={len(outputs) - 1}",
                argument="target",
                code="missing",
            )
        return choose_output(target, outputs, self.labels(len(outputs)))


def _own_copy(rows: Sized) -> Sized:
    """Rows that a model may write into: scalers without copies do, and functions with `rows *= 2`."""
    copied: Sized = rows.copy() if isinstance(rows, np.ndarray) or hasattr(rows, "iloc") else rows  # type: ignore[attr-defined]
    return copied


@check_arguments
def as_array_model(model: object, law: Law | None = None) -> ArrayModel:
    """A model of rows from a scikit-learn estimator or pipeline, a torch module, or a function.

    Estimators are asked for `predict_proba`, else `decision_function`, else `predict`. Decision values, as those of an SVM,
    and a function's outputs are plain numbers unless `law` says that they are probabilities ("probability") or logits
    ("softmax", "sigmoid").

    >>> as_array_model(lambda rows: rows.sum(axis=1)).outputs(np.ones((2, 3)))
    array([[3.],
           [3.]])
    """
    if isinstance(model, ArrayModel):
        return model
    check_made(model)
    if is_module(model):
        return _of_module(model, law)
    if predicts_rows(model):
        return _of_estimator(model, law)
    if callable(model):
        return ArrayModel(model, law or "none", name=getattr(model, "__name__", type(model).__name__))
    raise InvalidInput(
        f"model is {a_type(model)}; give an estimator, a torch module or a function of a batch",
        argument="model",
        code="type",
    )


def check_made(model: object) -> None:
    """Refuse a class where one of its instances is needed, and an estimator of scikit-learn that has learned nothing yet."""
    if isinstance(model, type):
        raise InvalidInput(
            f"model is the class {model.__name__}; give one that is trained, as in {model.__name__}().fit(rows, labels)",
            argument="model",
            code="type",
        )
    if type(model).__module__.startswith("sklearn."):
        from sklearn.exceptions import NotFittedError
        from sklearn.utils.validation import check_is_fitted

        try:
            check_is_fitted(model)
        except NotFittedError:
            raise InvalidInput(
                f"model is {a_type(model)} that is not trained; write model.fit(rows, labels) first",
                argument="model",
                code="type",
            ) from None


def predicts_rows(model: object) -> TypeGuard[sklearn.base.BaseEstimator]:
    """Is this an estimator, or an object of a class of one's own that predicts as estimators do? What can be called is asked
    as a function or a module."""
    asked = hasattr(model, "predict") or hasattr(model, "predict_proba")
    of_texts = type(model).__module__.startswith("accredit.models.")  # and of pictures, which predict as well
    return asked and not isinstance(model, type) and (hasattr(model, "fit") or not (callable(model) or of_texts))


def is_module(model: object) -> TypeGuard[torch.nn.Module]:
    """Is this a torch module? Seen from what it has, so that torch need not be imported to ask."""
    return hasattr(model, "state_dict") and hasattr(model, "forward")


def _of_estimator(model: sklearn.base.BaseEstimator, law: Law | None) -> ArrayModel:
    labels = tuple(str(c) for c in model.classes_) if hasattr(model, "classes_") else None
    name = type(model).__name__
    if hasattr(model, "predict_proba"):
        return ArrayModel(model.predict_proba, law or "probability", labels, f"{name}.predict_proba")
    if hasattr(model, "decision_function") and labels:
        decide = class_decisions(model)
        scores = two_sided(decide) if law is None else _logits(decide)
        return ArrayModel(scores, law or "none", labels, f"{name}.decision_function")
    score = "decision_function" if hasattr(model, "decision_function") else "predict"  # outlier detectors have scores
    return ArrayModel(getattr(model, score), law or "none", None, f"{name}.{score}")


def class_decisions(model: sklearn.base.BaseEstimator) -> RowFunction:
    """The decision function of a classifier, with a value for each class; one with a value for each pair is refused."""
    if compares_pairs(model):
        raise InvalidInput(
            f"{type(model).__name__} has decision_function_shape='ovo': its decision values belong to pairs of classes, not to "
            "classes; set decision_function_shape='ovr' on the fitted SVM, or explain one pair: "
            "lambda rows: model.decision_function(rows)[:, 0]",
            argument="model",
            code="unsupported",
        )
    decide: RowFunction = model.decision_function
    return decide


INNER = {  # wrappers of scikit-learn whose scores are those of a fitted model inside, and where it is
    "FrozenEstimator": "estimator",
    **dict.fromkeys(("FixedThresholdClassifier", "TunedThresholdClassifierCV"), "estimator_"),
    "SelfTrainingClassifier": "estimator_",
}


def inner_model(model: object) -> sklearn.base.BaseEstimator | None:
    """The fitted model that a wrapper asks and whose scores it passes on, as a search over settings does; None: there is none.

    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.linear_model import Ridge
    >>> inner_model(FrozenEstimator(Ridge())), inner_model(Ridge())
    (Ridge(), None)
    """
    if not hasattr(model, "fit"):
        return None
    return getattr(model, INNER.get(type(model).__name__, "best_estimator_"), None)


def compares_pairs(model: sklearn.base.BaseEstimator) -> bool:
    """Whether the estimator, or the last one of a pipeline or a search, has a decision value for each pair of classes."""
    last = model
    while (inner := inner_model(last)) is not None or hasattr(last, "steps"):
        last = last.steps[-1][1] if inner is None else inner
    return getattr(last, "decision_function_shape", None) == "ovo" and len(last.classes_) > 2


def votes_by_pairs(model: object) -> bool:
    """Is this a support vector machine of more than two classes, which decides by comparing each pair of them?"""
    return hasattr(model, "decision_function_shape") and len(getattr(model, "classes_", ())) > 2


def pair_decisions(model: sklearn.base.BaseEstimator) -> RowFunction:
    """The decision values of a support vector machine for every pair of its classes, whatever its decision function returns."""
    decide: RowFunction = model.decision_function if compares_pairs(model) else model._decision_function
    return decide


def class_pairs(classes: Sequence[object]) -> tuple[str, ...]:
    """Names of the pairs of classes, in the order in which support vector machines compare them.

    >>> class_pairs(["a", "b", "c"])
    ('a rather than b', 'a rather than c', 'b rather than c')
    """
    return tuple(f"{one} rather than {other}" for one, other in combinations(classes, 2))


def two_sided(decide: RowFunction) -> Callable[[Sized], FloatArray]:
    """A binary decision value d, positive for the second class, as (−d, d); several classes stay as they are.

    >>> two_sided(lambda rows: rows[:, 0])(np.array([[2.0], [-1.0]])).tolist()
    [[-2.0, 2.0], [1.0, -1.0]]
    """
    return lambda rows: _by_class(decide, rows, first=-1)


def _logits(decide: RowFunction) -> Callable[[Sized], FloatArray]:
    """A binary decision value d as the two logits (0, d), whose softmax is 1/(1 + e^−d); several classes stay as they are."""
    return lambda rows: _by_class(decide, rows, first=0)


def _by_class(decide: RowFunction, rows: Sized, first: int) -> FloatArray:
    """One column per class: where there is one value d, `first`·d is that of the first class."""
    d = real_numbers(decide(rows), "what the model returned", BadPayoff)
    d = d[:, 0] if d.ndim == 2 and d.shape[1] == 1 else d
    return np.stack([first * d, d], axis=1) if d.ndim == 1 else d


def _of_module(module: torch.nn.Module, law: Law | None) -> ArrayModel:
    import torch

    from accredit.models.state import device_of, still

    def outputs(rows: Sized) -> FloatArray:
        dtype = next((p.dtype for p in module.parameters()), torch.float32)
        with still(module), torch.inference_mode():
            given = module(torch.tensor(np.asarray(rows), dtype=dtype, device=device_of(module)))
        values: FloatArray = tensor_of(given).double().cpu().numpy()
        return values

    return ArrayModel(outputs, law or "softmax", None, type(module).__name__, module)


def tensor_of(output: torch.Tensor | ModelOutput) -> torch.Tensor:
    """The output tensor of a torch module, which may come wrapped with a `logits` field."""
    if isinstance(output, tuple | list):
        raise InvalidInput(
            f"the model returned a {type(output).__name__} of {len(output)}, and one tensor is needed; say which, for example "
            "lambda rows: model(torch.tensor(rows).float())[0].detach()",
            argument="model",
            code="type",
        )
    return output.logits if hasattr(output, "logits") else output
