"""Teams in plain Python: decorators for agents, models and tools, and the adapter that runs a function as a team."""

from tracer_hooks.frameworks.plain._adapter import PlainAdapter, PlainTeam
from tracer_hooks.frameworks.plain._answer import answer_text
from tracer_hooks.frameworks.plain._declared import declared_agents
from tracer_hooks.frameworks.plain._decorators import agent, hand_off, instructions, model, tool

__all__ = [
    "PlainAdapter",
    "PlainTeam",
    "agent",
    "answer_text",
    "declared_agents",
    "hand_off",
    "instructions",
    "model",
    "tool",
]
