"""Whatever a record holds, its JSONL file gives it back."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
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
attempts = st.integers(1, 9)


def some(strategy: st.SearchStrategy[Any], most: int = 2) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(strategy, max_size=most).map(tuple)


def numbered(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    return tuple(step.model_copy(update={"index": index}) for index, step in enumerate(steps))


tool_call = st.builds(
    ToolCall, name=text, arguments=plain, result=optional, error=optional, call_id=optional, attempts=attempts
)
step = st.builds(
    Step, index=st.just(0), agent=text, kind=st.sampled_from(StepKind), content=text, tool_calls=some(tool_call),
    inputs=some(st.builds(StepInput, source=text, step=st.none() | position, text=optional)), recipient=optional,
    model=optional, usage=usage, started_at=moment, ended_at=moment, error=optional, attempts=attempts,
    span_id=optional,
)  # fmt: skip
trajectories = st.builds(
    Trajectory, run_id=text, team=text, framework=text, task=text, steps=some(step, 3).map(numbered),
    agents=some(st.builds(AgentSpec, name=text, instructions=optional, tools=some(text))),
    outcome=st.sampled_from(RunOutcome), outcome_reason=optional, final_output=optional, reference=optional,
    trace_id=optional,
)  # fmt: skip
modes = st.none() | st.sampled_from(ErrorMode)
faults = some(st.builds(AgentFault, agent=text, error_mode=modes, score=share))
evidence = some(st.builds(Evidence, step=position, quote=text, why=text))
origins, source = st.sampled_from(ValueOrigin), st.none() | position
links = some(st.builds(ValueLink, value=text, step=position, origin=origins, source=source, note=text))
attributions = st.builds(
    Attribution, run_id=text, agent=optional, step=st.none() | position, error_mode=modes, confidence=share,
    candidates=some(st.builds(Candidate, agent=text, step=position, score=share)), faults=faults, evidence=evidence,
    spread=evidence, provenance=links, abstained=st.booleans(), abstained_reason=optional, attributor=text,
    elapsed_s=st.floats(0, 1e6), usage=usage,
)  # fmt: skip
labeled = st.builds(
    LabeledTrajectory, trajectory=trajectories, faults=faults, label_source=st.sampled_from(LabelSource),
    decisive=st.none() | st.builds(DecisiveStep, agent=text, step=position, error_mode=modes, reason=optional),
    question_id=optional, seed=st.none() | st.integers(), fault_id=optional,
    verification=st.dictionaries(text, plain, max_size=2),
)  # fmt: skip


@given(st.lists(trajectories, max_size=3))
def test_trajectories_come_back_from_a_file(tmp_path_factory: Any, records: list[Trajectory]) -> None:
    path: Path = tmp_path_factory.mktemp("codec") / "x.jsonl"
    save_jsonl(path, records)
    assert list(load_jsonl(path, Trajectory)) == records
    assert len(path.read_bytes().splitlines()) == len(records)


@given(attributions)
def test_attributions_come_back(record: Attribution) -> None:
    assert from_json(to_json(record), Attribution) == record


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


@given(anything, odd)
def test_records_hold_whatever_a_team_puts_in(content: str, arguments: object) -> None:
    step = Step(index=0, agent="A", content=content, tool_calls=(ToolCall(name="t", arguments=arguments),))  # type: ignore[arg-type]
    record = Trajectory(run_id="r", steps=(step,))
    assert from_json(to_json(record), Trajectory) == record
