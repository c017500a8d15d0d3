"""Gradients as methods of `explain`: what `accredit.methods` names for them. Importing this imports what they need."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch

from accredit import defaults
from accredit.answers.model import AnsweringModel
from accredit.core import Attribution, Attributions, IntArray
from accredit.errors import InvalidInput, NotConverged
from accredit.explanation.answers import AnswerSubject
from accredit.explanation.forecast import BACKWARD_BYTES, METHOD_SECONDS, announce, backward_bytes
from accredit.explanation.subject import Subject
from accredit.gradients.deeplift import deep_lift_at
from accredit.gradients.discretised import PATH_POINTS, discretised_integrated_gradients_at
from accredit.gradients.expected import SAMPLES, gradient_shap_at, several
from accredit.gradients.integrated import COMPLETENESS_TOLERANCE, FIRST_STEPS, MOST_STEPS, integrated_gradients_at
from accredit.gradients.point import TOKENS_PER_PASS, Point, absent, at_layer, point
from accredit.gradients.relevance import attn_lrp_at
from accredit.gradients.sequential import sequential_integrated_gradients_at
from accredit.gradients.slopes import SMOOTHGRAD_NOISE, input_x_gradient_at, saliency_at, smoothgrad_at
from accredit.models.partition import Partition
from accredit.models.state import device_of, finite


def answer_points(
    model: AnsweringModel,
    prompt: IntArray,
    answers: Sequence[IntArray],
    partition: Partition,
    targets: Mapping[str, IntArray | None],
    payoff: str = defaults.PAYOFF_OF_ANSWERS,
    baseline: object = None,
) -> dict[str, Point]:
    """For each target, its payoff when the prompt's word embeddings are moved.

    `prompt` are the ids of a prompt, (T,), and `answers` one answer, or an answer and the one it is compared with. A target is
    the numbers of its tokens in the answer; None is the whole answer, less the other one. The owners of `partition` are those
    of the prompt and, in a causal model, of the answer's tokens that are read after it, (T + A − 1,): those are never moved.
    """
    text, device = model.text_model, device_of(model.model)
    name = ("mask" if text.masks else "pad") if baseline is None else baseline
    ids = torch.from_numpy(prompt).to(device)
    said = [torch.from_numpy(answer).to(device) for answer in answers]
    with torch.no_grad():
        read = ids if model.encodes else torch.cat([ids, said[0][:-1]])
        here = text.embed(read)
        owned = torch.from_numpy(partition.owned).to(device)[:, None]
        away = torch.where(owned, absent(text, name, here), here)

    def pay(vectors: torch.Tensor, where: IntArray | None) -> torch.Tensor:
        tokens = _log_probabilities(model, vectors, said[0])
        worth = _worth(tokens if where is None else tokens[:, torch.from_numpy(where).to(device)], payoff)
        if where is not None or len(said) == 1:
            return worth
        other = vectors[:, : len(ids)]
        if not model.encodes:
            other = torch.cat([other, text.embed(said[1][:-1]).expand(len(vectors), -1, -1)], dim=1)
        return worth - _worth(_log_probabilities(model, other, said[1]), payoff)

    def make_point(target: str, where: IntArray | None) -> Point:
        return Point(
            lambda vectors: pay(vectors, where),
            here[None],
            away[None],
            partition,
            lambda values: values.sum(axis=-1),
            model.hold,
            model.model,
            max(1, TOKENS_PER_PASS // len(read)),
            read.cpu().numpy(),
            {
                "model": model.name,
                "target": target,
                "payoff": payoff,
                "baseline": name if isinstance(name, str) else "given",
            },
        )

    return {target: make_point(target, where) for target, where in targets.items()}


def _log_probabilities(model: AnsweringModel, vectors: torch.Tensor, answer: torch.Tensor) -> torch.Tensor:
    """Log-probability of each token of an answer, in float64: (B, positions, D) -> (B, A)."""
    given: dict[str, object] = {"inputs_embeds": vectors, "use_cache": False}
    given["attention_mask"] = torch.ones(vectors.shape[:2], dtype=torch.int64, device=vectors.device)
    if model.encodes:
        start = torch.from_numpy(model.start).to(answer.device)
        given["decoder_input_ids"] = torch.cat([start, answer[:-1]]).expand(len(vectors), -1)
    logits = finite(model.logits(given, len(answer)), model.name)
    chosen: torch.Tensor = logits.double().log_softmax(dim=-1).gather(2, answer.expand(len(vectors), -1)[..., None])
    return chosen[..., 0]


def _worth(tokens: torch.Tensor, payoff: str) -> torch.Tensor:
    """What some tokens earn together: (B, k) -> (B,)."""
    total = tokens.sum(dim=1)
    return total / tokens.shape[1] if payoff == "mean" else total.exp() if payoff == "probability" else total


UNTIMED = 4  # backward passes that are made without asking what they take
LIFTED = 2  # backward passes of a target by DeepLIFT for each baseline
Asked = Subject | AnswerSubject
Layer = int | str | None
Credit = Attribution | Attributions  # of an answer: one for each of its targets


def integrated(
    subject: Asked,
    baseline: object = None,
    layer: Layer = None,
    tolerance: float = COMPLETENESS_TOLERANCE,
    most_steps: int | None = None,
) -> Credit:
    """From the input in which nobody plays, if that is a point in the space of embeddings or pixels.

    Of an answer as many steps as fit into `METHOD_SECONDS` by what one of them costs, unless `most_steps` says how many; if
    they are too few for every target, of the whole answer alone.
    """
    points, most = _points(subject, baseline, layer), MOST_STEPS if most_steps is None else most_steps
    if isinstance(subject, AnswerSubject) and most_steps is None:
        points, most = _affordable(points)
    steps = min(FIRST_STEPS, most)
    return _credit(subject, {target: integrated_gradients_at(at, tolerance, most, steps) for target, at in points.items()})


def _affordable(points: dict[str, Point]) -> tuple[dict[str, Point], int]:
    """The targets that can be integrated in time, and the steps for each: all of them, the first alone, or a refusal."""
    name, first = next(iter(points.items()))
    each = _backward_seconds(first)
    for some in (points, {name: first}):
        steps = METHOD_SECONDS / (2 * each * len(some))  # doubling reads twice as many as its last step count
        if steps >= FIRST_STEPS:
            most = min(MOST_STEPS, 1 << int(math.log2(steps)))
            seconds = 2 * most * each * len(some)
            announce(f"integrated gradients, up to {most} steps for {len(some)} targets", seconds, math.inf, "")
            return some, most
    raise InvalidInput(
        f"integrated gradients need {FIRST_STEPS} to {MOST_STEPS} steps, and one takes {each:.2g} s of CPU time here: "
        f"{FIRST_STEPS * each:.0f} to {2 * MOST_STEPS * each:.0f} s in all; to run them, say how many, "
        f"most_steps={FIRST_STEPS}, or use attn-lrp, which takes one pass",
        argument="most_steps",
        code="too-many",
    )


def _backward_seconds(at: Point) -> float:
    """CPU seconds of one pass there and back."""
    began = time.process_time()
    at.slopes(at.here)
    return max(time.process_time() - began, 1e-6)


def _in_time(subject: Asked, points: dict[str, Point], passes: int, method: str, fewer: str = "") -> dict[str, Point]:
    """The targets of an answer that a method has time for, if each takes so many backward passes: all of them, or the whole
    answer alone. Where even that takes too long and less can be asked for, as `fewer` says, it is refused."""
    name, first = next(iter(points.items()))
    if not isinstance(subject, AnswerSubject) or passes * len(points) <= UNTIMED:
        return points
    each = _backward_seconds(first)
    some = points if passes * len(points) * each <= METHOD_SECONDS else {name: first}
    count, most = passes * len(some), METHOD_SECONDS if fewer else math.inf
    instead = f"say how many ({fewer}), or use attn-lrp, which takes one pass"
    announce(f"{method}, {count} passes there and back", count * each, most, instead, fewer.partition("=")[0])
    return some


def sequential(
    subject: Asked, baseline: object = None, tolerance: float = COMPLETENESS_TOLERANCE, most_steps: int | None = None
) -> Credit:
    """On a line of its own for each player."""
    most = MOST_STEPS if most_steps is None else most_steps
    steps = min(FIRST_STEPS, most)
    points, fewer = _points(subject, baseline, None), "" if most_steps is not None else f"most_steps={FIRST_STEPS}"
    points = _in_time(subject, points, steps * len(subject.players), "sequential integrated gradients", fewer)
    solved = {name: sequential_integrated_gradients_at(at, tolerance, most, steps) for name, at in points.items()}
    return _credit(subject, solved)


def discretised(subject: Asked, baseline: object = None, points: int | None = None) -> Credit:
    """Along a path through words."""
    count, fewer = (PATH_POINTS, f"points={FIRST_STEPS}") if points is None else (points, "")
    some = _in_time(subject, _points(subject, baseline, None), count, "discretised integrated gradients", fewer)
    return _credit(subject, {name: discretised_integrated_gradients_at(at, count) for name, at in some.items()})


def expected(
    subject: Asked,
    baseline: object = None,
    layer: Layer = None,
    most_steps: int = MOST_STEPS,
    samples: int | None = None,
    noise: float = 0.0,
) -> Credit:
    """At random points between the input and one or several baselines; unless it is said how many, more of them where few
    miss a steep place."""
    by_baseline = [_points(subject, way, layer) for way in several(baseline)]
    fewer = "" if samples is not None else f"samples={FIRST_STEPS}"
    some = _in_time(subject, by_baseline[0], len(by_baseline) * (samples or SAMPLES), "GradientSHAP", fewer)
    targets = {target: [points[target] for points in by_baseline] for target in some}
    first, most = (min(SAMPLES, most_steps), most_steps) if samples is None else (samples, samples)
    return _credit(subject, {target: draw(points, subject.seed, first, most, noise) for target, points in targets.items()})


def draw(points: list[Point], seed: int, samples: int, most: int, noise: float) -> Attribution:
    """GradientSHAP with twice as many points, up to `most`, as long as they miss the total by far."""
    while True:
        try:
            return gradient_shap_at(points, samples, noise, seed)
        except NotConverged:
            if 2 * samples > most:
                raise
        samples *= 2


def lift(subject: Asked, baseline: object = None, layer: Layer = None) -> Credit:
    """Differences to one or several baselines, passed down by the rules of DeepLIFT."""
    by_baseline = [_points(subject, way, layer) for way in several(baseline)]
    some = _in_time(subject, by_baseline[0], LIFTED * len(by_baseline), "DeepLIFT")
    return _credit(subject, {target: deep_lift_at([points[target] for points in by_baseline]) for target in some})


def rule(subject: Asked, layer: Layer = None) -> Credit:
    """Relevance passed down by the rules of AttnLRP."""
    return _each(subject, attn_lrp_at, "AttnLRP", layer=layer)


def input_times_gradient(subject: Asked, layer: Layer = None) -> Credit:
    """The first-order change of the payoff if a player's input went to zero."""
    return _each(subject, input_x_gradient_at, "input × gradient", layer=layer)


def steepness(subject: Asked, layer: Layer = None) -> Credit:
    """How steep the payoff is at each player."""
    return _each(subject, saliency_at, "saliency", layer=layer)


def smooth(subject: Asked, layer: Layer = None, samples: int | None = None, noise: float = SMOOTHGRAD_NOISE) -> Credit:
    """The steepness averaged over noisy copies of the input."""
    count, fewer = (SAMPLES, f"samples={FIRST_STEPS}") if samples is None else (samples, "")
    some = _in_time(subject, _points(subject, None, layer), count, "SmoothGrad", fewer)
    return _credit(subject, {name: smoothgrad_at(at, noise, count, subject.seed) for name, at in some.items()})


def _each(subject: Asked, solve: Callable[[Point], Attribution], method: str, layer: Layer = None) -> Credit:
    """One backward pass for each target."""
    points = _in_time(subject, _points(subject, None, layer), 1, method)
    return _credit(subject, {target: solve(at) for target, at in points.items()})


def _credit(subject: Asked, solved: dict[str, Attribution]) -> Credit:
    return Attributions(solved) if isinstance(subject, AnswerSubject) else next(iter(solved.values()))


def _points(subject: Asked, baseline: object, layer: Layer) -> dict[str, Point]:
    """The payoff of each target as a smooth function. By default the baseline is the input in which nobody plays."""
    if isinstance(subject, AnswerSubject):
        return _of_answer(subject, baseline, layer)
    game = subject.game
    way = getattr(game, "baseline", game.removal)  # of a picture it may be another picture
    way = None if isinstance(way, str) and way in ("delete", "attention") else way
    whole = point(
        subject.model,
        subject.seen,
        target=game.target,
        payoff=game.payoff_name,
        players=subject.asked,
        layer=layer,
        baseline=way if baseline is None else baseline,
    )
    return {"": whole}


def _of_answer(subject: AnswerSubject, baseline: object, layer: Layer) -> dict[str, Point]:
    if layer is not None and len(subject.answers) > 1:
        raise InvalidInput(
            "layer is given, and two answers are compared, which are read apart; ask without rather_than",
            argument="layer",
            code="conflict",
        )
    targets = {
        name: None if name == subject.main else where
        for name, where in zip(subject.games.outputs, subject.games.where, strict=True)
    }
    _check_memory(subject)
    points = points_in_answer(subject, targets, baseline)
    everyone = Partition(subject.everyone, subject.owner)
    return {name: at if layer is None else at_layer(at, everyone, layer) for name, at in points.items()}


def _check_memory(subject: AnswerSubject) -> None:
    """Refuse a prompt that is so long that a pass and its way back would not fit into memory."""
    config = subject.model.model.config.get_text_config()
    width = int(getattr(config, "hidden_size", None) or 0)
    layers, heads, inner = (
        int(getattr(config, name, None) or usual)
        for name, usual in (("num_hidden_layers", 0), ("num_attention_heads", 0), ("intermediate_size", 4 * width))
    )
    tokens = len(subject.ids) + len(subject.decoder_ids)
    needed = backward_bytes(layers, heads, width, inner, tokens, eager=True)
    if needed > BACKWARD_BYTES:
        raise InvalidInput(
            f"the way back through {layers} layers over {tokens:,} tokens needs about {needed / 2**30:.0f} GiB of memory, and "
            f"{BACKWARD_BYTES / 2**30:.0f} GiB are allowed; use leave-one-out or shapley, which only read, or shorten the "
            "prompt",
            argument="methods",
            code="too-many",
        )


def points_in_answer(
    subject: AnswerSubject, targets: Mapping[str, IntArray | None], baseline: object = None
) -> dict[str, Point]:
    """The payoff of each target as a smooth function; a target is the numbers of its tokens, None the whole answer."""
    nobody = subject.owner >= len(subject.players)
    return answer_points(
        subject.model,
        subject.layout.ids,
        [answer.ids for answer in subject.answers],
        Partition(subject.players, np.where(nobody, -1, subject.owner)),
        targets,
        subject.payoff,
        baseline,
    )
