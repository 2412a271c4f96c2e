"""Conversion of AutoGen's messages, replies, tool calls and results to our shape."""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from tracer_hooks.frameworks import RunResult, TeamCall
from tracer_hooks.schema import Usage, to_text
from tracer_hooks.telemetry import (
    ChatReply,
    Message,
    RequestedTool,
    RunInvocation,
    assistant_message,
    text_message,
    tool_message,
)
from tracer_hooks_autogen._members import types

_FINISH_REASONS = {"function_calls": "tool_calls", "unknown": None}
"""Where AutoGen's words differ from the conventions'."""


class Conversions:
    """Converts each message of a run once: agents are shown the same message objects again at every call."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Any, list[Message]]] = {}

    def model_messages(self, natives: Iterable[Any]) -> list[Message]:
        """Convert what a model is shown: AutoGen's ``LLMMessage`` objects."""
        result: list[Message] = []
        for native in natives:
            # The content is compared, too: messages are mutable, and users do change them.
            known = self._known.get(id(native))
            if known is not None and known[0] is native and known[1] is native.content:
                result += known[2]
            else:
                converted = from_model_message(native)
                self._known[id(native)] = (native, native.content, converted)
                result += converted
        return result

    def team_messages(self, natives: Iterable[Any]) -> list[Message]:
        """Convert what an agent is handed: AutoGen's ``BaseChatMessage`` objects."""
        return [text_message("user", team_text(native), name=native.source) for native in natives]


_by_run: weakref.WeakKeyDictionary[RunInvocation, Conversions] = weakref.WeakKeyDictionary()


def conversions_of(run: RunInvocation) -> Conversions:
    """The conversions that belong to ``run``, and go with it."""
    found = _by_run.get(run)
    if found is None:
        found = _by_run[run] = Conversions()
    return found


def from_model_message(native: Any) -> list[Message]:
    """One ``LLMMessage`` in our shape; several results of tools become as many messages."""
    kind, content = native.type, native.content
    if kind == "SystemMessage":
        return [text_message("system", content)]
    if kind == "UserMessage":
        return [_user_message(content, native.source)]
    if kind == "AssistantMessage":
        if isinstance(content, str):
            return [assistant_message(content)]
        return [assistant_message(native.thought or "", [requested_tool(call) for call in content])]
    if kind == "FunctionExecutionResultMessage":
        return [tool_message(result.call_id, result.content, name=result.name) for result in content]
    return [text_message("user", content)]


def requested_tool(call: Any) -> RequestedTool:
    """A ``FunctionCall`` in our shape."""
    return RequestedTool(name=to_text(call.name), arguments=_decoded(call.arguments), id=call.id)


def from_create_result(result: Any) -> ChatReply:
    """A ``CreateResult`` in our shape."""
    content, calls = result.content, []
    if not isinstance(content, str):
        calls = [requested_tool(call) for call in content]
        content = result.thought or ""  # AutoGen puts the text beside tool calls there
    reason = result.finish_reason
    return ChatReply(
        content=content, tool_calls=calls, usage=_usage(result.usage), finish_reason=_FINISH_REASONS.get(reason, reason)
    )


def team_text(message: Any) -> str:
    """Return what the other members of a team read of a chat message; images become a placeholder."""
    return to_text(message.to_model_text())


def task_text(task: Any) -> str:
    """A team's task as text: AutoGen takes a string, a message, a list of messages, or None to go on."""
    if task is None:
        return ""
    if isinstance(task, str):
        return to_text(task)
    if isinstance(task, Sequence):
        return "\n".join(team_text(message) for message in task)
    return team_text(task)


def _user_message(content: Any, source: str) -> Message:
    if isinstance(content, str):
        return text_message("user", content, name=source)
    # A picture itself is left out: it can be megabytes, and no attributor reads it.
    picture = {"type": "blob", "modality": "image", "mime_type": "image/png"}
    parts = [{"type": "text", "content": to_text(item)} if isinstance(item, str) else {**picture} for item in content]
    return {"role": "user", "parts": parts, "name": source}


def _decoded(arguments: Any) -> Any:
    try:
        return json.loads(arguments)
    except (TypeError, ValueError, RecursionError):
        return arguments


def _usage(usage: Any) -> Usage | None:
    # OpenAI-compatible servers send no usage with a stream unless asked; AutoGen then reports zeros.
    if usage is None or not (usage.prompt_tokens or usage.completion_tokens):
        return None
    return Usage(input_tokens=usage.prompt_tokens or 0, output_tokens=usage.completion_tokens or 0)


def to_run_result(call: TeamCall, native: Any) -> RunResult:
    """The result of a call that returned ``native``: a ``TaskResult``, or a single agent's ``Response``."""
    known = types()
    if isinstance(native, known.response):
        return _from_messages(call, native, [native.chat_message], None)
    if isinstance(native, known.task_result):
        chat_messages = [message for message in native.messages if isinstance(message, known.chat_message)]
        return _from_messages(call, native, chat_messages, native.stop_reason)
    return RunResult(text="", native=native)


class AutoGenCollector:
    """Watches a stream: the last item says it all, unless the stream was left before."""

    def __init__(self, call: TeamCall) -> None:
        self._call = call
        self._last: Any = None
        self._last_message: Any = None

    def see(self, item: Any) -> None:
        """Keep the last item and the last chat message."""
        self._last = item
        if isinstance(item, types().chat_message):
            self._last_message = item

    def result(self) -> RunResult:
        """Return the result of the run, from what was seen."""
        known = types()
        if isinstance(self._last, (known.task_result, known.response)):
            return to_run_result(self._call, self._last)
        chat_messages = [self._last_message] if self._last_message is not None else []
        return _from_messages(self._call, self._last, chat_messages, None)


def _from_messages(call: TeamCall, native: Any, chat_messages: Sequence[Any], stop_reason: str | None) -> RunResult:
    task = call.kwargs.get("task")
    # AutoGen gives the messages that the caller passed in back among the results, the same objects.
    given = {id(message) for message in (task if isinstance(task, (list, tuple)) else (task,))}
    roles = ["user" if message.source == "user" or id(message) in given else "assistant" for message in chat_messages]
    answers = [message for message, role in zip(chat_messages, roles, strict=True) if role == "assistant"]
    last = answers[-1] if answers else None
    return RunResult(
        text="" if last is None else team_text(last),
        native=native,
        messages=[
            text_message(role, team_text(message), name=to_text(message.source))
            for message, role in zip(chat_messages, roles, strict=True)
        ],
        stop_reason=stop_reason,
        interrupted=last is not None and _waits_for_someone(call.team, last),
    )


def _waits_for_someone(team: Any, last: Any) -> bool:
    """Tell whether the run ended by handing over to somebody outside, as with ``HandoffTermination("user")``."""
    names = getattr(team, "_participant_names", None)  # private in 0.7
    return isinstance(last, types().handoff_message) and names is not None and last.target not in names
