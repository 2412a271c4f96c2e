"""``tracer-hooks eval``: its contract with scripts."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.schema import DecisiveStep, LabeledTrajectory, LabelSource, RunOutcome, Step, Trajectory, save_jsonl

from ._command import Command


def log(step: str = "1", *, question: str = "q", **fields: Any) -> dict[str, Any]:
    texts = ["Add 17 and 25.", "17 + 25 = 32", "The answer is 32.", "TERMINATE"]
    history = [{"name": name, "role": "user", "content": text} for name, text in zip("ABCB", texts, strict=True)]
    return {
        "question": "Add 17 and 25.", "question_ID": question, "ground_truth": "42", "history": history,
        "is_correct": False, "mistake_agent": "B", "mistake_step": step, **fields,
    }  # fmt: skip


def write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


WHOWHEN = ("eval", "--dataset", "whowhen", "--data")


@pytest.fixture
def whowhen(tmp_path: Path) -> Path:
    for number in range(3):
        write(tmp_path / "data" / "AG" / f"{number}.json", log(question=f"a{number}"))
        write(tmp_path / "data" / "HC" / f"{number}.json", log("2", question=f"h{number}"))
    return tmp_path / "data"


def test_json_has_every_group_and_the_rows_beside(command: Command, whowhen: Path) -> None:
    done = command(*WHOWHEN, "data", "--attributor", "structural", "--json")
    assert (done.code, done.err) == (0, "")
    assert [(group["name"], group["runs"]) for group in done.json["groups"]] == [("AG", 3), ("HC", 3), ("all", 6)]
    rows = done.json["groups"][0]["steps"]["rows"]
    assert rows[0]["name"] == "structural"
    assert {"random, exact expectation", "position prior", "agent prior, its first step"} <= {
        one["name"] for one in rows
    }
    assert set(rows[0]["measures"]["step"]) == {"value", "low", "high", "runs"}
    assert done.json["problems"] == []
    assert done.out.isascii()


def test_the_table_and_the_page(command: Command, whowhen: Path) -> None:
    done = command(*WHOWHEN, "data", "--attributor", "structural", "--html", "out/x.html")
    assert done.code == 0
    assert "always step 1" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    assert "page: out/x.html" in done.err
    assert "<table>" in (command.folder / "out" / "x.html").read_text(encoding="utf-8")
    whole = ("eval", "--dataset", "whowhen", "--attributor", "structural")
    done = command(*whole, "--data", "data", "--html", "out/x.html/y.html")
    assert done.code == 1
    assert "cannot write 'out/x.html/y.html'" in done.err
    several = command(*whole, "--data", "data/AG", "--attributor", "auto", "--json").json
    assert set(several["attributors"]) == {"structural", "auto"}
    assert [one["name"] for one in several["groups"][0]["steps"]["rows"]][:2] == ["structural", "auto"]
    nothing = command(*whole, "--data", "nowhere")
    assert (nothing.code, nothing.err) == (
        2,
        "tracer-hooks: --data is 'nowhere', and there is no such file or folder\n",
    )
    nothing = command(*whole, "--data", "out")
    assert nothing.code == 1
    assert "holds no run that can be evaluated" in nothing.err


def test_reference_and_limit(command: Command, whowhen: Path) -> None:
    done = command(
        *WHOWHEN, "data/HC", "--attributor", "structural", "--with-reference", "--no-detection", "--json",
    )  # fmt: skip
    (group,) = done.json["groups"]
    assert group["detection"] is None
    assert [one["told_reference"] for one in group["steps"]["rows"]][:2] == [False, True]
    limited = command(*WHOWHEN, "data", "--attributor", "structural", "--limit", "2",
                      "--json")  # fmt: skip
    assert limited.json["runs"] == 2


def test_bad_records_are_set_apart_and_the_rest_is_measured(command: Command, whowhen: Path) -> None:
    (whowhen / "AG" / "bad.json").write_text("{", encoding="utf-8")
    done = command(*WHOWHEN, "data", "--attributor", "structural", "--json")
    assert done.code == 1
    assert done.json["runs"] == 6
    assert [Path(one["source"]).name for one in done.json["problems"]] == ["bad.json"]
    assert "set apart" in done.err


def test_own_labelled_and_graded_runs(command: Command) -> None:
    def labelled(number: int, outcome: RunOutcome) -> LabeledTrajectory:
        total = 32 if outcome is RunOutcome.FAILED else 42
        steps = (
            Step(index=0, agent="A", content=f"17 + 25 = {total}"),
            Step(index=1, agent="B", content=f"It is {total}."),
        )
        run = Trajectory(run_id=str(number), task=f"t{number}", steps=steps, outcome=outcome)
        decisive = DecisiveStep(agent="A", step=0) if outcome is RunOutcome.FAILED else None
        return LabeledTrajectory(trajectory=run, decisive=decisive, label_source=LabelSource.HUMAN)

    save_jsonl(command.folder / "own.jsonl", [labelled(1, RunOutcome.FAILED), labelled(2, RunOutcome.SUCCEEDED)])
    own = command("eval", "--dataset", "trajectory", "--data", "own.jsonl", "--attributor", "structural", "--json")
    assert own.code == 0
    (group,) = own.json["groups"]
    assert (group["steps"]["runs"], group["detection"]["passes"], group["detection"]["failures"]) == (1, 1, 1)
    graded = command("eval", "--dataset", "graded", "--data", "own.jsonl", "--attributor", "structural", "--json")
    told = [one for one in graded.json["groups"][0]["detection"]["rows"] if one["outcome_told"]]
    assert told[0]["false_alarms"]["value"] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--dataset", "csv", "--data", "data"], "csv"),
        (["--dataset", "whowhen", "--data", "data", "--attributor", "nobody"], "'nobody'"),
        (["--dataset", "whowhen", "--data", "data", "--cross-validate", "50"], "50 folds"),
        (["--data", "data"], "--dataset"),
    ],
)
def test_wrong_calls(command: Command, whowhen: Path, arguments: list[str], said: str) -> None:
    done = command("eval", *arguments, COLUMNS="200")
    assert done.code == 2
    assert said in done.err
    assert done.out == ""
