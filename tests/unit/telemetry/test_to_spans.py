"""A trajectory that is turned into spans and assembled again is the same one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracer_hooks import semconv
from tracer_hooks.datasets import load
from tracer_hooks.schema import AgentSpec, RunOutcome, Step, StepInput, StepKind, ToolCall, Trajectory, Usage
from tracer_hooks.telemetry import SpanStatus, assemble, to_spans, write_otlp_json, write_otlp_protobuf

from .._known import known

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
word = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
agent = st.sampled_from(["planner", "coder", "prüfer 2"])
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**31), 2**31) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=5,
)
moment = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
call = st.builds(
    ToolCall,
    name=st.sampled_from(["search", "run"]) | word,
    arguments=st.dictionaries(text, plain, max_size=2),
    result=st.none() | text,
    error=st.none() | word,
    call_id=st.none() | word,
    attempts=st.integers(1, 3),
)
usage = st.none() | st.builds(Usage, input_tokens=st.integers(0, 99), output_tokens=st.integers(0, 99))


@st.composite
def steps(draw: st.DrawFn, index: int) -> Step:
    kind = draw(st.sampled_from(list(StepKind)))
    began, ended = sorted([draw(moment), draw(moment)])
    known: dict[str, Any] = {"model": draw(st.none() | word), "usage": draw(usage), "attempts": draw(st.integers(1, 3))}
    if kind is StepKind.ERROR:
        known["error"] = draw(word)
    else:
        known["content"] = draw(text)
    if kind is StepKind.TOOL_CALL:
        known["tool_calls"] = tuple(
            draw(st.lists(call, min_size=1, max_size=3, unique_by=lambda call: call.call_id or object()))
        )
    if kind is StepKind.HANDOFF:
        known["recipient"] = draw(agent)
    return Step(index=index, agent=draw(agent), kind=kind, started_at=began, ended_at=ended, **known)


@st.composite
def trajectories(draw: st.DrawFn) -> Trajectory:
    spec = st.builds(AgentSpec, name=agent, instructions=st.none() | text, tools=st.lists(text, max_size=2).map(tuple))
    return Trajectory(
        run_id=draw(word),
        team=draw(text),
        framework=draw(st.sampled_from(["python", "autogen", "crewai"])),
        task=draw(text),
        agents=tuple(draw(st.lists(spec, unique_by=lambda one: one.name, max_size=3))),
        steps=tuple(draw(steps(index)) for index in range(draw(st.integers(0, 5)))),
        outcome=draw(st.sampled_from(list(RunOutcome))),
        outcome_reason=draw(st.none() | word),
        final_output=draw(st.none() | text),
    )


def comparable(trajectory: Trajectory, like: Trajectory) -> Trajectory:
    """Without what was made up because ``like`` does not hold it, and without inputs, which are found anew."""
    return trajectory.model_copy(
        update={
            "trace_id": like.trace_id,
            "agents": trajectory.agents[: len(like.agents)],  # then those that act and are not in the roster
            "steps": tuple(
                step.model_copy(
                    update={
                        "span_id": known.span_id,
                        "inputs": (),
                        "tool_calls": tuple(
                            call.model_copy(update={"call_id": asked.call_id})
                            for call, asked in zip(step.tool_calls, known.tool_calls, strict=True)
                        ),
                    }
                )
                for step, known in zip(trajectory.steps, like.steps, strict=True)
            ),
        }
    )


@given(trajectories())
@settings(max_examples=150)
def test_round_trip(trajectory: Trajectory) -> None:
    (back,) = assemble(to_spans(trajectory))
    assert comparable(back, trajectory) == trajectory
    assert back.agent_names == trajectory.agent_names


@pytest.mark.parametrize("run_id", [f"run-{number}" for number in range(8)])
def test_calls_of_one_tool_at_the_same_time_keep_their_results(run_id: str) -> None:
    calls = [
        ToolCall(name="search", result="nothing to look for"),
        ToolCall(name="search", arguments={"query": "b"}, result="of b", error="too late"),
        ToolCall(name="search", arguments={"query": "a"}, result="of a"),
    ]
    step = Step(index=0, agent="planner", kind=StepKind.TOOL_CALL, tool_calls=tuple(calls))
    trajectory = Trajectory(run_id=run_id, team="t", framework="python", task="", steps=(step,))
    (back,) = assemble(to_spans(trajectory))
    assert [(one.arguments, one.result, one.error) for one in back.steps[0].tool_calls] == [
        (one.arguments, one.result, one.error) for one in calls
    ]


def story(**known: Any) -> Trajectory:
    return Trajectory(
        run_id="r1",
        team="office",
        framework="python",
        task="Do it.",
        steps=(
            Step(index=0, agent="ann", content="It is 25.", **known),
            Step(
                index=1,
                agent="bob",
                content="So 75.",
                inputs=(StepInput(source="ann", step=0, text="It is 25."), StepInput(source="user", text="Do it.")),
            ),
        ),
        outcome=RunOutcome.FAILED,
        outcome_reason="check: no fee",
    )


def test_inputs_keep_their_text_and_source_also_in_a_file(tmp_path: Path) -> None:
    (back,) = assemble(to_spans(story()))
    assert [(one.source, one.step, one.text) for one in back.steps[1].inputs] == [
        ("ann", 0, "It is 25."),
        ("user", None, "Do it."),
    ]
    write_otlp_json(tmp_path / "run.json", to_spans(story()))
    write_otlp_protobuf(tmp_path / "run.pb", to_spans(story()))
    for record in load(tmp_path):
        run = known(record.trajectory)
        assert (run.steps, run.outcome, run.outcome_reason) == (back.steps, RunOutcome.FAILED, "check: no fee")


def test_one_trace_with_unique_ids_and_a_failed_root() -> None:
    spans = to_spans(story())
    assert len({span.trace_id for span in spans}) == 1
    assert len({span.span_id for span in spans}) == len(spans)
    root = spans[0]
    assert (root.parent_id, root.status, root.status_message) == (None, SpanStatus.ERROR, "check: no fee")
    assert root.attributes[semconv.OPERATION_NAME] == "invoke_workflow"
    ids = {span.span_id for span in spans}
    assert all(span.parent_id in ids for span in spans[1:])
    assert spans == to_spans(story()), "made-up ids are the same every time"


def test_ids_that_are_given_are_kept_and_odd_ones_replaced() -> None:
    good = story(span_id="00000000000000ab").model_copy(update={"trace_id": "0" * 31 + "1"})
    assert {span.trace_id for span in to_spans(good)} == {"0" * 31 + "1"}
    assert "00000000000000ab" in {span.span_id for span in to_spans(good)}
    odd = story(span_id="step/1").model_copy(update={"trace_id": "run 7"})
    assert all(len(span.trace_id) == 32 and len(span.span_id) == 16 for span in to_spans(odd))


def test_two_steps_that_claim_one_span_stay_two() -> None:
    step = Step(index=0, agent="ann", content="a", span_id="00000000000000ab")
    twice = Trajectory(run_id="r", steps=(step, step.model_copy(update={"index": 1, "content": "b"})))
    (back,) = assemble(to_spans(twice))
    assert [one.content for one in back.steps] == ["a", "b"]
