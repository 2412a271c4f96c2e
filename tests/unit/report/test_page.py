"""The report page: what stands in it, and that it is one sound document."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.report import ReportAttempt, ReportFork, ReportRun, render_html, write_html
from tracer_hooks.schema import Attribution, FindingValues, RunOutcome, Step, Trajectory, ValueLink, ValueOrigin

from ._pages import NOON, Element, diagnosis, failed_run, found, page_of, parse


@pytest.fixture(scope="module")
def page() -> Element:
    second = failed_run(run_id="run-2", outcome=RunOutcome.SUCCEEDED, outcome_reason=None)
    return page_of(
        ReportAttempt(number=1, trajectory=failed_run(), attribution=diagnosis()),
        ReportAttempt(number=2, trajectory=second),
    )


def words(element: Element) -> str:
    return " ".join(element.text.split())


def test_ids_are_unique_and_every_link_resolves(page: Element) -> None:
    ids = [element.attributes["id"] for element in page.all() if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    links = [element.attributes["href"] for element in page.all() if "href" in element.attributes]
    assert len(links) > 12
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


def test_the_first_card_says_what_went_wrong_how_sure_and_from_what(page: Element) -> None:
    card = page.one("div", "columns").one("section", "finding")
    assert card.classes >= {"failed", "clear"}
    text = words(card)
    for said in (
        "What went wrong in attempt 1",
        "writer went wrong at step 2.",
        "Clear, confidence 92%: the rejected answer rests on what was found.",
        "Error mode: ignored other agent's input (FM-2.5).",
        "Why it counts as failed check: no umbrella",
        "Step 2, writer: The tool said rain.",
        "What to try Have 'writer' copy values word for word.",
        "structural 1.0, 4 ms",
    ):
        assert said in text
    assert [quote.text for quote in card.all("blockquote")] == ["It is sunny", "rain, 7 degrees"]
    assert [words(each) for each in card.one("div", "pair").all("div", "text")] == ["An umbrella.", "A T-shirt."]


@pytest.mark.parametrize(
    ("fields", "tone", "title", "sure", "badge"),
    [
        ({"confidence": 0.92}, "failed", "What went wrong", "Clear, confidence 92%", "decisive error step"),
        (
            {"confidence": 0.7, "own_labels_right": (14, 17)},
            "open",
            "What went wrong",
            "Likely, not certain: confidence 70%. Right in 14 of 17 of your labels",
            "probably here",
        ),
        ({"confidence": 0.1}, "weak", "Where to look", "Weak: no step reaches a confidence of 65%", "place to start"),
    ],
)
def test_nothing_on_the_page_is_surer_than_the_diagnosis(
    fields: dict[str, float], tone: str, title: str, sure: str, badge: str
) -> None:
    page = page_of(ReportAttempt(number=1, trajectory=failed_run(), attribution=diagnosis(**fields)))
    card = page.one("section", "finding")
    assert tone in card.classes
    assert card.one("h2").text == title
    assert sure in words(card)
    assert page.by_id("a1-s2").one("span", "badge").text == badge
    assert ("decisive" in page.one("main").text) == (tone == "failed")
    if tone == "weak":
        assert [words(each) for each in card.all("li", "chip")] == ["step 2, writer", "step 1, scout"]
        assert "went wrong" not in words(card)
        assert not {"failed", "open"} & card.classes, "nobody is blamed, so nothing has the colour of blame"


def test_the_way_of_the_wrong_value_is_told_drawn_and_open() -> None:
    found_at = found(values=FindingValues(claimed="sunny", right="rain"))
    way = (
        ValueLink(value="sunny", step=2, origin=ValueOrigin.CONTRADICTING, note="the tool says rain"),
        ValueLink(value="sunny", step=3, origin=ValueOrigin.COPIED, source=2),
    )
    attribution = diagnosis(findings=(found_at,), provenance=way)
    page = page_of(ReportAttempt(number=1, trajectory=failed_run(), attribution=attribution))
    path = page.one("ol", "path")
    assert "failed" in path.classes
    assert [words(stop) for stop in path.all("li")] == ["step 2, writer", "step 3, writer took it over", "answer"]
    assert page.one("path", "followed").attributes["d"] == "M2.5 91L3.5 91L4 91"
    opened = [step.attributes["id"] for step in page.all("details", "step") if "open" in step.attributes]
    assert opened == ["a1-s2", "a1-s3"]


def test_the_way_goes_on_through_what_is_worked_out_from_the_value() -> None:
    link = ValueLink(value="78 EUR", step=1, origin=ValueOrigin.CONTRADICTING)
    way = (
        link,
        ValueLink(value="85 EUR", step=2, origin=ValueOrigin.DERIVED, operands=("78 EUR",)),
        ValueLink(value="7 EUR", step=3, origin=ValueOrigin.COPIED),
        ValueLink(value="85 EUR", step=3, origin=ValueOrigin.COPIED, source=2),
    )
    steps = [Step(index=n, agent="abcd"[n], content="85 EUR, or 1:85 EUR") for n in range(4)]
    run = Trajectory(run_id="r", steps=tuple(steps), outcome=RunOutcome.FAILED)
    blamed = found(step=1, agent="b", values=FindingValues(claimed="78"))
    attribution = diagnosis(agent="b", step=1, findings=(blamed,), provenance=way)
    path = page_of(ReportAttempt(number=1, trajectory=run, attribution=attribution)).one("ol", "path")
    told = ["step 1, b", "step 2, c worked '85 EUR' out", "step 3, d took '85 EUR' over", "answer"]
    assert [words(stop) for stop in path.all("li")] == told


def test_of_several_values_that_one_request_brought_none_is_named_for_all() -> None:
    values = ("7.50 EUR", "28.00 EUR")
    links = [ValueLink(value=value, step=1, origin=ValueOrigin.CONTRADICTING) for value in values]
    links += [ValueLink(value=value, step=3, origin=ValueOrigin.COPIED, source=1) for value in values]
    claim = found(step=1, agent="scout", values=FindingValues(claimed=values[0]))
    attribution = diagnosis(agent="scout", step=1, findings=(claim,), provenance=tuple(links))
    assert "How it reached the answer: step 3 took it over." in attribution.explain()
    page = page_of(ReportAttempt(number=1, trajectory=failed_run(), attribution=attribution))
    assert "Way to the answer" in words(page.one("section", "finding"))
    assert [words(stop) for stop in page.one("ol", "path").all("li")] == [
        "step 1, scout",
        "step 3, writer took it over",
        "answer",
    ]


def test_a_way_that_is_not_the_blamed_values_has_no_colour_of_blame() -> None:
    way = tuple(ValueLink(value="T-shirt", step=n, origin=ValueOrigin.COPIED) for n in (1, 3))
    weak = diagnosis(confidence=0.2, findings=(), provenance=way, got="A T-shirt.")
    page = page_of(ReportAttempt(number=1, trajectory=failed_run(), attribution=weak))
    assert page.one("ol", "path").classes == {"path"}
    assert page.one("path", "followed").classes == {"followed"}


def test_evidence_is_marked_where_it_stands(page: Element) -> None:
    assert [mark.text for mark in page.by_id("a1-s2").all("mark")] == ["It is sunny"]
    assert [mark.text for mark in page.by_id("a1-s1").all("mark")] == ["rain, 7 degrees"]
    assert page.by_id("a2-s2").all("mark") == [], "the second attempt has no diagnosis"


def test_a_step_shows_what_was_received_called_and_handed_over(page: Element) -> None:
    handoff, tools = page.by_id("a1-s0").text, page.by_id("a1-s1")
    assert "What shall I wear?" in handoff
    assert "hands over to scout" in handoff
    good, bad = tools.all("div", "tool")
    assert '{"city": "Köln", "when": "2026-03-04"}' in good.text
    assert "rain, 7 degrees" in good.text
    assert "wrong" in bad.classes
    assert "called 3 times" in bad.text
    assert "TimeoutError: 2 s" in bad.text
    assert tools.one("details", "inputs").one("a", "step-link").attributes["href"] == "#a1-s0"
    assert tools.one("p", "facts").text == "tiny-1 · 1,200 in, 34 out tokens · 2.5 s · 12:00:00 UTC"
    assert "2 model calls" in page.by_id("a1-s3").text


def test_file_and_line_stand_beside_agent_prompt_and_tool() -> None:
    places = {"agent writer": "app/team.py:41", "prompt writer": "app/prompts.py:3", "tool maps": "app/tools.py:7"}
    page = page_of(ReportAttempt(number=1, trajectory=failed_run(), attribution=diagnosis()), places=places)
    assert "In your code: writer app/team.py:41, its prompt app/prompts.py:3" in words(page.one("section", "finding"))
    assert "app/tools.py:7" in page.by_id("a1-s1").text
    lane = page.one("div", "names").text
    assert "team.py:41" in lane
    assert "app/" not in lane, "there is no room for folders"


@pytest.mark.parametrize("reason", ["no sign of failure", "environment fault", "trace too incomplete"])
def test_an_abstention_names_nobody(reason: str) -> None:
    abstained = Attribution(run_id="run-1", abstained=True, abstained_reason=reason, attributor="x")
    page = page_of(ReportAttempt(number=1, trajectory=failed_run(), attribution=abstained))
    card = page.one("section", "finding")
    assert card.classes == {"card", "finding", "abstained"}
    assert f"No agent is named: {reason}." in card.text
    assert "onfidence" not in card.text
    assert page.all("a", "decisive") == []


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (RunOutcome.SUCCEEDED, "The run succeeded."),
        (RunOutcome.FAILED, "The run failed, and it was not diagnosed."),
        (RunOutcome.UNKNOWN, "Nothing says whether this run failed."),
    ],
)
def test_without_a_diagnosis_the_first_card_says_the_outcome_and_no_more(outcome: RunOutcome, said: str) -> None:
    page = page_of(ReportAttempt(number=1, trajectory=failed_run(outcome=outcome)))
    assert page.one("section", "finding").one("p", "verdict").text == said
    assert "went wrong" not in page.one("main").text


def test_that_a_run_which_succeeded_shows_no_sign_of_failure_is_no_diagnosis() -> None:
    abstained = Attribution(run_id="run-1", abstained=True, abstained_reason="no sign of failure")
    run = failed_run(outcome=RunOutcome.SUCCEEDED)
    page = page_of(ReportAttempt(number=1, trajectory=run, attribution=abstained))
    assert page.one("section", "finding").one("p", "verdict").text == "The run succeeded."


def test_a_diagnosis_of_a_step_that_does_not_exist_is_told_without_a_link() -> None:
    page = page_of(ReportAttempt(number=1, trajectory=failed_run(), attribution=diagnosis(step=77)))
    assert "Probably: writer at step 77" in page.text
    assert "#a1-s77" not in [each.attributes.get("href") for each in page.all("a")]


def test_commands_have_the_runs_own_id_step_and_code() -> None:
    run = failed_run(run_id="c07a1b0ceae64e27", team="it's")
    attempt = ReportAttempt(number=1, trajectory=run, attribution=diagnosis())

    def commands(**fields: Any) -> list[str]:
        return [words(each) for each in page_of(attempt, is_stored=True, **fields).all("div", "command")]

    assert commands(has_tape=True, built_by="app.team:build", checked_by="app.team:check") == [
        "tracer-hooks fork c07a1b0ceae6 --at 2 --say 'WHAT IT SHOULD SAY'",
        "tracer-hooks replay c07a1b0ceae6 --find",
        "tracer-hooks label c07a1b0ceae6 --out labels.jsonl",
        "tracer-hooks publish c07a1b0ceae6 phoenix://localhost:6006/PROJECT",
        "tracer-hooks issues --team 'it'\"'\"'s'",
    ]
    assert commands(has_tape=True)[:2] == [
        "tracer-hooks fork c07a1b0ceae6 MODULE:build_team --at 2 --say 'WHAT IT SHOULD SAY' --check MODULE:check",
        "tracer-hooks replay c07a1b0ceae6 --find --team MODULE:build_team --check MODULE:check",
    ]
    fork = ReportFork(run_id="f0" * 16, step=2, change="x")
    assert "tracer-hooks compare c07a1b0ceae6 f0f0f0f0f0f0" in commands(forks=(replace(fork, attempt=2), fork))
    assert not any("compare" in line for line in commands(forks=(replace(fork, attempt=2),)))
    assert [each.split()[1] for each in commands()] == ["label", "publish", "issues"], "no tape, no replay"
    assert page_of(attempt).all("div", "command") == [], "no command finds a run that is not stored"


def test_runs_without_attempts_and_attempts_without_steps() -> None:
    assert "This run has no attempts." in page_of().text
    empty = Trajectory(run_id="r")
    page = page_of(ReportAttempt(number=1, trajectory=empty, attribution=diagnosis()))
    assert "No step was recorded." in page.text
    bare = Trajectory(run_id="r", steps=(Step(index=0, agent="a"),))
    assert "No content was recorded." in page_of(ReportAttempt(number=1, trajectory=bare)).text


def test_two_attempts_with_the_same_number_keep_their_own_ids() -> None:
    page = page_of(*(ReportAttempt(number=1, trajectory=failed_run()) for _ in range(2)))
    assert page.by_id("a1").tag == page.by_id("a2").tag == "details"


def test_the_attempt_that_the_page_is_about_is_open_and_the_others_are_folded(page: Element) -> None:
    assert "open" in page.by_id("a1").attributes
    assert "open" not in page.by_id("a2").attributes


def test_the_report_is_written_to_a_new_directory_as_utf8(tmp_path: Path) -> None:
    run = ReportRun(attempts=[ReportAttempt(number=1, trajectory=failed_run())], team="Größe 東京", generated_at=NOON)
    written = write_html(tmp_path / "new" / "report.html", run)
    assert parse(written.read_text(encoding="utf-8")).one("h1").one("bdi").text == "Größe 東京"


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
