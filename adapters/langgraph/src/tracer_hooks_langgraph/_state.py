"""What stands in a graph's state and in the updates that its nodes return: messages, destinations, plain values."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.types import Command, Send

from tracer_hooks.schema import to_json_value

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
    """Where what a node returned sends control, each with whether that is a node of the graph around this one."""
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
    """Whether a message is something that a member of the team said: a model's message, or one that bears a name."""
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
