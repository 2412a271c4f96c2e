"""Builds: what they make, how they go on, and what ends them."""

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tracer_hooks.budget import CostCap
from tracer_hooks.datasets import LabeledSet
from tracer_hooks.errors import AdapterError, ConfigError, DatasetError
from tracer_hooks.schema import LabelSource, RunOutcome
from tracer_hooks_lab.datasets import AuditOptions, BuildObserver, DatasetBuilder, audit
from tracer_hooks_lab.faults import FaultStrategy
from tracer_hooks_lab.subjects import OwnTeam

from ._team import Chain, builder, comparable, options, tasks


def journal_units(folder: Path) -> Counter[str]:
    import json

    return Counter(json.loads(line)["unit"] for line in (folder / "journal.jsonl").read_text().splitlines())


def test_a_build_gives_labelled_and_clean_runs_and_counts_what_it_discards(tmp_path: Path) -> None:
    found = builder(tmp_path, count=6).build()
    assert len(found.clean) == 6
    assert len(found.labeled) + len(found.discarded) == 12
    assert len(found.labeled) >= 3
    assert len(found.pairs()) == len(found.labeled)
    for item in found.labeled:
        assert item.label_source is LabelSource.INJECTED
        assert item.trajectory.outcome is RunOutcome.FAILED
        assert item.trajectory.reference is not None
        assert item.trajectory.steps[item.decisive.step].agent == item.decisive.agent
        assert item.verification["control_passes"] == item.verification["control_runs"] == 3
    assert all(one["reason"] and one["mode"] and one["strategy"] for one in found.discarded)
    assert comparable(LabeledSet.load(tmp_path).labeled) == comparable(found.labeled)
    team = Chain()
    assert comparable(builder(tmp_path, team, count=6).build().labeled) == comparable(found.labeled)
    assert team.runs == [], "a build that is done does nothing again"


def test_nothing_but_the_words_of_a_step_tells_where_the_fault_is(tmp_path: Path) -> None:
    found = builder(tmp_path, count=12, faults_per_run=3).build()
    for item in [*found.labeled, *found.clean]:
        for step in item.trajectory.steps:
            assert step.started_at is not None
            assert step.ended_at is not None
            assert (step.ended_at - step.started_at).total_seconds() >= 0.01
    checked = audit(found, folds=3, options=AuditOptions(permutations=200, draws=200))
    by_words = ("bag of words", "few words", "all words")  # in a team that always says the same, a change shows
    failed = [check.name for check in checked.checks if check.verdict == "fail" and check.name not in by_words]
    assert failed == []
    assert [one for one in checked.findings if one.kind in ("forbidden word", "verification", "structure")] == []


def test_failures_of_the_team_are_labelled_by_replay(tmp_path: Path) -> None:
    doubled: list[str] = []

    def sometimes(name: str, shown: str) -> str | None:
        if name != "doubler" or "is 4." not in shown:  # the sum of task 0
            return None
        doubled.append(shown)
        return "The sum of both is 3." if len(doubled) == 1 else None

    work = builder(tmp_path, Chain(before=sometimes), count=3, faults_per_run=0)
    found = work.build()
    natural = [item for item in found.labeled if item.label_source is LabelSource.COUNTERFACTUAL]
    assert [(item.decisive.step, item.decisive.agent) for item in natural if item.decisive] == [(1, "doubler")]
    assert len(found.clean) == 2
    unexplained = builder(
        tmp_path / "all", Chain(before=lambda name, shown: "The sum in the end is 3."), count=1
    ).build()
    assert unexplained.labeled == ()
    assert "no step was found" in unexplained.discarded[0]["reason"]
    assert unexplained.discarded[0]["runs"] > 0
    assert natural[0].verification["flips"] == natural[0].verification["trials"]
    assert natural[0].verification["control_flips"] == 0


def always_three(name: str, shown: str) -> str | None:
    """The doubler is wrong whenever it is asked about task 0, so that no further try shows it."""
    return "The sum of both is 3." if name == "doubler" and "is 4." in shown else None


def test_a_search_that_ends_undecided_gives_a_weak_label(tmp_path: Path) -> None:
    seen: list[BuildObserver] = []
    team = Chain(before=always_three)
    found = builder(tmp_path, team, 3, seen.append, faults_per_run=0, weak_from=0.2).build()
    (weak,) = found.labeled
    assert weak.is_weak
    assert weak.weight == pytest.approx(weak.verification["probability"])
    assert weak.decisive.reason.startswith("replays do not prove it; after ")
    assert weak.label_source is LabelSource.COUNTERFACTUAL
    assert weak.trajectory.steps[weak.decisive.step].agent == weak.decisive.agent
    assert [one.kept for one in seen if one.phase == "failures"][-1] == 0, "weak labels are not those that are wanted"
    assert comparable(LabeledSet.load(tmp_path).labeled) == comparable(found.labeled)
    again = builder(tmp_path, Chain(before=always_three), count=3, faults_per_run=0, weak_from=0.2).build()
    assert comparable(again.labeled) == comparable(found.labeled)
    for weak_from in (None, 0.999):  # without a likely step there is none
        folder = tmp_path / str(weak_from)
        none = builder(folder, Chain(before=always_three), count=3, faults_per_run=0, weak_from=weak_from).build()
        assert (none.labeled, len(none.discarded)) == ((), 1)


def test_the_order_of_the_set_is_that_of_the_plan_whatever_the_workers(tmp_path: Path) -> None:
    one = builder(tmp_path / "one", count=6).build()
    four = builder(tmp_path / "four", count=6, workers=4).build()
    assert comparable(one.labeled) == comparable(four.labeled)
    assert [item.question_id for item in one.clean] == [item.question_id for item in four.clean]


def test_a_build_that_is_killed_goes_on_and_loses_and_doubles_nothing(tmp_path: Path) -> None:
    whole = builder(tmp_path / "whole").build()
    folder = tmp_path / "killed"
    script = Path(__file__).with_name("_killed_build.py")
    done = subprocess.run([sys.executable, str(script), str(folder), "8"], check=False, timeout=100)
    assert done.returncode == -signal.SIGKILL
    begun = journal_units(folder)
    assert 0 < len(begun) < len(journal_units(tmp_path / "whole"))
    found = builder(folder).build()
    assert comparable(found.labeled) == comparable(whole.labeled)
    assert len(found.discarded) == len(whole.discarded)
    assert journal_units(folder) == journal_units(tmp_path / "whole")
    assert set(journal_units(folder).values()) == {1}


def test_more_faults_a_run_are_planned_beside_the_earlier_ones(tmp_path: Path) -> None:
    first = builder(tmp_path, faults_per_run=1).build()
    more = builder(tmp_path, faults_per_run=3).build()
    assert len(more.labeled) + len(more.discarded) == 3 * (len(first.labeled) + len(first.discarded))
    assert {item.fault_id for item in first.labeled} <= {item.fault_id for item in more.labeled}


def test_progress_tells_each_phase_and_what_was_done_before_and_what_is_wanted_ends_a_phase(tmp_path: Path) -> None:
    seen: list[BuildObserver] = []
    found = builder(tmp_path, count=3, on_progress=seen.append, wanted_injected=2).build()
    assert len(found.labeled) == 2
    assert list(dict.fromkeys(one.phase for one in seen)) == ["runs", "faults", "failures"]
    last = [one for one in seen if one.phase == "runs"][-1]
    assert (last.done, last.total, last.kept, last.resumed) == (3, 3, 3, 0)
    seen.clear()
    found = builder(tmp_path, count=5, on_progress=seen.append, wanted_injected=2).build()
    assert len(found.labeled) == 2, "what is wanted is not passed"
    runs = [one for one in seen if one.phase == "runs"]
    assert (runs[0].done, runs[0].resumed, runs[-1].done, runs[-1].total) == (3, 3, 5, 5)


def test_a_cap_ends_a_session_and_the_next_one_goes_on(tmp_path: Path) -> None:
    whole = builder(tmp_path / "whole").build()
    sessions = 0
    while True:
        work = builder(tmp_path / "capped", cap=CostCap(max_runs=9))
        found = work.build()
        sessions += 1
        if work.spending.refusal is None:
            break
        assert work.spending.runs <= 9
    assert sessions > 2
    assert {item.question_id for item in found.clean} == {item.question_id for item in whole.clean}
    assert len(found.labeled) + len(found.discarded) == len(whole.labeled) + len(whole.discarded)


def gone(name: str, shown: str) -> str:
    raise ConnectionError("connection refused")


def test_a_model_that_is_gone_ends_the_build_and_its_runs_are_made_again(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"run after run was broken off.*connection refused.*same command again"):
        builder(tmp_path, Chain(before=gone), count=10).build()
    assert len(LabeledSet.load(tmp_path).discarded) == 8
    found = builder(tmp_path, count=10, faults_per_run=0).build()
    assert len(found.clean) == 10
    assert not any("refused" in one["reason"] for one in found.discarded)


@pytest.mark.parametrize(("phase", "done", "errs"), [("faults", 2, False), ("failures", None, True)])
def test_a_model_that_goes_meanwhile_takes_no_fault_along_and_explains_no_failure(tmp_path, phase, done, errs) -> None:
    team = Chain(before=lambda name, shown: "The sum in the end is 3." if errs and name == "writer" else None)

    def leave(progress: BuildObserver) -> None:
        if progress.phase == phase and done in (None, progress.done):
            team.before = gone

    with pytest.raises(DatasetError, match="connection refused"):
        builder(tmp_path, team, count=9, faults_per_run=4, on_progress=leave).build()
    found = builder(tmp_path, count=9, faults_per_run=4).build()  # the team is well now
    assert not any("refused" in one["reason"] for one in found.discarded)
    if errs:  # asked again, the writer saves each run
        assert [item.decisive.step for item in found.labeled if item.decisive] == [2] * 9
    else:
        assert len(found.labeled) + len(found.discarded) == 36


def test_a_check_that_raises_is_counted_and_judged_again_in_the_next_session(tmp_path: Path) -> None:
    def fragile(result: object, task: str) -> bool:
        if "Shelf 1 " in task:
            raise ValueError("cannot read that")
        return True

    found = builder(tmp_path, check=fragile, faults_per_run=0).build()
    assert ["the check raised ValueError: can" in one["reason"] for one in found.discarded] == [True]
    assert len(found.clean) == 3
    assert len(builder(tmp_path, check=lambda result: True, faults_per_run=0).build().clean) == 4


def test_a_check_that_raises_on_most_tasks_leaves_the_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def fragile(result: object, task: str) -> bool:
        if not task.startswith(("Shelf 0", "Shelf 19")):
            raise ValueError("cannot read that")
        return True

    work = builder(tmp_path, check=fragile, count=20, faults_per_run=0)
    found = work.build()
    assert len(found.clean) == 2
    assert work.broken_off == 18
    said = [record.getMessage() for record in caplog.records if "raised ValueError" in record.getMessage()]
    assert len(said) == 1
    assert "ValueError: cannot read that" in said[0]
    assert "Shelf 1 has" in said[0]


@pytest.mark.parametrize(("well", "fewer_than"), [(0, 12), (3, 33)])
def test_a_check_that_raises_from_some_task_on_ends_the_build(tmp_path: Path, well: int, fewer_than: int) -> None:
    team = Chain()

    def breaks_down(result: object, task: str) -> bool:
        if len(team.runs) > well:
            raise ConnectionError("the judge is gone")
        return True

    with pytest.raises(DatasetError, match="the check raised ConnectionError: the judge is gone"):
        builder(tmp_path, team, check=breaks_down, count=60, faults_per_run=0).build()
    assert len(team.runs) < fewer_than
    assert len(builder(tmp_path, check=lambda result: True, count=60, faults_per_run=0).build().clean) == 60


def test_a_factory_that_raises_now_and_then_is_counted(tmp_path: Path) -> None:
    team, calls = Chain(), []

    def build_team(prompts: object = None) -> Callable[[str], str]:
        calls.append(prompts)
        if len(calls) == 2:
            raise OSError("no such file")
        return team()

    found = builder(tmp_path, build_team, faults_per_run=0).build()
    assert len(found.clean) == 3
    assert journal_units(tmp_path)["run/chain/user/t1/0"] == 1
    assert len(builder(tmp_path, build_team, faults_per_run=0).build().clean) == 4


def test_what_cannot_be_built_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nothing to run"):
        builder(tmp_path, count=0)
    subjects = [OwnTeam(target=Chain(), name="chain")] * 2
    with pytest.raises(ConfigError, match="two runs would be called 'chain/user/t0/0'"):
        DatasetBuilder(tmp_path, subjects, lambda _: tasks(1), options(strategies=(FaultStrategy.CHANNEL,)))
    with pytest.raises(AdapterError, match="expected a team"):
        builder(tmp_path, lambda: 42).build()
    with pytest.raises(DatasetError, match="no run could be made"):
        builder(tmp_path, Chain(before=gone), count=2).build()
