"""A tiny framework with teams as objects, and its adapter; and attributors that say what a test wants."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import tracer_hooks
from tracer_hooks.frameworks import (
    Capability,
    EntryKind,
    PatchSet,
    RunHost,
    RunResult,
    TeamCall,
    TeamInfo,
    wrap_entry,
)
from tracer_hooks.schema import AgentSpec, Attribution, Candidate, Trajectory


class BenchTeam:
    """One agent "solo", whose answer is what ``say(instructions, task)`` gives."""

    def __init__(self, say: Callable[[str, str], Any], told: str = "Be right.", **more: Any) -> None:
        self.say = say
        self.told = told
        self.more = more
        self.resets = 0

    def _turn(self, task: str) -> Any:
        @tracer_hooks.agent(name="solo", instructions=self.told)
        def solo(task: str) -> Any:
            return self.say(self.told, task)

        return solo(task)

    def run(self, task: str) -> dict[str, Any]:
        return {"answer": self._turn(task)}

    async def arun(self, task: str) -> dict[str, Any]:
        return {"answer": self._turn(task)}

    def stream(self, task: str) -> Iterator[str]:
        yield from self._turn(task).split()

    async def astream(self, task: str) -> AsyncIterator[str]:
        for word in self._turn(task).split():
            yield word


KINDS = {
    "run": EntryKind.CALL,
    "arun": EntryKind.COROUTINE,
    "stream": EntryKind.GENERATOR,
    "astream": EntryKind.ASYNC_GENERATOR,
}


class Words:
    def __init__(self) -> None:
        self.words: list[str] = []

    def see(self, item: Any) -> None:
        self.words.append(item)

    def result(self) -> RunResult:
        return RunResult(text=" ".join(self.words), native=self.words[-1] if self.words else None)


class BenchAdapter:
    """Its attributes say what of it is broken, or what results look like."""

    name = "bench"
    capabilities = frozenset({Capability.SYNC, Capability.ASYNC, Capability.STREAM, Capability.WRITE_INSTRUCTIONS})

    def __init__(self) -> None:
        self.breaks: set[str] = set()
        self.stop_reason: str | None = None
        self.interrupts = False
        self.writes = True

    def _maybe_break(self, method: str) -> None:
        if method in self.breaks:
            raise RuntimeError(f"our bug in {method}")

    def recognises(self, team: object) -> bool:
        return isinstance(team, BenchTeam)

    def framework_version(self) -> str:
        self._maybe_break("framework_version")
        return "1.0"

    def describe(self, team: BenchTeam) -> TeamInfo:
        self._maybe_break("describe")
        return TeamInfo(name="bench team", agents=[AgentSpec(name="solo", instructions=team.told)])

    def hook(self, team: BenchTeam, host: RunHost) -> PatchSet:
        patches = PatchSet()
        for method, kind in KINDS.items():
            entry = wrap_entry(team, method, kind, host, original=getattr(team, method), task_of=lambda a, k: a[0])
            patches.patch(team, method, entry)
        return patches

    def result(self, call: TeamCall, native: Any) -> RunResult:
        self._maybe_break("result")
        text = native["answer"] or ""
        return RunResult(text=text, native=native, stop_reason=self.stop_reason, interrupted=self.interrupts)

    def collector(self, call: TeamCall) -> Words:
        self._maybe_break("collector")
        return Words()

    def write_instructions(self, team: BenchTeam, instructions: Mapping[str, str]) -> PatchSet | None:
        self._maybe_break("write_instructions")
        if not self.writes:
            return None
        patches = PatchSet()
        if "solo" in instructions:
            patches.patch(team, "told", instructions["solo"])
        return patches

    def entry(self, team: BenchTeam, task: str) -> TeamCall:
        return TeamCall(team=team, method="run", args=(task,), task=task)

    def watch(self, on_team: Callable[[Any], None]) -> PatchSet:
        return PatchSet()

    async def reset(self, team: BenchTeam) -> None:
        self._maybe_break("reset")
        team.resets += 1


@dataclass
class Point:
    """An entry point that gives one adapter."""

    adapter: BenchAdapter
    name: str = "bench"
    value: str = "tests:BenchAdapter"

    def load(self) -> Callable[[], BenchAdapter]:
        return lambda: self.adapter


@dataclass
class Blame:
    """Blames the agents in this order, each at its first step."""

    agents: tuple[str, ...] = ()
    seen: list[Trajectory] = field(default_factory=list)
    name: str = "blame"
    confidence: float = 0.5

    def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
        self.seen.append(trajectory)
        steps = {step.agent: step.index for step in reversed(trajectory.steps)}
        named = [agent for agent in self.agents if agent in steps]
        if not named:
            return Attribution(run_id=trajectory.run_id, abstained=True, abstained_reason="no sign of failure")
        candidates = tuple(
            Candidate(agent=agent, step=steps[agent], score=0.5 / (place + 1)) for place, agent in enumerate(named)
        )
        return Attribution(
            run_id=trajectory.run_id,
            agent=named[0],
            step=steps[named[0]],
            confidence=self.confidence,
            candidates=candidates,
            attributor=self.name,
        )


class Slow(Blame):
    """Blames "solo" once it is let go."""

    def __init__(self) -> None:
        super().__init__(("solo",))
        self.asked, self.go = threading.Event(), threading.Event()
        self.thread: threading.Thread | None = None

    def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
        self.thread = threading.current_thread()
        self.asked.set()
        assert self.go.wait(10)
        return super().attribute(trajectory, reference=reference)


def run_of(target: Any) -> tracer_hooks.TeamRun:
    """The caller's newest run of a hooked target."""
    run = tracer_hooks.last_run(target)
    assert run is not None
    return run
