"""Architectures: who is in a team, what each agent is told, who acts when."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tracer_hooks.endpoint import Endpoint
from tracer_hooks.errors import ConfigError

Tool = Callable[..., Any]
"""A plain function with a docstring, which says what it does, and annotated parameters."""


class TeamUtterance(NamedTuple):
    """Words of one agent in one turn."""

    agent: str
    """The agent's name."""
    text: str
    """Its words."""


def everything(agent: str, said: Sequence[TeamUtterance]) -> Sequence[TeamUtterance]:
    """An agent sees all that was said before it."""
    return said


@dataclass(frozen=True, kw_only=True)
class TeamArchitecture:
    """One way in which agents work together, without any framework."""

    name: str
    """Its public name."""
    roles: Mapping[str, str]
    """Agents and their instructions, in the order in which they first act."""
    cues: Mapping[str, str]
    """What each agent is asked for at the end of its prompt: small models follow the last words that they read."""
    tool_users: frozenset[str]
    """The agents that get the tools."""
    next_agent: Callable[[Sequence[TeamUtterance], int], str | None]
    """Who acts after what was said, given how often the loop may go round; None at the end."""
    rounds: int | None = None
    """How often its loop goes round unless told otherwise; None where there is no loop."""
    seen_by: Callable[[str, Sequence[TeamUtterance]], Sequence[TeamUtterance]] = everything
    """What an agent is shown of what was said."""
    goes_on: TeamUtterance | None = None
    """Whose words, and such as which, send the loop round once more."""
    last_cue: str = ""
    """What that agent is asked for once the loop may not go round any more."""
    chooser: str | None = None
    """The agent whose words decide who acts next."""


BRIEFLY: Final = "Use at most 4 short sentences, or only the code if the task asks for code."
FINAL: Final = (
    "end with a last line ANSWER: and the final answer, "
    "or, if the task asks for code, with the whole code in one ```python block."
)
_ANSWER = re.compile(r"^\W*ANSWER\W*:|^\s*```", re.MULTILINE)


def gives_answer(text: str) -> bool:
    """Tell whether a text holds an answer: a line that begins with ``ANSWER:``, or a block of code."""
    return _ANSWER.search(text) is not None


DEBATERS: Final = ("debater_1", "debater_2", "debater_3")
AGGREGATOR: Final = "aggregator"

# Without temperature three agents with equal instructions would say the same.
_WAYS: Final = (
    "Solve the task step by step.",
    "Solve the task your own way and check each number and condition in it.",
    "Solve the task starting from what is asked for.",
)
_COMPARE: Final = "If other answers are shown, look for the mistakes in them and in yours, and correct yours."
_DEBATE_ROLES: Final = {
    **{name: f"You are the {name}. {way} {_COMPARE} {BRIEFLY}" for name, way in zip(DEBATERS, _WAYS, strict=True)},
    AGGREGATOR: (
        "You are the aggregator. Read the debaters' answers and say in at most 2 short sentences which is right. "
        f"Then {FINAL}"
    ),
}
_DEBATE_CUES: Final = {
    **dict.fromkeys(DEBATERS, "Give your own answer, with the reason."),
    AGGREGATOR: "Decide.",
}


def _next_debater(said: Sequence[TeamUtterance], rounds: int) -> str | None:
    """One after the other, never at once: the steps of equal runs then have equal numbers."""
    spoken, openings_and_revisions = len(said), len(DEBATERS) * (rounds + 1)
    if spoken < openings_and_revisions:
        return DEBATERS[spoken % len(DEBATERS)]
    return AGGREGATOR if spoken == openings_and_revisions else None


def _seen_by(agent: str, said: Sequence[TeamUtterance]) -> Sequence[TeamUtterance]:
    """A debater sees the rounds that it has been through; the aggregator sees the last one."""
    if agent == AGGREGATOR:
        return said[-len(DEBATERS) :]
    rounds = sum(one.agent == agent for one in said)
    return said[: len(DEBATERS) * rounds][-len(DEBATERS) :]


DEBATE: Final = TeamArchitecture(
    name="debate",
    roles=_DEBATE_ROLES,
    cues=_DEBATE_CUES,
    tool_users=frozenset(DEBATERS),
    next_agent=_next_debater,
    rounds=1,
    seen_by=_seen_by,
)
"""The loop is the revision of the answers."""
_REVISE = re.compile(r"^\W*REVISE\b", re.MULTILINE)
_ROLES: Final = {
    "planner": (
        "You are the planner. Write at most 3 short steps that tell the solver what to calculate or to write. "
        "Do not calculate anything yourself, and leave the final answer to the checker."
    ),
    "solver": f"You are the solver. Carry out the planner's steps one by one and say what comes out. {BRIEFLY}",
    "checker": (
        "You are the checker. Work the result out once more, in at most 3 short sentences, and compare it with the "
        "solver's. If the solver's is wrong, end with a line REVISE: and the mistake. "
        f"If it is right, {FINAL}"
    ),
}
_CUES: Final = {
    "planner": "Write the plan, without any result.",
    "solver": "Carry out the plan.",
    "checker": "Check the solver's result: end with REVISE: and the mistake, or with the final answer.",
}


def asks_for_revision(text: str) -> bool:
    """Tell whether a checker sends the work back: a line that begins with REVISE, and no answer."""
    return _REVISE.search(text) is not None and not gives_answer(text)


def _next_of_three(said: Sequence[TeamUtterance], rounds: int) -> str | None:
    if not said:
        return "planner"
    last = said[-1]
    if last.agent != "checker":
        return "solver" if last.agent == "planner" else "checker"
    checks = sum(one.agent == "checker" for one in said)
    return "solver" if checks <= rounds and asks_for_revision(last.text) else None


PLANNER_SOLVER_CHECKER: Final = TeamArchitecture(
    name="planner_solver_checker",
    roles=_ROLES,
    cues=_CUES,
    tool_users=frozenset({"solver"}),
    next_agent=_next_of_three,
    rounds=1,
    goes_on=TeamUtterance("checker", "REVISE: it"),
    last_cue="Check the solver's result, correct it where it is wrong, and end with the final answer.",
)
"""The loop is from the checker back to the solver."""
_SOP_PIPELINE_ROLES: Final = {
    "analyst": (
        "You are the analyst. Write the document REQUIREMENTS with two short lists: GIVEN, the facts of the task, and "
        "ASKED, what is to be found or written. Do not solve the task, and leave the final answer to the reviewer."
    ),
    "designer": (
        "You are the designer. Write the document DESIGN: at most 3 short steps that lead from what is given to what "
        "is asked. Do not calculate anything, and leave the final answer to the reviewer."
    ),
    "engineer": (
        f"You are the engineer. Carry out the design and write the document WORK: each step with its result. {BRIEFLY}"
    ),
    "reviewer": (
        "You are the reviewer. Compare the work with the requirements in at most 3 short sentences, and correct it "
        f"where it is wrong. Then {FINAL}"
    ),
}
_SOP_PIPELINE_CUES: Final = {
    "analyst": "Write the document REQUIREMENTS, without any result.",
    "designer": "Write the document DESIGN, without any result.",
    "engineer": "Write the document WORK.",
    "reviewer": "Review the work and give the final answer.",
}


def _next_in_pipeline(said: Sequence[TeamUtterance], rounds: int) -> str | None:
    order = list(_SOP_PIPELINE_ROLES)
    return order[len(said)] if len(said) < len(order) else None


SOP_PIPELINE: Final = TeamArchitecture(
    name="sop_pipeline",
    roles=_SOP_PIPELINE_ROLES,
    cues=_SOP_PIPELINE_CUES,
    tool_users=frozenset({"engineer"}),
    next_agent=_next_in_pipeline,
)
"""There is no loop."""
SUPERVISOR: Final = "supervisor"
WORKERS: Final = ("researcher", "specialist")
_SUPERVISOR_ROLES: Final = {
    SUPERVISOR: (
        "You are the supervisor. Two workers do the task for you: the researcher collects facts, and the "
        "specialist calculates and writes code. Give one order at a time, as a line such as "
        "NEXT: researcher, collect the facts. Or NEXT: specialist, work out the result. "
        f"When the workers have found the result, {FINAL}"
    ),
    "researcher": (
        "You are the researcher. Carry out the supervisor's last order: use your tools if you have any, and report "
        "the facts, in at most 4 short sentences. Leave the final answer to the supervisor."
    ),
    "specialist": (
        "You are the specialist. Carry out the supervisor's last order: do the calculation or write the code. "
        f"{BRIEFLY}"
    ),
}
_SUPERVISOR_CUES: Final = {
    SUPERVISOR: "Give the next order with NEXT:, or end with the final answer if the workers have found it.",
    "researcher": "Report the facts.",
    "specialist": "Carry out the order.",
}
_ORDER = re.compile(r"^\W*NEXT\W+(\w+)", re.MULTILINE | re.IGNORECASE)


def chosen_worker(text: str) -> str | None:
    """The worker to whom a supervisor's words give an order.

    A line ``NEXT: name`` decides, the first if there are several; without one, a worker that alone is named in a text
    that is no answer.
    """
    for name in _ORDER.findall(text):
        if name.lower() in WORKERS:
            return str(name.lower())
    named = [worker for worker in WORKERS if re.search(rf"\b{worker}\b", text, re.IGNORECASE)]
    return named[0] if len(named) == 1 and not gives_answer(text) else None


def _next_worker(said: Sequence[TeamUtterance], rounds: int) -> str | None:
    if not said or said[-1].agent != SUPERVISOR:
        return SUPERVISOR
    worked = sum(one.agent != SUPERVISOR for one in said)
    if worked >= rounds:
        return None
    # Small models like to answer at once; a run in which nobody else has acted is no teamwork.
    return chosen_worker(said[-1].text) or (WORKERS[0] if not worked else None)


SUPERVISED: Final = TeamArchitecture(
    name="supervisor",
    roles=_SUPERVISOR_ROLES,
    cues=_SUPERVISOR_CUES,
    tool_users=frozenset({"researcher"}),
    next_agent=_next_worker,
    rounds=3,
    goes_on=TeamUtterance(SUPERVISOR, f"NEXT: {WORKERS[0]}"),
    last_cue="The workers have done their work. End with the final answer.",
    chooser=SUPERVISOR,
)
"""The loop is an order and its execution."""
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

    architecture: TeamArchitecture
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

    def cue(self, agent: str, said: Sequence[TeamUtterance]) -> str:
        """Return what the agent is asked for at the end of its prompt, after what was said so far."""
        goes_on = self.architecture.goes_on
        if goes_on is not None and goes_on.agent == agent and self.next_agent([*said, goes_on]) is None:
            return self.architecture.last_cue
        return self.architecture.cues[agent]

    def next_agent(self, said: Sequence[TeamUtterance]) -> str | None:
        """Name the agent that acts after what was said so far; None at the end."""
        return self.architecture.next_agent(said, self.rounds)

    def seen_by(self, agent: str, said: Sequence[TeamUtterance]) -> Sequence[TeamUtterance]:
        """Return what the agent is shown of what was said so far."""
        return self.architecture.seen_by(agent, said)

    def prompt(self, agent: str, task: str, said: Sequence[TeamUtterance]) -> str:
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


def _architecture(name: str) -> TeamArchitecture:
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


def _rounds(architecture: TeamArchitecture, rounds: int | None) -> int:
    least = 1 if architecture.chooser else 0  # a supervisor that gives no order is no team
    if rounds is None:
        return architecture.rounds or 0
    if architecture.rounds is None:
        raise ConfigError(f"rounds={rounds!r}: {architecture.name!r} has no loop; leave rounds out")
    if rounds < least:
        raise ConfigError(f"rounds={rounds!r}: {architecture.name!r} needs a whole number of at least {least}")
    return rounds
