"""One fault in one step of a run that succeeded; kept only if the fault, and nothing else, makes it fail."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pydantic import ValidationError

from tracer_hooks.budget import Spending
from tracer_hooks.errors import ConfigError, FaultError, ReplayError
from tracer_hooks.frameworks import Interventions
from tracer_hooks.replay import TapedRequest, TapePlayer, TeamRunner, ToolRules, ToolUse, Trial, live_usage, retimed
from tracer_hooks.schema import (
    AgentFault,
    DecisiveStep,
    Json,
    LabeledTrajectory,
    LabelSource,
    Record,
    RunKind,
    Step,
    Trajectory,
    Usage,
)
from tracer_hooks_lab.faults._fault_intervention import AppliedFault, FaultInjector
from tracer_hooks_lab.faults._spec import FaultSpec, FaultStrategy
from tracer_hooks_lab.faults._writer import FaultWriter, WriteOnce


class VerificationRule(Record):
    """When an injected fault counts as verified.

    Raises:
        ConfigError: The numbers do not go together.
    """

    trials: int = 3
    """Runs with the fault at most."""
    failures: int = 2
    """How many of them have to fail."""
    controls: int = 3
    """Runs without it; all of them have to succeed."""

    def __init__(self, **fields: object) -> None:
        """Refuse rules that every fault, or none, would pass."""
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise ConfigError(
                f"VerificationRule: {error.errors(include_url=False)[0]['msg']}, got {fields!r}"
            ) from error
        if not 1 <= self.failures <= self.trials:
            raise ConfigError(
                f"{self.failures} failures of {self.trials} trials cannot be asked for, expected 1 up to the trials"
            )
        if self.controls < 0:
            raise ConfigError(f"controls is {self.controls}, expected 0 or more")


class Verification(Record):
    """Runs with the fault, and runs without it."""

    faulty_runs: int = 0
    """Runs with the fault."""
    faulty_failures: int = 0
    """How many of them failed, the agent acting otherwise at the step than without the fault."""
    control_runs: int = 0
    """Runs in which nothing was changed, with the same steps fixed."""
    control_passes: int = 0
    """How many of them succeeded."""
    runs: int = 0
    """Runs of the team that it took."""
    usage: Usage = Usage()
    """Tokens of their live model calls."""
    seconds: float = 0.0
    """Wall-clock time."""

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.usage.total

    def is_harmless(self, rule: VerificationRule) -> bool:
        """Tell whether too many runs with the fault succeeded for the rest to make up for it."""
        successes = self.faulty_runs - self.faulty_failures
        return successes > rule.trials - rule.failures

    def is_harmful(self, rule: VerificationRule) -> bool:
        """Tell whether enough runs with the fault failed."""
        return self.faulty_failures >= rule.failures


_REASON_CHARS = 300


@dataclass(frozen=True, kw_only=True)
class Injection:
    """Result of one fault."""

    spec: FaultSpec
    """The fault, its agent and step filled in."""
    clean: Trajectory
    """The run without it."""
    verification: Verification
    """What speaks for it."""
    discarded: str | None = None
    """Why it does not count; None for a verified fault."""
    is_broken_off: bool = False
    """Whether it was broken off, by a model that gave no answer or by a cap, and so says nothing of the fault."""
    faulty: Trajectory | None = None
    """A run that failed with it; None unless it is verified."""
    applied: AppliedFault | None = None
    """What was changed, also where the fault is discarded; None when nothing was."""
    eligible_steps: tuple[int, ...] = field(default=())
    """The steps of the run that a fault could have been put into."""

    @property
    def is_verified(self) -> bool:
        """Tell whether the run fails with the fault, and succeeds without."""
        return self.discarded is None

    def labeled(
        self,
        *,
        question_id: str | None = None,
        reference: str | None = None,
        origin: Mapping[str, Json] | None = None,
    ) -> LabeledTrajectory:
        """The failed run with its label: the agent and step that the fault was put into.

        Args:
            question_id: Groups the runs of one question, for splits.
            reference: The expected answer, to be kept in the trajectory.
            origin: More entries of ``verification``, such as the architecture.

        Raises:
            FaultError: The fault is not verified.
        """
        applied, faulty, spec = self.applied, self.faulty, self.spec
        if self.discarded is not None or applied is None or faulty is None:
            raise FaultError(f"fault {spec.fault_id} was discarded ({self.discarded}), expected a verified one")
        reason = f"{applied.kind}: {applied.before[:_REASON_CHARS]!r} -> {applied.after[:_REASON_CHARS]!r}"
        kept = {"reference": reference if reference is not None else faulty.reference}
        return LabeledTrajectory(
            trajectory=faulty.model_copy(update=kept),
            decisive=DecisiveStep(agent=applied.agent, step=applied.step, error_mode=spec.mode, reason=reason),
            faults=(AgentFault(agent=applied.agent, error_mode=spec.mode),),
            label_source=LabelSource.INJECTED,
            question_id=question_id,
            seed=spec.seed,
            fault_id=spec.fault_id,
            verification={**(origin or {}), **self._evidence(applied)},
        )

    def _evidence(self, applied: AppliedFault) -> dict[str, Json]:
        checked = self.verification
        return {
            "strategy": self.spec.strategy.value,
            "kind": applied.kind,
            "writer": self.spec.writer,
            "clean_run_id": self.clean.run_id,
            "eligible_steps": list(self.eligible_steps),
            "faulty_runs": checked.faulty_runs,
            "faulty_failures": checked.faulty_failures,
            "control_runs": checked.control_runs,
            "control_passes": checked.control_passes,
            "runs": checked.runs,
            "tokens": checked.tokens,
            "seconds": round(checked.seconds, 3),
        }


@dataclass(frozen=True, kw_only=True)
class InjectOptions:
    """Settings for the injection of faults and their verification."""

    rule: VerificationRule = field(default_factory=VerificationRule)
    """When a fault counts."""
    tools: ToolRules = field(default_factory=lambda: ToolRules(default=ToolUse.REBUILT))
    """What tools may do after the fault; by default their state is taken to live in the team's own process."""
    writer: FaultWriter | None = None
    """Who writes faults with ``writer="llm"``; needed for those only."""


class Injector:
    """Puts faults into one run that succeeded.

    Args:
        runner: Runs the team.
        clean: The run.
        options: How.
        spending: What was spent before, and the cap; default nothing, and none.
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
        spec = self._placed(spec)
        attempt = _Attempt(spec, self.clean, live_from=_live_from(spec))
        begun = time.monotonic()
        reason: str | None
        broken_off = False
        try:
            reason = self._verify(attempt)
        except _BrokenOffError as error:
            reason, broken_off = str(error), True
        except (FaultError, ReplayError) as error:
            reason = str(error)
        found = attempt.verification.model_copy(update={"seconds": time.monotonic() - begun})
        failed = attempt.failed if reason is None else None
        return Injection(
            spec=spec,
            clean=self.clean.trajectory,
            verification=found,
            discarded=reason,
            is_broken_off=broken_off,
            faulty=retimed(failed.trajectory, self.clean.trajectory, attempt.live_from) if failed is not None else None,
            applied=attempt.applied,
            eligible_steps=tuple(sorted({call.step for call in self.clean.tape.model_calls})),
        )

    def _placed(self, spec: FaultSpec) -> FaultSpec:
        """``spec`` with the agent of its step.

        Raises:
            FaultError: There is no such step, or it is not the agent's.
        """
        steps = self.clean.trajectory.steps
        if spec.step is None or spec.step >= len(steps):
            raise FaultError(
                f"the run has no step {spec.step!r}, expected 0 to {len(steps) - 1}; plan_faults() chooses one"
            )
        actor = steps[spec.step].agent
        if spec.agent is not None and spec.agent != actor:
            raise FaultError(
                f"step {spec.step} is one of {actor!r}, not of {spec.agent!r}; the agents of this run are "
                f"{_agents(self.clean.trajectory)}"
            )
        return spec if spec.agent is not None else spec.model_copy(update={"agent": actor})

    def _verify(self, attempt: _Attempt) -> str | None:
        """Why the fault does not count; None for a verified one."""
        rule = self._options.rule
        # Every run of a verification is to have the same fault, whoever wrote it.
        writer = WriteOnce(self._options.writer) if self._options.writer is not None else None
        while not attempt.verification.is_harmful(rule):
            if attempt.verification.is_harmless(rule):
                return "the run succeeds with the fault"
            self._try_fault(attempt, writer)
        while attempt.verification.control_runs < rule.controls:
            if not self._passes_without(attempt):
                return "the run fails without the fault"
        return None

    def _try_fault(self, attempt: _Attempt, writer: FaultWriter | None) -> None:
        injector = self._fault(attempt.spec, writer)
        try:
            trial = self._run(attempt, injector)
        except _LostCallError as error:
            attempt.count(faulty_runs=1)
            self._passes_without(attempt)  # raises when the model has gone away
            raise FaultError(f"with the fault, and not without it, {error}") from error
        attempt.take_faulty(trial, injector)

    def _passes_without(self, attempt: _Attempt) -> bool:
        """Tell whether a control succeeds: the same steps fixed, and nothing changed."""
        trial = self._run(attempt, None)
        attempt.count(control_runs=1, control_passes=int(trial.passed))
        return trial.passed

    def _fault(self, spec: FaultSpec, writer: FaultWriter | None) -> FaultInjector:
        matches = None
        if spec.strategy is not FaultStrategy.TOOL and spec.step is not None:
            # Branches that run at the same time may be numbered otherwise; what is asked tells the step for certain.
            matches = TapedRequest.at_step(self.clean.tape, spec.step).matches
        return FaultInjector(spec, trajectory=self.clean.trajectory, matches=matches, writer=writer)

    def _run(self, attempt: _Attempt, fault: FaultInjector | None) -> Trial:
        if self._spending.refusal is not None:
            raise _BrokenOffError(self._spending.refusal)
        until = attempt.live_from
        player = TapePlayer(self.clean.tape, until=until, tools=self._options.tools)
        trial = self._runner.run(Interventions([player] if fault is None else [player, fault]), kind=RunKind.REPLAY)
        usage = live_usage(trial, until)
        self._spending.add(usage)
        attempt.count(runs=1, usage=usage)
        if self._on_trial is not None:
            self._on_trial(trial)
        player.finish()
        lost = next((call for call in trial.tape.model_calls if call.step >= until and call.error), None)
        if lost is not None and trial.error is not None:
            raise _LostCallError(f"a model call of step {lost.step} failed: {lost.error}")
        return trial


class _BrokenOffError(ReplayError):
    """The verification ended in a way that says nothing of the fault."""


class _LostCallError(_BrokenOffError):
    """A model gave no answer, which ended the run."""


class _Attempt:
    """One fault while it is verified.

    Attributes:
        live_from: The first step that does not come from the tape; the same with the fault and without it.
        verification: The runs so far.
        applied: What was changed.
        failed: The first run that failed with the fault.
    """

    def __init__(self, spec: FaultSpec, clean: Trial, *, live_from: int) -> None:
        self.spec = spec
        self.live_from = live_from
        self.verification = Verification()
        self.applied: AppliedFault | None = None
        self.failed: Trial | None = None
        self._clean = clean.trajectory

    def count(self, usage: Usage | None = None, **more: int) -> None:
        """Add to the counts of the verification."""
        found = self.verification
        counts: dict[str, object] = {name: getattr(found, name) + number for name, number in more.items()}
        if usage is not None:
            counts["usage"] = found.usage + usage
        self.verification = found.model_copy(update=counts)

    def take_faulty(self, trial: Trial, injector: FaultInjector) -> None:
        """Count a run with the fault.

        Raises:
            FaultError: The fault is not in it as it should be.
        """
        applied = injector.applied
        if applied is None:
            self.count(faulty_runs=1)
            raise FaultError("the run never came to the step" if injector.problem is None else str(injector.problem))
        step = self._changed_step(trial, applied)
        # A model that is misled may do all the same what it did before; what fails then is not the fault's doing.
        failed = trial.failed and not (_is_covert(self.spec) and _same_act(step, self._clean.steps[self._place]))
        self.count(faulty_runs=1, faulty_failures=int(failed))
        if self.failed is None:
            self.applied = applied
        if failed and self.failed is None:
            self.failed = trial

    @property
    def _place(self) -> int:
        return self.spec.step or 0

    def _changed_step(self, trial: Trial, applied: AppliedFault) -> Step:
        steps = trial.trajectory.steps
        if applied.step >= len(steps) or steps[applied.step].agent != applied.agent:
            raise FaultError("the changed step does not show in the trajectory")
        step = steps[applied.step]
        is_reply = self.spec.strategy is FaultStrategy.RESPONSE_CORRUPTION
        if is_reply and step.content.strip() and step.content.strip() not in applied.after:
            raise FaultError("the step does not have the changed reply word for word")
        return step


def _live_from(spec: FaultSpec) -> int:
    step = spec.step or 0
    return step if _is_covert(spec) else step + 1


def _is_covert(spec: FaultSpec) -> bool:
    """Tell whether the fault changes what the model is shown, so that it has to be asked at the step itself."""
    return spec.strategy in (FaultStrategy.PROMPT_INJECTION, FaultStrategy.CHANNEL)


def _same_act(step: Step, other: Step) -> bool:
    if " ".join(step.content.split()) != " ".join(other.content.split()):
        return False
    asked, before = ([(call.name, call.arguments) for call in one.tool_calls] for one in (step, other))
    return asked == before


def _agents(run: Trajectory) -> str:
    return ", ".join(repr(name) for name in dict.fromkeys(step.agent for step in run.steps))
