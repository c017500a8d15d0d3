"""Citations that can be checked: for each sentence of an answer where it comes from, and the passes that show it.

One backward pass (AttnLRP) names the candidates, or in long contexts one pass over each passage alone, so that no context is
read in full more often than there are sentences to judge, and a few times more; the model then reads its own answer with all
passages, with none, with every group of up to three candidates alone, and without those that are cited. What is then called
supported is doubted once more, by its words and by other words of what is cited in the place of its own, and gets no verdict
where a doubt holds. Inside of what is cited the same is asked of its paragraphs, then of the sentences of those that say it.
What a verdict means, and its error rate, is in `accredit.answers.verdicts`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import combinations, compress
from typing import Any

import numpy as np

from accredit.answers.new_words import (
    WORD,
    denies,
    exchanges,
    hard_words,
    holds,
    is_said_by,
    linking_words,
    new_words,
    rivals,
    says_otherwise,
    says_together,
    share_said,
    shared_names,
    telling,
    turned_round,
    unsaid,
    words_said,
)
from accredit.answers.planted import BOOKS, Planted, planted_prompts
from accredit.answers.prompt import paragraph_spans
from accredit.answers.qualifiers import crossed, left_out, overtaken, put_in
from accredit.answers.said import Answer
from accredit.answers.verdicts import (
    ERROR,
    Calibration,
    Origin,
    Passages,
    Scored,
    Surprise,
    unlikely_word,
    usual_calibration,
)
from accredit.checks import check_text, real_number
from accredit.checks.arguments import check_arguments
from accredit.checks.json_data import Facts, damaged, fields_of, plain, plain_mapping, read_list, read_object
from accredit.core import BoolArray, FloatArray, IntArray, Note, NoteKind
from accredit.core.display import Drawn
from accredit.core.notes import check_notes, read_notes
from accredit.defaults import LEAST_PASSES
from accredit.errors import AccreditError, InvalidInput
from accredit.explanation.answers import AnswerSubject, answer_subject
from accredit.explanation.forecast import LONG
from accredit.explanation.loading import answering_model
from accredit.models.encoded import sentence_spans

MOST_SAID = 24  # tokens of an answer to a question alone, in which what is known must stand
RELEVANCE_TOKENS = 1_000  # of a prompt; beyond, passes over each passage alone are cheaper than a backward pass per sentence
LEFT_OUT_TOKENS = 10_000  # of passes that leave out one passage each; beyond, the context is halved first
CANDIDATES = 3  # passages that are tried alone and together, for each sentence
RIVALS = 8  # words of what is cited that are tried in the place of others
PASSED_ON = ("template", "separator", "chat", "fixed", "memory", "batch")  # settings of the prompt and of passes
TEMPLATE_TOKENS = 40  # beside the passages, about
BACKWARD = 4  # times as long as a pass, about, with the pass before it
WORTH_SHARING = 1.0  # nats that all passages must add before shares of them mean anything
BEGUN = re.compile(r"(?:^\W*\d+|(?:^|\s)(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|No|Nr|approx|vs|e\.g|i\.e|z\. ?B|bzw|ca))\.\s*$")
GUESSED = "that something is not so can be guessed, and is no memory"
BARE = "it says nothing that the question does not say"
SCATTERED = "what it lists stands in passages that share no name"
NO_SOURCE = "passages make it likely, and none of them may be cited for it"
ITEM = re.compile(r"\W*(?:\d+[.)]|[A-Za-z]\))\s+(?=\S)")  # the number of an item of a list, which says nothing
KIND, FORMAT = "citations", 3  # of the JSON


@dataclass(frozen=True)
class Pass:
    """One pass of the model over its answer: which passages it read, and what that did to one sentence."""

    passages: tuple[int, ...]  # numbers from 0
    log_probability: float  # of the sentence, after the answer up to it
    surprise: float  # what its least likely new word costs, in nats
    worst: str  # that word


@dataclass(frozen=True)
class Quote:
    """Characters of a cited passage with which alone the model still says it: sentences, or a paragraph."""

    passage: int  # its number, from 0
    start: int
    stop: int


@dataclass(frozen=True)
class Citation:
    """Where one sentence, or another stretch, of an answer comes from.

    `support` lists groups of passages: with each of them alone the model says this, and none of them can be smaller.

    >>> passes = (Pass((0, 1), -0.5, 0.5, ""), Pass((), -8.5, 8.0, "Rome"), Pass((0,), -1.3, 1.2, ""), Pass((1,), -8.5, 8, ""))
    >>> one = Citation(0, 5, Origin.PASSAGES, ((0,),), {}, passes)
    >>> one.cited, round(one.sufficiency([0]), 2), one.necessity
    ((0,), 0.9, 1.0)
    """

    start: int  # first character in the answer
    stop: int
    verdict: Origin
    support: tuple[tuple[int, ...], ...]
    p_values: Mapping[str, float]  # of each origin
    passes: tuple[Pass, ...]  # with all passages, with none, then with some alone, then without what is cited
    quotes: tuple[Quote, ...] = ()  # what says it within the first group of the support, where that is a part of it
    because: str = ""  # why there is no verdict, where that is not for the error rate

    @property
    def cited(self) -> tuple[int, ...]:
        """Every passage of the support, in order."""
        return tuple(sorted({i for group in self.support for i in group}))

    def with_only(self, passages: Iterable[int]) -> Pass:
        """The pass over these passages alone."""
        wanted = tuple(sorted(passages))
        for each in self.passes:
            if each.passages == wanted:
                return each
        raise InvalidInput(f"passages is {wanted!r:.60}, and no pass read these alone", argument="passages", code="missing")

    @property
    def whole(self) -> Pass:
        """The pass with every passage."""
        return self.passes[0]

    @property
    def none(self) -> Pass:
        """The pass without any passage."""
        return self.passes[1]

    @property
    def earned(self) -> float:
        """What all passages together add to the log-probability."""
        return self.whole.log_probability - self.none.log_probability

    def sufficiency(self, passages: Iterable[int]) -> float | None:
        """The share of `earned` that these passages alone keep; None where there is little to share."""
        alone = self.with_only(passages).log_probability
        return self._share(alone - self.none.log_probability)

    @property
    def necessity(self) -> float | None:
        """The share of `earned` that is lost without what is cited; None where nothing is cited, or little is shared."""
        if not self.support:
            return None
        left = set(self.whole.passages) - set(self.cited)
        return self._share(self.whole.log_probability - self.with_only(left).log_probability)

    def _share(self, gain: float) -> float | None:
        return gain / self.earned if self.earned >= WORTH_SHARING else None


@dataclass(frozen=True)
class Citations(Drawn):
    """An answer with one verdict for each of its sentences: supported, from memory, unsupported, or cannot tell.

    >>> facts = ["Anna lives in Rome .", "Boris owns a dog ."]
    >>> found = cite(context=facts, query="Where does Anna live ?")
    >>> [(found.text_of(each), each.whole.surprise < each.none.surprise) for each in found.citations]
    [('Anna lives in Rome .', True)]
    """

    answer: str
    passages: tuple[str, ...]
    citations: tuple[Citation, ...]  # in the order of the answer
    error: float  # share of wrong verdicts that was allowed
    query: str = ""
    notes: tuple[Note, ...] = ()
    provenance: Facts = field(default_factory=dict)

    def __post_init__(self) -> None:
        put = object.__setattr__
        check_text(self.answer, "answer")
        put(self, "passages", tuple(check_text(each, "passages") for each in self.passages))
        put(self, "error", real_number(self.error, "error", 0))
        put(self, "notes", check_notes(self.notes))
        put(self, "provenance", plain_mapping(self.provenance, "provenance"))
        count = len(self.passages)
        for each in self.citations:
            named = {i for part in (*each.support, *(one.passages for one in each.passes)) for i in part}
            if not 0 <= each.start < each.stop <= len(self.answer) or not all(0 <= i < count for i in named):
                raise InvalidInput(
                    f"citations holds characters {each.start} to {each.stop} and passages {sorted(named)}; the answer has "
                    f"{len(self.answer)} characters and {count} passages",
                    argument="citations",
                    code="range",
                )

    def __iter__(self) -> Any:
        """The citations, in the order of the answer."""
        return iter(self.citations)

    def __len__(self) -> int:
        return len(self.citations)

    def text_of(self, citation: Citation) -> str:
        """The words of the answer that a citation is about."""
        return self.answer[citation.start : citation.stop].strip()

    def of(self, words: str) -> Citation:
        """The citation about these words, or the first that holds them."""
        check_text(words, "words")
        for each in self.citations:
            if words in self.answer[each.start : each.stop]:
                return each
        raise InvalidInput(f"words is {words!r:.60}, which is in no sentence of the answer", argument="words", code="missing")

    def to_markdown(self) -> str:
        """The answer with footnotes: what supports each sentence, or that nothing does."""
        from accredit.core.display import drawings

        return str(drawings().citations_markdown(self))

    def to_html(self, path: Any) -> None:
        """Write one self-contained page: no script from elsewhere, no request."""
        from accredit.checks.files import check_writable, put
        from accredit.core.display import drawings

        put(check_writable(path), drawings().to_page(self).encode())

    def to_plain(self) -> dict[str, Any]:
        """Everything as JSON types."""
        data = {each.name: getattr(self, each.name) for each in fields(self)}
        data["notes"] = [note.as_plain() for note in self.notes]
        data["citations"] = [
            {f.name: getattr(each, f.name) for f in fields(each)}
            | {
                name: [{f.name: getattr(one, f.name) for f in fields(one)} for one in getattr(each, name)]
                for name in ("passes", "quotes")
            }
            for each in self.citations
        ]
        whole: dict[str, Any] = {"kind": KIND, "format": FORMAT} | plain(data, KIND)
        return whole

    def to_json(self) -> str:
        """As JSON."""
        import json

        return json.dumps(self.to_plain(), ensure_ascii=False, indent=2)

    @classmethod
    def from_json(cls, text: str) -> Citations:
        """Read what `to_json` wrote; anything else is refused."""
        values = fields_of(cls, read_object(text, KIND), KIND, FORMAT)
        with damaged(KIND):
            read_list(values, "passages", "citations")
            values["notes"] = read_notes(values["notes"], are_lines=False)
            try:
                values["citations"] = tuple(_citation(each) for each in values["citations"])
            except (TypeError, KeyError, ValueError, AttributeError) as error:
                raise InvalidInput(f"citations cannot be read: {error}", argument="citations", code="type") from None
            return cls(**values)


def _citation(data: Mapping[str, Any]) -> Citation:
    passes = tuple(
        Pass(
            tuple(int(i) for i in one["passages"]),
            real_number(one["log_probability"], "log_probability"),
            real_number(one["surprise"], "surprise"),
            check_text(one["worst"], "worst"),
        )
        for one in data["passes"]
    )
    p_values = {str(Origin(name)): real_number(p, "p_values") for name, p in data["p_values"].items()}
    support = tuple(tuple(int(i) for i in group) for group in data["support"])
    quotes = tuple(Quote(int(one["passage"]), int(one["start"]), int(one["stop"])) for one in data["quotes"])
    because = check_text(data["because"], "because")
    return Citation(int(data["start"]), int(data["stop"]), Origin(data["verdict"]), support, p_values, passes, quotes, because)


# The door


@check_arguments
def cite(
    prompt: object = None,
    model: object = None,
    tokenizer: object = None,
    *,
    context: Sequence[str] | None = None,
    query: str | None = None,
    answer: object = None,
    generate: object = None,
    spans: Sequence[str] | None = None,
    players: object = None,
    error: float = ERROR,
    calibration: Calibration | None = None,
    quotes: bool = True,
    seed: int = 0,
    server: Mapping[str, Any] | None = None,
    announce: Callable[[str], None] | None = None,
    **how: Any,
) -> Citations:
    """Where each sentence of an answer comes from: passages that say it, the model's own memory, or neither.

    Prompt, model, answer and players are those of `explain_answer`; `how` are its `template`, `separator`, `chat`, `fixed`,
    `memory` and `batch`. `spans` are strings of the answer to judge instead of its sentences. `error` is the share of wrong
    verdicts that is allowed for each origin; `calibration` is of this model (`calibrate`), by default that of
    SmolLM2-135M-Instruct, and the result says when the model is another one. `quotes` looks for the sentences inside of what is
    cited, with some ten passes over that passage alone. `server` are settings of a model at a URL. `announce` is called once
    with what a long run will take.

    >>> found = cite(context=["Anna lives in Rome .", "Boris owns a dog ."], query="Where does Anna live ?")
    >>> found.answer, round(found.citations[0].whole.surprise, 2), round(found.citations[0].none.surprise, 2)
    ('Anna lives in Rome .', 0.0, 2.48)
    """
    for name in how:
        if name not in PASSED_ON:
            raise InvalidInput(
                f"{name} is not a setting of cite; beside its own arguments it takes {', '.join(PASSED_ON)}",
                argument=name,
                code="unknown",
            )
    subject = answer_subject(
        answering_model(model, tokenizer, server),
        prompt,
        context=context,
        query=query,
        answer=answer,
        generate=generate,
        players=players,
        target="words",
        budget=LEAST_PASSES,  # nothing is sampled, so no pass needs to be timed
        seed=seed,
        **how,
    )
    found = cite_subject(subject, query or "", spans, error, calibration, announce=announce)
    if not quotes or context is None or subject.kind != "answer":
        return found
    return _with_quotes(found, subject, how)


def cite_subject(
    subject: AnswerSubject,
    query: str = "",
    spans: Sequence[str] | None = None,
    error: float = ERROR,
    calibration: Calibration | None = None,
    relevance: FloatArray | None = None,
    announce: Callable[[str], None] | None = None,
) -> Citations:
    """Where each sentence of a subject's answer comes from; passes that the subject has made before are not made again.

    `relevance` is AttnLRP's of each player for the whole answer, if that was computed before.
    """
    passes = _Passes(subject, query, relevance)
    told = calibration or usual_calibration()
    told.check_error(error)
    asked = _spans(subject, query, spans)
    if announce is not None and subject.kind == "answer":
        _forecast(passes, len(asked), announce)
    found = [_judge(passes, span, told, error) for span in asked]
    facts = subject.facts
    return Citations(
        answer=_text(subject),
        passages=_passages(subject),
        citations=tuple(found),
        error=error,
        query=query,
        notes=(*check_notes([*facts["notes"], *passes.notes]), *_on_calibration(told, subject)),
        provenance={
            "model": facts["model"],
            "answer from": facts["answer from"],
            "removal": facts["removal"],
            "passes": len(passes.known),
            "calibration": {
                "model": told.model,
                "is of this model": _is_of(told, subject),
                "sentences": {str(k): sum(map(len, v)) for k, v in told.scores.items()},
            },
            **({"measured": told.facts["measured"]} if "measured" in told.facts else {}),
        },
    )


def _forecast(passes: _Passes, spans: int, announce: Callable[[str], None]) -> None:
    """Say what a long run will take, from what reading the answer with all passages and with none took."""
    facts, count = passes.subject.facts, passes.count
    reader = passes.subject.reader
    began, before = time.monotonic(), reader.tokens
    passes.read([passes.everyone, frozenset()])
    whole, beside = facts["prompt tokens"], facts["answer tokens"] + TEMPLATE_TOKENS
    groups = 2 ** min(count, CANDIDATES) - 1
    tokens = spans * (whole + groups * (2 * whole / count + beside))  # groups hold two candidates on average
    if count > CANDIDATES:
        tokens += whole + count * beside if passes.is_long else spans * BACKWARD * whole
    expected = tokens * (time.monotonic() - began) / max(reader.tokens - before, 1)
    if expected >= LONG:
        announce(f"about {tokens:,.0f} tokens to read, {expected:.0f} s")


@dataclass(frozen=True, eq=False)
class Span:
    """A stretch of the answer: its characters, the numbers of its tokens, and what it says beyond the question."""

    start: int
    stop: int
    where: IntArray
    words: tuple[tuple[str, IntArray], ...]  # each new word, and the numbers of its tokens
    telling: tuple[tuple[str, IntArray], ...]  # those whose surprise counts: names, numbers and denials, if there are any
    names: frozenset[str] | None  # those that the question has, too; None: any passages may be cited together
    text: str = ""
    says: int = 0  # first character of that text in the answer, after the number of an item
    is_whole: bool = False  # whether only all of it is paid, and none of its words
    pairs: tuple[tuple[tuple[int, int], tuple[int, int]], ...] = ()  # of names that could be exchanged, by characters


class _Passes:
    """Passes of the model over its answer, each made once; every one of them reads all sentences."""

    def __init__(self, subject: AnswerSubject, query: str, relevance: FloatArray | None = None) -> None:
        self.subject, self.count, self.texts, self.query = subject, len(subject.players), _passages(subject), query
        self.relevance = relevance  # of each player for the whole answer, if that is known
        self.known: dict[Passages, FloatArray] = {}  # passages that were read -> (tokens,)
        self.notes: list[str | Note] = []

    def read(self, groups: Iterable[Passages]) -> None:
        """Read the answer with each group of passages alone."""
        new = [group for group in dict.fromkeys(groups) if group not in self.known]
        if new:
            coalitions: BoolArray = np.array([[i in group for i in range(self.count)] for group in new])
            self.known |= dict(zip(new, self.subject.game.payoff(coalitions), strict=True))

    def over(self, group: Passages, span: Span) -> Pass:
        """What one pass says of a span."""
        said = self.known[group]
        cost, word = max((-float(said[where].sum()), word) for word, where in span.telling)
        return Pass(tuple(sorted(group)), float(said[span.where].sum()), cost, word)

    def may_say(self, group: Passages, span: Span) -> bool:
        """Whether a group of passages may be cited for a span: it holds the names that question and span share, and its
        passages hang together."""
        if span.names is None:
            return True
        linking = linking_words([*self.texts, self.query], f"{self.query} {span.text}")
        return says_together([self.texts[i] for i in sorted(group)], span.names, linking)

    def held(self, group: Passages, span: Span) -> float:
        """The share of a span's surprise without passages that falls on words which a group of passages says."""
        if span.is_whole:  # nobody says what each of its words costs
            words = [span.text[a:b] for a, b in new_words(span.text, self.query)]
            costs = [1.0] * len(words)
        else:
            words = [word for word, _ in span.words]
            costs = [-float(self.known[frozenset()][where].sum()) for _, where in span.words]
        return share_said(words, costs, span.text, [self.texts[i] for i in sorted(group)], span.names or frozenset())

    def unlikely(self, span: Span, memory: float) -> str:
        """A new word of a span that surprises without any passage, where those that count do not."""
        costs = [-float(self.known[frozenset()][where].sum()) for _, where in span.words]
        return unlikely_word([word for word, _ in span.words], costs, memory)

    def exchanged(self, group: Passages, span: Span) -> str:
        """Two names of a span that a group of passages says no better where they stand than exchanged; empty if none are."""
        text = _text(self.subject)
        others = [f"{text[:a]}{text[c:d]}{text[b:c]}{text[a:b]}{text[d : span.stop]}" for (a, b), (c, d) in span.pairs]
        for ((a, b), (c, d)), is_likely in zip(span.pairs, self._likelier(group, span, others), strict=True):
            if is_likely:
                return f"it is as likely with “{text[a:b]}” and “{text[c:d]}” exchanged"
        return ""

    def doubt(self, group: Passages, span: Span) -> str:
        """Why a group of passages may not say a span, although it makes it likely; empty if nothing speaks against it. What is
        doubted gets no verdict, which can only make wrong verdicts fewer."""
        if span.names is None:
            return ""
        return doubt_by_words(span.text, self.query, self.texts, group) or self.outdone(group, span)

    def outdone(self, group: Passages, span: Span) -> str:
        """What a group of passages says better in the place of something new in a span; empty if nothing."""
        text, found = _text(self.subject), rivals(span.text, self.query, [self.texts[i] for i in sorted(group)])[:RIVALS]
        others = [f"{text[: span.says + a]}{other}{text[span.says + b : span.stop]}" for (a, b), other in found]
        for ((a, b), other), is_likely in zip(found, self._likelier(group, span, others), strict=True):
            if is_likely:
                return f"after what is cited “{other}” is as likely as “{span.text[a:b]}”"
        return ""

    def _likelier(self, group: Passages, span: Span, others: Sequence[str]) -> list[bool]:
        """Whether a group of passages makes each of other answers at least as likely as the answer up to the end of a span."""
        if self.subject.kind != "answer" or not others:
            return [False] * len(others)
        from accredit.answers.scoring import ModelPays

        pays: Any = self.subject.game.pays
        written = {k: answer for k, said in enumerate(others) if (answer := self._written(said)) is not None}
        answers = [pays.model.answer(_text(self.subject)[: span.stop], self.subject.layout.ids), *written.values()]
        here: BoolArray = np.array([[i in group for i in range(self.count)]])
        paid = ModelPays(pays.model, pays.parts, answers, pays.reader).log_probabilities(here)[0]
        ends = np.cumsum([len(answer.ids) for answer in answers])
        own, *likely = (float(part.sum()) for part in np.split(paid, ends[:-1]))
        least = dict(zip(written, likely, strict=True))
        return [least.get(k, -np.inf) >= own for k in range(len(others))]

    def _written(self, said: str) -> Answer | None:
        """Another answer in tokens of the model; None where it has no token for a word."""
        pays: Any = self.subject.game.pays
        try:
            answer: Answer = pays.model.answer(said, self.subject.layout.ids)
        except InvalidInput:
            return None
        return answer

    @property
    def everyone(self) -> Passages:
        return frozenset(range(self.count))

    @property
    def is_long(self) -> bool:
        """Whether a backward pass per sentence is too dear."""
        return self.subject.kind == "answer" and len(self.subject.ids) > RELEVANCE_TOKENS

    def missed(self, span: Span) -> list[int]:
        """Candidates where those by relevance do not suffice: passages without which the surprise is largest. A long context is
        halved first, as often as it must be: of its quarters the two stay with which alone the surprise is least."""
        left, each = sorted(self.everyone), int(self.subject.facts.get("prompt tokens") or 0) / self.count
        while len(left) > 2 * CANDIDATES and len(left) ** 2 * each > LEFT_OUT_TOKENS:
            halves = [frozenset([*a.tolist(), *b.tolist()]) for a, b in combinations(np.array_split(left, 4), 2)]
            self.read(halves)
            surprises = [self.over(half, span).surprise for half in halves]
            left = sorted(halves[int(np.argmin(surprises))])
        without = [frozenset(left) - {i} for i in left]
        self.read(without)
        lost = [self.over(group, span).surprise for group in without]
        return [left[i] for i in np.argsort(-np.array(lost), kind="stable")[:CANDIDATES]]

    def candidates(self, span: Span) -> list[int]:
        """The passages that most likely earned a span: by one backward pass, or else by a pass over each alone."""
        if self.count <= CANDIDATES:
            return list(range(self.count))
        try:
            credit = self._relevance(span)
        except AccreditError as error:
            self.read(frozenset([i]) for i in range(self.count))
            credit = np.array([-self.over(frozenset([i]), span).surprise for i in range(self.count)])
            said = f"Candidates come from a pass over each passage alone, not from relevance: {error}"
            self.notes += [said] if said not in self.notes else []
        order = [int(i) for i in np.argsort(-credit, kind="stable")]
        once = [i for i in order if self.texts[i] not in self.texts[:i]]  # of the same passage twice, the first
        return with_said(once, self.texts, span.text, self.query)[:CANDIDATES]

    def _relevance(self, span: Span) -> FloatArray:
        if self.subject.kind != "answer":
            raise InvalidInput("a function of prompts has no gradients", code="unsupported")
        if self.relevance is not None and len(span.where) == len(self.subject.game.outputs):
            return self.relevance
        if self.is_long:
            raise InvalidInput(f"the prompt has more than {RELEVANCE_TOKENS:,} tokens", code="range")
        from accredit.explanation.gradients import points_in_answer
        from accredit.gradients.relevance import attn_lrp_at

        point = points_in_answer(self.subject, {"span": span.where})["span"]
        return attn_lrp_at(point).credit[: self.count]


def with_said(order: Sequence[int], texts: Sequence[str], sentence: str, query: str) -> list[int]:
    """Passages by relevance; where none of the first holds the names that sentence and question share and says every name,
    number and denial of the sentence, the first that does takes the last place among them.

    >>> texts = ["It rained.", "Nobody came.", "A dog barked.", "Rex is the dog of Anna."]
    >>> with_said([0, 1, 2, 3], texts, "Anna has Rex.", "Which dog has Anna?")
    [0, 1, 3, 2]
    """
    names, places = shared_names(sentence, query), new_words(sentence, query)
    words = [sentence[a:b] for a, b in compress(places, telling(sentence, places))]
    say = [
        i
        for i in order
        if says_together([texts[i]], names, frozenset()) and all(words_said(words, sentence, [texts[i]], names))
    ]
    if not say or order.index(say[0]) < CANDIDATES:
        return list(order)
    return [*order[: CANDIDATES - 1], say[0], *(i for i in order[CANDIDATES - 1 :] if i != say[0])]


def measure(passes: _Passes, span: Span) -> Surprise:
    """The surprise of a span without passages, with all, and with every group of its candidates alone.

    Where all passages together take the surprise away and no group of candidates does, relevance has named the wrong ones:
    others are tried, too.
    """
    seen = _try(passes, span, passes.candidates(span))
    if seen.misses:
        more = _try(passes, span, passes.missed(span))
        named = None if seen.named is None or more.named is None else seen.named | more.named
        held = {**(seen.held or {}), **(more.held or {})}
        seen = replace(seen, alone={**seen.alone, **more.alone}, named=named, held=held)
    return replace(seen, bars=_bars(passes, span, seen))


def _bars(passes: _Passes, span: Span, seen: Surprise) -> dict[Origin, str]:
    """Verdicts that must not be given, whatever the surprises are."""
    if span.names is None:
        return {}
    bars = bars_by_words(span.text, passes.query, passes.texts, seen, _text(passes.subject)[: span.start])
    is_open = not bars.keys() & {Origin.PASSAGES, Origin.NOWHERE}
    if is_open and (support := seen.support()) and (why := passes.exchanged(support[0], span)):
        return bars | {Origin.PASSAGES: why}
    return bars


def bars_by_words(sentence: str, query: str, texts: Sequence[str], seen: Surprise, before: str = "") -> dict[Origin, str]:
    """Those that follow from the words alone: of a sentence that says nothing; of one with a name, a number, its unit or a
    denial that no passages say which may be cited; of one whose names what may be cited has the other way round, or of which
    it gives another number; of one whose words passages say that no name holds together. A denial
    is never from memory, nor are names and numbers that the answer has said before."""
    if query and is_said_by(sentence, query):
        return dict.fromkeys(Origin.known(), BARE)
    names = shared_names(sentence, query)
    words = [sentence[a:b] for a, b in new_words(sentence, query)]
    if not names and seen.most_held < 1.0 and all(words_said(words, sentence, texts, names)):
        return {Origin.NOWHERE: SCATTERED, Origin.PASSAGES: SCATTERED}
    guessed = {Origin.MEMORY: GUESSED} if any(map(denies, words)) else repeats(sentence, query, before)
    if seen.unlikely:
        guessed = guessed or {Origin.MEMORY: f"without passages “{seen.unlikely}” is not what the model would say"}
    groups = [[texts[i] for i in sorted(group)] for group in seen.sources]
    if missing := unsaid(sentence, query, groups, names):
        return guessed | {Origin.PASSAGES: f"no passage that may be cited says “{missing}”"}
    if support := seen.support():
        cited = [texts[i] for i in sorted(support[0])]
        if pair := turned_round(sentence, query, cited):
            return guessed | {Origin.PASSAGES: f"what is cited has {pair} the other way round"}
        if other := says_otherwise(sentence, query, cited, names):
            return guessed | {Origin.PASSAGES: f"what is cited says “{other}” of what is asked"}
    return guessed


def doubt_by_words(sentence: str, query: str, texts: Sequence[str], group: Passages) -> str:
    """Why a group of passages that makes a sentence likely may not say it, as far as their words tell; empty if they may: they
    say it with a word that turns it, or of something else, or not all of it, or a later passage says otherwise."""
    cited = [texts[i] for i in sorted(group)]
    if turn := left_out(sentence, query, cited):
        return f"what is cited says it with “{turn}”, and the answer without"
    if more := put_in(sentence, cited):
        return f"what is cited does not say “{more}”"
    if pair := crossed(sentence, query, cited):
        return f"what is cited says it of {pair}"
    if later := overtaken(sentence, query, cited, [text for i, text in enumerate(texts) if i not in group]):
        return f"a later passage says otherwise: “{later:.60}”"
    return ""


def repeats(sentence: str, query: str, before: str) -> dict[Origin, str]:
    """That a sentence is not from memory, where the answer before it says its names and numbers: the model copies them.

    >>> repeats("It takes 26 hours.", "How long does it take?", "It takes 26 minutes. ")
    {<Origin.MEMORY: 'from memory'>: 'an earlier sentence of the answer says “26”'}
    """
    hard = hard_words(sentence, query)
    if not hard or not all(words_said(hard, sentence, [before], frozenset())):
        return {}
    return {Origin.MEMORY: f"an earlier sentence of the answer says “{hard[0]}”"}


def _try(passes: _Passes, span: Span, candidates: list[int]) -> Surprise:
    groups = [frozenset(group) for size in range(1, len(candidates) + 1) for group in combinations(candidates, size)]
    nobody: Passages = frozenset()
    passes.read([passes.everyone, nobody, *groups])
    alone = {group: passes.over(group, span).surprise for group in groups}
    named = frozenset(group for group in groups if passes.may_say(group, span))
    held = {group: passes.held(group, span) for group in groups}
    memory, whole = passes.over(nobody, span).surprise, passes.over(passes.everyone, span).surprise
    return Surprise(memory, whole, alone, named, held, passes.unlikely(span, memory))


def _judge(passes: _Passes, span: Span, told: Calibration, error: float) -> Citation:
    seen = measure(passes, span)
    verdict, p_values = told.judge(seen, error), told.p_values(seen)
    likely = sorted((origin for origin, p in p_values.items() if p > error), key=lambda origin: -p_values[origin])
    support = seen.support() if verdict is Origin.PASSAGES else ()
    if verdict is Origin.PASSAGES and (doubt := passes.doubt(support[0], span) if support else NO_SOURCE):
        verdict, support = Origin.UNTOLD, ()
    else:
        doubt = next((seen.bars[each] for each in likely if each in seen.bars), "")
    groups = [passes.everyone, frozenset[int](), *(group for group in seen.alone if group != passes.everyone)]
    if support:
        groups.append(passes.everyone - frozenset().union(*support))
        passes.read(groups[-1:])
    return Citation(
        span.start,
        span.stop,
        verdict,
        tuple(tuple(sorted(group)) for group in support),
        {str(origin): p for origin, p in p_values.items()},
        tuple(passes.over(group, span) for group in dict.fromkeys(groups)),
        because=doubt if verdict is Origin.UNTOLD else "",
    )


def _with_quotes(found: Citations, subject: AnswerSubject, how: Mapping[str, Any]) -> Citations:
    """The citations, with the sentences of each cited passage that say it."""
    answer = subject.game.answer
    if answer is None:
        return found
    spans = {span.start: span for span in _spans(subject, found.query, [found.answer[c.start : c.stop] for c in found])}
    passes = 0

    def ask(texts: list[str], players: str) -> _Passes:
        made: dict[str, Any] = {"context": texts, "query": found.query, "answer": answer.ids, "players": players}
        return _Passes(answer_subject(subject.model, None, **made, target="words", budget=LEAST_PASSES, **how), found.query)

    quoted = []
    for each in found:
        if each.support:
            texts, asked = _narrow(ask, spans[each.start], [found.passages[i] for i in each.support[0]])
            passes += asked
            quoted.append(replace(each, quotes=_places(found.passages, each.support[0], texts)))
        else:
            quoted.append(each)
    return replace(found, citations=tuple(quoted), provenance={**found.provenance, "passes over what is cited": passes})


def _narrow(ask: Callable[[list[str], str], _Passes], span: Span, texts: list[str]) -> tuple[list[str], int]:
    """The paragraphs, then the sentences of some texts that suffice to say a span, and the passes that this took."""
    span, asked = replace(span, names=None, pairs=()), 0
    for unit, cut in (("paragraphs", paragraph_spans), ("sentences", sentence_spans)):
        if sum(len(cut(text)) for text in texts) > len(texts):
            passes = ask(texts, unit)
            seen = measure(passes, span)
            asked += len(passes.known)
            enough = [group for group in seen.support() if seen.suffices(group)]
            if not enough:
                break
            texts = [passes.texts[i] for i in sorted(enough[0])]
    return texts, asked


def _places(passages: Sequence[str], group: tuple[int, ...], texts: list[str]) -> tuple[Quote, ...]:
    """Where texts stand in the passages of a group; what is a whole passage is no quote."""
    found = []
    for text in texts:
        held = next(((i, passages[i].find(text)) for i in group if text in passages[i]), None)
        if held is not None and text.strip() != passages[held[0]].strip():
            found.append(Quote(held[0], held[1], held[1] + len(text)))
    return tuple(found)


def _text(subject: AnswerSubject) -> str:
    answer = subject.game.answer
    return str(subject.facts["answer"]) if answer is None else answer.text


def _passages(subject: AnswerSubject) -> tuple[str, ...]:
    """Each player's words in full, where the prompt is dealt out in stretches of text."""
    parts: Any = getattr(subject.game.pays, "parts", None)
    dealt = getattr(parts, "parts", parts)
    return tuple(dealt.texts()) if hasattr(dealt, "texts") else subject.players


def _spans(subject: AnswerSubject, query: str, asked: Sequence[str] | None) -> list[Span]:
    """The sentences of the answer, or the strings of it that are asked for."""
    answer, count = subject.game.answer, len(subject.game.outputs)
    if answer is None:
        if asked is not None:
            raise InvalidInput(
                "spans are given, and a function of prompts pays for the answer as a whole; leave them out",
                argument="spans",
                code="unsupported",
            )
        said = _text(subject)
        everything = (("", np.arange(count)),)
        return [Span(0, len(said), np.arange(count), everything, everything, frozenset(), said, is_whole=True)]
    found = map(answer.place, asked or ())
    places = _sentences(answer) if asked is None else [(each.start, each.stop, each.tokens) for each in found]
    if not places:
        raise InvalidInput(
            f"the answer {answer.text!r:.60} has no word to judge; give a sentence"
            if asked is None
            else "spans is empty; give words of the answer, or leave it out",
            argument="answer" if asked is None else "spans",
            code="missing",
        )
    return [_span(answer, query, *place) for place in places]


def _sentences(answer: Answer) -> list[tuple[int, int, IntArray]]:
    """The sentences of an answer that say something. What only begins one ("1.", "Dr.") goes with the next, and what has no
    word, with the one before."""
    found: list[tuple[int, int, IntArray]] = []
    for start, stop, where in answer.sentence_places():
        text = answer.text[start:stop]
        if found and (BEGUN.search(answer.text[slice(*found[-1][:2])]) or not WORD.search(text)):
            before, _, tokens = found.pop()
            start, where = before, np.concatenate([tokens, where])
        found.append((start, stop, where))
    return [each for each in found if WORD.search(answer.text[each[0] : each[1]])]


def _span(answer: Answer, query: str, start: int, stop: int, where: IntArray) -> Span:
    first, last = answer.edges.T
    begins = ITEM.match(answer.text[start:stop])
    says = start + (begins.end() if begins else 0)
    text = answer.text[says:stop]
    places = new_words(text, query)
    words = [(text[a:b], np.flatnonzero((first < says + b) & (last > says + a))) for a, b in places]
    words = words or [(text.strip(), where)]
    tells = telling(text, places) if places else [True]
    pairs = tuple(((says + a, says + b), (says + c, says + d)) for (a, b), (c, d) in exchanges(text, query))
    return Span(
        start,
        stop,
        where,
        tuple(words),
        tuple(compress(words, tells)),
        shared_names(text, query),
        text,
        says=says,
        pairs=pairs,
    )


def _is_of(told: Calibration, subject: AnswerSubject) -> bool:
    """Whether a calibration is of the model that was asked: of the same weights, or, of what has none, of the same name."""
    if told.fingerprint:
        return subject.kind == "answer" and told.fingerprint == subject.model.fingerprint
    return subject.kind != "answer" and told.model == subject.facts["model"]


def _on_calibration(told: Calibration, subject: AnswerSubject) -> list[Note]:
    """That the error rate was calibrated on another model."""
    if _is_of(told, subject):
        return []
    said = (
        f"the error rate was calibrated on {told.model}, and the model here is {subject.facts['model']}: it may not hold here. "
    )
    return [Note(NoteKind.WARNING, f"{said}A calibration of this model states a rate of its own.")]


# Calibration


def read_planted(model: object, planted: Planted) -> tuple[Surprise, Mapping[Passages, FloatArray]]:
    """How surprised a model is at the last sentence of a planted answer, and, by passages, what each of its new words costs."""
    passes, span = _planted(model, planted)
    seen = measure(passes, span)
    costs = {
        group: np.array([-passes.known[group][where].sum() for _, where in span.words])
        for group in (passes.everyone, frozenset[int](), *seen.alone)
    }
    return seen, costs


def doubt_of(model: object, planted: Planted, group: Passages) -> str:
    """Why a group of passages may not say the last sentence of a planted answer, although it makes it likely."""
    passes, span = _planted(model, planted)
    return passes.doubt(group, span)


def _planted(model: object, planted: Planted) -> tuple[_Passes, Span]:
    """The last sentence of a planted answer, and passes over it."""
    subject = answer_subject(
        model, None, answer=planted.answer, context=list(planted.context), query=planted.query, target="sentences",
        budget=LEAST_PASSES,
    )  # fmt: skip
    return _Passes(subject, planted.query), _spans(subject, planted.query, None)[-1]


def knows(model: object, planted: Planted) -> bool:
    """Whether a model that writes says the new words of a planted answer without any passage: when it completes the answer up
    to the first of them, or when it is asked the question alone. A function of prompts is believed to."""
    from accredit.answers.model import AnsweringModel

    if not isinstance(model, AnsweringModel):
        return True
    new = new_words(planted.answer, planted.query)
    wanted = frozenset(planted.answer[a:b].lower() for a, b in new)
    asked: object = planted.query
    begun = f"{planted.query}\n"
    if model.tokenizer.chat_template:
        asked = [{"role": "user", "content": planted.query}]
        begun = model.tokenizer.apply_chat_template(asked, tokenize=False, add_generation_prompt=True)
    to_complete = begun + planted.answer[: new[0][0]].rstrip()
    few = 4 * len(planted.answer[new[0][0] :].split()) + 2
    return any(
        holds(model.generate(model.prompt(text), max_new_tokens=most).text, wanted)
        for text, most in ((to_complete, few), (asked, MOST_SAID))
    )


@check_arguments
def calibrate(model: object, tokenizer: object = None, *, prompts: int = 240, seed: int = 0) -> Calibration:
    """The calibration of a model, from so many planted prompts of four books and a fifth more of what everybody knows: about
    eleven passes and one backward pass for each. What the model does not say without passages is not counted as known.

    One in three is fitted to, the others are scored.

    >>> def reads(prompts, answer):  # a hosted model that copies, and knows nothing
    ...     return [-sum(0.1 if word in prompt else 4.0 for word in answer.split()) for prompt in prompts]
    >>> sorted(sum(map(len, scores)) for scores in calibrate(reads, prompts=40).scores.values())
    [10, 10, 10]
    """
    asked = answering_model(model, tokenizer)
    each = -(-prompts // len(BOOKS))
    drawn = [(book, planted) for book in BOOKS for planted in planted_prompts(each, book, seed=seed)]
    seen = [
        Scored(read_planted(asked, planted)[0], planted.origin, book)
        for book, planted in drawn
        if planted.origin is not Origin.MEMORY or knows(asked, planted)
    ]
    name, weights = getattr(asked, "name", "a function"), getattr(asked, "fingerprint", "")
    return Calibration.fit(name, seen, weights, prompts=prompts, seed=seed)
