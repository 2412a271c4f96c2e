"""Run of a team: the root operation, which knows every other one, numbers the steps and keeps the records."""

from __future__ import annotations

import asyncio
import threading
import uuid
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import Tracer, TracerProvider

from tracer_hooks import semconv
from tracer_hooks._background import process_lock
from tracer_hooks._guard import guard, warn_once
from tracer_hooks._version import __version__
from tracer_hooks.config import CaptureConfig
from tracer_hooks.schema import SCHEMA_VERSION, AgentSpec, RunKind, RunOutcome, Trajectory, Usage, to_text
from tracer_hooks.telemetry._capture import Capture
from tracer_hooks.telemetry._invocation import (
    ABANDONED,
    CANCELLED,
    CURRENT,
    INTERRUPTED,
    Invocation,
    current_invocation,
)
from tracer_hooks.telemetry._operations import AgentInvocation, ChatInvocation, prompt_id, prompt_identity
from tracer_hooks.telemetry._records import Message, SpanRecord, SpanStatus

_active_runs_lock = process_lock()
_active_runs: weakref.WeakKeyDictionary[RunInvocation, tuple[int, str]] = weakref.WeakKeyDictionary()
"""By run: the thread that it began in, and its team. A run that nobody ended goes with the last that knew of it."""


def warn_of_lost_step(agent: str) -> None:
    """Say once that an agent acts in a thread without any context while a run goes on in another one.

    A new thread begins with an empty context, so what is done in it belongs to no run. It may be that nobody meant it
    to; so it is said only where both are true, and never where recording was switched off on purpose.
    """
    if not _active_runs or otel_context.get_current():
        return
    here = threading.get_ident()
    with _active_runs_lock:
        going = list(_active_runs.values())
    teams = [team for thread, team in going if thread != here]
    if teams and len(teams) == len(going):
        warn_once(
            f"lost step of {agent}",
            "tracer-hooks does not record agent %r in thread %r: the thread knows of no run, while team %r runs in "
            "another one. If the agent belongs to that run, start its work with contextvars.copy_context().run, one "
            "copy for each thread",
            agent,
            threading.current_thread().name,
            teams[-1],
        )


CHECK_FAILED = "check: not passed"
"""The status of a run whose check failed, where content is not exported."""
_MIN_EMBEDDED_ERROR = 12
"""Shorter error texts occur in others by chance."""


@dataclass(frozen=True, kw_only=True)
class RunStart:
    """Facts known when a run begins."""

    team: str
    """The team's name."""
    task: str = ""
    """What it is asked to do."""
    framework: str = "python"
    """The framework's name."""
    framework_version: str = ""
    """Its version."""
    kind: RunKind = RunKind.LIVE
    """Why it takes place."""
    attempt: int = 1
    """1 for the first run of a call, 2 for its first retry."""
    agents: Sequence[AgentSpec] = ()
    """The roster, when it is known beforehand."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """What the user says of it."""
    run_id: str = ""
    """Identifies the run; default a fresh id."""
    shows_span: bool = True
    """Whether the run's span is made OpenTelemetry's current one; the spans of its agents, models and tools always
    are, and have it as their ancestor."""
    tentative: bool = False
    """Whether this may turn out to be no run. Its span is then begun with the first operation in it, or with its end,
    and is not made the current one: code that only builds a team has no span of ours around it."""


class RunInvocation(Invocation):
    """A run that is going on. Made by :class:`~tracer_hooks.telemetry.Emitter`.

    Attributes:
        intervention: What the adapter's seam asks before and after every model and tool call; see
            :mod:`tracer_hooks.frameworks`.
        adapter_state: Whatever the adapter wants to keep for as long as the run lasts; forgotten when it ends.
    """

    operation = semconv.OP_INVOKE_WORKFLOW
    openinference_kind = semconv.OI_KIND_CHAIN

    def __init__(self, tracer: Tracer, capture: Capture, start: RunStart, subject: object = None) -> None:
        self.tracer = tracer
        self.capture = capture
        self.start = start
        self.run_id = start.run_id or uuid.uuid4().hex
        self.intervention: Any = None
        self.adapter_state: Any = None
        self._at_end: list[Callable[[], None]] = []
        self._by_check = False
        self._subjects: list[Any] = [] if subject is None else [subject]
        self.encoded: dict[int, tuple[Message, str]] = {}
        """Messages as JSON, by id: a conversation is exported anew with every model call, its messages are not."""
        self._closed: list[Invocation] = []
        self.common_attributes = {semconv.RUN_ID: self.run_id, semconv.FRAMEWORK: start.framework}
        self._lock = threading.RLock()
        self._open: dict[int, Invocation] = {}
        self._agents: dict[str, AgentSpec] = {spec.name: spec for spec in start.agents}
        self._used_instructions: dict[str, str] = {}
        self._step_owners: list[str] = []
        self._expected: dict[tuple[int | None, str], int] = {}
        self._seen_errors: dict[int, BaseException] = {}
        self._input_tokens = self._output_tokens = 0
        self._manager: AgentInvocation | None = None
        self.is_begun = not start.tentative
        """Whether the span was begun: at once, or with the first operation of a tentative run."""
        self._around = otel_context.get_current() if start.tentative else None
        super().__init__(self, start.team, attributes=self._root_attributes(start))
        with _active_runs_lock:
            _active_runs[self] = threading.get_ident(), start.team

    def _root_attributes(self, start: RunStart) -> dict[str, Any]:
        outer = current_invocation()
        return {
            semconv.WORKFLOW_NAME: start.team,
            semconv.RUN_KIND: str(start.kind),
            semconv.FRAMEWORK_VERSION: start.framework_version or None,
            semconv.SCHEMA_VERSION: SCHEMA_VERSION,
            semconv.RUN_ATTEMPT: start.attempt,
            semconv.RUN_TASK: start.task,
            **{f"{semconv.TAG}.{key}": value for key, value in start.tags.items()},
            semconv.OI_GRAPH_NODE_PARENT_ID: outer.name if isinstance(outer, AgentInvocation) else None,
        }

    def context(self) -> otel_context.Context:
        """See :class:`Invocation`; without the span where the framework is better off without one."""
        shown = self.start.shows_span and not self.start.tentative
        return super().context() if shown else otel_context.set_value(CURRENT, self)

    @property
    def is_exported(self) -> bool:
        """Tell whether its spans go anywhere: a provider is set up, and its sampler keeps the run."""
        context = self.span.get_span_context()
        return context.trace_flags.sampled and f"{context.trace_id:032x}" == self.trace_id

    # --- used by the other operations ------------------------------------------------------------------------------
    def begin(self) -> None:
        """Begin the span of a tentative run, where and when the run began."""
        with self._lock:
            if self.is_begun or self.ended:
                return
            self.is_begun = True
            here = otel_context.get_current()
            otel_context.attach(here if self._around is None else self._around)
            try:
                self.span = self._start_span()
                self.trace_id, self.span_id = self._identify()
            finally:
                otel_context.attach(here)
                self._around = None

    def opened(self, invocation: Invocation) -> None:
        """Remember an open operation, so that it is ended with the run at the latest."""
        with self._lock:
            self._open[id(invocation)] = invocation

    def closed(self, invocation: Invocation) -> None:
        """Keep an ended operation."""
        with self._lock:
            self._open.pop(id(invocation), None)
            self._closed.append(invocation)

    def next_step(self, agent: str) -> int:
        """Give out the next step index, to ``agent``."""
        with self._lock:
            self._step_owners.append(agent)
            return len(self._step_owners) - 1

    @property
    def acted(self) -> frozenset[str]:
        """The agents that have made a step so far."""
        with self._lock:
            return frozenset(self._step_owners)

    def expect_tool(self, agent: AgentInvocation, call_id: str | None, step: int) -> None:
        """Remember that a reply of ``agent`` asked for a tool call."""
        if call_id:
            with self._lock:
                self._expected[(id(agent), call_id)] = step
                self._expected[(None, call_id)] = step  # for graphs that run the tools in a node of their own

    def step_of_tool(self, agent: AgentInvocation | None, call_id: str | None) -> tuple[int, str]:
        """The step that a tool call belongs to, and the agent that asked for it."""
        with self._lock:
            step = None
            if call_id:
                step = self._expected.get((id(agent), call_id), self._expected.get((None, call_id)))
            if step is None and agent is not None:
                step = agent.last_step
            if step is None:
                step = self.next_step(agent.spec.name if agent is not None else self.name)
            return step, self._step_owners[step]

    def add_agent(self, spec: AgentSpec) -> None:
        """Add a member to the roster, or complete what is known of it."""
        with self._lock:
            known = self._agents.get(spec.name)
            if known is None:
                self._agents[spec.name] = spec
            elif known.instructions is None and spec.instructions is not None:
                self._agents[spec.name] = spec.model_copy(update={"tools": spec.tools or known.tools})

    def instructions_of(self, agent: str) -> str | None:
        """The team's own instructions of an agent, as far as they are known."""
        known = self._agents.get(agent)
        return known.instructions if known is not None else None

    def use_instructions(self, agent: str, text: str) -> None:
        """Note that an agent was told ``text`` in place of the team's own instructions: the record shows it."""
        with self._lock:
            if self._used_instructions.get(agent) != text:
                self._used_instructions[agent] = text
            opened = list(self._open.values())
        for each in opened:
            if isinstance(each, AgentInvocation) and each.spec.name == agent:
                each.attributes.update(prompt_identity(self.name, agent, text))
            elif isinstance(each, ChatInvocation) and each.agent.spec.name == agent:
                each.set(semconv.PROMPT_VERSION, prompt_id(text))

    def show_request(self, agent: str, step: int | None, messages: Sequence[Message]) -> None:
        """Put what a model call that goes on was asked in place of what is recorded of it."""
        with self._lock:
            for chat in self._open.values():
                if isinstance(chat, ChatInvocation) and chat.step == step and chat.agent.spec.name == agent:
                    chat.set(semconv.INPUT_MESSAGES, list(messages))

    def count(self, usage: Usage) -> None:
        """Add the tokens of one model call."""
        with self._lock:
            self._input_tokens += usage.input_tokens
            self._output_tokens += usage.output_tokens

    def mark_error_seen(self, error: BaseException, within: Invocation) -> bool:
        """Note ``error`` as known to this run; True at the first time, so that it is recorded once."""
        with self._lock:
            new = not self.is_known(error, within)
            self._seen_errors[id(error)] = error
            return new

    def is_known(self, error: BaseException, within: Invocation | None = None) -> bool:
        """Tell whether ``error``, or one that it stands for, was recorded before.

        Frameworks wrap errors; AutoGen even replaces them by ``RuntimeError("ValueError: text")`` at team level. So
        what it was raised from counts, and what failed with its text inside the operation ``within`` (default the run).
        """
        chain: BaseException | None = error
        followed: set[int] = set()  # the user's exceptions may refer to each other
        while chain is not None and id(chain) not in followed:
            if id(chain) in self._seen_errors:
                return True
            followed.add(id(chain))
            chain = chain.__cause__ or chain.__context__
        text = to_text(error)
        return any(
            text == known or f"{kind}: {known}" in text or (len(known) >= _MIN_EMBEDDED_ERROR and known in text)
            for kind, known in (within or self).errors_inside
        )

    def manager(self) -> AgentInvocation:
        """A turn in the team's own name, for model calls outside any agent's turn."""
        with self._lock:
            if self._manager is None or self._manager.ended:
                self._manager = AgentInvocation(self, AgentSpec(name=self.name), parent=self)
            return self._manager

    def is_subject(self, team: object) -> bool:
        """Tell whether ``team`` is what runs here, so that its own entry points pass through."""
        return any(subject is team for subject in self._subjects)

    def add_subject(self, team: object) -> None:
        """Make ``team``, which runs inside this run, a part of it instead of a run of its own."""
        if not self.is_subject(team):
            self._subjects.append(team)

    def on_end(self, action: Callable[[], None]) -> None:
        """Do ``action`` when the run has ended, however it ended; at once if it has."""
        with self._lock:
            if not self.ended:
                self._at_end.append(action)
                return
        action()

    # --- used by whoever runs the team -----------------------------------------------------------------------------
    def set_outcome(self, outcome: RunOutcome, reason: str | None = None, *, by_check: bool = False) -> None:
        """Say how the run ended, before it is closed, and whether a check decided that."""
        self._by_check = by_check
        self.set(semconv.RUN_OUTCOME, str(outcome))
        self.set(semconv.RUN_OUTCOME_REASON, reason)

    def finish(
        self, *, output: object = None, error: BaseException | None = None, stop_reason: str | None = None
    ) -> None:
        """Close every operation that is still open, then the run.

        Args:
            output: The run's answer.
            error: What the run raised, or what made it fail; the root span then has status ERROR.
            stop_reason: Why the framework stopped.
        """
        if self.ended:
            return
        with guard("close the run"):
            self.begin()
            self._sweep(error)
            self._set_end_attributes(output, stop_reason)
        outcome, reason = self.attributes.get(semconv.RUN_OUTCOME), self.attributes.get(semconv.RUN_OUTCOME_REASON)
        if error is not None:
            super().fail(error)
        elif outcome == RunOutcome.FAILED:
            self.attributes[semconv.ERROR_TYPE] = "check_failed"
            self._end(SpanStatus.ERROR, reason or "the run failed", None)
        elif reason in (CANCELLED, INTERRUPTED):
            self.abandon(reason)
        else:
            self._end(SpanStatus.UNSET, "", None)
        self._wind_up()

    def discard(self) -> None:
        """Forget a run that turned out to be none; a span of its own is begun only if something happened in it."""
        if self.is_begun:
            with guard("close what was open"):
                self._sweep(GeneratorExit())
            self.abandon()
        self.ended = True
        self._open.clear()
        self._wind_up()

    def _wind_up(self) -> None:
        with _active_runs_lock:
            _active_runs.pop(self, None)
        self._seen_errors.clear()  # exceptions hold frames, and frames hold the user's objects
        self.intervention = self.adapter_state = None
        self._subjects.clear()
        with self._lock:
            actions, self._at_end = self._at_end, []
        for action in reversed(actions):
            with guard("wind up the run"):
                action()

    @property
    def invocations(self) -> list[Invocation]:
        """Every operation that has ended, in the order in which they did."""
        with self._lock:
            return list(self._closed)

    @property
    def records(self) -> list[SpanRecord]:
        """Every operation that has ended, in the order in which they did."""
        return [invocation.to_record() for invocation in self.invocations]

    def trajectory(self) -> Trajectory:
        """The run as far as it is recorded, as a trajectory."""
        from tracer_hooks.telemetry._assemble import assemble

        return assemble(self.records)[0]

    def _kind_of_failure(self) -> str:
        if self.error is None and self.attributes.get(semconv.RUN_OUTCOME) == RunOutcome.FAILED:
            return CHECK_FAILED if self._by_check else "failed"
        return super()._kind_of_failure()

    def _sweep(self, error: BaseException | None) -> None:
        with self._lock:
            left = [invocation for invocation in self._open.values() if invocation is not self]
        if self._manager is not None and not self._manager.ended and error is None:
            self._manager.stop()
        for invocation in reversed(left):
            stopped = isinstance(error, (asyncio.CancelledError, KeyboardInterrupt))
            invocation.abandon(CANCELLED if stopped else ABANDONED)

    def _roster(self) -> list[AgentSpec]:
        """The members, each with the instructions that it was told."""
        used = self._used_instructions
        return [
            spec.model_copy(update={"instructions": used[spec.name]}) if spec.name in used else spec
            for spec in self._agents.values()
        ]

    def _set_end_attributes(self, output: object, stop_reason: str | None) -> None:
        text = None if output is None else to_text(output)
        self.set(semconv.RUN_FINAL_OUTPUT, text)
        self.set(semconv.RUN_STOP_REASON, stop_reason)
        self.set(semconv.RUN_AGENTS, [spec.model_dump(mode="json") for spec in self._roster()] or None)
        self.set(semconv.RUN_USAGE_INPUT_TOKENS, self._input_tokens or None)
        self.set(semconv.RUN_USAGE_OUTPUT_TOKENS, self._output_tokens or None)


SCOPE = "tracer_hooks"


class Emitter:
    """Opens runs.

    Args:
        tracer_provider: Where spans go; default the global provider, asked anew for every run, so that a provider which
            is set up after the team was hooked is used as well.
        capture: What is kept of content; default from the environment.
    """

    def __init__(self, *, tracer_provider: TracerProvider | None = None, capture: CaptureConfig | None = None) -> None:
        self._provider = tracer_provider
        self._newest: tuple[TracerProvider, Tracer] | None = None
        self.capture = Capture(capture if capture is not None else CaptureConfig.from_env())

    @property
    def provider(self) -> TracerProvider | None:
        """Provider that spans go to; None is the global provider."""
        return self._provider

    def start_run(self, start: RunStart, *, subject: object = None) -> RunInvocation:
        """Open a run of ``subject``, the team object; it must be closed with :meth:`RunInvocation.finish`."""
        return RunInvocation(self.tracer(), self.capture, start, subject)

    def tracer(self) -> Tracer:
        """The tracer that spans are started on."""
        provider = self._provider if self._provider is not None else trace.get_tracer_provider()
        newest = self._newest
        if newest is None or newest[0] is not provider:
            # Kept, since the SDK makes a new tracer at each call, which costs as much as ten spans.
            newest = self._newest = (provider, provider.get_tracer(SCOPE, __version__, semconv.SCHEMA_URL))
        return newest[1]


def current_run() -> RunInvocation | None:
    """The run that the calling code is part of; None outside a hooked run or where tracing is suppressed."""
    invocation = current_invocation()
    return invocation.run if invocation is not None and not invocation.run.ended else None
