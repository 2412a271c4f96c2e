"""Forks of a recorded run: the steps before one come from the tape, one thing is changed, and the rest is live."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tracer_hooks.config import StorePlace, store_place
from tracer_hooks.diagnosis import get_attributor
from tracer_hooks.errors import ConfigError
from tracer_hooks.frameworks import ReplaceToolReply, RewriteInstructions, ToolReply, ToolRequest
from tracer_hooks.replay import (
    Correction,
    ReplayOptions,
    StepReplay,
    TapedToolCall,
    ToolRules,
    Trial,
    replay_verdict,
    tool_digest,
)
from tracer_hooks.replay import difference_interval as interval_of_difference
from tracer_hooks.rerun._comparison import RunComparison, compare
from tracer_hooks.rerun._replay import RecordedRun, off_the_loop, recording_of, runner_for
from tracer_hooks.runtime import Check, Expected, TeamCode
from tracer_hooks.schema import RunKind
from tracer_hooks.store import ForkedFrom, RunStore, StoredRun, TeamOrigin
from tracer_hooks.telemetry import suppressed


@dataclass(frozen=True, kw_only=True)
class Fork:
    """Runs that went on from a step with a change, beside as many without it."""

    run_id: str
    """The run that was forked."""
    step: int
    """The step at which it was."""
    change: str
    """What was changed, in words."""
    runs: tuple[Trial, ...]
    """The runs with the change."""
    control_runs: tuple[Trial, ...]
    """The runs without it."""
    comparison: RunComparison
    """The recorded run beside the first run with the change."""

    @property
    def succeeded(self) -> tuple[int, int]:
        """How many runs succeeded with the change, and how many without it."""
        return sum(trial.passed for trial in self.runs), sum(trial.passed for trial in self.control_runs)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the rate of success with the change less that of the control."""
        changed, control = self.succeeded
        return interval_of_difference((changed, len(self.runs)), (control, len(self.control_runs)))

    @property
    def is_significant(self) -> bool:
        """Tell whether the change makes runs succeed, by the test of counterfactual replays."""
        return self._judged[0]

    @property
    def verdict(self) -> str:
        """The result in words, such as "verified by replay 5 of 5, control 0 of 5"."""
        return self._judged[1]

    @property
    def _judged(self) -> tuple[bool, str]:
        return replay_verdict([trial.passed for trial in self.runs], [trial.passed for trial in self.control_runs])


def fork(
    run: RecordedRun,
    *,
    at: int,
    say: str | None = None,
    result: str | None = None,
    prompts: Mapping[str, str] | None = None,
    n: int = 5,
    build_team: Any = None,
    check: Check | None = None,
    expected: Expected | None = None,
    tools: ToolRules | str | Mapping[str, str] | None = None,
    store: str | StorePlace | None = None,
    on_trial: Callable[[Trial], None] | None = None,
) -> Fork:
    """Run on from one step of a recorded run with one change, and as often without it.

    Every run is kept in the run store as a replay as soon as it is made; one with the change that failed is diagnosed.
    It may be called where an event loop is running, and blocks it.

    Args:
        run: A run of a hooked team, a run of the run store, or the id of one, or its beginning.
        at: The index of the step.
        say: The reply that the agent of the step gives instead.
        result: What the tool that was called in the step returns instead.
        prompts: Other instructions by agent, from the step on.
        n: How many runs with the change, and as many without it.
        build_team: A factory, a team, or a function that takes the task; needed for a run of the run store.
        check: Says whether a run succeeded; goes with ``build_team``.
        expected: The expected answer; decides where there is no check.
        tools: What tools may do after the step, as in :func:`counterfactual`.
        store: The run store's file.
        on_trial: Called after every run.

    Raises:
        ReplayError: The run has no tape, the step is no model call, or a tool that nobody has declared wants to run.
        TapeMismatchError: The team does not do again what it did when it was recorded.
        ConfigError: An argument cannot be used, or a run of the run store comes without ``build_team``.
    """
    named = [name for name, value in (("say", say), ("result", result), ("prompts", prompts)) if value is not None]
    if len(named) != 1:
        raise ConfigError(f"{' and '.join(named) or 'nothing'} is given, expected exactly one of say, result, prompts")
    kind = named[0]
    if n < 1:
        raise ConfigError(f"n is {n!r}, expected 1 or more")
    recording = recording_of(run, store)
    recorded = recording.trial
    steps = len(recorded.trajectory.steps)
    if not 0 <= at < steps:
        raise ConfigError(f"at is {at!r}, expected the index of one of the run's {steps} steps")
    runner = runner_for(recording, build_team, check, expected)
    replay = StepReplay(runner, recorded, ReplayOptions(tools=ToolRules.of(tools)), on_trial=on_trial)
    made: Callable[[], Trial]
    control: Callable[[], Trial]
    if say is not None:
        change = f"{recorded.trajectory.steps[at].agent} says {say!r}"
        made, control = lambda: replay.corrected(at, Correction(content=say)), lambda: replay.control(at)
    elif result is not None:
        call = _tool_call_at(recorded, at)
        change = f"the tool {call.name} returns {result!r}"
        changed, given = replay, None
        if replay.options.tools.rebuilds(call.name):  # it runs, has to give what the tape holds, and is then overruled
            reply = ToolReply(content=result)
            given = ReplaceToolReply(lambda asked: _is_call(asked, call), lambda _: reply)
        else:
            changed = StepReplay(runner, _with_result(recorded, call, result), replay.options, on_trial=on_trial)
        made, control = lambda: changed.run_from(at + 1, given), lambda: replay.run_from(at + 1)
    else:
        told = dict(prompts or {})
        unknown = sorted(set(told) - set(recorded.trajectory.agent_names))
        if unknown or not told:
            names = ", ".join(map(repr, recorded.trajectory.agent_names))
            raise ConfigError(f"prompts names {unknown or 'no agent'}, expected instructions for some of: {names}")
        change = f"other instructions for {', '.join(told)}"
        made, control = lambda: replay.run_from(at, RewriteInstructions(told)), lambda: replay.run_from(at)

    parent = recording.run_id
    group = uuid.uuid4().hex
    source = recording.source or TeamCode.of(build_team, check).source(recorded.trajectory)
    runs: list[Trial] = []
    controls: list[Trial] = []

    def make() -> None:
        for _ in range(n):
            runs.append(made())
            told = ForkedFrom(run_id=parent, step=at, change=change, kind=kind, group=group)
            _keep(runs[-1], store, parent=told, source=source)
            controls.append(control())
            _keep(controls[-1], store, parent=ForkedFrom(run_id=parent, step=at, group=group), source=source)

    off_the_loop(make)
    return Fork(
        run_id=parent,
        step=at,
        change=change,
        runs=tuple(runs),
        control_runs=tuple(controls),
        comparison=compare(recorded.trajectory, runs[0].trajectory),
    )


def _tool_call_at(recorded: Trial, step: int) -> TapedToolCall:
    """The one tool call of a step."""
    calls = [call for call in recorded.tape.tool_calls if call.step == step and not call.is_routing]
    if len(calls) != 1:
        raise ConfigError(
            f"step {step} of run {recorded.tape.run_id!r} has {len(calls)} tool calls on the tape, expected one whose "
            f"result can be changed. Run: tracer-hooks runs show {recorded.tape.run_id}"
        )
    return calls[0]


def _is_call(asked: ToolRequest, call: TapedToolCall) -> bool:
    return asked.step in (None, call.step) and tool_digest(asked.name, asked.arguments) == call.digest


def _with_result(recorded: Trial, call: TapedToolCall, result: str) -> Trial:
    """The recording with another result of a tool call."""
    updates = {"content": result, "is_error": False, "value": None, "is_none": False, "error": None}
    calls = tuple(each.model_copy(update=updates) if each is call else each for each in recorded.tape.tool_calls)
    return replace(recorded, tape=recorded.tape.model_copy(update={"tool_calls": calls}))


def _keep(trial: Trial, store: str | StorePlace | None, *, parent: ForkedFrom, source: TeamOrigin | None) -> None:
    path = store_place(store)
    if path is None:
        return
    attribution = None
    if parent.change and trial.failed:
        with suppressed():
            attribution = get_attributor("auto").attribute(trial.trajectory.model_copy(update={"reference": None}))
    kept = StoredRun.of(
        trial.trajectory,
        session_id=trial.trajectory.run_id,
        kind=RunKind.REPLAY,
        attribution=attribution,
        parent=parent,
        source=source,
        tape=trial.tape.model_dump(mode="json", exclude_defaults=True),
    )
    with RunStore(path) as runs:
        runs.save(kept)
