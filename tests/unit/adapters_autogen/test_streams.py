"""Streams: what passes, what is recorded, and what is left when one is broken off or cancelled."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from autogen_agentchat.messages import ModelClientStreamingChunkEvent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import CancellationToken
from autogen_ext.models.replay import ReplayChatCompletionClient
from opentelemetry import trace

from tracer_hooks import semconv
from tracer_hooks.testing import Reply, ScriptedLLM, observed

from ._teams import INFO, assistant, openai_client, replay, texts


async def test_chunks_are_timed_and_the_usage_is_that_of_the_last_one() -> None:
    with ScriptedLLM([Reply("It is 42.", usage=(11, 3))]) as llm:
        client = openai_client(llm, stream_options={"include_usage": True})
        agent = assistant("solo", client, model_client_stream=True)
        with observed(agent) as seen:
            items = [item async for item in agent.run_stream(task="Go")]
        await client.close()
    assert "".join(i.content for i in items if isinstance(i, ModelClientStreamingChunkEvent)) == "It is 42."
    chat = next(span for span in seen.spans if span.name == "chat scripted")
    assert chat.attributes[semconv.USAGE_INPUT_TOKENS] == 11
    assert chat.attributes[semconv.RESPONSE_TIME_TO_FIRST_CHUNK] > 0
    assert chat.attributes[semconv.PROVIDER_NAME] == "openai"
    assert texts(seen.trajectory) == ["It is 42."]


async def test_a_stream_without_usage_claims_none() -> None:
    with ScriptedLLM([Reply("It is 42.")]) as llm:
        client = openai_client(llm)
        agent = assistant("solo", client, model_client_stream=True)
        with observed(agent) as seen:
            [item async for item in agent.run_stream(task="Go")]
        await client.close()
    assert seen.trajectory.steps[0].usage is None


class Waiting(ReplayChatCompletionClient):
    """A model that answers when it is cancelled, that is never."""

    def __init__(self) -> None:
        super().__init__([], model_info=INFO)
        self.began = asyncio.Event()

    async def create(self, messages, *, cancellation_token=None, **options: Any):
        answer = asyncio.get_running_loop().create_future()
        if cancellation_token is not None:
            cancellation_token.link_future(answer)
        self.began.set()
        return await answer


@pytest.mark.parametrize("by", ["token", "task"])
@pytest.mark.parametrize("alone", [True, False])
async def test_cancellation_is_no_error(by: str, alone: bool) -> None:
    model = Waiting()
    agent = assistant("solo", model)
    team = agent if alone else RoundRobinGroupChat([agent], max_turns=1)
    token = CancellationToken()
    with observed(team) as seen:
        task = asyncio.create_task(team.run(task="Go", cancellation_token=token))
        await model.began.wait()
        token.cancel()
        if by == "task":
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    (run,) = seen.runs
    assert not run._open
    assert run.attributes[semconv.ABANDONED] == "cancelled"
    assert {span.name for span in seen.spans} >= {"invoke_agent solo"}
    assert not [span for span in seen.spans if span.status.status_code is trace.StatusCode.ERROR]
    assert run.trajectory().steps == ()


async def test_a_team_runs_again_after_a_reset() -> None:
    team = RoundRobinGroupChat([assistant("solo", replay("one", "two", "three"))], max_turns=1)
    with observed(team) as seen:
        await team.run(task="First")
        await team.run(task="Go on")
        await team.reset()
        await team.run(task="Anew")
    assert [texts(run) for run in seen.trajectories] == [["one"], ["two"], ["three"]]
    assert [len(run.steps[0].inputs) for run in seen.trajectories] == [1, 2, 1]
