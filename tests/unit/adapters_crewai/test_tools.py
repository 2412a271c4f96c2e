"""Tool calls: results, failures, attempts, the cache, what runs inside them, and the seam that replaces them."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from crewai.hooks import HookAborted, InterceptionPoint, register_hook, unregister_hook
from crewai.tools import tool

from tracer_hooks.errors import TapeMismatchError
from tracer_hooks.frameworks import Intervention, RecordReplies, ReplaceToolReply, ToolReply, ToolRequest
from tracer_hooks.testing._observing import observed

from ._crews import ADAPTER, Lookup, Scripted, brief, calls, final, kicked_off, react, team

QUERY = {"query": "q"}


def _asks(native: bool, *requested: dict[str, Any], end: str = "done") -> Scripted:
    answers: list[Any] = [
        calls(("lookup", arguments), start=n) if native else react("lookup", arguments)
        for n, arguments in enumerate(requested, 1)
    ]
    return Scripted.of(native=native, ann=[*answers, end if native else final(end)])


def test_six_attempts_of_the_react_path_are_one_tool_call() -> None:
    lookup = Lookup(fails=99)
    seen = kicked_off(team(_asks(False, QUERY), "ann", tools=[lookup.tool]))
    assert len(lookup.calls) == 6
    (call,) = seen.trajectory.steps[0].tool_calls
    assert (call.attempts, call.error) == (6, "boom q")
    assert "boom q" in (call.result or "")
    assert sum(span.name == "execute_tool lookup" for span in seen.spans) == 6


@pytest.mark.parametrize("native", [True, False])
def test_result_from_the_cache_is_a_tool_call_too(native: bool) -> None:
    lookup = Lookup("It is 42.")
    llm = _asks(native, QUERY, {"query": "other"}, QUERY)
    seen = kicked_off(team(llm, "ann", tools=[lookup.tool], cache=True))
    assert lookup.calls == ["q", "other"]
    results = [step.tool_calls[0].result or "" for step in seen.trajectory.steps[:3]]
    assert [result.splitlines()[0] for result in results] == ["It is 42."] * 3  # CrewAI may add a reminder below


def test_failure_that_a_tool_reports_is_an_error() -> None:
    failure = pytest.importorskip("crewai.tools.tool_failure")  # not in 1.15.3
    lookup = Lookup(failure.ToolFailure(message="channel not found", code="404"))
    seen = kicked_off(team(_asks(True, QUERY), "ann", tools=[lookup.tool]))
    assert seen.trajectory.steps[0].tool_calls[0].error == "channel not found"


def test_arguments_that_are_no_json() -> None:
    bad = [{"id": "call_1", "type": "function", "function": {"name": "lookup", "arguments": "{not json"}}]
    llm = Scripted.of(native=True, ann=[bad, "done"])
    seen = kicked_off(team(llm, "ann", tools=[Lookup().tool]))
    (call,) = seen.trajectory.steps[0].tool_calls
    assert call.arguments == "{not json"
    assert "JSON" in (call.result or "")


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
    seen = kicked_off(team(llm, "ann", tools=[lookup.tool]), intervention=meddle)
    assert lookup.calls == []
    assert "It is 41." in str(llm.seen[1])
    assert seen.trajectory.steps[0].tool_calls[0].result == "It is 41."
    (request,) = meddle.requests
    assert (request.agent, request.name, request.arguments, request.step) == ("ann", "lookup", QUERY, 0)


@pytest.mark.parametrize("native", [True, False])
def test_supplied_failure_is_an_error(native: bool) -> None:
    meddle = Meddle(ToolReply(content="no network", is_error=True))
    seen = kicked_off(team(_asks(native, QUERY), "ann", tools=[Lookup().tool]), intervention=meddle)
    assert seen.trajectory.steps[0].tool_calls[0].error == "no network"


@pytest.mark.parametrize("native", [True, False])
def test_changed_arguments_reach_the_tool(native: bool) -> None:
    lookup = Lookup()
    built = team(_asks(native, QUERY), "ann", tools=[lookup.tool])
    seen = kicked_off(built, intervention=Meddle({"query": "changed"}))
    assert lookup.calls == ["changed"]
    assert seen.trajectory.steps[0].tool_calls[0].arguments == {"query": "changed"}


@pytest.mark.parametrize("native", [True, False])
def test_replaced_result_is_what_the_agent_sees(native: bool) -> None:
    llm = _asks(native, QUERY)
    change = ReplaceToolReply(lambda request: request.step == 0, lambda _: ToolReply(content="It is 40."))
    seen = kicked_off(team(llm, "ann", tools=[Lookup().tool]), intervention=change)
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
