"""Forks on every framework: another reply, tool result or prompt at a step; of a retry, of a branch, of a fork."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks.errors import ReplayError
from tracer_hooks.schema import RunOutcome, StepKind
from tracer_hooks.store import RunStore, StoredRun
from tracer_hooks.testing import Reply, ScriptedLLM, ScriptedRequest, ToolCallReply, When
from tracer_hooks_testing import PROMPTS, TASK, ContractTeams, NotOfferedError

from .test_improving import FRAMEWORKS, teams_of

pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),  # clients that live as long as their team
    pytest.mark.usefixtures("clients_are_collected"),
    pytest.mark.slow,
]
every_framework = pytest.mark.parametrize("name", list(FRAMEWORKS))
CAREFUL = PROMPTS["writer"] + " Count carefully."


def writes(request: ScriptedRequest) -> str:
    found = int(re.findall(r"The table says (\d+)", request.text)[-1])
    return f"It makes {found if 'carefully' in request.text else found - 1}."


def reviews(request: ScriptedRequest) -> str:
    return f"Approved: it makes {re.findall(r'It makes ([0-9]+)', request.text)[-1]}."


def reports(request: ScriptedRequest) -> str:
    return f"The table says {re.findall(r'seven is ([0-9]+)', request.text)[-1]}."


def is_right(result: tracer_hooks.RunResult) -> bool:
    return "makes 42" in result.text


@pytest.fixture
def llm() -> Iterator[ScriptedLLM]:
    asks = Reply(tool_calls=[ToolCallReply("lookup", {"query": "six times seven"})])
    rules = [
        When(agent="researcher", tool_result="").then(reports),
        When(agent="researcher").then(asks),
        When(agent="writer").then(writes),
        When(agent="reviewer").then(reviews),
        When(agent="left").then("It is 41 in digits."),
        When(agent="right").then("It is forty-two in words."),
    ]
    with ScriptedLLM(rules=rules) as scripted:
        yield scripted


class Desk:
    """A pipeline whose writer is off by one, and the store that its runs are kept in."""

    def __init__(self, teams: ContractTeams, llm: ScriptedLLM, folder: Path) -> None:
        self.teams, self.llm = teams, llm
        self.file = folder / "runs.sqlite"
        self.looked_up = 0

    def build_team(self, prompts: Any = None) -> Any:
        def lookup(query: str) -> str:
            """Look a number up in the table."""
            self.looked_up += 1
            return "Six times seven is 42 according to the table."

        return self.teams.pipeline(self.llm, tools=[lookup], prompts={**PROMPTS, **(prompts or {})})

    def fail(self, **options: Any) -> StoredRun:
        """The last attempt of a run that fails, as the store has it."""
        kept = {"check": is_right, "store": self.file, "diagnose": "off", "name": "the desk", **options}
        run = tracer_hooks.run(self.build_team, TASK, **kept)
        assert run.outcome is RunOutcome.FAILED
        assert tracer_hooks.flush()
        return self.stored(run.trajectory.run_id)

    def stored(self, run_id: str) -> StoredRun:
        with RunStore(self.file) as store:
            return store.get(run_id)

    def fork(self, run: StoredRun, **change: Any) -> tracer_hooks.Fork:
        given = {"build_team": self.build_team, "check": is_right, "n": 3, "store": self.file, **change}
        return tracer_hooks.fork(run, **given)


@pytest.fixture
def desk(name: str, llm: ScriptedLLM, tmp_path: Path) -> Desk:
    return Desk(teams_of(name), llm, tmp_path)


def step_of(run: StoredRun, agent: str, kind: StepKind = StepKind.MESSAGE) -> int:
    return next(step.index for step in run.trajectory.steps if step.agent == agent and step.kind is kind)


@every_framework
def test_another_reply_result_or_prompt_saves_the_run(desk: Desk) -> None:
    run = desk.fail()
    writer, looked_up = step_of(run, "writer"), step_of(run, "researcher", StepKind.TOOL_CALL)
    changes: list[dict[str, Any]] = [
        {"at": writer, "say": "It makes 42."},
        {"at": looked_up, "result": "Six times seven is 43 according to the table."},
        {"at": looked_up, "result": "Six times seven is 43 according to the table.", "tools": "rebuilt"},
        {"at": writer, "prompts": {"writer": CAREFUL}},
    ]
    for change in changes:
        before = desk.looked_up
        found = desk.fork(run, **change)
        assert found.verdict == "verified by replay 3 of 3, control 0 of 3", change
        assert desk.looked_up - before == (6 if "tools" in change else 0)
        trial = found.runs[-1].trajectory
        assert (trial.team, trial.final_output) == ("the desk", "Approved: it makes 42.")
    with RunStore(desk.file) as store:
        assert len(store.forks_of(run.run_id)) == 6 * len(changes)


@every_framework
def test_a_team_object_makes_all_runs_in_the_loop_that_its_client_was_used_in(desk: Desk) -> None:
    run, team = desk.fail(), tracer_hooks.hook(desk.build_team(), check=is_right, store="off")
    found = desk.fork(run, at=step_of(run, "writer"), say="It makes 42.", build_team=team, check=None)
    assert found.verdict == "verified by replay 3 of 3, control 0 of 3"


@every_framework
def test_a_retry_is_forked_and_so_is_a_fork(desk: Desk) -> None:
    run = desk.fail(retries=1)
    assert run.attempt == 2
    writer = step_of(run, "writer")
    found = desk.fork(run, at=writer, say="It makes 40.", n=1)
    assert found.succeeded == (0, 0)
    fork = desk.stored(found.runs[0].trajectory.run_id)
    assert fork.parent is not None
    assert (fork.parent.run_id, fork.team) == (run.run_id, "the desk")
    again = desk.fork(fork, at=writer, say="It makes 42.")
    assert again.verdict == "verified by replay 3 of 3, control 0 of 3"
    control = desk.stored(found.control_runs[0].trajectory.run_id)
    assert control.trajectory.final_output == run.trajectory.final_output


@every_framework
def test_one_of_two_branches_is_forked(desk: Desk) -> None:
    def build_team() -> Any:
        try:
            return desk.teams.parallel(desk.llm)
        except NotOfferedError as error:
            pytest.skip(str(error))

    def never(result: tracer_hooks.RunResult) -> bool:
        return False

    run = tracer_hooks.run(build_team, TASK, check=never, store=desk.file, diagnose="off")
    assert (run.outcome, tracer_hooks.flush()) == (RunOutcome.FAILED, True)
    stored = desk.stored(run.trajectory.run_id)
    given: dict[str, Any] = {"build_team": build_team, "check": never, "n": 1}
    found = desk.fork(stored, at=step_of(stored, "left"), say="It is 42 in digits.", **given)
    said = [
        {step.agent: step.content for step in trial.trajectory.steps} for trial in (*found.runs, *found.control_runs)
    ]
    words = "It is forty-two in words."
    assert said == [{"left": f"It is {number} in digits.", "right": words} for number in (42, 41)]


@every_framework
def test_a_tool_that_nobody_declared_stops_the_fork_before_it_is_called(desk: Desk) -> None:
    run, before = desk.fail(), desk.looked_up
    told = {"researcher": PROMPTS["researcher"] + " Be quick."}
    with pytest.raises(ReplayError, match=r"the tool 'lookup'.*--tool lookup=replayable"):
        desk.fork(run, at=0, prompts=told)
    assert desk.looked_up == before
    with RunStore(desk.file) as store:
        assert store.forks_of(run.run_id) == ()
    assert desk.fork(run, at=0, prompts=told, n=1, tools={"lookup": "replayable"}).succeeded == (0, 0)
