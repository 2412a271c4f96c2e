"""Team architectures that work on the suites' tasks, in plain Python and in three frameworks."""

from tracer_hooks_lab.teams._architectures import ARCHITECTURES, Blueprint, TeamUtterance, Tool, blueprint, roles
from tracer_hooks_lab.teams.plain import ChatClient, build_team

__all__ = ["ARCHITECTURES", "Blueprint", "ChatClient", "TeamUtterance", "Tool", "blueprint", "build_team", "roles"]
