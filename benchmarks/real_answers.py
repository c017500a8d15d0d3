"""What answers of a real language model cost: forecasts beside what was taken, long contexts, and methods that are dear.

    python -m benchmarks.real_answers [--parts forecasts long hierarchy dear] [--passages 4 12 30] [--tokens 1500 8000]
    python -m benchmarks.real_answers --quick    # one small question of each part

Needs the folder of SmolLM2-135M-Instruct (`make llm`). One thread. Contexts are planted facts; `long` and `dear` run commands
in processes of their own, so that its largest resident memory is its own. One JSON line per part:

* `forecasts`: for each method and number of passages, the seconds that were announced, over those that the call took: of CPU
  time where that was announced, else on the clock. Runs of less than 5 s are not announced.
* `long`: `accredit cite` of a context of so many tokens by sentences: what was announced, seconds on the clock and of CPU time,
  gigabytes, and whether the planted sentence was cited.
* `hierarchy`: documents of paragraphs of sentences, one of which answers: whether it has the largest credit, passes, tokens
  read and CPU seconds of `hierarchy`, and of flat methods over the same sentences.
* `dear`: integrated gradients and attention flow at 200 and 1,000 tokens: the same, and what the command said.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from accredit.answers.model import AnsweringModel
from accredit.answers.planted import Planted, planted_prompt
from benchmarks.record import record
from tools.language_model import need_model

PASSAGES = (4, 12, 30)
METHODS = (
    "cite", "shapley", "leave-one-out", "attn-lrp", "deep-lift", "integrated-gradients", "flow", "value-zeroing",
)  # fmt: skip
PARTS = ("forecasts", "long", "hierarchy", "dear")
HIERARCHY_BUDGET = 64  # payoffs of methods that take one
DEAR = ("integrated-gradients", "flow")
LIMIT = 1_800  # seconds on the clock, after which a command is stopped


def forecasts(model: AnsweringModel, counts: tuple[int, ...], methods: tuple[str, ...]) -> list[dict[str, Any]]:
    """Announced and taken seconds of one question per method and number of passages; the model writes the answer."""
    found = []
    for count in counts:
        for method in methods:
            found.append({"passages": count, "method": method} | forecast(model, among(partial(_has, count)), method))
            print(found[-1], flush=True)
    return found


def forecast(model: AnsweringModel, asked: Planted, method: str) -> dict[str, Any]:
    """Announced and taken seconds of one call, or what it said when it refused."""
    from accredit.errors import AccreditError
    from accredit.explanation.citations import cite
    from accredit.explanation.explainer import explain_answer

    said: list[str] = []
    how: dict[str, Any] = {"context": list(asked.context), "query": asked.query, "generate": 16, "announce": said.append}
    began, worked = time.monotonic(), time.process_time()
    try:
        if method == "cite":
            name = f"{cite(None, model, **how).provenance['passes']} passes"
        else:
            name = str(explain_answer(None, model, methods=method, **how)[method].method)
    except AccreditError as error:
        name = f"refused: {str(error)[:160]}"
    taken, cpu = time.monotonic() - began, time.process_time() - worked
    announced = _seconds(said)
    of_cpu = bool(said) and "CPU" in said[-1]
    return {
        "made": name,
        "announced": announced,
        "of": "CPU" if of_cpu else "clock",
        "taken": round(taken, 1),
        "CPU": round(cpu, 1),
        "ratio": announced and round(announced / (cpu if of_cpu else taken), 2),
    }


def _has(count: int, texts: list[str]) -> bool:
    return len(texts) >= count


def _seconds(said: list[str]) -> float | None:
    """The seconds of the last announcement; None where nothing was announced."""
    told = re.findall(r"([\d,]+) s\b", said[-1]) if said else []
    return float(told[-1].replace(",", "")) if told else None


def among(enough: Callable[[list[str]], bool]) -> Planted:
    """A planted prompt of three passages in the middle of those of others, as many as are enough."""
    gold, others, seed = planted_prompt("plain", "people", passages=3, seed=1), list[str](), 2
    while not enough([*gold.context, *others]):
        others.append(planted_prompt("plain", "places", seed=seed).context[seed % 6])
        seed += 1
    half = len(others) // 2
    support = tuple(frozenset(i + half for i in group) for group in gold.enough)
    return Planted(gold.kind, (*others[:half], *gold.context, *others[half:]), gold.query, gold.answer, support)


def context_of(model: AnsweringModel, tokens: int) -> Planted:
    """A planted prompt whose context and template have about so many tokens."""
    return among(lambda texts: len(model.tokenizer("\n".join(texts))["input_ids"]) >= tokens - 60)


def run(words: list[str]) -> dict[str, Any]:
    """What a command of accredit said, and what it took in a process of its own."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.monotonic()
        threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        process = subprocess.Popen(["timeout", str(LIMIT), sys.executable, "-m", "accredit", *words], stdout=out, stderr=err,
                                   env={**os.environ, **threads})  # fmt: skip
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - began
        out.seek(0), err.seek(0)
        told, beside = out.read().decode(), err.read().decode()
    return {
        "exit code": process.returncode,
        "announced": _seconds(beside.splitlines()[:1]),
        "taken": round(seconds, 1),
        "CPU": round(used.ru_utime + used.ru_stime, 1),
        "GB": round(used.ru_maxrss / 1e6, 2),
        "out": told,
        "err": beside,
    }


def long(model: AnsweringModel, folder: Path, tokens: int) -> dict[str, Any]:
    """Citations in a context of so many tokens, by sentences."""
    asked = context_of(model, tokens)
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "context.json"
        file.write_text(json.dumps(asked.context), encoding="utf-8")
        words = [asked.answer, "--context", str(file), "--query", asked.query, "--players", "sentences"]
        found = run(["cite", *words, "--model", str(folder), "--json"])
    told, said = found.pop("out"), found.pop("err")
    if found["exit code"]:
        return {"tokens": tokens, **found, "said": said[-200:]}
    cited = json.loads(told)
    support = [cited["passages"][i] for group in cited["citations"][-1]["support"] for i in group]
    gold = " ".join(asked.context[i] for group in asked.enough for i in group)
    return {
        "tokens": tokens,
        "sentences": len(cited["passages"]),
        **found,
        "passes": cited["provenance"]["passes"],
        "verdict": cited["citations"][-1]["verdict"],
        "planted is cited": any(text.strip() in gold for text in support),
    }


def hierarchies(model: AnsweringModel, documents: int, prompts: int, methods: tuple[str, ...]) -> list[dict[str, Any]]:
    """Which sentence of some documents has the largest credit, by each method."""
    from accredit.explanation.answers import answer_subject
    from accredit.explanation.stream import attribution_of

    found = []
    for seed in range(prompts):
        context, gold, asked = documents_of(documents, seed)
        said: dict[str, Any] = {"context": context, "query": asked.query, "answer": asked.answer, "players": "sentence"}
        for method in methods:
            subject = answer_subject(model, None, **said, target="answer", budget=HIERARCHY_BUDGET)
            began = time.process_time()
            credit = attribution_of(subject, method)
            found.append(
                {
                    "prompt": seed,
                    "tokens": subject.facts["prompt tokens"],
                    "sentences": len(subject.players),
                    "method": method,
                    "hit": credit.top(1).players[0].startswith(gold[:50]),
                    "share": round(float(credit.top(1).credit[0]) / credit.total, 2) if credit.total else None,
                    "passes": subject.game.passes,
                    "tokens read": subject.reader.tokens,
                    "CPU": round(time.process_time() - began, 1),
                }
            )
            print(found[-1], flush=True)
    return found


def documents_of(count: int, seed: int) -> tuple[list[str], str, Planted]:
    """Documents of two paragraphs of three sentences, one of which answers: the texts, that sentence, the question."""
    asked = planted_prompt("plain", "people", seed=seed)
    (group,) = asked.enough
    gold = asked.context[min(group)]
    others = [text for k in range(count) for text in planted_prompt("plain", "places", seed=1000 * seed + k).context]
    others = others[: 6 * count - 1]
    place = (7 * seed + 3) % len(others)
    sentences = [*others[:place], gold, *others[place:]]
    paragraphs = [" ".join(sentences[k : k + 3]) for k in range(0, len(sentences), 3)]
    return ["\n\n".join(paragraphs[k : k + 2]) for k in range(0, len(paragraphs), 2)], gold, asked


def dear(model: AnsweringModel, folder: Path, method: str, tokens: int) -> dict[str, Any]:
    """One method on a context of so many tokens, its passages as players."""
    asked = context_of(model, tokens)
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "context.json"
        file.write_text(json.dumps(asked.context), encoding="utf-8")
        words = ["--answer", asked.answer, "--context", str(file), "--query", asked.query, "--methods", method]
        found = run(["explain", *words, "--model", str(folder)])
    said = found.pop("out") + found.pop("err")
    return {"method": method, "tokens": tokens, **found, "said": " ".join(said.split())[:300]}


def main(words: list[str] | None = None) -> None:
    """Run the parts that are asked for; one JSON line for each."""
    import torch

    from accredit.explanation.loading import answering_model

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--documents", type=int, default=12, help="of contexts in a hierarchy")
    parser.add_argument("--prompts", type=int, default=5, help="with such contexts")
    parser.add_argument("--against", nargs="+", default=("hierarchy", "leave-one-out"), help="methods on these")
    parser.add_argument("--passages", nargs="+", type=int, default=PASSAGES, help="of the questions that are forecast")
    parser.add_argument("--tokens", nargs="+", type=int, default=(1500, 8000), help="of long contexts")
    parser.add_argument("--methods", nargs="+", default=METHODS, help="that are forecast")
    parser.add_argument("--quick", action="store_true", help="one small question of each part")
    given = parser.parse_args(words)
    torch.set_num_threads(1)
    folder = need_model()
    model = answering_model(str(folder), None)
    assert isinstance(model, AnsweringModel)
    if "forecasts" in given.parts:
        counts, methods = ((3,), ("cite", "shapley")) if given.quick else (tuple(given.passages), tuple(given.methods))
        record({"forecasts": forecasts(model, counts, methods), "quick": given.quick})
    if "long" in given.parts:
        for tokens in (300,) if given.quick else given.tokens:
            record({"long": long(model, folder, tokens), "quick": given.quick})
    if "hierarchy" in given.parts:
        documents, prompts = (2, 1) if given.quick else (given.documents, given.prompts)
        record({"hierarchy": hierarchies(model, documents, prompts, tuple(given.against)), "quick": given.quick})
    if "dear" in given.parts:
        for method in DEAR:
            for tokens in (200,) if given.quick else (200, 1_000):
                record({"dear": dear(model, folder, method, tokens), "quick": given.quick})


if __name__ == "__main__":
    main()
