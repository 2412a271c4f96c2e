"""Running a kind, bare and hooked, and looking at what was seen of it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import tracer_hooks
from tracer_hooks.schema import Trajectory
from tracer_hooks.telemetry import assemble
from tracer_hooks.telemetry._otlp_write import to_record
from tracer_hooks.testing import ScriptedLLM, ScriptedRequest
from tracer_hooks_testing._base import Balance

from ._case import Meeting, scripted, task_of
from ._kind import Act, Kind, act_of


@dataclass(frozen=True)
class Ended:
    """What a call came to, and what was asked of models: equal for a team that is hooked and one that is not."""

    result: Any
    error: tuple[str, str] | None
    asked: tuple[str, ...]


class Spans:
    """A tracer provider whose spans can be looked at."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self._balance = Balance()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.provider.add_span_processor(self._balance)

    @property
    def ended(self) -> tuple[ReadableSpan, ...]:
        """Those that have ended."""
        return self._exporter.get_finished_spans()

    @property
    def open(self) -> list[str]:
        """The names of those that were started and not ended."""
        return list(self._balance.open.values())

    @property
    def orphans(self) -> list[str]:
        """The names of those whose parent is not among them."""
        known = {span.get_span_context().span_id for span in self.ended}
        return [span.name for span in self.ended if span.parent is not None and span.parent.span_id not in known]

    def trajectories(self) -> list[Trajectory]:
        """Every run, in the order in which they began, put together from nothing but the spans."""
        return assemble([to_record(span) for span in self.ended])


class Stage:
    """One kind in a test: its scripted model and its event loop."""

    def __init__(self, kind: Kind, llm: ScriptedLLM, runner: asyncio.Runner) -> None:
        self.kind = kind
        self.llm = llm
        self.hooked: list[Any] = []
        self._runner = runner

    def build(self) -> Any:
        """A new team."""
        return self.kind.build(self.llm)

    def hook(self, team: Any, spans: Spans) -> Any:
        """Hook ``team``, with everything kept on the spans."""
        hooked = tracer_hooks.hook(
            team, check=self.kind.check, store="off", capture="full", diagnose="off", tracer_provider=spans.provider
        )
        assert hooked is team
        self.hooked.append(team)
        return team

    def run(self, team: Any, case: str = "A") -> Any:
        """One call."""
        return self._runner.run(self.kind.arun(team, task_of(case)))

    def run_together(self, *teams: Any) -> list[Any]:
        """A call of each at the same time: the first in case A, the next in case B."""

        async def together() -> list[Any]:
            calls = [self.kind.arun(team, task_of(case)) for team, case in zip(teams, "ABCDEFG", strict=False)]
            return list(await asyncio.gather(*calls))

        return self._runner.run(together())

    def ended(self, team: Any, case: str = "A") -> Ended:
        """One call, by what came of it."""
        self.llm.reset()
        result, error = None, None
        try:
            result = self.kind.plain(self.run(team, case))
        except Exception as raised:
            error = (type(raised).__name__, self.kind.teams.message(raised))
        self.in_script()
        return Ended(result, error, tuple(sorted(map(_lines, self.llm.requests))))

    def in_script(self) -> None:
        """Every request was one that the script expects."""
        assert self.llm.script_errors == []
        assert [request.text for request in self.llm.unmatched] == []


@contextmanager
def stage(kind: Kind, *, meeting: Meeting | None = None) -> Iterator[Stage]:
    """A kind with a scripted model of its own."""
    with ScriptedLLM(rules=scripted(kind.rules, meeting)) as llm, asyncio.Runner() as runner:
        built = Stage(kind, llm, runner)
        try:
            yield built
        finally:
            for team in built.hooked:
                tracer_hooks.unhook(team)


def _lines(request: ScriptedRequest) -> str:
    """What is asked, without the order in which two who worked at the same time were heard."""
    return "\n".join(sorted(request.text.splitlines()))


def acts(trajectory: Trajectory) -> list[Act]:
    """What is compared of a run's steps."""
    return [act_of(step) for step in trajectory.steps]


def text_of(trajectory: Trajectory) -> str:
    """Everything that a run says, in one text."""
    return trajectory.model_dump_json(include={"task", "steps", "final_output"})
