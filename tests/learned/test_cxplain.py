"""CXPlain: removal losses and shares by hand, a black box whose shares are known, intervals, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("torch")

from accredit.errors import InvalidInput
from accredit.learned import PixelGrid, Tabular, Words
from accredit.learned.cxplain import CXPlain, removal_losses, shares
from accredit.learned.gradient import Gradient
from accredit.learned.networks import network_for
from tests.wording import refused, says, warned

pytestmark = pytest.mark.slow

RNG = np.random.default_rng


def two_classes(logit):
    p = 1 / (1 + np.exp(-np.asarray(logit, dtype=float)))
    return np.stack([1 - p, p], axis=1)


def counting(black_box):
    asked = [0]

    def count(x):
        asked[0] += len(x)
        return black_box(x)

    return count, asked


def test_removal_losses_by_hand():
    # P(1) = σ(2a + b) at (1, 1) with label 1: L = log(1 + e⁻³); without a log(1 + e⁻¹), without b log(1 + e⁻²).
    grown = removal_losses(Tabular(2), np.ones((1, 2)), lambda x: two_classes(x @ [2.0, 1.0]), np.array([1]))
    base, losses = np.log1p(np.exp(-3)), np.log1p(np.exp([-1.0, -2.0]))
    assert_allclose(grown, [losses - base], atol=1e-12)
    against = removal_losses(Tabular(2), np.ones((1, 2)), lambda x: two_classes(x @ [2.0, 1.0]), np.array([0]))
    assert (against < 0).all()  # the wrong label's loss falls


def test_removals_that_change_nothing_are_not_asked():
    pictures = np.zeros((2, 4, 4), dtype=np.float32)
    pictures[:, 0, 0] = 1
    black_box, asked = counting(lambda x: two_classes(x.sum(axis=(1, 2))))
    grown = removal_losses(PixelGrid((4, 4)), pictures, black_box, np.array([1, 1]))
    assert asked[0] == 2 + 2  # both pictures whole, and each without its one inked pixel
    assert_array_equal(grown > 0, pictures.reshape(2, -1) > 0)
    text = np.array([[3, 4, 0, 0]])
    black_box, asked = counting(lambda x: two_classes((x == 4).sum(axis=1)))
    assert_array_equal(removal_losses(Words(4, 9), text, black_box, np.array([1])) > 0, [[False, True, False, False]])
    assert asked[0] == 1 + 2


def test_shares_sum_to_one_among_those_who_exist():
    grown = np.array([[2.0, 1.0, -5.0, 9.0], [-1.0, -2.0, 0.0, 4.0]])
    present = np.array([[True, True, True, False], [True, True, False, False]])
    found = shares(grown, present)
    assert_allclose(found.sum(axis=1), 1)
    assert_allclose(found[0], [2 / 3, 1 / 3, 0, 0], atol=1e-6)
    assert_allclose(found[1], [0.5, 0.5, 0, 0])  # nobody helps: all alike
    assert not shares(grown, np.zeros_like(present)).any()


def graded(x):
    """A black box whose removal losses are known: logit = 3·x₀ + x₁ for the label, nothing from the others."""
    return two_classes(3 * x[:, 0] + 1 * x[:, 1])


@pytest.fixture(scope="module")
def rows():
    x = RNG(0).uniform(0.5, 1.5, size=(400, 4))
    return x, (RNG(1).random(400) < 0.5).astype(int)


@pytest.fixture(scope="module")
def fitted(rows):
    x, _ = rows
    labels = np.ones(400, dtype=int)
    labels[:2] = 0  # a second class must exist
    return CXPlain(Tabular(4), k=1, models=6, epochs=40).fit(x, graded, labels, seed=3), x, labels


def test_known_shares_are_learned(fitted):
    explainer, x, labels = fitted
    true = shares(removal_losses(Tabular(4), x, graded, labels), np.ones((400, 4), dtype=bool))[2:]
    found = explainer.scores(x[2:])
    assert_allclose(found.sum(axis=1), 1)
    assert np.abs(found - true).mean() < 0.03
    assert explainer.select(x).sum(axis=1).tolist() == [1] * 400
    assert explainer.select(x)[2:, 0].mean() > 0.97
    assert explainer.select(x, k=2)[2:, :2].mean() > 0.97
    losses = explainer.history["losses"][0]
    assert min(losses) < losses[0] / 2


def test_intervals_hold_most_of_the_truth(fitted):
    """Not a coverage claim: they show the spread of the networks. They must at least be ordered, narrow and near."""
    explainer, x, labels = fitted
    true = shares(removal_losses(Tabular(4), x, graded, labels), np.ones((400, 4), dtype=bool))[2:]
    low, high = np.moveaxis(explainer.intervals(x[2:]), -1, 0)
    each = explainer.each(x[2:])
    assert (low <= high).all() and (each.min(axis=0) <= low).all() and (high <= each.max(axis=0)).all()
    assert (high - low).mean() < 0.2
    near = (true >= low - 0.03) & (true <= high + 0.03)
    assert near.mean() > 0.8


def test_the_result_states_its_interval_and_its_mask_law(fitted):
    explainer, x, _ = fitted
    told = explainer.explain(x[5], names=list("abcd"))
    assert told.names == ("a",)
    assert says(told.rule, "one removed at") and "become 0" in told.rule
    assert told.certificate["level"] == 0.9 and len(told.certificate["interval"]) == 4
    assert told.scores.sum() == pytest.approx(1)


def test_the_same_seed_learns_the_same(rows):
    x, labels = rows
    first, again, other = (
        CXPlain(Tabular(4), k=1, models=2, epochs=3).fit(x, graded, labels, seed=seed).scores(x) for seed in (1, 1, 2)
    )
    assert_array_equal(first, again)
    assert (first != other).any()


def test_networks_of_an_ensemble_learn_from_rows_drawn_with_replacement(rows, monkeypatch):
    x, labels = rows
    seen = []

    def record(self, network, x, wanted, drawn, held, seed, told):
        seen.append((drawn, held))
        return [0.0], "recorded"

    monkeypatch.setattr(CXPlain, "_train", record)
    CXPlain(Tabular(4), k=1, models=3).fit(x, graded, labels)
    assert all(len(set(drawn)) < len(drawn) == 360 for drawn, _ in seen)
    assert not any(set(drawn) & set(held) for drawn, held in seen)  # what decides when to stop is never learned from
    assert (seen[0][0] != seen[1][0]).any()
    seen.clear()
    CXPlain(Tabular(4), k=1).fit(x, graded, labels)
    assert len(set(seen[0][0])) == 360


def test_pictures_by_blocks_share_one_number_a_block():
    pictures = RNG(4).random((60, 8, 8)).astype(np.float32)
    labels = np.arange(60) % 2
    explainer = CXPlain(PixelGrid((8, 8)), k=4, block=4, epochs=30)
    explainer.fit(pictures, lambda x: two_classes(2 * (x[:, :4, 4:].mean(axis=(1, 2)) * 2)), labels)
    scores = explainer.scores(pictures)
    squares = scores.reshape(60, 2, 4, 2, 4)
    assert (squares == squares[:, :, :1, :, :1]).all()
    assert_allclose(scores.sum(axis=1), 1)
    assert explainer.select(pictures).sum(axis=1).tolist() == [4] * 60


def test_a_loss_that_is_no_number_ends_training_with_a_warning_and_says_which_weights_are_kept(rows):
    x, labels = rows
    with warned("the loss was"):
        explainer = CXPlain(Tabular(4), k=1, rate=1e30, epochs=5).fit(x, graded, labels)
    assert "the untrained ones" in explainer.history["stopped_because"]
    assert np.isfinite(explainer.scores(x)).all()


def test_padding_is_nobody_and_names_are_those_of_the_words():
    inputs, rng = Words(5, 20), np.random.default_rng(0)
    texts = rng.integers(1, 20, size=(60, 5))
    texts[::2, 3:] = 0
    labels = (texts[:, 0] > 10).astype(int)
    explainer = CXPlain(inputs, k=2, epochs=3, models=2).fit(texts, lambda x: two_classes(x[:, 0] - 10.0), labels)
    said = explainer.explain(texts[0], names=["not", "very", "good"])
    assert said.players == ("not", "very", "good") and said.chosen.sum() == 2
    assert np.shape(said.certificate["interval"]) == (3, 2)
    assert_array_equal(said.scores, explainer.scores(texts[:1])[0, :3])
    empty = np.zeros((1, 5), dtype=int)
    assert not explainer.scores(empty).any() and not explainer.select(empty).any()
    with pytest.raises(InvalidInput, match="padding only"):
        explainer.explain(empty[0])
    with refused("shape", "names"):
        explainer.explain(texts[0], names=["a", "b", "c", "d"])


def test_it_is_saved_and_loaded_without_loss(fitted, tmp_path):
    explainer, x, _ = fitted
    explainer.save(tmp_path / "kept")
    again = CXPlain.load(tmp_path / "kept")
    assert_array_equal(explainer.each(x), again.each(x))
    assert again.explain(x[0]) == explainer.explain(x[0])
    assert again.history == explainer.history
    text = (tmp_path / "kept" / "explainer.json").read_text()
    (tmp_path / "kept" / "explainer.json").write_text(text.replace('"models": 6', '"models": 5'))
    with pytest.raises(InvalidInput, match="tensors"):
        CXPlain.load(tmp_path / "kept")
    (tmp_path / "kept" / "explainer.json").write_text(text.replace('"k": 1', '"k": 9'))
    with pytest.raises(InvalidInput):
        CXPlain.load(tmp_path / "kept")
    with pytest.raises(InvalidInput, match="fit"):
        CXPlain(Tabular(4), k=1).save(tmp_path / "empty")
    assert not (tmp_path / "empty").exists()


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda x: CXPlain(Tabular(4), k=5), "from 1 to 4"),
        (lambda x: CXPlain(Tabular(4), k=1, models=0), "models"),
        (lambda x: CXPlain(Tabular(4), k=1, level=1.0), "level"),
        (lambda x: CXPlain(Tabular(4), k=1, block=2), "pictures"),
        (lambda x: CXPlain(Tabular(4), k=1).scores(x), "fit"),
        (lambda x: CXPlain(Tabular(4), k=1).fit(x, graded), "true labels"),
        (lambda x: CXPlain(Tabular(4), k=1).fit(x, graded, np.zeros(len(x), dtype=int)), "one class"),
        (lambda x: CXPlain(Tabular(4), k=1).fit(x, graded, np.arange(len(x)) % 3), "2 classes"),
        (lambda x: CXPlain(Tabular(4), k=1).fit(x, graded, np.ones(3, dtype=int)), "shape"),
        (lambda x: CXPlain(PixelGrid((4, 4)), k=1).fit(x, graded, np.ones(len(x), dtype=int)), "shape"),
    ],
)
def test_what_cannot_be_used_is_named(rows, make, told):
    with pytest.raises(InvalidInput, match=told):
        make(rows[0])


def test_one_network_has_no_interval(rows):
    x, labels = rows
    explainer = CXPlain(Tabular(4), k=1, epochs=1).fit(x, graded, labels)
    with pytest.raises(InvalidInput, match="models=10"):
        explainer.intervals(x)
    assert "interval" not in explainer.explain(x[0]).certificate


# Gradients


class Line:
    """A linear classifier as a module, for hand-computed slopes."""

    def __new__(cls, weights):
        import torch

        class Linear(torch.nn.Module):
            def forward(self, x, mask=None):
                z = (x if mask is None else x * mask) @ torch.tensor(weights, dtype=torch.float32)
                return torch.stack([-z, z], dim=1)

        return Linear()


def test_gradients_of_a_line_are_its_weights():
    x = np.array([[1.0, -2.0, 0.5]])
    plain = Gradient(Tabular(3), 1, Line([0.5, 1.0, -3.0]))
    assert_allclose(plain.scores(x), [[0.5, 1.0, 3.0]])
    times = Gradient(Tabular(3), 1, Line([0.5, 1.0, -3.0]), times_input=True)
    assert_allclose(times.scores(x), [[0.5, 2.0, 1.5]])
    assert_array_equal(plain.select(x), [[False, False, True]])
    assert plain.explain(x[0], names=["a", "b", "c"]).names == ("c",)


def test_gradients_agree_with_small_steps():
    inputs = PixelGrid((4, 4))
    network = network_for(inputs, 2, width=2, seed=0).eval()
    x = RNG(8).random((1, 4, 4)).astype(np.float32)
    import torch

    def top_logit(picture):
        return float(network(torch.from_numpy(picture)).detach().double().amax())

    step = 1e-2
    found = Gradient(inputs, 1, network).scores(x)[0]
    for place in range(16):
        up, down = x.copy(), x.copy()
        up.reshape(-1)[place] += step
        down.reshape(-1)[place] -= step
        assert abs((top_logit(up) - top_logit(down)) / (2 * step)) == pytest.approx(found[place], abs=2e-3)
    blocks = Gradient(PixelGrid((4, 4), block=2), 1, network).scores(x)[0]
    assert_allclose(blocks, found.reshape(2, 2, 2, 2).sum(axis=(1, 3)).ravel(), rtol=1e-5)


def test_words_are_scored_by_their_vectors_and_padding_by_nothing():
    inputs = Words(6, 30)
    network = network_for(inputs, 2, kind="convolution", width=8, seed=1)
    texts = np.array([[5, 6, 7, 0, 0, 0], [9, 8, 0, 0, 0, 0]])
    for times_input in (False, True):
        scores = Gradient(inputs, 2, network, times_input).scores(texts)
        assert not scores[texts == 0].any() and (scores[texts > 0] > 0).any()
    assert network.training  # it is left as it was
    # Every word of the first text occurs once, so the gradient at its vector is that of its row in the table.
    table = network.eval().vectors.weight
    import torch

    (slopes,) = torch.autograd.grad(network(torch.from_numpy(texts[:1])).amax(), table)
    scores = Gradient(inputs, 2, network).scores(texts[:1])
    assert_allclose(scores[0, :3], slopes[[5, 6, 7]].norm(dim=1).numpy(), rtol=1e-5)
    assert all(parameter.grad is None for parameter in network.parameters())
