from datetime import UTC, datetime, timedelta, timezone

import pytest
from pydantic import ValidationError

from tracer_hooks.schema import (
    AgentSpec,
    Attribution,
    ErrorMode,
    Step,
    ToolCall,
    Trajectory,
    Usage,
    to_json_value,
    to_text,
)

from .._known import known


def test_records_are_frozen_and_hold_nothing_impossible() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Trajectory(run_id="r").run_id = "s"
    with pytest.raises(ValidationError, match=r"steps\[1\]\.index is 0, expected 1"):
        Trajectory(run_id="r", steps=(Step(index=0, agent="A"), Step(index=0, agent="B")))
    for score in (-0.1, 1.1):
        with pytest.raises(ValidationError, match="confidence"):
            Attribution(run_id="r", confidence=score)


def test_times_are_kept_in_utc_and_need_a_zone() -> None:
    local = datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    started = Step(index=0, agent="A", started_at=local).started_at
    assert started == local
    assert known(started).tzinfo is UTC
    with pytest.raises(ValidationError, match="timezone"):
        Step(index=0, agent="A", started_at=datetime(2026, 1, 1))


def test_what_a_run_tells_of_its_steps() -> None:
    spent = Usage(input_tokens=2, output_tokens=1)
    good, bad = ToolCall(name="a", result="1"), ToolCall(name="b", error="no")
    steps = (Step(index=0, agent="C", usage=spent), Step(index=1, agent="A", usage=spent, tool_calls=(good, bad)))
    run = Trajectory(run_id="r", agents=(AgentSpec(name="A"), AgentSpec(name="B")), steps=steps)
    assert run.usage == Usage(input_tokens=4, output_tokens=2), "the sum of its steps"
    assert run.agent_names == ("A", "B", "C"), "the roster, then the speakers"
    assert run.steps[1].failed_tools == (bad,)


def test_every_mode_has_a_title_a_definition_and_a_group() -> None:
    assert len(ErrorMode) == 14
    assert len({mode.title for mode in ErrorMode}) == len({mode.definition for mode in ErrorMode}) == 14
    assert ErrorMode("FM-2.3").title == "task derailment"
    assert ErrorMode.FM_3_1.group == "task verification"


def test_what_is_inside_itself_or_too_deep_is_noted() -> None:
    loop: list[object] = []
    loop.append(loop)
    assert to_json_value(loop) == ["<circular>"]
    shared = {"a": 1}
    assert to_json_value([shared, shared]) == [{"a": 1}, {"a": 1}], "one object in two places is no circle"
    deep: object = "x"
    for _ in range(100):
        deep = [deep]
    assert "<nested too deeply>" in str(to_json_value(deep))


def test_odd_values_become_json() -> None:
    assert to_json_value({"b": b"\x00", "n": float("nan"), "s": {2, 1}}) == {
        "b": {"$bytes": "AA=="},
        "n": "nan",
        "s": [1, 2],
    }
    assert to_text("a\ud800b") == "a\ufffdb"
    assert to_text(b"\xff") == "\\xff"
