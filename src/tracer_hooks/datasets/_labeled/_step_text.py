"""A step as text."""

from __future__ import annotations

import json

from tracer_hooks.schema import Step, ToolCall


def step_text(step: Step) -> str:
    """What an agent said and did in a step: its content, then every tool call with what came of it, then its error."""
    parts = [step.content, *(_call_text(call) for call in step.tool_calls)]
    if step.error:
        parts.append(f"error: {step.error}")
    return "\n".join(part for part in parts if part)


def _call_text(call: ToolCall) -> str:
    given = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)
    came = f"error: {call.error}" if call.error is not None else call.result or ""
    return f"{call.name}({'' if call.arguments is None else given}) -> {came}"
