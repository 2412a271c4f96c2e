"""A kind of team, as each file here describes one: how it is built and run, and what must be seen of a run."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tracer_hooks import RunResult
from tracer_hooks.schema import RunOutcome, Step, StepKind
from tracer_hooks.testing import Rule, ScriptedLLM
from tracer_hooks_testing import ContractTeams


@dataclass(frozen=True, order=True)
class Act:
    """What is compared of a step."""

    agent: str
    kind: StepKind
    tools: tuple[str, ...] = ()
    to: str = ""
    attempts: int = 1


def said(agent: str, *, attempts: int = 1) -> Act:
    """A text."""
    return Act(agent, StepKind.MESSAGE, attempts=attempts)


def called(agent: str, *tools: str) -> Act:
    """A reply that calls tools."""
    return Act(agent, StepKind.TOOL_CALL, tools)


def handed(agent: str, to: str, *tools: str) -> Act:
    """A hand-off; ``tools`` where it is made by calling one."""
    return Act(agent, StepKind.HANDOFF, tools, to)


def failed(agent: str) -> Act:
    """An act that gave no reply."""
    return Act(agent, StepKind.ERROR)


def act_of(step: Step) -> Act:
    """What is compared of ``step``."""
    return Act(step.agent, step.kind, tuple(call.name for call in step.tool_calls), step.recipient or "", step.attempts)


Course = Sequence[Act | Sequence[Act]]
"""The acts of a run in their order; those of an inner list happen at the same time, in whatever order."""


def in_order(course: Course, acts: Sequence[Act]) -> tuple[list[Act], list[Act]]:
    """What was expected and what happened, with acts at the same time sorted in both, so that the two can be equal."""
    expected: list[Act] = []
    happened: list[Act] = []
    for part in course:
        together = [part] if isinstance(part, Act) else list(part)
        start = len(expected)
        expected += sorted(together)
        happened += sorted(acts[start : len(expected)])
    return expected, happened + list(acts[len(expected) :])


class Kind(ABC):
    """One kind of team. A file of a kind has a class of this sort, and an object of it named ``KIND``."""

    teams: ClassVar[ContractTeams]
    """The framework's part of the contract kit, which knows results, and what may be patched."""
    team: ClassVar[str]
    """The name of the team."""
    agents: ClassVar[frozenset[str]]
    """Everybody on the roster of the last run, whether they acted or not."""
    courses: ClassVar[Sequence[Course]]
    """What happens in each run that one call makes; checked against the framework's documentation."""
    outcomes: ClassVar[Sequence[RunOutcome]] = (RunOutcome.SUCCEEDED,)
    """What the runs come to by :meth:`check`, in the order of :attr:`courses`."""
    rules: ClassVar[Sequence[Rule]]
    """What the models answer; ``<case>`` stands for the case of the task."""
    requests: ClassVar[int]
    """How many requests to a model one call makes."""

    @abstractmethod
    def build(self, llm: ScriptedLLM) -> Any:
        """A new team."""

    @abstractmethod
    async def arun(self, team: Any, task: str) -> Any:
        """Run the team as the framework's users do, anew each time; gives what they get."""

    def check(self, result: RunResult) -> bool:
        """Whether a run succeeded."""
        return "42" in result.text

    def plain(self, result: Any) -> Any:
        """What the users got as plain data that is equal for equal runs."""
        return self.teams.plain(result)

    def owners(self, team: Any) -> Sequence[Any]:
        """The objects, classes and modules whose attributes an adapter might change."""
        return [team, *self.teams.parts(team)]


class BlockingKind(Kind):
    """A kind whose entry point blocks; two at once are two threads."""

    @abstractmethod
    def run(self, team: Any, task: str) -> Any:
        """Run the team."""

    async def arun(self, team: Any, task: str) -> Any:
        """In a thread."""
        return await asyncio.to_thread(self.run, team, task)
