"""The explain loop: a frozen subject, events in order, flows solved once and drawn after the stopwatch, one loop for all."""

from __future__ import annotations

import json
import threading
from dataclasses import FrozenInstanceError, dataclass, replace

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("ortools")

import accredit.flow.unique
from accredit.core.threads import one_torch_thread
from accredit.errors import InvalidInput
from accredit.explanation import explain
from accredit.explanation.graph import graph_of
from accredit.explanation.loading import subject_of
from accredit.explanation.stream import Done, Explained, MethodProgress, Refused, Started, answer, attribution_of, events
from accredit.explanation.subject import Memo
from accredit.games.wrappers import watch
from accredit.methods import find, find_all
from accredit.values.solver import PROGRESS_FILE, progress
from tests.models.small_models import TEXT, text_model
from tests.rounding import assert_same_but_for_rounding
from tests.wording import reads, refused


@pytest.fixture(scope="module")
def bert():
    return text_model("bert")


@pytest.fixture
def solves(monkeypatch):
    """How often a unique flow is solved."""
    count = []
    solve = accredit.flow.unique.central_point
    monkeypatch.setattr("accredit.flow.unique.central_point", lambda *args, **kwargs: count.append(1) or solve(*args, **kwargs))
    return count


def chosen(*names):
    return find_all(names, "explain")


def test_a_subject_is_complete_and_cannot_be_changed(bert):
    subject = subject_of(bert, TEXT, budget=50, seed=3)
    assert (subject.budget, subject.seed) == (50, 3)
    for name in ("budget", "seed", "game", "memo"):
        with pytest.raises(FrozenInstanceError):
            setattr(subject, name, None)
    assert subject == subject != subject_of(bert, TEXT, budget=50, seed=3)
    assert subject.record is subject.record and graph_of(subject) is graph_of(subject)


@pytest.mark.parametrize("told", [False, True])
def test_events_come_in_order(bert, told):
    subject = subject_of(bert, TEXT)
    methods = chosen("shapley", "attention", "leave-one-out")
    seen = list(events(subject, methods, progress=told, pace=0.0))
    assert [(type(e), e.method) for e in seen if isinstance(e, Started | Done)] == [
        (kind, m.name) for m in methods for kind in (Started, Done)
    ]
    assert isinstance(seen[-1], Explained) and seen[-1].explanation.methods == tuple(m.name for m in methods)
    steps = [e for e in seen if isinstance(e, MethodProgress)]
    assert bool(steps) is told
    for name in {e.method for e in steps}:
        done = [e.done for e in steps if e.method == name]
        assert done == sorted(done) and steps[0].seconds_left >= 0
        assert done[-1] == find(name, "text").payoffs(len(subject.players), None)
    if told:  # between its start and its end
        first = seen.index(steps[0])
        assert isinstance(seen[first - 1], Started) and seen[first - 1].method == steps[0].method


def test_the_quickest_may_come_first_and_the_answer_keeps_the_order_asked(bert):
    methods = chosen("shapley", "leave-one-out", "flow", "rollout")
    seen = list(events(subject_of(bert, TEXT), methods, quickest_first=True))
    assert [e.method for e in seen if isinstance(e, Started)] == ["flow", "rollout", "leave-one-out", "shapley"]
    assert seen[-1].explanation.methods == ("shapley", "leave-one-out", "flow", "rollout")


def test_progress_changes_no_number(bert):
    methods = chosen("shapley", "banzhaf", "lime", "permutations", "owen")
    quiet, told = (
        list(events(subject_of(bert, TEXT, players="token", budget=60), methods, progress=p, pace=0.0))[-1].explanation
        for p in (False, True)
    )
    assert all(quiet[name] == told[name] for name in quiet.methods)


def test_whoever_stops_reading_stops_the_run(bert):
    """The thread ends with the stream, after the batch it is in."""
    subject = subject_of(bert, TEXT, players="token", budget=4000)
    stream = events(subject, chosen("permutations"), progress=True, pace=0.0)
    assert isinstance(next(stream), Started) and isinstance(next(stream), MethodProgress)
    stream.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "explain permutations"]
    assert subject.record.remembered < 2 ** len(subject.players)


@dataclass
class OutOfPaper:
    """A game whose model fails in the middle."""

    players: tuple[str, ...]

    def payoff(self, coalitions):
        raise RuntimeError("out of paper")


def test_what_a_model_raises_reaches_the_reader(bert):
    whole = subject_of(bert, TEXT)
    subject = replace(whole, game=OutOfPaper(whole.players), memo=Memo())
    with pytest.raises(RuntimeError, match="out of paper"):
        list(events(subject, chosen("shapley"), progress=True))


def test_a_refusal_is_an_event_and_the_rest_runs(bert):
    subject = subject_of(lambda_model(), "not good")
    seen = list(events(subject, chosen("flow", "saliency", "shapley")))
    reasons = {e.method: e.why for e in seen if isinstance(e, Refused)}
    assert set(reasons) == {"flow", "saliency"} == set(seen[-1].explanation.refused)
    for name, why in reasons.items():
        with pytest.raises(InvalidInput) as said:
            find(name, "strings")
        assert why == str(said.value)
    with refused("misplaced"):
        attribution_of(subject, "flow")


def lambda_model():
    from accredit.models import as_string_model

    return as_string_model(lambda texts: [float(len(text)) for text in texts])


@pytest.mark.slow
def test_a_flow_is_solved_once_and_drawn_after_the_stopwatch(bert, solves):
    subject = subject_of(bert, TEXT)
    stream = events(subject, chosen("flow", "flow-shapley"))
    assert [type(next(stream)) for _ in range(4)] == [Started, Done, Started, Done]
    assert len(solves) == 1 and ("drawing", "flow") not in subject.memo  # all seconds are taken, nothing is drawn
    explanation = next(stream).explanation
    assert len(solves) == 1 and explanation.flow.method == "flow" and explanation.flow.notes


def test_explaining_with_a_flow_solves_it_once(bert, solves):
    explain(TEXT, bert, methods="flow,attention,rollout,shapley")
    assert len(solves) == 1


def test_drawings_are_made_once_however_often_they_are_asked_for(bert, solves):
    from accredit.explanation.stream import assemble

    subject, methods = subject_of(bert, TEXT), chosen("flow")
    ended = [answer(subject, methods[0])]
    first, second = (assemble(subject, methods, ended).flow for _ in range(2))
    assert first is second and len(solves) == 1


def test_a_drawing_that_fails_is_a_note_and_not_a_refusal(bert, monkeypatch):
    def fails(*args, **kwargs):
        raise InvalidInput("the pen is dry")

    monkeypatch.setattr("accredit.attention.flow_report", fails)
    explanation = explain(TEXT, bert, methods="flow")
    assert not explanation.refused and explanation.flow is None
    assert reads([note.text for note in explanation.notes])


def test_a_watched_game_tells_every_batch_and_every_call(bert):
    subject = subject_of(bert, TEXT, players="token")
    n, told = len(subject.players), []
    game = watch(subject.game, told.append)
    coalitions = np.random.default_rng(0).random((3 * subject.game.rows, n)) < 0.5
    np.testing.assert_array_equal(game.payoff(coalitions), subject.game.payoff(coalitions))
    assert told == sorted(told) and told[-1] == len(coalitions)
    assert len(told) >= len(np.unique(coalitions, axis=0)) // subject.game.rows > 0
    game.payoff(coalitions[:2])
    assert told[-1] == len(coalitions) + 2


@pytest.mark.slow
def test_the_page_and_the_command_say_the_same():
    """One loop: the page's task and the command give the same explanation of the same input, but for rounding."""
    pytest.importorskip("fastapi")
    with one_torch_thread():
        page_and_command_agree()


def page_and_command_agree():
    from click.testing import CliRunner

    from accredit.cli.explain import explain as command
    from accredit.explanation import Explanation
    from accredit.web.requests import ExplainRequest
    from accredit.web.tasks import Models
    from accredit.web.tasks import explain as task

    text, methods = "A good film.", ["shapley", "loo", "ig", "flow:agf", "rollout"]
    asked = ExplainRequest(text=text, methods=methods, budget=100, seed=2).model_dump()
    page = json.loads(list(task(Models(()), asked))[-1]["json"])
    words = [text, "--methods", ",".join(methods), "--budget", "100", "--seed", "2", "--json"]
    typed = json.loads(CliRunner().invoke(command, words, catch_exceptions=False).stdout)
    del typed["provenance"]["command"]
    typed["seconds"] = page["seconds"] = {}
    library = explain(text, methods=methods, budget=100, seed=2)
    own = json.loads(replace(library, seconds={}).to_json())
    Explanation.from_json(json.dumps(page))
    rounding = max(credit.rounding for _, credit in library)
    assert rounding < 1e-3
    for said in (typed, page):
        assert_same_but_for_rounding(said, own, rounding)
    assert library["loo"] is library["leave-one-out"]


def test_inside_a_run_with_a_line_there_is_no_second_one(monkeypatch):
    lines = []
    monkeypatch.setattr("accredit.values.solver._screen", lambda: lambda line: lines.append(str(line or "")))
    monkeypatch.setattr("accredit.values.solver.PROGRESS_AFTER", 0.0)
    with progress("rows", 4) as outer:
        outer.update(1)
        with progress("payoffs", 10) as inner:
            assert not inner.visible
            inner.update(5)
        outer.update(2, "shapley")
    assert [line.split(" ")[0] for line in lines] == ["rows", "shapley", ""]
    with progress("alone", 1) as bar:
        assert bar.visible


def test_a_file_says_how_far_a_run_has_got_and_is_empty_afterwards(monkeypatch, tmp_path):
    path = tmp_path / "progress.json"
    monkeypatch.setenv(PROGRESS_FILE, str(path))
    monkeypatch.setattr("accredit.values.solver.PROGRESS_AFTER", 0.0)
    with progress("training", 4) as bar:
        bar.update(1)
        line = json.loads(path.read_text())
        assert line["label"] == "training" and line["share"] == 0.25 and line["left"] >= 0
        bar.update(3)  # too soon to be written
        assert json.loads(path.read_text()) == line
    assert json.loads(path.read_text()) is None and [each.name for each in tmp_path.iterdir()] == ["progress.json"]


def test_a_log_gets_a_sign_of_life_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr("accredit.values.solver.PROGRESS_AFTER", 0.0)
    with progress("audit", 4) as bar:
        assert not bar.visible
        bar.update(1)  # too soon to be written
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("accredit.values.solver.LOG_EVERY", 0.0)
    with progress("audit", 4) as bar, progress("inside", 2) as inner:
        bar.update(1)
        inner.update(1)
    written = capsys.readouterr().err
    assert written.startswith("audit: 25%") and written.endswith("left\n") and written.count("\n") == 1


def test_a_long_explanation_shows_its_methods_on_the_screen(bert, monkeypatch):
    lines = []
    monkeypatch.setattr("accredit.values.solver._screen", lambda: lambda line: lines.append(str(line or "")))
    monkeypatch.setattr("accredit.values.solver.PROGRESS_AFTER", 0.0)
    explain(TEXT, bert, methods="permutations,leave-one-out", players="token", budget=200)
    assert {line.split(" ")[0] for line in lines} == {"permutations", "leave-one-out", ""} and lines[-1] == ""
    assert any("100%" in line for line in lines)


def test_a_notebook_shows_one_line_that_is_written_over():
    pytest.importorskip("ipykernel")
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    from accredit.values.solver import _in_notebook

    InteractiveShell.instance()
    with capture_output() as seen:
        show = _in_notebook()
        show("a")
        show("b")
    assert [output.data["text/plain"] for output in seen.outputs] == ["a", "b"]
    assert [output.update for output in seen.outputs] == [False, True]
