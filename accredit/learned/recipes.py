"""Trained explainers by name: which selector, mask law, surrogate and schedule make which published method.

| recipe | mask law | schedule | the surrogate's target |
|---|---|---|---|
| `l2x` (Chen et al., 2018) | relaxed top-k | joint | the black box's probabilities |
| `vibi` (Bang et al., 2021) | relaxed top-k, each draw charged β·KL(p ‖ uniform) | joint | the class it chooses |
| `invase` (Yoon et al., 2019) | coins by REINFORCE, charged λ·share chosen | joint, with a baseline | its probabilities |
| `realx` (Jethani et al., 2021) | coins by REBAR, charged λ·share chosen | random coins first | its probabilities |
| `l2x_pretrained` (Bai et al., 2021) | relaxed top-k | random masks first | its probabilities |
| `l2x_weighted` (Bai et al., 2021) | relaxed top-k | weighted by P(y)/P(y given m) | its probabilities |

Every recipe takes the inputs, the number of classes and k, and further settings by name. What is not set is the published
choice where one is known, for the kind of input: RMSprop for words, Adam for pictures and tables, and the networks of
`networks.py`, thinner for pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypedDict, Unpack

from accredit.checks.arguments import check_arguments
from accredit.errors import InvalidInput
from accredit.learned.cxplain import CXPlain
from accredit.learned.inputs import Inputs, PixelGrid, Words, whole
from accredit.learned.mask_distributions import Bernoulli, DrawnTopK, RelaxedTopK
from accredit.learned.masks import check_k
from accredit.learned.schedules import JointSchedule, RandomFirstSchedule, ReinforceSchedule, WeightedSchedule
from accredit.learned.stages import Training
from accredit.learned.trainer import Networks, TrainedExplainer

if TYPE_CHECKING:
    import transformers


class RecipeSettings(TypedDict, total=False):
    """Settings of `TrainedExplainer` that every recipe takes by name."""

    target: str
    price: float
    training: Training
    selector_width: int | None
    surrogate_width: int | None
    surrogate: str
    count: float | None
    encoder: transformers.PreTrainedModel | transformers.PretrainedConfig | Mapping[str, object] | None
    networks: Networks | None


class Published(RecipeSettings, total=False):
    """Settings of published experiments: those of every recipe, and those of some."""

    temperature: float
    draws: int
    epochs: int
    patience: int
    batch: int
    rate: float


@check_arguments
def l2x(
    inputs: Inputs, classes: int, k: int, *, query: bool = False, temperature: float = 0.5, **settings: Unpack[RecipeSettings]
) -> TrainedExplainer:
    """Learning to explain: the k players that tell a surrogate most about the black box's answer (Chen et al., 2018).

    >>> l2x(Words(400, 5000), classes=2, k=10)
    l2x(Words, 400 players, k=10, relaxed top-10, temperature 0.5)
    """
    name = "l2x+answer" if query else "l2x"
    law = RelaxedTopK(check_k(k, inputs.n), temperature)
    return TrainedExplainer(name, inputs, classes, k, law, JointSchedule(), query=query, **defaults(inputs, k) | settings)


@check_arguments
def vibi(
    inputs: Inputs,
    classes: int,
    k: int,
    *,
    beta: float = 0.1,
    temperature: float = 0.5,
    draws: int = 1,
    **settings: Unpack[RecipeSettings],
) -> TrainedExplainer:
    """The variational information bottleneck: L2X with β nats charged for each nat of choice (Bang et al., 2021).

    A row's loss is the mean over `draws` masks; the published 12 cost twelve passes of the surrogate.

    >>> from accredit.learned import Tabular
    >>> vibi(Tabular(10), classes=2, k=3)
    vibi(Tabular, 10 players, k=3, relaxed top-3, temperature 0.5)
    """
    law = RelaxedTopK(check_k(k, inputs.n), temperature, whole("draws", draws))
    given: RecipeSettings = {**defaults(inputs, k), "target": "choices", "price": beta, **settings}
    return TrainedExplainer("vibi", inputs, classes, k, law, JointSchedule(), **given)


@check_arguments
def invase(
    inputs: Inputs, classes: int, k: int | None = None, *, penalty: float = 0.1, **settings: Unpack[RecipeSettings]
) -> TrainedExplainer:
    """Instance-wise selection by REINFORCE (Yoon et al., 2019): coins against a network that sees everything.

    With k, sets of exactly k are drawn instead, each against a second draw, and nothing is charged. Coins that are charged for
    the share they choose settle where the price says, not at k, and a surrogate that learned from them reads k players badly.

    >>> from accredit.learned import Tabular
    >>> invase(Tabular(10), classes=2, k=3)
    invase(Tabular, 10 players, k=3, drawn sets of 3, taught by reinforce)
    """
    if k is not None:
        law = DrawnTopK(check_k(k, inputs.n))
        return TrainedExplainer("invase", inputs, classes, k, law, JointSchedule(), **defaults(inputs, k) | settings)
    given: RecipeSettings = {**defaults(inputs, None), "price": penalty, **settings}
    return TrainedExplainer("invase", inputs, classes, None, Bernoulli("reinforce"), ReinforceSchedule(), **given)


@check_arguments
def realx(
    inputs: Inputs,
    classes: int,
    k: int | None = None,
    *,
    penalty: float = 0.1,
    gradient: str = "rebar",
    random_epochs: int | None = None,
    **settings: Unpack[RecipeSettings],
) -> TrainedExplainer:
    """The surrogate learns from fair coins first, so that it knows no code; then the selector (Jethani et al., 2021).

    >>> from accredit.learned import Tabular
    >>> realx(Tabular(10), classes=2, k=3)
    realx(Tabular, 10 players, k=3, a coin for every player, taught by rebar)
    """
    schedule = RandomFirstSchedule(random_epochs, Bernoulli(rate=0.5))
    given: RecipeSettings = {**defaults(inputs, None), "price": penalty, **settings}
    return TrainedExplainer("realx", inputs, classes, k, Bernoulli(gradient), schedule, **given)


@check_arguments
def l2x_pretrained(
    inputs: Inputs,
    classes: int,
    k: int,
    *,
    query: bool = False,
    temperature: float = 0.5,
    random_epochs: int | None = None,
    hard: bool = False,
    **settings: Unpack[RecipeSettings],
) -> TrainedExplainer:
    """L2X whose surrogate learns from random masks first, relaxed like its own or (`hard`) exact sets of k.

    >>> from accredit.learned import Tabular
    >>> l2x_pretrained(Tabular(10), classes=2, k=3)
    l2x+pretraining(Tabular, 10 players, k=3, relaxed top-3, temperature 0.5)
    """
    law = RelaxedTopK(check_k(k, inputs.n), temperature)
    schedule = RandomFirstSchedule(random_epochs, DrawnTopK(law.k) if hard else None)
    name = "l2x+answer+pretraining" if query else "l2x+pretraining"
    return TrainedExplainer(name, inputs, classes, k, law, schedule, query=query, **defaults(inputs, k) | settings)


@check_arguments
def l2x_weighted(
    inputs: Inputs,
    classes: int,
    k: int,
    *,
    query: bool = False,
    temperature: float = 0.5,
    steps: int | None = None,
    cap: float | None = None,
    weigh_selector: bool = False,
    learn_first: bool = False,
    **settings: Unpack[RecipeSettings],
) -> TrainedExplainer:
    """L2X whose surrogate learns from rows weighted by P(y)/P(y|m), its selector from unweighted ones.

    With `learn_first` P(y|m) learns from a batch before it weighs it, which makes weights too small where players are many.

    >>> from accredit.learned import Tabular
    >>> l2x_weighted(Tabular(10), classes=2, k=3)
    l2x+weighting(Tabular, 10 players, k=3, relaxed top-3, temperature 0.5)
    """
    pictures = isinstance(inputs, PixelGrid)
    schedule = WeightedSchedule(
        steps=steps or (2 if pictures else 5),
        cap=cap or (10.0 if pictures else 50.0),
        weigh_selector=weigh_selector,
        learn_first=learn_first,
    )
    law = RelaxedTopK(check_k(k, inputs.n), temperature)
    name = "l2x+answer+weighting" if query else "l2x+weighting"
    return TrainedExplainer(name, inputs, classes, k, law, schedule, query=query, **defaults(inputs, k) | settings)


RECIPES: dict[str, Callable[..., TrainedExplainer]] = {
    "l2x": l2x,
    "l2x+answer": partial(l2x, query=True),
    "vibi": vibi,
    "invase": invase,
    "realx": realx,
    "l2x+pretraining": partial(l2x_pretrained, query=False),
    "l2x+weighting": partial(l2x_weighted, query=False),
    "l2x+answer+pretraining": partial(l2x_pretrained, query=True),
    "l2x+answer+weighting": partial(l2x_weighted, query=True),
}


COINS = ("invase", "realx")  # each player has a coin of its own, so that k may be left out


@check_arguments
def recipe(
    name: str, inputs: Inputs, classes: int, k: int | None = None, *, preset: str | None = None, **settings: object
) -> TrainedExplainer | CXPlain:
    """The recipe of that name; coins (invase, realx) need no k. With `preset="paper"` what is not set is as published.

    >>> recipe("vibi", PixelGrid((28, 28), block=4), 2, 4).price
    0.1
    >>> recipe("invase", PixelGrid((28, 28)), 2, preset="paper").training.rate
    0.0001
    """
    if name not in (*RECIPES, "cxplain"):
        raise InvalidInput(
            f"recipe {name!r} is unknown; known are {', '.join(RECIPES)}, cxplain", argument="name", code="unknown"
        )
    if preset not in (None, "paper"):
        raise InvalidInput(f"preset is {preset!r}; write 'paper', or leave it out", argument="preset", code="unknown")
    if k is None and name not in COINS:
        raise InvalidInput(
            f"k is missing; {name} chooses a fixed number of players: recipe({name!r}, inputs, {classes}, k)",
            argument="k",
            code="missing",
        )
    given = {**(paper_settings(name, inputs) if preset else {}), **settings}
    if name == "cxplain":
        assert k is not None
        made: Callable[..., CXPlain] = CXPlain
        return made(inputs, k, **given)
    return RECIPES[name](inputs, classes, k, **given)


def paper_settings(name: str, inputs: Inputs) -> Published:
    """Settings of the published experiments, where they differ from the defaults; docs/learned.md lists the differences."""
    words, pictures = isinstance(inputs, Words), isinstance(inputs, PixelGrid)
    if name == "cxplain":
        return {"rate": 1e-4, "epochs": 100, "patience": 12, "batch": 64}
    if name == "invase":
        return {"training": Training(epochs=1000, batch=1000, rate=1e-4, optimiser="adam", weight_decay=1e-3, patience=1000)}
    if name == "realx":
        return {"training": Training(epochs=500, batch=1000, rate=1e-4, optimiser="adam", weight_decay=1e-3, patience=500)}
    if name == "vibi":
        training = Training(epochs=100, batch=50, rate=1e-4, optimiser="adam", patience=100, averaging=0.999)
        return {"draws": 12, "training": training}
    if words:
        return {"training": Training(epochs=5, batch=40, rate=1e-3, optimiser="rmsprop", patience=5)}
    if pictures:
        return {"training": Training(epochs=10, batch=128, rate=1e-3, optimiser="adam", patience=10)}
    return {"temperature": 0.1, "training": Training(epochs=1, batch=1000, rate=1e-3, optimiser="adam", weight_decay=1e-3)}


def defaults(inputs: Inputs, k: int | None) -> RecipeSettings:
    """Optimiser, epochs and sizes for a kind of input; a bag of words is divided by k where k is fixed."""
    if isinstance(inputs, Words):
        return {"training": Training(epochs=5, batch=40, optimiser="rmsprop"), "count": None if k is None else float(k)}
    if isinstance(inputs, PixelGrid):
        return {"training": Training(epochs=10, batch=128, optimiser="adam"), "surrogate_width": 16}
    return {"training": Training(epochs=10, batch=256, optimiser="adam")}
