"""Comparison of two runs step by step: which steps are the same, which differ in what, and which only one of them has.

The steps are put beside each other as for the diagnosis by contrast.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from tracer_hooks.config import StorePlace
from tracer_hooks.diagnosis.contrast import partners_of_steps
from tracer_hooks.errors import ConfigError
from tracer_hooks.rerun._replay import stored_run
from tracer_hooks.runtime import Attempt, TeamRun
from tracer_hooks.schema import Record, RunOutcome, Step, Text, Trajectory
from tracer_hooks.store import StoredRun

ComparedRun = TeamRun | Attempt | StoredRun | Trajectory | str
"""A run: its last attempt, one attempt, a run of the store, its record, or the id of a stored run."""


class StepState(StrEnum):
    """Relation of a step to the other run."""

    SAME = "same"
    CHANGED = "changed"
    ONLY_A = "only_a"
    ONLY_B = "only_b"


class StepComparison(Record):
    """A step of each run that stand beside each other, or a step that only one of them has."""

    state: StepState
    """How they relate."""
    a: int | None = None
    """Index of the step in the first run."""
    b: int | None = None
    """Index of the step in the second run."""
    agent: Text
    """Who acts; in the first run, where both have the step."""
    differs: tuple[Text, ...] = ()
    """Parts that differ: ``agent``, ``kind``, ``text``, ``recipient``, ``tools``, ``arguments``, ``result`` or
    ``error``."""
    text_a: Text = ""
    """What differs, as the first run has it."""
    text_b: Text = ""
    """What differs, as the second run has it."""


class RunComparison(Record):
    """Two runs, step by step."""

    a: Text
    """Id of the first run."""
    b: Text
    """Id of the second run."""
    outcome_a: RunOutcome
    """How the first run ended."""
    outcome_b: RunOutcome
    """How the second run ended."""
    answer_a: Text | None = None
    """Answer of the first run."""
    answer_b: Text | None = None
    """Answer of the second run."""
    steps: tuple[StepComparison, ...] = ()
    """All steps of both, in the order of the first run, with those that only the second has in their place."""

    @property
    def same_answer(self) -> bool:
        """Tell whether both runs give the same answer."""
        return self.answer_a == self.answer_b

    @property
    def first_difference(self) -> StepComparison | None:
        """The first step that is not the same in both."""
        return next((step for step in self.steps if step.state is not StepState.SAME), None)


def compare(a: ComparedRun, b: ComparedRun, *, store: str | StorePlace | None = None) -> RunComparison:
    """Compare two runs step by step: attempts of a call, a run and one that was made from it, or any two of a team.

    Args:
        a: The first run.
        b: The second run.
        store: The run store's file, for runs given by their ids.

    Raises:
        StoreError: The run store has no such run, or cannot be read.
        ConfigError: It is none of the kinds of run.
    """
    first, second = _trajectory_of(a, store), _trajectory_of(b, store)
    return RunComparison(
        a=first.run_id,
        b=second.run_id,
        outcome_a=first.outcome,
        outcome_b=second.outcome,
        answer_a=first.final_output,
        answer_b=second.final_output,
        steps=tuple(_compared_steps(first, second)),
    )


def _trajectory_of(run: ComparedRun, store: str | StorePlace | None) -> Trajectory:
    if isinstance(run, str):
        run = stored_run(run, store, with_tape=False)
    if isinstance(run, StoredRun):
        return run.judged_trajectory
    if isinstance(run, TeamRun):
        return run.last.trajectory
    if isinstance(run, Attempt):
        return run.trajectory
    if isinstance(run, Trajectory):
        return run
    raise ConfigError(f"the run is {run!r}, expected a TeamRun, an Attempt, a StoredRun, a Trajectory, or a run id")


def _compared_steps(first: Trajectory, second: Trajectory) -> Iterator[StepComparison]:
    partners = partners_of_steps(first, second)
    waiting = sorted(set(range(len(second.steps))) - set(partners))
    for step, partner in zip(first.steps, partners, strict=True):
        while partner >= 0 and waiting and waiting[0] < partner:
            yield _only(second.steps[waiting.pop(0)], StepState.ONLY_B)
        yield _pair(step, second.steps[partner]) if partner >= 0 else _only(step, StepState.ONLY_A)
    for index in waiting:
        yield _only(second.steps[index], StepState.ONLY_B)


def _only(step: Step, state: StepState) -> StepComparison:
    text = _parts(step)["text"] or step.error or ", ".join(call.name for call in step.tool_calls)
    if state is StepState.ONLY_A:
        return StepComparison(state=state, a=step.index, agent=step.agent, text_a=text)
    return StepComparison(state=state, b=step.index, agent=step.agent, text_b=text)


def _pair(one: Step, other: Step) -> StepComparison:
    here, there = _parts(one), _parts(other)
    differs = tuple(name for name in here if here[name] != there[name])
    return StepComparison(
        state=StepState.CHANGED if differs else StepState.SAME,
        a=one.index,
        b=other.index,
        agent=one.agent,
        differs=differs,
        text_a="; ".join(here[name] for name in differs),
        text_b="; ".join(there[name] for name in differs),
    )


def _parts(step: Step) -> dict[str, str]:
    """What of a step is compared; ids and times differ between any two runs."""
    return {
        "agent": step.agent,
        "kind": str(step.kind),
        "text": step.content,
        "recipient": step.recipient or "",
        "tools": ", ".join(call.name for call in step.tool_calls),
        "arguments": "; ".join(f"{call.name}({call.arguments})" for call in step.tool_calls),
        "result": "; ".join(call.result or call.error or "" for call in step.tool_calls),
        "error": step.error or "",
    }
