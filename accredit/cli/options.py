"""Methods as options: looked up in the registry, so that every command takes the same names and says the same of others."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from accredit.core.numbers import MOST
from accredit.methods import Place, find, find_all, methods_for


class Seed(click.ParamType[int]):
    """A whole number from 0 on; its largest value is not worth a line in every help."""

    name = "n"

    def convert(self, value: int | str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        return int(click.IntRange(0, MOST).convert(value, param, ctx))


SEED = Seed()


class MethodName(click.ParamType[str]):
    """The name of a method that applies at one place; aliases become the usual name."""

    name = "method"

    def __init__(self, place: Place) -> None:
        self.place = place

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return find(value, self.place).name

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(method.name) for method in methods_for(self.place) if method.name.startswith(incomplete)]

    @property
    def help(self) -> str:
        """What may be written."""
        named = (f"{m.spelled} ({', '.join(m.aliases)})" if m.aliases else m.spelled for m in methods_for(self.place))
        return f"{', '.join(named)}; see `accredit methods`."


class MethodNames(click.ParamType[tuple[str, ...]]):
    """Several names with commas between them, each once."""

    name = "methods"
    help = "Names from `accredit methods`, with commas between them, for example shapley,ig,flow:agf."

    def __init__(self, place: Place) -> None:
        self.place = place

    def convert(
        self, value: str | tuple[str, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        return tuple(chosen.name for chosen in find_all(value, self.place))

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, last = incomplete.rpartition(",")
        known = (method.name for method in methods_for(self.place) if method.name.startswith(last))
        return [CompletionItem(before + comma + name) for name in known]
