"""The options of `accredit explain` are the fields of the requests, and errors name them as they are typed."""

from __future__ import annotations

from dataclasses import dataclass

import click
import pytest
from click.testing import CliRunner

from accredit.cli.command import Command, in_options, spell
from accredit.cli.explain import OWN, explain
from accredit.cli.settings import offers, read_settings, setting_options
from accredit.cli.table_options import TABLE_OPTIONS
from accredit.errors import InvalidInput
from accredit.explanation.requests import REQUESTS, RowRequest, TextRequest, setting, settings_of
from tests.wording import says

RESULT = {"model", "out", "html_file", "as_json"}  # and what every command has
OFFERED = offers()


def test_every_option_is_a_field_or_says_what_is_explained():
    assert set(spell(explain)) == set(OFFERED) | set(OWN) | RESULT | set(TABLE_OPTIONS) | {"quiet", "more"}


@pytest.mark.parametrize("kind", REQUESTS)
def test_a_setting_of_another_kind_is_refused_before_any_file_is_opened(kind):
    for name in OFFERED:
        if name not in settings_of(REQUESTS[kind]):
            with pytest.raises(InvalidInput) as refused:
                read_settings(kind, {name: "nowhere.csv"})
            assert (refused.value.argument, refused.value.code) == (name, "misplaced")


def test_a_new_field_is_an_option_of_its_type(monkeypatch):
    @dataclass(frozen=True, kw_only=True)
    class Wider(RowRequest):
        most_rows: int | None = setting(None, "Rows that are explained at most.", least=2)
        shares: float | None = setting(None, "Of what.", above=0)
        quick: bool = setting(False, "At once.", flag="--at-once")

    monkeypatch.setitem(REQUESTS, "rows", Wider)
    command = click.command(cls=Command)(setting_options(lambda **typed: click.echo(typed)))
    made = {param.name: param for param in command.params}
    assert made["most_rows"].opts == ["--most-rows"] and made["most_rows"].type.min == 2
    assert made["shares"].type.min == 0 and made["shares"].type.min_open
    assert made["quick"].is_flag and made["quick"].opts == ["--at-once"]
    assert says(CliRunner().invoke(command, ["--help"]).output, "explained at most")


def test_help_that_differs_names_the_kinds():
    shown = {param.name: param.help for param in explain.params if isinstance(param, click.Option)}
    assert shown["cut"] == TextRequest.__dataclass_fields__["cut"].metadata["option"].help
    assert all(f"{kind}: " in shown["players"] for kind in ("Text", "Picture", "Rows", "Answer"))


@pytest.mark.parametrize(
    ("message", "argument", "wanted"),
    [
        ("most_background is 0; write most_background=9", "", "--most-background is 0; write --most-background 9"),
        ("write background_by='medoids'", "", "write --background-by medoids"),
        ("trusted names 'a b'; write trusted=['a', 'b']", "", "--trust names 'a b'; write --trust a,b"),
        ("target 'seed=1' is unknown", "target", "--target 'seed=1' is unknown"),
        ("there is no file 'budget is here'", "", "there is no file 'budget is here'"),
        ("its columns are text, column", "column", "its columns are text, column"),
        ("pick one: column=…", "column", "pick one: --text"),
        ("announce is 3; give a function", "announce", "announce is 3; give a function"),
        ("column is for a FILE", "column", "--text is for a FILE"),
    ],
)
def test_a_message_names_options_and_leaves_what_is_quoted(message, argument, wanted):
    assert in_options(message, argument, spell(explain)) == wanted
