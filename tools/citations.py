"""Calibrate citations on planted facts, test them on fresh ones, and write the calibration and its report.

    python -m tools.citations [--only-report]

A real language model (`tools.language_model`) reads planted prompts of nine kinds from four books to calibrate on, and prompts
of eleven kinds by another generator (`tools.fresh_facts`) to be tested on; each keeps one JSON line, and a stopped run goes on
where it was. From the lines come accredit/answers/calibration.json and docs/reports/citations.md.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta, binom

from accredit.answers.new_words import holds, shared_names
from accredit.answers.planted import ORIGIN_OF_KIND, Book, Planted, planted_prompts
from accredit.answers.verdicts import CALIBRATED, ERROR, Calibration, Origin, Passages, Scored, Surprise
from accredit.explanation.citations import CANDIDATES
from accredit.models.encoded import sentence_spans
from tools.fresh_facts import ORIGINS, fresh_prompts
from tools.language_model import NAME, need_model

ROOT = Path(__file__).parents[1]
LINES = ROOT / "benchmarks" / "results" / "citations.jsonl"
TESTS = ROOT / "benchmarks" / "results" / "citations_fresh.jsonl"
REPORT = ROOT / "docs" / "reports" / "citations.md"
ROUNDS = 8  # of fresh prompts
PROMPTS = 90  # of each book, before those known by heart
SEEDS: dict[Book, int] = {"people": 0, "places": 1000, "reports": 2000, "berichte": 4000}
KNOWN_BY_HEART = ("memory", "known", "known, denied")
FOREIGN = re.compile(r"¿|^(Wo|Was|Wer|Wann|Wie|Welche|Quel|Quelle)\b")  # beginnings of questions that are not in English
ERRORS = (0.1, 0.15, 0.2)  # error rates that the report lists


def planted(prompts: int) -> Iterator[tuple[Book, int, Planted]]:
    """Every planted prompt: its book, its number there, and itself."""
    for book, seed in SEEDS.items():
        for number, made in enumerate(planted_prompts(prompts, book, seed=seed)):
            yield book, number, made


def measure(prompts: list[tuple[str, int, Planted]], lines: Path, folder: Path) -> None:
    """Read every planted prompt that has no line yet, and ask without passages about what may be known by heart."""
    from accredit.explanation.citations import knows, read_planted
    from accredit.explanation.loading import answering_model

    done = {(line["book"], line["number"]) for line in read(lines)}
    model: Any = answering_model(str(folder), None)
    todo = sorted((each for each in prompts if each[:2] not in done), key=lambda each: (each[1], each[0]))
    with lines.open("a", encoding="utf-8") as file:
        for book, number, made in todo:
            line = {"book": book, "number": number, "kind": made.kind, "passages": len(made.context)}
            if made.kind in KNOWN_BY_HEART:
                line["known"] = knows(model, made)
            if line.get("known", True):
                began = time.process_time()
                _, read_with = read_planted(model, made)
                line |= {
                    "costs": [[sorted(group), np.round(costs, 3).tolist()] for group, costs in read_with.items()],
                    "cpu": round(time.process_time() - began, 2),
                    "model": [NAME, model.fingerprint],
                }
            file.write(json.dumps(line) + "\n")
            file.flush()


def read(lines: Path) -> list[dict[str, Any]]:
    """The lines of planted prompts that were read."""
    return [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()] if lines.is_file() else []


def surprise_of(line: dict[str, Any], made: Planted) -> Surprise:
    """What a line says of the surprise."""
    found = {frozenset(group): max(costs) for group, costs in line["costs"]}
    nobody, everyone = frozenset[int](), frozenset(range(len(made.context)))
    alone = {group: x for group, x in found.items() if group not in (nobody, everyone)}
    names = shared_names(last_sentence(made.answer), made.query)
    named = frozenset(group for group in alone if holds(" ".join(made.context[i] for i in group), names)) if names else None
    return Surprise(found[nobody], found[everyone], alone, named)


def last_sentence(answer: str) -> str:
    """The sentence of a planted answer whose origin is known."""
    start, stop = sentence_spans(answer)[-1]
    return answer[start:stop]


def calibration(lines: list[dict[str, Any]], prompts: int) -> Calibration:
    """From the lines of the books; what the model does not know is left out."""
    made = {(book, number): each for book, number, each in planted(prompts)}
    own = [line for line in lines if line.get("known", True)]
    seen = [
        Scored(surprise_of(line, made[line["book"], line["number"]]), ORIGIN_OF_KIND[line["kind"]], line["book"])
        for line in own
    ]
    return Calibration.fit(NAME, seen, own[0]["model"][1], prompts=len(own))


@dataclass(frozen=True)
class Judged:
    """A fresh prompt, what was said of it, and whether that is right."""

    line: dict[str, Any]
    made: Planted
    verdict: Origin
    truth: Origin
    cited: str  # against what was planted; empty: nothing is cited

    @property
    def outcome(self) -> str:
        return "right" if self.verdict is self.truth else "untold" if self.verdict is Origin.UNTOLD else "wrong"


def judge(told: Calibration, lines: list[dict[str, Any]], error: float) -> list[Judged]:
    """The verdict on every fresh line; what the model does not know by heart is left out."""
    fresh = fresh_prompts(ROUNDS)
    found = []
    for line in lines:
        made = fresh[line["number"]]
        if line.get("known", True):
            seen = surprise_of(line, made)
            verdict = told.judge(seen, error)
            cited = compare(seen.support(), made) if verdict is Origin.PASSAGES else ""
            found.append(Judged(line, made, verdict, ORIGINS[made.kind], cited))
    return found


def compare(groups: tuple[Passages, ...], made: Planted) -> str:
    """Whether what is cited is what was planted: the same groups, some of those passages, or others as well."""
    gold, named = frozenset().union(*made.enough), frozenset().union(*groups)
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


def report(lines: list[dict[str, Any]], tests: list[dict[str, Any]], told: Calibration) -> str:
    """The report, from the lines of both kinds and the calibration."""
    heard = [line for line in tests if line.get("known", True)]
    book = {(name, number): made for name, number, made in planted(PROMPTS)}
    cpu, passes = (float(np.mean([each(line) for line in heard])) for each in (lambda x: x["cpu"], lambda x: len(x["costs"])))
    unknown = len(tests) - len(heard)
    sets = "; ".join(f"{origin}: {' + '.join(str(len(each)) for each in some)}" for origin, some in told.scores.items())
    text = [
        "# Citations on planted facts\n",
        "*Is a sentence of an answer said by a passage, by the model's own memory, or by neither; and how often is the verdict "
        "wrong?*\n",
        f"Made by `python -m tools.citations`. {NAME} read {len(lines)} planted prompts of four books to calibrate on; what is "
        "read off a sentence was chosen on two of them. Then the rule was frozen, and "
        f"{len(tests)} of {len(fresh_prompts(ROUNDS))} prompts by another generator "
        "(`tools/fresh_facts.py`: other topics, names, wordings and lengths, a "
        "third of them German, Spanish or French) were read once. What the model does not say without passages is not counted "
        f"as known by heart ({unknown} left out). {passes:.1f} forward passes and one backward pass per sentence, {cpu:.1f} "
        "CPU-seconds on one thread. [What a verdict means](../answers.md#citations-that-can-be-checked).\n",
        f"Scored planted sentences, by book: {sets}.\n",
        "## How often a verdict is wrong\n",
        "Of the sentences of each origin, with 95 % intervals; allowed is the share on the left.\n",
        f"| allowed | right | cannot tell | {' | '.join(f'wrong: {origin}' for origin in Origin.known())} |",
        "|---:|" + "---:|" * 5,
    ]
    for error in ERRORS:
        found = judge(told, tests, error)
        tally = Counter(each.outcome for each in found)
        by = [[each for each in found if each.truth is origin] for origin in Origin.known()]
        wrong = [interval(sum(each.outcome == "wrong" for each in own), len(own)) for own in by]
        shares = [f"{tally[v]} ({tally[v] / len(found):.0%})" for v in ("right", "untold")]
        text.append(f"| {error:.0%} | {' | '.join([*shares, *wrong])} |")
    found = judge(told, tests, ERROR)
    text += [
        "",
        f"Of the verdicts that are printed, at {ERROR:.0%} allowed:\n",
        "| verdict | right | of this origin, found |",
        "|---|---:|---:|",
    ]
    for origin in Origin.known():
        said, own = [x for x in found if x.verdict is origin], [x for x in found if x.truth is origin]
        hits = sum(each.outcome == "right" for each in said)
        text.append(f"| {origin} | {interval(hits, len(said))} | {interval(hits, len(own))} |")
    text += ["", f"By kind, at {ERROR:.0%} allowed:\n", "| kind | truth | right | wrong | cannot tell | citations |"]
    text.append("|---|---|---:|---:|---:|---|")
    for kind, truth in ORIGINS.items():
        some = [each for each in found if each.made.kind == kind]
        tally, places = Counter(each.outcome for each in some), Counter(each.cited for each in some if each.cited)
        shown = ", ".join(f"{count} {what}" for what, count in places.most_common()) or "—"
        text.append(f"| {kind} | {truth} | {tally['right']} | {tally['wrong']} | {tally['untold']} | {shown} |")
    foreign = [each for each in found if each.made.query[-2:] == " ?" or FOREIGN.search(each.made.query)]
    tally = Counter(each.outcome for each in foreign)
    text += [
        "",
        f"In German, Spanish and French: {tally['right']} right, {tally['wrong']} wrong, {tally['untold']} cannot tell.",
        "",
        *(kept(found, origin) for origin in Origin.known()),
        "",
        candidates(
            [*lines, *heard],
            [
                *(book[line["book"], line["number"]] for line in lines),
                *(fresh_prompts(ROUNDS)[line["number"]] for line in heard),
            ],
        ),
    ]
    return "\n".join([*text, ""])


def candidates(lines: list[dict[str, Any]], made: list[Planted]) -> str:
    """How often relevance puts a passage first that says it, and how often what is needed is among its candidates."""
    own = [
        (each, [set(group) for group, _ in line["costs"] if len(group) == 1])
        for line, each in zip(lines, made, strict=True)
        if each.enough and len(each.context) > CANDIDATES
    ]
    first = sum(alone[0] <= frozenset().union(*each.enough) for each, alone in own)
    held = sum(any(group <= set().union(*alone) for group in each.enough) for each, alone in own)
    chance = float(np.mean([len(frozenset().union(*each.enough)) / len(each.context) for each, _ in own]))
    return (
        f"AttnLRP puts a passage first that says it in {interval(first, len(own))} planted prompts of both kinds, by chance "
        f"{chance:.0%}; what is needed is among the candidates in {interval(held, len(own))}."
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
    options = parser.parse_args()
    if not options.only_report:
        measure(list(planted(PROMPTS)), LINES, need_model())
        measure([("fresh", i, made) for i, made in enumerate(fresh_prompts(ROUNDS))], TESTS, need_model())
    lines, tests = read(LINES), read(TESTS)
    told = calibration(lines, PROMPTS)
    outcomes = [each.outcome for each in judge(told, tests, ERROR)]
    measured = {"error": ERROR, "sentences": len(outcomes)} | {x: outcomes.count(x) for x in ("wrong", "untold")}
    told = replace(told, facts={**told.facts, "measured": measured})
    CALIBRATED.write_text(told.to_json() + "\n", encoding="utf-8")
    REPORT.write_text(report(lines, tests, told), encoding="utf-8")


if __name__ == "__main__":
    main()
