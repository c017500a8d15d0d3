"""Half precision on a CPU that cannot run it: found out in another process, and refused before the first pass."""

from __future__ import annotations

import sys

import pytest
import torch

from accredit import explain
from accredit.errors import InvalidInput
from accredit.influence.network import network
from accredit.learned import Tabular
from accredit.learned.gradient import Gradient
from accredit.learned.networks import as_black_box
from accredit.models import as_array_model, precision
from accredit.models.precision import CURE, HALVES, check_precision, try_precision
from accredit.models.precision_trial import operations
from tests.models.answering_models import answering
from tests.models.small_models import image_model, text_model
from tests.wording import reads, refused, says

DIE = "print('a matrix product', flush=True); os.kill(os.getpid(), signal.SIGILL)"
DIE_UNCURED = f"os.environ.get('{CURE[0]}') == '{CURE[1]}' or ({DIE.replace('; ', ', ')})"


def child(monkeypatch, code):
    """Try every precision by this code instead of products."""
    command = (sys.executable, "-I", "-c", f"import os, signal, sys, time; {code}")
    monkeypatch.setattr(precision, "trial_command", lambda dtype: command)


def linear(dtype=torch.bfloat16):
    return torch.nn.Linear(3, 2).to(dtype)


def test_a_child_that_dies_is_reported_with_the_operation_and_the_signal(monkeypatch):
    child(monkeypatch, DIE)
    trial = try_precision("bfloat16")
    assert (trial.works, trial.operation, trial.signal, trial.cured) == (False, "a matrix product", "SIGILL", False)
    assert reads(str(trial))


def test_a_cure_is_named_only_where_it_was_seen_to_help(monkeypatch):
    monkeypatch.delenv(CURE[0], raising=False)
    child(monkeypatch, DIE_UNCURED)
    with refused("unavailable", "model"):
        check_precision(linear().parameters())
    child(monkeypatch, DIE)
    with refused("unavailable", "model"):
        check_precision(linear().parameters())


def test_a_cpu_with_the_cure_set_is_trusted(monkeypatch):
    monkeypatch.setenv(*CURE)
    child(monkeypatch, DIE_UNCURED.replace("==", " =="))  # another command: answers are remembered by command
    check_precision(linear().parameters())


@pytest.mark.parametrize("dtype", HALVES)
def test_every_door_refuses_before_the_first_pass(monkeypatch, dtype):
    child(monkeypatch, DIE)
    half = getattr(torch, dtype)
    doors = {
        "a text": lambda: explain("It is good.", text_model("bert", dtype=half)),
        "an answer": lambda: answering("llama", half).generate(torch.arange(4, 8).numpy()),
        "a picture": lambda: explain(torch.rand(1, 12, 12).numpy(), image_model(dtype=half)),
        "rows": lambda: as_array_model(linear(half)).outputs([[1.0, 2.0, 3.0]]),
        "influence": lambda: network(linear(half), loss="classification"),
        "a black box": lambda: as_black_box(linear(half), Tabular(3)),
        "gradients": lambda: Gradient(Tabular(3), 1, linear(half)).scores([[1.0, 2.0, 3.0]]),
    }
    for door, opened in doors.items():
        with pytest.raises(InvalidInput, match=f"model holds {dtype} weights.*SIGILL"):
            opened()
            pytest.fail(door)


def test_a_model_in_full_precision_or_on_another_device_asks_no_child(monkeypatch):
    monkeypatch.setattr(precision, "try_precision", lambda dtype: pytest.fail(dtype))
    for module in (linear(torch.float32), linear(torch.float64), linear().to("meta"), torch.nn.Flatten()):
        check_precision(module.parameters())


def test_each_precision_is_tried_once(monkeypatch, tmp_path):
    child(monkeypatch, f"open({str(tmp_path / 'tried')!r}, 'a').write('x')")
    for _ in range(3):
        for dtype in (torch.bfloat16, torch.float16, torch.bfloat16):
            check_precision(linear(dtype).parameters())
    assert (tmp_path / "tried").read_text() == "xx"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "exit code -9"),  # somebody else's doing: memory, an administrator
        ("sys.exit('no such dtype')", "no such dtype"),
        ("time.sleep(60)", "no answer"),
    ],
)
def test_what_was_not_learnt_is_said_and_refuses_nothing(monkeypatch, code, why):
    if why == "no answer":
        monkeypatch.setattr(precision, "SECONDS", 0.5)
    child(monkeypatch, code)
    trial = try_precision("bfloat16")
    assert trial.works is None and says(str(trial), "bfloat16 could not") and why in str(trial)
    check_precision(linear().parameters())


def test_an_interpreter_that_cannot_be_started_is_said_and_refuses_nothing(monkeypatch):
    monkeypatch.setattr(precision, "trial_command", lambda dtype: ("no such interpreter",))
    assert says(str(try_precision("bfloat16")), "such interpreter' cannot")
    check_precision(linear().parameters())


@pytest.mark.slow
@pytest.mark.parametrize("dtype", HALVES)
def test_the_operations_run_here_or_are_reported(dtype):
    trial = try_precision(dtype)
    assert trial.unknown is None
    if trial.works:
        assert trial.operation == list(operations(torch, torch.float32))[-1]
