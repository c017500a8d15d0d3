"""Players inside a model: layers, attention heads, feed-forward parts, neurons, or channels of a picture model.

Who plays does what the model does. Who does not play passes on something that says nothing about this input: zero, its mean
over other inputs, what it was on each of them in turn ("resample"), or what it was on one other input ("patch", as in
activation patching from a corrupted prompt). `component_game` makes the game; every solver of games gives values and intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, cast, final, get_args

import numpy as np
import torch

from accredit import defaults
from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import whole_number
from accredit.core import Attribution, BoolArray, FloatArray, Procedure
from accredit.core.rounding import blur
from accredit.errors import InvalidInput
from accredit.games.batches import spans
from accredit.models.blocks import blocks_of
from accredit.models.payoffs import Payoff, check_payoff, name_payoff, payoff_blur, payoff_of
from accredit.models.state import device_of, precision_of_module, still
from accredit.models.text import TextModel, TokenBatch

INPUTS_PER_PASS = 64  # coalitions of one pass
PROJECTIONS = ("output.dense", "out_proj", "o_proj", "c_proj", "out_lin", "wo")  # of attention, as families call them
KINDS = "'heads', 'mlps', 'layers', 'neurons:K' of layer K, 'channels:PATH', or several with + between them"
Removal = Literal["zero", "mean", "resample", "patch"]
Tensors = Mapping[str, torch.Tensor]
Score = Callable[[Any], torch.Tensor]  # what the model returned -> one number per input: (batch,)
Act = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True, eq=False)
class Site:
    """Where some players are: what a module reads or writes, or what a layer adds, cut into equal pieces along one axis."""

    names: tuple[str, ...]  # of the pieces
    module: torch.nn.Module
    end: Literal["reads", "writes", "adds"]
    axis: int = -1

    def hook(self, act: Act) -> torch.utils.hooks.RemovableHandle:
        """Put something else in its place: `act` gets the activity and returns what is passed on."""
        if self.end == "reads":
            return self.module.register_forward_pre_hook(lambda _, args: (act(args[0]), *args[1:]))

        def after(_: torch.nn.Module, args: tuple[torch.Tensor, ...], kwargs: dict[str, torch.Tensor], output: Any) -> Any:
            made = output[0] if isinstance(output, tuple) else output
            given = (args[0] if args else kwargs["hidden_states"]) if self.end == "adds" else torch.zeros((), dtype=made.dtype)
            passed = given + act(made - given) if self.end == "adds" else act(made)
            return (passed, *output[1:]) if isinstance(output, tuple) else passed

        return self.module.register_forward_hook(after, with_kwargs=True)

    def spread(self, plays: torch.Tensor, activity: torch.Tensor) -> torch.Tensor:
        """A number per piece as a number per activity: (batch, pieces) -> a shape that meets that of the activity."""
        axis = self.axis % activity.ndim
        wide = plays.repeat_interleave(activity.shape[axis] // len(self.names), dim=1)
        shape = [1] * activity.ndim
        shape[0], shape[axis] = len(plays), activity.shape[axis]
        return wide.reshape(shape)


class Pays(Protocol):
    """A model and one input: what it is paid, and what it is paid for other inputs."""

    def pay(self, rows: int) -> torch.Tensor:
        """The payoff of `rows` copies of the input, as the model is at this moment: (rows,)."""
        ...

    def read_other(self) -> None:
        """Run the model on the other inputs, for their activities."""
        ...

    def hold(self) -> Any: ...
    def blur(self) -> float: ...
    @property
    def provenance(self) -> dict[str, object]: ...


@final
class ComponentGame:
    """v(S) = what the model is paid for one input when only the parts of S do what they do. See `component_game`.

    >>> import torch
    >>> from accredit.models.builtin.circuit import load_circuit
    >>> ids = torch.tensor([[0, 3, 7, 1, 5, 3]])
    >>> game = component_game(load_circuit(), ids, "layers", payoff=lambda logits: logits[:, -1, 7])
    >>> game.payoff(np.array([[True, False], [True, True]])).round(6)
    array([0., 1.])
    """

    def __init__(self, pays: Pays, model: torch.nn.Module, sites: Sequence[Site], removal: Removal) -> None:
        self.pays, self.model, self.sites, self.removal = pays, model, tuple(sites), removal
        self._donors = self._read_donors()

    @property
    def players(self) -> tuple[str, ...]:
        return tuple(name for site in self.sites for name in site.names)

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        earned = np.empty(len(coalitions))
        with self.pays.hold(), torch.inference_mode():
            for part in spans(len(coalitions), INPUTS_PER_PASS):
                plays = torch.from_numpy(np.ascontiguousarray(coalitions[part])).to(device_of(self.model))
                paid = [self._pay(plays, donor).double().cpu() for donor in self._donors]
                earned[part] = torch.stack(paid).mean(dim=0).numpy()
        return earned

    def slopes(self, steps: int = 1) -> FloatArray:
        """How much the payoff changes with each player's presence, from full presence (one step) or along the way there."""
        found = np.zeros(len(self.players))
        with self.pays.hold():
            for donor in self._donors:
                for step in range(steps):
                    share = 1.0 if steps == 1 else (step + 0.5) / steps
                    kind = next((p.dtype for p in self.model.parameters() if p.is_floating_point()), torch.float32)
                    plays = torch.full((1, len(found)), share, dtype=kind, device=device_of(self.model), requires_grad=True)
                    (slope,) = torch.autograd.grad(self._pay(plays, donor).sum(), plays)
                    found += slope[0].double().cpu().numpy() / (steps * len(self._donors))
        return found

    @cached_property
    def blur(self) -> float:
        """How far rounding may move a payoff (`accredit.core.rounding`)."""
        return self.pays.blur()

    @property
    def provenance(self) -> dict[str, object]:
        """What the payoffs rest on."""
        return self.pays.provenance | {"removal": self.removal}

    def _pay(self, plays: torch.Tensor, donor: Sequence[torch.Tensor | None]) -> torch.Tensor:
        """One payoff per row of `plays`, whole presence and absence or shares of it: (batch, players) -> (batch,)."""
        with ExitStack() as stack:
            first = 0
            for site, instead in zip(self.sites, donor, strict=True):
                own = plays[:, first : first + len(site.names)]
                stack.callback(site.hook(_mixing(site, own, instead)).remove)
                first += len(site.names)
            return self.pays.pay(len(plays))

    def _read_donors(self) -> list[list[torch.Tensor | None]]:
        """What absent players pass on, site by site: None is zero. Several, where the payoff is a mean over them."""
        if self.removal == "zero":
            return [[None for _ in self.sites]]
        kept: dict[int, torch.Tensor] = {}
        with self.pays.hold(), torch.inference_mode(), ExitStack() as stack:
            for place, site in enumerate(self.sites):

                def keep(activity: torch.Tensor, place: int = place) -> torch.Tensor:
                    kept[place] = activity.clone()
                    return activity

                stack.callback(site.hook(keep).remove)
            self.pays.read_other()
        others = len(kept[0])
        if self.removal == "patch" and others != 1:
            raise InvalidInput(
                f"removal='patch' takes activities from one input, and other holds {others}; give one, or removal='resample'",
                argument="other",
                code="conflict",
            )
        if self.removal == "mean":
            return [[kept[place].mean(dim=0, keepdim=True).clone() for place in range(len(self.sites))]]
        return [[kept[place][k : k + 1].clone() for place in range(len(self.sites))] for k in range(others)]


def _mixing(site: Site, plays: torch.Tensor, instead: torch.Tensor | None) -> Act:
    """What is passed on: the activity of those who play, something else for the others."""

    def act(activity: torch.Tensor) -> torch.Tensor:
        other = torch.zeros_like(activity[:1]) if instead is None else instead
        if other.shape[1:] != activity.shape[1:]:
            raise InvalidInput(
                f"other inputs make activities of shape {tuple(other.shape[1:])} in {site.names[0]}, and this one "
                f"{tuple(activity.shape[1:])}; give inputs of equal length",
                argument="other",
                code="shape",
            )
        wide = site.spread(plays, activity)
        if wide.dtype == torch.bool:
            return torch.where(wide, activity, other)
        return other + wide.to(activity.dtype) * (activity - other)

    return act


def component_game(
    model: TextModel | torch.nn.Module,
    inputs: str | Tensors | torch.Tensor,
    players: str = "heads",
    *,
    payoff: Payoff | Score | None = None,
    target: str | int | None = None,
    removal: Removal = "zero",
    other: str | Sequence[str] | Tensors | torch.Tensor | None = None,
) -> ComponentGame:
    """The game in which parts of a model earn its output for one input: heads, feed-forward parts, layers, neurons, channels.

    `model` is a classifier with its tokenizer (`load_text_model`) and `inputs` a text, with `payoff` and `target` as in
    `text_game`; or `model` is any torch module and `inputs` what it is called with, one input, with `payoff` a function of
    what it returns: `lambda out: out.logits[:, -1, yes] - out.logits[:, -1, no]`. `removal` says what absent parts pass on:
    "zero"; or from `other`, inputs of the same shape, "mean", "resample" (the payoff is the mean over them) or "patch" (one
    corrupted input).

    >>> from accredit.models import builtin, load_text_model
    >>> component_game(load_text_model(builtin.text_folder()), "A dull film.", "layers").players
    ('layer 0', 'layer 1', 'layer 2', 'layer 3')
    """
    if removal not in get_args(Removal):
        raise InvalidInput(f"removal is {removal!r}; write zero, mean, resample or patch", argument="removal", code="unknown")
    if (removal == "zero") != (other is None):
        if other is None:
            raise InvalidInput(f"removal={removal!r} takes activities from other; give it", argument="other", code="missing")
        raise InvalidInput(
            "other is not used by removal='zero'; write mean, resample or patch", argument="removal", code="conflict"
        )
    if isinstance(model, TextModel):
        return ComponentGame(_Text(model, inputs, payoff, target, other), model.model, sites_of(model.model, players), removal)
    if not callable(payoff):
        raise InvalidInput(
            "payoff is missing; give a function of what the model returns: lambda out: out.logits[:, -1, token]",
            argument="payoff",
            code="missing",
        )
    return ComponentGame(_Module(model, inputs, cast(Score, payoff), other), model, sites_of(model, players), removal)


@check_arguments
def attribution_patching(game: ComponentGame, steps: int = 1) -> Attribution:
    """A first look from a few passes: gradient × difference of activity, at full presence or averaged on the way there.

    With one step a first-order guess of what leaving each part out would change (Nanda, 2023); with more, of the Aumann–Shapley
    value of the game in which parts may be present by shares. Scores without a claim or an error: hold them to values.

    >>> from accredit.models import builtin, load_text_model
    >>> game = component_game(load_text_model(builtin.text_folder()), "A dull film.", "layers")
    >>> attribution_patching(game).total is None  # scores
    True
    """
    steps = whole_number(steps, "steps", 1)
    method = Procedure("attribution patching", settings={"steps": steps})
    return Attribution(game.players, game.slopes(steps), None, method, provenance=game.provenance)


@dataclass(frozen=True, eq=False)
class _Module:
    """Any torch module, one input and a function of what it returns."""

    model: torch.nn.Module
    inputs: Any
    score: Score
    other: Any

    @property
    def name(self) -> str:
        return type(self.model).__name__

    def pay(self, rows: int) -> torch.Tensor:
        paid = self.score(self._run(self.inputs, rows))
        if not isinstance(paid, torch.Tensor) or paid.shape != (rows,):
            shape = tuple(paid.shape) if isinstance(paid, torch.Tensor) else type(paid).__name__
            raise InvalidInput(
                f"payoff returned {shape} for {rows} inputs; one number for each was expected", argument="payoff", code="shape"
            )
        return paid

    def read_other(self) -> None:
        self._run(self.other)

    def _run(self, inputs: Any, rows: int | None = None) -> Any:
        def several(values: torch.Tensor) -> torch.Tensor:
            if rows is not None and len(values) != 1:
                raise InvalidInput(
                    f"inputs holds {len(values)} inputs; give one, of shape (1, …)", argument="inputs", code="shape"
                )
            return values if rows is None else values.expand(rows, *values.shape[1:])

        if isinstance(inputs, torch.Tensor):
            return self.model(several(inputs))
        return self.model(**{name: several(values) for name, values in dict(inputs).items()})

    @contextmanager
    def hold(self) -> Iterator[None]:
        with still(self.model):
            yield

    def blur(self) -> float:
        with self.hold(), torch.inference_mode():
            return blur(float(self.pay(1)), precision_of_module(self.model))

    @property
    def provenance(self) -> dict[str, object]:
        return {"model": self.name}


class _Text:
    """A classifier and a text."""

    def __init__(self, model: TextModel, text: Any, payoff: Any, target: str | int | None, other: Any) -> None:
        self.model, self.text, self.name = model, text, model.name
        self._payoff: Payoff = payoff or defaults.payoff(model.law)
        check_payoff(self._payoff, model.law, model.classes)
        self.encoded = model.encode(text)
        self.target = model.target(target, self.encoded)
        self._others = [model.encode(one) for one in ([other] if isinstance(other, str) else other or ())]

    def pay(self, rows: int) -> torch.Tensor:
        return payoff_of(self.model.outputs(self._batch([self.encoded] * rows)), self.target, self._payoff, self.model.law)

    def read_other(self) -> None:
        lengths = {len(one.ids) for one in self._others}
        if lengths != {len(self.encoded.ids)}:
            raise InvalidInput(
                f"other has texts of {sorted(lengths)} tokens, and this one has {len(self.encoded.ids)}; "
                "activities are exchanged place by place, so give texts of equal length",
                argument="other",
                code="shape",
            )
        self.model.outputs(self._batch(self._others))

    def _batch(self, encoded: Sequence[Any]) -> TokenBatch:
        device, rows = device_of(self.model.model), len(encoded)
        ids = torch.from_numpy(np.stack([one.ids for one in encoded])).to(device)
        everywhere = torch.ones(ids.shape, dtype=torch.int64, device=device)
        prefix, one = torch.from_numpy(encoded[0].prefix).to(device), encoded[0]
        return TokenBatch(ids, None, everywhere, self.model.read(one, rows), prefix, self.model.types(one))

    def hold(self) -> Any:
        return self.model.hold()

    def blur(self) -> float:
        outputs = self.model.predict(self.encoded)[None]
        return payoff_blur(outputs, self._payoff, self.model.law, self.model.precision)

    @property
    def provenance(self) -> dict[str, object]:
        return {
            "model": self.name,
            "text": self.text,
            "target": self.model.label(self.target),
            "payoff": name_payoff(self._payoff),
        }


def sites_of(model: torch.nn.Module, players: str) -> list[Site]:
    """Where the players are, one site per module that has some."""
    found = [site for kind in str(players).split("+") for site in _of_kind(model, kind.strip())]
    names = [name for site in found for name in site.names]
    if len(set(names)) != len(names):
        raise InvalidInput(f"players is {players!r}, which names some parts twice", argument="players", code="duplicate")
    return found


def _of_kind(model: torch.nn.Module, players: str) -> list[Site]:
    what, _, which = players.partition(":")
    if what == "channels" and which:
        return [_channels(model, which)]
    blocks, name = blocks_of(model), type(model).__name__
    if not blocks:
        raise InvalidInput(
            f"the layers of {name} cannot be found; they must be a ModuleList of config.num_hidden_layers equal ones",
            argument="model",
            code="unsupported",
        )
    if players == "layers":
        return [Site((f"layer {k}",), block, "adds") for k, block in enumerate(blocks)]
    if players == "mlps":
        return [Site((f"mlp {k}",), _feed_forward(block, model), "writes") for k, block in enumerate(blocks)]
    if players == "heads":
        count = int(_config(model).num_attention_heads)
        return [
            Site(tuple(f"head {k}.{h}" for h in range(count)), _projection(block, name), "reads")
            for k, block in enumerate(blocks)
        ]
    if what == "neurons" and which.isdecimal() and int(which) < len(blocks):
        narrow = _narrowing(blocks[int(which)], int(_config(model).hidden_size), name)
        return [Site(tuple(f"neuron {which}.{j}" for j in range(narrow.in_features)), narrow, "reads")]
    raise InvalidInput(
        f"players is {players!r:.40}; write {KINDS}; layers are numbered from 0 to {len(blocks) - 1}",
        argument="players",
        code="unknown",
    )


def _config(model: torch.nn.Module) -> Any:
    config: Any = model.config
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def _channels(model: torch.nn.Module, path: str) -> Site:
    """The channels that a convolution writes."""
    part = dict(model.named_modules()).get(path)
    count = getattr(part, "out_channels", None)
    if part is None or count is None:
        raise InvalidInput(
            f"{path!r} is not a convolution of {type(model).__name__}; see model.named_modules()",
            argument="players",
            code="unknown",
        )
    return Site(tuple(f"channel {path}.{c}" for c in range(int(count))), part, "writes", axis=1)


def _projection(block: torch.nn.Module, name: str) -> torch.nn.Module:
    """Where the heads of a layer are put together."""
    attending = [(path, part) for path, part in block.named_modules() if "att" in path.lower()]
    found: torch.nn.Module | None = next((part for path, part in attending if path.endswith(PROJECTIONS)), None)
    if found is None:
        raise InvalidInput(
            f"the heads of {name} cannot be told apart; use players='layers'", argument="players", code="unsupported"
        )
    return found


def _feed_forward(block: torch.nn.Module, model: torch.nn.Module) -> torch.nn.Module:
    """The feed-forward part of a layer: a part of that name, or the linear map at its end."""
    named = next((part for path, part in block.named_children() if path in ("mlp", "ffn", "feed_forward")), None)
    return named or _narrowing(block, int(_config(model).hidden_size), type(model).__name__)


def _narrowing(block: torch.nn.Module, hidden: int, name: str) -> torch.nn.Linear:
    """The second half of the feed-forward part: it reads the neurons."""
    linear = [part for part in block.modules() if isinstance(part, torch.nn.Linear)]
    found = next((part for part in linear if part.out_features == hidden and part.in_features > hidden), None)
    if found is None:
        raise InvalidInput(
            f"the neurons of {name} cannot be found; use players='layers'", argument="players", code="unsupported"
        )
    return found
