r"""Finite differences passed through a network, operation by operation: the multipliers of DeepLIFT (Shrikumar et al., 2017).

The network reads two rows, a baseline and an input. Every operation hands the difference of its outputs down to its inputs, all
of it, by a multiplier that takes the place of the slope:

| operation | multiplier |
|---|---|
| linear maps, sums, views | the slope |
| function of one number, $y = f(x)$: activations, powers | $\Delta y / \Delta x$; the slope where $\Delta x = 0$ (Rescale) |
| product of two activations | the mean of the other one over both rows: $\Delta(ab) = \bar a\,\Delta b + \bar b\,\Delta a$ |
| function of a row (softmax, log-softmax, LayerNorm, RMSNorm) | mean derivatives on the line between the two rows |

The first three are that mean, too: one rule for all. (Taking a softmax or a norm apart into exponentials and quotients would
also add up, but its multipliers of both signs grow without bound.)

So the products of multipliers and differences at the inputs sum to the difference of the payoff, to rounding. An operation that
is not in the table keeps its slope, which breaks the sum; whoever uses this looks at the gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any, Protocol

import numpy as np
import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from accredit.core import FloatArray
from accredit.gradients.rules import Context

NUMBERS_PER_PASS = 1 << 22  # numbers of one pass over the line between two rows
NODES = 32  # at which derivatives of a row are taken
NEAR_SHARE = 1e-6  # of the larger number: differences below are rounding, and the slope is taken
T = torch.Tensor
ONE_NUMBER = frozenset((
    F.gelu, F.silu, F.relu, F.elu, F.leaky_relu, F.hardtanh, F.mish, F.softplus, F.sigmoid, F.tanh, F.logsigmoid, F.hardswish,
    torch.tanh, T.tanh, torch.sigmoid, T.sigmoid, torch.relu, T.relu, torch.exp, T.exp, torch.log, T.log, torch.log1p, T.log1p,
    torch.expm1, T.expm1, torch.rsqrt, T.rsqrt, torch.sqrt, T.sqrt, torch.reciprocal, T.reciprocal, torch.square, T.square,
    torch.abs, T.abs, T.clamp, torch.clamp, torch.erf, T.erf, torch.sin, torch.cos, T.sin, T.cos,
))  # fmt: skip
POWERS = frozenset((torch.pow, T.pow, T.__pow__, T.__rtruediv__))
PRODUCTS: dict[object, Callable[[T, T], T]] = {
    **dict.fromkeys((torch.mul, T.mul, T.__mul__, T.__rmul__, torch.multiply, T.multiply), torch.mul),
    **dict.fromkeys((torch.matmul, T.matmul, T.__matmul__, torch.bmm, T.bmm), torch.matmul),
}
ONE_ROW = frozenset(
    (
        F.softmax,
        torch.softmax,
        T.softmax,
        F.log_softmax,
        torch.log_softmax,
        T.log_softmax,
        torch.logsumexp,
        T.logsumexp,
        F.layer_norm,
        F.rms_norm,
    )
)
QUOTIENTS = frozenset((torch.div, T.div, T.__truediv__, torch.true_divide, T.true_divide))


class _Rescale(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Context, x: T, y: T, slope: T) -> T:
        (x0, x1), (y0, y1) = x, y
        far = (x1 - x0).abs() > NEAR_SHARE * torch.maximum(x0.abs(), x1.abs())
        rise = torch.where(far, (y1 - y0) / torch.where(far, x1 - x0, 1.0), slope.mean(dim=0))
        ctx.save_for_backward(rise)
        return y.clone()

    @staticmethod
    def backward(ctx: Context, *grads: T) -> tuple[T | None, ...]:
        return grads[0] * ctx.saved_tensors[0], None, None


class WithProduct(Context, Protocol):
    product: Callable[[T, T], T]


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: WithProduct, a: T, b: T, product: Callable[[T, T], T]) -> T:
        ctx.save_for_backward(a, b)
        ctx.product = product
        return product(a, b)

    @staticmethod
    def backward(ctx: WithProduct, *grads: T) -> tuple[T | None, ...]:
        a, b = (x.detach().mean(dim=0, keepdim=True).expand_as(x).requires_grad_(True) for x in ctx.saved_tensors)
        with torch.enable_grad():
            return (*torch.autograd.grad(ctx.product(a, b), (a, b), grads[0]), None)


class WithFunction(Context, Protocol):
    f: Callable[[T], T]


class _Averaged(torch.autograd.Function):
    @staticmethod
    def forward(ctx: WithFunction, x: T, f: Callable[[T], T]) -> T:
        ctx.save_for_backward(x)
        ctx.f = f
        return f(x)

    @staticmethod
    def backward(ctx: WithFunction, *grads: T) -> tuple[T | None, ...]:
        (x,) = ctx.saved_tensors
        share, weight = (torch.as_tensor(each).to(x) for each in _nodes())
        rows, by = max(1, NUMBERS_PER_PASS // x[0].numel()), torch.zeros_like(x[:1])
        for some, weights in zip(torch.split(share, rows), torch.split(weight, rows), strict=True):
            by += _pull(ctx.f, x[:1] + _along(some, x) * (x[1:] - x[:1]), weights, grads[0][1:])
        return by.expand_as(x), None


def _pull(f: Callable[[T], T], line: T, weight: T, grad: T) -> T:
    """A weighted sum of derivatives at some places, applied to what comes from above: (1, …)."""
    with torch.enable_grad():
        here = line.detach().requires_grad_(True)
        y = f(here)
        (found,) = torch.autograd.grad(y, here, _along(weight.to(y), y) * grad)
    return found.sum(dim=0, keepdim=True)


def _along(numbers: T, like: T) -> T:
    """One number per row, in as many dimensions as another tensor has."""
    return numbers.reshape(-1, *(1 for _ in like.shape[1:]))


@cache
def _nodes() -> tuple[FloatArray, FloatArray]:
    """Gauss–Legendre places and weights on (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return (nodes + 1) / 2, weights / 2


def rescale(f: Callable[[T], T], x: T) -> T:
    """y = f(x), number by number, whose multiplier is Δy/Δx."""
    with torch.enable_grad():
        here = x.detach().requires_grad_(True)
        y = f(here)
        (slope,) = torch.autograd.grad(y.sum(), here)
    found: T = _Rescale.apply(x, y.detach(), slope)  # type: ignore[no-untyped-call]
    return found


def multiply(a: T, b: T, product: Callable[[T, T], T] = torch.mul) -> T:
    """A product of two activations; of one and a constant, it is linear. Rows of a tensor without a batch are the same."""
    if not (a.requires_grad and b.requires_grad):
        return product(a, b)
    found: T = _Product.apply(a, b, product)  # type: ignore[no-untyped-call]
    return found


def average(f: Callable[[T], T], x: T) -> T:
    """y = f(x), row by row, whose multiplier is the mean of its derivatives on the line between the two rows."""
    found: T = _Averaged.apply(x, f)  # type: ignore[no-untyped-call]
    return found


def _top(x: T, dim: int) -> T:
    """The largest number of both rows together, a constant that a sum of exponentials may be divided by."""
    return x.detach().amax(dim=dim, keepdim=True).amax(dim=0, keepdim=True).expand(len(x), *(-1 for _ in x.shape[1:]))


def _dim(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    return int(kwargs["dim"] if "dim" in kwargs else args[1] if len(args) > 1 else -1)


@contextmanager
def multipliers(module: torch.nn.Module) -> Iterator[None]:
    """Inside, operations on two rows (a baseline, an input) are differentiated by multipliers instead of slopes."""

    def average_norm(part: torch.nn.Module, given: tuple[T, ...], y: T) -> T:
        return average(type(part).forward.__get__(part), given[0]) if y.requires_grad else y

    with ExitStack() as stack:
        for part in module.modules():
            if type(part).__name__.endswith(("RMSNorm", "T5LayerNorm")):  # made of several operations
                stack.callback(part.register_forward_hook(average_norm).remove)
        stack.enter_context(Multipliers())
        yield


class Multipliers(TorchFunctionMode):
    """Inside, operations on two rows (a baseline, an input) are differentiated by multipliers instead of slopes."""

    def __torch_function__(
        self,
        func: Callable[..., T],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> T:
        kwargs = kwargs or {}
        x = (*args, kwargs.get("input"))[0]
        if not torch.is_grad_enabled() or not any(isinstance(a, T) and a.requires_grad for a in (*args, *kwargs.values())):
            return func(*args, **kwargs)
        if func in PRODUCTS or func in QUOTIENTS:
            return self._two(func, args, kwargs)
        if func in ONE_NUMBER or (func in POWERS and not isinstance(args[1], T)):
            return rescale(lambda given: func(given, *args[1:], **{k: v for k, v in kwargs.items() if k != "input"}), x)
        if func in ONE_ROW:
            return average(lambda given: func(given, *args[1:], **{k: v for k, v in kwargs.items() if k != "input"}), x)
        if func in (torch.logaddexp, T.logaddexp):
            both = torch.stack(torch.broadcast_tensors(*args), dim=-1)  # type: ignore[no-untyped-call]
            return average(lambda given: given.logsumexp(dim=-1), both)
        if func in (torch.amax, T.amax):  # of a sum of exponentials, where any constant does
            return _top(x, _dim(args, kwargs)).squeeze(_dim(args, kwargs))
        return func(*args, **kwargs)

    def _two(self, func: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
        both = len(args) == 2 and all(isinstance(a, T) and a.requires_grad for a in args) and not kwargs
        if func in PRODUCTS:
            return multiply(args[0], args[1], PRODUCTS[func]) if both else func(*args, **kwargs)
        below = args[1]
        if not (isinstance(below, T) and below.requires_grad) or kwargs:
            return func(*args, **kwargs)
        over = rescale(torch.reciprocal, below)
        return multiply(args[0], over) if isinstance(args[0], T) else args[0] * over
