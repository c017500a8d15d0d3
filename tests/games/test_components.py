"""Players inside a model, and characters: who is there changes nothing, who leaves passes nothing on."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from accredit.core import Holds, endpoints  # noqa: E402
from accredit.core.coalitions import from_index  # noqa: E402
from accredit.errors import InvalidInput  # noqa: E402
from accredit.games import text_game  # noqa: E402
from accredit.games.components import attribution_patching, component_game  # noqa: E402
from accredit.games.strings import character_game  # noqa: E402
from accredit.models import as_string_model  # noqa: E402
from accredit.models.builtin import circuit  # noqa: E402
from accredit.values import Exact, Permutations, Surrogate, shapley  # noqa: E402
from accredit.values.around import Around  # noqa: E402
from tests.models.small_models import text_model  # noqa: E402
from tests.wording import refused  # noqa: E402

WITHOUT_LAST = "the film is not very "

TEXT = "the film is not very good"


@pytest.mark.parametrize("players", ["layers", "heads", "neurons:1"])
@pytest.mark.parametrize("family", ["bert", "roberta", "gpt2"])
def test_with_everybody_the_model_says_what_it_says(family, players):
    model = text_model(family, dtype=torch.float64)
    try:
        game = component_game(model, TEXT, players, payoff="logit", target=0)
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
    game = component_game(model, TEXT, "heads", payoff="logit", target=0)
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
    game = component_game(text_model("bert", dtype=torch.float64), TEXT, "layers", payoff="logit", target=0)
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


@pytest.mark.parametrize("players", ["cells", "neurons", "neurons:9", "heads:1", "channels"])
def test_unknown_parts_are_named(players):
    with refused("unknown", "players"):
        component_game(text_model("bert"), TEXT, players)


# A circuit that is known: two heads of eight, by construction

IDS = torch.tensor([[0, 3, 7, 1, 5, 3]])  # 3 was followed by 7
OTHER = torch.tensor([[0, 4, 7, 1, 5, 3], [0, 3, 2, 1, 7, 3], [0, 9, 8, 3, 7, 3]])


def paid(logits):
    return logits[:, -1, 7] - logits[:, -1, 5]


def by_hand(ids, plays, instead):
    """The circuit in numpy, head by head: its payoff, and what each head read into the projection, (heads, places, width)."""
    model = circuit.load_circuit()
    stream = np.zeros((len(ids), circuit.WIDTH))
    stream[:, circuit.TOKEN] = np.eye(circuit.TOKENS)[ids]
    stream[:, circuit.PLACE] = np.eye(circuit.PLACES)[: len(ids)]
    seen = []
    for layer, block in enumerate(model.blocks):
        q, k, v, out = (getattr(block.attention, name).weight.detach().numpy() for name in ("q", "k", "v", "o_proj"))
        added = np.zeros_like(stream)
        for head in range(circuit.HEADS):
            rows = slice(head * circuit.HEAD_WIDTH, (head + 1) * circuit.HEAD_WIDTH)
            score = (stream @ q[rows].T) @ (stream @ k[rows].T).T
            score[np.triu_indices(len(ids), 1)] = -np.inf
            weight = np.exp(score - score.max(axis=1, keepdims=True))
            found = weight / weight.sum(axis=1, keepdims=True) @ (stream @ v[rows].T)
            player = layer * circuit.HEADS + head
            seen.append(found)
            added += (found if plays[player] else instead[player]) @ out[:, rows].T
        stream = stream + added
    said = stream[-1, circuit.SAID]
    return said[7] - said[5], np.stack(seen)


EVERYBODY = np.ones(8, dtype=bool)


@pytest.mark.slow
@pytest.mark.parametrize("removal", ["zero", "mean", "resample", "patch"])
def test_every_coalition_of_heads_is_paid_as_by_hand(removal):
    other = None if removal == "zero" else OTHER[:1] if removal == "patch" else OTHER
    game = component_game(circuit.load_circuit(), IDS, "heads", payoff=paid, removal=removal, other=other)
    read = np.stack([by_hand(ids, EVERYBODY, None)[1] for ids in OTHER.numpy()])
    one_by_one = list(read)
    donors = {"zero": [0 * read[0]], "mean": [read.mean(axis=0)], "patch": one_by_one[:1], "resample": one_by_one}[removal]
    some = from_index(np.arange(0, 256, 5), 8)
    expected = [np.mean([by_hand(IDS[0].numpy(), plays, donor)[0] for donor in donors]) for plays in some]
    assert_allclose(game.payoff(some), expected, atol=1e-9)


@pytest.mark.parametrize("removal", ["zero", "patch"])
def test_the_two_heads_of_the_circuit_earn_all_together(removal):
    other = OTHER[:1] if removal == "patch" else None
    game = component_game(circuit.load_circuit(), IDS, "heads", payoff=paid, removal=removal, other=other)
    found = shapley(game)
    assert_allclose(found.credit, [0.5 * (name in circuit.CIRCUIT) for name in game.players], atol=1e-9)
    assert found.exact and endpoints(game)[1] == pytest.approx(1.0)


def test_a_first_look_cannot_see_a_head_behind_a_saturated_softmax():
    """The gradient through attention that is certain is zero: a first look finds head 1.1 and misses head 0.0."""
    game = component_game(circuit.load_circuit(), IDS, "heads", payoff=paid, removal="patch", other=OTHER[:1])
    look = attribution_patching(game)
    assert look["head 1.1"] == pytest.approx(1.0) and look["head 0.0"] == pytest.approx(0.0, abs=1e-6)
    assert look.total is None and not look.claims


def test_a_first_look_is_the_slope_of_the_payoff_in_each_presence():
    model = text_model("bert", dtype=torch.float64)
    game = component_game(model, TEXT, "heads+mlps", payoff="logit", target=0)
    presence = torch.ones((2, len(game.players)), dtype=torch.float64)
    presence[:, 1] += torch.tensor([1e-5, -1e-5], dtype=torch.float64)
    with game.pays.hold(), torch.inference_mode():
        up, down = game._pay(presence, game._donors[0]).tolist()
    assert attribution_patching(game).credit[1] == pytest.approx((up - down) / 2e-5, abs=1e-6)


def test_patching_of_a_text_takes_activities_from_a_text_of_equal_length():
    model = text_model("bert", dtype=torch.float64)
    same = component_game(model, TEXT, "layers+mlps", payoff="logit", target=0, removal="patch", other=TEXT)
    plays = np.random.default_rng(0).random((4, len(same.players))) < 0.5
    assert_allclose(same.payoff(plays), endpoints(same)[1], atol=1e-9)  # what is put in its place is what was there
    with refused("shape", "other"):
        component_game(model, TEXT, "heads", removal="patch", other="good")
    with refused("missing", "other"):
        component_game(model, TEXT, "heads", removal="mean")
    with refused("conflict", "removal"):
        component_game(model, TEXT, "heads", other=TEXT)
    with refused("conflict", "other"):
        component_game(model, TEXT, "heads", removal="patch", other=[TEXT, TEXT])
    with refused("unknown", "removal"):
        component_game(model, TEXT, "heads", removal="none", other=TEXT)
    with refused("duplicate", "players"):
        component_game(model, TEXT, "heads+heads")


def test_a_module_needs_a_payoff_of_one_number_per_input():
    model = circuit.load_circuit()
    with refused("missing", "payoff"):
        component_game(model, IDS, "heads")
    with refused("shape", "payoff"):
        endpoints(component_game(model, IDS, "heads", payoff=lambda logits: logits[:, -1]))
    with refused("shape", "inputs"):
        endpoints(component_game(model, OTHER, "heads", payoff=paid))
    with refused("shape", "other"):
        endpoints(component_game(model, IDS, "heads", payoff=paid, removal="patch", other=OTHER[:1, :3]))
    with refused("unsupported", "model"):
        component_game(torch.nn.Linear(2, 2), IDS, "heads", payoff=paid)


def test_channels_of_a_picture_model_play():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 3, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(48, 2)).double()
    picture = torch.randn(1, 1, 6, 6, dtype=torch.float64)
    game = component_game(net, picture, "channels:0", payoff=lambda out: out[:, 1])
    assert game.players == ("channel 0.0", "channel 0.1", "channel 0.2")
    with torch.no_grad():
        seen = net[1](net[0](picture))
        weights = net[3].weight[1].reshape(3, -1)
        additive = [float(seen[0, c].flatten() @ weights[c]) for c in range(3)]  # nothing mixes channels behind them
    assert_allclose(shapley(game).credit, additive, atol=1e-9)
    with refused("unknown", "players"):
        component_game(net, picture, "channels:3", payoff=lambda out: out[:, 1])


def test_values_around_a_guess_are_the_values():
    game = component_game(circuit.load_circuit(), IDS, "heads", payoff=paid, removal="zero")
    guess = np.random.default_rng(0).normal(size=8)
    assert_allclose(shapley(game, Around(guess, Exact())).credit, shapley(game).credit, atol=1e-9)
    # in every order the guess adds the guess
    drawn = shapley(game, Around(guess, Permutations(200, 0)))
    assert_allclose(drawn.credit, shapley(game, Permutations(200, 0)).credit, atol=1e-9)
    assert drawn.interval is not None and drawn.total == pytest.approx(1.0)
    assert (drawn.interval[:, 0] - 1e-9 <= drawn.credit).all() and (drawn.credit <= drawn.interval[:, 1] + 1e-9).all()
    assert {claim.axiom for claim in drawn.claims if claim.holds is not Holds.UNKNOWN} == {"efficiency"}
    assert shapley(game, Around(guess, Surrogate(60, 0))).credit.sum() == pytest.approx(1.0)
    with refused("shape", "guess"):
        shapley(game, Around(guess[:3], Exact()))
