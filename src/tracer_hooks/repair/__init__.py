"""Repair of failed runs: what a retry is told and changes, how often there may be one, and which one comes next."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.repair._failure import HIDDEN as HIDDEN
    from tracer_hooks.repair._failure import NOT_RIGHT as NOT_RIGHT
    from tracer_hooks.repair._failure import Failure as Failure
    from tracer_hooks.repair._failure import FeedbackMode as FeedbackMode
    from tracer_hooks.repair._failure import MaskedFeedback as MaskedFeedback
    from tracer_hooks.repair._failure import RepairStrategy as RepairStrategy
    from tracer_hooks.repair._failure import Secrets as Secrets
    from tracer_hooks.repair._failure import attempt_failed as attempt_failed
    from tracer_hooks.repair._failure import error_mode_at as error_mode_at
    from tracer_hooks.repair._failure import feedback_of as feedback_of
    from tracer_hooks.repair._failure import leaks as leaks
    from tracer_hooks.repair._failure import masked_feedback as masked_feedback
    from tracer_hooks.repair._failure import notes_on as notes_on
    from tracer_hooks.repair._failure import shortened as shortened
    from tracer_hooks.repair._ladder import Ladder as Ladder
    from tracer_hooks.repair._ladder import ReasonToAgent as ReasonToAgent
    from tracer_hooks.repair._ladder import RepairChoice as RepairChoice
    from tracer_hooks.repair._ladder import ResumeAtFinding as ResumeAtFinding
    from tracer_hooks.repair._ladder import Strategies as Strategies
    from tracer_hooks.repair._ladder import strategies_of as strategies_of
    from tracer_hooks.repair._repair import PastTrial as PastTrial
    from tracer_hooks.repair._repair import Repair as Repair
    from tracer_hooks.repair._repair import RepairLog as RepairLog
    from tracer_hooks.repair._repair import RepairScope as RepairScope
    from tracer_hooks.repair._repair import RepairTarget as RepairTarget
    from tracer_hooks.repair._repair import RetryBudget as RetryBudget
    from tracer_hooks.repair._repair import RetryPolicy as RetryPolicy
    from tracer_hooks.repair._repair import estimated_usage as estimated_usage
    from tracer_hooks.repair._strategies import FeedbackInMessage as FeedbackInMessage
    from tracer_hooks.repair._strategies import FeedbackInTask as FeedbackInTask
    from tracer_hooks.repair._strategies import FromScratch as FromScratch
    from tracer_hooks.repair._strategies import Resample as Resample
    from tracer_hooks.repair._strategies import WrittenGuidance as WrittenGuidance
    from tracer_hooks.repair._strategies import cut as cut
    from tracer_hooks.repair._strategies import steps_as_text as steps_as_text
    from tracer_hooks.repair._strategies import tools_as_text as tools_as_text

__all__ = lazy_names(__name__)
