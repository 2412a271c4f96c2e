import pytest

from tracer_hooks.diagnosis import Attributor
from tracer_hooks.errors import ConfigError
from tracer_hooks.evaluation import cross_validate, grouped_folds
from tracer_hooks.schema import LabeledTrajectory

from ._runs import Scripted, answer, labeled, run


def test_questions_stay_together_and_folds_are_even() -> None:
    questions = [f"q{k % 10}" for k in range(40)]
    folds = grouped_folds(questions, 5, seed=1)
    assert len({(question, fold) for question, fold in zip(questions, folds, strict=True)}) == 10
    assert sorted(folds) == sorted(list(range(5)) * 8)
    own = [f"q{k % 6}" for k in range(12)]
    assert grouped_folds(own, 3, shuffle=list.reverse) == [2, 1, 0, 2, 1, 0] * 2, "an order of one's own is dealt out"


def test_every_fold_gets_its_share_of_every_stratum_and_the_seed_decides() -> None:
    questions = [f"q{k}" for k in range(20)]
    strata = ["one"] * 10 + ["two"] * 10
    folds = grouped_folds(questions, 5, seed=3, strata=strata)
    assert [sorted(folds[:10]), sorted(folds[10:])] == [sorted(list(range(5)) * 2)] * 2
    assert folds == grouped_folds(questions, 5, seed=3, strata=strata)
    assert folds != grouped_folds(questions, 5, seed=4, strata=strata)


@pytest.mark.parametrize("folds", [1, 4])
def test_too_few_questions(folds: int) -> None:
    with pytest.raises(ConfigError, match=f"cannot make {folds} folds of 3 questions"):
        grouped_folds(["a", "b", "c", "c"], folds)


@pytest.mark.parametrize("has_questions", [True, False], ids=["questions", "the task groups"])
def test_nobody_is_judged_on_a_question_that_it_was_fitted_to(has_questions: bool) -> None:
    tasks = [f"q{k // 2}" for k in range(12)]
    runs = [
        labeled(
            run("A", "B", run_id=str(k), task=task, reference="42"), "A", 0, question=task if has_questions else None
        )
        for k, task in enumerate(tasks)
    ]
    calls: list[set[str]] = []

    def fit(shown: list[LabeledTrajectory]) -> Attributor:
        assert all(one.trajectory.reference is None for one in shown)
        known = {one.trajectory.task for one in shown}
        calls.append(known)
        return Scripted(lambda trajectory: answer("A", 0, attributor=",".join(sorted(known))))

    answers = cross_validate(runs, fit, folds=3, seed=0)  # type: ignore[arg-type]
    assert [len(known) for known in calls] == [4, 4, 4]
    for one, said in zip(runs, answers, strict=True):
        assert one.trajectory.task not in said.attributor.split(",")
