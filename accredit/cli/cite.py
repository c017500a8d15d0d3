"""`accredit cite`: where does each sentence of an answer come from?"""

from __future__ import annotations

import click

from accredit.answers.verdicts import ERROR
from accredit.cli.answers import read_passages, read_prompt
from accredit.cli.command import Command, wants_more
from accredit.cli.destination import announce
from accredit.cli.options import SEED, Amount, Count, NamedPath
from accredit.cli.output import NewFile, write, write_whole
from accredit.cli.typed import server_of
from accredit.errors import InvalidInput
from accredit.explanation.requests import Settings


@click.command(cls=Command, cuts=True)
@click.argument("answer", required=False)
@click.option(
    "--model",
    help="A folder with a Hugging Face model, a name in the local cache, or the URL of a server. Default: the built-in one.",
)
@click.option("--server", metavar="NAME=VALUE,…", help="Settings of the server that --model names, such as name=smollm2.")
@click.option(
    "--context", multiple=True, help="A passage, a FILE that holds one, or a .json file that lists several; may be repeated."
)
@click.option("--query", help="The question that goes with --context.")
@click.option("--prompt", help="Instead: a text, a FILE that holds one, or a .json file of chat messages.")
@click.option("--players", help="Of a prompt: sentences (default), paragraphs or turns. Of a context: passages, sentences.")
@click.option("--max-new-tokens", type=Count(min=1), help="Of a generated answer. Default: 128.")
@click.option("--span", "spans", multiple=True, help="Words of the answer to judge instead of its sentences; may be repeated.")
@click.option(
    "--error",
    type=Amount(min=0, min_open=True),
    default=ERROR,
    show_default=True,
    help="Share of wrong verdicts that is allowed; where it cannot be kept, the verdict is “cannot tell”.",
)
@click.option(
    "--quotes/--no-quotes", default=True, show_default=True, help="Look for the sentences that say it inside of what is cited."
)
@click.option("--calibration", type=NamedPath(), metavar="FILE", help="A calibration of this model, which --calibrate wrote.")
@click.option("--calibrate", "new", type=NewFile(), metavar="FILE", help="Calibrate this model on planted facts, and stop.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of the planted facts.")
@click.option("--out", type=NewFile(), help="Write to this file what would be printed.")
@click.option("--html", "html_file", type=NewFile(), help="Also write one self-contained page.")
@click.option("--markdown", is_flag=True, help="Print the answer as Markdown with footnotes.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def cite(
    answer: str | None,
    model: str | None,
    server: str | None,
    context: tuple[str, ...],
    query: str | None,
    prompt: str | None,
    players: str | None,
    max_new_tokens: int | None,
    spans: tuple[str, ...],
    error: float,
    quotes: bool,
    calibration: str | None,
    new: str | None,
    seed: int,
    out: str | None,
    html_file: str | None,
    markdown: bool,
    as_json: bool,
) -> None:
    """For each sentence of ANSWER: the passages that say it, the model's own memory, or neither.

    Without ANSWER the model writes one. Every verdict comes with the passes that show it, and with an error rate that was
    calibrated on planted facts.
    """
    from accredit import views
    from accredit.answers.verdicts import Calibration
    from accredit.checks.files import read_text
    from accredit.explanation.citations import calibrate as calibrated
    from accredit.explanation.citations import cite as cited

    if new is not None:
        if server is not None:
            raise InvalidInput(
                "--server and --calibrate are both given; calibrate in Python, on accredit.answers.HostedModel(url, …)",
                argument="server",
                code="conflict",
            )
        write_whole(new, calibrated(model, seed=seed).to_json() + "\n")
        write(new)
        return
    if markdown and as_json:
        raise InvalidInput("--markdown and --json are both given; give one of them", argument="markdown", code="conflict")
    given: Settings = {"answer": answer, "generate": max_new_tokens, "players": players, "spans": spans or None}
    given |= {"server": None if server is None else server_of(server)}
    given |= {"calibration": None if calibration is None else Calibration.from_json(read_text(calibration))}
    found = cited(
        read_prompt(prompt),
        model,
        **given,
        **_context(context, query, prompt),
        error=error,
        quotes=quotes,
        seed=seed,
        announce=announce,
    )
    shown = found.to_json() if as_json else found.to_markdown() if markdown else views.text(found, more=wants_more())
    if html_file:
        found.to_html(html_file)
        write(html_file)
    if out:
        write_whole(out, shown + "\n")
        write(out)
    else:
        click.echo(shown)


def _context(context: tuple[str, ...], query: str | None, prompt: str | None) -> Settings:
    if bool(context) != (query is not None) or not (context or prompt):
        raise InvalidInput(
            "--context PASSAGE and --query QUESTION go together; give both, or one --prompt that holds them",
            argument="context",
            code="missing",
        )
    return {"context": [passage for each in context for passage in read_passages(each)], "query": query} if context else {}
