r"""Training objectives that influence functions can differentiate: everything that was minimised, weight decay included.

$$J(\theta) = \frac1N \sum_{i=1}^N \ell(x_i, \theta) + \frac{\alpha}{2} \lVert\theta\rVert^2$$

An objective at its minimum θ* gives the gradient of every training loss and of every test loss, and products with the
Hessian of J; the matrix itself is formed only on request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from accredit.checks import needs
from accredit.checks.arguments import check_arguments
from accredit.core import FloatArray
from accredit.errors import InvalidInput, NotConverged
from accredit.valuation.split import Split
from accredit.valuation.torch_training import row_losses

if TYPE_CHECKING:
    import torch

NEWTON_STEPS = 100  # of Newton, at most
LARGEST_GRADIENT = 1e-10  # the largest gradient entry at a minimum
FEW_PARAMETERS = 500  # up to which a Newton step forms the Hessian
NUMBERS_PER_CHUNK = 1 << 23  # numbers held by one chunk of directions


@runtime_checkable
class Objective(Protocol):
    """A trained model, seen through the derivatives of what it was trained on.

    >>> from accredit.valuation import split
    >>> data = split([[1.0], [2.0]], [1.5, 2.5], [[3.0]], [3.0], regression=True)
    >>> isinstance(RidgeObjective(data, weight_decay=0.1), Objective)
    True
    """

    data: Split
    weight_decay: float

    @property
    def parameters(self) -> int:
        """P, how many numbers were trained."""
        ...

    def stationarity(self) -> float:
        """‖∇J(θ)‖, which is zero at a minimum."""
        ...

    def train_gradients(self) -> FloatArray:
        """∇ℓ(x_i, θ*) of every training row: (N, P)."""
        ...

    def test_gradients(self) -> FloatArray:
        """∇ℓ(z_t, θ*) of every test row: (M, P)."""
        ...

    def hessian_products(self, directions: FloatArray) -> FloatArray:
        """∇²J(θ*)·D without forming ∇²J: (P, k) -> (P, k)."""
        ...

    def gauss_newton_products(self, directions: FloatArray) -> FloatArray:
        """The same with the Gauss–Newton matrix, which ignores the curvature of the model and is never negative."""
        ...


@runtime_checkable
class LinearObjective(Objective, Protocol):
    """An objective of a model that is linear in its parameters, so that every row's curvature is known.

    >>> from accredit.valuation import split
    >>> data = split([[1.0], [2.0]], [1.5, 2.5], [[3.0]], [3.0], regression=True)
    >>> isinstance(RidgeObjective(data, weight_decay=0.1), LinearObjective)
    True
    """

    def rows_and_curvatures(self) -> tuple[FloatArray, FloatArray]:
        """Inputs x_i (N, D) and S_i, (N, C, C): the Hessian of a row's loss is (x_i ⊗ I) S_i (x_i ⊗ I)ᵀ."""
        ...


class Softmax:
    """Logistic regression, trained to its minimum by Newton's method; a constant column is appended and decays like the rest.

    θ is (d+1) × C, flattened. Weight decay makes the softmax identifiable, so it must be positive. `rows` weighs the training
    rows (0: left out), `start` is where Newton's method starts: the true retraining that influence functions estimate.

    >>> from accredit.valuation import split
    >>> data = split([[-1.0], [1.0], [2.0]], [0, 1, 1], [[0.5]], [1])
    >>> model = Softmax(data, weight_decay=0.1)
    >>> total = model.train_gradients().mean(axis=0) + 0.1 * model.theta.ravel()
    >>> bool(np.abs(total).max() < 1e-10)
    True
    """

    @check_arguments
    def __init__(
        self, data: Split, weight_decay: float, *, rows: FloatArray | None = None, start: FloatArray | None = None
    ) -> None:
        if data.classes is None:
            raise InvalidInput(
                "logistic regression needs classes; this split holds numbers: use RidgeObjective", argument="data", code="type"
            )
        if not weight_decay > 0:
            raise InvalidInput(
                f"weight_decay must be positive, got {weight_decay!r}; without it the minimum is not unique",
                argument="weight_decay",
                code="range",
            )
        self.data, self.weight_decay = data, float(weight_decay)
        self._x, self._test_x = (np.hstack([a, np.ones((len(a), 1))]) for a in (data.x, data.test_x))
        self._codes, self._test_codes = (np.eye(len(data.classes))[y] for y in (data.y, data.test_y))
        weight = np.ones(len(data)) if rows is None else rows
        if weight.shape != (len(data),) or (weight < 0).any() or not weight.any():
            raise InvalidInput(
                f"rows has shape {weight.shape}; give {len(data)} weights of 0 or more, not all 0",
                argument="rows",
                code="shape",
            )
        self._share = weight / weight.sum()  # (N,)
        shape = (self._x.shape[1], len(data.classes))
        if start is not None and start.shape != shape:
            raise InvalidInput(
                f"start has shape {start.shape}; {shape} is needed, as `theta` has", argument="start", code="shape"
            )
        self.theta = self._minimise(np.zeros(shape) if start is None else start)  # (d + 1, C)
        self._probability = _softmax(self._x @ self.theta)  # (N, C)

    @property
    def parameters(self) -> int:
        return self.theta.size

    def losses(self) -> FloatArray:
        """The loss at every test row: (M,)."""
        return np.asarray(-np.log((_softmax(self._test_x @ self.theta) * self._test_codes).sum(axis=1)))

    def stationarity(self) -> float:
        return float(np.linalg.norm(self._gradient(self.theta)))

    def train_gradients(self) -> FloatArray:
        return _outer(self._x, self._probability - self._codes)

    def rows_and_curvatures(self) -> tuple[FloatArray, FloatArray]:
        p = self._probability
        return self._x, p[:, :, None] * np.eye(p.shape[1]) - p[:, :, None] * p[:, None, :]

    def test_gradients(self) -> FloatArray:
        return _outer(self._test_x, _softmax(self._test_x @ self.theta) - self._test_codes)

    def hessian_products(self, directions: FloatArray) -> FloatArray:
        return self._products(self._probability, directions)

    def gauss_newton_products(self, directions: FloatArray) -> FloatArray:
        return self.hessian_products(directions)  # the model is linear, so nothing is ignored

    def _products(self, p: FloatArray, directions: FloatArray) -> FloatArray:
        """Xᵀ diag(share)·(diag(p_n) − p_n p_nᵀ)·X D + α D for probabilities (N, C), some columns of D at a time."""
        p = p[:, :, None]
        products = np.empty_like(directions)
        columns = max(1, NUMBERS_PER_CHUNK // p.size)
        for start in range(0, directions.shape[1], columns):
            part = directions[:, start : start + columns]
            moved = (self._x @ part.reshape(self._x.shape[1], -1)).reshape(*p.shape[:2], -1)  # (N, C, k)
            inner = p * (moved - (p * moved).sum(axis=1, keepdims=True)) * self._share[:, None, None]
            products[:, start : start + columns] = (self._x.T @ inner.reshape(len(p), -1)).reshape(part.shape)
        return products + self.weight_decay * directions

    def _minimise(self, theta: FloatArray) -> FloatArray:
        """Newton's method with halved steps; refuses to return anything but the minimum."""
        for _ in range(NEWTON_STEPS):
            gradient = self._gradient(theta)
            if np.abs(gradient).max() < LARGEST_GRADIENT:
                return theta
            step = self._newton_step(theta, gradient)
            scale, value = 1.0, self._value(theta)
            while self._value(theta - scale * step) > value - 1e-4 * scale * (gradient * step).sum() and scale > 1e-8:
                scale /= 2
            theta = theta - scale * step
        if np.abs(self._gradient(theta)).max() < 1e3 * LARGEST_GRADIENT:
            return theta
        raise NotConverged(f"Newton's method did not reach a minimum in {NEWTON_STEPS} steps; scale the features first")

    def _newton_step(self, theta: FloatArray, gradient: FloatArray) -> FloatArray:
        """H⁻¹∇J, exactly, or for many parameters by conjugate gradients, more exactly the nearer the minimum."""
        from scipy.sparse.linalg import LinearOperator, cg

        p = _softmax(self._x @ theta)
        if theta.size <= FEW_PARAMETERS:
            hessian = self._products(p, np.eye(theta.size))
            try:
                return np.asarray(np.linalg.solve(hessian, gradient.ravel()).reshape(theta.shape))
            except np.linalg.LinAlgError:
                raise NotConverged(
                    f"weight_decay is {self.weight_decay:g}, too little to tell the minimum apart; write for example 0.01"
                ) from None
        hessian = LinearOperator(
            (theta.size, theta.size), matvec=lambda v: self._products(p, v.reshape(-1, 1))[:, 0], dtype=float
        )
        step, _ = cg(hessian, gradient.ravel(), rtol=min(0.1, float(np.sqrt(np.abs(gradient).max()))))
        return np.asarray(step.reshape(theta.shape))

    def _gradient(self, theta: FloatArray) -> FloatArray:
        weighted = self._x * self._share[:, None]
        return np.asarray(weighted.T @ (_softmax(self._x @ theta) - self._codes) + self.weight_decay * theta)

    def _value(self, theta: FloatArray) -> float:
        logits = self._x @ theta
        highest = logits.max(axis=1)
        losses = np.log(np.exp(logits - highest[:, None]).sum(axis=1)) + highest - (logits * self._codes).sum(axis=1)
        return float(losses @ self._share + self.weight_decay / 2 * (theta**2).sum())


class RidgeObjective:
    """Ridge regression, ℓ = (xᵀθ − y)², in closed form; a constant column is appended and decays like the rest.

    The loss is the squared error, as everywhere here: J = (1/N)Σ(xᵢᵀθ − yᵢ)² + weight_decay/2·‖θ‖² is what `TorchObjective`
    means by the same weight_decay, and the model of `RidgeUtility(data, l2=N·weight_decay/2)` where the targets have mean 0.

    >>> from accredit.influence import influence
    >>> from accredit.valuation import split
    >>> data = split([[1.0], [2.0], [3.0]], [1.0, 2.0, 9.0], [[2.0]], [2.0], regression=True)
    >>> influence(RidgeObjective(data, weight_decay=0.1)).attribution().ranked().players[-1]  # the row that lies off hurts most
    'row 2'
    """

    @check_arguments
    def __init__(self, data: Split, weight_decay: float) -> None:
        if data.classes is not None:
            raise InvalidInput(
                "ridge regression needs numbers; this split holds classes: use Softmax", argument="data", code="type"
            )
        if not weight_decay >= 0:
            raise InvalidInput(
                f"weight_decay must not be negative, got {weight_decay!r}", argument="weight_decay", code="range"
            )
        self.data, self.weight_decay = data, float(weight_decay)
        self._x, self._test_x = (np.hstack([a, np.ones((len(a), 1))]) for a in (data.x, data.test_x))
        gram = self.hessian_products(np.eye(self.parameters))
        try:
            self.theta = np.linalg.solve(gram, 2 * self._x.T @ data.y / len(data))  # (d + 1,)
        except np.linalg.LinAlgError:
            raise NotConverged(f"the minimum is not unique with weight_decay={weight_decay!r}; make it positive") from None

    @property
    def parameters(self) -> int:
        return int(self._x.shape[1])

    def stationarity(self) -> float:
        return float(np.linalg.norm(self.train_gradients().mean(axis=0) + self.weight_decay * self.theta))

    def train_gradients(self) -> FloatArray:
        return np.asarray(2 * self._x * (self._x @ self.theta - self.data.y)[:, None])

    def rows_and_curvatures(self) -> tuple[FloatArray, FloatArray]:
        return self._x, np.full((len(self._x), 1, 1), 2.0)

    def test_gradients(self) -> FloatArray:
        return np.asarray(2 * self._test_x * (self._test_x @ self.theta - self.data.test_y)[:, None])

    def hessian_products(self, directions: FloatArray) -> FloatArray:
        return np.asarray(2 * self._x.T @ (self._x @ directions) / len(self._x) + self.weight_decay * directions)

    def gauss_newton_products(self, directions: FloatArray) -> FloatArray:
        return self.hessian_products(directions)


class TorchObjective:
    """A trained torch module and what it was trained on: mean loss (cross-entropy or squared error) + weight_decay/2·‖θ‖².

    θ are the parameters that are trained; frozen ones stay as they are. Influence functions
    assume that θ is a minimum; `stationarity` says how far it is from one. Computes in float64.

    >>> import torch
    >>> from accredit.valuation import split
    >>> data = split([[-1.0], [1.0], [2.0]], [0, 1, 1], [[0.5]], [1])
    >>> model = TorchObjective(data, torch.nn.Linear(1, 2), weight_decay=0.1)
    >>> model.parameters, model.train_gradients().shape
    (4, (3, 4))
    """

    @check_arguments
    def __init__(self, data: Split, module: torch.nn.Module, weight_decay: float) -> None:
        with needs("text", "influence functions of a module"):
            import torch
        import copy

        self.data, self.weight_decay = data, float(weight_decay)
        self._module = copy.deepcopy(module).double().eval()
        named = [(name, value) for name, value in self._module.named_parameters() if value.requires_grad]
        if not named:
            raise InvalidInput(
                "module has no parameter that is trained; set requires_grad of some to True", argument="module", code="empty"
            )
        self._names = [name for name, _ in named]
        self._shapes = [value.shape for _, value in named]
        self._theta = torch.cat([value.detach().reshape(-1) for _, value in named])
        kind = torch.float64 if data.classes is None else torch.int64
        self._x, self._test_x = (torch.tensor(a, dtype=torch.float64) for a in (data.x, data.test_x))
        self._y, self._test_y = (torch.tensor(a, dtype=kind) for a in (data.y, data.test_y))

    @property
    def parameters(self) -> int:
        return int(self._theta.numel())

    def stationarity(self) -> float:
        gradient = self.train_gradients().mean(axis=0) + self.weight_decay * self._theta.numpy()
        return float(np.linalg.norm(gradient))

    def train_gradients(self) -> FloatArray:
        return self._gradients(self._x, self._y)

    def test_gradients(self) -> FloatArray:
        return self._gradients(self._test_x, self._test_y)

    def hessian_products(self, directions: FloatArray) -> FloatArray:
        import torch

        gradient = torch.func.grad(lambda theta: self._losses(theta, self._x, self._y).mean())
        return self._along(lambda d: torch.func.jvp(gradient, (self._theta,), (d,))[1], directions)

    def gauss_newton_products(self, directions: FloatArray) -> FloatArray:
        import torch

        def product(direction: torch.Tensor) -> torch.Tensor:
            answers, moved = torch.func.jvp(lambda t: self._answers(t, self._x), (self._theta,), (direction,))[:2]
            back = torch.func.vjp(lambda t: self._answers(t, self._x), self._theta)[1]
            gradient = torch.func.grad(lambda a: row_losses(a, self._y).mean())
            return torch.as_tensor(back(torch.func.jvp(gradient, (answers,), (moved,))[1])[0])

        return self._along(product, directions)

    def _along(self, product: Callable[[torch.Tensor], torch.Tensor], directions: FloatArray) -> FloatArray:
        """Apply a product to the columns of (P, k), some at a time, and add the weight decay."""
        import torch

        columns = torch.tensor(np.ascontiguousarray(directions.T), dtype=torch.float64)
        parts = torch.func.vmap(product, chunk_size=64)(columns)
        return np.asarray(parts.numpy().T + self.weight_decay * directions)

    def _answers(self, theta: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        import torch

        sizes = [shape.numel() for shape in self._shapes]
        pieces = torch.split(theta, sizes)
        state = {n: p.reshape(s) for n, p, s in zip(self._names, pieces, self._shapes, strict=True)}
        return torch.as_tensor(torch.func.functional_call(self._module, state, (x,)))

    def _losses(self, theta: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return row_losses(self._answers(theta, x), y)

    def _gradients(self, x: torch.Tensor, y: torch.Tensor) -> FloatArray:
        import torch

        one = torch.func.grad(lambda t, a, b: self._losses(t, a[None], b[None]).sum())
        found = torch.func.vmap(one, in_dims=(None, 0, 0), chunk_size=256)(self._theta, x, y)
        return np.asarray(found.detach().numpy())


def _softmax(logits: FloatArray) -> FloatArray:
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _outer(x: FloatArray, errors: FloatArray) -> FloatArray:
    """x_i ⊗ e_i for every row, flattened: (N, d), (N, C) -> (N, d·C)."""
    return np.asarray((x[:, :, None] * errors[:, None, :]).reshape(len(x), -1))
