"""Improving prompts: what a job comes to, and what it never does."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks.errors import CheckError, ConfigError, MissingExtraError
from tracer_hooks.improvement import ImproveOptions, ImprovePhase, ImproveProgress
from tracer_hooks.improvement._summary import summarize
from tracer_hooks.store import PromptState, PromptStore

from ._sums import (
    OWN,
    Writes,
    carry,
    harms_later,
    heeds_carry,
    improved,
    improver,
    is_right,
    numbers,
    options,
    tasks,
    team_builder,
)

pytest.importorskip("gepa")

NEW = "You are the solver. Add the numbers. Do not forget the carry. Write only the number."


def store(folder: Path) -> PromptStore:
    return PromptStore(folder.with_suffix(".sqlite"))


def test_better_prompts_are_accepted_and_kept(tmp_path: Path) -> None:
    news: list[ImproveProgress] = []
    result = improved(tmp_path / "job", on_progress=news.append)
    assert result.outcome == "accepted"
    assert result.texts == {"solver": NEW}
    assert result.reason.startswith("The new prompts are better: +")
    assert result.old == OWN
    assert result.blame["solver"] > 0.9
    assert result.unused is not None
    assert (result.unused.after.rate, result.unused.before.rate) == (1.0, pytest.approx(result.unused.before.rate))
    assert result.unused.gain > 0.2
    assert result.passed is not None
    assert result.passed.gain == 0
    assert result.pairs[result.evidence["decided_after"] - 1].e_gain >= result.needed == 20
    assert {pair.new - pair.old for pair in result.pairs} == {0.0, 1.0}
    assert [one.phase for one in news if one.said] == [ImprovePhase.SEARCH, ImprovePhase.SEARCH, ImprovePhase.TRIAL]
    last = {one.phase: one for one in news}
    assert all(one.done == one.total for one in last.values()), "no phase ends in the middle of its bar"
    assert {one.phase for one in news} == set(ImprovePhase)
    assert all(one.passed <= one.done <= one.total for one in news)
    with store(tmp_path / "job") as prompts:
        version = prompts.current(result.team)
        assert version is not None
        assert (version.number, version.texts, version.own) == (1, {"solver": NEW}, {"solver": OWN["solver"]})
        assert version.trial.new_runs == version.trial.old_runs == len(result.pairs)
        assert version.provenance["failures"] == result.baseline.runs - result.baseline.passes
    assert json.loads((tmp_path / "job" / "improvement.json").read_text())["outcome"] == "accepted"


def test_the_public_function_takes_texts_and_a_hooked_factory(tmp_path: Path) -> None:
    build = tracer_hooks.hook(check=is_right, store="off")(team_builder())
    result = tracer_hooks.improve(
        build, [task.text for task in tasks()], chat=carry(), folder=tmp_path / "job", store=tmp_path / "runs.sqlite",
        options=options(),
    )  # fmt: skip
    assert isinstance(result, tracer_hooks.Improvement)
    assert result.outcome == "accepted"


def test_accepted_prompts_are_what_the_next_job_begins_with(tmp_path: Path) -> None:
    """The solver's first lesson stays when a second job may rewrite the planner alone."""

    def needs_both(told: str, a: int, b: int) -> bool:
        return "carry" in told and (b < 60 or "twice" in told)

    first = improved(tmp_path / "job", team=team_builder(needs_both))
    assert first.outcome == "accepted"
    again = improved(
        tmp_path / "again", Writes("ADD: Look twice."), team=team_builder(needs_both), store=tmp_path / "job.sqlite"
    )
    assert again.outcome == "accepted"
    assert again.old["solver"] == NEW
    assert "carry" in again.texts["solver"]
    assert "twice" in again.texts["solver"]
    others = improved(
        tmp_path / "planner", Writes("ADD: Plan."), team=team_builder(needs_both), store=tmp_path / "job.sqlite",
        options=options(agents=("planner",)),
    )  # fmt: skip
    assert others.baseline.rate == 1.0, "the present prompts of agents that are not rewritten are used, too"
    assert first.notes == ()
    assert others.notes == (
        "version 2 of the prompts is in use: the team is run with it, and new prompts are compared with it",
    )
    assert summarize(others).blame == (), "where no run failed, nobody is to blame"


def test_without_gepa_it_says_what_to_install_before_any_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gepa", None)
    asked: list[str] = []
    with pytest.raises(MissingExtraError, match=r"Improving prompts needs 'tracer-hooks\[improve\]'"):
        improved(tmp_path / "job", on_progress=lambda progress: asked.append(progress.said))
    assert asked == []


def test_harmful_prompts_are_rejected(tmp_path: Path) -> None:
    result = improved(tmp_path / "job", Writes("ADD: Do harm."), team=team_builder(harms_later()))
    assert result.outcome == "rejected"
    assert result.reason.startswith("The new prompts ")
    assert result.evidence["mean"] < -0.2
    assert result.unused is not None
    assert result.unused.gain < 0
    with store(tmp_path / "job") as prompts:
        assert prompts.current(result.team) is None
        (version,) = prompts.versions()
        assert (version.state, version.reason) == (PromptState.ROLLED_BACK, result.reason)


def test_nothing_found(tmp_path: Path) -> None:
    result = improved(tmp_path / "job", Writes("ADD: Be kind."))
    assert result.outcome == "nothing found"
    assert result.version is None
    assert result.texts == {}
    assert result.unused is None
    assert "better than the present prompts" in result.reason
    with store(tmp_path / "job") as prompts:
        assert prompts.versions() == ()


def test_a_team_that_never_fails_is_left_alone(tmp_path: Path) -> None:
    chat = carry()
    result = improved(tmp_path / "job", chat, team=team_builder(lambda told, a, b: True))
    assert result.outcome == "nothing to improve"
    assert result.reason.startswith("0 of 16 proposing tasks failed in 28 runs, and at least 3 are needed")
    assert (chat.asked, result.runs) == (0, 28)


def test_sixteen_tasks_on_a_team_that_fails_half_its_runs_end_in_a_trial(tmp_path: Path) -> None:
    """As measured for docs/benchmarks.md, on five jobs: a writer of whose sentences three in five help."""
    sentences = "Be kind.", "Do not forget the carry.", "Add each carry.", "Look once more.", "Write down the carry."
    outcomes, said = [], set()
    for seed in range(5):
        chance = random.Random(1000 + seed)

        def passes(told: str, a: int, b: int, chance: random.Random = chance) -> bool:
            return chance.random() < (0.9 if "carry" in told else 0.5)

        result = improved(
            tmp_path / str(seed), Writes(*(f"ADD: {text}" for text in sentences)), team=team_builder(passes),
            tasks=tasks(16), options=ImproveOptions(seed=seed, workers=1), on_progress=lambda news: said.add(news.said),
        )  # fmt: skip
        outcomes.append(result.outcome)
    assert sum(outcome in ("accepted", "rejected", "on trial") for outcome in outcomes) >= 4, outcomes
    assert "2 of 6 tasks failed in 6 runs, and 3 are needed to learn from: those that passed are run again" in said


def test_too_few_tasks_say_how_many_are_missing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"10 different tasks are too few .* Add 6 to the file"):
        improver(tmp_path / "job", tasks=tasks(10))


def test_tasks_that_nothing_judges_are_refused_before_anything_runs(tmp_path: Path) -> None:
    seen: list[str] = []
    with pytest.raises(ConfigError, match="check"):
        improver(tmp_path / "job", check=None, team=team_builder(seen=seen))
    assert seen == []


def test_references_judge_where_there_is_no_check(tmp_path: Path) -> None:
    known = [task.model_copy(update={"reference": str(sum(numbers(task.text)))}) for task in tasks()]
    assert improved(tmp_path / "job", check=None, tasks=known).outcome == "accepted"


@pytest.mark.parametrize(
    ("says", "why"), [(TimeoutError(), "raised TimeoutError"), (None, "returned None"), ("yes", "returned 'yes'")]
)
def test_the_first_answer_that_the_check_cannot_judge_stops_the_job(tmp_path: Path, says: Any, why: str) -> None:
    judged: list[str] = []

    def broken(result: Any, task: str) -> Any:
        judged.append(task)
        if len(judged) < 3:
            return False
        if isinstance(says, Exception):
            raise says
        return says

    with pytest.raises(CheckError, match=rf"the task 't\d+' cannot be judged: .*{why}.* correct the check, and go on"):
        improved(tmp_path / "job", check=broken)
    assert len(judged) <= 8, "no other batch is begun"


@pytest.mark.parametrize("bad", [1, 40])
def test_a_team_that_raises_is_told_so_and_one_bad_first_task_is_no_hindrance(tmp_path: Path, bad: int) -> None:
    def build_team(prompts: Any = None) -> Any:
        def team(task: str) -> str:
            seen.add(task)
            if len(seen) <= bad:
                raise ValueError("no such column")
            return str(team_builder()(prompts)(task))

        return team

    seen: set[str] = set()
    if bad == 1:
        assert improved(tmp_path / "job", team=build_team).outcome == "accepted"
        return
    with pytest.raises(ConfigError, match="the team raised on its first tasks: ValueError: no such column"):
        improved(tmp_path / "job", team=build_team)


# --- the model that writes -----------------------------------------------------------------------------------------
def test_a_model_that_raises_breaks_the_job_off_and_it_can_go_on(tmp_path: Path) -> None:
    def fails(messages: Any) -> str:
        raise ConnectionError("no route")

    result = improved(tmp_path / "job", fails)
    assert result.outcome == "stopped"
    assert result.reason == "the model that writes instructions failed 3 times: ConnectionError: no route"
    assert [one.why for one in result.refused] == ["writing it failed (ConnectionError: no route)"] * 3
    again = improved(tmp_path / "job")
    assert again.outcome == "accepted"


# --- bad options ---------------------------------------------------------------------------------------------------
def test_an_agent_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'boss' are not known, expected one of: 'planner', 'solver'"):
        improved(tmp_path / "job", options=options(agents=("boss",)))


def test_too_few_runs_for_the_search_are_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="metric_calls is 29, expected at least 30: 8 runs to learn from, and 22 to"):
        improver(tmp_path / "job", options=options(metric_calls=29))
    assert not (tmp_path / "job").exists()


@pytest.mark.parametrize("name", ["metric_calls", "minibatch", "workers", "writer"])
def test_options_are_checked(name: str) -> None:
    bad = "gepa" if name == "writer" else 0
    with pytest.raises(ConfigError, match=f"{name} is {bad!r}"):
        options(**{name: bad})


def test_a_factory_that_takes_prompts_and_does_not_use_them_is_told_so(tmp_path: Path) -> None:
    def build_team(prompts: Any = None) -> Any:
        return team_builder()()

    with pytest.raises(ConfigError, match=r"built with prompts\['solver'\], and that agent still has its own"):
        improved(tmp_path / "job", team=build_team)


def test_what_the_team_was_hooked_with_judges_candidates_too(tmp_path: Path) -> None:
    hooked = tracer_hooks.hook(team_builder(), check=is_right, store=tmp_path / "runs.sqlite")
    assert improved(tmp_path / "job", team=hooked, check=None).outcome == "accepted"
    useless = improved(tmp_path / "useless", Writes("ADD: Look twice."), team=hooked, check=None)
    assert useless.outcome == "nothing found"


def test_a_function_of_the_task_may_have_a_parameter_prompts_of_its_own(tmp_path: Path) -> None:
    @tracer_hooks.agent(name="solver")
    def solver(task: str) -> str:
        told, (a, b) = tracer_hooks.instructions("solver", OWN["solver"]), numbers(task)
        return f"{a} + {b} = {a + b - (0 if heeds_carry(told, a, b) else 10)}"

    def team(task: str, prompts: object = None) -> str:
        assert prompts is None
        return solver(task)

    result = improved(tmp_path / "job", team=team)
    assert result.outcome == "accepted"
    assert result.texts == {"solver": NEW}


def test_an_agent_that_cannot_be_told_is_an_error_and_no_useless_search(tmp_path: Path) -> None:
    build = team_builder()

    def team(task: str) -> str:
        return str(build()(task))

    with pytest.raises(ConfigError, match=r"new instructions do not reach 'solver'.*tracer_hooks\.instructions"):
        improved(tmp_path / "job", team=team)
