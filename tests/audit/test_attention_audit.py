"""The audit of an attention classifier: a shortcut that passes Jain & Wallace's tests and fails the leakage report."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")

import torch

from accredit.audit import audit_attention
from accredit.audit.classifier import JAIN_WALLACE, LEAKS, gradients, impose, removals
from accredit.audit.counterchecks import (
    COUNTERCHECKS,
    DIAGNOSTIC,
    MODEL_ADVERSARY,
    SEEDS,
    UNIFORM,
    CounterTraining,
    Diagnostic,
    counterchecks,
)
from accredit.errors import InvalidInput
from accredit.shortcuts.cures import Plain, RandomPretraining
from accredit.shortcuts.models import AttentionClassifier, AttentionData, AttentionShape
from accredit.shortcuts.training import train_attention

SHAPE = AttentionShape(
    width=8, query=4, query_hidden=(16,), attention_width=16, head=(16,), temperature=0.2
)  # a token is eight numbers


def rows(count: int, seed: int):
    """Five words of which each leans to the label a little, four constant tokens, and a query that knows the label."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=count)
    words = rng.normal(size=(count, 5, 8)) * 0.5
    words[:, :, 0] += rng.choice([-1.5, 0, 1.5], size=(count, 5)) + 0.3 * (2 * labels - 1)[:, None]
    default = np.random.default_rng(9).normal(size=(4, 8)) * 0.5
    query = rng.normal(size=(count, 4))
    query[:, 0] += 2.5 * (2 * labels - 1)
    return np.concatenate([words, np.broadcast_to(default, (count, 4, 8))], axis=1), query, labels


INERT = np.arange(9) >= 5


@pytest.fixture(scope="module")
def plain() -> AttentionClassifier:
    model = AttentionClassifier(SHAPE, seed=0)
    train_attention(model, *rows(1200, 0), Plain(epochs=12), batch=64)
    return model


@pytest.fixture(scope="module")
def cured() -> AttentionClassifier:
    model = AttentionClassifier(replace(SHAPE, head=()), seed=0)
    train_attention(model, *rows(1200, 0), RandomPretraining(random_epochs=15, epochs=10), batch=64)
    return model


@pytest.mark.slow
def test_a_shortcut_leaks_and_the_cure_does_not(plain, cured):
    """1000 scored rows: standard errors of 0.016; the effects asserted are 0.1 and more above the margin."""
    tokens, query, _ = rows(2000, 1)
    leaky = audit_attention(plain, tokens, query, inert=INERT, tests=LEAKS)
    assert set(leaky.flagged) >= {"mask-only probe", "value scramble", "mask transplant"}
    honest = audit_attention(cured, tokens, query, inert=INERT, tests=LEAKS)
    assert honest["value scramble"].verdict != "flagged"
    assert honest["mask transplant"].verdict == "passes"
    assert honest["inert players"].verdict == "passes"


@pytest.mark.slow
def test_jain_and_wallace_cannot_see_the_shortcut(plain):
    """Attention that is a code matters very much: shuffle it and the answer goes. Their tests are not about codes."""
    tokens, query, _ = rows(300, 2)
    report = audit_attention(plain, tokens, query, tests=JAIN_WALLACE, steps=60, permutations=20)
    assert [finding.name for finding in report] == list(JAIN_WALLACE)
    assert report["permuted attention"].verdict == "passes"


@pytest.mark.slow
def test_imposing_the_models_own_attention_changes_nothing(plain):
    tokens, query, _ = rows(20, 3)
    data = AttentionData.of(SHAPE, tokens, query)
    with torch.no_grad():
        logits, mask = plain(*data.given)
        again = impose(plain, data)(mask[None, :, None].expand(3, -1, -1, -1))
    for copy in again:
        torch.testing.assert_close(copy, logits.softmax(dim=1))


def test_gradients_flow_through_values_only():
    """With a linear head on Σ m_t e_t the detached slope of the log-odds of two classes is m_t (w₁ − w₀)."""
    model = AttentionClassifier(replace(SHAPE, head=()), seed=1)
    tokens, query, _ = rows(10, 3)
    data = AttentionData.of(SHAPE, tokens, query)
    with torch.no_grad():
        logits, mask = model(*data.given)
    weight = dict(model.head.named_parameters())["0.weight"].detach().numpy()
    sign = np.where(logits.argmax(dim=1) == 1, 1, -1)[:, None]
    expected = np.abs(mask.numpy() * sign * (tokens.astype(np.float32) @ (weight[1] - weight[0])))
    np.testing.assert_allclose(gradients(model, data), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("encoder", ["pooling", "rcnn"])
def test_removals_are_those_of_a_shorter_input(encoder):
    model = AttentionClassifier(replace(SHAPE, encoder=encoder, units=4, features=8), seed=1)
    tokens, query, _ = rows(3, 3)
    present = np.ones((3, 9), dtype=bool)
    present[:, 7:] = False
    data = AttentionData.of(SHAPE, tokens, query, present=present)
    lost = removals(model, data)
    assert (lost[:, 7:] == 0).all()
    full = model.predict(tokens, query, present)[0]
    present[:, 6] = False  # the last one that is there
    less = model.predict(tokens, query, present)[0]
    said = full.argmax(axis=1)
    np.testing.assert_allclose(lost[:, 6], np.abs(full - less)[np.arange(3), said], atol=1e-6)


QUICK = CounterTraining(cure=Plain(epochs=8), seeds=2, strengths=(0.0, 0.1), epochs=12)


@pytest.fixture(scope="module")
def checks(plain):
    tokens, query, labels = rows(1000, 4)
    return {f.name: f for f in counterchecks(plain, AttentionData.of(SHAPE, tokens, query, labels), QUICK)}


@pytest.mark.slow
def test_counterchecks_are_all_there_and_attention_helps(checks):
    assert tuple(checks) == COUNTERCHECKS
    # the query knows 99 % and the words about 80 %: attention is worth more than ten points, six standard errors
    assert checks[UNIFORM].verdict == "passes"
    assert checks[DIAGNOSTIC].verdict == "passes"


@pytest.mark.slow
def test_the_model_level_adversary_tells_its_whole_curve_and_is_measured_against_seeds(checks):
    found = checks[MODEL_ADVERSARY]
    assert set(found.details) == {f"λ={s}: {what}" for s in ("0", "0.1") for what in ("TVD", "divergence")}
    assert found.chance == pytest.approx(checks[SEEDS].value)
    assert found.details["λ=0.1: divergence"] > found.details["λ=0: divergence"]


def test_the_diagnostic_network_mixes_no_tokens():
    network = Diagnostic(4, 2)
    tokens = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
    alone = network(tokens[:, :1], torch.ones(2, 1))
    masked = network(tokens, torch.tensor([[1.0, 0, 0]] * 2))
    torch.testing.assert_close(alone, masked)


def test_without_labels_nothing_is_trained_and_the_report_says_so(plain):
    tokens, query, _ = rows(60, 5)
    report = audit_attention(plain, tokens, query, tests=(*COUNTERCHECKS, "gradients"))
    assert set(report.not_run) == set(COUNTERCHECKS)
    assert [finding.name for finding in report] == ["gradients"]


@pytest.mark.parametrize(
    ("change", "message"),
    [({"tests": ("tea leaves",)}, "no test 'tea leaves'"), ({"labels": np.zeros(60, dtype=int)}, "one class")],
)
def test_bad_input_is_refused(plain, change, message):
    tokens, query, _ = rows(60, 5)
    with pytest.raises(InvalidInput, match=message):
        audit_attention(plain, tokens, query, **change)


def test_a_model_without_attention_is_refused():
    model = AttentionClassifier(replace(SHAPE, attention="uniform"))
    with pytest.raises(InvalidInput, match="selects nothing"):
        audit_attention(model, *rows(60, 5)[:2])
