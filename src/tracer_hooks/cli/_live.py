"""What happens in a run, printed while it happens."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from rich.console import Console
from rich.text import Text

from tracer_hooks import semconv
from tracer_hooks.telemetry import message_text

_WIDTH = 110


class LiveSteps(SpanProcessor):
    """Prints one line a model call and one a tool call, as their spans end.

    Args:
        console: Where to.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lock = threading.Lock()

    def on_end(self, span: ReadableSpan) -> None:
        """Print the span's line, if it has one."""
        line = _line(span.attributes or {}, failed=not span.status.is_ok and not span.status.is_unset)
        if line is not None:
            with self._lock:
                self._console.print(line, overflow="ellipsis", no_wrap=True)


def _line(attributes: Mapping[str, Any], *, failed: bool) -> Text | None:
    operation = attributes.get(semconv.OPERATION_NAME)
    if operation == semconv.OP_CHAT:
        said = _said(attributes)
    elif operation == semconv.OP_EXECUTE_TOOL:
        said = f"{attributes.get(semconv.TOOL_NAME)} -> {attributes.get(semconv.TOOL_CALL_RESULT, '')}"
    elif operation == semconv.OP_INVOKE_WORKFLOW:
        return _end_of_run(attributes)
    else:
        return None
    step = attributes.get(semconv.STEP_INDEX, "")
    head = f"  {step!s:>3} {attributes.get(semconv.AGENT_NAME, '')!s:<12} "
    return Text.assemble((head, "cyan"), (" ".join(said.split())[:_WIDTH], "red" if failed else ""))


def _said(attributes: Mapping[str, Any]) -> str:
    try:
        message = json.loads(attributes[semconv.OUTPUT_MESSAGES])[-1]
    except (KeyError, ValueError, IndexError):
        return "(no reply)"
    calls = [part.get("name", "") for part in message.get("parts", ()) if part.get("type") == "tool_call"]
    return message_text(message) or f"calls {', '.join(calls)}"


def _end_of_run(attributes: Mapping[str, Any]) -> Text:
    outcome = str(attributes.get(semconv.RUN_OUTCOME, ""))
    reason = " ".join(str(attributes.get(semconv.RUN_OUTCOME_REASON, "")).split())
    style = {"succeeded": "green", "failed": "red"}.get(outcome, "yellow")
    return Text.assemble(("  run ", "dim"), (f"{outcome} ", style), (f"{reason}"[:_WIDTH], "dim"))
