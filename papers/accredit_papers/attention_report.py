"""What attention flow is good for on real models: against ablation, with and without the tokens that soak attention up.

Models learn to park attention that has nowhere to go on a token that says nothing, a *sink*: the first token of a language
model, the special tokens of an encoder. Here every reading is made three times: as it is, with the sinks left unread (their
weight goes to the other tokens of the same row), and divided by what the attention mask alone would give.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from accredit.arena.texts import among, weights_digest
from accredit.attention import flow_report, raw_attention, rollout
from accredit.core import Attribution, FloatArray, IntArray
from accredit.core.rounding import SINGLE, blur
from accredit.core.statistics import tied
from accredit.evaluate.agreement import spearman
from accredit.evaluate.bootstrap import bootstrap
from accredit.explanation.flows import uniform_flow
from accredit.explanation.graph import AttentionGraph, graph_of, uniform_of
from accredit.explanation.stream import attribution_of
from accredit.flow.network import LayeredNetwork
from accredit.flow.stack import AttentionStack, leave_unread
from accredit.flow.unique import unique_flow
from accredit.store.results_cache import Finished
from accredit.values.solver import progress
from accredit_papers import propositions
from accredit_papers.report import Report, Whose
from accredit_papers.verdicts import of_estimate, of_share

if TYPE_CHECKING:
    from torch import nn

    from accredit.answers.model import AnsweringModel
    from accredit.answers.planted import Planted
    from accredit.explanation.answers import AnswerSubject
    from accredit.explanation.subject import Subject
    from accredit.models.text import TextModel

Asked = TypeVar("Asked")
READINGS = ("attention", "rollout", "flow")
WAYS = ("as it is", "sinks unread", "beside the mask")
YARDSTICK = "attn-lrp"  # one backward pass, which does not read attention as an explanation
SHORT = "The plot is thin, but Paris is superb"  # few tokens in both models: all 2ⁿ flows are solved
RENUMBERINGS = 4
FORMAT = 1  # of stored texts
PAIRS_OF_TEXT = 12  # pairs that are looked at for collapse


@dataclass(frozen=True, eq=False)
class SinkTrial:
    """What one text showed."""

    tokens: int
    read: float  # share of attention that goes to the sinks, over layers and all other tokens
    caught: float  # share of the flow that ends in the sinks
    collapse: float  # share of pairs whose flow is no more than the trivial bound
    credit: dict[tuple[str, str], FloatArray]  # (reading, way) -> credit of the players
    ablation: FloatArray  # leave-one-out of the players
    gold: frozenset[int]  # players that are known to hold the answer; none: not known

    def agreement(self, of: tuple[str, str]) -> float:
        """Rank correlation of a reading with the size of what leaving out changes."""
        return spearman(np.abs(self.credit[of]), np.abs(self.ablation))

    def hit(self, of: tuple[str, str]) -> bool:
        """Whether the largest credit, alone at the top, is a player that holds the answer."""
        places = tied(self.credit[of], blur(float(np.abs(self.credit[of]).max()), SINGLE))
        first = np.flatnonzero(places == places.max())
        return len(first) == 1 and int(first[0]) in self.gold

    def plain(self) -> dict[str, object]:
        """Everything as JSON."""
        credit = [[*of, values.tolist()] for of, values in self.credit.items()]
        return vars(self) | {"credit": credit, "ablation": self.ablation.tolist(), "gold": sorted(self.gold)}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Self:
        """Inverse of `plain`."""
        credit = {(name, way): np.array(values) for name, way, values in plain["credit"]}
        gold = frozenset(plain["gold"])
        return cls(**{**plain, "credit": credit, "ablation": np.array(plain["ablation"]), "gold": gold})


def attention_report(
    encoder: TextModel | None,
    texts: Sequence[str],
    answering: AnsweringModel | None,
    prompts: Sequence[Planted],
    seed: int = 0,
    store: str | Path | None = None,
) -> Report:
    """The study on an encoder, on a language model, or on both; texts that the store holds are not studied again."""
    report = Report("attention", "What is attention flow good for? Real models, with and without their sinks")
    at = len(report.parts)
    studied: dict[str, list[SinkTrial]] = {}
    if encoder is not None:
        name = encoder.name.rstrip("/").rpartition("/")[2]
        found = _trials(encoder.model, texts, lambda text: _text_trial(encoder, text, seed), seed, store)
        studied[name] = _study(report, name, "words", found, seed)
        _propositions(report, name, encoder, seed)
    if answering is not None:
        name = answering.name.rstrip("/").rpartition("/")[2]
        found = _trials(answering.model, prompts, lambda each: _prompt_trial(answering, each, seed), seed, store)
        studied[name] = _study(report, name, "passages", found, seed)
        _propositions(report, name, answering.text_model, seed)
    parts, report.parts = report.parts[at:], report.parts[:at]
    _conclude(report, studied, seed)
    report.parts += parts
    return report


def _trials(
    model: nn.Module, asked: Sequence[Asked], study: Callable[[Asked], SinkTrial], seed: int, store: str | Path | None
) -> list[SinkTrial]:
    """A trial of each; what is done is kept at once."""
    digest, found = weights_digest(model), []
    with Finished(store or ":memory:") as kept, progress("texts", len(asked)) as bar:
        for one in asked:
            key = {"model": digest, "text": repr(one), "seed": seed, "format": FORMAT}
            plain = kept.found(key)
            if plain is None:
                plain = study(one).plain()
                kept.keep(key, plain)
            found.append(SinkTrial.of(plain))
            bar.update(len(found))
    return found


# One text


def _text_trial(model: TextModel, text: str, seed: int) -> SinkTrial:
    from accredit.explanation.subject import text_subject

    subject = text_subject(model, text, payoff="log-odds", seed=seed)
    sinks = np.flatnonzero(subject.owner >= len(subject.players))  # tokens that nobody plays for: [CLS] and [SEP]
    return _trial(subject, sinks, frozenset(), seed)


def _prompt_trial(model: AnsweringModel, planted: Planted, seed: int) -> SinkTrial:
    from accredit.explanation.answers import answer_subject

    subject = answer_subject(
        model, None, context=list(planted.context), query=planted.query, answer=planted.answer, target="all", seed=seed,
        budget=len(planted.context) + 2,
    )  # fmt: skip
    return _trial(subject, np.array([0]), frozenset[int]().union(*planted.enough), seed)


def _trial(subject: Subject | AnswerSubject, sinks: IntArray, gold: frozenset[int], seed: int) -> SinkTrial:
    graph = graph_of(subject)
    assert not isinstance(graph.attention, AttentionStack)  # one stack of layers
    own, even = graph.attention, uniform_of(subject)
    others = np.setdiff1d(np.arange(own.shape[1]), sinks)
    made = {way: _read(graph, a) for way, a in zip(WAYS[:2], (own, leave_unread(own, sinks)), strict=True)}
    mask = _read(graph, even, uniform_flow(subject, "barrier", graph.outputs)[0])
    credit = {(name, way): found[name][: len(subject.players)] for way, found in made.items() for name in READINGS}
    for name in READINGS:
        by_mask = mask[name][: len(subject.players)]
        credit[name, WAYS[2]] = credit[name, WAYS[0]] / np.where(by_mask > 0, by_mask, 1.0)
    whole = made[WAYS[0]]["flow"]
    names = {who for k in sinks.tolist() if (who := int(graph.owner[k])) >= len(subject.players)}
    credit[YARDSTICK, WAYS[0]] = _credit(subject, YARDSTICK)
    looked = flow_report(own, outputs=graph.outputs, intervals=False, trials=0, pairs=PAIRS_OF_TEXT, seed=seed)
    return SinkTrial(
        own.shape[1],
        float(own[:, others][:, :, sinks].sum(axis=2).mean()),
        float(whole[sorted(names)].sum() / whole.sum()),
        looked.collapse_share,
        credit,
        _credit(subject, "leave-one-out"),
        gold,
    )


def _read(
    graph: AttentionGraph, attention: FloatArray | AttentionStack, arrives: FloatArray | None = None
) -> dict[str, FloatArray]:
    """The three readings of an attention tensor, for everyone of the graph; the flow is solved where it is not given."""
    out = graph.outputs
    if arrives is None:
        arrives = unique_flow(LayeredNetwork.from_attention(attention, outputs=out)).demand
    tokens = raw_attention(attention)[out].mean(axis=0), rollout(attention)[out].mean(axis=0), arrives
    return {name: graph.by_player(credit) for name, credit in zip(READINGS, tokens, strict=True)}


def _credit(subject: Subject | AnswerSubject, method: str) -> FloatArray:
    mine = among(attribution_of(subject, method), subject.players)
    assert isinstance(mine, Attribution)
    return mine.credit


# All texts of a model


def _study(report: Report, name: str, players: str, found: list[SinkTrial], seed: int) -> list[SinkTrial]:
    report.heading(f"{name}: {players} of {len(found)} texts")
    read, caught, collapse = (
        bootstrap(np.array([getattr(one, what) for one in found]), seed=seed, within=(0, 1))
        for what in ("read", "caught", "collapse")
    )
    report.say(
        f"{np.mean([one.tokens for one in found]):.0f} tokens on average. The sinks get {read:.2f} of all attention and "
        f"{caught:.2f} of the flow; {collapse:.2f} of pairwise flows are no more than the trivial bound."
    )
    known = bool(found[0].gold)
    rows: list[list[object]] = []
    for of in found[0].credit:
        agree = bootstrap(np.array([one.agreement(of) for one in found]), seed=seed, within=(-1, 1))
        hits = [f"{sum(one.hit(of) for one in found)} of {len(found)}"] if known else []
        rows.append([*of, f"{agree:+.2f}", *hits])
    if known:
        best = sum(int(np.argmax(one.ablation)) in one.gold for one in found)
        rows.append(["leave-one-out", "the ablation itself", "+1.00", f"{best} of {len(found)}"])
    report.table(["reading", "", f"Spearman with leaving out {players}", *(["finds the passage"] if known else [])], rows)
    _judge(report, name, players, found, seed)
    return found


def _judge(report: Report, name: str, players: str, found: Sequence[SinkTrial], seed: int) -> None:
    flow, unread, beside = (("flow", way) for way in WAYS)
    gains = (
        ("Leaving the sinks unread brings flow nearer to ablation", unread, flow),
        ("Dividing by what the mask alone gives brings flow nearer to ablation", beside, flow),
        ("Flow is nearer to ablation than one backward pass of AttnLRP", flow, (YARDSTICK, WAYS[0])),
        ("Flow with its sinks unread is nearer to ablation than one backward pass of AttnLRP", unread, (YARDSTICK, WAYS[0])),
    )
    for statement, first, second in gains:
        gain = np.array([one.agreement(first) - one.agreement(second) for one in found])
        seen = bootstrap(gain, seed=seed)
        report.verdict(
            f"{name}: {statement}",
            of_estimate(seen, low=0, count=len(found), unit="text"),
            f"Spearman with leaving out {players}, text by text: {seen:+.2f}",
            whose=Whose.OURS,
        )
    if found[0].gold:
        chance = float(np.mean([len(one.gold) / len(one.ablation) for one in found]))
        for of in (flow, unread, beside):
            hits = sum(one.hit(of) for one in found)
            report.verdict(
                f"{name}: flow ({of[1]}) finds the passage that holds the answer more often than chance",
                of_share(hits, len(found), low=chance, unit="prompt"),
                f"{hits} of {len(found)}; chance {chance:.2f}",
                whose=Whose.OURS,
            )


def _propositions(report: Report, name: str, model: TextModel, seed: int) -> None:
    """Propositions 1 and 2 on the model's own attention, heads averaged."""
    seen = model.encode(SHORT)
    attention = model.attentions(seen).mean(axis=1)
    tokens = tuple(f"{token}·{i}" for i, token in enumerate(seen.tokens))
    propositions.weights(report, attention[-1], tokens, name)
    propositions.flows(report, attention, tokens, RENUMBERINGS, seed, name)


# The page's first lines


def _conclude(report: Report, studied: dict[str, list[SinkTrial]], seed: int) -> None:
    for name, found in studied.items():
        means = {of: float(np.mean([one.agreement(of) for one in found])) for of in found[0].credit}
        flow = ", ".join(f"{way} {means['flow', way]:+.2f}" for way in WAYS)
        hits = ""
        if found[0].gold:
            counts = {of: sum(one.hit(of) for one in found) for of in found[0].credit}
            hits = (
                f" It finds the passage in {', '.join(str(counts['flow', way]) for way in WAYS)} of {len(found)} prompts "
                f"({', '.join(WAYS)}), AttnLRP in {counts[YARDSTICK, WAYS[0]]}."
            )
        best = max((of for of in means if of[0] != YARDSTICK), key=lambda of: means[of])
        report.say(
            f"**{name}.** Flow ranks as leaving out does with a Spearman correlation of {flow}; AttnLRP "
            f"{means[YARDSTICK, WAYS[0]]:+.2f}; the best reading of attention, seen afterwards, is {best[0]}, {best[1]} "
            f"({means[best]:+.2f}).{hits}"
        )
    report.say(
        "*Sinks*: the first token of a language model, the special tokens of an encoder. *Sinks unread*: nobody reads them, "
        "and each row's weight goes to its other tokens. *Beside the mask*: divided by the same reading of attention that is "
        "equal wherever the mask allows any. Agreement is by size: a word that lowers the output counts as much as one that "
        "raises it."
    )
