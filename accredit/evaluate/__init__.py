"""Is it true, and is it any good: axiom checks, faithfulness, agreement."""

from accredit.core.statistics import holm
from accredit.evaluate.additivity import Infidelity, LinearDatamodelingScore, SensitivityN
from accredit.evaluate.agreement import kendall, spearman, top_overlap
from accredit.evaluate.axioms import ClaimRefuted, Finding, axioms_kept, check_claims
from accredit.evaluate.bootstrap import bootstrap, paired_test
from accredit.evaluate.curves import Deletion, Insertion
from accredit.evaluate.data import linear_datamodeling_score, mislabel_auc, removal_curve
from accredit.evaluate.erasure import AOPC, Comprehensiveness, DropAt, HitAt, LogOdds, PostHocAccuracy, Sufficiency
from accredit.evaluate.metric import Metric, NotApplicable, Score, measure, measure_all
from accredit.evaluate.plausibility import auprc, iou_f1, spans_of, token_f1
from accredit.evaluate.sanity import Sanity, label_randomisation, model_randomisation, oracle, random_scores, randomised_layers
from accredit.evaluate.stability import max_sensitivity, nudge_embeddings, shaken

__all__ = [
    "AOPC", "ClaimRefuted", "Comprehensiveness", "Deletion", "DropAt", "Finding", "HitAt", "Infidelity", "Insertion",
    "LinearDatamodelingScore", "LogOdds", "Metric", "NotApplicable", "PostHocAccuracy", "Sanity", "Score", "SensitivityN",
    "Sufficiency", "auprc", "axioms_kept", "bootstrap", "check_claims", "holm", "iou_f1", "kendall", "label_randomisation",
    "linear_datamodeling_score", "max_sensitivity", "measure", "measure_all", "mislabel_auc", "model_randomisation",
    "nudge_embeddings", "oracle", "paired_test", "random_scores", "randomised_layers", "removal_curve", "shaken",
    "spans_of", "spearman", "token_f1", "top_overlap",
]  # fmt: skip
