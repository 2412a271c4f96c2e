"""Tool calls: CrewAI's hooks before and after each, and the attempts in between.

The hooks run in the caller's context, fire for native function calling and ReAct, for failures and for results from the
cache. Between them CrewAI's ReAct path makes up to six attempts at one logical call: each attempt is a span, and all of
them one tool call of the step.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry import context as otel_context

from tracer_hooks import semconv
from tracer_hooks.errors import ReplayError
from tracer_hooks.frameworks import ToolReply, after_tool, before_tool, guard, tool_request
from tracer_hooks.schema import to_text
from tracer_hooks.telemetry import RunInvocation, ToolInvocation, current_run
from tracer_hooks_crewai import _turns
from tracer_hooks_crewai._convert import coworker_name, tool_name
from tracer_hooks_crewai._turns import OpenTool

_DELEGATION = ("delegate_work_to_coworker", "ask_question_to_coworker")


# --- the hooks ------------------------------------------------------------------------------------------------------
def before_tool_call(context: Any) -> bool | None:
    """CrewAI's hook before a tool call; False makes CrewAI skip the tool, whose result the other hook then gives."""
    run = current_run()
    if run is None:
        return None
    with guard("observe a tool call"):
        return False if _ask_before(run, _begin_tool(run, context), context) else None
    return None


def after_tool_call(context: Any) -> str | None:
    """CrewAI's hook after a tool call, failed ones and results from the cache included."""
    opened = _turns.open_call.get()
    if not isinstance(opened, OpenTool) or opened.invocation.name != context.tool_name:
        return None
    try:
        return _end(opened, context)
    finally:
        with guard("leave a tool call"):
            otel_context.attach(opened.previous)
            _turns.open_call.set(opened.outer)
            opened.invocation.abandon()  # does nothing where the call has ended
            if opened.turn is not None and opened.invocation in opened.turn.tools:
                opened.turn.tools.remove(opened.invocation)


def _begin_tool(run: RunInvocation, context: Any) -> OpenTool:
    name, arguments, turn = tool_name(context.tool_name), dict(context.tool_input or {}), _turns.current_turn()
    requested = turn.take_requested(name, arguments) if turn is not None else None
    invocation = ToolInvocation(run, name, arguments=arguments, call_id=requested.id if requested is not None else None)
    coworker = _coworker(context, name, arguments)
    if coworker is not None:
        invocation.hand_off(coworker, returns=True)
    opened = OpenTool(invocation, otel_context.get_current(), _turns.open_call.get(), turn)
    if turn is not None:
        turn.tools.append(invocation)
    _turns.open_call.set(opened)
    otel_context.attach(invocation.context())
    return opened


def _ask_before(run: RunInvocation, opened: OpenTool, context: Any) -> bool:
    """Ask the run's intervention; whether the tool is not to be called."""
    if run.intervention is None:
        return False
    opened.request = tool_request(opened.invocation)
    with guard("change a tool call"):
        try:
            answer = before_tool(run, opened.request)
            if isinstance(answer, ToolReply):
                opened.supplied = answer
            elif answer is not None:
                opened.request = answer
                _change_arguments(context, opened, answer.arguments)
        except ReplayError as error:
            return _stop_run(opened, error)
    return opened.supplied is not None


def _change_arguments(context: Any, opened: OpenTool, arguments: Any) -> None:
    # In place: CrewAI passes on the dictionary itself, and ignores one that a hook puts in its stead.
    changed = dict(arguments or {})
    context.tool_input.clear()
    context.tool_input.update(changed)
    opened.invocation.set(semconv.TOOL_CALL_ARGUMENTS, changed)


def _stop_run(opened: OpenTool, error: ReplayError) -> bool:
    """CrewAI swallows what hooks raise: the turn raises it at the next place that is ours."""
    opened.supplied = ToolReply(content=str(error), is_error=True)
    if opened.turn is not None:
        opened.turn.stop = error
    return True


def _end(opened: OpenTool, context: Any) -> str | None:
    """End the span with what the agent gets; the text, where it is not what CrewAI would give it."""
    run = opened.invocation.run
    before = to_text(context.tool_result if context.tool_result is not None else "")
    error = opened.error if opened.error is not None else _reported_failure(context)
    reply = opened.supplied or ToolReply(content=before, is_error=error is not None)
    final = reply
    if opened.request is not None and (opened.turn is None or opened.turn.stop is None):
        try:
            final = after_tool(run, opened.request, reply)
        except ReplayError as stop:
            _stop_run(opened, stop)
    _stop_tool(opened, final, error if final is reply and opened.supplied is None else None)
    return final.content if final.content != before else None


def _stop_tool(opened: OpenTool, final: ToolReply, error: BaseException | str | None) -> None:
    with guard("end a tool call"):
        tool = opened.invocation
        if isinstance(error, BaseException):
            tool.set(semconv.TOOL_CALL_RESULT, final.content)
            tool.fail(error)
        else:
            tool.stop(final.content, error=(error or final.content) if final.is_error else None)


def _reported_failure(context: Any) -> str | None:
    """A failure that the tool or CrewAI reported without an exception."""
    raw = context.raw_tool_result
    if type(raw).__name__ == "ToolFailure":
        return to_text(getattr(raw, "message", raw))
    # No such tool: on the native path the hooks fire all the same, with nothing to call.
    return to_text(context.tool_result or "no such tool") if context.tool is None else None


def _coworker(context: Any, name: str, arguments: dict[str, Any]) -> str | None:
    if name not in _DELEGATION:
        return None
    original = getattr(context.tool, "_original_tool", None) or context.tool
    agents = getattr(original, "agents", None) or getattr(context.crew, "agents", None) or ()
    return coworker_name(arguments.get("coworker") or arguments.get("co_worker"), agents)


# --- attempts -------------------------------------------------------------------------------------------------------
@contextmanager
def attempt(tool: Any) -> Iterator[None]:
    """``CrewStructuredTool.invoke`` and ``ainvoke``: each call is an attempt."""
    opened = _turns.open_call.get()
    if not isinstance(opened, OpenTool) or opened.running or opened.invocation.run.ended:
        yield  # outside runs, and a tool that calls another one
        return
    with guard("observe an attempt at a tool call"):
        _begin_attempt(opened)
    opened.running = True
    try:
        yield
        opened.error = None
    except Exception as error:
        opened.error = error
        raise
    finally:
        opened.running = False


def _begin_attempt(opened: OpenTool) -> None:
    opened.attempts += 1
    if opened.attempts == 1:
        return
    failed, turn = opened.invocation, opened.turn
    failed.fail(opened.error or RuntimeError("the attempt failed"))
    again = ToolInvocation(
        failed.run,
        failed.name,
        arguments=failed.attributes.get(semconv.TOOL_CALL_ARGUMENTS),
        call_id=failed.attributes.get(semconv.TOOL_CALL_ID),
        parent=failed.parent,
    )
    recipient = failed.attributes.get(semconv.STEP_RECIPIENT)
    if recipient is not None:
        again.hand_off(str(recipient), returns=True)
    if turn is not None:
        turn.tools = [tool for tool in turn.tools if tool is not failed] + [again]
    opened.invocation = again
    otel_context.attach(again.context())
