"""Ways to repair a failed run, one file each."""

from tracer_hooks.feedback._strategies._feedback_in_message import FeedbackInMessage
from tracer_hooks.feedback._strategies._feedback_in_task import FeedbackInTask
from tracer_hooks.feedback._strategies._from_scratch import FromScratch
from tracer_hooks.feedback._strategies._guidance import WrittenGuidance
from tracer_hooks.feedback._strategies._instructions import RewrittenInstructions
from tracer_hooks.feedback._strategies._lesson_block import without_lesson
from tracer_hooks.feedback._strategies._resample import Resample

__all__ = [
    "FeedbackInMessage",
    "FeedbackInTask",
    "FromScratch",
    "Resample",
    "RewrittenInstructions",
    "WrittenGuidance",
    "without_lesson",
]
