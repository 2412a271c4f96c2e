"""Tool calls: results, failures, attempts, the cache, what runs inside them, and the seam that replaces them."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from crewai.hooks import HookAborted, InterceptionPoint, register_hook, unregister_hook
from crewai.tools import BaseTool, tool

from tracer_hooks.errors import TapeMismatchError
from tracer_hooks.frameworks import Intervention, RecordReplies, ReplaceToolReply, ToolReply, ToolRequest
from tracer_hooks.schema import StepKind
from tracer_hooks.telemetry import current_invocation
from tracer_hooks.testing._observing import observed, span_tree

from ._crews import ADAPTER, Lookup, Scripted, brief, calls, final, react, team

QUERY = {"query": "q"}


def _asks(native: bool, *requested: dict[str, Any], end: str = "done") -> Scripted:
    answers: list[Any] = [
        calls(("lookup", arguments), start=n) if native else react("lookup", arguments)
        for n, arguments in enumerate(requested, 1)
    ]
    return Scripted.of(native=native, ann=[*answers, end if native else final(end)])


@pytest.mark.parametrize("native", [True, False])
def test_result_and_arguments(native: bool) -> None:
    lookup = Lookup("It is 42.")
    with observed(built := team(_asks(native, QUERY), "ann", tools=[lookup.tool]), adapter=ADAPTER) as seen:
        built.kickoff(inputs={"task": "x"})
    (call,) = seen.trajectory.steps[0].tool_calls
    assert (call.name, call.arguments, call.result, call.error) == ("lookup", QUERY, "It is 42.", None)
    assert call.attempts == 1
    assert call.call_id == ("call_1" if native else None)


def test_failing_tool_on_the_native_path() -> None:
    lookup = Lookup(fails=1)
    with observed(built := team(_asks(True, QUERY), "ann", tools=[lookup.tool]), adapter=ADAPTER) as seen:
        assert built.kickoff(inputs={"task": "x"}).raw == "done"
    step = seen.trajectory.steps[0]
    assert step.kind is StepKind.TOOL_CALL
    assert step.tool_calls[0].error == "boom q"
    assert "boom q" in (step.tool_calls[0].result or "")
    span = next(span for span in seen.spans if span.name == "execute_tool lookup")
    assert span.attributes["error.type"] == "ValueError"
    assert not span.status.is_unset


def test_six_attempts_of_the_react_path_are_one_tool_call() -> None:
    lookup = Lookup(fails=99)
    with observed(built := team(_asks(False, QUERY), "ann", tools=[lookup.tool]), adapter=ADAPTER) as seen:
        built.kickoff(inputs={"task": "x"})
    assert len(lookup.calls) == 6
    (call,) = seen.trajectory.steps[0].tool_calls
    assert (call.attempts, call.error) == (6, "boom q")
    assert "boom q" in (call.result or "")
    assert sum(span.name == "execute_tool lookup" for span in seen.spans) == 6


def test_attempt_that_succeeds_makes_the_call_succeed() -> None:
    lookup = Lookup("It is 42.", fails=3)
    with observed(built := team(_asks(False, QUERY), "ann", tools=[lookup.tool]), adapter=ADAPTER) as seen:
        built.kickoff(inputs={"task": "x"})
    (call,) = seen.trajectory.steps[0].tool_calls
    assert (call.attempts, call.error, call.result) == (4, None, "It is 42.")


@pytest.mark.parametrize("native", [True, False])
def test_result_from_the_cache_is_a_tool_call_too(native: bool) -> None:
    lookup = Lookup("It is 42.")
    llm = _asks(native, QUERY, {"query": "other"}, QUERY)
    with observed(built := team(llm, "ann", tools=[lookup.tool], cache=True), adapter=ADAPTER) as seen:
        built.kickoff(inputs={"task": "x"})
    assert lookup.calls == ["q", "other"]
    results = [step.tool_calls[0].result or "" for step in seen.trajectory.steps[:3]]
    assert [result.splitlines()[0] for result in results] == ["It is 42."] * 3  # CrewAI may add a reminder below


def test_failure_that_a_tool_reports_is_an_error() -> None:
    failure = pytest.importorskip("crewai.tools.tool_failure")  # not in 1.15.3
    lookup = Lookup(failure.ToolFailure(message="channel not found", code="404"))
    with observed(built := team(_asks(True, QUERY), "ann", tools=[lookup.tool]), adapter=ADAPTER) as seen:
        built.kickoff(inputs={"task": "x"})
    assert seen.trajectory.steps[0].tool_calls[0].error == "channel not found"


def test_tool_that_does_not_exist() -> None:
    llm = Scripted.of(native=True, ann=[calls(("nonsense", {"a": 1})), "done"])
    with observed(built := team(llm, "ann", tools=[Lookup().tool]), adapter=ADAPTER) as seen:
        built.kickoff(inputs={"task": "x"})
    (call,) = seen.trajectory.steps[0].tool_calls
    assert (call.name, call.arguments) == ("nonsense", {"a": 1})
    assert call.error is not None


def test_arguments_that_are_no_json() -> None:
    bad = [{"id": "call_1", "type": "function", "function": {"name": "lookup", "arguments": "{not json"}}]
    llm = Scripted.of(native=True, ann=[bad, "done"])
    with observed(built := team(llm, "ann", tools=[Lookup().tool]), adapter=ADAPTER) as seen:
        built.kickoff(inputs={"task": "x"})
    (call,) = seen.trajectory.steps[0].tool_calls
    assert call.arguments == "{not json"
    assert "JSON" in (call.result or "")


def test_parallel_calls_of_one_reply_are_one_step_with_their_own_ids() -> None:
    meet = threading.Barrier(3)

    @tool("lookup")
    def lookup(query: str) -> str:
        """Look a number up."""
        meet.wait(timeout=20)
        return f"found {query}"

    asked = calls(*(("lookup", {"query": q}) for q in "abc"))
    llm = Scripted.of(native=True, ann=[asked, "done"])
    with observed(built := team(llm, "ann", tools=[lookup]), adapter=ADAPTER) as seen:
        built.kickoff(inputs={"task": "x"})
    step = seen.trajectory.steps[0]
    assert [(c.call_id, c.result) for c in step.tool_calls] == [
        ("call_1", "found a"), ("call_2", "found b"), ("call_3", "found c"),
    ]  # fmt: skip
    assert len(seen.trajectory.steps) == 2


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("asynchronous", [True, False])
def test_spans_of_the_user_nest_inside_the_tool(native: bool, asynchronous: bool) -> None:
    inside: list[str] = []

    class Looks(BaseTool):
        name: str = "lookup"
        description: str = "Look a number up."

        def _run(self, query: str) -> Any:
            if asynchronous:
                return self._later()
            self._note()
            return "42"

        async def _later(self) -> str:
            await asyncio.sleep(0)
            self._note()
            return "42"

        def _note(self) -> None:
            current = current_invocation()
            assert current is not None
            inside.append(current.span_name)
            with seen.tracer_provider.get_tracer("user").start_as_current_span("user work"):
                pass

    with observed(built := team(_asks(native, QUERY), "ann", tools=[Looks()]), adapter=ADAPTER) as seen:
        built.kickoff(inputs={"task": "x"})
    assert inside == ["execute_tool lookup"]
    assert "    execute_tool lookup [0]\n      user work\n    chat fake [1]" in span_tree(seen.spans)


def test_result_as_answer_needs_no_further_step() -> None:
    @tool("lookup", result_as_answer=True)
    def lookup(query: str) -> str:
        """Look a number up."""
        return "It is 42."

    with observed(built := team(_asks(True, QUERY), "ann", tools=[lookup]), adapter=ADAPTER) as seen:
        assert built.kickoff(inputs={"task": "x"}).raw == "It is 42."
    assert brief(seen.trajectory) == [("ann", "tool_call", "")]


@pytest.mark.parametrize("native", [True, False])
def test_tool_that_a_users_hook_blocks_is_no_error(native: bool) -> None:
    lookup = Lookup()

    def block(_: Any) -> bool:
        return False

    def abort(_: Any) -> None:
        raise HookAborted("not today")

    for hook in (block, abort):
        built = team(_asks(native, QUERY), "ann", tools=[lookup.tool])
        with observed(built, adapter=ADAPTER) as seen:
            register_hook(InterceptionPoint.PRE_TOOL_CALL, hook)
            try:
                built.kickoff(inputs={"task": "x"})
            finally:
                unregister_hook(InterceptionPoint.PRE_TOOL_CALL, hook)
        assert lookup.calls == []
        (call,) = seen.trajectory.steps[0].tool_calls
        assert call.error is None
        assert "blocked" in (call.result or "")


def test_no_span_is_left_open_when_the_failure_policy_ends_the_run() -> None:
    failure = pytest.importorskip("crewai.tools.tool_failure")  # not in 1.15.3
    policy = failure.ToolFailurePolicy.RAISE
    built = team(_asks(True, QUERY), "ann", tools=[Lookup(fails=1).tool], tool_failure_policy=policy)
    with observed(built, adapter=ADAPTER) as seen, pytest.raises(failure.ToolExecutionFailedError):
        built.kickoff(inputs={"task": "x"})
    assert seen.trajectory.steps[0].tool_calls[0].error == "boom q"
    assert len(seen.trajectory.steps) == 1
    assert {span.name for span in seen.spans} == {
        "invoke_workflow team", "invoke_agent ann", "chat fake", "execute_tool lookup",
    }  # fmt: skip


def test_arguments_that_cannot_be_serialised_do_no_harm() -> None:
    @tool("lookup")
    def lookup(query: str) -> Any:
        """Look a number up."""
        return {"lock": threading.Lock(), "bytes": b"\xff"}

    with observed(built := team(_asks(True, QUERY), "ann", tools=[lookup]), adapter=ADAPTER) as seen:
        assert built.kickoff(inputs={"task": "x"}).raw == "done"
    assert "lock" in (seen.trajectory.steps[0].tool_calls[0].result or "")


# --- intervening ---------------------------------------------------------------------------------------------------
class Meddle(Intervention):
    def __init__(self, answer: ToolReply | dict[str, Any]) -> None:
        self.answer = answer
        self.requests: list[ToolRequest] = []

    def before_tool(self, request: ToolRequest) -> Any:
        self.requests.append(request)
        if isinstance(self.answer, ToolReply):
            return self.answer
        return ToolRequest(agent=request.agent, name=request.name, arguments=self.answer, call_id=request.call_id)


@pytest.mark.parametrize("native", [True, False])
def test_supplied_result_takes_the_tools_place(native: bool) -> None:
    lookup, meddle, llm = Lookup(), Meddle(ToolReply(content="It is 41.")), _asks(native, QUERY)
    built = team(llm, "ann", tools=[lookup.tool])
    with observed(built, adapter=ADAPTER, intervention=meddle) as seen:
        built.kickoff(inputs={"task": "x"})
    assert lookup.calls == []
    assert "It is 41." in str(llm.seen[1])
    assert seen.trajectory.steps[0].tool_calls[0].result == "It is 41."
    (request,) = meddle.requests
    assert (request.agent, request.name, request.arguments, request.step) == ("ann", "lookup", QUERY, 0)


@pytest.mark.parametrize("native", [True, False])
def test_supplied_failure_is_an_error(native: bool) -> None:
    meddle = Meddle(ToolReply(content="no network", is_error=True))
    built = team(_asks(native, QUERY), "ann", tools=[Lookup().tool])
    with observed(built, adapter=ADAPTER, intervention=meddle) as seen:
        built.kickoff(inputs={"task": "x"})
    assert seen.trajectory.steps[0].tool_calls[0].error == "no network"


@pytest.mark.parametrize("native", [True, False])
def test_changed_arguments_reach_the_tool(native: bool) -> None:
    lookup = Lookup()
    built = team(_asks(native, QUERY), "ann", tools=[lookup.tool])
    with observed(built, adapter=ADAPTER, intervention=Meddle({"query": "changed"})) as seen:
        built.kickoff(inputs={"task": "x"})
    assert lookup.calls == ["changed"]
    assert seen.trajectory.steps[0].tool_calls[0].arguments == {"query": "changed"}


@pytest.mark.parametrize("native", [True, False])
def test_replaced_result_is_what_the_agent_sees(native: bool) -> None:
    llm = _asks(native, QUERY)
    change = ReplaceToolReply(lambda request: request.step == 0, lambda _: ToolReply(content="It is 40."))
    with observed(built := team(llm, "ann", tools=[Lookup().tool]), adapter=ADAPTER, intervention=change) as seen:
        built.kickoff(inputs={"task": "x"})
    assert "It is 40." in str(llm.seen[1])
    assert seen.trajectory.steps[0].tool_calls[0].result == "It is 40."


def test_recorded_failures_say_that_they_are_failures() -> None:
    record = RecordReplies()
    built = team(_asks(True, QUERY), "ann", tools=[Lookup(fails=1).tool])
    with observed(built, adapter=ADAPTER, intervention=record):
        built.kickoff(inputs={"task": "x"})
    assert [(reply.is_error, "boom q" in reply.content) for _, reply in record.tools] == [(True, True)]


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("when", ["before_tool", "after_tool"])
def test_replay_that_left_its_record_stops_the_run(native: bool, when: str) -> None:
    def leave(*_: Any) -> None:
        raise TapeMismatchError("left the record")

    strict = Intervention()
    setattr(strict, when, leave)
    built = team(_asks(native, QUERY), "ann", tools=[Lookup().tool])
    with observed(built, adapter=ADAPTER, intervention=strict), pytest.raises(TapeMismatchError):
        built.kickoff(inputs={"task": "x"})
