"""The adapter for teams in plain Python: a function that runs them."""

from __future__ import annotations

import inspect
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tracer_hooks.frameworks._entries import EntryKind, RunHost, TeamCall, wrap_entry
from tracer_hooks.frameworks._patching import PatchSet
from tracer_hooks.frameworks._protocol import Capability, RunResult, TeamInfo
from tracer_hooks.frameworks.plain._calls import answer_text


@dataclass(frozen=True, eq=False)
class PlainTeam:
    """A team whose run is one call of a function of the user's.

    Args:
        run: The function; its first argument is taken for the task.
        name: The team's name.
        declared: Instructions by agent, as they were declared while a factory built the team.
    """

    run: Callable[..., Any]
    name: str
    declared: Mapping[str, str] = field(default_factory=dict)


class PlainAdapter:
    """Teams in plain Python, whose agents, models and tools are marked with decorators."""

    name = "python"
    capabilities = frozenset(
        {Capability.SYNC, Capability.ASYNC, Capability.STREAM, Capability.INTERVENE_MODEL, Capability.INTERVENE_TOOL}
    )

    def recognises(self, team: object) -> bool:
        """Tell whether ``team`` is a wrapped function; bare functions are wrapped by :func:`tracer_hooks.hook`."""
        return isinstance(team, PlainTeam)

    def framework_version(self) -> str:
        """Python's version."""
        return platform.python_version()

    def describe(self, team: PlainTeam) -> TeamInfo:
        """The function's name; its agents show up as they act."""
        return TeamInfo(name=team.name)

    def hook(self, team: PlainTeam, host: RunHost) -> PatchSet:
        """Conduct the calls of ``team.run`` itself; the decorators look for the current run on their own."""
        patches = PatchSet()
        entry = wrap_entry(team, "run", _kind(team.run), host, original=team.run, task_of=_task)
        patches.patch(team, "run", entry)
        return patches

    def result(self, call: TeamCall, native: Any) -> RunResult:
        """The function's return value as text; results of the known frameworks give their answer."""
        return RunResult(text=answer_text(native), native=native)

    def collector(self, call: TeamCall) -> PlainCollector:
        """Joins what a generator yields."""
        return PlainCollector()

    def write_instructions(self, team: PlainTeam, instructions: Mapping[str, str]) -> PatchSet | None:
        """None: :func:`tracer_hooks.instructions` and the model seam hand the rewritten text to the agents."""
        return None

    def entry(self, team: PlainTeam, task: str) -> TeamCall:
        """One call with the task as its only argument."""
        return TeamCall(team=team, method="run", args=(task,), task=task)

    def watch(self, on_team: Callable[[Any], None]) -> PatchSet:
        """Nothing to watch: functions are hooked one by one."""
        return PatchSet()

    async def reset(self, team: PlainTeam) -> None:
        """Nothing to reset."""


def _kind(function: Callable[..., Any]) -> EntryKind:
    if inspect.isasyncgenfunction(function):
        return EntryKind.ASYNC_GENERATOR
    if inspect.iscoroutinefunction(function):
        return EntryKind.COROUTINE
    return EntryKind.GENERATOR if inspect.isgeneratorfunction(function) else EntryKind.CALL


def _task(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    return answer_text(args[0] if args else next(iter(kwargs.values()), ""))


class PlainCollector:
    """The answer of a generator: its text chunks joined, or its last item when it does not yield text."""

    def __init__(self) -> None:
        self._chunks: list[str] = []
        self._last: Any = None

    def see(self, item: Any) -> None:
        """Keep a text chunk, or the item."""
        self._last = item
        if isinstance(item, str):
            self._chunks.append(item)

    def result(self) -> RunResult:
        """Give the generator's result."""
        text = "".join(self._chunks) if isinstance(self._last, str) else answer_text(self._last)
        return RunResult(text=text, native=self._last)
