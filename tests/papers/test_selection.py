"""The selection experiment in small: its data, its cells, its report, without any data but what is made here."""

from __future__ import annotations

import gzip
import sqlite3
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from click.testing import CliRunner

from accredit.cli import accredit
from accredit.errors import InvalidInput
from accredit.store.results_cache import Finished
from accredit_papers import selection, selection_data, selection_further, selection_report, selection_runs
from accredit_papers.selection_further import FurtherTrial
from accredit_papers.selection_runs import METHODS, RunSizes, SelectionOutcome, SelectionRun
from accredit_papers.verdicts import Found
from tests.real_data import real_data
from tests.wording import refused, says

AHEAD_OF_ALL = "ahead of 6 of 6"
AHEAD_OF_HALF = "ahead of 3 of 6"
BY_CHANCE = "| random k players | – |"
COUNT = "SELECT count(*) FROM finished"

TINY = {
    "texts": RunSizes(160, 24, 1, 40, 40, 6, 40, 20, 2, 2, 32, 8),
    "pictures": RunSizes(60, 20, 1, 32, 30, 4, 60, 16, 2, 1, 8, 4),
}


CLOCKS = ("seconds", "building")


def texts(folder, name, columns, rows):
    with gzip.open(folder / name, "wt", encoding="utf-8") as file:
        file.write("\n".join(["\t".join(columns), *("\t".join(map(str, row)) for row in rows)]) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    moods = (["awful", "dull", "bad"], ["fine", "superb", "good"])

    def review(label):
        return " ".join(rng.permutation([*rng.choice(moods[label], 4), *rng.choice(["the", "film", "a", "plot"], 12)]))

    rows = [("train", i % 2, review(i % 2)) for i in range(200)] + [("test", i % 2, review(i % 2)) for i in range(60)]
    rows.append(("test", 1, rows[1][2]))  # seen in training
    texts(place, "imdb_400.tsv.gz", ["split", "label", "text"], rows)
    stars = [("train", (1, 5, 4, 4)[i % 4], "Food", review(int(i % 4 > 0))) for i in range(120)]
    stars += [("test", (2, 5, 3)[i % 3], "Food", review(int(i % 3 > 0))) for i in range(90)]
    texts(place, "yelp_reviews_10k.tsv.gz", ["split", "stars", "category", "text"], stars)
    for name, first, second in (("mnist.npz", 3, 8), ("fashion_mnist.npz", 2, 6)):
        arrays = {}
        for split, count in (("train", 90), ("test", 45)):
            y = np.array([first, second, 0])[np.arange(count) % 3].astype(np.uint8)
            x = rng.integers(0, 20, (count, 28, 28)).astype(np.uint8)
            x[y == first, 3:13, 3:13] = 250
            x[y == second, 15:25, 15:25] = 250
            arrays |= {f"x_{split}": x, f"y_{split}": y}
        np.savez(place / name, **arrays)
    return place


def test_texts_are_balanced_and_test_texts_new(folder):
    found = selection_data.task(folder, "imdb", 80, 1000)
    assert found.x.shape == (80, 150) and found.y.mean() == 0.5
    assert len(found.y_test) == 60 and found.y_test.mean() == 0.5  # the text seen in training is gone
    seen = {tuple(row) for row in found.x}
    assert found.x.max() < found.inputs.vocabulary and (found.x[:, :16] > 1).all() and len(seen) > 60
    yelp = selection_data.task(folder, "yelp", 1000, 1000)
    assert yelp.y.mean() == 0.5 and len(yelp.y) == 180  # 90 positive, 30 negative three times
    assert yelp.y_test.mean() == 0.5 and len(yelp.y_test) == 60  # 30 of each; three stars are left out


def test_pictures_are_two_classes_from_black_to_white(folder):
    found = selection_data.task(folder, "mnist", 40, 20)
    assert found.x.shape == (40, 28, 28) and found.x.dtype == np.float32
    assert found.x.min() == -1 and found.x.max() <= 1 and found.y.mean() == 0.5
    # 3 is class 0: its square is the upper one.
    assert_array_equal(found.x[:, 7, 7] > found.x[:, 20, 20], found.y == 0)
    again = selection_data.task(folder, "mnist", 40, 20)
    assert_array_equal(found.x, again.x)


def test_missing_files_are_all_named_and_nothing_is_written(tmp_path):
    (tmp_path / "data").mkdir()
    call = ["reproduce", "selection", "--data", str(tmp_path / "data"), "--sets", "imdb,mnist", "--quick"]
    result = CliRunner().invoke(accredit, [*call, "--out", str(tmp_path / "out"), "--store", str(tmp_path / "cells.sqlite")])
    assert result.exit_code != 0
    told = f"{result.output}{result.exception}"
    assert "imdb_400.tsv.gz" in told and "aclImdb_v1.tar.gz" in told
    assert "mnist.npz" in told and "storage.googleapis.com" in told
    assert not (tmp_path / "out").exists() and not (tmp_path / "cells.sqlite").exists()


def test_damaged_data_are_refused(folder, tmp_path):
    np.savez(tmp_path / "mnist.npz", x_train=np.zeros((4, 14, 14)), y_train=np.zeros(4))
    with refused("shape", "data"):
        selection_data.task(tmp_path, "mnist", 4, 4)
    np.savez(tmp_path / "mnist.npz", pictures=np.zeros(3))
    with pytest.raises(InvalidInput, match="x_train"):
        selection_data.task(tmp_path, "mnist", 4, 4)
    (tmp_path / "imdb_400.tsv.gz").write_bytes(b"no gzip")
    with pytest.raises(InvalidInput, match="gzipped TSV"):
        selection_data.task(tmp_path, "imdb", 4, 4)
    texts(tmp_path, "yelp_reviews_10k.tsv.gz", ["split", "stars", "text"], [("train", 5, "good"), ("test", 5, "fine")])
    with refused("undefined", "labels"):
        selection_data.task(tmp_path, "yelp", 4, 4)
    with pytest.raises(InvalidInput, match="imdb,yelp,mnist,fashion"):
        selection_data.find_files(folder, ["cifar"])


@pytest.fixture(scope="module")
def report(folder, tmp_path_factory):
    store = tmp_path_factory.mktemp("store") / "cells.sqlite"
    found = selection.selection(folder, ["yelp", "mnist"], seeds=2, store=store, workers=1, sizes=TINY)
    return found, store


@pytest.mark.slow
def test_every_method_has_its_row_and_every_set_its_sentence(report):
    text = report[0].markdown()
    for method in METHODS:
        assert text.count(f"| {selection_report.TITLES[method]} |") >= 2
    assert text.count("**Which cure helps.**") == 2
    assert "97.7" in text and BY_CHANCE in text  # published, and chance beside it
    assert len(report[0].verdicts) == 12


def test_one_seed_judges_nothing(report, folder):
    once = selection.selection(folder, ["yelp"], seeds=1, store=report[1], workers=1, sizes=TINY)
    assert len(once.verdicts) == 6 and {v.found for v in once.verdicts} == {Found.OPEN}
    assert says(once.markdown(), "seed judges nothing")


def test_a_second_run_reads_the_store(report, folder, monkeypatch):
    monkeypatch.setattr(selection, "measure", None)  # nothing may be run again
    again = selection.selection(folder, ["yelp", "mnist"], seeds=2, store=report[1], workers=1, sizes=TINY)
    assert again.markdown() == report[0].markdown()


@pytest.mark.processes
@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_takes_up_where_it_was_left_and_finds_the_same_numbers_in_another_process(report, folder, tmp_path, workers):
    run = SelectionRun(str(folder), "mnist", 0, TINY["pictures"])
    cell = SelectionOutcome(0.125, 0.25, None, 0.5, 0.5, 20, 1.0, "kept")
    store, missing = tmp_path / "cells.sqlite", ("random", "l2x")
    with Finished(store) as cells:
        for method in set(METHODS).difference(missing):
            cells.keep(run.key(method), vars(cell))
    found = selection.read_finished([run], store, workers=workers)
    assert found["mnist", "gradient", 0] == cell  # not run again
    with Finished(report[1]) as before:
        for method in missing:  # run now
            first, second = vars(found["mnist", method, 0]), before.found(run.key(method))
            assert {k: v for k, v in first.items() if k not in CLOCKS} == {k: v for k, v in second.items() if k not in CLOCKS}


def test_a_scaled_run_learns_from_more_rows_and_is_judged_on_the_same():
    usual = TINY["texts"]
    larger = usual.scale(2.5)
    assert (larger.train, larger.lime_rows, larger.cxplain_rows) == (400, 15, 50)
    assert replace(larger, train=160, lime_rows=6, cxplain_rows=20) == usual


@pytest.mark.slow
def test_measures_mean_what_they_say(folder):
    run = SelectionRun(str(folder), "mnist", 0, TINY["pictures"])
    world = selection_runs.build(run)
    for method, result in selection_runs.measure(run, ["random", "l2x"]):
        chosen, *_ = selection_runs.EXPLAIN[method](world, run)
        assert chosen.sum(axis=1).tolist() == [25] * 20
        kept = world.black_box(world.task.x_test * chosen.reshape(-1, 28, 28)).argmax(axis=1)
        whole = world.black_box(world.task.x_test).argmax(axis=1)
        assert result.post_hoc == pytest.approx((kept == whole).mean())
        assert (result.surrogate is None) == (method == "random")


def test_the_sentence_names_the_cures_that_help():
    def cell(post_hoc):
        return SelectionOutcome(post_hoc, 0.5, None, 1.0, 1.0, 9, 0.0, "")

    values = {"l2x": 0.9, "l2x+answer": 0.5, "l2x+answer+pretraining": 0.75, "l2x+answer+weighting": 0.625}
    cells = {("imdb", m, seed): cell(v + seed / 8) for m, v in values.items() for seed in (0, 1)}
    cells["imdb", "l2x+answer+weighting", 0] = cell(0.25)  # one seed up, one down
    told = selection_report._which_cure("imdb", cells)
    assert says(told, "+25.0 ± 0.0")
    assert says(told, "Pretraining (+25.0 points)")
    assert "-40.0" in told
    worse = {key: cell(0.1) if "+" in key[1] and key[1] != "l2x+answer" else value for key, value in cells.items()}
    assert says(selection_report._which_cure("imdb", worse), "cure clearly helps")
    assert not selection_report._clear(np.array([1.0]), 1)  # one seed settles nothing
    assert not selection_report._clear(np.array([0.1, 9.0]), 1)  # within two standard errors


def test_cells_survive_and_strangers_are_refused(tmp_path):
    with Finished(tmp_path / "cells.sqlite") as cells:
        cells.keep({"a": 1}, {"b": 0.1})
    with Finished(tmp_path / "cells.sqlite") as cells:
        assert cells.found({"a": 1}) == {"b": 0.1}
    assert sqlite3.connect(tmp_path / "cells.sqlite").execute(COUNT).fetchone() == (1,)
    (tmp_path / "text").write_text("not a data base, only a text that is long enough to be looked at" * 20)
    with pytest.raises(InvalidInput, match="store="):
        Finished(tmp_path / "text")


def test_the_published_counts_are_those_of_the_real_files():
    file = real_data("mnist.npz")
    x, y = selection_data._pictures(file, "train")
    assert np.isin(y, (3, 8)).sum() == 11_982
    assert np.isin(selection_data._pictures(file, "test")[1], (3, 8)).sum() == 1_984
    assert len(x) == 60_000


def test_what_is_finished_is_reported_and_nothing_is_run(report, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(selection, "measure", None)  # nothing may be run
    store = report[1]
    found = selection.selection(folder, ["yelp", "mnist"], seeds=3, store=store, sizes=TINY, finished=True)
    parts = found.markdown().split("\n\n")
    (lacking,) = (part for part in parts if part.startswith("**Not finished.**"))  # the third seed is not there
    assert [part for part in parts if part != lacking] == report[0].markdown().split("\n\n")
    for kept, code in ((None, "missing"), (tmp_path / "new.sqlite", "empty")):
        with refused(code, "store"):
            selection.selection(folder, ["yelp"], store=kept, sizes=TINY, finished=True)


def test_the_whole_run_has_sizes_of_its_own(folder):
    result = CliRunner().invoke(
        accredit, ["reproduce", "selection", "--data", str(folder), "--whole", "--quick"], catch_exceptions=True
    )
    assert says(f"{result.output}{result.exception}", "--whole has sizes")


def test_a_cure_is_ahead_of_most_when_it_surpasses_the_fourth_of_six():
    def cell(post_hoc):
        return SelectionOutcome(post_hoc, 0.5, None, 1.0, 1.0, 9, 0.0, "")

    level = {method: k / 16 for k, method in enumerate(selection_report.PUBLISHED)}  # Weighting above Pretraining above all
    level["l2x+answer+pretraining"] = 2.5 / 16  # above three of six, and half a step below the fourth
    cells = {("yelp", m, seed): cell(level.get(m, 0.5) + seed / 1024) for m in METHODS for seed in range(6)}
    cells["yelp", "l2x+answer+weighting", 1] = cell(level["l2x+answer+weighting"] + 2 / 1024)
    report = selection_report.Report("selection", "…")
    selection_report._summary(report, ["yelp"], cells)
    first, second = report.verdicts[-2:]
    assert (first.found, first.paper) == (Found.REFUTED, AHEAD_OF_ALL) and says(first.evidence, "-3.1 ± 0.0")
    assert (second.found, second.paper) == (Found.HOLDS, AHEAD_OF_HALF) and says(second.evidence, "up in 6")


@pytest.fixture(scope="module")
def tried(report, folder):
    """Three trials of a yelp of two seeds, one of which reads padding."""
    few = (
        FurtherTrial("2 epochs", ("l2x+answer",), {"epochs": 2}),
        FurtherTrial("padding", ("l2x+answer",), {"surrogate": "bag"}, reading="padding"),
        FurtherTrial("answers", ("cxplain",), {}, {"labels": "answers"}),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection_further, "ASKED", [(trial, m) for trial in few for m in trial.methods])
        yield selection.selection(folder, ["yelp"], seeds=2, store=report[1], workers=1, sizes=TINY, further=True)


@pytest.mark.slow
def test_trials_stand_beside_the_setting_of_the_table(tried, report, folder, monkeypatch):
    told = tried.markdown()
    assert says(told, "Tried further: Yelp")
    for row in (
        "| L2X + ŷ | as in the table | 2 | 77.8 |",
        "| L2X + ŷ | padding | 2 | 77.8 |",
        "| CXPlain | answers | 2 | 97.7 |",
    ):
        assert row in told
    assert says(told, "trials: 2, from") and says(told, "the paper's 77.8")
    monkeypatch.setattr(selection_further, "measure_together", None)  # nothing may be run again
    monkeypatch.setattr(selection, "measure", None)
    again = selection.selection(folder, ["yelp"], seeds=2, store=report[1], workers=1, sizes=TINY, finished=True, further=True)
    assert again.markdown() == told


def test_trials_that_were_not_run_are_said_to_be_missing(report, folder, monkeypatch):
    monkeypatch.setattr(selection_further, "ASKED", [(FurtherTrial("never run", ("vibi",), {"epochs": 9}), "vibi")])
    told = selection.selection(folder, ["yelp"], store=report[1], sizes=TINY, finished=True, further=True).markdown()
    assert says(told, "store holds none")


def test_a_trial_changes_its_key_and_the_table_keeps_its_own():
    run = SelectionRun("data", "yelp", 0, replace(TINY["texts"], temperatures=(0.5, 0.1)))  # a choice, as the table's own
    assert set(run.key("l2x")) == {"set", "seed", "method", "sizes", "format"}
    keys = [str(trial.of(run).key(m)) for trial, m in selection_further.ASKED]
    assert len({*keys, *(str(run.key(m)) for m in METHODS)}) == len(keys) + len(METHODS)


def test_padding_becomes_a_word_that_may_be_kept(folder):
    plain = selection_data.task(folder, "yelp", 40, 20)
    shown = selection_data.with_padding(plain)
    assert shown.inputs.present(shown.x).all() and not plain.inputs.present(plain.x).all()
    assert_array_equal(shown.x == plain.x, plain.inputs.present(plain.x))  # words are as they were
    assert (shown.inputs.keep(shown.x, np.zeros(shown.x.shape, dtype=bool)) == 0).all()  # what is removed leaves nothing


def test_a_kept_black_pixel_differs_from_a_removed_one_unless_removal_is_black(folder):
    grey = selection_data.task(folder, "mnist", 20, 10)
    black = selection_data.with_black(grey)
    all_pixels, none = (np.full((len(grey.x), 784), kept) for kept in (True, False))
    dark = np.full_like(grey.x, -1)
    assert (grey.inputs.keep(dark, all_pixels) == -1).all() and not grey.inputs.keep(grey.x, none).any()
    assert_array_equal(black.inputs.keep((dark + 1) / 2, all_pixels), black.inputs.keep(black.x, none))
    assert (black.x >= 0).all() and (black.x <= 1).all()


@pytest.mark.slow
def test_settings_are_chosen_on_training_rows_one_after_the_other(folder, monkeypatch):
    sizes = replace(TINY["texts"], temperatures=(0.5, 0.1), surrogate="places", selectors=(16,), weightings=((3, 9.0),))
    run = SelectionRun(str(folder), "imdb", 0, sizes)
    world, asked = selection_runs.build(run), []
    whole = selection_runs._learn

    def learned(world, run, name, setting, x):
        asked.append((setting, len(x)))
        return whole(world, run, name, setting, x)

    monkeypatch.setattr(selection_runs, "_learn", learned)
    _, surrogate, _, preferred = selection_runs.EXPLAIN["l2x+answer+weighting"](world, run)
    assert [rows for _, rows in asked] == [20, 20, 20, 20, 160]  # as it is, colder, wider, otherwise weighted; then all rows
    first, colder, wider, weighed, final = (setting for setting, _ in asked)
    assert (first.temperature, colder.temperature, wider.selector, weighed.weighting) == (0.5, 0.1, 16, (3, 9.0))
    assert preferred == final.words() and surrogate.shape == (24, 2)
    asked.clear()
    selection_runs.EXPLAIN["l2x"](world, run)
    assert all(setting.weighting is None for setting, _ in asked) and len(asked) == 4


def test_a_setting_must_keep_more_answers_to_be_taken(folder, monkeypatch):
    """Of four trials the colder one keeps more answers than the first, the wider one as many as that: the colder is taken."""
    sizes = replace(TINY["pictures"], temperatures=(0.5, 0.1), selectors=(16,))
    run = SelectionRun(str(folder), "mnist", 0, sizes)
    data = selection_runs.read(run)
    half = len(data.x) // 8

    class Chooses:
        def __init__(self, kept):
            self.kept = kept

        def select(self, rows):
            chosen = np.zeros((len(rows), data.inputs.n), dtype=bool)
            chosen[: self.kept] = True
            return chosen

    def learned(world, run, name, setting, x):
        return Chooses(len(data.x) if setting.temperature == 0.1 else half // 2)

    monkeypatch.setattr(selection_runs, "_learn", learned)
    there = selection_runs.Bench(data, None, lambda x: np.stack([x.any(axis=(1, 2)), ~x.any(axis=(1, 2))], 1), None, None, 0.0)
    setting, several = selection_runs.choose_setting(there, run, "l2x")
    assert several and (setting.temperature, setting.selector) == (0.1, sizes.selector)
    alone = replace(run, sizes=TINY["pictures"])
    assert selection_runs.choose_setting(there, alone, "l2x")[1] is False


def test_what_is_run_is_what_ships(folder, monkeypatch):
    """Nothing of the schedule of Weighting is forced: a recipe made by hand has the same."""
    from accredit.learned import recipes

    made, recipe = [], recipes.RECIPES["l2x+answer+weighting"]
    monkeypatch.setitem(recipes.RECIPES, "l2x+answer+weighting", lambda *a, **k: made.append(recipe(*a, **k)) or made[-1])
    run = SelectionRun(str(folder), "mnist", 0, TINY["pictures"])
    world = selection_runs.build(run)
    selection_runs.EXPLAIN["l2x+answer+weighting"](world, run)
    shipped = recipe(world.task.inputs, 2, world.task.k)
    assert made[0].schedule == shipped.schedule and not shipped.schedule.learn_first


def test_settings_that_are_chosen_enter_the_keys_of_the_methods_that_choose():
    plain = SelectionRun("data", "mnist", 0, TINY["pictures"])
    tried = replace(plain, sizes=replace(TINY["pictures"], selectors=(32,), weightings=((10, 50.0),)))
    same = [m for m in METHODS if plain.key(m) == tried.key(m)]
    assert same == [m for m in METHODS if m not in selection_runs.TRAINED]
    assert "weightings" in tried.key("l2x+answer+weighting") and "weightings" not in tried.key("vibi")
