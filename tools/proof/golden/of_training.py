"""Training data, explainers that are trained, audits, metrics and the arena."""

from __future__ import annotations

import tempfile
from functools import cache, partial
from typing import Any

import numpy as np

from tools.proof.golden import doors as d
from tools.proof.golden import subjects as s
from tools.proof.golden.asking import Entries, json_of, methods, spelled


def data() -> Entries:
    every = {name: partial(_valued, name) for name in methods("training data")}
    return every | DATA | LABELS | NETWORKS


REVIEWS = ("--target", "mood", "--text", "review")


def _valued(name: str) -> Any:
    """The worth of rows, or, where models are trained for it, of the people who labelled them: by the command."""
    method = d.BY_NAME[name]
    words = [
        "value",
        s.reviews_file(),
        *REVIEWS,
        "--only",
        "values",
        "--no-curves",
        "--json",
        "--method",
        spelled(name, 3),
    ]
    if name == "owen":
        words += ["--groups", "mood"]
    elif method.kind == "game":
        words += ["--players", "annotator"]
    return json_of(*words, *(["--budget", "60"] if method.trains else []))


def _softmax() -> Any:
    return d.Softmax(s.classes(), 0.1)


DATA: Entries = {
    "knn_shapley": lambda: d.knn_shapley(s.classes(), 3),
    "knn_shapley, within": lambda: d.knn_shapley(s.classes(), 3, within=0.01),
    "knn_regression_shapley": lambda: d.knn_shapley(s.numbers(), 3),
    "data_shapley": lambda: d.data_shapley(d.RidgeUtility(s.classes()), 200, seed=1),
    "data_shapley, truncated": lambda: d.data_shapley(d.RidgeUtility(s.classes()), 200, seed=1, truncation=0.05),
    "data_banzhaf": lambda: d.data_banzhaf(d.RidgeUtility(s.numbers()), 200, seed=1),
    "data_beta": lambda: d.data_beta(d.KNNUtility(s.classes(), 3), 16.0, 1.0, 200, seed=1),
    "data_oob": lambda: d.data_oob(s.classes(), trees=40, seed=1),
    "loo of retraining": lambda: d.leave_one_out(d.Retraining(s.classes(), _logistic(), "accuracy")),
    "loo of a network": lambda: d.leave_one_out(
        d.grouped(
            d.TorchTraining(s.numbers(), lambda: _linear_module(3), d.Recipe(epochs=5)),
            d.groups_of(s.numbers().names, ["a", "b", "c", "d", "e"] * 5),
        )
    ),
    "groups": lambda: d.shapley(
        d.grouped(d.RidgeUtility(s.classes()), d.groups_of(s.classes().names, ["web", "books", "code"] * 10))
    ),
    "influence, exact": lambda: d.influence(_softmax()).attribution(),
    "influence, conjugate gradients": lambda: d.influence(_softmax(), d.ConjugateGradients()).attribution(),
    "influence, Gauss-Newton": lambda: d.influence(_softmax(), d.GaussNewton(), damping=0.01).attribution(),
    "influence, Neumann": lambda: d.influence(_softmax(), d.Neumann()).attribution(),
    "influence, ridge": lambda: d.influence(d.Ridge(s.numbers(), 0.5), averaged=False),
    "spectrum": lambda: d.spectrum(_softmax()),
    "datamodels": lambda: d.datamodels(d.RidgeUtility(s.numbers()), 120, seed=1).attribution(),
    "datamodels of masks": lambda: d.fit_datamodels(
        ("a", "b", "c", "d"), ("t",), d.random_subsets(4, 80, 0.5, 1), _outputs(), fraction=0.5
    ).attribution(),
    "harmonics": lambda: d.harmonics(d.RidgeUtility(s.numbers()), 200, seed=1),
    "forecast": lambda: d.forecast(d.RidgeUtility(s.numbers())).says(budget=400),
    "removal curve": lambda: d.removal_curve(d.RidgeUtility(s.classes()), d.knn_shapley(s.classes()), steps=6),
    "random removal curve": lambda: d.random_removal_curve(d.RidgeUtility(s.classes()), steps=5, orders=4),
    "mislabel auc": lambda: d.mislabel_auc(d.knn_shapley(s.classes()), np.arange(30) < 3),
}


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


def _linear_module(width: int) -> Any:
    import torch

    return torch.nn.Linear(width, 1)


def _outputs() -> Any:
    masks = d.random_subsets(4, 80, 0.5, 1)
    return (masks @ [1.0, -0.5, 0.0, 2.0] + masks[:, 0] * masks[:, 1])[:, None]


LABELS: Entries = {
    "wrong labels": lambda: d.wrong_labels(s.labelled()[1], features=s.labelled()[0]),
    "wrong labels of texts": lambda: json_of("value", s.reviews_file(), *REVIEWS, "--only", "labels", "--json"),
}
NETWORKS: Entries = {
    "network influence": lambda: _influence("auto"),
    "network influence, EK-FAC": lambda: _influence("ekfac"),
    "gradient store": lambda: _stored().search(_net(), s.torch_rows()[2]).attribution("query 0"),
    "tracin": lambda: d.tracin(_net(), [s.torch_rows()[0].state_dict()], *s.torch_rows()[1:]).attribution("query 1"),
    "mean influence": lambda: d.mean_influence([_influence("auto"), _influence("ekfac")]),
    "torch objective": lambda: d.influence(d.TorchObjective(s.classes(), _trained_line(), 0.5), d.GaussNewton()).attribution(),
    "trace": lambda: d.trace(
        *s.answering_model(), s.training_texts().read_text().splitlines(), "where does anna live ?", "rome"
    ),
    "text features": lambda: d.text_features([s.TEXT, "a dull story"], d.text_folder())[:, :8],
}


def _net() -> Any:
    return d.network(s.torch_rows()[0], loss="classification", weight_decay=1e-3)


def _influence(curvature: str) -> Any:
    return d.network_influence(_net(), *s.torch_rows()[1:], curvature=curvature)


def _stored() -> Any:
    return d.GradientStore.build(tempfile.mkdtemp(dir="."), _net(), s.torch_rows()[1])


def _trained_line() -> Any:
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        return torch.nn.Linear(3, 2).double()


# Explainers that are trained, audits, metrics, the arena


def learned() -> Entries:
    every = {f"selector, {name}": partial(_chosen, name) for name in d.RECIPES}
    return every | {
        "fast rows": lambda: d.explain_rows_fast(s.fast(), s.rows(), s.function_of_rows, s.background()),
        "fast rows, report": lambda: s.fast().report,
        "EVAL-X": lambda: _judge().predict(s.learned_rows()[:20], np.tile([0, 1, 0, 1, 0], (20, 1))),
        "attention classifier": lambda: [p.detach().numpy().ravel()[:20] for p in _attentive().parameters()],
    }


def _chosen(name: str) -> Any:
    x, explainer = s.learned_rows()[:6], s.trained(name)
    return {"scores": explainer.scores(x), "chosen": explainer.select(x)}


@cache
def _judge() -> Any:
    return d.EvalX(d.Tabular(5), width=8, k=2, epochs=2).fit(
        s.learned_rows(), s.black_box(s.learned_rows()).argmax(axis=1), seed=0
    )


@cache
def _attentive() -> Any:
    rng = np.random.default_rng(51)
    labels = rng.integers(2, size=200)
    shape = d.AttentionShape(width=4, query=2, query_hidden=(8,), attention_width=8, head=(8,))
    model = d.AttentionClassifier(shape, seed=0)
    tokens = rng.normal(size=(200, 5, 4)) + 0.5 * (2 * labels - 1)[:, None, None]
    d.train_attention(model, tokens, rng.normal(size=(200, 2)), labels, d.MaskNeutral(epochs=2, steps=2), batch=64)
    return model


AUDITS: Entries = {
    "texts": lambda: d.audit_texts(s.text_model(), [s.TEXT, "I left with a smile."], steps=15, permutations=20),
    "attention": lambda: d.audit_attention(
        _attentive(), np.random.default_rng(52).normal(size=(80, 5, 4)), np.random.default_rng(53).normal(size=(80, 2)),
        steps=10, permutations=10, tests=("gradients", "leave-one-out", "permuted attention"),
    ),
    "leakage": lambda: d.leakage_report(
        d.Tabular(4), *_cheat(), surrogate=_reads, width=8, tests=("mask-only probe", "surrogate gap", "value scramble")
    ),
}  # fmt: skip


def _cheat() -> tuple[Any, Any, Any]:
    x = np.random.default_rng(54).choice([-1.0, 1.0], size=(200, 4))
    answer = (x[:, 0] > 0).astype(int)
    return x, np.eye(4)[np.where(answer == 1, 2, 3)], answer


def _reads(rows: Any, mask: Any) -> Any:
    p = np.where(mask[:, 2] > 0, 0.99, 0.01)
    return np.stack([1 - p, p], axis=1)


def _two() -> dict[str, Any]:
    return {"shapley": d.shapley(s.table_game()), "loo": d.leave_one_out(s.table_game())}


def _metrics() -> list[Any]:
    plain = (
        d.AOPC,
        d.Comprehensiveness,
        d.Deletion,
        d.Infidelity,
        d.Insertion,
        d.LinearDatamodelingScore,
        d.SensitivityN,
        d.Sufficiency,
    )
    return [
        *(metric() for metric in plain),
        d.DropAt(1),
        d.HitAt(1, (0,)),
        d.LogOdds(),
        d.PostHocAccuracy(threshold=0.0),
    ]


EVALUATE: Entries = {
    "every metric": lambda: d.measure_all(s.table_game(), _two() | {"random": d.random_scores(s.table_game(), 1)}, _metrics()),
    "oracle": lambda: d.oracle(d.Deletion(), s.table_game()),
    "agreement": lambda: [f(*_two().values()) for f in (d.kendall, d.spearman)] + [d.top_overlap(*_two().values(), 2)],
    "stability": lambda: d.max_sensitivity(d.shapley, s.table_game(), [d.shaken(s.table_game(), 0.1, k) for k in range(4)]),
    "sanity of a model": lambda: d.model_randomisation(
        lambda model, text: d.integrated_gradients(model, text), s.text_model(),
        list(d.randomised_layers(s.text_model()))[:2], ["A gripping film."],
    ),
    "bootstrap": lambda: d.bootstrap(np.array([0.2, 0.4, 0.3, 0.5, 0.1]), count=300),
    "paired test": lambda: d.paired_test(np.array([0.2, 0.4, 0.3, 0.5]), np.array([0.1, 0.5, 0.2, 0.2]), count=300),
    "holm": lambda: d.holm([0.01, 0.2, 0.03]),
    "plausibility": lambda: [
        d.auprc(np.array([0.9, 0.8, 0.1]), np.array([True, False, True])),
        d.token_f1(np.array([True, False, True]), np.array([True, True, False])),
        d.iou_f1([(0, 2)], [(0, 3)]),
    ],
}  # fmt: skip
ARENA: Entries = {
    "texts": lambda: d.hold(d.TextContest(("leave-one-out", "rollout", "lime"), budget=64), d.sample()[:3]),
    "rows": lambda: d.hold(d.RowContest(background=6, budget=32), d.RowContest(background=6, budget=32).examples(2)),
    "answers": lambda: d.hold(
        d.AnswerContest(("leave-one-out", "lasso"), passages=4), d.AnswerContest(("lasso",), passages=4).examples(2)
    ),
    "remove and retrain": lambda: _retrained(),
}


def _retrained() -> Any:
    x = s.learned_rows().astype(np.float64)
    labels = (x[:, 0] + x[:, 1] > 0).astype(int)
    credit = np.abs(x * [1.0, 1.0, 0.0, 0.0, 0.0])
    train, test, mine = (x[:200], labels[:200]), (x[200:], labels[200:]), (credit[:200], credit[200:])
    return d.remove_and_retrain(_line, train, test, {"mine": mine}, shares=(0.2, 0.4), repeats=2)


def _line(x: Any, y: Any, seed: int) -> Any:
    line = np.linalg.lstsq(x, 2.0 * y - 1, rcond=None)[0]
    return lambda new: (new @ line > 0).astype(int)
