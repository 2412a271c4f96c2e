"""Conversion of states, messages, replies and results of LangGraph to our shape, and of supplied replies back."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult, LLMResult
from langgraph.errors import GraphBubbleUp, GraphInterrupt
from langgraph.types import Command, Send

from tracer_hooks.frameworks import RunResult, TeamCall, guarded
from tracer_hooks.schema import Usage, to_json_value, to_text
from tracer_hooks.telemetry import (
    ChatReply,
    Message,
    RequestedTool,
    assistant_message,
    message_text,
    text_message,
    tool_message,
)

MESSAGES = "messages"
_SHORT_ROLES = ("ai", "assistant")


def as_mapping(state: object) -> Mapping[str, Any]:
    """A state as a mapping, whatever class it was declared with; empty when it is no such thing."""
    if isinstance(state, Mapping):
        return state
    if dataclasses.is_dataclass(state) and not isinstance(state, type):
        return {field.name: getattr(state, field.name, None) for field in dataclasses.fields(state)}
    fields = getattr(type(state), "model_fields", None)
    return {name: getattr(state, name) for name in fields} if isinstance(fields, dict) else {}


def state_messages(state: object) -> Sequence[Any]:
    """The conversation in a state: its ``messages``, or else its first list of message objects."""
    if isinstance(state, list):
        return state if any(isinstance(item, BaseMessage) for item in state) else ()
    values = as_mapping(state)
    found = values.get(MESSAGES)
    if isinstance(found, list):
        return found
    for value in values.values():
        if isinstance(value, list) and value and isinstance(value[-1], BaseMessage):
            return value
    return ()


def updates(output: object) -> Iterator[Any]:
    """The state updates in what a node returned."""
    if isinstance(output, Command):
        if output.update is not None:
            yield output.update
    elif isinstance(output, (list, tuple)) and any(isinstance(item, Command) for item in output):
        for item in output:
            yield from updates(item)
    elif output is not None:
        yield output


def destinations(output: object) -> list[tuple[str, bool]]:
    """List where a node's output sends control, each with whether that is a node of the graph around this one."""
    found: list[tuple[str, bool]] = []
    for item in output if isinstance(output, (list, tuple)) else [output]:
        if isinstance(item, Command):
            goto = item.goto if isinstance(item.goto, (list, tuple)) else [item.goto]
            found += [(name, item.graph is not None) for name in map(node_name, goto) if name]
    return found


def node_name(target: object) -> str | None:
    """The node that ``Command.goto`` or a router's answer means."""
    if isinstance(target, Send):
        return target.node
    return target if isinstance(target, str) else None


def messages_in(output: object) -> list[Any]:
    """The messages in what a node returned."""
    found: list[Any] = []
    for update in updates(output):
        if isinstance(update, BaseMessage):
            found.append(update)
        elif isinstance(update, list) and all(isinstance(item, tuple) and len(item) == 2 for item in update):
            for _, value in update:  # the (channel, value) form of an update
                found += _messages_of(value)
        elif isinstance(update, list):
            found += _messages_of(update)
        else:
            for key, value in as_mapping(update).items():
                found += _messages_of(value, loosely=key == MESSAGES)
    return found


def _messages_of(value: object, *, loosely: bool = False) -> list[Any]:
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, BaseMessage) or (loosely and item is not None)]


def is_speech(message: object) -> bool:
    """Tell whether a member of the team said a message: a model did, or it bears a name."""
    if isinstance(message, BaseMessage):
        if message.type in ("tool", "system", "remove", "function"):
            return False
        return message.type in ("ai", "AIMessageChunk") or bool(message.name)
    if isinstance(message, Mapping):
        role = message.get("role") or message.get("type")
        return role in _SHORT_ROLES or (bool(message.get("name")) and role not in ("tool", "system"))
    return isinstance(message, tuple) and len(message) == 2 and message[0] in _SHORT_ROLES


def last_speech(messages: Sequence[Any]) -> Any:
    """The last message that a member of the team said; None without any."""
    return next((message for message in reversed(messages) if is_speech(message)), None)


def state_text(value: object) -> str:
    """A state, an update or a value as JSON text; a string as it is."""
    return value if isinstance(value, str) else json.dumps(to_json_value(value), ensure_ascii=False)


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
    return tuple(
        RequestedTool(name=call.get("name") or "", arguments=call.get("args"), id=call.get("id"))
        for call in (*calls, *broken)
    )


def result_to_reply(result: LLMResult | ChatResult) -> ChatReply:
    """Convert a model's answer to our words."""
    generation: Any = result.generations[0] if result.generations else None
    if isinstance(generation, list):
        generation = generation[0] if generation else None
    message = getattr(generation, "message", None)
    if not isinstance(message, BaseMessage):
        return ChatReply(content=to_text(getattr(generation, "text", "") or ""), usage=_legacy_usage(result))
    metadata = (message.response_metadata or {}).get
    return ChatReply(
        content=content_text(message.content),
        tool_calls=requested_tools(message),
        usage=_usage(message) or _legacy_usage(result),
        finish_reason=_text_or_none(metadata("finish_reason") or metadata("stop_reason") or metadata("done_reason")),
        model=_text_or_none(metadata("model_name") or metadata("model")),
        response_id=_text_or_none(metadata("id")),
    )


def _text_or_none(value: object) -> str | None:
    return None if value is None else to_text(value)


def _usage(message: BaseMessage) -> Usage | None:
    counts = getattr(message, "usage_metadata", None)
    if not counts:
        return None
    of_input, of_output = counts.get("input_token_details") or {}, counts.get("output_token_details") or {}
    return Usage(
        input_tokens=counts.get("input_tokens") or 0,
        output_tokens=counts.get("output_tokens") or 0,
        cache_read_tokens=of_input.get("cache_read") or 0,
        cache_write_tokens=of_input.get("cache_creation") or 0,
        reasoning_tokens=of_output.get("reasoning") or 0,
    )


def _legacy_usage(result: LLMResult | ChatResult) -> Usage | None:
    """Usage as models without ``usage_metadata`` report it."""
    counts = (result.llm_output or {}).get("token_usage") if isinstance(result.llm_output, dict) else None
    if not isinstance(counts, Mapping):
        return None
    read, written = counts.get("prompt_tokens"), counts.get("completion_tokens")
    return Usage(input_tokens=read or 0, output_tokens=written or 0) if read or written else None


def reply_to_result(reply: ChatReply, original: ChatResult | None = None) -> ChatResult:
    """``reply`` as what a LangChain chat model gives; fields that it does not speak of come from ``original``."""
    like = original.generations[0].message if original is not None and original.generations else None
    metadata = dict(like.response_metadata) if like is not None else {}
    for key, value in (("finish_reason", reply.finish_reason), ("model_name", reply.model), ("id", reply.response_id)):
        if value is not None:
            metadata.setdefault(key, value)
    calls: list[Any] = []
    broken: list[Any] = []
    for call in reply.tool_calls:
        native = {"name": call.name, "id": call.id}
        if isinstance(call.arguments, Mapping):
            calls.append({**native, "args": dict(call.arguments), "type": "tool_call"})
        else:
            broken.append({**native, "args": to_text(call.arguments), "error": None, "type": "invalid_tool_call"})
    message = AIMessage(
        content=reply.content,
        tool_calls=calls,
        invalid_tool_calls=broken,
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
    return {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens, "total_tokens": usage.total}


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


INTERRUPT = "__interrupt__"
_ANSWER_KEYS = ("answer", "output", "result", "final", "response", "final_answer", "final_output", "report")
_INTERRUPT_MODES = {"values", "updates", "debug", "tasks", "checkpoints"}
"""The stream modes whose items show that a node has asked a human."""


class _ConvertedMessages(Sequence[Message]):
    """Messages in our shape, converted when somebody looks at them: a check seldom does."""

    def __init__(self, messages: Sequence[Any]) -> None:
        self._messages = list(messages)

    def __len__(self) -> int:
        return len(self._messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...

    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        found = self._messages[index]
        return _ConvertedMessages(found) if isinstance(found, list) else to_message(found)


@dataclasses.dataclass(eq=False)
class BubbledSignal:
    """Stands for a result where a nested graph passes control to the graph around it, which is no failure."""

    signal: GraphBubbleUp


def to_run_result(call: TeamCall, native: Any) -> RunResult:
    """Return the result of a call that returned ``native``."""
    if isinstance(native, BubbledSignal):
        return RunResult(text="", native=None, interrupted=isinstance(native.signal, GraphInterrupt))
    if isinstance(native, list) and call.kwargs.get("stream_mode", "values") != "values":
        collector = LangGraphCollector(call)
        for item in native:
            collector.see(item)
        return collector.result(native)
    interrupts = getattr(native, "interrupts", None)
    is_output = interrupts is not None and hasattr(native, "value")  # the GraphOutput of version="v2"
    state = native.value if is_output else native
    interrupted = bool(interrupts) or INTERRUPT in as_mapping(state) or _stopped_at_breakpoint(call)
    return _from_state(state, native, interrupted)


def _from_state(state: Any, native: Any, interrupted: bool) -> RunResult:
    messages = state_messages(state)
    return RunResult(
        text=answer_text(state),
        native=native,
        messages=_ConvertedMessages(messages),
        stop_reason="interrupted" if interrupted else None,
        interrupted=interrupted,
    )


def answer_text(state: Any) -> str:
    """The answer in a state: the last message of the team, a key that is named for it, or the whole as JSON."""
    messages = state_messages(state)
    speech = last_speech(messages)
    if speech is not None:
        return message_text(to_message(speech))
    if isinstance(state, BaseMessage):
        return content_text(state.content)
    values = {key: value for key, value in as_mapping(state).items() if key != INTERRUPT}
    for key in _ANSWER_KEYS:
        if isinstance(values.get(key), str):
            return str(values[key])
    if messages or state is None:
        return ""
    return state_text(values if values else state) if values or not isinstance(state, Mapping) else ""


@guarded("ask a graph whether it waits", False)
def _stopped_at_breakpoint(call: TeamCall, *, is_silent: bool = False) -> bool:
    """Tell whether the run stopped before or after a node at which it was told to; nothing in the result says so.

    Args:
        call: The call.
        is_silent: Whether its result would not say either that a node asked a human.
    """
    team, kwargs = call.team, call.kwargs
    stops = [kwargs.get("interrupt_before"), kwargs.get("interrupt_after")]
    stops += [getattr(team, "interrupt_before_nodes", None), getattr(team, "interrupt_after_nodes", None)]
    config = kwargs["config"] if "config" in kwargs else call.args[1] if len(call.args) > 1 else None
    if not (any(stops) or is_silent) or not team.checkpointer:
        return False
    try:
        return bool(team.get_state(config or {}).next)
    except Exception:  # savers that work asynchronously alone refuse; the streamed updates tell then
        return False


class LangGraphCollector:
    """Puts a result together from a stream's items, whatever the stream modes."""

    def __init__(self, call: TeamCall) -> None:
        kwargs = call.kwargs
        self._call = call
        mode = kwargs.get("stream_mode")
        mode = mode if mode is not None else "values" if call.method == "invoke" else call.team.stream_mode
        self._modes: Sequence[str] = [mode] if isinstance(mode, str) else list(mode or ["values"])
        self._several = not isinstance(mode, str)
        self._subgraphs = bool(kwargs.get("subgraphs"))
        self._parts = kwargs.get("version") == "v2"
        self._state: Any = None
        self._text: str | None = None
        self._chunks: dict[str, list[str]] = {}
        self._interrupted = False
        self._last: Any = None

    def see(self, item: Any) -> None:
        """Look at one item."""
        self._last = item
        mode, namespace, data = self._open(item)
        if mode == "values" and not namespace:
            self._state = data
            self._interrupted = self._interrupted or INTERRUPT in as_mapping(data)
        elif mode == "updates":
            self._see_updates(data, namespace)
        elif mode == "messages":
            self._see_message(data)
        elif mode in ("debug", "tasks", "checkpoints") and isinstance(data, Mapping):
            self._see_event(mode, data, namespace)

    def result(self, native: Any = None) -> RunResult:
        """Return the result of the run, from what was streamed."""
        native = self._last if native is None else native
        interrupted = self._interrupted or _stopped_at_breakpoint(
            self._call, is_silent=not _INTERRUPT_MODES & set(self._modes)
        )
        if self._state is not None:
            return _from_state(self._state, native, interrupted)
        text = self._text
        if text is None and self._chunks:
            text = "".join(list(self._chunks.values())[-1])
        reason = "interrupted" if interrupted else None
        return RunResult(text=text or "", native=native, stop_reason=reason, interrupted=interrupted)

    def _open(self, item: Any) -> tuple[str, Any, Any]:
        """An item's stream mode, the sub-graph that it comes from, and its content."""
        if self._parts and isinstance(item, Mapping) and "type" in item:
            self._interrupted = self._interrupted or bool(item.get("interrupts"))
            return str(item["type"]), item.get("ns"), item.get("data")
        namespace: Any = ()
        mode = self._modes[0] if self._modes else "values"
        if self._subgraphs and isinstance(item, tuple):
            namespace, item = item[0], item[1:] if self._several else item[1]
        if self._several and isinstance(item, tuple) and len(item) == 2:
            mode, item = item
        return mode, namespace, item

    def _see_updates(self, data: Any, namespace: Any) -> None:
        for node, update in as_mapping(data).items():
            if node == INTERRUPT:
                self._interrupted = True
                continue
            speech = last_speech(messages_in(update))
            if speech is not None:
                self._text = message_text(to_message(speech))
            elif not namespace and update:
                answer = answer_text(update)
                self._text = answer or self._text

    def _see_message(self, data: Any) -> None:
        message = data[0] if isinstance(data, tuple) and data else data
        if isinstance(message, AIMessage):
            self._chunks.setdefault(message.id or "", []).append(content_text(message.content))

    def _see_event(self, mode: str, data: Mapping[str, Any], namespace: Any) -> None:
        payload = data.get("payload", data) if mode == "debug" else data
        if not isinstance(payload, Mapping):
            return
        self._interrupted = self._interrupted or bool(payload.get("interrupts"))
        values = payload.get("values")
        if not namespace and isinstance(values, Mapping) and values:
            self._state = values
        result = payload.get("result")
        if not namespace and result and "values" not in payload:
            update = dict(result) if isinstance(result, list) else result
            self._see_updates({str(payload.get("name")): update}, namespace)
