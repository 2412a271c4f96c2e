"""How other libraries are told to record what agents say."""

from __future__ import annotations

_OPENINFERENCE = "leave OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS unset (OpenInference)"
_TRACELOOP = "set TRACELOOP_TRACE_CONTENT=true (OpenLLMetry)"
_GENAI = "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY (OpenTelemetry GenAI)"
# OpenLLMetry and OpenTelemetry's own instrumentations share the beginning of their names.
_BY_SCOPE = (
    ("openinference", (_OPENINFERENCE,)),
    ("traceloop", (_TRACELOOP,)),
    ("opentelemetry.util.genai", (_GENAI,)),
    ("opentelemetry.instrumentation", (_TRACELOOP, _GENAI)),
)
_ANY = (_OPENINFERENCE, _TRACELOOP, _GENAI)


def content_switch(instrumentation: str | None) -> str:
    """What to set where the team runs, so that a trace holds texts: for this instrumentation scope, else for each.

    Args:
        instrumentation: The scope's name, such as ``openinference.instrumentation.langchain``.
    """
    scope = (instrumentation or "").lower()
    switches = next((found for part, found in _BY_SCOPE if scope.startswith(part)), None)
    if switches is None:
        return f"switch content on in the library that records it: {'; '.join(_ANY)}"
    return " or ".join(switches)
