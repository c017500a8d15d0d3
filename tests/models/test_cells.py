"""Tables put together from cells of several rows: every column keeps its type, and models say the same of arrays and frames."""

from __future__ import annotations

import numpy as np
import pytest

from accredit.models.cells import are_plain_numbers, as_array_of_numbers, take_cells

pandas = pytest.importorskip("pandas", reason="pandas is not installed: pip install 'accredit[data]'")


def mixed():
    return pandas.DataFrame(
        {
            "small": np.array([1, 2, 3], dtype=np.int8),
            "maybe": pandas.array([1, pandas.NA, 3], dtype="Int64"),
            "kind": pandas.Categorical(["a", "b", "a"], categories=["b", "a", "c"]),
            "day": pandas.to_datetime(["2024-01-01", "2024-01-02", None]),
            "word": ["x", "y", None],
        }
    )


def test_each_cell_comes_from_its_row_and_keeps_its_type():
    frame, source = mixed(), np.array([[2, 1, 0, 1, 2], [0, 0, 1, 2, 1]])
    taken = take_cells(frame, source)
    assert list(taken.dtypes) == list(frame.dtypes)
    for j, name in enumerate(frame):
        wanted = frame[name].take(source[:, j]).reset_index(drop=True)
        assert taken[name].equals(wanted), name


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.bool_])
def test_numbers_of_one_type_are_one_array_and_stay_of_it(kind):
    frame = pandas.DataFrame(np.arange(6).reshape(3, 2).astype(kind), columns=["a b", "ä"])
    taken = take_cells(frame, np.array([[2, 0]]))
    assert list(taken.columns) == ["a b", "ä"] and set(taken.dtypes) == {np.dtype(kind)}
    assert taken.to_numpy().tolist() == [[kind(4).item(), kind(1).item()]]


def test_what_is_no_plain_number_is_no_array():
    assert as_array_of_numbers(mixed()) is None and not are_plain_numbers(mixed())
    assert as_array_of_numbers(pandas.DataFrame({"a": [1], "b": [0.5]})) is None  # of several types


def test_xgboost_says_the_same_of_a_frame_as_it_is_asked_here():
    xgboost = pytest.importorskip("xgboost")
    from accredit.models.rows import as_row_model

    rng = np.random.default_rng(0)
    x = pandas.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"]).mask(rng.random((60, 3)) < 0.2)
    y = (x.fillna(0).sum(axis=1) > 0).astype(int)
    for settings in ({}, {"booster": "dart"}, {"booster": "gblinear"}):
        table = x.fillna(0.0) if settings.get("booster") == "gblinear" else x
        model = xgboost.XGBClassifier(n_estimators=4, n_jobs=1, **settings).fit(table, y)
        read = as_row_model(model)
        assert np.array_equal(read.outputs(table, "logit")[:, 1], model.predict(table, output_margin=True))
        assert np.array_equal(read.outputs(table, "probability"), model.predict_proba(table))
    with pytest.raises(Exception, match="feature_names"):
        read.outputs(table[["b", "a", "c"]], "logit")  # in another order: xgboost refuses, and is asked
