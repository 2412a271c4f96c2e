"""A browser without a network, for pages on a phone and on a screen."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PHONE, SCREEN = (390, 844), (1280, 800)
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
Look = Callable[..., Any]
"""``look(path, size=PHONE, theme="dark", **context)``: the page, opened."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium; skips where it, or Playwright, is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no chromium on the PATH: apt-get install chromium")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=list(_FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def look(browser: Any) -> Iterator[Look]:
    """Opens files, and closes them after the test: each has processes of its own."""

    def opened(path: Path, size: tuple[int, int] = SCREEN, theme: str = "light", **context: Any) -> Any:
        viewport = {"width": size[0], "height": size[1]}
        page = browser.new_context(viewport=viewport, color_scheme=theme, offline=True, **context).new_page()
        page.heard = []
        page.on("console", lambda message: page.heard.append(message.text))
        page.on("dialog", lambda dialog: page.heard.append(dialog.message) or dialog.dismiss())
        page.goto(path.as_uri())
        return page

    yield opened
    for context in browser.contexts:
        context.close()
