"""What one row costs a torch model: classes, numbers or the next words, as losses that influence can differentiate.

A batch is a mapping of tensors whose first dimension counts rows. `labels` is what is to be predicted; everything else is
handed to the model: by name, or, where it is called `x`, by position.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from accredit.errors import InvalidInput

if TYPE_CHECKING:
    import torch

FEW_CLASSES = 32  # up to which every label is tried instead of drawn
IGNORED = -100  # the label of a token that is not judged, as in Hugging Face models

Batch = Mapping[str, "torch.Tensor"]


class Loss(Protocol):
    """How a model's answers are judged, row by row."""

    def rows(self, answers: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The loss of every row: (rows,)."""
        ...

    def draw(self, answers: torch.Tensor, labels: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """Labels drawn from what the model itself believes, shaped like `labels`: what the Fisher matrix averages over."""
        ...

    def outcomes(self, answers: torch.Tensor, labels: torch.Tensor) -> Sequence[tuple[torch.Tensor, torch.Tensor]] | None:
        """All labels there can be, each with its weight (rows,), so that the average is exact; None: too many to list."""
        ...

    def constant(self, labels: torch.Tensor) -> float:
        """The mean loss of rows with these labels under the best answer that looks at none of them."""
        ...


@dataclass(frozen=True)
class Classification:
    """Cross-entropy of one class per row; answers (rows, classes), labels (rows,) whole numbers."""

    def rows(self, answers: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        import torch

        return torch.nn.functional.cross_entropy(answers, labels, reduction="none")

    def draw(self, answers: torch.Tensor, labels: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        return _draw_classes(answers, generator)

    def outcomes(self, answers: torch.Tensor, labels: torch.Tensor) -> Sequence[tuple[torch.Tensor, torch.Tensor]] | None:
        import torch

        if answers.shape[1] > FEW_CLASSES:
            return None
        chances = torch.softmax(answers.detach(), dim=1)
        return [(torch.full_like(labels, c), chances[:, c]) for c in range(answers.shape[1])]

    def constant(self, labels: torch.Tensor) -> float:
        return _entropy(labels)


@dataclass(frozen=True)
class RegressionLoss:
    """Squared error, summed over the numbers of a row; the model behind it is a Gaussian of variance ½."""

    def rows(self, answers: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        import torch

        return torch.as_tensor(((answers.reshape(labels.shape) - labels) ** 2).reshape(len(labels), -1).sum(dim=1))

    def draw(self, answers: torch.Tensor, labels: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        import torch

        noise = torch.randn(labels.shape, generator=generator, dtype=torch.float32)
        return torch.as_tensor(answers.detach().reshape(labels.shape) + noise.to(answers) * 0.5**0.5)

    def outcomes(self, answers: torch.Tensor, labels: torch.Tensor) -> Sequence[tuple[torch.Tensor, torch.Tensor]] | None:
        import torch

        said = answers.detach().reshape(len(labels), -1)
        if said.shape[1] > FEW_CLASSES:
            return None
        aside = 0.5**0.5 * torch.eye(said.shape[1]).to(said)  # one standard deviation off in one number
        return [((said + step).reshape(labels.shape), torch.ones_like(said[:, 0])) for step in aside]

    def constant(self, labels: torch.Tensor) -> float:
        flat = labels.double().reshape(len(labels), -1)
        return float(((flat - flat.mean(dim=0)) ** 2).sum(dim=1).mean())


@dataclass(frozen=True)
class NextTokens:
    """Minus the log probability of a text: answers (rows, tokens, vocabulary), labels (rows, tokens).

    The answer at one place predicts the token at the next, as in every causal language model. Tokens labelled −100 are read,
    not judged, so that the chosen answer to a prompt is asked about by labelling the prompt −100. `mean` divides by the
    number of judged tokens.
    """

    mean: bool = False

    def rows(self, answers: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        import torch

        wanted = labels[:, 1:]
        losses = torch.nn.functional.cross_entropy(
            answers[:, :-1].transpose(1, 2), wanted, reduction="none", ignore_index=IGNORED
        ).sum(dim=1)
        return torch.as_tensor(losses / (wanted != IGNORED).sum(dim=1).clamp(min=1) if self.mean else losses)

    def draw(self, answers: torch.Tensor, labels: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        drawn = labels.clone()
        drawn[:, 1:] = _draw_classes(answers[:, :-1], generator)
        drawn[labels == IGNORED] = IGNORED
        return drawn

    def outcomes(self, answers: torch.Tensor, labels: torch.Tensor) -> Sequence[tuple[torch.Tensor, torch.Tensor]] | None:
        return None

    def constant(self, labels: torch.Tensor) -> float:
        judged = labels[:, 1:]
        each = _entropy(judged[judged != IGNORED])
        return each if self.mean else each * float((judged != IGNORED).sum()) / len(labels)


LOSSES: dict[str, Loss] = {
    "classification": Classification(),
    "regression": RegressionLoss(),
    "language": NextTokens(),
}
OF_ARCHITECTURE = {"ForSequenceClassification": "classification", "ForCausalLM": "language", "LMHeadModel": "language"}


def loss_named(loss: str | Loss | None, model: object) -> Loss:
    """A loss by name, or by the architecture of a Hugging Face model where no name is given.

    >>> loss_named("language", None)
    NextTokens(mean=False)
    """
    if loss is not None and not isinstance(loss, str):
        return loss
    if loss is None:
        kind = type(model).__name__
        loss = next((name for end, name in OF_ARCHITECTURE.items() if kind.endswith(end)), None)
        problem = getattr(getattr(model, "config", None), "problem_type", None)
        if loss == "classification" and problem not in (None, "single_label_classification"):
            loss = "regression" if problem == "regression" else None
    if loss not in LOSSES:
        raise InvalidInput(
            f"the loss of {type(model).__name__} is {'not known' if loss is None else f'called {loss!r}'}; "
            f"write loss= one of {', '.join(LOSSES)}, or give an object with rows() and draw()",
            argument="loss",
            code="unknown",
        )
    return LOSSES[loss]


def answers_of(model: Callable[..., Any], batch: Batch) -> torch.Tensor:
    """What the model, or whatever calls it, says to a batch: its logits."""
    named = {name: value for name, value in batch.items() if name not in ("labels", "x")}
    said = model(batch["x"], **named) if "x" in batch else model(**named)
    logits: torch.Tensor = said.logits if hasattr(said, "logits") else said
    return logits


def check_rows(data: Batch, name: str = "data") -> int:
    """How many rows a data set of tensors holds; every tensor must hold as many."""
    if "labels" not in data or len(data) < 2:
        raise InvalidInput(
            f"{name} must map names to tensors, 'labels' and inputs among them; got {sorted(data)}", argument=name, code="type"
        )
    sizes = {key: len(value) for key, value in data.items()}
    if len(set(sizes.values())) != 1 or not sizes["labels"]:
        raise InvalidInput(
            f"the tensors of {name} hold {sizes} rows; each must hold as many, at least one", argument=name, code="shape"
        )
    return sizes["labels"]


def pick(data: Batch, rows: slice | Sequence[int], device: torch.device) -> dict[str, torch.Tensor]:
    """Some rows of a data set, on the model's device; padding that no row of them needs is cut off."""
    part = {name: value[rows] for name, value in data.items()}
    if "attention_mask" in part and part["attention_mask"].dim() == 2:
        used = int(part["attention_mask"].any(dim=0).nonzero().max()) + 1
        wide = part["attention_mask"].shape[1]
        part = {n: v[:, :used] if v.dim() == 2 and v.shape[1] == wide else v for n, v in part.items()}
    return {name: value.to(device) for name, value in part.items()}


def _entropy(labels: torch.Tensor) -> float:
    """Of the shares of every label: the loss of an answer that states just these.

    >>> import torch
    >>> round(_entropy(torch.tensor([0, 0, 1, 1])), 3)  # ln 2
    0.693
    """
    counts = np.unique(labels.cpu().numpy(), return_counts=True)[1]
    shares = counts / max(1, labels.numel())
    return float(-(shares * np.log(shares)).sum())


def _draw_classes(answers: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """One class per place, by its probability: (…, classes) -> (…,). Drawn on the CPU, so that devices agree on the seed."""
    import torch

    chances = torch.softmax(answers.detach().float(), dim=-1).cpu()
    flat = torch.multinomial(chances.reshape(-1, chances.shape[-1]), 1, generator=generator)
    return flat.reshape(answers.shape[:-1]).to(answers.device)
