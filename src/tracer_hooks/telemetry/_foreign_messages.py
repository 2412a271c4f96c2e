"""Chat messages as other instrumentations write them, in the shape of the GenAI conventions."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tracer_hooks._json_text import parse_json
from tracer_hooks.schema import to_json_value, to_text
from tracer_hooks.telemetry._messages import Message, message_text, text_message
from tracer_hooks.telemetry._span_record import SpanEvent

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
_ASKED = ("task", "query", "question")
_HELD = ("messages", "inputs", "outputs", "output", "input", "choices", "generations", "content", "text", "result")
# CrewAI's output holds its answer under "raw", beside the messages that led to it
_WRAPPERS = {"user": (*_ASKED, *_HELD, "raw"), "assistant": ("raw", *_HELD, *_ASKED)}
_ANY_WRAPPER = {*_ASKED, *_HELD, "raw"}
_TEXT_PARTS = {"text", "input_text", "output_text"}
_MESSAGE_KEYS = {"content", "contents", "role", "tool_calls", "kwargs", "data"}
_KEPT_BESIDE = ("finish_reason", "role", "function")
_MAX_NESTING = 12
# OpenInference for AutoGen (0.1.22) writes the messages that an agent was given as str() of pydantic models
_AUTOGEN_REPR = re.compile(
    r"id='[^']*' source='(?P<source>[^']*)' .*?content=(?P<content>(['\"]).*\3) type='\w+'.*$", re.DOTALL
)


def decoded(value: Any) -> Any:
    """``value``, or what it stands for when it is the JSON text of an object or list."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return parse_json(value)
        except ValueError:
            return value
    return value


def nested(attributes: Mapping[str, Any], prefix: str) -> Any:
    """What OpenInference and OpenLLMetry flatten into ``prefix.0.role``...; None if absent."""
    if prefix in attributes:
        return decoded(attributes[prefix])
    root: dict[str, Any] = {}
    for key, value in attributes.items():
        if key.startswith(prefix + "."):
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
    """Whether ``messages`` already has the shape of the GenAI conventions."""
    return isinstance(messages, list) and all(isinstance(item, Mapping) and "parts" in item for item in messages)


def settled(messages: list[Mapping[str, Any]]) -> list[Message] | None:
    """Messages of the GenAI shape with tool results as they should be; None where they are so already.

    Pydantic AI writes ``result`` for ``response`` and lets the user say it; Strands and MCP give lists of blocks.
    """
    found = [{**message, "parts": [_settled_part(part) for part in message["parts"] or ()]} for message in messages]
    for message in found:
        message["role"] = _role_by_parts(message)
    return None if found == messages else found


def _settled_part(part: Any) -> Any:
    if not isinstance(part, Mapping) or part.get("type") != "tool_call_response":
        return part
    response = part.get("response", part.get("result"))
    return {**{key: value for key, value in part.items() if key != "result"}, "response": block_text(response)}


def _role_by_parts(message: Mapping[str, Any]) -> str:
    parts = [part.get("type") for part in message["parts"] if isinstance(part, Mapping)]
    if message.get("role") == "user" and parts and set(parts) == {"tool_call_response"}:
        return "tool"
    return to_text(message.get("role") or "")


def block_text(value: Any) -> Any:
    """The text of a list of content blocks (``[{"text": ...}]``), as tools of MCP return; other values as they are."""
    blocks = decoded(value)
    if not isinstance(blocks, list) or not blocks:
        return value
    texts = [block.get("text") if isinstance(block, Mapping) else None for block in blocks]
    kinds = {block.get("type", "text") for block in blocks if isinstance(block, Mapping)}
    return "\n".join(map(str, texts)) if all(isinstance(text, str) for text in texts) and kinds == {"text"} else value


def to_messages(value: Any, role: str) -> list[Message]:
    """Messages in ``value``: a list of any known shape, a state that holds such a list, or plain text."""
    return _to_messages(decoded(value), role, 0)


def _to_messages(value: Any, role: str, depth: int) -> list[Message]:
    if value is None or value == "" or depth > _MAX_NESTING:
        return []
    message = _to_message(value, role)
    if message is not None:
        return [message] if message["parts"] else []
    if isinstance(value, Mapping):
        for key in _WRAPPERS["assistant" if role == "assistant" else "user"]:
            inside = decoded(value.get(key))
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
    try:
        content = str(ast.literal_eval(match["content"]))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        content = match["content"]
    return text_message("user" if match["source"] == "user" else "assistant", content, name=match["source"])


def _to_message(value: Any, role: str) -> Message | None:
    """A message of OpenAI, LangChain, AutoGen, OpenInference or OpenLLMetry; None if it is none."""
    if isinstance(value, list) and len(value) == 2 and all(isinstance(item, str) for item in value):
        return text_message(_role(value[0]), value[1]) if _role(value[0]) in _KNOWN_ROLES else None
    if not isinstance(value, Mapping):
        return None
    fields = _opened(value)
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


def _opened(value: Mapping[str, Any]) -> Mapping[str, Any]:
    for key in ("message", "kwargs", "data"):
        inside = decoded(value.get(key))
        if isinstance(inside, Mapping) and inside.keys() & _MESSAGE_KEYS:
            return {**{k: v for k, v in value.items() if k in _KEPT_BESIDE}, **_opened(inside)}
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
        return [_settled_part(part) for part in fields["parts"]]
    if isinstance(fields.get("function"), list):  # OpenInference for AutoGen: the results of one turn's tools
        results = [result for item in fields["function"] if isinstance(result := decoded(item), Mapping)]
        return [
            {"type": "tool_call_response", "id": result.get("call_id"), "response": _as_text(result.get("content"))}
            for result in results
        ]
    content = fields.get("content")
    if content in (None, "", []):
        content = fields.get("contents")
    call_id = fields.get("tool_call_id")
    parts = [part for item in _content_items(content) for part in _content_part(item)]
    if call_id is not None:
        text = message_text({"parts": parts})
        return [{"type": "tool_call_response", "id": to_text(call_id), "response": text}]
    calls = [_tool_call(call) for call in _as_list(decoded(fields.get("tool_calls"))) if isinstance(call, Mapping)]
    if calls:  # LangChain lists Anthropic's calls under both
        parts = [part for part in parts if part["type"] != "tool_call"]
    return parts + calls


def _content_items(content: Any) -> Iterable[Any]:
    if isinstance(content, str) and content.startswith("[") and '"type"' in content[:200]:
        content = decoded(content)
    if content is None or content == "":
        return ()
    return content if isinstance(content, list) else (content,)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


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
        return [
            {"type": "tool_call_response", "id": item.get("tool_use_id"), "response": _as_text(item.get("content"))}
        ]
    return [{"type": "text", "content": json.dumps(to_json_value(item))}]


def _as_text(value: Any) -> str:
    return message_text({"parts": [part for item in _content_items(value) for part in _content_part(item)]})


def _tool_call(call: Mapping[str, Any]) -> dict[str, Any]:
    inside = call.get("tool_call")
    call = inside if isinstance(inside, Mapping) else call
    function = call.get("function")
    function = function if isinstance(function, Mapping) else call
    arguments = function.get("arguments", function.get("args"))
    return {
        "type": "tool_call",
        "id": call.get("id"),
        "name": to_text(function.get("name") or ""),
        "arguments": decoded(arguments),
    }


def event_messages(events: Sequence[SpanEvent]) -> tuple[list[Message], list[Message]]:
    """What the message events of older GenAI editions hold: the messages that went in, and that came out."""
    sent: list[Message] = []
    replied: list[Message] = []
    for event in events:
        fields = event.attributes
        if event.name == "gen_ai.content.prompt":
            sent += to_messages(fields.get("gen_ai.prompt"), "user")
        elif event.name == "gen_ai.content.completion":
            replied += to_messages(fields.get("gen_ai.completion"), "assistant")
        elif event.name == "gen_ai.choice":
            inside = decoded(fields.get("message", fields))
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
