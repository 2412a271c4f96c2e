"""``tracer-hooks diagnose``: its contract with scripts."""

import json
import os
import subprocess
from pathlib import Path

import pytest

import tracer_hooks
from tracer_hooks.schema import RunOutcome, Step, ToolCall, Trajectory, to_json

from ._command import Command

KEYS = [
    "source", "run_id", "outcome", "outcome_reason", "outcome_source",
    "agent", "step", "certainty", "error_mode", "confidence", "agent_confidence", "candidates", "faults", "evidence",
    "provenance", "abstained", "abstention_reason", "lacks", "attributor", "elapsed_s",
    "headline", "findings", "advice", "expected", "got", "final_answer", "team", "trace_id", "span_id",
]  # fmt: skip


def failed_run(run_id: str = "r1") -> Trajectory:
    lookup = ToolCall(name="price", arguments={"route": "A-B"}, error="HTTP 500")
    return Trajectory(
        run_id=run_id,
        team="office",
        task="What does it cost?",
        steps=(
            Step(index=0, agent="researcher", kind="tool_call", tool_calls=(lookup,)),  # type: ignore[arg-type]
            Step(index=1, agent="researcher", content="It costs 75.00 EUR."),
            Step(index=2, agent="writer", content="You pay 75.00 EUR."),
        ),
        outcome=RunOutcome.FAILED,
        outcome_reason="check: expected 82.50, got 75.00",
        final_output="You pay 75.00 EUR.",
    )


def write(path: Path, *runs: Trajectory) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(to_json(run) + "\n" for run in runs), encoding="utf-8")
    return path


def test_json_has_exactly_the_promised_keys_in_order(command: Command) -> None:
    write(command.folder / "run.json", failed_run())
    done = command("diagnose", "run.json", "--json")
    assert (done.code, done.err) == (0, "")
    (result,) = done.json["results"]
    assert list(done.json) == ["results"]
    assert list(result) == KEYS
    assert (result["source"], result["run_id"]) == ("run.json", "r1")
    assert result["agent"] in ("researcher", "writer")
    assert all(list(candidate) == ["agent", "step", "score"] for candidate in result["candidates"])
    assert all(list(fault) == ["agent", "error_mode", "score"] for fault in result["faults"])
    assert all(
        list(found) == ["kind", "detail", "step", "agent", "quote", "text", "values"] for found in result["findings"]
    )
    assert [list(link) for link in result["provenance"]] == [["value", "step", "origin", "source"]] * 2
    assert result["provenance"][1] == {"value": "75.00 EUR", "step": 2, "origin": "copied", "source": 1}
    assert result["lacks"] == ["inputs"]
    assert done.out.isascii()
    (again,) = command("diagnose", "run.json", "--json", "--format", "trajectory").json["results"]
    assert again | {"elapsed_s": 0} == result | {"elapsed_s": 0}, "the same input gives the same answer"
    assert command("diagnose", "run.json", "--format", "whowhen").code == 1, "a format is taken at its word"


def test_one_result_a_trajectory_in_input_order_and_the_rest_after_a_bad_one(command: Command) -> None:
    folder = command.folder
    write(folder / "a" / "run2.json", failed_run("second"))
    write(folder / "a" / "run10.json", failed_run("third"))
    write(folder / "b.jsonl", failed_run("fourth"), failed_run("fifth"))
    with open(folder / "b.jsonl", "a", encoding="utf-8") as file:
        file.write('{"run_id": "cut off", "ste')
    (folder / "bad.json").write_text("no JSON at all")
    done = command("diagnose", "missing.json", "a", "bad.json", "b.jsonl", "x" * 5000, "--json")
    assert done.code == 1
    results = done.json["results"]
    ids = [result.get("run_id") for result in results]
    assert ids == [None, "second", "third", None, "fourth", "fifth", None, None]
    for result in (results[0], results[3], *results[6:]):
        assert list(result) == ["source", "error"]
    assert "missing.json" in results[0]["error"]
    assert results[6]["source"].startswith("b.jsonl")
    assert "File name too long" in results[7]["error"]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("", "empty"),
        ("[]", "holds no trajectory"),
        ("{", ""),
        ('{"hello": 1}', "unknown format"),
        ("\x00\x01\x02", ""),
        ('"text"', "unknown format"),
        ('{"run_id": "x", "steps": [{"index": 5, "agent": "a"}]}', "index is 5"),
        ('{"run_id": "x", "steps": 3}', "steps"),
        ("[" * 100_000, ""),
    ],
)
def test_bad_files_are_errors_of_their_own(command: Command, content: str, error: str) -> None:
    (command.folder / "bad.json").write_text(content)
    done = command("diagnose", "bad.json", "--json")
    assert done.code == 1
    (result,) = done.json["results"]
    assert error in result["error"]


def test_people_see_the_diagnosis_on_stdout(command: Command) -> None:
    write(command.folder / "run.json", failed_run())
    done = command("diagnose", "run.json")
    assert done.code == 0
    assert "step 2" in done.out
    assert "This trace lacks inputs: expect lower accuracy." in done.out
    assert done.err == ""
    (command.folder / "empty").mkdir()
    done = command("diagnose", "empty")
    assert done.code == 1
    assert "holds no file" in done.out
    done = command("diagnose", "run.json", "empty")
    assert done.err == "2 runs: 1 with a step to blame, 1 that could not be diagnosed\n"
    solo = (Step(index=0, agent="solo", content="x"),)
    write(
        command.folder / "odd.jsonl",
        Trajectory(run_id="empty"), Trajectory(run_id="one", steps=solo, outcome=RunOutcome.FAILED),
    )  # fmt: skip
    done = command("diagnose", "odd.jsonl", "--json")
    empty, one = done.json["results"]
    assert (done.code, empty["abstained"], empty["agent"], empty["step"]) == (0, True, None, None)
    assert one["run_id"] == "one"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["diagnose"], 2, "PATH"),
        (["diagnose", "run.json", "--format", "yaml"], 2, "yaml"),
        (["diagnose", "run.json", "--attributor", "oracle"], 2, "unknown attributor 'oracle'"),
        (["diagnose", "run.json", "--engine", "ray", "--out", "r.jsonl"], 3, "[ray]'"),
        (["nonsense"], 2, "nonsense"),
        (["diagnose", "run.json", "--failed", "--outcome", "succeeded"], 2, "contradict each other"),
        (["diagnose", "run.json", "--reason", "x"], 2, "Next: add --failed"),
        (["diagnose", "run.json", "--reason", "x", "--outcome", "unknown"], 2, "leave the reason out"),
        (["diagnose", "run.json", "--expected", " "], 2, "--expected is empty"),
        (["diagnose", "run.json", "--outcome", "good"], 2, "good"),
    ],
)
def test_exit_codes_of_wrong_calls(command: Command, arguments: list[str], code: int, said: str) -> None:
    write(command.folder / "run.json", failed_run())
    if "ray" in arguments:
        (command.folder / "ray.py").write_text("raise ImportError('not here')")  # as if it were not installed
        done = command(*arguments, PYTHONPATH=str(command.folder))
    else:
        done = command(*arguments)
    assert done.code == code
    assert said in done.err
    assert done.out == ""


def test_reports_of_one_and_of_many(command: Command) -> None:
    write(command.folder / "one.json", failed_run())
    write(command.folder / "two.jsonl", failed_run("a"), failed_run("b"))
    done = command("diagnose", "one.json", "--report", "out/one.html", "--json")
    assert done.code == 0
    assert "report: out/one.html" in done.err
    assert "75.00" in (command.folder / "out" / "one.html").read_text(encoding="utf-8")
    assert command("diagnose", "two.jsonl", "--report", "two.html").code == 0
    index = (command.folder / "two.html").read_text(encoding="utf-8")
    for number in (1, 2):
        assert f"two_files/{number}.html" in index
        assert "75.00" in (command.folder / "two_files" / f"{number}.html").read_text(encoding="utf-8")
    done = command("diagnose", "one.json", "missing.json", "--report", "both.html")
    assert done.code == 1
    assert "missing.json" in (command.folder / "both.html").read_text(encoding="utf-8")
    (page,) = (command.folder / "both_files").iterdir()  # none for what could not be diagnosed
    assert "75.00" in page.read_text(encoding="utf-8")
    done = command("diagnose", "one.json", "--report", "one.json/report.html")
    assert done.code in (1, 2)
    assert "cannot write" in done.err


@pytest.mark.parametrize(("as_json", "count"), [(True, 200), (False, 200), (True, 1)])
def test_a_reader_that_goes_away_is_no_error_message(command: Command, as_json: bool, count: int) -> None:
    write(command.folder / "runs.jsonl", *(failed_run(f"r{number}") for number in range(count)))
    process = subprocess.Popen(
        [*command.argv, "diagnose", "runs.jsonl", *(["--json"] if as_json else [])],
        cwd=command.folder,
        env=command.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    with process.stderr:
        said = process.stderr.read().decode()
    assert process.wait(60) == 1
    assert "Traceback" not in said
    assert "BrokenPipe" not in said


def unknown_run() -> Trajectory:
    return failed_run().model_copy(update={"outcome": RunOutcome.UNKNOWN, "outcome_reason": None})


@pytest.mark.parametrize(
    ("options", "outcome", "reason", "source"),
    [
        ([], "unknown", None, "trace"),
        (["--failed"], "failed", None, "stated"),
        (["--outcome", "failed", "--reason", "too low"], "failed", "too low", "stated"),
        (["--expected", "82.50"], "failed", "expected 82.50, got 75.00 EUR", "expected answer"),
        (["--expected", "75"], "succeeded", None, "expected answer"),
        (["--failed", "--expected", "75"], "failed", None, "stated"),
        (
            ["--reason", "too low", "--expected", "82.50"],
            "failed",
            "too low (expected 82.50, got 75.00 EUR)",
            "expected",
        ),
    ],
)
def test_what_is_said_of_a_run_decides_its_outcome(command, options, outcome, reason, source) -> None:
    write(command.folder / "run.json", unknown_run())
    (result,) = command("diagnose", "run.json", "--json", *options).json["results"]
    assert (result["outcome"], result["outcome_reason"]) == (outcome, reason)
    assert result["outcome_source"].startswith(source)
    assert result["abstained"] is (result["agent"] is None)


def test_the_outcome_that_is_said_holds_for_all_runs_and_counts_more_than_their_own(command: Command) -> None:
    passed = failed_run("b").model_copy(update={"outcome": RunOutcome.SUCCEEDED})
    write(command.folder / "runs.jsonl", unknown_run(), passed)
    done = command("diagnose", "runs.jsonl", "--failed")
    assert done.out.count("Outcome: failed, as you say.") == 2
    assert "The trace itself says that it succeeded; what you say counts." in done.out
    assert "2 runs: 2 with a step to blame" in done.err
    assert "as you say" not in command("diagnose", "runs.jsonl").out
    write(command.folder / "run.json", unknown_run())
    assert command("diagnose", "run.json", "--failed", "--report", "r.html", "--json").code == 0
    page = (command.folder / "r.html").read_text(encoding="utf-8")
    assert "Outcome: failed, as you say." in page
    assert "This trace lacks inputs" in page


def test_a_stored_run_is_diagnosed_by_its_id(command: Command, stored: tracer_hooks.TeamRun) -> None:
    run_id = stored.trajectory.run_id
    (result,) = command("diagnose", run_id, "--json").json["results"]
    assert (result["source"], result["run_id"], result["outcome"]) == (run_id, run_id, "failed")
    assert command("diagnose", run_id[:20], "--json", "--store", ".tracer_hooks").json["results"][0]["run_id"] == run_id


def test_a_path_wins_over_a_run_and_the_error_names_both(command: Command, stored: tracer_hooks.TeamRun) -> None:
    run_id = stored.trajectory.run_id
    write(command.folder / run_id[:20], failed_run("from the file"))
    assert command("diagnose", run_id[:20], "--json").json["results"][0]["run_id"] == "from the file"
    (result,) = command("diagnose", "zzz", "--json").json["results"]
    assert "no file or folder of this name" in result["error"]
    assert "no run 'zzz'" in result["error"]
    done = command("diagnose", "zzz", TRACER_HOOKS_STORE="off")
    assert done.code == 1
    assert "switched off" in done.out


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are POSIX")
def test_results_go_to_stdout_also_when_stderr_is_a_terminal(command: Command) -> None:
    import pty

    write(command.folder / "run.json", failed_run())
    master, slave = pty.openpty()
    try:
        done = subprocess.run(
            [*command.argv, "diagnose", "run.json"], cwd=command.folder, env={**command.environment, "TERM": "xterm"},
            stdout=subprocess.PIPE, stderr=slave, timeout=60, check=False,
        )  # fmt: skip
    finally:
        os.close(slave)
        os.close(master)
    assert "step 2" in done.stdout.decode()


def test_a_terminal_that_cannot_show_a_character(command: Command) -> None:
    run = failed_run().model_copy(update={"run_id": "prüfung ✓"})
    write(command.folder / "run.json", run)
    for arguments in (("diagnose", "run.json"), ("diagnose", "run.json", "--json")):
        done = command(*arguments, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
        assert done.code == 0
    assert json.loads(done.out)["results"][0]["run_id"] == "prüfung ✓"
