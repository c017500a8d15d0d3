"""What other packages add: methods, readers of models, commands. Found by entry points, imported when they are asked for.

One that fails to load, is not what it should be, or takes a name that is taken, is left out and says why; `accredit doctor`
lists them all. The others are not touched by it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from accredit.errors import InvalidInput

METHODS, READERS, COMMANDS = GROUPS = tuple(f"accredit.{what}" for what in ("methods", "readers", "commands"))
Names = Callable[[str, Any], Iterable[str]]  # the entry's name, and what it leads to -> every name that it claims


@dataclass(frozen=True)
class Addition:
    """One entry point of a package: what it leads to, or why it is not used."""

    group: str
    name: str
    package: str
    found: Any = None
    problem: str = ""

    def get(self) -> Any:
        """What it leads to, or an error that says why it is not used."""
        if self.problem:
            raise InvalidInput(f"{self.name!r} of the package {self.package} is not used: {self.problem}", code="unavailable")
        return self.found

    def to_plain(self) -> dict[str, str]:
        """As JSON types."""
        return {"group": self.group, "name": self.name, "package": self.package, "problem": self.problem}


@lru_cache(maxsize=len(GROUPS))
def entries(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group, in the order of their names and packages; nothing is imported."""
    return tuple(sorted(entry_points(group=group), key=lambda entry: (entry.name, _package(entry))))


def additions(group: str, names: Names, taken: Collection[str], only: str | None = None) -> tuple[Addition, ...]:
    """What packages add to a group, or `only` the entries of one name. `names` says which names a thing claims, or raises
    `InvalidInput` where it is not what the group holds; a name that is `taken` is not given away."""
    held = dict.fromkeys(taken, "accredit itself")
    made = []
    for entry in entries(group):
        if only is None or entry.name == only:
            made.append(_addition(entry, names, held))
    return tuple(made)


def _addition(entry: EntryPoint, names: Names, held: dict[str, str]) -> Addition:
    """One entry, loaded; the names that it claims are `held` from then on."""
    package = _package(entry)
    try:
        found = entry.load()
        claimed = tuple(names(entry.name, found))
    except InvalidInput as error:
        return Addition(entry.group, entry.name, package, problem=str(error))
    except (Exception, SystemExit) as error:  # a stranger's module may fail in any way
        why = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        return Addition(entry.group, entry.name, package, problem=f"{entry.value} fails to load: {why}")
    if stolen := next((name for name in claimed if name in held), None):
        why = f"the name {stolen!r} belongs to {held[stolen]}; choose another"
        return Addition(entry.group, entry.name, package, problem=why)
    held.update(dict.fromkeys(claimed, package))
    return Addition(entry.group, entry.name, package, found)


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.value.partition(".")[0]
