"""Every name of accredit that golden entries use: the one place to adapt when a room moves or a name changes.

Names are looked up when an entry runs, so that one that is gone is an error of its entries and not of all of them. A name
that has changed is written `new=old`: entries go on saying `old`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

HOMES = {
    "accredit": "__version__ InvalidInput explain",
    "accredit.methods": "BY_NAME methods_for",
    "accredit.cli": "main",
    "accredit.core": "Attribution Selection output",
    "accredit.games": "ChoiceTable FunctionGame FunctionGames TableGame TableGames WeightedVote cached "
    "grouped image_game restricted string_game text_game",
    "accredit.games.textbook": "airport apex bankruptcy gloves security_council",
    "accredit.answers": "answer_game asked_game",
    "accredit.rows": "tabular_game",
    "accredit.rows.sage": "sage_game",
    "accredit.values": "Antithetic CubeGame Differences DifferencesHint Exact KernelShap Lasso Leverage Lime "
    "Permutations SampledBanzhaf SampledBeta SampledSemivalue Surrogate Truncated banzhaf banzhaf_interactions "
    "banzhaf_owen best_subsets beta bolger by_player interactions least_core leave_one_out leaving_out mobius "
    "multichoice multichoices normalised_banzhaf nucleolus owen payoff_of permutations_needed roll_calls semivalue "
    "shapley shapley_interactions value_given value_of",
    "accredit.values.report": "report",
    "accredit.flow": "FlowGame LayeredNetwork MixedFlowGame credit_intervals encoder_decoder maximum_flow "
    "pair_bounds uniform_attention unique_flow",
    "accredit.flow.graph": "Graph graph_flow least_cost",
    "accredit.flow.graph_game": "GraphFlowGame",
    "accredit.flow.commodities": "multi_commodity",
    "accredit.attention": "flow_report frozen_flow joint_flow layerwise_flow pairwise_flow raw_attention rollout "
    "solve_joint spent_tokens",
    "accredit.gradients": "attn_lrp deep_lift discretised_integrated_gradients gradient_shap input_x_gradient "
    "integrated_gradients saliency sequential_integrated_gradients smoothgrad tcav",
    "accredit.models": "as_string_model load_image_model load_text_model similarity_model",
    "accredit.models.builtin": "text_folder vision_folder",
    "accredit.trees": "closed_form forest_of tree_credit",
    "accredit.evaluate": "AOPC Comprehensiveness Deletion DropAt HitAt Infidelity Insertion LinearDatamodelingScore "
    "LogOdds PostHocAccuracy SensitivityN Sufficiency auprc axioms_kept bootstrap check_claims holm iou_f1 kendall "
    "max_sensitivity measure_all model_randomisation oracle paired_test random_scores randomised_layers shaken "
    "spearman token_f1 top_overlap",
    "accredit.evaluate.data": "mislabel_auc random_removal_curve removal_curve",
    "accredit.valuation": "KNNUtility Recipe Retraining RidgeUtility TorchTraining data_oob datamodels fit_datamodels "
    "groups_of harmonics knn_shapley random_subsets split text_features",
    "accredit.influence": "ConjugateGradients GaussNewton GradientStore Neumann RidgeObjective=Ridge Softmax TorchObjective "
    "influence mean_influence network network_influence spectrum trace tracin",
    "accredit.labels": "wrong_labels",
    "accredit.training_data": "data_banzhaf data_beta data_shapley",
    "accredit.valuation.forecast": "forecast",
    "accredit.learned": "EvalX RECIPES Tabular Training explain_rows_fast fit_fast_rows recipe",
    "accredit.shortcuts": "AttentionClassifier AttentionShape MaskNeutral train_attention",
    "accredit.audit": "audit_attention audit_texts leakage_report",
    "accredit.arena": "AnswerContest RowContest TextContest hold remove_and_retrain sample",
    "accredit.views": "fragment game_page",
    "accredit.web.app": "application",
    "accredit.web.worker": "Worker",
}
ADDRESS = {word.rpartition("=")[2]: (home, word.partition("=")[0]) for home, words in HOMES.items() for word in words.split()}


def __getattr__(name: str) -> Any:
    if name not in ADDRESS:
        raise AttributeError(f"{name} is not among the doors; write where it lives in tools/proof/golden/doors.py")
    home, now = ADDRESS[name]
    return getattr(import_module(home), now)
