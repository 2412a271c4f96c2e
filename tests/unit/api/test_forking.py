"""``fork``: a change at a step beside a control, what is kept of it, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tracer_hooks
from tracer_hooks.cli.app import app
from tracer_hooks.errors import ConfigError, ReplayError
from tracer_hooks.schema import RunKind
from tracer_hooks.store import ForkedFrom, RunStore

from .test_replaying import Duo, passes


def test_a_change_is_verified_beside_its_control_and_kept(tmp_path: Path) -> None:
    file, duo = tmp_path / "runs.sqlite", Duo()
    run = duo.fail(store=str(file))
    first = tracer_hooks.fork(run, at=0, say="5", store=file)
    again = tracer_hooks.fork(run, at=1, say="10", n=3, store=file)
    assert (first.verdict, again.succeeded) == ("verified by replay 5 of 5, control 0 of 5", (3, 0))
    assert [step.differs for step in first.comparison.steps] == [("text",), ("text",)]
    with RunStore(file) as store:
        kept = store.get(first.control_runs[0].trajectory.run_id)
        changed = store.get(first.runs[0].trajectory.run_id)
    assert (kept.kind, kept.outcome) == (RunKind.REPLAY, "failed")
    recorded = run.last.trajectory.run_id
    assert kept.parent is not None
    group = kept.parent.group
    assert kept.parent == ForkedFrom(run_id=recorded, step=0, group=group)
    assert changed.parent == ForkedFrom(run_id=recorded, step=0, change="adder says '5'", kind="say", group=group)
    of_a_fork = tracer_hooks.fork(kept, at=0, say="5", n=1, build_team=duo.build_team, check=passes, store=file)
    assert of_a_fork.succeeded == (1, 0)
    assert of_a_fork.verdict == "too few runs to show an effect: 1 of 1, control 0 of 1"
    page = run.report(tmp_path / "run.html").read_text()
    assert page.count("control 0 of 5") == page.count("control 0 of 3") == 2, "in the finding and in the tree"


def test_another_prompt_is_told_from_the_step_on() -> None:
    duo = Duo()
    found = tracer_hooks.fork(duo.fail(), at=1, prompts={"doubler": "You double."}, n=1, store="off")
    assert found.succeeded == (0, 0)
    assert found.verdict == "no effect is shown by replay: 0 of 1, control 0 of 1"
    assert duo.asked == ["doubler", "doubler"]


def test_a_tool_returns_another_result_and_the_model_before_it_is_not_asked() -> None:
    prices = {"pen": "4"}
    asked: list[str] = []

    def build_team() -> Any:
        @tracer_hooks.tool
        def price(of: str) -> str:
            return prices[of]

        @tracer_hooks.model
        def ask(messages: list[dict[str, str]]) -> str:
            asked.append(messages[0]["content"])
            return messages[0]["content"]

        @tracer_hooks.agent
        def clerk(task: str) -> str:
            ask([{"role": "user", "content": task}])
            return ask([{"role": "user", "content": price(task)}])

        return lambda task: clerk(task)

    run = tracer_hooks.run(build_team, "pen", check=lambda result: result.text == "5", diagnose="off", store="off")
    step = next(call.step for call in run.tape.tool_calls)
    found = tracer_hooks.fork(run, at=step, result="5", n=2, store="off")
    assert found.succeeded == (2, 0)
    with pytest.raises(ConfigError, match="tool calls on the tape"):
        tracer_hooks.fork(run, at=step + 1, result="5", store="off")


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"at": 0}, "exactly one"),
        ({"at": 0, "say": "5", "result": "5"}, "exactly one"),
        ({"at": 2, "say": "5"}, "one of the run's 2 steps"),
        ({"at": 0, "say": "5", "n": 0}, "1 or more"),
        ({"at": 0, "prompts": {"nobody": "x"}}, "'adder', 'doubler'"),
    ],
)
def test_what_cannot_be_done_is_refused(given: dict[str, Any], match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        tracer_hooks.fork(Duo().fail(store="off"), store="off", **given)


def test_an_imported_run_and_a_command_without_its_team_say_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "runs.sqlite"
    run = Duo().fail(store=str(file))
    tracer_hooks.flush()
    run_id = run.last.trajectory.run_id
    shown = CliRunner().invoke(app, ["fork", run_id, "--at", "0", "--say", "5", "--store", str(file)])
    assert isinstance(shown.exception, ConfigError)
    assert "MODULE:build_team --check MODULE:check --at 0" in str(shown.exception)
    with RunStore(file) as store:
        stored = store.get(run_id).model_copy(update={"tape": None})
    with pytest.raises(ReplayError, match="has no tape"):
        tracer_hooks.fork(stored, at=0, say="5", store=file)
