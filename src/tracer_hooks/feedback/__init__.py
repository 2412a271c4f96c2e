"""Recovering a failed run within bounds, by what helped before."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.feedback._choosing import RepairChoice, Strategies, strategies_of
    from tracer_hooks.feedback._fixed import FixedRepair
    from tracer_hooks.feedback._retry import RetryBudget, RetryPolicy
    from tracer_hooks.feedback._search import CountRow, EffectCounts, RepairSearch
    from tracer_hooks.feedback._strategies import (
        FeedbackInMessage,
        FeedbackInTask,
        FromScratch,
        Resample,
        RewrittenInstructions,
        WrittenGuidance,
        without_lesson,
    )

__all__ = [
    "CountRow",
    "EffectCounts",
    "FeedbackInMessage",
    "FeedbackInTask",
    "FixedRepair",
    "FromScratch",
    "RepairChoice",
    "RepairSearch",
    "Resample",
    "RetryBudget",
    "RetryPolicy",
    "RewrittenInstructions",
    "Strategies",
    "WrittenGuidance",
    "strategies_of",
    "without_lesson",
]

lazy_names(
    __name__,
    {
        "._choosing": (
            "RepairChoice",
            "Strategies",
            "strategies_of",
        ),
        "._fixed": ("FixedRepair",),
        "._retry": (
            "RetryBudget",
            "RetryPolicy",
        ),
        "._search": (
            "CountRow",
            "EffectCounts",
            "RepairSearch",
        ),
        "._strategies": (
            "FeedbackInMessage",
            "FeedbackInTask",
            "FromScratch",
            "Resample",
            "RewrittenInstructions",
            "WrittenGuidance",
            "without_lesson",
        ),
    },
)
