"""Diagnosis of one or many trajectories, whose answer is checked against the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from tracer_hooks._flight import in_order
from tracer_hooks._guard import logger
from tracer_hooks.diagnosis._blame import with_findings
from tracer_hooks.diagnosis._protocol import Attributor, Concurrent, TellsFindings
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._registry import AUTO, get_attributor
from tracer_hooks.diagnosis.findings import find_in
from tracer_hooks.errors import AttributionError, TracerHooksError
from tracer_hooks.schema import Attribution, Finding, Trajectory

if TYPE_CHECKING:
    from tracer_hooks.diagnosis.judge import JudgeOptions


def diagnose_trajectory(
    trajectory: Trajectory, *, attributor: str | Attributor = AUTO, reference: str | None = None
) -> Attribution:
    """Name the agent and the step that made the run fail.

    Args:
        trajectory: What happened.
        attributor: A name, or an attributor of one's own.
        reference: The expected answer, when it may be used; ``trajectory.reference`` is not looked at.

    Raises:
        ConfigError: ``attributor`` is not known.
        AttributionError: The attributor gave no attribution, or named an agent or a step that the trajectory does not
            have.
    """
    chosen = get_attributor(attributor)
    answer: object = chosen.attribute(trajectory, reference=reference)
    fault = fault_of_answer(answer, trajectory)
    if fault is not None or not isinstance(answer, Attribution):
        raise AttributionError(f"attributor {chosen.name!r} {fault}")
    return completed(answer, chosen, trajectory, reference)


def completed(
    answer: Attribution, attributor: Attributor, trajectory: Trajectory, reference: str | None = None
) -> Attribution:
    """An answer with what was found in the run, which most attributors do not look for themselves."""
    if answer.findings or isinstance(attributor, TellsFindings):
        return answer
    return with_findings(answer, RunReading(trajectory, reference))


def explainer(explain: bool | JudgeOptions) -> Callable[[Trajectory, Attribution], Attribution]:
    """A function that adds an explanation to the diagnosis of a run; where there is none, one line is logged.

    Args:
        explain: The judge's settings, True for those of the environment; with False, diagnoses stay as they are.

    Raises:
        ConfigError: There is no model, or an option cannot be used; the message says what to set.
    """
    if explain is False:
        return lambda _, attribution: attribution
    from tracer_hooks.diagnosis.judge import JudgeAttributor  # only where it is asked for
    from tracer_hooks.diagnosis.judge._explain import explain_diagnosis

    judge = JudgeAttributor(None if explain is True else explain)

    def explained(run: Trajectory, attribution: Attribution) -> Attribution:
        try:
            return attribution.model_copy(update={"explanation": explain_diagnosis(run, attribution, judge=judge)})
        except TracerHooksError as error:
            logger.warning("the diagnosis of run %r stays without explanation: %s", run.run_id, error)
            return attribution

    return explained


def findings_of(trajectory: Trajectory, *, reference: str | None = None) -> tuple[Finding, ...]:
    """What can be proved of a run of any outcome, whoever is to blame; nobody is blamed.

    Args:
        trajectory: What happened.
        reference: The expected answer, when it may be used.
    """
    return find_in(RunReading(trajectory, reference)) if trajectory.steps else ()


def fault_of_answer(answer: object, trajectory: Trajectory) -> str | None:
    """Describe the fault of an attributor's answer: it is none, or names an agent or step that the run does not have.

    Returns:
        The end of a sentence that begins with the attributor, such as "named step 9, expected one below 4"; None for an
        answer that is about the run.
    """
    if not isinstance(answer, Attribution):
        return f"gave {type(answer).__name__!r}, expected an Attribution"
    agents = {answer.agent, *(one.agent for one in answer.candidates), *(one.agent for one in answer.faults)}
    steps = {answer.step, *(one.step for one in answer.candidates)}
    steps |= {one.step for one in (*answer.evidence, *answer.spread)}
    steps |= {one.step for one in answer.findings}
    agents |= {one.agent for one in answer.findings}
    steps |= {step for one in answer.provenance for step in (one.step, one.source)}
    names, count = set(trajectory.agent_names), len(trajectory.steps)
    for agent in agents - names - {None}:
        return f"named the agent {agent!r}, expected one of {sorted(names)}"
    for step in steps - {None}:
        if step is not None and not 0 <= step < count:
            return f"named step {step}, expected one from 0 and below {count}"
    return None


Asked = tuple[Trajectory, str | None]
"""A run, and the expected answer when it may be used."""


def diagnose_each(asked: Iterable[Asked], *, attributor: str | Attributor = AUTO) -> Iterator[Attribution | Exception]:
    """Diagnose many runs, and hand out each answer, in the order of the runs, as soon as it is there.

    Runs are taken from ``asked`` when they are needed, so that a long file is never in memory as a whole.

    Args:
        asked: What is asked about.
        attributor: A name, or an attributor of one's own. One with a ``concurrency`` above 1 is asked about that many
            runs at the same time, in threads.

    Yields:
        An answer that is checked against its run; or the exception that this run ended with, while the others go on.
        Whoever stops reading waits for no request to a model, and none is sent again.

    Raises:
        ConfigError: ``attributor`` is not known.
    """
    chosen = get_attributor(attributor)
    at_once = chosen.concurrency if isinstance(chosen, Concurrent) else 1
    if at_once <= 1:
        return (_answer(chosen, *one) for one in asked)
    return in_order(lambda one: _answer(chosen, *one), asked, at_once)


def _answer(attributor: Attributor, trajectory: Trajectory, reference: str | None) -> Attribution | Exception:
    try:
        return diagnose_trajectory(trajectory, attributor=attributor, reference=reference)
    except Exception as error:  # handed to whoever reads the answers, in its place
        return error
