"""Conditional answers for tables with words: draws follow the distribution that made the rows, and the result says how well."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import accredit
from accredit.core.estimate import Known
from accredit.rows.normal import Gaussian, Normal
from accredit.rows.words import GeneralLocation, is_plain

TOWNS = {"Rome": 2.0, "Oslo": 0.0, "Bonn": -2.0}


def made(rows, seed=0):
    """Towns, a pay that is normal around the town's mean, an age that follows pay."""
    rng = np.random.default_rng(seed)
    town = rng.choice(list(TOWNS), rows, p=[0.5, 0.3, 0.2])
    pay = pd.Series(town).map(TOWNS).to_numpy() + rng.normal(size=rows)
    return pd.DataFrame({"town": town, "pay": pay, "age": 0.8 * pay + 0.6 * rng.normal(size=rows)})


def ages(rows):
    return rows["age"].to_numpy(dtype=float)


def test_draws_follow_the_general_location_model_that_made_the_rows():
    """400 background rows and 200 draws per coalition; seeds are fixed, so nothing varies from run to run."""
    frame = made(401)
    frame.loc[400] = ["Oslo", -0.2, -0.8]
    model = GeneralLocation(frame, np.full(400, 1 / 400)).given(400)
    kinds = ([0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0])
    nothing, town, pay, both = (model.complete(np.array([kept], dtype=bool))[0] for kept in kinds)
    assert_allclose(nothing["town"].value_counts(normalize=True)[list(TOWNS)], [0.5, 0.3, 0.2], atol=0.08)
    assert set(town["town"]) == {"Oslo"} and abs(town["pay"].mean()) < 0.15 and abs(town["pay"].std() - 1) < 0.15
    density = np.array([0.5, 0.3, 0.2]) * np.exp(-((-0.2 - np.array(list(TOWNS.values()))) ** 2) / 2)
    assert_allclose(pay["town"].value_counts(normalize=True)[list(TOWNS)], density / density.sum(), atol=0.08)
    assert (pay["pay"] == -0.2).all() and abs(pay["age"].mean() + 0.16) < 0.15
    assert set(both["town"]) == {"Oslo"} and abs(both["age"].std() - 0.6) < 0.1


def test_numbers_alone_are_the_normal_distribution():
    numbers = made(120)[["pay", "age"]]
    weights, kept = np.full(119, 1 / 119), np.array([[True, False]])
    mine = GeneralLocation(numbers, weights, draws=4000).given(119).complete(kept)[0]["age"]
    usual = Gaussian(Normal(numbers, 119, weights, draws=4000)).complete(kept)[0]["age"]
    assert_allclose([mine.mean(), mine.std()], [usual.mean(), usual.std()], atol=0.05)
    assert is_plain(numbers) and not is_plain(made(3))


@pytest.mark.parametrize("dependence", ["gaussian", "empirical"])
@pytest.mark.parametrize("kind", ["frame", "category", "objects"])
def test_a_column_that_the_model_ignores_earns_what_it_says_about_others(dependence, kind):
    frame = made(200)
    if kind == "category":
        frame["town"] = frame["town"].astype("category")
    given = frame.to_numpy(dtype=object) if kind == "objects" else frame
    model = (lambda rows: rows[:, 2].astype(float)) if kind == "objects" else ages
    names = {"names": list(frame)} if kind == "objects" else {}
    found = accredit.explain(given[:2], model, background=given[2:], dependence=dependence, **names)
    assert np.abs(found.credit[:, 0]).min() > 0.02  # the town tells the age through pay
    assert found.precision.known is Known.UNKNOWN
    assert_allclose(found.credit[..., 0].sum(axis=1) + found.base[0], found.prediction[:, 0], atol=1e-12)


def test_the_result_says_how_good_the_conditional_is():
    frame = made(160)
    some = accredit.explain(frame[:40], ages, background=frame[40:], dependence="gaussian")
    (said,) = [note.text for note in some.notes if "left out in turn" in note.text]
    assert "closer to what the data say" in said and "not closer" not in said
    alone = frame.assign(age=np.random.default_rng(1).normal(size=160))
    none = accredit.explain(alone[:40], ages, background=alone[40:], dependence="empirical")
    (said,) = [note.text for note in none.notes if "left out in turn" in note.text]
    assert "cannot be told" in said or "not closer" in said
    few = accredit.explain(frame[:1], ages, background=frame[40:], dependence="gaussian")
    assert any("not measured" in note.text for note in few.notes)


def test_a_copula_draws_values_of_the_background_whatever_their_scale():
    """Ranks do not change under exp, so neither do the rows that are drawn, and what is drawn are values that occur."""
    frame = made(160).assign(child=np.tile([0, 1, 2, 1], 40), member=np.tile([True, False], 80))
    skewed = frame.assign(pay=np.exp(frame["pay"]))
    weights, kept = np.full(150, 1 / 150), np.array([[0, 0, 1, 0, 0], [1, 0, 0, 1, 1]], dtype=bool)
    plain, bent = (GeneralLocation(t, weights, ranks=True).given(155).complete(kept)[0] for t in (frame, skewed))
    assert_allclose(np.exp(plain["pay"]), bent["pay"])
    assert plain.dtypes.equals(frame.dtypes) and set(plain["child"]) == {0, 1, 2} and set(plain["pay"]) <= set(frame["pay"])


def test_gaps_stay_gaps_and_tell_about_other_columns():
    """Every second pay is missing, always in Rome; age follows pay where it is known: the EM algorithm finds the slope."""
    frame = made(600)
    frame.loc[(frame["town"] == "Rome") & (np.arange(600) % 2 == 0), "pay"] = np.nan
    model = GeneralLocation(frame, np.full(590, 1 / 590))
    assert abs(model.covariance[1, 2] / model.covariance[1, 1] - 0.8) < 0.1
    gone = model.given(int(np.flatnonzero(frame["pay"].isna())[0])).complete(np.array([[0, 1, 0]], dtype=bool))[0]
    assert gone["pay"].isna().all() and (gone["town"] == "Rome").mean() > 0.9
    drawn = model.given(595).complete(np.array([[0, 0, 0]], dtype=bool))[0]
    assert 0.15 < drawn["pay"].isna().mean() < 0.35


@pytest.mark.parametrize("dependence", ["gaussian", "empirical", "copula"])
def test_frames_with_gaps_booleans_and_words_of_any_type_are_answered(dependence):
    frame = made(60).assign(flag=np.tile([True, False, None], 20), kids=pd.array(np.tile([1, 2, None], 20), dtype="Int64"))
    frame.loc[5, "town"], frame.loc[[1, 7], "pay"] = None, np.nan

    def model(rows):
        return rows["pay"].astype(float).fillna(0).to_numpy() + 2.0 * (rows["flag"] == True).to_numpy()  # noqa: E712

    found = accredit.explain(frame[:3], model, background=frame[3:], dependence=dependence)
    assert found.precision.known is Known.UNKNOWN and np.isfinite(found.credit).all()
    assert_allclose(found.credit[..., 0].sum(axis=1) + found.base[0], found.prediction[:, 0], atol=1e-12)
