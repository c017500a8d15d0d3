"""The page in Chromium: seconds from the first click to the first colours, and what frames cost on 512 and 2,000 tokens.

    python -m benchmarks.serve_frames --rounds 10 --tokens 512 2000

Starts `accredit serve` itself: freshly for each first click, then with a copy of the built-in model whose positions are
repeated up to 2,048, so that a long text can be scrolled, pointed at, clicked, grouped and (up to 512) followed; last a table
of 1,000 rows, a prompt of 60 passages and a journal of 1,000 rows. Everything is done in several visits, each with a page of
its own. `worst` is the longest time between two frames: the median over visits, and of all of them. A busy machine stretches
it, and so does the model that computes beside the browser: `worst_cpu` is the processor time that the page's thread had in the
longest frame of all. `over_50` counts visits with a frame of more than 50 ms; `task_cpu` is the processor time of the longest
task of the page's thread in any visit. Both times are from the browser's own trace. Ends with one JSON line.
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
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import record
from benchmarks.serve import FACTS, start

FLAGS = ["--no-sandbox", "--disable-gpu"]
WAIT = 400_000  # milliseconds
SMOOTH = 51  # milliseconds of three frames, and what a clock may be off
SENTENCE = "the film opens with a quiet scene and then it slowly turns into something strange funny and rather sad"
POSITIONS = 2048
FOLLOWED = 512  # tokens up to which attention is followed
METHODS = ("integrated-gradients", "flow", "rollout", "attention")  # the quick ones: the strips are what is measured
LIGHT = ("integrated-gradients", "rollout", "attention")


def text_of(tokens: int) -> str:
    """A text of that many tokens, the model's own two among them."""
    return " ".join((SENTENCE.split() * (tokens // 15 + 1))[: tokens - 4])


WATCH = """
window.watched = [];
let last = 0;
const tick = (now) => { if (last) window.watched.push(now - last); last = now; requestAnimationFrame(tick); };
requestAnimationFrame(tick);
"""
FROM_HERE = """() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))
  .then(() => { watched.length = 0; })"""  # what was done before may end in the next frame
TRACED = ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline", "__metadata"]


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


ENDED = """
() => new Promise((end) => {
  const watched = [document.querySelector("#save"), ...document.querySelectorAll("form.ask, form.ask .problem")];
  const shown = (node) => !node.hidden && node.offsetParent !== null;
  const told = () => watched.find((node) => node.matches(".problem") && shown(node));
  const over = () => !document.querySelector("form.ask[aria-busy]") && (!watched[0].disabled || told());
  const look = () => over() && (watcher.disconnect(), end(told()?.textContent));
  const watcher = new MutationObserver(look);
  for (const node of watched) watcher.observe(node, { attributes: true });
  look();
})
"""


def finished(page: Any) -> None:
    """Waits until the page has ended its work, and is notified: asking in every frame would be part of what is measured."""
    if wrong := page.evaluate(ENDED):
        raise SystemExit(f"the page says: {wrong}")


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
    """What frames took while something was done, and the processor time of the page's longest task, in milliseconds."""
    browser = page.context.browser
    browser.start_tracing(page=page, categories=TRACED)
    page.evaluate(FROM_HERE)
    act()
    page.wait_for_timeout(250)
    frames = np.array(page.evaluate("() => watched") or [0.0])
    traced = json.loads(browser.stop_tracing())["traceEvents"]
    return {
        "median": round(float(np.median(frames))),
        "p95": round(float(np.quantile(frames, 0.95))),
        "worst": round(float(frames.max())),
        "worst_cpu": round(longest_frame(traced), 1),
        "task_cpu": round(longest_task(traced), 1),
    }


def of_pages(traced: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the main threads of pages did."""
    named = (each for each in traced if each["name"] == "thread_name" and each["args"]["name"] == "CrRendererMain")
    mains = {(each["pid"], each["tid"]) for each in named}
    return [each for each in traced if (each["pid"], each["tid"]) in mains]


def longest_task(traced: list[dict[str, Any]]) -> float:
    """Milliseconds of processor time of the longest task of a page's main thread."""
    return max((e.get("tdur", 0) for e in of_pages(traced) if e["name"].endswith("RunTask")), default=0) / 1000


def longest_frame(traced: list[dict[str, Any]]) -> float:
    """Milliseconds of processor time that a page's main thread had in the longest time between two frames."""
    mine = of_pages(traced)
    at = sorted(e["ts"] for e in mine if e["name"] == "FireAnimationFrame")
    first, last = max(pairwise(at), key=lambda ends: ends[1] - ends[0], default=(0, 0))
    return sum(_inside(e, first, last) for e in mine if e["name"].endswith("RunTask") and e.get("dur")) / 1000


def _inside(task: dict[str, Any], first: float, last: float) -> float:
    """The processor time of a task in that span, as if it were spread evenly."""
    shared = min(last, task["ts"] + task["dur"]) - max(first, task["ts"])
    return max(shared, 0) / task["dur"] * task.get("tdur", 0)


Measures = dict[str, dict[str, float]]  # of every action


def visits(count: int, visit: Callable[[], Measures]) -> Measures:
    """The same actions in several visits: how a frame is in the middle one, and how long it was at worst."""
    found = [visit() for _ in range(count)]

    def gathered(action: str) -> dict[str, float]:
        each = {name: np.array([one[action][name] for one in found]) for name in found[0][action]}
        return {
            "median": round(float(np.median(each["median"]))),
            "p95": round(float(np.median(each["p95"]))),
            "worst": round(float(np.median(each["worst"]))),
            "worst_of_all": int(each["worst"].max()),
            "worst_cpu": float(each["worst_cpu"][each["worst"].argmax()]),
            "over_50": int((each["worst"] > SMOOTH).sum()),
            "task_cpu": float(each["task_cpu"].max()),
        }

    return {action: gathered(action) for action in found[0]}


def frames(browser: Any, address: str, tokens: int) -> Measures:
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

    def press(selector: str) -> None:
        """A click by the page itself: looking for its place among thousands of words would be part of what is measured."""
        page.evaluate("selector => document.querySelector(selector).click()", selector)

    def explain() -> None:
        press("#explain-form .primary")
        finished(page)

    def again() -> None:
        press(".brief-line")
        explain()

    found["results arrive"] = measured(page, explain)
    found["the same again"] = measured(page, again)
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
        page.evaluate("document.querySelectorAll('.lead .t')[3].focus()")  # as in `press`
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
    page.locator("#explain-result .numbers").hover(position={"x": 300, "y": 200})
    found["scroll the table"] = measured(page, scroll)
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


def table(folder: Path, rows: int = 1000, columns: int = 15) -> str:
    """A file of numbers whose last column depends on the others."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, columns))
    y = x @ np.linspace(1, 0, columns) + x[:, 0] * x[:, 1]
    path, names = folder / "rows.csv", ",".join([*(f"column {k}" for k in range(columns)), "target"])
    np.savetxt(path, np.column_stack([x, y]), delimiter=",", header=names, comments="", fmt="%.4f")
    return str(path)


def journal(folder: Path, rows: int = 1000) -> str:
    """A journal with payoffs of 200 coalitions of many rows."""
    from accredit.core.coalitions import pack
    from accredit.store import Entry, Journal, fingerprint

    rng = np.random.default_rng(0)
    masks = rng.random((200, rows)) < 0.5
    entries = [Entry(bytes(bits), "ok", float(x), 0.01) for bits, x in zip(pack(masks), rng.random(200), strict=True)]
    with Journal(folder / "run.db") as opened:
        opened.record(opened.enter(fingerprint(data="rows"), tuple(f"row {k}" for k in range(rows))), 0, entries)
        opened.begin_run(["value", "rows.csv"], "/nowhere")
    return str(folder / "run.db")


def large_views(browser: Any, address: str, rows: str) -> Measures:
    """Frame times of the other views, with much in them."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(WAIT)
    page.add_init_script(WATCH)
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    page.click("nav a[data-view=tables]")
    page.set_input_files("#table-file", rows)

    def press(view: str) -> None:
        page.click(f"#{view}-form .primary")
        finished(page)

    found = {"table arrives": measured(page, lambda: press("tables"))}
    found["table: pick a row"] = measured(page, lambda: page.click("#tables-result .list tbody tr:nth-child(5) a"))
    found["table: sort"] = measured(page, lambda: page.click("#tables-result .list .sort >> nth=1"))
    page.click("nav a[data-view=answers]")
    page.fill("#passages", "\n".join([*FACTS, *["Clara owns a dog ."] * 57]))
    page.fill("#query", "What does Anna do ?")
    found["answer arrives"] = measured(page, lambda: press("answers"))
    found["answer: point"] = measured(page, lambda: page.hover("#answers-result .s >> nth=0"))
    opener = page.locator("#answers-result .matrix summary")
    opener.scroll_into_view_if_needed()
    found["answer: open the matrix"] = measured(page, opener.click)
    found["journal arrives"] = measured(
        page, lambda: (page.click("nav a[data-view=data]"), page.wait_for_selector("#data-result > .accredit"))
    )
    page.close()
    return found


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--visits", type=int, default=3)
    parser.add_argument("--tokens", type=int, nargs="*", default=[512, 2000])
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    asked = parser.parse_args()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=asked.chromium, args=FLAGS)
        figures: dict[str, Any] = {"bench": "serve_frames", "load_average": round(os.getloadavg()[0], 1)}
        if asked.rounds:
            clicks = np.array([first_click(browser) for _ in range(asked.rounds)])
            figures |= {
                "first_click_median_s": round(float(np.median(clicks)), 3),
                "first_click_worst_s": round(float(clicks.max()), 3),
            }
        process, address = start("--model", str(long_model(Path(folder))), "--seconds", "400")
        try:
            measures = {n: visits(asked.visits, partial(frames, browser, address, n)) for n in asked.tokens}
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)
        process, address = start("--store", journal(Path(folder)), "--seconds", "400")
        try:
            rows = table(Path(folder))
            others = visits(asked.visits, partial(large_views, browser, address, rows))
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)
        figures |= {"visits": asked.visits, "frames_ms": {**measures, "other views": others}}
        figures["load_average_end"] = round(os.getloadavg()[0], 1)
    record(figures)


if __name__ == "__main__":
    main()
