"""Spans: emitted, recorded, redacted, assembled into trajectories, written to and read from OTLP files."""

from tracer_hooks.telemetry._assemble import assemble
from tracer_hooks.telemetry._content_gate import WITHHELD, ContentGate
from tracer_hooks.telemetry._diagnosis import emit_diagnosis
from tracer_hooks.telemetry._emitter import Emitter, current_run
from tracer_hooks.telemetry._file_exporter import OTLPFileExporter
from tracer_hooks.telemetry._foreign import normalise
from tracer_hooks.telemetry._gated_records import gated_attribution, gated_trajectory
from tracer_hooks.telemetry._going_runs import warn_of_lost_step
from tracer_hooks.telemetry._invocation import ABANDONED, CANCELLED, INTERRUPTED, Invocation, current_invocation
from tracer_hooks.telemetry._log_gate import Content, hold_logs
from tracer_hooks.telemetry._messages import (
    ChatReply,
    Message,
    RequestedTool,
    assistant_message,
    message_text,
    text_message,
    tool_message,
)
from tracer_hooks.telemetry._operations import (
    AgentInvocation,
    ChatInvocation,
    ToolInvocation,
    enclosing_agent,
)
from tracer_hooks.telemetry._otlp_read import OtlpContent, is_otlp, read_otlp, scan_otlp
from tracer_hooks.telemetry._otlp_values import decode_time
from tracer_hooks.telemetry._otlp_write import export_request, write_otlp_json, write_otlp_protobuf
from tracer_hooks.telemetry._run import RunInvocation, RunStart
from tracer_hooks.telemetry._span_record import SpanEvent, SpanLink, SpanRecord, SpanStatus
from tracer_hooks.telemetry._streams import AsyncSteps, drive, drive_async
from tracer_hooks.telemetry._suppress import is_suppressed, suppressed, unrecorded
from tracer_hooks.telemetry._to_spans import to_spans

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
    "ContentGate",
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
    "gated_attribution",
    "gated_trajectory",
    "hold_logs",
    "is_otlp",
    "is_suppressed",
    "message_text",
    "normalise",
    "read_otlp",
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
