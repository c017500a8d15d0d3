"""The trainer: each schedule does what it says, on every kind of input, and fails loudly."""

import copy
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

from accredit.errors import InvalidInput
from accredit.learned import PixelGrid, Tabular, Training, Words, l2x, recipe
from accredit.learned.mask_distributions import Bernoulli, Dirichlet, RelaxedTopK, SoftmaxMask
from accredit.learned.networks import network_for, selector_for
from accredit.learned.recipes import RECIPES
from accredit.learned.schedules import Job, JointSchedule, RandomFirstSchedule, WeightedSchedule, schedule_from
from accredit.learned.stages import Batch, History, Stage, batches, descend, run, surprise
from accredit.learned.trainer import TrainedExplainer
from accredit.learned.weighting import MaskLabels
from accredit.values.solver import Progress
from tests.wording import reads, refused, says

pytestmark = pytest.mark.slow

QUICK = Training(epochs=6, batch=64, optimiser="adam", rate=3e-3)
rng = np.random.default_rng(0)
TABLE = rng.normal(size=(1200, 6)).astype(np.float32)


def two_columns(x):
    one = 1 / (1 + np.exp(-4 * x[:, 1] - 4 * x[:, 4]))
    return np.column_stack([1 - one, one])


def fitted(name="l2x", **settings):
    return recipe(name, Tabular(6), 2, 2, training=QUICK, **settings).fit(TABLE, two_columns, seed=3)


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_finds_the_two_columns_that_decide(name):
    before = torch.random.get_rng_state()
    explainer = fitted(name)
    chosen = explainer.select(TABLE)
    assert chosen[:, [1, 4]].mean() > 0.7 > 2 / 6, "well above chance"
    assert (chosen.sum(axis=1) == 2).all()
    assert (explainer.predict(TABLE).argmax(axis=1) == two_columns(TABLE).argmax(axis=1)).mean() > 0.9
    history = explainer.history
    assert len(history.losses) == len(history.validation) == len(history.stages) > 0
    assert history.seconds > 0 and "epoch" in history.stopped_because
    assert bool(history.ess) == ("weighting" in name) and all(0 < share <= 1 + 1e-9 for share in history.ess)
    assert torch.equal(before, torch.random.get_rng_state()), "the caller's random state is left alone"


def test_the_same_seed_gives_the_same_explainer():
    one, same = fitted(), fitted()
    other = recipe("l2x", Tabular(6), 2, 2, training=QUICK).fit(TABLE, two_columns, seed=4)
    np.testing.assert_array_equal(one.scores(TABLE), same.scores(TABLE))
    assert not np.array_equal(one.scores(TABLE), other.scores(TABLE))


@pytest.mark.parametrize("law", [SoftmaxMask(0.5), Dirichlet(1.0), Bernoulli("relaxed", 0.5)], ids=repr)
def test_other_laws_rank_the_telling_columns_first(law):
    explainer = TrainedExplainer("own", Tabular(6), 2, 2, law, JointSchedule(), training=QUICK, price=0.02).fit(
        TABLE, two_columns
    )
    assert explainer.select(TABLE)[:, [1, 4]].mean() > 0.9
    assert explainer.predict(TABLE).shape == (1200, 2)


def test_coins_without_k_choose_who_has_more_than_an_even_chance():
    explainer = recipe("invase", Tabular(6), 2, None, training=Training(epochs=12, batch=64, rate=3e-3, optimiser="adam"))
    chosen = explainer.fit(TABLE, two_columns).select(TABLE)
    np.testing.assert_array_equal(chosen, explainer.scores(TABLE) > 0)
    assert chosen[:, [1, 4]].mean() > chosen[:, [0, 2, 3, 5]].mean() + 0.3
    assert "chance above" in explainer.explain(TABLE[0]).rule


def telling_words(rows, length, seed):
    """Texts of words 3.. with one word that decides (1 or 2) at a random place, and padding behind."""
    source = np.random.default_rng(seed)
    x, label = source.integers(3, 40, (rows, length)), source.integers(0, 2, rows)
    ends = source.integers(length // 2, length + 1, rows)
    x[np.arange(length) >= ends[:, None]] = 0
    x[np.arange(rows), source.integers(0, ends)] = 1 + label
    return x


def words_box(x):
    one = np.clip((x == 2).any(axis=1).astype(float), 0.02, 0.98)
    return np.column_stack([1 - one, one])


@pytest.mark.parametrize("name", ["l2x", "realx", "l2x+answer+pretraining", "l2x+answer+weighting"])
def test_words_that_decide_are_found(name):
    x = telling_words(1500, 20, 0)
    explainer = recipe(name, Words(20, 40), 2, 1, selector_width=16, surrogate_width=16, training=QUICK).fit(x, words_box)
    test = telling_words(200, 20, 1)
    chosen = explainer.select(test)
    assert (chosen & np.isin(test, (1, 2))).any(axis=1).mean() > 0.9
    assert not chosen[test == 0].any() and (chosen.sum(axis=1) == 1).all()


@pytest.mark.parametrize("block", [1, 2])
def test_pixels_that_decide_are_found(block):
    source = np.random.default_rng(0)
    x = source.random((800, 8, 8)).astype(np.float32)
    x[:, 2:4, 4:6] = source.integers(0, 2, (800, 1, 1))

    def box(pictures):
        one = np.clip(pictures[:, 2:4, 4:6].mean(axis=(1, 2)), 0.02, 0.98)
        return np.column_stack([1 - one, one])

    inputs = PixelGrid((8, 8), block)
    explainer = l2x(inputs, 2, 4 // block**2, surrogate_width=4, selector_width=4, training=QUICK).fit(x, box)
    kept = inputs.keep(np.ones_like(x), explainer.select(x))
    assert kept[:, 2:4, 4:6].mean() > 0.5 > 10 * kept.mean() - 0.5  # 4 of 64 pixels: chance is 0.06


def small_job(schedule, training=Training(optimiser="adam")):
    inputs = Tabular(6)
    selector, surrogate = selector_for(inputs, width=8, seed=0), network_for(inputs, 2, width=8, seed=1)
    answers = two_columns(TABLE[:64])
    batch = Batch(
        torch.from_numpy(TABLE[:64]),
        torch.ones(64, 6),
        torch.from_numpy(answers).float(),
        torch.from_numpy(answers.argmax(1)),
    )
    prior = torch.bincount(batch.choice) / 64
    job = Job(
        selector,
        surrogate,
        RelaxedTopK(2),
        0.0,
        training,
        torch.Generator().manual_seed(5),
        prior,
        lambda: network_for(inputs, 2, width=8, seed=9),
        6,
        0,
    )
    return job, batch, schedule.stages(job)


@pytest.mark.parametrize("learn_first", [False, True])
@pytest.mark.parametrize("weigh_selector", [False, True])
def test_weights_teach_the_surrogate_and_not_the_selector(weigh_selector, learn_first):
    """In one step: slope of mean(w L) for the surrogate, of mean(L) for the selector (mean(w L) if asked)."""
    schedule = WeightedSchedule(steps=3, weigh_selector=weigh_selector, learn_first=learn_first)
    job, batch, (stage,) = small_job(schedule)
    selector, surrogate = copy.deepcopy(job.selector), copy.deepcopy(job.surrogate)
    stage.step(batch)

    law, noise = RelaxedTopK(2), torch.Generator().manual_seed(5)
    drawn = law.draw(selector(batch.x), batch.present, lambda m: surprise(surrogate(batch.x, m), batch.target), noise)
    told = MaskLabels(6, 2, schedule.hidden, seed=0)
    if learn_first:
        told.learn(drawn.mask, batch.choice, 3)
    w = told.weights(drawn.mask, batch.choice, job.prior)
    w = w if learn_first else w / w.mean()
    assert w.std() > 0.01 and not w.requires_grad
    weighted, plain = (w * drawn.losses).mean(), drawn.losses.mean()
    expected = torch.autograd.grad(weighted, list(surrogate.parameters()), retain_graph=True)
    for parameter, slope in zip(job.surrogate.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, slope)
    expected = torch.autograd.grad(weighted if weigh_selector else plain, list(selector.parameters()))
    for parameter, slope in zip(job.selector.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, slope)
    torch.testing.assert_close(stage.weights[0], w)


def test_random_first_trains_one_network_at_a_time():
    job, batch, (first, second) = small_job(RandomFirstSchedule(epochs=1))
    assert (first.trained, second.trained) == ((job.surrogate,), (job.selector,))
    for stage, still in ((first, job.selector), (second, job.surrogate)):
        before = copy.deepcopy(still.state_dict())
        moving = copy.deepcopy(stage.trained[0].state_dict())
        run(
            stage,
            (job.selector, job.surrogate),
            batch,
            batch,
            Training(epochs=1, batch=16),
            History(),
            np.random.default_rng(0),
            Progress("", 0, None),
        )
        assert all(torch.equal(value, before[name]) for name, value in still.state_dict().items())  # also running means
        assert any(not torch.equal(value, moving[name]) for name, value in stage.trained[0].state_dict().items())


def scripted(losses, watched):
    """A stage that reports these losses, and moves its one weight by 1 each epoch."""
    module = torch.nn.Linear(1, 1, bias=False)
    module.weight.data.zero_()
    told, seen = iter(losses), iter(watched)

    def step(batch):
        module.weight.data += 1
        return next(told)

    return module, Stage("script", len(losses), (module,), step, lambda batch, generator: torch.tensor([next(seen)]))


def ran(stage, module, patience=2):
    rows = Batch(torch.zeros(2, 1), torch.ones(2, 1), torch.ones(2, 2) / 2, torch.tensor([0, 1]))
    history = History()
    training = Training(batch=2, patience=patience)
    good = run(stage, (module,), rows, rows, training, history, np.random.default_rng(0), Progress("", 0, None))
    return good, history, float(module.weight.detach())


def test_training_stops_when_nothing_improves_and_keeps_the_best_weights():
    module, stage = scripted([1.0] * 9, [3.0, 2.0, 2.5, 2.6, 0.1, 0.1, 0.1, 0.1, 0.1])
    good, history, weight = ran(stage, module)
    assert good and weight == 2 and len(history.losses) == 4
    assert reads(history.stopped_because)


@pytest.mark.parametrize(
    ("losses", "watched", "kept", "says"),
    [
        ([1.0, math.nan, 1.0], [3.0, 2.0, 2.0], 1, "the loss was nan in epoch 2; the weights are those of epoch 1"),
        ([math.inf, 1.0], [3.0, 2.0], 0, "the loss was inf in epoch 1; the weights are the untrained ones"),
        ([1.0, 1.0, 1.0], [3.0, math.nan, 2.0], 1, "the validation loss was nan in epoch 2"),
    ],
)
def test_a_loss_that_is_no_number_stops_and_keeps_the_last_good_weights(losses, watched, kept, says):
    module, stage = scripted(losses, watched)
    with pytest.warns(RuntimeWarning, match="training stopped"):
        good, history, weight = ran(stage, module)
    assert not good and weight == kept and says in history.stopped_because


def test_an_exploding_rate_leaves_a_usable_explainer_that_says_so():
    explainer = l2x(Tabular(6), 2, 2, training=Training(epochs=3, batch=64, rate=1e30, optimiser="adam"))
    with pytest.warns(RuntimeWarning, match="lower the rate"):
        explainer.fit(TABLE, two_columns)
    assert "the loss was" in explainer.history.stopped_because
    assert np.isfinite(explainer.scores(TABLE)).all() and np.isfinite(explainer.predict(TABLE)).all()


def test_batches_hold_every_row_once_and_never_a_single_one():
    lengths = torch.randint(1, 30, (129,), generator=torch.Generator().manual_seed(0))
    present = (torch.arange(30) < lengths[:, None]).float()
    rows = Batch(torch.zeros(129, 30), present, torch.zeros(129, 2), torch.zeros(129, dtype=torch.int64))
    parts = list(batches(rows, 32, np.random.default_rng(0)))
    assert sorted(torch.cat(parts).tolist()) == list(range(129)) and min(map(len, parts)) > 1
    spread = np.mean([float(lengths[part].float().std()) for part in parts])
    assert spread < float(lengths.float().std()) / 2, "like lengths share a batch"


def test_descend_moves_only_the_named_modules():
    one, other = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
    before = other.weight.detach().clone()
    loss = (one(torch.ones(1, 2)) + other(torch.ones(1, 2))).sum()
    descend(loss, Training(optimiser="adam").optimise(one), one)
    assert torch.equal(other.weight, before) and other.weight.grad is None


def test_an_explanation_states_k_law_and_replacement():
    explainer = fitted("l2x+answer")
    said = explainer.explain(TABLE[0])
    assert said.names == ("x1", "x4") and said.seed == 3
    assert reads(said.rule)
    assert explainer.explain(TABLE[0], k=3).chosen.sum() == 3
    np.testing.assert_allclose(said.certificate["surrogate_answer"], explainer.predict(TABLE[:1])[0])
    assert explainer.explain(TABLE[0], names=list("abcdef")).names == ("b", "e")


def test_texts_are_explained_by_their_own_words():
    x = telling_words(200, 8, 0)
    x[0] = [5, 1, 5, 0, 0, 0, 0, 0]
    explainer = l2x(Words(8, 40), 2, 4, selector_width=4, surrogate_width=4, training=Training(epochs=1)).fit(x, words_box)
    said = explainer.explain(x[0], names=["so", "bad", "so"])
    assert said.players == ("so", "bad", "so (2)") and said.chosen.all()  # fewer than k: all of them
    assert explainer.explain(x[0]).players == ("0:5", "1:1", "2:5")
    with refused("shape", "names"):
        explainer.explain(x[0], names=list("abcd"))
    with pytest.raises(InvalidInput, match="padding only"):
        explainer.explain(np.zeros(8, dtype=int))


def test_labels_can_be_the_target():
    labels = (TABLE[:, 0] > 0).astype(int)  # not what the black box looks at
    explainer = l2x(Tabular(6), 2, 1, target="labels", training=QUICK).fit(TABLE, two_columns, labels)
    assert explainer.select(TABLE)[:, 0].mean() > 0.95


def constant(x):
    return np.tile([0.2, 0.8], (len(x), 1))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: l2x(Tabular(6), 2, 7), r"k must be a whole number from 1 to 6"),
        (lambda: recipe("invase", Tabular(6), 2, 7), r"k must be a whole number from 1 to 6"),
        (lambda: l2x(Tabular(6), 2, 0), r"k must be a whole number from 1 to 6"),
        (lambda: recipe("l3x", Tabular(6), 2, 2), "unknown"),
        (lambda: l2x(Tabular(6), 2, 2, target="truth"), "target"),
        (lambda: l2x(Tabular(6), 2, 2).fit(TABLE, constant), "chooses class 1 in all 1200 rows"),
        (lambda: l2x(Tabular(6), 2, 2).fit(TABLE, two_columns, np.ones(1200, dtype=int)), "one class"),
        (lambda: l2x(Tabular(6), 2, 2).fit(TABLE, two_columns, np.ones(7, dtype=int)), "1200 class numbers"),
        (lambda: l2x(Tabular(6), 2, 2, target="labels").fit(TABLE, two_columns), "none are given"),
        (lambda: l2x(Tabular(6), 3, 2).fit(TABLE, two_columns), "gives 2 classes"),
        (lambda: l2x(Tabular(6), 2, 2).fit(TABLE, lambda x: x), "probabilities"),
        (lambda: l2x(Tabular(6), 2, 2).fit(TABLE[:3], two_columns), "at least 4"),
        (lambda: l2x(Tabular(5), 2, 2).fit(TABLE, two_columns), r"\(N, 5\)"),
        (lambda: l2x(PixelGrid((8, 8)), 2, 2).fit(np.zeros((5, 8, 7)), two_columns), r"\(N, 8, 8\)"),
        (lambda: l2x(Tabular(6), 2, 2).scores(TABLE), "not trained yet"),
        (lambda: Training(epochs=0), "epochs"),
        (lambda: Training(optimiser="lbfgs"), "optimiser"),
        (lambda: Training(validation=0.9), "validation"),
        (lambda: WeightedSchedule(steps=0), "steps"),
        (lambda: schedule_from({"kind": "never"}), "unknown"),
        (lambda: schedule_from({"kind": "joint", "hours": 3}), "damaged"),
    ],
)
def test_bad_input_is_named(call, says):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InvalidInput, match=says):
            call()


def test_a_failed_fit_leaves_the_trained_explainer_as_it_was():
    explainer = fitted()
    before = explainer.scores(TABLE)
    with pytest.raises(InvalidInput):
        explainer.fit(TABLE, constant)
    np.testing.assert_array_equal(explainer.scores(TABLE), before)


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (lambda e, x: e.fit(x[:0], half), "x holds 0 rows"),
        (lambda e, x: e.fit(x, "box"), "black_box must be a function"),
        (lambda e, x: e.fit(x, lambda rows: None), "got None"),
        (lambda e, x: e.fit(x, half, seed=-1), "seed must be"),
        (lambda e, x: e.fit(x, half, seed=2**70), "seed must be"),
        (lambda e, x: e.fit(x, half).explain([1.0, [2.0]]), "numbers only"),
    ],
)
def test_what_cannot_be_trained_on_is_named(fit, message):
    x = np.random.default_rng(0).normal(size=(40, 3))
    explainer = l2x(Tabular(3), 2, np.int64(1), training=Training(epochs=1, optimiser="adam"))
    with pytest.raises(InvalidInput, match=message):
        fit(explainer, x)


def half(rows):
    one = (rows[:, 0] > 0) * 1.0
    return np.column_stack([1 - one, one])


@pytest.mark.parametrize("wrong", [{"epochs": 2.5}, {"batch": 1}, {"patience": 0}, {"rate": float("inf")}])
def test_training_that_cannot_be_done_is_refused(wrong):
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        Training(**wrong)


# What went wrong without an error is said


def test_columns_of_very_different_sizes_are_named():
    explainer = l2x(Tabular(6), 2, 2, training=Training(epochs=1, optimiser="adam"))
    with pytest.warns(RuntimeWarning, match=r"column 'x0' varies .* times as much as 'x\d'.*scale the columns"):
        explainer.fit(TABLE * [1e4, 1, 1, 1, 1, 1], two_columns)
    assert "scale the columns" in explainer.explain(TABLE[0]).certificate["doubts"][0]


def test_a_choice_that_costs_too_much_chooses_nobody_and_says_so():
    explainer = recipe("invase", Tabular(6), 2, penalty=500.0, training=QUICK)
    with pytest.warns(RuntimeWarning, match="nobody is chosen"):
        explainer.fit(TABLE, two_columns)
    assert any(says(doubt, "nothing useful was") for doubt in explainer.history.doubts)


def test_weights_of_the_first_epoch_are_a_doubt():
    from accredit.learned.training_checks import doubts

    history = History(kept=[["random masks", 4, 9, 400], ["selector", 1, 9, 100]])
    said = doubts(reads_first, ROWS, torch.tensor([[1.0, 0.0]]).repeat(40, 1), history)
    assert len(said) == 1 and says(said[0], "stage 'selector' kept")


ROWS = Batch(torch.zeros(40, 2), torch.ones(40, 2), torch.eye(2).repeat(20, 1), torch.tensor([0, 1] * 20))


def reads_first(x, mask):
    """Knows the answer where player 0 is shown."""
    return 9.0 * ROWS.target[: len(x)] * mask[:, :1]


def test_few_steps_are_a_doubt():
    from accredit.learned.training_checks import doubts

    history = History(kept=[["joint", 3, 6, 15]])
    said = doubts(reads_first, ROWS, torch.tensor([[1.0, 0.0]]).repeat(40, 1), history)
    assert len(said) == 1 and says(said[0], "the optimiser: 15)")
    explainer = l2x(Tabular(6), 2, 2, training=Training(epochs=2, optimiser="adam"))
    with pytest.warns(RuntimeWarning, match=r"steps of the optimiser: (5|10)\)"):
        explainer.fit(TABLE[:300], two_columns)
    certificate = explainer.explain(TABLE[0]).certificate
    assert any(says(doubt, "of the optimiser") for doubt in certificate["doubts"])
    assert certificate["by_chance"] == explainer.history.by_chance is not None


def test_a_choice_no_better_than_chance_is_a_doubt_with_its_error_rate():
    """Choices that know nothing: with ten epochs each passes with a chance of 1 in 1,000, 8 or more of 500 with 6e-8."""
    from accredit.learned.training_checks import no_better_than_chance

    rng, passed = np.random.default_rng(0), 0
    for _ in range(500):
        first = torch.from_numpy((rng.random((40, 1)) < 0.5) * 1.0).float()
        history = History(validation=[1.0] * 10)
        passed += not no_better_than_chance(reads_first, ROWS, torch.cat([first, 1 - first], dim=1), history)
    assert passed < 8
    history = History(validation=[1.0] * 10)
    assert not no_better_than_chance(reads_first, ROWS, torch.tensor([[1.0, 0.0]]).repeat(40, 1), history)
    assert history.by_chance == pytest.approx(np.log(2) / 2, abs=0.1)
    assert not no_better_than_chance(reads_first, ROWS, torch.ones(40, 2), History())  # everybody is shown: nothing is chosen


def test_a_surrogate_that_reads_soft_masks_only_is_a_doubt_with_both_losses():
    class SoftOnly(torch.nn.Module):
        """Right while masks are soft, blind once they are hard."""

        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.tensor(3.0))

        def forward(self, x, mask):
            soft = ((mask > 0.01) & (mask < 0.99)).any(dim=1, keepdim=True)
            one = torch.where(soft, self.scale * (x[:, 1:2] + x[:, 4:5]), 0 * self.scale)
            return torch.cat([-one, one], dim=1)

    class Even(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.line = torch.nn.Linear(6, 6)

        def forward(self, x, answer=None):
            return 1e-3 * self.line(x)

    law = RelaxedTopK(2, 1.0)
    explainer = TrainedExplainer(
        "mine", Tabular(6), 2, 2, law, JointSchedule(), training=replace(QUICK, epochs=1), networks=lambda: (Even(), SoftOnly())
    )
    with pytest.warns(RuntimeWarning, match="trained with soft masks"):
        explainer.fit(TABLE, two_columns)
    assert explainer.history.as_used > explainer.history.as_trained + 0.2
    assert explainer.explain(TABLE[0]).certificate["as_used"] == explainer.history.as_used


def test_rows_kept_aside_are_judged_by_hard_sets():
    """The stage that stops training sees the loss of what will be shown, not that of a soft draw."""
    selector, surrogate = selector_for(Tabular(6), seed=1), network_for(Tabular(6), 2, seed=2).eval()
    rows = Batch(
        torch.from_numpy(TABLE[:50]),
        torch.ones(50, 6),
        torch.from_numpy(two_columns(TABLE[:50])).float(),
        torch.from_numpy(two_columns(TABLE[:50]).argmax(axis=1)),
    )
    job = Job(
        selector, surrogate, RelaxedTopK(2, 0.5), 0.0, QUICK, torch.Generator(), torch.ones(2) / 2, lambda: surrogate, 6, 0, 2
    )
    with torch.no_grad():
        best = torch.zeros(50, 6).scatter(1, selector(rows.x).topk(2, dim=1).indices, 1.0)
        torch.testing.assert_close(job.judge(rows, torch.Generator()), surprise(surrogate(rows.x, best), rows.target))


def test_coins_with_k_draw_sets_of_k():
    assert reads(recipe("invase", Words(20, 50), 2, 3).law.describe())
    assert recipe("invase", Words(20, 50), 2).k is None


@pytest.mark.parametrize("name", [*RECIPES, "cxplain"])
def test_published_settings_have_a_name(name):
    made = recipe(name, Tabular(6), 2, 2, preset="paper", training=QUICK) if name != "cxplain" else None
    assert made is None or made.training == QUICK  # what is set is not overruled
    assert recipe(name, Tabular(6), 2, 2, preset="paper") is not None
    with pytest.raises(InvalidInput, match="preset"):
        recipe(name, Tabular(6), 2, 2, preset="thesis")


def test_k_may_be_left_out_where_players_have_coins_and_nowhere_else():
    assert recipe("realx", Tabular(6), 2).k is None
    with pytest.raises(InvalidInput, match="k is missing"):
        recipe("l2x", Tabular(6), 2)


def test_the_cures_do_not_show_the_answer_unless_asked():
    from accredit.learned import l2x_pretrained, l2x_weighted

    assert not any(made(Tabular(6), 2, 2).query for made in (l2x, l2x_pretrained, l2x_weighted))


def test_vibi_as_published_averages_twelve_masks_and_its_weights():
    from accredit.learned.recipes import paper_settings

    asked = recipe("vibi", Tabular(6), 2, 2, preset="paper")
    assert asked.law.draws == 12 and asked.training.averaging == 0.999
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 6))
    short = replace(paper_settings("vibi", Tabular(6))["training"], epochs=2, rate=0.1)

    def weights(averaging):
        training = replace(short, averaging=averaging)
        fitted = recipe("vibi", Tabular(6), 2, 2, preset="paper", training=training).fit(x, two_columns, seed=0)
        return fitted.scores(x[:5])

    assert np.abs(weights(0.9) - weights(0.0)).max() > 1e-3
    assert (weights(0.9) == weights(0.9)).all()
    with refused("range", "averaging"):
        Training(averaging=1.0)
