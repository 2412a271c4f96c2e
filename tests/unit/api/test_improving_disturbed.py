"""Improving twice, at once, killed, undone by hand, or with a team that is another one meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.budget import CostCap
from tracer_hooks.errors import ConfigError, DatasetError
from tracer_hooks.improvement import ImprovePhase, ImproveProgress
from tracer_hooks.journal import Journal
from tracer_hooks.store import PromptState, PromptStore

from ._sums import OWN, Writes, carry, harms_later, improved, improver, options, tasks, team_builder

pytest.importorskip("gepa")

CHANGED = {**OWN, "solver": "You are the solver. Add both numbers. Write only the number."}


# --- another job in the folder -------------------------------------------------------------------------------------
def test_a_folder_begun_with_other_tasks_or_options_is_refused(tmp_path: Path) -> None:
    improved(tmp_path / "job", options=options(cap=CostCap(max_runs=3)))
    others: list[dict[str, Any]] = [
        {"tasks": tasks(seed=4)},
        {"tasks": [task.model_copy(update={"reference": "1"}) for task in tasks()]},
        {"options": options(metric_calls=60)},
        {"options": options(seed=1)},
        {"options": options(agents=("solver",))},
        {"options": options(attributor="contrast")},
    ]
    before = (tmp_path / "job" / "journal.jsonl").read_bytes()
    for other in others:
        with pytest.raises(ConfigError, match=r"holds an improvement with other tasks or options; .* --out DIR"):
            improved(tmp_path / "job", **other)
        with pytest.raises(ConfigError, match="holds an improvement with other"):
            improver(tmp_path / "job", **other).estimate()
    assert (tmp_path / "job" / "journal.jsonl").read_bytes() == before
    assert improved(tmp_path / "job", options=options(workers=2, pairs=70)).outcome == "accepted"


def test_another_process_at_the_folder(tmp_path: Path) -> None:
    with Journal(tmp_path / "job").held():
        with pytest.raises(DatasetError, match="another process is building"):
            improved(tmp_path / "job")
        with pytest.raises(DatasetError, match="another process is building"):
            improver(tmp_path / "job").estimate()


# --- the team is another one ---------------------------------------------------------------------------------------
def test_a_team_that_changed_in_the_middle_of_a_job_is_an_error(tmp_path: Path) -> None:
    improved(tmp_path / "job", options=options(cap=CostCap(max_runs=12)))
    with pytest.raises(ConfigError, match=r"'solver' are not those that this job began with.*--out DIR"):
        improved(tmp_path / "job", team=team_builder(own=CHANGED))
    assert improved(tmp_path / "job").outcome == "accepted", "nothing was lost"


def test_a_version_for_other_instructions_is_left_out_and_said(tmp_path: Path) -> None:
    assert improved(tmp_path / "job").version == 1
    result = improved(tmp_path / "again", team=team_builder(own=CHANGED), store=tmp_path / "job.sqlite")
    assert result.old == CHANGED
    (note,) = result.notes
    assert note.startswith("version 1 of the prompts was made for other instructions of 'solver'")
    assert (result.outcome, result.version) == ("accepted", 2)
    with PromptStore(tmp_path / "job.sqlite") as store:
        version = store.current(result.team)
    assert version is not None
    assert version.own == {"solver": CHANGED["solver"]}


# --- somebody else decides -----------------------------------------------------------------------------------------
class AtTrial:
    """Does something when the trial has come to its tenth run."""

    def __init__(self, act: Any) -> None:
        self._act, self._done = act, False

    def __call__(self, progress: ImproveProgress) -> None:
        if progress.phase is ImprovePhase.TRIAL and progress.done >= 10 and not self._done:
            self._done = True
            self._act()


def test_a_version_that_is_rolled_back_during_its_trial_is_not_tried_any_longer(tmp_path: Path) -> None:
    def roll_back() -> None:
        with PromptStore(tmp_path / "job.sqlite") as store:
            (team,) = store.teams()
            store.roll_back(team, 1, reason="it reads badly")

    result = improved(tmp_path / "job", on_progress=AtTrial(roll_back))
    assert result.outcome == "rejected"
    assert result.reason == "Version 1 was rolled back while it was on trial: it reads badly"
    assert len(result.pairs) == 5
    again = improved(tmp_path / "job")
    assert (again.outcome, again.reason, again.pairs) == ("rejected", result.reason, result.pairs)
    with PromptStore(tmp_path / "job.sqlite") as store:
        (version,) = store.versions()
        assert version.state is PromptState.ROLLED_BACK


def test_a_version_that_is_rolled_back_after_the_job_is_reported_so(tmp_path: Path) -> None:
    first = improved(tmp_path / "job")
    with PromptStore(tmp_path / "job.sqlite") as store:
        store.roll_back(first.team, 1, reason="too long")
    again = improved(tmp_path / "job")
    assert again.outcome == "rejected"
    assert again.reason == "Version 1 was rolled back after it was accepted: too long"
    assert again.pairs == first.pairs


def test_what_was_accepted_meanwhile_is_in_the_way(tmp_path: Path) -> None:
    def accept_another() -> None:
        with PromptStore(tmp_path / "job.sqlite") as store:
            (team,) = store.teams()
            other = store.propose(team, {"planner": "Plan well."}, {"planner": OWN["planner"]})
            store.start_trial(team, other.number)
            store.accept(team, other.number)

    result = improved(tmp_path / "job", on_progress=AtTrial(accept_another))
    assert result.outcome == "rejected"
    assert result.reason.endswith("But meanwhile version 2 was accepted, with which they were not compared.")
    with PromptStore(tmp_path / "job.sqlite") as store:
        assert [version.state for version in store.versions()] == [PromptState.ROLLED_BACK, PromptState.ACCEPTED]


def test_a_pinned_version_keeps_the_new_one_on_trial_until_it_is_unpinned(tmp_path: Path) -> None:
    first = improved(tmp_path / "first", store=tmp_path / "job.sqlite")

    def needs_both(told: str, a: int, b: int) -> bool:
        return "carry" in told and (b < 60 or "twice" in told)

    def pin() -> None:
        with PromptStore(tmp_path / "job.sqlite") as store:
            store.pin(first.team, 1)

    chat, team = Writes("ADD: Look twice."), team_builder(needs_both)
    result = improved(tmp_path / "job", chat, team=team, on_progress=AtTrial(pin))
    assert result.outcome == "on trial"
    assert result.reason.endswith("They are not accepted as long as version 1 is pinned.")
    with PromptStore(tmp_path / "job.sqlite") as store:
        store.unpin(first.team, 1)
    assert improved(tmp_path / "job", chat, team=team).outcome == "accepted"


def test_another_job_is_first_at_every_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between reading a version and changing it, another job with the same texts has made the same change."""
    changes = {name: getattr(PromptStore, name) for name in ("start_trial", "accept", "roll_back")}
    overtaken = []

    def first(name: str) -> Any:
        def change(store: PromptStore, *args: Any, **more: Any) -> Any:
            changes[name](store, *args, **more)
            overtaken.append(name)
            return changes[name](store, *args, **more)

        return change

    for name in changes:
        monkeypatch.setattr(PromptStore, name, first(name))
    assert improved(tmp_path / "good").outcome == "accepted"
    bad = improved(tmp_path / "bad", Writes("ADD: Do harm."), team=team_builder(harms_later()))
    assert bad.outcome == "rejected", bad.reason
    assert overtaken == ["start_trial", "accept", "start_trial", "roll_back"]


# --- killed --------------------------------------------------------------------------------------------------------
PROGRAM = """
import sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
from api._sums import improved, team_builder, heeds_carry

def slow(told, a, b):
    time.sleep(0.005)
    return heeds_carry(told, a, b)

print(improved(Path(sys.argv[1]), team=team_builder(slow)).outcome)
"""


def start(folder: Path) -> subprocess.Popen[str]:
    tests = str(Path(__file__).parents[1])
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(tests=tests), str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("lines", [4, 14, 30, 60, 110])
def test_a_job_that_was_killed_goes_on_to_the_same_end(tmp_path: Path, lines: int) -> None:
    journal = tmp_path / "job" / "journal.jsonl"
    job = start(tmp_path / "job")
    until = time.monotonic() + 60
    while time.monotonic() < until and job.poll() is None:
        if journal.exists() and journal.read_bytes().count(b"\n") >= lines:
            os.kill(job.pid, signal.SIGKILL)
            break
        time.sleep(0.002)
    job.communicate()
    assert job.returncode == -signal.SIGKILL, "it was done before it was killed"
    done = start(tmp_path / "job")
    said, wrong = done.communicate(timeout=100)
    assert (said.strip(), done.returncode) == ("accepted", 0), wrong
    units = Counter(json.loads(line)["unit"] for line in journal.read_text().splitlines())
    assert set(units.values()) == {1}
    with PromptStore(tmp_path / "job.sqlite") as store:
        (version,) = store.versions()
    undisturbed = improved(tmp_path / "undisturbed", carry())
    assert version.texts == undisturbed.texts
    assert version.state is PromptState.ACCEPTED
    assert version.trial.new_runs == version.trial.old_runs == len(undisturbed.pairs)
    kept = json.loads((tmp_path / "job" / "improvement.json").read_text())
    assert kept["runs"] == undisturbed.runs
    assert kept["unused"] == undisturbed.unused.model_dump(mode="json") if undisturbed.unused else False
