"""AutoGen's own ``invoke_agent`` and ``execute_tool`` spans, which ours stand in for.

AutoGen 0.7 opens these on the global tracer provider. Inside a hooked run they would say what our spans say once more.
So they are left out where ours go to the same provider; and where there is no provider, as they would be lost anyway.
Where the run was given a provider of its own, AutoGen's spans go on to the global one as without us. The runtime's
messaging spans are never touched: ``AUTOGEN_DISABLE_RUNTIME_TRACING=true`` switches those off.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from opentelemetry import trace
from opentelemetry.trace import INVALID_SPAN, NoOpTracerProvider, ProxyTracerProvider

from tracer_hooks.frameworks import guarded
from tracer_hooks.telemetry import RunInvocation, ToolInvocation, current_invocation, current_run
from tracer_hooks_autogen._home import Home

AGENT_SPANS = (
    ("autogen_agentchat.teams._group_chat._chat_agent_container", "trace_invoke_agent_span"),
    ("autogen_agentchat.agents._base_chat_agent", "trace_invoke_agent_span"),
)
"""Where AutoGen opens a span around an agent's turn; private in 0.7."""
TOOL_SPANS = (("autogen_core.tools._base", "trace_tool_span"),)
"""Where it opens one around a tool call; private in 0.7."""

_redundant: weakref.WeakKeyDictionary[RunInvocation, bool] = weakref.WeakKeyDictionary()


def leave_out_agent_span(original: Any, homes: list[Home]) -> Any:
    """Replaces ``trace_invoke_agent_span``."""

    @functools.wraps(original)
    def trace_invoke_agent_span(agent_name: str, *args: Any, **kwargs: Any) -> Any:
        if _is_our_agent(homes, agent_name, kwargs.get("agent_id")):
            return nullcontext(INVALID_SPAN)
        return original(agent_name, *args, **kwargs)

    return trace_invoke_agent_span


def leave_out_tool_span(original: Any, homes: list[Home]) -> Any:
    """Replaces ``trace_tool_span``."""

    @functools.wraps(original)
    def trace_tool_span(*args: Any, **kwargs: Any) -> Any:
        here = current_invocation()
        if isinstance(here, ToolInvocation) and _is_redundant(here.run):
            return nullcontext(INVALID_SPAN)
        return original(*args, **kwargs)

    return trace_tool_span


@guarded("see whether AutoGen's span repeats ours", False)
def _is_our_agent(homes: Sequence[Home], name: str, agent_id: str | None) -> bool:
    run = current_run()
    for home in homes:
        if name not in home.agent_names:
            continue
        # On a runtime that the user started our context is missing, but the agent's id ends with the team's.
        here = run if run is not None and run.is_subject(home.team) else home.run_of_team(agent_id)
        if here is not None:
            return _is_redundant(here)
    return False


def _is_redundant(run: RunInvocation) -> bool:
    known = _redundant.get(run)
    if known is None:
        known = _redundant[run] = _goes_where_ours_go(run)
    return known


def _goes_where_ours_go(run: RunInvocation) -> bool:
    provider = trace.get_tracer_provider()
    if isinstance(provider, (ProxyTracerProvider, NoOpTracerProvider)):
        return True
    theirs = getattr(provider.get_tracer("tracer_hooks"), "span_processor", None)
    return theirs is not None and theirs is getattr(run.tracer, "span_processor", None)
