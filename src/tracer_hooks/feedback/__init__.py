"""Recovering a failed run within bounds, by what helped before."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.feedback._choosing import RepairChoice as RepairChoice
    from tracer_hooks.feedback._choosing import Strategies as Strategies
    from tracer_hooks.feedback._choosing import strategies_of as strategies_of
    from tracer_hooks.feedback._fixed import FixedRepair as FixedRepair
    from tracer_hooks.feedback._retry import RetryBudget as RetryBudget
    from tracer_hooks.feedback._retry import RetryPolicy as RetryPolicy
    from tracer_hooks.feedback._search import CountRow as CountRow
    from tracer_hooks.feedback._search import EffectCounts as EffectCounts
    from tracer_hooks.feedback._search import RepairSearch as RepairSearch
    from tracer_hooks.feedback._strategies import FeedbackInMessage as FeedbackInMessage
    from tracer_hooks.feedback._strategies import FeedbackInTask as FeedbackInTask
    from tracer_hooks.feedback._strategies import FromScratch as FromScratch
    from tracer_hooks.feedback._strategies import Resample as Resample
    from tracer_hooks.feedback._strategies import RewrittenInstructions as RewrittenInstructions
    from tracer_hooks.feedback._strategies import WrittenGuidance as WrittenGuidance
    from tracer_hooks.feedback._strategies import without_lesson as without_lesson

__all__ = lazy_names(__name__)
