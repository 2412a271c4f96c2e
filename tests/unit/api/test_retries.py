"""Rewrite, retry, keep or drop; and who gets what in the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks import RetryBoundary, Verdict
from tracer_hooks.feedback import PromptRewrite, RetryPolicy
from tracer_hooks.schema import Attribution, RunOutcome, Trajectory, Usage
from tracer_hooks.telemetry import ChatReply

from ._framework import BenchAdapter, BenchTeam, Blame
from ._spans import Recording


class Teach:
    """Appends a lesson to the blamed agent's prompt; a new one at each call."""

    name = "teach"

    def __init__(self, *lessons: str) -> None:
        self._lessons = lessons or ("lesson",)
        self.asked: list[tuple[str | None, str | None]] = []

    def rewrite(
        self, trajectory: Trajectory, attribution: Attribution, instructions: str | None
    ) -> PromptRewrite | None:
        lesson = self._lessons[min(len(self.asked), len(self._lessons) - 1)]
        self.asked.append((attribution.agent, instructions))
        assert attribution.agent is not None
        return PromptRewrite(agent=attribution.agent, before=instructions or "", after=f"{instructions} {lesson}")


def learns(told: str, task: str) -> str:
    return "It is 42." if "lesson" in told else "It is 41."


def never(told: str, task: str) -> str:
    return f"It is 41 for {told!r}."


def options(*lessons: str, **more: Any) -> dict[str, Any]:
    return {"expected": "42", "retries": 1, "attributor": Blame(("solo",)), "rewriter": Teach(*lessons), **more}


def run_of(target: Any) -> tracer_hooks.TeamRun:
    run = tracer_hooks.last_run(target)
    assert run is not None
    return run


# --- a factory -------------------------------------------------------------------------------------------------------
def factory(say: Any, built: list[Any], **opts: Any) -> Any:
    @tracer_hooks.hook(**opts)
    def build_team(prompts: Mapping[str, str] | None = None) -> BenchTeam:
        built.append(dict(prompts or {}))
        return BenchTeam(say, (prompts or {}).get("solo", "Be right."))

    return build_team


def test_a_rewrite_that_helps_is_kept_for_later_runs_and_teams(bench: BenchAdapter) -> None:
    built: list[Any] = []
    build = factory(learns, built, **options())
    team = build()
    assert team.run("x") == {"answer": "It is 42."}
    first, second = run_of(team).attempts
    assert (first.outcome, second.outcome) == (RunOutcome.FAILED, RunOutcome.SUCCEEDED)
    assert first.rewrite is not None
    assert (first.rewrite.agent, first.rewrite.after) == ("solo", "Be right. lesson")
    assert (first.kept, second.kept) == (True, None)
    assert run_of(team).outcome is RunOutcome.SUCCEEDED
    assert run_of(team).trajectory.agents[0].instructions == "Be right. lesson"
    assert team.told == "Be right.", "the user's own team is as it was"

    assert team.run("y") == {"answer": "It is 42."}, "a kept rewrite serves the same team's next run"
    assert len(run_of(team).attempts) == 1
    assert team.told == "Be right."
    assert build().told == "Be right. lesson", "and the factory's next team"
    assert built == [{}, {"solo": "Be right. lesson"}, {"solo": "Be right. lesson"}]


def test_a_rewrite_that_does_not_help_is_dropped(bench: BenchAdapter) -> None:
    built: list[Any] = []
    build = factory(never, built, **options("one", "two", retries=2))
    team = build()
    assert team.run("x") == {"answer": "It is 41 for 'Be right.'."}, "the earliest among equals"
    attempts = run_of(team).attempts
    assert [attempt.kept for attempt in attempts] == [False, False, None]
    assert [attempt.decision for attempt in attempts] == [
        "the run with the new prompt failed again",
        "the run with the new prompt failed again",
        "no retry: 2 of 2 retries used",
    ]
    assert built == [{}, {"solo": "Be right. one"}, {"solo": "Be right. two"}], (
        "each rewrite begins with the kept prompt"
    )
    assert build().told == "Be right.", "nothing is kept"


async def test_async_calls_and_async_factories_retry_in_the_callers_loop(bench: BenchAdapter) -> None:
    loops: list[Any] = []

    @tracer_hooks.hook(**options())
    async def build_team(prompts: Any = None) -> BenchTeam:
        loops.append(asyncio.get_running_loop())
        return BenchTeam(learns, (prompts or {}).get("solo", "Be right."))

    team = await build_team()
    assert await team.arun("x") == {"answer": "It is 42."}
    assert loops == [asyncio.get_running_loop()] * 2
    again = await build_team({"other": "as I like it"})
    assert again.told == "Be right. lesson"


def test_prompts_of_the_user_stay_under_ours(bench: BenchAdapter) -> None:
    built: list[Any] = []
    build = factory(learns, built, **options())
    team = build({"solo": "Mine.", "other": "Yours."})
    team.run("x")
    assert built == [{"solo": "Mine.", "other": "Yours."}, {"solo": "Mine. lesson", "other": "Yours."}]


def test_a_factory_without_prompts_is_rewritten_on_the_team(bench: BenchAdapter) -> None:
    built: list[BenchTeam] = []

    @tracer_hooks.hook(**options())
    def build_team(told: str = "Be right.") -> BenchTeam:
        built.append(BenchTeam(learns, told))
        return built[-1]

    team = build_team("Mine.")
    assert team.run("x") == {"answer": "It is 42."}
    assert [one.told for one in built] == ["Mine.", "Mine."], "put back after the run"
    later = build_team("Later.")
    assert later.run("y") == {"answer": "It is 42."}
    assert len(run_of(later).attempts) == 1


def test_a_factory_that_cannot_build_again_costs_the_retry_alone(
    bench: BenchAdapter, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[Any] = []

    @tracer_hooks.hook(**options())
    def build_team(prompts: Any = None) -> BenchTeam:
        calls.append(prompts)
        if prompts:
            raise KeyError("solo")
        return BenchTeam(never)

    team = build_team()
    assert team.run("x") == {"answer": "It is 41 for 'Be right.'."}
    (only,) = run_of(team).attempts
    assert only.decision == "no retry: the team could not be made ready again (KeyError: 'solo')"
    assert len(caplog.messages) == 1


# --- a team and a function -------------------------------------------------------------------------------------------
def test_a_ready_team_is_rewritten_for_the_run_and_put_back(bench: BenchAdapter) -> None:
    team = tracer_hooks.hook(BenchTeam(learns), **options())
    assert team.run("x") == {"answer": "It is 42."}
    assert (team.told, team.resets) == ("Be right.", 1)
    assert team.run("y") == {"answer": "It is 42."}
    assert len(run_of(team).attempts) == 1


def plain_team(say: Any, **opts: Any) -> Any:
    @tracer_hooks.agent
    def solo(task: str) -> Any:
        return say(tracer_hooks.instructions("solo", "Be right."), task)

    @tracer_hooks.hook(**opts)
    def solve(task: str) -> Any:
        return solo(task)

    return solve


def test_a_plain_function_gets_the_rewrite_by_instructions() -> None:
    solve = plain_team(learns, **options())
    assert solve("x") == "It is 42."
    run = run_of(solve)
    assert [attempt.outcome for attempt in run.attempts] == [RunOutcome.FAILED, RunOutcome.SUCCEEDED]
    told = [attempt.trajectory.agents[0].instructions for attempt in run.attempts]
    assert told == ["Be right.", "Be right. lesson"], "each trajectory shows the prompt that was in force"
    assert solve("y") == "It is 42."
    assert len(run_of(solve).attempts) == 1


def test_without_instructions_the_system_message_of_each_request_is_rewritten() -> None:
    @tracer_hooks.model
    def ask(messages: list[dict[str, str]]) -> str:
        return learns(messages[0]["content"], "")

    @tracer_hooks.agent(instructions="Be right.")
    def solo(task: str) -> str:
        return ask([{"role": "system", "content": "Be right."}, {"role": "user", "content": task}])

    solve = tracer_hooks.hook(lambda task: solo(task), **options())
    assert solve("x") == "It is 42."


async def test_an_async_plain_function_is_retried() -> None:
    @tracer_hooks.agent
    async def solo(task: str) -> str:
        return learns(tracer_hooks.instructions("solo", "Be right."), task)

    @tracer_hooks.hook(**options())
    async def solve(task: str) -> str:
        return await solo(task)

    assert await solve("x") == "It is 42."
    handed_on = tracer_hooks.hook(lambda task: solo(task), **options())
    assert await handed_on("x") == "It is 42."
    assert len(run_of(handed_on).attempts) == 2


# --- what the caller gets --------------------------------------------------------------------------------------------
def test_the_first_exception_comes_back_as_it_was_when_every_attempt_raises() -> None:
    errors: list[ValueError] = []

    def solve(task: str) -> str:
        errors.append(ValueError(f"number {len(errors) + 1}"))
        raise errors[-1]

    hooked = tracer_hooks.hook(solve, retries=2)
    with pytest.raises(ValueError, match="number 1") as caught:
        hooked("x")
    assert caught.value is errors[0]
    assert len(errors) == 3
    assert [attempt.error for attempt in run_of(hooked).attempts] == errors
    assert run_of(hooked).error is errors[0]


def test_a_result_is_better_than_an_exception_and_a_better_score_than_a_worse_one() -> None:
    answers: Iterator[Any] = iter([ValueError("broken"), "bad", "better", "worse"])
    scores = {"bad": 0.1, "better": 0.4, "worse": 0.2}

    def solve(task: str) -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    hooked = tracer_hooks.hook(solve, check=lambda result: scores[result.text], retries=3)
    assert hooked("x") == "better"
    run = run_of(hooked)
    assert (run.best.number, run.last.number) == (3, 4)
    assert run.outcome_reason == "check: the check scored 0.4, below 0.5"


@pytest.mark.parametrize("score", [-5.0, float("nan"), float("-inf"), 99.0])
def test_a_score_out_of_range_puts_no_exception_before_a_result(score: float) -> None:
    answers: Iterator[Any] = iter([ValueError("broken"), "an answer"])

    def solve(task: str) -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    hooked = tracer_hooks.hook(solve, check=lambda result: Verdict(passed=False, score=score), retries=1)
    assert hooked("x") == "an answer"


# --- whom to rewrite -------------------------------------------------------------------------------------------------
def two_agents(**opts: Any) -> Any:
    @tracer_hooks.agent
    def silent(task: str) -> str:
        return "nothing"

    @tracer_hooks.agent
    def solo(task: str) -> str:
        return learns(tracer_hooks.instructions("solo", "Be right."), task)

    @tracer_hooks.hook(**opts)
    def solve(task: str) -> str:
        silent(task)
        return solo(task)

    return solve


def test_the_next_candidate_is_tried_when_the_first_ones_prompt_is_not_known() -> None:
    teach = Teach()
    solve = two_agents(**options(attributor=Blame(("silent", "solo")), rewriter=teach))
    assert solve("x") == "It is 42."
    assert teach.asked == [("solo", "Be right.")]


def test_the_next_candidate_is_tried_when_a_rewrite_was_tried_before() -> None:
    class Same(Teach):
        def rewrite(self, trajectory: Any, attribution: Any, instructions: Any) -> PromptRewrite:
            return PromptRewrite(agent=attribution.agent, after="always the same")

    @tracer_hooks.agent
    def first(task: str) -> str:
        return tracer_hooks.instructions("first", "One.")

    @tracer_hooks.agent
    def second(task: str) -> str:
        return tracer_hooks.instructions("second", "Two.")

    def solve(task: str) -> str:
        return first(task) + second(task)

    hooked = tracer_hooks.hook(solve, expected="42", retries=3, attributor=Blame(("first", "second")), rewriter=Same())
    hooked("x")
    attempts = run_of(hooked).attempts
    assert [attempt.rewrite.agent if attempt.rewrite else None for attempt in attempts] == [
        "first",
        "second",
        None,
        None,
    ]
    assert attempts[2].decision == "no new rewrite of a known prompt: the retry is a plain one"


def test_nobody_to_blame_means_a_plain_retry() -> None:
    answers = iter(["It is 41.", "It is 42."])
    hooked = tracer_hooks.hook(lambda task: next(answers), expected="42", retries=1, attributor=Blame())
    assert hooked("x") == "It is 42."
    assert run_of(hooked).attempts[0].decision == "no agent to blame: the retry is a plain one"


def test_a_run_that_passes_or_is_unknown_is_not_retried() -> None:
    calls: list[str] = []

    def solve(task: str) -> str:
        calls.append(task)
        return "42"

    hooked = tracer_hooks.hook(solve, expected="42", retries=3)
    hooked("x")
    assert calls == ["x"]


# --- limits ----------------------------------------------------------------------------------------------------------
def test_tokens_of_the_retries_are_bounded() -> None:
    @tracer_hooks.model
    def ask(prompt: str) -> ChatReply:
        return ChatReply(content="It is 41.", usage=Usage(input_tokens=40, output_tokens=10))

    def solve(task: str) -> str:
        return ask(task).content

    hooked = tracer_hooks.hook(solve, expected="42", retries=RetryPolicy(max_retries=9, max_tokens=100))
    hooked("x")
    attempts = run_of(hooked).attempts
    assert len(attempts) == 3
    assert attempts[-1].decision == "no retry: 100 of 100 tokens used"


def test_seconds_are_bounded() -> None:
    hooked = tracer_hooks.hook(lambda task: "41", expected="42", retries=RetryPolicy(max_retries=9, max_seconds=0))
    hooked("x")
    (only,) = run_of(hooked).attempts
    assert only.decision is not None
    assert only.decision.startswith("no retry: 0.")


# --- streams ---------------------------------------------------------------------------------------------------------
def stream_team(**opts: Any) -> Any:
    @tracer_hooks.agent
    def solo(task: str) -> str:
        return learns(tracer_hooks.instructions("solo", "Be right."), task)

    @tracer_hooks.hook(**opts)
    def stream(task: str) -> Iterator[str]:
        yield from solo(task).split(" ")

    return stream


def astream_team(**opts: Any) -> Any:
    @tracer_hooks.agent
    def solo(task: str) -> str:
        return learns(tracer_hooks.instructions("solo", "Be right."), task)

    @tracer_hooks.hook(**opts)
    async def stream(task: str) -> AsyncIterator[str]:
        for word in solo(task).split(" "):
            yield word

    return stream


def has(number: str) -> Any:
    return lambda result: number in result.text


def test_a_stream_is_never_replayed_and_the_rewrite_is_tried_in_the_next_run() -> None:
    stream = stream_team(**options(expected=None, check=has("42")))
    assert list(stream("x")) == ["It", "is", "41."]
    failed = run_of(stream)
    (only,) = failed.attempts
    assert only.rewrite is not None
    assert (only.kept, only.decision) == (None, "tried in the next run")
    assert list(stream("x")) == ["It", "is", "42."]
    assert only.kept is True
    assert only.decision == "the run failed with the old prompt and passes with the new one"
    assert list(stream("x")) == ["It", "is", "42."], "and kept from then on"


async def test_the_same_for_async_streams() -> None:
    stream = astream_team(**options(expected=None, check=has("42")))
    assert [word async for word in stream("x")] == ["It", "is", "41."]
    await run_of(stream).diagnosed()
    assert [word async for word in stream("x")] == ["It", "is", "42."]


def test_a_cancelled_trial_leaves_the_rewrite_for_the_next_run() -> None:
    stream = stream_team(**options(expected=None, check=has("42")))
    list(stream("x"))
    broken_off = stream("x")
    next(broken_off)
    broken_off.close()
    assert list(stream("x")) == ["It", "is", "42."]
    assert list(stream("x")) == ["It", "is", "42."]


def test_the_rewrite_waits_for_the_factorys_next_team(bench: BenchAdapter) -> None:
    built: list[Any] = []
    build = factory(learns, built, **options())
    assert list(build().stream("x")) == ["It", "is", "41."]
    assert list(build().stream("x")) == ["It", "is", "42."]
    assert build().told == "Be right. lesson"


@pytest.mark.parametrize("closes", [False, True])
def test_retry_streams_go_on_after_a_boundary(closes: bool) -> None:
    seen = Recording()
    stream = stream_team(**options(expected=None, check=has("42"), retry_streams=True, tracer_provider=seen.provider))
    items = stream("x")
    before = [next(items) for _ in range(3)]
    boundary = next(items)
    assert before == ["It", "is", "41."]
    assert isinstance(boundary, RetryBoundary)
    assert (boundary.attempt, boundary.reason) == (2, "check: the check returned False")
    assert boundary.rewrite is not None
    assert boundary.rewrite.agent == "solo"
    if closes:
        items.close()
        assert len(run_of(stream).attempts) == 1
    else:
        assert list(items) == ["It", "is", "42."]
        assert [attempt.kept for attempt in run_of(stream).attempts] == [True, None]
    assert not seen.open
    assert run_of(stream).wait(timeout=5)


async def test_retry_streams_async() -> None:
    stream = astream_team(**options(expected=None, check=has("42"), retry_streams=True))
    items = [item async for item in stream("x")]
    assert [item for item in items if isinstance(item, str)] == ["It", "is", "41.", "It", "is", "42."]
    assert isinstance(items[3], RetryBoundary)


def test_a_stream_that_raises_in_every_attempt_raises_the_last() -> None:
    errors: list[ValueError] = []

    @tracer_hooks.hook(retries=1, retry_streams=True)
    def stream(task: str) -> Iterator[str]:
        yield "a"
        errors.append(ValueError("broken"))
        raise errors[-1]

    items: list[Any] = []
    with pytest.raises(ValueError, match="broken") as caught:
        items.extend(stream("x"))
    assert caught.value is errors[-1]
    assert len(errors) == 2


def test_retried_runs_are_traced_as_runs_of_their_own() -> None:
    seen = Recording()
    solve = plain_team(learns, **options(tracer_provider=seen.provider))
    solve("x")
    roots = seen.named("invoke_workflow")
    assert [dict(root.attributes or {})["tracer_hooks.run.kind"] for root in roots] == ["live", "retry"]
    assert len({root.get_span_context().trace_id for root in roots}) == 2
    assert not seen.open
