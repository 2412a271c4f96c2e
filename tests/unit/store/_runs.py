"""Runs to put into a store; run as a script, it fills one."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

from tracer_hooks.config import ServerUrl
from tracer_hooks.schema import Attribution, Candidate, ErrorMode, RunOutcome, Step, Trajectory, Usage
from tracer_hooks.store import PromptStore, RunStore, StoredRun

NOON = datetime(2026, 3, 4, 12, 0, 0, 123457, tzinfo=UTC)


def make_run(run_id: str = "run-1", *, text: str = "six", minutes: float = 0, **fields: Any) -> StoredRun:
    step = Step(index=0, agent="solver", content=text, usage=Usage(input_tokens=7, output_tokens=3))
    defaults: dict[str, Any] = {
        "run_id": run_id,
        "team": "maths",
        "framework": "autogen",
        "task": "what is six times seven?",
        "outcome": RunOutcome.FAILED,
        "outcome_reason": "check: no 42",
        "started_at": NOON + timedelta(minutes=minutes),
        "ended_at": NOON + timedelta(minutes=minutes, seconds=2),
        "session_id": "session-1",
        "trajectory": Trajectory(run_id=run_id, team="maths", steps=(step,)),
    }
    return StoredRun(**{**defaults, **fields})


def make_attribution(run_id: str = "run-1") -> Attribution:
    return Attribution(
        run_id=run_id,
        agent="solver",
        step=0,
        error_mode=ErrorMode.FM_3_2,
        confidence=0.625,
        candidates=(Candidate(agent="solver", step=0, score=0.625),),
    )


def alter(store: RunStore | PromptStore, statement: str, *values: object) -> None:
    """Change the tables behind the store's back."""
    if isinstance(store.place, ServerUrl):
        import psycopg

        with psycopg.connect(store.place.secret, options="-csearch_path=tracer_hooks") as server:
            server.execute(statement.replace("?", "%s").encode(), values)
        return
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute(statement, values)


if __name__ == "__main__":  # one of several processes that fill the same store
    with RunStore(sys.argv[1], busy_timeout_s=60) as shared:
        for each in range(int(sys.argv[3])):
            shared.save(make_run(f"{sys.argv[2]}-{each}", text="x" * 5000))
