"""``replay_run``, ``resume``, ``counterfactual``, ``find_decisive_step``: what would have come of another step?"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar, Unpack

from tracer_hooks._api.judging import Check, Expected, loop_is_running
from tracer_hooks._api.rerunning._recordings import Recorded, recording_of
from tracer_hooks._api.rerunning._replay_case import ReplayArguments, ReplayCase, runner_for, tape_mode
from tracer_hooks.attribution import Attributor
from tracer_hooks.errors import ConfigError
from tracer_hooks.repairs import Repair, RepairTarget
from tracer_hooks.replay import (
    Correction,
    Counterfactual,
    DecisiveSearch,
    Replayed,
    Resumed,
    TapeMode,
    ToolRules,
    examine_step,
    replay_tape,
    resume_tape,
)
from tracer_hooks.replay import find_decisive_step as search_decisive_step

T = TypeVar("T")


def counterfactual(
    run: Recorded,
    *,
    step: int,
    correction: Correction | str | Mapping[str, object] | None = None,
    **options: Unpack[ReplayArguments],
) -> Counterfactual:
    """Would a failed run have succeeded, had one step been another?

    The steps before it come from the tape, the correction stands at the step, and all after it is live; as many
    controls keep the recorded reply at the step. It may be called where an event loop is running, and blocks it.

    Args:
        run: A run of a hooked team, a run of the run store, or the id of one, or its beginning.
        step: The index of the step.
        correction: The reply that the agent gives instead; a mapping with ``content``, ``tool_calls``, ``guidance``
            or ``message`` (what the agent is told before it tries again); or None, and the proposer writes it.
        **options: See ``ReplayArguments``.

    Returns:
        How often the run succeeded with and without the correction, the interval of the difference, and its cost.

    Raises:
        ReplayError: The run did not fail, it has no tape, the step is no model call, the check raised, or a tool that
            nobody has declared wants to run.
        TapeMismatchError: The team does not do again what it did when it was recorded.
        ConfigError: An option cannot be used, or a run of the run store comes without ``build_team``.
    """
    case = ReplayCase(recording_of(run, options.get("store")).expect_failure(), options)
    given = None if correction is None else Correction.of(correction)
    replay = case.step_replay()
    correction_of = case.corrections(replay) if given is None else lambda _: given
    result = _off_the_loop(lambda: examine_step(replay, step, correction_of))
    on_test = options.get("on_test")
    if on_test is not None:
        on_test(result)
    return result


def find_decisive_step(
    run: Recorded, *, attributor: str | Attributor = "auto", **options: Unpack[ReplayArguments]
) -> DecisiveSearch:
    """Find the earliest step whose correction turns a failed run into a success, verified by replays.

    It may be called where an event loop is running, and blocks it.

    Args:
        run: A run of a hooked team, a run of the run store, or the id of one, or its beginning.
        attributor: Says where to look first. The default is the run's own diagnosis, and a new one where there is none.
        **options: See ``ReplayArguments``.

    Returns:
        The step with all evidence; ``decisive`` is None when no step was found, and ``reason`` says why.

    Raises:
        ReplayError: As for :func:`counterfactual`, when no step at all could be tested.
        TapeMismatchError: The team does not do again what it did when it was recorded.
        ConfigError: An option cannot be used, or a run of the run store comes without ``build_team``.
    """
    case = ReplayCase(recording_of(run, options.get("store")).expect_failure(), options)

    def search() -> DecisiveSearch:
        return search_decisive_step(
            case.step_replay(),
            attribution=case.diagnosis(attributor),
            proposer=case.proposers,
            reference=case.shown_reference,
            on_test=options.get("on_test"),
        )

    return _off_the_loop(search)


def replay_run(
    run: Recorded,
    *,
    until: int | None = None,
    mode: TapeMode | str = TapeMode.STRICT,
    build_team: Any = None,
    check: Check | None = None,
    expected: Expected | None = None,
    tools: ToolRules | str | Mapping[str, str] | None = None,
    store: str | Path | None = None,
) -> Replayed:
    """Run a recorded run again from its tape, without asking any model.

    Args:
        run: A run of a hooked team, a run of the run store, or the id of one, or its beginning.
        until: The first step that is live again; default none.
        mode: ``"strict"`` stops where the run asks for something that is not on the tape; ``"lenient"`` notes it.
        build_team: A factory, a team, or a function that takes the task; needed for a run of the run store.
        check: Says whether the new run succeeded; goes with ``build_team``.
        expected: The expected answer; decides where there is no check.
        tools: What tools may do from ``until`` on.
        store: The run store's file, for a run given by its id.

    Raises:
        TapeMismatchError: In strict mode: the team does not do again what it did when it was recorded.
        ReplayError: The run has no tape, the check raised, or a tool that nobody has declared wants to run.
        ConfigError: An argument cannot be used, or a run of the run store comes without ``build_team``.
    """
    if until is not None and until < 0:
        raise ConfigError(f"until is {until!r}, expected the index of a step")
    recording = recording_of(run, store)
    runner = runner_for(recording, build_team, check, expected, is_judged=False)
    rules, chosen = ToolRules.of(tools), tape_mode(mode)
    return _off_the_loop(lambda: replay_tape(runner, recording.trial.tape, until=until, mode=chosen, tools=rules))


def resume(
    run: Recorded,
    *,
    step: int,
    repair: Repair | None = None,
    build_team: Any = None,
    check: Check | None = None,
    expected: Expected | None = None,
    tools: ToolRules | str | Mapping[str, str] | None = None,
    store: str | Path | None = None,
) -> Resumed:
    """Run a failed run once more from the middle: the steps before ``step`` come from its record, the rest is live.

    What ``retries=`` does within a call, by hand. Where the team does something else than it did when it was recorded,
    the rest is run anew, and the answer's ``note`` says so.

    Args:
        run: A run of a hooked team, a run of the run store, or the id of one, or its beginning.
        step: The first live step; 0 for a run from scratch.
        repair: What is said to whom from there on; default nothing.
        build_team: A factory, a team, or a function that takes the task; needed for a run of the run store.
        check: Says whether the new run succeeded; goes with ``build_team``.
        expected: The expected answer; decides where there is no check.
        tools: What tools may do from ``step`` on; default they run again.
        store: The run store's file, for a run given by its id.

    Raises:
        ReplayError: The run has no tape, or the check raised.
        ConfigError: An argument cannot be used, or a run of the run store comes without ``build_team``.
    """
    recording = recording_of(run, store)
    steps = len(recording.trial.trajectory.steps)
    if not 0 <= step < max(1, steps):
        raise ConfigError(f"step is {step!r}, expected the index of one of the run's {steps} steps")
    told = repair or Repair(strategy="resample")
    if told.target is RepairTarget.REPLY:
        raise ConfigError("a repair with target 'reply' is no run of the team's own; use counterfactual(correction=)")
    told = told.model_copy(update={"resume_from": step or None})
    runner = runner_for(recording, build_team, check, expected, is_judged=False)
    rules = None if tools is None else ToolRules.of(tools)
    return _off_the_loop(lambda: resume_tape(runner, recording.trial.tape, told, tools=rules))


def _off_the_loop(work: Callable[[], T]) -> T:
    """What ``work`` gives, in a thread of its own where an event loop is running: teams start loops themselves."""
    if not loop_is_running():
        return work()
    with ThreadPoolExecutor(1, thread_name_prefix="tracer-hooks-replay") as pool:
        return pool.submit(contextvars.copy_context().run, work).result()
