"""A failed run as a language model reads it that is to write a repair."""

from __future__ import annotations

import json
from collections.abc import Iterable

from tracer_hooks.repairs._failure import Failure
from tracer_hooks.schema import ErrorMode, Step

_STEP_CHARACTERS = 1_500


def steps_as_text(steps: Iterable[Step]) -> str:
    """One line for each step: who acts, what is said, and what tools gave."""
    return "\n".join(
        f"[{step.index}] {step.agent}: {cut(step.content)}{tools_as_text(step)}".rstrip() for step in steps
    )


def tools_as_text(step: Step) -> str:
    """The tool calls of a step; empty without any."""
    calls = [f"{c.name}({json.dumps(c.arguments)}) -> {c.result or c.error or ''}" for c in step.tool_calls]
    return "".join(f" [{cut(call)}]" for call in calls)


def cut(text: str) -> str:
    """``text`` without the end of a very long one."""
    return text if len(text) <= _STEP_CHARACTERS else text[:_STEP_CHARACTERS] + " ..."


def error_mode_at(failure: Failure, step: int | None) -> ErrorMode | None:
    """Error mode of the step, if the diagnosis is about this step; of the whole run without a step."""
    return failure.error_mode if step is None or failure.step == step else None


def notes_on(failure: Failure, step: int | None) -> list[str]:
    """Quotes of the diagnosis from the step, with the reason; of any step without one."""
    evidence = failure.attribution.evidence if failure.attribution is not None else ()
    return [f"«{item.quote}»: {item.why}" for item in evidence if step is None or item.step == step]
