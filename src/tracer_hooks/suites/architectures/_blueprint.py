"""A team to be built: an architecture with its model, instructions, tools and rounds."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tracer_hooks.endpoint import Endpoint
from tracer_hooks.errors import ConfigError
from tracer_hooks.suites.architectures._architecture import Architecture, Said, Tool
from tracer_hooks.suites.architectures._debate import DEBATE
from tracer_hooks.suites.architectures._planner_solver_checker import PLANNER_SOLVER_CHECKER
from tracer_hooks.suites.architectures._sop_pipeline import SOP_PIPELINE
from tracer_hooks.suites.architectures._supervisor import SUPERVISED

_BY_NAME: Final = {one.name: one for one in (PLANNER_SOLVER_CHECKER, DEBATE, SOP_PIPELINE, SUPERVISED)}

ARCHITECTURES: Final[tuple[str, ...]] = tuple(_BY_NAME)
"""Names of the architectures."""


def roles(architecture: str) -> Mapping[str, str]:
    """The agents of an architecture with their instructions, in the order in which they first act.

    Raises:
        ConfigError: There is no such architecture.
    """
    return dict(_architecture(architecture).roles)


@dataclass(frozen=True, kw_only=True)
class Blueprint:
    """Everything that a framework needs to build one team; :func:`blueprint` makes one."""

    architecture: Architecture
    """Who acts when."""
    endpoint: Endpoint
    """Where the model is."""
    instructions: Mapping[str, str]
    """What each agent is told."""
    tools: tuple[Tool, ...] = ()
    """The task's tools."""
    rounds: int = 0
    """How often the architecture's loop may go round."""

    @property
    def name(self) -> str:
        """The architecture's name, which is the team's too."""
        return self.architecture.name

    def tools_of(self, agent: str) -> tuple[Tool, ...]:
        """The tools that an agent gets."""
        return self.tools if agent in self.architecture.tool_users else ()

    def cue(self, agent: str, said: Sequence[Said]) -> str:
        """What the agent is asked for at the end of its prompt, after what was said so far."""
        goes_on = self.architecture.goes_on
        if goes_on is not None and goes_on.agent == agent and self.next_agent([*said, goes_on]) is None:
            return self.architecture.last_cue
        return self.architecture.cues[agent]

    def next_agent(self, said: Sequence[Said]) -> str | None:
        """Who acts after what was said so far; None at the end."""
        return self.architecture.next_agent(said, self.rounds)

    def seen_by(self, agent: str, said: Sequence[Said]) -> Sequence[Said]:
        """What the agent is shown of what was said so far."""
        return self.architecture.seen_by(agent, said)

    def prompt(self, agent: str, task: str, said: Sequence[Said]) -> str:
        """The task and what the agent is shown of what was said so far, as one text.

        One message of the user, since many a local model's template refuses, or takes for its own words, what other
        agents said as an assistant.
        """
        parts = [f"Task:\n{task}"]
        for one in self.seen_by(agent, said):
            parts.append(f"{'You' if one.agent == agent else f'The {one.agent}'} wrote:\n{one.text}")
        parts.append(self.cue(agent, said))
        return "\n\n".join(parts)


def blueprint(
    architecture: str,
    endpoint: Endpoint,
    *,
    tools: Sequence[Tool] = (),
    prompts: Mapping[str, str] | None = None,
    rounds: int | None = None,
) -> Blueprint:
    """Put a team together that is still to be built.

    Args:
        architecture: One of :data:`ARCHITECTURES`.
        endpoint: Where the model is.
        tools: Plain functions with a docstring, for the agents that use tools.
        prompts: Instructions in place of the architecture's own, by agent.
        rounds: How often the architecture's loop may go round: how often the checker may send the work back, the
            debaters revise, the supervisor give an order. Default 1, 1 and 3.

    Raises:
        ConfigError: There is no such architecture or agent, a tool has no docstring, two have one name, or ``rounds``
            is negative or given to an architecture without a loop.
    """
    known = _architecture(architecture)
    unknown = sorted(set(prompts or {}) - set(known.roles))
    if unknown:
        raise ConfigError(f"prompts for {unknown!r}: the agents of {architecture!r} are {', '.join(known.roles)}")
    _check_tools(tools)
    return Blueprint(
        architecture=known,
        endpoint=endpoint,
        instructions={**known.roles, **(prompts or {})},
        tools=tuple(tools),
        rounds=_rounds(known, rounds),
    )


def _architecture(name: str) -> Architecture:
    if name not in _BY_NAME:
        raise ConfigError(f"architecture {name!r}: expected one of {', '.join(ARCHITECTURES)}")
    return _BY_NAME[name]


def _check_tools(tools: Sequence[Tool]) -> None:
    names = [tool.__name__ for tool in tools]
    for tool, name in zip(tools, names, strict=True):
        if names.count(name) > 1:
            raise ConfigError(f"tools: two are named {name!r}; a model tells tools by their names, rename one")
        if not inspect.getdoc(tool):
            raise ConfigError(f"tool {name!r} has no docstring; write one, it tells the model what the tool does")


def _rounds(architecture: Architecture, rounds: int | None) -> int:
    least = 1 if architecture.chooser else 0  # a supervisor that gives no order is no team
    if rounds is None:
        return architecture.rounds or 0
    if architecture.rounds is None:
        raise ConfigError(f"rounds={rounds!r}: {architecture.name!r} has no loop; leave rounds out")
    if rounds < least:
        raise ConfigError(f"rounds={rounds!r}: {architecture.name!r} needs a whole number of at least {least}")
    return rounds
