"""AttnLRP: against the rules written out on a Llama, against captum where both have the same rules, and what is conserved."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from captum.attr import LRP
from numpy.testing import assert_allclose

from accredit.core import Holds
from accredit.gradients import attn_lrp, input_x_gradient
from tests.models.answering_models import answering
from tests.models.more_models import other_model
from tests.models.small_models import FAMILIES, TEXT, image_model, text_for, text_model
from tests.wording import refused

KEPT = "kept on the way"

PICTURE = np.random.default_rng(3).normal(size=(1, 12, 12)).astype(np.float32)


class Gated(torch.nn.Module):
    """RMSNorm, a gated layer, LayerNorm without shift, a linear map: nothing in it has a bias."""

    def __init__(self, act=torch.nn.functional.silu):
        super().__init__()
        torch.manual_seed(1)
        self.norm, self.act = torch.nn.Parameter(torch.rand(4) + 0.5), act
        self.gate, self.up = (torch.nn.Linear(4, 6, bias=False) for _ in range(2))
        self.down = torch.nn.Linear(6, 2, bias=False)
        self.second = torch.nn.LayerNorm(6, bias=False)
        self.double()

    def forward(self, x):
        x = x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + 1e-6) * self.norm
        return self.down(self.second(self.act(self.gate(x)) * self.up(x)))


@pytest.mark.parametrize("act", [torch.nn.functional.silu, torch.tanh, torch.nn.functional.gelu, torch.relu])
def test_norms_gates_and_maps_without_bias_pass_on_all_they_get(act):
    net, row = Gated(act), [0.5, -1.0, 2.0, 0.1]
    found = attn_lrp(net, row, target=1, payoff="logit")
    assert_allclose(found.credit.sum(), net(torch.tensor([row], dtype=torch.float64))[0, 1].item(), rtol=1e-9)
    assert abs(found.certificate[KEPT]) < 1e-9
    assert not np.isclose(input_x_gradient(net, row, target=1, payoff="logit").credit.sum(), found.credit.sum())


def test_a_gated_layer_follows_the_rules_written_out():
    net, x = Gated(), np.array([0.5, -1.0, 2.0, 0.1])
    w = {name: p.detach().numpy() for name, p in net.named_parameters()}
    n = x / np.sqrt((x**2).mean() + 1e-6) * w["norm"]
    a, u = w["gate.weight"] @ n, w["up.weight"] @ n
    s = a / (1 + np.exp(-a))
    h = s * u
    c = (h - h.mean()) / np.sqrt(h.var() + 1e-5) * w["second.weight"]
    out = c * w["down.weight"][1]  # ε-rule from one output: each input's part of it
    scale = w["second.weight"] / np.sqrt(h.var() + 1e-5)  # identity: the scale is a constant, only the mean mixes
    mixing = (np.eye(6) - 1 / 6) * scale[:, None]
    r = _linear(h, mixing, c, out)
    half = r / 2  # uniform, then identity through the activation
    r = _linear(n, w["gate.weight"], a, half) + _linear(n, w["up.weight"], u, half)
    assert_allclose(attn_lrp(net, x, target=1, payoff="logit").credit, r, rtol=1e-9)


def _linear(x, weight, z, relevance):
    """The ε-rule with a tiny ε: (in,), (out, in), (out,), (out,) -> (in,)."""
    return x * (weight.T @ (relevance / (z + 1e-14 * np.sign(z))))


def test_agrees_with_captum_where_both_have_the_same_rules():
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3)
    ).double()
    row = [0.5, -1.0, 2.0, 0.1]
    theirs = LRP(net).attribute(torch.tensor([row], dtype=torch.float64, requires_grad=True), target=2)[0].detach()
    assert_allclose(attn_lrp(net, row, target=2, payoff="logit").credit, theirs, atol=1e-4)


def test_a_whole_llama_follows_the_rules_written_out():
    """Grouped queries, rotary positions, RMSNorm, a gated layer, two blocks: relevance by hand, tensor by tensor."""
    model = answering("llama", torch.float64).text_model
    encoded = model.encode("A film is good.")
    oracle = _Llama(model.model, encoded.ids)
    found = attn_lrp(model, encoded, target=7, payoff="logit")
    by_hand = oracle.relevance(7)
    assert_allclose(found.credit, by_hand[~encoded.special], rtol=1e-5)  # its softmax is in float32
    assert_allclose(found.certificate["inputs that do not play"], by_hand[encoded.special].sum(), rtol=1e-6)
    assert_allclose(found.certificate["payoff"], oracle.logits[7], rtol=1e-5)


class _Llama:
    """A Llama in numpy that keeps what it computes, and passes relevance back through it by the published rules."""

    def __init__(self, model, ids):
        self.w = {name: p.detach().numpy() for name, p in model.state_dict().items()}
        self.config, self.eps = model.config, model.config.rms_norm_eps
        self.rope = _rotation(model.config.head_dim, len(ids))
        self.kept, x = [], self.w["model.embed_tokens.weight"][ids]
        self.first = x
        for k in range(model.config.num_hidden_layers):
            x = self._block(x, f"model.layers.{k}.")
        self.last, n = x, self._norm(x, "model.norm.weight")
        self.head = self.w.get("lm_head.weight", self.w["model.embed_tokens.weight"])
        self.final, self.logits = n[-1], self.head @ n[-1]

    def _norm(self, x, name):
        return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + self.eps) * self.w[name]

    def _block(self, x, at):
        heads, groups, d = self.config.num_attention_heads, self.config.num_key_value_heads, self.config.head_dim
        n = self._norm(x, at + "input_layernorm.weight")
        q, k, v = (n @ self.w[f"{at}self_attn.{p}_proj.weight"].T for p in "qkv")
        parts, outs = [], []
        for h in range(heads):
            g = h // (heads // groups)
            own, key, value = (t[:, j * d : (j + 1) * d] for t, j in ((q, h), (k, g), (v, g)))
            rq, rk = (np.einsum("tij,tj->ti", self.rope, t) for t in (own, key))
            scores = rq @ rk.T / np.sqrt(d)
            masked = np.where(np.tril(np.ones_like(scores)) > 0, scores, -1e30)
            a = np.exp(masked - masked.max(axis=1, keepdims=True))
            a /= a.sum(axis=1, keepdims=True)
            parts.append((h, g, own, key, rq, rk, value, scores, a, a @ value))
            outs.append(a @ value)
        o = np.concatenate(outs, axis=1)
        y = o @ self.w[at + "self_attn.o_proj.weight"].T
        mid = x + y
        m = self._norm(mid, at + "post_attention_layernorm.weight")
        gate, up = (m @ self.w[f"{at}mlp.{p}_proj.weight"].T for p in ("gate", "up"))
        inner = gate / (1 + np.exp(-gate)) * up
        z = inner @ self.w[at + "mlp.down_proj.weight"].T
        self.kept.append((at, x, n, q, k, v, parts, o, y, mid, m, gate, up, inner, z, mid + z))
        return mid + z

    def relevance(self, target):
        r = np.zeros_like(self.last)
        r[-1] = self.final * self.head[target]  # the ε-rule from one logit; norms pass relevance on unchanged
        for kept in reversed(self.kept):
            r = self._back(r, *kept)
        return r.sum(axis=1)

    def _back(self, r, at, x, n, q, k, v, parts, o, y, mid, m, gate, up, inner, z, out):
        d, linear = self.config.head_dim, _rows_linear
        to_mid, to_z = r * mid / out, r * z / out
        half = linear(inner, self.w[at + "mlp.down_proj.weight"], z, to_z) / 2
        r = to_mid + linear(m, self.w[at + "mlp.gate_proj.weight"], gate, half)
        r += linear(m, self.w[at + "mlp.up_proj.weight"], up, half)
        to_x, to_y = r * x / mid, r * y / mid
        r_o = linear(o, self.w[at + "self_attn.o_proj.weight"], y, to_y)
        r_q, r_k, r_v = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
        for h, g, own, key, rq, rk, value, scores, a, got in parts:
            share = r_o[:, h * d : (h + 1) * d] / got
            r_a = a * (share @ value.T) / 2  # one half to the weights, one half to the values
            r_v[:, g * d : (g + 1) * d] += value * (a.T @ share) / 2
            r_s = np.tril(scores * (r_a - a * r_a.sum(axis=1, keepdims=True)))  # Taylor at the scores
            share = np.where(np.tril(np.ones_like(scores)) > 0, r_s / scores, 0) / np.sqrt(d)
            r_rq, r_rk = rq * (share @ rk) / 2, rk * (share.T @ rq) / 2
            r_q[:, h * d : (h + 1) * d] += own * np.einsum("tij,ti->tj", self.rope, r_rq / rq)
            r_k[:, g * d : (g + 1) * d] += key * np.einsum("tij,ti->tj", self.rope, r_rk / rk)
        for p, t, r_t in (("q", q, r_q), ("k", k, r_k), ("v", v, r_v)):
            to_x = to_x + linear(n, self.w[f"{at}self_attn.{p}_proj.weight"], t, r_t)
        return to_x


def _rows_linear(x, weight, z, relevance):
    return x * ((relevance / z) @ weight)


def _rotation(d, tokens):
    """Rotary positions as one matrix per position: (T, d, d)."""
    angle = np.arange(tokens)[:, None] / 10000.0 ** (np.arange(0, d, 2) / d)
    cos, sin = (np.apply_along_axis(np.diag, 1, f(angle)) for f in (np.cos, np.sin))
    return np.concatenate([np.concatenate([cos, -sin], axis=2), np.concatenate([sin, cos], axis=2)], axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_under_both_kernels(family):
    one, two = (
        attn_lrp(text_model(family, kernel), text_for(family), target=1, payoff="logit") for kernel in ("sdpa", "eager")
    )
    assert one.total is None and np.abs(one.credit).max() > 0
    assert_allclose(one.credit, two.credit, atol=1e-5 * max(1, np.abs(one.credit).max()))
    split = one.certificate
    assert_allclose(split["players"], one.credit.sum(), atol=1e-6)
    parts = ("players", "inputs that do not play", "kept on the way")
    assert_allclose(sum(split[part] for part in parts), split["payoff"], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["qwen3", "gemma3", "mistral", "bart"])
def test_families_of_answering_models(family):
    assert np.abs(attn_lrp(answering(family).text_model, TEXT, target=1, payoff="logit").credit).max() > 0


def test_pictures_have_relevance_too():
    assert np.abs(attn_lrp(image_model(), PICTURE, target=1, payoff="logit").credit).max() > 0


def test_a_payoff_of_two_logits_has_the_difference_of_their_relevance():
    model = text_model("bert", dtype=torch.float64)
    logits = [attn_lrp(model, TEXT, target=t, payoff="logit").credit for t in range(3)]
    best, second = np.argsort(-model.predict(model.encode(TEXT)))[:2]
    margin = attn_lrp(model, TEXT, target=int(best), payoff="margin")
    assert_allclose(margin.credit, logits[best] - logits[second], atol=1e-12)
    assert margin.claim("linearity").holds is Holds.EXACTLY and margin.claim("efficiency").holds is Holds.NO


def test_at_a_block_relevance_skips_what_the_first_layers_keep():
    model = text_model("bert", dtype=torch.float64)
    found = attn_lrp(model, TEXT, target=0, layer=1, payoff="logit")
    assert found.players[-2:] == ("[CLS]", "[SEP]") and found.provenance["layer"] == 1
    assert "baseline" not in found.provenance
    assert_allclose(found.certificate["inputs that do not play"], 0, atol=1e-12)


def test_the_forward_pass_is_the_models_own():
    model = text_model("gpt2-labels", "eager")
    encoded = model.encode(TEXT)
    assert attn_lrp(model, encoded, target=2, payoff="logit").certificate["payoff"] == pytest.approx(
        model.predict(encoded)[2], abs=1e-6
    )
    assert not any(part._forward_hooks for part in model.model.modules())


class Odd(torch.nn.Module):
    def __init__(self, what):
        super().__init__()
        self.what = what

    def forward(self, x):
        return self.what(x)


@pytest.mark.parametrize(
    ("what", "named"),
    [
        (torch.sigmoid, "SigmoidBackward0"),
        (lambda x: x.cumsum(dim=1), "CumsumBackward0"),
        (lambda x: x / x.sum(dim=1, keepdim=True), "DivBackward0"),
        (lambda x: x.clamp(min=0.1), "ClampBackward1"),
        (lambda x: x ** torch.tensor([2.0, 3.0]), "PowBackward1"),
    ],
)
def test_an_operation_without_a_rule_is_refused_by_name(what, named):
    with refused("unsupported"):
        attn_lrp(Odd(what), [0.5, 1.0], payoff="logit")


@pytest.mark.parametrize(
    ("what", "shares"),
    [
        (lambda x: x**3, [27.0, 0.0]),
        (lambda x: 1 - x, [-3.0, 0.0]),
        (lambda x: x * x.flip(1), [6.0, 6.0]),
        (lambda x: x * x[:, :1].pow(-2), [1 / 3, 0.0]),
    ],
)
def test_powers_products_and_what_a_constant_keeps(what, shares):
    """x³ passes on all; 1 − x keeps the 1; x y gives a half to each; a negative power is a scale."""
    assert_allclose(attn_lrp(Odd(what), [3.0, 4.0], target=0, payoff="logit").credit, shares, rtol=1e-6)


def test_convolutions_with_fixed_statistics_pass_on_all_they_get():
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Unflatten(1, (1, 2, 2)),
        torch.nn.Conv2d(1, 3, 2, bias=False),
        torch.nn.ReLU(),
        torch.nn.BatchNorm2d(3),
        torch.nn.AvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(3, 2, bias=False),
    ).double()
    row = [0.5, -1.0, 2.0, 0.1]
    said = net.eval()(torch.tensor([row], dtype=torch.float64))[0, 1].item()
    assert_allclose(attn_lrp(net, row, target=1, payoff="logit").credit.sum(), said, rtol=1e-9)


def test_division_by_a_norm_is_a_scale():
    found = attn_lrp(Odd(lambda x: x / x.norm(dim=1, keepdim=True).clamp(min=1e-9)), [3.0, 4.0], target=0, payoff="logit")
    assert_allclose(found.credit, [0.6, 0.0], atol=1e-7)


def test_models_that_take_no_word_embeddings_say_so():
    with refused("failed", has="as word embeddings"):
        attn_lrp(other_model("Bart"), TEXT, payoff="logit")
