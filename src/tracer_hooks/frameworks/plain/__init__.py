"""Teams in plain Python: decorators for agents, models and tools, and the adapter that runs a function as a team."""

from tracer_hooks.frameworks.plain._adapter import PlainAdapter, PlainTeam
from tracer_hooks.frameworks.plain._calls import answer_text
from tracer_hooks.frameworks.plain._decorators import (
    PLACES,
    TOOL_NAMES,
    agent,
    declared_agents,
    hand_off,
    instructions,
    model,
    tool,
)

__all__ = [
    "PLACES",
    "TOOL_NAMES",
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
