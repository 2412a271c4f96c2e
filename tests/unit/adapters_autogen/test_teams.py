"""What a run of each kind of team looks like as spans and as a trajectory."""

from __future__ import annotations

import json

import pytest
from autogen_agentchat.agents import SocietyOfMindAgent
from autogen_agentchat.base import Handoff
from autogen_agentchat.conditions import HandoffTermination
from autogen_agentchat.teams import (
    MagenticOneGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from autogen_agentchat.tools import AgentTool, TeamTool

from tracer_hooks.testing import observed, span_tree

from ._teams import acts, assistant, calls, replay, texts, watched


def lookup(query: str) -> str:
    """Look something up."""
    return f"{query}: 42"


async def test_a_selectors_own_model_call_is_a_step_of_the_manager_that_hands_over() -> None:
    selecting = replay("nobody", "beta", "alpha")
    team = SelectorGroupChat(
        [assistant("alpha", replay("letters")), assistant("beta", replay("numbers"))], selecting, max_turns=2
    )
    seen = await watched(team)

    assert span_tree(seen.spans) == (
        "invoke_workflow SelectorGroupChat\n"
        "  invoke_agent SelectorGroupChatManager\n"
        "    chat ReplayChatCompletionClient [0]\n"
        "    chat ReplayChatCompletionClient [1]\n"
        "  invoke_agent beta\n"
        "    chat ReplayChatCompletionClient [2]\n"
        "  invoke_agent alpha\n"
        "    chat ReplayChatCompletionClient [3]"
    )
    # The second pick needs no model: with two members and no repeats only one is left.
    assert acts(seen.trajectory) == [
        ("SelectorGroupChatManager", "message", None),
        ("SelectorGroupChatManager", "handoff", "beta"),
        ("beta", "message", None),
        ("alpha", "message", None),
    ]


async def test_a_selector_function_makes_no_step() -> None:
    team = SelectorGroupChat(
        [assistant("alpha", replay("letters")), assistant("beta", replay("numbers"))],
        replay(),
        selector_func=lambda thread: "beta" if len(thread) == 1 else "alpha",
        max_turns=2,
    )
    seen = await watched(team)
    assert acts(seen.trajectory) == [("beta", "message", None), ("alpha", "message", None)]


async def test_a_failing_selector_function_is_an_error_of_the_manager() -> None:
    def pick(thread) -> None:
        raise KeyError("no idea")

    team = SelectorGroupChat(
        [assistant("alpha", replay("letters")), assistant("beta", replay("numbers"))], replay(), selector_func=pick
    )
    with observed(team) as seen, pytest.raises(KeyError, match="no idea"):
        await team.run(task="Go")
    (step,) = seen.trajectory.steps
    assert (step.agent, step.kind, step.error) == ("SelectorGroupChatManager", "error", "'no idea'")


async def test_a_streaming_selector_shared_with_its_agents() -> None:
    client = replay("beta", "numbers", "alpha", "letters")
    team = SelectorGroupChat(
        [assistant("alpha", client), assistant("beta", client)],
        client,
        max_turns=2,
        allow_repeated_speaker=True,
        model_client_streaming=True,
    )
    seen = await watched(team)
    assert acts(seen.trajectory) == [
        ("SelectorGroupChatManager", "handoff", "beta"),
        ("beta", "message", None),
        ("SelectorGroupChatManager", "handoff", "alpha"),
        ("alpha", "message", None),
    ]
    assert texts(seen.trajectory) == ["beta", "numbers", "alpha", "letters"]


async def test_a_swarm_hands_off_with_plain_and_custom_names() -> None:
    triage = assistant("triage", replay(calls(("transfer_to_billing", "{}"))), handoffs=["billing"])
    to_user = Handoff(target="user", name="ask_the_human", message="Over to you.")
    billing = assistant("billing", replay(calls(("ask_the_human", "{}"))), handoffs=[to_user])
    team = Swarm([triage, billing], termination_condition=HandoffTermination("user"))
    with observed(team) as seen:
        await team.run(task="Refund me")

    assert acts(seen.trajectory) == [("triage", "handoff", "billing"), ("billing", "handoff", "user")]
    assert [step.tool_calls[0].name for step in seen.trajectory.steps] == ["transfer_to_billing", "ask_the_human"]
    assert seen.results[0].interrupted
    assert seen.results[0].text == "Over to you."


async def test_of_two_handoffs_in_one_reply_the_first_counts() -> None:
    both = calls(("transfer_to_b", "{}"), ("transfer_to_c", "{}"))
    team = Swarm(
        [assistant("a", replay(both), handoffs=["b", "c"]), assistant("b", replay("b")), assistant("c", replay("c"))],
        max_turns=2,
    )
    seen = await watched(team)
    assert acts(seen.trajectory) == [("a", "handoff", "b"), ("b", "message", None)]
    assert [call.name for call in seen.trajectory.steps[0].tool_calls] == ["transfer_to_b", "transfer_to_c"]


def ledger(*, done: bool, speaker: str = "coder") -> str:
    entry = {
        "is_request_satisfied": {"answer": done, "reason": "r"},
        "is_progress_being_made": {"answer": True, "reason": "r"},
        "is_in_loop": {"answer": False, "reason": "r"},
        "instruction_or_question": {"answer": "Please code.", "reason": "r"},
        "next_speaker": {"answer": speaker, "reason": "r"},
    }
    return json.dumps(entry)


async def test_magentic_one_shows_what_its_orchestrator_asks() -> None:
    orchestrator = replay("facts", "plan", ledger(done=False, speaker="tester"), ledger(done=True), "the answer")
    team = MagenticOneGroupChat(
        [assistant("coder", replay("code")), assistant("tester", replay("tests pass"))], orchestrator
    )
    with observed(team) as seen:
        result = await team.run(task="Write code")

    assert acts(seen.trajectory) == [
        ("MagenticOneOrchestrator", "message", None),
        ("MagenticOneOrchestrator", "message", None),
        ("MagenticOneOrchestrator", "handoff", "tester"),
        ("tester", "message", None),
        ("MagenticOneOrchestrator", "message", None),
        ("MagenticOneOrchestrator", "message", None),
    ]
    assert seen.results[0].text == result.messages[-1].content == "the answer"


async def test_a_broken_ledger_is_an_error_of_the_orchestrator() -> None:
    orchestrator = replay("facts", "plan", json.dumps({"next_speaker": {"answer": "nobody", "reason": ""}}))
    team = MagenticOneGroupChat([assistant("coder", replay()), assistant("tester", replay())], orchestrator)
    with observed(team) as seen, pytest.raises(KeyError, match="is_request_satisfied"):
        await team.run(task="Write code")
    last = seen.trajectory.steps[-1]
    assert (last.agent, last.kind) == ("MagenticOneOrchestrator", "error")


async def test_an_inner_teams_agents_act_within_its_turn() -> None:
    inner = RoundRobinGroupChat([assistant("expert", replay("found: 42"))], name="experts", max_turns=1)
    team = RoundRobinGroupChat([inner, assistant("lead", replay("in short: 42"))], name="outer", max_turns=2)
    seen = await watched(team)

    assert span_tree(seen.spans) == (
        "invoke_workflow outer\n"
        "  invoke_agent experts\n"
        "    invoke_agent expert\n"
        "      chat ReplayChatCompletionClient [0]\n"
        "  invoke_agent lead\n"
        "    chat ReplayChatCompletionClient [1]"
    )
    assert acts(seen.trajectory) == [("expert", "message", None), ("lead", "message", None)]
    assert [i.step for i in seen.trajectory.steps[1].inputs] == [None, 0]


async def test_a_society_of_mind_is_one_agent_with_a_team_inside() -> None:
    inner = RoundRobinGroupChat([assistant("expert", replay("found: 42"))], max_turns=1)
    team = RoundRobinGroupChat([SocietyOfMindAgent("society", inner, replay("we say 42"))], max_turns=1)
    seen = await watched(team)
    assert span_tree(seen.spans) == (
        "invoke_workflow RoundRobinGroupChat\n"
        "  invoke_agent society\n"
        "    invoke_agent expert\n"
        "      chat ReplayChatCompletionClient [0]\n"
        "    chat ReplayChatCompletionClient [1]"
    )
    assert acts(seen.trajectory) == [("expert", "message", None), ("society", "message", None)]


async def test_agents_and_teams_as_tools_are_delegation() -> None:
    helper = assistant("helper", replay("helped"))
    inner = RoundRobinGroupChat([assistant("expert", replay("found"))], name="experts", max_turns=1)
    client = replay(calls(("helper", '{"task": "help"}'), ("ask_experts", '{"task": "find"}')), "done")
    tools = [AgentTool(helper), TeamTool(inner, name="ask_experts", description="Asks the experts.")]
    team = RoundRobinGroupChat([assistant("lead", client, tools=tools, reflect_on_tool_use=True)], max_turns=1)
    seen = await watched(team)
    run = seen.trajectory
    assert (run.steps[0].agent, run.steps[0].kind) == ("lead", "handoff")
    assert {call.name: call.result for call in run.steps[0].tool_calls} == {
        "helper": "helper: helped",
        "ask_experts": "expert: found",
    }
    assert sorted(acts(run)[1:3]) == [("expert", "message", None), ("helper", "message", None)]
    assert acts(run)[3] == ("lead", "message", None)
