"""Teams in plain Python: decorators for agents, models and tools, and the adapter that runs a function as a team."""

from tracer_hooks.adapters.plain._adapter import PlainAdapter, PlainTeam
from tracer_hooks.adapters.plain._answer import answer_text
from tracer_hooks.adapters.plain._decorators import agent, hand_off, instructions, model, tool

__all__ = ["PlainAdapter", "PlainTeam", "agent", "answer_text", "hand_off", "instructions", "model", "tool"]
