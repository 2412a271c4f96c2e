"""Code that ``CodeExecutorAgent`` runs for its model: a tool call in all but name."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, cast

from tracer_hooks import semconv
from tracer_hooks.frameworks import ToolReply, after_tool, before_tool, guard, guarded
from tracer_hooks.schema import to_text
from tracer_hooks.telemetry import ToolInvocation, enclosing_agent
from tracer_hooks_autogen._home import Home, parent_in, run_for
from tracer_hooks_autogen._intervene_tool import tool_request

NAME = "execute_code"
"""The name under which an execution is recorded."""


def observe_execution(original: Any, homes: list[Home]) -> Any:
    """Replaces ``execute_code_block`` of a ``CodeExecutorAgent``."""

    @functools.wraps(original)
    async def execute_code_block(code_blocks: Any, cancellation_token: Any) -> Any:
        call = _begin(homes, code_blocks)
        if call is None:
            return await original(code_blocks, cancellation_token)
        try:
            if call.run.intervention is not None:
                return await _under_intervention(call, original, code_blocks, cancellation_token)
            with call.active():
                result = await original(code_blocks, cancellation_token)
        except BaseException as error:
            call.fail(error)
            raise
        with guard("record what code gave"):
            call.stop(result.output, error=result.output if result.exit_code else None)
        return result

    return execute_code_block


@guarded("begin to record an execution of code", cast("ToolInvocation | None", None))
def _begin(homes: Sequence[Home], code_blocks: Sequence[Any]) -> ToolInvocation | None:
    run = run_for(homes)
    agent = enclosing_agent(None, run) if run is not None else None
    # Without a model the agent runs what others wrote: that is its whole turn, and already a step.
    if run is None or agent is None or agent.last_step is None:
        return None
    arguments = {"code": [block.code for block in code_blocks]}
    return ToolInvocation(run, NAME, arguments=arguments, parent=parent_in(run))


async def _under_intervention(call: ToolInvocation, original: Any, code_blocks: Any, cancellation_token: Any) -> Any:
    """Run the code with the run's intervention asked before and after; the code itself cannot be changed."""
    request = tool_request(call, call.attributes[semconv.TOOL_CALL_ARGUMENTS])
    answer = before_tool(call.run, request)
    result: Any = None
    if isinstance(answer, ToolReply):
        reply = answer
    else:
        with call.active():
            result = await original(code_blocks, cancellation_token)
        reply = ToolReply(content=to_text(result.output), is_error=bool(result.exit_code))
    final = after_tool(call.run, request, reply)
    call.stop(final.content, error=final.content if final.is_error else None)
    if final is reply and result is not None:
        return result
    from autogen_core.code_executor import CodeResult

    return CodeResult(exit_code=1 if final.is_error else 0, output=final.content)
