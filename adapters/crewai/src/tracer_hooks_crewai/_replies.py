"""CrewAI's messages and model replies in our words, and changed replies back in CrewAI's.

CrewAI's models answer in two ways. With native function calling a reply is a text or a list of the provider's tool
calls. Without it (ReAct) every reply is a text, in which ``Action:`` asks for a tool and ``Final Answer:`` ends the
turn; CrewAI hands on only what follows ``Final Answer:``. So that the same team gives the same trajectory either way,
a ReAct text is taken apart here: the action becomes a requested tool with the thought as content, and a final answer is
what the agent handed on, which is also the task's output and what the next agent is shown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tracer_hooks.frameworks import changed_texts, guard, guarded
from tracer_hooks.schema import to_text
from tracer_hooks.telemetry import (
    ChatReply,
    Message,
    RequestedTool,
    assistant_message,
    text_message,
    tool_message,
)
from tracer_hooks_crewai._roster import tool_name

FINAL_ANSWER = "Final Answer:"


# --- what a model is shown ------------------------------------------------------------------------------------------
def to_messages(native: Any) -> tuple[Message, ...]:
    """The messages of a model call, one for one."""
    if isinstance(native, str):
        return (text_message("user", native),)
    return tuple(_to_message(message) for message in native or ())


def with_changed_texts(native: Any, before: Sequence[Message], after: Sequence[Message]) -> Any:
    """``native`` with the texts that an intervention changed; the agent's own list and messages are left alone."""
    changes = changed_texts(before, after)
    if isinstance(native, str):
        return changes.get(0, native)
    return [{**message, "content": changes[i]} if i in changes else message for i, message in enumerate(native)]


def _to_message(native: Any) -> Message:
    if not isinstance(native, Mapping):
        return text_message("user", native)
    role, text = to_text(native.get("role") or "user"), _content_text(native.get("content"))
    if role == "tool":
        return tool_message(native.get("tool_call_id"), text, name=native.get("name"))
    if role == "assistant":
        return assistant_message(text, requested_tools(native.get("tool_calls") or ()))
    return text_message(role, text)


def _content_text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return to_text(content or "")
    if isinstance(content, Sequence):  # multimodal: text parts are kept, the rest is named by its type
        return "\n".join(_part_text(part) for part in content)
    return to_text(content)


def _part_text(part: Any) -> str:
    if not isinstance(part, Mapping):
        return to_text(part)
    text = part.get("text")
    return text if isinstance(text, str) else f"<{to_text(part.get('type') or 'part')}>"


# --- what a model answers -------------------------------------------------------------------------------------------
def to_reply(native: Any) -> ChatReply:
    """What a model's ``call`` returned."""
    if isinstance(native, str):
        return _from_text(native)
    if isinstance(native, Sequence) and (calls := requested_tools(native)):
        return ChatReply(tool_calls=calls)
    return ChatReply(content=plain_text(native))


def to_native(reply: ChatReply, *, native_tools: bool, response_model: Any = None) -> Any:
    """A reply that an intervention supplied or changed, as CrewAI expects it from a model."""
    if reply.tool_calls and native_tools:
        return [_native_call(call, number) for number, call in enumerate(reply.tool_calls)]
    if response_model is None and (text := wording(reply)) is not None:
        return text
    if reply.tool_calls:
        action = reply.tool_calls[0]  # ReAct has one action a reply
        return f"Thought: {reply.content}\nAction: {action.name}\nAction Input: {as_json(action.arguments)}"
    if response_model is not None and (parsed := _parsed(reply.content, response_model)) is not None:
        return parsed
    if native_tools or not _reads_as_action(reply.content):
        return reply.content
    return f"{FINAL_ANSWER} {reply.content}"


def wording(reply: ChatReply) -> str | None:
    """What the model wrote in so many words, as far as it is known and the reply still says the same."""
    text = "".join(reply.chunks)
    if not text:
        return None
    read = _from_text(text)
    asked, said = ([(call.name, call.arguments) for call in one.tool_calls] for one in (read, reply))
    return text if read.content == reply.content and asked == said else None


def requested_tools(native: Sequence[Any]) -> Sequence[RequestedTool]:
    """The provider's tool calls; empty when the items are none."""
    with guard("read the tool calls of a reply"):
        return _requested_tools(native)
    return ()


def _requested_tools(native: Sequence[Any]) -> Sequence[RequestedTool]:
    from crewai.utilities.agent_utils import extract_tool_call_info, is_tool_call_list

    if not native or not is_tool_call_list(list(native)):
        return ()
    found = [extract_tool_call_info(call) for call in native]
    return tuple(
        RequestedTool(id=info[0], name=info[1], arguments=decoded(info[2])) for info in found if info is not None
    )


def decoded(arguments: Any) -> Any:
    """Tool arguments as data; the model's own text where it is no JSON."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def plain_text(value: Any) -> str:
    """Any answer of a model, agent, crew or flow as text."""
    if value is None or isinstance(value, str):
        return to_text(value or "")
    raw = getattr(value, "raw", None)
    if isinstance(raw, str):
        return to_text(raw)
    dump = getattr(value, "model_dump_json", None)
    if callable(dump) and not isinstance(value, type):
        return to_text(dump())
    return to_text(value)


def _from_text(text: str) -> ChatReply:
    if FINAL_ANSWER not in text and "Action:" not in text:
        return ChatReply(content=to_text(text))
    step = _react_step(text)
    tool = getattr(step, "tool", None)
    if tool:
        thought = to_text(getattr(step, "thought", "") or "").strip().removeprefix("Thought:").strip()
        requested = RequestedTool(name=tool_name(tool), arguments=decoded(getattr(step, "tool_input", None)))
        return ChatReply(content=thought, tool_calls=(requested,))
    output = getattr(step, "output", None)
    return ChatReply(content=to_text(output if isinstance(output, str) and FINAL_ANSWER in text else text))


@guarded("parse a reply in ReAct form", None)
def _react_step(text: str) -> Any:
    from crewai.utilities.agent_utils import format_answer

    return format_answer(text)


def _reads_as_action(text: str) -> bool:
    return "Action:" in text and FINAL_ANSWER not in text


def _native_call(call: RequestedTool, number: int) -> dict[str, Any]:
    function = {"name": call.name, "arguments": as_json(call.arguments)}
    return {"id": call.id or f"call_{number}", "type": "function", "function": function}


def as_json(arguments: Any) -> str:
    """Tool arguments as the text that a provider sends."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False, default=str)


def _parsed(text: str, model: Any) -> Any:
    try:
        return model.model_validate_json(text)
    except Exception:  # not of that form: CrewAI then gets the text, as from a model that ignored the format
        return None
