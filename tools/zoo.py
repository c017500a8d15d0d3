"""Several hundred ordinary models, trained as people train them, each explained and held to what others say.

    python -m tools.zoo                       # all of them; a table by library, the reasons, the faults, exit code 1 on faults
    python -m tools.zoo --draw 40             # a random draw of them
    python -m tools.zoo --only xgboost        # one library; --like dart for those whose name holds a text
    python -m tools.zoo --json                # one JSON line per model instead of the table

Right means: with a background, equal to the definition over all coalitions of the model's own output; by cover ratios, equal
to the contributions of the model's own library (scikit-learn: shap's); base and credit add up to the model's own output on
the scale that the result names; and where there is no closed form, the result says why. Nothing is compared with a reading
of ours.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Sequence

os.environ.setdefault("OMP_NUM_THREADS", "1")

from tools.proof.tables import markdown
from tools.proof.zoo.holding import Finding, hold
from tools.proof.zoo.recipes import LIBRARIES, Recipe, recipes

HEAD = ("library", "models", "closed form", "right", "wrong", "refused", "cover right", "cover refused", "CPU-s", "training")


def choose(only: str | None, like: str | None, draw: int | None, seed: int) -> list[Recipe]:
    """The models that are asked for, in their order."""
    every = [r for r in recipes() if only in (None, r.library) and (like or "") in str(r)]
    if draw is None or draw >= len(every):
        return every
    places = sorted(random.Random(seed).sample(range(len(every)), draw))
    return [every[i] for i in places]


def table(found: Sequence[Finding]) -> str:
    """Models by library: how many have a closed form, are right, wrong, refused; and what it took."""
    rows = []
    for library in (*LIBRARIES, "all"):
        mine = [f for f in found if library in (f.recipe.library, "all")]
        counts = (
            len(mine),
            sum(bool(f.closed) for f in mine),
            sum(not f.faults and not f.refused for f in mine),
            sum(bool(f.faults) for f in mine),
            sum(f.refused for f in mine),
            sum(f.cover == "right" for f in mine),
            sum(f.cover.startswith("refused") for f in mine),
        )
        seconds = (f"{sum(f.seconds for f in mine):.1f}", f"{sum(f.training for f in mine):.1f}")
        if mine:
            rows.append((library, *map(str, counts), *seconds))
    return markdown(HEAD, rows)


def reasons(found: Sequence[Finding]) -> str:
    """Why there was no closed form, or no cover ratios, each reason with how often it was given."""
    said: Counter[str] = Counter()
    for f in found:
        if f.reason and not f.closed:
            said[("refused: " if f.refused else "") + _without_numbers(f.reason)] += 1
        if f.cover.startswith("refused"):
            said[f"cover ratios {_without_numbers(f.cover)}"] += 1
    return "\n".join(f"{count} × {text[:300]}" for text, count in said.most_common())


def _without_numbers(text: str) -> str:
    return re.sub(r"-?\d+(\.\d+)?(e[-+]?\d+)?", "…", text)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=LIBRARIES, help="models of one library")
    parser.add_argument("--like", help="models whose name holds this text")
    parser.add_argument("--draw", type=int, help="this many models, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--json", action="store_true", help="one JSON line per model")
    options = parser.parse_args(arguments)
    chosen = choose(options.only, options.like, options.draw, options.seed)
    found = []
    for i, recipe in enumerate(chosen):
        found.append(one := hold(recipe))
        if options.json:
            print(json.dumps(one.as_plain(), ensure_ascii=False), flush=True)
        elif i % 20 == 19:
            print(f"{i + 1} of {len(chosen)} models", file=sys.stderr)
    if not options.json:
        faults = [f"{f.recipe}: {fault}" for f in found for fault in f.faults]
        print("\n\n".join(filter(None, [table(found), reasons(found), "\n".join(faults)])))
    return 1 if any(f.faults for f in found) else 0


if __name__ == "__main__":
    sys.exit(main())
