"""Pictures of the site's home and the README: `python -m tools.draw_gallery [NAME …]`.

One saved page for each kind of question, made by the command as a reader would type it and photographed in Chromium, light and
dark. The citations are those of a real language model, SmolLM2-135M-Instruct (`make llm`); the first page is drawn twice.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from tools.language_model import find_model

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
SENTENCE = "A superb, funny and moving film."
PASSAGES = (
    "The harbour office of Pellworth is run by Marta Selvik.",
    "The last ferry to Drusk leaves Pellworth at 18:05.",
    "Pellworth has a market on Saturdays.",
)
QUESTION = "Who runs the harbour office of Pellworth, and when does the last ferry to Drusk leave?"
COMMANDS = {  # what is drawn -> the command that writes its page
    "text": ("explain", SENTENCE),
    "answer": ("explain", "--answer"),
    "cite": ("cite", "--model", str(find_model()), "--context", "passages.json", "--query", QUESTION),
    "row": ("explain", "--table"),
    "picture": ("explain", "shirt.png", "--methods", "shapley"),
    "data": ("value", "examples/reviews.csv", "--target", "mood", "--text", "review"),
    "game": ("game", "examples/pricing.csv"),
}
BEGINS = {  # the heading at the top of a card; without one, a picture
    "text": "Side by side",
    "answer": "Prompt, coloured",
    "cite": "Where does each sentence come from?",
    "row": "Which columns matter",
    "data": "Which labels are wrong?",
    "game": "Values",
}
CARD, HOME = (540, 440), (760, 462)  # what is seen of a page, in CSS pixels


SCROLL = "part => window.scrollTo(0, part.getBoundingClientRect().top + window.scrollY - 20)"


def draw(folder: Path, names: Sequence[str]) -> None:
    """Every page in its folder, then its pictures beside the documents."""
    shirt(folder / "shirt.png")
    (folder / "passages.json").write_text(json.dumps(PASSAGES), encoding="utf-8")
    accredit(folder, "examples")
    for name in names:
        accredit(folder, *COMMANDS[name], "--html", f"{name}.html")
    photograph(folder, names)


def shirt(path: Path) -> None:
    """A body and two sleeves."""
    grey = np.zeros((28, 28), dtype=np.uint8)
    grey[6:26, 9:19], grey[6:11, 3:25] = 200, 180
    Image.fromarray(grey).save(path)


def fewer_colours(shot: bytes) -> Image.Image:
    """The picture in 128 colours, a third of the bytes."""
    return Image.open(io.BytesIO(shot)).convert("RGB").quantize(128, dither=Image.Dither.NONE)


def accredit(folder: Path, *words: str) -> None:
    """One command, typed in this folder."""
    subprocess.run([sys.executable, "-m", "accredit", *words, "--quiet"], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def photograph(folder: Path, names: Sequence[str]) -> None:
    """A part of every page as a card, and the top of the text's as the large picture."""
    from playwright.sync_api import sync_playwright

    shots = [(f"gallery_{name}", name, CARD) for name in names]
    if "text" in names:
        shots.append(("explanation", "text", HOME))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            for name, page_name, (width, height) in shots:
                page = browser.new_page(
                    viewport={"width": width, "height": height}, color_scheme=scheme, device_scale_factor=1.5
                )
                page.goto((folder / f"{page_name}.html").as_uri())
                if name != "explanation":
                    begins = (
                        page.get_by_role("heading", name=BEGINS[page_name]) if page_name in BEGINS else page.locator(".plate")
                    )
                    begins.first.evaluate(SCROLL)
                shot = page.screenshot()
                fewer_colours(shot).save(IMAGES / f"{name}{'_dark' if scheme == 'dark' else ''}.png", optimize=True)
                page.close()
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        draw(Path(place), sys.argv[1:] or tuple(COMMANDS))
