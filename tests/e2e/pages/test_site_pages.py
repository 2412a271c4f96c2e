"""Pages on many runs in a browser: filled, empty and hostile, on phone and screen, light and dark, by keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.report import RunFilter, write_site
from tracer_hooks.schema import RunKind, RunOutcome
from tracer_hooks.store import PromptStore, RunStore

from ...unit.report.test_hostile_runs import ATTACKS
from ...unit.report.test_site import poison, put
from .conftest import PHONE, SCREEN, Look

pytestmark = pytest.mark.slow


def fill(store: RunStore) -> None:
    """Two teams over two weeks, every outcome, a call of two attempts, tags, issues, and prompts in each state."""
    for number in range(24):
        outcome = (RunOutcome.FAILED, RunOutcome.SUCCEEDED, RunOutcome.SUCCEEDED, RunOutcome.UNKNOWN)[number % 4]
        tags = {"release": f"1.{number % 3}", "customer": "a rather long name of a customer"}
        team = ("wardrobe", "support desk")[number % 2]
        put(store, f"run-{number}", day=-number % 14, outcome=outcome, team=team, tags=tags, diagnosed=number % 8 == 0)
    put(store, "again", session_id="run-0", attempt=2, kind=RunKind.RETRY)
    prompts, own = PromptStore(store.path), {"writer": "Write.\nBe short."}
    for number in range(3):
        version = prompts.propose("wardrobe-1", {"writer": f"Write {number}.\nBe short."}, own, team_name="wardrobe")
        if number < 2:
            prompts.start_trial("wardrobe-1", version.number)
            prompts.accept("wardrobe-1", version.number, reason="It passed more often.")
    prompts.roll_back("wardrobe-1", 2, reason="It passed less often since.")


def passed_only(store: RunStore) -> None:
    put(store, "good", outcome=RunOutcome.SUCCEEDED)


def undiagnosed(store: RunStore) -> None:
    put(store, "failed", diagnosed=False)


def hostile(store: RunStore) -> None:
    for word in (*ATTACKS, "W" * 3000, "\u202eright to left", "שלום"):
        poison(store, word)


STORES = {
    "filled": fill, "no store": lambda store: None, "no failures": passed_only, "no diagnosis": undiagnosed,
    "hostile": hostile,
}  # fmt: skip


@pytest.fixture(scope="module", params=[*STORES, "no such runs", "tagged"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = RunStore(tmp_path_factory.mktemp("site") / "runs.sqlite")
    STORES.get(request.param, fill)(store)
    chosen = {"no such runs": RunFilter(team="nobody"), "tagged": RunFilter(tags={"release": "1.1"})}
    return write_site(store.path.parent / "pages", store, chosen.get(request.param, RunFilter())).index.parent


def kinds(site: Path) -> Iterator[Path]:
    """The pages on many runs, of the lists not all and of single runs one."""
    lists, single = (sorted(site.glob(f"{name}*.html")) for name in ("runs", "run-"))
    yield from sorted(set(site.glob("*.html")) - {*lists[4:-1], *single[1:]})


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_page_scrolls_sideways_and_axe_finds_nothing(look: Look, site: Path, theme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    for path in kinds(site):
        page = look(path, theme=theme, bypass_csp=True)  # for axe itself
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
        for width, height in (PHONE, SCREEN):
            page.set_viewport_size({"width": width, "height": height})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path.name
            found = axe.Axe().run(page).response["violations"]
            assert [(path.name, each["id"], each["nodes"][0]["html"]) for each in found] == []
        page.context.close()


def test_nothing_of_a_run_is_executed_and_the_policy_is_kept(look: Look, site: Path) -> None:
    for path in kinds(site):
        page = look(path)
        assert page.heard == [], path.name
        assert page.evaluate("document.scripts.length") == (1 if path.name.startswith("run-") else 0)
        assert page.evaluate("getComputedStyle(document.querySelector('.brand')).fontWeight") == "620", path.name
        page.context.close()


def focused(page: Any) -> str:
    page.keyboard.press("Tab")
    active = "document.activeElement"
    outline = page.evaluate(f"getComputedStyle({active}).outlineStyle")
    assert outline != "none" or page.evaluate(f"{active} === document.body")
    return str(page.evaluate(f"{active}.localName + '.' + ({active}.getAttribute('class') || '')"))


def test_the_keyboard_reaches_what_there_is_and_shows_where_it_is(look: Look, tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    fill(store)
    folder = write_site(tmp_path / "pages", store, RunFilter()).index.parent
    overview = look(folder / "index.html")
    assert focused(overview) == "a.skip"
    overview.keyboard.press("Enter")
    assert overview.url.endswith("#content")
    overview = look(folder / "index.html", PHONE)
    assert {"a.", "div.table teams"} <= {focused(overview) for _ in range(30)}
    runs = look(folder / "runs.html")
    assert {"a.chip", "a."} <= {focused(runs) for _ in range(30)}
    prompts = look(folder / "prompts.html")
    while focused(prompts) != "summary.":
        pass
    prompts.keyboard.press("Enter")
    assert prompts.locator(".diff").first.is_visible()


def test_clicks_lead_from_the_overview_to_the_step_that_is_blamed(look: Look, tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    fill(store)
    page = look(write_site(tmp_path / "pages", store, RunFilter()).index)
    page.get_by_role("link", name="All failed runs").click()
    assert page.get_by_role("heading", level=1).inner_text() == "7 runs"
    assert page.locator("ul.runs .badge.failed").count() == page.locator("ul.runs > li").count() == 7
    page.get_by_role("link", name="Issues").click()
    page.locator("ul.rows a").first.click()
    assert page.locator("details.step:target").is_visible()
    assert page.heard == []
