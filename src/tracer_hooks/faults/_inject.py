"""One fault in one step of a run that succeeded; kept only if the fault, and nothing else, makes it fail."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tracer_hooks.adapters import Intervention, Interventions
from tracer_hooks.errors import FaultError, ReplayError
from tracer_hooks.faults._injector import AppliedFault, FaultInjector
from tracer_hooks.faults._spec import FaultSpec, FaultStrategy
from tracer_hooks.faults._verification import Verification, VerificationRule
from tracer_hooks.faults._writer import FaultWriter, WriteOnce
from tracer_hooks.replay import (
    Spending,
    TapedRequest,
    TapePlayer,
    TeamRunner,
    ToolRules,
    ToolUse,
    Trial,
    live_usage,
    retimed,
)
from tracer_hooks.schema import RunKind, Trajectory, Usage

_ASKED_AGAIN = (FaultStrategy.PROMPT_INJECTION, FaultStrategy.CHANNEL)
"""Strategies that change what the model is shown, so that it has to be asked at the step itself."""


@dataclass(frozen=True, kw_only=True)
class InjectOptions:
    """How faults are injected and verified."""

    rule: VerificationRule = field(default_factory=VerificationRule)
    """When a fault counts."""
    tools: ToolRules = field(default_factory=lambda: ToolRules(default=ToolUse.REBUILT))
    """What tools may do after the fault; by default their state is taken to live in the team's own process."""
    writer: FaultWriter | None = None
    """Who writes faults with ``writer="llm"``; needed for those only."""


@dataclass(frozen=True, kw_only=True)
class Injection:
    """What came of one fault."""

    spec: FaultSpec
    """The fault, its agent and step filled in."""
    clean: Trajectory
    """The run without it."""
    verification: Verification
    """What speaks for it."""
    discarded: str | None = None
    """Why it does not count; None for a verified fault."""
    faulty: Trajectory | None = None
    """A run that failed with it; None unless it is verified."""
    applied: AppliedFault | None = None
    """What was changed."""

    @property
    def is_verified(self) -> bool:
        """Whether the run fails with the fault, and succeeds without."""
        return self.discarded is None


class Injector:
    """Puts faults into one run that succeeded.

    Args:
        runner: Runs the team.
        clean: The run.
        options: How.
        spending: What was spent before; default nothing.
        on_trial: Told of every run that ended.

    Raises:
        FaultError: The run did not succeed: nothing could be learnt from making it fail.
    """

    def __init__(
        self,
        runner: TeamRunner,
        clean: Trial,
        options: InjectOptions | None = None,
        *,
        spending: Spending | None = None,
        on_trial: Callable[[Trial], None] | None = None,
    ) -> None:
        if not clean.passed:
            raise FaultError(
                f"the run {clean.trajectory.run_id!r} {clean.trajectory.outcome.value} without any fault "
                f"({clean.trajectory.outcome_reason}), expected one that succeeded"
            )
        self.clean = clean
        self._runner = runner
        self._options = options or InjectOptions()
        self._spending = spending or Spending()
        self._on_trial = on_trial

    def inject(self, spec: FaultSpec) -> Injection:
        """Put in one fault, and verify it.

        The steps before it come from the tape of the clean run, so that it is the only difference. A fault that does
        not fit, does not make the run fail, or does not stand alone is discarded with the reason.

        Raises:
            FaultError: The run has no such step, or it is not the agent's.
        """
        self._check_place(spec)
        begun = time.monotonic()
        found = _Count()
        try:
            reason, trial, applied = self._verify(spec, found)
        except (FaultError, ReplayError) as error:
            reason, trial, applied = str(error), None, None
        verification = found.verification(time.monotonic() - begun)
        faulty = None
        if reason is None and trial is not None and applied is not None and spec.step is not None:
            faulty = retimed(trial.trajectory, self.clean.trajectory, self._live_from(spec))
        return Injection(
            spec=spec,
            clean=self.clean.trajectory,
            verification=verification,
            discarded=reason,
            faulty=faulty,
            applied=applied,
        )

    def _check_place(self, spec: FaultSpec) -> None:
        steps = self.clean.trajectory.steps
        if spec.step is None or spec.step >= len(steps):
            raise FaultError(
                f"the run has no step {spec.step!r}, expected 0 to {len(steps) - 1}; plan_faults() chooses one"
            )
        actor = steps[spec.step].agent
        if spec.agent is not None and spec.agent != actor:
            names = ", ".join(repr(name) for name in dict.fromkeys(step.agent for step in steps))
            raise FaultError(
                f"step {spec.step} is one of {actor!r}, not of {spec.agent!r}; the agents of this run are {names}"
            )

    def _verify(self, spec: FaultSpec, found: _Count) -> tuple[str | None, Trial | None, AppliedFault | None]:
        rule = self._options.rule
        # Every run of a verification is to have the same fault, whoever wrote it.
        writer = WriteOnce(self._options.writer) if self._options.writer is not None else None
        failed: tuple[Trial, AppliedFault] | None = None
        while not found.is_harmful(rule):
            if found.is_harmless(rule):
                return "the run succeeds with the fault", None, None
            trial, applied = self._faulty(spec, writer, found)
            if trial.failed and failed is None:
                failed = trial, applied
        for _ in range(rule.controls):
            if not self._control(spec, found):
                return "the run fails without the fault", None, None
        return (None, *failed) if failed is not None else ("the run never failed", None, None)

    def _faulty(self, spec: FaultSpec, writer: FaultWriter | None, found: _Count) -> tuple[Trial, AppliedFault]:
        injector = self._fault(spec, writer)
        trial = self._run(self._live_from(spec), injector, found)
        found.faulty(trial)
        applied = injector.applied
        if applied is None:
            why = injector.problem
            raise FaultError("the run never came to the step" if why is None else str(why))
        steps = trial.trajectory.steps
        if applied.step is None or applied.step >= len(steps) or steps[applied.step].agent != applied.agent:
            raise FaultError("the changed step does not show in the trajectory")
        return trial, applied

    def _fault(self, spec: FaultSpec, writer: FaultWriter | None) -> FaultInjector:
        matches = None
        if spec.strategy is not FaultStrategy.TOOL and spec.step is not None:
            # Branches that run at the same time may be numbered otherwise; what is asked tells the step for certain.
            matches = TapedRequest.at_step(self.clean.tape, spec.step).matches
        return FaultInjector(spec, trajectory=self.clean.trajectory, matches=matches, writer=writer)

    def _control(self, spec: FaultSpec, found: _Count) -> bool:
        trial = self._run(self._live_from(spec), None, found)
        found.control(trial)
        return trial.passed

    def _live_from(self, spec: FaultSpec) -> int:
        """The first step that does not come from the tape; the same with the fault and without it."""
        step = spec.step or 0
        return step if spec.strategy in _ASKED_AGAIN else step + 1

    def _run(self, until: int, fault: Intervention | None, found: _Count) -> Trial:
        player = TapePlayer(self.clean.tape, until=until, tools=self._options.tools)
        trial = self._runner.run(Interventions([player] if fault is None else [player, fault]), kind=RunKind.REPLAY)
        usage = live_usage(trial, until)
        self._spending.add(usage)
        found.add(usage)
        player.finish()
        if self._on_trial is not None:
            self._on_trial(trial)
        lost = next((call for call in trial.tape.model_calls if call.step >= until and call.error), None)
        if lost is not None and trial.error is not None:
            raise ReplayError(f"a model call of step {lost.step} failed ({lost.error}): that says nothing of the fault")
        return trial


class _Count:
    """Counts the runs of one injection."""

    def __init__(self) -> None:
        self._so_far = Verification()

    def add(self, usage: Usage) -> None:
        self._change(runs=self._so_far.runs + 1, usage=self._so_far.usage + usage)

    def faulty(self, trial: Trial) -> None:
        seen = self._so_far
        self._change(faulty_runs=seen.faulty_runs + 1, faulty_failures=seen.faulty_failures + trial.failed)

    def control(self, trial: Trial) -> None:
        seen = self._so_far
        self._change(control_runs=seen.control_runs + 1, control_passes=seen.control_passes + trial.passed)

    def is_harmful(self, rule: VerificationRule) -> bool:
        return self._so_far.is_harmful(rule)

    def is_harmless(self, rule: VerificationRule) -> bool:
        return self._so_far.is_harmless(rule)

    def verification(self, seconds: float) -> Verification:
        return self._so_far.model_copy(update={"seconds": seconds})

    def _change(self, **fields: object) -> None:
        self._so_far = self._so_far.model_copy(update=fields)
