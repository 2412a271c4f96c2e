"""Model clients around other clients, and what an agent's memory puts before its model."""

from __future__ import annotations

from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import InMemoryStore
from autogen_core.memory import ListMemory, MemoryContent, MemoryMimeType
from autogen_core.model_context import BufferedChatCompletionContext
from autogen_ext.models.cache import ChatCompletionCache

from tracer_hooks import semconv
from tracer_hooks.telemetry import message_text
from tracer_hooks.testing import ScriptedLLM, observed, span_tree

from ._teams import assistant, openai_client, replay, watched


async def test_a_cache_around_a_shared_client_is_one_call() -> None:
    with ScriptedLLM(["inside", "outside"]) as llm:
        client = openai_client(llm)
        cached = ChatCompletionCache(client, InMemoryStore())
        team = RoundRobinGroupChat([assistant("a", cached), assistant("b", client)], name="team", max_turns=2)
        with observed(team) as seen:
            await team.run(task="Go")
        await client.close()
    assert span_tree(seen.spans) == (
        "invoke_workflow team\n  invoke_agent a\n    chat scripted [0]\n  invoke_agent b\n    chat scripted [1]"
    )


async def test_what_an_agent_remembers_is_among_what_its_model_is_shown() -> None:
    memory = ListMemory()
    await memory.add(MemoryContent(content="Refunds take 5 days.", mime_type=MemoryMimeType.TEXT))
    seen = await watched(assistant("solo", replay("ok"), memory=[memory]))
    chat = next(record for record in seen.runs[0].records if record.name.startswith("chat"))
    shown = [message_text(message) for message in chat.attributes[semconv.INPUT_MESSAGES]]
    assert any("Refunds take 5 days." in text for text in shown)


async def test_a_context_that_forgets_shows_each_step_what_is_new() -> None:
    agent = assistant("solo", replay("one", "two"), model_context=BufferedChatCompletionContext(buffer_size=1))
    team = RoundRobinGroupChat([agent], max_turns=1)
    with observed(team) as seen:
        await team.run(task="First")
        await team.run(task="Second")
    assert [[i.text for i in run.steps[0].inputs] for run in seen.trajectories] == [["First"], ["Second"]]
