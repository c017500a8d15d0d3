"""What several methods said of a subject, put together with what the model said and what was drawn."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from accredit.core import AccreditError, Attribution
from accredit.explanation.flows import DRAWN, drawn_flow
from accredit.explanation.result import Explanation, FlowPicture
from accredit.explanation.subject import Subject, picture_of, tokens_of
from accredit.methods import Chosen


def explanation_of(
    subject: Subject,
    methods: Sequence[Chosen],
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
        name: sys.modules[name].__version__ for name in ("torch", "transformers", "numpy") if name in sys.modules
    }
    game = subject.game
    prediction, unit = subject.prediction
    flow, undrawn = _drawing(subject, [chosen for chosen in methods if chosen.name in attributions])
    return Explanation(
        text=game.provenance.get("text", game.provenance.get("image", "")),
        prediction=prediction,
        target=subject.model.label(game.target),
        players=subject.players,
        methods=tuple(each.name for each in methods),
        attributions=attributions,
        refused=refused,
        seconds=seconds,
        tokens=tokens_of(subject),
        picture=picture_of(subject),
        flow=flow,
        unsigned=tuple(each.name for each in methods if not each.method.signed),
        payoff=game.payoff_name,
        unit="probability" if unit == "probability" else "value",
        notes=(*notes_on(subject.seen), *undrawn, *_on_targets(subject, methods, others)),
        pair=game.provenance.get("pair"),
        others={target: {name: credit[target] for name, credit in others.items()} for target in _targets(others)},
        provenance={
            "model": subject.model.name, "architecture": game.provenance["architecture"], "players": subject.unit,
            "removal": game.removal, "budget": subject.budget, "seed": subject.seed, "accredit": __version__, **versions,
        },
    )  # fmt: skip


def _drawing(subject: Subject, ran: Sequence[Chosen]) -> tuple[FlowPicture | None, tuple[str, ...]]:
    """The drawing of the first flow that ran; or why there is none."""
    for chosen in ran:
        if chosen.method.name in DRAWN:
            try:
                return drawn_flow(subject, chosen), ()
            except AccreditError as error:
                return None, (f"The drawing of {chosen.name} is left out: {error}",)
    return None, ()


def _targets(others: Mapping[str, Mapping[str, Attribution]]) -> tuple[str, ...]:
    return tuple(next(iter(others.values()), {}))


def _on_targets(
    subject: Subject, methods: Sequence[Chosen], others: Mapping[str, Mapping[str, Attribution]]
) -> Iterator[str]:
    """How many other targets were explained, and by which methods."""
    targets = _targets(others)
    if not targets:
        return
    count = f"{len(targets)} other target{'s' if len(targets) > 1 else ''}"
    alone = [each.name for each in methods if each.method.kind != "game"]
    limits = f" {', '.join(alone)} answer{'s' if len(alone) == 1 else ''} for this one only." if alone else ""
    yield f"Credit for {count} comes from the same passes: explanation.of({targets[0]!r}), in JSON under others.{limits}"


def notes_on(seen: Any) -> Iterator[str]:
    """What the reader must know about how the model read the input."""
    yield from getattr(seen, "notes", ())
    if left_out := getattr(seen, "cut", "").strip():
        yield f"The model did not read the whole text; left out: {left_out!r:.80}"
    if getattr(seen, "pair", None) is not None:
        ends = np.flatnonzero((seen.part == 0) & ~seen.special)[-1], np.flatnonzero((seen.part == 1) & ~seen.special)[0]
        if ends[1] == ends[0] + 1 and (seen.types is None or seen.types[ends[0]] == seen.types[ends[1]]):
            yield "The tokenizer puts nothing between the two texts: the model cannot tell where the second begins."
