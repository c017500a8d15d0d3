"""Model folders from anybody: what they may claim, name and hold. Nothing of a refused folder reaches a library."""

import json
import os
import shutil

import pytest

from accredit.errors import InvalidInput
from accredit.models.builtin import vision_folder
from accredit.models.folders import model_config, numbers_in
from tests.wording import refused

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes and links are those of POSIX")


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(vision_folder(), tmp_path / "model")


def change(folder, file="config.json", **settings):
    data = json.loads((folder / file).read_text()) | settings
    (folder / file).write_text(json.dumps(data))


def with_header(folder, header, body=b""):
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(raw).to_bytes(8, "little") + raw + body)


def test_an_honest_folder_is_taken(folder):
    assert "architectures" in model_config(folder)
    assert numbers_in(folder) > 10_000


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"auto_map": {"AutoModel": "evil.Model"}}, "own code"),
        ({"vision_config": {"auto_map": {}}}, "own code"),
        ({"attn_implementation": "stranger/kernel"}, "kernel 'stranger/kernel'"),
        ({"_attn_implementation": "flash|stranger"}, "kernel"),
        ({"hidden_size": 10**12}, "hidden_size=1,000,000,000,000, and all weights together hold"),
        ({"text_config": {"vocab_size": 10**9}}, "vocab_size=1,000,000,000"),
        ({"num_hidden_layers": 10**400}, "whole number of 401 digits"),
    ],
)
def test_settings_that_ask_for_code_or_for_all_memory_are_refused(folder, settings, why):
    change(folder, **settings)
    with pytest.raises(InvalidInput, match=why):
        model_config(folder)


@pytest.mark.parametrize(
    "text", ["[]", "{", '{"a": 1, "a": 2}', '{"a": NaN}', "[" * 10_000, '{"a": "\\ud800"}', b"\xff\xfe{}", b""]
)
def test_settings_that_are_not_plain_json_are_refused(folder, text):
    (folder / "config.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    with refused("unreadable", has="read as JSON"):
        model_config(folder)


def test_pipes_and_settings_of_gigabytes_are_not_waited_for(folder):
    os.mkfifo(folder / "tokenizer.json")
    with pytest.raises(InvalidInput, match="is a pipe"):
        model_config(folder)
    (folder / "tokenizer.json").unlink()
    with (folder / "generation_config.json").open("wb") as file:
        file.truncate(1 << 34)  # a hole: no disk is filled
    with pytest.raises(InvalidInput, match="has 16384 MiB"):
        model_config(folder)


F32 = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
HEADERS = {
    "no file at all": (None, "would have"),
    "a header of petabytes": (b"", "would have"),
    "not JSON": (b"pickled", "is not a safetensors file"),
    "a list": (b"[]", "not a JSON object"),
    "bytes that are not there": (
        {"a": {"dtype": "F32", "shape": [2000], "data_offsets": [0, 8000]}},
        "describes 8,000",
    ),
    "more bytes than the shape": ({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 8]}}, "cannot be true"),
    "a shape beyond memory": (
        {"a": {"dtype": "F32", "shape": [2**40, 2**40], "data_offsets": [0, 8]}},
        "cannot be true",
    ),
    "negative": ({"a": {"dtype": "F32", "shape": [-2], "data_offsets": [8, 0]}}, "cannot be true"),
    "overlap": ({"a": F32, "b": F32}, "begins at byte 0, where 8 is expected"),
    "a hole": ({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}}, "begins at byte 4, where 0 is expected"),
    "words for numbers": ({"a": {"dtype": "F32", "shape": ["2"], "data_offsets": [0, 8]}}, "cannot be true"),
    "nothing": ({"a": None}, "cannot be true"),
    "twice": (b'{"a": 1, "a": 2}', "'a' twice"),
}


@pytest.mark.parametrize("case", HEADERS)
def test_headers_that_lie_are_refused(folder, case):
    header, why = HEADERS[case]
    if header is None:
        (folder / "model.safetensors").write_bytes(b"")
    elif header == b"":
        (folder / "model.safetensors").write_bytes((1 << 50).to_bytes(8, "little") + b"{}")
    else:
        with_header(folder, header, bytes(8))
    with pytest.raises(InvalidInput, match=why):
        model_config(folder)


@pytest.mark.parametrize("part", ["../../secret.safetensors", "/etc/passwd", "pytorch_model.bin", 3, None])
def test_an_index_names_files_of_its_own_folder_only(folder, part):
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": part}}))
    with refused("unsafe"):
        model_config(folder)


@pytest.mark.slow
def test_a_model_far_larger_than_its_weights_is_refused_before_it_is_built(folder):
    from accredit.models.loading import load_image_model

    change(folder, hidden_size=99_996, intermediate_size=99_996)
    with refused("conflict"):
        load_image_model(folder)
    change(folder, hidden_size=48, num_hidden_layers=900_000)
    with refused("too-many"):
        load_image_model(folder)


@pytest.mark.slow
def test_a_damaged_tokenizer_is_one_line(tmp_path):
    from accredit.models.builtin import text_folder
    from accredit.models.loading import load_text_model

    folder = shutil.copytree(text_folder(), tmp_path / "text")
    for odd in ('{"model": 3}', '{"version": "1.0", "added_tokens": [{}]}', "[]", ""):
        (folder / "tokenizer.json").write_text(odd)
        with refused("missing"):
            load_text_model(folder)
