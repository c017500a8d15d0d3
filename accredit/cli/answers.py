"""`accredit explain` for answers: a prompt, an answer given or generated, and the parts of the prompt that earned it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from accredit.checks.files import read_text
from accredit.checks.json_data import read_json
from accredit.checks.numbers import shown
from accredit.cli.command import check_ending
from accredit.cli.destination import Destination, announce, with_command
from accredit.cli.output import write, write_whole
from accredit.cli.settings import ALONE, read_settings
from accredit.errors import InvalidInput
from accredit.explanation.requests import Settings


def explain_an_answer(subject: str | None, model: str | None, typed: Settings, own: Settings, to: Destination) -> None:
    """Explain one answer and print it; `out` gets its JSON besides."""
    from accredit.explanation import explain_answer

    settings = read_settings("answer", typed)
    if to.out:
        check_ending(to.out)
    prompt = _prompt(subject, own.get("prompt"))
    _check_together(settings)
    settings |= _answer(settings, own.get("max_new_tokens"))
    if "context" in settings:
        settings["context"] = [passage for each in settings["context"] for passage in read_passages(each)]
    elif prompt is None:
        settings |= _example(model is not None or settings["answer"] is not None)
    result = with_command(explain_answer(prompt, model, announce=announce, **settings))
    if to.out:
        write_whole(to.out, result.to_json() + "\n")
        write(to.out)
    to.print(result)


def _check_together(settings: Settings) -> None:
    if ("context" in settings) != ("query" in settings):
        raise InvalidInput(
            "--context PASSAGE and --query QUESTION go together; give both, or one --prompt that holds them", code="conflict"
        )
    if (settings.get("removal") == "filler") != ("filler" in settings):
        raise InvalidInput("--removal filler and --filler TEXT go together; give both, or neither", code="conflict")


def _answer(settings: Settings, most: int | None) -> Settings:
    """The answer that was typed, or how one is generated."""
    answer = None if settings.get("answer") == ALONE else settings.get("answer")
    if answer is not None and not answer.strip():
        said = f"answer is {answer!r}: there is nothing to credit; give some words, or --generate"
        raise InvalidInput(said, argument="answer", code="empty")
    if answer and (most is not None or "generate" in settings):
        said = "answer and --generate are both given; give the answer, or let the model generate one"
        raise InvalidInput(said, argument="answer", code="conflict")
    return {"answer": answer, "generate": None if answer else most or True}


def _example(own: bool) -> Settings:
    """A context whose answer needs two passages, for a first try without any prompt; not for one's own model or answer."""
    if own:
        raise InvalidInput(
            "there is no prompt; give --prompt TEXT, or --context PASSAGE with --query QUESTION",
            argument="prompt",
            code="missing",
        )
    from accredit.models.builtin.facts import facts

    made = facts("joint", passages=5, seed=2)
    click.echo("No prompt is given: an example for the built-in model.\n", err=True)
    return {"context": list(made.context), "query": made.query}


def _prompt(subject: str | None, prompt: str | None) -> Any:
    """A prompt as the library takes it: a text, or what a .json file lists."""
    if subject is not None and prompt is not None:
        raise InvalidInput(
            f"{subject!r:.40} and --prompt are both given; give the prompt once", argument="prompt", code="duplicate"
        )
    return read_prompt(prompt if subject is None else subject)


def read_prompt(typed: str | None) -> Any:
    """A text, what the file of that name holds, or what a .json file lists; None where nothing was typed."""
    if typed is None:
        return None
    text, path = _read(typed, "prompt")
    return _json(text, typed, "prompt") if path is not None and path.suffix.lower() == ".json" else text


def read_passages(given: str) -> list[str]:
    """The passage itself, what the file of that name holds, or what a .json file lists."""
    text, path = _read(given, "context")
    if path is None or path.suffix.lower() != ".json":
        return [text]
    listed = _json(text, given, "context")
    if not isinstance(listed, list) or not all(isinstance(passage, str) for passage in listed):
        raise InvalidInput(
            f'context {given} does not hold a list of strings; write for example ["…", "…"]', argument="context", code="type"
        )
    return listed


def _read(given: str, argument: str) -> tuple[str, Path | None]:
    """The text itself, or what the file of that name holds."""
    path = Path(given)
    try:
        there = path.is_file()
    except (OSError, ValueError):  # a long text is not a file name
        there = False
    if not there:
        if path.suffix.lower() in (".txt", ".json", ".md") and len(given.split()) == 1:
            said = f"{argument} is {given!r}, and there is no such file; give the path of one, or a text"
            raise InvalidInput(said, argument=argument, code="missing")
        return given, None
    try:
        return read_text(path).strip("\n"), path
    except InvalidInput as error:
        raise InvalidInput(f"{argument} is {given!r}: {error}", argument=argument, code=error.code) from None


def _json(text: str, name: str, argument: str) -> Any:
    try:
        return read_json(text, f"{argument} {shown(name)}")
    except InvalidInput as error:
        raise InvalidInput(str(error), argument=argument, code=error.code) from None
