"""``tracer-hooks calibrate``: estimate, build, fit, report; and what it says when that cannot be done."""

import json
import shutil
from pathlib import Path

import pytest

from ._command import Command

pytest.importorskip("sklearn")

TEAM = Path(__file__).parents[1] / "fixtures" / "table_team.py"


@pytest.fixture
def team(command: Command) -> Command:
    shutil.copy(TEAM, command.folder / "my_team.py")
    lines = [json.dumps({"task": f"Give the number {number}"}) for number in range(11, 23)]
    (command.folder / "tasks.jsonl").write_text("\n".join(lines) + "\n")
    return command


def calibrate(team: Command, *more: str | Path, check: str = "my_team:check") -> tuple[str | Path, ...]:
    return ("calibrate", "my_team:build_team", "--tasks", "tasks.jsonl", "--check", check, "--workers", "1", *more)


def test_a_team_is_calibrated(team: Command) -> None:
    done = team(*calibrate(team, "--injected", "30", "--faults", "8", "--json"))
    assert done.code == 0, done.err
    assert "Estimate: about" in done.err
    assert "Ctrl-C is safe" in done.err
    document = done.json
    assert document["team"]["agents"] == ["reader", "solver", "checker"]
    assert document["clean"] == 12
    assert document["report"]["labels"]["injected faults"] >= 30
    assert document["judged_on"] == "injected faults"
    assert document["kept"] == "fitted to injected faults"
    folder = Path(document["folder"])
    assert folder.is_relative_to(team.folder / ".tracer_hooks" / "attributors")
    assert (folder / "structural.json").is_file()
    assert (team.folder / ".tracer_hooks" / "calibration" / "my_team" / "labeled.jsonl").is_file()
    again = team(*calibrate(team, "--injected", "30", "--faults", "8"))
    assert again.code == 0, again.err
    for said in (
        "who answers",
        "Each failure was judged without any label of its own task",
        "Judged on injected faults: kept is the attributor fitted to injected faults. There are no natural failures",
        f"The fitted attributor lies in {folder}",
    ):
        assert said in again.out


def test_a_dry_run_makes_one_run_and_fits_nothing(team: Command) -> None:
    done = team(*calibrate(team, "--dry-run", "--json"))
    assert done.code == 0, done.err
    assert done.json["runs"] > 12
    assert done.json["seconds"] >= 0
    assert not (team.folder / ".tracer_hooks" / "attributors").exists()
    journal = team.folder / ".tracer_hooks" / "calibration" / "my_team" / "journal.jsonl"
    assert len(journal.read_text().splitlines()) == 1


def test_a_check_that_raises_stops_the_build(team: Command) -> None:
    done = team(*calibrate(team, check="my_team:broken"))
    assert done.code == 1
    assert "the check raised KeyError" in done.err


def test_too_few_labels_say_what_to_do(team: Command) -> None:
    done = team(*calibrate(team, "--faults", "0", "--natural", "0"))
    assert done.code == 1
    assert "0 labelled failures" in done.err
    assert "give the same command again" in done.err


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("my_team:nobody", "has no 'nobody'"),
        ("no_such_module:build_team", "there is no module 'no_such_module'"),
        ("build_team", "expected MODULE:NAME"),
    ],
)
def test_a_team_that_cannot_be_found(team: Command, target: str, said: str) -> None:
    done = team("calibrate", target, "--tasks", "tasks.jsonl", "--check", "my_team:check")
    assert done.code == 2
    assert said in done.err


def test_a_tasks_file_that_holds_no_task(team: Command) -> None:
    (team.folder / "tasks.jsonl").write_text('{"question": "?"}\n')
    done = team(*calibrate(team))
    assert done.code == 1
    assert "line 1" in done.err
