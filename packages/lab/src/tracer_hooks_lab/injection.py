"""``tracer_hooks.inject``: one deliberate fault in one run of a team."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypedDict, Unpack

from tracer_hooks import rerunner
from tracer_hooks.budget import CostCap, Spending
from tracer_hooks.errors import CheckError, ConfigError, FaultError
from tracer_hooks.extension import Check, Expected, is_judged
from tracer_hooks.replay import TeamRunner, ToolRules, Trial
from tracer_hooks.schema import ErrorMode, RunKind, Usage
from tracer_hooks_lab.faults import (
    FaultSpec,
    FaultStrategy,
    FaultWriter,
    Injection,
    InjectOptions,
    Injector,
    VerificationRule,
    check_can_be_made,
    place_fault,
)

Fault = FaultSpec | ErrorMode | str | Mapping[str, Any]
"""A fault, its fields, or only its mode, such as ``"FM-2.6"``."""


class InjectArguments(TypedDict, total=False):
    """Options of :func:`inject`.

    ``check``, ``expected``: say whether a run succeeded, as for :func:`tracer_hooks.hook`; default what the team was
    hooked with. ``clean_runs``: how often the team is run at most until a run succeeds, default 3. ``rule``: when the
    fault counts, a :class:`~tracer_hooks_lab.faults.VerificationRule` or its fields. ``tools``: what tools may do
    after the fault (``"rebuilt"``, ``"live"``, ``"replayable"``, ``"blocked"``), one word for all or one each; default
    ``"rebuilt"``. ``writer``: who writes a fault with ``writer="llm"``. ``cap``: a
    :class:`~tracer_hooks.replay.CostCap`. ``on_trial``: called after every run of the team.
    """

    check: Check | None
    expected: Expected | None
    clean_runs: int
    rule: VerificationRule | Mapping[str, int] | None
    tools: ToolRules | str | Mapping[str, str] | None
    writer: FaultWriter | None
    cap: CostCap | None
    on_trial: Callable[[Trial], None] | None


def inject(team_factory: Any, task: str, fault: Fault, **options: Unpack[InjectArguments]) -> Injection:
    """Put one fault into one step of one agent of a run that succeeds, and verify that it makes the run fail.

    The team is run until a run succeeds. Then it is run again with the fault, the steps before it fixed from the tape
    of the clean run, and again without it. What the fault leaves open of agent, step and kind is drawn by its seed.

    Args:
        team_factory: A factory that builds the team (best: every run then has a team of its own), a team, or a function
            that takes the task.
        task: What the team is asked.
        fault: A :class:`~tracer_hooks_lab.faults.FaultSpec`, its fields, or only its error mode. The strategy is
            response corruption unless it says otherwise.
        **options: See :class:`InjectArguments`.

    Returns:
        What came of it: ``is_verified``, or ``discarded`` with the reason; ``applied`` says what was changed, and
        ``labeled()`` gives the labelled trajectory.

    Raises:
        FaultError: The fault cannot be used, only a model could write it and there is none, the team never succeeds
            without it, or its agent or step is not there.
        ConfigError: An option cannot be used, or nothing says whether a run succeeded.
        AdapterError: The target is no team, or it cannot be built again.
    """
    unknown = sorted(set(options) - set(InjectArguments.__annotations__))
    if unknown:
        known = ", ".join(sorted(InjectArguments.__annotations__))
        raise ConfigError(f"unknown option {unknown[0]!r}, expected one of: {known}")
    spec = fault_spec(fault)
    check_can_be_made(spec)
    writer = options.get("writer")
    if spec.writer == "llm" and writer is None:
        raise FaultError(
            "the fault is to be written by a model, expected writer=LLMWriter(chat), where chat asks it: "
            "tracer_hooks.endpoint.endpoint_chat() makes one"
        )
    check, expected = options.get("check"), options.get("expected")
    if check is None and expected is None and not is_judged(team_factory):
        raise ConfigError(
            "nothing says whether a run succeeded, expected check= or expected='the right answer'; on the command line "
            "--check MODULE:check or --expected TEXT"
        )
    how = InjectOptions(
        rule=_rule(options.get("rule")), tools=ToolRules.of(options.get("tools", "rebuilt")), writer=writer
    )
    runner = rerunner(team_factory, task, check=check, expected=expected)
    spending, on_trial = Spending(options.get("cap")), options.get("on_trial")
    clean = clean_run(runner, options.get("clean_runs", 3), spending=spending, on_trial=on_trial)
    injector = Injector(runner, clean, how, spending=spending, on_trial=on_trial)
    return injector.inject(place_fault(clean.trajectory, spec))


def clean_run(
    runner: TeamRunner,
    tries: int = 3,
    *,
    spending: Spending | None = None,
    on_trial: Callable[[Trial], None] | None = None,
) -> Trial:
    """A run that succeeds, as something that a fault can be put into.

    Raises:
        FaultError: None of ``tries`` runs succeeds, or the cap is reached before one does.
        ConfigError: ``tries`` is below 1.
        CheckError: The check could judge none of them.
    """
    if tries < 1:
        raise ConfigError(f"clean_runs is {tries!r}, expected 1 or more")
    spending = spending or Spending()
    last: Trial | None = None
    unjudged: CheckError | None = None
    for _ in range(tries):
        if spending.refusal is not None:
            raise FaultError(f"{spending.refusal} before a run succeeded without any fault")
        try:
            last = runner.run(kind=RunKind.LIVE)
        except CheckError as error:
            spending.add(Usage())  # what it took is not known; the run counts
            unjudged = error
            continue
        spending.add(last.trajectory.usage)
        if on_trial is not None:
            on_trial(last)
        if last.passed:
            return last
    if last is None:
        assert unjudged is not None, "there was at least one try"
        raise unjudged
    ended = f"{type(last.error).__name__}: {last.error}" if last.error is not None else last.trajectory.outcome_reason
    raise FaultError(
        f"the team failed all {tries} runs without any fault, expected one that succeeds; the last: {ended}. Take an "
        "easier task, or more tries: clean_runs=..., on the command line --clean-runs"
    )


def fault_spec(fault: Fault) -> FaultSpec:
    """The fault that a user wrote down.

    Raises:
        FaultError: It names no mode or strategy that there is, or its fields do not go together.
    """
    if isinstance(fault, FaultSpec):
        return fault
    fields = {"mode": fault} if isinstance(fault, str) else dict(fault)
    try:
        mode = ErrorMode(fields["mode"]) if fields.get("mode") is not None else None
    except ValueError:
        known = ", ".join(mode.value for mode in ErrorMode)
        raise FaultError(f"unknown error mode {fields['mode']!r}, expected one of {known}") from None
    return FaultSpec.model_validate({"strategy": FaultStrategy.RESPONSE_CORRUPTION, **fields, "mode": mode})


def _rule(rule: VerificationRule | Mapping[str, int] | None) -> VerificationRule:
    if isinstance(rule, VerificationRule):
        return rule
    return VerificationRule(**(rule or {}))
