"""Replayed steps get the times that they took when they were recorded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tracer_hooks.replay import retimed
from tracer_hooks.schema import Step, Trajectory

from .._known import known

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


def seconds(trajectory: Trajectory) -> list[tuple[float, float]]:
    found = []
    for step in trajectory.steps:
        found.append(((known(step.started_at) - NOON).total_seconds(), (known(step.ended_at) - NOON).total_seconds()))
    return found


def test_replayed_steps_take_as_long_as_they_took() -> None:
    recorded = run((0, 4), (5, 7), (8, 9))
    replayed = run((100, 100), (100, 100), (100, 103))
    assert seconds(retimed(replayed, recorded, until=2)) == [(100, 104), (105, 107), (107, 110)]


def test_live_steps_keep_their_own_times() -> None:
    recorded = run((0, 4), (5, 7))
    live = run((100, 101), (102, 105))
    assert seconds(retimed(live, recorded, until=0)) == [(100, 101), (102, 105)]


def test_branches_that_overlap_still_do() -> None:
    recorded = run((0, 4), (1, 5))
    replayed = run((100, 100), (100, 100))
    assert seconds(retimed(replayed, recorded, until=2)) == [(100, 104), (101, 105)]


def test_a_run_that_became_longer_keeps_its_last_steps() -> None:
    recorded = run((0, 2))
    longer = run((10, 10), (10, 11), (12, 13))
    assert seconds(retimed(longer, recorded, until=5)) == [(10, 12), (12, 13), (14, 15)]


def test_steps_without_times_are_left_as_they_are() -> None:
    bare = Trajectory(run_id="run", steps=(Step(index=0, agent="a", content="x"),))
    assert retimed(bare, bare, until=1) == bare


def test_a_step_whose_recorded_times_are_not_known_takes_no_time() -> None:
    unknown = run((0, 4), (5, 7))
    steps = (unknown.steps[0], unknown.steps[1].model_copy(update={"ended_at": None}))
    recorded = unknown.model_copy(update={"steps": steps})
    replayed = run((100, 100), (100, 100))
    assert seconds(retimed(replayed, recorded, until=2)) == [(100, 104), (105, 105)]
