"""Rows as other libraries hold them, and columns that are not in the model's order: the credit of a plain frame, with notes."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal
from sklearn.linear_model import LinearRegression

import accredit
from accredit.rows import frames
from tests.wording import refused

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(40, 3)), columns=["age", "pay", "size"])
MODEL = LinearRegression().fit(FRAME, FRAME @ [1.0, 2.0, 0.5])
HOLES = FRAME.to_numpy() * (RNG.random((40, 3)) < 0.6)


def notes(result):
    return " ".join(str(note) for note in result.notes)


def of_polars(frame):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    return polars.DataFrame({name: frame[name].to_numpy() for name in frame})


def of_pyarrow(frame):
    return pytest.importorskip("pyarrow", reason="pyarrow is not installed").Table.from_pandas(frame)


HOLDERS = {
    "polars": of_polars,
    "polars, lazy": lambda frame: of_polars(frame).lazy(),
    "pyarrow": of_pyarrow,
    "dict": lambda frame: {name: frame[name].to_numpy() for name in frame},
    "dicts": lambda frame: frame.to_dict("records"),
}


def test_a_file_named_in_place_of_rows_is_read(tmp_path):
    rows, background = tmp_path / "rows.csv", tmp_path / "background.csv"
    FRAME[:4].rename(columns={"age": " age"}).to_csv(rows, sep=";", decimal=",", index=False)
    FRAME.to_csv(background, index=False)
    given = accredit.explain(str(rows), MODEL, background=background)
    assert_array_equal(given.credit, accredit.explain(FRAME[:4], MODEL, background=FRAME).credit)
    assert "; as delimiter" in notes(given) and "Blanks around" in notes(given)
    assert_array_equal(accredit.Explainer(MODEL, background=FRAME)(rows).credit, given.credit)


def test_a_file_beside_a_fitted_model_is_rows_without_a_background(tmp_path):
    from sklearn.tree import DecisionTreeRegressor

    FRAME.to_csv(file := tmp_path / "rows.csv", index=False)
    tree = DecisionTreeRegressor(max_depth=3).fit(FRAME, FRAME["age"])
    assert_array_equal(accredit.explain(str(file), tree).credit, accredit.explain(FRAME, tree).credit)


def test_names_with_blanks_are_the_columns_that_the_model_has_learned():
    spaced = FRAME.add_prefix(" ")
    model = LinearRegression().fit(spaced, FRAME["age"])
    assert_array_equal(
        accredit.explain(FRAME[:4], model, background=FRAME).credit,
        accredit.explain(spaced[:4], model, background=spaced).credit,
    )


def test_words_beside_truth_values_and_numbers_are_refused_with_what_to_write(tmp_path):
    table = FRAME.assign(smokes=FRAME["age"] > 0)
    model = LinearRegression().fit(table, FRAME["age"])
    words = table.assign(smokes=np.where(table["smokes"], "oui", "non")).astype({"pay": object})
    words.to_csv(tmp_path / "truth.csv", index=False)
    with pytest.raises(accredit.InvalidInput, match="truth='oui,non'"):
        accredit.explain(tmp_path / "truth.csv", model, background=table)
    words = table.astype({"pay": object})
    words.loc[2, "pay"] = "error"
    words[:5].to_csv(tmp_path / "stray.csv", index=False)
    with pytest.raises(accredit.InvalidInput, match=r"missing='error'.*line 4, column 'pay'"):
        accredit.explain(tmp_path / "stray.csv", model, background=table)


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_table_of_another_library_has_the_credit_of_a_frame(holder):
    given = accredit.explain(HOLDERS[holder](FRAME[:4]), MODEL, background=HOLDERS[holder](FRAME))
    assert_array_equal(given.credit, accredit.explain(FRAME[:4], MODEL, background=FRAME).credit)


def test_a_series_is_one_row():
    assert_array_equal(
        accredit.explain(FRAME.iloc[0], MODEL, background=FRAME).credit,
        accredit.explain(FRAME[:1], MODEL, background=FRAME).credit,
    )


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.coo_array])
def test_a_sparse_matrix_has_the_credit_of_its_array(kind):
    model = LinearRegression().fit(HOLES, HOLES @ [1.0, 2.0, 0.5])
    given = accredit.explain(kind(HOLES[:4]), model, background=kind(HOLES))
    assert_array_equal(given.credit, accredit.explain(HOLES[:4], model, background=HOLES).credit)
    assert "were read as 0" in notes(given)


@pytest.mark.slow
def test_absent_cells_are_what_the_library_of_the_model_takes_them_for():
    xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed")
    sparse = scipy.sparse.csr_matrix(HOLES)
    model = xgboost.XGBRegressor(n_estimators=20, max_depth=3).fit(sparse, HOLES @ [1.0, 2.0, 0.5] + (HOLES[:, 0] == 0))
    given = accredit.explain(sparse[:6], model, background=sparse)
    np.testing.assert_allclose(given.prediction[:, 0], model.predict(sparse[:6]), rtol=1e-5)
    assert "missing, as xgboost reads them" in notes(given)


def test_a_sparse_matrix_that_would_not_fit_is_refused_before_it_is_filled(monkeypatch):
    monkeypatch.setattr(frames, "MOST_DENSE_CELLS", 100)
    with refused("too-many", "rows"):
        accredit.explain(scipy.sparse.csr_array((50, 3)), MODEL, background=FRAME)


def test_columns_are_matched_by_name_and_what_was_left_out_is_said():
    usual = accredit.explain(FRAME[:4], MODEL, background=FRAME)
    moved = accredit.explain(FRAME[["size", "age", "pay"]][:4], MODEL, background=FRAME)
    more = accredit.explain(FRAME[["size", "age", "pay"]].assign(id=7)[:4], MODEL, background=FRAME.assign(target=1))
    for other in (moved, more):
        assert other.players == usual.players
        assert_array_equal(other.credit, usual.credit)
    assert "order in which the model has learned them" in notes(moved)
    assert "'id' of rows" in notes(more) and "'target' of background" in notes(more)
    assert not notes(usual).count("left out")


def test_a_column_that_the_model_needs_is_named():
    with refused("missing", "rows"):
        accredit.explain(FRAME[["age", "size"]][:4], MODEL, background=FRAME)
    with refused("missing", "background"):
        accredit.explain(FRAME[:4], MODEL, background=FRAME[["age", "size"]])
