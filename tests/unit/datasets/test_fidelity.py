"""What a trajectory that was read from a trace lacks, in words."""

from __future__ import annotations

from typing import Any

import pytest

from tracer_hooks.datasets import lacks
from tracer_hooks.schema import AgentSpec, Step, StepInput, ToolCall, Trajectory

ASKED = StepInput(source="user", text="How many?")
FOUND = ToolCall(name="lookup", arguments={"query": "many"}, result="42")


def run(*steps: Step, **fields: Any) -> Trajectory:
    numbered = tuple(step.model_copy(update={"index": index}) for index, step in enumerate(steps))
    return Trajectory(**{"run_id": "r", "steps": numbered, "task": "How many?", "final_output": "42", **fields})


def step(agent: str = "scout", **fields: Any) -> Step:
    return Step(**{"index": 0, "agent": agent, "inputs": (ASKED,), "content": "42", **fields})


@pytest.mark.parametrize(
    ("trajectory", "missing"),
    [
        (run(step(tool_calls=(FOUND,)), step("writer")), ()),
        (run(step(), step(inputs=())), ()),  # an agent that goes on without a new word
        (run(), ("steps",)),
        (run(step(inputs=())), ("inputs",)),
        (run(step(inputs=(StepInput(source="user"),))), ("inputs",)),
        (run(step(), step("writer", inputs=())), ("some inputs",)),
        (run(step(tool_calls=(ToolCall(name="lookup", arguments={}),))), ("tool results",)),
        (run(step(tool_calls=(ToolCall(name="lookup", arguments={}), FOUND))), ("some tool results",)),
        (run(step(tool_calls=(ToolCall(name="lookup", arguments={}, error="no such row"),))), ()),
        (run(step(tool_calls=(ToolCall(name="lookup", result="42"),))), ("tool arguments",)),
        (run(step(), task=""), ("the task",)),
        (run(step(), final_output=None), ("the final answer",)),
        (run(step(), agents=(AgentSpec(name="scout", tools=("lookup",)),)), ("tool calls",)),
        (run(step(model="m"), agents=(AgentSpec(name="scout", tools=("lookup",)),)), ()),
        (run(step("assistant")), ("agent names",)),
        (run(step("desk"), team="desk"), ("agent names",)),
        (run(step("desk"), team="desk", agents=(AgentSpec(name="desk", instructions="You help."),)), ()),
        (run(step("assistant"), step("scout")), ()),
        (run(step(content="", tool_calls=(FOUND,))), ("texts",)),
        (
            run(step("assistant", content="", inputs=()), task="", final_output=None),
            ("agent names", "texts (recorded without content)"),
        ),
        (
            run(step(content="", inputs=(), tool_calls=(ToolCall(name="lookup"),)), task="", final_output=None),
            ("texts (recorded without content)",),
        ),
    ],
)
def test_what_is_missing_is_named(trajectory: Trajectory, missing: tuple[str, ...]) -> None:
    assert lacks(trajectory) == missing
