"""The task of a call as text, and the call that runs a graph on a task given as text."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, get_type_hints

from langchain_core.messages import BaseMessage
from langgraph.types import Command

from tracer_hooks.errors import AdapterError
from tracer_hooks.frameworks import TeamCall
from tracer_hooks.telemetry import message_text
from tracer_hooks_langgraph._convert import to_message
from tracer_hooks_langgraph._graph_facts import START
from tracer_hooks_langgraph._state import MESSAGES, as_mapping, state_text

_TASK_KEYS = ("task", "question", "query", "topic", "input", "request", "prompt", "goal")


def task_text(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """What a graph is asked, from an entry point's arguments: the user's last message, a known key, or JSON."""
    return _text(kwargs["input"] if "input" in kwargs else args[0] if args else None)


def _text(given: object) -> str:
    if given is None:
        return ""
    if isinstance(given, Command):
        return _text(given.resume if given.resume is not None else given.update)
    if isinstance(given, str):
        return given
    if isinstance(given, list):
        return _last_user_text(given) if given and isinstance(given[0], BaseMessage) else state_text(given)
    values = as_mapping(given)
    messages = values.get(MESSAGES)
    if messages:
        return _last_user_text(messages if isinstance(messages, (list, tuple)) else [messages])
    for key in _TASK_KEYS:
        if isinstance(values.get(key), str) and values[key]:
            return str(values[key])
    return state_text(dict(values) if values else given)


def _last_user_text(messages: Any) -> str:
    if isinstance(messages, tuple):
        messages = [messages]
    converted = [to_message(message) for message in messages]
    users = [message for message in converted if message["role"] == "user"]
    return message_text((users or converted)[-1])


def call_for(team: Any, task: str) -> TeamCall:
    """The ``invoke`` call that runs ``team`` on ``task``; a graph with a checkpointer gets a thread of its own.

    Raises:
        AdapterError: The graph's input is neither messages nor one text.
    """
    kwargs: dict[str, Any] = {}
    if team.checkpointer:
        kwargs["config"] = {"configurable": {"thread_id": f"tracer-hooks-{uuid.uuid4().hex}"}}
    return TeamCall(team=team, method="invoke", args=(_input(team, task),), kwargs=kwargs, task=task)


def _input(team: Any, task: str) -> Any:
    builder = getattr(team, "builder", None)
    if builder is None:
        return task  # the functional API hands the input to the function as it is
    if MESSAGES in team.channels:
        return {MESSAGES: [{"role": "user", "content": task}]}
    keys = _text_keys(builder)
    for key in _TASK_KEYS:
        if key in keys:
            return {key: task}
    if len(keys) == 1:
        return {keys[0]: task}
    names = ", ".join(repr(name) for name in team.channels if not name.startswith(("__", "branch:")) and name != START)
    raise AdapterError(
        f"cannot tell where the graph {team.get_name()!r} expects its task: its state has {names}; expected "
        f"'messages', one text, or one of {', '.join(map(repr, _TASK_KEYS))}. Call graph.invoke(...) yourself instead"
    )


def _text_keys(builder: Any) -> list[str]:
    schema = getattr(builder, "input_schema", None) or builder.state_schema
    hints = get_type_hints(schema)
    return [name for name, hint in hints.items() if hint is str]
