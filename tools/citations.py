"""Calibrate citations on planted facts, test them on others, and write the calibration and its report.

    python -m tools.citations [--prompts 90] [--lines FILE] [--only-report]

A real language model (`tools.language_model`) reads planted prompts of nine kinds from two books that share no relation,
wording or syllable; each keeps one JSON line, and a stopped run goes on where it was. From the lines come
accredit/answers/calibration.json and docs/reports/citations.md.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from accredit.answers.planted import KINDS, ORIGIN_OF_KIND, Book, Planted, planted_prompts
from accredit.answers.verdicts import CALIBRATED, ERROR, Calibration, Origin, Passages, Surprise, surprise
from tools.language_model import NAME, need_model

ROOT = Path(__file__).parents[1]
LINES = ROOT / "benchmarks" / "results" / "citations.jsonl"
REPORT = ROOT / "docs" / "reports" / "citations.md"
PROMPTS = 90  # of each book, before those known by heart
SEEDS: dict[Book, int] = {"calibration": 0, "evaluation": 1000}
KEPT = "The rate was kept for every origin that these lines can tell about."
NOT_KEPT = (
    "The rate was **not kept** for what is known by heart: {wrong} of {count} such sentences got a wrong verdict, where "
    "{allowed} were allowed. They are called unsupported, because the model would say them in other words: a verdict is about "
    "a sentence as it is written, and the promise is for sentences like those of the calibration."
)
SEEN = (
    "What is read off a sentence was chosen among some twenty statistics with lines of both books in view, so other prompts "
    "may do somewhat worse than these."
)
ERRORS = (0.1, 0.15, 0.2)  # error rates that the report lists


def planted(prompts: int) -> Iterator[tuple[Book, int, Planted]]:
    """Every planted prompt: its book, its number there, and itself."""
    for book, seed in SEEDS.items():
        for number, made in enumerate(planted_prompts(prompts, book, seed=seed)):
            yield book, number, made


def measure(prompts: int, lines: Path, folder: Path) -> None:
    """Read every planted prompt that has no line yet."""
    from accredit.explanation.citations import planted_surprise
    from accredit.explanation.loading import answering_model

    done = {(line["book"], line["number"]) for line in read(lines)}
    model = answering_model(str(folder), None)
    todo = sorted((each for each in planted(prompts) if each[:2] not in done), key=lambda each: (each[1], each[0]))
    with lines.open("a", encoding="utf-8") as file:
        for book, number, made in todo:
            began = time.process_time()
            _, readings = planted_surprise(model, made)
            line = {
                "book": book,
                "number": number,
                "kind": made.kind,
                "passages": len(made.context),
                "readings": [[sorted(group), np.round(read, 3).tolist()] for group, read in readings.items()],
                "cpu": round(time.process_time() - began, 2),
                "model": [NAME, model.fingerprint],
            }
            file.write(json.dumps(line) + "\n")
            file.flush()


def read(lines: Path) -> list[dict[str, Any]]:
    """The lines of planted prompts that were read."""
    return [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()] if lines.is_file() else []


def surprise_of(line: dict[str, Any]) -> Surprise:
    """What a line says of the surprise."""
    found: dict[Passages, float] = {}
    for group, said in line["readings"]:
        found[frozenset(group)] = surprise(np.array(said))
    nobody, everyone = frozenset[int](), frozenset(range(line["passages"]))
    alone = {group: x for group, x in found.items() if group not in (nobody, everyone)}
    return Surprise(found[nobody], found[everyone], alone)


def calibration(lines: list[dict[str, Any]]) -> Calibration:
    """From the lines of the first book."""
    own = [line for line in lines if line["book"] == "calibration"]
    seen = [(surprise_of(line), ORIGIN_OF_KIND[line["kind"]]) for line in own]
    told = Calibration.fit(NAME, seen, own[0]["model"][1], prompts=len(own))
    verdicts = [verdict for _, _, verdict in judge(told, lines, ERROR)]
    measured = {
        "error": ERROR,
        "sentences": len(verdicts),
        "wrong": verdicts.count("wrong"),
        "untold": verdicts.count("untold"),
    }
    return Calibration(told.model, told.weights, told.scores, told.fingerprint, {**told.facts, "measured": measured})


def judge(told: Calibration, lines: list[dict[str, Any]], error: float) -> list[tuple[dict[str, Any], Origin, str]]:
    """Of each line of the second book the verdict, and whether it is right, wrong or untold."""
    found = []
    for line in lines:
        if line["book"] == "evaluation":
            verdict = told.judge(surprise_of(line), error)
            right = verdict is ORIGIN_OF_KIND[line["kind"]]
            found.append((line, verdict, "right" if right else "untold" if verdict is Origin.UNTOLD else "wrong"))
    return found


def cited(line: dict[str, Any], made: Planted) -> str:
    """Whether what is cited is what was planted: the same groups, some of those passages, or others as well."""
    groups = surprise_of(line).support()
    gold = frozenset().union(*made.enough)
    named = frozenset().union(*groups)
    if set(groups) == set(made.enough):
        return "as planted"
    return "part of it" if named <= gold else "others too" if named & gold else "others only"


def report(lines: list[dict[str, Any]], prompts: int, told: Calibration) -> str:
    """The report, from the lines and their calibration."""
    made = {(book, number): each for book, number, each in planted(prompts)}
    counts = Counter(line["book"] for line in lines)
    cpu = float(np.mean([line["cpu"] for line in lines]))
    text = [
        "# Citations on planted facts\n",
        "*Is a sentence of an answer said by a passage, by the model's own memory, or by neither; and how often is the verdict "
        "wrong?*\n",
        f"Made by `python -m tools.citations --prompts {prompts}` from {len(lines)} lines: SmolLM2-135M-Instruct read "
        f"{counts['calibration']} planted prompts to calibrate on and {counts['evaluation']} others, from relations, wordings "
        f"and syllables of their own, to be tested on; six passages each, {cpu:.1f} CPU-seconds per prompt on one thread. "
        "A third of the first is fitted to, the rest is scored. "
        "[What a verdict means](../answers.md#citations-that-can-be-checked).\n",
    ]
    sizes = ", ".join(f"{len(scores)} {origin}" for origin, scores in told.scores.items())
    text += [
        f"Scored planted sentences: {sizes}.\n",
        "| allowed | right | wrong | cannot tell | wrong: supported | from memory | unsupported |",
        "|---:|" + "---:|" * 6,
    ]
    for error in ERRORS:
        found = judge(told, lines, error)
        tally = Counter(verdict for *_, verdict in found)
        by = [
            f"{sum(v == 'wrong' for v in own)} of {len(own)}"
            for origin in Origin.known()
            for own in [[v for line, _, v in found if ORIGIN_OF_KIND[line["kind"]] is origin]]
        ]
        share = [f"{tally[v]} ({tally[v] / len(found):.0%})" for v in ("right", "wrong", "untold")]
        text.append(f"| {error:.0%} | {' | '.join([*share, *by])} |")
    text += [
        "",
        f"By kind, at {ERROR:.0%} allowed:\n",
        "| kind | truth | right | wrong | cannot tell | citations |",
        "|---|---|---:|---:|---:|---|",
    ]
    found = judge(told, lines, ERROR)
    for kind in KINDS:
        own = [(line, verdict, v) for line, verdict, v in found if line["kind"] == kind]
        tally = Counter(v for *_, v in own)
        places = Counter(
            cited(line, made[line["book"], line["number"]]) for line, verdict, _ in own if verdict is Origin.PASSAGES
        )
        shown = ", ".join(f"{count} {what}" for what, count in places.most_common()) or "—"
        text.append(f"| {kind} | {ORIGIN_OF_KIND[kind]} | {tally['right']} | {tally['wrong']} | {tally['untold']} | {shown} |")
    own = [v for line, _, v in found if ORIGIN_OF_KIND[line["kind"]] is Origin.MEMORY]
    kept = own.count("wrong") <= ERROR * len(own)
    text += ["", KEPT if kept else NOT_KEPT.format(wrong=own.count("wrong"), count=len(own), allowed=f"{ERROR:.0%}"), "", SEEN]
    return "\n".join([*text, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--prompts", type=int, default=PROMPTS, help="planted prompts of each book, before those known by heart"
    )
    parser.add_argument("--lines", type=Path, default=LINES)
    parser.add_argument("--only-report", action="store_true", help="read no prompt; write from the lines that are there")
    options = parser.parse_args()
    if not options.only_report:
        measure(options.prompts, options.lines, need_model())
    lines = read(options.lines)
    told = calibration(lines)
    CALIBRATED.write_text(told.to_json() + "\n", encoding="utf-8")
    REPORT.write_text(report(lines, options.prompts, told), encoding="utf-8")


if __name__ == "__main__":
    main()
