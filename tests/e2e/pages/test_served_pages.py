"""Served pages in a browser: keys and forms, themes and widths, and runs of a stranger who wants a script to run."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed: pip install 'tracer-hooks[serve]'")

import uvicorn

from tracer_hooks.datasets._label_file import LabelFile
from tracer_hooks.schema import RunOutcome
from tracer_hooks.serving import Access, Server, listen
from tracer_hooks.store import StoredRun

from ...unit.report.test_hostile_runs import ATTACKS, poisoned
from ...unit.serving._served import Served
from .conftest import PHONE, SCREEN

pytestmark = pytest.mark.slow

PAGES = ("/", "/runs", "/issues", "/prompts", "/label", "/runs/first", "/runs/plain", "/nowhere", "/runs?since=x")


@contextlib.contextmanager
def serving(served: Served) -> Iterator[str]:
    """The address of a server in a thread of its own."""
    with listen("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        app = Server(served.path, served.labels, Access.of("127.0.0.1", port)).app
        server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None, ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{port}"
        server.should_exit = True
        thread.join(10)


@pytest.fixture
def served(tmp_path: Path) -> Served:
    made = Served(tmp_path)
    made.put("first", hours=2)
    made.put("second", hours=1, confidence=0.3, team="cooks", tags={"release": "1.0"})
    made.put("plain", confidence=None)
    made.put("good", outcome=RunOutcome.SUCCEEDED)
    return made


class Window:
    """A page of a browser that reaches this machine alone, and what was heard of it."""

    def __init__(self, context: Any, base: str) -> None:
        self.page, self._base = context.new_page(), base
        self.heard: list[str] = []
        self.page.on("console", lambda message: self.heard.append(message.text))
        self.page.on("dialog", self._asked)
        context.route(re.compile(rf"^(?!{re.escape(base)}|data:)"), self._stray)

    def _asked(self, dialog: Any) -> None:
        self.heard.append(dialog.message)
        dialog.dismiss()

    def _stray(self, route: Any) -> None:
        self.heard.append(route.request.url)
        route.abort()

    def open(self, address: str) -> Any:
        self.page.goto(self._base + address)
        return self.page


@pytest.fixture
def window(browser: Any, served: Served) -> Iterator[Any]:
    with contextlib.ExitStack() as left:
        base = left.enter_context(serving(served))

        def opened(size: tuple[int, int] = SCREEN, theme: str = "light", **options: Any) -> Window:
            viewport = {"width": size[0], "height": size[1]}
            context = browser.new_context(viewport=viewport, color_scheme=theme, **options)
            left.callback(context.close)
            return Window(context, base)

        yield opened


@pytest.mark.parametrize(("size", "theme"), [(PHONE, "light"), (PHONE, "dark"), (SCREEN, "light"), (SCREEN, "dark")])
def test_no_page_scrolls_sideways_and_axe_finds_nothing(window: Any, size: tuple[int, int], theme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    shown = window(size, theme, bypass_csp=True)  # for axe itself
    for address in PAGES:
        page = shown.open(address)
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0], address
        found = axe.Axe().run(page).response["violations"]
        assert [(address, each["id"], each["nodes"][0]["html"]) for each in found] == []


def test_keys_label_and_the_label_is_taken_back(window: Any, served: Served) -> None:
    served.store.delete("plain")  # nobody is blamed there, so that nothing can be right
    shown = window()
    page = shown.open("/label")
    first = page.locator("main h2 .mono").first.inner_text()
    page.keyboard.press("n")
    assert page.evaluate("document.activeElement.localName") == "select"
    page.keyboard.press("y")  # typed into the list of steps, it is no answer
    assert page.url.endswith("/label")
    page.locator("select[name=step]").select_option("1")
    page.get_by_role("button", name="Save").click()
    assert f"given={first}" in page.url
    assert page.get_by_text("Labelled: run").count() == 1
    page.wait_for_load_state()
    page.keyboard.press("y")
    page.wait_for_url("**/label?given=first")
    assert len(LabelFile(served.labels).labels) == 2
    page.get_by_role("button", name="Take it back").click()
    (label,) = LabelFile(served.labels).labels.values()
    assert label.trajectory.run_id == first
    assert label.decisive is not None
    assert label.decisive.step == 1
    assert shown.heard == []


def test_without_script_a_run_is_labelled_as_well(window: Any, served: Served) -> None:
    page = window(java_script_enabled=False).open("/runs/first")
    page.get_by_role("button", name="Right").click()
    assert page.url.endswith("/runs/first#label")
    assert page.get_by_text("Your label").is_visible()
    assert len(LabelFile(served.labels).labels) == 1


def test_the_filter_leads_to_the_same_page_of_fewer_runs(window: Any) -> None:
    page = window().open("/runs")
    page.get_by_text("Filter", exact=True).click()
    page.locator("#filter-team").fill("cooks")
    page.get_by_role("button", name="Show").click()
    assert page.locator("h1").inner_text() == "1 run"
    assert page.locator("#filter-team").input_value() == "cooks"


@pytest.mark.parametrize("bad", ATTACKS)
def test_nothing_of_a_run_is_executed_and_the_policy_is_kept(window: Any, served: Served, bad: str) -> None:
    run = poisoned(bad)
    for attempt in run.attempts:
        name = f"hostile{attempt.number}"
        told = attempt.trajectory.model_copy(update={"run_id": name, "outcome": RunOutcome.FAILED})
        found = attempt.attribution
        served.store.save(
            StoredRun.of(
                told, session_id="call", attempt=attempt.number, attribution=found, tags={"note": bad[:100]},
                repair=run.repair.model_dump(mode="json") if run.repair is not None else None,
            )
        )  # fmt: skip
    shown = window()
    for address in ("/", "/runs", "/issues", "/label", "/label?at=1", "/runs/hostile1"):
        page = shown.open(address)
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
        assert page.evaluate("[...document.scripts].every((each) => each.src)"), address
    page.locator("select[name=step]").first.select_option("0")
    page.get_by_role("button", name="Save").first.click()
    time.sleep(0.1)
    shown.open("/label?given=hostile1")
    assert shown.heard == []
    assert len(LabelFile(served.labels).labels) == 1
