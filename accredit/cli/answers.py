"""`accredit explain` for answers: a prompt, an answer given or generated, and the parts of the prompt that earned it."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from accredit.cli.options import Amount, Count
from accredit.cli.output import NewFile
from accredit.core.errors import InvalidInput
from accredit.core.files import read_text
from accredit.core.numbers import shown
from accredit.core.plain import read_json
from accredit.methods import SETTINGS

GIGABYTE = 1 << 30
ALONE = "\0"  # --answer without a word, which nobody can type
OPTIONS: tuple[Any, ...] = (
    click.option("--prompt", help="A text, a FILE that holds one, or a .json file of chat messages or of token ids."),
    click.option(
        "--answer",
        is_flag=False,
        flag_value=ALONE,
        help="Which parts of the prompt earned this answer? Alone: what the model says; without a prompt, to an example.",
    ),
    click.option("--generate", is_flag=True, help="Explain what the model says, greedily."),
    click.option("--max-new-tokens", type=Count(min=1), help="Of a generated answer. Default: 128."),
    click.option(
        "--context",
        multiple=True,
        help="A passage, a FILE that holds one, or a .json file that lists several; may be repeated. Goes with --query.",
    ),
    click.option("--query", help="The question that goes with --context."),
    click.option("--fixed", multiple=True, help="Words of the prompt that never play; may be repeated."),
    click.option("--rather-than", help="Another answer: credit is for the given one rather than this one."),
    click.option("--filler", help="What takes the place of absent parts; goes with --removal filler."),
    click.option("--batch", type=Count(min=1), help="Prompts in one pass of the model."),
    click.option("--memory", type=Amount(min=0, min_open=True), help="Gigabytes of one pass. Default: 1."),
    click.option("--store", type=NewFile(), help="Keep payoffs here; a stopped run goes on where it was."),
)
ONLY_HERE = ("prompt", "answer", "generate", "max_new_tokens", "context", "query", "fixed", "rather_than", "filler",
             "batch", "memory", "store")  # fmt: skip


def answer_options(command: Any) -> Any:
    """The options that only answers have."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def asks_for_an_answer(given: dict[str, Any]) -> bool:
    """Whether an option of answers was given."""
    return any(given[name] not in (None, False, ()) for name in ONLY_HERE)


def explain_an_answer(
    subject: str | None,
    given: dict[str, Any],
    options: dict[str, Any],
    model: str | None,
    out: str | None,
    html_file: str | None,
    as_json: bool,
) -> None:
    """Explain one answer and print it, or write it."""
    from accredit import views
    from accredit.cli.output import write_whole, written
    from accredit.explanation import explain_answer
    from accredit.views.terminal import wants_colour

    settings = _settings(subject, given, options, model)
    result = explain_answer(model=model, announce=lambda cost: click.echo(cost, err=True), **settings)
    result = replace(result, provenance={**result.provenance, "command": shlex.join(["accredit", *sys.argv[1:]])})
    if out:
        write_whole(out, result.to_json() + "\n")
    if html_file:
        write_whole(html_file, views.explanation_page(result))
    click.echo(result.to_json() if as_json else views.text(result, colour=wants_colour(sys.stdout)))
    for path in (out, html_file):
        if path:
            written(path)


def _settings(subject: str | None, given: dict[str, Any], options: dict[str, Any], model: str | None) -> dict[str, Any]:
    """What `explain_answer` takes, from the options."""
    if options["cut"]:
        raise InvalidInput(
            "--cut is for texts of a classifier: part of a prompt is never left out silently; give less of it"
        )
    if subject is not None and given["prompt"] is not None:
        raise InvalidInput(f"{subject!r:.40} and --prompt are both given; give the prompt once")
    prompt = given["prompt"] if subject is None else subject
    context = [passage for each in given["context"] for passage in _passages(each)]
    if bool(context) != (given["query"] is not None):
        raise InvalidInput(
            "--context PASSAGE and --query QUESTION go together; give both, or one --prompt that holds them"
        )
    if (options["removal"] == "filler") != (given["filler"] is not None):
        raise InvalidInput("--removal filler and --filler TEXT go together; give both, or neither")
    generate = given["generate"] or given["max_new_tokens"] is not None
    answer = None if given["answer"] == ALONE else given["answer"]
    if answer is not None and not answer.strip():
        raise InvalidInput(f"--answer is {answer!r}: there is nothing to credit; give some words, or --generate")
    if answer and generate:
        raise InvalidInput("--answer and --generate are both given; give the answer, or let the model generate one")
    asked: dict[str, Any] = {
        "prompt": None if prompt is None else _prompt(prompt), "answer": answer,
        "generate": None if answer else given["max_new_tokens"] or True, "rather_than": given["rather_than"],
        "fixed": given["fixed"], "filler": given["filler"], "players": _players(options["players"]),
        **{name: options[name] for name in ("methods", "target", "payoff", "removal", "budget", "seed", "prefix")},
        **{name: options[name] for name in SETTINGS if options[name] is not None},
    }  # fmt: skip
    if context or given["query"] is not None:
        asked |= {"context": context, "query": given["query"]}
    elif prompt is None:
        asked |= _example(model is not None or bool(answer))
    if given["batch"] is not None:
        asked["batch"] = given["batch"]
    if given["memory"] is not None:
        asked["memory"] = given["memory"] * GIGABYTE
    if given["store"] is not None:
        asked["store"] = given["store"]
    return asked


def _example(own: bool) -> dict[str, Any]:
    """A context whose answer needs two passages, for a first try without any prompt; not for one's own model or answer."""
    if own:
        raise InvalidInput("there is no prompt; give --prompt TEXT, or --context PASSAGE with --query QUESTION")
    from accredit.models.builtin.facts import facts

    made = facts("joint", passages=5, seed=2)
    click.echo("No prompt is given: an example for the built-in model.\n", err=True)
    return {"context": list(made.context), "query": made.query}


def _prompt(given: str) -> Any:
    """A prompt as the library takes it: a text, or what a .json file lists."""
    text, path = _read(given, "--prompt")
    return _json(text, given, "--prompt") if path is not None and path.suffix.lower() == ".json" else text


def _passages(given: str) -> list[str]:
    text, path = _read(given, "--context")
    if path is None or path.suffix.lower() != ".json":
        return [text]
    listed = _json(text, given, "--context")
    if not isinstance(listed, list) or not all(isinstance(passage, str) for passage in listed):
        raise InvalidInput(f'--context {given} does not hold a list of strings; write for example ["…", "…"]')
    return listed


def _read(given: str, option: str) -> tuple[str, Path | None]:
    """The text itself, or what the file of that name holds."""
    path = Path(given)
    try:
        there = path.is_file()
    except (OSError, ValueError):  # a long text is not a file name
        there = False
    if not there:
        if path.suffix.lower() in (".txt", ".json", ".md") and len(given.split()) == 1:
            raise InvalidInput(f"{option} is {given!r}, and there is no such file; give the path of one, or a text")
        return given, None
    try:
        return read_text(path).strip("\n"), path
    except InvalidInput as error:
        raise InvalidInput(f"{option} is {given!r}: {error}") from None


def _json(text: str, name: str, option: str) -> Any:
    return read_json(text, f"{option} {shown(name)}")


def _players(players: str | None) -> Any:
    """Units by name, or as JSON a list of passages, or names with strings or spans of characters."""
    if players is None or players.lstrip()[:1] not in ("{", "["):
        return players
    read = _json(players, players, "--players")
    if isinstance(read, list):
        return [tuple(part) if isinstance(part, list) else part for part in read]
    return {
        name: tuple(p) if isinstance(p, list) and all(isinstance(i, int) for i in p) else p for name, p in read.items()
    }
