"""An agent's turn ends: after some replies that call tools the model is asked without them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage

MAX_TOOL_REPLIES: Final = 3
"""How many replies of one turn may call tools."""


class LastReplyWithoutTools(AgentMiddleware[Any, Any]):
    """Offers the tools for :data:`MAX_TOOL_REPLIES` replies, then asks for words."""

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Ask the model, with the tools or without."""
        return handler(_limited(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Ask the model, with the tools or without."""
        return await handler(_limited(request))


def _limited(request: ModelRequest[Any]) -> ModelRequest[Any]:
    called = sum(bool(message.tool_calls) for message in request.messages if isinstance(message, AIMessage))
    return request.override(tools=[]) if called >= MAX_TOOL_REPLIES else request
