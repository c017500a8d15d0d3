"""`accredit explain` for answers: prompts as text, files and messages, given and generated answers, what is refused."""

from __future__ import annotations

import json

import pytest

from accredit.explanation import Explanation
from tests.models.answering_models import answering
from tests.wording import says

ANNA = "Anna lives in Rome ."
BORIS = "Boris owns a dog ."
OSLO = "Anna lives in Oslo ."

PROMPT = "Anna lives in Rome . Boris owns a dog . Where does Anna live ?"
ASKS = "Where does Anna live ?"
SAID = "Anna lives in Rome ."
QUICK = ("--methods", "leave-one-out")


@pytest.fixture
def run(typed, monkeypatch, tmp_path):
    """`accredit explain` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: typed("explain", *words)


def test_three_words_explain_an_example(run):
    code, out, err = run("--answer", "--more")
    assert code == 0 and "an example" in err
    assert says(out, "This answer has probability") and "built-in answering model" in out


def test_a_prompt_and_an_answer(run, tmp_path):
    (tmp_path / "prompt.txt").write_text(PROMPT + "\n")
    results = [
        Explanation.from_json(run("--prompt", given, "--answer", SAID, "--fixed", ASKS, "--json", *QUICK)[1])
        for given in (PROMPT, "prompt.txt")
    ]
    assert results[0].players == (ANNA, BORIS) == results[1].players
    assert results[0].attributions == results[1].attributions and results[0].said.source.name == "given"


def test_a_context_and_a_generated_answer(run, tmp_path):
    (tmp_path / "two.txt").write_text("Boris owns a dog .")
    (tmp_path / "more.json").write_text(json.dumps(["Clara speaks Dutch .", "David speaks Greek ."]))
    code, out, err = run(
        "--context",
        "Anna lives in Rome .",
        "--context",
        "two.txt",
        "--context",
        "more.json",
        "--query",
        ASKS,
        "--generate",
        "--max-new-tokens",
        "5",
        "--out",
        "why.json",
        "--html",
        "why.html",
        "--more",
        *QUICK,
    )
    assert code == 0 and "written: why.json" in err and says(" ".join(out.split()), "5 new tokens")
    kept = Explanation.from_json((tmp_path / "why.json").read_text())
    assert kept.said.text == SAID and len(kept.players) == 4 and "accredit explain" in kept.provenance["command"]
    assert "Why this answer?" in (tmp_path / "why.html").read_text()


def test_messages_ids_and_a_model_folder(run, tmp_path):
    model = answering("qwen3", chat=True)
    model.model.save_pretrained(tmp_path / "model")
    model.tokenizer.save_pretrained(tmp_path / "model")
    messages = [{"role": "user", "content": "It is good."}, {"role": "user", "content": "Is it?"}]
    (tmp_path / "messages.json").write_text(json.dumps(messages))
    (tmp_path / "ids.json").write_text(json.dumps(model.tokenizer("It is")["input_ids"]))
    how = ("--model", "model", "--answer", "It is", "--json", *QUICK)
    assert Explanation.from_json(run("--prompt", "messages.json", *how)[1]).players == ("It is good.",)
    assert Explanation.from_json(run("--prompt", "ids.json", *how)[1]).provenance["players"] == "token"


def test_players_as_json_rather_than_and_a_store(run, tmp_path):
    how = (
        "--prompt",
        PROMPT,
        "--answer",
        SAID,
        "--rather-than",
        "Anna lives in Oslo .",
        "--store",
        "kept.db",
        "--json",
        *QUICK,
    )
    e = Explanation.from_json(run(*how, "--players", '{"who": "Anna", "where": [14, 18]}')[1])
    assert e.players == ("who", "where") and e.said.rather_than == OSLO
    again = Explanation.from_json(run(*how, "--players", '{"who": "Anna", "where": [14, 18]}')[1])
    assert again.provenance["passes"] == 2 and (tmp_path / "kept.db").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--answer", SAID), "there is no prompt"),
        (("--prompt", PROMPT, "--answer", ""), "--answer is '': there is nothing to credit"),
        (("--prompt", PROMPT, "--answer="), "--answer is '': there is nothing to credit"),
        (("--prompt", PROMPT, "--answer", SAID, "--generate"), "both given"),
        (("--prompt", "nothing.txt", "--answer", SAID), "no such file"),
        (("--prompt", PROMPT, "--answer", SAID, "--cut"), "--cut belongs to a text"),
        (("--prompt", PROMPT, "--answer", SAID, "--pair", "x"), "--pair belongs to a text"),
        (("--prompt", PROMPT, "--answer", SAID, "--interactions"), "--interactions belongs to rows of a table"),
        (("--prompt", PROMPT, "--answer", SAID, "--executor", "processes:2"), "--executor belongs to rows of a table"),
        (("--prompt", PROMPT, "--answer", SAID, "--segments", "x.png"), "--segments belongs to a picture"),
        (
            ("--prompt", PROMPT, "--answer", SAID, "--most-background", "3"),
            "--most-background belongs to rows of a table",
        ),
        (("--context", PROMPT, "--answer", SAID), "--context PASSAGE and --query QUESTION go together"),
        (
            ("--prompt", PROMPT, "--answer", SAID, "--removal", "filler"),
            "--removal filler and --filler TEXT go together",
        ),
        ((PROMPT, "--prompt", PROMPT, "--answer", SAID), "both given"),
        (("--prompt", PROMPT, "--answer", SAID, "--players", "{"), "not JSON"),
        (("--prompt", PROMPT, "--answer", SAID, "--html", "no/where.html"), "there is no folder"),
        (("--model", "x", "--generate"), "there is no prompt"),
        (("--query", "Where ?", "--generate"), "--context PASSAGE and --query QUESTION go together"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_one_line(run, words, says):
    code, _, err = run(*words)
    assert code != 0 and says in err and "Traceback" not in err
