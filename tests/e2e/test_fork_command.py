"""``tracer-hooks fork``: a team that is recorded with its run, what is said of it, and everything that can go wrong."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tracer_hooks.frameworks.plain import PLACES
from tracer_hooks.store import RunStore

from ._command import Command, Done, InProcess
from .test_replay_command import RECORD, TEAM, record, refused, run_id  # noqa: F401 - a fixture

RECORDED = "team office:build_team, check office:check (recorded with the run)\n"
HOOKED = """
import office, tracer_hooks

@tracer_hooks.hook(check=lambda result: result.text == "10", diagnose="off", name="the adders")
def build_team(prompts=None):
    return office.build_team(prompts)

def main():
    print(tracer_hooks.run(build_team, "2 3").trajectory.run_id)

if __name__ == "__main__":
    main()
"""


@pytest.fixture
def command(in_process: InProcess) -> InProcess:
    (in_process.folder / "office.py").write_text(TEAM)
    PLACES.clear()  # of other tests' files
    return in_process


def script(command: InProcess, text: str, name: str = "app.py", **environment: str) -> str:
    """Run a script of the user's, and give the id of its run."""
    (command.folder / name).write_text(text)
    shell = Command(command.folder).environment | {"BAD": "1", "PYTHONPATH": ":".join(sys.path), **environment}
    done = subprocess.run(
        [sys.executable, name], cwd=command.folder, env=shell, capture_output=True, text=True, check=True
    )
    return done.stdout.split()[-1]


def fork(command: InProcess, *arguments: str | Path, **environment: str) -> Done:
    return command("fork", *arguments, BAD="1", **environment)


def test_the_team_and_the_check_are_those_of_the_record_and_said_first(command: InProcess, run_id: str) -> None:  # noqa: F811
    done = fork(command, run_id[:8], "--at", "0", "--say", "5")
    assert done.code == 0
    assert done.err.startswith(RECORDED)
    assert done.out.endswith("verified by replay 5 of 5, control 0 of 5\n")
    document = fork(command, run_id, "--at", "0", "--say", "5", "--json").json
    assert (document["verdict"], document["change"]) == ("verified by replay 5 of 5, control 0 of 5", "adder says '5'")
    given = fork(command, run_id, "office:build_team", "--check", "office:never", "--at", "0", "--say", "5", "-n", "1")
    assert "recorded" not in given.err
    assert "0 of 1 succeeded" in given.out
    never = fork(command, run_id, "--check", "office:never", "--at", "0", "--say", "5", "-n", "1")
    assert never.err.startswith("team office:build_team (recorded with the run)\n")
    replayed = command("replay", run_id, "--from", "0", "--correction", "5", BAD="1")
    assert replayed.err.startswith(RECORDED)
    assert "step 0 matters" in replayed.out


def test_a_fork_is_forked_and_shown_with_its_parent(command: InProcess, run_id: str) -> None:  # noqa: F811
    first = fork(command, run_id, "--at", "0", "--say", "6", "-n", "1", "--json").json["runs"][0]
    again = fork(command, first, "--at", "0", "--say", "5", "-n", "3")
    assert again.err.startswith(RECORDED)
    shown = " ".join(command("runs", "show", first).out.split())
    assert f"forked from {run_id} at step 0: adder says '6'" in shown
    assert "at step 0: adder says '5'; verified by replay 3 of 3, control 0 of 3" in shown
    document = command("runs", "show", run_id, "--json").json
    assert (document["source"]["built_by"], document["forks"][0]) == ("office:build_team", first)
    page = command("runs", "export", run_id, "--format", "html").out
    assert "no effect is shown by replay: 0 of 1, control 0 of 1" in page
    assert "office.py:" in page


def test_a_script_is_named_by_its_file_and_a_hooked_factory_brings_its_check(command: InProcess) -> None:
    found = script(command, HOOKED)
    done = fork(command, found, "--at", "0", "--say", "5")
    assert done.err.startswith("team app.py:build_team (recorded with the run)\n")
    assert "verified by replay 5 of 5" in done.out
    with RunStore(command.folder / ".tracer_hooks" / "runs.sqlite") as store:
        assert {fork.team for fork in store.forks_of(found)} == {"the adders"}
    (command.folder / "app.py").rename(command.folder / "moved.py")
    gone = fork(command, found, "--at", "0", "--say", "5")
    assert gone.code == 2
    assert "there is no file 'app.py'" in gone.err
    assert f"if it has moved: tracer-hooks fork {found} MODULE:build_team" in gone.err
    assert fork(command, found, "moved.py:build_team", "--at", "0", "--say", "5", "-n", "1").code == 0


@pytest.mark.parametrize(
    "text",
    [
        HOOKED.replace('if __name__ == "__main__":\n    main()', "main()"),  # to load it is to run it once more
        RECORD.replace("office.build_team", "lambda: office.build_team()"),
    ],
)
def test_what_cannot_be_loaded_by_its_name_is_not_recorded(command: InProcess, text: str) -> None:
    done = fork(command, found := script(command, text), "--at", "0", "--say", "5")
    refused(done, 2, "expected what builds it", f"tracer-hooks fork {found} MODULE:build_team --check MODULE:check")


def test_an_imported_run_loads_nothing(command: InProcess, run_id: str) -> None:  # noqa: F811
    assert command("runs", "export", run_id, "--out", "run.json").code == 0
    written = json.loads((command.folder / "run.json").read_text())
    assert written["stored"]["source"]["built_by"] == "office:build_team"
    written["run_id"] = "other"
    written["stored"] |= {"tags": {"release": "1.4"}, "parent": {"run_id": run_id, "step": 0}}
    (command.folder / "other.json").write_text(json.dumps(written))
    assert command("runs", "import", "other.json").out.startswith("1 imported")
    document = command("runs", "show", "other", "--json").json
    assert (document["tags"], document["parent"]["run_id"]) == ({"release": "1.4"}, run_id)
    assert document["source"] == written["stored"]["source"]
    refused(fork(command, "other", "--at", "0", "--say", "5"), 2, "expected what builds it")
    written["run_id"], written["stored"]["parent"] = "third", "nonsense"
    (command.folder / "third.json").write_text(json.dumps(written))
    bad = command("runs", "import", "third.json")
    assert (bad.code, "stored.parent" in bad.err) == (1, True)


def test_what_goes_wrong_is_said_in_one_line(command: InProcess, run_id: str) -> None:  # noqa: F811
    said = (run_id, "--at", "0", "--say", "5")
    refused(fork(command, *said, BUILD="raises"), 1, "could not be built again: RuntimeError: no such endpoint")
    refused(fork(command, *said, CHECK="raises"), 1, "the check raised KeyError: 'score'")
    refused(fork(command, run_id, "--at", "0", "--prompt", "adder=none.txt"), 2, "--prompt: 'none.txt' cannot be read")
    refused(fork(command, run_id, "--at", "0", "--prompt", "adder"), 2, "expected AGENT=FILE")
    refused(fork(command, run_id, "--at", "7", "--say", "5"), 2, "one of the run's 2 steps")
    refused(fork(command, *said, DAY=" It is Tuesday."), 1, "step 0, agent 'adder': message 0 (system) differs")
    noted = record(command, NOTES="1")
    (command.folder / "notes.txt").unlink()
    undeclared = fork(command, noted, "--at", "0", "--say", "5", NOTES="1")
    assert (undeclared.code, "--tool note=replayable" in undeclared.err) == (1, True)
    assert not (command.folder / "notes.txt").exists()
    again = fork(command, noted, "--at", "0", "--say", "5", "--tool", "note=live", NOTES="1")
    assert "verified by replay 5 of 5" in again.out


def test_ctrl_c_keeps_the_runs_that_were_made(command: InProcess, run_id: str) -> None:  # noqa: F811
    asked = 'print("asked:", who)'
    slow = TEAM.replace(asked, f"{asked}\n        __import__('time').sleep(0.2)")
    (command.folder / "office.py").write_text(slow)
    shell = Command(command.folder)
    arguments = ["fork", run_id, "--at", "0", "--say", "5", "-n", "50"]
    environment = shell.environment | {"BAD": "1", "PYTHONPATH": ":".join(sys.path)}
    with subprocess.Popen([*shell.argv, *arguments], cwd=command.folder, env=environment, stderr=-1, text=True) as made:
        store = RunStore(command.folder / ".tracer_hooks" / "runs.sqlite", read_only=True)
        until = time.monotonic() + 30
        while len(store.forks_of(run_id)) < 3 and time.monotonic() < until:
            time.sleep(0.05)
        made.send_signal(signal.SIGINT)
        _, said = made.communicate(timeout=30)
    forks = store.forks_of(run_id)
    assert made.returncode == 1
    assert f"stopped after {len(forks)} runs; they are in the run store" in said
    assert "Traceback" not in said
    assert "verified by replay" not in command("runs", "show", run_id).out or len(forks) >= 6
