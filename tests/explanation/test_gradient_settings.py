"""Gradients in explain: their settings reach them from Python and from the command, and answers have gradients too."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from numpy.testing import assert_allclose

from accredit.cli.explain import explain as command
from accredit.core import Holds
from accredit.errors import InvalidInput, NotConverged
from accredit.explanation import explain
from accredit.explanation.gradients import draw
from accredit.gradients import integrated_gradients, saliency
from accredit.gradients.point import point
from accredit.methods import METHODS
from tests.models.answering_models import answering
from tests.models.small_models import text_model
from tests.wording import reads, refused, says

TEXT = "a bad film"
ALONG = ("integrated-gradients", "gradient-shap", "sequential-integrated-gradients", "discretised-integrated-gradients")
GRADIENTS = [method.name for method in METHODS if method.kind == "gradients"]


@pytest.mark.slow
def test_settings_reach_the_methods_that_take_them():
    model = text_model("bert", dtype=torch.float64)
    found = explain(TEXT, model, methods="ig,saliency,loo", layer=1, baseline="zero", tolerance=1e-9, most_steps=512)
    asked = {"target": found.target, "payoff": "log-odds", "players": "word", "layer": 1}
    alone = integrated_gradients(model, TEXT, baseline="zero", tolerance=1e-9, most_steps=512, **asked)
    assert_allclose(found["ig"].credit, alone.credit)
    assert found["ig"].certificate["tolerance"] == 1e-9 and found["ig"].provenance["baseline"] == "zero"
    assert_allclose(found["saliency"].credit, saliency(model, TEXT, **asked).credit)
    assert says(map(str, found.notes), "layer=1 concerns integrated-gradients")
    assert says(map(str, found.notes), "baseline='zero' concerns integrated-gradients")


@pytest.mark.slow
def test_draws_and_points_reach_the_methods_that_take_them():
    model = text_model("bert", dtype=torch.float64)
    found = explain(TEXT, model, methods="gradient-shap,smoothgrad,dig", samples=7, noise=0.25, points=5)
    assert reads(str(found["gradient-shap"].method))
    assert str(found["smoothgrad"].method) == "smoothgrad(noise=0.25, samples=7, seed=0)"
    assert found["discretised-integrated-gradients"].certificate["points"] == 5
    told = answering("gpt2", torch.float64)
    said = explain("A film is good.", told, answer=" It", methods="gradient-shap,dig", samples=9, points=4)
    assert said["gradient-shap"].payoffs == 9 and said["dig"].certificate["points"] == 4


def test_what_a_refusal_asks_for_can_be_given():
    """Few steps and a narrow tolerance are refused; the words of the refusal are arguments of the same call."""
    model = text_model("bert", dtype=torch.float64)
    with refused("not-converged", has="most_steps to 4"):
        explain(TEXT, model, methods="ig", most_steps=2, tolerance=1e-12)
    assert explain(TEXT, model, methods="ig", most_steps=64, tolerance=1e-6)["ig"].certificate["steps"] <= 64


@pytest.mark.half_precision("bfloat16")
def test_a_refusal_in_half_precision_names_the_precision():
    model = text_model("gpt2", dtype=torch.bfloat16)
    for method in ("ig", "sig"):
        with refused("not-converged", has="with dtype float32"):
            explain("It is good.", model, methods=method, tolerance=1e-9, most_steps=4)


@pytest.mark.parametrize("family", ["gemma3"])
def test_a_pad_row_of_zeros_can_be_left_for_another_baseline(family):
    """From a zero vector RMSNorm is not smooth; the mean embedding is reached by the call that the refusal names."""
    model = answering(family, torch.float64).text_model
    with torch.no_grad():
        model.model.get_input_embeddings().weight[model.tokenizer.pad_token_id] = 0
    found = explain("A film is good.", model, methods="ig", baseline="mean", target=7)
    assert found["ig"].provenance["baseline"] == "mean" and found["ig"].claim("efficiency").holds is Holds.IN_THE_LIMIT


@pytest.mark.parametrize(
    ("methods", "settings", "said"),
    [
        ("shapley", {"layer": 1}, "layer is 1, and no requested method accepts it; it applies to integrated-gradients"),
        ("saliency", {"baseline": "zero"}, "baseline is 'zero', and no requested method accepts it"),
        ("ig", {"layer": 5}, "layer is 5; give a number from 0 to 1"),
        ("ig", {"baseline": "snow"}, "baseline is 'snow'"),
        ("ig", {"samples": 9}, "samples is 9, and no requested method accepts it; it applies to gradient-shap, smooth"),
        ("gradient-shap", {"samples": 1}, "samples is 1"),
        ("smoothgrad", {"noise": 0.0}, "noise above 0"),
        ("dig", {"points": 1}, "give points"),
        ("ig", {"tolerance": 0}, "tolerance > 0"),
        ("ig", {"most_steps": 0}, "give 1 ≤ steps"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(methods, settings, said):
    with pytest.raises(InvalidInput, match=said):
        explain(TEXT, text_model("bert"), methods=methods, **settings)


def test_rows_of_a_table_take_none():
    with pytest.raises(InvalidInput, match=r"^layer belongs to"):
        explain(np.zeros((1, 2)), lambda rows: rows.sum(axis=1), background=np.ones((1, 2)), layer=1)


@pytest.mark.slow
def test_the_command_takes_them(tmp_path):
    words = ["A film.", "--methods", "ig", "--layer", "1", "--baseline", "pad", "--tolerance", "0.1", "--json"]
    run = CliRunner().invoke(command, [*words, "--most-steps", "32"], catch_exceptions=False)
    found = json.loads(run.stdout)["attributions"]["integrated-gradients"]
    assert found["provenance"]["layer"] == "1" and found["certificate"]["tolerance"] == 0.1
    with refused("misplaced", "most_steps"):
        CliRunner().invoke(command, ["--table", "--most-steps", "3"], catch_exceptions=False)
    words = ["A film.", "--methods", "gradient-shap,dig", "--samples", "6", "--noise", "0.5", "--points", "4", "--json"]
    drawn = json.loads(CliRunner().invoke(command, words, catch_exceptions=False).stdout)["attributions"]
    assert drawn["gradient-shap"]["method"]["settings"] == {"samples": 6, "noise": 0.5, "seed": 0}
    assert drawn["discretised-integrated-gradients"]["certificate"]["points"] == 4
    (tmp_path / "texts.txt").write_text("A film.\n")
    with refused("misplaced", "layer"):
        CliRunner().invoke(command, [str(tmp_path / "texts.txt"), "--methods", "loo", "--layer", "1"], catch_exceptions=False)


class Cliff(torch.nn.Module):
    def forward(self, x):
        return torch.sigmoid(2000 * (x.sum(dim=1) - 0.7)) + 0.1 * x[:, 0]


def test_random_points_are_doubled_where_few_miss_a_steep_place():
    at = point(Cliff(), [1.0, 1.0], payoff="logit")
    with refused("not-converged", kind=NotConverged, has="(in explain: most_steps)"):
        draw([at], seed=0, samples=50, most=50, noise=0.0)
    found = draw([at], seed=0, samples=50, most=1 << 14, noise=0.0)
    assert found.payoffs > 50
    # eight standard errors of a mean of thousands: false alarm below 1e-12
    assert abs(found.unshared) <= 8 * found.stderr.sum()


# Answers

PROMPT, ANSWER = "A gripping film. It never lands!", " It is good."


def asked(model, methods, **settings):
    return explain(PROMPT, model, answer=ANSWER, methods=methods, players="word", **settings)


def log_probabilities(model, vectors, said):
    """By hand: one call of the model, its logits read one position before each token."""
    if model.encodes:
        start = torch.tensor([[*model.start.tolist(), *said[:-1]]])
        logits = model.model(inputs_embeds=vectors, decoder_input_ids=start).logits[0]
    else:
        after = model.model.get_input_embeddings()(torch.tensor([said[:-1]]))
        logits = model.model(inputs_embeds=torch.cat([vectors, after], dim=1)).logits[0, -len(said) :]
    return logits.log_softmax(dim=-1)[range(len(said)), said]


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gpt2", "llama", "t5", "bart"])
def test_slopes_of_each_token_of_an_answer_by_hand(family):
    model = answering(family, torch.float64)
    found = asked(model, "input-x-gradient,leave-one-out")
    prompt, said = model.prompt(PROMPT), model.answer(ANSWER, model.prompt(PROMPT)).ids.tolist()
    ids = model.tokenize([model.render(prompt)], False)[0]
    vectors = model.model.get_input_embeddings()(torch.from_numpy(ids))[None].detach().requires_grad_(True)
    worth = log_probabilities(model, vectors, said)
    assert_allclose(worth.detach(), found.said.likely, atol=1e-6)
    names = [name for name, a, b in found.said.targets if b - a == 1]
    assert len(names) == len(said)
    for k, name in enumerate(names):
        (slope,) = torch.autograd.grad(worth[k], vectors, retain_graph=True)
        by_token = (vectors * slope).sum(dim=-1)[0].detach().numpy()
        credit = found.of(name)["input-x-gradient"].credit
        fixed = model.offsets(PROMPT, False)[1]
        played = sum(by_token[t] for t, (a, b) in enumerate(fixed.tolist()) if PROMPT[a:b].strip())
        assert_allclose(credit.sum(), played, atol=1e-6)
    whole = sum(found.of(name)["input-x-gradient"].credit for name in names)
    assert_allclose(found["input-x-gradient"].credit, whole, atol=1e-6)  # parts of these models are float32


@pytest.mark.slow
def test_integrated_gradients_of_an_answer_share_its_log_probability():
    model = answering("llama", torch.float64)
    found = asked(model, ALONG, baseline="pad", target="answer")
    everybody = found.said.likely.sum()
    for name in ("integrated-gradients", "gradient-shap"):
        one = found[name]
        assert_allclose(one.total + one.baseline, everybody, atol=1e-6)
        assert abs(one.unshared) < 1e-2 * np.abs(one.credit).sum() + 8 * np.sum(one.stderr if one.stderr is not None else 0)
    assert found.players == found["sequential-integrated-gradients"].players


def test_an_answer_rather_than_another():
    model = answering("llama", torch.float64)
    one, two = (
        explain(PROMPT, model, answer=said, methods="input-x-gradient", players="word", target="answer")
        for said in (ANSWER, " A bad shot.")
    )
    both = explain(
        PROMPT, model, answer=ANSWER, rather_than=" A bad shot.", methods="input-x-gradient", players="word", target="answer"
    )
    name = "input-x-gradient"
    assert_allclose(both[name].credit, one[name].credit - two[name].credit, atol=1e-6)
    with refused("conflict", "layer"):
        explain(PROMPT, model, answer=ANSWER, rather_than=" A bad shot.", methods="saliency", players="word", layer=1)


def test_other_payoffs_of_an_answer():
    model = answering("llama", torch.float64)
    one, mean, p = (
        asked(model, "input-x-gradient", payoff=payoff, target="answer")
        for payoff in ("log-probability", "mean", "probability")
    )
    name, tokens, chance = "input-x-gradient", len(one.said.likely), np.exp(one.said.likely.sum())
    assert_allclose(mean[name].credit * tokens, one[name].credit, rtol=1e-9)
    assert_allclose(p[name].credit, one[name].credit * chance, rtol=1e-4)


def test_a_block_of_an_answering_model():
    model = answering("llama", torch.float64)
    found = asked(model, "ig,attn-lrp", layer=1, target="answer")
    one = found["integrated-gradients"]
    assert abs(one.unshared) < 1e-3 * np.abs(one.credit).sum()
    assert one.players[: len(found.players)] == found.players and len(one.players) > len(found.players)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["qwen3", "gemma3", "mistral", "t5"])
def test_every_method_on_every_family_of_answers(family):
    found = asked(answering(family), GRADIENTS, target="answer", baseline="mean")
    assert not found.refused
    assert all(np.isfinite(one.credit).all() for one in found.attributions.values())


@pytest.mark.slow
def test_steep_built_in_answers_are_refused_rather_than_guessed():
    """Its attention is nearly hard, so almost all of its change lies between two neighbouring points of any path."""
    facts = ["Anna lives in Rome .", "Boris owns a dog ."]
    found = explain(
        context=facts, query="Where does Anna live ?", methods="leave-one-out,ig,gradient-shap", target="answer", most_steps=64
    )
    assert set(found.refused) == {"integrated-gradients", "gradient-shap"}
    said = found.refused["integrated-gradients"]
    assert "most_steps" in said and says(said, "such as shapley")  # an answer has no payoff 'logit'
    assert "shapley" in found.refused["gradient-shap"]
