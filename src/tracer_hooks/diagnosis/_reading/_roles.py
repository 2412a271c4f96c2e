"""Roles in a trajectory: members of the team, persons, and those who only report what a machine printed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum, auto
from functools import lru_cache

from tracer_hooks.schema import AgentSpec, Step, StepKind, Trajectory


class Role(Enum):
    """The part that a step's speaker plays in that step."""

    AGENT = auto()
    PERSON = auto()
    """A user, or the system prompt kept as a step: its words are given, not an error of the team."""
    REPORTER = auto()
    """A terminal, an executor, an environment: it says what happened to another agent's code or call."""


_PERSON_NAMES = (
    "user human userproxy userproxyagent customer humaninput client task start usersimulator system systemprompt "
    "systemmessage"
)
_PERSON = frozenset(_PERSON_NAMES.split())
_REPORTER = re.compile(
    r"(?:computer|code|shell|bash|python)?_?(?:terminal|interpreter|sandbox|executor)(?:_?agent)?"
    r"|environment|env|tools?"
    r"|tool_?(?:node|output|executor|results?)|function|runtime|observation",
    re.IGNORECASE,
)
# "executor" is also a common name for a model agent beside a planner: believed only of a speaker that shows no model.
_AMBIGUOUS = re.compile(r"executor(?:_?agent)?|runtime|function|tools?", re.IGNORECASE)
_OUTPUT = re.compile(
    r"\s*(?:exitcode:|exit code:|Traceback \(most recent|Code output|STDOUT|STDERR|Execution (?:result"
    r"|output|failed)|\$ )",
    re.IGNORECASE,
)
_PLANNER = re.compile(
    r"orchestrat|manager|supervis|coordinat|router|selector|planner|triage|dispatch|moderator|lead\b", re.I
)
_CHECKER = re.compile(
    r"verif|review|valid|critic|check|tester|\bqa\b|judge|audit|evaluat|proofread|inspect", re.IGNORECASE
)


@lru_cache(maxsize=1024)  # the names of a team come again and again
def fold(name: str) -> str:
    """A name without case, spaces and punctuation, for comparison."""
    return "".join(char for char in name.casefold() if char.isalnum())


@lru_cache(maxsize=1024)
def is_planner(name: str) -> bool:
    """Tell whether an agent of that name leads others rather than doing the work."""
    return _PLANNER.search(name) is not None


@lru_cache(maxsize=1024)
def is_checker(name: str) -> bool:
    """Tell whether an agent of that name is there to check the work of others."""
    return _CHECKER.search(name.replace("_", " ")) is not None


def is_person(name: str) -> bool:
    """Tell whether ``name`` stands for a person, or for what the team was given, such as its system prompt."""
    return fold(name) in _PERSON


def roles_of(trajectory: Trajectory) -> list[Role]:
    """The role of each step's speaker, in order."""
    specs = {spec.name: spec for spec in trajectory.agents}
    reporters = {name for name in trajectory.agent_names if _is_reporter(name, specs.get(name), trajectory.steps)}
    return [_role_of(step, reporters, trajectory.steps) for step in trajectory.steps]


def _role_of(step: Step, reporters: set[str], steps: Sequence[Step]) -> Role:
    if is_person(step.agent):
        return Role.PERSON
    if step.agent in reporters:
        return Role.REPORTER
    # An agent of any name that passes on a terminal's words, while the code is another's.
    relays = (
        step.kind is StepKind.MESSAGE
        and not step.tool_calls
        and _OUTPUT.match(step.content)
        and "```" not in step.content
    )
    if relays and any(
        "```" in other.content and other.agent != step.agent for other in steps[max(0, step.index - 3) : step.index]
    ):
        return Role.REPORTER
    return Role.AGENT


def _is_reporter(name: str, spec: AgentSpec | None, steps: Sequence[Step]) -> bool:
    if _REPORTER.fullmatch(name.strip().replace(" ", "_").replace("-", "_")) is None:
        return False
    if spec is not None and spec.instructions:
        return False
    own = [step for step in steps if step.agent == name]
    if any(step.model or step.usage or step.tool_calls or step.kind is not StepKind.MESSAGE for step in own):
        return False
    if _AMBIGUOUS.fullmatch(name.strip()) is None:
        return True
    return any(_OUTPUT.match(step.content) for step in own) or any(step.model for step in steps if step.agent != name)
