"""The local store: runs with diagnoses and repairs, versions of prompts, and lessons, in one SQLite file."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy_names import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.store._database import default_path
    from tracer_hooks.store._lesson_records import Lesson, LessonDraft, LessonOutcome, LessonState
    from tracer_hooks.store._lesson_store import LessonStore
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
    from tracer_hooks.store._records import (
        Learnt,
        PackedRun,
        RunLesson,
        RunPrompts,
        RunSummary,
        StoredRun,
        fingerprint,
        lessons_in_words,
    )
    from tracer_hooks.store._run_store import RunStore, Writing

__all__ = [
    "Learnt",
    "Lesson",
    "LessonDraft",
    "LessonOutcome",
    "LessonState",
    "LessonStore",
    "PackedRun",
    "PromptArm",
    "PromptEvent",
    "PromptOutcome",
    "PromptPhase",
    "PromptState",
    "PromptStore",
    "PromptTally",
    "PromptVersion",
    "RunLesson",
    "RunPrompts",
    "RunStore",
    "RunSummary",
    "StoredRun",
    "Writing",
    "default_path",
    "fingerprint",
    "lessons_in_words",
    "prompt_diff",
]

lazy_names(
    __name__,
    {
        "._database": ("default_path",),
        "._lesson_records": ("Lesson", "LessonDraft", "LessonOutcome", "LessonState"),
        "._lesson_store": ("LessonStore",),
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
        "._records": (
            "Learnt",
            "PackedRun",
            "RunLesson",
            "RunPrompts",
            "RunSummary",
            "StoredRun",
            "fingerprint",
            "lessons_in_words",
        ),
        "._run_store": ("RunStore", "Writing"),
    },
)
