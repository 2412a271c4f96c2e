"""``tracer-hooks improve``: estimate, improve, report; and what it says when that cannot be done."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from ._command import Command, Done

pytest.importorskip("gepa")

TEAM = """
import re
import time

import tracer_hooks

TOLD = {"planner": "You are the planner. Say what to add.", "solver": "You are the solver. Write only the number."}


def build_team(prompts=None):
    told = {**TOLD, **(prompts or {})}
    print("a team is built")

    @tracer_hooks.agent(name="planner", instructions=told["planner"])
    def planner(task):
        return "Add " + " and ".join(re.findall(r"[0-9]+", task))

    @tracer_hooks.agent(name="solver", instructions=told["solver"])
    def solver(plan):
        a, b = map(int, re.findall(r"[0-9]+", plan))
        good = "carry" in told["solver"] or a % 10 + b % 10 < 10
        return f"{a} + {b} = {a + b if good else a + b - 10}"

    return lambda task: solver(planner(task))


def slow_team(prompts=None):
    team = build_team(prompts)

    def run(task):
        time.sleep(0.05)
        return team(task)

    return run


def check(result, task):
    a, b = map(int, re.findall(r"[0-9]+", task))
    return result.text.endswith(f"= {a + b}")


def chat(messages):
    return "ADD: Do not forget the <b>carry</b>."


NO_TEAM = {"a": 1}


def unsure_check(result, task):
    return "maybe"


def unsure(messages):
    return "ADD: Be kind."
"""


@pytest.fixture
def team(command: Command) -> Command:
    (command.folder / "my_team.py").write_text(TEAM)
    lines = [json.dumps({"task": f"What is {13 + 7 * i} plus {29 + 5 * i}?"}) for i in range(24)]
    (command.folder / "tasks.jsonl").write_text("\n".join(lines) + "\n")
    return command


def given(*more: str | Path, chat: str = "chat", team: str = "build_team") -> tuple[str | Path, ...]:
    return (
        "improve", f"my_team:{team}", "--tasks", "tasks.jsonl", "--check", "my_team:check", "--writer-model",
        f"my_team:{chat}", "--metric-calls", "60", *more,
    )  # fmt: skip


def test_a_team_is_improved_and_the_prompts_are_there(team: Command) -> None:
    done = team(*given("--json", "--report", "page.html"))
    assert done.code == 0, done.err
    document = done.json
    assert document["outcome"] == "accepted"
    assert document["texts"]["solver"].count("carry") == 1
    assert document["unused"]["after"]["passes"] == document["unused"]["after"]["runs"] == 6
    assert document["next"][0] == "Look at them: `tracer-hooks prompts show 1`"
    assert Path(document["folder"]) == team.folder / ".tracer_hooks" / "improvement" / "my_team"
    assert "10 tasks propose, 8 accept, 6 are kept for the end." in done.err
    assert "Estimate: at most 472 runs of the team" in done.err
    assert "Ctrl-C is safe" in done.err
    assert "New instructions for solver did better on their first tasks." in done.err
    assert "a team is built" in done.err, "what the team prints is no part of the document"
    page = (team.folder / "page.html").read_text()
    assert "&lt;" in page
    assert "<b>carry</b>" not in page
    shown = team("prompts", "show", "1", "--json")
    assert shown.json["state"] == "accepted"
    assert shown.json["evidence"]["decision"] == "accept"
    again = team(*given())
    assert again.code == 0, again.err
    for said in (
        "The new prompts are accepted, as version 1.",
        "The new prompts are better: +",
        "6 tasks that were never used before: passed ",
        "95 % interval",
        "Blame for the failures: solver 100 %, planner 0 %.",
        "+You are the solver. Do not forget the <b>carry</b>. Write only the number.",
        'Use them: hook(prompts="accepted") in your code. Without it nothing changes.',
        "Take them back: tracer-hooks prompts rollback 1",
    ):
        assert said in again.out, again.out


def test_a_dry_run_makes_two_runs_and_decides_nothing(team: Command) -> None:
    done = team(*given("--dry-run", "--json"))
    assert done.code == 0, done.err
    assert done.json["runs"] == 60 + 400 + 12
    assert done.json["seconds_per_run"] >= 0
    journal = team.folder / ".tracer_hooks" / "improvement" / "my_team" / "journal.jsonl"
    assert sum('"run":' in line for line in journal.read_text().splitlines()) == 2
    assert team("prompts", "list", "--json").json["teams"] == []
    assert team(*given("--seed", "7", "--json")).code == 0, "a dry run binds the folder to nothing"


def test_few_pairs_leave_it_on_trial_with_the_command_that_goes_on(team: Command) -> None:
    done = team(*given("--pairs", "10", "--workers", "2"))
    assert done.code == 0, done.err
    assert "It is not decided yet whether the new prompts are better: version 1 stays on trial." in done.out
    (line,) = [
        line for line in done.out.splitlines() if line.startswith("Go on with more pairs: tracer-hooks improve ")
    ]
    words = line.removeprefix("Go on with more pairs: tracer-hooks ").split()
    assert words[-2:] == ["--pairs", "20"]
    assert words.count("--pairs") == 1
    more = team(*words[:-1], "200")
    assert "The new prompts are accepted, as version 1." in more.out


def test_a_budget_that_ends_it(team: Command) -> None:
    done = team(*given("--max-runs", "9"))
    assert done.code == 1
    assert "Broken off before better prompts were found." in done.out
    assert "The budget is spent: the cap of 9 runs is reached." in done.out
    assert "give the same command again" in done.out
    assert team(*given()).code == 0


def test_nothing_found_says_what_was_refused_and_why(team: Command) -> None:
    done = team(*given(chat="unsure"))
    assert done.code == 0
    assert "No better prompts were found." in done.out
    assert "Written and not kept:" in done.out
    assert "solver: it was tried before" in done.out
    assert "The team's prompts stay as they are." in done.out


def ends(done: Done, code: int, said: str) -> None:
    assert (done.code, done.out) == (code, ""), done.err
    assert said in done.err


def test_bad_input(team: Command) -> None:
    ends(team(*given()[:-4]), 2, "expected --base-url URL and --model NAME, or a function")
    ends(team(*given(team="nobody")), 2, "has no 'nobody'")
    ends(
        team("improve", "my_team:NO_TEAM", "--tasks", "tasks.jsonl"),
        2,
        "'my_team:NO_TEAM' is {'a': 1}, expected a factory",
    )
    undecided = team(*given("--check", "my_team:unsure_check", "--out", "unsure"))
    ends(undecided, 2, "cannot be judged: unsure_check returned 'maybe'")
    assert "Run: tracer-hooks improve my_team:build_team --tasks tasks.jsonl" in undecided.err
    ends(team(*given("--metric-calls", "9")), 2, "metric_calls is 9, expected at least 42: 10 runs to learn from")
    ends(team(*given("--max-cost", "3")), 2, "expected input_price and output_price")
    ends(team(*given("--agent", "boss")), 2, "the instructions of 'boss' are not known, expected one of: 'planner'")
    ends(team(*given(), TRACER_HOOKS_STORE="off"), 2, "switched off by TRACER_HOOKS_STORE='off'")
    ends(team(*given("--from-store", "--out", "other")), 2, "holds no failed run of the team")
    without_check = [word for word in given() if word not in ("--check", "my_team:check")]
    ends(team(*without_check), 2, "check")
    (team.folder / "tasks.jsonl").write_text('{"task": "What is 17 plus 14?"}\n')
    ends(team(*given("--out", "few")), 2, "1 different tasks are too few")


def test_help_fits_one_screen_and_nothing_is_lost(team: Command) -> None:
    assert len(team("improve", "--help", COLUMNS="80").out.splitlines()) <= 30
    whole = team("improve", "--advanced", "--help", COLUMNS="80").out
    assert all(name in whole for name in ("--metric-calls", "--pairs", "--max-cost", "--input-price"))


def heeds_ctrl_c() -> None:
    """A shell that starts the tests in the background has them, and whatever they start, ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_and_the_same_command_again(team: Command) -> None:
    journal = team.folder / ".tracer_hooks" / "improvement" / "my_team" / "journal.jsonl"
    job = subprocess.Popen(
        [*team.argv, *map(str, given(team="slow_team"))], cwd=team.folder, env=team.environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heeds_ctrl_c,
    )  # fmt: skip
    until = time.monotonic() + 40
    while time.monotonic() < until and not (journal.exists() and journal.read_text().count("\n") > 15):
        time.sleep(0.02)
    os.kill(job.pid, signal.SIGINT)
    said, wrong = job.communicate(timeout=30)
    assert job.returncode == 130, wrong
    assert said == ""
    assert "Interrupted. What was run is kept: give the same command again, and it goes on." in wrong
    assert "Traceback" not in wrong
    kept = journal.read_text().count("\n")
    done = team(*given("--json", team="slow_team"))
    assert done.json["outcome"] == "accepted"
    assert journal.read_text().count("\n") > kept
