"""What a served model is, in a few words: its name without a path, its labels, what it was trained on."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from accredit.errors import AccreditError
from accredit.methods import IN_WORDS, Method, good_for
from accredit.views.language.phrases import title

if TYPE_CHECKING:
    from accredit.models import ImageModel, TextModel

LABELS = 200  # a language model has too many to choose from
TRAINED = {
    "text": "English opinions about films and restaurants (SST-2, MR, IMDB, Yelp); other texts get one of the labels too",
    "image": "pictures of ten kinds of clothes (Fashion-MNIST)",
}
CLOTHES = "It knows only clothes: any other picture gets one of these labels too."
BEGINNING = 20_000  # characters of a card in which its head is looked for


def title_of(method: Method, spelled: str) -> dict[str, object]:
    """A method that can be chosen: as it is written, as people call it, what it is good for and what it does in a few words."""
    words, group = IN_WORDS.get(method.name, method.note), good_for(method.name)
    return {**method.to_plain(), "spelled": spelled, "title": title(spelled), "words": words, "group": group}


def text_card(model: TextModel, builtin: bool, folder: str | None) -> dict[str, object]:
    """A model for texts, before it has run."""
    return {
        "name": model.name,
        "labels": labels_of(model),
        "task": model.task,
        "reads": model.longest(),
        "trained": TRAINED["text"] if builtin else train_on(folder),
        "pairs": not builtin and model.task in ("classify", "fill"),
    }


def image_card(model: ImageModel | None, folder: str | None) -> dict[str, object]:
    """A model for pictures; the built-in one is described without being loaded."""
    if model is not None:
        labels = [model.label(k) for k in range(min(LABELS, int(getattr(model, "classes", 0) or 0)))]
        return {"name": model.name, "labels": labels, "trained": train_on(folder)}
    from accredit.models.builtin import vision_folder

    names = json.loads((vision_folder() / "config.json").read_text(encoding="utf-8"))["id2label"]
    return {
        "name": "built-in clothes model",
        "labels": list(names.values()),
        "trained": TRAINED["image"],
        "limits": CLOTHES,
    }


def labels_of(model: TextModel) -> list[str]:
    """Labels to choose from; a language model has too many."""
    count = int(getattr(model, "classes", 0))
    return [model.label(k) for k in range(count)] if model.task == "classify" and count <= LABELS else []


def plain_name(name: str) -> str:
    """A model's name without the folders above it; a name of the hub stays whole.

    >>> plain_name("/home/ada/models/film"), plain_name("ada/film"), plain_name("./film/")
    ('film', 'ada/film', 'film')
    """
    local = name.startswith((".", "/", "~")) or Path(name).exists()
    return Path(name).name or Path(name).resolve().name if local else name


def train_on(folder: str | None) -> str:
    """The data sets that the model's card names at its head; empty where it names none."""
    from accredit.models.loading import model_folder

    with suppress(AccreditError, OSError, UnicodeDecodeError):
        card = model_folder(folder or "") / "README.md"
        with card.open(encoding="utf-8") as file:
            return ", ".join(data_sets(file.read(BEGINNING)))
    return ""


def data_sets(card: str) -> list[str]:
    r"""The names under `datasets:` in the head of a model card.

    >>> data_sets("---\nlicense: mit\ndatasets:\n- imdb\n- ada/films\n---\n# Film")
    ['imdb', 'ada/films']
    """
    head = re.match(r"---\n(.*?)\n---", card, re.DOTALL)
    listed = re.search(r"^datasets:[ \t]*(.*(?:\n[ \t]*- .*)*)", head[1], re.MULTILINE) if head else None
    return re.findall(r"[\w./-]*\w[\w./-]*", listed[1].replace("- ", " ")) if listed else []
