"""Models of rows in files: the same outputs after loading, types that must be trusted, and pickles never opened."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from accredit.errors import InvalidInput
from accredit.models.row_files import load_row_model
from tests.wording import refused

X = np.random.default_rng(0).normal(size=(40, 3))
Y = (X[:, 0] > 0).astype(int)


def doubled(rows):
    return 2 * rows


@pytest.mark.slow
def test_skops_files_give_the_same_outputs(tmp_path):
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    skops.dump(model, tmp_path / "model.skops")
    loaded = load_row_model(tmp_path / "model.skops")
    assert_allclose(loaded.outputs(X, "logit")[:, 1], model.decision_function(X))


@pytest.mark.slow
def test_types_of_a_skops_file_are_shown_before_they_are_trusted(tmp_path):
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    model = make_pipeline(FunctionTransformer(doubled), LogisticRegression()).fit(X, Y)
    skops.dump(model, tmp_path / "model.skops")
    unknown = skops.get_untrusted_types(file=tmp_path / "model.skops")
    assert unknown
    with refused("unsafe", "trusted") as error:
        load_row_model(tmp_path / "model.skops")
    assert all(name in str(error.value) for name in unknown)
    load_row_model(tmp_path / "model.skops", unknown)


@pytest.mark.slow
def test_onnx_files_give_the_same_probabilities_in_single_precision(tmp_path):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    convert = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, Y)
    (tmp_path / "model.onnx").write_bytes(convert.to_onnx(forest, X[:1].astype(np.float32)).SerializeToString())
    loaded = load_row_model(tmp_path / "model.onnx")
    assert "single precision" in loaded.name
    assert_allclose(loaded.outputs(X.astype(np.float32), "probability"), forest.predict_proba(X.astype(np.float32)), atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "catboost"])
def test_boosters_give_the_same_scores(library, tmp_path):
    boosting = pytest.importorskip(library, reason=f"{library} is not installed")
    if library == "xgboost":
        model = boosting.XGBClassifier(n_estimators=4, max_depth=2, n_jobs=1).fit(X, Y)
        expected = model.predict(X, output_margin=True)
        files = [tmp_path / "model.json", tmp_path / "model.ubj"]
        for file in files:
            model.save_model(file)
    elif library == "lightgbm":
        model = boosting.LGBMClassifier(n_estimators=4, n_jobs=1, verbose=-1, min_child_samples=2).fit(X, Y)
        expected, files = model.predict(X, raw_score=True), [tmp_path / "model.txt"]
        model.booster_.save_model(files[0])
    else:
        model = boosting.CatBoostClassifier(iterations=4, depth=2, thread_count=1, verbose=False, allow_writing_files=False)
        expected = model.fit(X, Y).predict(X, prediction_type="RawFormulaVal")
        files = [tmp_path / "model.cbm"]
        model.save_model(str(files[0]))
    for file in files:
        loaded = load_row_model(file)
        unit = loaded.unit(None)
        assert_allclose(loaded.outputs(X, unit)[:, -1], expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "said"),
    [("m.pkl", "runs code"), ("m.joblib", "runs code"), ("m.txt", "not a model"), ("none.ubj", "no file")],
)
def test_what_is_not_opened(tmp_path, name, said):
    if name != "none.ubj":
        (tmp_path / name).write_text("hello")
    with pytest.raises(InvalidInput, match=said):
        load_row_model(tmp_path / name)
