from pathlib import Path

import pytest

from tracer_hooks.datasets import LabeledSet

from ._command import Command

TEAM = """
import re
import tracer_hooks

@tracer_hooks.model(name="rules")
def ask(messages):
    print("the team talks")
    numbers = [int(one) for one in re.findall(r"[0-9]+", messages[-1]["content"])]
    return f"The sum of all the numbers is {sum(numbers)}."

@tracer_hooks.agent(name="adder", instructions="Add.")
def adder(shown):
    return ask([{"role": "user", "content": shown}])

@tracer_hooks.agent(name="writer", instructions="Write.")
def writer(shown):
    return ask([{"role": "user", "content": shown}])

def build_team(prompts=None):
    return lambda task: writer(adder(task))

def lenient(result):
    return True
"""
INJECT = ("inject", "my_team:build_team", "--task", "Add 3 and 4.", "--mode", "FM-2.6")


@pytest.fixture
def team(tmp_path: Path) -> None:
    (tmp_path / "my_team.py").write_text(TEAM)


def test_a_fault_is_shown_verified_and_appended(command: Command, team: None, tmp_path: Path) -> None:
    out = tmp_path / "sets" / "faults.jsonl"
    done = command(*INJECT, "--expected", "7", "--agent", "adder", "--out", out)
    assert done.code == 0, done.err
    assert "-The sum of all the numbers is 7." in done.out
    assert "step 0, agent adder: FM-2.6" in done.out
    assert "with the fault    2 of 2 runs failed" in done.out
    assert "without it        3 of 3 runs succeeded" in done.out
    again = command(*INJECT, "--expected", "7", "--step", "1", "--out", out, "--json")
    assert again.code == 0, again.err
    assert again.json["verified"] is True
    assert again.json["applied"]["step"] == 1
    labeled = LabeledSet.load(out).labeled
    assert [item.decisive.step for item in labeled if item.decisive] == [0, 1]
    assert labeled[1].fault_id == again.json["fault"]["fault_id"]


def test_a_fault_without_effect_is_discarded(command: Command, team: None, tmp_path: Path) -> None:
    out = tmp_path / "faults.jsonl"
    done = command(*INJECT, "--check", "my_team:lenient", "--out", out)
    assert done.code == 1
    assert "discarded: the run succeeds with the fault" in done.out
    assert not out.exists()
    (tmp_path / "file").write_text("")
    done = command(*INJECT, "--expected", "7", "--out", "file/faults.jsonl")
    assert done.code == 1
    assert "cannot write 'file/faults.jsonl'" in done.err
    assert "expected a file for --out" in done.err


def test_mistakes_are_said_in_one_line(command: Command, team: None) -> None:
    for arguments, code, said in (
        ((*INJECT, "--expected", "8"), 1, "the team failed all 3 runs without any fault"),
        ((*INJECT, "--expected", "7", "--agent", "boss"), 1, "'adder' (at 0), 'writer' (at 1)"),
        ((*INJECT,), 2, "nothing says whether a run succeeded"),
        ((*INJECT[:4], "--expected", "7"), 2, "expected --mode FM-2.6"),
        ((*INJECT, "--expected", "7", "--writer", "llm"), 2, "expected --base-url URL and --model NAME"),
        ((*INJECT, "--expected", "7", "--tool", "search"), 2, "expected NAME=USE"),
        (("inject", "no_team:build", *INJECT[2:], "--expected", "7"), 2, "no module 'no_team'"),
    ):
        done = command(*arguments)
        assert (done.code, said in done.err) == (code, True), done.err
        assert "the team talks" not in done.out
    done = command(*INJECT[:-1], "FM-2.1", "--expected", "7")
    assert done.code == 1
    assert "no mutator can make a reply err by FM-2.1" in done.err
    assert "--writer llm --base-url URL --model NAME" in done.err
    assert "the team talks" not in done.err  # nothing was run
