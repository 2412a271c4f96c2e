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
    dry = team(*calibrate(team, "--injected", "30", "--faults", "8", "--dry-run", "--json"))
    assert dry.code == 0, dry.err
    assert dry.json["runs"] > 12
    assert dry.json["seconds"] >= 0
    assert not (team.folder / ".tracer_hooks" / "attributors").exists()
    journal = team.folder / ".tracer_hooks" / "calibration" / "my_team" / "journal.jsonl"
    assert len(journal.read_text().splitlines()) == 1, "a dry run makes one run"
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


def test_what_cannot_be_calibrated_is_said(team: Command) -> None:
    others = ("--tasks", "tasks.jsonl", "--check", "my_team:check")
    for arguments, code, said in (
        (("calibrate", "my_team:nobody", *others), 2, "has no 'nobody'"),
        (("calibrate", "no_such_module:build_team", *others), 2, "there is no module 'no_such_module'"),
        (("calibrate", "build_team", *others), 2, "expected MODULE:NAME"),
        (calibrate(team, check="my_team:broken"), 1, "the check raised KeyError"),
    ):
        done = team(*arguments)
        assert done.code == code
        assert said in done.err
    few = team(*calibrate(team, "--faults", "0", "--natural", "0"))
    assert few.code == 1
    assert "0 labelled failures" in few.err
    assert "give the same command again" in few.err
    (team.folder / "tasks.jsonl").write_text('{"question": "?"}\n')
    none = team(*calibrate(team))
    assert none.code == 1
    assert "line 1" in none.err
