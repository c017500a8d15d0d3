"""Players inside a model, and characters: who is there changes nothing, who leaves passes nothing on."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from accredit.core import endpoints  # noqa: E402
from accredit.errors import InvalidInput  # noqa: E402
from accredit.games import text_game  # noqa: E402
from accredit.games.characters import character_game  # noqa: E402
from accredit.games.components import inside_game  # noqa: E402
from accredit.models import as_string_model  # noqa: E402
from accredit.values import shapley  # noqa: E402
from tests.models.small_models import text_model  # noqa: E402
from tests.wording import refused  # noqa: E402

WITHOUT_LAST = "the film is not very "

TEXT = "the film is not very good"


@pytest.mark.parametrize("players", ["layers", "heads", "neurons:1"])
@pytest.mark.parametrize("family", ["bert", "roberta", "gpt2"])
def test_with_everybody_the_model_says_what_it_says(family, players):
    model = text_model(family, dtype=torch.float64)
    try:
        game = inside_game(model, TEXT, players, payoff="logit", target=0)
    except InvalidInput:
        assert (family, players) == ("gpt2", "neurons:1")  # its feed-forward part is not made of linear layers
        return
    nobody, everybody = endpoints(game)
    assert everybody == pytest.approx(float(model.predict(model.encode(TEXT))[0]), abs=1e-9)
    assert nobody != pytest.approx(everybody)
    plays = np.random.default_rng(0).random((5, len(game.players))) < 0.5
    assert_allclose(game.payoff(plays), [game.payoff(row[None])[0] for row in plays], atol=1e-9)


def test_a_silent_head_is_a_head_whose_output_is_zero():
    model = text_model("bert", dtype=torch.float64)
    heads = int(model.model.config.num_attention_heads)
    game = inside_game(model, TEXT, "heads", payoff="logit", target=0)
    dense = model.model.bert.encoder.layer[0].attention.output.dense
    width = dense.in_features // heads
    kept = dense.weight.detach().clone()
    with torch.no_grad():
        dense.weight[:, width : 2 * width] = 0
    by_hand = float(model.predict(model.encode(TEXT))[0])
    with torch.no_grad():
        dense.weight.copy_(kept)
    plays = np.ones((1, len(game.players)), dtype=bool)
    plays[0, game.players.index("head 0.1")] = False
    assert game.payoff(plays)[0] == pytest.approx(by_hand, abs=1e-9)


def test_layers_share_the_output():
    game = inside_game(text_model("bert", dtype=torch.float64), TEXT, "layers", payoff="logit", target=0)
    nobody, everybody = endpoints(game)
    assert shapley(game).credit.sum() == pytest.approx(everybody - nobody)


def test_characters_play():
    model = text_model("bert", dtype=torch.float64)
    game = character_game(model, TEXT, "good", payoff="logit", target=0)
    assert game.players == ("g", "o", "o (2)", "d")
    nobody, everybody = endpoints(game)
    assert everybody == pytest.approx(float(model.predict(model.encode(TEXT))[0]), abs=1e-9)
    assert nobody == pytest.approx(float(model.predict(model.encode(WITHOUT_LAST))[0]), abs=1e-9)
    with refused("missing", "word"):
        character_game(model, TEXT, "bad")
    with refused("duplicate", "word"):
        character_game(model, "good, good film", "good")
    with refused("missing", "word"):
        character_game(model, TEXT, "")


@pytest.mark.parametrize("text", ["a", "no 🙂", "it is"])
def test_all_characters_of_a_text_play_and_without_them_no_word_is_left(text):
    model = text_model("bert", dtype=torch.float64)
    game = character_game(model, text, payoff="logit", target=0)
    nobody, everybody = endpoints(game)
    assert len(game.players) == len(text) and shapley(game).credit.sum() == pytest.approx(everybody - nobody)
    words = text_game(model, text, removal="delete", payoff="logit", target=0, players="token")
    assert nobody == pytest.approx(endpoints(words)[0], abs=1e-9)
    strings = character_game(as_string_model(lambda texts: [float(len(one)) for one in texts]), text, payoff="logit")
    assert endpoints(strings) == pytest.approx((0, len(text)))


@pytest.mark.parametrize("players", ["cells", "neurons", "neurons:9", "heads:1"])
def test_unknown_parts_are_named(players):
    with pytest.raises(InvalidInput, match="'layers', 'heads'"):
        inside_game(text_model("bert"), TEXT, players)
