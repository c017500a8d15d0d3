"""Calibrate citations on planted facts, test them on untuned ones, and write the calibration and its report.

    python -m tools.citations [--minutes 14] [--only-report] [--only-tests] [--twisted almanac]

A real language model (`tools.language_model`) reads planted prompts to calibrate on: of nine kinds from four books, of eleven
kinds by another generator (`tools.fresh_facts`), and of three books by a third (`tools.unseen_facts`); and those of "railway",
to be tested on. Each keeps one JSON line, and a run that is stopped, or
out of time, goes on where it was. From the lines come accredit/answers/calibration.json and docs/reports/citations.md.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta, binom

from accredit.answers.new_words import linking_words, new_words, says_together, share_said, shared_names, telling
from accredit.answers.planted import ORIGIN_OF_KIND, Book, Planted, planted_prompts
from accredit.answers.verdicts import CALIBRATED, ERROR, Calibration, Origin, Passages, Scored, Surprise, unlikely_word
from accredit.explanation.citations import CANDIDATES, NO_SOURCE, bars_by_words, doubt_by_words
from accredit.models.encoded import sentence_spans
from tools import fresh_facts, twisted_facts, unseen_facts
from tools.fresh_facts import fresh_prompts
from tools.language_model import NAME, need_model
from tools.twisted_facts import twisted_prompts
from tools.unseen_facts import ORIGINS, origin_of_generated, unseen_prompts

ROOT = Path(__file__).parents[1]
LINES = ROOT / "benchmarks" / "results" / "citations.jsonl"
TESTS = ROOT / "benchmarks" / "results" / "citations_tests.jsonl"
TWISTED = ROOT / "benchmarks" / "results" / "citations_twisted.jsonl"
BEFORE = ROOT / "benchmarks" / "results" / "citations_before.json"  # on LAST, by the rule and the calibration before these
REPORT = ROOT / "docs" / "reports" / "citations.md"
LAST: unseen_facts.Book = "railway"  # to be tested on; whoever changes the rule calibrates on it, and writes another
ROUNDS = 8  # of fresh prompts
FRESH = 74  # of them that are read
UNSEEN: dict[unseen_facts.Book, int] = {"parish": 6, "survey": 6, "harbour": 5, "railway": 5}  # rounds
OTHERS: tuple[unseen_facts.Book, ...] = (
    "parish",
    "survey",
    "harbour",
)  # each the test of a rule before this one, but the first
PROMPTS = 90  # of each book, before those known by heart
SEEDS: dict[Book, int] = {"people": 0, "places": 1000, "reports": 2000, "berichte": 4000}
PLANTED = {**ORIGIN_OF_KIND, **fresh_facts.ORIGINS, **unseen_facts.ORIGINS}  # kinds that are calibrated on
KNOWN_BY_HEART = ("memory", "known", "known, said", "known, denied")
EITHER = {  # kinds with two right verdicts
    "known, said": (Origin.MEMORY, Origin.PASSAGES),
    "refused rightly": (Origin.NOWHERE, Origin.MEMORY),  # what matters is that nothing is cited
}
GENERATED = 24  # tokens of an answer that the model writes itself
LARGE = ("people", "places", "fresh", "parish", "survey", "harbour")  # books with enough prompts to be judged by the others
ERRORS = (0.1, 0.15, 0.2)  # error rates that the report lists


def planted(prompts: int) -> Iterator[tuple[str, int, Planted]]:
    """Every planted prompt to calibrate on: its book, its number there, and itself."""
    for book, seed in SEEDS.items():
        for number, made in enumerate(planted_prompts(prompts, book, seed=seed)):
            yield book, number, made
    for number, made in enumerate(fresh_prompts(ROUNDS)[:FRESH]):
        yield "fresh", number, made
    for book in OTHERS:
        yield from unseen(book)


def unseen(book: unseen_facts.Book) -> Iterator[tuple[str, int, Planted]]:
    """Every planted prompt of a book to be tested on."""
    for number, made in enumerate(unseen_prompts(book, UNSEEN[book])):
        yield book, number, made


def twisted(book: twisted_facts.Book) -> Iterator[tuple[str, int, Planted]]:
    """Every single case of a book whose passages turn on a small word."""
    for number, made in enumerate(twisted_prompts(book)):
        yield book, number, made


def measure(prompts: list[tuple[str, int, Planted]], lines: Path, folder: Path, minutes: float) -> None:
    """Read every planted prompt that has no line yet, as many as the time allows, and ask without passages about what may be
    known by heart."""
    from accredit.explanation.citations import doubt_of, knows, read_planted
    from accredit.explanation.loading import answering_model

    done = {(line["book"], line["number"]) for line in read(lines)}
    model: Any = answering_model(str(folder), None)
    todo = [each for each in prompts if each[:2] not in done]
    until = time.monotonic() + 60 * minutes
    with lines.open("a", encoding="utf-8") as file:
        for book, number, made in todo:
            if time.monotonic() > until:
                return
            line = {"book": book, "number": number, "kind": made.kind, "passages": len(made.context)}
            if made.kind in KNOWN_BY_HEART:
                line["known"] = knows(model, made)
            if made.kind == "generated":
                made = replace(made, answer=generated(model, made))
                line["answer"] = made.answer
            if line.get("known", True) and made.answer:
                began = time.process_time()
                seen, read_with = read_planted(model, made)
                line |= {
                    "costs": [[sorted(group), np.round(costs, 3).tolist()] for group, costs in read_with.items()],
                    **({"bars": dict(seen.bars)} if seen.bars else {}),
                    "cpu": round(time.process_time() - began, 2),
                    "model": [NAME, model.fingerprint],
                }
                if lines != LINES and (support := seen.support()):
                    line["doubt"] = doubt_of(model, made, support[0])
            file.write(json.dumps(line) + "\n")
            file.flush()


def doubt_what_is_cited(lines: Path, prompts: list[tuple[str, int, Planted]], folder: Path) -> None:
    """For lines that were read before doubts were looked for: what speaks against their citations."""
    from accredit.explanation.citations import doubt_of
    from accredit.explanation.loading import answering_model

    drawn, model, found = (
        {(book, number): made for book, number, made in prompts},
        answering_model(str(folder), None),
        read(lines),
    )
    for line in found:
        made = drawn.get((line["book"], line["number"]))
        if made is not None and "costs" in line and "doubt" not in line:
            made = replace(made, answer=line.get("answer", made.answer))
            if support := surprise_of(line, made).support():
                line["doubt"] = doubt_of(model, made, support[0])
    lines.write_text("".join(json.dumps(line) + "\n" for line in found), encoding="utf-8")


def generated(model: Any, made: Planted) -> str:
    """The first sentence of what the model answers by itself; empty, if that is nothing."""
    written = model.generate(model.prompt(context=list(made.context), query=made.query), max_new_tokens=GENERATED).text
    return written[slice(*sentence_spans(written)[0])].strip() if written.strip() else ""


def read(lines: Path) -> list[dict[str, Any]]:
    """The lines of planted prompts that were read."""
    return [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()] if lines.is_file() else []


def surprise_of(line: dict[str, Any], made: Planted) -> Surprise:
    """What a line says of the surprise."""
    sentence = last_sentence(made.answer)
    before = made.answer[: len(made.answer) - len(sentence)]
    places = new_words(sentence, made.query)[-len(line["costs"][0][1]) :]
    tells = telling(sentence, places)
    found = {frozenset(group): max(compress(costs, tells)) for group, costs in line["costs"]}
    nobody, everyone = frozenset[int](), frozenset(range(len(made.context)))
    alone = {group: x for group, x in found.items() if group not in (nobody, everyone)}
    names, linking = shared_names(sentence, made.query), linking_words([*made.context, made.query], f"{made.query} {sentence}")
    texts = {group: [made.context[i] for i in sorted(group)] for group in alone}
    named = frozenset(group for group in alone if says_together(texts[group], names, linking))
    costs = next(costs for group, costs in line["costs"] if not group)
    words = [sentence[a:b] for a, b in places]
    held = {group: share_said(words, costs, sentence, texts[group], names) for group in alone}
    seen = Surprise(found[nobody], found[everyone], alone, named, held, unlikely_word(words, costs, found[nobody]))
    bars = {Origin(origin): why for origin, why in line.get("bars", {}).items()}
    return replace(seen, bars={**bars_by_words(sentence, made.query, made.context, seen, before), **bars})


def last_sentence(answer: str) -> str:
    """The sentence of a planted answer whose origin is known."""
    start, stop = sentence_spans(answer)[-1]
    return answer[start:stop]


@dataclass(frozen=True)
class Told:
    """A planted prompt that was read: its line, itself with the answer that was judged, and where that comes from."""

    line: dict[str, Any]
    made: Planted
    truth: Origin

    @property
    def scored(self) -> Scored:
        return Scored(surprise_of(self.line, self.made), self.truth, self.line["book"])


def told_apart(lines: list[dict[str, Any]], prompts: Iterator[tuple[str, int, Planted]]) -> list[Told]:
    """The prompts whose truth is known: left out is what the model does not know by heart, and what it wrote without a planted
    value."""
    drawn, found = {(book, number): made for book, number, made in prompts}, []
    for line in lines:
        made = drawn[line["book"], line["number"]]
        truth = PLANTED.get(line["kind"]) or (Origin.PASSAGES if made.enough else Origin.NOWHERE)
        if line["kind"] == "generated":
            truth = origin_of_generated(made, line["answer"], line["book"]) or truth
            made = replace(made, answer=line["answer"])
        if line.get("known", True) and truth is not Origin.UNTOLD:
            found.append(Told(line, made, truth))
    return found


def tested(book: unseen_facts.Book) -> list[Told]:
    """The prompts of a book to be tested on that were read."""
    return told_apart([line for line in read(TESTS) if line["book"] == book], unseen(book))


def calibration(seen: list[Told]) -> Calibration:
    """From prompts of the books to calibrate on; those with two right verdicts are left out."""
    own = [each for each in seen if each.made.kind not in EITHER]
    return Calibration.fit(NAME, [each.scored for each in own], own[0].line["model"][1], prompts=len(own))


@dataclass(frozen=True)
class Judged:
    """A prompt, what was said of it, and whether that is right."""

    line: dict[str, Any]
    made: Planted
    verdict: Origin
    truth: Origin
    cited: str  # against what was planted; empty: nothing is cited

    @property
    def outcome(self) -> str:
        right = self.verdict in EITHER.get(self.made.kind, (self.truth,)) and self.cited in ("", "as planted", "part of it")
        right = right or (self.verdict is self.truth is Origin.PASSAGES)
        return "right" if right else "untold" if self.verdict is Origin.UNTOLD else "wrong"


def judge(told: Calibration, seen: list[Told], error: float, *, is_doubted: bool = True) -> list[Judged]:
    """The verdict on every prompt; what is cited is given up where something speaks against it, if that is asked."""
    found = []
    for each in seen:
        read_as = surprise_of(each.line, each.made)
        verdict = told.judge(read_as, error)
        if is_doubted and verdict is Origin.PASSAGES and doubt(each, read_as):
            verdict = Origin.UNTOLD
        cited = compare(read_as.support(), each.made) if verdict is Origin.PASSAGES else ""
        found.append(Judged(each.line, each.made, verdict, each.truth, cited))
    return found


def doubt(each: Told, read_as: Surprise) -> str:
    """Why what is cited may not say it: by its words, or, where that was tried, because the model would rather say another."""
    if not (support := read_as.support()):
        return NO_SOURCE
    said = doubt_by_words(last_sentence(each.made.answer), each.made.query, each.made.context, support[0])
    return said or str(each.line.get("doubt", ""))


def compare(groups: tuple[Passages, ...], made: Planted) -> str:
    """Whether what is cited is what was planted: the same groups, some of those passages, or others as well."""
    gold, named = frozenset[int]().union(*made.enough), frozenset[int]().union(*groups)
    if set(groups) == set(made.enough):
        return "as planted"
    return "part of it" if named <= gold else "others too" if named & gold else "others only"


def interval(count: int, total: int) -> str:
    """A share with its Clopper–Pearson interval of level 95 %."""
    if not total:
        return "—"
    low = float(beta.ppf(0.025, count, total - count + 1)) if count else 0.0
    high = float(beta.ppf(0.975, count + 1, total - count)) if count < total else 1.0
    return f"{count} of {total} ({low:.0%} to {high:.0%})"


def report(seen: list[Told], told: Calibration) -> str:
    """The report, from the prompts to calibrate on, those to be tested on and the calibration."""
    sets = "; ".join(f"{origin}: {' + '.join(str(len(each)) for each in some)}" for origin, some in told.scores.items())
    books = held_out(seen)
    text = [
        "# Citations on planted facts\n",
        "*Is a sentence of an answer said by a passage, by the model's own memory, or by neither; and how often is the verdict "
        "wrong?*\n",
        f"Made by `python -m tools.citations`. {NAME} read {len(seen)} planted sentences of eight books to calibrate on. The "
        "rule was chosen with these in view. [What a verdict means](../answers.md#citations-that-can-be-checked).\n",
        f"Planted sentences, by book or small books together: {sets}.\n",
        "## Each book by a calibration on the others\n",
        f"At {ERROR:.0%} allowed, of the sentences of each origin, with 95 % intervals (Clopper–Pearson). Each book is judged "
        "by what was fitted to the others and scored on them; the rule was chosen with all in view, so that this is no "
        "independent test.\n",
        f"| book | right | cannot tell | {' | '.join(f'wrong: {origin}' for origin in Origin.known())} |",
        "|---|---:|---:|" + "---:|" * 3,
        *(f"| {book} | {row(some)} |" for book, some in books.items()),
        f"| all | {row([each for some in books.values() for each in some])} |",
        "",
    ]
    return "\n".join([*text, *on_last(tested(LAST), told), "", *on_twisted(told), ""])


def row(found: list[Judged]) -> str:
    """How many are right and undecided, and wrong by origin."""
    tally = Counter(each.outcome for each in found)
    by = [[each for each in found if each.truth is origin] for origin in Origin.known()]
    wrong = [interval(sum(each.outcome == "wrong" for each in own), len(own)) for own in by]
    return " | ".join([*(f"{tally[v]} ({tally[v] / len(found):.0%})" for v in ("right", "untold")), *wrong])


def held_out(seen: list[Told]) -> dict[str, list[Judged]]:
    """The verdicts on the larger books, each by a calibration on all others."""
    by_book = {book: [each for each in seen if each.line["book"] == book] for book in LARGE}
    return {
        book: judge(calibration([each for each in seen if each.line["book"] != book]), own, ERROR)
        for book, own in by_book.items()
        if own
    }


def others(seen: list[Told], told: Calibration) -> list[Judged]:
    """The verdicts on sentences that the calibration behind them did not see: of the last book, or, until that is read, of each
    book by a calibration on the others."""
    return judge(told, tested(LAST), ERROR) or [each for some in held_out(seen).values() for each in some]


def measured(found: list[Judged]) -> dict[str, Any]:
    """What users are told of the verdicts on sentences that the calibration did not see."""
    by = {str(origin): [each for each in found if each.truth is origin] for origin in Origin.known()}
    tally = Counter(each.outcome for each in found)
    return {
        "error": ERROR,
        "sentences": len(found),
        "wrong": tally["wrong"],
        "untold": tally["untold"],
        "by origin": {name: [sum(each.outcome == "wrong" for each in some), len(some)] for name, some in by.items()},
    }


def on_last(tests: list[Told], told: Calibration) -> list[str]:
    """The part of the report about prompts that nothing was tuned on."""
    if not tests:
        return ["## A book that the rule was not made with\n", f"“{LAST}” is written, and nothing of it has been read yet."]
    found = judge(told, tests, ERROR)
    cpu, passes = (float(np.mean([each(x.line) for x in found])) for each in (lambda x: x["cpu"], lambda x: len(x["costs"])))
    text = [
        "## A book that the rule was not made with\n",
        f"{len(tests)} sentences of “{LAST}” (`tools/unseen_facts.py`: topics, names and wordings of its own; refusals, "
        "negated statements, changed digits and units, exchanged names, lists, second sentences, passages that "
        "disagree; a third in German or French; answers that the model wrote itself). It was written, its key checked and "
        "the rule fixed before anything of it was read. What was changed since (doubts about what is cited, entries of lists) "
        "was chosen on other books. Left out is what the "
        "model does not know by heart, what it wrote without a planted value, and what it copied about somebody else. "
        f"{passes:.1f} forward passes and one backward pass per sentence, {cpu:.1f} CPU-seconds on one thread.\n",
        "Of the sentences of each origin, with 95 % intervals; allowed is the share on the left.\n",
        *table(tests, told),
        "",
        *(kept(found, origin) for origin in Origin.known()),
        "",
        f"Of the verdicts that are printed, at {ERROR:.0%} allowed:\n",
        "| verdict | right | of this origin, found |",
        "|---|---:|---:|",
    ]
    for origin in Origin.known():
        said, own = [x for x in found if x.verdict is origin], [x for x in found if x.truth is origin]
        right, hits = (sum(each.outcome == "right" for each in some) for some in (said, own))
        text.append(f"| {origin} | {interval(right, len(said))} | {interval(hits, len(own))} |")
    cited = [x for x in found if x.verdict is Origin.PASSAGES]
    only = sum(x.cited in ("as planted", "part of it") for x in cited)
    text += [
        "",
        f"Supported verdicts that cite nothing but passages that say it: {interval(only, len(cited))}.\n",
        f"By kind, at {ERROR:.0%} allowed:\n",
        "| kind | truth | right | wrong | cannot tell | citations |",
        "|---|---|---:|---:|---:|---|",
    ]
    for kind, truth in ORIGINS.items():
        some = [each for each in found if each.made.kind == kind]
        tally, places = Counter(each.outcome for each in some), Counter(each.cited for each in some if each.cited)
        shown = ", ".join(f"{count} {what}" for what, count in places.most_common()) or "—"
        meant = "by its value" if truth is Origin.UNTOLD else truth
        text.append(f"| {kind} | {meant} | {tally['right']} | {tally['wrong']} | {tally['untold']} | {shown} |")
    return [*text, "", candidates(found)]


def on_twisted(told: Calibration) -> list[str]:
    """The part of the report about passages that turn on a small word: with doubts about what is cited, and without."""
    text = [
        "## Passages that turn on a small word\n",
        "Single cases of two books (`tools/twisted_facts.py`): out of date, replaced by a later passage, denied, doubted, only "
        "reported, beside another number, compared, turned round, half true, “all” for “some”. Both were written, and their "
        "keys checked, before anything of either was read. Doubts were found with “almanac” in view, and “gazette” was "
        "read once, with the rule fixed; but one hand wrote both books and the list of words that turn a statement, so neither "
        "stands for "
        "wordings of others. A sentence that no passage says must not be called supported; of those that one says, some are "
        "given up.\n",
        "| book | not said, “supported”: without doubts | with doubts | said, “supported”: without doubts | with doubts |",
        "|---|---:|---:|---:|---:|",
    ]
    by_kind, books = dict[str, list[str]](), []
    for book in twisted_facts.CASES:
        seen = told_apart([line for line in read(TWISTED) if line["book"] == book], twisted(book))
        if not seen:
            continue
        found, plainly = judge(told, seen, ERROR), judge(told, seen, ERROR, is_doubted=False)
        cells = [
            interval(sum(each.verdict is Origin.PASSAGES for each in own), len(own))
            for truth in (Origin.NOWHERE, Origin.PASSAGES)
            for own in ([each for each in some if each.truth is truth] for some in (plainly, found))
        ]
        text.append(f"| {book} | {' | '.join(cells)} |")
        books.append(book)
        for kind in twisted_facts.KINDS:
            some = [each for each in found if each.made.kind == kind]
            tally = Counter(each.outcome for each in some)
            by_kind.setdefault(kind, []).append(f"{tally['right']} / {tally['wrong']} / {tally['untold']}")
    rows = [f"| {kind} | {twisted_facts.KINDS[kind]} | {' | '.join(cells)} |" for kind, cells in by_kind.items()]
    head = ["", f"| kind | | {' | '.join(books)} |", "|---|---|" + "---:|" * len(books)]
    return [*text, "", "Right / wrong / cannot tell, with doubts:", *head, *rows]


def table(tests: list[Told], told: Calibration) -> list[str]:
    """What is said of a book at several error rates, and was said before the rule was changed."""
    before = json.loads(BEFORE.read_text(encoding="utf-8"))["row"] if BEFORE.is_file() else ""
    return [
        f"| allowed | right | cannot tell | {' | '.join(f'wrong: {origin}' for origin in Origin.known())} |",
        "|---:|" + "---:|" * 5,
        *(f"| {error:.0%} | {row(judge(told, tests, error))} |" for error in ERRORS),
        *([f"| {ERROR:.0%}, rule before | {before} |"] if before else []),
    ]


def candidates(found: list[Judged]) -> str:
    """How often relevance puts a passage first that says it, and how often what is needed is among its candidates."""
    own = [
        (each.made, [set(group) for group, _ in each.line["costs"] if len(group) == 1])
        for each in found
        if each.truth is Origin.PASSAGES and len(each.made.context) > CANDIDATES
    ]
    first = sum(alone[0] <= frozenset().union(*made.enough) for made, alone in own)
    held = sum(any(group <= set().union(*alone) for group in made.enough) for made, alone in own)
    chance = float(np.mean([len(frozenset().union(*made.enough)) / len(made.context) for made, _ in own]))
    return (
        f"AttnLRP puts a passage first that says it in {interval(first, len(own))} of these prompts, by chance {chance:.0%}; "
        f"what is needed is among the candidates in {interval(held, len(own))}."
    )


def kept(found: list[Judged], origin: Origin) -> str:
    """Whether the rate was kept for an origin, as far as so many sentences can tell."""
    own = [each for each in found if each.truth is origin]
    wrong = sum(each.outcome == "wrong" for each in own)
    surprising = float(binom.sf(wrong - 1, len(own), ERROR))
    if wrong <= ERROR * len(own):
        said = "not more than allowed"
    else:
        said = f"more than allowed; at the allowed rate so many come up with probability {surprising:.2g}"
    return f"- {origin}: {wrong} of {len(own)} wrong at {ERROR:.0%}: {said}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only-report", action="store_true", help="read no prompt; write from the lines that are there")
    parser.add_argument("--only-tests", action="store_true", help="read no further prompt to calibrate on")
    parser.add_argument(
        "--doubts", action="store_true", help="only look for what speaks against citations that were read before"
    )
    parser.add_argument("--twisted", choices=tuple(twisted_facts.CASES), help="read only the cases of this book")
    parser.add_argument("--minutes", type=float, default=14, help="after which no further prompt is begun")
    options = parser.parse_args()
    until = time.monotonic() + 60 * options.minutes
    if options.twisted:
        measure(list(twisted(options.twisted)), TWISTED, need_model(), options.minutes)
    elif options.doubts:
        doubt_what_is_cited(TESTS, list(unseen(LAST)), need_model())
    elif not options.only_report:
        some = [(unseen(LAST), TESTS), (planted(PROMPTS), LINES)]
        for prompts, file in some[: 1 if options.only_tests else None]:
            measure(list(prompts), file, need_model(), (until - time.monotonic()) / 60)
    seen = told_apart(read(LINES), planted(PROMPTS))
    told = calibration(seen)
    told = replace(told, facts={**told.facts, "measured": measured(others(seen, told))})
    CALIBRATED.write_text(told.to_json() + "\n", encoding="utf-8")
    REPORT.write_text(report(seen, told), encoding="utf-8")


if __name__ == "__main__":
    main()
