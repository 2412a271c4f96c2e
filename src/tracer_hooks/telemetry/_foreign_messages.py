"""Chat messages and tool calls as other instrumentations write them, in the shape of the GenAI conventions."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracer_hooks import semconv
from tracer_hooks.schema import to_json_value, to_text
from tracer_hooks.telemetry._records import (
    Message,
    SpanEvent,
    SpanRecord,
    decode_json,
    first_filled,
    first_present,
    message_text,
    parts_of,
    text_message,
    without_none,
)

_ROLES = {
    "human": "user",
    "ai": "assistant",
    "aimessagechunk": "assistant",
    "model": "assistant",
    "function": "tool",
    "tool-call": "assistant",
    "tool-response": "tool",
    "developer": "system",
    "humanmessage": "user",
    "aimessage": "assistant",
    "systemmessage": "system",
    "toolmessage": "tool",
}
_KNOWN_ROLES = {"system", "user", "assistant", "tool"}
_REQUEST_FIELDS = ("task", "query", "question")
_CONTAINER_FIELDS = (
    "messages",
    "inputs",
    "outputs",
    "output",
    "input",
    "choices",
    "generations",
    "content",
    "text",
    "result",
)

# CrewAI's output holds its answer under "raw", beside the messages that led to it
_WRAPPERS = {
    "user": (*_REQUEST_FIELDS, *_CONTAINER_FIELDS, "raw"),
    "assistant": ("raw", *_CONTAINER_FIELDS, *_REQUEST_FIELDS),
}
_ANY_WRAPPER = {*_REQUEST_FIELDS, *_CONTAINER_FIELDS, "raw"}
_TEXT_PARTS = {"text", "input_text", "output_text"}
_MESSAGE_KEYS = {"content", "contents", "role", "tool_calls", "kwargs", "data"}
_FIELDS_BESIDE_PARTS = ("finish_reason", "role", "function")
_MAX_NESTING = 12

# Google's ADK shows an agent the others' words, calls and results as the user's (2.13 between marks, 1.x without)
_ADK_QUOTE = re.compile(
    r"\[(?P<agent>[^\]]+)\] (?:said|thought|(?P<call>called tool `.*?` with parameters)|(?P<result>`.*?` tool returned "
    r"result)):\s(?:<<<BEGIN_QUOTED_AGENT_CONTENT>>>\n)?(?P<text>.*?)(?:\n<<<END_QUOTED_AGENT_CONTENT>>>)?\Z",
    re.DOTALL,
)

PROMPT_IDENTITY = (semconv.PROMPT_NAME, semconv.PROMPT_VERSION, "gen_ai.prompt.variable.")
"""What stands beside ``gen_ai.prompt.0.content`` of older editions and is no message."""

# OpenInference for AutoGen (0.1.22) writes the messages that an agent was given as str() of pydantic models
_AUTOGEN_REPR = re.compile(
    r"id='[^']*' source='(?P<source>[^']*)' .*?content=(?P<content>(['\"]).*\3) type='\w+'.*$", re.DOTALL
)


def unflatten(attributes: Mapping[str, Any], prefix: str) -> Any:
    """Restore data that OpenInference and OpenLLMetry flatten into ``prefix.0.role``...; None if absent."""
    if prefix in attributes:
        return decode_json(attributes[prefix])
    root: dict[str, Any] = {}
    for key, value in attributes.items():
        if key.startswith(prefix + ".") and not key.startswith(PROMPT_IDENTITY):
            node = root
            *path, last = key[len(prefix) + 1 :].split(".")
            for part in path:
                below = node.setdefault(part, {})
                node = below if isinstance(below, dict) else {}
            node[last] = value
    return _with_lists(root) if root else None


def _with_lists(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    if node and all(key.isdigit() for key in node):
        return [_with_lists(node[key]) for key in sorted(node, key=int)]
    return {key: _with_lists(value) for key, value in node.items()}


def is_genai(messages: Any) -> bool:
    """Tell whether ``messages`` already has the shape of the GenAI conventions."""
    return isinstance(messages, list) and all(
        isinstance(item, Mapping) and isinstance(item.get("parts", 0), list | tuple | None) for item in messages
    )


def with_tool_results(messages: list[Mapping[str, Any]]) -> list[Message] | None:
    """Messages of the GenAI shape with tool results as they should be; None where they are so already.

    Pydantic AI writes ``result`` for ``response`` and lets the user say it; Strands and MCP give lists of blocks;
    Google's ADK lets the user quote the other agents.
    """
    found = [{**message, "parts": [_with_tool_result(part) for part in message["parts"] or ()]} for message in messages]
    found = [_unquoted(message) for message in found]
    for message in found:
        message["role"] = _role_by_parts(message)
    return None if found == messages else found


def _with_tool_result(part: Any) -> Any:
    if not isinstance(part, Mapping) or part.get("type") != "tool_call_response":
        return part
    response = part.get("response", part.get("result"))
    return {**{key: value for key, value in part.items() if key != "result"}, "response": block_text(response)}


def _role_by_parts(message: Mapping[str, Any]) -> str:
    parts = [part.get("type") for part in message["parts"] if isinstance(part, Mapping)]
    if message.get("role") == "user" and parts and set(parts) == {"tool_call_response"}:
        return "tool"
    return to_text(message.get("role") or "")


def _unquoted(message: Message) -> Message:
    """What another agent said or its tool gave back, where the user quotes it; any other message as it is."""
    parts = [part for part in message["parts"] if isinstance(part, Mapping)]
    quotes = [_ADK_QUOTE.match(str(part.get("content"))) for part in parts]
    agent = next((quote["agent"] for quote in quotes if quote is not None), None)
    if agent is None or not str(parts[0].get("content")).startswith("For context:"):
        return message
    told = [
        part if quote is None else {**part, "content": _told(quote)} for part, quote in zip(parts, quotes, strict=True)
    ]
    return {**message, "name": agent, "parts": [{**parts[0], "content": ""}, *told[1:]]}


def _told(quote: re.Match[str]) -> Any:
    """The words or the tool's result in a quote; a call's arguments are none."""
    if quote["result"]:
        return block_text(_python_value(quote["text"]))
    return "" if quote["call"] else quote["text"]


def block_text(value: Any) -> Any:
    """The text of a tool's result; a value of another shape as it is.

    Tools of MCP return a list of content blocks (``[{"text": ...}]``), and Gemini wants an object around a text
    (``{"result": ...}``). Another object is given as JSON.
    """
    blocks = decode_json(value)
    if isinstance(blocks, Mapping):
        only = blocks.get("result") if len(blocks) == 1 else None
        return only if isinstance(only, str) else _as_attribute(value)
    if not isinstance(blocks, list) or not blocks:
        return value
    texts = [block.get("text") if isinstance(block, Mapping) else None for block in blocks]
    kinds = {block.get("type", "text") for block in blocks if isinstance(block, Mapping)}
    return "\n".join(map(str, texts)) if all(isinstance(text, str) for text in texts) and kinds == {"text"} else value


def to_messages(value: Any, role: str) -> list[Message]:
    """Messages in ``value``: a list of any known shape, a state that holds such a list, or plain text."""
    return _to_messages(decode_json(value), role, 0)


def _to_messages(value: Any, role: str, depth: int) -> list[Message]:
    if value is None or value == "" or depth > _MAX_NESTING:
        return []
    message = _to_message(value, role)
    if message is not None:
        return [message] if message["parts"] else []
    if isinstance(value, Mapping):
        for key in _WRAPPERS["assistant" if role == "assistant" else "user"]:
            inside = decode_json(value.get(key))
            if inside:
                return _to_messages(inside, role, depth + 1)
        inner = [item for item in value.values() if isinstance(item, Mapping) and item.keys() & _ANY_WRAPPER]
        if inner:  # {"messages"} below the name of a LangGraph node, or below "update" of a Command
            return _to_messages(inner[-1], role, depth + 1)
    if isinstance(value, list) and all(isinstance(item, (Mapping, list, str)) for item in value):
        return [message for item in value for message in _to_messages(item, role, depth + 1)]
    return [_text_message(value if isinstance(value, str) else json.dumps(to_json_value(value)), role)]


def _text_message(text: str, role: str) -> Message:
    match = _AUTOGEN_REPR.match(text)
    if match is None:
        return text_message(role, text)
    content = str(_python_value(match["content"]))
    return text_message("user" if match["source"] == "user" else "assistant", content, name=match["source"])


def _python_value(text: str) -> Any:
    """Value of ``text`` in Python; the text itself when that is no literal."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _to_message(value: Any, role: str) -> Message | None:
    """A message of OpenAI, LangChain, AutoGen, OpenInference or OpenLLMetry; None if it is none."""
    if isinstance(value, list) and len(value) == 2 and all(isinstance(item, str) for item in value):
        return text_message(_role(value[0]), value[1]) if _role(value[0]) in _KNOWN_ROLES else None
    if not isinstance(value, Mapping):
        return None
    if (item := _from_responses_api(value, role)) is not None:
        return item
    fields = _unwrapped(value)
    name = str(fields.get("role") or _class_name(value) or fields.get("type") or "")
    known = _role(name) in _KNOWN_ROLES
    if not known and "source" in fields and "content" in fields:  # AutoGen
        known, name = True, "user" if fields["source"] == "user" else "assistant"
    if not known and not ("role" in fields or "tool_calls" in fields or "contents" in fields):
        return None
    message: Message = {"role": _role(name) if known else role, "parts": _parts(fields)}
    message["role"] = _role_by_parts(message)
    speaker = fields.get("name") or fields.get("source")
    if speaker:
        message["name"] = to_text(speaker)
    if fields.get("finish_reason"):
        message["finish_reason"] = to_text(fields["finish_reason"])
    return message


def as_one_reply(messages: list[Message]) -> list[Message]:
    """The words and calls of a reply in one message, where calls come last; the Responses API lists each by itself."""
    if not messages or {part.get("type") for part in parts_of(messages[-1])} != {"tool_call"}:
        return messages
    spoken = [message for message in messages if message.get("role") == "assistant"]
    return [{**messages[-1], "parts": [part for message in spoken for part in parts_of(message)]}]


def _from_responses_api(value: Mapping[str, Any], role: str) -> Message | None:
    """A message of an item that OpenAI's Responses API has beside messages; None for another item."""
    if value.get("type") == "function_call" and "call_id" in value:
        return {"role": "assistant", "parts": [_tool_call({**value, "id": value["call_id"]})]}
    if value.get("type") == "function_call_output":
        return {"role": "tool", "parts": [_tool_response(value.get("call_id"), value.get("output"))]}
    if value.get("type") == "reasoning" and "summary" in value:
        return {"role": role, "parts": []}
    return None


def _unwrapped(value: Mapping[str, Any]) -> Mapping[str, Any]:
    for key in ("message", "kwargs", "data"):
        inside = decode_json(value.get(key))
        if isinstance(inside, Mapping) and inside.keys() & _MESSAGE_KEYS:
            return {**{k: v for k, v in value.items() if k in _FIELDS_BESIDE_PARTS}, **_unwrapped(inside)}
    return value


def _class_name(value: Mapping[str, Any]) -> str:
    """The class of a serialised LangChain object."""
    path = value.get("id")
    inside = value.get("message")
    if isinstance(path, list) and path:
        return str(path[-1])
    return _class_name(inside) if isinstance(inside, Mapping) else ""


def _role(name: str) -> str:
    return _ROLES.get(name.lower(), name.lower())


def _parts(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    if isinstance(fields.get("parts"), list):
        return [_with_tool_result(part) for part in fields["parts"]]
    if isinstance(fields.get("function"), list):  # OpenInference for AutoGen: the results of one turn's tools
        results = [result for item in fields["function"] if isinstance(result := decode_json(item), Mapping)]
        return [_tool_response(result.get("call_id"), result.get("content")) for result in results]
    content = fields.get("content")
    if content in (None, "", []):
        content = fields.get("contents")
    if (call_id := fields.get("tool_call_id")) is not None:
        return [_tool_response(to_text(call_id), content)]
    parts, listed = _content_parts(content), decode_json(fields.get("tool_calls"))
    calls = [_tool_call(call) for call in listed if isinstance(call, Mapping)] if isinstance(listed, list) else []
    if calls:  # LangChain lists Anthropic's calls under both
        parts = [part for part in parts if part["type"] != "tool_call"]
    return parts + calls


def _content_items(content: Any) -> Iterable[Any]:
    if isinstance(content, str) and content.startswith("[") and '"type"' in content[:200]:
        content = decode_json(content)
    if content is None or content == "":
        return ()
    return content if isinstance(content, list) else (content,)


def _content_part(item: Any) -> list[dict[str, Any]]:
    if not isinstance(item, Mapping):
        return [{"type": "text", "content": to_text(item)}]
    inside = item.get("message_content")
    item = inside if isinstance(inside, Mapping) else item
    kind, text = str(item.get("type") or ""), item.get("text", item.get("content"))
    if kind in _TEXT_PARTS or (not kind and isinstance(text, str)):
        return [{"type": "text", "content": to_text(text or "")}]
    if kind == "tool_use":  # Anthropic
        return [_tool_call({**item, "arguments": item.get("input")})]
    if kind == "tool_result":
        return [_tool_response(item.get("tool_use_id"), item.get("content"))]
    return [{"type": "text", "content": json.dumps(to_json_value(item))}]


def _content_parts(content: Any) -> list[dict[str, Any]]:
    return [part for item in _content_items(content) for part in _content_part(item)]


def _tool_response(call_id: object, content: Any) -> dict[str, Any]:
    return {"type": "tool_call_response", "id": call_id, "response": message_text({"parts": _content_parts(content)})}


def _tool_call(call: Mapping[str, Any]) -> dict[str, Any]:
    inside = call.get("tool_call")
    call = inside if isinstance(inside, Mapping) else call
    function = call.get("function")
    function = function if isinstance(function, Mapping) else call
    # OpenInference leaves out the arguments of a call without any
    arguments = function.get("arguments", function.get("args", {} if isinstance(inside, Mapping) else None))
    return {
        "type": "tool_call",
        "id": call.get("id"),
        "name": to_text(function.get("name") or ""),
        "arguments": decode_json(arguments),
    }


def handoff_target(record: SpanRecord) -> str | None:
    """The agent that a span of nothing but a hand-off passes control to; None for other spans.

    OpenInference for the OpenAI Agents SDK (2.6.0) writes one beside the call of the tool that hands off, and leaves
    out the tool's name.
    """
    target = record.name.removeprefix("handoff to ")
    named = first_filled(record.attributes, semconv.TOOL_NAME, semconv.OI_TOOL_NAME)
    return target if target != record.name and named in (None, f"transfer_to_{target}") else None


def event_messages(events: Sequence[SpanEvent]) -> tuple[list[Message], list[Message]]:
    """Messages in the events of older GenAI editions: those that went in, and those that came out."""
    sent: list[Message] = []
    replied: list[Message] = []
    for event in events:
        fields = event.attributes
        if event.name == "gen_ai.content.prompt":
            sent += to_messages(fields.get("gen_ai.prompt"), "user")
        elif event.name == "gen_ai.content.completion":
            replied += to_messages(fields.get("gen_ai.completion"), "assistant")
        elif event.name == "gen_ai.choice":
            inside = decode_json(fields.get("message", fields))
            fields = {**(inside if isinstance(inside, Mapping) else {"content": inside}), "role": "assistant"}
            replied += to_messages(fields, "assistant")
        elif event.name.startswith("gen_ai.") and event.name.endswith(".message"):
            role = event.name.removeprefix("gen_ai.").removesuffix(".message")
            call = {"tool_call_id": fields.get("id")} if role == "tool" else {}
            sent += to_messages({**fields, "role": role, **call}, role)
        elif event.name == "gen_ai.client.inference.operation.details":
            sent += to_messages(fields.get("gen_ai.input.messages"), "user")
            replied += to_messages(fields.get("gen_ai.output.messages"), "assistant")
    return sent, replied


TRACELOOP_NAME = "traceloop.entity.name"
TRACELOOP_INPUT = "traceloop.entity.input"
TRACELOOP_OUTPUT = "traceloop.entity.output"
_MCP_PREFIX = f"{semconv.MCP_CALL_TOOL} "
_KEEPING = frozenset(semconv.MEMORY_OPERATIONS) - {semconv.OP_SEARCH_MEMORY}
_NAMING = frozenset({semconv.OP_RETRIEVAL, *semconv.MEMORY_OPERATIONS})
"""Operations that are read as calls of a tool of their own name."""
_SCHEMA_KEYS = {"type", "properties"}
_DESCRIPTION_KEYS = {"type", "description"}


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Result that a tool gave back."""

    text: str | None = None
    call_id: str | None = None
    failed: bool = False


def tool_attributes(record: SpanRecord, parent: SpanRecord | None) -> dict[str, Any]:
    """The GenAI attributes of a tool span, from whatever keys it has."""
    if (target := handoff_target(record)) is not None:
        return {semconv.TOOL_NAME: f"transfer_to_{target}", semconv.TRANSFER_TARGET: target}
    name = tool_name(record)
    result = tool_result(record)
    requested = _requested_by(parent, name, result.call_id)
    arguments = _arguments(record)
    if not isinstance(arguments, Mapping) and requested is not None:
        arguments = requested.get("args", arguments)
    call_id = (
        first_filled(record.attributes, semconv.TOOL_CALL_ID, "tool_call.id", semconv.OI_TOOL_ID)
        or result.call_id
        or _call_id_of(record)
        or (requested or {}).get("id")
    )
    attributes = {
        semconv.TOOL_NAME: name,
        semconv.TOOL_CALL_ID: call_id,
        semconv.TOOL_CALL_RESULT: result.text,
        semconv.TOOL_CALL_ARGUMENTS: _as_attribute(arguments),
        semconv.TOOL_DESCRIPTION: record.attributes.get(semconv.OI_TOOL_DESCRIPTION),
    }
    return without_none(attributes)


def tool_name(record: SpanRecord) -> str:
    """The tool's name."""
    if name := first_filled(record.attributes, semconv.TOOL_NAME, semconv.OI_TOOL_NAME, TRACELOOP_NAME):
        return to_text(name)
    if record.operation in _NAMING:
        return record.operation
    return record.name.removeprefix("execute_tool ").removeprefix(_MCP_PREFIX).removesuffix(".tool").strip()


def tool_result(record: SpanRecord) -> ToolResult:
    """Result of the tool, taken out of a LangChain message when it stands in one."""
    value = first_present(record.attributes, semconv.TOOL_CALL_RESULT)
    if value is None:
        value = _found(record)
    if value is None:
        value = first_present(record.attributes, semconv.OI_OUTPUT_VALUE, TRACELOOP_OUTPUT)
    fields = decode_json(value)
    if not isinstance(fields, Mapping):
        return ToolResult(text=_as_attribute(block_text(value)))
    is_callback = "output" in fields and "kwargs" in fields  # OpenLLMetry keeps the callback's own arguments
    inside = decode_json(fields["output"]) if is_callback else fields
    for wrapper in ("kwargs", "data"):
        if isinstance(inside, Mapping) and isinstance(inside.get(wrapper), Mapping):
            inside = inside[wrapper]
    if isinstance(inside, Mapping) and "tool_call_id" in inside and "content" in inside:
        return ToolResult(
            text=_as_attribute(inside["content"]),
            call_id=inside["tool_call_id"],
            failed=inside.get("status") == "error",
        )
    return ToolResult(text=_as_attribute(block_text(inside if is_callback else value)))


def _arguments(record: SpanRecord) -> Any:
    own = decode_json(record.attributes.get(semconv.TOOL_CALL_ARGUMENTS))
    if own is not None:
        return _decoded_arguments(own)
    if searched := _searched(record):
        return searched
    parameters = decode_json(record.attributes.get(semconv.OI_TOOL_PARAMETERS))
    if parameters is not None and not _is_schema(parameters):
        return parameters
    return _decoded_arguments(decode_json(first_present(record.attributes, semconv.OI_INPUT_VALUE, TRACELOOP_INPUT)))


def _searched(record: SpanRecord) -> dict[str, Any]:
    """What a search asked for, and what was to be kept in a memory."""
    keeps = tool_name(record) in _KEEPING
    given = {
        "query": first_present(record.attributes, semconv.RETRIEVAL_QUERY, semconv.MEMORY_QUERY),
        "records": decode_json(record.attributes.get(semconv.MEMORY_RECORDS)) if keeps else None,
        "record_id": record.attributes.get(semconv.MEMORY_RECORD_ID) if keeps else None,
    }
    return without_none(given)


def _found(record: SpanRecord) -> Any:
    """What a search found, by its words where every document has some."""
    keys = (semconv.RETRIEVAL_DOCUMENTS, *(() if tool_name(record) in _KEEPING else (semconv.MEMORY_RECORDS,)))
    listed = decode_json(first_present(record.attributes, *keys))
    if listed is None:
        listed = unflatten(record.attributes, semconv.OI_RETRIEVAL_DOCUMENTS)
    if not isinstance(listed, list):
        return listed
    documents = [item.get("document", item) if isinstance(item, Mapping) else item for item in listed]
    texts = [item.get("content") if isinstance(item, Mapping) else item for item in documents]
    return "\n".join(map(str, texts)) if texts and all(isinstance(text, str) for text in texts) else documents


def _is_schema(value: Any) -> bool:
    """Tell whether it describes what a tool takes, instead of saying what it was given."""
    if not isinstance(value, Mapping):
        return False
    described = [isinstance(item, Mapping) and item.keys() >= _DESCRIPTION_KEYS for item in value.values()]
    return value.keys() >= _SCHEMA_KEYS or (bool(described) and all(described))


def _decoded_arguments(value: Any) -> Any:
    if isinstance(value, Mapping) and isinstance(value.get("kwargs"), Mapping) and value.get("args") == []:
        return value["kwargs"]  # the call of the function that carries the tool out, as of smolagents
    if isinstance(value, Mapping) and "input_str" in value:  # OpenLLMetry keeps the callback's own arguments
        value = value.get("inputs") or value["input_str"]
    if isinstance(value, str) and value.lstrip().startswith("{"):  # LangChain's input_str is Python's repr
        return _python_value(value)
    return value


def _call_id_of(record: SpanRecord) -> str | None:
    inside = decode_json(record.attributes.get(TRACELOOP_INPUT))
    inner = inside.get("kwargs") if isinstance(inside, Mapping) else None
    return inner.get("tool_call_id") if isinstance(inner, Mapping) else None


def _requested_by(parent: SpanRecord | None, name: str, call_id: str | None) -> Mapping[str, Any] | None:
    """The model's call in the input of LangGraph's tool node, which alone knows a failed call's id."""
    if parent is None:
        return None
    value = decode_json(parent.attributes.get(semconv.OI_INPUT_VALUE, parent.attributes.get(TRACELOOP_INPUT)))
    value = value.get("inputs") if isinstance(value, Mapping) else value
    calls = [call for call in value or () if isinstance(call, Mapping)] if isinstance(value, list) else []
    calls = [call for call in calls if call.get("name") == name and call_id in (None, call.get("id"))]
    return calls[0] if len(calls) == 1 else None


def _as_attribute(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(to_json_value(value), ensure_ascii=False)
