"""Plans: which fault goes where, balanced over many runs, or drawn for one that leaves its place open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Literal, NamedTuple, TypeVar

from tracer_hooks.errors import FaultError
from tracer_hooks.frameworks import ToolReply
from tracer_hooks.schema import ErrorMode, Step, StepKind, Trajectory
from tracer_hooks.telemetry import text_message
from tracer_hooks_lab.faults._context import FaultContext, context_of_step
from tracer_hooks_lab.faults._corruption import fitting_kinds
from tracer_hooks_lab.faults._mutators import check_can_be_made
from tracer_hooks_lab.faults._spec import ChannelFault, FaultSpec, FaultStrategy, ToolFault
from tracer_hooks_lab.faults._tool_and_channel_faults import faulty_messages, faulty_tool_reply

T = TypeVar("T", bound=Hashable)
Modes = Sequence[ErrorMode] | Mapping[ErrorMode, Collection[str]]


class PlannedFault(NamedTuple):
    """A run and the fault that is to go into it."""

    trajectory: Trajectory
    """The recorded run without the fault."""
    spec: FaultSpec
    """The fault, with agent, step and kind."""


def plan_faults(
    trajectories: Iterable[Trajectory],
    *,
    modes: Modes = tuple(ErrorMode),
    strategies: Sequence[FaultStrategy] = tuple(FaultStrategy),
    per_trajectory: int = 1,
    seed: int = 0,
    writer: Literal["programmatic", "llm"] = "programmatic",
) -> list[PlannedFault]:
    """Faults for recorded runs, such that neither the position nor the agent tells where they are.

    For each fault an agent of the run is drawn, then one of this agent's steps, step 0 included; then the strategy, the
    mode and the kind among those that the step can carry. Each draw takes what the plan has used least so far (of the
    strategies: least of the times that it was possible) and leaves ties to chance. A place that can carry nothing gives
    way to the agent's next step, then to the next agent.

    Args:
        trajectories: Runs that succeeded.
        modes: Error modes to use; a mapping says which mutators each mode may use.
        strategies: Strategies to use; tool and channel faults have no mode.
        per_trajectory: Faults for each run, each at a step of its own while there is one; fewer where no more fit.
        seed: Seed of the plan; equal arguments give equal plans.
        writer: Who writes replies and instructions.

    Raises:
        FaultError: ``per_trajectory`` is below 1, or there is no mode or strategy.
    """
    if per_trajectory < 1 or not strategies or not modes:
        raise FaultError("expected per_trajectory of 1 or more, and at least one mode and one strategy")
    planner = _Planner(modes, tuple(strategies), writer, Random(seed))
    return [PlannedFault(run, spec) for run in trajectories for spec in planner.faults_of(run, per_trajectory)]


class _Planner:
    """Draws places and faults, and keeps count of what it drew."""

    def __init__(
        self, modes: Modes, strategies: tuple[FaultStrategy, ...], writer: Literal["programmatic", "llm"], rng: Random
    ) -> None:
        self._modes = tuple(modes)
        self._allowed = modes if isinstance(modes, Mapping) else {}
        self._strategies = strategies
        self._writer: Literal["programmatic", "llm"] = writer
        self._rng = rng
        self._used: Counter[Hashable] = Counter()

    def faults_of(self, run: Trajectory, count: int) -> Iterator[FaultSpec]:
        taken: set[int] = set()
        for _ in range(count):
            spec = self._fault(run, taken) or self._fault(run, set())
            if spec is None or spec.step is None:
                return
            taken.add(spec.step)
            yield spec

    def _fault(self, run: Trajectory, taken: set[int]) -> FaultSpec | None:
        shape = (run.team, run.agent_names)
        steps = [step for step in run.steps if _acts(step) and step.index not in taken]
        agents = list(dict.fromkeys(step.agent for step in steps))
        for agent in self._least_used(agents, "agent", shape):
            own = [step for step in run.steps if step.agent == agent and step in steps]
            for index in self._least_used([step.index for step in own], "step", shape, agent):
                spec = self._at(run, agent, index)
                if spec is not None:
                    self._used["agent", shape, agent] += 1
                    self._used["step", shape, agent, index] += 1
                    return spec
        return None

    def _at(self, run: Trajectory, agent: str, index: int) -> FaultSpec | None:
        context = context_of_step(run, index)
        seed = self._rng.randrange(2**31)
        options = {s: self._option(s, context, run.steps[index], seed) for s in self._strategies}
        possible = [strategy for strategy, option in options.items() if option is not None]
        if not possible:
            return None
        strategy = self._least_taken(possible)
        mode, kind = options[strategy] or (None, None)
        self._used["strategy", strategy] += 1
        self._used["mode", strategy, mode] += 1
        self._used["kind", strategy, mode, kind] += 1
        writer = self._writer if mode is not None else "programmatic"
        return FaultSpec(strategy=strategy, mode=mode, kind=kind, agent=agent, step=index, writer=writer, seed=seed)

    def _option(
        self, strategy: FaultStrategy, context: FaultContext, step: Step, seed: int
    ) -> tuple[ErrorMode | None, str | None] | None:
        """Mode and kind with which the strategy would come to this step; None when it cannot."""
        for mode in self._modes_of(strategy):
            kinds = self._kinds(strategy, mode, context, step, seed)
            if kinds:
                return mode, self._least_used(kinds, "kind", strategy, mode)[0]
        return None

    def _least_taken(self, possible: Sequence[FaultStrategy]) -> FaultStrategy:
        """The strategy that was taken least of the times it was possible, so that rare chances are not all its own."""
        for strategy in possible:
            self._used["possible", strategy] += 1
        shuffled = list(possible)
        self._rng.shuffle(shuffled)
        return min(shuffled, key=lambda s: self._used["strategy", s] / self._used["possible", s])

    def _modes_of(self, strategy: FaultStrategy) -> list[ErrorMode | None]:
        if strategy in (FaultStrategy.TOOL, FaultStrategy.CHANNEL):
            return [None]
        return [*self._least_used(self._modes, "mode", strategy)]

    def _kinds(
        self, strategy: FaultStrategy, mode: ErrorMode | None, context: FaultContext, step: Step, seed: int
    ) -> list[str | None]:
        """The kinds that the step can carry; ``[None]`` where there are none to choose from."""
        if strategy is FaultStrategy.TOOL:
            return [kind.value for kind in ToolFault if _carries_tool_fault(kind, step, context, seed)]
        if strategy is FaultStrategy.CHANNEL:
            return [kind.value for kind in ChannelFault if _carries_channel_fault(kind, context, seed)]
        if strategy is FaultStrategy.PROMPT_INJECTION or self._writer == "llm" or mode is None:
            return [None]
        allowed = self._allowed.get(mode)
        return [kind for kind in fitting_kinds(context, mode, seed=seed) if allowed is None or kind in allowed]

    def _least_used(self, items: Sequence[T], *key: Hashable) -> list[T]:
        """``items``, the least used first, in an order of chance where they are equal."""
        shuffled = list(items)
        self._rng.shuffle(shuffled)
        return sorted(shuffled, key=lambda item: self._used[*key, item])


def _acts(step: Step) -> bool:
    return step.kind is not StepKind.ERROR and bool(step.content.strip() or step.tool_calls)


def _carries_tool_fault(kind: ToolFault, step: Step, context: FaultContext, seed: int) -> bool:
    called = next((call for call in step.tool_calls if call.result is not None), None)
    if called is None:
        return False
    earlier = [u.text for u in context.tool_results if u.agent == called.name]
    known = [context.task, *(u.text for u in context.history)]
    reply = ToolReply(content=called.result or "")
    rng = Random(f"{seed}/{kind}")
    return faulty_tool_reply(kind, called.name, reply, earlier=earlier, known=known, rng=rng) is not None


def _carries_channel_fault(kind: ChannelFault, context: FaultContext, seed: int) -> bool:
    shown = [text_message("user", u.text) for u in context.shown]
    first = [text_message("system", context.instructions), text_message("user", context.task)]
    return faulty_messages(kind, [*first, *shown], context.others, Random(f"{seed}/{kind}")) is not None


def place_fault(run: Trajectory, spec: FaultSpec) -> FaultSpec:
    """``spec`` with the agent, step and kind that it leaves open, drawn by its seed among those that fit ``run``.

    Raises:
        FaultError: The run has no such agent or step, the step is another agent's, no step can carry the fault, or only
            a model could write it.
    """
    check_can_be_made(spec)
    _check(run, spec)
    if spec.step is not None and spec.kind is not None:
        return spec.model_copy(update={"agent": run.steps[spec.step].agent})
    for found in _candidates(run, spec):
        is_meant = spec.step in (None, found.step) and spec.agent in (None, found.agent)
        if is_meant and _carries(run, found, spec.kind, spec.seed):
            if spec.kind is None:
                return found.model_copy(update={"mode": spec.mode})
            return spec.model_copy(update={"agent": found.agent, "step": found.step})
    raise FaultError(f"{_where(spec)} can carry {_what(spec)}. {_instead(run, spec)}")


def _instead(run: Trajectory, spec: FaultSpec) -> str:
    """Say which modes a changed reply could err by at that place."""
    other = "another strategy or place, or writer='llm'"
    if spec.strategy is not FaultStrategy.RESPONSE_CORRUPTION:
        return f"Take {other}"
    steps = [step for step in run.steps if spec.step in (None, step.index) and spec.agent in (None, step.agent)]
    contexts = [context_of_step(run, step.index) for step in steps if _acts(step)]
    fitting = [
        mode.value for mode in ErrorMode if any(fitting_kinds(context, mode, seed=spec.seed) for context in contexts)
    ]
    return f"Take one of the modes {', '.join(fitting)}, or {other}" if fitting else f"Take {other}"


def _check(run: Trajectory, spec: FaultSpec) -> None:
    if not run.steps:
        raise FaultError(f"the run {run.run_id!r} has no steps: there is nothing a fault could be put into")
    steps_of: dict[str, list[str]] = {}
    for step in run.steps:
        steps_of.setdefault(step.agent, []).append(str(step.index))
    names = ", ".join(f"{name!r} (at {', '.join(steps)})" for name, steps in steps_of.items())
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
    count = len(run.steps)
    plan = plan_faults(
        [run], modes=modes, strategies=[spec.strategy], per_trajectory=count, seed=spec.seed, writer=spec.writer
    )
    return [planned.spec for planned in plan]


def _carries(run: Trajectory, found: FaultSpec, kind: str | None, seed: int) -> bool:
    if kind is None or found.strategy is not FaultStrategy.RESPONSE_CORRUPTION:
        return True  # the plan has looked at the step; whether it can carry just this kind shows in the run
    assert found.mode is not None, "the plan gives replies a mode"
    assert found.step is not None, "the plan gives faults a step"
    return kind in fitting_kinds(context_of_step(run, found.step), found.mode, seed=seed)


def _where(spec: FaultSpec) -> str:
    if spec.step is not None:
        return f"step {spec.step} is not one that"
    return "no step of the run" if spec.agent is None else f"no step of {spec.agent!r}"


def _what(spec: FaultSpec) -> str:
    mode = f" of {spec.mode.value}" if spec.mode is not None else ""
    kind = f" of the kind {spec.kind!r}" if spec.kind is not None else ""
    return f"a fault by {spec.strategy.value}{mode}{kind}"
