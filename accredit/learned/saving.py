"""Trained explainers from their folders: whichever kind was saved there."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from torch import nn

from accredit.checks.arguments import check_arguments
from accredit.errors import InvalidInput
from accredit.learned import cxplain
from accredit.learned.black_boxes import BlackBox
from accredit.learned.folders import DAMAGE, describe, read, tensors
from accredit.learned.inputs import SEEDS_BELOW, inputs_from, whole
from accredit.learned.mask_distributions import law_from
from accredit.learned.schedules import schedule_from
from accredit.learned.stages import History, Training
from accredit.learned.trainer import KIND, Networks, TrainedExplainer


@check_arguments
def load(
    folder: str | Path, black_box: BlackBox | None = None, networks: Networks | None = None
) -> TrainedExplainer | cxplain.CXPlain:
    """The explainer that `explainer.save(folder)` wrote, of whichever kind.

    One whose selector sees the black box's answer (`query`) needs the black box to explain; one with networks of your own
    needs the function that makes them.

    >>> import tempfile
    >>> import numpy as np
    >>> from accredit.learned import Tabular, l2x
    >>> x, folder = np.random.default_rng(0).normal(size=(600, 4)), tempfile.mkdtemp()
    >>> def box(rows):
    ...     return np.stack([rows[:, 0] < 0, rows[:, 0] >= 0], axis=1).astype(float)
    >>> explainer = l2x(Tabular(4), classes=2, k=1, training=Training(epochs=20, rate=0.01)).fit(x, box)
    >>> explainer.save(folder)
    >>> bool((load(folder).scores(x) == explainer.scores(x)).all())
    True
    """
    if describe(folder).get("kind") == cxplain.KIND:
        return cxplain.CXPlain.load(folder)
    return load_trained(folder, black_box, networks)


def load_trained(folder: str | Path, black_box: BlackBox | None = None, networks: Networks | None = None) -> TrainedExplainer:
    """The same, for explainers with a selector and a surrogate only."""
    about, place = read(folder, KIND)
    try:
        explainer = explainer_from(about["settings"])
        if bool(about["own networks"]) is not (networks is not None):
            raise InvalidInput(
                f"{folder} holds an explainer with networks {'of your own' if networks is None else 'of this package'}; write "
                + ("load(folder, networks=the_function_that_makes_them)" if networks is None else "load(folder)"),
                argument="networks",
                code="conflict",
            )
        explainer.networks = networks
        explainer.centre, explainer.spread = (float(number) for number in about["scale"])
        explainer.seed, explainer.explains = whole("seed", about["seed"], 0, SEEDS_BELOW), str(about["explains"])
        history = {f.name: about["history"][f.name] for f in fields(History)}
        explainer.history = History(**history | {"kept": [tuple(stage) for stage in history["kept"]]})
        plain = explainer.encoder is None and networks is None  # others have buffers that are not in the file
        with torch.device("meta") if plain else nullcontext():  # shapes without memory
            selector, surrogate = explainer._build(0)
    except (*DAMAGE, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{place.with_suffix('.json')} is damaged: {error!r}", code="unreadable") from None
    together = nn.ModuleDict({"selector": selector, "surrogate": surrogate})
    together.load_state_dict(tensors(place, together.state_dict()), assign=True)
    explainer._networks = selector.eval(), surrogate.eval()
    explainer.black_box = black_box
    return explainer


def explainer_from(settings: Mapping[str, Any]) -> TrainedExplainer:
    """An untrained explainer from `TrainedExplainer.settings`."""
    if not isinstance(settings, Mapping):
        raise InvalidInput(
            f"settings are damaged: {settings!r:.40} is not a JSON object", argument="settings", code="unreadable"
        )
    given = dict(settings)
    inputs, law = inputs_from(given.pop("inputs")), law_from(given.pop("law"))
    schedule, training = schedule_from(given.pop("schedule")), Training(**given.pop("training"))
    return TrainedExplainer(**given, inputs=inputs, law=law, schedule=schedule, training=training)
