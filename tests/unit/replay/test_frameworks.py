"""Replay in corners of the frameworks that the contract kit does not reach."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tracer_hooks.replay import Tape, TapePlayer, tape_of
from tracer_hooks.schema import Trajectory
from tracer_hooks.testing import Reply, ScriptedLLM, ToolCallReply, When, observed


def record(team: Any, conduct: Any) -> tuple[Any, Trajectory, Tape]:
    with observed(team) as observer:
        result = conduct(team)
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


# --- AutoGen --------------------------------------------------------------------------------------------------------
def test_an_agent_as_a_tool_acts_again_with_its_replies_from_the_tape() -> None:
    pytest.importorskip("autogen_agentchat")
    from autogen_agentchat.agents import AssistantAgent
    from autogen_agentchat.teams import RoundRobinGroupChat
    from autogen_agentchat.tools import AgentTool
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    abilities = dict.fromkeys(("function_calling", "json_output", "structured_output"), True)
    info: Any = {**abilities, "vision": False, "family": "unknown"}

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

    asks = Reply(tool_calls=[ToolCallReply("expert", {"task": "Find it."})])
    rules = [
        When(agent="lead", tool_result="").then("In short, 42."),
        When(agent="lead").then(asks),
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
