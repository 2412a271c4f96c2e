"""Model calls: what is recorded of them, how they fail, and the seam that replaces them."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest
from crewai import BaseLLM
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
from tracer_hooks.testing._observing import observed, span_tree
from tracer_hooks_crewai._convert import to_messages, to_native
from tracer_hooks_crewai._turns import usage_of

from ._crews import ADAPTER, Lookup, Scripted, agent, brief, calls, crew, final, kicked_off, react, task, team


def test_calls_of_one_model_at_the_same_time_claim_no_usage_of_each_other() -> None:
    meet = threading.Barrier(2)

    def answer(_: Any) -> str:
        meet.wait(timeout=20)
        return final("done")

    llm = Scripted.of(left=answer, right=answer, last=final("end"))
    agents = [agent(role, llm) for role in ("left", "right", "last")]
    first = [task(agents[0], async_execution=True), task(agents[1], async_execution=True)]
    seen = kicked_off(crew(agents, [*first, task(agents[2], context=first)]))
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


def test_model_that_asks_another_model_is_one_call() -> None:
    class Outer(Scripted):
        def call(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            return super().call(messages, *args, **kwargs) + inner.call("again?")

    inner = Scripted.of(any="!")
    outer = Outer(model="outer")
    outer._answers = {"ann": [final("done")]}
    seen = kicked_off(team(outer, "ann"))
    assert brief(seen.trajectory) == [("ann", "message", "done!")]


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
    seen = kicked_off(crew([ann], [task(ann, response_model=Number)]))
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
def test_recorded_replies_replay_to_the_same_run(native: bool) -> None:
    def build(llm: Scripted) -> Any:
        return team(llm, "ann", "bob", tools=[Lookup().tool])

    answers: dict[str, Any] = (
        {"ann": [calls(("lookup", {"query": "q"})), "It is 42."], "bob": "So 42."}
        if native
        else {"ann": [react("lookup", {"query": "q"}), final("It is 42.")], "bob": final("So 42.")}
    )
    record = RecordReplies()
    seen = kicked_off(build(Scripted.of(native=native, **answers)), intervention=record)
    supply = Supply(*(reply for _, reply in record.models))
    silent = Scripted.of(native=native, ann="never", bob="never")
    with observed(again := build(silent), adapter=ADAPTER, intervention=supply) as replayed:
        again.kickoff(inputs={"task": "x"})
    assert silent.seen == []
    assert brief(replayed.trajectory) == brief(seen.trajectory)
    assert supply.requests[0].digest() == record.models[0][0].digest()


def test_a_prefix_on_a_react_action_keeps_the_action() -> None:
    lookup = Lookup()
    llm = Scripted.of(ann=[react("lookup", {"query": "q"}, thought="look"), final("It is 42.")])
    seen = kicked_off(team(llm, "ann", tools=[lookup.tool]), intervention=ReplaceModelReply.prefix(0, "Hm: "))
    assert lookup.calls == ["q"]
    assert brief(seen.trajectory)[0] == ("ann", "tool_call", "Hm: look")


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
        (
            {"input_tokens": 9, "cached_prompt_tokens": 4, "cache_creation_tokens": 2, "reasoning_tokens": 3},
            Usage(input_tokens=9, cache_read_tokens=4, cache_write_tokens=2, reasoning_tokens=3),
        ),
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
