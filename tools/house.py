"""The house in figures: size, names, repeats and distance, for before and after a change of its walls.

    python -m tools.house                        # one table
    python -m tools.house --json                 # the same for programs
    python -m tools.house --list participles     # what a figure counts, one per line; without a name, of every figure
    python -m tools.house --no-visits            # without running anything: a second instead of half a minute

Everything is read from the source, apart from the files that a call visits: those are traced in processes of their own
(tools/proof/visits.py).
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tools.proof.participles import SAME_AS_INFINITIVE, head, is_participle
from tools.proof.tables import markdown
from tools.proof.visits import CALLS

ROOT = Path(__file__).parents[1]
HOUSE, TESTS = "accredit", "tests"
PAPERS = "papers"  # a distribution of its own, beside the house
PHRASE = 4  # words from which a literal is a phrase
SMALL = 100  # lines below which a module with one importer could live with it
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One file of Python."""

    path: Path  # from the root
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())

    @property
    def module(self) -> str:
        """As it is imported.

        >>> Source(Path("accredit/core/__init__.py"), "").module, Source(Path("papers/accredit_papers/report.py"), "").module
        ('accredit.core', 'accredit_papers.report')
        """
        return ".".join(self.path.with_suffix("").parts).removesuffix(".__init__").removeprefix(f"{PAPERS}.")

    @property
    def is_front(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def of_papers(self) -> bool:
        return self.path.as_posix().startswith(f"{PAPERS}/")

    @cached_property
    def code(self) -> int:
        """Lines that hold code: no blanks, comments or docstrings.

        >>> Source(Path("a.py"), '"' + '""What it is."' + '""\\n\\n# why\\nx = 1  # how\\n').code
        1
        """
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        held = {line for t in tokens if t.type not in NO_CODE for line in range(t.start[0], t.end[0] + 1)}
        return len(held - {line for doc in _docstrings(self.nodes) for line in range(doc.lineno, (doc.end_lineno or 0) + 1)})

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))


def _docstrings(nodes: Iterable[ast.AST]) -> Iterator[ast.Expr]:
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | Function) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
                yield first


def sources(*folders: str) -> list[Source]:
    """Every file of Python below some folders of the repository; of folders inside one another each once."""
    paths = {path for folder in folders for path in (ROOT / folder).rglob("*.py")}
    return [Source(path.relative_to(ROOT), path.read_text(encoding="utf-8")) for path in sorted(paths)]


# Figures: each is a number, or several, and the list of what it counts

Figure = tuple[str, str]  # what is counted, and the figure as it is shown


@dataclass(frozen=True)
class Measured:
    """Figures under one name, as a table shows them and as programs read them, and what they count."""

    name: str
    shown: tuple[Figure, ...]
    plain: Mapping[str, Any]
    listed: tuple[str, ...] = ()


def size(house: Sequence[Source]) -> Measured:
    without = [source for source in house if not source.of_papers]
    plain = {
        what: {"files": len(some), "lines": sum(s.lines for s in some), "code": sum(s.code for s in some)}
        for what, some in (("with papers", house), ("without papers", without))
    }
    shown = tuple(
        (f"files, lines, lines of code, {what}", ", ".join(f"{number:,}" for number in each.values()))
        for what, each in plain.items()
    )
    return Measured("size", shown, plain)


def anys(house: Sequence[Source]) -> Measured:
    """`Any` in annotations: how often, and on how many lines of code."""
    found = [(s, name) for s in house for note in _annotations(s) for name in _anys(note)]
    lines = Counter(str(source.path) for source, _ in {(source, name.lineno) for source, name in found})
    plain = {"names": len(found), "lines": sum(lines.values())}
    shown = (("Any in annotations, lines with one", f"{plain['names']:,}, {plain['lines']:,}"),)
    return Measured("any", shown, plain, tuple(f"{count} {path}" for path, count in lines.most_common()))


def _anys(note: ast.expr) -> list[ast.Name]:
    return [node for node in ast.walk(note) if isinstance(node, ast.Name) and node.id == "Any"]


def _annotations(source: Source) -> Iterator[ast.expr]:
    for node in source.nodes:
        found: list[ast.expr | None] = []
        if isinstance(node, ast.arg | ast.AnnAssign):
            found = [node.annotation]
        elif isinstance(node, Function):
            found = [node.returns]
        yield from (note for note in found if note is not None)


def skips(house: Sequence[Source]) -> Measured:
    found = {str(s.path): count for s in house if (count := s.text.count("# fmt: skip"))}
    listed = tuple(f"{count} {path}" for path, count in sorted(found.items(), key=lambda each: -each[1]))
    return Measured("fmt: skip", (("# fmt: skip", f"{sum(found.values()):,}"),), {"count": sum(found.values())}, listed)


def participles(house: Sequence[Source]) -> Measured:
    """Functions that are named by a past participle; dunder methods and properties are not counted."""
    named = [(node.name, source) for source in house for node in source.nodes if isinstance(node, Function) and _acts(node)]
    sure = [(name, source) for name, source in named if is_participle(head(name))]
    either = [name for name, _ in named if head(name) in SAME_AS_INFINITIVE]
    share, wider = (round(100 * count / max(1, len(named)), 1) for count in (len(sure), len(sure) + len(either)))
    plain = {"functions": len(named), "participles": len(sure), "percent": share, "percent with doubtful ones": wider}
    shown = (
        ("functions, past participles among them", f"{len(named):,}, {len(sure):,} ({share} %)"),
        ("the same with forms that are infinitives too (read, run, put)", f"{len(sure) + len(either):,} ({wider} %)"),
    )
    return Measured("participles", shown, plain, tuple(sorted(f"{name} {source.path}" for name, source in sure)))


def _acts(node: Function) -> bool:
    made = {ast.unparse(each) for each in node.decorator_list}
    return not (node.name.startswith("__") and node.name.endswith("__")) and not any("property" in each for each in made)


def class_names(house: Sequence[Source]) -> Measured:
    found = [(node.name, str(s.path)) for s in house for node in s.nodes if isinstance(node, ast.ClassDef)]
    return _repeated("classes", "class names defined more than once", found)


def file_names(house: Sequence[Source]) -> Measured:
    found = [(s.path.name, str(s.path)) for s in house if not s.path.name.startswith("__")]
    return _repeated("files", "file names used more than once", found)


def _repeated(name: str, what: str, found: Iterable[tuple[str, str]]) -> Measured:
    places: dict[str, list[str]] = defaultdict(list)
    for key, place in found:
        places[key].append(place)
    several = {key: each for key, each in sorted(places.items(), key=lambda pair: -len(pair[1])) if len(each) > 1}
    most = ", ".join(f"{key} ×{len(each)}" for key, each in list(several.items())[:4])
    shown = f"{len(several)}{f' ({most})' if most else ''}"
    listed = tuple(f"{key} ×{len(each)}: {', '.join(each)}" for key, each in several.items())
    return Measured(name, ((what, shown),), {"count": len(several), "names": {k: len(v) for k, v in several.items()}}, listed)


def constants(house: Sequence[Source]) -> Measured:
    """Numbers with a name in capitals at the top of a module, and names that stand for several numbers."""
    values: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for source in house:
        for name, value in _constants(source):
            values[name].append((value, str(source.path)))
    several = {n: each for n, each in sorted(values.items(), key=lambda p: -len(p[1])) if len({v for v, _ in each}) > 1}
    plain = {"constants": sum(map(len, values.values())), "names": len(values), "with several values": len(several)}
    most = ", ".join(f"{n} ×{len(each)}, {len({v for v, _ in each})} values" for n, each in list(several.items())[:3])
    shown = (("numeric constants; names with more than one value", f"{plain['constants']}; {len(several)} ({most})"),)
    listed = tuple(f"{name}: {', '.join(f'{value:g} {path}' for value, path in each)}" for name, each in several.items())
    return Measured("constants", shown, plain, listed)


def _constants(source: Source) -> Iterator[tuple[str, float]]:
    for node in source.tree.body:
        for name, expression in _assigned(node):
            number = _number(expression)
            if isinstance(name, ast.Name) and name.id.isupper() and number is not None:
                yield name.id, number


def _assigned(node: ast.stmt) -> list[tuple[ast.expr, ast.expr]]:
    """What a statement names, and what for; `A, B = 1, 2` names two."""
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        return [(node.target, node.value)]
    if not isinstance(node, ast.Assign):
        return []
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=False))
    return [(target, value)]


OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.Constant, ast.operator, ast.unaryop)


def _number(expression: ast.expr) -> float | None:
    """The value of an expression of numbers alone.

    >>> _number(ast.parse("1 << 20", mode="eval").body), _number(ast.parse("len(x)", mode="eval").body)
    (1048576, None)
    """
    if not all(isinstance(node, OPERATIONS) for node in ast.walk(expression)):
        return None
    value = eval(compile(ast.Expression(expression), "constant", "eval"), {"__builtins__": {}})
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def single_importers(house: Sequence[Source]) -> Measured:
    """Modules that one other module imports, lazily or at once; a name in a table of addresses counts as an import."""
    modules = {source.module: source for source in house}
    importers: dict[str, set[str]] = defaultdict(set)
    for source in house:
        for name in _imports(source, modules):
            importers[name].add(source.module)
    alone = {name: next(iter(by)) for name, by in importers.items() if len(by) == 1 and not modules[name].is_front}
    small = {name: by for name, by in alone.items() if modules[name].lines < SMALL}
    beside = {
        name: by
        for name, by in small.items()
        if not modules[by].is_front and modules[by].path.parent == modules[name].path.parent
    }
    plain = {"one importer": len(alone), "small": len(small), "small and beside it": len(beside)}
    shown = (
        (
            f"modules with one importer; below {SMALL} lines; and beside it",
            f"{len(alone)}; {len(small)}; {len(beside)}",
        ),
    )
    listed = tuple(sorted(f"{name} ({modules[name].lines} lines): {by}" for name, by in small.items()))
    return Measured("modules", shown, plain, listed)


def _imports(source: Source, modules: Mapping[str, Source]) -> set[str]:
    found: set[str] = set()
    for node in source.nodes:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            whole = {f"{node.module}.{each.name}" for each in node.names}
            found |= {name if name in modules else node.module for name in whole}
        elif isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value.partition(":")[0])
    return (found & modules.keys()) - {source.module}


def phrases(tests: Sequence[Source]) -> Measured:
    """What makes a sentence expensive to improve: `match=`, and asserts that hold a literal of four words or more."""
    calls = [(source, node) for source in tests for node in source.nodes if isinstance(node, ast.Call)]
    matched = [(source, each.value) for source, call in calls for each in call.keywords if each.arg == "match"]
    long = [s for s, value in matched if _has_phrase(value)]
    held = [s for s in tests for node in s.nodes if isinstance(node, ast.Assert) and _has_phrase(node.test)]
    files = Counter(str(source.path) for source in (*long, *held))
    plain = {
        "match": len(matched),
        "match of a phrase": len(long),
        "asserts": len(held),
        "files": len(files),
        "of": len(tests),
    }
    shown = (
        ("match= in tests, of four words or more", f"{len(matched)}, {len(long)}"),
        ("asserts on literals of four words or more; test files", f"{len(held)}; in {len(files)} of {len(tests)}"),
    )
    return Measured("phrases", shown, plain, tuple(f"{count} {path}" for path, count in files.most_common()))


def _has_phrase(node: ast.AST) -> bool:
    literals = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str))
    return any(len(text.split()) >= PHRASE for text in literals)


FRONTS = """
import accredit, importlib, json, pkgutil
rooms = [each.name for each in pkgutil.iter_modules(accredit.__path__) if each.ispkg]
fronts = {room: getattr(importlib.import_module(f"accredit.{room}"), "__all__", []) for room in rooms}
print(json.dumps({"accredit": sorted(accredit.__all__)} | {room: sorted(names) for room, names in fronts.items() if names}))
"""


def public_names() -> Measured:
    """What `accredit` and the fronts of its rooms declare, asked in a process of its own."""
    found: dict[str, list[str]] = json.loads(_run("-c", FRONTS))
    rooms = {room: len(names) for room, names in found.items() if room != HOUSE}
    plain = {"accredit": len(found[HOUSE]), "rooms": sum(rooms.values()), "by room": rooms}
    shown = (("public names: accredit, rooms", f"{plain['accredit']}, {plain['rooms']}"),)
    return Measured("public", shown, plain, tuple(f"{room}: {', '.join(names)}" for room, names in found.items()))


def visited(calls: Iterable[str] = CALLS) -> Measured:
    """Files that a call enters before the first computation, and in all."""
    found = {call: json.loads(_run("-m", "tools.proof.visits", call)) for call in calls}
    plain = {call: {"before": len(each["before"]), "all": len(each["all"])} for call, each in found.items()}
    shown = tuple(
        (f"files visited by {call}: before the first computation, in all", f"{each['before']}, {each['all']}")
        for call, each in plain.items()
    )
    listed = tuple(
        f"{call}: {'· ' if path in each['before'] else ''}{path}" for call, each in found.items() for path in each["all"]
    )
    return Measured("visits", shown, plain, listed)


def _run(*words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words):.80} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def measures(with_visits: bool) -> list[Measured]:
    """Every figure, in the order of the table."""
    house, tests = sources(HOUSE, PAPERS), sources(TESTS)
    read = (size, anys, skips, participles, class_names, file_names, constants, single_importers)
    found = [*(measure(house) for measure in read), phrases(tests), public_names()]
    return [*found, visited()] if with_visits else found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    parser.add_argument("--list", nargs="?", const="", metavar="FIGURE", help="what is counted: participles, classes, files …")
    parser.add_argument("--no-visits", action="store_true", help="do not trace the files that calls visit")
    options = parser.parse_args(arguments)
    found = measures(not options.no_visits)
    if options.list is not None:
        chosen = [each for each in found if options.list in ("", each.name)]
        if not chosen:
            parser.error(f"--list {options.list} is not a figure; there are {', '.join(each.name for each in found)}")
        for each in chosen:
            print("\n".join(f"{each.name}: {line}" for line in each.listed))
    elif options.json:
        print(json.dumps({each.name: each.plain for each in found}, ensure_ascii=False, indent=1))
    else:
        print(markdown(("figure", "now"), [figure for each in found for figure in each.shown]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
