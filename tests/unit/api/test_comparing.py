"""``compare``: steps that are the same, changed, and in one run only; and what the command shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import tracer_hooks
from tracer_hooks.cli.app import app
from tracer_hooks.errors import ConfigError, StoreError
from tracer_hooks.rerun import StepState
from tracer_hooks.schema import RunOutcome, Step, ToolCall, Trajectory
from tracer_hooks.store import RunStore, StoredRun


def _run(name: str, *steps: Step, answer: str = "470") -> Trajectory:
    return Trajectory(run_id=name, team="t", steps=steps, final_output=answer, outcome=RunOutcome.SUCCEEDED)


def _search(index: int, query: str, result: str) -> Step:
    call = ToolCall(name="search", arguments={"query": query}, result=result)
    return Step(index=index, agent="searcher", content="I look it up.", tool_calls=(call,))


A = _run("run-a", _search(0, "price", "430"), Step(index=1, agent="writer", content="430"), answer="430")
B = _run(
    "run-b",
    _search(0, "price", "470"),
    Step(index=1, agent="checker", content="The amount holds against the invoice."),
    Step(index=2, agent="writer", content="430" * 400),
)


def test_steps_are_aligned_and_say_what_differs() -> None:
    found = tracer_hooks.compare(A, B)
    assert [(step.state, step.a, step.b, step.differs) for step in found.steps] == [
        (StepState.CHANGED, 0, 0, ("result",)),
        (StepState.ONLY_B, None, 1, ()),
        (StepState.CHANGED, 1, 2, ("text",)),
    ]
    assert not found.same_answer
    back = tracer_hooks.compare(B, A)
    assert [step.state for step in back.steps] == [StepState.CHANGED, StepState.ONLY_A, StepState.CHANGED]


def test_a_run_is_the_same_as_itself_and_an_empty_one_has_no_steps() -> None:
    assert tracer_hooks.compare(A, A).first_difference is None
    assert tracer_hooks.compare(A, A).same_answer
    assert {step.state for step in tracer_hooks.compare(_run("none"), B).steps} == {StepState.ONLY_B}
    assert tracer_hooks.compare(_run("none"), _run("none")).steps == ()


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected a TeamRun"):
        tracer_hooks.compare(3, A)  # type: ignore[arg-type]
    with RunStore(tmp_path / "runs.sqlite") as store:
        store.save(StoredRun.of(A, session_id="s"))
    with pytest.raises(StoreError, match="no run 'nobody'"):
        tracer_hooks.compare("run-a", "nobody", store=tmp_path / "runs.sqlite")


def test_the_command_keeps_to_80_columns(tmp_path: Path) -> None:
    with RunStore(tmp_path / "runs.sqlite") as store:
        for run in (A, B):
            store.save(StoredRun.of(run, session_id=run.run_id))
    shown = CliRunner().invoke(app, ["compare", "run-a", "run-b", "--store", str(tmp_path / "runs.sqlite")])
    assert shown.exit_code == 0
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert "  -   1  checker: only in B" in shown.stdout
    assert "the answer differs:\n    A: 430\n    B: 470\n" in shown.stdout
