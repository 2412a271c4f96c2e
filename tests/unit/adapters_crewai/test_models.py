"""Model calls: what is recorded of them, how they fail, and the seam that replaces them."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest
from crewai import LLM, BaseLLM, Task
from crewai.flow.flow import Flow, start
from crewai.hooks import HookAborted, InterceptionPoint, register_hook, unregister_hook
from crewai.llms import base_llm
from pydantic import BaseModel

from tracer_hooks.errors import TapeMismatchError
from tracer_hooks.frameworks import (
    Intervention,
    ModelRequest,
    RecordReplies,
    ReplaceModelReply,
    RewriteInstructions,
)
from tracer_hooks.schema import StepKind, Usage
from tracer_hooks.telemetry import ChatReply, RequestedTool, message_text, text_message
from tracer_hooks.testing import ErrorReply, Reply, ScriptedLLM, ToolCallReply, When
from tracer_hooks.testing._observing import observed, span_tree
from tracer_hooks_crewai._convert import to_messages, to_native, to_reply
from tracer_hooks_crewai._turns import usage_of

from ._crews import ADAPTER, Lookup, Scripted, agent, brief, calls, crew, final, react, task, team


def _server_llm(server: ScriptedLLM, **options: Any) -> LLM:
    return LLM(model="openai/scripted", base_url=server.base_url, api_key="x", max_retries=0, **options)


def test_openai_provider_gives_messages_tools_and_usage() -> None:
    asked = Reply(tool_calls=[ToolCallReply("lookup", {"query": "six"})], usage=(11, 3))
    rules = [When(tool_result="").then(Reply("It is 42.", usage=(20, 5))), When().then(asked)]
    with ScriptedLLM(rules=rules) as server:
        built = team(_server_llm(server), "ann", tools=[Lookup().tool])
        with observed(built, adapter=ADAPTER) as seen:
            built.kickoff(inputs={"task": "x"})
    first, second = seen.trajectory.steps
    assert first.kind is StepKind.TOOL_CALL
    assert (first.tool_calls[0].name, first.tool_calls[0].arguments) == ("lookup", {"query": "six"})
    assert first.tool_calls[0].call_id
    assert first.usage == Usage(input_tokens=11, output_tokens=3)
    assert (second.content, second.usage) == ("It is 42.", Usage(input_tokens=20, output_tokens=5))
    assert second.model == "scripted"
    chat = next(span for span in seen.spans if span.name == "chat scripted")
    assert chat.attributes["gen_ai.response.finish_reasons"] == ("tool_calls",)
    assert chat.attributes["gen_ai.provider.name"] == "openai"


def test_own_model_class_has_usage_without_events_and_sharing_does_not_double_it() -> None:
    llm = Scripted.of(ann=final("one"), bob=final("two"))
    built = team(llm, "ann", "bob")
    with observed(built, adapter=ADAPTER) as seen:
        built.kickoff(inputs={"task": "x"})
    assert [step.usage for step in seen.trajectory.steps] == [Usage(input_tokens=10, output_tokens=5)] * 2


def test_calls_of_one_model_at_the_same_time_claim_no_usage_of_each_other() -> None:
    meet = threading.Barrier(2)

    def answer(_: Any) -> str:
        meet.wait(timeout=20)
        return final("done")

    llm = Scripted.of(left=answer, right=answer, last=final("end"))
    agents = [agent(role, llm) for role in ("left", "right", "last")]
    first = [task(agents[0], async_execution=True), task(agents[1], async_execution=True)]
    built = crew(agents, [*first, task(agents[2], context=first)])
    with observed(built, adapter=ADAPTER) as seen:
        built.kickoff(inputs={"task": "x"})
    assert [step.usage for step in seen.trajectory.steps[:2]] == [None, None]
    assert seen.trajectory.steps[2].usage == Usage(input_tokens=10, output_tokens=5)


class Grumpy(Exception):
    pass


@pytest.mark.parametrize("entry", ["kickoff", "akickoff"])
async def test_turn_that_is_started_over_is_another_attempt_at_the_step(entry: str) -> None:
    built = team(Scripted.of(ann=[Grumpy("no"), Grumpy("never"), final("yes")]), "ann")
    with observed(built, adapter=ADAPTER) as seen:
        if entry == "kickoff":
            await asyncio.to_thread(built.kickoff, inputs={"task": "x"})
        else:
            await built.akickoff(inputs={"task": "x"})
    (step,) = seen.trajectory.steps
    assert (step.kind, step.content, step.attempts) == (StepKind.MESSAGE, "yes", 3)
    assert span_tree(seen.spans) == (
        "invoke_workflow team\n"
        "  invoke_agent ann ERROR\n"
        "    chat fake [0] ERROR\n"
        "  invoke_agent ann ERROR\n"
        "    chat fake [0] ERROR\n"
        "  invoke_agent ann\n"
        "    chat fake [0]"
    )


def test_failing_model_reaches_the_caller_and_is_recorded_with_its_own_type() -> None:
    built = team(Scripted.of(ann=Grumpy("no")), "ann")
    with observed(built, adapter=ADAPTER) as seen, pytest.raises(Grumpy):
        built.kickoff(inputs={"task": "x"})
    (step,) = seen.trajectory.steps
    assert (step.kind, step.error, step.attempts) == (StepKind.ERROR, "no", 3)
    failed = [span for span in seen.spans if span.name == "chat fake"]
    assert [span.attributes["error.type"] for span in failed] == ["Grumpy"] * 3


def test_failing_server_is_an_error_step() -> None:
    with ScriptedLLM(default=ErrorReply(status=500, message="overloaded")) as server:
        built = team(_server_llm(server), "ann")
        with observed(built, adapter=ADAPTER) as seen, pytest.raises(Exception, match="overloaded"):
            built.kickoff(inputs={"task": "x"})
    (step,) = seen.trajectory.steps
    assert step.kind is StepKind.ERROR
    assert "overloaded" in (step.error or "")


def test_streaming_model_has_time_to_first_chunk_and_usage() -> None:
    with ScriptedLLM(default="one two three") as server:
        built = team(_server_llm(server, stream=True), "ann")
        with observed(built, adapter=ADAPTER) as seen:
            built.kickoff(inputs={"task": "x"})
    chat = next(span for span in seen.spans if span.name == "chat scripted")
    assert chat.attributes["gen_ai.response.time_to_first_chunk"] >= 0
    assert seen.trajectory.steps[0].usage is not None


def test_model_that_asks_another_model_is_one_call() -> None:
    class Outer(Scripted):
        def call(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            return super().call(messages, *args, **kwargs) + inner.call("again?")

    inner = Scripted.of(any="!")
    outer = Outer(model="outer")
    outer._answers = {"ann": [final("done")]}
    with observed(built := team(outer, "ann"), adapter=ADAPTER) as seen:
        built.kickoff(inputs={"task": "x"})
    assert brief(seen.trajectory) == [("ann", "message", "done!")]


def test_planning_guardrail_and_iteration_limit_are_seen() -> None:
    looks = react("lookup", {"query": "q"})
    llm = Scripted.of(ann=[looks, looks, final("bad"), final("good")])
    ann = agent("ann", llm, tools=[Lookup().tool], max_iter=2)
    checked = Task(description="d", expected_output="e", agent=ann, guardrail=lambda out: (out.raw == "good", out.raw))
    with observed(built := crew([ann], [checked]), adapter=ADAPTER) as seen:
        assert built.kickoff(inputs={"task": "x"}).raw == "good"
    assert brief(seen.trajectory)[-2:] == [("ann", "message", "bad"), ("ann", "message", "good")]
    assert len(seen.trajectory.steps) == 4


def test_planner_joins_the_run() -> None:
    plan = '{"list_of_plans_per_task": [{"task_number": 1, "task": "t", "plan": "do it"}]}'
    llm = Scripted.of(ann=final("done"), any=plan)
    built = team(llm, "ann", planning=True, planning_llm=llm)
    with observed(built, adapter=ADAPTER) as seen:
        built.kickoff(inputs={"task": "x"})
    assert brief(seen.trajectory)[-1] == ("ann", "message", "done")
    assert seen.trajectory.steps[0].agent == "Task Execution Planner"


def test_human_feedback_is_part_of_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    said = iter(["more", ""])
    monkeypatch.setattr("builtins.input", lambda *_: next(said))
    llm = Scripted.of(ann=[final("first"), final("second")])
    ann = agent("ann", llm)
    built = crew([ann], [task(ann, human_input=True)])
    with observed(built, adapter=ADAPTER) as seen:
        assert built.kickoff(inputs={"task": "x"}).raw == "second"
    assert brief(seen.trajectory) == [("ann", "message", "first"), ("ann", "message", "second")]


def test_structured_output_is_kept() -> None:
    class Number(BaseModel):
        value: int

    llm = Scripted.of(ann=[Number(value=42)])
    ann = agent("ann", llm)
    with observed(built := crew([ann], [task(ann, response_model=Number)]), adapter=ADAPTER) as seen:
        built.kickoff(inputs={"task": "x"})
    assert seen.trajectory.steps[0].content == '{"value":42}'


def test_odd_messages_do_no_harm() -> None:
    parts = [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": "data:..."}}, object()]
    calls_nothing = {"role": "assistant", "content": None, "tool_calls": [object()]}
    odd = [
        {"role": "user", "content": parts},
        {"role": None},
        {},
        7,
        calls_nothing,
        {"role": "tool", "content": b"\xff"},
    ]
    messages = to_messages(odd)
    assert message_text(messages[0]).startswith("Look:\n<image_url>\n<object")
    assert len(messages) == len(odd)


def test_odd_replies_do_no_harm() -> None:
    for native in (None, 7, [], [object()], {"a": 1}, b"\xff", object()):
        assert isinstance(to_reply(native).content, str)


@pytest.mark.parametrize("point", [InterceptionPoint.PRE_MODEL_CALL, InterceptionPoint.PRE_STEP])
def test_run_that_a_users_hook_aborts_has_no_error_step(point: InterceptionPoint) -> None:
    def abort(_: Any) -> None:
        raise HookAborted("not today")

    if point is InterceptionPoint.PRE_MODEL_CALL and not hasattr(base_llm, "LLMCallBlockedError"):
        pytest.skip("this CrewAI raises a plain ValueError in the hook's stead")
    built = team(Scripted.of(ann=final("never")), "ann")
    register_hook(point, abort)
    try:
        with observed(built, adapter=ADAPTER) as seen, pytest.raises(HookAborted):
            built.kickoff(inputs={"task": "x"})
    finally:
        unregister_hook(point, abort)
    assert [step.kind for step in seen.trajectory.steps] == []
    assert [span.name for span in seen.spans if not span.status.is_unset] == ["invoke_workflow team"]


# --- intervening ---------------------------------------------------------------------------------------------------
class Supply(Intervention):
    def __init__(self, *replies: ChatReply) -> None:
        self.replies = list(replies)
        self.requests: list[ModelRequest] = []

    def before_model(self, request: ModelRequest) -> ChatReply | None:
        self.requests.append(request)
        return self.replies.pop(0) if self.replies else None


@pytest.mark.parametrize("native", [True, False])
def test_supplied_replies_take_the_models_place(native: bool) -> None:
    lookup, llm = Lookup(), Scripted.of(native=native, ann="never")
    wanted = RequestedTool(id="c1", name="lookup", arguments={"query": "mine"})
    supply = Supply(ChatReply(content="Let me look.", tool_calls=(wanted,)), ChatReply(content="It is 41."))
    built = team(llm, "ann", tools=[lookup.tool])
    with observed(built, adapter=ADAPTER, intervention=supply) as seen:
        result = built.kickoff(inputs={"task": "x"})
    assert llm.seen == []
    assert lookup.calls == ["mine"]
    assert result.raw == "It is 41."
    assert brief(seen.trajectory) == [("ann", "tool_call", "Let me look."), ("ann", "message", "It is 41.")]
    first = supply.requests[0]
    assert (first.agent, first.model, first.step) == ("ann", "fake", 0)
    assert first.tools == (("lookup",) if native else ())


@pytest.mark.parametrize("native", [True, False])
def test_recorded_replies_replay_to_the_same_run(native: bool) -> None:
    def build(llm: Scripted) -> Any:
        return team(llm, "ann", "bob", tools=[Lookup().tool])

    answers: dict[str, Any] = (
        {"ann": [calls(("lookup", {"query": "q"})), "It is 42."], "bob": "So 42."}
        if native
        else {"ann": [react("lookup", {"query": "q"}), final("It is 42.")], "bob": final("So 42.")}
    )
    record = RecordReplies()
    with observed(live := build(Scripted.of(native=native, **answers)), adapter=ADAPTER, intervention=record) as seen:
        live.kickoff(inputs={"task": "x"})
    supply = Supply(*(reply for _, reply in record.models))
    silent = Scripted.of(native=native, ann="never", bob="never")
    with observed(again := build(silent), adapter=ADAPTER, intervention=supply) as replayed:
        again.kickoff(inputs={"task": "x"})
    assert silent.seen == []
    assert brief(replayed.trajectory) == brief(seen.trajectory)
    assert supply.requests[0].digest() == record.models[0][0].digest()


@pytest.mark.parametrize("native", [True, False])
def test_a_replaced_reply_is_what_the_next_agent_gets(native: bool) -> None:
    llm = Scripted.of(native=native, ann="right answer" if native else final("right answer"), bob="ok")
    built = team(llm, "ann", "bob")
    with observed(built, adapter=ADAPTER, intervention=ReplaceModelReply.at_step(0, "wrong answer")) as seen:
        result = built.kickoff(inputs={"task": "x"})
    assert result.tasks_output[0].raw == "wrong answer"
    assert "wrong answer" in str(llm.seen[-1])
    assert "right answer" not in str(llm.seen[-1])
    assert brief(seen.trajectory)[0] == ("ann", "message", "wrong answer")


def test_a_prefix_on_a_react_action_keeps_the_action() -> None:
    lookup = Lookup()
    llm = Scripted.of(ann=[react("lookup", {"query": "q"}, thought="look"), final("It is 42.")])
    built = team(llm, "ann", tools=[lookup.tool])
    with observed(built, adapter=ADAPTER, intervention=ReplaceModelReply.prefix(0, "Hm: ")) as seen:
        built.kickoff(inputs={"task": "x"})
    assert lookup.calls == ["q"]
    assert brief(seen.trajectory)[0] == ("ann", "tool_call", "Hm: look")


def test_rewritten_instructions_reach_the_model_and_not_the_agent() -> None:
    llm = Scripted.of(any="done")
    built = team(llm, "ann")
    with observed(built, adapter=ADAPTER, intervention=RewriteInstructions({"ann": "Be brief."})):
        built.kickoff(inputs={"task": "x"})
    system = llm.seen[0][0]
    assert system["role"] == "system"
    assert system["content"].startswith("You are ann. Be brief.\nYour personal goal is:"), "its other parts stay"
    assert "backstory of ann" in built.agents[0].backstory


def test_placeholders_of_rewritten_instructions_are_filled_in_with_the_inputs_of_the_run() -> None:
    llm = Scripted.of(any="done")
    built = crew([agent("ann", llm, backstory="You solve this for a living: {task}")])
    rewrite = RewriteInstructions({"ann": "Of {task} you solve each line alone."})
    with observed(built, adapter=ADAPTER, intervention=rewrite) as seen:
        for task in ("one\ntwo", "three"):
            built.kickoff(inputs={"task": task})
            assert llm.seen[-1][0]["content"].startswith(
                f"You are ann. Of {task} you solve each line alone.\nYour personal goal is:"
            )
    assert [run.trajectory().instructions_of("ann") for run in seen.runs] == [rewrite.instructions["ann"]] * 2


def test_a_replay_that_left_its_record_stops_the_run() -> None:
    class Strict(Intervention):
        def before_model(self, request: ModelRequest) -> None:
            raise TapeMismatchError("left the record")

    built = team(Scripted.of(ann="never"), "ann")
    with observed(built, adapter=ADAPTER, intervention=Strict()), pytest.raises(TapeMismatchError):
        built.kickoff(inputs={"task": "x"})


async def test_asynchronous_model_calls_can_be_replaced_too() -> None:
    solo = agent("solo", Scripted.of(any="never"))
    with observed(solo, adapter=ADAPTER, intervention=Supply(ChatReply(content="Given."))) as seen:
        result = await solo.kickoff_async("x")
    assert result.raw == "Given."
    assert brief(seen.trajectory) == [("solo", "message", "Given.")]


# --- our own bugs --------------------------------------------------------------------------------------------------
def test_a_bug_of_ours_leaves_the_run_as_it_was(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("our bug")

    monkeypatch.setenv("TRACER_HOOKS_STRICT", "0")
    for place in ("_models.to_messages", "_models.to_reply", "_turns.agent_spec", "_tools.tool_name", "_tools._end",
                  "_turns.usage_of", "_entries.task_text"):  # fmt: skip
        built = team(Scripted.of(native=True, ann=[calls(("lookup", {"query": "q"})), "It is 42."]), "ann",
                     tools=[Lookup().tool])  # fmt: skip
        with monkeypatch.context() as patch, observed(built, adapter=ADAPTER):
            patch.setattr(f"tracer_hooks_crewai.{place}", broken)
            assert built.kickoff(inputs={"task": "x"}).raw == "It is 42.", place
    assert "our bug" in caplog.text


def test_unusual_models_are_covered_when_they_turn_up() -> None:
    solo = agent("solo", Scripted.of(any="early answer"))
    with observed(solo, adapter=ADAPTER) as seen:

        class Later(BaseLLM):
            def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
                return "later answer"

        solo.llm = Later(model="later")
        assert solo.kickoff("x").raw == "later answer"
    assert brief(seen.trajectory) == [("solo", "message", "later answer")]
    assert seen.trajectory.steps[0].model == "later"


class Reworded(Intervention):
    def before_model(self, request: ModelRequest) -> ModelRequest:
        return replace(request, messages=(text_message("user", "other"),))


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_model_that_a_flow_asks_itself_is_observed_in_every_form_of_the_call(is_async: bool) -> None:
    llm = Scripted.of(any="hello")
    shown: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        (([{"role": "user", "content": "x"}],), {}),
        (("x",), {}),
        ((), {"messages": [{"role": "user", "content": "x"}]}),
        ((), {"messages": "x"}),
    ]

    class Asks(Flow[Any]):
        @start()
        async def ask_all(self) -> list[str]:
            return [
                await llm.acall(*args, **kwargs) if is_async else llm.call(*args, **kwargs) for args, kwargs in shown
            ]

    with observed(
        flow := Asks(suppress_flow_events=True), adapter=ADAPTER, intervention=(record := RecordReplies())
    ) as seen:
        assert await flow.kickoff_async() == ["hello"] * 4
    assert [span.name for span in seen.spans].count("chat fake") == 4
    assert [reply.content for _, reply in record.models] == ["hello"] * 4
    with observed(flow := Asks(suppress_flow_events=True), adapter=ADAPTER, intervention=Reworded()):
        await flow.kickoff_async()
    assert [messages[-1]["content"] for messages in llm.seen] == ["x"] * 4 + ["other"] * 4
    taped = ReplaceModelReply(lambda request: True, lambda reply: ChatReply(content="taped"))
    with observed(flow := Asks(suppress_flow_events=True), adapter=ADAPTER, intervention=taped):
        assert await flow.kickoff_async() == ["taped"] * 4
        assert await llm.acall("outside") == "hello"


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 2}, Usage(input_tokens=3, output_tokens=2)),
        ({"input_tokens": 3}, Usage(input_tokens=3)),
        ({"prompt_tokens": -1, "input_tokens": 3}, Usage(input_tokens=3)),
        ({"prompt_tokens": "many"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_counts_of_providers_are_read_under_any_of_their_names(counts: Any, usage: Usage | None) -> None:
    assert usage_of(counts) == usage


class Sum(BaseModel):
    total: int


@pytest.mark.parametrize(
    ("reply", "options", "native"),
    [
        (ChatReply(content='{"total": 42}'), {"response_model": Sum}, Sum(total=42)),
        (ChatReply(content="forty-two"), {"response_model": Sum, "native_tools": True}, "forty-two"),
        (ChatReply(content="forty-two"), {}, "forty-two"),
        (
            ChatReply(content="I look.", tool_calls=(RequestedTool(name="lookup", arguments={"query": "x"}),)),
            {},
            'Thought: I look.\nAction: lookup\nAction Input: {"query": "x"}',
        ),
    ],
)
def test_a_supplied_reply_has_the_form_that_the_agent_expects(reply: ChatReply, options: Any, native: Any) -> None:
    assert to_native(reply, **{"native_tools": False, **options}) == native
