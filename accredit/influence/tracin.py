r"""TracIn: follow training instead of inverting anything (Pruthi et al., 2020).

$$\text{TracIn}(i, q) = \sum_{c \in \text{checkpoints}} \eta_c\, \nabla\ell(x_i; \theta_c)^\top \nabla\ell(q; \theta_c)$$

is the part of the query's fall in loss that steps on row i brought about, were every row stepped on once between checkpoints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import Procedure
from accredit.errors import InvalidInput
from accredit.influence.functions import Influences
from accredit.influence.losses import Batch, check_rows
from accredit.influence.network import Network, facts_of

if TYPE_CHECKING:
    import torch


def tracin(
    net: Network,
    checkpoints: Iterable[Mapping[str, torch.Tensor]],
    train: Batch,
    queries: Batch,
    *,
    rates: Sequence[float] | None = None,
    names: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
) -> Influences:
    """Sum gradient products over checkpoints, each a state dict of `net.model`; its weights are put back afterwards.

    `rates` are the learning rates at the checkpoints (default: 1 each). Positive means that the row lowered the query's loss.
    No curvature is used: rows with large gradients get large scores. The certificate holds the mean loss of the training rows
    at every checkpoint. Where none of them knows rows that the model itself has learned, they are of another run, and refused.

    >>> import torch
    >>> from accredit.influence.network import network
    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> net = network(layer, loss="regression")
    >>> x, y = torch.eye(2), torch.tensor([1.0, 1.0])
    >>> zero = {"weight": torch.zeros(1, 2)}
    >>> tracin(net, [zero], {"x": x, "labels": y}, {"x": x[:1], "labels": y[:1]}).matrix.ravel().tolist()
    [4.0, 0.0]
    """
    count, asked = check_rows(train, "train"), check_rows(queries, "queries")
    net.check_memory(asked)
    before = {name: value.detach().clone() for name, value in net.model.state_dict().items()}
    matrix, losses = np.zeros((count, asked)), list[float]()
    used = live = 0
    try:
        for used, state in enumerate(checkpoints, start=1):
            live += _shares_memory(net, state)
            if live > 1:
                raise InvalidInput(
                    f"checkpoint {used} is the second that holds the model's own tensors, so that both are its last weights: "
                    "state_dict() does not copy. Keep copies while training: copy.deepcopy(model.state_dict())",
                    argument="checkpoints",
                    code="duplicate",
                )
            _load(net, before if _shares_memory(net, state) else state, used)
            rate = 1.0 if rates is None else _rate(rates, used)
            asked_for = _flat(net, queries)
            losses.append(0.0)
            for rows, part, seen in net.passes(train):
                losses[-1] += float(part.double().sum()) / count
                for name, s in seen.items():
                    matrix[rows] += rate * (s.gradients().flatten(1) @ asked_for[name]).cpu().numpy()
    finally:
        net.model.load_state_dict(before)
    if not used or (rates is not None and len(rates) != used):
        raise InvalidInput(
            f"{used} checkpoints and {None if rates is None else len(rates)} rates; give one rate for each",
            argument="rates",
            code="shape",
        )
    if not np.isfinite(matrix).all():
        raise InvalidInput("some gradients are not finite; give the model and its checkpoints in float32", code="not-finite")
    constant = net.constant_loss(train)
    if constant is not None and min(losses) >= constant:
        _check_own(net, train, losses, constant)
    facts = {
        "checkpoints": used,
        "rates": None if rates is None else list(rates),
        "mean losses": losses,
        "mean loss of a constant": constant,
        **facts_of(net),
    }
    players = tuple(names) if names is not None else tuple(f"row {i}" for i in range(count))
    labels = tuple(targets) if targets is not None else tuple(f"query {i}" for i in range(asked))
    return Influences(players, labels, matrix, Procedure("TracIn", settings={"checkpoints": used}), facts)


def _shares_memory(net: Network, state: Mapping[str, torch.Tensor]) -> bool:
    """Whether a checkpoint is no copy: what is loaded into the model is then written into it, too."""
    return any(name in state and state[name].data_ptr() == value.data_ptr() for name, value in net.model.state_dict().items())


def _load(net: Network, state: Mapping[str, torch.Tensor], number: int) -> None:
    try:
        net.model.load_state_dict(state)
    except (RuntimeError, TypeError, AttributeError) as error:
        first = next((line.strip() for line in str(error).splitlines()[1:]), str(error))
        raise InvalidInput(
            f"checkpoint {number} is not one of this {type(net.model).__name__}: {first:.120}; give state dicts "
            "of the same module",
            argument="checkpoints",
            code="conflict",
        ) from None


def _check_own(net: Network, train: Batch, losses: Sequence[float], constant: float) -> None:
    """Refuse checkpoints that know nothing of the rows, where the model itself does."""
    own = sum(float(part.double().sum()) for _, part, _ in net.passes(train)) / check_rows(train)
    if own < constant:
        raise InvalidInput(
            f"the model has learned these rows (mean loss {own:.3g}, one answer for all {constant:.3g}), no checkpoint has: "
            f"the lowest is {min(losses):.3g}. They are of another run or other rows; give those of the run that trained this "
            "model, or its own state_dict()",
            argument="checkpoints",
            code="conflict",
        )


def _rate(rates: Sequence[float], used: int) -> float:
    if used > len(rates):
        raise InvalidInput(
            f"more checkpoints than the {len(rates)} rates; give one rate for each", argument="rates", code="shape"
        )
    return float(rates[used - 1])


def _flat(net: Network, queries: Batch) -> dict[str, torch.Tensor]:
    """Query gradients, layer by layer: name -> (parameters, queries)."""
    import torch

    parts = [{name: s.gradients().flatten(1) for name, s in seen.items()} for _, _, seen in net.passes(queries)]
    return {name: torch.cat([part[name] for part in parts]).T for name in parts[0]}
