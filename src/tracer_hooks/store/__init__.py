"""The local store: runs with diagnoses and repairs, versions of prompts, and lessons, in one SQLite file."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy_names import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.store._fingerprint import fingerprint
    from tracer_hooks.store._lesson_records import Lesson, LessonDraft, LessonOutcome, LessonState
    from tracer_hooks.store._lesson_store import LessonStore
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
    from tracer_hooks.store._records import Learnt, RunLesson, RunPrompts, RunSummary, StoredRun, lessons_in_words
    from tracer_hooks.store._run_store import RunStore
    from tracer_hooks.store._writing import PackedRun, Writing

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
        "._fingerprint": ("fingerprint",),
        "._lesson_records": ("Lesson", "LessonDraft", "LessonOutcome", "LessonState"),
        "._lesson_store": ("LessonStore",),
        "._location": ("default_path",),
        "._prompt_diff": ("prompt_diff",),
        "._prompt_records": (
            "PromptArm",
            "PromptEvent",
            "PromptOutcome",
            "PromptPhase",
            "PromptState",
            "PromptTally",
            "PromptVersion",
        ),
        "._prompt_store": ("PromptStore",),
        "._records": ("Learnt", "RunLesson", "RunPrompts", "RunSummary", "StoredRun", "lessons_in_words"),
        "._run_store": ("RunStore",),
        "._writing": ("PackedRun", "Writing"),
    },
)
