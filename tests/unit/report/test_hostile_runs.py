"""Runs that try to break the page: markup in every field, huge texts, binary junk, very many steps."""

from __future__ import annotations

import pytest

from tracer_hooks.repair import PastTrial, Repair, RepairLog, RepairTarget
from tracer_hooks.report import ReportAttempt, ReportRun, render_html
from tracer_hooks.schema import (
    AgentSpec,
    Attribution,
    Candidate,
    Evidence,
    RunOutcome,
    Step,
    StepInput,
    StepKind,
    ToolCall,
    Trajectory,
)

from ._pages import NOON, Element, diagnosis, failed_run, page_of, parse

ATTACKS = [
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "</style></script></textarea><svg onload=alert(1)>",
    "{{ 7*7 }}{% for x in y %}",
    "javascript:alert(1)",
    "--></title><b>",
]


def poisoned(bad: str) -> ReportRun:
    """A run with ``bad`` in every text field that there is."""
    call = ToolCall(name=bad, arguments={bad: [bad]}, result=bad, error=bad, call_id=bad)
    step = Step(
        index=0,
        agent=bad,
        kind=StepKind.HANDOFF,
        content=bad,
        inputs=(StepInput(source=bad, text=bad), StepInput(source=bad, step=0)),
        tool_calls=(call,),
        recipient=bad,
        model=bad,
        error=bad,
        span_id=bad,
    )
    trajectory = Trajectory(
        run_id=bad,
        team=bad,
        framework=bad,
        task=bad,
        agents=(AgentSpec(name=bad), AgentSpec(name=bad + "2", instructions=bad)),
        steps=(step, step.model_copy(update={"index": 1, "agent": "other"})),
        outcome_reason=bad,
        final_output=bad,
        reference=bad,
    )
    quote = Evidence(step=0, quote=bad, why=bad)
    attribution = Attribution(
        run_id=bad,
        agent=bad,
        step=0,
        confidence=0.5,
        candidates=(Candidate(agent=bad, step=0, score=0.5),),
        evidence=(quote,),
        spread=(quote,),
        attributor=bad,
    )
    attempts = [ReportAttempt(number=n, trajectory=trajectory, attribution=attribution) for n in (1, 2)]
    return ReportRun(
        attempts=attempts, repair=poisoned_repairs(bad), team=bad, framework=bad, task=bad, generated_at=NOON
    )


def poisoned_repairs(bad: str) -> RepairLog:
    """Trials of every kind, with ``bad`` in every text."""
    trials = [
        PastTrial(
            repair=Repair(
                strategy=bad,
                target=target,
                agent=bad,
                text="" if target is RepairTarget.NOTHING else bad,
                resume_from=step,
                reason=bad,
            ),
            outcome=RunOutcome.FAILED,
            note=bad,
            attempt=attempt,
        )
        for target in RepairTarget
        for step in (None, 1)
        for attempt in (None, 2)
    ]
    passed = trials[-1].model_copy(update={"outcome": RunOutcome.SUCCEEDED})
    return RepairLog(trials=(*trials, passed), stopped=bad)


@pytest.mark.parametrize("bad", ATTACKS)
def test_markup_in_every_field_stays_text(bad: str) -> None:
    page = parse(render_html(poisoned(bad)))
    harmless = parse(render_html(poisoned("x")))
    assert [each.tag for each in page.all()] == [each.tag for each in harmless.all()], "no element comes from a run"
    for element in page.all():
        assert not [name for name in element.attributes if name.startswith("on")]
        assert element.attributes.get("href", "#").startswith("#")
    assert bad in page.by_id("a1-s0").text
    assert page.one("section", "tried").text.count(bad) > 20
    assert bad in page.one("head").one("title").text


def test_an_abstention_reason_is_escaped_too() -> None:
    abstained = Attribution(run_id="r", abstained=True, abstained_reason=ATTACKS[0])
    page = page_of(ReportAttempt(number=1, trajectory=failed_run(), attribution=abstained))
    assert ATTACKS[0] in page.one("section", "finding").text


def run_of(steps: list[Step]) -> Trajectory:
    return Trajectory(run_id="r", team="t", steps=tuple(steps))


def test_a_megabyte_message_is_cut_with_its_size_told_and_its_quote_kept() -> None:
    text = "a" * 600_000 + " THE QUOTE " + "b" * 600_000
    attribution = diagnosis(agent="a", step=0, evidence=(Evidence(step=0, quote="THE QUOTE", why="x"),), spread=())
    run = run_of([Step(index=0, agent="a", content=text)])
    html = render_html(ReportRun(attempts=[ReportAttempt(number=1, trajectory=run, attribution=attribution)]))
    step = parse(html).by_id("a1-s0")
    assert len(html) < 100_000
    assert "of 1,200,011 characters shown; the whole text has 1.2 MB." in step.one("p", "note").text
    assert step.one("mark").text == "THE QUOTE"
    assert step.one("details", "fold").one("div", "text").text.endswith("b" * 100), "the end is kept"
    assert len(step.all("span", "left-out")) == 2


@pytest.mark.parametrize("character", ["a", "&", "東", "\x00", "\n"])
def test_a_hundred_and_thirty_huge_steps_stay_below_three_megabytes(character: str) -> None:
    steps = [
        Step(
            index=i,
            agent=f"agent {i % 5}",
            content=character * 100_000,
            tool_calls=(ToolCall(name="t", arguments={"x": character * 50_000}, result=character * 50_000),),
        )
        for i in range(130)
    ]
    attempts = [ReportAttempt(number=n, trajectory=run_of(steps), attribution=diagnosis()) for n in (1, 2)]
    html = render_html(ReportRun(attempts=attempts, generated_at=NOON))
    assert len(html.encode()) < 3_000_000
    page = parse(html)
    assert len(page.by_id("a1").all("details", "step")) == len(page.by_id("a2").all("details", "step")) == 130


def test_short_texts_stay_whole_beside_huge_ones() -> None:
    steps = [Step(index=i, agent="a", content="x" * 1_000_000) for i in range(99)]
    steps.append(Step(index=99, agent="a", content="short " * 300))
    page = page_of(ReportAttempt(number=1, trajectory=run_of(steps)))
    assert page.by_id("a1-s99").one("div", "text").text == "short " * 300


def test_a_run_of_thousands_of_steps_shows_what_matters_and_counts_the_rest() -> None:
    steps = [Step(index=i, agent=f"agent {i % 3}", content=f"number {i}") for i in range(5000)]
    attribution = diagnosis(agent="agent 0", step=3000, findings=(), candidates=())
    page = page_of(ReportAttempt(number=1, trajectory=run_of(steps), attribution=attribution))
    shown = [int(article.attributes["id"].removeprefix("a1-s")) for article in page.all("details", "step")]
    assert len(shown) == 500
    assert {0, 2995, 3000, 3005, 4999} <= set(shown)
    left_out = [int(each.text.split()[0]) for each in page.all("p", "skipped")]
    assert sum(left_out) == 4500
    assert page.by_id("a1-s3000").classes >= {"likely"}
    (ticks,) = page.one("svg", "drawn").all("path", "ticks")
    assert ticks.attributes["d"].count("M") == 499, "each step but the one with a number"


def visible(page: Element) -> str:
    return page.by_id("a1-s0").text


def test_binary_junk_becomes_visible_signs() -> None:
    junk = "".join(map(chr, range(0x20))) + "\x7f\x85\u202eevil\ufffe"
    step = Step(index=0, agent="a\x00b", content=junk, tool_calls=(ToolCall(name="\x1b[31m", result=junk),))
    page = render_html(ReportRun(attempts=[ReportAttempt(number=1, trajectory=run_of([step]))], team="t\x00\x1b"))
    assert not [c for c in page if (ord(c) < 32 and c not in "\n") or c in "\x7f\x85\u202e\ufffe"] or "\t" in page
    assert "\x00" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "␀␁" in visible(parse(page))
    assert "␛[31m" in visible(parse(page))


def test_bytes_and_lone_surrogates_are_safe() -> None:
    step = Step(index=0, agent="a", content=b"\xff\xfe\x00ok", error="\ud800")  # type: ignore[arg-type]
    html = render_html(ReportRun(attempts=[ReportAttempt(number=1, trajectory=run_of([step]))], task="\udcff"))
    assert "ok" in visible(parse(html.encode("utf-8").decode("utf-8")))


def test_of_dozens_of_agents_those_that_matter_have_lanes_and_the_others_share_one() -> None:
    steps = [Step(index=i, agent=f"agent {i}", content="x") for i in range(40)]
    blamed = diagnosis(agent="agent 33", step=33, findings=(), candidates=())
    lanes = page_of(ReportAttempt(number=1, trajectory=run_of(steps), attribution=blamed)).all("div", "lane")
    names = [lane.text.strip() for lane in lanes]
    assert len(names) == 12
    assert "agent 33" in names
    assert names[-1] == "29 others"
