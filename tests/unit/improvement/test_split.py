"""Dealing out the tasks."""

from __future__ import annotations

import pytest

from tracer_hooks.improvement import Split
from tracer_hooks.tasks import SuiteTask

from ._runs import task


@pytest.mark.parametrize("count", [16, 17, 40, 101])
def test_every_task_is_in_one_part(count: int) -> None:
    split = Split.of([task(number) for number in range(count)])
    ids = [one.id for part in split.parts for one in part]
    assert sorted(ids) == sorted(task(number).id for number in range(count))
    assert min(map(len, split.parts)) >= count // 5


def test_tasks_with_the_same_text_are_in_the_same_part() -> None:
    twins = [SuiteTask(id=f"twin{number}", text=f"  {task(number).text.upper()} ") for number in range(20)]
    split = Split.of([*(task(number) for number in range(20)), *twins])
    for part in split.parts:
        numbers = [one.id.removeprefix("twin").removeprefix("t") for one in part]
        assert all(numbers.count(number) == 2 for number in numbers)


def test_the_order_of_the_file_does_not_matter_and_the_seed_does() -> None:
    tasks = [task(number) for number in range(30)]
    assert Split.of(tasks) == Split.of(tasks[::-1])
    assert Split.of(tasks) != Split.of(tasks, seed=1)


def test_halves_have_no_task_in_common() -> None:
    first, second = Split.of([task(number) for number in range(41)]).halves()
    assert not {one.id for one in first} & {one.id for one in second}
    assert abs(len(first) - len(second)) <= 1
