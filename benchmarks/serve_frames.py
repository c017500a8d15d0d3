"""The page in Chromium: seconds from the first click to the first colours, and how long frames take on 512 and 2,000 tokens.

    python -m benchmarks.serve_frames --rounds 10 --tokens 512 2000

Starts `accredit serve` itself: freshly for each first click, then with a copy of the built-in model whose positions are
repeated up to 2,048, so that a long text can be scrolled, pointed at, clicked, grouped and (up to 512) followed. Ends with one
JSON line.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import record
from benchmarks.serve import start

FLAGS = ["--no-sandbox", "--disable-gpu"]
WAIT = 400_000  # milliseconds
SENTENCE = "the film opens with a quiet scene and then it slowly turns into something strange funny and rather sad"
POSITIONS = 2048
FOLLOWED = 512  # tokens up to which attention is followed
METHODS = ("integrated-gradients", "flow", "rollout", "attention")  # the quick ones: the strips are what is measured
LIGHT = ("integrated-gradients", "rollout", "attention")


def text_of(tokens: int) -> str:
    """A text of that many tokens, the model's own two among them."""
    return " ".join((SENTENCE.split() * (tokens // 15 + 1))[: tokens - 4])


WATCH = """
window.watched = { frames: [], tasks: [] };
let last = 0;
const tick = (now) => { if (last) window.watched.frames.push(now - last); last = now; requestAnimationFrame(tick); };
requestAnimationFrame(tick);
new PerformanceObserver((list) => { for (const task of list.getEntries()) window.watched.tasks.push(task.duration); })
  .observe({ type: "longtask" });
"""


def long_model(folder: Path) -> Path:
    """The built-in model for texts with its 128 learned positions repeated sixteen times."""
    from safetensors.numpy import load_file, save_file

    from accredit.models.builtin import text_folder

    shutil.copytree(text_folder(), folder, dirs_exist_ok=True)
    for name, key in (("config.json", "max_position_embeddings"), ("tokenizer_config.json", "model_max_length")):
        settings = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps({**settings, key: POSITIONS}))
    weights = load_file(folder / "model.safetensors")
    (positions,) = (name for name in weights if "position_embeddings" in name)
    weights[positions] = np.tile(weights[positions], (POSITIONS // len(weights[positions]), 1))
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def finished(page: Any) -> None:
    page.wait_for_selector("#save:not([disabled])")
    page.wait_for_selector("form[aria-busy]", state="detached")


def first_click(browser: Any) -> float:
    """Seconds from the first click on a page of a server just started to the first coloured word."""
    process, address = start()
    page = browser.new_page()
    try:
        page.goto(address)
        page.wait_for_selector("html[data-ready]")
        began = time.perf_counter()
        page.click("#explain-form .primary")
        page.wait_for_selector(".lead .t")
        return time.perf_counter() - began
    finally:
        page.close()
        process.send_signal(signal.SIGINT)
        process.wait(30)


def measured(page: Any, act: Callable[[], None]) -> dict[str, float]:
    """What frames took while something was done: median and worst, and the longest task of the page, in milliseconds."""
    page.evaluate("() => { watched.frames.length = watched.tasks.length = 0; }")
    act()
    page.wait_for_timeout(250)
    seen = page.evaluate("() => watched")
    frames = np.array(seen["frames"] or [0.0])
    return {"median": round(float(np.median(frames))), "p95": round(float(np.quantile(frames, 0.95))),
            "worst": round(float(frames.max())), "longest_task": round(max(seen["tasks"], default=0.0))}  # fmt: skip


def frames(browser: Any, address: str, tokens: int) -> dict[str, dict[str, float]]:
    """Frame times of everything a reader does with a text of that many tokens."""
    text, methods = text_of(tokens), METHODS if tokens <= FOLLOWED else LIGHT
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(WAIT)
    page.add_init_script(WATCH)
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    page.fill("#text", text)
    page.evaluate("document.querySelector('#explain-form details').open = true")
    for box in page.locator("#methods input").all():
        box.set_checked(box.get_attribute("value") in methods)
    page.evaluate("document.querySelector('#explain-form details').open = false")
    found = {}

    def explain() -> None:
        page.click("#explain-form .primary")
        finished(page)

    found["results arrive"] = measured(page, explain)
    page.evaluate("document.querySelector('.lead').scrollIntoView()")
    places = page.evaluate(
        """[...document.querySelectorAll(".lead .t")].map((t) => t.getBoundingClientRect())
          .map((r) => [r.x + r.width / 2, r.y + r.height - 8]).filter(([, y]) => y > 60 && y < 880)"""
    )

    def point() -> None:
        for x, y in places[5:45]:
            page.mouse.move(x, y)

    def click() -> None:
        for x, y in places[5:25]:
            page.mouse.click(x, y)

    def walk() -> None:
        page.locator(".lead .t").nth(3).focus()
        for _ in range(30):
            page.keyboard.press("ArrowRight")
        page.keyboard.press("Escape")

    def drag() -> None:
        page.mouse.move(*places[5])
        page.mouse.down()
        for x, y in places[6:80]:
            page.mouse.move(x, y)
        page.mouse.move(5, 5)
        page.mouse.up()

    def scroll() -> None:
        for step in (250, -250):
            for _ in range(30):
                page.mouse.wheel(0, step)

    for name, act in {"point at 40 tokens": point, "click 20": click, "walk 30 by keys": walk}.items():
        found[name] = measured(page, act)
    page.evaluate("document.querySelector('.lead').scrollIntoView()")
    found["drag across 75"] = measured(page, drag)
    page.mouse.move(640, 600)
    found["scroll"] = measured(page, scroll)
    page.locator("#explain-result details:has(.numbers) > summary").scroll_into_view_if_needed()
    found["open the table"] = measured(page, lambda: page.click("#explain-result details:has(.numbers) > summary"))
    if tokens > FOLLOWED:
        page.close()
        return found
    page.click("nav a[data-view=flow]")
    page.fill("#flow-text", text)

    def draw() -> None:
        page.click("#flow-form .primary")
        finished(page)

    def slide() -> None:
        page.locator("#layer").focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_selector("#flow-result h2:has-text('layer 1')")
        finished(page)

    found["flow arrives"] = measured(page, draw)
    page.mouse.move(640, 600)
    found["flow: scroll"] = measured(page, scroll)
    found["flow: layer slider"] = measured(page, slide)
    page.close()
    return found


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--tokens", type=int, nargs="*", default=[512, 2000])
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    asked = parser.parse_args()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=asked.chromium, args=FLAGS)
        figures: dict[str, Any] = {"bench": "serve_frames", "load_average": round(os.getloadavg()[0], 1)}
        if asked.rounds:
            clicks = np.array([first_click(browser) for _ in range(asked.rounds)])
            figures |= {"first_click_median_s": round(float(np.median(clicks)), 3),
                        "first_click_worst_s": round(float(clicks.max()), 3)}  # fmt: skip
        process, address = start("--model", str(long_model(Path(folder))), "--seconds", "400")
        try:
            figures["frames_ms"] = {tokens: frames(browser, address, tokens) for tokens in asked.tokens}
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)
        figures["load_average_end"] = round(os.getloadavg()[0], 1)
    record(figures)


if __name__ == "__main__":
    main()
