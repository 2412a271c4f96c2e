"""Lessons in a run store, as ``tracer-hooks lessons learn`` leaves them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tracer_hooks.improvement import kind_of
from tracer_hooks.store import Lesson, LessonDraft, LessonOutcome, LessonStore, fingerprint

TEAM = fingerprint("python", "solve")
TASKS = [f"What is {10 * i + 17} plus {10 * i + 26}?" for i in range(1, 6)]
TEXT = "Do not forget the carry."


def learn(
    path: Path, text: str = TEXT, *, agent: str = "solver", team: str = TEAM, tasks: Sequence[str] = TASKS
) -> Lesson:
    """Put a lesson on trial."""
    runs = tuple(f"failed {text} {at}" for at in range(3))
    draft = LessonDraft(agent=agent, text=text, kind=kind_of(tasks), runs=runs, team_name="solve", framework="python")
    with LessonStore(path) as store:
        lesson = store.propose(team, draft)
    assert lesson is not None
    return lesson


def outcome(run_id: str, *, given: bool, passed: bool, period: int = 1, share: float = 0.5) -> LessonOutcome:
    return LessonOutcome(
        run_id=run_id, period=period, given=given, passed=passed, share=share, counted_at=datetime.now(UTC)
    )


def stored(path: Path, number: int = 1, team: str = TEAM) -> Lesson:
    with LessonStore(path, read_only=True) as store:
        return store.get(team, number)
