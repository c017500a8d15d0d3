"""Which methods find the passage that a real language model answered from? Planted facts, one JSON line per prompt.

    python -m tools.answer_methods [--prompts 24] [--lines FILE] [--only-table]

Prompts are those of the kinds that passages support, in turn, with six passages. A hit is a passage of the planted truth
that has the largest credit of all; by chance one in six, or one in three where two passages say it or are needed. The table
is written into docs/choosing.md between its two marks; a stopped run goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from accredit.answers.planted import ORIGIN_OF_KIND, Origin, planted_prompt
from tools.language_model import NAME, need_model

ROOT = Path(__file__).parents[1]
LINES = ROOT / "benchmarks" / "results" / "answer_methods.jsonl"
PAGE = ROOT / "docs" / "choosing.md"
BEGIN, END = "<!-- answer methods: begin -->", "<!-- answer methods: end -->"
METHODS = ("attn-lrp", "saliency", "leave-one-out", "attention", "rollout", "input-x-gradient")
KINDS = tuple(kind for kind, origin in ORIGIN_OF_KIND.items() if origin is Origin.PASSAGES)
SEED = 3000  # of the first prompt; others follow


def measure(prompts: int, lines: Path, folder: Path) -> None:
    """Ask every method about every prompt that has no line yet."""
    from accredit.explanation.answers import answer_subject
    from accredit.explanation.loading import answering_model
    from accredit.explanation.stream import attribution_of

    model, done = answering_model(str(folder), None), len(read(lines))
    with lines.open("a", encoding="utf-8") as file:
        for number in range(done, prompts):
            made = planted_prompt(KINDS[number % len(KINDS)], "places", seed=SEED + number)
            found, cpu = {}, {}
            for method in METHODS:
                subject = answer_subject(
                    model, None, answer=made.answer, context=list(made.context), query=made.query, target="answer"
                )
                began = time.process_time()
                credit = attribution_of(subject, method)
                cpu[method] = round(time.process_time() - began, 2)
                found[method] = [round(float(credit[player]), 4) for player in subject.players]
            line = {"kind": made.kind, "gold": sorted(frozenset().union(*made.enough)), "credit": found, "cpu": cpu}
            file.write(json.dumps(line) + "\n")
            file.flush()


def read(lines: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()] if lines.is_file() else []


def is_hit(line: dict[str, Any], method: str) -> bool:
    """Whether the passage of largest credit is one of those that were planted."""
    credit = line["credit"][method]
    return credit.index(max(credit)) in line["gold"]


def table(lines: list[dict[str, Any]]) -> str:
    """Hits by kind, and the CPU time of each method."""
    rows = [
        f"{NAME}, {len(lines)} planted prompts of six passages, `python -m tools.answer_methods --prompts {len(lines)}`: how "
        "often the passage of largest credit is one that says it.\n",
        f"| method | all | {' | '.join(KINDS)} | CPU-s |",
        "|---|---:|" + "---:|" * (len(KINDS) + 1),
    ]
    by_kind = {kind: [line for line in lines if line["kind"] == kind] for kind in KINDS}
    chance = [sum(len(line["gold"]) / 6 for line in some) / len(some) for some in (lines, *by_kind.values())]
    for method in METHODS:
        hits = [sum(is_hit(line, method) for line in some) / len(some) for some in (lines, *by_kind.values())]
        cpu = sum(line["cpu"][method] for line in lines) / len(lines)
        rows.append(f"| `{method}` | {' | '.join(f'{hit:.2f}' for hit in hits)} | {cpu:.1f} |")
    rows.append(f"| by chance | {' | '.join(f'{hit:.2f}' for hit in chance)} | |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=24)
    parser.add_argument("--lines", type=Path, default=LINES)
    parser.add_argument("--only-table", action="store_true", help="read no prompt; write from the lines that are there")
    options = parser.parse_args()
    if not options.only_table:
        measure(options.prompts, options.lines, need_model())
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table(read(options.lines))}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
