"""Streams: what passes, what is recorded, and what is left when one is broken off or cancelled."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import Any

import pytest
from autogen_agentchat.base import TaskResult
from autogen_agentchat.conditions import ExternalTermination
from autogen_agentchat.messages import ModelClientStreamingChunkEvent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import CancellationToken
from autogen_ext.models.replay import ReplayChatCompletionClient
from opentelemetry import trace

from tracer_hooks import semconv
from tracer_hooks.testing import Reply, ScriptedLLM, observed

from ._teams import INFO, assistant, openai_client, replay, texts


def trio(*, turns: int = 3, **options: Any) -> RoundRobinGroupChat:
    agents = [assistant(name, replay(f"{name} speaks"), **options) for name in ("a", "b", "c")]
    return RoundRobinGroupChat(agents, max_turns=turns)  # type: ignore[arg-type]


def summary(item) -> tuple[str, str]:
    return type(item).__name__, "" if isinstance(item, TaskResult) else item.to_text()


async def test_a_stream_gives_the_same_items_as_without_us() -> None:
    bare = [summary(item) async for item in trio().run_stream(task="Go")]
    team = trio()
    with observed(team) as seen:
        hooked = [summary(item) async for item in team.run_stream(task="Go")]
    assert hooked == bare
    assert texts(seen.trajectory) == ["a speaks", "b speaks", "c speaks"]
    assert seen.results[0].text == "c speaks"


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


@pytest.mark.parametrize("stop_at", [1, 2])
async def test_a_stream_that_is_left_early_ends_every_span(stop_at: int) -> None:
    team = trio()
    with observed(team) as seen:
        stream = team.run_stream(task="Go")
        for _ in range(stop_at):
            await anext(stream)
        await stream.aclose()
    (run,) = seen.runs
    assert run.ended
    assert not run._open
    assert run.attributes[semconv.ABANDONED] == "abandoned"
    assert not [span for span in seen.spans if span.status.status_code is trace.StatusCode.ERROR]
    assert not team._is_running


async def test_a_chunk_stream_that_is_left_early_keeps_what_was_said() -> None:
    agent = assistant("solo", replay("one two three"), model_client_stream=True)
    with observed(agent) as seen:
        stream = agent.run_stream(task="Go")
        async for item in stream:
            if isinstance(item, ModelClientStreamingChunkEvent):
                break
        await stream.aclose()
    assert texts(seen.trajectory) == ["one "]
    assert {span.name: span.attributes.get(semconv.ABANDONED) for span in seen.spans}["invoke_agent solo"]


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


async def test_external_termination_is_the_stop_reason() -> None:
    stop = ExternalTermination()
    agents = [assistant(name, replay(f"{name} speaks")) for name in ("a", "b", "c")]
    team = RoundRobinGroupChat(agents, termination_condition=stop)  # type: ignore[arg-type]
    with observed(team) as seen:
        async for item in team.run_stream(task="Go"):
            if not isinstance(item, TaskResult) and item.source == "a":
                stop.set()
    assert seen.results[0].stop_reason == "External termination requested"
    assert seen.results[0].text.endswith("speaks")


async def test_parallel_runs_do_not_mix() -> None:
    client = replay(*["same client"] * 12)
    teams = [
        RoundRobinGroupChat([assistant(f"a{i}", client), assistant(f"b{i}", client)], name=f"team{i}", max_turns=3)
        for i in range(4)
    ]
    with ExitStack() as stack:
        seen = [stack.enter_context(observed(team)) for team in teams]
        await asyncio.gather(*(team.run(task=f"Task {i}") for i, team in enumerate(teams)))
    for i, one in enumerate(seen):
        assert [step.agent for step in one.trajectory.steps] == [f"a{i}", f"b{i}", f"a{i}"]
        assert len({span.context.trace_id for span in one.spans}) == 1
    assert "create" not in vars(client)


async def test_a_team_runs_again_after_a_reset() -> None:
    team = RoundRobinGroupChat([assistant("solo", replay("one", "two", "three"))], max_turns=1)
    with observed(team) as seen:
        await team.run(task="First")
        await team.run(task="Go on")
        await team.reset()
        await team.run(task="Anew")
    assert [texts(run) for run in seen.trajectories] == [["one"], ["two"], ["three"]]
    assert [len(run.steps[0].inputs) for run in seen.trajectories] == [1, 2, 1]
