"""A rival is called better only where a sign test over questions says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tracer_hooks.errors import ConfigError, OutputParseError
from tracer_hooks.evaluation import RivalReport, compare_attributors, held_out_apart
from tracer_hooks.evaluation._adaptation import INJECTED, NATURAL, POSITION
from tracer_hooks.schema import Attribution, LabeledTrajectory, LabelSource, Trajectory

from ._runs import AGENTS, failure


def failed(number: int, gold: int = 1, source: LabelSource = LabelSource.INJECTED, **more: object) -> LabeledTrajectory:
    return failure(f"question {number}", gold, source, **more)


class Names:
    """Names the step that a function gives for the number in the task; -1 is a reply that cannot be used."""

    name = "names"

    def __init__(self, step: Callable[[int], int]) -> None:
        self._step = step

    def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
        assert reference is None
        assert trajectory.reference is None
        step = self._step(int(trajectory.task.split()[-1]))
        if step < 0:
            raise OutputParseError("no JSON", raw="?")
        return Attribution(run_id=trajectory.run_id, attributor=self.name, agent=AGENTS[step], step=step)


def compared(rival: Callable[[int], int], standard: Callable[[int], int], runs: list[LabeledTrajectory]) -> RivalReport:
    return compare_attributors(runs, {"rival": Names(rival), "standard": Names(standard)}, draws=50)


RUNS = [failed(number) for number in range(8)]


@pytest.mark.parametrize(("more", "is_better"), [(6, True), (5, False)])
def test_six_questions_to_none_are_enough_and_five_are_not(more: int, is_better: bool) -> None:
    found = compared(lambda number: 1 if number < more else 0, lambda number: 0, RUNS)
    assert (found.more, found.fewer, found.questions) == (more, 0, 8)
    assert found.chance == pytest.approx(2 / 2**more)
    assert (found.is_better, found.is_worse) == (is_better, False)


@pytest.mark.parametrize(
    ("runs", "standard", "more"), [([failed(1, verification={"n": n}) for n in range(20)], 0, 1), (RUNS, 1, 0)]
)
def test_many_runs_of_one_question_are_one_question_and_equal_rivals_differ_by_chance_only(
    runs: list[LabeledTrajectory], standard: int, more: int
) -> None:
    found = compared(lambda number: 1, lambda number: standard, runs)
    assert (found.more, found.fewer, found.chance, found.is_better) == (more, 0, 1.0, False)


def test_natural_failures_decide_however_few() -> None:
    runs = [*RUNS, failed(20, source=LabelSource.COUNTERFACTUAL)]
    found = compared(lambda number: 0 if number == 20 else 1, lambda number: 1 if number == 20 else 0, runs)
    assert found.judged_on == NATURAL
    assert (found.more, found.fewer, found.questions) == (0, 1, 1)
    assert found.labels == {INJECTED: 8, NATURAL: 1}
    assert not found.is_better


@pytest.mark.parametrize(("step", "unusable"), [(0, 0), (-1, 8)])
def test_a_reply_that_cannot_be_used_is_wrong_and_counted(step: int, unusable: int) -> None:
    found = compared(lambda number: step, lambda number: 1, RUNS)
    assert (found.unusable, found.is_worse, found.is_better) == (unusable, True, False)


@pytest.mark.parametrize(("learnt", "as_good"), [(RUNS, POSITION), ([failed(9, gold=2)], None)])
def test_a_prior_that_names_as_many_steps_is_told(learnt: list[LabeledTrajectory], as_good: str | None) -> None:
    rivals = {"rival": Names(lambda _: 1), "standard": Names(lambda _: 0)}
    report = compare_attributors(RUNS, rivals, learnt=learnt, draws=0)
    assert report.is_better
    assert report.as_good_unread == as_good


def test_weak_labels_are_not_judged_by() -> None:
    weak = failed(9, weight=0.6)
    assert compared(lambda _: 1, lambda _: 1, [*RUNS, weak]).labels == {INJECTED: 8}
    with pytest.raises(ConfigError, match="on 0 failures"):
        compared(lambda _: 1, lambda _: 1, [weak])


def test_a_third_of_the_questions_is_held_out_and_equal_tasks_stay_together() -> None:
    runs = [failed(number) for number in range(9)] + [
        failed(number, source=LabelSource.COUNTERFACTUAL) for number in range(20, 26)
    ]
    twin = runs[0].model_copy(update={"question_id": "another id, the same words"})
    weak = [failed(number, weight=0.6) for number in range(9)]
    weak += [failed(number, weight=0.6) for number in range(40, 80)]  # that have no proven label
    learnt, judged = held_out_apart([*runs, twin, *weak])
    tasks = [{one.trajectory.task for one in part} for part in (learnt, judged)]
    assert not tasks[0] & tasks[1]
    assert len(tasks[1]) == 5
    sources = [one.label_source for one in judged]
    assert sources.count(LabelSource.COUNTERFACTUAL) == 2
    assert not [one for one in judged if one.is_weak]
    assert held_out_apart([*runs, twin, *weak]) == (learnt, judged)
    assert [one for one in learnt if one.is_weak], "those of other questions are learnt from"
    with pytest.raises(ConfigError, match="3 folds of 2 questions"):
        held_out_apart(runs[:2])
