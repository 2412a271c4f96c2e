import json
import random
from pathlib import Path

import pytest

from tracer_hooks.schema import DecisiveStep, LabeledTrajectory, LabelSource, RunOutcome, Step, Trajectory, to_json

from ._command import Command


def labelled(number: int) -> LabeledTrajectory:
    rng = random.Random(number)
    bad = rng.randrange(1, 5)
    steps = tuple(
        Step(
            index=index,
            agent=rng.choice(["writer", "reader", "counter"]),
            content=f"Let me assume a placeholder for part {index}."
            if index == bad
            else f"Part {index} of list {number} is done and handed on to the next of us.",
        )
        for index in range(6)
    )
    return LabeledTrajectory(
        trajectory=Trajectory(
            run_id=f"r{number}", task=f"Make list {number}.", steps=steps, outcome=RunOutcome.FAILED, reference="secret"
        ),
        decisive=DecisiveStep(agent=steps[bad].agent, step=bad),
        label_source=LabelSource.HUMAN,
        question_id=f"q{number % 3}",  # the fewest that a fit takes: it fits once more without each of them
    )


@pytest.fixture
def labels(tmp_path: Path):
    path = tmp_path / "labels.jsonl"
    path.write_text("\n".join(to_json(labelled(number)) for number in range(12)) + "\n")
    return path


def test_a_fit_is_saved_reported_and_used(command: Command, labels, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    done = command("fit", "--labels", labels, "--out", out, "--json")
    assert done.code == 0, done.err
    report = done.json
    assert report["trajectories"] == 12
    assert report["gain"] == pytest.approx(report["fitted_step"] - report["shipped_step"])
    assert json.loads((out / "fit.json").read_text())["chosen"] == report["chosen"]
    assert "secret" not in (out / "structural.json").read_text()
    run = tmp_path / "run.json"
    run.write_text(to_json(labelled(77).trajectory))
    diagnosed = command("diagnose", run, "--attributor", out, "--json")
    answer = diagnosed.json["results"][0]
    assert answer["attributor"].startswith("structural/3+fit")
    assert answer["step"] == labelled(77).decisive.step
    shown = command("fit", "--labels", labels, "--out", tmp_path / "again")
    assert "12 labelled trajectories, 3 questions" in shown.out
    assert "fitted, on questions left out" in shown.out
    assert f"--attributor {tmp_path / 'again'}" in shown.out.replace("\n", "")


def test_several_files_are_fitted_to_together(command: Command, labels, tmp_path: Path) -> None:
    lines = labels.read_text().splitlines(keepends=True)
    for name, part in (("a", lines[:6]), ("b", lines[6:])):
        (tmp_path / f"{name}.jsonl").write_text("".join(part))
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    done = command("fit", "--labels", a, b, "--out", tmp_path / "one", "--json")
    assert done.code == 0, done.err
    assert done.json["trajectories"] == 12
    again = command("fit", "--labels", a, "--labels", b, "--labels", a, "--out", tmp_path / "two", "--json")
    assert again.json["trajectories"] == 12, "a file that is named twice counts once"
    assert again.json["fitted_step"] == done.json["fitted_step"]


def test_a_damaged_line_is_left_out_and_said_and_another_file_is_passed_over(command, labels, tmp_path) -> None:
    (tmp_path / "second_labels.json").write_text('[{"whowhen_file": "1.json", "agent": "a"}]')
    done = command("fit", "--labels", tmp_path, "--out", tmp_path / "out" / "mine", "--json")
    assert (done.code, done.json["left_out"]) == (0, 0), done.err
    assert "second_labels.json" in done.err
    with labels.open("a") as file:
        file.write("{broken\n")
    done = command("fit", "--labels", labels, "--out", tmp_path / "mine", "--json")
    assert (done.code, done.json["left_out"]) == (1, 1)
    assert "left out" in done.err
    assert (tmp_path / "mine" / "structural.json").exists()


def test_what_cannot_be_fitted_is_said(command: Command, labels, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for out in ("file", "file/folder", "/proc/nowhere"):
        done = command("fit", "--labels", labels, "--out", tmp_path / out)
        assert done.code == 1
        assert "cannot write" in done.err
        assert "expected a directory for --out" in done.err
    for name in ("contrast", "nobody"):
        assert command("fit", "--labels", labels, "--out", tmp_path / "mine", "--attributor", name).code == 2
    done = command("fit", "--labels", "nope", "--out", tmp_path / "mine")
    assert (done.code, "--labels is 'nope', and there is no such file" in done.err) == (2, True)
    labels.write_text(to_json(labelled(1)) + "\n")
    done = command("fit", "--labels", labels, "--out", tmp_path / "mine")
    assert done.code == 1
    assert "expected at least 5" in done.err
    assert not (tmp_path / "mine").exists()


def test_passing_runs_join_the_diagnosis(command: Command, tmp_path: Path) -> None:
    good = [
        Step(index=0, agent="a", content="The list has 12 boxes of 40 pieces."),
        Step(index=1, agent="b", content="That makes 480 pieces in all."),
        Step(index=2, agent="a", content="The answer is 480."),
    ]
    bad = [good[0], good[1].model_copy(update={"content": "That makes 520 pieces in all."}), good[2]]
    bad[2] = bad[2].model_copy(update={"content": "The answer is 520."})
    for name, steps, outcome in (("good", good, RunOutcome.SUCCEEDED), ("bad", bad, RunOutcome.FAILED)):
        trajectory = Trajectory(run_id=name, task="How many pieces?", steps=tuple(steps), outcome=outcome)
        (tmp_path / f"{name}.json").write_text(to_json(trajectory))
    done = command(
        "diagnose", tmp_path / "bad.json", "--passing", tmp_path / "good.json", "--attributor", "structural", "--json"
    )
    answer = done.json["results"][0]
    assert answer["step"] == 1
    assert "contrast" in answer["attributor"]
    told = ("diagnose", tmp_path / "bad.json", "--passing", tmp_path / "good.json", "--json", "--attributor")
    assert command(*told, "contrast").json["results"][0]["attributor"].startswith("contrast/")
    assert command(*told, "nobody").code == 2
