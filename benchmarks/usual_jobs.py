"""The twenty usual jobs of shap's users, done with both libraries: lines of code, CPU seconds, and what stood in the way.

    python -m benchmarks.usual_jobs

The jobs are those that shap's documentation shows and its tracker asks about. Each is a function per library, written as a
newcomer would write it; its lines are counted, its CPU seconds measured (figures are drawn into memory, not shown), and an
error is written down in its own words. Both get the same models, rows and background.
"""

from __future__ import annotations

import inspect
import json
import time
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scipy.sparse
import shap
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import accredit
from accredit.rows import TableExplanation
from benchmarks.record import record


def prepare() -> SimpleNamespace:
    """Models and rows of all jobs."""
    cancer = load_breast_cancer(as_frame=True)
    sugar = load_diabetes(as_frame=True)
    wine = load_wine(as_frame=True)
    mixed = pd.DataFrame({"age": sugar.data["age"], "bmi": sugar.data["bmi"], "sex": np.where(sugar.data["sex"] > 0, "m", "f")})
    encode = make_column_transformer((OneHotEncoder(), ["sex"]), remainder="passthrough")
    return SimpleNamespace(
        cancer=cancer.data,
        sugar=sugar.data,
        wine=wine.data,
        mixed=mixed,
        booster=xgboost.XGBClassifier(n_estimators=100, max_depth=4).fit(cancer.data, cancer.target),
        regression=GradientBoostingRegressor(random_state=0).fit(sugar.data, sugar.target),
        forest=RandomForestClassifier(50, random_state=0).fit(wine.data, wine.target),
        line=make_pipeline(StandardScaler(), LogisticRegression()).fit(cancer.data, cancer.target),
        pipeline=make_pipeline(encode, GradientBoostingRegressor(random_state=0)).fit(mixed, sugar.target),
        net=make_pipeline(StandardScaler(), MLPClassifier((16,), max_iter=300, random_state=0)).fit(wine.data, wine.target),
        kernel=make_pipeline(StandardScaler(), SVC()).fit(wine.data, wine.target == 0),
    )


def ours_1_beeswarm_of_a_booster(g: Any) -> Any:
    e = accredit.explain(g.cancer, g.booster)
    return e.plot.beeswarm()


def shap_1_beeswarm_of_a_booster(g: Any) -> Any:
    e = shap.TreeExplainer(g.booster)(g.cancer)
    return shap.plots.beeswarm(e, show=False)


def ours_2_waterfall_of_one_row(g: Any) -> Any:
    e = accredit.explain(g.cancer, g.booster)
    return e.plot.waterfall(0)


def shap_2_waterfall_of_one_row(g: Any) -> Any:
    e = shap.TreeExplainer(g.booster)(g.cancer)
    return shap.plots.waterfall(e[0], show=False)


def ours_3_global_bar(g: Any) -> Any:
    return accredit.explain(g.sugar, g.regression).plot.bar()


def shap_3_global_bar(g: Any) -> Any:
    return shap.plots.bar(shap.TreeExplainer(g.regression)(g.sugar), show=False)


def ours_4_scatter_of_one_column(g: Any) -> Any:
    return accredit.explain(g.sugar, g.regression).plot.scatter("bmi")


def shap_4_scatter_of_one_column(g: Any) -> Any:
    e = shap.TreeExplainer(g.regression)(g.sugar)
    return shap.plots.scatter(e[:, "bmi"], color=e, show=False)


def ours_5_all_classes(g: Any) -> Any:
    e = accredit.explain(g.wine, g.forest)
    return e.plot.bar(), e.of("1").plot.beeswarm()


def shap_5_all_classes(g: Any) -> Any:
    e = shap.TreeExplainer(g.forest)(g.wine)
    return shap.plots.bar(e[..., 1], show=False), shap.plots.beeswarm(e[..., 1], show=False)


def ours_6_any_function_of_rows(g: Any) -> Any:
    return accredit.explain(g.wine[:10], g.net.predict_proba, background=g.wine[:50])


def shap_6_any_function_of_rows(g: Any) -> Any:
    return shap.KernelExplainer(lambda rows: g.net.predict_proba(rows), g.wine[:50])(g.wine[:10], silent=True)


def ours_7_probabilities_of_a_booster(g: Any) -> Any:
    return accredit.explain(g.cancer[:20], g.booster, background=g.cancer[:50], payoff="probability", budget=500)


def shap_7_probabilities_of_a_booster(g: Any) -> Any:
    return shap.TreeExplainer(g.booster, g.cancer[:50], model_output="probability")(g.cancer[:20])


def ours_8_linear_pipeline(g: Any) -> Any:
    return accredit.explain(g.cancer, g.line)


def shap_8_linear_pipeline(g: Any) -> Any:
    z = pd.DataFrame(g.line[:-1].transform(g.cancer), columns=g.cancer.columns)
    return shap.LinearExplainer(g.line[-1], z)(z)


def ours_9_frame_with_words_in_a_pipeline(g: Any) -> Any:
    return accredit.explain(g.mixed[:20], g.pipeline, background=g.mixed[:100])


def shap_9_frame_with_words_in_a_pipeline(g: Any) -> Any:
    z = g.pipeline[:-1].transform(g.mixed)
    return shap.TreeExplainer(g.pipeline[-1], z[:100])(z[:20])


def ours_10_interactions(g: Any) -> Any:
    return accredit.explain(g.cancer[:50], g.booster, dependence="cover", interactions=True).interaction_importance()


def shap_10_interactions(g: Any) -> Any:
    return np.abs(shap.TreeExplainer(g.booster).shap_interaction_values(g.cancer[:50])).mean(axis=0)


def ours_11_kernel_machine(g: Any) -> Any:
    return accredit.explain(g.wine[:10], g.kernel, background=g.wine[:50])


def shap_11_kernel_machine(g: Any) -> Any:
    return shap.KernelExplainer(lambda rows: g.kernel.decision_function(rows), g.wine[:50])(g.wine[:10], silent=True)


def ours_12_parts_of_a_result(g: Any) -> Any:
    e = accredit.explain(g.wine[:20], g.forest)
    return e[0], e[:, "alcohol"], e[..., "1"], e[2:5], e.of("1")[0, "alcohol"]


def shap_12_parts_of_a_result(g: Any) -> Any:
    e = shap.TreeExplainer(g.forest)(g.wine[:20])
    return e[0], e[:, "alcohol"], e[..., 1], e[2:5], e[0, "alcohol", 1]


def ours_13_save_and_load(g: Any) -> Any:
    e = accredit.explain(g.sugar[:20], g.regression)
    return TableExplanation.from_json(e.to_json())


def shap_13_save_and_load(g: Any) -> Any:
    found = shap.TreeExplainer(g.regression)(g.sugar[:20])  # shap has no file of its own: arrays as JSON, and built again
    told = json.loads(json.dumps({name: getattr(found, name).tolist() for name in ("values", "base_values", "data")}))
    return shap.Explanation(**{name: np.array(one) for name, one in told.items()}, feature_names=found.feature_names)


def ours_14_a_page_to_send(g: Any) -> Any:
    return accredit.explain(g.sugar[:50], g.regression).to_html()


def shap_14_a_page_to_send(g: Any) -> Any:
    import io

    out = io.StringIO()
    e = shap.TreeExplainer(g.regression)(g.sugar[:50])
    shap.save_html(out, shap.plots.force(e.base_values[0], e.values, g.sugar[:50]))
    return out.getvalue()


def ours_15_groups_of_columns(g: Any) -> Any:
    blood = ["s1", "s2", "s3", "s4", "s5", "s6"]
    return accredit.explain(g.sugar[:20], g.regression, background=g.sugar[:50], players={"blood": blood})


def shap_15_groups_of_columns(g: Any) -> Any:
    e = shap.TreeExplainer(g.regression, g.sugar[:50])(g.sugar[:20])
    blood = e[:, ["s1", "s2", "s3", "s4", "s5", "s6"]].values.sum(axis=1)  # a sum of credits, not the credit of the group
    return np.column_stack([e[:, ["age", "sex", "bmi", "bp"]].values, blood])


def ours_16_cohorts(g: Any) -> Any:
    return accredit.explain(g.mixed, g.pipeline, background=g.mixed[:100]).plot.bar(cohorts="sex")


def shap_16_cohorts(g: Any) -> Any:
    z = pd.DataFrame(g.pipeline[:-1].transform(g.mixed), columns=["f", "m", "age", "bmi"])
    e = shap.TreeExplainer(g.pipeline[-1], z[:100])(z)
    return shap.plots.bar(e.cohorts(g.mixed["sex"].tolist()).abs.mean(0), show=False)


def ours_17_sparse_matrix(g: Any) -> Any:
    return accredit.explain(scipy.sparse.csr_matrix(g.wine.to_numpy()), g.forest)


def shap_17_sparse_matrix(g: Any) -> Any:
    return shap.TreeExplainer(g.forest)(scipy.sparse.csr_matrix(g.wine.to_numpy()))


def ours_18_one_row_served(g: Any) -> Any:
    explainer = accredit.Explainer(g.booster, background=g.cancer[:100])
    return [explainer(g.cancer.iloc[k]) for k in range(50)]


def shap_18_one_row_served(g: Any) -> Any:
    explainer = shap.TreeExplainer(g.booster, g.cancer[:100])
    return [explainer(g.cancer.iloc[[k]]) for k in range(50)]


def ours_19_dependence_of_the_model(g: Any) -> Any:
    return accredit.Explainer(g.regression, background=g.sugar[:100]).effect(g.sugar[:50], "bmi").plot()


def shap_19_dependence_of_the_model(g: Any) -> Any:
    return shap.plots.partial_dependence("bmi", g.regression.predict, g.sugar[:100], ice=False, show=False)


def ours_20_heatmap_decision_violin_force(g: Any) -> Any:
    e = accredit.explain(g.sugar, g.regression)
    return e.plot.heatmap(), e.plot.decision(), e.plot.violin(), e.plot.force(0)


def shap_20_heatmap_decision_violin_force(g: Any) -> Any:
    e = shap.TreeExplainer(g.regression)(g.sugar)
    shap.plots.heatmap(e, show=False)
    shap.plots.decision(e.base_values[0], e.values, show=False)
    shap.plots.violin(e, show=False)
    return shap.plots.force(e.base_values[0], e.values[0], g.sugar.iloc[0], matplotlib=True, show=False)


JOBS = 20


def lines_of(job: Callable[[Any], Any]) -> int:
    """Lines that a person types: those of the body that are not blank."""
    return sum(bool(line.strip()) for line in inspect.getsource(job).splitlines()[1:])


def run(job: Callable[[Any], Any], given: SimpleNamespace) -> dict[str, Any]:
    """Lines, CPU seconds, warnings, and the error if there is one."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        began = time.process_time()
        error = ""
        try:
            job(given)
            for number in plt.get_fignums():
                plt.figure(number).canvas.draw()
        except Exception as raised:  # whatever a library answers is the result
            error = f"{type(raised).__name__}: {raised}"[:160]
        seconds = time.process_time() - began
    plt.close("all")
    return {"lines": lines_of(job), "cpu s": round(seconds, 3), "warnings": len(heard), "error": error}


def main() -> None:
    given = prepare()
    here = globals()
    jobs = {name.removeprefix("ours_"): job for name, job in here.items() if name.startswith("ours_")}
    assert len(jobs) == JOBS
    run(jobs["3_global_bar"], given)  # imports and fonts are nobody's cost
    run(here["shap_3_global_bar"], given)
    figures = {}
    for name, job in jobs.items():
        figures[name] = {"accredit": run(job, given), "shap": run(here[f"shap_{name}"], given)}
        ours, theirs = figures[name]["accredit"], figures[name]["shap"]
        print(f"{name:40} {ours['lines']:2} {theirs['lines']:2} {ours['cpu s']:7.3f} {theirs['cpu s']:7.3f}", flush=True)
        for who in ("accredit", "shap"):
            if figures[name][who]["error"]:
                print(f"    {who}: {figures[name][who]['error']}", flush=True)
    record(figures)


if __name__ == "__main__":
    main()
