"""The page and the tables: what stands in them, and that nothing from the data can break them."""

import re
from datetime import UTC, datetime

import pytest
from rich.console import Console

from tracer_hooks.evaluation import EvaluationData, EvaluationOptions, EvaluationReport, SecondLabel, evaluate
from tracer_hooks.evaluation import evaluation_tables as tables
from tracer_hooks.evaluation import render_evaluation as page
from tracer_hooks.evaluation._measures import Measure
from tracer_hooks.evaluation._page import bar_chart, line_chart, reliability_chart, series_of
from tracer_hooks.schema import AgentFault, Attribution, RunOutcome, Trajectory, Usage

from .._known import known
from ._runs import M11, Scripted, answer, case, labeled, run

NASTY = "<script>alert(1)</script>[bold]"


@pytest.fixture(scope="module")
def report() -> EvaluationReport:
    steps = [case(labeled(run(*"AB" * (k + 1), run_id=str(k)), "A", 0, question=str(k)), group=NASTY) for k in range(5)]
    faults = [
        case(
            labeled(run("A", "B", run_id=f"f{k}", outcome=RunOutcome.SUCCEEDED), faults=[("A", M11)], question=f"f{k}")
        )
        for k in range(3)
    ]
    fault = AgentFault(agent="A", error_mode=M11, score=0.5)
    attributor = Scripted(lambda trajectory: answer("A", 0, ("B", 1, 0.2), confidence=0.6, faults=(fault,)))
    data = EvaluationData(dataset="trajectory", cases=(*steps, *faults), notes=(NASTY,))
    options = EvaluationOptions(draws=50)
    return evaluate(data, {"one": attributor, NASTY: attributor}, options)


def test_the_page_needs_nothing_and_runs_nothing(report: EvaluationReport) -> None:
    text = page(report)
    assert "default-src 'none'" in text
    assert not re.search(r"(?:src|href)=[\"'](?!#)", text)
    assert "<script" not in text
    assert "@import" not in text
    assert "url(" not in text
    assert text.count("&lt;script&gt;") >= 3


def test_the_page_has_every_group_chart_and_figure(report: EvaluationReport) -> None:
    text = page(report, made_at=datetime(2026, 3, 4, tzinfo=UTC))
    assert text.count('<section class="group"') == 3
    for title in ("Who and when", "Which agents, and how", "Detection", "Is the confidence a frequency?"):
        assert title in text
    assert "2026-03-04" in text
    assert text.count("<svg") == sum((4 if group.steps else 0) + (1 if group.faults else 0) for group in report.groups)
    assert page(report, made_at=datetime(2026, 3, 4, tzinfo=UTC)) == text


def shown(report: EvaluationReport, width: int) -> str:
    console = Console(width=width, highlight=False)
    with console.capture() as capture:
        console.print(tables(report, width=width))
    return capture.get()


def test_the_tables_hold_the_figures_and_what_is_written_in_names(report: EvaluationReport) -> None:
    text = shown(report, 200)
    assert "random, exact expectation" in text
    assert "roster prior" in text
    assert NASTY in text
    assert "100.0 [100.0, 100.0]" in text
    assert "false alarms" in text
    assert "ECE" in text


def test_a_narrow_terminal_gets_the_most_important_figures(report: EvaluationReport) -> None:
    text = shown(report, 100)
    assert "hit@3" in text
    assert "hit@5" not in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.fixture(scope="module")
def twice_labelled() -> EvaluationReport:
    second = SecondLabel(file="1.json", agent="B", step=1, every_step=(1,))
    cases = []
    for k in range(4):
        one = labeled(run(*"AB", run_id=str(k)), "A", 0, question=str(k), mode=M11, faulty_steps=[0, 1])
        cases.append(case(one, second=second if k else None))

    def say(trajectory: Trajectory) -> Attribution:
        if trajectory.run_id == "3":
            raise ValueError(f"broken {NASTY}")
        usage = Usage(input_tokens=1200, output_tokens=30)
        return answer("B", 1, confidence=0.6, error_mode=M11, usage=usage)

    return evaluate(
        EvaluationData(dataset="trajectory", cases=tuple(cases)), {"one": Scripted(say)}, EvaluationOptions(draws=20)
    )


def test_two_teams_of_labellers_are_shown_in_both(twice_labelled: EvaluationReport) -> None:
    text, html = shown(twice_labelled, 200), page(twice_labelled)
    assert "two teams of labellers on 3 runs agree: step 0.0" in text
    assert "Two teams of labellers on 3 runs" in html
    assert "They agree: agent 0.0" in html
    (row,) = [line for line in text.split("against either label")[1].splitlines() if line.split()[:1] == ["one"]]
    assert row.split()[1:4] == ["0.0", "66.7", "66.7"]  # the first label, the second, either
    head = shown(twice_labelled, 100).split("against either label")[1].splitlines()
    assert max(map(len, head)) <= 100


def test_what_an_attributor_cost_and_knew_beside_the_step_is_said(twice_labelled: EvaluationReport) -> None:
    text = shown(twice_labelled, 300)
    assert "error mode 75.0 of 4" in text
    assert "any faulty step 75.0" in text
    assert "1,200 tokens read and 30 written" in text


def test_a_run_on_which_an_attributor_fails_is_listed_once(twice_labelled: EvaluationReport) -> None:
    assert [one.source for one in twice_labelled.problems] == ["3"]
    assert shown(twice_labelled, 200).count("set apart: 3: attributor 'one': ValueError: broken") == 1
    assert "<script" not in page(twice_labelled)


# --- where things stand in the charts ---
def measure(value: float, low: float | None = None, high: float | None = None, runs: int = 10) -> Measure:
    return Measure(value=value, low=low, high=high, runs=runs)


def test_bars_are_as_long_as_their_figures() -> None:
    ours, other = series_of([("ours", False), ("other", True)])
    chart = bar_chart([(ours, {"step": measure(0.5, 0.25, 0.7)}), (other, {"step": measure(0.25)})], {"step": "Step"})
    (first,), (second,) = (row.bars for row in chart.rows)
    assert first is not None
    assert second is not None
    (panel,) = chart.panels
    assert [text for _, text in panel.ticks] == ["0", "40", "80"]
    assert first.width == pytest.approx(panel.width * 0.5 / 0.8, abs=0.01)
    assert second.width == pytest.approx(first.width / 2, abs=0.01)
    assert known(first.low) < panel.x + first.width < known(first.high) <= panel.x + panel.width
    assert second.low is None
    assert chart.rows[0].y < chart.rows[1].y < chart.height


def test_a_figure_that_is_missing_has_no_bar() -> None:
    (ours,) = series_of([("ours", False)])
    assert bar_chart([(ours, {})], {"step": "Step"}).rows[0].bars == (None,)


def test_points_stand_at_confidence_and_accuracy() -> None:
    (ours,) = series_of([("ours", False)])
    chart = reliability_chart([(ours, [(0.0, 0.0, 1), (1.0, 1.0, 100), (0.5, 1.0, 25)])])
    low, high, middle = chart.lines[0].points
    assert (low.x, low.y) == (chart.left, chart.top + chart.side)
    assert (high.x, high.y) == (chart.left + chart.side, chart.top)
    assert (middle.x, middle.y) == (chart.left + chart.side / 2, chart.top)
    assert low.radius < middle.radius < high.radius


def test_lines_have_a_place_for_every_name_in_order() -> None:
    ours, other = series_of([("ours", False), ("other", True)])
    chart = line_chart(
        "t", "a", "u", [(ours, [("1", measure(0.2)), ("3", measure(0.4))]), (other, [("3", measure(0.1))])]
    )
    first, second = chart.lines[0].points
    assert first.x < second.x == chart.lines[1].points[0].x
    assert second.y == chart.top  # 0.4 is the end of the axis
    assert [text for _, text in chart.ticks_across] == ["1", "3"]


def test_colours_are_for_attributors() -> None:
    found = series_of([("a", False), ("b", True), ("c", False)])
    assert [one.colour for one in found] == [0, None, 1]
