"""`accredit trace`: which training texts made the language model say this?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from accredit.checks.numbers import a_type
from accredit.cli.command import Command, wants_more
from accredit.cli.options import SEED, Amount, Count, NamedPath
from accredit.cli.output import NewFile, NewFolder, write, write_whole

if TYPE_CHECKING:
    from accredit.influence.trace import TrainingText


@click.command(cls=Command, cuts=True)
@click.argument("answer")
@click.option("--model", required=True, type=NamedPath(), metavar="FOLDER", help="A causal language model of Hugging Face.")
@click.option(
    "--base",
    type=NamedPath(),
    metavar="FOLDER",
    help="The model before it learned the texts: its gradients are looked at, too, because what is known leaves few.",
)
@click.option(
    "--train",
    "train_texts",
    type=NamedPath(),
    metavar="FILE",
    help="Its training texts: .txt, one on each line, or a table (see --text).",
)
@click.option("--text", metavar="COLUMN", help="The column of the texts, where FILE is a table of several.")
@click.option(
    "--completion",
    metavar="COLUMN",
    help="The column of what the model learned to say after --text: only that is judged, the prompt is read.",
)
@click.option(
    "--chat", is_flag=True, help="Prompts are a user's message, answers the assistant's, by the model's chat template."
)
@click.option("--prompt", default="", help="What the model was asked before it said ANSWER.")
@click.option(
    "--store",
    "folder",
    type=NewFolder(),
    metavar="FOLDER",
    help="Keep the gradients of the training texts here. A broken run goes on; further answers need no --train.",
)
@click.option("--layers", multiple=True, metavar="PATTERN", help="Look at these layers only, e.g. '*.mlp.*' or '*lora*'.")
@click.option(
    "--memory",
    type=Amount(min=0, min_open=True),
    default=2.0,
    show_default=True,
    metavar="GB",
    help="What may be held in memory; more is refused beforehand.",
)
@click.option("--plain", is_flag=True, help="Do not divide by a text's influence on itself: long and odd texts come first.")
@click.option("--shown", type=Count(min=1), default=10, show_default=True, help="Texts that are listed.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of the projection.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with every text.")
@click.option("--html", "html_file", type=NewFile(), help="Also write the answer as one self-contained HTML file.")
@click.pass_context
def trace(
    context: click.Context,
    answer: str,
    model: str,
    base: str | None,
    train_texts: str | None,
    text: str | None,
    completion: str | None,
    chat: bool,
    prompt: str,
    folder: str | None,
    layers: tuple[str, ...],
    memory: float,
    plain: bool,
    shown: int,
    seed: int,
    as_json: bool,
    html_file: str | None,
) -> None:
    """Rank the training texts of a language model by how much each made it say ANSWER."""
    from accredit.checks import check_text
    from accredit.errors import InvalidInput

    check_text(answer, "ANSWER")
    check_text(prompt, "--prompt")
    from accredit.influence.trace import trace as traced
    from accredit.training_data.finetuned import finetune, read_completions, read_texts
    from accredit.values.solver import progress
    from accredit.views.pages.trace_page import trace_page
    from accredit.views.terminal.trace_text import trace_text

    if train_texts is None and folder is None:
        raise InvalidInput(
            "there are no training texts: give them with --train FILE, or a folder that holds them with --store",
            argument="train_texts",
            code="missing",
        )
    for name in ("text", "completion", "seed"):
        if train_texts is None and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise InvalidInput(
                f"--{name} goes with --train FILE, and the texts of --store are read already; leave it out", code="conflict"
            )
    if chat and ((train_texts is not None and completion is None) or not prompt):
        raise InvalidInput(
            "--chat is about a user's messages and what the assistant answers: it needs --prompt, and with --train also --text "
            "COLUMN and --completion COLUMN",
            argument="chat",
            code="missing",
        )
    texts: list[TrainingText] | None = None
    if train_texts is not None and completion is not None:
        pairs = read_completions(train_texts, text, completion)
        texts = [_messages(*pair) for pair in pairs] if chat else [*pairs]
    elif train_texts is not None:
        texts = [*read_texts(train_texts, text)]
    loaded = finetune(model)
    if loaded.task != "continue":
        raise InvalidInput(
            f"{model} holds {a_type(loaded.model)}, which says nothing; ask what its rows did with "
            f"accredit value FILE --text COLUMN --target COLUMN --model {model}",
            code="unsupported",
        )
    before = None if base is None else finetune(base).model
    with progress("gradients", len(texts or ())) as bar:
        found = traced(
            loaded.model,
            loaded.tokenizer,
            texts,
            _messages(prompt) if chat else prompt,
            answer,
            folder=folder,
            layers=layers or None,
            base=before,
            relative=not plain,
            memory=memory * 1e9,
            seed=seed,
            watch=bar.update,
        )
    if html_file:
        write_whole(html_file, trace_page(found, shown))
    click.echo(found.to_json() if as_json else trace_text(found, shown, wants_more()))
    if html_file:
        write(html_file)


def _messages(prompt: str, reply: str | None = None) -> list[dict[str, str]]:
    """What a user says and what the assistant answers, as chat templates read it."""
    asked = [{"role": "user", "content": prompt}]
    return asked if reply is None else [*asked, {"role": "assistant", "content": reply}]
