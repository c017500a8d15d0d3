"""`accredit explain` for a file of series and a model in an ONNX file."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

RNG = np.random.default_rng(0)
SERIES, TRAIN = RNG.normal(size=(2, 12, 3)), RNG.normal(size=(5, 12, 3))
FIRST, SECOND = RNG.normal(size=(36, 8)).astype(np.float32), RNG.normal(size=(8, 2)).astype(np.float32)


def network(x):
    return np.tanh(x.reshape(len(x), -1) @ FIRST) @ SECOND


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Series, background and a network of two layers."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from onnx import TensorProto, helper, numpy_helper

    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"]),
        helper.make_node("MatMul", ["flat", "first"], ["wide"]),
        helper.make_node("Tanh", ["wide"], ["bent"]),
        helper.make_node("MatMul", ["bent", "second"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 12, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 2])],
        [numpy_helper.from_array(FIRST, "first"), numpy_helper.from_array(SECOND, "second")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 9
    onnx.save(made, tmp_path / "network.onnx")
    np.save(tmp_path / "series.npy", SERIES)
    np.save(tmp_path / "train.npy", TRAIN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_series_of_a_file(files, typed):
    from accredit import explain

    asked = ("series.npy", "--model", "network.onnx", "--background", "train.npy", "--players", "segments:4")
    code, out, err = typed("explain", *asked, "--json", "--html", "series.html", "--target", "output 1")
    assert code == 0, err
    told = json.loads(out.splitlines()[0])
    assert told["table"]["target"] == "output 1"
    truth = explain(SERIES, network, background=TRAIN, players="segments:4")
    assert_allclose(told["table"]["credit"], truth.credit, atol=1e-4)
    assert "<polyline" in (files / "series.html").read_text()
    shown = typed("explain", *asked)[1]
    assert "0–2" in shown
    assert max(map(len, shown.splitlines())) <= 120


@pytest.mark.slow
def test_what_is_missing_is_named(files, typed):
    for words, said in (
        (("series.npy", "--background", "train.npy"), "--model"),
        (("series.npy", "--model", "network.onnx"), "--background"),
        (("series.npy", "--model", "network.onnx", "--background", "series.csv"), "series.csv"),
        (("series.npy", "--model", "network.onnx", "--background", "zeros", "--players", "weeks"), "--players"),
        (("series.npy", "--model", "network.onnx", "--background", "zeros", "--dependence", "cover"), "--dependence"),
    ):
        code, _, err = typed("explain", *words)
        assert code == 2, err
        assert said in err
