"""The tier that asks a language model: local, or behind an OpenAI-compatible endpoint."""

from tracer_hooks.attribution._judge._attributor import JudgeAttributor
from tracer_hooks.attribution._judge._budget import JudgeBudget
from tracer_hooks.attribution._judge._chat import ChatMessage, ChatModel, ChatReply, ChatRequest
from tracer_hooks.attribution._judge._options import JudgeOptions

__all__ = [
    "ChatMessage",
    "ChatModel",
    "ChatReply",
    "ChatRequest",
    "JudgeAttributor",
    "JudgeBudget",
    "JudgeOptions",
]
