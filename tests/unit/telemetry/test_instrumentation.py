"""Who recorded a trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracer_hooks.datasets import load
from tracer_hooks.schema import Step, Trajectory
from tracer_hooks.telemetry import assemble, to_spans

FIXTURES = Path(__file__).parents[2] / "fixtures" / "otlp"


@pytest.mark.parametrize(
    ("name", "scope"),
    [
        ("openinference_langgraph.pb.xz", "openinference.instrumentation.langchain"),
        ("openllmetry_langgraph.pb.xz", "opentelemetry.instrumentation.langchain"),
    ],
)
def test_a_foreign_trace_names_the_library_that_recorded_it(name: str, scope: str) -> None:
    (record,) = load(FIXTURES / name)
    assert record.trajectory is not None
    assert record.trajectory.instrumentation == scope


def test_our_own_spans_name_none() -> None:
    (own,) = assemble(to_spans(Trajectory(run_id="r", steps=(Step(index=0, agent="a", content="x"),))))
    assert own.instrumentation is None
