"""Replayed steps get the times that they took when they were recorded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tracer_hooks.replay import retimed
from tracer_hooks.schema import Step, Trajectory

from .._known import known

Times = list[tuple[float, float]]
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def run(*times: tuple[float, float]) -> Trajectory:
    steps = tuple(
        Step(
            index=i,
            agent=f"agent{i}",
            content=f"step {i}",
            started_at=NOON + timedelta(seconds=start),
            ended_at=NOON + timedelta(seconds=end),
        )
        for i, (start, end) in enumerate(times)
    )
    return Trajectory(run_id="run", steps=steps)


def seconds(trajectory: Trajectory) -> Times:
    moments = [(known(step.started_at), known(step.ended_at)) for step in trajectory.steps]
    return [((began - NOON).total_seconds(), (ended - NOON).total_seconds()) for began, ended in moments]


@pytest.mark.parametrize(
    ("recorded", "replayed", "until", "expected"),
    [
        ([(0, 4), (5, 7), (8, 9)], [(100, 100), (100, 100), (100, 103)], 2, [(100, 104), (105, 107), (107, 110)]),
        ([(0, 4), (5, 7)], [(100, 101), (102, 105)], 0, [(100, 101), (102, 105)]),
        ([(0, 4), (1, 5)], [(100, 100), (100, 100)], 2, [(100, 104), (101, 105)]),
        ([(0, 2)], [(10, 10), (10, 11), (12, 13)], 5, [(10, 12), (12, 13), (14, 15)]),
    ],
    ids=["replayed steps take as long as they took", "live ones keep their own", "branches overlap", "a longer run"],
)
def test_times_of_a_replay(recorded: Times, replayed: Times, until: int, expected: Times) -> None:
    assert seconds(retimed(run(*replayed), run(*recorded), until=until)) == expected


def test_steps_without_times_are_left_as_they_are() -> None:
    bare = Trajectory(run_id="run", steps=(Step(index=0, agent="a", content="x"),))
    assert retimed(bare, bare, until=1) == bare


def test_a_step_whose_recorded_times_are_not_known_takes_no_time() -> None:
    unknown = run((0, 4), (5, 7))
    steps = (unknown.steps[0], unknown.steps[1].model_copy(update={"ended_at": None}))
    recorded = unknown.model_copy(update={"steps": steps})
    replayed = run((100, 100), (100, 100))
    assert seconds(retimed(replayed, recorded, until=2)) == [(100, 104), (105, 105)]
