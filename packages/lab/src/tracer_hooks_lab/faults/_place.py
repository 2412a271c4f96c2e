"""Where a fault goes that leaves its agent, step or kind open."""

from __future__ import annotations

from tracer_hooks.errors import FaultError
from tracer_hooks.schema import ErrorMode, Trajectory
from tracer_hooks_lab.faults._context import context_of_step
from tracer_hooks_lab.faults._corruption import fitting_kinds
from tracer_hooks_lab.faults._plan import plan_faults
from tracer_hooks_lab.faults._spec import FaultSpec, FaultStrategy


def place_fault(run: Trajectory, spec: FaultSpec) -> FaultSpec:
    """``spec`` with the agent, step and kind that it leaves open, drawn by its seed among those that fit ``run``.

    Raises:
        FaultError: The run has no such agent or step, the step is another agent's, or no step can carry the fault.
    """
    _check(run, spec)
    if spec.step is not None and spec.kind is not None:
        return spec.model_copy(update={"agent": run.steps[spec.step].agent})
    for found in _candidates(run, spec):
        is_meant = spec.step in (None, found.step) and spec.agent in (None, found.agent)
        if is_meant and _carries(run, found, spec.kind, spec.seed):
            if spec.kind is None:
                return found.model_copy(update={"mode": spec.mode})
            return spec.model_copy(update={"agent": found.agent, "step": found.step})
    raise FaultError(
        f"{_where(spec)} can carry {_what(spec)}. Take another mode, kind, strategy or place, or writer='llm'"
    )


def _check(run: Trajectory, spec: FaultSpec) -> None:
    if not run.steps:
        raise FaultError(f"the run {run.run_id!r} has no steps: there is nothing a fault could be put into")
    names = ", ".join(f"{name!r} (at {_steps_of(run, name)})" for name in dict.fromkeys(s.agent for s in run.steps))
    if spec.agent is not None and all(step.agent != spec.agent for step in run.steps):
        raise FaultError(f"no step of the run is one of {spec.agent!r}; those who act are {names}")
    if spec.step is None:
        return
    if spec.step >= len(run.steps):
        raise FaultError(
            f"the run has no step {spec.step}, expected 0 to {len(run.steps) - 1}; those who act are {names}"
        )
    actor = run.steps[spec.step].agent
    if spec.agent is not None and spec.agent != actor:
        raise FaultError(f"step {spec.step} is one of {actor!r}, not of {spec.agent!r}; those who act are {names}")


def _candidates(run: Trajectory, spec: FaultSpec) -> list[FaultSpec]:
    """One fault for each step that can carry one, in an order of chance."""
    modes = tuple(ErrorMode) if spec.mode is None else (spec.mode,)
    plan = plan_faults(
        [run],
        modes=modes,
        strategies=[spec.strategy],
        per_trajectory=len(run.steps),
        seed=spec.seed,
        writer=spec.writer,
    )
    return [planned.spec for planned in plan]


def _carries(run: Trajectory, found: FaultSpec, kind: str | None, seed: int) -> bool:
    if kind is None or found.strategy is not FaultStrategy.RESPONSE_CORRUPTION:
        return True  # the plan has looked at the step; whether it can carry just this kind shows in the run
    assert found.mode is not None, "the plan gives replies a mode"
    assert found.step is not None, "the plan gives faults a step"
    return kind in fitting_kinds(context_of_step(run, found.step), found.mode, seed=seed)


def _steps_of(run: Trajectory, agent: str) -> str:
    return ", ".join(str(step.index) for step in run.steps if step.agent == agent)


def _where(spec: FaultSpec) -> str:
    if spec.step is not None:
        return f"step {spec.step} is not one that"
    return "no step of the run" if spec.agent is None else f"no step of {spec.agent!r}"


def _what(spec: FaultSpec) -> str:
    mode = f" of {spec.mode.value}" if spec.mode is not None else ""
    kind = f" of the kind {spec.kind!r}" if spec.kind is not None else ""
    return f"a fault by {spec.strategy.value}{mode}{kind}"
