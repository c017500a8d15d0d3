"""`accredit explain` on pictures: one file, one's own segments, a folder that is resumed, and what is wrong with them."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
Image = pytest.importorskip("PIL.Image")

from accredit.explanation import Explanation  # noqa: E402
from tests.models.small_models import image_model, text_model  # noqa: E402
from tests.wording import says  # noqa: E402

FAST = ("--methods", "leave-one-out")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """An image model and a text model on disk."""
    home = tmp_path_factory.mktemp("models")
    image_model().model.save_pretrained(home / "image")
    text = text_model("bert")
    text.model.save_pretrained(home / "text")
    text.tokenizer.save_pretrained(home / "text")
    return home


@pytest.fixture
def run(typed, monkeypatch, tmp_path):
    """`accredit explain` in a folder with pictures."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    (tmp_path / "photos").mkdir()
    for name in ("c.png", "a.png", "b.jpg"):
        Image.fromarray(rng.integers(0, 256, (12, 12), dtype=np.uint8)).save(tmp_path / "photos" / name)
    return partial(typed, "explain")


def lines(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_segments_by_number_and_of_one_s_own(run, models, tmp_path):
    _, out, _ = run("photos/a.png", "--model", models / "image", *FAST, "--players", "segments:5", "--json")
    assert Explanation.from_json(out).players == tuple(f"segment {k}" for k in range(5))
    labels = np.arange(144).reshape(12, 12) % 3
    np.save(tmp_path / "mine.npy", labels)
    code, out, err = run("photos/a.png", "--model", models / "image", *FAST, "--segments", "mine.npy", "--json")
    assert code == 0 and err == ""
    assert (Explanation.from_json(out).picture.owner == labels).all()


def test_the_terminal_shows_a_map_and_says_what_was_done(run, models):
    code, out, _ = run("photos/b.jpg", "--model", models / "image", *FAST, "--more")
    assert code == 0 and says(out, "leave-one-out: # and")
    assert says(out, "b.jpg: 0…255 scaled") and says(out, "Players are 9")


@pytest.mark.slow
def test_a_folder_is_explained_picture_by_picture_and_resumed(run, models, tmp_path):
    (tmp_path / "photos" / "bad.png").write_text("not a picture")
    (tmp_path / "photos" / "notes.txt").write_text("leave me alone")
    command = ("photos", "--model", models / "image", *FAST, "--players", "segments:4", "--out", "rows.jsonl")
    code, out, err = run(*command)
    assert code == 0 and out == "" and says(err, "rows, 1 could")
    whole = (tmp_path / "rows.jsonl").read_bytes()
    rows = lines(tmp_path / "rows.jsonl")
    assert [row["text"] for row in rows] == ["a.png", "b.jpg", "bad.png", "c.png"]
    assert says(rows[2]["error"], "cannot be opened")
    assert rows[0]["picture"]["size"] == [12, 12] and "data" not in rows[0]["picture"]
    _, alone, _ = run("photos/c.png", *command[1:-2], "--json")
    assert rows[3]["attributions"] == json.loads(alone)["attributions"]
    (tmp_path / "rows.jsonl").write_bytes(b"".join(whole.splitlines(keepends=True)[:2]) + b'{"row": 2, "ru')
    code, _, err = run(*command)
    assert code == 0 and says(err, "them already there")
    assert (tmp_path / "rows.jsonl").read_bytes() == whole


@pytest.mark.slow
def test_pictures_that_have_changed_are_not_taken_for_the_old_ones(run, models, tmp_path):
    command = ("photos", "--model", models / "image", *FAST, "--out", "rows.jsonl")
    run(*command)
    Image.fromarray(np.zeros((12, 12), dtype=np.uint8)).save(tmp_path / "photos" / "b.jpg")
    code, _, err = run(*command)
    assert code == 2 and "other texts" in err


BAD = {
    "a folder and a text model": (["photos", "--model", "{text}"], "folder of pictures, and"),
    "a folder without pictures": (["empty", "--model", "{image}"], "folder without pictures"),
    "a page of a folder": (["photos", "--html", "x.html"], "--html is for one"),
    "a pair of a folder": (["photos", "--pair", "x"], "--pair belongs to a text"),
    "text for a picture": (["photos/a.png", "--text", "x"], "--text belongs to a text"),
    "segments of a text": (["A good film.", "--segments", "mine.npy"], "--segments belongs to a picture"),
    "segments and players": (["photos/a.png", "--segments", "mine.npy", "--players", "2x2"], "leave one of them out"),
    "segments that are not there": (["photos/a.png", "--segments", "none.npy", "--model", "{image}"], "no file"),
    "segments of another shape": (["photos/a.png", "--segments", "mine.npy", "--model", "{image}"], "(12, 12)"),
    "a missing picture": (["photos/none.png"], "there is no file 'photos/none.png'"),
    "an empty picture": (["zero.png", "--model", "{image}"], "'zero.png' is empty"),
    "unknown players": (["photos/a.png", "--players", "letters", "--model", "{image}"], "segments:40"),
    "words of a picture": (["photos/a.png", "--players", "word", "--model", "{image}"], "which is for text"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_leaves_no_file(run, models, tmp_path, case):
    arguments, said = BAD[case]
    (tmp_path / "empty").mkdir()
    (tmp_path / "zero.png").touch()
    np.save(tmp_path / "mine.npy", np.arange(4).reshape(2, 2))
    before = sorted(p.name for p in tmp_path.rglob("*"))
    code, out, err = run(*(a.format(image=models / "image", text=models / "text") for a in arguments))
    assert code == 2 and out == ""
    assert said in err and err.startswith("accredit: ") and err.count("\n") == 1
    assert sorted(p.name for p in tmp_path.rglob("*")) == before
