"""Texts as games: each removal against a forward pass by hand, known credits, batches, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from accredit.core import endpoints
from accredit.errors import BadPayoff, InvalidInput
from accredit.games import grouped, text_game
from accredit.values import shapley
from tests.games.hand_made import bag, both
from tests.models.small_models import FAMILIES, TEXT, text_for, text_model

SHORT = "the film is not very good"


def some_coalitions(players: int, count: int = 12, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).random((count, players)) < 0.5
    rows[0], rows[1] = False, True
    return rows


def by_hand(model, encoded, ids, mask=None, vectors=None):
    """Logits of one row, straight from the Hugging Face model."""
    given = {"inputs_embeds": vectors} if vectors is not None else {"input_ids": torch.tensor([ids])}
    length = vectors.shape[1] if vectors is not None else len(ids)
    given["attention_mask"] = torch.tensor([[1] * length if mask is None else mask])
    if model.task == "translate":
        given["decoder_input_ids"] = torch.from_numpy(encoded.prefix)[None]
    with torch.no_grad():
        logits = model.model(**given).logits
    if model.task == "classify":
        return logits[0]
    if model.task == "fill":
        return logits[0, ids.index(model.tokenizer.mask_token_id)]
    return logits[0, -1]


def fresh(model, encoded, kept, removal):
    """The logits of one coalition's text, built without any of the game's code."""
    ids, player = encoded.ids.tolist(), iter(kept.tolist())
    stays = [bool(special) or next(player) for special in encoded.special]
    if removal == "delete":
        left = [i for i, s in zip(ids, stays, strict=True) if s]
        return by_hand(model, encoded, left or [model.tokenizer.bos_token_id])
    if removal == "mask":
        return by_hand(model, encoded, [i if s else model.tokenizer.mask_token_id for i, s in zip(ids, stays, strict=True)])
    if removal == "attention":
        return by_hand(model, encoded, ids, [int(s) for s in stays])
    vectors = model.model.get_input_embeddings()(torch.tensor([ids])).detach().clone()
    empty = torch.zeros_like(vectors[0, 0])
    if removal == "pad":
        pad = model.tokenizer.pad_token_id
        empty = model.model.get_input_embeddings()(torch.tensor(model.tokenizer.eos_token_id if pad is None else pad))
    for t, s in enumerate(stays):
        if not s:
            vectors[0, t] = empty
    return by_hand(model, encoded, ids, None, vectors)


def applicable(family: str) -> list[str]:
    masked = family in ("bert", "distilbert", "roberta", "electra")
    framed = family not in ("gpt2", "gpt2-labels")
    return ["delete", "pad", "zero"] + ["mask"] * masked + ["attention"] * framed


CASES = [
    (family, removal)
    for family in FAMILIES
    for removal in applicable(family)
    if (family, removal) not in {("bert-lm", "pad"), ("bert-lm", "zero")}  # by_hand finds the mask by its id
]


@pytest.mark.parametrize(("family", "removal"), CASES)
def test_payoffs_are_those_of_the_text_that_is_left(family, removal):
    model = text_model(family, dtype=torch.float64)
    encoded = model.encode(text_for(family))
    game = text_game(model, encoded, removal=removal, payoff="logit", target=2, players="token")
    coalitions = some_coalitions(len(game.players))
    expected = []
    if family == "gpt2-labels":  # transformers cannot batch this classifier; one row at a time it can
        assert model.model.config.pad_token_id is None
    for kept in coalitions:
        expected.append(float(fresh(model, encoded, kept, removal)[2]))
    assert_allclose(game.payoff(coalitions), expected, atol=1e-9)
    if family == "gpt2-labels":
        assert model.model.config.pad_token_id is None


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_kernels_agree(family):
    games = [
        text_game(text_model(family, kernel), text_for(family), target=1, players="token", payoff="logit")
        for kernel in ("sdpa", "eager")
    ]
    coalitions = some_coalitions(len(games[0].players))
    assert_allclose(games[0].payoff(coalitions), games[1].payoff(coalitions), atol=1e-5)


@pytest.mark.parametrize("payoff", ["logit", "probability", "log-odds", "margin"])
def test_payoffs_of_the_whole_text_are_functions_of_the_prediction(payoff):
    model = text_model("bert", dtype=torch.float64)
    z = model.predict(model.encode(TEXT))
    p = np.exp(z) / np.exp(z).sum()
    expected = {
        "logit": z[1],
        "probability": p[1],
        "log-odds": np.log(p[1] / (1 - p[1])),
        "margin": z[1] - max(z[0], z[2]),
    }
    game = text_game(model, TEXT, payoff=payoff, target="NEUTRAL", players="token")
    assert_allclose(endpoints(game)[1], expected[payoff], atol=1e-12)


@pytest.mark.parametrize("removal", ["mask", "delete", "attention", "pad", "zero"])
def test_shares_of_an_additive_model_are_its_terms(removal):
    model = bag()
    game = text_game(model, SHORT, removal=removal, target=1, players="token", payoff="logit")
    w, table = model.model.head.weight[1].detach(), model.model.embedding.weight.detach()
    instead = {"mask": 4, "pad": 0}.get(removal)
    empty = torch.zeros(4, dtype=torch.float64) if instead is None else table[instead]
    expected = [(w @ (table[i] - empty)).item() for i in game.encoded.ids[1:-1]]
    assert_allclose(shapley(game).credit, expected, atol=1e-9)


def test_and_is_shared_in_halves():
    credit = shapley(text_game(both(), SHORT, target=1, players="token", payoff="logit")).as_dict()
    assert_allclose(list(credit.values()), [0, 0, 0, 0.5, 0, 0.5], atol=1e-12)


def test_efficiency_in_single_precision():
    game = text_game(text_model("bert"), SHORT, payoff="log-odds", target=2, players="token")
    credit = shapley(game).credit
    nobody, everybody = endpoints(game)
    assert abs(credit.sum() - (everybody - nobody)) <= 1e-6


def test_word_players_are_groups_of_token_players():
    model = text_model("bert", dtype=torch.float64)
    tokens, words = (
        text_game(model, TEXT, target=0, players="token", payoff="logit"),
        text_game(model, TEXT, target=0, players="word", payoff="logit"),
    )
    assert words.players[1] == "gripping" and tokens.players[1:3] == ("grip", "ping")
    merged = grouped(tokens, {"gripping": ["grip", "ping"], "beautifully": ["beauti", "ful", "ly"]})
    coalitions = some_coalitions(len(words.players), 20)
    assert merged.players == words.players
    assert_allclose(merged.payoff(coalitions), words.payoff(coalitions), atol=1e-12)


def test_named_groups_and_the_rest_play():
    game = text_game(text_model("bert"), SHORT, players={"verdict": [4, 6]}, payoff="logit")
    assert game.players == ("the", "film", "is", "verdict", "very")
    for bad in ({"x": [0]}, {"x": [99]}, {"x": [1], "y": [1]}, {"x": []}):
        with pytest.raises(InvalidInput, match="players"):
            text_game(text_model("bert"), SHORT, players=bad, payoff="logit")


def counted_rows(model) -> list[int]:
    rows: list[int] = []
    model.model.register_forward_pre_hook(lambda _m, _a, given: rows.append(len(given["input_ids"])) or None, with_kwargs=True)
    return rows


@pytest.mark.parametrize("removal", ["mask", "delete", "attention"])
def test_each_distinct_coalition_costs_one_row_and_batches_are_full(removal):
    model = text_model("bert")
    game = text_game(model, TEXT, removal=removal, target=0, players="token", payoff="logit")
    distinct = some_coalitions(len(game.players), 50)
    game.payoff(distinct[:1])  # the first deletion also looks whether padding changes anything
    rows = counted_rows(model)
    earned = game.payoff(np.concatenate([distinct, distinct[::-1], distinct]))
    assert sum(rows) == 50
    assert_array_equal(earned[:50], earned[100:])
    assert_array_equal(earned[:50], earned[50:100][::-1])


@pytest.mark.parametrize("removal", ["mask", "delete", "attention", "zero"])
def test_the_batch_size_does_not_change_payoffs(removal):
    model = text_model("bert", dtype=torch.float64)
    wide, narrow = (
        text_game(model, TEXT, removal=removal, target=0, memory=m, players="token", payoff="logit") for m in (1e9, 1.0)
    )
    assert narrow.rows == 1 < wide.rows
    coalitions = some_coalitions(len(wide.players), 30)
    assert_allclose(wide.payoff(coalitions), narrow.payoff(coalitions), atol=1e-12)


def test_the_default_removal_is_the_mask_token_where_there_is_one():
    assert text_game(text_model("bert"), SHORT, players="token", payoff="logit").removal == "mask"
    assert text_game(text_model("gpt2"), TEXT, players="token", payoff="logit").removal == "delete"


def test_estimates_count_and_time():
    guess = text_game(text_model("bert"), SHORT, players="token", payoff="logit").estimate(1000)
    assert guess.payoffs == 1000 and guess.seconds > 0 and "1000 payoffs" in str(guess)
    with pytest.raises(InvalidInput, match="budget"):
        text_game(text_model("bert"), SHORT, players="token", payoff="logit").estimate(0)


def test_a_model_in_train_mode_pays_the_same_twice():
    model = text_model("bert")
    game = text_game(model, SHORT, target=0, players="token", payoff="logit")
    coalitions = some_coalitions(6)
    still = game.payoff(coalitions)
    model.model.train()
    assert_array_equal(game.payoff(coalitions), still)
    assert model.model.training


def test_refusals_name_the_argument_and_the_remedy():
    bert, gpt2 = text_model("bert"), text_model("gpt2")
    cases = [
        (lambda: text_game(gpt2, TEXT, removal="mask", players="token", payoff="logit"), "no mask token"),
        (lambda: text_game(gpt2, TEXT, removal="attention", players="token", payoff="logit"), "always stays"),
        (lambda: text_game(bert, SHORT, removal="burn", players="token", payoff="logit"), "removal is 'burn'"),
        (lambda: text_game(bert, SHORT, payoff="money", players="token"), "payoff is 'money'"),
        (lambda: text_game(bert, SHORT, players="letter", payoff="logit"), "players is 'letter'"),
        (lambda: text_game(bert, SHORT, target="GREAT", players="token", payoff="logit"), "GREAT"),
        (lambda: text_game(bert, "   ", players="token", payoff="logit"), "nothing to credit"),
        (lambda: text_game(bert, SHORT, memory=0, players="token", payoff="logit"), "memory"),
    ]
    for call, message in cases:
        with pytest.raises(InvalidInput, match=message):
            call()


def test_nan_payoffs_are_refused():
    model = text_model("bert")
    game = text_game(model, SHORT, target=0, players="token", payoff="logit")
    with torch.no_grad():
        model.model.classifier.bias[0] = float("inf")
    with pytest.raises(BadPayoff, match="inf"):
        game.payoff(some_coalitions(6))


def test_one_output_has_a_logit_and_nothing_else():
    model = text_model("bert")
    model.model.config.num_labels = 1
    model.model.classifier = torch.nn.Linear(16, 1)
    assert np.isfinite(endpoints(text_game(model, SHORT, players="token", payoff="logit"))).all()
    with pytest.raises(InvalidInput, match="probabilities"):
        text_game(model, SHORT, payoff="probability", players="token")


@pytest.mark.slow
def test_shap_gives_the_same_values_on_the_same_masking():
    shap = pytest.importorskip("shap", reason="shap is not installed; it is only compared with")
    game = text_game(text_model("bert", dtype=torch.float64), SHORT, payoff="logit", target=2, players="token")
    background = np.zeros((1, 6))
    explainer = shap.explainers.Exact(lambda rows: game.payoff(rows.astype(bool)), background)
    theirs = explainer(np.ones((1, 6))).values[0]
    assert_allclose(shapley(game).credit, theirs, atol=1e-9)
