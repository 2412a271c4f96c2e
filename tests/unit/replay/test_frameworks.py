"""Replay in corners of the frameworks that the contract kit does not reach."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tracer_hooks.replay import Tape, TapePlayer, tape_of
from tracer_hooks.schema import Trajectory
from tracer_hooks.testing import Reply, Rule, ScriptedLLM, ToolCallReply, When, observed


def record(team: Any, *conduct: Any) -> tuple[Any, Trajectory, Tape]:
    with observed(team) as observer:
        result = conduct[0](team)
    return result, observer.trajectory, tape_of(observer.runs[0])


def play(team: Any, tape: Tape, conduct: Any) -> tuple[Any, Trajectory]:
    player = TapePlayer(Tape.model_validate_json(tape.model_dump_json()))
    with observed(team, intervention=player) as observer:
        result = conduct(team)
    player.finish()
    assert player.live == 0
    return result, observer.trajectory


def said(trajectory: Trajectory) -> list[Any]:
    return [
        (step.agent, step.kind, step.content, step.recipient, [(c.name, c.result, c.error) for c in step.tool_calls])
        for step in trajectory.steps
    ]


def uses_tool(agent: str, name: str, arguments: Mapping[str, Any], text: str) -> Sequence[Rule]:
    asks = Reply(tool_calls=[ToolCallReply(name, arguments)])
    return When(agent=agent, tool_result="").then(text), When(agent=agent).then(asks)


# --- CrewAI ---------------------------------------------------------------------------------------------------------
def test_a_react_loop_is_replayed_in_the_model_s_own_words() -> None:
    crewai = pytest.importorskip("crewai")
    from crewai.tools import tool

    called: list[str] = []

    class Reacting(crewai.BaseLLM):  # type: ignore[name-defined, misc]
        """A model without function calling, whose layout is not the one that we would write."""

        texts: list[str] = []

        def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
            return self.texts.pop(0)

        def supports_function_calling(self) -> bool:
            return False

    @tool("look")
    def look(at: str) -> str:
        """Look something up."""
        called.append(at)
        return "It is 42."

    def build(*texts: str) -> Any:
        agent = crewai.Agent(
            role="solo", goal="g", backstory="b", llm=Reacting(model="own", texts=[*texts]), tools=[look], verbose=False
        )
        task = crewai.Task(description="{task}", expected_output="An answer.", agent=agent)
        return crewai.Crew(name="react", agents=[agent], tasks=[task], verbose=False)

    def kickoff(team: Any) -> str:
        return str(team.kickoff(inputs={"task": "What?"}).raw)

    action = 'Thought:   I should look.\n\nAction:  look\nAction Input:  {"at":   "x"}'
    first, trajectory, tape = record(build(action, "Thought: I know.\nFinal Answer: 42, clearly."), kickoff)
    assert (first, called) == ("42, clearly.", ["x"])
    second, again = play(build(), tape, kickoff)
    assert (second, called) == (first, ["x"])
    assert said(again) == said(trajectory)


# --- LangGraph ------------------------------------------------------------------------------------------------------
def test_a_tool_error_that_the_node_words_is_worded_again() -> None:
    pytest.importorskip("langgraph")
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    called: list[str] = []

    @tool
    def look(at: str) -> str:
        """Look something up."""
        called.append(at)
        raise LookupError(f"nothing at {at}")

    def build(llm: ScriptedLLM) -> Any:
        model = ChatOpenAI(model="m", base_url=llm.base_url, api_key=llm.api_key, max_retries=0).bind_tools([look])  # type: ignore[arg-type]
        graph = StateGraph(MessagesState)
        graph.add_node("solo", lambda state: {"messages": [model.invoke(state["messages"])]})
        graph.add_node("tools", ToolNode([look], handle_tool_errors=True))
        graph.add_edge(START, "solo")
        graph.add_conditional_edges("solo", tools_condition)
        graph.add_edge("tools", "solo")
        return graph.compile(name="g")

    def invoke(team: Any) -> list[str]:
        return [str(message.content) for message in team.invoke({"messages": [("user", "What?")]})["messages"]]

    asks = Reply(tool_calls=[ToolCallReply("look", {"at": "x"})])
    with ScriptedLLM(rules=[When(tool_result="").then("Not found."), When().then(asks)]) as llm:
        first, trajectory, tape = record(build(llm), invoke)
    assert "LookupError" in first[2]
    assert called == ["x"]
    with ScriptedLLM() as silent:
        second, again = play(build(silent), tape, invoke)
        assert silent.calls == 0
    assert (second, called) == (first, ["x"])
    assert said(again) == said(trajectory)


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_a_node_that_streams_its_model_gets_the_same_pieces(asynchronous: bool) -> None:
    pytest.importorskip("langgraph")
    from langchain_openai import ChatOpenAI
    from langgraph.graph import START, MessagesState, StateGraph

    def build(llm: ScriptedLLM) -> Any:
        model = ChatOpenAI(model="m", base_url=llm.base_url, api_key=llm.api_key, max_retries=0)  # type: ignore[arg-type]

        def joined(pieces: Sequence[Any]) -> dict[str, Any]:
            whole = pieces[0]
            for piece in pieces[1:]:
                whole += piece
            assert whole.usage_metadata["total_tokens"] == 5
            texts = [str(piece.content) for piece in pieces if piece.content]
            return {"messages": [("ai", "|".join(texts))]}

        def solo(state: Any) -> Any:
            return joined(list(model.stream(state["messages"], stream_usage=True)))

        async def asolo(state: Any) -> Any:
            return joined([piece async for piece in model.astream(state["messages"], stream_usage=True)])

        graph = StateGraph(MessagesState)
        graph.add_node("solo", asolo if asynchronous else solo)
        graph.add_edge(START, "solo")
        return graph.compile(name="g")

    def invoke(team: Any) -> str:
        inputs = {"messages": [("user", "What?")]}
        state = asyncio.run(team.ainvoke(inputs)) if asynchronous else team.invoke(inputs)
        return str(state["messages"][-1].content)

    with ScriptedLLM([Reply("It is 42.", chunks=["It ", "is", " 42."], usage=(3, 2))]) as llm:
        first, _, tape = record(build(llm), invoke)
    assert first == "It |is| 42."
    with ScriptedLLM() as silent:
        assert play(build(silent), tape, invoke)[0] == first
        assert silent.calls == 0


# --- AutoGen --------------------------------------------------------------------------------------------------------
def test_an_agent_as_a_tool_acts_again_with_its_replies_from_the_tape() -> None:
    pytest.importorskip("autogen_agentchat")
    from autogen_agentchat.agents import AssistantAgent
    from autogen_agentchat.teams import RoundRobinGroupChat
    from autogen_agentchat.tools import AgentTool
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    info: Any = {
        "vision": False,
        "function_calling": True,
        "json_output": True,
        "family": "unknown",
        "structured_output": True,
    }

    def build(llm: ScriptedLLM) -> Any:
        client = OpenAIChatCompletionClient(
            model="m", base_url=llm.base_url, api_key=llm.api_key, model_info=info, max_retries=0
        )
        expert = AssistantAgent("expert", client, description="Knows.", system_message="You are the expert.")
        lead = AssistantAgent(
            "lead", client, system_message="You are the lead.", tools=[AgentTool(expert)], reflect_on_tool_use=True
        )
        return RoundRobinGroupChat([lead], name="t", max_turns=1)

    def conduct(team: Any) -> list[str]:
        return [message.to_text() for message in asyncio.run(team.run(task="What?")).messages]

    rules = [
        *uses_tool("lead", "expert", {"task": "Find it."}, "In short, 42."),
        When(agent="expert").then("It is 42."),
    ]
    with ScriptedLLM(rules=rules) as llm:
        first, trajectory, tape = record(build(llm), conduct)
    assert [call.is_routing for call in tape.tool_calls] == [True]
    assert [call.agent for call in tape.model_calls] == ["lead", "expert", "lead"]
    with ScriptedLLM() as silent:
        second, again = play(build(silent), tape, conduct)
        assert silent.calls == 0
    assert second == first
    assert said(again) == said(trajectory)
