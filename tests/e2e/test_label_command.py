"""``tracer-hooks label``: by hand and from a table, and ``fit`` on what it wrote."""

import json
from pathlib import Path

from tracer_hooks.datasets import load
from tracer_hooks.schema import RunOutcome, Step, ToolCall, Trajectory, to_json

from ._command import Command, Done
from .test_fit_command import labelled


def runs(folder: Path, count: int = 3) -> Path:
    path = folder / "runs.jsonl"
    found = [labelled(n).trajectory.model_copy(update={"outcome": RunOutcome.UNKNOWN}) for n in range(count)]
    path.write_text("".join(to_json(run) + "\n" for run in found))
    return path


def typed(command: Command, answers: str, *options: str) -> Done:
    return command("label", "runs.jsonl", "--out", "labels.jsonl", "--json", *options, typed=answers)


def steps_of(folder: Path) -> dict[str, tuple[str, int, str | None]]:
    lines = [record.labeled for record in load(folder / "labels.jsonl")]
    return {
        one.trajectory.run_id: (one.decisive.agent, one.decisive.step, one.decisive.error_mode)
        for one in lines
        if one is not None and one.decisive is not None
    }


def place(run: Trajectory, index: int) -> str:
    return f"{run.steps[index].agent}\n{index}\n"


def test_quitting_keeps_the_labels_and_the_same_command_goes_on(command: Command) -> None:
    runs(command.folder)
    first, second, third = (labelled(n).trajectory for n in range(3))
    done = typed(command, f"{place(first, 2)}FM-2.6\nq\n")
    assert done.code == 0, done.err
    assert done.json["labelled"] == 1
    assert "Make list 0." in done.err
    assert "candidates of the diagnosis" in done.err
    assert steps_of(command.folder) == {"r0": (first.steps[2].agent, 2, "FM-2.6")}
    done = typed(command, f"s\n{place(third, 1)}-\n")
    assert (done.json["labelled"], done.json["skipped"], done.json["already_there"]) == (1, 1, 1)
    assert set(steps_of(command.folder)) == {"r0", "r2"}
    assert steps_of(command.folder)["r2"] == (third.steps[1].agent, 1, None)
    assert "1 of 1" in typed(command, "").err, "only the skipped run is left"
    assert second.run_id not in steps_of(command.folder)


def test_a_step_of_another_agent_is_asked_again_and_back_takes_a_label_back(command: Command) -> None:
    runs(command.folder, 2)
    first = labelled(0).trajectory
    agent = first.steps[0].agent
    other = next(step.index for step in first.steps if step.agent != agent)
    done = typed(command, f"nobody\n{agent}\n{other}\n99\n0\nFM-9\n2.6\nb\n{place(first, 3)}-\nq\n")
    assert "'nobody' is no agent of the run" in done.err
    assert f"'{other}' is no step of {agent!r}" in done.err
    assert "'FM-9' is no error mode" in done.err
    assert steps_of(command.folder) == {"r0": (first.steps[3].agent, 3, None)}
    assert done.json["labels"] == 1
    runs(command.folder, 3)
    (command.folder / "labels.jsonl").unlink()
    done = typed(command, "1\n\n-\n1\ns\n1\n\nq\n")  # an agent by its number, and an end at any question
    assert (done.json["labelled"], done.json["skipped"], done.json["labels"]) == (1, 1, 1)
    assert set(steps_of(command.folder)) == {"r0"}


def test_a_table_gives_labels_and_its_bad_rows_are_told_by_line(command: Command) -> None:
    runs(command.folder, 4)
    agents = [[step.agent for step in labelled(n).trajectory.steps] for n in range(4)]
    rows = [
        "run,agent,step,mode",
        f"r0,{agents[0][1]},1,FM-1.1",
        f"runs.jsonl#1,{agents[1][2]},2,",
        "r9,writer,1,",
        f"r2,{agents[2][0]},77,",
        "r2,nobody,1,",
        f"r3,{agents[3][0]},0,FM-77",
        f"r0,{agents[0][2]},2,",
    ]
    (command.folder / "table.csv").write_text("\n".join(rows) + "\n")
    done = command("label", "runs.jsonl", "--from-csv", "table.csv", "--out", "labels.jsonl")
    assert done.code == 1
    for line in (4, 5, 6, 7, 8):
        assert f"line {line}: " in done.err
    assert "2 labelled, 0 already there, 0 skipped, 5 left out; 2 in labels.jsonl" in done.out
    assert steps_of(command.folder) == {"r0": (agents[0][1], 1, "FM-1.1"), "r1": (agents[1][2], 2, None)}
    again = command("label", "runs.jsonl", "--from-csv", "table.csv", "--out", "labels.jsonl", "--json")
    assert (again.json["labelled"], again.json["already_there"]) == (0, 2)


def test_files_that_are_something_else_are_refused_and_kept(command: Command) -> None:
    runs(command.folder, 1)
    (command.folder / "labels.jsonl").write_text("my notes\n")
    done = typed(command, "q\n")
    assert done.code == 1
    assert "is no file of labelled runs" in done.err
    assert (command.folder / "labels.jsonl").read_text() == "my notes\n"
    (command.folder / "table.csv").write_text("id,who\n")
    done = command("label", "runs.jsonl", "--from-csv", "table.csv", "--out", "new.jsonl")
    assert (done.code, "no column 'run'" in done.err) == (2, True)
    assert command("label", "runs.jsonl", "--from-csv", "none.csv", "--out", "new.jsonl").code == 1


def test_fit_and_eval_read_the_labels(command: Command) -> None:
    runs(command.folder, 12)
    rows = ["run,agent,step"]
    for number in range(12):
        found = labelled(number).decisive
        rows.append(f"r{number},{found.agent},{found.step}")
    (command.folder / "table.csv").write_text("\n".join(rows) + "\n")
    assert command("label", "runs.jsonl", "--from-csv", "table.csv", "--out", "labels.jsonl").code == 0
    done = command("fit", "--labels", "labels.jsonl", "--out", "mine", "--json")
    assert done.code == 0, done.err
    assert done.json["trajectories"] == 12
    measured = command("eval", "--dataset", "trajectory", "--data", "labels.jsonl", "--no-detection", "--json")
    assert measured.code == 0, measured.err
    assert "12" in json.dumps(measured.json)


def test_back_asks_the_question_before_and_a_step_is_shown_whole(command: Command) -> None:
    long = "word " * 400
    call = ToolCall(name="look_up", arguments={"page": 3}, error="HTTP 500")
    steps = (
        Step(index=0, agent="reader", content=long, tool_calls=(call,)),
        Step(index=1, agent="writer", content="Done."),
        Step(index=2, agent="writer", content="The end."),
    )
    run = Trajectory(run_id="r", task="Read it.", steps=steps)
    (command.folder / "runs.jsonl").write_text(to_json(run) + "\n")
    done = typed(command, "v 0\nv 7\nreader\nb\nwriter\n2\n?\nb\n1\nFM-1.1\n", "--attributor", "structural")
    assert done.code == 0, done.err
    said = " ".join(done.err.split())
    assert "characters more)" in said
    assert said.count("word") >= 400, "v shows all of it"
    assert "look_up({'page': 3}) -> failed: HTTP 500" in said
    assert "there is no step 7, expected one from 0 to 2" in said
    assert "FM-3.3 incorrect verification" in said
    assert steps_of(command.folder) == {"r": ("writer", 1, "FM-1.1")}


def test_a_label_that_stands_is_not_overwritten_by_a_table(command: Command) -> None:
    runs(command.folder, 1)
    run = labelled(0).trajectory
    typed(command, f"{place(run, 2)}-\n")
    table = command.folder / "labels.csv"
    for step, left_out in ((2, 0), (3, 1)):
        table.write_text(f"run,agent,step\nr0,{run.steps[step].agent},{step}\n")
        done = typed(command, "", "--from-csv", "labels.csv")
        assert len(done.json["left_out"]) == left_out, done.err
        assert steps_of(command.folder) == {"r0": (run.steps[2].agent, 2, None)}
    stands = f"the run is labelled otherwise already, {run.steps[2].agent!r} at step 2; left as it is"
    assert stands in done.json["left_out"][0]


def test_runs_that_nobody_can_label_are_left_out(command: Command) -> None:
    passed = labelled(1).trajectory.model_copy(update={"outcome": RunOutcome.SUCCEEDED})
    (command.folder / "runs.jsonl").write_text(to_json(Trajectory(run_id="empty")) + "\n" + to_json(passed) + "\n")
    done = typed(command, "")
    assert done.code == 1
    without, succeeded = done.json["left_out"]
    assert "has no step that could be labelled" in without
    assert "succeeded, so that no step made it fail. Else: --failed" in succeeded
