"""One input, one output, many methods: the result of `accredit.explain`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from accredit.answers.prompt import WHOLE as WHOLE
from accredit.answers.said import Stretch, find_stretch, meant_words
from accredit.checks import check_text, real_number, real_numbers, shown
from accredit.checks.json_data import Facts, damaged, fields_of, made, plain, plain_mapping, read_list, read_object
from accredit.checks.tables import player_frame
from accredit.core import Attribution, FloatArray, IntArray, Note, NoteKind, Procedure
from accredit.core.attribution import frozen
from accredit.core.notes import check_notes, read_notes
from accredit.core.procedure import check_procedure, read_procedure
from accredit.core.shap_form import shap_explanation
from accredit.errors import InvalidInput
from accredit.results import Result, usual_name

if TYPE_CHECKING:
    import pandas
    import shap

FORMAT = 2  # 1: notes, and how an answer came about, were lines of text
LITTLE = 1.0  # nats; what changes a log-probability by less is not worth a bar
PICTURE = "data:image/png;base64,"


@dataclass(frozen=True)
class Token:
    """One token as the reader sees it, the characters it covers, and who plays for it.

    >>> from accredit import explain
    >>> explain("A gripping film.", methods=["leave-one-out"]).tokens[2]
    Token(shown='gripping', start=2, end=10, player='gripping', special=False, part=0)
    """

    shown: str
    start: int  # first character in its text; start = end where the token covers none
    end: int
    player: str  # several tokens of one word may share a player
    special: bool = False  # put there by the tokenizer: no player removes it, but attention passes through it
    part: int = 0  # of a pair of texts, 0 or 1: which one it is from


@dataclass(frozen=True, eq=False)
class FlowPicture:
    """A joint flow from the outputs down to the input, ready to be drawn.

    Columns are tokens, or groups of them when there are many. `through[ℓ, i]` is what passes through column i of layer ℓ (0 is
    the input); `edges[ℓ, i, j]` is what passes from column i of layer ℓ + 1 to column j of layer ℓ; `cut` is the capacity of
    those edges that belong to one minimum cut. A cut may also take arcs of the source and of the sink, which lie outside the
    layers: `source_cut[i]` above column i of the last layer, `sink_cut[j]` below column j of the input. All of the cut adds
    up to `value`.

    >>> picture = FlowPicture(
    ...     "flow", ("the", "film"), through=[[1, 1], [1, 1]], edges=np.eye(2)[None], cut=np.zeros((1, 2, 2)),
    ...     source_cut=[1, 1], sink_cut=[0, 0], value=2,
    ... )
    >>> picture.layers
    1
    """

    method: str
    columns: tuple[str, ...]  # C names
    through: FloatArray  # (L + 1, C)
    edges: FloatArray  # (L, C, C)
    cut: FloatArray  # (L, C, C)
    source_cut: FloatArray  # (C,)
    sink_cut: FloatArray  # (C,)
    value: float
    notes: tuple[Note, ...] = ()  # what the reader must know: where the cut binds, whether the flow collapses

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "columns", tuple(self.columns))
        put(self, "notes", check_notes(self.notes, "flow.notes"))
        put(self, "value", float(self.value))
        count, layers = len(self.columns), len(self.edges)
        shapes = {
            "through": (layers + 1, count),
            "edges": (layers, count, count),
            "cut": (layers, count, count),
            "source_cut": (count,),
            "sink_cut": (count,),
        }
        for name, shape in shapes.items():
            array = real_numbers(getattr(self, name), f"flow.{name}", copy=True)
            if array.shape != shape or not np.isfinite(array).all():
                raise InvalidInput(
                    f"flow.{name} has shape {array.shape}; finite numbers of shape {shape} are needed",
                    argument=name,
                    code="shape",
                )
            array.setflags(write=False)
            put(self, name, array)

    @property
    def layers(self) -> int:
        """Layers of edges; there is one more row of nodes."""
        return len(self.edges)


@dataclass(frozen=True, eq=False)
class Picture:
    """The image that was explained: PNG bytes as a data URI, and who owns each pixel, in runs, row by row.

    >>> Picture.of(PICTURE, np.array([[0, 0, 1], [-1, 1, 1]])).runs
    ((0, 2), (1, 1), (-1, 1), (1, 2))
    """

    data: str
    size: tuple[int, int]  # height and width in pixels
    runs: tuple[tuple[int, int], ...]  # (number of the player, or −1 for nobody; how many pixels in a row are its own)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", tuple(int(x) for x in self.size))
        object.__setattr__(self, "runs", tuple((int(owner), int(length)) for owner, length in self.runs))
        body = self.data.removeprefix(PICTURE)
        if body is self.data or not body.isascii() or not all(c.isalnum() or c in "+/=" for c in body):
            raise InvalidInput(
                f"picture.data starts with {self.data[:24]!r}; it must be {PICTURE}…", argument="data", code="format"
            )
        pixels = self.size[0] * self.size[1]
        if min((length for _, length in self.runs), default=0) < 1 or sum(x for _, x in self.runs) != pixels:
            raise InvalidInput(f"picture.runs must cover the {pixels} pixels, each once", argument="runs", code="shape")

    @classmethod
    def of(cls, data: str, owner: IntArray) -> Picture:
        """A picture from its data and the owner of every pixel: (H, W)."""
        flat = owner.ravel()
        starts = np.flatnonzero(np.concatenate([[True], flat[1:] != flat[:-1]]))
        lengths = np.diff(np.append(starts, flat.size))
        return cls(data, owner.shape, tuple(zip(flat[starts].tolist(), lengths.tolist(), strict=True)))

    @property
    def owner(self) -> IntArray:
        """The number of the player that owns each pixel, −1 for nobody: (H, W)."""
        owners, lengths = np.array(self.runs, dtype=np.int64).T
        return np.repeat(owners, lengths).reshape(self.size)


@dataclass(frozen=True, eq=False)
class Said:
    """An answer that is explained, token by token.

    `targets` are what has credit: a name, its first token, and one past its last. The whole answer is the first of them.

    >>> said = Said(("Ro", "me"), (("Rome", 0, 2),), likely=[-0.1, -0.2], base=[-2.0, -1.0], source="given")
    >>> said.text, round(float((said.likely - said.base).sum()), 6)
    ('Rome', 2.7)
    """

    pieces: tuple[str, ...]  # A; the characters that each token adds
    targets: tuple[tuple[str, int, int], ...]
    likely: FloatArray  # (A,) log-probability of each token with the whole prompt
    base: FloatArray  # (A,) the same when nobody's part is in the prompt
    source: Procedure  # given, or how it was generated; a text says it
    rather_than: str | None = None  # the answer that this one is compared with

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "pieces", tuple(map(str, self.pieces)))
        put(self, "targets", tuple((str(name), int(a), int(b)) for name, a, b in self.targets))
        put(self, "source", check_procedure(self.source, "said.source"))
        count = len(np.atleast_1d(self.likely))
        if len(self.pieces) not in (1, count) or any(not 0 <= a < b <= count for _, a, b in self.targets):
            raise InvalidInput(
                f"said has {count} log-probabilities, {len(self.pieces)} pieces and targets {self.targets!r:.60}", code="shape"
            )
        for name in ("likely", "base"):
            put(self, name, frozen(getattr(self, name), (count,), f"said.{name}"))

    @property
    def text(self) -> str:
        return "".join(self.pieces)


def _stretch(said: Said | None, words: object) -> Stretch | None:
    """Where these words stand in an answer; None where they do not, or where only the whole answer is known."""
    if said is None or not isinstance(words, str) or len(said.pieces) != len(said.likely):
        return None
    return find_stretch(said.pieces, words)


def _targets_within(said: Said, first: int, stop: int) -> list[str]:
    """Targets that cover the tokens from `first` up to `stop`, each once; none where no targets do."""
    names = list[str]()
    while first < stop:
        inside = [(b, name) for name, a, b in said.targets[1:] if a == first and b <= stop]
        if not inside:
            return []
        first, name = max(inside)
        names.append(name)
    return names


def on_little(said: Said | None, target: str, payoff: str, attributions: Mapping[str, Attribution]) -> tuple[Note, ...]:
    """That there was next to nothing to earn: neither all parts together nor any of them changes a log-probability by as much
    as `LITTLE`. Credit is then what is left of small changes up and down."""
    shared = [result for result in attributions.values() if result.total is not None and result.baseline is not None]
    if said is None or payoff != "log-probability" or said.rather_than is not None or not shared:
        return ()
    first = shared[0]
    earned, largest = first.total or 0.0, float(np.abs(first.credit).max(initial=0.0))
    if max(abs(earned), largest) >= LITTLE:
        return ()
    alone = np.exp(min(first.baseline or 0.0, 0.0))
    what = "this answer" if target == WHOLE else f"“{target}”"
    text = (
        f"Next to nothing was earned: all parts together change the log-probability of {what} by {earned:+.2f}, and no single "
        f"one is credited with more than {largest:.2f}. Without any of them its probability is {alone:.2g}."
    )
    return (Note(NoteKind.NOTHING_EARNED, text),)


def add_up(parts: Sequence[Attribution]) -> Attribution:
    """The credit of a sum of payoffs, from the credit of each: values of games are linear. Ends of intervals are added, too,
    which is never too narrow, however the parts depend on each other."""
    first = parts[0]
    if len(parts) == 1:
        return first

    def total(name: str) -> Any:
        each = [getattr(part, name) for part in parts]
        return None if any(x is None for x in each) else sum(each[1:], each[0])

    return replace(
        first,
        **{name: total(name) for name in ("credit", "total", "baseline", "stderr", "interval", "blur")},
        method=first.method.then("summed", tokens=len(parts)),
        certificate={},
    )


@dataclass(frozen=True, eq=False)
class Explanation(Result):
    """Why a model said what it said, by several methods side by side.

    `explanation["shapley"]` is one method's `Attribution`; a method that does not apply to this model is in `refused`, with
    the reason. Every attribution has all of `players`; methods in which special tokens take part have those too. Iteration
    gives each method that answered with its attribution, `len` is how many did, `in` asks for one.

    >>> from accredit.core import Attribution
    >>> e = Explanation("Good.", (("POSITIVE", 0.9), ("NEGATIVE", 0.1)), "POSITIVE", ("Good", "."), ("by hand",),
    ...                 {"by hand": Attribution(("Good", "."), [2.0, 0.5], 2.5, "by hand")},
    ...                 tokens=(Token("Good", 0, 4, "Good"), Token(".", 4, 5, ".")))
    >>> e["by hand"]["Good"], Explanation.from_json(e.to_json()) == e
    (2.0, True)
    >>> "by hand" in e, len(e), e.outputs, e.top(1).players
    (True, 1, ('POSITIVE',), ('Good',))
    """

    text: str  # what was explained; for an image its name
    prediction: tuple[tuple[str, float], ...]  # labels and probabilities, likeliest first; of many, the first few
    target: str  # the label (or token) that credit is given for
    players: tuple[str, ...]
    methods: tuple[str, ...]  # in the order asked
    attributions: Mapping[str, Attribution]
    refused: Mapping[str, str] = field(default_factory=dict)  # method -> why it does not apply
    seconds: Mapping[str, float] = field(default_factory=dict)  # method -> wall time
    tokens: tuple[Token, ...] = ()
    picture: Picture | None = None
    flow: FlowPicture | None = None
    unsigned: tuple[str, ...] = ()  # methods whose numbers say how much, not which way
    payoff: str = "logit"  # what of the target is shared
    unit: Literal["probability", "value"] = "probability"  # what the numbers in `prediction` are
    notes: tuple[Note, ...] = ()  # what the reader must know, for example what was cut off
    provenance: Facts = field(default_factory=dict)  # model, settings, versions: enough to run it again
    pair: str | None = None  # the second text, where two were read together
    others: Mapping[str, Mapping[str, Attribution]] = field(default_factory=dict)  # other target -> method -> credit
    said: Said | None = None  # the answer, where an answer is explained; `text` is then the prompt

    def __post_init__(self) -> None:
        put = object.__setattr__
        for name in ("text", "target", "payoff"):
            put(self, name, check_text(getattr(self, name), name))
        put(self, "pair", None if self.pair is None else check_text(self.pair, "pair"))
        if self.unit not in ("probability", "value"):
            raise InvalidInput(f"unit is {shown(self.unit)}; write 'probability' or 'value'", argument="unit", code="unknown")
        put(self, "prediction", _predict(self.prediction))
        for name in ("players", "methods", "unsigned"):
            put(self, name, _texts(getattr(self, name), name))
        put(self, "notes", check_notes(self.notes))
        put(self, "refused", {name: check_text(why, f"refused[{name!r}]") for name, why in self.refused.items()})
        put(self, "tokens", tuple(self.tokens))
        if set(self.methods) != set(self.attributions) | set(self.refused) or set(self.attributions) & set(self.refused):
            raise InvalidInput(
                f"methods {list(self.methods)} must each be either in attributions or in refused",
                argument="methods",
                code="conflict",
            )
        every = [self.attributions, *self.others.values()]
        for name, attribution in (pair for credited in every for pair in credited.items()):
            missing = set(self.players) - set(attribution.players)
            if missing:
                raise InvalidInput(
                    f"attributions[{name!r}] lacks the player {sorted(missing)[0]!r}", argument="attributions", code="missing"
                )
        if self.picture is not None and max(owner for owner, _ in self.picture.runs) >= len(self.players):
            raise InvalidInput(
                f"picture.runs names a player beyond the {len(self.players)} that there are", argument="picture", code="range"
            )
        put(self, "seconds", {key: real_number(s, f"seconds[{key!r}]", 0) for key, s in self.seconds.items()})
        put(self, "provenance", plain_mapping(self.provenance, "provenance"))

    def __getitem__(self, method: str) -> Attribution:
        """One method's attribution, by its name or an alias."""
        return self.attributions[self._method_named(method)]

    if TYPE_CHECKING:

        def by_method(self, method: str | None = None) -> Attribution: ...

    def _by_method(self, name: str) -> Attribution:
        return self.attributions[name]

    def _answer(self) -> tuple[str, ...]:
        return tuple(name for name in self.methods if name in self.attributions)

    def _no_method(self, method: object) -> str:
        name = usual_name(method, self.methods) if isinstance(method, str) else ""
        return f"{name} was refused: {self.refused[name]}" if name in self.refused else super()._no_method(method)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Every output that was explained, the main one, `target`, first."""
        return (self.target, *self.others)

    @property
    def earns_nothing(self) -> bool:
        """Whether the parts of a prompt hardly change how likely the answer is: see the first note."""
        return any(note.kind is NoteKind.NOTHING_EARNED for note in self.notes)

    def of(self, output: str) -> Explanation:
        """The explanation for another output, if all were asked for, by those methods that play a game.

        Of an answer also for any words of it whose tokens have credit: log-probabilities add up, and so does credit. Seconds
        are those for all outputs together.
        """
        if output not in self.outputs and self.said is not None and self.said.text.strip() == str(output).strip():
            output = WHOLE if WHOLE in self.outputs else output
        stretch = _stretch(self.said, output) if output not in self.outputs else None
        words = None if stretch is None else self._credit_words(output, stretch.tokens)
        if words is None:
            self._check_output(output)
        if output == self.target:
            return replace(self, others={})
        credited = self.others[output] if words is None else words
        methods = tuple(name for name in self.methods if name in credited)
        seconds = {name: took for name, took in self.seconds.items() if name in credited}
        credit = next(iter(credited.values()))
        known = credit.baseline is not None and credit.total is not None
        worth = ((output, (credit.baseline or 0.0) + (credit.total or 0.0)),) if known else ()
        return replace(
            self,
            prediction=self.prediction if self.said is None else worth,
            target=output,
            methods=methods,
            attributions=credited,
            refused={},
            seconds=seconds,
            flow=None,
            unsigned=tuple(name for name in self.unsigned if name in credited),
            notes=(
                *on_little(self.said, output, self.payoff, credited),
                *(Note(NoteKind.REMARK, text) for text in (stretch.notes if stretch else ())),
                *(note for note in self.notes if note.kind not in (NoteKind.OTHER_TARGETS, NoteKind.NOTHING_EARNED)),
            ),
            others={},
        )

    def _check_output(self, output: str) -> None:
        """Refuse what was not explained; of an answer with the words that may be meant."""
        if not isinstance(output, str):
            raise InvalidInput(
                f"output is {shown(output)}; give a name in quotes: {self.outputs[0]!r:.40}", argument="output", code="type"
            )
        near = "" if self.said is None else meant_words(self.said.text, output)
        if near and output not in self.outputs:
            raise InvalidInput(
                f"{output!r:.60} is not in the answer; copy words of it, letter by letter{near}",
                argument="output",
                code="unknown",
            )
        self.place(output)

    def _credit_words(self, words: str, tokens: IntArray) -> dict[str, Attribution]:
        """Credit for a stretch of the answer, by method: the sum over its sentences, words or tokens."""
        assert self.said is not None
        said = self.said
        known = [self.others.get(name, {}) for name in _targets_within(said, int(tokens[0]), int(tokens[-1]) + 1)] or [{}]
        methods = [method for method in self.methods if all(method in each for each in known)]
        if self.payoff != "log-probability" or not methods:
            raise InvalidInput(
                f"output {words!r:.60} is in the answer, and its tokens have no credit that adds up; ask for it: "
                f"target={words!r:.60}",
                argument="output",
                code="missing",
            )
        return {method: add_up([each[method] for each in known]) for method in methods}

    def top(self, count: int) -> Attribution:
        """The `count` players of largest credit by the first method that answered."""
        return self.by_method().top(count)

    def __iter__(self) -> Iterator[tuple[str, Attribution]]:
        """Methods that answered, in the order asked, each with its attribution."""
        return self.items()

    def __len__(self) -> int:
        """How many methods answered."""
        return len(self._answer())

    def __bool__(self) -> bool:
        return True  # also where every method was refused

    # In and out

    def to_plain(self) -> dict[str, Any]:
        """Everything as JSON types."""
        data: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        data["attributions"] = {name: json.loads(attribution.to_json()) for name, attribution in self}
        data["others"] = {
            target: {name: json.loads(one.to_json()) for name, one in credited.items()}
            for target, credited in self.others.items()
        }
        if not self.others:
            del data["others"]
        data["tokens"] = [[t.shown, t.start, t.end, t.player, t.special, t.part] for t in self.tokens]
        for name in ("picture", "flow", "said"):
            part = data[name]
            data[name] = None if part is None else {f.name: getattr(part, f.name) for f in fields(part)}
        data["notes"] = [note.as_plain() for note in self.notes]
        if self.flow is not None:
            data["flow"]["notes"] = [note.as_plain() for note in self.flow.notes]
        if self.said is None:
            del data["said"]
        else:
            data["said"]["source"] = self.said.source.as_plain()
        whole: dict[str, Any] = {"kind": "explanation", "format": FORMAT} | plain(data, "explanation")
        return whole

    @classmethod
    def from_json(cls, text: str) -> Explanation:
        """Read what `to_json` wrote; anything else is refused."""
        data = read_object(text, "explanation")
        values = fields_of(cls, data, "explanation", FORMAT, optional=("others", "said"), before=True)
        with damaged("explanation"):
            read_list(values, "prediction", "players", "methods", "tokens", "unsigned")
            values["attributions"] = _credit(values["attributions"], "attributions")
            others = plain_mapping(values.get("others", {}), "others")
            values["others"] = {target: _credit(each, f"others[{target!r}]") for target, each in others.items()}
            for name in ("refused", "seconds"):
                values[name] = plain_mapping(values[name], name)
            values["tokens"] = tuple(made(Token, token, "tokens") for token in values["tokens"])
            older = data["format"] < FORMAT
            values["notes"] = read_notes(values["notes"], are_lines=older)
            if isinstance(said := values.get("said"), dict) and "source" in said:
                values["said"] = said | {"source": read_procedure(said["source"], is_line=older)}
            if isinstance(flow := values["flow"], dict) and "notes" in flow:
                values["flow"] = flow | {"notes": read_notes(flow["notes"], are_lines=older)}
            for name, kind in (("flow", FlowPicture), ("picture", Picture), ("said", Said)):
                part = values.get(name)
                values[name] = None if part is None else made(kind, part, name)
            return cls(**values)

    def to_pandas(self, method: str | None = None) -> pandas.DataFrame:
        """One row per player: a column of credit per method, or of one method a column per output that was explained.

        The second is the matrix of a prompt and an answer.
        """
        if method is not None:
            check_text(method, "method")
        if method is None:
            return player_frame(self.players, {name: [result[p] for p in self.players] for name, result in self})
        every = self._by_output(self._method_named(method))
        return player_frame(self.players, {t: [result[p] for p in self.players] for t, result in every.items()})

    def _by_output(self, method: str) -> dict[str, Attribution]:
        """One method's attributions, for every output that it was asked for."""
        return {self.target: self[method]} | {name: each[method] for name, each in self.others.items() if method in each}

    def to_shap(self, method: str | None = None) -> shap.Explanation:
        """One method's credit as a `shap.Explanation`, for shap's plots: values (players,), of several outputs (players,
        outputs); the data are the strings. By default the first method that answered.

        Methods in which special tokens take part give those too. Intervals and claims stay behind.
        """
        every = self._by_output(self._first_method() if method is None else self._method_named(method))
        credit, *others = every.values()
        data = self._strings(credit.players)
        if not others:
            return shap_explanation(credit.credit, credit.baseline, data, credit.players)
        values = np.stack([[one[player] for player in credit.players] for one in every.values()], axis=-1)
        base = [one.baseline for one in every.values()]
        return shap_explanation(values, None if None in base else base, data, credit.players, tuple(every))

    def _strings(self, players: Iterable[str]) -> list[str]:
        """What each player stands for: where the players are stretches of one text in order, the characters of each up to
        the next, so that they join to the text; elsewhere their names."""
        spans: dict[str, tuple[int, int]] = {}
        for token in self.tokens:
            if not token.special and token.end > token.start:
                first, last = spans.get(token.player, (token.start, token.end))
                spans[token.player] = min(first, token.start), max(last, token.end)
        ends = [place for name in self.players if name in spans for place in spans[name]]
        if self.pair is not None or set(spans) != set(self.players) or ends != sorted(ends):
            return list(players)
        cuts = dict(zip(self.players, [*ends[2::2], ends[-1]], strict=True))
        return [self.text[spans[p][0] : cuts[p]] if p in cuts else p for p in players]


def _texts(given: object, name: str) -> tuple[str, ...]:
    """Texts in order."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInput(f"{name} is {shown(given)}; write a tuple of texts", argument=name, code="type")
    return tuple(check_text(text, name) for text in given)


def _predict(given: Any) -> tuple[tuple[str, float], ...]:
    """Labels and numbers, each pair checked."""
    pairs = list(given) if isinstance(given, Iterable) and not isinstance(given, str | Mapping) else [given]
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InvalidInput(
                f"prediction holds {shown(pair)}; write pairs of a label and a number", argument="prediction", code="type"
            )
    return tuple((check_text(label, "prediction"), real_number(p, f"prediction of {label!r}")) for label, p in pairs)


def _credit(given: object, name: str) -> dict[str, Attribution]:
    """Attributions by method, from JSON."""
    if not isinstance(given, dict) or not all(isinstance(one, dict) for one in given.values()):
        raise InvalidInput(
            f"{name} is {shown(given)}; it must be an object from methods to attributions", argument=name, code="type"
        )
    return {method: Attribution.from_plain(one) for method, one in given.items()}
