"""The page and the tables: what stands in them, and that nothing from the data can break them."""

import re
from datetime import UTC, datetime

import pytest
from rich.console import Console

from tracer_hooks.evaluation import EvaluationData, EvaluationOptions, EvaluationReport, evaluate
from tracer_hooks.evaluation import evaluation_tables as tables
from tracer_hooks.evaluation import render_evaluation as page
from tracer_hooks.schema import AgentFault, Attribution, RunOutcome, Trajectory, Usage

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


def test_the_page_has_every_group_and_figure(report: EvaluationReport) -> None:
    text = page(report, made_at=datetime(2026, 3, 4, tzinfo=UTC))
    assert text.count('<section class="group"') == 3
    for title in ("who and when", "which agents and how", "who is blamed in"):
        assert title in text
    assert "2026-03-04" in text
    assert '<td style="--share:100.0%">100.0 [100.0, 100.0]</td>' in text
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
def with_a_failure() -> EvaluationReport:
    cases = []
    for k in range(4):
        one = labeled(run(*"AB", run_id=str(k)), "A", 0, question=str(k), mode=M11, faulty_steps=[0, 1])
        cases.append(case(one))

    def say(trajectory: Trajectory) -> Attribution:
        if trajectory.run_id == "3":
            raise ValueError(f"broken {NASTY}")
        usage = Usage(input_tokens=1200, output_tokens=30)
        return answer("B", 1, confidence=0.6, error_mode=M11, usage=usage)

    return evaluate(
        EvaluationData(dataset="trajectory", cases=tuple(cases)), {"one": Scripted(say)}, EvaluationOptions(draws=20)
    )


def test_what_an_attributor_cost_and_knew_beside_the_step_is_said(with_a_failure: EvaluationReport) -> None:
    text = shown(with_a_failure, 300)
    assert "error mode 75.0 of 4" in text
    assert "any faulty step 75.0" in text
    assert "1,200 tokens read and 30 written" in text


def test_a_run_on_which_an_attributor_fails_is_listed_once(with_a_failure: EvaluationReport) -> None:
    assert [one.source for one in with_a_failure.problems] == ["3"]
    assert shown(with_a_failure, 200).count("set apart: 3: attributor 'one': ValueError: broken") == 1
    assert "<script" not in page(with_a_failure)
