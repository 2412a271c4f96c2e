"""Errors of tools, models and agents: recorded with their own type, at their step; the caller gets them as before."""

from __future__ import annotations

import pytest
from autogen_agentchat.agents import BaseChatAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat

from tracer_hooks import semconv
from tracer_hooks.testing import observed

from ._teams import assistant, replay


def error_types(seen) -> list[tuple[str, str]]:
    return [
        (span.name, str(span.attributes[semconv.ERROR_TYPE]))
        for span in seen.spans
        if not span.status.is_ok and semconv.ERROR_TYPE in span.attributes
    ]


class Broken(BaseChatAgent):
    produced_message_types = (TextMessage,)

    async def on_messages(self, messages, cancellation_token) -> Response:
        raise LookupError("lost the plot")

    async def on_reset(self, cancellation_token) -> None:
        return None


async def test_a_failing_agent_is_an_error_step() -> None:
    team = RoundRobinGroupChat([Broken("broken", "fails")], max_turns=1)
    with observed(team) as seen, pytest.raises(RuntimeError, match="lost the plot"):
        await team.run(task="Go")
    (step,) = seen.trajectory.steps
    assert (step.agent, step.kind, step.error) == ("broken", "error", "lost the plot")
    assert error_types(seen)[0] == ("invoke_agent broken", "LookupError")


async def test_an_error_inside_an_inner_team_is_recorded_once() -> None:
    inner = RoundRobinGroupChat([Broken("broken", "fails")], name="inner", max_turns=1)
    team = RoundRobinGroupChat([inner], name="outer", max_turns=1)
    with observed(team) as seen, pytest.raises(RuntimeError, match="lost the plot"):
        await team.run(task="Go")
    assert [(s.agent, s.error) for s in seen.trajectory.steps] == [("broken", "lost the plot")]
    assert sum(event.name == "exception" for span in seen.spans for event in span.events) == 1


async def test_a_wrong_call_fails_as_without_us() -> None:
    team = RoundRobinGroupChat([assistant("solo", replay("hello"))], max_turns=1)
    with observed(team) as seen:
        with pytest.raises(ValueError, match="Task list cannot be empty"):
            await team.run(task=[])
        with pytest.raises(TypeError):
            await team.run("positional")  # type: ignore[call-arg]
    assert [run.ended for run in seen.runs] == [True, True]
