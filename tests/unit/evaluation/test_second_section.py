import math

import pytest

from tracer_hooks.evaluation import SecondLabel
from tracer_hooks.evaluation._cases import Case
from tracer_hooks.evaluation._scores import Guess
from tracer_hooks.evaluation._second_section import agreement, hits

from ._runs import case, labeled, run

RUN = run("A", "B", "A", "B")


def twice(first: tuple[str, int], second: tuple[str, int], *every: int) -> Case:
    other = SecondLabel(file="1.json", agent=second[0], step=second[1], every_step=every)
    return case(labeled(RUN, *first), second=other)


def test_agreement_by_hand() -> None:
    found = agreement(twice(("A", 0), ("a", 3), 0, 3))
    assert (found["agent"], found["step"], found["joint"]) == (1, 0, 0)
    assert (found["within_1"], found["within_3"], found["step_any"]) == (0, 1, 1)
    same = agreement(twice(("A", 2), ("B", 2)))
    assert (same["agent"], same["step"], same["joint"]) == (0, 1, 0)
    assert math.isnan(same["step_any"])


@pytest.mark.parametrize(("step", "expected"), [(0, (1, 0, 1)), (3, (0, 1, 1)), (1, (0, 0, 0))])
def test_hits_of_either_label(step: int, expected: tuple[int, int, int]) -> None:
    found = hits(twice(("A", 0), ("B", 3), 1, 3), Guess(agent="B", ranking=(step,)))
    assert (found["step_first"], found["step_second"], found["step_either"]) == expected
    assert (found["agent_first"], found["agent_second"], found["agent_either"]) == (0, 1, 1)
    assert math.isnan(found["step_both"])
    assert found["step_any"] == (step in (1, 3))


def test_where_both_agree() -> None:
    found = hits(twice(("A", 2), ("A", 2)), Guess(agent="A", ranking=(2,)))
    assert (found["step_both"], found["agent_both"]) == (1, 1)
    missed = hits(twice(("A", 2), ("A", 2)), None)
    assert (missed["step_both"], missed["agent_both"], missed["step_either"]) == (0, 0, 0)
