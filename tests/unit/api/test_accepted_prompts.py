"""``hook(prompts="accepted")``: which prompts a call runs on, and what counts for and against them."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks import Verdict
from tracer_hooks.cli.runs import show_run
from tracer_hooks.errors import ConfigError, StoreError
from tracer_hooks.repair import RepairTarget
from tracer_hooks.runtime import _prompt_watch, _prompts
from tracer_hooks.runtime._prompt_watch import TeamPrompts
from tracer_hooks.schema import RunOutcome
from tracer_hooks.store import PromptArm, PromptState, PromptStore, PromptTally, RunStore

from ._accepting import NEW, OWN, TEAM, accept, accept_all, live
from ._framework import Blame
from ._office import At, Office, always_wrong, ended_run
from ._spans import Recording, attributes

PARENT = "You are the solver. Think."


def twice(agent: str, shown: str, number: int) -> str:
    """The solver is right where it is told to check."""
    return {"planner": "6 * 7", "solver": "42" if NEW in shown else "41", "writer": f"It is {shown[-2:]}."}[agent]


def hooked(office: Callable[[str], Any], path: Path, **options: Any) -> Any:
    given = {"expected": "42", "attributor": Blame(("solver",)), "prompts": "accepted", "store": path, **options}

    @tracer_hooks.hook(**given)
    def solve(task: str) -> Any:
        return office(task)

    return solve


def told(office: Office) -> list[str]:
    """What the solver was told in each of its requests."""
    return [shown.split("\n")[0] for agent, shown in office.calls if agent == "solver"]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is accepted or rolled back is noticed by the next call."""
    monkeypatch.setattr(_prompt_watch, "_FRESH_S", 0.0)


class Draws:
    def __init__(self, *values: float) -> None:
        self.values = list(values)

    def random(self) -> float:
        return self.values.pop(0)


# --- which prompts ---------------------------------------------------------------------------------------------------
def test_a_call_runs_on_what_was_accepted(path: Path) -> None:
    office, seen = Office(twice), Recording()
    assert accept(path) == 1
    solve = hooked(office, path, tracer_provider=seen.provider)
    assert solve("x") == "It is 42."
    run = ended_run(solve)
    assert run.prompts is not None
    assert (run.prompts.version, run.prompts.arm, run.prompts.told) == (1, PromptArm.NEW, 1)
    assert run.trajectory.instructions_of("solver") == NEW
    assert run.trajectory.instructions_of("planner") == "You are the planner."
    root = attributes(seen.root)
    assert (root["tracer_hooks.prompts.version"], root["tracer_hooks.prompts.arm"]) == (1, "new")


@pytest.mark.parametrize("options", [{"prompts": "own"}, {"prompts": "accepted", "there": False}])
def test_without_being_asked_for_or_accepted_nothing_changes(path: Path, options: dict[str, Any]) -> None:
    office, seen = Office(twice), Recording()
    if options.pop("there", True):
        accept(path)
    solve = hooked(office, path, tracer_provider=seen.provider, **options)
    assert solve("x") == "It is 41."
    assert ended_run(solve).prompts is None
    assert not [key for key in attributes(seen.root) if "prompts" in key]


@pytest.mark.usefixtures("at_once")
def test_what_is_accepted_and_rolled_back_elsewhere_is_noticed(path: Path) -> None:
    office = Office(twice)
    solve = hooked(office, path)
    solve("x")
    accept(path)
    solve("x")
    with PromptStore(path) as store:
        store.roll_back(TEAM, 1, reason="it was me")
    solve("x")
    assert told(office) == [OWN, NEW, OWN]


def test_a_share_of_the_calls_goes_on_with_the_prompts_before(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accept(path, PARENT)
    accept(path)
    monkeypatch.setattr(_prompts, "_RANDOM", Draws(0.29, 0.3, 0.31))
    office = Office(twice)
    solve = hooked(office, path, prompt_control=0.3)
    runs = []
    for _ in range(3):
        solve("x")
        runs.append(ended_run(solve))
    assert told(office) == [PARENT, NEW, NEW]
    assert [run.prompts.words for run in runs if run.prompts] == [
        "version 1 (compared with version 2)",
        "version 2 (accepted)",
        "version 2 (accepted)",
    ]
    tally = live(path, 2)
    assert (tally.new_runs, tally.new_passes, tally.old_runs, tally.old_passes) == (2, 2, 1, 0)
    assert live(path, 1) == PromptTally()


@pytest.mark.usefixtures("at_once")
def test_the_prompts_before_are_the_teams_own_where_those_were_rolled_back(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept(path, PARENT)
    accept(path)
    with PromptStore(path) as store:
        store.roll_back(TEAM, 1, reason="bad")
    monkeypatch.setattr(_prompts, "_RANDOM", Draws(0.0))
    office = Office(twice)
    solve = hooked(office, path, prompt_control=0.5)
    solve("x")
    assert told(office) == [OWN]
    assert ended_run(solve).prompts is not None


# --- what counts -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "counted"),
    [
        ({"check": lambda result: True}, (1, 1, 1.0)),
        ({"check": lambda result: False}, (1, 0, 0.0)),
        ({"check": lambda result: 0.75}, (1, 1, 0.75)),
        ({"check": lambda result: Verdict(passed=False, score=0.25)}, (1, 0, 0.25)),
        ({"check": lambda result: "odd"}, (0, 0, 0.0)),
        ({"expected": None}, (0, 0, 0.0)),
        ({"expected": {"another task": "42"}}, (0, 0, 0.0)),
        ({"expected": "43", "diagnose": "off"}, (1, 0, 0.0)),
        ({"expected": "43", "retries": 2, "repair": "plain"}, (1, 0, 0.0)),
    ],
)
def test_what_a_run_counts(path: Path, options: dict[str, Any], counted: tuple[int, int, float]) -> None:
    accept(path)
    solve = hooked(Office(twice), path, **({"expected": None, **options} if "check" in options else options))
    solve("x")
    ended_run(solve)
    tally = live(path)
    assert (tally.new_runs, tally.new_passes, tally.new_score) == counted
    assert tally.old_runs == 0


@pytest.mark.parametrize("diagnose", ["inline", "off"])
def test_a_failure_of_the_environment_does_not_count(path: Path, diagnose: str) -> None:
    def refused(agent: str, shown: str, number: int) -> str:
        raise ConnectionError("Connection refused: could not reach http://localhost:1/v1")

    accept(path)
    solve = hooked(Office(refused), path, diagnose=diagnose, attributor="auto")
    with pytest.raises(ConnectionError):
        solve("x")
    assert ended_run(solve).prompts is not None
    assert live(path) == PromptTally()


def test_a_team_that_raises_counts_against(path: Path) -> None:
    def broken(agent: str, shown: str, number: int) -> str:
        if agent == "writer":
            raise ValueError("no such word")
        return "41"

    accept(path)
    solve = hooked(Office(broken), path)
    with pytest.raises(ValueError, match="no such word"):
        solve("x")
    assert (live(path).new_runs, live(path).new_passes) == (1, 0)


async def test_every_way_of_calling_counts(path: Path) -> None:
    accept(path)
    options: dict[str, Any] = {"expected": "42", "prompts": "accepted", "store": path}

    async def asolve(task: str) -> str:
        return Office(twice)(task)

    async def asolve_stream(task: str) -> AsyncIterator[str]:
        for word in Office(twice)(task).split():
            yield word + " "

    def solve_stream(task: str) -> Iterator[str]:
        yield from Office(twice)(task).split(" ")[2:]

    functions: list[Any] = [asolve, asolve_stream, solve_stream]
    for function in functions:
        function.__name__ = "solve"
    called = [tracer_hooks.hook(function, **options) for function in functions]
    await called[0]("x")
    assert [word async for word in called[1]("x")] == ["It ", "is ", "42. "]
    assert list(called[2]("x")) == ["42."]
    assert [ended_run(one).outcome for one in called] == [RunOutcome.SUCCEEDED] * 3
    assert (live(path).new_runs, live(path).new_passes) == (3, 3)


async def test_what_is_cancelled_or_broken_off_does_not_count(path: Path) -> None:
    accept(path)
    options: dict[str, Any] = {"expected": "42", "prompts": "accepted", "store": path}
    begun = asyncio.Event()

    async def waits(task: str) -> str:
        Office(twice)(task)
        begun.set()
        await asyncio.sleep(60)
        return "never"

    def streams(task: str) -> Iterator[str]:
        yield Office(twice)(task)
        yield "more"

    for function in (waits, streams):
        function.__name__ = "solve"
    waiting, streaming = tracer_hooks.hook(waits, **options), tracer_hooks.hook(streams, **options)
    going = asyncio.create_task(waiting("x"))
    await begun.wait()
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going
    items: Any = streaming("x")
    next(items)
    items.close()
    for one in (waiting, streaming):
        assert ended_run(one).outcome is RunOutcome.UNKNOWN
    assert live(path) == PromptTally()


# --- attempts and replays --------------------------------------------------------------------------------------------
def test_retries_go_on_with_the_same_prompts(path: Path) -> None:
    accept(path)
    office = Office(always_wrong)
    solve = hooked(office, path, retries=2, repair="resample")
    solve("x")
    run = ended_run(solve)
    assert told(office) == [NEW] * 3
    assert [attempt.trajectory.instructions_of("solver") for attempt in run.attempts] == [NEW] * 3
    assert [attempt.prompts for attempt in run.attempts] == [run.prompts] * 3
    assert live(path).new_runs == 1
    planner = [shown for agent, shown in office.calls if agent == "planner"]
    assert len(planner) == 1, "the kept steps were found in the record"


@pytest.mark.parametrize("step", [None, 1], ids=["from the start", "from the middle"])
def test_a_repair_of_instructions_works_on_what_was_used(path: Path, step: int | None) -> None:
    accept(path)
    office = Office(always_wrong)
    text = f"{NEW} And once more."
    repair = At(step, RepairTarget.INSTRUCTIONS, "solver", text)
    solve = hooked(office, path, retries=1, repair=repair)
    solve("x")
    assert told(office) == [NEW, text]
    assert repair.seen[0].instructions("solver") == NEW


def test_a_replay_of_a_stored_run_runs_on_its_prompts(path: Path) -> None:
    accept(path)
    office = Office(always_wrong)
    solve = hooked(office, path, diagnose="off")
    solve("x")
    run_id = ended_run(solve).trajectory.run_id
    replayed = tracer_hooks.replay_run(run_id, until=2, build_team=office.__call__, store=path)
    assert told(office) == [NEW], "the solver's step came from the tape"
    assert (replayed.served, replayed.live) == (2, 1)
    assert replayed.trial.trajectory.instructions_of("solver") == NEW


# --- a team that changed ---------------------------------------------------------------------------------------------
class Closures:
    """A team whose instructions show in its requests alone."""

    def __init__(self, own: str = OWN) -> None:
        self.own = own
        self.told: list[str] = []

    def __call__(self, task: str) -> str:
        @tracer_hooks.model
        def ask(messages: list[dict[str, str]]) -> str:
            self.told.append(messages[0]["content"])
            return "It is 42."

        @tracer_hooks.agent(name="solver")
        def act(task: str) -> str:
            ask([{"role": "system", "content": self.own}, {"role": "user", "content": task}])
            return ask([{"role": "system", "content": "Check the JSON."}, {"role": "user", "content": task}])

        return act(task)


def test_instructions_that_show_in_a_request_alone(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    team = Closures()
    accept(path)
    solve = hooked(team, path)
    solve("x")
    assert team.told == [NEW, "Check the JSON."], "a request for another purpose stays"
    assert ended_run(solve).trajectory.instructions_of("solver") == NEW
    for own in ("Solve it.", "Solve it.", OWN, OWN):
        team.own = own
        team.told.clear()
        solve("x")
        team.told.append(str(ended_run(solve).prompts is not None))
        if own != OWN:
            assert team.told == [own, "Check the JSON.", "False"]
    assert team.told == [NEW, "Check the JSON.", "True"], "a team that was changed back is on them again"
    assert live(path).new_runs == 2
    (said,) = [one.getMessage() for one in caplog.records if "does not use version" in one.getMessage()]
    assert said == (
        "tracer-hooks does not use version 1 of the prompts of team 'solve': the team's own instructions of its agent "
        "'solver' are not those that it was accepted for. Run: tracer-hooks improve"
    )


def test_a_version_is_not_used_by_half(path: Path) -> None:
    office = Office(twice)
    own = {"planner": "You are the planner.", "solver": "You were the solver."}
    accept_all(path, {"planner": "Plan well.", "solver": NEW}, own)
    solve = hooked(office, path)
    for _ in range(2):
        office.calls.clear()
        solve("x")
        assert ended_run(solve).prompts is None
    assert [shown.split("\n")[0] for _, shown in office.calls][:2] == ["You are the planner.", OWN]
    assert live(path) == PromptTally()


def test_an_agent_that_cannot_be_told_is_not_counted(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    @tracer_hooks.agent(name="solver", instructions=OWN)
    def solver(task: str) -> str:
        return "42"

    accept(path)
    solve = hooked(solver, path)
    assert solve("x") == "42"
    assert ended_run(solve).prompts is None
    assert live(path) == PromptTally()
    assert any("tracer_hooks.instructions('solver', ...)" in one.getMessage() for one in caplog.records)


# --- getting worse ---------------------------------------------------------------------------------------------------
@pytest.mark.usefixtures("at_once")
def test_prompts_whose_runs_get_worse_are_rolled_back(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    office = Office(always_wrong)
    accept(path, PARENT)
    accept(path, trial=(40, 36))
    solve = hooked(office, path, diagnose="off")
    for _ in range(30):
        solve("x")
    assert told(office)[0] == NEW
    assert told(office)[-1] == PARENT, "what was accepted before is current again"
    (said,) = [one.getMessage() for one in caplog.records if "rolled back" in one.getMessage()]
    with PromptStore(path) as store:
        version = store.get(TEAM, 2)
    assert version.state is PromptState.ROLLED_BACK
    assert said == (
        f"tracer-hooks rolled back version 2 of the prompts of team 'solve': {version.reason.rstrip('.')}. "
        "See: tracer-hooks prompts show 2"
    )


def test_a_store_that_fails_while_prompts_are_watched_costs_a_warning_and_not_the_run(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise StoreError("the disk is gone")

    monkeypatch.setattr(TeamPrompts, "_watch", fails)
    accept(path)
    office = Office(twice)
    solve = hooked(office, path)
    for _ in range(3):
        solve("x")
    assert told(office) == [NEW] * 3
    assert [line for line in caplog.messages if "watch" in line] == [
        "tracer-hooks does not watch prompts: the disk is gone"
    ]


@pytest.mark.usefixtures("at_once")
def test_a_pinned_version_is_not_rolled_back(path: Path) -> None:
    accept(path, trial=(40, 36))
    with PromptStore(path) as store:
        store.pin(TEAM, 1)
    office = Office(always_wrong)
    solve = hooked(office, path, diagnose="off")
    for _ in range(30):
        solve("x")
    assert set(told(office)) == {NEW}


def test_several_processes_that_see_it_at_once_roll_back_once(path: Path) -> None:
    program = """
import sys, tracer_hooks
@tracer_hooks.agent(name="solver", instructions="You are the solver.")
def act(task):
    tracer_hooks.instructions("solver", "You are the solver.")
    return "It is 41."
def solve(task): return act(task)
team = tracer_hooks.hook(solve, expected="42", store=sys.argv[1], prompts="accepted", diagnose="off")
for _ in range(25):
    team("x")
    tracer_hooks.last_run(team).wait(60)
"""
    accept(path, trial=(40, 36))
    calls = [
        subprocess.Popen([sys.executable, "-c", program, str(path)], stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    said = "".join(call.communicate(timeout=120)[1] for call in calls)
    assert [call.returncode for call in calls] == [0] * 4
    assert len(re.findall("rolled back version 1", said)) == 1, said
    assert said.count("tracer-hooks") == 2, said  # the line names a command
    with PromptStore(path) as store:
        assert [event.what for event in store.events(TEAM)].count("rolled back") == 1


# --- a store that fails ----------------------------------------------------------------------------------------------
def test_a_store_that_cannot_be_read_costs_a_warning(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.write_bytes(b"this is no database at all" * 100)
    office = Office(twice)
    solve = hooked(office, path)
    for _ in range(3):
        assert solve("x") == "It is 41."
    said = [one.getMessage() for one in caplog.records if "no prompts" in one.getMessage()]
    assert len(said) == 1


# --- showing it ------------------------------------------------------------------------------------------------------
def test_the_stored_run_and_its_report_name_the_version(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    accept(path)
    solve = hooked(Office(twice), path)
    solve("x")
    run = ended_run(solve)
    with RunStore(path, read_only=True) as store:
        (summary,) = store.list()
        assert store.get(summary.run_id).prompts == summary.prompts == run.prompts
    assert "prompts: version 1 (accepted)" in run.report(tmp_path / "report.html").read_text(encoding="utf-8")
    show_run(summary.run_id, store=str(path))
    assert "prompts: version 1 (accepted)" in capsys.readouterr().out


# --- options ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prompts": "best"}, "prompts is 'best', expected 'own' or 'accepted'"),
        ({"prompts": True}, "prompts is True, expected 'own' or 'accepted'"),
        ({"prompts": {"solver": "x"}}, "prompts is {'solver': 'x'}, expected 'own' or 'accepted'"),
        ({"prompt_control": 0.6}, "prompt_control is 0.6, expected a share of the calls, from 0 to 0.5"),
        ({"prompt_control": -0.1}, "prompt_control is -0.1"),
        ({"prompt_control": float("nan")}, "prompt_control is nan"),
        ({"prompt_control": True}, "prompt_control is True"),
        ({"prompt_control": "0.1"}, "prompt_control is '0.1'"),
        ({"prompts": "own", "prompt_control": 0.1}, "prompt_control is 0.1, and prompts is 'own'"),
        ({"store": "off"}, "prompts is 'accepted', and the run store that keeps accepted prompts is switched off"),
    ],
)
def test_options_that_cannot_be_used(path: Path, options: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"prompts": "accepted", "store": path, **options}
    with pytest.raises(ConfigError, match=re.escape(message)):
        tracer_hooks.hook(lambda task: task, **given)
