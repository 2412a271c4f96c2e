"""The local store: runs with their trajectories, diagnoses and repairs, and versions of prompts, in one SQLite file."""

from tracer_hooks.store._fingerprint import fingerprint
from tracer_hooks.store._location import default_path
from tracer_hooks.store._prompt_diff import prompt_diff
from tracer_hooks.store._prompt_records import (
    PromptArm,
    PromptEvent,
    PromptOutcome,
    PromptPhase,
    PromptState,
    PromptTally,
    PromptVersion,
)
from tracer_hooks.store._prompt_store import PromptStore
from tracer_hooks.store._records import RunPrompts, RunSummary, StoredRun
from tracer_hooks.store._run_store import RunStore

__all__ = [
    "PromptArm",
    "PromptEvent",
    "PromptOutcome",
    "PromptPhase",
    "PromptState",
    "PromptStore",
    "PromptTally",
    "PromptVersion",
    "RunPrompts",
    "RunStore",
    "RunSummary",
    "StoredRun",
    "default_path",
    "fingerprint",
    "prompt_diff",
]
