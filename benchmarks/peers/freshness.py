"""Is a figure older than the code that it measures? A kept line names its commit; `CODE` names what each benchmark measures.

Code has changed if its syntax has: comments, docstrings, imports and layout are left out of the comparison.
"""

from __future__ import annotations

import ast
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CODE: dict[str, tuple[str, ...]] = {
    "answers": ("accredit/answers", "accredit/values/surrogate"),
    "arena": ("accredit/evaluate",),
    "beside": ("accredit/values", "accredit/trees", "accredit/labels", "accredit/evaluate", "accredit/valuation/knn.py"),
    "estimation": ("accredit/values",),
    "explain": ("accredit/games/text.py", "accredit/models/text.py", "accredit/values/surrogate"),
    "flow": ("accredit/flow",),
    "fresh_tests": ("accredit/training_data", "accredit/valuation"),
    "known_truth": ("accredit/arena/known_truth.py", "accredit/games/components.py", "accredit/labels", "accredit/values"),
    "labels": ("accredit/labels",),
    "leaks": ("accredit/audit",),
    "learned": ("accredit/learned",),
    "one_row": ("accredit/trees", "accredit/rows"),
    "real_answers": ("accredit/answers",),
    "serve": ("accredit/web",),
    "serve_frames": ("accredit/web",),
    "shapley": ("accredit/values",),
    "slow_models": ("accredit/rows", "accredit/values"),
    "tables": ("accredit/trees", "accredit/products"),
    "through_training": ("accredit/influence/through_training.py", "accredit/influence/training_runs.py"),
    "trace": ("accredit/influence/trace.py", "accredit/influence/bm25.py"),
    "usual_jobs": ("accredit/rows", "accredit/trees"),
    "valuation": ("accredit/valuation", "accredit/influence"),
}


@dataclass(frozen=True)
class Stale:
    """A kept line whose code is another by now, the files that differ, and the pages that name the benchmark."""

    benchmark: str
    commit: str
    date: str
    files: tuple[str, ...]
    named_on: tuple[str, ...]


def stale(name: str, line: dict[str, Any]) -> Stale | None:
    """What has changed since a line was measured; None if nothing has."""
    commit = str(line["commit"] or "").rstrip("+")
    if git("cat-file", "-t", commit or "nothing") != "commit":
        files: tuple[str, ...] = ("its commit is not in this repository",)
    else:
        touched = (git("diff", "--name-only", commit, "--", *CODE[name]) or "").splitlines()
        files = tuple(path for path in touched if _syntax_then(commit, path) != _syntax_now(path))
    return Stale(name, commit, line["date"], files, pages_naming(name)) if files else None


def pages_naming(name: str, root: Path = ROOT) -> tuple[str, ...]:
    """README and pages of the docs that send the reader to a benchmark or its lines; not the page that draws all of them."""
    mention = re.compile(rf"benchmarks\.{name}\b|results/{name}\.jsonl|benchmarks\.md#{name}\b")
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    return tuple(
        str(page.relative_to(root))
        for page in pages
        if page.name != "benchmarks.md" and mention.search(page.read_text(encoding="utf-8"))
    )


def syntax(source: str) -> str:
    """Python code without comments, docstrings, imports and layout.

    >>> syntax("def f():\\n    'Says one.'\\n    return 1  # one\\n") == syntax("def f(): return 1")
    True
    >>> syntax("def f(): return 1") == syntax("def f(): return 2")
    False
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            said = ast.get_docstring(node) is not None
            node.body = [part for part in node.body[said:] if not isinstance(part, ast.Import | ast.ImportFrom)]
    return ast.dump(tree)


def _syntax_then(commit: str, path: str) -> str | None:
    text = git("show", f"{commit}:{path}")
    return None if text is None else _compared(path, text)


def _syntax_now(path: str) -> str | None:
    file = ROOT / path
    return _compared(path, file.read_text(encoding="utf-8", errors="replace").strip()) if file.exists() else None


def _compared(path: str, text: str) -> str:
    return syntax(text) if path.endswith(".py") else text


def git(*words: str) -> str | None:
    """What git says in this repository; None if it refuses."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None
