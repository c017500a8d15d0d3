"""Inputs of models: texts, pairs of texts, pictures, strings, answers, by every method."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

from tools.proof.golden import doors as d
from tools.proof.golden import subjects as s
from tools.proof.golden.asking import FOLDERS, Entries, methods, spelled


def _explained(name: str, count: int, *given: Any, **settings: Any) -> Any:
    """An input with so many players, by one method; what is given may be a function that makes it."""
    made = [each() if callable(each) else each for each in given]
    learned = "texts" if isinstance(made[0], str | tuple) else "pictures"
    return d.explain(*made, methods=[spelled(name, count, learned)], **settings)


def texts() -> Entries:
    every = {name: partial(_explained, name, s.WORDS, s.SHORT if name in FOLDERS else s.TEXT) for name in methods("text")}
    return every | TEXTS | DOORS_OF_TEXTS


TEXTS: Entries = {
    "the usual methods": lambda: d.explain(s.TEXT),
    "all labels": lambda: d.explain(s.TEXT, methods=["shapley", "leave-one-out"], target="all"),
    "another label": lambda: d.explain(s.TEXT, methods=["shapley", "ig"], target="NEGATIVE"),
    "tokens": lambda: d.explain(s.TEXT, methods=["shapley", "flow"], players="token", budget=200),
    "sentences": lambda: d.explain(s.TWO_SENTENCES, methods=["shapley", "ig", "rollout"], players="sentence"),
    "named groups": lambda: d.explain(
        s.TEXT, methods=["shapley", "banzhaf"], players={"praise": [2, 3, 4, 5], "rest": [6, 7, 8, 9, 10, 11]}
    ),
    "logit": lambda: d.explain(s.TEXT, methods=["shapley", "deep-lift"], payoff="logit"),
    "probability": lambda: d.explain(s.TEXT, methods=["leave-one-out", "ig"], payoff="probability"),
    "margin": lambda: d.explain(s.TEXT, methods=["leave-one-out"], payoff="margin"),
    "entropy": lambda: d.explain(s.TEXT, methods=["leave-one-out"], payoff="entropy"),
    "a function as payoff": lambda: d.explain(
        s.TEXT, methods=["leave-one-out"], payoff=lambda outputs: outputs[:, 1] - 2 * outputs[:, 0]
    ),
    "deletion": lambda: d.explain(s.TEXT, methods=["leave-one-out", "lime"], removal="delete", budget=100),
    "removal from attention": lambda: d.explain(s.TEXT, methods=["leave-one-out"], removal="attention"),
    "zero vectors": lambda: d.explain(s.TEXT, methods=["leave-one-out"], removal="zero"),
    "a budget": lambda: d.explain(s.TWO_SENTENCES, methods=["shapley", "banzhaf", "owen"], budget=256, seed=3),
    "inside a block": lambda: d.explain(s.TEXT, methods=["ig", "deep-lift", "saliency"], layer=1),
    "another baseline": lambda: d.explain(s.TEXT, methods=["ig", "gradient-shap"], baseline="pad", seed=1),
    "samples and noise": lambda: d.explain(s.TEXT, methods=["gradient-shap", "smoothgrad"], samples=12, noise=0.2),
    "points": lambda: d.explain(s.TEXT, methods=["dig"], points=12),
    "flow of gradients": lambda: d.explain(s.TEXT, methods=["flow:gf", "flow:agf", "pairwise-flow:gf"]),
    "flow of norms": lambda: d.explain(s.TEXT, methods=["flow:norm", "rollout:norm", "attention:norm"]),
    "one head, two layers": lambda: d.explain(s.TEXT, methods=["flow", "rollout", "attention"], heads=1, layers=[0, 1]),
}
DOORS_OF_TEXTS: Entries = {  # the same questions at their own doors, with the defaults that these have
    "text_game": lambda: d.shapley(d.text_game(s.text_model(), "A gripping film.")),
    "text_game of words": lambda: d.shapley(d.text_game(s.text_model(), "A gripping film.", players="word")),
    "text_game, leave one out": lambda: d.leave_one_out(d.text_game(s.text_model(), s.TEXT)),
    **{
        name: partial(lambda which: getattr(d, which)(s.text_model(), "A gripping film."), name)
        for name in (
            "attn_lrp", "deep_lift", "discretised_integrated_gradients", "gradient_shap", "input_x_gradient",
            "integrated_gradients", "saliency", "sequential_integrated_gradients", "smoothgrad",
        )
    },
    "tcav": lambda: d.tcav(
        s.text_model(), ["good film", "a fine film", "great film"], {"praise": ["good", "great", "fine", "lovely"]},
        s.PLAIN_WORDS, layer="bert.encoder.layer.0", target="POSITIVE",
        random_concepts=19, negatives=2,
    ),
    "similarity": lambda: d.shapley(
        d.text_game(d.similarity_model(s.pair_model()[0].base_model, s.pair_model()[1], "very good"), "the film is good")
    ),
}  # fmt: skip


def pairs() -> Entries:
    every = {
        name: partial(_explained, name, 11, s.TWO_TEXTS, lambda: s.pair_model()[0], lambda: s.pair_model()[1], budget=256)
        for name in methods("text")
        if name not in FOLDERS
    }
    model = s.pair_model
    return every | {
        "all labels": lambda: d.explain(s.TWO_TEXTS, *model(), methods=["shapley"], target="all", budget=300),
        "sentences": lambda: d.explain(s.TWO_TEXTS, *model(), methods=["shapley", "ig", "flow"], players="sentence"),
    }


def pictures() -> Entries:
    every = {
        name: partial(_explained, name, 9, s.picture, s.image_model, players=_of_pictures(name)) for name in methods("image")
    }
    return every | PICTURES


def _of_pictures(method: str) -> Any:
    """Who plays: what reads attention, and a selector, divide among the model's own patches."""
    return "patches" if d.BY_NAME[method].kind == "attention" or method == "selector" else (3, 3)


@cache
def _convolutions() -> Any:
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return torch.nn.Sequential(
            torch.nn.Conv2d(1, 3, 5, stride=3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(192, 3)
        ).eval()


PICTURES: Entries = {
    "the usual methods": lambda: d.explain(s.picture(), budget=200),
    "a file": lambda: d.explain(s.picture_file(), methods=["leave-one-out"]),
    "segments": lambda: d.explain(s.picture(), s.image_model(), methods=["leave-one-out", "ig"], players="segments:12"),
    "own segments": lambda: d.explain(
        s.picture(), s.image_model(), methods=["shapley"], segments=np.arange(784).reshape(28, 28) // 28 // 7
    ),
    "pixels": lambda: d.explain(s.picture(), s.image_model(), methods=["saliency", "ig"], players="pixels"),
    "all labels": lambda: d.explain(s.picture(), s.image_model(), methods=["shapley"], players=(2, 2), target="all"),
    "blurred": lambda: d.explain(s.picture(), s.image_model(), methods=["leave-one-out"], players=(3, 3), removal="blur"),
    "image_game": lambda: d.shapley(d.image_game(s.image_model(), s.picture(), players=(2, 3))),
    "a torch network": lambda: d.explain(
        s.picture(), _convolutions(), methods=["shapley", "ig", "deep-lift"], players=(2, 2), size=28
    ),
}


def strings() -> Entries:
    every = {name: partial(_explained, name, 10, s.STRING, s.string_model, budget=256) for name in methods("strings")}
    return every | STRINGS


@cache
def _pipeline() -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    texts = ["very good", "it is good", "not bad", "bad", "very bad", "it is not good"]
    return make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, [1, 1, 1, 0, 0, 0])


STRINGS: Entries = {
    "the usual methods": lambda: d.explain(s.STRING, s.string_model()),
    "all labels": lambda: d.explain(s.STRING, s.string_model(), methods=["shapley"], target="all"),
    "sentences": lambda: d.explain("It is good. It is not bad.", s.string_model(), methods=["shapley"], players="sentence"),
    "string_game": lambda: d.shapley(d.string_game(s.string_model(), s.STRING, payoff="log-odds")),
    "a pipeline": lambda: d.explain(s.STRING, _pipeline(), methods=["shapley", "leave-one-out"]),
}


def answers() -> Entries:
    return {name: partial(_answered, name) for name in methods("answer")} | ANSWERS


def _answered(name: str) -> Any:
    return d.explain(s.PROMPT, *s.answering_model(), answer=s.SAID, players="sentences", methods=[spelled(name, 4)])


ANSWERS: Entries = {
    "the built-in model": lambda: d.explain(context=s.FACTS, query=s.QUESTION),
    "the built-in model, read": lambda: d.explain(context=s.FACTS, query=s.QUESTION, methods=["flow:norm", "attn-lrp"]),
    "words": lambda: d.explain(s.PROMPT, *s.answering_model(), answer=s.SAID, players="words", budget=150),
    "tokens": lambda: d.explain(
        s.PROMPT, *s.answering_model(), answer=s.SAID, players="tokens", methods=["leave-one-out", "ig"]
    ),
    "rather than": lambda: d.explain(
        s.PROMPT, *s.answering_model(), answer=s.SAID, rather_than="anna lives in paris", players="sentences"
    ),
    "generated": lambda: d.explain(s.PROMPT, *s.answering_model(), generate=5, players="sentences"),
    "removed from attention": lambda: d.explain(
        s.PROMPT, *s.answering_model(), answer=s.SAID, players="sentences", removal="attention", fixed=s.ASKED
    ),
    "probability": lambda: d.explain(s.PROMPT, *s.answering_model(), answer=s.SAID, players="sentences", payoff="probability"),
    "mean": lambda: d.explain(s.PROMPT, *s.answering_model(), answer=s.SAID, players="sentences", payoff="mean"),
    "a function": lambda: d.explain(s.PROMPT, s.prompts_function, answer=s.SAID, players="sentences"),
    "asked_game": lambda: d.shapley(d.asked_game(s.prompts_function, s.PROMPT, s.SAID, players="sentences")),
    "answer_game": lambda: d.shapley(
        d.answer_game(s.answering_model()[0], s.PROMPT, s.SAID, tokenizer=s.answering_model()[1], players="sentences")
    ),
}
