"""Models of scikit-learn that are sums of products of functions of single columns, read from their fitted attributes.

What is read here is a proposal: it is used only for rows on which it gives the model's own output (`Form.check`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb, factorial, prod
from typing import TYPE_CHECKING

import numpy as np

from accredit.checks.arguments import check_arguments
from accredit.core import FloatArray
from accredit.models.arrays import RowFunction, class_pairs, pair_decisions, votes_by_pairs
from accredit.products.columns import Bells, CategoryNumbers, ColumnFunctions, Peaks, Slopes, Steps
from accredit.products.form import AGREE, EXPONENT_ROUNDINGS, Additive, Form, Monomials, NotProducts, Part, Product
from accredit.products.linear import CLOSE as LINEAR_CLOSE
from accredit.products.linear import Linear, linear_of

if TYPE_CHECKING:
    import sklearn.base
    import sklearn.gaussian_process.kernels
    from sklearn.pipeline import Pipeline

    from accredit.models.row_types import TableFunction

AGREE_SINGLE = 1e-4  # how far a model in single precision may be from its form, relative to the largest output
MOST_MONOMIALS = 20_000  # of a polynomial that is multiplied out
MONOMIALS_AT_ONCE = 256
MOST_SUMMANDS = 64  # of a kernel that is multiplied out
NEAREST = "which rows are nearest is decided by comparing sums over the columns, as in a weighted vote, and not by a sum"


@check_arguments
def form_of(model: object, unit: str | None = None) -> Form:
    """The sum of products that a fitted model is, in the unit that is asked for where it has several.

    >>> from sklearn.svm import SVR
    >>> read = form_of(SVR(gamma=0.5).fit([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], [1.0, 3.0, 2.0]))
    >>> read.payoff, [type(part).__name__ for part in read.parts]
    ('value', ['Product'])
    """
    name = type(model).__name__
    read = READERS.get(name)
    if read is None:
        raise NotProducts(f"{name} is not a sum of products that can be read")
    return read(model, unit)


# Kernel machines


def _svm(model: sklearn.base.BaseEstimator, unit: str | None) -> Form:
    """Support vector machines: Σ_s α_s k(x, s) + intercept; several classes have one such sum for each pair of them."""
    classes, pairs = tuple(map(str, getattr(model, "classes_", ()))), votes_by_pairs(model)
    if pairs and unit != "pairs":
        raise NotProducts(
            f"{type(model).__name__} decides between {len(classes)} classes by the votes of pairs of them, which are steps and "
            "no sum of products; each pair by itself is one",
            instead="write payoff='pairs'",
        )
    points = _dense(model.support_vectors_)
    weights = _pair_weights(model) if pairs else _dense(model.dual_coef_)
    settings = KernelSettings(model.kernel, float(model._gamma), model.coef0, model.degree)
    parts = settings.parts(points, weights.T, type(model).__name__)
    start = np.ravel(np.asarray(model.intercept_, dtype=np.float64))
    if pairs:
        return Form(type(model).__name__, start, parts, class_pairs(classes), "pairs", _as_floats(pair_decisions(model)))
    if hasattr(model, "decision_function"):
        labels, payoff = (classes[1:], "margin") if classes else (("value",), "value")
        return Form(type(model).__name__, start, parts, labels, payoff, model.decision_function)
    return Form(type(model).__name__, start, parts, ("value",), "value", model.predict)


def _as_floats(function: RowFunction) -> TableFunction:
    return lambda rows: np.asarray(function(rows), dtype=np.float64)


def _pair_weights(model: sklearn.base.BaseEstimator) -> FloatArray:
    """One weight per pair of classes and support vector, as libsvm keeps them: (pairs, vectors)."""
    dual, ends = _dense(model.dual_coef_), np.cumsum(np.concatenate([[0], model.n_support_]))
    weights = []
    for i in range(len(model.classes_)):
        for j in range(i + 1, len(model.classes_)):
            weight = np.zeros(dual.shape[1])
            first, second = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
            weight[first], weight[second] = dual[j - 1, first], dual[i, second]
            weights.append(weight)
    return np.array(weights)


def _kernel_ridge(model: sklearn.base.BaseEstimator, unit: str | None) -> Form:
    points = _dense(model.X_fit_)
    weights = np.asarray(model.dual_coef_, dtype=np.float64).reshape(len(points), -1)
    gamma = 1 / points.shape[1] if model.gamma is None else float(model.gamma)
    parts = KernelSettings(model.kernel, gamma, model.coef0, model.degree).parts(points, weights, "KernelRidge")
    return Form("KernelRidge", np.zeros(weights.shape[1]), parts, _numbers(weights.shape[1]), "value", model.predict)


@dataclass(frozen=True)
class KernelSettings:
    """A kernel by its name, as scikit-learn's support vector machines and kernel ridge regression have it."""

    kernel: object
    gamma: float
    coef0: float
    degree: float

    def parts(self, points: FloatArray, weights: FloatArray, source: str) -> tuple[Part, ...]:
        """Σ_s α_s k(x, s): points (s, columns), weights (s, outputs)."""
        match self.kernel:
            case "rbf":
                return (Product(weights, Bells(points, np.full((1, points.shape[1]), self.gamma))),)
            case "laplacian":
                return (Product(weights, Peaks(points, self.gamma)),)
            case "linear":
                return (Additive(np.eye(weights.shape[1]), Slopes(weights.T @ points)),)
            case "poly" | "polynomial" if self.degree == int(self.degree) and self.degree >= 1:
                return (self._multiply_out(points, weights, source),)
        named = self.kernel if isinstance(self.kernel, str) else "its own"
        raise NotProducts(f"{source} has the kernel {named!r}, which is not a product over the columns; rbf, laplacian are")

    def _multiply_out(self, points: FloatArray, weights: FloatArray, source: str) -> Monomials:
        """(γ x·s + c)^p as a polynomial in the columns, whatever the number of points: p!/(p₀!…) c^p₀ Π_j (γ s_j x_j)^p_j."""
        degree, columns = int(self.degree), points.shape[1]
        count = comb(columns + degree, degree)
        if count > MOST_MONOMIALS:
            raise NotProducts(f"{source} is a polynomial of {count:,} products; at most {MOST_MONOMIALS:,} are multiplied out")
        chosen = np.array(list(combinations_with_replacement(range(columns + 1), degree)))  # column `columns` stands for c
        powers = (chosen[:, :, None] == np.arange(columns + 1)).sum(axis=1)
        ways = np.array([factorial(degree) / prod(map(factorial, p)) for p in powers.tolist()])
        amount = np.empty((count, weights.shape[1]))
        for start in range(0, count, MONOMIALS_AT_ONCE):
            some = slice(start, start + MONOMIALS_AT_ONCE)
            each = np.ones((len(powers[some]), len(points)))
            for j in range(columns):
                each *= (self.gamma * points[:, j]) ** powers[some, j, None]
            amount[some] = each @ weights
        amount *= (ways * float(self.coef0) ** powers[:, columns])[:, None]
        return Monomials(amount, powers[:, :columns])


def _gaussian_process(model: sklearn.base.BaseEstimator, unit: str | None) -> Form:
    """The mean of a Gaussian process: Σ_s α_s k(x, s), scaled back to the target."""
    if not hasattr(model, "alpha_"):
        raise NotProducts("GaussianProcessRegressor is not fitted; call fit first", fitted=False)
    points = _dense(model.X_train_)
    weights = np.asarray(model.alpha_, dtype=np.float64).reshape(len(points), -1) * np.ravel(model._y_train_std)
    start = np.ravel(np.asarray(model._y_train_mean, dtype=np.float64)) + np.zeros(weights.shape[1])
    parts: list[Part] = []
    for bell in _multiply_out(model.kernel_, points.shape[1]):
        if bell.linear:
            parts.append(Additive(np.eye(weights.shape[1]), Slopes(bell.amplitude * weights.T @ points)))
        elif bell.rate.any():
            parts.append(Product(bell.amplitude * weights, Bells(points, bell.rate[None])))
        else:
            start = start + bell.amplitude * weights.sum(axis=0)
    if not parts:
        raise NotProducts(f"the kernel {model.kernel_} does not look at the columns")
    return Form(type(model).__name__, start, tuple(parts), _numbers(weights.shape[1]), "value", model.predict)


@dataclass(frozen=True, eq=False)
class Bell:
    """One summand of a kernel: amplitude · exp(−Σ_j rate_j (x_j − s_j)²), or amplitude · x·s where it is linear."""

    amplitude: float
    rate: FloatArray  # (columns,)
    linear: bool = False


def _multiply_out(kernel: sklearn.gaussian_process.kernels.Kernel, columns: int) -> list[Bell]:
    """A kernel of constants, Gaussians, dot products and noise as a sum of Gaussians."""
    flat = np.zeros(columns)
    match type(kernel).__name__:
        case "ConstantKernel":
            return [Bell(float(kernel.constant_value), flat)]
        case "WhiteKernel":
            return []  # of a new row and a training row it is 0, even where they are equal
        case "RBF":
            return [Bell(1.0, flat + 0.5 / np.square(np.asarray(kernel.length_scale, dtype=np.float64)))]
        case "DotProduct":
            return [Bell(float(kernel.sigma_0) ** 2, flat), Bell(1.0, flat, linear=True)]
        case "Sum":
            return [*_multiply_out(kernel.k1, columns), *_multiply_out(kernel.k2, columns)]
        case "Product":
            return _times(_multiply_out(kernel.k1, columns), _multiply_out(kernel.k2, columns), kernel)
        case "Exponentiation":
            return _power(_multiply_out(kernel.kernel, columns), float(kernel.exponent), kernel)
    raise NotProducts(
        f"the kernel {type(kernel).__name__} looks at the distance of rows as a whole and is not a product over the columns; "
        "RBF is"
    )


def _times(first: list[Bell], second: list[Bell], kernel: object) -> list[Bell]:
    found = [Bell(a.amplitude * b.amplitude, a.rate + b.rate, a.linear or b.linear) for a in first for b in second]
    mixed = any((a.linear and (b.linear or b.rate.any())) or (b.linear and a.rate.any()) for a in first for b in second)
    if mixed or len(found) > MOST_SUMMANDS:
        raise NotProducts(f"the kernel {kernel} multiplies what cannot be multiplied out into a few products over the columns")
    return found


def _power(bells: list[Bell], exponent: float, kernel: object) -> list[Bell]:
    if len(bells) == 1 and not bells[0].linear:
        return [Bell(bells[0].amplitude ** exponent, bells[0].rate * exponent)]
    if exponent != int(exponent) or exponent < 1:
        raise NotProducts(f"the kernel {kernel} is a power that cannot be multiplied out")
    found = bells
    for _ in range(int(exponent) - 1):
        found = _times(found, bells, kernel)
    return found


# Exponentials of sums


def exponential_form(linear: Linear) -> Form:
    """A linear model with a log link, on the scale of the prediction: one product per output, exp(start) Π_j e^(w_j x_j)."""
    single = linear.close > LINEAR_CLOSE  # the model computes in single precision
    part = Product(np.diag(np.exp(linear.start)), Slopes(linear.weights), linear.close if single else EXPONENT_ROUNDINGS)
    return Form(
        linear.source,
        np.zeros(len(linear.start)),
        (part,),
        linear.outputs,
        "value",
        lambda rows: np.exp(linear.own(rows)),
        linear.numbers,
        AGREE_SINGLE if single else AGREE,
    )


def _naive_bayes(model: sklearn.base.BaseEstimator, unit: str | None) -> Form:
    """Naive Bayes: the logarithm of each class's joint density is a sum over the columns, the density a product.

    The log-odds of two classes are the difference of two such sums; those of several classes are not.
    """
    name, classes = type(model).__name__, tuple(map(str, model.classes_))
    functions, start = _densities(model)
    if unit == "joint":
        parts = (Product(np.diag(np.exp(start)), functions),)
        dense = lambda rows: np.exp(model.predict_joint_log_proba(rows))  # noqa: E731
        return Form(name, np.zeros(len(start)), parts, classes, "joint", dense)
    if unit == "log-odds" and len(classes) == 2:
        odds = Additive(np.array([[-1.0], [1.0]]), functions)
        return Form(name, start[1:] - start[:1], (odds,), classes[1:], "log-odds", lambda rows: _odds(model, rows))
    return Form(name, start, (Additive(np.eye(len(start)), functions),), classes, "log-joint", model.predict_joint_log_proba)


def _odds(model: sklearn.base.BaseEstimator, rows: object) -> FloatArray:
    joint = np.asarray(model.predict_joint_log_proba(rows))
    return np.asarray(joint[:, 1:] - joint[:, :1])


def _densities(model: sklearn.base.BaseEstimator) -> tuple[ColumnFunctions, FloatArray]:
    """The logarithm of each column's density in each class, and what is added to all of them: (classes,)."""
    match type(model).__name__:
        case "GaussianNB":
            rate = 0.5 / np.asarray(model.var_)
            start = np.log(model.class_prior_) + 0.5 * np.log(rate / np.pi).sum(axis=1)
            return Bells(np.asarray(model.theta_), rate), start
        case "MultinomialNB":
            return Slopes(np.asarray(model.feature_log_prob_)), np.asarray(model.class_log_prior_)
        case "ComplementNB":
            return Slopes(np.asarray(model.feature_log_prob_)), np.zeros(len(model.classes_))
        case "CategoricalNB":
            return CategoryNumbers(tuple(np.asarray(table) for table in model.feature_log_prob_)), np.asarray(
                model.class_log_prior_
            )
    high = np.asarray(model.feature_log_prob_)
    low = np.log1p(-np.exp(high))
    if model.binarize is None:
        return Slopes(high - low), np.asarray(model.class_log_prior_) + low.sum(axis=1)
    return Steps(low, high, float(model.binarize)), np.asarray(model.class_log_prior_)


def _discriminant(model: sklearn.base.BaseEstimator, unit: str | None) -> Form:
    """Quadratic discriminants: the logarithm of each class's joint density is a polynomial of degree two in the columns; the
    log-odds of two classes are the difference of two such polynomials."""
    classes, count = tuple(map(str, model.classes_)), len(model.classes_)
    columns = len(model.means_[0])
    chosen = np.array(list(combinations_with_replacement(range(columns + 1), 2)))
    powers = (chosen[:, :, None] == np.arange(columns)).sum(axis=1)
    amount = np.zeros((len(powers), count))
    for k in range(count):
        turn = np.asarray(model.rotations_[k]) / np.sqrt(model.scalings_[k])
        inverse, mean = turn @ turn.T, np.asarray(model.means_[k])
        whole = np.zeros((columns + 1, columns + 1))
        whole[:columns, :columns] = -0.5 * inverse
        whole[:columns, columns] = inverse @ mean
        whole[columns, columns] = -0.5 * (mean @ inverse @ mean + np.log(model.scalings_[k]).sum()) + np.log(model.priors_[k])
        i, j = chosen.T
        amount[:, k] = whole[i, j] * np.where((i != j) & (j < columns), 2.0, 1.0)
    if count == 2:
        amount = amount[:, 1:] - amount[:, :1]
    labels = classes if count > 2 else classes[1:]
    return Form(
        type(model).__name__, np.zeros(amount.shape[1]), (Monomials(amount, powers),), labels, "margin", model.decision_function
    )


# Feature maps before a linear model


def _feature_map(model: Pipeline, unit: str | None) -> Form:
    """A map into features of all columns, perhaps a scaler, and the linear model that reads them: random Fourier features, a
    Nyström map, or powers and products of columns."""
    features, *scalers, last = (step for _, step in model.steps)
    linear = linear_of(last)
    weights, start = linear.weights, linear.start
    for scaler in scalers:
        weights = weights if scaler.scale_ is None else weights / scaler.scale_
        start = start if scaler.mean_ is None or not scaler.with_mean else start - weights @ scaler.mean_
    if linear.payoff == "log of the value":
        raise NotProducts(f"{linear.source} reads features of all columns through a log link, which is no sum of products")
    source = f"{type(features).__name__} → {linear.source}"
    own = model.decision_function if hasattr(model, "decision_function") else model.predict
    return Form(source, start, _mapped(features, weights), linear.outputs, linear.payoff, own)


def _mapped(features: sklearn.base.BaseEstimator, weights: FloatArray) -> tuple[Part, ...]:
    """Weighted features: (outputs, features)."""
    match type(features).__name__:
        case "PolynomialFeatures":
            return (Monomials(weights.T, np.asarray(features.powers_)),)
        case "RBFSampler":  # cos(w·x + o) is the real part of exp(i(w·x + o))
            turn = np.sqrt(2.0 / features.n_components) * np.exp(1j * np.asarray(features.random_offset_))[:, None]
            return (Product(turn * weights.T, Slopes(1j * np.asarray(features.random_weights_).T)),)
    points = _dense(features.components_)
    gamma = 1 / points.shape[1] if features.gamma is None else float(features.gamma)
    settings = KernelSettings(features.kernel, gamma, 1 if features.coef0 is None else features.coef0, features.degree or 3)
    return settings.parts(points, np.asarray(features.normalization_).T @ weights.T, "Nystroem")


def _nearest(model: sklearn.base.BaseEstimator, unit: str | None) -> Form:
    raise NotProducts(f"{type(model).__name__} has no closed form for columns: {NEAREST}")


def _dense(matrix: object) -> FloatArray:
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=np.float64)


def _numbers(outputs: int) -> tuple[str, ...]:
    return ("value",) if outputs == 1 else tuple(map(str, range(outputs)))


Reader = Callable[["sklearn.base.BaseEstimator", str | None], Form]
READERS: dict[str, Reader] = {
    **dict.fromkeys(("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"), _svm),
    "KernelRidge": _kernel_ridge,
    "GaussianProcessRegressor": _gaussian_process,
    **dict.fromkeys(("GaussianNB", "MultinomialNB", "ComplementNB", "CategoricalNB", "BernoulliNB"), _naive_bayes),
    "QuadraticDiscriminantAnalysis": _discriminant,
    "Pipeline": _feature_map,
    **dict.fromkeys(
        ("KNeighborsClassifier", "KNeighborsRegressor", "RadiusNeighborsClassifier", "RadiusNeighborsRegressor"), _nearest
    ),
}
