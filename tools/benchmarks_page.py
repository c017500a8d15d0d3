"""docs/benchmarks.md, and the figures of docs/comparison.md, from the lines that the benchmarks keep:
`python -m tools.benchmarks_page`.

Every benchmark that calls `record` has a section: its newest line, a whole run before a quick one. What matches `RATIOS` is
in a table; all else that was printed is counted, and stays in the line. A benchmark without a line is named. Ratios below 1
are also listed, with the reason that `LOSSES` has for each.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accredit.checks.json_data import round_off
from benchmarks.peers.environments import PINS
from benchmarks.record import into_page

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
COMPARISON = ROOT / "docs" / "comparison.md"
RESULTS = ROOT / "benchmarks" / "results"
ACROSS = "|"  # in the words of a ratio: the row of the table stands before it, the column after it


@dataclass(frozen=True)
class Ratio:
    """Figures beside a peer: what they say, the place of each, and whether they are upside down (ours over theirs)."""

    benchmark: str
    pattern: str
    says: str
    place: str  # row, or row|column, from the groups of the pattern
    inverse: bool = False

    def words(self, key: str) -> str | None:
        """What one figure is called on the page, or None if it is another kind.

        >>> RATIOS[0].words("exact_shap_over_ours"), RATIOS[0].words("exact_payoffs")
        ('shap', None)
        """
        found = re.fullmatch(self.pattern, key)
        if found is None:
            return None
        words = self.place.format(*(WORDS.get(group, group) for group in found.groups()))
        return re.sub(r"\b1 rows", "1 row", words)


WORDS: dict[str | Any, str] = {  # groups of the patterns below that are not words yet
    "all": "all games", "n<=16": "up to 16 players", "n>=30": "30 players or more", "development": "games to develop on",
    "held_out": "held-out games", "orders": "random orders", "leverage": "leverage scores",
    "pairwise": "all pairs", "barrier": "barrier rule", "l2": "l2 rule", "ortools": "OR-tools",
    "clarabel": "Clarabel", "eight": "8", "twelve": "12", "sensitivity_n": "sensitivity-n", "_with_solver": ", with the solver",
    "_first": ", our first call", "sensitivity": "sensitivity-n", "cover": "cover ratios",
    "cpu": "CPU", "clock": "on the clock", "batched": "CPU, its calls batched by hand", None: "",
}  # fmt: skip
RATIOS = (
    Ratio(
        "shapley",
        r"exact_(?!accredit)(\w+)_over_ours",
        "Exact values of 20 players: a peer's CPU seconds over ours",
        "{}",
    ),
    Ratio(
        "shapley",
        r"mse_(\d+)_(.+)\.ours_over_best_peer",
        "Squared error of the best peer over ours, equal payoffs",
        "{1}|{0} payoffs",
        inverse=True,
    ),
    Ratio(
        "shapley",
        r"mse_(\d+)_worst_over_(\w+)\.ratio",
        "The same beside our own regressions, in the worst game",
        "{1}|{0} payoffs",
        inverse=True,
    ),
    Ratio(
        "estimation",
        r"(regression|orders)_over_ours_(\d+)us",
        "Squared error of our other solvers over the default's, in equal time",
        "{}|payoffs of {} µs",
    ),
    Ratio("flow", r"(pairwise|barrier|l2)_T(\d+)_vs_(\w+)", "A peer's CPU seconds over ours", "{2}, {0}|{1} tokens"),
    Ratio(
        "flow",
        r"prompt_T(\d+)_vs_shuffled",
        "Seconds of a prompt whose tokens are shuffled over those as it is",
        "{} tokens",
    ),
    Ratio(
        "tables",
        r"served_cover_(\w+)\.(\d+)_(\d+)",
        "By cover ratios, a prepared explainer: a peer's CPU seconds over ours",
        "{0}, depth {1}|{2} rows",
    ),
    Ratio(
        "tables",
        r"first_cover_(\w+)\.(\d+)_(\d+)",
        "By cover ratios, our first call, which builds tables: a peer's CPU seconds over ours",
        "{0}, depth {1}|{2} rows",
    ),
    Ratio(
        "tables",
        r"served_background_(\w+)\.(\d+)_(\d+)",
        "With a background of 100 rows, a prepared explainer: a peer's CPU seconds over ours",
        "{0}, depth {1}|{2} rows",
    ),
    Ratio(
        "tables",
        r"first_background_(\w+)\.(\d+)_(\d+)",
        "With a background of 100 rows, our first call, which builds tables: a peer's CPU seconds over ours",
        "{0}, depth {1}|{2} rows",
    ),
    Ratio(
        "tables",
        r"probability_over_shap\.(\w+)",
        "Credit in a probability of 30 columns: CPU seconds of shap's rescaling over ours",
        "{}",
        inverse=True,
    ),
    Ratio("tables", r"unpruned_(shap)", "Unpruned forests, by cover ratios: a peer's CPU seconds over ours", "{}"),
    Ratio(
        "tables",
        r"unpruned_background_(shap)\.(\d+)",
        "Unpruned forests, with a background of 100 rows: a peer's CPU seconds over ours",
        "{}, {} columns",
    ),
    Ratio(
        "one_row",
        r"over_shap\.(\w+)",
        "One row at a time, everything prepared: shap's CPU seconds over ours",
        "{}",
        inverse=True,
    ),
    Ratio(
        "explain",
        r"shap_ratio_(cpu|clock|batched)\.(\d+)",
        "Seconds of shap's text explainer over ours, equal evaluations, one text",
        "{0}|{1} tokens",
    ),
    Ratio("explain", r"shap_ratio", "The same for all sentences of the project that were tried", "on the clock"),
    Ratio("explain", r"payoff_throughput(\w*)", "Payoffs per second over rows per second of the bare model", "payoffs{}"),
    Ratio("answers", r"equal_error\.(\d+)", "CPU seconds of shap's permutations over ours, at equal error", "{} tokens"),
    Ratio("answers", r"(eight|twelve)_passages", "CPU seconds of plain passes over ours", "{} passages"),
    Ratio("arena", r"quantus\.(\w+)_speedup", "CPU seconds of Quantus over ours, equal passes", "{}"),
    Ratio(
        "beside",
        r"estimators\.(.+)\.error",
        "Squared error, 1,000 payoffs",
        "{}",
    ),
    Ratio(
        "beside",
        r"estimators\.(.+)\.arithmetic",
        "CPU seconds without these payoffs",
        "{}",
    ),
    Ratio(
        "beside",
        r"trees\.(\w+)_(cover|background)\.(\d+)(_first)?",
        "CPU seconds, boosted trees",
        "{0}, {1}|{2} rows{3}",
    ),
    Ratio(
        "beside",
        r"forests\.(\w+)_(cover|background)\.(\d+)(_first)?",
        "CPU seconds, unpruned trees",
        "{0}, {1}|{2} rows{3}",
    ),
    Ratio("beside", r"labels\.(.+)\.(.+)", "Wrong labels, 1 − F1", "{1}, {0} noise"),
    Ratio("beside", r"networks\.(.+)\.seconds", "CPU seconds, influence", "{}"),
    Ratio("beside", r"metrics\.(deletion|sensitivity)", "CPU seconds of Quantus, equal passes", "{}"),
    Ratio("beside", r"(neighbours)\.seconds", "CPU seconds of pyDVL, neighbours", "{}"),
    Ratio("valuation", r"(.*), speed-?up(.*)", "Speed of two processes over that of one", "{}{}"),
    Ratio("valuation", r"(.*(?:ratio|times faster).*)", "A peer's cost over ours", "{}"),
)


@dataclass(frozen=True)
class Loss:
    """Where a peer is ahead: figures by benchmark and key, what was done, and why."""

    benchmark: str
    pattern: str
    where: str
    why: str


LOSSES = (
    Loss(
        "beside|tables",
        r".*_first|first_.*",
        "trees, the first call for few rows",
        "Few rows are walked, or compared with the background, in arrays, where theirs is compiled; tables come once they pay.",
    ),
    Loss(
        "beside|tables|one_row",
        r"forests\..*|unpruned_.*|trees\..*|served_.*|over_shap\..*",
        "trees that are deep or alone, few rows",
        "A forest grown to purity has as many leaves as rows and nothing to share between them, and one row is less work than "
        "our arrays cost.",
    ),
    Loss(
        "tables",
        r"probability_over_shap\..*",
        "credit in a probability",
        "shap rescales credit in the score, which is another game; ours is of the probability itself.",
    ),
    Loss(
        "beside",
        r"estimators\..*\.arithmetic",
        "arithmetic of an estimate",
        "We fit a surrogate of the game; it pays from payoffs of some ten microseconds on.",
    ),
    Loss(
        "estimation",
        r".*",
        "payoffs of a microsecond",
        "Plain regression asks many more of them in the time that our surrogate takes.",
    ),
    Loss(
        "beside",
        r"estimators\..*\.error",
        "squared error at equal payoffs",
        "A peer's surrogate fits these games better.",
    ),
    Loss(
        "shapley",
        r".*",
        "squared error at equal payoffs",
        "In one game plain regression is better than our surrogate.",
    ),
    Loss(
        "beside",
        r"labels\..*",
        "wrong labels where rows are hard",
        "Wrong labels beside a border between classes look like right ones; the best of cleanlab's three models was chosen "
        "after the fact.",
    ),
    Loss(
        "flow",
        r".*",
        "the l2 rule for 8 tokens",
        "A general solver has less to set up; from 32 tokens on it is behind.",
    ),
)
ELSEWHERE = {  # benchmarks whose figures have a page of their own, written by themselves
    "leaks": "Rates, not ratios: [their report](reports/leaks.md), written by `python -m benchmarks.leaks --page "
    "docs/reports/leaks.md`; the lines are in `benchmarks/results/leaks`.",
}
Line = dict[str, Any]


def benchmarks() -> dict[str, str]:
    """Every benchmark that keeps its figures, with the first sentence that it says of itself."""
    found = {}
    for path in sorted((ROOT / "benchmarks").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        if path.stem != "record" and re.search(r"^    record\(", text, re.M):
            found[path.stem] = (ast.get_docstring(ast.parse(text)) or "").splitlines()[0]
    return found


def newest(name: str, folder: Path) -> list[Line]:
    """The last run of every command since the last of the whole benchmark; quick runs only where there are no others."""
    file = folder / f"{name}.jsonl"
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    lines = [line for line in lines if "--quick" not in line["command"]] or lines
    whole = [place for place, line in enumerate(lines) if line["command"] == f"python -m benchmarks.{name}"]
    return list({line["command"]: line for line in lines[whole[-1] if whole else 0 :]}.values())


def flat(figures: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Figures by their path.

    >>> list(flat({"a": {"b": 1}, "c": [2]}))
    [('a.b', 1), ('c.0', 2)]
    """
    pairs = figures.items() if isinstance(figures, dict) else enumerate(figures)
    for name, value in pairs:
        inner = f"{path}.{name}" if path else str(name)
        if isinstance(value, dict | list):
            yield from flat(value, inner)
        else:
            yield inner, value


@dataclass(frozen=True)
class Figure:
    """One ratio: its key in the kept line, its words on the page."""

    key: str
    words: str
    ratio: float


Cells = dict[str, dict[str, str]]  # by row, by column


def cells(says: str, figures: Sequence[Figure]) -> Cells:
    """Ratios by row and column; those below 1, where a peer is ahead, are bold.

    >>> cells("Error", [Figure("a", "shap|1 row", 2.0), Figure("b", "shap|9 rows", 0.5), Figure("c", "woodelf", 3.0)])
    {'shap': {'1 row': '2×', '9 rows': '**0.5×**'}, 'woodelf': {'Error': '3×'}}
    """
    found: Cells = {}
    for figure in figures:
        row, _, column = figure.words.partition(ACROSS)
        text = _times(figure.ratio)
        found.setdefault(row, {})[column or says] = text if figure.ratio >= 1 else f"**{text}**"
    return found


def tables(shown: Sequence[tuple[Ratio, list[Figure]]]) -> Iterator[str]:
    """A table for every kind of ratio; kinds that have one figure for each of the same rows share theirs."""
    shared: Cells = {}
    for ratio, figures in shown:
        now = cells(ratio.says, figures)
        if all(set(row) == {ratio.says} for row in now.values()):
            if shared and list(shared) != list(now):
                yield table("", shared)
                shared = {}
            shared = {name: shared.get(name, {}) | row for name, row in now.items()}
        else:
            if shared:
                yield table("", shared)
                shared = {}
            yield table(ratio.says, now)
    if shared:
        yield table("", shared)


def table(says: str, rows: Cells) -> str:
    """Markdown; what is said of all columns heads the first."""
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    lines = [[says, *columns], ["---", *("--:" for _ in columns)]]
    lines += [[name, *(row.get(column, "") for column in columns)] for name, row in rows.items()]
    return "\n".join("|" + "|".join(line) + "|" for line in lines)


def _times(ratio: float) -> str:
    """A ratio in three digits, and never with an exponent.

    >>> _times(0.0174), _times(7.7), _times(1962.3)
    ('0.0174×', '7.7×', '1,962×')
    """
    return f"{ratio:,.0f}×" if ratio >= 100 else f"{round_off(ratio, 3)}×"


def section(name: str, about: str, lines: list[Line]) -> str:
    """One benchmark: its runs and their ratios."""
    missing = ELSEWHERE.get(name, f"Not run for this page yet: `python -m benchmarks.{name}`.")
    shown = [run(name, line) for line in lines] or [missing]
    return "\n\n".join([f"## {name}", about, *shown])


def ratios(name: str, figures: dict[str, Any]) -> list[tuple[Ratio, list[Figure]]]:
    """The ratios among figures, each under the first of `RATIOS` that it matches."""
    found: list[tuple[Ratio, list[Figure]]] = []
    known: set[str] = set()
    for ratio in (ratio for ratio in RATIOS if ratio.benchmark == name):
        matching = [
            Figure(key, words.strip(), 1 / value if ratio.inverse else value)
            for key, value in figures.items()
            if (words := ratio.words(key)) is not None and isinstance(value, int | float) and value > 0 and key not in known
        ]
        if matching:
            known |= {figure.key for figure in matching}
            found.append((ratio, matching))
    return found


def run(name: str, line: Line) -> str:
    """One run of a benchmark, or of a part of it."""
    figures = dict(flat(line["figures"]))
    shown = ratios(name, figures)
    rest = len(figures) - sum(len(found) for _, found in shown)
    kept = f" {rest} other figure{'s' * (rest > 1)} kept." if rest else ""
    return "\n\n".join([when(line) + kept, *tables(shown)])


def circumstances(line: Line) -> str:
    """By which command, when and where; the versions of everything beside it stand in the line."""
    return f"{when(line)[:-1]}, {_machine(line)}."


def when(line: Line) -> str:
    """By which command, when and how busy the machine was."""
    quick = " A quick run: fewer games and repeats." if "--quick" in line["command"] else ""
    return f"`{line['command']}`, {line['date']}, `{line['commit']}`, load {line['machine']['load']}.{quick}"


def _machine(line: Line) -> str:
    return f"{line['machine']['cpu']}, {line['machine']['cores']} cores"


def losses(lines: dict[str, list[Line]]) -> str:
    """Every ratio below 1 of the runs that are drawn, by reason: where, how far, and why."""
    found: dict[Loss, list[float]] = {}
    for name, runs in lines.items():
        for figure in (one for line in runs for _, some in ratios(name, dict(flat(line["figures"]))) for one in some):
            if figure.ratio < 1:
                found.setdefault(_reason(name, figure.key), []).append(figure.ratio)
    rows = [
        f"|{loss.where}|{_times(min(least))}"
        + (f" to {_times(max(least))}, {len(least)} figures" if len(least) > 1 else "")
        + f"|{loss.why}|"
        for loss, least in found.items()
    ]
    return "\n".join(["|where|a peer's cost over ours|why|", "|---|---|---|", *rows])


def _reason(name: str, key: str) -> Loss:
    for loss in LOSSES:
        if name in loss.benchmark.split("|") and re.fullmatch(loss.pattern, key):
            return loss
    raise SystemExit(f"{name}: {key} is below 1, and LOSSES in tools/benchmarks_page.py has no reason for it")


def beside_peers(folder: Path = RESULTS) -> str:
    """The newest run beside today's peers, as a table for docs/comparison.md."""
    lines = [line for line in newest("beside", folder) if "--only" not in line["command"]]
    if not lines:
        return ""
    line = lines[-1]
    figures = [(ratio, one) for ratio, found in ratios("beside", dict(flat(line["figures"]))) for one in found]
    rows = []
    for package, pin in PINS.items():
        called = re.compile(rf"\b({package.partition('-')[0]}|{pin.module or package})\b", re.I)
        of_it = [(ratio, one) for ratio, one in figures if called.search(f"{one.words} {ratio.says}")]
        told = []
        for says in dict.fromkeys(ratio.says for ratio, _ in of_it):
            values = [one.ratio for ratio, one in of_it if ratio.says == says]
            span = _times(values[0]) if len(values) == 1 else f"{_times(min(values))} to {_times(max(values))}"
            told.append(f"{says} {span}")
        if told:
            rows.append(f"| {package} {line['versions'].get(package, '')} | {'; '.join(told)} |")
    return "\n".join([f"{circumstances(line)}", "", "| | its cost over ours |", "|---|---|", *rows]) + "\n"


def page(folder: Path = RESULTS) -> str:
    """The whole page."""
    lines = {name: newest(name, folder) for name in benchmarks()}
    machines = " and ".join(sorted({_machine(line) for runs in lines.values() for line in runs}))
    head = (
        "# Benchmarks\n\nA peer's cost over ours: above 1 accredit is ahead, **below 1** it is behind. Both sides of a ratio "
        f"come from one run, in CPU seconds on one thread of {machines}, unless a name says otherwise. `python -m "
        "tools.benchmarks_page` made the page from the lines that runs kept in `benchmarks/results`, with the versions of all "
        "peers and all other figures; `make bench` runs all."
    )
    order = sorted(benchmarks().items(), key=lambda named: not lines[named[0]])  # those that were run come first
    where = "## Where we lose\n\nEvery ratio below 1 on this page, by reason."
    return "\n\n".join([head, where, losses(lines), *(section(name, about, lines[name]) for name, about in order)]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    into_page(COMPARISON, "beside", beside_peers())
