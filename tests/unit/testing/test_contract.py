"""The contract kit finds faults: each faulty adapter fails the test that is about its fault, and a good one passes."""

import subprocess
import sys
from pathlib import Path

import pytest

TEAMS = Path(__file__).parents[2] / "contract" / "teams" / "plain_teams.py"

MODULE = """
import importlib.util
from opentelemetry import context, trace
from tracer_hooks.frameworks import EntryKind, wrap_entry
from tracer_hooks.frameworks.plain import PlainAdapter
from tracer_hooks.telemetry import ChatInvocation, ChatReply, current_run
from tracer_hooks.testing import AdapterContract

spec = importlib.util.spec_from_file_location("plain_teams", {teams!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


class LeavesSomething(PlainAdapter):
    def hook(self, team, host):
        team.__dict__["extra"] = host
        return super().hook(team, host)


class SeesNothing(PlainAdapter):
    def hook(self, team, host):
        patches = super().hook(team, host)
        patches.undo()
        return patches


class _Around(PlainAdapter):
    def hook(self, team, host):
        patches = super().hook(team, host)
        hooked = team.run
        patches.patch(team, "run", lambda task: self.around(hooked, task))
        return patches


class ChangesTheResult(_Around):
    def around(self, run, task):
        return run(task) + "!"


class ReplacesTheError(_Around):
    def around(self, run, task):
        try:
            return run(task)
        except Exception as error:
            raise RuntimeError("something failed") from error


class LeavesItsSpanBehind(_Around):
    def around(self, run, task):
        run_value = run(task)
        context.attach(trace.set_span_in_context(trace.NonRecordingSpan(trace.SpanContext(1, 1, False))))
        return run_value


class AsksTwice(_Around):
    def around(self, run, task):
        run(task)
        return run(task)


class CallsItDouble(PlainAdapter):
    def hook(self, team, host):
        patches = super().hook(team, host)
        original = team.run.__wrapped__

        def doubled(task):
            value = original(task)
            ChatInvocation(current_run(), "double").stop(ChatReply(content=value))
            return value

        patches.undo()
        entry = wrap_entry(team, "run", EntryKind.CALL, host, original=doubled, task_of=lambda a, k: a[0])
        patches.patch(team, "run", entry)
        return patches


class Contract(AdapterContract):
    teams = module.Teams()
    adapter = None


def faulty(kind):
    return type("Test" + kind.__name__, (Contract,), {{"adapter": kind()}})


TestGood = faulty(PlainAdapter)
TestLeavesSomething = faulty(LeavesSomething)
TestSeesNothing = faulty(SeesNothing)
TestChangesTheResult = faulty(ChangesTheResult)
TestReplacesTheError = faulty(ReplacesTheError)
TestLeavesItsSpanBehind = faulty(LeavesItsSpanBehind)
TestAsksTwice = faulty(AsksTwice)
TestCallsItDouble = faulty(CallsItDouble)
del Contract
"""

FAULTS = {
    "LeavesSomething": "test_undo_restores_every_attribute[pipeline]",
    "SeesNothing": "test_the_pipeline_is_told_step_by_step[run]",
    "ChangesTheResult": "test_results_are_the_frameworks_own[run]",
    "ReplacesTheError": "test_a_failing_model_ends_the_run_as_without_us[run]",
    "LeavesItsSpanBehind": "test_one_hook_observes_several_runs",
    "AsksTwice": "test_a_failing_tool_ends_the_run_as_without_us[run]",
    "CallsItDouble": "test_the_pipeline_is_told_step_by_step[run]",
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("contract")
    (folder / "test_faulty.py").write_text(MODULE.format(teams=str(TEAMS)), encoding="utf-8")
    tests = sorted({f"::Test{kind}::{test}" for test in FAULTS.values() for kind in ("Good", *FAULTS)})
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "--rootdir", str(folder)]
    command += [f"test_faulty.py{test}" for test in tests]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100).stdout


@pytest.mark.parametrize("kind", FAULTS)
def test_each_fault_is_found(report: str, kind: str) -> None:
    node = f"test_faulty.py::Test{kind}::{FAULTS[kind]}"
    assert f"FAILED {node}" in report or f"ERROR {node}" in report


def test_a_good_adapter_passes(report: str) -> None:
    passed = {line for line in report.splitlines() if line.startswith("PASSED test_faulty.py::TestGood")}
    assert len(passed) == len(set(FAULTS.values()))
