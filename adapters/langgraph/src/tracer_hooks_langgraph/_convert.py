"""Messages and replies: LangChain's in, ours out; and back, for replies that an intervention supplies."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult, LLMResult

from tracer_hooks.schema import Usage, to_text
from tracer_hooks.telemetry import ChatReply, Message, RequestedTool, assistant_message, text_message, tool_message

_ROLES = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "AIMessageChunk": "assistant",
    "HumanMessageChunk": "user",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}


def content_text(content: object) -> str:
    """The text of a message's content; blocks of other kinds (images, audio, files) become ``[kind]``."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence) or isinstance(content, (bytes, bytearray)):
        return "" if content is None else to_text(content)
    texts = (_block_text(block) for block in content)
    return "\n".join(text for text in texts if text)


def _block_text(block: object) -> str:
    if not isinstance(block, Mapping):
        return to_text(block)
    kind = block.get("type")
    if kind in ("text", "output_text", "refusal") or (kind is None and "text" in block):
        return to_text(block.get("text") or block.get("refusal") or "")
    if kind in ("tool_use", "tool_call", "function_call", "thinking", "reasoning", "redacted_thinking"):
        return ""  # the calls are listed apart; a model's thoughts are no part of what it said
    return f"[{kind}]"


def to_message(message: object) -> Message:
    """One message in our shape; takes LangChain's classes and the short forms that LangGraph accepts."""
    if isinstance(message, BaseMessage):
        return _from_object(message)
    if isinstance(message, Mapping):
        role = _ROLES.get(str(message.get("role") or message.get("type")), "user")
        text = content_text(message.get("content"))
        if role == "tool":
            return tool_message(message.get("tool_call_id"), text, name=message.get("name"))
        return text_message(role, text, name=message.get("name"))
    if isinstance(message, (tuple, list)) and len(message) == 2:
        return text_message(_ROLES.get(str(message[0]), "user"), content_text(message[1]))
    return text_message("user", content_text(message))


def _from_object(message: BaseMessage) -> Message:
    role = _ROLES.get(message.type, "user")
    text = content_text(message.content)
    if role == "assistant":
        return assistant_message(text, requested_tools(message), name=message.name)
    if role == "tool":
        return tool_message(getattr(message, "tool_call_id", None), text, name=message.name)
    return text_message(role, text, name=message.name)


def requested_tools(message: BaseMessage) -> tuple[RequestedTool, ...]:
    """The tool calls of a model's message; those whose arguments are no JSON keep their raw text."""
    calls = getattr(message, "tool_calls", None) or ()
    broken = getattr(message, "invalid_tool_calls", None) or ()
    if not calls and not broken:
        return ()
    return tuple(
        RequestedTool(name=call.get("name") or "", arguments=call.get("args"), id=call.get("id"))
        for call in (*calls, *broken)
    )


def result_to_reply(result: LLMResult | ChatResult) -> ChatReply:
    """What a model answered, in our words."""
    generation: Any = result.generations[0] if result.generations else None
    if isinstance(generation, list):
        generation = generation[0] if generation else None
    message = getattr(generation, "message", None)
    if not isinstance(message, BaseMessage):
        return ChatReply(content=to_text(getattr(generation, "text", "") or ""), usage=_legacy_usage(result))
    told = (message.response_metadata or {}).get
    return ChatReply(
        content=content_text(message.content),
        tool_calls=requested_tools(message),
        usage=_usage(message) or _legacy_usage(result),
        finish_reason=_text_or_none(told("finish_reason") or told("stop_reason") or told("done_reason")),
        model=_text_or_none(told("model_name") or told("model")),
        response_id=_text_or_none(told("id")),
    )


def _text_or_none(value: object) -> str | None:
    return None if value is None else to_text(value)


def _usage(message: BaseMessage) -> Usage | None:
    counts = getattr(message, "usage_metadata", None)
    if not counts:
        return None
    return Usage(input_tokens=counts.get("input_tokens") or 0, output_tokens=counts.get("output_tokens") or 0)


def _legacy_usage(result: LLMResult | ChatResult) -> Usage | None:
    """Usage as models without ``usage_metadata`` report it."""
    counts = (result.llm_output or {}).get("token_usage") if isinstance(result.llm_output, dict) else None
    if not isinstance(counts, Mapping):
        return None
    read, written = counts.get("prompt_tokens"), counts.get("completion_tokens")
    return Usage(input_tokens=read or 0, output_tokens=written or 0) if read or written else None


def native_calls(calls: Sequence[RequestedTool]) -> list[dict[str, Any]]:
    """Tool calls for an ``AIMessage``."""
    return [
        {"name": call.name, "args": dict(call.arguments), "id": call.id, "type": "tool_call"}
        for call in calls
        if isinstance(call.arguments, Mapping)
    ]


def _broken_calls(calls: Sequence[RequestedTool]) -> list[dict[str, Any]]:
    return [
        {"name": call.name, "args": to_text(call.arguments), "id": call.id, "error": None, "type": "invalid_tool_call"}
        for call in calls
        if not isinstance(call.arguments, Mapping)
    ]


def reply_to_result(reply: ChatReply, original: ChatResult | None = None) -> ChatResult:
    """``reply`` as what a LangChain chat model gives; fields that it does not speak of come from ``original``."""
    like = original.generations[0].message if original is not None and original.generations else None
    metadata = dict(like.response_metadata) if like is not None else {}
    for key, value in (("finish_reason", reply.finish_reason), ("model_name", reply.model), ("id", reply.response_id)):
        if value is not None:
            metadata.setdefault(key, value)
    message = AIMessage(
        content=reply.content,
        tool_calls=native_calls(reply.tool_calls),
        invalid_tool_calls=_broken_calls(reply.tool_calls),
        response_metadata=metadata,
        usage_metadata=_native_usage(reply.usage),
        id=like.id if like is not None else None,
        name=like.name if like is not None else None,
    )
    llm_output = original.llm_output if original is not None else None
    return ChatResult(generations=[ChatGeneration(message=message)], llm_output=llm_output)


def _native_usage(usage: Usage | None) -> Any:
    if usage is None:
        return None
    total = usage.input_tokens + usage.output_tokens
    return {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens, "total_tokens": total}


def as_chunk(message: BaseMessage) -> BaseMessage:
    """A whole reply as the one chunk of a stream."""
    if not isinstance(message, AIMessage) or isinstance(message, AIMessageChunk):
        return message
    recomputed = ("type", "tool_calls", "invalid_tool_calls")
    fields = {key: value for key, value in message.__dict__.items() if key not in recomputed}
    return AIMessageChunk(**fields, tool_call_chunks=list(_call_chunks(message)), chunk_position="last")


def as_chunks(message: BaseMessage, pieces: Sequence[str]) -> Iterator[BaseMessage]:
    """A whole reply as a stream whose text comes in ``pieces``; the last chunk holds the rest, tool calls included."""
    fitting = isinstance(message, AIMessage) and "".join(pieces) == message.content
    if not pieces or not fitting:
        yield as_chunk(message)
        return
    for piece in pieces:
        yield AIMessageChunk(content=piece, id=message.id)
    yield as_chunk(message.model_copy(update={"content": ""}))


def _call_chunks(message: AIMessage) -> Iterator[Any]:
    for index, call in enumerate((*message.tool_calls, *message.invalid_tool_calls)):
        args = call["args"]
        text = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False, default=str)
        yield {"name": call["name"], "args": text, "id": call["id"], "index": index, "type": "tool_call_chunk"}
