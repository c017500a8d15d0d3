"""Abnar and Zuidema's verb-number study: which reading of attention tracks what a blanked word changes, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accredit.checks.json_data import round_off
from accredit.core import FloatArray
from accredit.evaluate.agreement import spearman
from accredit_papers.report import Report, Whose
from accredit_papers.verb_number import (
    UNKNOWN,
    Prefix,
    VerbNumberModel,
    answers,
    from_plain_text,
    linzen,
    minimal_pairs,
    train,
)
from accredit_papers.verdicts import Found, all_of, over_runs

if TYPE_CHECKING:
    import matplotlib.axes

READINGS = ("raw", "rollout", "flow")
TRUTHS = ("blank-out", "input gradient")
PUBLISHED = {  # Abnar and Zuidema (2020): Spearman, mean ± sd over 2,000 sentences; layers not transcribed are absent
    ("raw", "blank-out"): {1: (.69, .27), 2: (.10, .43), 3: (-.11, .49), 4: (-.09, .52), 5: (.20, .45), 6: (.29, .39)},
    ("rollout", "blank-out"): {1: (.32, .26), 2: (.38, .27), 3: (.51, .26), 4: (.62, .26), 5: (.70, .25), 6: (.71, .24)},
    ("flow", "blank-out"): {1: (.32, .26), 2: (.44, .29), 3: (.70, .25), 4: (.70, .22), 5: (.71, .22), 6: (.70, .22)},
    ("raw", "input gradient"): {1: (.53, .33), 3: (-.06, .42), 6: (.46, .35)},
    ("rollout", "input gradient"): {1: (.22, .31), 3: (.39, .32), 6: (.54, .31)},
    ("flow", "input gradient"): {1: (.22, .31), 3: (.54, .32), 6: (.61, .28)},
}  # fmt: skip
PUBLISHED_ACCURACY = 0.96
NATURAL = (0.947, 0.043, 0.0077, 0.0017, 0.0005)  # attractors 0 to 4 among sentences in print (Kuncoro et al., 2018)
SENTENCES_HELD_OUT = 1000  # Linzen sentences, and as many of the news with which the plain text begins
STUDIED = 400  # of them, on which readings of attention are compared
WORDS_NEEDED = 4  # words of a sentence on which ranks are compared


@dataclass(frozen=True)
class ModelRun:
    """One model, trained from one seed, and what it says of sentences that it was not trained on."""

    shape: str  # of the network
    examples: int  # different prefixes that it was trained on
    right: dict[str, FloatArray]  # by group of held-out sentences: 1 where the number is right
    usual: dict[str, float]  # by group: how often the more frequent number is right
    natural: tuple[float, float]  # both, if attractors were as frequent as in print
    readings: FloatArray  # (sentences, readings, truths, layers): Spearman
    position: FloatArray  # (sentences, truths): the same for the place of a word, later is more


def agreement(
    data: Path,
    weights: Path | None = None,
    quick: bool = False,
    seed: int = 0,
    start: Path | None = None,
    seeds: int = 3,
) -> Report:
    """Train a model from each of `seeds` seeds, measure, and print our table beside the published one.

    Each seed holds other sentences back and trains anew; what was trained is kept in the folder `weights`, and loaded from
    there. With `start`, the folder of a BERT encoder of six layers, training begins there and needs fewer sentences.
    """
    report = Report("agreement", "Attention, rollout and flow on verb number")
    runs = [_run(data, weights, quick, one, start) for one in range(seed, seed + seeds)]
    _describe(report, runs, start)
    _task(report, runs)
    _compare(report, runs)
    _tables(report, runs)
    return report


def _run(data: Path, weights: Path | None, quick: bool, seed: int, start: Path | None) -> ModelRun:
    """What one seed decides: the sentences held back, and where training begins and goes."""
    sentences = linzen(data)
    order = np.random.default_rng(seed).permutation(len(sentences))
    held_out = [sentences[k] for k in order[:SENTENCES_HELD_OUT]]
    plain = from_plain_text(data, 2 * SENTENCES_HELD_OUT if quick else 60_000 if start is None else 5 * SENTENCES_HELD_OUT)
    repeats = 3 if start is None else 2
    training = repeats * [sentences[k] for k in order[SENTENCES_HELD_OUT:]] + minimal_pairs(data) + plain[SENTENCES_HELD_OUT:]
    epochs = 1 if quick or start is not None else 4
    kept = None if weights is None else weights / f"seed-{seed}"
    if kept is not None and (kept / "vocabulary.txt").exists():
        model = VerbNumberModel.load(kept)
    else:
        model = train(data, training, epochs, seed, start=start)
        if kept is not None:
            model.save(kept)
    made = model.network.config
    groups = {f"Linzen, {k} attractors": [p for p in held_out if p.attractors == k] for k in _attractors(held_out)}
    groups |= {"Linzen, all": held_out, "news": plain[:SENTENCES_HELD_OUT]}
    right = {name: answers(model, group).astype(float) for name, group in groups.items()}
    usual = {name: _more_frequent(group) for name, group in groups.items()}
    by_attractors = [name for name in groups if name.endswith("attractors")]
    studied = [prefix for prefix in held_out if len(prefix.words) >= WORDS_NEEDED][: 30 if quick else STUDIED]
    compared = [_correlations(model, prefix) for prefix in studied]
    return ModelRun(
        f"{made.num_hidden_layers} layers, {made.num_attention_heads} heads and width {made.hidden_size}",
        len(set(training)),
        right,
        usual,
        (
            natural_mix([right[name].mean() for name in by_attractors]),
            natural_mix([usual[name] for name in by_attractors]),
        ),
        np.array([x.readings for x in compared]),
        np.array([x.position for x in compared]),
    )


def _more_frequent(prefixes: Sequence[Prefix]) -> float:
    """The share of the number that most verbs have."""
    plural = float(np.mean([prefix.plural for prefix in prefixes]))
    return max(plural, 1 - plural)


def _describe(report: Report, runs: Sequence[ModelRun], start: Path | None) -> None:
    """What was trained, on what."""
    began = "It began at random, with word vectors of GloVe."
    if start is not None:
        began = (
            f"It began as the pretrained encoder {start.name}, whose word vectors stay (a word of several pieces gets their "
            "mean)."
        )
    report.say(
        f"A transformer of {runs[0].shape} reads the words before a verb and predicts its number from its first token. {began} "
        f"It was trained on about {np.mean([run.examples for run in runs]):,.0f} different prefixes: other Linzen sentences, "
        "minimal pairs, and plain text in which the verb gives the number away. "
        f"The published model was fitted to 1.5 million sentences and is right on {PUBLISHED_ACCURACY} of its test set, in "
        "which attractors (nouns of the other number between subject and verb) are as rare as in print. Here the numbers of "
        "attractors are about equally frequent. *Natural mix* weighs them as they occur in print: "
        + ", ".join(f"{100 * share:.3g} % with {k}" for k, share in enumerate(NATURAL))
        + " (Kuncoro et al., 2018)."
    )
    report.say(
        f"Trained models: {len(runs)}, each from a seed of its own that also decides which sentences are held back. Statements "
        "are judged by the spread from model to model."
    )


def natural_mix(shares: Sequence[float]) -> float:
    """The mean share if attractors were as frequent as in print, from shares by their number.

    >>> round(natural_mix([0.75, 0.5]), 3)
    0.739
    """
    weights = np.array(NATURAL[: len(shares)])
    return float(weights @ shares / weights.sum())


def _task(report: Report, runs: Sequence[ModelRun]) -> None:
    """Do the models do the task at all, and as well as the published one?"""
    rows, weak = [], []
    for name in runs[0].right:
        right = np.array([run.right[name].mean() for run in runs])
        usual = np.array([run.usual[name] for run in runs])
        better = over_runs(right - usual, low=0)
        weak += [name] if better.found is not Found.HOLDS else []
        count = np.mean([len(run.right[name]) for run in runs])
        rows.append([name, f"{count:,.0f}", _spread(right, 3), f"{usual.mean():.3f}"])
        if name in ("Linzen, all", "news"):
            report.verdict(
                f"{name}: the model does better than one that knows the number of most verbs and nothing else",
                better,
                f"{_spread(right, 3)} against {usual.mean():.3f}",
                paper=f"{PUBLISHED_ACCURACY:.2f}",
                whose=Whose.OURS,
            )
    natural, usual = np.array([run.natural for run in runs]).T
    rows.append(["Linzen, natural mix", f"{SENTENCES_HELD_OUT:,}", _spread(natural, 3), f"{usual.mean():.3f}"])
    report.verdict(
        "Linzen, natural mix: the model is right as often as the published one",
        over_runs(natural, low=PUBLISHED_ACCURACY),
        _spread(natural, 3),
        paper=f"{PUBLISHED_ACCURACY:.2f}",
    )
    report.table(["held out", "sentences of a model", "right, mean ± sd over models", "always the more frequent number"], rows)
    if weak:
        report.say(
            f"They are not shown to beat the more frequent number of the group for: {'; '.join(weak)}."
            + " What follows is about models that learned the easy part of agreement, and where it differs from the study the "
            "models may be the reason." * (len(weak) > 1)
        )


def _spread(values: FloatArray, digits: int) -> str:
    """Mean ± standard deviation over models; one model has no spread.

    >>> _spread(np.array([0.5, 0.7]), 2), _spread(np.array([0.5]), 2)
    ('0.60 ± 0.14', '0.50, one model')
    """
    if len(values) == 1:
        return f"{values[0]:.{digits}f}, one model"
    return f"{values.mean():.{digits}f} ± {values.std(ddof=1):.{digits}f}"


def _attractors(prefixes: Sequence[Prefix]) -> list[int]:
    """Numbers of attractors that occur, without gaps from 0."""
    there = {p.attractors for p in prefixes}
    return [k for k in range(len(NATURAL)) if set(range(k + 1)) <= there]


def _compare(report: Report, runs: Sequence[ModelRun]) -> None:
    """What is compared, on how many sentences, and what no attention at all would reach."""
    report.say(
        f"For {len(runs[0].readings):,} held-out Linzen sentences of each model with at least {WORDS_NEEDED} words before the "
        "verb: *blank-out* is the "
        "change of the predicted number's probability when one word becomes unknown, in magnitude; *input gradient* is "
        "the length of the gradient of that number's logit at the word's embedding. *Raw* is the attention of the first "
        "token in layer ℓ, *rollout* and *flow* reach from it in layer ℓ to the input (residual ½, heads averaged, flow "
        "pairwise). Spearman over the words of a sentence, the first token left out; + 1 is the same order."
    )
    near = np.array([run.position.mean(axis=0) for run in runs])
    report.say(
        "For scale: a reading that looks at nothing and ranks words by their nearness to the verb reaches "
        + " and ".join(f"{_spread(near[:, t], 2)} with {truth}" for t, truth in enumerate(TRUTHS))
        + "."
    )


@dataclass(frozen=True)
class Correlations:
    """Spearman correlations on one sentence."""

    readings: FloatArray  # (readings, truths, layers)
    position: FloatArray  # (truths,): the place of a word, later is more


def _correlations(model: VerbNumberModel, prefix: Prefix) -> Correlations:
    readings = _readings(_attention(model, prefix))
    truths = (_blank_out(model, prefix), _input_gradient(model, prefix))
    place = np.arange(len(prefix.words), dtype=np.float64)
    return Correlations(
        np.array([[[spearman(row, truth) for row in reading] for truth in truths] for reading in readings]),
        np.array([spearman(place, truth) for truth in truths]),
    )


def _attention(model: VerbNumberModel, prefix: Prefix) -> FloatArray:
    """(L, T, T), heads averaged."""
    import torch

    with torch.inference_mode():
        out = model.network(input_ids=model.encode(prefix.words)[None], output_attentions=True)
    return np.stack([layer[0].mean(dim=0).double().numpy() for layer in out.attentions])


def _readings(attention: FloatArray) -> Sequence[FloatArray]:
    """Raw attention, rollout and flow of the first token to every word, for every layer: three arrays (L, T − 1)."""
    from accredit.attention import pairwise_flow, rollout

    layers = range(1, len(attention) + 1)
    raw = attention[:, 0, 1:]
    rolled = np.stack([rollout(attention[:k])[0, 1:] for k in layers])
    flow = np.stack([pairwise_flow(attention[:k], outputs=0)[0, 1:] for k in layers])
    return raw, rolled, flow


def _blank_out(model: VerbNumberModel, prefix: Prefix) -> FloatArray:
    """|change of the predicted class's probability| when each word becomes unknown, in one batch: (T − 1,)."""
    import torch

    ids = model.encode(prefix.words)
    batch = ids.repeat(len(ids), 1)
    batch[torch.arange(1, len(ids)), torch.arange(1, len(ids))] = UNKNOWN
    with torch.inference_mode():
        p = torch.softmax(model.network(input_ids=batch).logits.double(), dim=1).numpy()
    predicted = int(p[0].argmax())
    return np.asarray(np.abs(p[0, predicted] - p[1:, predicted]))


def _input_gradient(model: VerbNumberModel, prefix: Prefix) -> FloatArray:
    """Length of the gradient of the predicted logit at each word's embedding: (T − 1,)."""
    vectors = model.network.get_input_embeddings()(model.encode(prefix.words)[None]).detach().requires_grad_()
    model.network(inputs_embeds=vectors).logits[0].max().backward()
    return np.asarray(vectors.grad[0, 1:].norm(dim=1).double().numpy())


def _tables(report: Report, runs: Sequence[ModelRun]) -> None:
    means = np.array([run.readings.mean(axis=0) for run in runs])  # (runs, readings, truths, layers)
    mean, sd = means.mean(axis=0), np.mean([run.readings.var(axis=0) for run in runs], axis=0) ** 0.5
    for t, truth in enumerate(TRUTHS):
        report.heading(f"Against {truth}")
        rows = []
        for r, reading in enumerate(READINGS):
            rows.append([reading, *(f"{mean[r, t, k]:.2f} ± {sd[r, t, k]:.2f}" for k in range(6))])
            known = PUBLISHED[reading, truth]
            rows.append(
                [
                    f"{reading}, published",
                    *(f"{known[k][0]:.2f} ± {known[k][1]:.2f}" if k in known else "" for k in range(1, 7)),
                ]
            )
        report.table(["Spearman, mean ± sd", *(f"layer {k}" for k in range(1, 7))], rows)
    report.say(
        "The ± of these tables is the spread over sentences, as in the study"
        + (f"; from model to model a mean differs by at most {np.ptp(means, axis=0).max():.2f}" * (len(runs) > 1))
        + "."
    )
    apart = max(float(np.abs(run.readings[:, 0, :, 0] - run.readings[:, 1, :, 0]).max()) for run in runs)
    report.say(
        "In layer 1 raw attention and rollout rank words alike, since the residual changes only what a token gives itself "
        f"(here they differ by at most {round_off(apart, 1)}). The published rows differ there, so the study's raw "
        "attention is read in some other way, which its table does not say; compare the rows of rollout and flow rather "
        "than that one."
    )
    last = means[:, :, 0, -1]
    for better, worse in ((1, 0), (2, 0), (2, 1)):
        gap = last[:, better] - last[:, worse]
        published = PUBLISHED[READINGS[better], "blank-out"][6][0] - PUBLISHED[READINGS[worse], "blank-out"][6][0]
        report.verdict(
            f"In the last layer {READINGS[better]} tracks blank-out better than {READINGS[worse]}",
            over_runs(gap, low=0),
            f"mean difference {_spread(gap, 3)}",
            paper=f"{published:+.2f}",
            whose=Whose.OURS if published <= 0 else Whose.TEXT,  # the study does not say so
        )
    steps = np.diff(means[:, 2, 0, 2:], axis=1)  # (runs, 3)
    report.verdict(
        "Flow hardly changes from the third layer on",
        all_of(over_runs(step, -0.05, 0.05, family=steps.shape[1]) for step in steps.T),
        f"largest step of the mean between layers 3 and 6: {np.abs(steps.mean(axis=0)).max():.3f}, less than 0.05 wanted. A "
        "flow that has collapsed to its bound ignores the layers in between",
        whose=Whose.THRESHOLD,
    )
    report.figure("layers", "Mean Spearman with blank-out by layer; dashed: published.", lambda axes: _draw(axes, mean[:, 0]))


def _draw(axes: matplotlib.axes.Axes, mean: FloatArray) -> None:
    for r, (reading, colour) in enumerate(zip(READINGS, ("C7", "C1", "C0"), strict=True)):
        axes.plot(range(1, 7), mean[r], color=colour, marker="o", ms=3, label=reading)
        known = PUBLISHED[reading, "blank-out"]
        axes.plot(list(known), [m for m, _ in known.values()], color=colour, ls="--", lw=1)
    axes.set(xlabel="layer", ylabel="Spearman with blank-out")
    axes.legend(frameon=False)
