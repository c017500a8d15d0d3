"""What several methods said of a subject, put together with what the model said and what was drawn."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from accredit.core import Attribution, Note, NoteKind, Procedure
from accredit.core.notes import check_notes
from accredit.errors import AccreditError
from accredit.explanation.answers import AnswerSubject
from accredit.explanation.flows import DRAWN, draw_flow, on_the_mask
from accredit.explanation.result import Explanation, FlowPicture, on_little
from accredit.explanation.subject import Subject, picture_of, tokens_of
from accredit.methods import ChosenMethod

AT_CHANCE = frozenset({"attention", "rollout", "input-x-gradient"})  # by the record of tools/answer_truth.py, as a test says
NOTHING_KNOWN = Note(NoteKind.NOTHING_KNOWN, "Every word here is unknown to the model; it sees only their positions.")


def explanation_of(
    subject: Subject | AnswerSubject,
    methods: Sequence[ChosenMethod],
    attributions: Mapping[str, Attribution],
    refused: Mapping[str, str],
    seconds: Mapping[str, float],
    others: Mapping[str, Mapping[str, Attribution]],
) -> Explanation:
    """The explanation by the methods that have ended, in this order; the first flow among them is drawn.

    `others` holds, by method, its credit for other targets.
    """
    from accredit.core.version import __version__

    versions: dict[str, str] = {
        name: sys.modules[name].__version__ for name in ("torch", "transformers", "numpy") if sys.modules.get(name)
    }
    described = _answer(subject) if isinstance(subject, AnswerSubject) else _predict(subject)
    notes, provenance = described.pop("notes"), described.pop("provenance")
    flow, undrawn = _drawing(subject, [chosen for chosen in methods if chosen.name in attributions])
    return Explanation(
        players=subject.players,
        methods=tuple(each.name for each in methods),
        attributions=attributions,
        refused=refused,
        seconds=seconds,
        flow=flow,
        unsigned=tuple(each.name for each in methods if not each.method.signed),
        notes=check_notes(
            (
                *on_little(described.get("said"), described["target"], described["payoff"], attributions),
                *_on_spending(subject, [each for each in methods if each.name in attributions]),
                *notes,
                *undrawn,
                *on_the_mask(attributions),
                *_on_targets(attributions, others),
                *_on_settings(subject, methods),
                *_on_chance(subject, methods),
            )
        ),
        others={target: {name: credit[target] for name, credit in others.items()} for target in _targets(others)},
        provenance={
            **provenance,
            "players": subject.unit,
            "budget": subject.budget,
            "seed": subject.seed,
            "accredit": __version__,
            **versions,
        },
        **described,
    )


def _on_spending(subject: Subject | AnswerSubject, methods: Sequence[ChosenMethod]) -> Iterator[str]:
    """How many payoffs sampled values asked, where nobody said how many they may and there is one."""
    if isinstance(subject, AnswerSubject) and subject.spends and any(each.method.is_sampled for each in methods):
        yield subject.spends


def _predict(subject: Subject) -> dict[str, Any]:
    """One output of one input: what was read, and what the model predicts."""
    game, (prediction, unit) = subject.game, subject.prediction
    return {
        "text": game.provenance.get("text", game.provenance.get("image", "")),
        "pair": game.provenance.get("pair"),
        "prediction": prediction,
        "unit": "probability" if unit == "probability" else "value",
        "target": subject.model.label(game.target),
        "payoff": game.payoff_name,
        "tokens": tokens_of(subject),
        "picture": picture_of(subject),
        "notes": (*notes_on(subject.seen), *_unknown_words(subject)),
        "provenance": {
            "model": subject.model.name,
            "architecture": game.provenance["architecture"],
            "removal": game.removal,
        },
    }


def _answer(subject: AnswerSubject) -> dict[str, Any]:
    """An answer to a prompt: both, what the answer is worth with the whole prompt, and how it was read."""
    facts, (text, tokens), worth = subject.facts, subject.shown, subject.worth
    kept = (
        "model",
        "architecture",
        "removal",
        "filler",
        "answer from",
        "rather than",
        "prompt tokens",
        "answer tokens",
        "reading",
    )
    return {
        "text": text,
        "pair": subject.before,
        "tokens": tokens,
        "target": subject.main,
        "payoff": subject.payoff,
        "unit": "value",
        "prediction": ((subject.main, worth[0]),),
        "said": subject.said,
        "notes": (*facts["notes"], *subject.notes),
        "provenance": {name: facts[name] for name in kept if facts.get(name) is not None}
        | {"answer from": str(Procedure.from_plain(facts["answer from"])), "passes": subject.game.passes},
    }


def _drawing(subject: Subject | AnswerSubject, ran: Sequence[ChosenMethod]) -> tuple[FlowPicture | None, tuple[str, ...]]:
    """The drawing of the first flow that ran; or why there is none."""
    for chosen in ran:
        if chosen.method.name in DRAWN:
            try:
                return draw_flow(subject, chosen), ()
            except AccreditError as error:
                return None, (f"The drawing of {chosen.name} is left out: {error}",)
    return None, ()


def _targets(others: Mapping[str, Mapping[str, Attribution]]) -> tuple[str, ...]:
    return tuple(next(iter(others.values()), {}))


def _on_settings(subject: Subject | AnswerSubject, methods: Sequence[ChosenMethod]) -> Iterator[str]:
    """Which of the methods do not take a setting that was given."""
    for name, value in subject.settings.items():
        taking = [each.name for each in methods if name in each.method.takes]
        if len(taking) < len(methods):
            yield f"{name}={value!r:.40} concerns {', '.join(taking)}; the other methods do not take it."


def _on_chance(subject: Subject | AnswerSubject, methods: Sequence[ChosenMethod]) -> Iterator[Note]:
    """That a method finds the passages behind a real model's answers hardly more often than chance (docs/choosing.md)."""
    poor = [each.name for each in methods if each.method.name in AT_CHANCE]
    if isinstance(subject, AnswerSubject) and poor:
        yield Note(
            NoteKind.WARNING,
            f"{', '.join(poor)} found the passage behind an answer of a real language model hardly more often than chance, on "
            "planted facts; attn-lrp and shapley find it",
        )


def _on_targets(attributions: Mapping[str, Attribution], others: Mapping[str, Mapping[str, Attribution]]) -> Iterator[Note]:
    """How many other targets were explained, and by which methods."""
    targets = _targets(others)
    if not targets:
        return
    count = f"{len(targets)} other target{'s' if len(targets) > 1 else ''}"
    alone = [name for name in attributions if name not in others]
    limits = f" {', '.join(alone)} answer{'s' if len(alone) == 1 else ''} for this one only." if alone else ""
    yield Note(NoteKind.OTHER_TARGETS, f"Credit for {count} comes from the same passes.{limits}")


def _unknown_words(subject: Subject) -> Iterator[str | Note]:
    """That most of the text is in no vocabulary: a model that reads another language, say."""
    unknown = getattr(getattr(subject.model, "tokenizer", None), "unk_token_id", None)
    if unknown is None or subject.kind != "text":
        return
    own = subject.seen.ids[~subject.seen.special]
    count = int((own == unknown).sum())
    if count == len(own) > 0:
        yield NOTHING_KNOWN
    elif 2 * count >= len(own) > 0:
        yield f"The model does not know {count} of the {len(own)} tokens: it cannot tell them apart."


def notes_on(seen: Any) -> Iterator[str]:
    """What the reader must know about how the model read the input."""
    yield from getattr(seen, "notes", ())
    if left_out := getattr(seen, "cut", "").strip():
        yield f"The model did not read the whole text; left out: “{left_out:.80}{'…' * (len(left_out) > 80)}”"
    if getattr(seen, "pair", None) is not None:
        ends = np.flatnonzero((seen.part == 0) & ~seen.special)[-1], np.flatnonzero((seen.part == 1) & ~seen.special)[0]
        if ends[1] == ends[0] + 1 and (seen.types is None or seen.types[ends[0]] == seen.types[ends[1]]):
            yield "The tokenizer puts nothing between the two texts: the model cannot tell where the second begins."
