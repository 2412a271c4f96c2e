"""Whatever a record holds, its JSONL file gives it back."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tracer_hooks.errors import TrajectoryError
from tracer_hooks.schema import (
    AgentFault,
    AgentSpec,
    Attribution,
    Candidate,
    DecisiveStep,
    ErrorMode,
    Evidence,
    LabeledTrajectory,
    LabelSource,
    RunOutcome,
    Step,
    StepInput,
    StepKind,
    ToolCall,
    Trajectory,
    Usage,
    ValueLink,
    ValueOrigin,
    from_json,
    load_jsonl,
    save_jsonl,
    to_json,
    to_json_value,
    to_text,
)

anything = st.text(st.characters())  # lone surrogates included
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
optional = st.none() | text
share = st.floats(0, 1)
position = st.integers(0, 10**6)
moment = st.none() | st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1)).map(lambda d: d.replace(tzinfo=UTC))
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
usage = st.none() | st.builds(Usage, input_tokens=position, output_tokens=position)
tool_call = st.builds(
    ToolCall,
    name=text,
    arguments=plain,
    result=optional,
    error=optional,
    call_id=optional,
    attempts=st.integers(1, 9),
)
step_input = st.builds(StepInput, source=text, step=st.none() | position, text=optional)


@st.composite
def steps(draw: st.DrawFn) -> tuple[Step, ...]:
    def one(index: int) -> Step:
        return draw(
            st.builds(
                Step,
                index=st.just(index),
                agent=text,
                kind=st.sampled_from(StepKind),
                content=text,
                inputs=st.lists(step_input, max_size=2).map(tuple),
                tool_calls=st.lists(tool_call, max_size=2).map(tuple),
                recipient=optional,
                model=optional,
                usage=usage,
                started_at=moment,
                ended_at=moment,
                error=optional,
                attempts=st.integers(1, 9),
                span_id=optional,
            )
        )

    return tuple(one(index) for index in range(draw(st.integers(0, 3))))


trajectories = st.builds(
    Trajectory,
    run_id=text,
    team=text,
    framework=text,
    task=text,
    agents=st.lists(
        st.builds(AgentSpec, name=text, instructions=optional, tools=st.lists(text, max_size=2).map(tuple)), max_size=2
    ).map(tuple),
    steps=steps(),
    outcome=st.sampled_from(RunOutcome),
    outcome_reason=optional,
    final_output=optional,
    reference=optional,
    trace_id=optional,
)
modes = st.none() | st.sampled_from(ErrorMode)
faults = st.lists(st.builds(AgentFault, agent=text, error_mode=modes, score=share), max_size=2).map(tuple)
evidence = st.lists(st.builds(Evidence, step=position, quote=text, why=text), max_size=2).map(tuple)
links = st.lists(
    st.builds(
        ValueLink,
        value=text,
        step=position,
        origin=st.sampled_from(ValueOrigin),
        source=st.none() | position,
        note=text,
    ),
    max_size=2,
).map(tuple)
attributions = st.builds(
    Attribution,
    run_id=text,
    agent=optional,
    step=st.none() | position,
    error_mode=modes,
    confidence=share,
    candidates=st.lists(st.builds(Candidate, agent=text, step=position, score=share), max_size=2).map(tuple),
    faults=faults,
    evidence=evidence,
    spread=evidence,
    provenance=links,
    abstained=st.booleans(),
    abstained_reason=optional,
    attributor=text,
    elapsed_s=st.floats(0, 1e6),
    usage=usage,
)
labeled = st.builds(
    LabeledTrajectory,
    trajectory=trajectories,
    decisive=st.none() | st.builds(DecisiveStep, agent=text, step=position, error_mode=modes, reason=optional),
    faults=faults,
    label_source=st.sampled_from(LabelSource),
    question_id=optional,
    seed=st.none() | st.integers(),
    fault_id=optional,
    verification=st.dictionaries(text, plain, max_size=2),
)


@settings(deadline=None)
@given(st.lists(trajectories, max_size=3))
def test_trajectories_come_back_from_a_file(tmp_path_factory: Any, records: list[Trajectory]) -> None:
    path: Path = tmp_path_factory.mktemp("codec") / "x.jsonl"
    save_jsonl(path, records)
    assert list(load_jsonl(path, Trajectory)) == records
    assert len(path.read_bytes().splitlines()) == len(records)


@settings(deadline=None)
@given(attributions)
def test_attributions_come_back(record: Attribution) -> None:
    assert from_json(to_json(record), Attribution) == record


@settings(deadline=None)
@given(labeled)
def test_labelled_trajectories_come_back(record: LabeledTrajectory) -> None:
    assert from_json(to_json(record), LabeledTrajectory) == record


@given(st.binary(max_size=60) | st.text(max_size=60))
def test_any_other_text_is_a_trajectory_error(junk: bytes | str) -> None:
    assume(b"run_id" not in (junk.encode("utf-8", "replace") if isinstance(junk, str) else junk))
    with pytest.raises(TrajectoryError):
        from_json(junk, Trajectory)


@given(anything | st.binary())
def test_any_text_or_bytes_become_valid_unicode(value: str | bytes) -> None:
    assert to_text(value).encode("utf-8").decode("utf-8") == to_text(value)


class Unfriendly:
    def __repr__(self) -> str:
        raise RuntimeError("no")


odd = st.recursive(
    anything | st.binary() | st.floats() | st.integers() | st.dates() | st.builds(Unfriendly) | st.builds(object),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(anything | st.integers(), inner),
    max_leaves=10,
)


@given(odd)
def test_any_object_becomes_strict_json(value: object) -> None:
    plain_value = to_json_value(value)
    again = json.loads(json.dumps(plain_value, allow_nan=False, ensure_ascii=False).encode("utf-8"))
    assert again == plain_value
    assert to_json_value(plain_value) == plain_value


@settings(deadline=None)
@given(anything, odd)
def test_records_hold_whatever_a_team_puts_in(content: str, arguments: object) -> None:
    step = Step(index=0, agent="A", content=content, tool_calls=(ToolCall(name="t", arguments=arguments),))  # type: ignore[arg-type]
    record = Trajectory(run_id="r", steps=(step,))
    assert from_json(to_json(record), Trajectory) == record
