"""The tier that asks a language model: local, or behind an OpenAI-compatible endpoint."""

from tracer_hooks.diagnosis.judge._attributor import JudgeAttributor, JudgeBudget, JudgeOptions

__all__ = [
    "JudgeAttributor",
    "JudgeBudget",
    "JudgeOptions",
]
