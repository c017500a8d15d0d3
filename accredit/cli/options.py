"""Kinds of options that every command shares: whole numbers, numbers, and methods, which are looked up in the registry."""

from __future__ import annotations

import math
import os
import re
import stat
from contextlib import suppress
from typing import Any

import click
from click.shell_completion import CompletionItem

from accredit.checks.files import kind_of
from accredit.checks.json_data import DIGITS
from accredit.checks.numbers import MOST, shown
from accredit.methods import Place, find, find_all, methods_for

WHOLE = re.compile(r"[+-]?[0-9]+")
DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def _usual(param: click.Parameter | None, otherwise: float) -> float:
    """The default of an option that has a number for one."""
    default = None if param is None else param.default
    return default if isinstance(default, int | float) and not isinstance(default, bool) else otherwise


class Count(click.IntRange):
    """A whole number in plain digits. Python also takes 1_000, digits of other scripts and spaces, which hide slips."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and not (WHOLE.fullmatch(value) and len(value) < DIGITS):
            self.fail(
                f"{shown(value)} is not a whole number; write for example {_usual(param, max(self.min or 0, 1))}", param, ctx
            )
        return super().convert(value, param, ctx)


class Amount(click.FloatRange):
    """A finite number in plain digits, as for `Count`; nan would pass every bound."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and not (DECIMAL.fullmatch(value) and math.isfinite(float(value))):
            self.fail(f"{shown(value)} is not a finite number; write for example {_usual(param, 0.5)}", param, ctx)
        return super().convert(value, param, ctx)


class NamedPath(click.Path):
    """A path that has a name: an empty one is a slip, often of a variable of the shell that is not set."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the name is empty; name a file or a folder", param, ctx)
        if isinstance(value, str) and "\0" in value:
            self.fail(f"{shown(value)} holds a NUL character, which no name can; leave it out", param, ctx)
        if isinstance(value, str) and (odd := self._odd(value)):
            self.fail(f"{shown(value)} is {odd}; name a {'file' if self.file_okay else 'folder'}", param, ctx)
        return super().convert(value, param, ctx)

    @staticmethod
    def _odd(path: str) -> str | None:
        """A pipe, which would be waited for, a device, a socket: what is there and is neither a file nor a folder."""
        with suppress(OSError, ValueError):
            mode = os.stat(path).st_mode
            return None if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else kind_of(mode)
        return None


class Seed(click.ParamType[int]):
    """A whole number from 0 on; its largest value is not worth a line in every help."""

    name = "n"

    def convert(self, value: int | str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        return int(Count(0, MOST).convert(value, param, ctx))


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
