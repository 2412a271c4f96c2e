"""What evidence may quote."""

from __future__ import annotations

import json

from tracer_hooks.schema import Step


def quotable(step: Step) -> list[str]:
    """Every text of a step, as evidence would quote it."""
    found = [step.content, step.error or ""]
    for call in step.tool_calls:
        arguments = call.arguments
        found.append(arguments if isinstance(arguments, str) else json.dumps(arguments))
        found += [call.result or "", call.error or ""]
    return found
