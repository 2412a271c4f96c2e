"""Spans: emitted, recorded, redacted, assembled into trajectories, written to and read from OTLP files."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.telemetry._assemble import assemble as assemble
    from tracer_hooks.telemetry._assemble import to_spans as to_spans
    from tracer_hooks.telemetry._capture import WITHHELD as WITHHELD
    from tracer_hooks.telemetry._capture import Capture as Capture
    from tracer_hooks.telemetry._capture import Content as Content
    from tracer_hooks.telemetry._capture import ContentPolicy as ContentPolicy
    from tracer_hooks.telemetry._capture import hold_logs as hold_logs
    from tracer_hooks.telemetry._capture import redacted_attribution as redacted_attribution
    from tracer_hooks.telemetry._capture import redacted_trajectory as redacted_trajectory
    from tracer_hooks.telemetry._evaluation import EVALUATION as EVALUATION
    from tracer_hooks.telemetry._evaluation import EvaluationLabel as EvaluationLabel
    from tracer_hooks.telemetry._evaluation import LateEmitter as LateEmitter
    from tracer_hooks.telemetry._evaluation import StepEvaluation as StepEvaluation
    from tracer_hooks.telemetry._evaluation import emit_diagnosis as emit_diagnosis
    from tracer_hooks.telemetry._evaluation import evaluations_of as evaluations_of
    from tracer_hooks.telemetry._foreign import normalise as normalise
    from tracer_hooks.telemetry._invocation import ABANDONED as ABANDONED
    from tracer_hooks.telemetry._invocation import CANCELLED as CANCELLED
    from tracer_hooks.telemetry._invocation import INTERRUPTED as INTERRUPTED
    from tracer_hooks.telemetry._invocation import AsyncSteps as AsyncSteps
    from tracer_hooks.telemetry._invocation import Invocation as Invocation
    from tracer_hooks.telemetry._invocation import current_invocation as current_invocation
    from tracer_hooks.telemetry._invocation import drive as drive
    from tracer_hooks.telemetry._invocation import drive_async as drive_async
    from tracer_hooks.telemetry._invocation import is_suppressed as is_suppressed
    from tracer_hooks.telemetry._invocation import suppressed as suppressed
    from tracer_hooks.telemetry._invocation import unrecorded as unrecorded
    from tracer_hooks.telemetry._operations import AgentInvocation as AgentInvocation
    from tracer_hooks.telemetry._operations import ChatInvocation as ChatInvocation
    from tracer_hooks.telemetry._operations import ToolInvocation as ToolInvocation
    from tracer_hooks.telemetry._operations import enclosing_agent as enclosing_agent
    from tracer_hooks.telemetry._otlp_read import OtlpContent as OtlpContent
    from tracer_hooks.telemetry._otlp_read import decode_request as decode_request
    from tracer_hooks.telemetry._otlp_read import decode_spans as decode_spans
    from tracer_hooks.telemetry._otlp_read import is_otlp as is_otlp
    from tracer_hooks.telemetry._otlp_read import read_otlp as read_otlp
    from tracer_hooks.telemetry._otlp_read import scan_otlp as scan_otlp
    from tracer_hooks.telemetry._otlp_write import OTLPFileExporter as OTLPFileExporter
    from tracer_hooks.telemetry._otlp_write import decode_time as decode_time
    from tracer_hooks.telemetry._otlp_write import export_request as export_request
    from tracer_hooks.telemetry._otlp_write import to_record as to_record
    from tracer_hooks.telemetry._otlp_write import write_otlp_json as write_otlp_json
    from tracer_hooks.telemetry._otlp_write import write_otlp_protobuf as write_otlp_protobuf
    from tracer_hooks.telemetry._outages import class_name as class_name
    from tracer_hooks.telemetry._outages import is_outage as is_outage
    from tracer_hooks.telemetry._records import ChatReply as ChatReply
    from tracer_hooks.telemetry._records import Message as Message
    from tracer_hooks.telemetry._records import RequestedTool as RequestedTool
    from tracer_hooks.telemetry._records import SpanEvent as SpanEvent
    from tracer_hooks.telemetry._records import SpanLink as SpanLink
    from tracer_hooks.telemetry._records import SpanRecord as SpanRecord
    from tracer_hooks.telemetry._records import SpanStatus as SpanStatus
    from tracer_hooks.telemetry._records import assistant_message as assistant_message
    from tracer_hooks.telemetry._records import message_text as message_text
    from tracer_hooks.telemetry._records import text_message as text_message
    from tracer_hooks.telemetry._records import tool_message as tool_message
    from tracer_hooks.telemetry._run import SCOPE as SCOPE
    from tracer_hooks.telemetry._run import Emitter as Emitter
    from tracer_hooks.telemetry._run import RunInvocation as RunInvocation
    from tracer_hooks.telemetry._run import RunStart as RunStart
    from tracer_hooks.telemetry._run import current_run as current_run
    from tracer_hooks.telemetry._run import warn_of_lost_step as warn_of_lost_step

__all__ = lazy_names(__name__)
