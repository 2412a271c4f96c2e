"""The run page in a browser: phone and screen, keyboard, contrast and roles, hostile runs, 500 steps, paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.report import ReportAttempt, ReportFork, ReportRun, write_html
from tracer_hooks.schema import Attribution, RunOutcome, Step, ToolCall, Trajectory

from ...unit.report._pages import diagnosis, failed_run
from ...unit.report._repairs import log_of, trial
from ...unit.report.test_course import FAN_OUT
from ...unit.report.test_hostile_runs import ATTACKS, poisoned
from .conftest import PHONE, SCREEN, Look

pytestmark = pytest.mark.slow


def run_of(attribution: Attribution | None, **fields: Any) -> ReportRun:
    attempt = ReportAttempt(number=1, trajectory=failed_run(), attribution=attribution)
    return ReportRun(attempts=[attempt], is_stored=True, has_tape=True, **fields)


def long_run() -> ReportRun:
    """500 steps of 5 agents, with a repetition, failures and a blamed step in the midst."""
    steps = tuple(
        Step(
            index=n,
            agent="searcher" if 200 <= n < 260 else f"agent {n % 5}",
            content=f"Step {n} says " + "some words " * (n % 40),
            tool_calls=(ToolCall(name="search", arguments={"q": n}, error="Timeout" if n % 19 == 0 else None),)
            if n % 3 == 0
            else (),
        )
        for n in range(500)
    )
    trajectory = Trajectory(run_id="r" * 32, team="desk", steps=steps, outcome=RunOutcome.FAILED)
    attempt = ReportAttempt(number=1, trajectory=trajectory, attribution=diagnosis(agent="agent 1", step=321))
    return ReportRun(attempts=[attempt], is_stored=True, has_tape=True)


def repaired_run() -> ReportRun:
    trials = log_of(trial(2), trial(3, resume_from=2, passed=True), stopped="the run was recovered")
    attempts = [
        ReportAttempt(number=n, trajectory=failed_run(run_id=f"run-{n}"), attribution=diagnosis() if n < 3 else None)
        for n in (1, 2, 3)
    ]
    fork = ReportFork(
        run_id="f" * 32, step=2, change="'writer' says 'Take an umbrella.'", verdict="5 of 5, control 0 of 5"
    )
    return ReportRun(attempts=attempts, repair=trials, forks=[fork], parent=fork, is_stored=True)


RUNS: dict[str, ReportRun] = {
    "clear": run_of(diagnosis(), places={"agent writer": "a/quite/long/path/of/the/code/team.py:41"}),
    "likely": run_of(diagnosis(confidence=0.7)),
    "weak": run_of(diagnosis(confidence=0.2)),
    "abstained": run_of(Attribution(run_id="r", abstained=True, abstained_reason="environment fault")),
    "undiagnosed": run_of(None),
    "repaired": repaired_run(),
    "parallel": ReportRun(attempts=[ReportAttempt(number=1, trajectory=Trajectory(run_id="r", steps=tuple(FAN_OUT)))]),
    "long": long_run(),
    "empty": ReportRun(attempts=[]),
    "words without a blank": poisoned("W" * 3000),
    **{f"hostile {n}": poisoned(attack) for n, attack in enumerate(ATTACKS)},
}


@pytest.fixture(params=RUNS)
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return write_html(tmp_path / "page.html", RUNS[request.param])


@pytest.mark.parametrize(("size", "theme"), [(PHONE, "light"), (PHONE, "dark"), (SCREEN, "light"), (SCREEN, "dark")])
def test_no_page_scrolls_sideways_and_axe_finds_nothing(
    look: Look, written: Path, size: tuple[int, int], theme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    page = look(written, size, theme, bypass_csp=True)  # for axe itself
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    found = axe.Axe().run(page).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []


def test_nothing_of_a_run_is_executed_and_the_policy_is_kept(look: Look, written: Path) -> None:
    page = look(written)
    assert page.heard == []
    assert page.evaluate("document.scripts.length") == 1


def test_what_matters_stands_above_the_fold(look: Look, tmp_path: Path) -> None:
    page = look(write_html(tmp_path / "page.html", RUNS["clear"]), SCREEN)
    for selector in (".verdict", ".sure", ".finding .pair", ".finding blockquote", ".path", ".command"):
        box = page.locator(selector).first.bounding_box()
        assert box["y"] + box["height"] <= SCREEN[1], selector


def test_the_keyboard_reaches_links_folds_and_commands_and_shows_where_it_is(look: Look, tmp_path: Path) -> None:
    page = look(write_html(tmp_path / "page.html", RUNS["clear"]))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        active = "document.activeElement"
        reached.add(page.evaluate(f"{active}.localName + '.' + ({active}.getAttribute('class') || '')"))
        assert page.evaluate(f"getComputedStyle({active}).outlineStyle") != "none" or page.evaluate(
            f"{active} === document.body"
        )
    assert {"a.step-link", "button.small", "summary."} <= reached
    assert any(each.startswith("a.pin") for each in reached)


def test_a_link_opens_what_it_leads_to_and_without_script_everything_can_be_read(look: Look, tmp_path: Path) -> None:
    path = write_html(tmp_path / "page.html", RUNS["long"])
    page = look(path)
    assert not page.locator("#a1-s100 .text").first.is_visible()
    page.evaluate("location.hash = '#a1-s100'")
    page.locator("#a1-s100 .text").first.wait_for(state="visible")
    plain = look(path, java_script_enabled=False)
    assert plain.locator("#a1-s321 .text").first.is_visible()
    plain.locator("details.more-steps > summary").first.click()
    assert plain.locator("details.more-steps .step").first.is_visible()


def test_a_run_of_500_steps_is_painted_within_a_second(look: Look, tmp_path: Path) -> None:
    page = look(write_html(tmp_path / "page.html", RUNS["long"]), PHONE)
    page.screenshot()  # not before something is painted
    assert page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime") < 1000


def test_on_paper_everything_is_open_and_light(look: Look, tmp_path: Path) -> None:
    page = look(write_html(tmp_path / "page.html", RUNS["repaired"]), theme="dark")
    page.emulate_media(media="print")
    assert page.locator("#a2-s0 .text").first.is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.evaluate("document.querySelector('#a2').open")
