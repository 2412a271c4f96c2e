"""Sets in which the place of a fault tells little."""

from __future__ import annotations

from collections import Counter

from tracer_hooks.datasets import LabeledSet
from tracer_hooks.schema import DecisiveStep, LabeledTrajectory, LabelSource, RunOutcome, Step, Trajectory


def failed(
    number: int, step: int, *, team: str = "a", steps: int = 3, source: LabelSource = LabelSource.INJECTED
) -> LabeledTrajectory:
    run = Trajectory(
        run_id=f"{team}{number}",
        team=team,
        task=f"task {number}",
        steps=tuple(Step(index=i, agent=f"agent{i}", content="said") for i in range(steps)),
        outcome=RunOutcome.FAILED,
    )
    return LabeledTrajectory(
        trajectory=run,
        decisive=DecisiveStep(agent=f"agent{step}", step=step),
        label_source=source,
        question_id=str(number),
    )


def places(data: LabeledSet) -> Counter[tuple[str, int]]:
    return Counter((one.trajectory.team, one.decisive.step) for one in data.labeled if one.decisive is not None)


def test_every_step_keeps_as_many_faults_as_the_rarest() -> None:
    faults = [failed(n, 2) for n in range(9)] + [failed(n, 1) for n in range(9, 14)] + [failed(n, 0) for n in (20, 21)]
    assert places(LabeledSet(labeled=tuple(faults)).balanced()) == {("a", 0): 2, ("a", 1): 2, ("a", 2): 2}


def test_kinds_of_runs_are_balanced_each_by_itself() -> None:
    faults = [failed(n, n % 2) for n in range(6)] + [
        failed(n, 0 if n < 14 else 3, team="b", steps=4) for n in range(10, 15)
    ]
    assert places(LabeledSet(labeled=tuple(faults)).balanced()) == {("a", 0): 3, ("a", 1): 3, ("b", 0): 1, ("b", 3): 1}


def test_a_kind_of_run_with_faults_at_one_step_only_is_left_out() -> None:
    assert LabeledSet(labeled=tuple(failed(n, 2) for n in range(4))).balanced().labeled == ()


def test_natural_failures_all_stay() -> None:
    natural = tuple(failed(n, 2, source=LabelSource.COUNTERFACTUAL) for n in range(5))
    assert LabeledSet(labeled=natural).balanced().labeled == natural


def test_the_draw_is_the_same_for_the_same_seed() -> None:
    data = LabeledSet(labeled=tuple(failed(n, 0 if n < 3 else 1) for n in range(30)))
    assert data.balanced(seed=1) == data.balanced(seed=1)
    assert data.balanced(seed=1) != data.balanced(seed=2)
