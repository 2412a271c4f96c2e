"""What follows a run that has ended, hooked or observed: its diagnosis, and telling the user's callbacks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tracer_hooks._guard import guard, logger, warn_once
from tracer_hooks.diagnosis import Attributor, completed, fault_of_answer
from tracer_hooks.runtime._archive import look_later
from tracer_hooks.runtime._options import HookOptions
from tracer_hooks.runtime._team_run import Attempt, TeamRun
from tracer_hooks.schema import Attribution, RunOutcome, Trajectory
from tracer_hooks.telemetry import emit_diagnosis, redacted_attribution, suppressed


def checked_diagnosis(
    attributor: Attributor, trajectory: Trajectory, reference: str | None = None
) -> Attribution | None:
    """Return the answer of ``attributor``; None, with one warning, where its agents or steps are not there."""
    answer: object = attributor.attribute(trajectory, reference=reference)
    fault = fault_of_answer(answer, trajectory)
    if fault is None:
        # An Attribution, as the function has just seen.
        return completed(answer, attributor, trajectory, reference)  # type: ignore[arg-type]
    name = getattr(attributor, "name", type(attributor).__name__)
    warn_once(f"{name}: {fault}", "tracer-hooks leaves out a diagnosis: the attributor %r %s", name, fault)
    return None


def diagnose_attempt(attempt: Attempt, options: HookOptions, reference: str | None) -> None:
    """Diagnose a failed attempt, once; a failure of ours leaves it without a diagnosis.

    Args:
        attempt: The attempt.
        options: Who diagnoses, and what is kept and exported.
        reference: The expected answer as it may be kept.
    """
    wanted = attempt.outcome is RunOutcome.FAILED and options.diagnose not in (False, "off")
    if not wanted or attempt.attribution is not None:
        return
    with guard("diagnose the run"), suppressed():
        trajectory, emitter = attempt.trajectory, options.emitter
        # On what is kept, the expected answer included: an attributor may send it elsewhere, and quotes it.
        found = checked_diagnosis(options.diagnostician_for(trajectory), trajectory, reference)
        if found is not None:
            attempt.attribution = redacted_attribution(found, emitter.capture.record_policy)
            emit_diagnosis(emitter, trajectory, attempt.attribution)
            if options.publisher is not None:
                options.publisher.publish(
                    trajectory,
                    attempt.attribution,
                    emitter.capture,
                    provider=emitter.provider,
                    is_traced=attempt.is_exported,
                )


def tell_of(run: TeamRun, options: HookOptions) -> None:
    """Tell the user's callbacks of a run that is over."""
    if run.attempts and run.outcome is RunOutcome.FAILED:
        tell("on_failure", options.on_failure, run)
    if run.attempts and options.on_finding is not None:
        with guard("look for findings in the run"):
            look_later(functools.partial(_tell_findings, options.on_finding, run))


def tell(name: str, callback: Callable[[Any], Any] | None, what: Any) -> None:
    """Call back the user's own code; the run has its result and must keep it."""
    if callback is None:
        return
    try:
        callback(what)
    except Exception as error:
        logger.warning("%s raised %s: %s", name, type(error).__name__, error, exc_info=error)


def _tell_findings(callback: Callable[[TeamRun], Any], run: TeamRun) -> None:
    # Of a function, not a method: what waits must not keep the context, and with it the team, alive.
    if run.findings:
        tell("on_finding", callback, run)
