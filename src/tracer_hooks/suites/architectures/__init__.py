"""Four team architectures: who is in them, what each agent is told, who acts when, and the teams in plain Python.

The same teams in a framework's own classes are in ``tracer_hooks_autogen.teams``, ``tracer_hooks_crewai.teams`` and
``tracer_hooks_langgraph.teams``.
"""

from tracer_hooks.suites.architectures._architecture import Said, Tool
from tracer_hooks.suites.architectures._blueprint import ARCHITECTURES, Blueprint, blueprint, roles
from tracer_hooks.suites.architectures._chat import ChatClient
from tracer_hooks.suites.architectures._plain import build_team

__all__ = ["ARCHITECTURES", "Blueprint", "ChatClient", "Said", "Tool", "blueprint", "build_team", "roles"]
