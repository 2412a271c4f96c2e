"""The two teams whose failures are repaired, in plain Python: as recorded runs, and as cheap retries of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from _real_teams import INSTRUCTIONS

from tracer_hooks.frameworks.plain import agent
from tracer_hooks.suites import Endpoint
from tracer_hooks.suites.architectures import _chat
from tracer_hooks.suites.architectures._architecture import Architecture, Said
from tracer_hooks.suites.architectures._blueprint import Blueprint, blueprint
from tracer_hooks.suites.architectures._chat import ChatClient
from tracer_hooks.suites.architectures._member import Member

Ask = Callable[[list[dict[str, Any]]], Mapping[str, Any]]
"""Gives the assistant's message for a conversation, with ``usage``."""

_TIMEOUT_S: Final = 7_200.0
WORD_SUMS: Final = "word_sums"
CODE: Final = "code"

_CODE_ROLES: Final = {
    "solver": (
        "You are the solver. Write the Python function that the task asks for, in one block that begins with ```python "
        "and ends with ```. Write nothing else."
    ),
    "checker": (
        "You are the checker. Check the solver's function against the task, correct it where it is wrong, and give the "
        "whole function in one block that begins with ```python and ends with ```. Write nothing else."
    ),
}
_CODE_CUES: Final = {
    "solver": "Write the function.",
    "checker": "Give the whole function, corrected where it is wrong.",
}


def _after_solver(said: Sequence[Said], rounds: int) -> str | None:
    return ("solver", "checker", None)[len(said)]


SOLVER_CHECKER: Final = Architecture(
    name="solver_checker", roles=_CODE_ROLES, cues=_CODE_CUES, tool_users=frozenset(), next_agent=_after_solver
)


@dataclass(frozen=True)
class Turn:
    """One agent's turn in a retry.

    Attributes:
        prompt: The user message that it was shown.
        tokens_in: Of the prompt; zero for a turn that was taken from the record, and ``tokens_out`` likewise.
    """

    agent: str
    text: str
    prompt: str = ""
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True)
class Changes:
    """What a retry does otherwise than the failed run.

    Attributes:
        kept: Turns of the failed run that are not asked for again, from the first on.
        task_note: Added to the task.
        notes: Added to the user message, by agent.
        prompts: Instructions in place of the agents' own.
    """

    kept: Sequence[Said] = ()
    task_note: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)


def plan_for(suite: str, endpoint: Endpoint) -> Blueprint:
    """The team that works on a suite."""
    if suite == WORD_SUMS:
        name = "planner_solver_checker"
        return blueprint(name, endpoint, prompts=INSTRUCTIONS[name], rounds=0)
    return Blueprint(architecture=SOLVER_CHECKER, endpoint=endpoint, instructions=_CODE_ROLES)


def recorded_team(plan: Blueprint) -> Callable[[str], str]:
    """The team as a function whose agents and models tracer_hooks sees."""
    members = {name: Member(plan, name) for name in plan.instructions}

    def team(task: str) -> str:
        said: list[Said] = []
        while (name := plan.next_agent(said)) is not None:
            turn = agent(name=name, instructions=members[name].told)(members[name].answer)
            said.append(Said(name, turn(plan.prompt(name, task, said))))
        return said[-1].text

    return team


def asker(endpoint: Endpoint) -> Ask:
    """Asks the endpoint, which may serve so many runs at once that one reply takes long."""
    _chat._TIMEOUT_S = _TIMEOUT_S
    return ChatClient(endpoint).complete


def play(plan: Blueprint, ask: Ask, task: str, changes: Changes) -> list[Turn]:
    """Run the team once; only the turns after ``changes.kept`` ask the model.

    The requests are word for word those of :func:`recorded_team`, but for the changes.
    """
    shown = f"{task}\n\n{changes.task_note}" if changes.task_note else task
    said = list(changes.kept)
    turns = [Turn(one.agent, one.text) for one in said]
    while (name := plan.next_agent(said)) is not None:
        prompt = plan.prompt(name, shown, said)
        if changes.notes.get(name):
            prompt = f"{prompt}\n\n{changes.notes[name]}"
        system = changes.prompts.get(name, plan.instructions[name])
        reply = ask([{"role": "system", "content": system}, {"role": "user", "content": prompt}])
        usage = reply.get("usage") or {}
        turn = Turn(
            name, str(reply["content"]), prompt, usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
        )
        turns.append(turn)
        said.append(Said(name, turn.text))
    return turns
