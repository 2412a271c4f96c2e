"""Duties: every ending is reported as it was, and a bug of ours never reaches the user's run."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import openai
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import StatusCode

from tracer_hooks import semconv
from tracer_hooks.schema import RunOutcome, StepKind
from tracer_hooks.telemetry import (
    AgentInvocation,
    ChatInvocation,
    Invocation,
    RunInvocation,
    ToolInvocation,
    current_invocation,
)
from tracer_hooks.testing import (
    Drop,
    ErrorReply,
    Garbage,
    RecordingHost,
    Reply,
    ReplyLike,
    Rule,
    ScriptedLLM,
    ScriptedRequest,
    ToolCallReply,
    When,
)
from tracer_hooks_testing._base import (
    ContractBase,
    Ending,
    attribute,
    errors_of,
    every_way,
    exceptions_of,
    root_of,
    spans_of,
    steps_by,
)
from tracer_hooks_testing._teams import TASK, Scenario, calls_then_says, lookup

_WAIT_S = 30.0


class _HeldModel:
    """A model whose first reply is held back until the test lets it go."""

    def __init__(self) -> None:
        self.asked, self.released = threading.Event(), threading.Event()

    def __call__(self, request: ScriptedRequest) -> str:
        self.asked.set()
        self.released.wait(_WAIT_S)
        return "The answer is 42."

    async def release_soon(self) -> None:
        """Let the reply go once a cancellation has reached the run; AutoGen's teams wait for what is under way."""
        for _ in range(10):
            await asyncio.sleep(0)
        self.released.set()


class EndingsContract(ContractBase):
    """Early ends."""

    def test_a_stream_that_is_broken_off_is_no_failure(self) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        seen: list[Any] = []

        async def take_one() -> None:
            async for _ in self.astream(team):
                seen.append((trace.get_current_span(), current_invocation()))
                break
            gc.collect()
            # A generator that was dropped is closed by the event loop, in a task of its own.
            await self._others_done()

        with self.observe(team) as observer:
            self.run_async(take_one())
        assert seen == [(trace.INVALID_SPAN, None)]
        self._was_stopped(observer, "abandoned")

    def test_a_stream_that_is_closed_is_no_failure(self) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))

        async def take_one() -> None:
            stream: Any = self.astream(team)
            await anext(stream)
            await stream.aclose()
            assert trace.get_current_span() is trace.INVALID_SPAN

        with self.observe(team) as observer:
            self.run_async(take_one())
        self._was_stopped(observer, "abandoned")

    def test_a_plain_stream_that_is_closed_is_no_failure(self) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        with self.observe(team) as observer:
            stream: Any = self.offered(self.teams.stream, team, TASK)
            next(stream)
            assert trace.get_current_span() is trace.INVALID_SPAN
            stream.close()
        self._was_stopped(observer, "abandoned")

    def test_a_stream_that_is_never_begun_leaves_nothing(self) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))

        async def open_and_close() -> None:
            stream: Any = self.astream(team)
            await stream.aclose()

        with self.observe(team) as observer:
            self.run_async(open_and_close())
        assert observer.spans == ()

    def test_a_cancelled_run_is_no_failure(self) -> None:
        model = _HeldModel()
        team = self.build("pipeline", self._script(model))
        with self.observe(team) as observer:
            assert self.run_async(self._cancel(team, model)) == "CancelledError"
        self._was_stopped(observer, "cancelled")

    def test_a_run_that_times_out_is_no_failure_of_an_agent(self) -> None:
        model = _HeldModel()
        team = self.build("pipeline", self._script(model))

        async def time_out() -> None:
            async def expire(limit: asyncio.Timeout) -> None:
                await asyncio.to_thread(model.asked.wait, _WAIT_S)
                limit.reschedule(0)
                await model.release_soon()

            try:
                async with asyncio.timeout(None) as limit:
                    expiring = asyncio.create_task(expire(limit))
                    await self.teams.arun(team, TASK)
            finally:
                expiring.cancel()
                model.asked.set()
                model.released.set()

        with self.observe(team) as observer, pytest.raises(TimeoutError):
            self.run_async(time_out())
        self._was_stopped(observer, "cancelled")

    def test_a_team_runs_on_after_a_cancelled_run(self) -> None:
        model = _HeldModel()
        team = self.build("pipeline", self._script(model))
        with self.observe(team) as observer:
            self.run_async(self._cancel(team, model))
        fresh = self.build("pipeline", self.llm(Scenario.PIPELINE))
        with self.observe(fresh) as observer:
            self.run(fresh)
        assert len(observer.trajectory.steps) == 4

    def test_a_stream_that_runs_to_its_end_is_complete(self) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))

        async def collect() -> int:
            outside = True
            async for _ in self.astream(team):
                outside = outside and current_invocation() is None and trace.get_current_span() is trace.INVALID_SPAN
            assert outside, "an operation of ours was current in the caller's loop"
            return 1

        with self.observe(team) as observer:
            self.run_async(collect())
        assert errors_of(observer) == []
        assert attribute(root_of(observer), semconv.ABANDONED) is None
        assert observer.results[0].text == "Approved: six times seven makes 42."

    # --- pieces ----------------------------------------------------------------------------------------------------
    def _script(self, model: _HeldModel) -> ScriptedLLM:
        self._stack.callback(model.released.set)
        return self.llm([When().then(model)])

    async def _cancel(self, team: Any, model: _HeldModel) -> str:
        task = asyncio.create_task(self.teams.arun(team, TASK))
        asked = asyncio.create_task(asyncio.to_thread(model.asked.wait, _WAIT_S))
        await asyncio.wait([task, asked], return_when=asyncio.FIRST_COMPLETED)
        task.cancel()  # of no effect on a run that ended without asking its model
        await model.release_soon()
        try:
            return str(await task)
        except asyncio.CancelledError as error:
            return type(error).__name__
        finally:
            model.asked.set()
            await asked

    async def _others_done(self) -> None:
        for _ in range(3):
            await asyncio.sleep(0)  # the loop creates the task that closes the generator only in its next round
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others, timeout=_WAIT_S)

    def _was_stopped(self, observer: RecordingHost, reason: str) -> None:
        root = root_of(observer)
        assert root.status.status_code is StatusCode.UNSET
        assert attribute(root, semconv.ABANDONED) == reason
        assert errors_of(observer) == []
        assert exceptions_of(observer) == []
        trajectory = observer.runs[0].trajectory()
        assert trajectory.outcome is RunOutcome.UNKNOWN
        assert not [step for step in trajectory.steps if step.kind is StepKind.ERROR]


"""Ends a test whose expectation does not come true; nothing waits that long."""
OUR_BUGS = [
    (AgentInvocation, "__init__"),
    (AgentInvocation, "stop"),
    (ChatInvocation, "__init__"),
    (ChatInvocation, "stop"),
    (ToolInvocation, "__init__"),
    (ToolInvocation, "stop"),
    (Invocation, "context"),
    (RunInvocation, "next_step"),
    (RunInvocation, "closed"),
    (RunInvocation, "add_agent"),
]


class FaultyToolError(Exception):
    """Error that the kit's failing tools raise."""


def faulty(query: str) -> str:
    """Look a number up in a table that is gone.

    Args:
        query: What to look up.
    """
    raise FaultyToolError("the table is gone")


FAULTY_SCRIPT = calls_then_says("solo", [ToolCallReply("faulty", {"query": "x"})], "I could not find it.")
LOOKUP_SCRIPT = calls_then_says("solo", [ToolCallReply("lookup", {"query": "x"})], "It is 42.")


class SafetyContract(ContractBase):
    """Errors pass as they are, bugs of ours do not, and the exporter's troubles are its own."""

    def compare(self, way: str, rules: Sequence[Rule], tools: Sequence[Callable[..., Any]] = ()) -> tuple[Any, Ending]:
        """Run the same team bare and hooked; gives the observer and how both ended."""
        llm = self.llm(rules)
        bare = self.ending(way, self.build("single", llm, tools=tools))
        asked = llm.calls
        llm.reset()
        team = self.build("single", llm, tools=tools)
        with self.observe(team) as observer:
            hooked = self.ending(way, team)
        assert hooked == bare
        assert llm.calls == asked, "hooking must not change how often the model is asked"
        return observer, bare

    # --- errors of the team ----------------------------------------------------------------------------------------
    @every_way
    def test_a_failing_model_ends_the_run_as_without_us(self, way: str) -> None:
        observer, ending = self.compare(way, [When().then(ErrorReply(400, message="no such model"))])
        if ending.error is not None:
            assert root_of(observer).status.status_code is StatusCode.ERROR
        assert {span.status.status_code for span in spans_of(observer, semconv.OP_CHAT)} == {StatusCode.ERROR}
        last = observer.trajectory.steps[-1]
        assert (last.kind, last.agent) == (StepKind.ERROR, "solo")
        assert "no such model" in str(last.error)

    def test_an_exception_is_recorded_once_with_its_own_type(self) -> None:
        observer, _ = self.compare("run", [When().then(ErrorReply(400, message="no such model"))])
        chats = spans_of(observer, semconv.OP_CHAT)
        recorded = exceptions_of(observer)
        assert len(recorded) == len(chats), "once for each call that failed"
        assert set(recorded) <= set(_names(openai.BadRequestError))
        assert [attribute(chat, semconv.ERROR_TYPE) for chat in chats] == recorded

    @pytest.mark.parametrize("reply", [Garbage("<html>"), Drop(), ErrorReply(500)], ids=["garbage", "drop", "server"])
    def test_a_model_that_answers_badly_ends_the_run_as_without_us(self, reply: ReplyLike) -> None:
        observer, ending = self.compare("run", [When().then(reply)])
        if ending.error is not None:
            assert observer.trajectory.steps[-1].kind is StepKind.ERROR

    def test_attempts_at_a_model_call_are_one_step(self) -> None:
        rules = [When().then(ErrorReply(400, message="try again"), "The answer is 42.")]
        llm = self.llm(rules)
        team = self.build("single", llm)
        with self.observe(team) as observer:
            ending = self.ending("run", team)
        steps = observer.trajectory.steps
        assert sum(step.attempts for step in steps) == llm.calls
        assert len(steps) == 1
        assert (steps[0].kind is StepKind.ERROR) == (ending.error is not None)

    @every_way
    def test_a_failing_tool_ends_the_run_as_without_us(self, way: str) -> None:
        observer, ending = self.compare(way, FAULTY_SCRIPT, [faulty])
        (step,) = [step for step in observer.trajectory.steps if step.tool_calls]
        assert (step.kind, step.agent) == (StepKind.TOOL_CALL, "solo")
        assert "the table is gone" in str(step.tool_calls[0].error)
        assert "execute_tool faulty" in errors_of(observer)
        # A tool's failure is not its agent's: only where it breaks the run do they fail with it.
        if ending.error is None:
            assert set(errors_of(observer)) == {"execute_tool faulty"}

    def test_attempts_at_a_tool_are_one_call(self) -> None:
        made = []

        def faulty(query: str) -> str:
            """Look a number up in a table that is gone."""
            made.append(query)
            raise FaultyToolError("the table is gone")

        team = self.build("single", self.llm(FAULTY_SCRIPT), tools=[faulty])
        with self.observe(team) as observer:
            self.ending("run", team)
        (call,) = [call for step in observer.trajectory.steps for call in step.tool_calls]
        assert call.attempts == len(made)

    @pytest.mark.parametrize("arguments", ['{"wrong": 1}', "{}", "{not json", "[1, 2]", "null"])
    def test_arguments_that_do_not_fit_end_the_run_as_without_us(self, arguments: str) -> None:
        rules = calls_then_says("solo", [ToolCallReply("lookup", arguments)], "I give up.")
        observer, _ = self.compare("run", rules, [lookup])
        steps = steps_by(observer.trajectory, "solo")
        assert steps
        if arguments == '{"wrong": 1}':
            (call,) = steps[0].tool_calls
            assert call.name == "lookup"
            assert call.error or call.result, "the agent is told what was wrong, so the record must tell it too"

    def test_a_call_of_an_unknown_tool_ends_the_run_as_without_us(self) -> None:
        rules = calls_then_says("solo", [ToolCallReply("no_such_tool", {})], "I give up.")
        observer, _ = self.compare("run", rules, [lookup])
        assert [call.name for call in observer.trajectory.steps[0].tool_calls] == ["no_such_tool"]

    def test_control_flow_is_no_error(self) -> None:
        llm = self.llm([When().then("The answer is 42.")])
        bare = self.ending("run", self.build("interrupting", llm))
        llm.reset()
        team = self.build("interrupting", llm)
        with self.observe(team) as observer:
            assert self.ending("run", team) == bare
        assert [name for name in errors_of(observer) if not name.startswith("invoke_workflow")] == []
        if bare.error is None:
            assert errors_of(observer) == []
            assert observer.trajectory.outcome is not RunOutcome.FAILED
        assert not [step for step in observer.trajectory.steps if step.kind is StepKind.ERROR]

    # --- bugs of ours ----------------------------------------------------------------------------------------------
    @pytest.mark.parametrize(("owner", "method"), OUR_BUGS, ids=[f"{o.__name__}.{m}" for o, m in OUR_BUGS])
    def test_a_bug_of_ours_never_reaches_the_team(
        self, owner: type, method: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        llm = self.llm(Scenario.PIPELINE)
        bare = self.ending("run", self.build("pipeline", llm))
        llm.reset()
        team = self.build("pipeline", llm)
        self.monkeypatch.setenv("TRACER_HOOKS_STRICT", "")
        patches = self.hook(team, host := self._observer())
        self.monkeypatch.setattr(owner, method, _bug)
        try:
            hooked = self.ending("run", team)
        finally:
            self.monkeypatch.undo()
            patches.undo()
        assert hooked == bare
        assert len(host.runs) == 1
        lines = [record.getMessage() for record in caplog.records if record.name.startswith("tracer_hooks")]
        assert any("our bug" in line for line in lines)
        assert not [line for line in lines if "\n" in line]

    @every_way
    def test_a_bug_of_ours_leaves_streams_alone(self, way: str) -> None:
        llm = self.llm(LOOKUP_SCRIPT)
        bare = self.ending(way, self.build("single", llm, tools=[lookup], streaming=True))
        llm.reset()
        team = self.build("single", llm, tools=[lookup], streaming=True)
        self.monkeypatch.setenv("TRACER_HOOKS_STRICT", "")
        patches = self.hook(team, self._observer())
        for owner, method in ((ChatInvocation, "chunk"), (ChatInvocation, "stop"), (AgentInvocation, "stop")):
            self.monkeypatch.setattr(owner, method, _bug)
        try:
            hooked = self.ending(way, team)
        finally:
            self.monkeypatch.undo()
            patches.undo()
        assert hooked == bare

    def _observer(self) -> Any:
        from tracer_hooks.testing import RecordingHost

        return RecordingHost(self.adapter)

    # --- exporters -------------------------------------------------------------------------------------------------
    def test_a_failing_exporter_does_not_reach_the_team(self) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        with self.observe(team) as observer:
            observer.tracer_provider.add_span_processor(SimpleSpanProcessor(_FailingExporter()))
            self.run(team)
        assert len(observer.trajectory.steps) == 4

    def test_a_slow_exporter_does_not_hold_the_team_up(self) -> None:
        exporter = _BlockedExporter()
        processor = BatchSpanProcessor(exporter, max_queue_size=8, max_export_batch_size=1)
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        try:
            with self.observe(team) as observer:
                observer.tracer_provider.add_span_processor(processor)
                self.run(team)
                assert exporter.reached.wait(_WAIT_S)
                assert not exporter.released.is_set(), "the run ended while the exporter still hung"
        finally:
            exporter.released.set()
            observer.tracer_provider.shutdown()  # joins the exporter's thread
        assert len(observer.trajectory.steps) == 4

    def test_a_reply_cut_short_by_the_model_is_kept(self) -> None:
        reply = Reply("It is 4", finish_reason="length")
        team = self.build("single", self.llm([When(agent="solo").then(reply)]))
        with self.observe(team) as observer:
            self.ending("run", team)
        assert observer.trajectory.steps[0].content == "It is 4"


def _names(error: type) -> Iterator[str]:
    """Full names of the class and of those that clients derive from it: LangChain's, for one, has its own."""
    yield f"{error.__module__}.{error.__qualname__}"
    derived: type
    for derived in error.__subclasses__():
        yield from _names(derived)


def _bug(*args: Any, **kwargs: Any) -> None:
    raise RuntimeError("our bug")


class _FailingExporter(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        raise OSError("the collector is gone")


class _BlockedExporter(SpanExporter):
    def __init__(self) -> None:
        self.reached, self.released = threading.Event(), threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.reached.set()
        self.released.wait(_WAIT_S)
        return SpanExportResult.SUCCESS
