"""Explainers that `accredit learn fit` has trained: named at the start, asked for by the last name of their folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from accredit.errors import InvalidInput
from accredit.methods import ChosenMethod


def offer(folders: Sequence[str]) -> dict[str, str]:
    """Folders by the methods that they are on the page: `fast-shapley:NAME` or `selector:NAME`."""
    found: dict[str, str] = {}
    for folder in folders:
        name = f"{_method(folder)}:{Path(folder).resolve().name}"
        if name in found:
            raise InvalidInput(f"--explainer {folder!r} is a second {name}; rename one of the two folders", code="duplicate")
        found[name] = folder
    return found


def _method(folder: str) -> str:
    from accredit.learned import cxplain, fast, trainer
    from accredit.learned.folders import describe

    methods = {fast.KIND: "fast-shapley", trainer.KIND: "selector", cxplain.KIND: "selector"}
    kind = describe(folder).get("kind")
    if kind not in methods:
        raise InvalidInput(
            f"--explainer {folder!r} holds a {kind}, which is not a method; give what accredit learn fit wrote", code="type"
        )
    return methods[kind]


def place(asked: Sequence[ChosenMethod], there: Mapping[str, str]) -> list[ChosenMethod]:
    """The methods with the folders of those that are trained; one that was not named at the start is refused."""
    for chosen in asked:
        if chosen.method.kind == "learned" and chosen.name not in there:
            raise InvalidInput(
                f"{chosen.name} was not named at the start; run accredit serve --explainer FOLDER with its folder",
                code="unknown",
            )
    return [replace(each, given=(("folder", there[each.name]),)) if each.name in there else each for each in asked]


def without_places(words: str, there: Mapping[str, str]) -> str:
    """What was said of an explainer, by its name instead of its folder."""
    for name, folder in there.items():
        words = words.replace(folder, name.partition(":")[2])
    return words
