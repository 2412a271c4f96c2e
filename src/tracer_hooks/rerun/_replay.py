"""``replay_run``, ``resume``, ``counterfactual`` and ``find_decisive_step`` on a user's own team."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypedDict, TypeVar, Unpack

from tracer_hooks.budget import CostCap
from tracer_hooks.config import StorePlace, store_place
from tracer_hooks.diagnosis import Attributor, get_attributor
from tracer_hooks.errors import ConfigError, ReplayError
from tracer_hooks.repair import Repair, RepairTarget
from tracer_hooks.replay import (
    Correction,
    Counterfactual,
    DecisiveSearch,
    Proposer,
    Replayed,
    ReplayOptions,
    Resumed,
    StepReplay,
    Tape,
    TapeMode,
    TeamRunner,
    ToolRules,
    ToolUse,
    Trial,
    corrections_by,
    examine_step,
    proposers_of,
    replay_tape,
    resume_tape,
)
from tracer_hooks.replay import find_decisive_step as search_decisive_step
from tracer_hooks.rerun._targets import is_judged as is_judged_by_hook
from tracer_hooks.rerun._targets import rerunner
from tracer_hooks.runtime import Attempt, Check, Expected, TeamRun, known_answer, loop_is_running, shared_loop
from tracer_hooks.schema import Attribution, RunOutcome
from tracer_hooks.store import StoredRun, TeamOrigin, fingerprint
from tracer_hooks.telemetry import suppressed

RecordedRun = TeamRun | StoredRun | str
"""A run, or the id of one in the run store, or the beginning of it."""


@dataclass(frozen=True, kw_only=True)
class Recording:
    """One recorded run."""

    trial: Trial
    """What happened, with the tape."""
    attribution: Attribution | None = None
    """Its diagnosis, when there is one."""
    again: Callable[[], TeamRunner] | None = None
    """Makes what runs the team again; None for a run of the store."""
    prompts: Mapping[str, str] | None = None
    """What the agents of a run of the store were told in place of their own instructions: accepted prompts."""
    source: TeamOrigin | None = None
    """Where its team stands in code."""

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.trial.trajectory.run_id


def recording_of(run: RecordedRun, store: str | StorePlace | None = None) -> Recording:
    """The recording of a run.

    Raises:
        ReplayError: The run has no tape.
        StoreError: The run store has no such run, or cannot be read.
        ConfigError: It is none of the kinds of run.
    """
    if isinstance(run, TeamRun):
        attempt = _attempt(run)
        trial = Trial(trajectory=attempt.trajectory, tape=attempt.tape, error=attempt.error)
        source = run.code.source(attempt.trajectory)
        return Recording(trial=trial, attribution=attempt.attribution, again=run.again, source=source)
    if isinstance(run, str):
        run = stored_run(run, store)
    if not isinstance(run, StoredRun):
        raise ConfigError(f"the run is {run!r}, expected a TeamRun, a StoredRun, or the id of one in the run store")
    if run.tape is None:
        raise ReplayError(
            f"run {run.run_id!r} has no tape: it was recorded without full content, or before tapes were kept. Run the "
            "team again, with TRACER_HOOKS_RECORD=full"
        )
    trajectory = run.trajectory.model_copy(update={"outcome": run.outcome, "task": run.task or run.trajectory.task})
    try:
        tape = Tape.model_validate(run.tape)
    except ValueError as error:
        raise ReplayError(
            f"the tape of run {run.run_id!r} cannot be read ({error}). Run the team again with this version"
        ) from error
    return Recording(
        trial=Trial(trajectory=trajectory, tape=tape),
        attribution=run.attribution,
        prompts=_prompts(run, store),
        source=run.source,
    )


def _attempt(run: TeamRun) -> Attempt:
    """The newest attempt that failed on the team as the factory builds it, else the last one.

    One that was told something is passed over: nobody tells it a replay.
    """
    failed = [attempt for attempt in run.attempts if attempt.outcome is RunOutcome.FAILED]
    own = [attempt for attempt in failed if attempt.repair is None or attempt.repair.target is RepairTarget.NOTHING]
    return [run.last, *failed[-1:], *own[-1:]][-1]


def _prompts(run: StoredRun, store: str | StorePlace | None) -> Mapping[str, str] | None:
    path = store_place(store)
    if run.prompts is None or run.prompts.told is None or path is None:
        return None
    from tracer_hooks.store import PromptStore

    with PromptStore(path, read_only=True) as prompts:
        return prompts.get(fingerprint(run.framework, run.team), run.prompts.told).texts


def stored_run(run_id: str, store: str | StorePlace | None, *, with_tape: bool = True) -> StoredRun:
    """The run of the store with this id, or whose id begins with it.

    Raises:
        ConfigError: The run store is switched off.
        StoreError: The run store has no such run, or cannot be read.
    """
    path = store_place(store)
    if path is None:
        raise ConfigError(
            f"run {run_id!r} cannot be read: the run store is switched off by TRACER_HOOKS_STORE='off'. Pass store=FILE"
        )
    from tracer_hooks.store import RunStore

    with RunStore(path, read_only=True) as runs:
        return runs.get(run_id, with_tape=with_tape)


class ReplayArguments(TypedDict, total=False):
    """Options of ``counterfactual`` and ``find_decisive_step``.

    ``build_team``: a factory, a team, or a function that takes the task; needed for a run of the run store, otherwise
    the run's own call is repeated. ``check``, ``expected``: say whether a run succeeded, as for
    :func:`tracer_hooks.hook`; they go with ``build_team``. ``tools``: what tools may do after the step (``"live"``,
    ``"replayable"``, ``"blocked"``, ``"rebuilt"``), one word for all or a word for each. ``trials``, ``alpha``,
    ``early_stop``, ``placebo``, ``seed``, and for the search ``suspect_trials``: see
    :class:`~tracer_hooks.replay.ReplayOptions`. ``mode``: ``"strict"`` or ``"lenient"``.
    ``cap``: a :class:`~tracer_hooks.replay.CostCap`. ``proposer``: who writes corrections: ``"resample"`` (default),
    ``"template"``, ``"feedback"``, or a :class:`~tracer_hooks.replay.Proposer`; for ``find_decisive_step`` also
    several, of which the next is asked where those before it showed nothing.
    ``show_reference``: whether the proposer may see the expected answer. ``store``: the run store's file, for a run
    given by its id. ``on_trial``: called after every run of the team; ``on_test``: after every step.
    """

    build_team: Any
    check: Check | None
    expected: Expected | None
    tools: ToolRules | str | Mapping[str, str] | None
    trials: int
    suspect_trials: int
    alpha: float
    early_stop: bool
    placebo: bool
    mode: TapeMode | str
    cap: CostCap
    seed: int
    proposer: str | Proposer | Sequence[str | Proposer]
    show_reference: bool
    store: str | StorePlace | None
    on_trial: Callable[[Trial], None] | None
    on_test: Callable[[Counterfactual], None] | None


class ReplayCase:
    """A failed run and the options of one call.

    Attributes:
        attribution: The run's diagnosis, when there is one.
        proposers: Write corrections, one after the other.
        shown_reference: The expected answer, where the caller wants the proposer to see it.

    Raises:
        ReplayError: The run did not fail, or has no tape.
        ConfigError: An option cannot be used.
    """

    def __init__(self, run: RecordedRun, options: ReplayArguments) -> None:
        recording = recording_of(run, options.get("store"))
        trajectory = recording.trial.trajectory
        if not recording.trial.failed:
            raise ReplayError(
                f"run {recording.run_id!r} ended as {str(trajectory.outcome)!r}, expected one that failed: there is "
                "nothing to correct in it. Run: tracer-hooks runs list --outcome failed"
            )
        unknown = sorted(set(options) - set(ReplayArguments.__annotations__))
        if unknown:
            known = ", ".join(sorted(ReplayArguments.__annotations__))
            raise ConfigError(f"unknown option {unknown[0]!r}, expected one of: {known}")
        self.attribution = recording.attribution
        self._on_trial = options.get("on_trial")
        numbers: dict[str, Any] = {
            name: value
            for name, value in options.items()
            if name in ("trials", "suspect_trials", "alpha", "early_stop", "placebo", "seed", "cap")
        }
        tools, mode = ToolRules.of(options.get("tools")), TapeMode(options.get("mode", TapeMode.STRICT))
        self._options = ReplayOptions(tools=tools, mode=mode, **numbers)
        self.proposers = proposers_of(options.get("proposer", "resample"))
        check, expected = options.get("check"), options.get("expected")
        self._runner = runner_for(recording, options.get("build_team"), check, expected)
        reference = trajectory.reference or known_answer(expected, trajectory.task)
        if options.get("show_reference") and reference is None:
            raise ConfigError(
                f"show_reference is set, and no expected answer of run {recording.run_id!r} is known. Pass expected="
            )
        self.shown_reference = reference if options.get("show_reference") else None
        # No proposer is shown it or may tell it, so it has to be known even where it was given only now.
        judged = trajectory.model_copy(update={"reference": reference})
        self._trial = Trial(trajectory=judged, tape=recording.trial.tape, error=recording.trial.error)

    def step_replay(self) -> StepReplay:
        """Replay of the recording, with nothing spent yet."""
        return StepReplay(self._runner, self._trial, self._options, on_trial=self._on_trial)

    def diagnosis(self, attributor: str | Attributor) -> Attribution:
        """Its diagnosis; made now, without the expected answer, where there is none or ``attributor`` is a wish."""
        if self.attribution is not None and attributor == "auto":
            return self.attribution
        hidden = self._trial.trajectory.model_copy(update={"reference": None})
        with suppressed():
            return get_attributor(attributor).attribute(hidden)


def runner_for(
    recording: Recording, build_team: Any, check: Check | None, expected: Expected | None, *, is_judged: bool = True
) -> TeamRunner:
    """Return the runner that runs the team of a recording again.

    Raises:
        ConfigError: Nothing says how to build the team, or how to judge its runs.
    """
    has_judge = check is not None or expected is not None
    if build_team is None:
        if recording.again is None:
            raise ConfigError(
                f"run {recording.run_id!r} comes from the run store, which does not hold its team; expected the "
                "factory that builds it. Pass build_team=; on the command line --team MODULE:build_team"
            )
        if has_judge:
            raise ConfigError(
                "check= and expected= go with build_team=; without it the run is judged as it was when it was recorded"
            )
        return recording.again()
    trajectory = recording.trial.trajectory
    if not has_judge and not is_judged_by_hook(build_team):
        expected = trajectory.reference
        if is_judged and expected is None and (trajectory.outcome_reason or "").startswith("check:"):
            raise ConfigError(
                f"run {recording.run_id!r} failed its check ({trajectory.outcome_reason!r}), and build_team brings "
                "none; expected one. Pass check= or expected=; on the command line --check MODULE:check or --expected"
            )
    return rerunner(
        build_team,
        trajectory.task,
        check=check,
        expected=expected,
        prompts=recording.prompts,
        name=trajectory.team or None,
    )


T = TypeVar("T")


def counterfactual(
    run: RecordedRun,
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
    case = ReplayCase(run, options)
    given = None if correction is None else Correction.of(correction)
    if given is None and len(case.proposers) > 1:
        names = ", ".join(proposer.name for proposer in case.proposers)
        raise ConfigError(f"the correction of one step has one proposer, expected one of: {names}")
    replay = case.step_replay()
    written = corrections_by(case.proposers[0], replay, attribution=case.attribution, reference=case.shown_reference)
    correction_of = written if given is None else lambda _: given
    result = off_the_loop(lambda: examine_step(replay, step, correction_of))
    on_test = options.get("on_test")
    if on_test is not None:
        on_test(result)
    return result


def find_decisive_step(
    run: RecordedRun, *, attributor: str | Attributor = "auto", **options: Unpack[ReplayArguments]
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
    case = ReplayCase(run, options)

    def search() -> DecisiveSearch:
        return search_decisive_step(
            case.step_replay(),
            attribution=case.diagnosis(attributor),
            proposer=case.proposers,
            reference=case.shown_reference,
            on_test=options.get("on_test"),
        )

    return off_the_loop(search)


def replay_run(
    run: RecordedRun,
    *,
    until: int | None = None,
    mode: TapeMode | str = TapeMode.STRICT,
    build_team: Any = None,
    check: Check | None = None,
    expected: Expected | None = None,
    tools: ToolRules | str | Mapping[str, str] | None = None,
    store: str | StorePlace | None = None,
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
    rules, chosen = ToolRules.of(tools), TapeMode(mode)
    return off_the_loop(lambda: replay_tape(runner, recording.trial.tape, until=until, mode=chosen, tools=rules))


def resume(
    run: RecordedRun,
    *,
    step: int,
    repair: Repair | None = None,
    build_team: Any = None,
    check: Check | None = None,
    expected: Expected | None = None,
    tools: ToolRules | str | Mapping[str, str] | None = None,
    store: str | StorePlace | None = None,
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
        tools: What tools may do, as in :func:`counterfactual`; by default those of a team that is built for the new run
            are ``"rebuilt"``, and the run is resumed behind no other that nobody has declared.
        store: The run store's file, for a run given by its id.

    Raises:
        ReplayError: The run has no tape, the check raised, or nobody has said what a tool before ``step`` does.
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
    rules = ToolRules.of(tools)
    if rules.default is None and not getattr(runner, "is_shared", True):
        rules = replace(rules, default=ToolUse.REBUILT)
    undeclared = rules.first_undeclared(recording.trial.tape)
    if undeclared is not None and undeclared.step < step:
        rules.use(undeclared.name)  # raises where nobody has declared it
        raise ConfigError(
            f"tools says {undeclared.name!r} is 'live', and the run called it before step {step}: what it did would be "
            "missing. Declare it 'replayable' (it only reads), 'blocked' or 'rebuilt', or resume at step 0"
        )
    return off_the_loop(lambda: resume_tape(runner, recording.trial.tape, told, tools=rules))


def off_the_loop(work: Callable[[], T]) -> T:
    """Return ``work()``, called in a thread of its own where an event loop runs: teams start loops themselves.

    All runs that it makes have one loop: a client that one team object keeps goes with the loop that it was used in.
    """

    def in_one_loop() -> T:
        with asyncio.Runner() as runner, shared_loop(runner):
            return work()

    if not loop_is_running():
        return in_one_loop()
    with ThreadPoolExecutor(1, thread_name_prefix="tracer-hooks-replay") as pool:
        return pool.submit(contextvars.copy_context().run, in_one_loop).result()
