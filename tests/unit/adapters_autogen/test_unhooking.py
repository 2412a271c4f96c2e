"""Everything is put back; and while it is hooked, a team can be saved and dumped as before."""

from __future__ import annotations

import gc
import json
import weakref
from typing import Any

from autogen_agentchat.agents import SocietyOfMindAgent
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat, SelectorGroupChat
from autogen_agentchat.tools import AgentTool
from autogen_core import CancellationToken
from autogen_core.tools import FunctionTool

from tracer_hooks.testing import RecordingHost, observed
from tracer_hooks_autogen import AutoGenAdapter

from ._teams import assistant, calls, replay, texts


def lookup(query: str) -> str:
    """Look something up."""
    return query


def rich_team() -> SelectorGroupChat:
    client = replay(calls(("lookup", '{"query": "x"}')), "two", "three")
    inner = RoundRobinGroupChat([assistant("inner", replay("in"))], name="inner_team", max_turns=1)
    society = SocietyOfMindAgent("society", inner, replay("soc"))
    helper = AgentTool(assistant("helper", replay("h")))
    worker = assistant("worker", client, tools=[lookup, helper], handoffs=["society"])
    return SelectorGroupChat([worker, society], replay("worker"), max_turns=1)


def attributes(things: list[Any]) -> list[dict[str, int]]:
    return [{name: id(value) for name, value in vars(thing).items() if callable(value)} for thing in things]


async def test_a_throwaway_team_is_let_go_of() -> None:
    team = rich_team()
    kept = weakref.ref(team)
    with observed(team):
        await team.run(task="Go")
    hooked = rich_team()
    patches = AutoGenAdapter().hook(hooked, RecordingHost(AutoGenAdapter()))
    alive = weakref.ref(hooked)
    del team, hooked, patches
    gc.collect()
    assert kept() is None
    assert alive() is None


async def test_teams_that_share_agents_may_be_unhooked_in_any_order() -> None:
    shared = assistant("shared", replay("one", "two", "three"), tools=[FunctionTool(lookup, description="d")])
    before = set(vars(shared))
    teams = [RoundRobinGroupChat([shared], max_turns=1) for _ in range(2)]
    first, second = observed(teams[0]), observed(teams[1])
    first_seen, second_seen = first.__enter__(), second.__enter__()
    await teams[0].run(task="Go")
    first.__exit__(None, None, None)
    await teams[1].run(task="Go")
    second.__exit__(None, None, None)
    await teams[0].run(task="Go")
    assert texts(first_seen.trajectory) == ["one"]
    assert texts(second_seen.trajectory) == ["two"]
    assert set(vars(shared)) == before


async def test_an_agent_hooked_alone_and_in_a_team() -> None:
    agent = assistant("solo", replay("one", "two", "three"))
    team = RoundRobinGroupChat([agent], name="team", max_turns=1)
    with observed(team) as in_team:
        with observed(agent) as alone:
            await agent.run(task="Go")
        await team.run(task="Go")
    assert texts(alone.trajectory) == ["one"]
    assert texts(in_team.trajectory) == ["two"]
    assert not {"on_messages_stream", "run"} & set(vars(agent))


async def test_a_hooked_team_is_dumped_and_saved_as_before() -> None:
    def build() -> RoundRobinGroupChat:
        tool = FunctionTool(lookup, description="d")
        return RoundRobinGroupChat([assistant("solo", replay("hi"), tools=[tool])], max_turns=1)

    async def record(team) -> str:
        dumped = team.dump_component().model_dump_json()
        await team.run(task=TextMessage(content="Go", source="user", id="task"))
        state = json.dumps(await team.save_state(), default=str)
        return dumped + state

    bare, team = build(), build()
    plain = await record(bare)
    with observed(team):
        hooked = await record(team)
        copy = RoundRobinGroupChat.load_component(team.dump_component())
        await copy.load_state(await team.save_state())
    assert "tracer" not in hooked
    assert len(hooked) == len(plain)
    assert "run" not in vars(copy)


async def test_a_hooked_tool_keeps_working_outside() -> None:
    tool = FunctionTool(lookup, description="d")
    team = RoundRobinGroupChat([assistant("solo", replay("hi"), tools=[tool])], max_turns=1)
    with observed(team):
        assert await tool.run_json({"query": "q"}, CancellationToken(), call_id="c") == "q"
        assert tool.schema["name"] == "lookup"
