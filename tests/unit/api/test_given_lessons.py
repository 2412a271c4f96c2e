"""``hook(lessons="learned")``: which lessons a call has, how they reach the agents, and what counts for them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks import Verdict
from tracer_hooks._api.conducting import _lessons, _team_lessons, _team_prompts
from tracer_hooks._api.conducting._team_lessons import TeamLessons
from tracer_hooks._api.runs import Part
from tracer_hooks.errors import ConfigError
from tracer_hooks.improvement import LessonRule
from tracer_hooks.replay import TapePlayer
from tracer_hooks.store import LessonState, LessonStore, RunStore

from ._accepting import NEW, accept, live
from ._framework import Blame
from ._learning import TASKS, TEAM, TEXT, learn, outcome, stored
from ._spans import Recording, attributes

TASK = "What is 123 plus 139?"
SYSTEM = "You are the solver."


class Team:
    """A solver that is asked by system and user message; notes what it was shown."""

    def __init__(self) -> None:
        self.asked: list[list[dict[str, str]]] = []

    def __call__(self, task: str) -> str:
        @tracer_hooks.model(name="scripted")
        def ask(messages: list[dict[str, str]]) -> str:
            self.asked.append(messages)
            return "262" if TEXT in messages[-1]["content"] else "252"

        @tracer_hooks.agent(name="solver", instructions=SYSTEM)
        def solve(said: str) -> str:
            return ask([{"role": "system", "content": SYSTEM}, {"role": "user", "content": said}])

        return solve(task)

    @property
    def users(self) -> list[str]:
        return [messages[-1]["content"] for messages in self.asked]

    @property
    def systems(self) -> list[str]:
        return [messages[0]["content"] for messages in self.asked]


def hooked(team: Callable[[str], Any], path: Path, **options: Any) -> Any:
    given = {"expected": "262", "attributor": Blame(("solver",)), "lessons": "learned", "store": path, **options}

    @tracer_hooks.hook(**given)
    def solve(task: str) -> Any:
        return team(task)

    return solve


def last(solve: Any) -> tracer_hooks.TeamRun:
    run = tracer_hooks.last_run(solve)
    assert run is not None
    return run.wait(30)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What is drawn, the next one first; a lesson on trial is given below 0.5."""
    values: list[float] = []

    class Draws:
        def random(self) -> float:
            return values.pop(0) if values else 0.0

    monkeypatch.setattr(_lessons, "_RANDOM", Draws())
    monkeypatch.setattr(_team_lessons, "_FRESH_S", 0.0)
    return values


@pytest.mark.usefixtures("draws")
def test_a_lesson_comes_in_the_users_message_and_not_in_the_system_message(path: Path) -> None:
    learn(path)
    team, seen = Team(), Recording()
    solve = hooked(team, path, tracer_provider=seen.provider)
    assert solve(TASK) == "262"
    assert team.systems == [SYSTEM]
    assert team.users == [f"{TASK}\n\nFrom earlier tasks of this kind:\n{TEXT}"]
    run = last(solve)
    assert [(one.number, one.given, one.share) for one in run.lessons] == [(1, True, 0.5)]
    lesson = stored(path)
    assert (lesson.with_runs, lesson.with_passes, lesson.without_runs) == (1, 1, 0)
    with RunStore(path) as runs:
        assert runs.get(run.attempts[0].trajectory.run_id).lessons == run.lessons
        assert runs.list()[0].lessons == run.lessons
    assert TEXT in str(run.tape.model_dump())
    assert attributes(seen.root)["tracer_hooks.lessons.given"] == ("1",)


def test_a_run_that_goes_without_is_counted_too(path: Path, draws: list[float]) -> None:
    learn(path)
    team = Team()
    draws[:] = [0.7]
    solve = hooked(team, path)
    assert solve(TASK) == "252"
    assert team.users == [TASK]
    assert [one.given for one in last(solve).lessons] == [False]
    lesson = stored(path)
    assert (lesson.with_runs, lesson.without_runs, lesson.without_passes) == (0, 1, 0)


@pytest.mark.usefixtures("draws")
def test_without_being_asked_for_and_for_other_tasks_there_are_none(path: Path) -> None:
    learn(path)
    team = Team()
    solve = hooked(team, path, lessons="off")
    solve(TASK)
    assert last(solve).lessons == ()
    other = hooked(team, path)
    other("Write a poem about the sea and the birds above it.")
    assert last(other).lessons == ()
    assert not any(TEXT in user for user in team.users)
    assert stored(path).with_runs == 0


@pytest.mark.usefixtures("draws")
def test_an_agent_has_two_lessons_at_most(path: Path) -> None:
    texts = [f"{TEXT} {word}" for word in ("Ever.", "Again.", "Now.")]
    for text in texts:
        learn(path, text)
    team = Team()
    solve = hooked(team, path)
    solve(TASK)
    assert sum(text in team.users[0] for text in texts) == 2
    assert len(last(solve).lessons) == 2


@pytest.mark.usefixtures("draws")
def test_a_lesson_for_an_agent_that_was_not_asked_is_not_counted(path: Path) -> None:
    learn(path, agent="writer")
    solve = hooked(Team(), path)
    solve(TASK)
    assert last(solve).lessons == ()
    assert stored(path).with_runs == 0


def test_retries_keep_the_lessons_and_only_the_first_attempt_counts(path: Path, draws: list[float]) -> None:
    learn(path)
    team = Team()
    solve = hooked(team, path, expected="1", retries=2, repair="plain")
    solve(TASK)
    assert [TEXT in user for user in team.users] == [True, True, True]
    assert len(last(solve).attempts) == 3
    assert (stored(path).with_runs, stored(path).with_passes) == (1, 0)
    draws[:] = [0.7]
    solve(TASK)
    assert [TEXT in user for user in team.users[3:]] == [False, False, False]


def test_what_nobody_judged_and_what_the_surroundings_failed_does_not_count(path: Path) -> None:
    learn(path)

    def broken(task: str) -> str:
        @tracer_hooks.model(name="scripted")
        def ask(messages: Any) -> str:
            raise ConnectionError("connection refused")

        @tracer_hooks.agent(name="solver", instructions=SYSTEM)
        def solve(said: str) -> str:
            return ask([{"role": "user", "content": said}])

        return solve(task)

    unjudged = hooked(Team(), path, expected=None)
    unjudged(TASK)
    last(unjudged)
    failing = hooked(broken, path, attributor="rules")
    with pytest.raises(ConnectionError):
        failing(TASK)
    last(failing)
    assert (stored(path).with_runs, stored(path).without_runs) == (0, 0)


@pytest.mark.usefixtures("draws")
def test_lessons_and_accepted_prompts_go_together(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_team_prompts, "_FRESH_S", 0.0)
    learn(path)
    accept(path)
    team = Team()
    solve = hooked(team, path, prompts="accepted")
    assert solve(TASK) == "262"
    assert team.systems == [NEW]
    assert TEXT in team.users[0]
    assert live(path).new_passes == 1
    assert stored(path).with_passes == 1


def test_a_replay_has_the_lessons_of_its_run(path: Path, draws: list[float]) -> None:
    learn(path)
    team = Team()
    solve = hooked(team, path)
    solve(TASK)
    run = last(solve)
    draws[:] = [0.9, 0.9, 0.9]
    runner = run.again()  # type: ignore[misc]
    assert runner.run().output == "262"
    assert TEXT in team.users[-1]
    replayed = tracer_hooks.replay_run(run.attempts[0].trajectory.run_id, build_team=solve, store=path)
    assert replayed.trial.output == "262"
    assert len(team.users) == 2  # every reply came from the tape
    runner.run(TapePlayer(run.tape))
    assert len(team.users) == 2


def count(path: Path, part: Part) -> None:
    with RunStore(path).writing() as writing:
        is_new = part.write(writing)
    if is_new and part.then is not None:
        part.then()


def judged(path: Path, *runs: tuple[bool, bool], period: int = 1, rule: LessonRule | None = None) -> None:
    lessons = TeamLessons(path, TEAM, rule)
    for at, (given, passed) in enumerate(runs):
        counted = outcome(f"run {period} {at}", given=given, passed=passed, period=period)
        count(path, lessons.counting(1, counted))


def test_a_lesson_that_helps_is_kept_doubted_and_retired(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    learn(path)
    caplog.set_level(logging.WARNING)
    judged(path, *[(True, True), (False, False)] * 30)
    lesson = stored(path)
    assert (lesson.state, lesson.period) == (LessonState.KEPT, 2)
    assert lesson.reason.startswith("Runs with it pass more often")
    lessons = TeamLessons(path, TEAM)
    assert lessons.share(lesson) == 0.9
    judged(path, *[(True, False)] * 60, period=2)
    lesson = stored(path)
    assert (lesson.state, lesson.period) == (LessonState.ON_TRIAL, 3)
    assert "passed, and" in lesson.reason
    assert lessons.share(lesson) == 0.5
    judged(path, *[(True, False), (False, True)] * 40, period=3)
    lesson = stored(path)
    assert lesson.state is LessonState.RETIRED
    said = [record.getMessage().split(" for ")[0] for record in caplog.records]
    assert said == [f"tracer-hooks {what} lesson 1" for what in ("keeps", "tries again", "retires")]
    assert lessons.near(TASK, 2) == []


def test_runs_of_an_earlier_period_decide_nothing(path: Path) -> None:
    learn(path)
    judged(path, *[(True, True), (False, False)] * 30)
    before = stored(path)
    count(path, TeamLessons(path, TEAM).counting(1, outcome("late", given=True, passed=False, period=1)))
    after = stored(path)
    assert (after.state, after.period) == (before.state, before.period)
    assert after.with_runs == before.with_runs + 1


def test_a_store_that_fails_costs_a_warning_and_not_the_run(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.write_text("this is no database, and it is long enough to look like a file of one" * 20)
    team = Team()
    solve = hooked(team, path)
    assert solve(TASK) == solve(TASK) == "252"
    last(solve)
    assert len([one for one in caplog.records if "gives no lessons" in one.getMessage()]) == 1


def test_it_needs_a_store_and_a_known_word(path: Path) -> None:
    with pytest.raises(ConfigError, match="lessons is 'learned', and the run store"):
        hooked(Team(), path, store="off")
    with pytest.raises(ConfigError, match="expected 'off' or 'learned'"):
        hooked(Team(), path, lessons="all")


@pytest.mark.usefixtures("draws")
def test_a_lesson_retired_by_hand_is_not_given_any_more(path: Path) -> None:
    learn(path)
    team = Team()
    solve = hooked(team, path, check=lambda result: Verdict(passed=True), expected=None)
    solve(TASK)
    with LessonStore(path) as store:
        store.retire(TEAM, 1, reason="no use")
    solve(TASKS[0])
    assert [TEXT in user for user in team.users] == [True, False]
