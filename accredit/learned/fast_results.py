"""Fast Shapley values as results: of rows of a table, and of one text or picture among the other methods of `explain`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np

from accredit.checks.arguments import check_arguments
from accredit.core import Attribution, Attributions, IntArray, Known, Precision, Procedure
from accredit.core.notes import check_notes
from accredit.errors import InvalidInput
from accredit.explanation.explainer import Explainer
from accredit.explanation.requests import RowRequest
from accredit.explanation.subject import Subject
from accredit.learned.fast import CLAIMS, WIDTH_TOLERANCE, FastShapley, Fitting, SeededFitting, Values, fit_fast
from accredit.learned.input_sets import InputFamily, RowFamily
from accredit.rows.credit import RowAnswer
from accredit.rows.explain import explanation_of
from accredit.rows.result import TableExplanation

if TYPE_CHECKING:
    import transformers

METHOD = "fast-shapley"
DEFAULTS = RowRequest()
ROWS_NAMED = 5  # rows that are named in a note


@check_arguments
def fit_fast_rows(
    rows: object,
    model: object,
    background: object = None,
    request: RowRequest = DEFAULTS,
    **settings: Unpack[Fitting],
) -> FastShapley:
    """A fast explainer of a model of rows, learned from `rows` compared with `background`.

    `rows` are many rows of the kind that will be explained: most of them are learned from, `calibration` (100) set the
    intervals. `request` is how `explain_rows` would be asked about them; its `budget` is spent on each row that sets the
    intervals. The settings are those of `fit_fast`.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(300, 3))
    >>> fast = fit_fast_rows(x, lambda rows: rows @ [2.0, 1.0, 0.0], x[:20], calibration=40, epochs=80)
    >>> fast.report["r2"] > 0.99
    True
    """
    family = RowFamily.of(rows, model, _against(request, background))
    return fit_fast(family, budget=request.budget, seed=request.seed, **settings)


def _against(request: RowRequest, background: object) -> RowRequest:
    return request if background is None else replace(request, background=background)


@check_arguments
def fit_fast_inputs(
    inputs: Sequence[object],
    model: object = None,
    tokenizer: transformers.PreTrainedTokenizerBase = None,
    *,
    target: Sequence[str | int] | None = None,
    players: object = None,
    payoff: str | None = None,
    removal: object = None,
    cut: bool = False,
    **settings: Unpack[SeededFitting],
) -> FastShapley:
    """A fast explainer of a text or picture model, learned from many texts or pictures.

    Texts may differ in their number of words; pictures must have the same patches. `target` lists the outputs to learn
    (default: all). The other settings are those of `explain`, and of `fit_fast`.

    >>> words = ["good", "bad", "long", "short", "film", "plot"]
    >>> texts = [" ".join(np.random.default_rng(k).choice(words, size=4)) for k in range(60)]
    >>> fast = fit_fast_inputs(texts, pairs=2, calibration=20, epochs=2, width=16)  # far too few
    >>> fast.kind, fast.outputs
    ('texts', ('NEGATIVE', 'POSITIVE'))
    """
    if isinstance(inputs, str | Path) or not len(inputs):
        raise InvalidInput(
            f"inputs is {inputs!r:.40}; give a list of hundreds of texts or pictures", argument="inputs", code="type"
        )
    asked = Explainer(model, tokenizer).model_for("text" if isinstance(inputs[0], str | tuple) else "picture")
    family = InputFamily.of(inputs, asked, target=target, players=players, payoff=payoff, removal=removal, cut=cut)
    return fit_fast(family, **settings)


@check_arguments
def explain_rows_fast(
    explainer: FastShapley | str | Path,
    rows: object,
    model: object,
    background: object = None,
    request: RowRequest = DEFAULTS,
    *,
    tolerance: float = WIDTH_TOLERANCE,
    fallback: int | None = None,
) -> TableExplanation:
    """What `explain_rows(rows, model, background)` gives, by one pass of a fitted network.

    Model and background must be those it was fitted for; payoff and dependence are, unless the `request` names others. Rows
    that it is unsure of are computed in the usual way, `fallback` of them at most; notes say which.

    >>> x = np.random.default_rng(0).normal(size=(300, 3))
    >>> model, background = lambda rows: rows @ [2.0, 1.0, 0.0], x[:20]
    >>> fast = fit_fast_rows(x, model, background, calibration=40, epochs=40)
    >>> explain_rows_fast(fast, x[:2], model, background).credit.shape
    (2, 3, 1)
    """
    fast = explainer if isinstance(explainer, FastShapley) else FastShapley.load(explainer)
    if fast.kind != "rows":
        raise InvalidInput(
            f"this explainer was fitted for {fast.kind}, and rows of a table are given; fit one for rows", code="conflict"
        )
    asked = replace(
        _against(request, background),
        payoff=fast.marks["payoff"] if request.payoff is None else request.payoff,
        dependence=request.dependence or fast.marks["dependence"],
        target=None,  # what is shown first; the games are of every output
        methods=None if request.methods in ("shapley", ("shapley",), ["shapley"]) else request.methods,
    )
    family = RowFamily.of(rows, model, asked)
    found = fast.values(family, tolerance=tolerance, fallback=fallback, budget=request.budget, seed=request.seed)
    apart = tuple((row, _precision(fast, found, row)) for row in found.computed.tolist())
    usual = Precision.interval(fast.calibration.because)
    if len(apart) == len(found.credit):  # none was predicted
        usual = next((one for _, one in apart if one.known is Known.INTERVAL), apart[0][1])
    answer = RowAnswer(
        found.credit,
        found.nobody[0],
        Procedure(METHOD, f"learned from {fast.report['trained on']} rows"),
        usual,
        CLAIMS,
        found.interval if usual.known is Known.INTERVAL else None,
    )
    explained = explanation_of(family.asked, answer, request.target)
    notes = (*explained.notes, *check_notes(say_why(found, family.asked.rows.names)))
    facts = {
        **explained.provenance,
        "fast": fast.report,
        "computed": [explained.rows[r] for r in found.computed.tolist()],
    }
    return replace(explained, notes=notes, provenance=facts, level=fast.calibration.level, apart=apart, method_name=METHOD)


def say_why(found: Values, names: Sequence[str], what: str = "row") -> tuple[str, ...]:
    """Which inputs were computed in the usual way, and which should have been."""
    notes = []
    if len(found.computed):
        far = int(found.far[found.computed].sum())
        wide = len(found.computed) - far
        why = " and ".join(
            filter(None, [f"{far} far from the training {what}s" * bool(far), f"{wide} with wide intervals" * bool(wide)])
        )
        notes.append(f"{_read_list(found.computed, names, what)} computed in the usual way: {why}.")
    if len(found.kept_unsure):
        notes.append(
            f"{_read_list(found.kept_unsure, names, what)} predicted although the explainer is unsure there: the limit of "
            f"{len(found.computed)} is spent; a larger fallback computes more."
        )
    return tuple(notes)


def _read_list(rows: IntArray, names: Sequence[str], what: str) -> str:
    some = ", ".join(names[r] for r in rows[:ROWS_NAMED].tolist()) + (", …" if len(rows) > ROWS_NAMED else "")
    return f"1 {what} ({some}) was" if len(rows) == 1 else f"{len(rows):,} {what}s ({some}) were"


def credit(subject: Subject, folder: str) -> Attribution | Attributions:
    """The method `fast-shapley:FOLDER` of `explain`: credit of one text or picture by the explainer in a folder."""
    fast = _open(folder)
    family = InputFamily([subject], fast.targets)
    if fast.kind != family.kind:
        raise InvalidInput(
            f"the explainer in {folder} was fitted for {fast.kind}, and this is one of the {family.kind}", code="conflict"
        )
    found = fast.values(family, budget=subject.budget, seed=subject.seed)
    computed, there = len(found.computed) > 0, len(subject.players)
    ends, precision = found.interval[0, :there], _precision(fast, found, 0)  # (n, outputs, 2)
    exact = precision.known is Known.EXACT
    every = {}
    for k, name in enumerate(family.outputs):
        every[name] = Attribution(
            subject.players,
            found.credit[0, :there, k],
            float(found.everybody[0, k] - found.nobody[0, k]),
            Procedure(METHOD, f"learned from {fast.report['trained on']} {fast.kind}"),
            CLAIMS,
            interval=None if exact else ends[:, k],
            level=None if exact else fast.calibration.level,
            precision=precision,
            baseline=float(found.nobody[0, k]),
            payoffs=None if computed else 2,
            seed=subject.seed,
            certificate={"far": bool(found.far[0]), "wide": bool(found.wide[0]), "computed": computed, "fit": fast.report},
        )
    if subject.games is not None:
        return Attributions(every)
    wanted = subject.model.label(subject.game.target)
    if wanted not in every:
        raise InvalidInput(
            f"the explainer in {folder} was fitted for {', '.join(every)}, and the target is {wanted!r}", code="conflict"
        )
    return every[wanted]


def _precision(fast: FastShapley, found: Values, row: int) -> Precision:
    """How well the credit of one input is known: by the calibration, or, where it was computed, by that."""
    if row not in found.computed:
        return Precision.interval(fast.calibration.because)
    why = "far from the inputs it learned from" if found.far[row] else "with wide intervals"
    because = f"the fast explainer is unsure of this input ({why}), so it was computed in the usual way"
    exact = not np.nan_to_num(np.ptp(found.interval[row], axis=-1)).any()
    return Precision.exact(because) if exact else Precision.interval(because)


def _open(folder: str) -> FastShapley:
    place = Path(folder) / "explainer.json"
    written = place.stat().st_mtime_ns if place.is_file() else 0
    return _load(str(Path(folder).absolute()), written)


@lru_cache(maxsize=4)
def _load(folder: str, written: int) -> FastShapley:
    return FastShapley.load(folder)
