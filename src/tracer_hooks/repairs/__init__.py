"""The seam of all repairs: what is known of a failed run and may be told, and what a trial to recover it changes."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.endpoint import Chat, ask
    from tracer_hooks.repairs._failure import Failure
    from tracer_hooks.repairs._guidance import written_guidance
    from tracer_hooks.repairs._leaks import leaks
    from tracer_hooks.repairs._log import RepairLog
    from tracer_hooks.repairs._masking import (
        HIDDEN,
        NOT_RIGHT,
        FeedbackMode,
        MaskedFeedback,
        feedback_of,
        masked_feedback,
        shortened,
    )
    from tracer_hooks.repairs._past_trial import PastTrial
    from tracer_hooks.repairs._prompt_text import for_prompt
    from tracer_hooks.repairs._repair import Repair, RepairScope, RepairTarget
    from tracer_hooks.repairs._run_text import cut, error_mode_at, notes_on, steps_as_text, tools_as_text
    from tracer_hooks.repairs._secrets import Secrets
    from tracer_hooks.repairs._strategy import RepairStrategy
    from tracer_hooks.repairs._telling import attempt_failed

__all__ = [
    "HIDDEN",
    "NOT_RIGHT",
    "Chat",
    "Failure",
    "FeedbackMode",
    "MaskedFeedback",
    "PastTrial",
    "Repair",
    "RepairLog",
    "RepairScope",
    "RepairStrategy",
    "RepairTarget",
    "Secrets",
    "ask",
    "attempt_failed",
    "cut",
    "error_mode_at",
    "feedback_of",
    "for_prompt",
    "leaks",
    "masked_feedback",
    "notes_on",
    "shortened",
    "steps_as_text",
    "tools_as_text",
    "written_guidance",
]

lazy_names(
    __name__,
    {
        "tracer_hooks.endpoint": (
            "Chat",
            "ask",
        ),
        "._failure": ("Failure",),
        "._guidance": ("written_guidance",),
        "._leaks": ("leaks",),
        "._log": ("RepairLog",),
        "._masking": (
            "FeedbackMode",
            "HIDDEN",
            "MaskedFeedback",
            "NOT_RIGHT",
            "feedback_of",
            "masked_feedback",
            "shortened",
        ),
        "._past_trial": ("PastTrial",),
        "._prompt_text": ("for_prompt",),
        "._repair": (
            "Repair",
            "RepairScope",
            "RepairTarget",
        ),
        "._run_text": (
            "cut",
            "error_mode_at",
            "notes_on",
            "steps_as_text",
            "tools_as_text",
        ),
        "._secrets": ("Secrets",),
        "._strategy": ("RepairStrategy",),
        "._telling": ("attempt_failed",),
    },
)
