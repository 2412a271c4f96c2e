"""The architectures as teams in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tracer_hooks.endpoint import Endpoint
from tracer_hooks.frameworks.plain import agent, hand_off
from tracer_hooks.suites.architectures._architecture import Said, Tool
from tracer_hooks.suites.architectures._blueprint import Blueprint, blueprint
from tracer_hooks.suites.architectures._member import Member


def build_team(
    architecture: str,
    endpoint: Endpoint,
    *,
    tools: Sequence[Tool] = (),
    prompts: Mapping[str, str] | None = None,
    rounds: int | None = None,
) -> Callable[[str], str]:
    """A team in plain Python: a function from the task to the last agent's words.

    It is marked with the decorators of :mod:`tracer_hooks.frameworks.plain`, so that :func:`tracer_hooks.run` sees its
    agents, models and tools. It keeps nothing between runs and may run in several threads at once.

    Args:
        architecture: One of :data:`ARCHITECTURES`.
        endpoint: Where the model is.
        tools: Plain functions with a docstring, for the agents that use tools.
        prompts: Instructions in place of the architecture's own, by agent.
        rounds: How often the loop may go round; see :func:`blueprint`.

    Raises:
        ConfigError: An argument cannot be used; see :func:`blueprint`.
    """
    plan = blueprint(architecture, endpoint, tools=tools, prompts=prompts, rounds=rounds)
    members = {name: Member(plan, name) for name in plan.instructions}

    def team(task: str) -> str:
        said: list[Said] = []
        while (name := plan.next_agent(said)) is not None:
            said.append(Said(name, _turn(plan, members[name], task, said)))
        return said[-1].text

    team.__name__ = team.__qualname__ = architecture
    return team


def _turn(plan: Blueprint, member: Member, task: str, said: Sequence[Said]) -> str:
    @agent(name=member.name, instructions=member.told, tools=member.tools)
    def turn(prompt: str) -> str:
        text = member.answer(prompt)
        recipient = plan.next_agent([*said, Said(member.name, text)])
        if member.name == plan.architecture.chooser and recipient is not None:
            hand_off(recipient)
        return text

    return turn(plan.prompt(member.name, task, said))
