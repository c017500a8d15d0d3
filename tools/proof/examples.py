"""Good arguments by the name of a parameter, and what a parameter expects by its annotation."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from accredit.core import Attribution, Attributions, Claim, Holds, Precision
from accredit.games import FunctionGame, FunctionGames, TableGame, component_game
from accredit.values import Permutations, mobius, shapley
from tools.proof.examples_models import TAKING_MODELS, answering, image_model, text_model

NOTHING = object()
PLAYERS = ("a", "b", "c")
TABLE = (0.0, 5.0, 3.0, 10.0, 2.0, 8.0, 6.0, 12.0)


def _payoff(coalitions: Any) -> Any:
    return np.array(TABLE)[np.asarray(coalitions) @ [1, 2, 4]]


def game() -> FunctionGame:
    return FunctionGame(PLAYERS, _payoff)


def games() -> FunctionGames:
    return FunctionGames(PLAYERS, ("x", "y"), lambda s: np.stack([_payoff(s), -_payoff(s)], axis=1))


@cache
def attribution() -> Attribution:
    return shapley(TableGame(PLAYERS, TABLE))


ATTENTION = np.array([[[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.0, 0.5, 0.5]]] * 2)


@cache
def split() -> Any:
    from accredit.valuation import split

    rng = np.random.default_rng(0)
    x = rng.normal(size=(12, 2))
    y = (x[:, 0] > 0).astype(int)
    y[0], y[1] = 0, 1
    return split(x, y, rng.normal(size=(6, 2)), np.array([0, 1, 0, 1, 0, 1]))


@cache
def numeric_split() -> Any:
    from accredit.valuation import split

    rng = np.random.default_rng(1)
    x = rng.normal(size=(12, 2))
    return split(x, x @ [1.0, 2.0], x[:6] + 0.1, x[:6] @ [1.0, 2.0], regression=True)


@cache
def forest_model() -> Any:
    from sklearn.ensemble import RandomForestRegressor

    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3))
    return RandomForestRegressor(n_estimators=3, max_depth=3, random_state=0).fit(x, x[:, 0] * x[:, 1])


@cache
def linear_model() -> Any:
    from sklearn.linear_model import LinearRegression

    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3))
    return LinearRegression().fit(x, x @ [1.0, 2.0, 3.0])


def machine_model() -> Any:
    from sklearn.svm import SVR

    x = np.random.default_rng(0).normal(size=(40, 3))
    return SVR().fit(x, x[:, 0] * x[:, 1])


ROWS = np.array([[0.5, -0.25, 1.0], [1.0, 0.5, -0.5]])
BACKGROUND = np.array([[0.0, 0.0, 0.0], [0.25, 0.5, -1.0], [1.0, -1.0, 0.5]])


def _network() -> Any:
    from accredit.flow import LayeredNetwork

    return LayeredNetwork.from_attention(ATTENTION)


def _report() -> Any:
    from accredit.values.report import report

    return report(TableGame(PLAYERS, TABLE))


@cache
def _cited() -> Any:
    from accredit import cite

    return cite(context=["Anna lives in Rome .", "Boris owns a dog ."], query="Where does Anna live ?")


@cache
def _explanation() -> Any:
    from accredit.explanation import explain

    return explain("good film", methods="leave-one-out")


@cache
def _table_explanation() -> Any:
    from accredit.explanation import explain

    return explain(ROWS, linear_model(), background=BACKGROUND, interactions=True)


def _theirs() -> Any:
    """What an explainer of shap returns, without shap."""
    values = np.array([[1.0, 2.0], [3.0, 4.0]])
    return SimpleNamespace(values=values, base_values=0.5, data=values, feature_names=["a", "b"], output_names=None)


def game_file(folder: Path) -> Path:
    file = folder / "game.json"
    if not file.exists():
        file.write_text(
            json.dumps(
                {
                    "players": list(PLAYERS),
                    "payoffs": {"": 0, "a": 5, "b": 3, "a+b": 10, "c": 2, "a+c": 8, "b+c": 6, "a+b+c": 12},
                }
            )
        )
    return file


EDGES = [("s", "a", 2.0), ("a", "t", 1.0), ("s", "t", 1.0)]


def _graph() -> Any:
    from accredit.flow.graph import Graph

    return Graph.of(EDGES)


def edges_file(folder: Path) -> Path:
    file = folder / "edges.csv"
    if not file.exists():
        file.write_text("from,to,capacity\n" + "".join(f"{a},{b},{c}\n" for a, b, c in EDGES))
    return file


def games_file(folder: Path) -> Path:
    file = folder / "games.csv"
    rows = [f"{'+'.join(p for i, p in enumerate(PLAYERS) if s >> i & 1)},{TABLE[s]},{-TABLE[s]}" for s in range(8)]
    file.write_text("coalition,x,y\n" + "\n".join(rows) + "\n") if not file.exists() else None
    return file


def saved_file(folder: Path) -> Path:
    from accredit.store import save

    file = folder / "saved.json"
    if not file.exists():
        save(file, attribution(), {"matrix": np.eye(2)})
    return file


def forest_file(folder: Path) -> Path:
    import xgboost

    file = folder / "forest.ubj"
    if not file.exists():
        rng = np.random.default_rng(0)
        x = rng.normal(size=(40, 3))
        xgboost.XGBRegressor(n_estimators=2, max_depth=2, n_jobs=1).fit(x, x[:, 0]).save_model(file)
    return file


def _ridge() -> Any:
    from accredit.influence import RidgeObjective

    return RidgeObjective(numeric_split(), 1.0)


def _metric() -> Any:
    from accredit.evaluate import Comprehensiveness

    return Comprehensiveness()


def _shaken(thing: Any) -> Attribution:
    return attribution()


BY_NAME: dict[str, Callable[[], Any]] = {
    "graph": _graph,
    "game": game,
    "games": games,
    "players": lambda: PLAYERS,
    "attention": lambda: ATTENTION,
    "seed": lambda: 0,
    "attribution": attribution,
    "names": lambda: PLAYERS[:2],
    "given": lambda: (),
    "player": lambda: "a",
    "coalition": lambda: ("a", "b"),
    "weights": lambda: np.array([0.25, 0.25, 0.25]),
    "alpha": lambda: 4.0,
    "beta": lambda: 1.0,
    "groups": lambda: {"g": ["a", "b"]},
    "coalitions": lambda: np.array([[True, False, True], [False, False, False]]),
    "credit": lambda: np.array([6.0, 4.0, 2.0]),
    "total": lambda: 12.0,
    "method": lambda: "by hand",
    "network": _network,
    "capacity": lambda: ATTENTION,
    "i": lambda: 1,
    "data": split,
    "game_or_games": game,
    "outputs": lambda: NOTHING,
    "rows": lambda: ROWS,
    "background": lambda: BACKGROUND,
    "objective": _ridge,
    "metric": _metric,
    "results": lambda: {"one": attribution()},
    "metrics": lambda: [_metric()],
    "scores": lambda: np.array([0.5, 0.25, 0.125]),
    "rationale": lambda: np.array([True, False, True]),
    "chosen": lambda: np.array([True, False, True]),
    "a": lambda: np.array([1.0, 2.0, 4.0]),
    "b": lambda: np.array([1.0, 4.0, 2.0]),
    "values": lambda: np.array([0.5, 0.25, 0.75, 1.0, 0.0]),
    "first": lambda: np.array([0.5, 0.25, 0.75, 1.0]),
    "second": lambda: np.array([0.25, 0.5, 0.5, 0.75]),
    "p": lambda: np.array([0.25, 0.5, 0.125]),
    "count": lambda: 2,
    "budget": lambda: 40,
    "orders": lambda: 6,
    "steps": lambda: 4,
    "text": lambda: "x",
    "because": lambda: "a reason",
    "labels": lambda: ["a", "b", "a"],
    "weight_decay": lambda: 0.5,
    "k": lambda: 2,
    "size": lambda: 2,
    "name": lambda: "a",
    "bound": lambda: 0.5,
    "claims": lambda: (),
    "fractions": lambda: (0.25, 0.5),
    "result": attribution,
    "explanation": _explanation,
    "report": _report,
    "title": lambda: "a title",
    "subsets": lambda: 40,
    "fraction": lambda: 0.5,
    "folder": lambda: NOTHING,
    "low": lambda: 0.5,
    "high": lambda: 1.5,
    "table": lambda: np.array(TABLE),
    "function": lambda: _payoff,
    "stderr": lambda: NOTHING,
    "interval": lambda: NOTHING,
}

# "room.name.parameter" -> an example, for what the name of the parameter alone does not tell
BY_CALL: dict[str, Callable[[Path], Any]] = {
    "games.ChoiceTable.players": lambda f: ("a", "b"),
    "games.ChoiceTable.table": lambda f: np.array([[0.0, 0.0, 1.0], [0.0, 2.0, 4.0]]),
    "games.ChoiceTable.worth.choices": lambda f: np.array([[1, 2]]),
    "games.ChoiceFunction.players": lambda f: ("a", "b"),
    "games.ChoiceFunction.levels": lambda f: [3, 3],
    "games.ChoiceFunction.function": lambda f: lambda choices: choices.min(axis=1) * 2.0,
    "games.ChoiceFunction.worth.choices": lambda f: np.array([[1, 2]]),
    "games.WeightedVote.weights": lambda f: [50, 49, 1],
    "games.WeightedVote.quota": lambda f: 51,
    "values.bolger.game": lambda f: _alternatives(),
    "values.bolger.budget": lambda f: NOTHING,
    "values.multichoice.game": lambda f: _choices(),
    "values.multichoice.budget": lambda f: NOTHING,
    "values.multichoice.weights": lambda f: NOTHING,
    "values.multichoices.game": lambda f: _choices(),
    "values.multichoices.weights": lambda f: NOTHING,
    "values.roll_calls.game": lambda f: _choices(),
    "values.roll_calls.budget": lambda f: NOTHING,
    "values.by_player.game": lambda f: _choices(),
    "values.by_player.credit": lambda f: _level_credit(),
    "games.electoral_college.year": lambda f: 2024,
    "games.bankruptcy.estate": lambda f: 100.0,
    "games.bankruptcy.claims": lambda f: {"a": 100.0, "b": 200.0},
    "games.airport.costs": lambda f: {"a": 12.0, "b": 28.0},
    "games.apex.players": lambda f: 5,
    "games.gloves.left": lambda f: 1,
    "games.gloves.right": lambda f: 2,
    "games.unanimity.carrier": lambda f: ("a", "b"),
    "flow.leave_unread.tokens": lambda f: [0],
    "flow.Graph.of.edges": lambda f: EDGES,
    "flow.Graph.read.path": edges_file,
    "flow.Graph.node.name": lambda f: "s",
    "flow.graph_flow.source": lambda f: "s",
    "flow.graph_flow.sink": lambda f: "t",
    "flow.GraphFlowGame.source": lambda f: "s",
    "flow.GraphFlowGame.sink": lambda f: "t",
    "flow.GraphFlowGame.payoff.coalitions": lambda f: np.ones((2, 3), bool),
    "flow.multi_commodity.pairs": lambda f: [("s", "t")],
    "flow.LayeredNetwork.with_super_edges.capacity": lambda f: 2.0,
    "flow.MixedFlowGame.places": lambda f: {"below": [(0, 0), (0, 1)], "middle": [(1, 0), (1, 1)]},
    "flow.MixedFlowGame.payoff.coalitions": lambda f: np.ones((2, 2), bool),
    "core.Claim.from_plain.data": lambda f: [
        "efficiency",
        "exactly",
        "so",
    ],
    "evaluate.axioms_kept.method": lambda f: shapley,
    "evaluate.check_claims.method": lambda f: shapley,
    "values.value_of.method": lambda f: "shapley",
    "values.shapley.solver": lambda f: NOTHING,
    "values.shapley.budget": lambda f: NOTHING,
    "values.interactions.budget": lambda f: NOTHING,
    "values.shapley_interactions.budget": lambda f: NOTHING,
    "values.banzhaf_interactions.budget": lambda f: NOTHING,
    "values.asymmetric.order": lambda f: "a < b",
    "values.value_of.order": lambda f: NOTHING,
    "values.owen.groups": lambda f: [["a", "b"], "c"],
    "values.owen.orders": lambda f: NOTHING,
    "values.value_of.groups": lambda f: NOTHING,
    "values.value_of.budget": lambda f: NOTHING,
    "values.value_given.given": lambda f: ("b",),
    "values.mobius.order": lambda f: 2,
    "values.Permutations.orders": lambda f: NOTHING,
    "values.Antithetic.orders": lambda f: NOTHING,
    "values.SampledSemivalue.weights": lambda f: (0.25, 0.25, 0.25),
    "values.ProductGame.weight": lambda f: np.array([1.0, 2.0]),
    "values.ProductGame.present": lambda f: np.array([[1.0, 2.0, 3.0], [1.0, 0.5, 1.0]]),
    "values.ProductGame.absent": lambda f: np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 2.0]]),
    "values.CubeGame.weight": lambda f: np.array([1.0, 2.0]),
    "values.CubeGame.present": lambda f: np.array([[True, False, False], [False, True, True]]),
    "values.CubeGame.absent": lambda f: np.array([[False, True, False], [False, False, False]]),
    "values.CubeGame.unanimity.coalition": lambda f: ("a",),
    "values.CubeGame.formula.terms": lambda f: [(["a"], ["b"])],
    "values.permutations_needed.players": lambda f: 5,
    "values.permutations_needed.largest_gain": lambda f: 1.0,
    "values.permutations_needed.epsilon": lambda f: 0.1,
    "values.permutations_needed.delta": lambda f: 0.05,
    "core.Attributions.by_output": lambda f: {"x": attribution(), "y": attribution()},
    "core.Attributions.ranked.output": lambda f: "x",
    "core.Attribution.from_json.text": lambda f: attribution().to_json(),
    "core.Attribution.from_plain.data": lambda f: json.loads(attribution().to_json()),
    "explanation.Explanation.from_json.text": lambda f: _explanation().to_json(),
    "explanation.Explanation.to_pandas.method": lambda f: NOTHING,
    "explanation.Explanation.to_shap.method": lambda f: NOTHING,
    "rows.TableExplanation.from_json.text": lambda f: _table_explanation().to_json(),
    "results.Result.to_html.path": lambda f: f / "page.html",
    "results.Result.by_method.method": lambda f: "shapley",
    "explanation.Explanation.top.count": lambda f: 1,
    "rows.TableExplanation.top.count": lambda f: 1,
    "rows.from_shap.explanation": lambda f: _theirs(),
    "rows.from_shap.predictions": lambda f: NOTHING,
    "rows.TableExplanation.row.row": lambda f: 0,
    "rows.TableExplanation.interactions.row": lambda f: 0,
    "games.StringGame.without.stays": lambda f: np.array([True, False]),
    "answers.AnswerGame.token.which": lambda f: 0,
    "answers.AnswerGame.coalitions": lambda f: NOTHING,
    "answers.AnswerGame.payoff.coalitions": lambda f: np.ones((2, 2), bool),
    "answers.AnswerGame.ask.coalitions": lambda f: np.ones((2, 2), bool),
    "games.PartsGames.payoff.coalitions": lambda f: np.ones((2, 2), bool),
    "valuation.Datamodels.predict.coalitions": lambda f: np.ones((2, 12), bool),
    "valuation.*.target": lambda f: NOTHING,
    "core.Attribution.claim.axiom": lambda f: "efficiency",
    "core.Note.kind": lambda f: "remark",
    "core.Note.text": lambda f: "Two rows were cut.",
    "core.Note.from_plain.data": lambda f: ["remark", "Two rows were cut."],
    "core.Procedure.name": lambda f: "shapley",
    "core.Procedure.solver": lambda f: "Exact",
    "core.Procedure.settings": lambda f: {"orders": 5},
    "core.Procedure.of": lambda f: None,
    "core.Procedure.from_plain.data": lambda f: {"name": "shapley"},
    "core.Claim.axiom": lambda f: "efficiency",
    "core.Claim.holds": lambda f: Holds.EXACTLY,
    "core.Attributions.from_json.text": lambda f: Attributions({"x": attribution()}).to_json(),
    "core.Interactions.from_json.text": lambda f: mobius(TableGame(PLAYERS, TABLE)).to_json(),
    "core.Interactions.index": lambda f: "mobius",
    "core.Interactions.means": lambda f: "dividends",
    "core.Interactions.values": lambda f: {("a", "b"): 2.0, ("a",): 1.0},
    "core.Interactions.estimate.coalition": lambda f: ("a", "b"),
    "core.Selection.from_json.text": lambda f: _selection().to_json(),
    "core.Selection.method": lambda f: "l2x",
    "core.Selection.seed": lambda f: NOTHING,
    "core.Selection.scores": lambda f: NOTHING,
    "core.Estimate.value": lambda f: 0.5,
    "core.Estimate.low": lambda f: 0.25,
    "core.Estimate.high": lambda f: 0.75,
    "core.Estimate.exact.value": lambda f: 0.5,
    "core.Estimate.unknown.value": lambda f: 0.5,
    "core.Estimate.exceeds.other": lambda f: _estimate(),
    "core.Precision.known": lambda f: "exact",
    "core.Precision.from_plain.data": lambda f: {"known": "exact", "because": "so"},
    "core.check_names.given": lambda f: PLAYERS,
    "core.check_names.what": lambda f: "players",
    "core.output.name": lambda f: "x",
    "core.Attribution.seed": lambda f: NOTHING,
    "core.Interactions.seed": lambda f: NOTHING,
    "games.TableGame.from_payoffs.payoffs": lambda f: {("a",): 1.0, ("b",): 2.0, ("a", "b"): 4.0, (): 0.0},
    "games.TableGame.from_payoffs.players": lambda f: NOTHING,
    "games.TableGames.outputs": lambda f: ("x", "y"),
    "games.TableGames.table": lambda f: np.stack([TABLE, TABLE], axis=1),
    "games.FunctionGames.outputs": lambda f: ("x", "y"),
    "games.FunctionGames.function": lambda f: lambda s: np.stack([_payoff(s)] * 2, axis=1),
    "games.read_game.path": game_file,
    "games.read_games.path": games_file,
    "games.read_groups.text": lambda f: "g=a+b",
    "games.restricted.players": lambda f: ("a", "b"),
    "games.restricted.given": lambda f: ("c",),
    "answers.answer_game.*": lambda f: NOTHING,
    "rows.tabular_game.model": lambda f: linear_model(),
    "rows.tabular_game.row": lambda f: ROWS[0],
    "rows.tabular_game.players": lambda f: NOTHING,
    "rows.tabular_game.names": lambda f: NOTHING,
    "games.string_game.model": lambda f: _strings(),
    "games.string_game.payoff": lambda f: "log-odds",
    "games.string_game.text": lambda f: "good film",
    "games.string_game.players": lambda f: "word",
    "games.component_game.model": lambda f: text_model(),
    "games.component_game.inputs": lambda f: "good film",
    "games.attribution_patching.game": lambda f: component_game(text_model(), "good film"),
    "games.text_game.model": lambda f: text_model(),
    "games.text_game.text": lambda f: "good film",
    "games.text_game.players": lambda f: "token",
    "games.image_game.model": lambda f: image_model(),
    "games.image_game.image": lambda f: np.zeros((28, 28), np.uint8),
    "games.image_game.players": lambda f: (2, 2),
    "answers.asked_game.function": lambda f: lambda prompts, answer: -np.array([float(len(prompt)) for prompt in prompts]),
    "answers.asked_game.prompt": lambda f: "One fact. Two facts.",
    "answers.asked_game.answer": lambda f: "Yes.",
    "answers.asked_game.players": lambda f: "sentences",
    "explanation.calibrate.model": lambda f: lambda prompts, answer: -np.array([float(len(prompt)) for prompt in prompts]),
    "explanation.calibrate.prompts": lambda f: 15,
    "answers.AnswerGame.place.words": lambda f: "Paris",
    "views.citations_markdown.found": lambda f: _cited(),
    "explanation.cite.*": lambda f: NOTHING,
    "explanation.cite.model": lambda f: answering()[0],
    "explanation.cite.tokenizer": lambda f: answering()[1],
    "explanation.cite.prompt": lambda f: "Anna lives in Paris. Where does Anna live?",
    "explanation.cite.answer": lambda f: "Paris",
    "answers.answer_game.model": lambda f: answering()[0],
    "answers.answer_game.tokenizer": lambda f: answering()[1],
    "answers.answer_game.prompt": lambda f: "Anna lives in Paris. Where does Anna live?",
    "answers.answer_game.answer": lambda f: "Paris",
    "answers.answer_game.players": lambda f: "words",
    "flow.LayeredNetwork.supply": lambda f: ATTENTION[-1].sum(axis=1),
    "flow.LayeredNetwork.demand": lambda f: ATTENTION[0].sum(axis=0),
    "flow.AttentionStack.weights": lambda f: ATTENTION,
    "flow.AttentionStack.carried": lambda f: np.zeros((2, 3), bool),
    "flow.FrozenFlowGame.flow": lambda f: _flow(),
    "attention.flow_credit.flow": lambda f: _flow(),
    "flow.FlowGame.groups": lambda f: NOTHING,
    "flow.FrozenFlowGame.groups": lambda f: NOTHING,
    "attention.*.groups": lambda f: NOTHING,
    "flow.credit_intervals.game": lambda f: _flow_game(),
    "flow.encoder_decoder.encoder": lambda f: ATTENTION,
    "flow.encoder_decoder.decoder": lambda f: np.tril(np.ones((2, 2, 2))) / [[[1], [2]]],
    "flow.encoder_decoder.cross": lambda f: np.full((2, 2, 3), 1 / 3),
    "flow.some_layers.layers": lambda f: [0],
    "flow.PairFlows.row.inputs": lambda f: NOTHING,
    "attention.spent_tokens.layerwise": lambda f: _layerwise(),
    "evaluate.HitAt.truth": lambda f: (0,),
    "evaluate.SensitivityN.at": lambda f: NOTHING,
    "evaluate.AOPC.steps": lambda f: NOTHING,
    "evaluate.iou_f1.predicted": lambda f: [(0, 2)],
    "evaluate.iou_f1.rationale": lambda f: [(0, 2)],
    "evaluate.label_randomisation.explain": lambda f: lambda model, given: attribution(),
    "evaluate.label_randomisation.fit": lambda f: lambda labels: "model",
    "evaluate.label_randomisation.inputs": lambda f: ["one", "two"],
    "evaluate.label_randomisation.labels": lambda f: [0, 1, 0],
    "evaluate.model_randomisation.explain": lambda f: lambda model, given: attribution(),
    "evaluate.model_randomisation.model": lambda f: "model",
    "evaluate.model_randomisation.randomised": lambda f: [("all", "other")],
    "evaluate.model_randomisation.inputs": lambda f: ["one"],
    "evaluate.max_sensitivity.method": lambda f: _shaken,
    "evaluate.max_sensitivity.here": lambda f: game(),
    "evaluate.max_sensitivity.neighbours": lambda f: [game()],
    "evaluate.shaken.radius": lambda f: 0.1,
    "evaluate.bootstrap.count": lambda f: 200,
    "evaluate.paired_test.count": lambda f: 200,
    "explanation.explain.given": lambda f: "good film",
    "explanation.explain.methods": lambda f: "leave-one-out",
    "explanation.explain.players": lambda f: "word",
    "explanation.explain.budget": lambda f: 16,
    "explanation.explain.background": lambda f: NOTHING,
    "explanation.explain.text": lambda f: NOTHING,
    "explanation.explain_text.text": lambda f: "good film",
    "explanation.explain_text.methods": lambda f: "leave-one-out",
    "explanation.explain_text.players": lambda f: "word",
    "explanation.explain_text.budget": lambda f: 16,
    "explanation.explain_picture.picture": lambda f: np.eye(28),
    "explanation.explain_picture.methods": lambda f: "leave-one-out",
    "explanation.explain_picture.players": lambda f: (2, 2),
    "explanation.explain_picture.budget": lambda f: 16,
    "explanation.explain_picture.size": lambda f: NOTHING,
    "explanation.explain_rows.players": lambda f: NOTHING,
    "explanation.explain_rows.order": lambda f: NOTHING,
    "explanation.explain_rows.confounding": lambda f: NOTHING,
    "explanation.explain_rows.rows": lambda f: ROWS,
    "explanation.explain_rows.names": lambda f: ["a", "b", "c"],
    "explanation.explain_rows.model": lambda f: linear_model(),
    "explanation.explain_rows.background": lambda f: BACKGROUND,
    "store.save.path": lambda f: f / "written.json",
    "store.load.path": saved_file,
    "store.load_arrays.path": saved_file,
    "store.Journal.path": lambda f: f / "journal.db",
    "store.durable.seed": lambda f: NOTHING,
    "store.durable.executor": lambda f: "serial",
    "store.durable.name": lambda f: {"game": "x"},
    "store.save.arrays": lambda f: NOTHING,
    "trees.closed_form.model": lambda f: linear_model(),
    "trees.ensemble_of.model": lambda f: forest_model(),
    "trees.forest_of.model": lambda f: forest_model(),
    "products.linear_of.model": lambda f: linear_model(),
    "products.form_of.model": lambda f: machine_model(),
    "products.form_of.unit": lambda f: NOTHING,
    "trees.closed_form.unit": lambda f: NOTHING,
    "trees.load_ensemble.path": forest_file,
    "trees.owners.encode": lambda f: lambda rows: np.asarray(rows, float),
    "trees.tree_credit.forest": lambda f: _forest(),
    "trees.*.players": lambda f: NOTHING,
    "trees.tree_credit.count": lambda f: NOTHING,
    "trees.closed_form.weight": lambda f: NOTHING,
    "trees.tree_credit.weight": lambda f: NOTHING,
    "valuation.split.x": lambda f: np.arange(8.0).reshape(4, 2),
    "valuation.split.y": lambda f: np.array([0, 1, 0, 1]),
    "valuation.split.test_x": lambda f: np.ones((2, 2)),
    "valuation.split.test_y": lambda f: np.array([0, 1]),
    "valuation.split.names": lambda f: ("a", "b", "c", "d"),
    "valuation.groups_of.labels": lambda f: ["x", "y"],
    "valuation.Retraining.estimator": lambda f: _classifier(),
    "valuation.Retraining.metric": lambda f: NOTHING,
    "valuation.RidgeUtility.metric": lambda f: NOTHING,
    "influence.RidgeObjective.data": lambda f: numeric_split(),
    "valuation.KNNRegression.data": lambda f: numeric_split(),
    "valuation.RidgeUtility.data": lambda f: numeric_split(),
    "influence.Softmax.rows": lambda f: NOTHING,
    "valuation.data_oob.trees": lambda f: 20,
    "valuation.fine_tuning.model": lambda f: "builtin",
    "valuation.fine_tuning.sentences": lambda f: ["A gripping film.", "It never lands."],
    "valuation.fine_tuning.labels": lambda f: [1, 0],
    "valuation.fine_tuning.test_sentences": lambda f: ["Quite moving."],
    "valuation.fine_tuning.test_labels": lambda f: [1],
    "valuation.fine_tuning.names": lambda f: NOTHING,
    "valuation.fine_tuning.metric": lambda f: NOTHING,
    "valuation.fine_tuning.blocks": lambda f: 0,
    "valuation.fit_datamodels.targets": lambda f: ("t",),
    "valuation.fit_datamodels.masks": lambda f: np.random.default_rng(0).random((40, 3)) < 0.5,
    "valuation.fit_datamodels.outputs": lambda f: np.random.default_rng(1).normal(size=(40, 1)),
    "influence.neumann_error.terms": lambda f: 5,
    "influence.neumann_terms.relative": lambda f: 0.1,
    "valuation.random_subsets.players": lambda f: 5,
    "labels.wrong_labels.labels": lambda f: ["a", "b"] * 10,
    "labels.wrong_labels.features": lambda f: np.random.default_rng(0).normal(size=(20, 2)),
    "labels.wrong_labels.texts": lambda f: NOTHING,
    "labels.wrong_labels.names": lambda f: NOTHING,
    "labels.wrong_labels.annotators": lambda f: NOTHING,
    "labels.wrong_labels.excerpts": lambda f: NOTHING,
    "labels.wrong_labels.watch": lambda f: NOTHING,
    "labels.wrong_numbers.targets": lambda f: np.random.default_rng(0).normal(size=20),
    "labels.wrong_numbers.texts": lambda f: NOTHING,
    "labels.wrong_numbers.names": lambda f: NOTHING,
    "labels.wrong_numbers.excerpts": lambda f: NOTHING,
    "labels.wrong_numbers.watch": lambda f: NOTHING,
    "labels.wrong_numbers.features": lambda f: np.random.default_rng(0).normal(size=(20, 2)),
    "labels.wrong_tags.tags": lambda f: [{"a"}, {"b"}] * 10,
    "labels.wrong_tags.texts": lambda f: NOTHING,
    "labels.wrong_tags.names": lambda f: NOTHING,
    "labels.wrong_tags.watch": lambda f: NOTHING,
    "labels.wrong_tags.features": lambda f: np.random.default_rng(0).normal(size=(20, 2)),
    "labels.wrong_votes.votes": lambda f: {"ann": ["a", "b"] * 10, "bob": ["a", "b"] * 10},
    "labels.wrong_votes.texts": lambda f: NOTHING,
    "labels.wrong_votes.names": lambda f: NOTHING,
    "labels.wrong_votes.excerpts": lambda f: NOTHING,
    "labels.wrong_votes.watch": lambda f: NOTHING,
    "labels.wrong_votes.features": lambda f: np.random.default_rng(0).normal(size=(20, 2)),
    "training_data.data_shapley.truncation": lambda f: NOTHING,
    "views.table_page.explanation": lambda f: _table_explanation(),
    "views.plots_of.result": lambda f: _explanation(),
    "views.to_page.result": lambda f: _explanation(),
    "views.text.rows": lambda f: 10,
    "views.fragment.result": lambda f: attribution(),
    "values.*.payoff_range": lambda f: (0.0, 20.0),
    "values.Lime.features": lambda f: NOTHING,
}


def _choices() -> Any:
    from accredit.games import ChoiceTable

    return ChoiceTable(("a", "b"), [[0, 0, 1], [0, 2, 4]])


def _alternatives() -> Any:
    from accredit.games import ChoiceTable

    return ChoiceTable(("a", "b"), [[0, 1], [2, 4]])


@cache
def _level_credit() -> Any:
    from accredit.values import multichoice

    return multichoice(_choices())


def _selection() -> Any:
    from accredit.core import Selection

    return Selection(PLAYERS, [True, False, True], "l2x")


def _estimate() -> Any:
    from accredit.core import Estimate

    return Estimate(0.1, 0.0, 0.2)


@cache
def _flow() -> Any:
    from accredit.flow import unique_flow

    return unique_flow(_network())


def _flow_game() -> Any:
    from accredit.flow import FlowGame

    return FlowGame(_network())


@cache
def _layerwise() -> Any:
    from accredit.attention import layerwise_flow

    return layerwise_flow(ATTENTION)


@cache
def _forest() -> Any:
    from accredit.trees import forest_of

    return forest_of(forest_model())


def _classifier() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


@cache
def _retrained() -> Any:
    from accredit.valuation import KNNUtility

    return KNNUtility(split(), 2)


@cache
def _strings() -> Any:
    from accredit.models import as_string_model

    return as_string_model(
        lambda texts: np.array([[(1 + len(t)) / 100, 0.99 - len(t) / 100] for t in texts]), law="probability"
    )


INSTANCES: dict[str, Callable[[], Any]] = {  # of classes that the library builds
    "flow.Graph": _graph,
    "explanation.Explanation": _explanation,
    "rows.TableExplanation": lambda: _table_explanation(),
    "results.Result": lambda: _table_explanation(),
    "valuation.Datamodels": lambda: _datamodels(),
    "influence.Influences": lambda: _influences(),
    "answers.AnswerGame": lambda: _asked(),
    "games.StringGame": lambda: _string_game(),
    "games.PartsGames": lambda: _string_game().paying("all"),
    "store.Durable": lambda: _durable(),
}


@cache
def _datamodels() -> Any:
    from accredit.valuation import datamodels

    return datamodels(_retrained(), 40)


@cache
def _influences() -> Any:
    from accredit.influence import influence

    return influence(_ridge())


def _asked() -> Any:
    from accredit.answers import asked_game

    return asked_game(BY_CALL["answers.asked_game.function"](Path()), "One fact. Two facts.", "Yes.", players="sentences")


def _string_game() -> Any:
    from accredit.games import string_game

    return string_game(_strings(), "good film", payoff="log-odds")


def _durable() -> Any:
    from accredit.store import durable

    return durable(game(), name={"game": "x"})


CHOICES = {
    "index",
    "rule",
    "payoff",
    "removal",
    "law",
    "norm",
    "kind",
    "centre",
    "curvature",
    "direction",
    "better",
    "known",
    "optimizer",
}


AS = {  # what a parameter expects where its name and annotation say something else
    ("flow.multi_commodity", "pairs"): "any",  # one pair of ends may have two commodities
    ("core.distinct_names", "labels"): "members",  # repeats are what it is for
    ("games.unanimity", "carrier"): "members",  # named once or twice, the same players
    ("games.restricted", "players"): "members",  # named once or twice, the same players
    ("store.save", "arrays"): "mapping",
    ("evaluate.random_scores", "game"): "players",  # nobody's payoff is asked
    ("evaluate.holm", "p"): "some numbers",  # of no test, no p-value
    ("evaluate.spans_of", "chosen"): "some masks",  # of no token, no span
    ("audit.audit_texts", "texts"): "members",  # the same text twice is two texts
    ("audit.audit_texts", "tests"): "members",
    ("audit.audit_attention", "tests"): "members",
    ("audit.audit_saved", "tests"): "members",
    ("audit.leakage_report", "tests"): "members",
    ("audit.leakage_report", "surrogate"): "function",
    ("audit.leakage_report", "black_box"): "function",
    ("audit.audit_saved", "black_box"): "function",
}
FREE = {("core.Selection", "rule"), ("core.Interactions", "index")}  # words of whoever writes the result


def expectation(call: str, parameter: str, note: str) -> str:
    """What a parameter expects, from its annotation; its name decides what the annotation leaves open."""
    if parameter in ("given", "coalition", "names", "terms") and "Iterable" in note and "check_" not in call:
        return "members"
    if "Path" in note:
        return "writes" if call in ("store.save", "store.Journal") or "to_html" in call or parameter == "out" else "reads"
    if (call, parameter) in AS:
        return AS[call, parameter]
    if (call, parameter) in FREE:
        return "text"
    if (
        (parameter in CHOICES and "str" in note)
        or "Literal" in note
        or note == "Order"
        or "Rule" in note
        or (call, parameter) == ("values.value_of", "method")
    ):
        return "choice"
    for words, kind in (
        (("Callable", "Method", "Statistic", "Announce"), "function"),
        (("Game",), "game"),
        (("BoolArray",), "masks"),
        (("FloatArray", "IntArray", "ArrayLike", "NDArray"), "numbers"),
        (("Mapping", "dict", "Facts"), "mapping"),
        (("Iterable[str]", "Iterable[str | int]", "Sequence[str]", "tuple[str"), "names"),
        (("bool",), "flag"),
        (("Iterable", "Sequence", "tuple"), "any"),
    ):
        if any(word in note for word in words):
            return kind
    plain = {"int": "int", "float": "float", "str": "text"}
    parts = [part.strip() for part in note.split("|")]
    for part in parts:
        if part in plain:
            return plain[part] if len([p for p in parts if p != "None"]) == 1 else "any"
    return "numbers" if parameter in ("attention", "table", "x", "test_x") else "any"


def example(call: str, parameter: str, expects: str, folder: Path) -> Any:
    """A good value of a parameter; `NOTHING` where its default will do."""
    room = call.split(".")[0]
    for key in (f"{call}.{parameter}", f"{room}.*.{parameter}"):
        for known in (BY_CALL, TAKING_MODELS):
            if key in known:
                return known[key](folder)
    return BY_NAME[parameter]() if parameter in BY_NAME else NOTHING


_ = Claim, Permutations, Precision  # examples that calls above may name
