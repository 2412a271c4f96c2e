"""Spans: emitted, recorded, redacted, assembled into trajectories, written to and read from OTLP files."""

from typing import TYPE_CHECKING, Any

from tracer_hooks._moved import moved_name
from tracer_hooks.telemetry._assemble import assemble
from tracer_hooks.telemetry._capture import (
    WITHHELD,
    Content,
    ContentPolicy,
    hold_logs,
    redacted_attribution,
    redacted_trajectory,
)
from tracer_hooks.telemetry._foreign import normalise
from tracer_hooks.telemetry._invocation import (
    ABANDONED,
    CANCELLED,
    INTERRUPTED,
    AsyncSteps,
    Invocation,
    current_invocation,
    drive,
    drive_async,
    is_suppressed,
    suppressed,
    unrecorded,
)
from tracer_hooks.telemetry._operations import AgentInvocation, ChatInvocation, ToolInvocation, enclosing_agent
from tracer_hooks.telemetry._otlp_read import OtlpContent, is_otlp, read_otlp, scan_otlp
from tracer_hooks.telemetry._otlp_write import (
    OTLPFileExporter,
    decode_time,
    export_request,
    write_otlp_json,
    write_otlp_protobuf,
)
from tracer_hooks.telemetry._records import (
    ChatReply,
    Message,
    RequestedTool,
    SpanEvent,
    SpanLink,
    SpanRecord,
    SpanStatus,
    assistant_message,
    message_text,
    text_message,
    tool_message,
)
from tracer_hooks.telemetry._run import Emitter, RunInvocation, RunStart, current_run, warn_of_lost_step
from tracer_hooks.telemetry._to_spans import emit_diagnosis, to_spans

__all__ = [
    "ABANDONED",
    "CANCELLED",
    "INTERRUPTED",
    "WITHHELD",
    "AgentInvocation",
    "AsyncSteps",
    "ChatInvocation",
    "ChatReply",
    "Content",
    "ContentPolicy",
    "Emitter",
    "Invocation",
    "Message",
    "OTLPFileExporter",
    "OtlpContent",
    "RequestedTool",
    "RunInvocation",
    "RunStart",
    "SpanEvent",
    "SpanLink",
    "SpanRecord",
    "SpanStatus",
    "ToolInvocation",
    "assemble",
    "assistant_message",
    "current_invocation",
    "current_run",
    "decode_time",
    "drive",
    "drive_async",
    "emit_diagnosis",
    "enclosing_agent",
    "export_request",
    "hold_logs",
    "is_otlp",
    "is_suppressed",
    "message_text",
    "normalise",
    "read_otlp",
    "redacted_attribution",
    "redacted_trajectory",
    "scan_otlp",
    "suppressed",
    "text_message",
    "to_spans",
    "tool_message",
    "unrecorded",
    "warn_of_lost_step",
    "write_otlp_json",
    "write_otlp_protobuf",
]

if not TYPE_CHECKING:  # to type checkers a name that does not exist stays an error

    def __getattr__(name: str) -> Any:
        return moved_name(__name__, name)
