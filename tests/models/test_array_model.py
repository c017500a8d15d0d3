"""Models of rows: estimators, modules, functions, and what they may not return."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from scipy.special import expit, logsumexp, softmax
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

from accredit.errors import BadPayoff, InvalidInput
from accredit.models import as_array_model
from accredit.models.payoffs import PAYOFFS, check_payoff, payoff_of
from tests.wording import refused

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 3)), RNG.integers(0, 3, 60)


def test_estimators_tell_what_their_outputs_are():
    forest = as_array_model(RandomForestClassifier(5, random_state=0).fit(X, [f"c{y}" for y in Y]))
    assert forest.law == "probability" and forest.target("c2", X[:1]) == 2
    assert as_array_model(LinearRegression().fit(X, Y)).law == "none"
    binary = LinearSVC().fit(X, Y > 0)
    decided = as_array_model(binary)
    assert decided.law == "none" and decided.predicts
    assert_allclose(decided.outputs(X).T, [-binary.decision_function(X), binary.decision_function(X)])


def test_binary_decisions_that_are_said_to_be_logits_have_the_probabilities_of_logistic_regression():
    model = LogisticRegression().fit(X, Y > 0)
    hidden = type("Hidden", (), {n: getattr(model, n) for n in ("fit", "predict", "decision_function", "classes_")})()
    logits = as_array_model(hidden, law="softmax")
    assert_allclose(payoff_of(logits.outputs(X), 1, "probability", logits.law), model.predict_proba(X)[:, 1])


@pytest.mark.parametrize("payoff", PAYOFFS)
def test_payoffs_agree_in_numpy_and_torch_and_with_their_formulas(payoff):
    z = RNG.normal(size=(20, 4)) * 5
    p = softmax(z, axis=1)
    expected = {
        "logit": z[:, 2],
        "probability": p[:, 2],
        "log-odds": z[:, 2] - logsumexp(np.delete(z, 2, axis=1), axis=1),
        "margin": z[:, 2] - np.delete(z, 2, axis=1).max(axis=1),
        "loss": -np.log(p[:, 2]),
        "correctness": (p.argmax(axis=1) == 2).astype(float),
        "confidence": p.max(axis=1),
        "entropy": -(p * np.log(p)).sum(axis=1),
    }[payoff]
    assert_allclose(payoff_of(z, 2, payoff), expected, rtol=1e-10, atol=1e-12)
    assert_allclose(payoff_of(torch.from_numpy(z), 2, payoff).numpy(), expected, rtol=1e-10, atol=1e-12)
    if payoff != "logit":
        assert_allclose(payoff_of(p, 2, payoff, "probability"), expected, rtol=1e-8, atol=1e-12)


def test_independent_labels_have_two_classes_each():
    z = np.array([[0.3, -2.0]])
    p = expit(z[0])
    assert_allclose([payoff_of(z, t, "confidence", "sigmoid")[0] for t in range(2)], np.maximum(p, 1 - p))
    assert_allclose([payoff_of(z, t, "correctness", "sigmoid")[0] for t in range(2)], [1, 0])
    assert_allclose(payoff_of(z, 1, "entropy", "sigmoid"), -(p[1] * np.log(p[1]) + (1 - p[1]) * np.log(1 - p[1])))


def test_a_step_has_no_slope_and_a_function_is_a_payoff():
    z = torch.zeros((2, 3), requires_grad=True)
    with pytest.raises(InvalidInput, match="no slope"):
        payoff_of(z, 0, "correctness")
    assert payoff_of(z, 0, "entropy").sum().backward() is None and z.grad is not None

    def spread(outputs):
        return outputs.max(axis=1) - outputs.min(axis=1)

    check_payoff(spread, "softmax", 3)
    assert payoff_of(np.array([[1.0, 4.0]]), 0, spread).tolist() == [3]

    def whole(outputs):
        return outputs

    with pytest.raises(BadPayoff, match="whole returned shape"):
        payoff_of(np.zeros((2, 3)), 0, whole)


def test_independent_labels_use_the_logistic_function():
    z = np.array([[-800.0, 0.0, 800.0]])
    assert_allclose([payoff_of(z, t, "probability", "sigmoid")[0] for t in range(3)], expit(z[0]))
    assert payoff_of(z, 2, "log-odds", "sigmoid")[0] == 800


def test_payoffs_that_do_not_exist_are_refused():
    for payoff, law, outputs in (
        ("money", "softmax", 2),
        ("logit", "probability", 2),
        ("margin", "sigmoid", 1),
        ("probability", "none", 1),
        ("log-odds", "softmax", 1),
    ):
        with pytest.raises(InvalidInput, match="payoff"):
            check_payoff(payoff, law, outputs)


def test_modules_are_held_still():
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5))
    net.train()
    model = as_array_model(net)
    assert_allclose(model.outputs(X), model.outputs(X))
    assert net.training and net[1].training


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda rows: np.full(len(rows), np.nan), BadPayoff),
        (lambda rows: np.ones(3), BadPayoff),
        (lambda rows: np.ones((len(rows), 2, 2)), BadPayoff),
        (lambda rows: 1 / 0, InvalidInput),
    ],
)
def test_bad_functions(function, error):
    with pytest.raises(error, match="lambda"):
        as_array_model(function).outputs(X)


def test_what_is_no_model():
    with refused("type", "model"):
        as_array_model(3)
    with pytest.raises(InvalidInput, match="not trained"):
        as_array_model(LinearRegression()).outputs(X)


def test_several_plain_outputs_need_a_target_and_named_or_likely_ones_do_not():
    def two(rows):
        return np.column_stack([rows.sum(axis=1), rows.max(axis=1)])

    row = np.ones((1, 3))
    with refused("missing", "target"):
        as_array_model(two).target(None, row)
    assert as_array_model(two).target(1, row) == 1
    assert as_array_model(two, law="softmax").target(None, row) == 0


@pytest.mark.parametrize("returned", [[["a"]], [[1j]], np.ma.masked_all((1, 1)), [[None]], np.empty((1, 0)), [[10**400]]])
def test_what_a_function_returns_is_numbers(returned):
    with pytest.raises(BadPayoff, match="returned"):
        as_array_model(lambda rows: returned).outputs(np.ones((1, 2)))


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_outputs_that_are_not_numbers_are_neither_right_nor_wrong():
    outputs = np.array([[np.nan, 1.0], [2.0, 1.0], [0.0, 1.0]])
    assert payoff_of(outputs, 0, "correctness")[1:].tolist() == [1, 0]
    for payoff in PAYOFFS:
        assert np.isnan(payoff_of(outputs, 0, payoff)).tolist() == [True, False, False]
    assert np.isnan(payoff_of(outputs, 0, "correctness", "probability")[0])


@pytest.mark.parametrize("wrong", [lambda z: z[:, 0] + 1j, lambda z: ["much"] * len(z), lambda z: z, lambda z: 1.0])
def test_a_function_that_returns_no_payoff_is_named(wrong):
    with pytest.raises(BadPayoff, match="payoff <lambda> return"):
        payoff_of(np.ones((2, 3)), 0, wrong)
