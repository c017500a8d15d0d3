"""How often 95 % intervals hold the exact Shapley values of a real encoder's words.

    python -m tools.encoder_coverage MODEL_FOLDER DATA_FOLDER --tables FOLDER [--make 8:20,9:20,10:20] [--removals mask]
    python -m tools.encoder_coverage --tables FOLDER --budgets 64,128,256,512 --seeds 3

The first call asks the model for all 2ⁿ coalitions of the words of SST-2 dev sentences and keeps the logits of both classes as
`REMOVAL_WORDS_NUMBER.npy`; sentences of one length are taken in an order drawn from seed 5. The second call asks no model: it
runs estimators on the tables and prints coverage. Words of one sentence err together, so the sentence is the unit of chance.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from accredit.core import FloatArray
from accredit.core.coalitions import from_index
from accredit.games import FunctionGame
from accredit.values.semivalues import semivalue_from_table, shapley_weights
from accredit.values.surrogate import Surrogate
from tools.sentiment_texts import rows

PAYOFFS = ("logit", "log-odds", "probability")


def paid(logits: FloatArray, payoff: str) -> FloatArray:
    """The payoff of the class that the whole sentence is given: (2ⁿ, 2) -> (2ⁿ,)."""
    target = int(logits[-1].argmax())
    own, other = logits[:, target], logits[:, 1 - target]
    return {"logit": own, "log-odds": own - other, "probability": 1 / (1 + np.exp(other - own))}[payoff]


def asked_game(v: FloatArray) -> FunctionGame:
    """A game that knows its payoffs and does not say so."""
    n = v.size.bit_length() - 1
    return FunctionGame([f"word {i}" for i in range(n)], lambda coalitions: v[coalitions @ (1 << np.arange(n))])


def make_tables(model_folder: str, data: Path, tables: Path, wanted: dict[int, int], removals: list[str]) -> None:
    """Every payoff of so many sentences of each number of words; tables that are there are kept."""
    from accredit.games import text_game
    from accredit.models import load_text_model

    model, by_words = load_text_model(model_folder), defaultdict(list)
    for row in rows(data / "sst2.tsv.gz"):
        if row["split"] == "dev":
            by_words[len(text_game(model, row["text"], players="word", payoff="logit").players)].append(row["text"])
    rng = np.random.default_rng(5)
    for texts in by_words.values():
        rng.shuffle(texts)
    tables.mkdir(parents=True, exist_ok=True)
    for removal in removals:
        for n, count in wanted.items():
            for number, text in enumerate(by_words[n][:count]):
                file = tables / f"{removal}_{n}_{number}.npy"
                if not file.exists():
                    game = text_game(model, text, players="word", removal=removal, payoff="logit")
                    np.save(file, game.worths(from_index(np.arange(2**n), n), (0, 1)))
                    print(file.name, flush=True)


def trials(tables: Path, budgets: list[int], seeds: int) -> Iterator[tuple[str, int, str, int, str, float | None]]:
    """Removal, words, payoff, budget, sentence, and the share of intervals that hold the exact value; None: none given."""
    for file in sorted(tables.glob("*.npy")):
        removal, words, number = file.stem.split("_")
        for payoff in PAYOFFS:
            v = paid(np.load(file), payoff)
            truth = semivalue_from_table(v, shapley_weights(int(words)))
            for budget in (b for b in budgets if b < v.size):
                for seed in range(seeds):
                    interval = Surrogate(budget, seed).solve(asked_game(v)).interval
                    inside = None if interval is None else float(((interval.T[0] <= truth) & (truth <= interval.T[1])).mean())
                    yield removal, int(words), payoff, budget, f"{words}_{number}", inside


def summary(found: list[tuple[str, float | None]]) -> str:
    """Coverage ± standard error over sentences; the sentence that is covered least; runs, and those without an interval."""
    by = defaultdict(list)
    for sentence, inside in found:
        if inside is not None:
            by[sentence].append(inside)
    means = np.array([np.mean(shares) for shares in by.values()])
    if len(means) < 2:
        return f"no intervals in {len(found)} runs" if not len(means) else f"{means[0]:.3f}, one sentence"
    error, none = means.std(ddof=1) / len(means) ** 0.5, sum(inside is None for _, inside in found)
    return (
        f"{means.mean():.3f} ± {error:.3f} | {means.min():.2f} | {len(means)} | {len(found)}"
        f"{f' ({none} without interval)' if none else ''}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?")
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("--tables", type=Path, required=True)
    parser.add_argument("--make", default="8:20,9:20,10:20")
    parser.add_argument("--removals", default="mask")
    parser.add_argument("--budgets", default="64,128,256,512")
    parser.add_argument("--seeds", type=int, default=3)
    choice = parser.parse_args()
    if choice.model:
        wanted = {int(n): int(count) for n, count in (part.split(":") for part in choice.make.split(","))}
        return make_tables(choice.model, choice.data, choice.tables, wanted, choice.removals.split(","))
    groups = defaultdict(list)
    for removal, words, payoff, budget, sentence, inside in trials(
        choice.tables, [int(b) for b in choice.budgets.split(",")], choice.seeds
    ):
        for name in ("all", removal, payoff, f"{budget} payoffs", f"{words} words, {budget} payoffs"):
            groups[name].append((f"{removal}_{sentence}" if name == "all" else sentence, inside))
    print("| runs | coverage of 95 % intervals | sentence covered least | sentences | runs |\n|---|---|---|---|---|")
    for name, found in sorted(groups.items(), key=lambda group: (group[0] != "all", "words" in group[0], group[0])):
        print(f"| {name} | {summary(found)} |")


if __name__ == "__main__":
    main()
