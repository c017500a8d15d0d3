"""Two texts that a model reads together: token types, players of both, removal in both, and views that show both."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
import torch
from captum.attr import IntegratedGradients
from numpy.testing import assert_allclose

from accredit.errors import InvalidInput
from accredit.explanation import Explanation, explain
from accredit.games import text_game
from accredit.gradients import integrated_gradients
from accredit.models import TextModel
from accredit.views import explanation_page, text
from accredit.views.language.segments import segments
from tests.models.more_models import other_model
from tests.models.small_models import text_model, wordpiece
from tests.wording import refused, says

FIRST, SECOND = "A film is good. It lands!", "The film is not bad."
PAIR = (FIRST, SECOND)


def with_types() -> TextModel:
    """BERT, whose token types tell the second text from the first."""
    tokenizer = wordpiece()
    tokenizer.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    return TextModel(text_model("bert").model, tokenizer, "small bert")


def cross_encoder() -> TextModel:
    """One output: how well the second text fits the first."""
    return TextModel(other_model("Albert", id2label={0: "fit"}, label2id={"fit": 0}).model, with_types().tokenizer, "ranker")


MODELS = {"bert": with_types, "roberta": lambda: text_model("roberta"), "cross-encoder": cross_encoder}


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> TextModel:
    return MODELS[request.param]()


def own_call(model: TextModel, ids, types, attends=None) -> torch.Tensor:
    """The user's own call on ids and token types: (classes,)."""
    given = {"input_ids": torch.as_tensor(ids)[None]}
    if types is not None:
        given["token_type_ids"] = torch.as_tensor(types)[None]
    with torch.no_grad():
        return model.model(**given).logits[0]


def test_a_pair_is_read_as_the_tokenizer_puts_it_together(model):
    encoded, given = model.encode(PAIR), model.tokenizer(*PAIR, return_tensors="pt")
    assert encoded.ids.tolist() == given["input_ids"][0].tolist()
    assert (encoded.types is None) == ("token_type_ids" not in given)
    with torch.no_grad():
        assert_allclose(model.predict(encoded), model.model(**given).logits[0], atol=1e-6)


def test_token_types_make_a_difference():
    model = with_types()
    encoded = model.encode(PAIR)
    assert encoded.types is not None and encoded.types[encoded.part == 1].all()
    assert not encoded.types[encoded.part == 0].any()
    unmarked = own_call(model, encoded.ids, np.zeros_like(encoded.ids)).numpy()
    assert np.abs(model.predict(encoded) - unmarked).max() > 1e-3


def test_players_of_both_texts_with_names_kept_apart(model):
    words = (
        "A",
        "film",
        "is",
        "good",
        ".",
        "It",
        "lands",
        "!",
        "The",
        "film (pair)",
        "is (pair)",
        "not",
        "bad",
        ". (pair)",
    )
    assert model.encode(PAIR).partition("word").players == words
    sentences = ("A film is good.", "It lands!", "The film is not bad.")
    assert model.encode(PAIR).partition("sentence").players == sentences
    same = model.encode(("good film good", "good film good")).partition("word").players
    assert same == ("good", "film", "good (2)", "good (pair)", "film (pair)", "good (pair) (2)")


@pytest.mark.slow
@pytest.mark.parametrize("removal", ["mask", "delete"])
def test_shapley_is_that_of_the_users_own_calls(model, removal):
    """By the definition over all coalitions of sentences, each asked of the bare model."""
    encoded = model.encode(PAIR)
    owner, n = encoded.sentences, 3
    target = int(model.predict(encoded).argmax())

    def worth(coalition: tuple[int, ...]) -> float:
        stays = encoded.special | np.isin(owner, coalition)
        if removal == "mask":
            return float(own_call(model, np.where(stays, encoded.ids, model.tokenizer.mask_token_id), encoded.types)[target])
        types = None if encoded.types is None else encoded.types[stays]
        return float(own_call(model, encoded.ids[stays], types)[target])

    expected = [
        sum(
            (worth((*rest, i)) - worth(rest)) / (n * comb(n - 1, size))
            for size in range(n)
            for rest in combinations([j for j in range(n) if j != i], size)
        )
        for i in range(n)
    ]
    found = explain(PAIR, model, methods="shapley", players="sentence", payoff="logit", removal=removal, target=target)
    assert_allclose(found["shapley"].credit, expected, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("removal", ["mask", "delete", "attention", "pad", "zero"])
def test_nobody_left_and_somebody_left_earn_the_same_alone_and_in_a_batch(model, removal):
    game = text_game(model, PAIR, players="word", removal=removal, target=0, payoff="logit")
    some = np.random.default_rng(1).random((12, len(game.players))) < 0.5
    some[0] = False
    assert_allclose(game.payoff(some), [game.payoff(row[None])[0] for row in some], atol=1e-5)


def test_integrated_gradients_are_captums(model):
    found = integrated_gradients(model, PAIR, target=0, players="token", steps=64, tolerance=0.5, payoff="logit")
    encoded = model.encode(PAIR)
    types = None if encoded.types is None else torch.from_numpy(encoded.types)

    def logit(vectors: torch.Tensor) -> torch.Tensor:
        given = {} if types is None else {"token_type_ids": types.expand(len(vectors), -1)}
        return model.model(inputs_embeds=vectors, attention_mask=torch.ones(vectors.shape[:2]), **given).logits[:, 0]

    ids = torch.from_numpy(encoded.ids)[None]
    masked = torch.where(torch.from_numpy(encoded.special), ids, model.tokenizer.mask_token_id)
    table = model.model.get_input_embeddings()
    values = IntegratedGradients(logit).attribute(table(ids).detach(), table(masked).detach(), n_steps=64)
    expected = values.sum(dim=-1)[0].detach().numpy()[~encoded.special]
    assert_allclose(found.credit, expected, atol=1e-5)


@pytest.mark.slow
def test_every_method_runs_and_values_add_up(model):
    methods = "shapley,banzhaf,leave-one-out,owen,integrated-gradients,saliency,attention,rollout,flow,flow:agf"
    found = explain(PAIR, model, methods=methods, budget=300)
    assert not found.refused
    assert abs(found["shapley"].unshared) < 1e-6 and abs(found["owen"].unshared) < 1e-6
    assert (found.text, found.pair) == PAIR
    assert Explanation.from_json(found.to_json()) == found


def test_owen_shares_between_the_texts_first(model):
    """The credit of a text's players is the text's share in the game of the two texts."""
    words = explain(PAIR, model, methods="owen", budget=10**6)
    game = text_game(model, PAIR, players="word", payoff=words.payoff, target=words.target)
    of = {token.player: token.part for token in words.tokens}
    part = np.array([of[player] for player in game.players])
    both, first, second, none = game.payoff(np.stack([part >= 0, part == 0, part == 1, part < 0]))
    share = ((both - second) + (first - none)) / 2
    assert_allclose(words["owen"].credit[part == 0].sum(), share, atol=1e-6)


def test_kernels_agree_on_pairs():
    for family in ("bert", "roberta"):
        one, two = text_model(family, "sdpa"), text_model(family, "eager")
        methods = "shapley,attention,flow,saliency"
        a, b = (explain(PAIR, each, methods=methods, players="sentence") for each in (one, two))
        for method, result in a:
            assert_allclose(result.credit, b[method].credit, atol=1e-4)


# To be looked at


def test_every_character_of_both_texts_is_shown_in_its_place(model):
    found = explain(PAIR, model, methods="leave-one-out")
    for part, whole in enumerate(PAIR):
        assert "".join(s.text for s in segments(found, part) if s.written) == whole


def test_the_terminal_shows_both_texts_and_whose_the_rows_are(model):
    shown = text(explain(PAIR, model, methods="shapley,attention", budget=100)).splitlines()
    assert f"first text:  {FIRST}" in shown and f"second text: {SECOND}" in shown
    rows = [line.split("  ")[0] for line in shown]
    assert rows.index("first text:") < rows.index("film") < rows.index("second text:") < rows.index("film (pair)")
    assert rows.index("film (pair)") < rows.index("special tokens:")


def test_the_page_shows_both_texts_in_every_strip(model):
    page = explanation_page(explain(PAIR, model, methods="shapley,attention", budget=100))
    assert page.count(">First text<") == page.count(">Second text<") == 3
    assert says(page, "14 words of")


# What cannot be had


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("good", " "), "text is ' ': empty"),
        (("", "good"), "text is '': empty"),
        (("good",) * 3, "a tuple of 3 was given"),
        (("good", 3), "give one string, or a pair"),
        (["good", "bad"], "a list of 2 was given"),
    ],
)
def test_what_is_no_pair_is_refused(given, says):
    with pytest.raises(InvalidInput, match=says):
        explain(given, with_types())


def test_models_of_one_text_say_so():
    with refused("unsupported", "model"):
        explain(PAIR)
    for family in ("gpt2", "t5"):
        with refused("unsupported", "text"):
            explain(PAIR, text_model(family))


def test_a_tokenizer_that_puts_nothing_between_the_texts_is_told():
    model = text_model("gpt2-labels")
    assert any("nothing between" in note.text for note in explain(PAIR, model, methods="leave-one-out").notes)
    assert explain(PAIR, with_types(), methods="leave-one-out").notes == ()


def test_a_long_pair_is_cut_and_said():
    model = with_types()
    long = ("good film " * 20, "bad film " * 20)
    with refused("too-many", "text"):
        explain(long, model)
    found = explain(long, model, methods="leave-one-out", cut=True)
    assert "left out" in found.notes[0].text
    assert {token.part for token in found.tokens if not token.special} == {0, 1}
    for part, whole in enumerate(long):
        assert "".join(s.text for s in segments(found, part) if s.written) == whole
