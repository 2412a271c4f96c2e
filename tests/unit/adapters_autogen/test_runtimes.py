"""Runtimes that the user started, and AutoGen's own spans."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from autogen_agentchat.teams import RoundRobinGroupChat, SelectorGroupChat
from autogen_core import SingleThreadedAgentRuntime
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tracer_hooks.testing import observed, span_tree

from ._teams import acts, assistant, calls, replay, texts, watched


def lookup() -> str:
    """Look up."""
    return "42"


async def test_a_runtime_that_was_started_before_the_run() -> None:
    runtime = SingleThreadedAgentRuntime(ignore_unhandled_exceptions=False)
    runtime.start()
    agents = [assistant("a", replay(calls(("lookup", "{}"))), tools=[lookup]), assistant("b", replay("b speaks"))]
    team = SelectorGroupChat(
        agents,  # type: ignore[arg-type]
        replay("a", "b"),
        allow_repeated_speaker=True,
        max_turns=2,
        runtime=runtime,
        name="external",
    )
    seen = await watched(team)
    await runtime.stop()
    assert span_tree(seen.spans) == (
        "invoke_workflow external\n"
        "  invoke_agent SelectorGroupChatManager\n"
        "    chat ReplayChatCompletionClient [0]\n"
        "  invoke_agent a\n"
        "    chat ReplayChatCompletionClient [1]\n"
        "    execute_tool lookup [1]\n"
        "  invoke_agent SelectorGroupChatManager\n"
        "    chat ReplayChatCompletionClient [2]\n"
        "  invoke_agent b\n"
        "    chat ReplayChatCompletionClient [3]"
    )
    assert len({span.context.trace_id for span in seen.spans}) == 1


async def test_two_teams_on_one_runtime_do_not_mix() -> None:
    runtime = SingleThreadedAgentRuntime()
    runtime.start()
    teams = [
        RoundRobinGroupChat([assistant(f"a{i}", replay("one", "two"))], max_turns=2, runtime=runtime) for i in range(2)
    ]
    with observed(teams[0]) as first, observed(teams[1]) as second:
        await asyncio.gather(*(team.run(task="Go") for team in teams))
    await runtime.stop()
    assert acts(first.trajectory) == [("a0", "message", None)] * 2
    assert acts(second.trajectory) == [("a1", "message", None)] * 2


async def test_a_shared_agent_of_two_external_teams_is_not_guessed_about() -> None:
    runtime = SingleThreadedAgentRuntime()
    runtime.start()
    shared = assistant("shared", replay("one", "two"))
    teams = [RoundRobinGroupChat([shared], name=f"t{i}", max_turns=1, runtime=runtime) for i in range(2)]
    with observed(teams[0]) as first, observed(teams[1]) as second:
        await teams[0].run(task="Go")
        await teams[1].run(task="Go")
    await runtime.stop()
    assert texts(first.trajectory) == ["one"]
    assert texts(second.trajectory) == ["two"]


async def test_a_team_that_ran_before_it_was_hooked_shows_its_manager() -> None:
    agents = [assistant("a", replay("a", "a")), assistant("b", replay("b", "b"))]
    team = SelectorGroupChat(agents, replay("a", "b"), allow_repeated_speaker=True, max_turns=1)  # type: ignore[arg-type]
    await team.run(task="Go")
    with observed(team) as seen:
        await team.run(task="Go on")
    assert acts(seen.trajectory) == [("SelectorGroupChatManager", "handoff", "b"), ("b", "message", None)]


@pytest.fixture
def global_spans(monkeypatch: pytest.MonkeyPatch):
    """A global provider for one test; AutoGen's own spans go there."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    return exporter, provider


def with_tool(name: str, **options: Any) -> RoundRobinGroupChat:
    agent = assistant("solo", replay(calls(("lookup", "{}")), "done"), tools=[lookup], reflect_on_tool_use=True)
    return RoundRobinGroupChat([agent], name=name, max_turns=1, **options)


OURS = [
    "chat ReplayChatCompletionClient",
    "chat ReplayChatCompletionClient",
    "execute_tool lookup",
    "invoke_agent solo",
    "invoke_workflow team",
]


@pytest.mark.parametrize(("runtime_tracing", "external"), [("true", False), ("false", False), ("true", True)])
async def test_our_spans_stand_in_for_autogens_on_the_same_provider(
    global_spans, monkeypatch: pytest.MonkeyPatch, runtime_tracing: str, external: bool
) -> None:
    monkeypatch.setenv("AUTOGEN_DISABLE_RUNTIME_TRACING", runtime_tracing)
    exporter, provider = global_spans
    runtime = SingleThreadedAgentRuntime()
    runtime.start()
    team = with_tool("team", runtime=runtime if external else None)
    exporter.clear()
    with observed(team) as seen:
        seen._emitter._provider = provider
        await team.run(task="Go")
    await runtime.stop()
    names = sorted(span.name for span in exporter.get_finished_spans())
    messaging = [name for name in names if name.startswith("autogen ")]
    assert [name for name in names if name not in messaging] == OURS
    assert bool(messaging) is (runtime_tracing == "false")
    by_id = {span.context.span_id: span for span in exporter.get_finished_spans()}
    tree = {span.name: by_id[span.parent.span_id].name for span in by_id.values() if span.parent and span.name in OURS}
    assert tree == {
        "chat ReplayChatCompletionClient": "invoke_agent solo",
        "execute_tool lookup": "invoke_agent solo",
        "invoke_agent solo": "invoke_workflow team",
    }


@pytest.mark.parametrize("runtime_tracing", ["true", "false"])
async def test_autogens_spans_go_on_where_ours_go_elsewhere(
    global_spans, monkeypatch: pytest.MonkeyPatch, runtime_tracing: str
) -> None:
    monkeypatch.setenv("AUTOGEN_DISABLE_RUNTIME_TRACING", runtime_tracing)
    exporter, _ = global_spans
    team = with_tool("team")
    exporter.clear()
    seen = await watched(team)
    theirs = sorted(span.name for span in exporter.get_finished_spans() if not span.name.startswith("autogen "))
    assert theirs == ["execute_tool lookup", "invoke_agent solo"]
    assert sorted(span.name for span in seen.spans) == OURS


async def test_an_unhooked_team_keeps_its_own_spans(global_spans) -> None:
    exporter, provider = global_spans
    other = with_tool("other")

    async def ask() -> str:
        """Ask another team, which nobody hooked."""
        return (await other.run(task="Go")).messages[-1].content

    asker = assistant("asker", replay(calls(("ask", "{}"))), tools=[ask])
    team = RoundRobinGroupChat([asker], name="team", max_turns=1)
    exporter.clear()
    with observed(team) as seen:
        seen._emitter._provider = provider
        await team.run(task="Go")
    names = [span.name for span in exporter.get_finished_spans()]
    assert names.count("invoke_agent solo") == 1
    assert names.count("execute_tool ask") == 1
    assert names.count("invoke_agent asker") == 1
