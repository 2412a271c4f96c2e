"""A team's prompts to put into a store."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tracer_hooks.store import PromptArm, PromptOutcome, PromptPhase, PromptStore, PromptVersion

TEAM = "autogen-maths-1234abcd"
OWN = {"solver": "Be right."}


def prompt_store(folder: Path) -> PromptStore:
    return PromptStore(folder / "runs.sqlite", busy_timeout_s=60)


def proposed(store: PromptStore, text: str = "Be right, and say EUR.", team: str = TEAM) -> PromptVersion:
    return store.propose(team, {"solver": text}, OWN, team_name="maths", framework="autogen")


def accepted(store: PromptStore, text: str = "Be right, and say EUR.", team: str = TEAM) -> PromptVersion:
    version = proposed(store, text, team)
    store.start_trial(team, version.number)
    return store.accept(team, version.number, reason="it passed more often")


def outcome(run_id: str = "run-1", **fields: Any) -> PromptOutcome:
    defaults: dict[str, Any] = {
        "run_id": run_id,
        "arm": PromptArm.NEW,
        "phase": PromptPhase.TRIAL,
        "passed": True,
        "score": 0.75,
        "counted_at": datetime(2026, 3, 4, 12, 0, 0, 123457, tzinfo=UTC),
    }
    return PromptOutcome(**{**defaults, **fields})
