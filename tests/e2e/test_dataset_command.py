import json
import re
from pathlib import Path

import pytest

from tracer_hooks.datasets import LabeledSet, load
from tracer_hooks.schema import AgentFault
from tracer_hooks.testing import ScriptedLLM, ScriptedRequest, When

from ._command import Command
from .test_fit_command import labelled
from .test_inject_command import TEAM


@pytest.fixture
def build(tmp_path: Path) -> tuple[str | Path, ...]:
    (tmp_path / "my_team.py").write_text(TEAM)
    lines = [json.dumps({"task": f"Add {n + 2} and {3 * n + 1}.", "reference": 4 * n + 3}) for n in range(6)]
    (tmp_path / "tasks.jsonl").write_text("\n".join(lines) + "\n")
    return (
        "dataset", "build", "my_team:build_team", "--tasks", "tasks.jsonl", "--out", "set",
        "--strategies", "response_corruption", "--workers", "2",
    )  # fmt: skip


def test_a_set_is_built_counted_audited_exported_and_goes_on(command, build, tmp_path) -> None:
    done = command(*build, "--json")
    assert done.code == 0, done.err
    assert "6 runs (teams 1 x tasks 6 x repeats 1); up to 12 faults" in done.err
    assert "Skipped: FM-1.2, FM-1.5, FM-2.1, which take a model that writes: --writer llm --base-url URL" in done.err
    assert done.json["skipped_modes"] == ["FM-1.2", "FM-1.5", "FM-2.1"]
    nothing = command(*build, "--modes", "FM-2.1")
    assert nothing.code == 2
    assert "no mutator can make a reply err by FM-2.1" in nothing.err
    assert done.json["clean"] == 6
    assert done.json["labeled"] + done.json["discarded"] == 12
    again = command(*build, "--json")
    assert again.json["session"]["runs"] == 0
    assert "6 of 6, 6 succeeded (6 done before)" in again.err
    refused = command(*build, "--seed", "3")
    assert refused.code == 2
    assert "seed was 0 and is 3" in refused.err

    counted = command("dataset", "stats", "set", "--json")
    assert counted.json["labeled"] == done.json["labeled"]
    audited = command("dataset", "audit", "set", "--folds", "2", "--json")
    assert audited.code == (0 if audited.json["passed"] else 1)
    for finding in audited.json["findings"]:
        assert finding["severity"] == "note" or finding["message"] in audited.err
    shown = command(*build)
    assert shown.code == 0, shown.err
    for said in (
        "labelled runs: ",
        "audit",
        "dataset stats set",
        "this session: 0 runs, 0 tokens",
        "card: set/card.md",
    ):
        assert said in shown.out
    assert len(shown.out.splitlines()) < 10

    exported = command("dataset", "export", "set", "--format", "whowhen", "--out", "ww", "--json")
    assert exported.code == 0, exported.err
    assert exported.json["parts"][0]["written"] == len(list((tmp_path / "ww").glob("*.json")))
    assert all(record.error is None for record in load(tmp_path / "ww"))
    parts = command("dataset", "export", "set", "--format", "jsonl", "--split", "train=0.5,test=0.5", "--out", "parts")
    assert parts.code == 0, parts.err
    train, test = (LabeledSet.load(tmp_path / "parts" / f"{name}.jsonl") for name in ("train", "test"))
    questions = [{item.question_id for item in [*part.labeled, *part.clean]} for part in (train, test)]
    assert questions[0].isdisjoint(questions[1])
    assert len(questions[0] | questions[1]) == 6


def test_an_interrupt_leaves_a_set_and_says_how_to_go_on(command, build, tmp_path) -> None:
    at_its_fifth_call = (
        "calls.append(1); len(calls) == 5 and not once.exists() and (once.touch(), os.kill(os.getpid(), signal.SIGINT))"
    )
    head = "import os, pathlib, signal\ncalls, once = [], pathlib.Path('interrupted')\n"
    (tmp_path / "my_team.py").write_text(head + TEAM.replace('print("the team talks")', at_its_fifth_call))
    stopped = command(*build)
    assert stopped.code == 130, stopped.err
    assert "stopping; runs that have begun are finished first" in stopped.err
    assert "can be used as it is; the same command goes on" in stopped.err
    assert LabeledSet.load(tmp_path / "set").clean
    done = command(*build, "--json")
    assert done.json["labeled"] + done.json["discarded"] == 12


def test_a_suite_is_built_with_the_teams_that_come_with_it(command: Command, tmp_path: Path) -> None:
    def hand_on(request: ScriptedRequest) -> str:
        answers = re.findall(r"ANSWER: ([0-9]+)", request.text)
        return f"The numbers that are given lead to it.\nANSWER: {answers[-1] if answers else 5}"

    with ScriptedLLM(rules=[When().then(hand_on)]) as llm:
        done = command(
            "dataset", "build", "--suite", "word_sums", "--count", "2", "--architecture", "debate", "--base-url",
            llm.base_url, "--model", "scripted", "--out", "set", "--trials", "1", "--json",
        )  # fmt: skip
        url = llm.base_url
    assert done.code == 0, done.err
    assert done.json["clean"] + done.json["natural"] + done.json["discarded"] >= 2
    gone = command("dataset", "build", "--suite", "word_sums", "--base-url", url, "--model", "scripted", "--out", "s2")
    assert gone.code == 2
    assert "gives no answer" in gone.err


SUITE = ("dataset", "build", "--suite", "word_sums", "--out", "x")
SERVED = (*SUITE, "--base-url", "http://localhost:9", "--model", "m")


def test_mistakes_are_said_in_one_line(command: Command, build: tuple[str, ...]) -> None:
    for arguments, said in (
        (("dataset", "build", "--out", "x"), "expected either your team"),
        (build[:3] + build[5:], "expected --tasks FILE"),
        (SUITE, "expected --base-url URL and --model NAME"),
        ((*SERVED, "--tasks", "tasks.jsonl"), "expected neither --tasks nor --check with --suite"),
        ((*SERVED, "--architecture", "ring"), "unknown architecture 'ring', expected one of"),
        (("dataset", "stats", "nowhere"), "nowhere"),
    ):
        done = command(*arguments)
        assert done.code in (1, 2)
        assert said in done.err


@pytest.fixture
def labelled_set(tmp_path: Path) -> Path:
    LabeledSet(labeled=tuple(labelled(number) for number in range(8))).save(tmp_path / "set")
    return tmp_path / "set"


def test_a_set_is_exported_as_parquet_counted_and_audited_and_what_cannot_be_held_is_said(
    command: Command, labelled_set: Path
) -> None:
    pytest.importorskip("pyarrow")
    done = command("dataset", "export", "set", "--format", "parquet", "--balanced", "--out", "new/set.parquet")
    assert (done.code, done.out) == (0, "new/set.parquet: 8 runs\n")
    assert len(LabeledSet.load(command.folder / "new" / "set.parquet").labeled) == 8
    dataset = LabeledSet.load(labelled_set)
    bare = dataset.labeled[0].model_copy(update={"decisive": None, "faults": (AgentFault(agent="writer"),)})
    LabeledSet(labeled=(bare, *dataset.labeled[1:])).save(labelled_set)
    part = command("dataset", "export", "set", "--format", "whowhen", "--out", "ww")
    assert (part.code, part.out) == (1, "ww: 7 runs\n")
    assert "left out: r0: no decisive step" in part.err
    counted = command("dataset", "stats", "set")
    assert counted.code == 0
    assert "Labelled runs by agent" in counted.out
    audited = command("dataset", "audit", "set", "--folds", "2")
    assert audited.code == 0, "natural failures inform and never fail"
    assert "position" in audited.out


@pytest.mark.parametrize("format", ["parquet", "jsonl"])
def test_an_export_that_cannot_be_made_is_said(command: Command, labelled_set: Path, format: str) -> None:
    (command.folder / "file").write_text("")
    export = ("dataset", "export", "set", "--format", format, "--out")
    done = command(*export, f"file/set.{format}")
    assert done.code == 1
    assert "cannot write" in done.err
    folder = command(*export, "set")
    assert folder.code == 1
    assert f"'set' is a folder: expected the name of a .{format} file" in folder.err
    for split in ("train", "train=x", "=1", "a/b=1", "train=0.5,", "train=nan,test=0.5"):
        done = command(*export, "parts", "--split", split)
        assert done.code in (1, 2)
        assert "expected parts and shares" in done.err or "expected positive shares that sum to 1" in done.err
        assert not (command.folder / "parts").exists()
