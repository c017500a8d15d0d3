"""A real browser for tests. Facts are waited for, never seconds.

`ACCREDIT_SLOW=10 pytest tests/web tests/views` makes the browser ten times slower and every answer of a server late, as on a
busy machine: a test that passes only on a quick one fails then.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

WAIT = 1000 * int(os.environ.get("ACCREDIT_WAIT", "300"))  # milliseconds until a fact is given up, for machines under load
SLOW = float(os.environ.get("ACCREDIT_SLOW", "1"))
CHROMIUM = os.environ.get("ACCREDIT_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
WIDTHS = (360, 768, 1280, 1920)


@contextmanager
def chromium() -> Iterator[Any]:
    """Chromium under Playwright; skips where either is missing."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install 'accredit[test]'")
    if not CHROMIUM:
        pytest.skip("no Chromium found; install it, or name one in ACCREDIT_CHROMIUM")
    sync_api.expect.set_options(timeout=WAIT)
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=WAIT)
        yield opened
        opened.close()


def new_page(browser: Any, **context: Any) -> Any:
    """A page of its own visitor, slow if that is asked for."""
    page = browser.new_context(**context).new_page()
    page.set_default_timeout(WAIT)
    if SLOW > 1:
        debugger = page.context.new_cdp_session(page)
        debugger.send("Emulation.setCPUThrottlingRate", {"rate": SLOW})
        late = {"offline": False, "latency": 40 * SLOW, "downloadThroughput": -1, "uploadThroughput": -1}
        if not context.get("offline"):
            debugger.send("Network.emulateNetworkConditions", late)
    return page


def fits(page: Any, width: int) -> bool:
    """Nothing of the page is wider than a window of this width."""
    page.set_viewport_size({"width": width, "height": 900})
    while page.evaluate("innerWidth") != width:  # the window follows when it can
        page.wait_for_timeout(20)
    return bool(page.evaluate("document.documentElement.scrollWidth") <= width)
