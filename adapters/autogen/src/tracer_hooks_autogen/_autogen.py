"""AutoGen's classes that the adapter looks for, imported once, when a team is hooked.

Importing this package must not import the framework, so no module here imports AutoGen at its top.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class AutoGenTypes:
    """Classes of AutoGen 0.7, all public."""

    team: Any
    chat_agent: Any
    model_client: Any
    tool: Any
    stream_tool: Any
    function_tool: Any
    workbench: Any
    static_workbench: Any
    chat_message: Any
    handoff_message: Any
    tool_request: Any
    tool_execution: Any
    response: Any
    task_result: Any
    create_result: Any
    function_call: Any
    request_usage: Any
    system_message: Any
    assistant_message: Any
    function_results: Any
    tool_result: Any
    text_result: Any
    cancellation_token: Any


@functools.cache
def types() -> AutoGenTypes:
    """The classes; imports AutoGen on the first call."""
    from autogen_agentchat import messages
    from autogen_agentchat.base import ChatAgent, Response, TaskResult, Team
    from autogen_core import CancellationToken, FunctionCall, models, tools

    return AutoGenTypes(
        team=Team,
        chat_agent=ChatAgent,
        model_client=models.ChatCompletionClient,
        tool=tools.BaseTool,
        stream_tool=tools.BaseStreamTool,
        function_tool=tools.FunctionTool,
        workbench=tools.Workbench,
        static_workbench=tools.StaticWorkbench,
        chat_message=messages.BaseChatMessage,
        handoff_message=messages.HandoffMessage,
        tool_request=messages.ToolCallRequestEvent,
        tool_execution=messages.ToolCallExecutionEvent,
        response=Response,
        task_result=TaskResult,
        create_result=models.CreateResult,
        function_call=FunctionCall,
        request_usage=models.RequestUsage,
        system_message=models.SystemMessage,
        assistant_message=models.AssistantMessage,
        function_results=models.FunctionExecutionResultMessage,
        tool_result=tools.ToolResult,
        text_result=tools.TextResultContent,
        cancellation_token=CancellationToken,
    )
