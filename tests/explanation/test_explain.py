"""`explain` on small random models of many families: what adds up, what is refused, what is reported."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from accredit.core import Holds  # noqa: E402
from accredit.errors import InvalidInput  # noqa: E402
from accredit.explanation import Explanation, explain  # noqa: E402
from accredit.explanation.loading import subject_of  # noqa: E402
from accredit.explanation.stream import attribution_of  # noqa: E402
from accredit.methods import COMPARED, DEFAULT, find  # noqa: E402
from tests.models.small_models import FAMILIES, TEXT, image_model, text_for, text_model  # noqa: E402

EFFICIENT = ["shapley", "owen"]
EVERY = [name for name in COMPARED if ":" not in name]  # one solver of each value


@pytest.fixture(scope="module")
def bert():
    return text_model("bert")


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_method_runs_or_says_why(family):
    explanation = explain(text_for(family), text_model(family), methods=EVERY, budget=64, players="word")
    # The line from T5's padding embedding to this text crosses a kink of its norm: the integral is refused, not guessed.
    # Values of an encoder–decoder are not zeroed: the method compares the blocks of one stack.
    expected = {"integrated-gradients", "value-zeroing"} if family == "t5" else set()
    assert set(explanation.refused) <= expected
    assert set(explanation.attributions) | set(explanation.refused) == set(EVERY)
    for _, result in explanation:
        assert set(explanation.players) <= set(result.players)
        assert {c.axiom for c in result.claims} >= {"efficiency", "symmetry", "null player", "linearity"}
    assert Explanation.from_json(explanation.to_json()) == explanation


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("players", ["token", "word", "sentence"])
def test_efficient_values_add_up_in_single_precision(family, players):
    explanation = explain(text_for(family), text_model(family), methods=EFFICIENT, budget=200, players=players)
    for _, result in explanation:
        assert abs(result.unshared) <= 1e-6


@pytest.mark.slow
def test_words_get_what_their_pieces_get(bert):
    # For methods that add over tokens, the credit of a word is the sum of the credit of its pieces.
    for method in ("integrated-gradients", "input-x-gradient", "attention", "rollout", "pairwise-flow", "flow"):
        words = explain(TEXT, bert, methods=method)[method]
        tokens = explain(TEXT, bert, methods=method, players="token")
        pieces: dict[str, float] = {}
        owner = {t.shown: w.player for t, w in zip(tokens.tokens, explain(TEXT, bert, methods=method).tokens, strict=True)}
        for token in tokens.tokens:
            if token.player in tokens[method].players:
                pieces[owner[token.shown]] = pieces.get(owner[token.shown], 0.0) + tokens[method][token.player]
        assert pieces == pytest.approx({p: words[p] for p in pieces}, abs=2e-5), method


def test_owen_credit_of_a_word_is_its_share_among_the_words(bert):
    # Tokens inside words: the pieces of a word together get what the word gets when words are the smallest players.
    words = explain(TEXT, bert, methods="owen", players="word", budget=4000)
    tokens = explain(TEXT, bert, methods="owen", players="token", budget=100_000)
    first = tokens.tokens[2].player, tokens.tokens[3].player  # grip + ##ping
    assert "".join(first).replace(" ", "") == "gripping"
    assert sum(tokens["owen"][p] for p in first) == pytest.approx(words["owen"]["gripping"], abs=1e-6)


def test_integrated_gradients_are_complete_within_their_reported_gap(bert):
    result = explain(TEXT, bert, methods="integrated-gradients")["integrated-gradients"]
    assert result.total is not None and abs(result.unshared) <= 1e-3 * max(1.0, abs(result.total))


def test_kernels_agree():
    methods = ["leave-one-out", "attention", "rollout", "flow", "integrated-gradients"]
    fast, plain = (explain(TEXT, text_model("bert", kernel), methods=methods) for kernel in ("sdpa", "eager"))
    for name in methods:
        np.testing.assert_allclose(fast[name].credit, plain[name].credit, atol=2e-5)


def test_same_seed_same_numbers_and_another_seed_others(bert):
    options = {"methods": ["shapley"], "players": "token", "budget": 60}
    one, two, other = (explain(TEXT, bert, seed=seed, **options) for seed in (0, 0, 1))
    assert one["shapley"] == two["shapley"]
    assert not np.array_equal(one["shapley"].credit, other["shapley"].credit)


def test_methods_share_payoffs(bert):
    subject = subject_of(bert, TEXT)
    for name in ("shapley", "banzhaf", "leave-one-out", "owen"):
        attribution_of(subject, name)
        assert subject.record.remembered == 2 ** len(subject.players)  # after the first, nothing new is asked


def test_a_regression_shares_its_one_number():
    model = text_model("bert")
    model.model.config.num_labels = 1
    model.model.config.id2label = {0: "stars"}
    model.model.config.problem_type = "regression"
    model.model.classifier = torch.nn.Linear(16, 1)
    explanation = explain(TEXT, model, methods="shapley")
    assert explanation.payoff == "logit" and explanation.unit == "value"
    assert explanation.prediction[0][0] == "stars"
    result = explanation["shapley"]
    assert result.baseline + result.credit.sum() == pytest.approx(explanation.prediction[0][1], abs=1e-5)


def test_target_by_name_by_index_and_by_default(bert):
    by_default = explain(TEXT, bert, methods="leave-one-out")
    assert by_default.target == by_default.prediction[0][0]
    named, numbered = (explain(TEXT, bert, methods="leave-one-out", target=t) for t in ("neutral", 1))
    assert named == numbered or named["leave-one-out"] == numbered["leave-one-out"]
    assert named.target == "NEUTRAL"
    assert sum(p for _, p in named.prediction) == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("payoff", ["logit", "probability", "log-odds", "margin"])
def test_what_is_shared_is_the_payoff_asked_for(bert, payoff):
    explanation = explain(TEXT, bert, methods="shapley", payoff=payoff)
    result = explanation["shapley"]
    z = bert.predict(bert.encode(TEXT))
    k = int(z.argmax())
    p = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
    whole = {
        "logit": z[k],
        "probability": p[k],
        "log-odds": np.log(p[k] / (1 - p[k])),
        "margin": z[k] - np.delete(z, k).max(),
    }
    assert result.baseline + result.credit.sum() == pytest.approx(whole[payoff], abs=1e-5)
    assert explanation.payoff == payoff


@pytest.mark.slow
def test_pictures_have_patches_for_players():
    model = image_model()
    image = np.random.default_rng(0).integers(0, 256, (12, 12))
    explanation = explain(image, model, methods=EVERY, budget=64)
    of_texts = {"discretised-integrated-gradients", "hierarchy"}  # by words, and by passages and their sentences
    assert set(explanation.refused) == of_texts
    assert explanation.players == tuple(f"r{r}c{c}" for r in range(3) for c in range(3))
    assert explanation.picture.size == (12, 12) and set(explanation.picture.owner.ravel()) == set(range(9))
    coarse = explain(image, model, methods=["shapley", "attention"], players=(2, 2))
    assert coarse.picture.owner[0].tolist() == [0] * 6 + [1] * 6 and len(coarse.players) == 4
    assert "own" in coarse.refused["attention"]
    assert abs(coarse["shapley"].unshared) <= 1e-6


def test_special_tokens_carry_attention_but_are_no_players(bert):
    explanation = explain(TEXT, bert, methods=["attention", "shapley"])
    assert {"[CLS]", "[SEP]"} <= set(explanation["attention"].players)
    assert not {"[CLS]", "[SEP]"} & set(explanation.players)
    assert explanation["attention"].credit.sum() == pytest.approx(1.0, abs=1e-5)


def test_groups_of_positions_are_players(bert):
    explanation = explain(TEXT, bert, methods=["shapley", "attention"], players={"praise": [2, 3, 5, 6, 7]})
    assert explanation.players[1] == "praise"
    assert len([t for t in explanation.tokens if t.player == "praise"]) == 5


def test_a_model_may_come_as_a_pair_a_pipeline_or_a_folder(bert, tmp_path):
    from transformers import TextClassificationPipeline

    bert.model.save_pretrained(tmp_path)
    bert.tokenizer.save_pretrained(tmp_path)
    pipeline = TextClassificationPipeline(model=bert.model, tokenizer=bert.tokenizer)
    expected = explain(TEXT, bert, methods="leave-one-out")["leave-one-out"].credit
    for given in ((bert.model, bert.tokenizer), (pipeline,), (tmp_path,), (str(tmp_path),)):
        np.testing.assert_allclose(explain(TEXT, *given, methods="leave-one-out")["leave-one-out"].credit, expected, atol=1e-6)
    with pytest.raises(InvalidInput, match="tokenizer"):
        explain(TEXT, bert.model)


def test_a_picture_may_come_as_a_path_an_image_or_an_array(tmp_path):
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, (12, 12), dtype=np.uint8)
    picture = Image.fromarray(pixels)
    picture.save(tmp_path / "a.png")
    results = [explain(given, image_model(), methods="leave-one-out") for given in (pixels, picture, tmp_path / "a.png")]
    for other in results[1:]:
        np.testing.assert_array_equal(other["leave-one-out"].credit, results[0]["leave-one-out"].credit)


def test_a_long_text_is_refused_or_cut_and_said():
    bert = text_model("bert")
    text = "good film " * 60
    with pytest.raises(InvalidInput, match="reads 48"):
        explain(text, bert, methods="leave-one-out")
    explanation = explain(text, bert, methods="leave-one-out", cut=True)
    assert "left out" in explanation.notes[0].text


def test_long_runs_are_announced_and_short_ones_are_not(bert, monkeypatch):
    told: list[str] = []
    explain(TEXT, bert, methods="leave-one-out", announce=told.append)
    assert told == []
    monkeypatch.setattr("accredit.explanation.explainer.LONG", 0.0)
    monkeypatch.setattr("accredit.explanation.explainer.ENOUGH", 0.0)
    explain(TEXT, bert, methods=["shapley", "leave-one-out"], announce=told.append)
    assert len(told) == 1 and "payoffs" in told[0]


@pytest.mark.slow
def test_model_is_left_as_it_was(bert):
    bert.model.train()
    try:
        before = torch.random.get_rng_state().clone(), [p.requires_grad for p in bert.model.parameters()]
        in_training = explain(TEXT, bert, methods=list(DEFAULT))
        assert bert.model.training
        assert torch.equal(torch.random.get_rng_state(), before[0])
        assert [p.requires_grad for p in bert.model.parameters()] == before[1]
    finally:
        bert.model.eval()
    assert in_training["shapley"] == explain(TEXT, bert, methods=list(DEFAULT))["shapley"]  # dropout stays off


BAD = {
    "an unknown method": ({"methods": "shapely"}, "unknown"),
    "no method": ({"methods": []}, "methods is empty"),
    "an unknown tensor": ({"methods": "flow:xyz"}, "tensor"),
    "an unknown label": ({"target": "GREAT"}, "labels are NEGATIVE"),
    "a label out of range": ({"target": 7}, "0 to 2"),
    "unknown players": ({"players": "letter"}, "token, word, sentence"),
    "a grid for a text": ({"players": (2, 2)}, "for pictures"),
    "an unknown payoff": ({"payoff": "profit"}, "payoff"),
    "an unknown removal": ({"removal": "burn"}, "removal"),
    "a number as removal": ({"removal": 0.5}, "removal"),
    "a prefix without a decoder": ({"prefix": "so"}, "prefix"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_settings_are_named(bert, case):
    settings, said = BAD[case]
    with pytest.raises(InvalidInput, match=said):
        explain(TEXT, bert, **settings)


@pytest.mark.parametrize("text", ["", "   \n", None, 7, ["a"]])
def test_what_is_no_text_is_refused(bert, text):
    with pytest.raises(InvalidInput):
        explain(text, bert)


def test_a_model_that_returns_nan_is_refused():
    broken = text_model("bert")
    with torch.no_grad():
        broken.model.classifier.weight.fill_(float("nan"))
    with pytest.raises(ValueError, match=r"(?i)nan|finite"):
        explain(TEXT, broken, methods="shapley")


def test_a_model_without_attentions_keeps_its_other_methods():
    model = text_model("bert")
    forward = model.model.forward
    model.model.forward = lambda *args, output_attentions=False, **kwargs: forward(*args, **kwargs)  # it never gives them
    explanation = explain(TEXT, model, methods=["leave-one-out", "attention", "flow"])
    assert set(explanation.refused) == {"attention", "flow"}
    assert set(explanation.attributions) == {"leave-one-out"}


def test_the_list_of_methods_agrees_with_what_each_claims(bert):
    explanation = explain("A gripping film", bert, methods=EVERY, players="token")
    for name, result in explanation:
        listed = set(find(name, "explain").method.axioms)
        exactly = {c.axiom for c in result.claims if c.holds is Holds.EXACTLY} - {"uniqueness"}
        limit = {c.axiom for c in result.claims if c.holds is Holds.IN_THE_LIMIT}
        assert exactly <= listed <= exactly | limit, name
