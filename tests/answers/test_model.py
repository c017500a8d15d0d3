"""Prompts are read as the model's own call reads them; template words never play; answers are found or refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from accredit.answers import answer_game, as_answering_model
from accredit.answers.prompt import prompt_of
from accredit.core.coalitions import from_index
from accredit.errors import InvalidInput
from accredit.models import TextModel, load_text_model
from accredit.models.builtin import answers_folder, load_answers
from accredit.models.builtin.facts import KINDS, facts
from accredit.models.encoded import visible
from tests.models.answering_models import TEXT, answering, many_sided
from tests.models.small_models import text_model
from tests.wording import refused

FILM = "A film. It is bad"
BOTH_TURNS = "A film. It is bad It never lands"

CHATTED = [
    {"role": "system", "content": "user is good"},
    {"role": "user", "content": "A film. It is bad"},
    {"role": "assistant", "content": "It never lands"},
    {"role": "user", "content": " It is good "},
]


def whole(game):
    """The ids of the prompt in which everybody plays."""
    everybody = np.ones((1, len(game.players)), dtype=bool)
    return game.pays.parts.rows(everybody, game.answer)[0].ids.tolist()


@pytest.mark.parametrize("family", ["gpt2", "llama", "t5", "bart"])
@pytest.mark.parametrize("players", ["sentence", "word", "token"])
def test_a_text_is_read_as_the_tokenizer_gives_it(family, players):
    model = answering(family)
    assert whole(answer_game(model, TEXT, "good", players=players)) == model.tokenizer(TEXT)["input_ids"]


def test_messages_are_read_as_the_template_gives_them_with_one_begin_of_text():
    for family in ("llama", "gpt2"):
        model = answering(family, chat=True)
        own = model.tokenizer.apply_chat_template(CHATTED, add_generation_prompt=True)["input_ids"]
        assert own.count(model.tokenizer.bos_token_id) == 1
        for players in ("turn", "word", "token"):
            assert whole(answer_game(model, CHATTED, "good", players=players)) == own
    assert whole(answer_game(model, CHATTED, "good", players="sentence", removal="attention")) == own


def test_a_rendered_chat_gets_no_second_begin_of_text():
    model = answering("llama", chat=True)
    rendered = model.tokenizer.apply_chat_template(CHATTED, add_generation_prompt=True, tokenize=False)
    own = model.tokenizer.apply_chat_template(CHATTED, add_generation_prompt=True)["input_ids"]
    assert model.tokenizer(rendered)["input_ids"][:2] == [model.tokenizer.bos_token_id] * 2  # what would go wrong
    assert whole(answer_game(model, rendered, "good", players="sentence")) == own


def test_role_names_and_special_tokens_never_play():
    model = answering("gpt2", chat=True)
    game = answer_game(model, CHATTED, "good", players="word", removal="attention")
    assert game.players[:6] == ("user", "is", "good", "A", "film", ".")
    assert game.players[6:] == ("It", "is (2)", "bad", "It (2)", "never", "lands", "It (3)", "is (3)", "good (2)")
    kept = game.pays.parts.partition.kept(np.zeros((1, len(game.players)), dtype=bool))[0]
    left = model.tokenizer.decode(game.pays.parts.layout.ids[kept])
    assert left.count("user") >= 2 and "film" not in left  # the roles stay, what was said is gone
    typed = answer_game(answering("llama"), "<s> It is </s> good", "good", players="word")
    assert typed.players == ("It", "is", "good")


def test_turns_leave_with_their_template_and_the_last_one_stays():
    model = answering("llama", chat=True)
    game = answer_game(model, CHATTED, "good", players="turn")
    assert game.players == ("user is good", FILM, "It never lands")
    for kept in from_index(np.arange(8), 3):
        left = [m for m, stays in zip(CHATTED, [*kept, True], strict=True) if stays]
        own = model.tokenizer.apply_chat_template(left, add_generation_prompt=True)["input_ids"]
        assert game.pays.parts.rows(kept[None], game.answer)[0].ids.tolist() == own


def test_examples_of_a_chat_and_of_a_text():
    model = answering("llama", chat=True)
    assert answer_game(model, CHATTED, "good", players="example").players == (BOTH_TURNS,)
    assert answer_game(model, CHATTED, "good", players="turn", fixed=0).players == (
        FILM,
        "It never lands",
    )
    shots = "film: good\n\nshot: bad\n\nA film:"
    assert answer_game(answering("gpt2"), shots, " good", players="example").players == ("film: good", "shot: bad")
    assert len(answer_game(answering("gpt2"), shots, " good", players="paragraph").players) == 3


def test_passages_are_joined_as_if_the_others_had_never_been_there():
    model = answering("gpt2")
    game = answer_game(model, context=["A film.", "A shot.", "It lands."], query="It is", answer=" good")
    for kept in from_index(np.arange(8), 3):
        left = "\n".join(p for p, k in zip(["A film.", "A shot.", "It lands."], kept, strict=True) if k)
        own = model.tokenizer((left + "\n\n" if left else "") + "It is")["input_ids"]
        assert game.pays.parts.rows(kept[None], game.answer)[0].ids.tolist() == own


@pytest.mark.parametrize("players", ["word", "sentence", "paragraph", ["It never", "film!"], {"x": (3, 9), "y": "good"}])
def test_nothing_is_lost_when_everybody_stays(players):
    text = "  A gripping film. It never\n lands!\n\n A film! It is good \n"
    prompt = prompt_of(text)
    parts = prompt.parts(players)
    assert parts.without(np.ones(len(parts.players), dtype=bool)).contents == (text,)


def test_an_answer_is_what_follows_the_prompt():
    model = answering("gpt2")
    both = model.tokenizer("A film is very good")["input_ids"]
    found = model.answer(" very good", model.prompt("A film is"))
    assert [*model.tokenizer("A film is")["input_ids"], *found.ids.tolist()] == both
    assert found.text == " very good" and "".join(found.pieces) == found.text


def test_generation_is_greedy_and_says_so():
    model = answering("gpt2")
    ids = model.tokenizer("A film", return_tensors="pt")
    own = model.model.generate(**ids, do_sample=False, max_new_tokens=4, pad_token_id=0)[0, ids["input_ids"].shape[1] :]
    game = answer_game(model, "A film", players="word", generation={"max_new_tokens": 4})
    assert_array_equal(game.answer.ids, own)
    chosen = game.provenance["answer from"]["settings"]
    assert chosen["do_sample"] is False and chosen["max_new_tokens"] == 4


@pytest.mark.parametrize("family", ["t5", "bart"])
def test_an_encoder_decoder_generates_after_its_start(family):
    model = answering(family)
    game = answer_game(model, TEXT, generation={"max_new_tokens": 3})
    own = model.model.generate(**model.tokenizer(TEXT, return_tensors="pt"), do_sample=False, max_new_tokens=3)[0]
    assert game.answer.ids.tolist() == own[len(model.start) :][: len(game.answer.ids)].tolist()


def test_white_space_is_shown_as_what_it_is():
    assert visible("\n") == "⏎" and visible(" a") == "a"
    assert answering("gpt2").answer("\n\nA film.\nIt", answering("gpt2").prompt("A")).tokens[0] in ("⏎", "⏎⏎")


def test_messages_without_a_template_and_models_that_do_not_write_are_refused():
    with pytest.raises(InvalidInput, match="no chat template"):
        answer_game(answering("llama"), CHATTED, "good")
    with pytest.raises(InvalidInput, match="does not write"):
        as_answering_model(text_model("bert"))


def test_a_template_that_refuses_what_is_left_is_named():
    model = answering("llama", chat=True)
    model.tokenizer.chat_template = (
        "{% if messages[0].role != 'system' %}{{ raise_exception('must begin with system') }}{% endif %}x"
    )
    with refused("unsupported"):
        answer_game(model, CHATTED, "good", players="turn").payoff(np.zeros((1, 3), dtype=bool))


def test_a_multimodal_decoder_is_not_taken_for_an_encoder_decoder(tmp_path):
    model = many_sided()
    read = TextModel(model.model, model.tokenizer)
    assert read.task == "continue"
    own = model.model(**model.tokenizer(TEXT, return_tensors="pt")).logits[0, -1]
    assert_allclose(read.predict(read.encode(TEXT)), own.detach(), atol=1e-5)
    model.model.save_pretrained(tmp_path)
    model.tokenizer.save_pretrained(tmp_path)
    assert load_text_model(tmp_path).task == "continue"


@pytest.mark.slow
def test_the_builtin_model_answers_fresh_contexts():
    model, tokenizer = load_answers()
    for kind in KINDS:
        for seed in range(10_000, 10_050):
            made = facts(kind, 2 + seed % 9, seed)
            asked = tokenizer("\n".join(made.context) + "\n\n" + made.query)["input_ids"]
            said = [*tokenizer(made.answer, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
            with torch.inference_mode():
                chosen = model(torch.tensor([[*asked, *said[:-1]]])).logits[0, len(asked) - 1 :].argmax(-1)
            assert chosen.tolist() == said, made


def test_the_builtin_folder_is_small_and_holds_nothing_that_could_run():
    files = list(answers_folder().iterdir())
    assert {file.suffix for file in files} <= {".json", ".safetensors", ".md"}
    assert sum(file.stat().st_size for file in files) <= 2_000_000


@pytest.mark.parametrize(("kind", "passages"), [("sad", 3), ("joint", 1), ("plain", 17), ("plain", True)])
def test_contexts_that_cannot_be_made_are_refused(kind, passages):
    with pytest.raises(InvalidInput):
        facts(kind, passages)
