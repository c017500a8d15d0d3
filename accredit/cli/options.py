"""Methods as options: looked up in the registry, so that every command takes the same names and says the same of others."""

from __future__ import annotations

import click

from accredit.core.numbers import MOST
from accredit.methods import Place, find, find_all, methods_for

SEED = click.IntRange(0, MOST)


class MethodName(click.ParamType[str]):
    """The name of a method that applies at one place; aliases become the usual name."""

    name = "method"

    def __init__(self, place: Place) -> None:
        self.place = place

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return find(value, self.place).name

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
