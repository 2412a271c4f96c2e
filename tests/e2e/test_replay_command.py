"""``tracer-hooks replay``: whole runs, one step, the search, and everything that a user can get wrong."""

import sqlite3
from pathlib import Path

import pytest

import tracer_hooks
from tracer_hooks.testing import ScriptedLLM

from ._command import Command, Done, InProcess

TEAM = """
import os
import tracer_hooks

print("the team's module says hello")


def check(result):
    if os.environ.get("CHECK") == "raises":
        raise KeyError("score")
    return result.text == "10"


def never(result):
    return False


def build_team(prompts=None):
    if os.environ.get("BUILD") == "raises":
        raise RuntimeError("no such endpoint")

    @tracer_hooks.model
    def ask(messages):
        who, shown = messages[0]["content"], messages[1]["content"]
        print("asked:", who)
        if "add" in who:
            if "carefully" in who or not os.environ.get("BAD"):
                return "5"
            return "7"
        return str(int(shown) * 2)

    @tracer_hooks.tool
    def note(number: int) -> str:
        with open("notes.txt", "a") as file:
            file.write(f"{number}\\n")
        return "noted"

    @tracer_hooks.agent
    def adder(task):
        told = "You add." + os.environ.get("DAY", "")
        return ask([{"role": "system", "content": told}, {"role": "user", "content": task}])

    @tracer_hooks.agent
    def doubler(number):
        if os.environ.get("NOTES"):
            note(int(number))
        return ask([{"role": "system", "content": "You double."}, {"role": "user", "content": number}])

    return lambda task: doubler(adder(task))


number = 3
"""

RECORD = """
import tracer_hooks, office
run = tracer_hooks.run(office.build_team, "2 3", check=office.check, diagnose="off")
print(run.trajectory.run_id)
"""


@pytest.fixture
def command(in_process: InProcess) -> InProcess:
    (in_process.folder / "office.py").write_text(TEAM)
    return in_process


def record(command: InProcess, **environment: str) -> str:
    """Record a run, and give its id."""
    with command.clean({"BAD": "1", **environment}):
        exec(RECORD, {})
    return command.printed().split()[-1]


@pytest.fixture
def run_id(command: InProcess) -> str:
    return record(command)


def replay(command: InProcess, *arguments: str | Path, team: str = "office:build_team", **environment: str) -> Done:
    return command("replay", *arguments, "--team", team, **environment)


def test_a_run_is_reproduced_from_its_tape_in_a_process_of_its_own(command: InProcess, run_id: str) -> None:
    done = Command(command.folder)("replay", run_id[:8], "--team", "office:build_team")
    assert (done.code, done.out) == (0, "reproduced: 2 model calls from the tape, 0 live calls\n")
    assert "says hello" in done.err, "what the team prints is no part of our document"
    assert "asked:" not in done.err
    document = replay(command, run_id, "--json").json
    assert document == {
        "run": run_id,
        "reproduced": True,
        "same_answer": True,
        "served": 2,
        "live": 0,
        "outcome": "succeeded",
        "divergences": [],
    }


def test_a_run_that_is_not_reproduced_says_where(command: InProcess, run_id: str) -> None:
    done = replay(command, run_id, DAY=" It is Tuesday.")
    assert (done.code, done.out) == (1, "")
    assert "step 0, agent 'adder': message 0 (system) differs" in done.err
    assert "Tuesday" in done.err
    document = replay(command, run_id, "--json", DAY=" It is Tuesday.")
    assert document.code == 1
    assert document.json["reproduced"] is False
    assert "step 0, agent 'adder'" in document.json["reason"]
    lenient = replay(command, run_id, "--lenient", DAY=" It is Tuesday.")
    assert lenient.code == 1
    assert "not reproduced: 2 model calls from the tape, 0 live calls" in lenient.out
    assert "step 0, agent 'adder'" in lenient.out
    other = replay(command, run_id, "--task", "4 4")
    assert other.code == 1
    assert "step 0, agent 'adder': message 1 (user) differs: recorded '2 3', now '4 4'" in other.err
    done = replay(command, run_id, "--find", "--check", "office:check", DAY=" It is Tuesday.")
    refused(done, 1, "step 0, agent 'adder'", "mode='lenient'")


def test_a_step_that_matters(command: InProcess, run_id: str) -> None:
    arguments = (run_id, "--from", "0", "--check", "office:check")
    done = replay(command, *arguments, "--correction", "5", BAD="1")
    assert done.code == 0
    for shown in (
        "step 0 (adder) corrected 3 3 100%",
        "as recorded 3 0 0%",
        "step 1 corrected instead 3 0 0%",
        "difference +1.00, 95 % interval +0.21 to +1.00",
        "step 0 matters: corrected, the run succeeds",
        "9 runs",
    ):
        assert shown in " ".join(done.out.split())
    document = replay(command, *arguments, "--correction", "5", "--json", BAD="1").json
    assert (document["is_significant"], document["effect"]) == (True, 1.0)
    assert document["correction"]["content"] == "5"
    done = replay(command, run_id, "--from", "1", "--check", "office:check", "--trials", "4")
    assert done.code == 0
    assert "no effect of step 1 is shown" in done.out


def test_a_correction_from_a_file_and_one_by_guidance(command: InProcess, run_id: str) -> None:
    (command.folder / "reply.txt").write_text("5")
    for given in (("--correction-file", "reply.txt"), ("--guidance", "Work carefully.")):
        done = replay(command, run_id, "--from", "0", "--expected", "10", "--json", *given, BAD="1")
        assert done.code == 0
        assert done.json["is_significant"] is True


def test_a_correction_that_gives_the_answer_away_is_called_one(command: InProcess, run_id: str) -> None:
    (command.folder / "parrot.py").write_text(TEAM.replace("str(int(shown) * 2)", '"10" if shown == "10" else "14"'))
    done = replay(
        command, run_id, "--from", "0", "--correction", "10", "--check", "office:check", team="parrot.py:build_team"
    )
    assert done.code == 0
    assert "may give the answer away" in " ".join(done.out.split())


def test_the_search_finds_the_step(command: InProcess, run_id: str) -> None:
    done = replay(command, run_id, "--find", "--check", "office:check")
    assert done.code == 0
    assert done.out.startswith(
        "decisive step 0, agent adder: 3 of 3 runs succeed with step 0 corrected, 0 of 3 without"
    )
    assert "step 0 (adder): corrected 3 of 3, as recorded 0 of 3 - it matters" in done.err
    document = replay(command, run_id, "--find", "--check", "office:check", "--json").json
    assert document["decisive"]["step"] == 0
    assert document["run_id"] == run_id
    none = replay(command, run_id, "--find", "--check", "office:never", "--proposer", "template")
    assert none.code == 0
    assert "no decisive step found" in none.out


def test_several_proposers_are_tried_one_after_the_other(command: InProcess, run_id: str) -> None:
    arguments = (run_id, "--find", "--check", "office:never", "--json")
    for several in (("--proposer", "resample,template"), ("--proposer", "resample", "--proposer", "template")):
        document = replay(command, *arguments, *several).json
        assert [test["correction"]["source"] for test in document["tested"]] == ["resample"] * 2 + ["template"] * 2
    refused(replay(command, run_id, "--from", "0", "--proposer", "resample,template"), 2, "one proposer")
    refused(replay(command, run_id, "--find", "--proposer", "guidance"), 2, "--base-url URL and --model NAME")
    refused(replay(command, run_id, "--find", "--proposer", "resample,oracle"), 2, "unknown proposer 'oracle'")


def test_a_model_writes_guidance(command: InProcess, run_id: str) -> None:
    with ScriptedLLM(["Mind the sum."] * 20) as llm:
        where = ("--base-url", llm.base_url, "--model", "m")
        document = replay(
            command, run_id, "--from", "0", "--check", "office:check", "--proposer", "guidance", *where, "--json"
        ).json
    assert document["correction"]["message"] == "Mind the sum."
    assert document["correction"]["source"] == "guidance"


def test_the_cap_is_kept_and_said(command: InProcess, run_id: str) -> None:
    arguments = (run_id, "--find", "--check", "office:never", "--json")
    by_runs = replay(command, *arguments, "--max-runs", "2").json
    assert by_runs["runs"] == 2
    assert "the cap of 2 runs is reached" in by_runs["reason"]
    assert "the cap of 0 seconds is reached" in replay(command, *arguments, "--max-seconds", "0").json["reason"]


def test_tools_are_declared(command: InProcess, run_id: str) -> None:
    noted = record(command, NOTES="1")
    notes = command.folder / "notes.txt"
    notes.unlink()
    arguments = (noted, "--from", "0", "--correction", "5", "--check", "office:check")
    undeclared = replay(command, *arguments, NOTES="1")
    assert undeclared.code == 1
    assert "--tool note=replayable" in undeclared.err
    assert not notes.exists()
    blocked = replay(command, *arguments, "--tool", "note=blocked", "--json", NOTES="1")
    assert (blocked.code, blocked.json["corrected"]["flips"]) == (0, 0), "the team gets an error instead of a note"
    assert not notes.exists()
    assert replay(command, *arguments, "--tool", "*=live", NOTES="1").code == 0
    assert set(notes.read_text().split()) == {"5", "7"}


def refused(done: Done, code: int, *said: str) -> None:
    assert done.code == code, done.err
    assert done.out == ""
    ours = [line for line in done.err.splitlines() if line.startswith("tracer-hooks: ")]
    assert len(ours) == 1, done.err
    for part in said:
        assert part in ours[0]


@pytest.mark.parametrize(
    ("team", "said"),
    [
        ("office", "expected MODULE:NAME"),
        ("offfice:build_team", "there is no module 'offfice'"),
        ("nowhere/office.py:build_team", "there is no file 'nowhere/office.py'"),
        ("office:build_teem", "'office' has no 'build_teem', expected one of its names: "),
        ("needs.py:build_team", "needs 'no_such_package', which is not installed"),
        ("raises.py:build_team", "importing 'raises.py' raised ValueError: not today"),
    ],
)
def test_a_team_that_is_not_there(command: InProcess, run_id: str, team: str, said: str) -> None:
    (command.folder / "needs.py").write_text("import no_such_package")
    (command.folder / "raises.py").write_text("raise ValueError('not today')")
    refused(replay(command, run_id, team=team), 2, "--team", said)
    unbuilt = "the team 'office:build_team' could not be built again: RuntimeError: no such endpoint"
    refused(replay(command, run_id, BUILD="raises"), 1, unbuilt, "--team MODULE:NAME")
    refused(replay(command, run_id, "--find", "--check", "office:check", BUILD="raises"), 1, unbuilt)
    assert replay(command, run_id, team="office:number").code == 1
    (command.folder / "teams").mkdir()
    (command.folder / "office.py").rename(command.folder / "teams" / "mine.py")
    assert replay(command, run_id, team="teams/mine.py:build_team").code == 0, "a team may be given as a file"


def test_a_check_that_is_missing_wrong_or_raises(command: InProcess, run_id: str) -> None:
    refused(replay(command, run_id, "--find"), 2, "--check MODULE:check or --expected")
    refused(replay(command, run_id, "--find", "--check", "office:number"), 2, "--check", "expected a function")
    raising = replay(command, run_id, "--from", "0", "--check", "office:check", CHECK="raises")
    refused(raising, 1, "the check raised KeyError: 'score'")


def test_an_unknown_step_run_tool_or_choice(command: InProcess, run_id: str) -> None:
    check = ("--check", "office:check")
    refused(replay(command, run_id, "--from", "9", *check), 1, "step 9", "expected one of the steps [0, 1]")
    refused(replay(command, "zzz", *check), 1, "no run 'zzz'", "tracer-hooks runs list")
    assert command("replay", run_id).code == 0, "team and check are recorded with the run"
    with command.clean({"BAD": "1"}):
        exec(RECORD.replace("office.build_team", "lambda: office.build_team()"), {})
    unnamed = command.printed().split()[-1]
    refused(command("replay", unnamed), 2, f"Run: tracer-hooks replay {unnamed} --team MODULE:build_team")
    refused(replay(command, run_id, "--tool", "note", *check), 2, "expected NAME=USE")
    refused(replay(command, run_id, "--tool", "note=often", *check), 2, "'often' is unknown")
    refused(replay(command, run_id, "--find", "--from", "1"), 2, "not both")
    refused(replay(command, run_id, "--correction", "5"), 2, "--from K")
    refused(replay(command, run_id, "--from", "0", "--correction", "5", "--guidance", "x"), 2, "one correction")
    refused(replay(command, run_id, "--from", "0", "--correction-file", "none.txt", *check), 2, "'none.txt'")
    assert replay(command, run_id, "--proposer", "oracle").code == 2
    assert replay(command, run_id, "--from", "-1").code == 2


def test_a_run_that_succeeded_and_one_without_a_tape(command: InProcess, run_id: str) -> None:
    passed = record(command, BAD="")
    refused(replay(command, passed, "--find", "--check", "office:check"), 1, "ended as 'succeeded'")
    assert replay(command, passed).code == 0
    bare = record(command, TRACER_HOOKS_RECORD="off")
    refused(replay(command, bare), 1, "has no tape", "TRACER_HOOKS_RECORD=full")
    with sqlite3.connect(command.folder / ".tracer_hooks" / "runs.sqlite") as connection:
        connection.execute("update runs set tape = ?", (b"zgarbage",))
    refused(replay(command, run_id), 1, "is damaged")


def test_a_store_that_is_off_missing_or_elsewhere(command: InProcess, run_id: str) -> None:
    refused(replay(command, run_id, TRACER_HOOKS_STORE="off"), 2, "--store")
    refused(replay(command, run_id, "--store", "none.sqlite"), 2, "there is no such file")
    assert tracer_hooks.flush()  # it was made by this very process
    store = (command.folder / ".tracer_hooks" / "runs.sqlite").rename(command.folder / "moved.sqlite")
    assert replay(command, run_id, "--store", store).code == 0
