"""The local store: runs with diagnoses and repairs, and versions of prompts, in one SQLite file."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.store._database import default_path
    from tracer_hooks.store._prompt_records import (
        PromptArm,
        PromptEvent,
        PromptOutcome,
        PromptPhase,
        PromptState,
        PromptTally,
        PromptVersion,
        prompt_diff,
    )
    from tracer_hooks.store._prompt_store import PromptStore
    from tracer_hooks.store._records import Learnt, PackedRun, RunPrompts, RunSummary, StoredRun, fingerprint
    from tracer_hooks.store._run_store import RunStore, Writing

__all__ = [
    "Learnt",
    "PackedRun",
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
    "Writing",
    "default_path",
    "fingerprint",
    "prompt_diff",
]

lazy_names(
    __name__,
    {
        "._database": ("default_path",),
        "._prompt_records": (
            "PromptArm",
            "PromptEvent",
            "PromptOutcome",
            "PromptPhase",
            "PromptState",
            "PromptTally",
            "PromptVersion",
            "prompt_diff",
        ),
        "._prompt_store": ("PromptStore",),
        "._records": ("Learnt", "PackedRun", "RunPrompts", "RunSummary", "StoredRun", "fingerprint"),
        "._run_store": ("RunStore", "Writing"),
    },
)
