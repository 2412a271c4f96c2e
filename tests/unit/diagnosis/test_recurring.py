"""What recurs in stored runs: groups, incidents, shares, prompt versions, and runs that cannot be looked at."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tracer_hooks.diagnosis import RecurringFindings, recurring_findings
from tracer_hooks.diagnosis._recurring import _CLAUSES
from tracer_hooks.schema import (
    Attribution,
    Finding,
    FindingKind,
    FindingValues,
    RunKind,
    RunOutcome,
    Step,
    Trajectory,
    Usage,
)
from tracer_hooks.store import PromptArm, RunPrompts, RunStore, StoredRun

BEGAN = datetime(2026, 1, 2, 10, 0, tzinfo=UTC)
REFUSED = Finding(
    kind=FindingKind.ENDING, detail="endpoint_error", step=0, agent="clerk", text="The endpoint refused the prompt.",
    values=FindingValues(subject="context_length_exceeded"), leads_to_answer=True,
)  # fmt: skip
MOCK = Finding(kind=FindingKind.MADE_UP_DATA, step=0, agent="clerk", text="'clerk' used mock data.")
LIMIT = Finding(kind=FindingKind.ENDING, detail="limit", text="The limit of rounds ended the run.")
ORIGIN = Finding(kind=FindingKind.ANSWER_ORIGIN, detail="tool", text="The answer is the tool's.")


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs.sqlite")


def put(
    store: RunStore, name: str, *findings: Finding, at: float = 0, says: str = "fine", team: str = "office",
    outcome: RunOutcome = RunOutcome.FAILED, **more: Any,
) -> None:  # fmt: skip
    """Store a run that began ``at`` minutes after the first, with the findings in its diagnosis."""
    step = Step(index=0, agent="clerk", content=says, usage=Usage(input_tokens=100, output_tokens=10))
    run = Trajectory(run_id=name, team=team, steps=(step,), outcome=outcome)
    found = Attribution(run_id=name, agent="clerk", step=0, confidence=0.5, findings=findings) if findings else None
    began = BEGAN + timedelta(minutes=at)
    values = {"ended_at": began, "session_id": name, "attribution": found, **more}
    store.save(StoredRun(run_id=name, team=team, outcome=outcome, started_at=began, trajectory=run, **values))


def sentences(found: RecurringFindings) -> list[str]:
    return [issue.sentence for issue in found.issues]


def test_runs_are_grouped_and_said_in_a_sentence(store: RunStore) -> None:
    for number in range(3):
        put(store, f"refused-{number}", REFUSED, at=10 * number)
    put(store, "failed otherwise", LIMIT, at=50)
    put(store, "passed", ORIGIN, at=60, outcome=RunOutcome.SUCCEEDED)
    found = recurring_findings(store)
    assert (found.looked_at, found.failed, found.unread) == (5, 4, 0)
    issue, _ = found.issues
    assert issue.sentence == (
        "In 3 of 4 failures the model's endpoint ended the run with an error (context_length_exceeded)."
    )
    assert (issue.incidents, issue.runs, issue.failed, issue.share, issue.tokens) == (3, 3, 3, 0.6, 330)
    assert (issue.first_seen, issue.last_seen) == (BEGAN, BEGAN + timedelta(minutes=20))
    assert (issue.example.run_id, issue.example.step, issue.example.text) == ("refused-2", 0, REFUSED.text)
    assert (issue.teams, issue.subject, issue.came_back_after) == (("office",), "context_length_exceeded", None)


def test_what_also_stands_in_passing_runs_is_a_share_of_all(store: RunStore) -> None:
    put(store, "a", MOCK)
    put(store, "b", MOCK, at=5, outcome=RunOutcome.SUCCEEDED)
    put(store, "c", ORIGIN, at=9, outcome=RunOutcome.SUCCEEDED)
    assert sentences(recurring_findings(store)) == ["In 2 of 3 runs 'clerk' used made-up data."]


def test_a_burst_is_one_incident(store: RunStore) -> None:
    for number, minutes in enumerate((0, 0.5, 1.4, 2.4, 30)):  # each less than a minute after the last but two
        put(store, f"run-{number}", REFUSED, at=minutes)
    put(store, "long", REFUSED, at=60, ended_at=BEGAN + timedelta(minutes=70))
    put(store, "its retry", REFUSED, at=70.5)
    (issue,) = recurring_findings(store).issues
    assert (issue.runs, issue.incidents) == (7, 4)


def test_imported_runs_without_times_are_no_burst(store: RunStore) -> None:
    for number in range(3):
        put(store, f"run-{number}", MOCK, kind=RunKind.IMPORTED, ended_at=None)
    assert [issue.incidents for issue in recurring_findings(store).issues] == [3]


def test_a_run_counts_once_and_agents_subjects_and_details_apart(store: RunStore) -> None:
    other = MOCK.model_copy(update={"agent": "cook"})
    empty = Finding(kind=FindingKind.ENDING, detail="empty", text="The last words are empty.")
    put(store, "a", MOCK, MOCK, other, LIMIT)
    put(store, "b", empty, at=5)
    found = {(issue.agent, issue.detail): issue.runs for issue in recurring_findings(store).issues}
    assert found == {("clerk", ""): 1, ("cook", ""): 1, (None, "limit"): 1, (None, "empty"): 1}


def test_an_answer_that_a_tool_gave_is_no_issue(store: RunStore) -> None:
    for number, detail in enumerate(("tool", "task", "derived", "memory")):
        put(store, detail, Finding(kind=FindingKind.ANSWER_ORIGIN, detail=detail, text="It is so."), at=5 * number)
    assert sentences(recurring_findings(store)) == ["In 1 of 4 failures the team gave the answer from memory."]


def test_prompts_that_it_came_back_after(store: RunStore) -> None:
    def told(version: int) -> RunPrompts:
        return RunPrompts(version=version, arm=PromptArm.NEW, told=version)

    put(store, "own", MOCK)
    put(store, "second", MOCK, at=10, prompts=told(2))
    put(store, "control", REFUSED, at=20, prompts=told(3))
    put(store, "new elsewhere", REFUSED, at=30, team="kitchen", prompts=told(9))
    back = {issue.kind: issue.came_back_after for issue in recurring_findings(store).issues}
    assert back == {FindingKind.MADE_UP_DATA: 2, FindingKind.ENDING: None}


def test_what_is_asked_for(store: RunStore) -> None:
    put(store, "old", MOCK)
    put(store, "new", REFUSED, at=60)
    put(store, "other", MOCK.model_copy(update={"agent": "cook"}), at=120, team="kitchen")
    assert recurring_findings(store, since=BEGAN + timedelta(minutes=30)).looked_at == 2
    assert recurring_findings(store, limit=1).looked_at == 1
    assert [issue.agent for issue in recurring_findings(store, team="kitchen").issues] == ["cook"]
    kinds = recurring_findings(store, kind=FindingKind.ENDING)
    assert [issue.kind for issue in kinds.issues] == [FindingKind.ENDING]
    assert kinds.looked_at == 3
    assert [issue.agent for issue in recurring_findings(store, agent="cook").issues] == ["cook"]
    assert recurring_findings(store, agent="nobody").issues == ()


def test_runs_that_were_never_diagnosed_are_counted_and_not_read(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, "diagnosed", MOCK)
    put(store, "failed", at=5)
    put(store, "unknown", at=10, outcome=RunOutcome.UNKNOWN)
    put(store, "passed", at=15, outcome=RunOutcome.SUCCEEDED)
    put(store, "replayed", MOCK, at=20, kind=RunKind.REPLAY)
    monkeypatch.delattr(RunStore, "get")
    found = recurring_findings(store)
    assert (found.looked_at, found.failed, found.undiagnosed, found.undiagnosed_failures) == (1, 1, 3, 2)
    assert sentences(found) == ["In 1 of 1 failure 'clerk' used made-up data."]
    nothing = Attribution(run_id="failed", abstained=True, abstained_reason="no sign of failure")
    store.set_attribution("failed", nothing)
    found = recurring_findings(store)
    assert (found.looked_at, found.undiagnosed, found.undiagnosed_failures) == (2, 2, 1)
    assert sentences(found) == ["In 1 of 2 failures 'clerk' used made-up data."]
    assert recurring_findings(store, limit=1).undiagnosed == 1


def test_a_damaged_run_is_left_out(store: RunStore, caplog: pytest.LogCaptureFixture) -> None:
    import sqlite3

    put(store, "good", MOCK)
    put(store, "bad", MOCK, at=5)
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE runs SET attribution = x'00' WHERE run_id = 'bad'")
    found = recurring_findings(store)
    assert (found.looked_at, found.unread, len(found.issues)) == (1, 1, 1)
    assert any("'bad'" in message for message in caplog.messages)


def test_an_empty_store(store: RunStore) -> None:
    assert recurring_findings(store) == RecurringFindings()


def test_names_of_strangers_stay_short_and_on_one_line(store: RunStore) -> None:
    values = FindingValues(subject="a\nb\x1b[2J" + "x" * 100_000)
    put(store, "a", MOCK.model_copy(update={"agent": "\x1b[31m\n'" + "y" * 5_000, "values": values}))
    (sentence,) = sentences(recurring_findings(store))
    assert "\n" not in sentence
    assert len(sentence) < 300


def test_twice_at_once_while_a_run_is_stored(store: RunStore) -> None:
    for number in range(20):
        put(store, f"run-{number}", MOCK, at=number)
    found: list[RecurringFindings] = []
    readers = [Thread(target=lambda: found.append(recurring_findings(store))) for _ in range(2)]
    for reader in readers:
        reader.start()
    put(store, "meanwhile", at=60)
    for reader in readers:
        reader.join(30)
    assert [issue.runs for each in found for issue in each.issues] == [20, 20]


def test_every_kind_has_a_clause() -> None:
    assert {kind for kind, detail in _CLAUSES if not detail} == set(FindingKind)
