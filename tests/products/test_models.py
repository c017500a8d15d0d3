"""Real models as sums of products: exact credit, held to the model's own output of every coalition."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import comb
from typing import Any

import numpy as np
import pandas
import pytest
from numpy.testing import assert_allclose
from sklearn import datasets, ensemble, gaussian_process, linear_model, naive_bayes, svm, tree
from sklearn.compose import make_column_transformer
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, WhiteKernel
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

import accredit
from accredit.core import FloatArray, Known
from accredit.core.coalitions import from_index
from accredit.evaluate import check_claims
from accredit.games import FunctionGame
from accredit.models.rows import path_lengths
from accredit.products import shares
from accredit.values.interactions import mobius_from_table, sums_over_supersets
from accredit.values.semivalues import semivalue_from_table, shapley_weights

CLOSE = 1e-10  # relative to the largest output
Case = tuple[str, Callable[..., Any], str | None, Callable[[Any], Callable[[Any], Any]]]  # data, model, payoff, own output


@cache
def data(name: str) -> tuple[FloatArray, FloatArray]:
    """Rows of six to eight columns, scaled or as they come."""
    if name == "california":  # as its columns are: skewed incomes, rooms, people, places
        rng = np.random.default_rng(0)
        x = np.stack([rng.gamma(3, 1.3, 300), rng.uniform(1, 52, 300), rng.gamma(6, 0.9, 300), rng.gamma(4, 300, 300),
                      rng.uniform(32, 42, 300), rng.uniform(-124, -114, 300)], axis=1)  # fmt: skip
        return StandardScaler().fit_transform(x), 0.4 * x[:, 0] + np.sin(x[:, 4]) + 0.1 * rng.normal(size=300)
    load = {"diabetes": datasets.load_diabetes, "wine": datasets.load_wine, "cancer": datasets.load_breast_cancer}
    x, y = load[name.removesuffix(" raw")](return_X_y=True)
    x = x[:, :7]
    return (x if name.endswith("raw") else StandardScaler().fit_transform(x)), y


def predict(model: Any) -> Callable[[Any], Any]:
    return model.predict


def decide(model: Any) -> Callable[[Any], Any]:
    return lambda rows: np.multiply.outer(model.decision_function(rows), [-1, 1])


def several(model: Any) -> Callable[[Any], Any]:
    return model.decision_function


def chances(model: Any) -> Callable[[Any], Any]:
    return model.predict_proba


def joint(model: Any) -> Callable[[Any], Any]:
    return lambda rows: np.exp(model.predict_joint_log_proba(rows))


def process(kernel: Any, **settings: Any) -> Any:
    return gaussian_process.GaussianProcessRegressor(kernel, optimizer=None, alpha=0.1, **settings)


def counts(x: FloatArray) -> FloatArray:
    return np.abs(x).round()


CASES: dict[str, Case] = {
    **{
        f"SVR gamma={gamma} on {name}": (name, lambda x, y, g=gamma: svm.SVR(C=10, gamma=g).fit(x, y), None, predict)
        for gamma in ("scale", 0.01, 1.0)
        for name in ("diabetes", "diabetes raw", "california", "cancer")
    },
    **{
        f"SVC C={c} on {name}": (name, lambda x, y, c=c: svm.SVC(C=c).fit(x, y == 1), None, decide)
        for c in (0.1, 100.0)
        for name in ("cancer", "cancer raw", "wine", "wine raw")
    },
    "NuSVR, linear": ("diabetes", lambda x, y: svm.NuSVR(kernel="linear").fit(x, y), None, predict),
    "NuSVR": ("california", lambda x, y: svm.NuSVR().fit(x, y), None, predict),
    "NuSVC": ("cancer", lambda x, y: svm.NuSVC(nu=0.2).fit(x, y), None, decide),
    "OneClassSVM": ("wine", lambda x, y: svm.OneClassSVM(nu=0.2).fit(x), None, several),
    "SVC, pairs of classes": (
        "wine",
        lambda x, y: svm.SVC(decision_function_shape="ovo").fit(x, y),
        None,
        several,
    ),
    "SVC, linear, pairs of classes": (
        "wine",
        lambda x, y: svm.SVC(kernel="linear", decision_function_shape="ovo").fit(x, y),
        "pairs",
        several,
    ),
    "SVR, cubic": ("diabetes", lambda x, y: svm.SVR(kernel="poly", coef0=1.0).fit(x, y), None, predict),
    "SVC, square, homogeneous": ("cancer", lambda x, y: svm.SVC(kernel="poly", degree=2).fit(x, y), None, decide),
    "KernelRidge rbf": ("diabetes", lambda x, y: KernelRidge(kernel="rbf", alpha=0.3).fit(x, y), None, predict),
    "KernelRidge laplacian": ("california", lambda x, y: KernelRidge(kernel="laplacian", gamma=0.4).fit(x, y), None, predict),
    "KernelRidge linear": ("cancer", lambda x, y: KernelRidge().fit(x, y), None, predict),
    "KernelRidge square": ("diabetes", lambda x, y: KernelRidge(kernel="polynomial", degree=2).fit(x, y), None, predict),
    "KernelRidge, two targets": (
        "diabetes",
        lambda x, y: KernelRidge(kernel="rbf").fit(x, np.stack([y, x[:, 0] * x[:, 1]], axis=1)),
        None,
        predict,
    ),
    "process, one length for each column": (
        "diabetes",
        lambda x, y: process(2.0 * RBF(np.linspace(1, 4, 7)) + WhiteKernel(), normalize_y=True).fit(x, y),
        None,
        predict,
    ),
    "process, sums and products": (
        "california",
        lambda x, y: process((RBF(2) + ConstantKernel(0.5)) * RBF(3) + RBF(9) ** 2).fit(x, y),
        None,
        predict,
    ),
    "process with a slope": ("wine", lambda x, y: process(DotProduct(0.5) + RBF(2.0)).fit(x, y), None, predict),
    "Poisson": ("diabetes", lambda x, y: linear_model.PoissonRegressor().fit(x, y), None, predict),
    "gamma": ("diabetes", lambda x, y: linear_model.GammaRegressor().fit(x, y), None, predict),
    "Tweedie": ("wine", lambda x, y: linear_model.TweedieRegressor(power=1.5).fit(x, y), None, predict),
    "Poisson, log": (
        "diabetes",
        lambda x, y: linear_model.PoissonRegressor().fit(x, y),
        "log",
        lambda m: lambda rows: np.log(m.predict(rows)),
    ),
    "Gaussian densities": ("cancer", lambda x, y: naive_bayes.GaussianNB().fit(x, y), "joint", joint),
    "Gaussian log-odds": (
        "cancer",
        lambda x, y: naive_bayes.GaussianNB().fit(x, y),
        None,
        lambda m: lambda rows: np.diff(m.predict_joint_log_proba(rows)) * [-1, 1],
    ),
    "Gaussian log-joint": (
        "wine raw",
        lambda x, y: naive_bayes.GaussianNB().fit(x, y),
        "log-joint",
        lambda m: m.predict_joint_log_proba,
    ),
    "counts of words": ("cancer", lambda x, y: naive_bayes.MultinomialNB().fit(counts(x), y), "joint", joint),
    "yes and no": ("cancer", lambda x, y: naive_bayes.BernoulliNB().fit(x, y), "joint", joint),
    "complement": (
        "wine",
        lambda x, y: naive_bayes.ComplementNB().fit(counts(x), y),
        "log-joint",
        lambda m: m.predict_joint_log_proba,
    ),
    "Fourier features": (
        "diabetes",
        lambda x, y: make_pipeline(RBFSampler(gamma=0.1, n_components=40, random_state=0), linear_model.Ridge()).fit(x, y),
        None,
        predict,
    ),
    "Nystroem": (
        "diabetes",
        lambda x, y: make_pipeline(
            StandardScaler(), Nystroem(n_components=30, random_state=0), StandardScaler(), linear_model.Ridge()
        ).fit(x, y),
        None,
        predict,
    ),
    "squares and products of columns": (
        "california",
        lambda x, y: make_pipeline(PolynomialFeatures(2), StandardScaler(), linear_model.Ridge()).fit(x, y),
        None,
        predict,
    ),
    "products of three columns": (
        "cancer",
        lambda x, y: make_pipeline(
            PolynomialFeatures(3, interaction_only=True), linear_model.LogisticRegression(max_iter=2000)
        ).fit(x, y),
        None,
        decide,
    ),
    "bagging of trees": (
        "diabetes",
        lambda x, y: ensemble.BaggingRegressor(max_features=0.6, random_state=0).fit(x, y),
        None,
        predict,
    ),
    "bagging of classes": ("wine", lambda x, y: ensemble.BaggingClassifier(random_state=0).fit(x, y), None, chances),
    "bagging of machines": (
        "california",
        lambda x, y: ensemble.BaggingRegressor(svm.SVR(), 3, random_state=0).fit(x, y),
        None,
        predict,
    ),
    "bagging of scores": (
        "cancer",
        lambda x, y: ensemble.BaggingClassifier(svm.SVC(), 3, random_state=0).fit(x, y),
        None,
        decide,
    ),
    "voting": (
        "diabetes",
        lambda x, y: ensemble.VotingRegressor(
            [
                ("tree", tree.DecisionTreeRegressor(max_depth=4)),
                ("line", linear_model.Ridge()),
                ("bells", make_pipeline(StandardScaler(), svm.SVR(C=10))),
                ("log", linear_model.PoissonRegressor()),
            ],
            weights=[1, 2, 3, 4],
        ).fit(x, y),
        None,
        predict,
    ),
    "voting of chances": (
        "wine",
        lambda x, y: ensemble.VotingClassifier(
            [
                ("forest", ensemble.RandomForestClassifier(5, max_depth=4, random_state=0)),
                ("tree", tree.DecisionTreeClassifier(max_depth=3)),
            ],
            voting="soft",
        ).fit(x, y),
        None,
        chances,
    ),
    "isolation": (
        "wine",
        lambda x, y: ensemble.IsolationForest(n_estimators=20, max_features=0.7, random_state=0).fit(x),
        "path length",
        lambda m: lambda rows: path_lengths(m, rows),
    ),
}


def tables(own: Callable[[Any], Any], rows: FloatArray, background: FloatArray) -> FloatArray:
    """The payoff of every coalition: (rows, coalitions, outputs)."""
    plays = from_index(np.arange(1 << rows.shape[1]), rows.shape[1])
    found = []
    for row in rows:
        mixed = np.where(plays[:, None], row, background).reshape(-1, rows.shape[1])
        found.append(np.asarray(own(mixed)).reshape(len(plays), len(background), -1).mean(axis=1))
    return np.stack(found)


def make(case: str) -> tuple[Any, Callable[[Any], Any], FloatArray, FloatArray, str | None]:
    name, train, payoff, own = CASES[case]
    x, y = data(name)
    model = train(x, y)
    x = counts(x) if case in ("counts of words", "complement") else x
    return model, own(model), x[:2], x[40:46], payoff


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_credit_is_that_of_all_coalitions_of_the_model_itself(case):
    model, own, rows, background, payoff = make(case)
    got = accredit.explain_rows(rows, model, background, payoff=payoff)
    assert got.method.closed_form and got.precision.known is Known.EXACT
    worth = tables(own, rows, background)
    largest = np.abs(worth).max()
    n = rows.shape[1]
    for r in range(len(rows)):
        for k in range(worth.shape[2]):
            right = semivalue_from_table(worth[r, :, k], shapley_weights(n))
            assert_allclose(got.credit[r, :, k], right, atol=CLOSE * largest)
    assert_allclose(got.base, worth[0, 0], atol=CLOSE * largest)
    assert_allclose(got.prediction, np.asarray(own(rows)).reshape(2, -1), atol=CLOSE * largest)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["shapley", "banzhaf"])
@pytest.mark.parametrize(
    "case",
    [
        "SVR gamma=scale on diabetes",
        "process with a slope",
        "Poisson",
        "Gaussian densities",
        "Fourier features",
        "SVR, cubic",
        "voting",
    ],
)
def test_pairs_are_those_of_all_coalitions(case, method):
    model, own, rows, background, payoff = make(case)
    got = accredit.explain_rows(rows, model, background, payoff=payoff, interactions=True, methods=method)
    assert got.method.closed_form
    worth, n = tables(own, rows, background), rows.shape[1]
    size = np.bitwise_count(np.arange(1 << n))
    weight = 1 / np.maximum(size - 1, 1) if method == "shapley" else 0.5 ** np.maximum(size - 2, 0)
    for k in range(worth.shape[2]):
        sums = sums_over_supersets(mobius_from_table(worth[0, :, k]) * weight)
        right = np.array([[0.0 if i == j else sums[1 << i | 1 << j] for j in range(n)] for i in range(n)])
        assert_allclose(got.pairs[0, :, :, k], right, atol=CLOSE * np.abs(worth).max())


@pytest.mark.slow
@pytest.mark.parametrize("method", ["shapley", "banzhaf", "beta:4,1"])
def test_claims_hold_and_groups_of_columns_play_together(method):
    model, own, rows, background, _ = make("SVR gamma=scale on diabetes")
    groups = {"first": [0, 3], "second": [1, 2, 6]}
    got = accredit.explain_rows(rows, model, background, players=groups, methods=method)
    assert got.method.closed_form and len(got.players) == 4
    column = np.array([[0, 3, -1], [1, 2, 6], [4, -1, -1], [5, -1, -1]])
    seat = np.array([next(p for p in range(4) if j in column[p]) for j in range(7)])

    def payoff(plays: Any) -> Any:
        mixed = np.where(plays[:, seat][:, None], rows[0], background).reshape(-1, 7)
        return np.asarray(own(mixed)).reshape(len(plays), -1).mean(axis=1)

    check_claims(got[0], FunctionGame(got.players, payoff, blur=1e-9))


@pytest.mark.slow
def test_a_pipeline_of_words_and_numbers_has_its_columns_as_players():
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {"age": rng.normal(40, 9, 150), "town": rng.choice(["Bern", "Oslo", "Lima"], 150), "pay": rng.gamma(3, 900, 150)}
    )
    y = np.where(frame["town"] == "Oslo", 2.0, 0.5) * frame["age"] + 0.001 * frame["pay"]
    before = make_column_transformer((StandardScaler(), ["age", "pay"]), (OneHotEncoder(), ["town"]))
    for last in (
        svm.SVR(C=30),
        KernelRidge(kernel="laplacian"),
        linear_model.PoissonRegressor(),
        svm.SVR(kernel="poly", degree=2),
    ):
        model = make_pipeline(before, last).fit(frame, y)
        got = accredit.explain_rows(frame[:3], model, frame[60:72])
        as_function = accredit.explain_rows(frame[:3], model.predict, frame[60:72])
        assert got.method.closed_form and got.players == ("age", "town", "pay")
        assert_allclose(got.credit, as_function.credit, atol=CLOSE * np.abs(model.predict(frame)).max())


@pytest.mark.slow
def test_weights_of_the_background_count():
    model, _, rows, background, _ = make("SVC C=100.0 on cancer")
    weights = np.arange(1.0, 7.0)
    got = accredit.explain_rows(rows, model, background, weights=weights)
    twice = accredit.explain_rows(rows, model, np.repeat(background, weights.astype(int), axis=0))
    assert_allclose(got.credit, twice.credit, atol=1e-13)


@pytest.mark.slow
def test_blocks_of_products_and_of_background_rows_add_up(monkeypatch):
    model, _, rows, background, _ = make("SVR gamma=1.0 on california")
    whole = accredit.explain_rows(rows, model, background, interactions=True)
    monkeypatch.setattr(shares, "CELLS_PER_BLOCK", 100)
    parts = accredit.explain_rows(rows, model, background, interactions=True)
    assert_allclose(parts.credit, whole.credit, atol=1e-12)
    assert_allclose(parts.pairs, whole.pairs, atol=1e-12)


class SVR(svm.SVR):
    """Called like the library's, and doing something else."""

    def predict(self, rows: Any) -> Any:
        return super().predict(rows) + 1e-3 * np.asarray(rows)[:, 0] ** 2


def left(model: Any, x: FloatArray, **settings: Any) -> str:
    """Why there was no closed form."""
    got = accredit.explain_rows(x[:2], model, x[40:44], **settings)
    assert not got.method.closed_form
    (note,) = [n.text for n in got.notes if "one game per row" in n.text]
    return str(note)


@pytest.mark.slow
def test_a_reading_that_is_not_what_the_model_does_is_never_used():
    x, y = data("diabetes")
    assert "read from SVR gives" in left(SVR().fit(x, y), x)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("train", "says"),
    [
        (lambda x, y: svm.SVC(kernel="sigmoid").fit(x, y == 1), "'sigmoid', which is not a product"),
        (lambda x, y: svm.SVC().fit(x, y), "write payoff='pairs'"),
        (lambda x, y: process(Matern()).fit(x, y), "Matern looks at the distance of rows as a whole"),
        (lambda x, y: process(DotProduct() * RBF()).fit(x, y), "cannot be multiplied out"),
        (lambda x, y: KNeighborsRegressor().fit(x, y), "which rows are nearest is decided by comparing sums"),
        (
            lambda x, y: KNeighborsClassifier(weights="distance").fit(x, y),
            "which rows are nearest is decided by comparing sums",
        ),
        (lambda x, y: naive_bayes.GaussianNB().fit(x, y), "write payoff='log-joint'"),
        (lambda x, y: ensemble.IsolationForest(n_estimators=5, random_state=0).fit(x), "write payoff='path length'"),
        (lambda x, y: ensemble.VotingRegressor([("near", KNeighborsRegressor())]).fit(x, y), "adds up a KNeighborsRegressor"),
        (
            lambda x, y: ensemble.VotingClassifier([("line", linear_model.LogisticRegression())], voting="soft").fit(x, y),
            "averages probabilities",
        ),
    ],
)
def test_where_there_is_no_closed_form_the_result_says_why(train, says):
    x, y = data("wine")
    assert says in left(train(x, y), x)


@pytest.mark.slow
def test_weights_that_no_density_has_are_left_to_the_game():
    x, y = data("cancer")
    wide = np.concatenate([x, x**2, x**3, np.abs(x)], axis=1)[:, :25]
    middle = ["0.0"] * 25
    middle[12] = repr(1 / comb(24, 12))
    note = left(svm.SVC().fit(wide, y), wide, methods=f"semivalue:{','.join(middle)}", budget=200)
    assert "cannot be computed to nine digits" in note
