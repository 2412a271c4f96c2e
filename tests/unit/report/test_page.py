"""The report page: what stands in it, and that it is one sound document."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tracer_hooks.report import ReportAttempt, ReportRun, render_html, write_html
from tracer_hooks.schema import Attribution, RunOutcome, Step, StepKind, Trajectory

from ._pages import NOON, Element, diagnosis, failed_run, found, page_of, parse


@pytest.fixture(scope="module")
def page() -> Element:
    second = failed_run(run_id="run-2", outcome=RunOutcome.SUCCEEDED, outcome_reason=None)
    return page_of(
        ReportAttempt(number=1, trajectory=failed_run(), attribution=diagnosis()),
        ReportAttempt(number=2, trajectory=second),
    )


def test_ids_are_unique_and_every_link_resolves(page: Element) -> None:
    ids = [element.attributes["id"] for element in page.all() if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    links = [element.attributes["href"] for element in page.all() if "href" in element.attributes]
    assert len(links) > 20
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)
    assert all(link.startswith("#") for link in links), "the page must load and link nothing outside itself"


def test_the_page_needs_nothing_beside_it(page: Element) -> None:
    assert page.all("link") == []
    assert [each.attributes for each in page.all("script")] == [{}], "no src"
    assert all("src" not in each.attributes for each in page.all())
    assert "url(http" not in page.one("style").text
    assert "@import" not in page.one("style").text


def test_the_header_tells_the_outcome_of_the_last_attempt(page: Element) -> None:
    header = page.one("header", "page")
    assert header.one("h1").one("span", "badge").text == "Succeeded"
    facts = [fact.text for fact in header.one("p", "facts").all("span")]
    assert facts == ["crewai", "2 attempts", "8 steps", "8.0 s", "2,400 tokens in, 68 out"]
    assert "What shall I wear?" in header.one("div", "task").text


def test_the_diagnosis_names_agent_step_mode_and_confidence(page: Element) -> None:
    card = page.one("div", "diagnosis")
    text = " ".join(card.text.split())
    assert "writer went wrong at step 2." in text
    assert "ignored other agent's input (FM-2.5)" in text
    assert "confidence 92%" in text
    assert "structural 1.0, 4 ms" in text
    assert [quote.text for quote in card.all("blockquote")] == ["It is sunny", "rain, 7 degrees"]


def test_evidence_is_marked_where_it_stands(page: Element) -> None:
    assert [mark.text for mark in page.by_id("a1-s2").all("mark")] == ["It is sunny"]
    assert [mark.text for mark in page.by_id("a1-s1").all("mark")] == ["rain, 7 degrees"]
    assert page.by_id("a2-s2").all("mark") == [], "the second attempt has no diagnosis"


def test_exactly_one_decisive_mark_stands_in_the_timeline_and_leads_to_the_step(page: Element) -> None:
    marks = page.by_id("a1").all("a", "decisive")
    assert [mark.attributes["href"] for mark in marks] == ["#a1-s2"]
    assert "decisive error step" in marks[0].attributes["aria-label"]
    assert marks[0].one("use", "mark").attributes["href"] == "#m-message"
    assert "decisive" in page.by_id("a1-s2").classes
    assert page.one("text", "flag").text == "decisive error, step 2"


def test_a_weak_diagnosis_names_places_to_start_and_nothing_decisive() -> None:
    page = page_of(ReportAttempt(number=1, trajectory=failed_run(), attribution=diagnosis(confidence=0.1)))
    assert "The tool said rain." in " ".join(page.text.split())
    assert page.all("", "decisive") == []
    assert "went wrong at" not in page.text
    assert page.one("text", "flag").text == "place to start, step 2"
    assert "start" in page.by_id("a1-s2").classes
    assert "weak" in page.one("div", "diagnosis").classes


def test_a_finding_without_a_passage_has_no_quotation() -> None:
    said = (found(step=2, text="It is empty.", quote=""), found(step=2, text="It says so."))
    page = page_of(ReportAttempt(number=1, trajectory=failed_run(), attribution=diagnosis(findings=said)))
    card = page.one("div", "diagnosis")
    assert [quote.text for quote in card.all("blockquote")] == ["It is sunny"]
    assert "It is empty." in card.text


def test_the_timeline_has_a_lane_per_acting_agent_and_a_mark_per_step(page: Element) -> None:
    first = page.by_id("a1")
    assert [lane.one("span", "name").text for lane in first.all("div", "lane")] == ["planner", "scout", "writer"]
    marks = [mark.attributes["href"] for mark in first.one("div", "scroller").all("use")]
    assert marks == ["#m-handoff", "#m-failed", "#m-message", "#m-error"]
    places = [float(use.attributes["x"].rstrip("%")) for use in first.one("div", "scroller").all("use")]
    assert places == [12.5, 37.5, 62.5, 87.5]
    (arrow,) = first.all("line", "handoff")
    assert (arrow.attributes["x1"], arrow.attributes["x2"]) == ("12.5%", "37.5%")
    assert "Never acted: critic" in first.text


def test_a_step_shows_what_was_received_called_and_handed_over(page: Element) -> None:
    handoff, tools = page.by_id("a1-s0").text, page.by_id("a1-s1")
    assert "What shall I wear?" in handoff
    assert "Hands over to planner" not in handoff
    assert "Hands over to scout" in handoff
    good, bad = tools.all("div", "tool")
    assert '{"city": "Köln", "when": "2026-03-04"}' in good.text
    assert "rain, 7 degrees" in good.text
    assert "wrong" in bad.classes
    assert "called 3 times" in bad.text
    assert "TimeoutError: 2 s" in bad.text
    assert tools.one("details", "inputs").one("a", "step-link").attributes["href"] == "#a1-s0"
    facts = [fact.text for fact in tools.one("p", "facts").all("span")]
    assert facts == ["tiny-1", "1,200 in, 34 out tokens", "2.5 s", "12:00:00 UTC"]
    assert "2 model calls" in page.by_id("a1-s3").text


@pytest.mark.parametrize("reason", ["no sign of failure", "environment fault", "trace too incomplete"])
def test_an_abstention_names_nobody(reason: str) -> None:
    abstained = Attribution(run_id="run-1", abstained=True, abstained_reason=reason, attributor="x")
    page = page_of(ReportAttempt(number=1, trajectory=failed_run(), attribution=abstained))
    card = page.one("div", "diagnosis")
    assert "abstained" in card.classes
    assert f"No agent is named: {reason}." in card.text
    assert card.all("div", "confidence") == []
    assert page.all("", "decisive") == []


def test_a_diagnosis_of_a_step_that_does_not_exist_is_told_without_a_link() -> None:
    page = page_of(ReportAttempt(number=1, trajectory=failed_run(), attribution=diagnosis(step=77)))
    assert "Probably: writer at step 77" in page.text
    assert "#a1-s77" not in [each.attributes.get("href") for each in page.all("a")]


def test_runs_without_attempts_and_attempts_without_steps() -> None:
    assert "This run has no attempts." in page_of().text
    empty = Trajectory(run_id="r")
    page = page_of(ReportAttempt(number=1, trajectory=empty, attribution=diagnosis()))
    assert "No step was recorded." in page.text
    bare = Trajectory(run_id="r", steps=(Step(index=0, agent="a"),))
    assert "No content was recorded." in page_of(ReportAttempt(number=1, trajectory=bare)).text


def test_two_attempts_with_the_same_number_keep_their_own_ids() -> None:
    page = page_of(*(ReportAttempt(number=1, trajectory=failed_run()) for _ in range(2)))
    assert page.by_id("a1").tag == page.by_id("a2").tag == "section"


def test_steps_of_an_undiagnosed_later_attempt_are_folded_and_the_others_open(page: Element) -> None:
    first, second = (page.by_id(key).one("details", "steps").attributes for key in ("a1", "a2"))
    assert "open" in first
    assert "open" not in second


def test_the_report_is_written_to_a_new_directory_as_utf8(tmp_path: Path) -> None:
    run = ReportRun(attempts=[ReportAttempt(number=1, trajectory=failed_run())], team="Größe 東京", generated_at=NOON)
    written = write_html(tmp_path / "new" / "report.html", run)
    assert parse(written.read_text(encoding="utf-8")).one("h1").one("bdi").text == "Größe 東京"


def test_every_mark_shape_is_defined(page: Element) -> None:
    shapes = page.one("svg", "shapes")
    wanted = {kind.value for kind in StepKind} | {"failed"}
    assert {f"m-{shape}" for shape in wanted} <= {each.attributes.get("id") for each in shapes.all()}


def test_the_script_is_the_one_that_the_policy_allows() -> None:
    import base64
    import hashlib

    page = render_html(ReportRun(attempts=[], generated_at=NOON))
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src &#39;sha256-{digest}" in page or f"script-src 'sha256-{digest}'" in page


def test_the_package_is_imported_without_jinja_and_rich() -> None:
    code = "import sys, tracer_hooks.report; sys.exit(bool({'jinja2', 'rich'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
