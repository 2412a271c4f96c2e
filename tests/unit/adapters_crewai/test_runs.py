"""Every entry point gives one run with the same trajectory, and the caller gets CrewAI's own result."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest
from crewai import Crew, Process
from crewai.crews.crew_output import CrewOutput
from crewai.flow import Flow, listen, start
from crewai.flow.async_feedback import HumanFeedbackPending, PendingFeedbackContext
from crewai.types.streaming import CrewStreamingOutput

from tracer_hooks.schema import StepKind
from tracer_hooks.testing import ScriptedLLM, When
from tracer_hooks.testing._observing import observed, span_tree

from ._crews import ADAPTER, Lookup, Scripted, agent, brief, calls, crew, final, kicked_off, react, task, team


def _two() -> Crew:
    return team(Scripted.of(ann=[react("lookup", {"query": "q"}), final("It is 42.")], bob=final("So 42.")),
                "ann", "bob", tools=[Lookup().tool])  # fmt: skip


TWO = [("ann", "tool_call", "I should look."), ("ann", "message", "It is 42."), ("bob", "message", "So 42.")]


@pytest.mark.parametrize("entry", ["kickoff", "kickoff_async", "akickoff"])
async def test_every_entry_point_gives_the_same_run(entry: str) -> None:
    built = _two()
    with observed(built, adapter=ADAPTER) as seen:
        if entry == "kickoff":
            result = await asyncio.to_thread(built.kickoff, inputs={"task": "six times seven"})
        else:
            result = await getattr(built, entry)(inputs={"task": "six times seven"})
    assert isinstance(result, CrewOutput)
    assert result.raw == "So 42."
    assert brief(seen.trajectory) == TWO
    assert seen.trajectory.task == "six times seven"
    assert seen.trajectory.final_output == "So 42."
    assert seen.results[0].text == "So 42."
    assert seen.results[0].native is result
    assert span_tree(seen.spans) == (
        "invoke_workflow team\n"
        "  invoke_agent ann\n"
        "    chat fake [0]\n"
        "    execute_tool lookup [0]\n"
        "    chat fake [1]\n"
        "  invoke_agent bob\n"
        "    chat fake [2]"
    )


@pytest.mark.parametrize("entry", ["kickoff_for_each", "kickoff_for_each_async", "akickoff_for_each"])
async def test_for_each_gives_a_run_for_each_input(entry: str) -> None:
    built = team(Scripted.of(ann=final("done")), "ann")
    inputs = [{"task": "one"}, {"task": "two"}]
    with observed(built, adapter=ADAPTER) as seen:
        if entry == "kickoff_for_each":
            results = await asyncio.to_thread(built.kickoff_for_each, inputs=inputs)
        else:
            results = await getattr(built, entry)(inputs=inputs)
    assert [result.raw for result in results] == ["done", "done"]
    assert sorted(run.task for run in seen.trajectories) == ["one", "two"]
    assert all(brief(run) == [("ann", "message", "done")] for run in seen.trajectories)


def test_own_copies_are_not_hooked_and_hold_nothing_of_ours() -> None:
    built = _two()
    before = dict(vars(built))
    dumped = built.model_dump(mode="python", exclude={"agents", "tasks"})
    with observed(built, adapter=ADAPTER) as seen:
        copied = built.copy()
        kept = {name: value for name, value in vars(built).items() if not name.startswith("__tracer_hooks")}
        assert kept == before
        assert built == built.model_copy()
        assert built.model_dump(mode="python", exclude={"agents", "tasks"}).keys() == dumped.keys()
        assert copied.kickoff(inputs={"task": "x"}).raw == "So 42."
        deep = built.model_copy()
        assert deep.kickoff(inputs={"task": "x"}).raw == "So 42."
    assert seen.runs == []


DELEGATE = {"task": "find it", "context": "all", "coworker": '  "SENIOR   expert" '}


def _hierarchy(llm: Any, **manager: Any) -> Crew:
    expert = agent("Senior Expert", llm)
    return crew([expert], [task(None)], process=Process.hierarchical, **manager)


@pytest.mark.parametrize("by", ["agent", "model"])
@pytest.mark.parametrize("native", [True, False])
def test_delegation_is_a_hand_off_with_the_coworkers_turn_inside(by: str, native: bool) -> None:
    name = "Boss" if by == "agent" else "Crew Manager"
    asks = calls(("delegate_work_to_coworker", DELEGATE)) if native else react("Delegate work to coworker", DELEGATE)
    end, found = ("It is 42.", "Found 42.") if native else (final("It is 42."), final("Found 42."))
    llm = Scripted.of(native=native, **{name: [asks, end], "Senior Expert": found})
    options: dict[str, Any] = {"manager_agent": agent("Boss", llm)} if by == "agent" else {"manager_llm": llm}
    seen = kicked_off(_hierarchy(llm, **options))
    first, second, third = seen.trajectory.steps
    assert (first.agent, first.kind, first.recipient) == (name, StepKind.HANDOFF, "Senior Expert")
    assert first.tool_calls[0].result == "Found 42."
    assert (second.agent, second.content) == ("Senior Expert", "Found 42.")
    assert (third.agent, third.content) == (name, "It is 42.")
    assert span_tree(seen.spans) == (
        "invoke_workflow team\n"
        f"  invoke_agent {name}\n"
        "    chat fake [0]\n"
        "    execute_tool delegate_work_to_coworker [0]\n"
        "      invoke_agent Senior Expert\n"
        "        chat fake [1]\n"
        "    chat fake [2]"
    )


async def test_delegation_in_an_asynchronous_kickoff() -> None:
    llm = Scripted.of(native=True, Boss=[calls(("ask_question_to_coworker",
                      {"question": "q", "context": "c", "coworker": "senior expert"})), "It is 42."],
                      **{"Senior Expert": "Found 42."})  # fmt: skip
    built = _hierarchy(llm, manager_agent=agent("Boss", llm))
    with observed(built, adapter=ADAPTER) as seen:
        await built.akickoff(inputs={"task": "x"})
    assert (seen.trajectory.steps[0].agent, seen.trajectory.steps[0].recipient) == ("Boss", "Senior Expert")
    assert brief(seen.trajectory)[-1] == ("Boss", "message", "It is 42.")


def test_delegation_to_nobody_is_no_hand_off() -> None:
    asks = calls(("delegate_work_to_coworker", {**DELEGATE, "coworker": "nobody"}))
    llm = Scripted.of(native=True, Boss=[asks, "I give up."], **{"Senior Expert": "never"})
    seen = kicked_off(_hierarchy(llm, manager_agent=agent("Boss", llm)))
    assert brief(seen.trajectory) == [("Boss", "tool_call", ""), ("Boss", "message", "I give up.")]


def _flow(llm: Any) -> Flow[Any]:
    class Steps(Flow[Any]):
        name = "steps"

        @start()
        def first(self) -> str:
            return team(llm, "ann").kickoff(inputs={"task": "x"}).raw

        @listen(first)
        async def second(self, before: str) -> str:
            answer = await agent("solo", llm).kickoff_async(f"{before}?")
            return f"{before} {answer.raw} {llm.call('plain')}"

    return Steps()


@pytest.mark.parametrize("entry", ["kickoff", "kickoff_async", "akickoff"])
async def test_flow_is_one_run_with_the_agents_of_its_crews(entry: str) -> None:
    flow = _flow(Scripted.of(ann=final("one"), solo=final("two"), any="three"))
    with observed(flow, adapter=ADAPTER) as seen:
        if entry == "kickoff":
            result = await asyncio.to_thread(flow.kickoff, inputs={"question": "why?"})
        else:
            result = await getattr(flow, entry)(inputs={"question": "why?"})
    assert result == "one two three"
    assert seen.trajectory.task == "why?"
    assert [step[::2] for step in brief(seen.trajectory)] == [("ann", "one"), ("solo", "two"), ("steps", "three")]
    assert {spec.name for spec in seen.trajectory.agents} >= {"ann", "solo"}


def test_flow_that_waits_for_a_human_is_interrupted_and_no_error() -> None:
    class Waits(Flow[Any]):
        @start()
        def ask(self) -> str:  # type: ignore[override]
            context = PendingFeedbackContext(
                flow_id="f", flow_class="Waits", method_name="ask", method_output="?", message="May I?"
            )
            raise HumanFeedbackPending(context=context)

    flow = Waits()
    with observed(flow, adapter=ADAPTER) as seen:
        flow.kickoff()
    assert seen.results[0].interrupted
    assert all(span.status.is_unset for span in seen.spans)


@pytest.mark.parametrize("entry", ["kickoff", "kickoff_async", "akickoff"])
async def test_single_agent_is_a_team(entry: str) -> None:
    solo = agent("solo", Scripted.of(native=True, solo=[calls(("lookup", {"query": "q"})), "It is 42."]),
                 tools=[Lookup().tool])  # fmt: skip
    with observed(solo, adapter=ADAPTER) as seen:
        if entry == "kickoff":
            result = await asyncio.to_thread(solo.kickoff, "Six times seven?")
        else:
            result = await getattr(solo, entry)("Six times seven?")
    assert result.raw == "It is 42."
    assert seen.trajectory.task == "Six times seven?"
    assert brief(seen.trajectory) == [("solo", "tool_call", ""), ("solo", "message", "It is 42.")]


async def test_agents_plain_kickoff_inside_an_event_loop_is_one_run() -> None:
    solo = agent("solo", Scripted.of(solo="It is 42."))
    with observed(solo, adapter=ADAPTER) as seen:
        result = await solo.kickoff("Six times seven?")  # type: ignore[misc] # CrewAI gives a coroutine here
    assert result.raw == "It is 42."
    assert brief(seen.trajectory) == [("solo", "message", "It is 42.")]


def _numbered(n: int) -> Crew:
    return team(Scripted.of(**{f"a{n}": final(f"one {n}"), f"b{n}": final(f"two {n}")}), f"a{n}", f"b{n}")  # type: ignore[arg-type]


async def test_crews_in_one_event_loop_do_not_mix() -> None:
    crews = [_numbered(n) for n in range(3)]
    with observed(crews[0], adapter=ADAPTER) as s0, observed(crews[1], adapter=ADAPTER) as s1:
        await asyncio.gather(*(built.akickoff(inputs={"task": "x"}) for built in crews))
        for n, seen in enumerate((s0, s1)):
            assert [step[::2] for step in brief(seen.trajectory)] == [(f"a{n}", f"one {n}"), (f"b{n}", f"two {n}")]


# --- streams -------------------------------------------------------------------------------------------------------
def _streaming(server: ScriptedLLM) -> Crew:
    from crewai import LLM

    llm = LLM(model="openai/scripted", base_url=server.base_url, api_key="x", max_retries=0)
    return team(llm, "ann", "bob", stream=True)


RULES = (When(agent="ann").then("one two three"), When(agent="bob").then("four five"))


def test_stream_keeps_crewais_object_and_ends_the_run_with_the_last_chunk() -> None:
    with ScriptedLLM(rules=RULES) as server:
        built = _streaming(server)
        with observed(built, adapter=ADAPTER) as seen:
            output = built.kickoff(inputs={"task": "x"})
            assert isinstance(output, CrewStreamingOutput)
            assert seen.runs == []
            text = "".join(chunk.content for chunk in output)
            assert seen.runs[0].ended
        assert text == output.get_full_text() == "one two threefour five"
        assert output.result.raw == "four five"
        assert brief(seen.trajectory) == [("ann", "message", "one two three"), ("bob", "message", "four five")]
        assert seen.results[0].text == "four five"
        assert all(step.usage is not None for step in seen.trajectory.steps)


@pytest.mark.parametrize("entry", ["kickoff_async", "akickoff"])
async def test_asynchronous_stream(entry: str) -> None:
    with ScriptedLLM(rules=RULES) as server:
        built = _streaming(server)
        with observed(built, adapter=ADAPTER) as seen:
            output = await getattr(built, entry)(inputs={"task": "x"})
            text = "".join([chunk.content async for chunk in output])
        assert text == "one two threefour five"
        assert output.result.raw == "four five"
        assert brief(seen.trajectory) == [("ann", "message", "one two three"), ("bob", "message", "four five")]


# --- the team itself -----------------------------------------------------------------------------------------------
def test_hooked_teams_can_be_garbage_collected() -> None:
    built = team(Scripted.of(ann=final("done")), "ann")
    original = vars(Crew)["kickoff"]
    from tracer_hooks.testing._observing import RecordingHost

    patches = ADAPTER.hook(built, RecordingHost(ADAPTER))
    assert vars(Crew)["kickoff"] is not original
    del built
    gc.collect()
    assert vars(Crew)["kickoff"] is original
    patches.undo()
    assert vars(Crew)["kickoff"] is original


def test_watching_finds_a_crew_inside_a_run_of_something_else() -> None:
    outer, inner = team(Scripted.of(ann=final("one")), "ann"), team(Scripted.of(bob=final("two")), "bob")
    found: list[Any] = []
    patches = ADAPTER.watch(found.append)
    inner.kickoff(inputs={"task": "x"})
    assert found == []  # not inside a run
    outer.tasks[0].callback = lambda _output: inner.kickoff(inputs={"task": "x"})
    with observed(outer, adapter=ADAPTER):
        outer.kickoff(inputs={"task": "x"})
    patches.undo()
    assert [team_ is inner for team_ in found] == [True]
