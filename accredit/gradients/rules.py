r"""Relevance through a network, operation by operation: the rules of AttnLRP (Achtibat et al., 2024) on the graph of autograd.

Every tensor $a$ carries relevance $R = a \odot g$. With $g$ the slope of the payoff this is input × gradient; the rules change
$g$ on its way down, and nothing else:

| operation | rule | what happens to $g$ |
|---|---|---|
| linear maps, sums, views | ε-rule, ε → 0 | it is the slope; what a bias adds keeps its share |
| softmax, and the payoff's logarithms | Taylor, at the input | it is the slope; the constant term keeps its share |
| product of two activations | uniform: one half each | the slope, halved |
| activation function $y = f(x)$ | identity | $g\,y / x$ instead of $g\,f'(x)$ |
| LayerNorm, RMSNorm | identity: the scale is a constant | the slope with that constant |

The forward pass is the model's own. No division by an activation is needed, except by the input of an activation function,
where $f(x)/x$ is bounded. An operation without a rule is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from accredit.errors import InvalidInput

Node = Any  # torch.autograd.graph.Node, whose saved tensors have no types
Grads = tuple[torch.Tensor | None, ...]

_LINEAR = (
    "Add Sub Neg Clone Copy ToCopy Alias Expand View UnsafeView ReshapeAlias Reshape Transpose T Permute Select Slice Split "
    "SplitWithSizes Rsub Unbind Unsqueeze Squeeze Stack Cat Repeat Roll Narrow Index IndexSelect Gather MaskedFill Where "
    "ConstantPadNd Mean Sum Convolution Im2Col FftC2C FftR2C ViewAsReal Real Relu Amax Max Flip Tril Triu Unfold IdentityRule "
    "AvgPool2D AdaptiveAvgPool2D MaxPool2DWithIndices NativeBatchNorm"
)
LINEAR = frozenset(_LINEAR.split())
BY_SLOPE = frozenset(["Softmax", "LogSoftmax", "Logsumexp", "Logaddexp", "Log", "Exp"])
PRODUCTS = {
    "Mul": (0, 1),
    "Mm": (0, 1),
    "Bmm": (0, 1),
    "Mv": (0, 1),
    "Dot": (0, 1),
    "Linear": (0, 1),
    "Addmm": (1, 2),
    "Baddbmm": (1, 2),
}
SCALES = frozenset(["Rsqrt", "Sqrt", "LinalgVectorNorm", "Norm", "Std"])
BOUNDS = frozenset(["Clamp", "ClampMin"])  # only of a scale
INPUT = "torch::autograd::AccumulateGrad"
ACTIVATIONS = frozenset((torch.tanh, torch.Tensor.tanh, F.tanh, F.gelu, F.silu, F.elu, F.leaky_relu, F.hardtanh, F.mish))


class Context(Protocol):
    """What an operation of autograd keeps from its forward pass for its backward pass."""

    saved_tensors: tuple[torch.Tensor, ...]

    def save_for_backward(self, *tensors: torch.Tensor) -> None: ...


class IdentityRule(torch.autograd.Function):
    """y = f(x) whose relevance passes unchanged: the slope is replaced by y / x."""

    @staticmethod
    def forward(ctx: Context, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(torch.where(x == 0, 0.0, y / torch.where(x == 0, 1.0, x)))
        return y.clone()

    @staticmethod
    def backward(ctx: Context, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        return grads[0] * ctx.saved_tensors[0], None


class _Activations(TorchFunctionMode):
    """Inside, activation functions follow the identity rule."""

    def __torch_function__(
        self,
        func: Callable[..., torch.Tensor],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> torch.Tensor:
        kwargs = kwargs or {}
        y = func(*args, **kwargs)
        if func in ACTIVATIONS and y.requires_grad:
            y = IdentityRule.apply(args[0] if args else kwargs["input"], y.detach())  # type: ignore[no-untyped-call]
        return y


@contextmanager
def identity_activations(module: torch.nn.Module) -> Iterator[None]:
    """Activation functions inside follow the identity rule, called as functions or as modules made of several operations."""

    def pass_on(_part: torch.nn.Module, given: tuple[torch.Tensor, ...], y: torch.Tensor) -> torch.Tensor:
        return IdentityRule.apply(given[0], y.detach()) if y.requires_grad else y  # type: ignore[no-untyped-call]

    with ExitStack() as stack:
        for part in module.modules():
            if _activates(part):
                stack.callback(part.register_forward_hook(pass_on).remove)
        stack.enter_context(_Activations())
        yield


def _activates(part: torch.nn.Module) -> bool:
    """Whether a module is an activation function of its own, such as GPT-2's approximate GELU."""
    own = type(part).__module__ == "transformers.activations" or "gelu" in type(part).__name__.lower()
    return own and not any(True for _ in part.parameters())


def relevance(worth: torch.Tensor, here: torch.Tensor, name: str) -> torch.Tensor:
    """Relevance of every coordinate of `here` for a payoff computed from it inside `identity_activations`."""
    if worth.grad_fn is None:
        return torch.zeros_like(here)
    live = _live(worth.grad_fn, name)
    for node in live:
        if (rule := _rule(node, live, name)) is not None:
            node.register_hook(rule)
    (slope,) = torch.autograd.grad(worth, here, allow_unused=True, materialize_grads=True)
    return (here * slope).detach()


def _live(root: Node, name: str) -> dict[Node, bool]:
    """The operations between payoff and input, and whether relevance passes through each: a scale is a constant."""
    live: dict[Node, bool] = {}
    todo: list[tuple[Node, bool]] = [(root, False)]
    while todo:
        node, seen = todo.pop()
        below = [] if _is_scale(node) else [each for each, _ in node.next_functions if each is not None]
        if seen:
            live[node] = node.name() == INPUT or any(live[each] for each in below)
        elif node not in live:
            _check(node, name)
            todo.append((node, True))
            todo += [(each, False) for each in below if each not in live]
    return live


def _operation(node: Node) -> str:
    """What a node of the graph undoes: "Mul" for MulBackward0."""
    return str(node.name()).rstrip("0123456789").removesuffix("Backward")


def _is_scale(node: Node) -> bool:
    return _operation(node) in SCALES or (node.name() == "PowBackward0" and node._saved_exponent <= 0)


def _check(node: Node, name: str) -> None:
    known = LINEAR | BY_SLOPE | SCALES | BOUNDS | PRODUCTS.keys() | {"Div", "NativeLayerNorm"}
    if node.name() in (INPUT, "PowBackward0") or _operation(node) in known:
        return
    if "Compiled" in node.name():
        raise InvalidInput(
            f"{name} was compiled, which hides its operations; give the model as it was before torch.compile",
            argument="model",
            code="unsupported",
        )
    raise _without_a_rule(node, name)


def _without_a_rule(node: Node, name: str) -> InvalidInput:
    return InvalidInput(
        f"{name} uses {node.name()}, for which AttnLRP has no rule; use integrated-gradients or a game such as shapley",
        code="unsupported",
    )


def _rule(node: Node, live: dict[Node, bool], name: str) -> Callable[[Grads, Grads], Grads] | None:
    """What is done to the slopes that leave a node, if anything."""
    kind = _operation(node)
    if _is_scale(node):
        return lambda below, above: tuple(None if g is None else torch.zeros_like(g) for g in below)
    if kind == "NativeLayerNorm":
        return _layer_norm(node)
    if kind == "Pow":  # xⁿ is a product of n equals
        return lambda below, above: tuple(None if g is None else g / node._saved_exponent for g in below)
    if kind in BOUNDS and live[node]:
        raise _without_a_rule(node, name)
    if kind not in PRODUCTS and kind != "Div":
        return None
    edges = [each for each, _ in node.next_functions]
    playing = [i for i in PRODUCTS.get(kind, (0, 1)) if edges[i] is not None and live[edges[i]]]
    if kind == "Div" and 1 in playing:
        raise _without_a_rule(node, name)
    return (lambda below, above: _halve(below, playing)) if len(playing) == 2 else None


def _halve(below: Grads, which: list[int]) -> Grads:
    return tuple(g / 2 if g is not None and i in which else g for i, g in enumerate(below))


def _layer_norm(node: Node) -> Callable[[Grads, Grads], Grads]:
    scale, weight = node._saved_result2, node._saved_weight
    axes = tuple(range(-len(node._saved_normalized_shape), 0))

    def hold_scale(below: Grads, above: Grads) -> Grads:
        assert above[0] is not None
        slope = above[0] * scale if weight is None else above[0] * weight * scale
        return (slope - slope.mean(dim=axes, keepdim=True), *below[1:])

    return hold_scale
