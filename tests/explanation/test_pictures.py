"""Pictures from end to end: names of files, segments, plain networks, budgets, removals, and what the result says."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from numpy.testing import assert_allclose  # noqa: E402
from PIL import Image  # noqa: E402

from accredit import explain  # noqa: E402
from accredit.errors import InvalidInput  # noqa: E402
from accredit.evaluate import check_claims  # noqa: E402
from accredit.explanation import Explanation  # noqa: E402
from accredit.games import image_game  # noqa: E402
from accredit.models import ImageModel, Preparation, as_image_model  # noqa: E402
from tests.models.small_models import image_model, text_model  # noqa: E402
from tests.wording import reads, refused, says  # noqa: E402

GREY = np.random.default_rng(0).integers(0, 256, (12, 12), dtype=np.uint8)
COLOUR = np.random.default_rng(1).integers(0, 256, (24, 30, 3), dtype=np.uint8)


def network(outputs: int = 3, pool: int = 3) -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(pool),
        torch.nn.Flatten(),
        torch.nn.Linear(4 * pool**2, outputs),
    )


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A picture in the current folder."""
    monkeypatch.chdir(tmp_path)
    Image.fromarray(GREY).save("shirt.png")
    return "shirt.png"


def test_a_string_a_path_an_image_and_an_array_give_the_same_credit(file, tmp_path):
    found = [explain(given, image_model(), methods="loo") for given in (file, tmp_path / file, Image.open(file), GREY)]
    for other in found[1:]:
        assert_allclose(other["loo"].credit, found[0]["loo"].credit, atol=1e-6)
    assert found[0].text == "shirt.png" and not any("names a file" in note.text for note in found[0].notes)


@pytest.mark.slow
def test_without_a_model_a_string_that_names_a_picture_is_one_and_that_is_said(file):
    found = explain(file, methods="loo")
    assert found.picture is not None and found.provenance["model"] == "built-in clothes model"
    assert says(found.notes[0].text, "it was explained")
    words = explain("shirt.pn", methods="loo")
    assert words.picture is None


def test_a_text_model_reads_the_words_and_that_is_said(file):
    bert = text_model("bert")
    for given in ((bert,), (bert.model, bert.tokenizer), (lambda texts: [float(len(t)) for t in texts],)):
        found = explain(file, *given, methods="loo")
        assert found.picture is None and says(found.notes[0].text, "a picture file")
    assert explain("gripping.png", bert, methods="loo").notes == ()  # there is no such file


def test_a_missing_file_is_named_with_a_call_that_works(file):
    for model in (None, image_model(), network()):
        with refused("missing"):
            explain("none.png", model)
    with refused("missing"):
        explain("just words", image_model())


def test_a_list_of_pictures_says_how_many_are_explained(file):
    with refused("unsupported", "given"):
        explain([file, file], image_model())


@pytest.mark.slow
def test_a_plain_network_is_explained_on_bytes_and_says_how_it_was_fed():
    found = explain(COLOUR, network(), players="segments:6", methods="shapley,ig,flow")
    assert found.players == tuple(f"segment {k}" for k in range(6)) and found.provenance["players"] == "segment"
    assert says(found.notes[0].text, "0…255 scaled to") and reads(found.notes[1].text)
    assert "flow" in found.refused
    assert_allclose(found["shapley"].credit.sum(), found["ig"].credit.sum(), atol=0.01)  # both share v(N) − v(∅)
    scaled = explain(COLOUR, network(), players=(2, 3), methods="loo", size=12, mean=0.5, std=0.5)
    assert says(scaled.notes[0].text, "24 pixels resized") and scaled.picture.size == (24, 30)  # as it was given
    own = explain(COLOUR, network(), players=(1, 2), methods="loo", preprocess=lambda p: torch.ones(3, 9, 9))
    assert own.picture.size == (9, 9)


def test_credit_of_segments_keeps_its_claims():
    model = as_image_model(network())
    owner = model.encode(COLOUR).partition("segments:5").owner.reshape(24, 30)
    other = np.where((owner == 2)[..., None], COLOUR, 0).astype(np.uint8)  # segment 2 looks the same when it is gone
    game = image_game(model, COLOUR, players="segments:5", payoff="log-odds", removal=other)
    found = explain(COLOUR, model, players="segments:5", methods="shapley,loo,banzhaf", removal=other)
    for _, attribution in found:
        assert {"kept"} <= {finding.verdict for finding in check_claims(attribution, game)}
        assert abs(attribution["segment 2"]) <= 2 * attribution.blur < 1e-3 < np.abs(attribution.credit).max()


def test_segments_of_a_linear_model_earn_their_own_part():
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(144, 2))
    labels = np.random.default_rng(2).integers(0, 5, (12, 12))
    found = explain(GREY, net, segments=labels, methods="shapley", removal="black", target=1, payoff="logit")
    parts = net[1].weight[1].detach().numpy().reshape(12, 12) * GREY / 255
    assert_allclose(found["shapley"].credit, [parts[labels == k].sum() for k in range(5)], atol=1e-5)
    assert (found.picture.owner == labels).all()


@pytest.mark.slow
@pytest.mark.parametrize("removal", ["black", "file", "array", "PIL"])
def test_another_picture_may_be_seen_where_nobody_plays(file, removal):
    other = np.full((12, 12), 0 if removal == "black" else 200, dtype=np.uint8)
    Image.fromarray(other).save("other.png")
    given = {"black": "black", "file": "other.png", "array": other, "PIL": Image.fromarray(other)}[removal]
    model = image_model()
    found = explain(GREY, model, methods="shapley,ig", removal=given, target=1, payoff="logit")
    v = [model.predict(model.encode(picture))[1] for picture in (other, GREY)]
    assert_allclose(found["shapley"].total, v[1] - v[0], atol=1e-5)
    assert_allclose(found["ig"].total, v[1] - v[0], atol=1e-5)
    names = {
        "black": "black",
        "file": "the picture other.png",
        "array": "the picture image",
        "PIL": "the picture image",
    }
    assert found.provenance["removal"] == names[removal]
    assert Explanation.from_json(found.to_json()) == found


def test_a_picture_of_another_size_cannot_stand_in():
    with refused("shape", "removal"):
        explain(COLOUR, network(), players=(2, 2), removal=COLOUR[:5, :5])


@pytest.mark.slow
def test_blocks_of_patches_keep_attention():
    from transformers import ViTConfig, ViTForImageClassification

    torch.manual_seed(0)
    config = ViTConfig(
        image_size=24,
        patch_size=4,
        num_channels=1,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        num_labels=3,
    )
    model = ImageModel(ViTForImageClassification(config).eval(), Preparation((24, 24), 1))
    coarse = explain(GREY, model, methods="loo,attention,rollout,flow")  # 6 × 6 patches in 3 × 3 blocks
    fine = explain(GREY, model, methods="attention", players="patches")
    assert len(coarse.players) == 9 and len(fine.players) == 36 and coarse.refused == {}
    assert says(coarse.notes[1].text, "9 patches, blocks")
    blocks = fine["attention"].credit[:36].reshape(3, 2, 3, 2).sum(axis=(1, 3)).ravel()
    assert_allclose(coarse["attention"].credit[:9], blocks, atol=1e-9)
    assert "attention" in explain(GREY, model, methods="loo,attention", players="segments:4").refused


@pytest.mark.slow
def test_a_large_picture_gets_a_smaller_budget_and_says_so():
    large = np.random.default_rng(0).integers(0, 256, (70, 70, 3), dtype=np.uint8)
    found = explain(large, network(pool=1), methods="shapley", players=(2, 5))
    assert found["shapley"].payoffs == found.provenance["budget"] == 512 and says(found.notes[-1].text, "512 payoffs, the")
    exact = explain(large, network(pool=1), methods="shapley", players=(3, 3))
    assert exact["shapley"].exact and exact.provenance["budget"] is None
    asked = explain(large, network(pool=1), methods="shapley", players=(2, 5), budget=100)
    assert asked["shapley"].payoffs <= 100 and not any("default for a" in note.text for note in asked.notes)


def test_one_output_is_explained_as_a_number():
    found = explain(COLOUR, network(outputs=1), players=(2, 2), methods="shapley")
    assert found.payoff == "logit" and found.unit == "value"
    assert_allclose(found.prediction[0][1], as_image_model(network(1)).predict(as_image_model(network(1)).encode(COLOUR))[0])


def test_other_targets_keep_what_was_done_to_the_picture():
    every = explain(COLOUR, network(), players=(2, 2), methods="loo", target="all")
    other = every.of(every.outputs[1])
    assert other.notes == every.notes[:-1] and "scaled to 0…1" in other.notes[0].text


def test_a_drawn_picture_of_a_photo_is_small(monkeypatch):
    monkeypatch.setattr("accredit.explanation.subject.SHOWN", 20)
    found = explain(COLOUR, network(), players=(1, 2), methods="loo")
    assert found.picture.size == (12, 15) and "resized" not in found.notes[0].text  # the model reads all of it
    assert found.picture.owner[0].tolist() == [0] * 8 + [1] * 7


WRONG = {
    "words for a picture": ({"players": "word"}, "which is for text; for a picture write 'patches'"),
    "positions for a picture": ({"players": {"a": [1]}}, "which is for text"),
    "both": ({"players": (2, 2), "segments": np.zeros((12, 12), int)}, "leave one of them out"),
    "segments of another shape": ({"segments": np.zeros((3, 3), int)}, r"shape \(3, 3\); segments are .* \(12, 12\)"),
    "segments of booleans": ({"segments": np.zeros((12, 12), bool)}, "astype"),
    "an unknown removal": ({"removal": "burn"}, "mean, blur, zero, black"),
    "how to prepare what is prepared": ({"size": 4}, "prepared already"),
    "a setting of tables": ({"dependence": "cover"}, "^dependence belongs to rows of a table"),
}


@pytest.mark.parametrize("case", WRONG)
def test_settings_that_do_not_fit_a_picture(case):
    settings, said = WRONG[case]
    with pytest.raises(InvalidInput, match=said):
        explain(GREY, image_model(), **settings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"segments": 4}, "^segments belongs to a picture"),
        ({"players": "segments"}, "is for pictures"),
        ({"size": 9}, "it reads text"),
        ({"removal": np.zeros((3, 3))}, "for text write"),
    ],
    ids=str,
)
def test_settings_of_pictures_do_not_fit_a_text(settings, said):
    with pytest.raises(InvalidInput, match=said):
        explain("A good film.", text_model("bert"), **settings)
