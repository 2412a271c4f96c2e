"""The tier that asks a language model: local, or behind an OpenAI-compatible endpoint."""

from tracer_hooks.diagnosis.judge._attributor import JudgeAttributor
from tracer_hooks.diagnosis.judge._options import JudgeBudget, JudgeOptions

__all__ = [
    "JudgeAttributor",
    "JudgeBudget",
    "JudgeOptions",
]
