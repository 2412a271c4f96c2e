"""What is said of a judge is no surer than what was measured."""

from pathlib import Path

import pytest

from tracer_hooks.evaluation import Measure
from tracer_hooks_lab import AdaptationRow, RivalReport, TrainedJudge
from tracer_hooks_lab.commands._calibrate import judge_words


def judge(*, more: int, fewer: int, prior: float = 0.0, unusable: int = 0) -> TrainedJudge:
    measure = Measure(value=0.5, runs=20)
    rows = (
        AdaptationRow(method="judge", group="natural failures", step=measure, agent=measure),
        AdaptationRow(
            method="most frequent step", group="natural failures", step=Measure(value=prior, runs=20), agent=measure
        ),
    )
    report = RivalReport(
        rival="judge", standard="structural, fitted to both", rows=rows, labels={"natural failures": 20}, questions=20,
        more=more, fewer=fewer, unusable=unusable,
    )  # fmt: skip
    return TrainedJudge(folder=Path("calibration/team/judge"), trained_on=40, report=report)


@pytest.mark.parametrize(
    ("more", "fewer", "said", "not_said"),
    [
        (9, 1, "the judge is better than structural, fitted to both", "not shown"),
        (8, 2, "the judge is not shown to be better", "is better than"),
        (5, 0, "Use the fit", "is better than"),
        (0, 0, "not shown to be better", "is better than"),
        (1, 9, "the judge is worse than structural, fitted to both", "Use it"),
    ],
)
def test_better_is_said_where_the_test_says_so_and_nowhere_else(more, fewer, said, not_said) -> None:
    (line,) = judge_words(judge(more=more, fewer=fewer))
    assert said in line
    assert not_said not in line
    assert f"more steps in {more} and fewer in {fewer} of 20 tasks left out" in line
    assert line.startswith("On natural failures")


def test_a_prior_that_is_as_good_and_replies_that_fail_are_told() -> None:
    lines = list(judge_words(judge(more=9, fewer=1, prior=0.5, unusable=3)))
    assert lines[1:] == [
        "The most frequent step names as many steps as the judge without reading a run; mind that.",
        "3 of its replies could not be used and count as wrong.",
    ]
