"""Attention tests on Hugging Face text classifiers: the last layer's attention from the position that is read, imposed.

The model is run with an attention kernel of our own, which is the eager one with a hook for the weights: they can be
detached (so that gradients flow through values only, as Jain & Wallace ask) or, in the last layer and in the rows of the
positions that the classifier reads, replaced. Earlier layers then answer from memory, so one pass costs one layer. The
model's weights and settings are as before when the call ends.

What cannot be done without training the classifier again is named in the result, not imitated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from accredit.attention import rollout
from accredit.audit.attention import (
    ADVERSARY,
    GRADIENT,
    LEAVE_ONE_OUT,
    PERMUTATION,
    Adversarial,
    NothingToRank,
    adversary,
    adversary_finding,
    permutation_finding,
    permute,
    rank_agreement,
    rank_finding,
)
from accredit.audit.counterchecks import RETRAINED
from accredit.audit.finding import AuditFinding, Findings
from accredit.checks.arguments import check_arguments
from accredit.core import FloatArray
from accredit.errors import AccreditError, InvalidInput
from accredit.games.text import text_game
from accredit.models.attention import attention_kernel
from accredit.models.encoded import Encoded
from accredit.models.payoffs import payoff_of
from accredit.models.text import TextModel, TokenBatch
from accredit.values.solver import progress

KERNEL = "accredit_watched"
TESTS = (GRADIENT, LEAVE_ONE_OUT, PERMUTATION, ADVERSARY)
Change = Callable[[nn.Module, Tensor], Tensor]  # an attention module and its weights (B, H, T, T) -> weights
_change: ContextVar[Change | None] = ContextVar("change", default=None)


@check_arguments
def audit_texts(
    model: TextModel,
    texts: Sequence[str],
    *,
    tests: Sequence[str] = TESTS,
    permutations: int = 100,
    steps: int = 500,
    seed: int = 0,
    bar: bool = False,
) -> Findings:
    """Jain & Wallace's tests of a classifier's attention on some texts, averaged with an interval over texts.

    A token's attention is what the positions that the classifier reads give it in one layer, averaged over heads; rollout is
    tested beside it. Correlations leave special tokens out; shuffles and adversaries move the weights of all tokens.

    Cost per text: one backward pass, one pass for each token, `permutations` passes of the last layer, `steps` forward and
    backward passes of the last layer with five rows.

    >>> from accredit.models import builtin, load_text_model
    >>> model, texts = load_text_model(builtin.text_folder()), ["A gripping film.", "It never lands."]
    >>> [finding.name for finding in audit_texts(model, texts, tests=["leave-one-out"])]
    ['leave-one-out', 'leave-one-out (rollout)']
    """
    if model.task != "classify" or getattr(model.model.config, "is_encoder_decoder", False):
        raise InvalidInput(
            f"{model.name} is not an encoder classifier ({model.task}); attention is audited for classifiers",
            argument="model",
            code="unsupported",
        )
    unknown = sorted(set(tests) - set(TESTS))
    if unknown:
        raise InvalidInput(
            f"there is no test {unknown[0]!r} of a classifier; write some of {', '.join(TESTS)}",
            argument="tests",
            code="unknown",
        )
    if not texts or not tests:
        raise InvalidInput(
            "there is nothing to audit; give a list of at least one text, and at least one test", argument="texts", code="empty"
        )
    if model.law == "none":
        raise InvalidInput(
            f"{model.name} gives one number, not probabilities; attention is audited for classifiers",
            argument="model",
            code="unsupported",
        )
    measured: list[_Measures] = []
    skipped: list[str] = []
    with progress("audit", len(texts) if bar else 0) as line:
        for number, text in enumerate(texts):
            try:
                measured.append(_measure(model, text, set(tests), permutations, steps, seed))
            except AccreditError as error:
                skipped.append(f"text {number + 1} was left out: {error}")
            line.update(number + 1)
    if not measured:
        raise InvalidInput(
            skipped[0].removeprefix("text 1 was left out: ") if len(texts) == 1 else skipped[0], code="unsupported"
        )
    found, not_run = _findings(measured, tests)
    texts_read = "1 text, so no interval can say how other texts would do" if len(measured) == 1 else f"{len(measured)} texts"
    notes = [
        f"{texts_read}; attention of the last layer where the classifier reads it, unless rollout is named",
        *skipped,
    ]
    return Findings(f"attention of {model.name}", tuple(found), not_run, tuple(notes))


@dataclass
class _Measures:
    """All numbers of one text."""

    agreement: dict[str, dict[str, float]] = field(default_factory=dict)  # test -> layer or rollout -> Kendall's τ
    permuted: float | None = None
    attacked: Adversarial | None = None
    refusal: str = ""  # why attention could not be imposed


def _measure(model: TextModel, text: str, tests: set[str], permutations: int, steps: int, seed: int) -> _Measures:
    """All numbers of one text."""
    encoded = model.encode(text)
    words = ~encoded.special
    if words.sum() < 2:
        raise InvalidInput(
            f"text {text!r:.40} has one token, so there is nothing to rank; give more words", argument="texts", code="undefined"
        )
    out = _Measures()
    if tests & {GRADIENT, LEAVE_ONE_OUT}:
        scores = attention_scores(model, encoded)
        for name, importance in (
            (GRADIENT, gradient_importance if GRADIENT in tests else None),
            (LEAVE_ONE_OUT, removal_importance if LEAVE_ONE_OUT in tests else None),
        ):
            if importance is not None:
                other = importance(model, encoded)
                out.agreement[name] = {key: rank_agreement(v[None], other[None], words[None])[0] for key, v in scores.items()}
    if tests & {PERMUTATION, ADVERSARY}:
        try:
            with last_layer(model, encoded) as (answer, attention):
                there = torch.ones(1, attention.shape[-1], dtype=torch.bool)
                if PERMUTATION in tests:
                    out.permuted = permute(answer, attention, there, permutations, seed)[0]
                if ADVERSARY in tests:
                    out.attacked = adversary(answer, attention, there, steps=steps, seed=seed)
        except CannotImpose as error:
            out.refusal = str(error)
    return out


def _findings(measured: list[_Measures], tests: Sequence[str]) -> tuple[list[AuditFinding], dict[str, str]]:
    found: list[AuditFinding] = []
    not_run = dict(RETRAINED)
    for name, against in ((GRADIENT, "gradients"), (LEAVE_ONE_OUT, "leave-one-out")):
        if name not in tests:
            continue
        layers = [key for key in measured[0].agreement[name] if key != "rollout"]
        tau = {key: np.array([row.agreement[name][key] for row in measured]) for key in measured[0].agreement[name]}
        by_layer = {key: float(np.nanmean(tau[key])) for key in layers if not np.isnan(tau[key]).all()}
        for key, label in ((layers[-1], name), ("rollout", f"{name} (rollout)")):
            try:
                found.append(rank_finding(label, against, tau[key], by_layer if label == name else None))
            except NothingToRank as error:
                not_run[label] = str(error)
    imposed = [row for row in measured if not row.refusal]
    reasons = [row.refusal for row in measured if row.refusal]
    if not imposed:
        not_run = {name: reasons[0] for name in (PERMUTATION, ADVERSARY) if name in tests} | not_run
    if imposed and PERMUTATION in tests:
        found.append(permutation_finding(np.array([row.permuted for row in imposed])))
    if imposed and ADVERSARY in tests:
        results = [row.attacked for row in imposed]
        divergence, exists = (np.concatenate([getattr(r, name) for r in results]) for name in ("divergence", "found"))
        found.append(adversary_finding(divergence, exists))
    return found, not_run


def attention_scores(model: TextModel, encoded: Encoded) -> dict[str, FloatArray]:
    """What the read positions give every token, (T,), by layer from the first on, and by rollout."""
    weights = model.attentions(encoded).mean(axis=1)  # (L, T, T)
    read = model.output_tokens(encoded)
    scores = {f"layer {number}": layer[read].mean(axis=0) for number, layer in enumerate(weights, 1)}
    return scores | {"rollout": rollout(weights)[read].mean(axis=0)}


def gradient_importance(model: TextModel, encoded: Encoded) -> FloatArray:
    """|Σ slope · embedding| of every token with all attention weights detached: (T,) (Jain & Wallace, 2019).

    The slope is that of the predicted label's log-odds.
    """
    batch = model.batch(encoded)
    assert batch.ids is not None
    with watch_losses(model, lambda _module, weights: weights.detach()):
        vectors = model.embed(batch.ids).detach().requires_grad_(True)
        outputs = model.outputs(TokenBatch(embeddings=vectors, attends=batch.attends, types=batch.types))
        worth = payoff_of(outputs, int(outputs[0].argmax()), "log-odds", model.law)
        (slope,) = torch.autograd.grad(worth.sum(), vectors)
    return np.asarray((slope * vectors.detach()).sum(dim=-1)[0].abs().double().cpu().numpy())


def removal_importance(model: TextModel, encoded: Encoded) -> FloatArray:
    """|Δ probability| of the predicted label when a token is deleted: (T,), 0 for special tokens."""
    game = text_game(model, encoded, players="token", removal="delete", payoff="probability")
    players = len(game.players)
    worth = game.payoff(np.concatenate([np.ones((1, players), dtype=bool), ~np.eye(players, dtype=bool)]))
    lost = np.zeros(len(encoded))
    lost[~encoded.special] = np.abs(worth[0] - worth[1:])
    return lost


class CannotImpose(InvalidInput):
    """This architecture's attention cannot be replaced from outside."""


@contextmanager
def last_layer(model: TextModel, encoded: Encoded) -> Iterator[tuple[Callable[[Tensor], Tensor], Tensor]]:
    """The classifier as a function of its last attention: `answer` (K, 1, H, T) -> (K, 1, classes), and its own (1, H, T).

    H counts heads times positions that are read. Lower layers keep what they computed.
    """
    read = torch.from_numpy(np.flatnonzero(model.output_tokens(encoded)))
    batch = model.batch(encoded)
    seen: list[tuple[nn.Module, Tensor]] = []

    def watch(module: nn.Module, computed: Tensor) -> Tensor:
        seen.append((module, computed.detach()))
        return computed

    with watch_losses(model, watch):
        plain = model.outputs(batch)
    _check_kernel(model, batch, plain, seen)
    last, weights = seen[-1]
    own = weights[0][:, read]  # (H, R, T)
    if bool((own == 0).any()):
        raise CannotImpose(
            "some tokens are hidden from a position that is read; only full attention is imposed", code="unsupported"
        )
    wanted = own[None]
    said = int(plain[0].argmax())

    def probabilities(outputs: Tensor) -> Tensor:
        """Of all classes; where each label has its own sigmoid, of the highest one and of its absence."""
        if model.law == "softmax":
            return outputs.softmax(dim=-1)
        return torch.stack([-outputs[:, said], outputs[:, said]], dim=-1).sigmoid()

    def change(module: nn.Module, computed: Tensor) -> Tensor:
        return computed.detach().index_copy(2, read.to(computed.device), wanted) if module is last else computed

    def answer(attention: Tensor) -> Tensor:
        nonlocal wanted
        rows = attention.shape[0]
        wanted = attention.reshape(rows, *own.shape).to(own)
        many = TokenBatch(ids=_copies(batch.ids, rows), attends=_copies(batch.attends, rows), types=batch.types)
        recall(rows)
        return probabilities(model.outputs(many).float())[:, None].cpu()

    with _remember(model.model, last) as recall, watch_losses(model, change):
        yield answer, own.flatten(0, 1)[None].float().cpu()


def _copies(row: Tensor | None, rows: int) -> Tensor | None:
    return None if row is None else row.expand(rows, -1)


def _check_kernel(model: TextModel, batch: TokenBatch, found: Tensor, seen: Sequence[object]) -> None:
    """Our kernel must compute what the model's own does; some architectures add terms of their own, or do not ask for it."""
    with model.hold(), attention_kernel(model.model, "eager"), torch.inference_mode():
        expected = model.outputs(batch)
    if not seen:
        raise CannotImpose(f"{type(model.model).__name__} does not let its attention be replaced", code="unsupported")
    if not torch.allclose(found, expected, atol=1e-3, rtol=1e-3):
        raise CannotImpose(
            f"{type(model.model).__name__} computes attention in its own way, so it cannot be imposed", code="unsupported"
        )


@contextmanager
def _remember(model: nn.Module, last: nn.Module) -> Iterator[Callable[[int], None]]:
    """Layers below the one that holds `last` answer with what they gave to the first batch of that many rows.

    Yields a function to be called with the number of rows before each pass. Where no list of layers is found, nothing is
    remembered and all layers run.
    """
    below = _layers_below(model, last)
    memory: dict[tuple[int, int], object] = {}
    rows = 0

    def count(number: int) -> None:
        nonlocal rows
        rows = number

    def remembering(index: int, layer: nn.Module) -> Callable[..., object]:
        forward = layer.forward

        def recall(*given: object, **named: object) -> object:
            if (index, rows) not in memory:
                memory[index, rows] = forward(*given, **named)
            return memory[index, rows]

        return recall

    try:
        for index, layer in enumerate(below):
            layer.forward = remembering(index, layer)
        yield count
    finally:
        for layer in below:
            del layer.forward  # the class's own is there again


def _layers_below(model: nn.Module, last: nn.Module) -> list[nn.Module]:
    """The layers in the list of layers that come before the one holding `last`."""
    for part in model.modules():
        if isinstance(part, nn.ModuleList):
            holders = [index for index, layer in enumerate(part) if any(m is last for m in layer.modules())]
            if holders and holders[0] == len(part) - 1:
                return list(part)[:-1]
    return []


@contextmanager
def watch_losses(model: TextModel, change: Change) -> Iterator[None]:
    """The model in evaluation mode with our kernel, whose weights pass through `change`."""
    _register()
    token = _change.set(change)
    try:
        with model.hold(), attention_kernel(model.model, KERNEL):
            yield
    finally:
        _change.reset(token)


def _register() -> None:
    from transformers.masking_utils import AttentionMaskInterface, eager_mask
    from transformers.modeling_utils import AttentionInterface

    AttentionInterface.register(KERNEL, _kernel)
    AttentionMaskInterface.register(KERNEL, eager_mask)


def _kernel(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **_: object,
) -> tuple[Tensor, Tensor]:
    """Softmax attention as the eager kernel computes it; keys and values that several query heads share are repeated."""
    shared = query.shape[1] // key.shape[1]
    key, value = (part.repeat_interleave(shared, dim=1) if shared > 1 else part for part in (key, value))
    scores = query @ key.transpose(2, 3) * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    if attention_mask is not None:
        scores = scores + attention_mask[..., : key.shape[-2]]
    weights = scores.softmax(dim=-1, dtype=torch.float32).to(query.dtype)
    change = _change.get()
    weights = weights if change is None else change(module, weights)
    return (weights @ value).transpose(1, 2).contiguous(), weights
