"""L2X in the exact world: it finds the best mask, and the mask gives nothing away."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from accredit.learned import Tabular, Training, l2x
from accredit.shortcuts.world import World

WORLDS = {
    "sum": World.of(5, lambda x: 1 / (1 + np.exp(-2 * x[:, 1] - x[:, 3]))),
    "agreement of two": World.of(5, lambda x: 1 / (1 + np.exp(-3 * x[:, 1] * x[:, 3]))),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_l2x_finds_the_best_mask_of_every_case(name):
    """Two of five features decide; L2X shows exactly them in all 32 cases, so its choice encodes nothing."""
    world = WORLDS[name]
    x, _ = world.sample(4000, seed=0)
    training = Training(epochs=20, batch=128, patience=20)
    small = {"selector_width": 32, "surrogate_width": 32}
    explainer = l2x(Tabular(5), 2, 2, temperature=0.1, training=training, **small).fit(x, world.answer, seed=0)
    chosen = explainer.select(world.x)
    assert (chosen == world.best_masks(2)).all()
    assert world.choose(chosen).encoding == pytest.approx(0, abs=1e-12)
    assert (explainer.predict(world.x).argmax(axis=1) == world.answer(world.x).argmax(axis=1)).all()
