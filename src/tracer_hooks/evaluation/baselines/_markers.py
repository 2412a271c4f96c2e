"""The one rule of a rival that carries a signal: blame the message before the first error marker."""

from __future__ import annotations

import re

from tracer_hooks.evaluation._step_scores import Guess
from tracer_hooks.evaluation.baselines._positions import ranked
from tracer_hooks.schema import Step, Trajectory

_MARKER = re.compile(r"exitcode: [1-9]|Traceback \(most recent call last\)|execution failed")


def before_error_marker(trajectory: Trajectory) -> Guess | None:
    """The step before the first that shows a failed execution, else step 1.

    An agent whose own tool call failed has the marker in its own step, and is itself the answer. A first step that
    shows one has nothing before it and is passed over.
    """
    for step in trajectory.steps:
        if any(_MARKER.search(text) for text in _own_results(step)):
            return ranked(trajectory, [step.index])
        if step.index and _MARKER.search(step.content):
            return ranked(trajectory, [step.index - 1])
    return ranked(trajectory, [1] if len(trajectory.steps) > 1 else [])


def _own_results(step: Step) -> list[str]:
    return [text for call in step.tool_calls for text in (call.result, call.error) if text]
