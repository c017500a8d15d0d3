"""The truth table of methods for answers: hits, LDS, passes and CPU time on planted prompts of six kinds, kept line by line.

    python -m tools.answer_truth [--prompts 102] [--minutes 10] [--only-table]

Prompts have five passages of one sentence, of six kinds in turn, from three books that no method was tuned on. A hit is a
passage of the planted truth with the largest credit of all; by chance one in five, or two where two passages say it or are
needed. LDS is the rank correlation of summed credit with the answer's log-probability over all 32 ablations; what asks
payoffs, asks those. Methods that cost many passes are asked about fewer prompts (`FIRST`). The table is written into
docs/choosing.md between its two marks; a stopped run goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from accredit.answers.planted import Planted
from accredit.core import Attribution, FloatArray, Game
from accredit.core.coalitions import from_index
from accredit.errors import AccreditError
from accredit.games import TableGame
from accredit.values.ablations import Lasso
from accredit.values.exact import Exact
from accredit.values.leaving_out import leave_one_out
from benchmarks.peers.environments import PINS, ready
from benchmarks.peers.pipe import PeerFailed, side
from tools.citations import interval
from tools.language_model import NAME, need_model
from tools.unseen_facts import Book, planted

ROOT = Path(__file__).parents[1]
LINES = ROOT / "benchmarks" / "results" / "answer_truth.jsonl"
PAGE = ROOT / "docs" / "choosing.md"
BEGIN, END = "<!-- answer methods: begin -->", "<!-- answer methods: end -->"
KINDS = ("single", "joint", "redundant", "contested", "paraphrased", "distractors")
BOOKS: tuple[Book, ...] = ("parish", "survey", "harbour")
PASSAGES = 5
ALL = from_index(np.arange(1 << PASSAGES), PASSAGES)
SEED = 3000  # of the first prompt; others follow
READS = ("attn-lrp", "saliency", "input-x-gradient", "attention", "rollout")  # that read the model once, for every prompt
FIRST = {  # of the others: how many prompts they are asked about
    "deep-lift": 12,
    "flow": 12,
    "value-zeroing": 6,
    "smoothgrad": 2,
    "gradient-shap": 2,
    "integrated-gradients": 1,
}
DEAR = 2  # those of so few prompts come last
PEERS: dict[str, tuple[int, str, str, dict[str, Any]]] = {  # prompts, package, function of its side, settings
    "ContextCite, 32": (12, "context-cite", "context_cite", {"ablations": 32}),
    "ContextCite, 64": (12, "context-cite", "context_cite", {"ablations": 64}),
    "ContextCite, 256": (3, "context-cite", "context_cite", {"ablations": 256}),
    "captum FeatureAblation": (12, "captum", "captum", {"name": "FeatureAblation", "settings": {}}),
    "captum ShapleyValueSampling": (6, "captum", "captum", {"name": "ShapleyValueSampling", "settings": {"n_samples": 10}}),
    "inseq saliency": (6, "inseq", "inseq", {"name": "saliency"}),
}
PASSES = {
    **dict.fromkeys(("attn-lrp", "saliency", "input-x-gradient", "deep-lift"), "1, back"),
    **dict.fromkeys(("attention", "rollout", "flow"), "1"),
}


def solvers(tokens: int) -> Mapping[str, tuple[int, Callable[[Game, Game], Attribution]]]:
    """What asks payoffs, by name: how many, and the solver, of the log-probability and of the logit of the probability."""
    return {
        "shapley": (len(ALL), lambda game, _: Exact().solve(game)),
        "lasso:32": (32, lambda _, logit: Lasso(32, 0.01 * tokens).solve(logit)),
        "lasso:16": (16, lambda _, logit: Lasso(16, 0.01 * tokens).solve(logit)),
        "leave-one-out": (PASSAGES + 1, lambda game, _: leave_one_out(game)),
    }


def prompt(number: int) -> Planted:
    """The prompt of a number: kinds in turn, then books."""
    book = BOOKS[number // len(KINDS) % len(BOOKS)]
    return planted(book, KINDS[number % len(KINDS)], SEED + number, PASSAGES)


def measure(prompts: int, lines: Path, folder: Path, minutes: float) -> None:
    """Ask every method about every prompt that has no line yet, as many as the time allows."""
    from accredit.explanation.loading import answering_model

    model, until = answering_model(str(folder), None), time.monotonic() + 60 * minutes
    done = {(line["number"], *line["credit"]) for line in read(lines)}
    tasks: list[tuple[int, tuple[str, ...]]] = [(number, READS) for number in range(prompts)]
    counts = FIRST | {name: peer[0] for name, peer in PEERS.items() if ready(PINS[peer[1]])}
    others = [(number, method) for method, count in counts.items() for number in range(min(count, prompts))]
    others.sort(key=lambda each: (counts[each[1]] <= DEAR, each[0]))  # a run that is stopped has asked all about the same
    tasks += [(number, (method,)) for number, method in others]
    with lines.open("a", encoding="utf-8") as file:
        for number, methods in tasks:
            if any(number == each[0] and set(methods) <= set(each[1:]) for each in done):
                continue
            if time.monotonic() > until:
                return
            line = by_peer(folder, number, methods[0]) if methods[0] in PEERS else asked(model, number, methods)
            file.write(json.dumps(line) + "\n")
            file.flush()


def asked(model: object, number: int, methods: tuple[str, ...]) -> dict[str, Any]:
    """What methods credit in one prompt; with the cheap ones, what every ablation pays, and what those say that ask payoffs."""
    from accredit.explanation.answers import answer_subject
    from accredit.explanation.stream import attribution_of

    made = prompt(number)
    subject = answer_subject(model, None, answer=made.answer, context=list(made.context), query=made.query, target="answer")
    line = begun(number)
    credit, cpu = {}, {}
    if methods is READS:
        began = time.process_time()
        line["paid"] = np.round(subject.game.whole().payoff(ALL), 3).tolist()
        cost = (time.process_time() - began) / len(ALL)
        for method, (payoffs, solve) in solvers(len(subject.game.outputs)).items():
            credit[method], cpu[method] = kept(solve(*games(np.array(line["paid"]))).credit), round(payoffs * cost, 2)
    for method in methods:
        began = time.process_time()
        try:
            found = attribution_of(subject, method)
            credit[method] = kept(np.array([found[player] for player in subject.players]))
        except AccreditError as error:
            credit[method], line["refused"] = [], str(error)[:200]
        cpu[method] = round(time.process_time() - began, 2)
    return line | {"credit": credit, "cpu": cpu}


def begun(number: int) -> dict[str, Any]:
    made = prompt(number)
    return {"number": number, "kind": made.kind, "gold": sorted(frozenset().union(*made.enough))}


def by_peer(folder: Path, number: int, name: str) -> dict[str, Any]:
    """What a peer credits in one prompt, in a process of its own environment, and the passes that it made."""
    _, package, function, settings = PEERS[name]
    made, peer = prompt(number), side(package, "answers")
    peer.call("load", folder=str(folder))
    line = begun(number)
    try:
        given = {"passages": list(made.context), "query": made.query, "answer": made.answer}
        told = peer.call(function, folder=str(folder), **given, **settings)
    except PeerFailed as error:
        return line | {"credit": {name: []}, "cpu": {name: 0.0}, "refused": str(error)[:200]}
    passes = {name: told["passes"]}
    return line | {"credit": {name: kept(told["credit"])}, "cpu": {name: round(told.seconds, 2)}, "passes": passes}


def games(paid: FloatArray) -> tuple[Game, Game]:
    """The game of the answer's log-probability, and that of the logit of its probability."""
    names = tuple(str(i) for i in range(PASSAGES))
    logit = paid - np.log(-np.expm1(np.minimum(paid, -1e-9)))
    return TableGame(names, paid), TableGame(names, logit)


def kept(credit: FloatArray) -> list[float]:
    return [float(f"{x:.5g}") for x in credit]


def read(lines: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()] if lines.is_file() else []


def merged(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line per prompt, with everything that was asked about it."""
    found: dict[int, dict[str, Any]] = {}
    for line in lines:
        mine = found.setdefault(line["number"], {**line, "credit": {}, "cpu": {}, "passes": {}})
        mine |= {name: mine[name] | line.get(name, {}) for name in ("credit", "cpu", "passes")}
        mine |= {"paid": line["paid"]} if "paid" in line else {}
    return [found[number] for number in sorted(found)]


def methods(lines: list[dict[str, Any]]) -> list[str]:
    """The methods of some lines that were not refused, in the order they were asked."""
    return list(dict.fromkeys(method for line in lines for method, credit in line["credit"].items() if credit))


def of(lines: list[dict[str, Any]], method: str) -> list[dict[str, Any]]:
    """The prompts that a method was asked about."""
    return [line for line in lines if line["credit"].get(method)]


def is_hit(line: dict[str, Any], method: str) -> bool:
    """Whether the passage of largest credit is one of those that were planted."""
    credit = line["credit"][method]
    return credit.index(max(credit)) in line["gold"]


def lds(line: dict[str, Any], method: str) -> float:
    """The rank correlation of summed credit with what the ablations pay; 0 where every passage has the same credit."""
    found = float(spearmanr(ALL @ np.array(line["credit"][method]), line["paid"]).statistic)
    return 0.0 if np.isnan(found) else found


def chance(lines: list[dict[str, Any]]) -> float:
    return float(np.mean([len(line["gold"]) / PASSAGES for line in lines]))


def table(lines: list[dict[str, Any]]) -> str:
    """Hits by kind, LDS, passes and CPU time of each method, best first."""
    told = merged(lines)
    by_kind = {kind: [line for line in told if line["kind"] == kind] for kind in KINDS}
    rows = []
    for method in methods(told):
        mine = of(told, method)
        hits = [is_hit(line, method) for line in mine]
        kinds = [[is_hit(line, method) for line in of(some, method)] for some in by_kind.values()]
        counted = [line["passes"][method] for line in mine if method in line["passes"]]
        passes = PASSES.get(method) or (f"{np.mean(counted):.0f}" if counted else "")
        passes = passes or str(solvers(1)[method][0] if method in solvers(1) else "many")
        rows.append(
            (
                (-len(mine), -float(np.mean(hits)), -float(np.mean([lds(line, method) for line in mine]))),
                f"| `{method}` | {interval(sum(hits), len(hits))} | {np.mean([lds(line, method) for line in mine]):.2f} | "
                + " | ".join(f"{np.mean(some):.2f}" if some else "—" for some in kinds)
                + f" | {passes} | {np.mean([line['cpu'][method] for line in mine]):.1f} |",
            )
        )
    by_chance = " | ".join(f"{chance(some):.2f}" for some in by_kind.values())
    text = [
        f"{NAME}, {len(told)} planted prompts of {PASSAGES} passages from {len(BOOKS)} books, `python -m tools.answer_truth "
        f"--prompts {len(told)}`: how often the passage of largest credit is one that says it (95 % intervals), and LDS, the "
        f"rank correlation with the log-probability over all {len(ALL)} ablations. Methods of fewer prompts cost too much; "
        "what asks payoffs, asks among the same ablations.\n",
        f"| method | hit@1 | LDS | {' | '.join(KINDS)} | passes | CPU-s |",
        "|---|---:|---:|" + "---:|" * (len(KINDS) + 2),
        *(row for _, row in sorted(rows)),
        f"| by chance | {chance(told):.2f} | 0 | {by_chance} | | |",
    ]
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=102)
    parser.add_argument("--lines", type=Path, default=LINES)
    parser.add_argument("--minutes", type=float, default=10, help="after which no further prompt is begun")
    parser.add_argument("--only-table", action="store_true", help="read no prompt; write from the lines that are there")
    options = parser.parse_args()
    if not options.only_table:
        measure(options.prompts, options.lines, need_model(), options.minutes)
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table(read(options.lines))}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
