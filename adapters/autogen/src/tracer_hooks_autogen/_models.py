"""Model calls: ``create`` and ``create_stream`` of a team's model clients, observed, with the intervene seam."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from tracer_hooks import semconv
from tracer_hooks.frameworks import (
    ModelRequest,
    after_model,
    after_stream,
    ask_model,
    guard,
    guarded,
    may_change_replies,
)
from tracer_hooks.schema import Usage, to_json_value
from tracer_hooks.telemetry import (
    AsyncSteps,
    ChatInvocation,
    ChatReply,
    RequestedTool,
    current_invocation,
    drive_async,
    enclosing_agent,
)
from tracer_hooks_autogen._convert import conversions_of, from_create_result
from tracer_hooks_autogen._members import model_name, types
from tracer_hooks_autogen._patching import HookedTeam, run_for
from tracer_hooks_autogen._turns import AgentTurn, manager_turn

_FINISH_REASONS = {
    "tool_calls": "function_calls",
    "stop": "stop",
    "length": "length",
    "content_filter": "content_filter",
}


@dataclass
class _AskedModelCall:
    """Answer to asking before the call: a reply that makes it needless, or the messages to send."""

    request: ModelRequest
    reply: ChatReply | None
    natives: Sequence[Any]


async def create_under_intervention(
    chat: ChatInvocation, original: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """``create`` with the run's intervention asked before and after; ends the chat when it succeeds."""
    asked = _ask_before(chat, args, kwargs)
    native = None
    if asked.reply is None:
        with chat.active():
            native = await _stream_live(asked, original, args, kwargs)
    return _finish_reply(chat, asked, native)


async def stream_under_intervention(
    chat: ChatInvocation, original: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> AsyncIterator[Any]:
    """``create_stream`` likewise. The items go on as they come, unless the reply that they make may yet be changed."""
    try:
        asked = _ask_before(chat, args, kwargs)
        if asked.reply is None and not may_change_replies(chat.run):
            steps = AsyncSteps(_stream_live(asked, original, args, kwargs), chat)
            try:
                async for item in steps:
                    _note_item(chat, asked, item)
                    yield item
            finally:
                await steps.aclose()
            return
        items = await _stream_held_back(chat, asked, original, args, kwargs)
    except BaseException as error:
        chat.fail(error)
        raise
    for item in items:
        yield item


def _stream_live(asked: _AskedModelCall, original: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return original(asked.natives, *args[1:], **{key: value for key, value in kwargs.items() if key != "messages"})


def _note_item(chat: ChatInvocation, asked: _AskedModelCall | None, item: Any) -> None:
    """Note an item that is about to be handed out; the last one ends the chat."""
    reply = None
    with guard("look at a streamed item"):
        if isinstance(item, str):
            chat.chunk(item)
        elif isinstance(item, types().create_result):
            reply = from_create_result(item)
    if reply is not None:
        if asked is not None:
            after_stream(chat.run, asked.request, reply)
        end_chat(chat, reply)


async def _stream_held_back(
    chat: ChatInvocation, asked: _AskedModelCall, original: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Sequence[Any]:
    """The items of a stream, once it is known whether the reply stays as it is."""
    native, items = None, []
    if asked.reply is None:
        with chat.active():
            async for item in _stream_live(asked, original, args, kwargs):
                items.append(item)
                if isinstance(item, str):
                    chat.chunk(item)
                else:
                    native = item
    result = _finish_reply(chat, asked, native, streams=True)
    return items if result is native else (*chat.chunks, result)


def _ask_before(chat: ChatInvocation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _AskedModelCall:
    natives = list(args[0] if args else kwargs.get("messages") or ())
    tools = (tool["name"] if isinstance(tool, Mapping) else tool.name for tool in kwargs.get("tools") or ())
    asked = ask_model(chat, tools)
    return _AskedModelCall(asked.request, asked.reply, with_texts(natives, asked.texts))


def _finish_reply(chat: ChatInvocation, asked: _AskedModelCall, native: Any, *, streams: bool = False) -> Any:
    before = asked.reply if asked.reply is not None else from_create_result(native)
    reply = after_model(chat.run, asked.request, before)
    if streams and (native is None or reply is not before):
        chat.stream_anew(reply)
    end_chat(chat, reply)
    if native is not None and reply is before:
        return native
    return to_create_result(reply, native)


def end_chat(chat: ChatInvocation, reply: ChatReply) -> None:
    """End a model call, and have the agent's turn know which tools it asked for."""
    if reply.tool_calls and isinstance(chat.agent, AgentTurn):
        chat.agent.requested = {call.id: call for call in reply.tool_calls if call.id}
    chat.stop(reply)


def with_texts(natives: Sequence[Any], changed: Mapping[int, str]) -> list[Any]:
    """``natives`` with the texts at our positions replaced; the user's own messages are left as they are."""
    result = list(natives)
    for position, (index, part) in enumerate(_positions(natives)):
        if position not in changed:
            continue
        text, native = changed[position], result[index]
        if part is not None:
            content = list(native.content)
            content[part] = content[part].model_copy(update={"content": text})
            result[index] = native.model_copy(update={"content": content})
        elif isinstance(native, types().assistant_message) and not isinstance(native.content, str):
            result[index] = native.model_copy(update={"thought": text})
        else:
            result[index] = native.model_copy(update={"content": text})
    return result


def to_create_result(reply: ChatReply, native: Any = None) -> Any:
    """A reply as AutoGen's ``CreateResult``; what it does not say is taken from ``native``."""
    known = types()
    content: Any = reply.content
    reason = _FINISH_REASONS.get(reply.finish_reason or "stop", "unknown")
    thought = None
    if reply.tool_calls:
        content = [_function_call(call, index) for index, call in enumerate(reply.tool_calls)]
        reason, thought = "function_calls", reply.content or None
    elif reason == "function_calls":
        reason = "stop"  # the tool calls were taken out
    usage = native.usage if native is not None and reply.usage is None else None
    if usage is None:
        counts = reply.usage or Usage()
        usage = known.request_usage(prompt_tokens=counts.input_tokens, completion_tokens=counts.output_tokens)
    return known.create_result(finish_reason=reason, content=content, usage=usage, cached=False, thought=thought)


def _function_call(call: RequestedTool, index: int) -> Any:
    arguments = call.arguments
    if not isinstance(arguments, str):
        arguments = json.dumps({} if arguments is None else to_json_value(arguments), ensure_ascii=False)
    return types().function_call(id=call.id or f"call_{index}", name=call.name, arguments=arguments)


def _positions(natives: Sequence[Any]) -> Iterator[tuple[int, int | None]]:
    """Give the place of each of our messages: several tool results in one native message are several of ours."""
    for index, native in enumerate(natives):
        if isinstance(native, types().function_results):
            for part in range(len(native.content)):
                yield index, part
        else:
            yield index, None


_PROVIDERS = {"openai": "openai", "anthropic": "anthropic", "azure": "azure.ai.inference", "ollama": "ollama"}
"""Packages under ``autogen_ext.models`` and the conventions' names for whom they call."""


def observe_create(client: Any, original: Any, hooked_teams: list[HookedTeam]) -> Any:
    """Replaces ``create``."""
    known = _describe_client(client)

    async def create(*args: Any, **kwargs: Any) -> Any:
        chat = _begin_chat(known, hooked_teams, args, kwargs)
        if chat is None:
            return await original(*args, **kwargs)
        try:
            if chat.run.intervention is not None:
                return await create_under_intervention(chat, original, args, kwargs)
            with chat.active():
                result = await original(*args, **kwargs)
        except BaseException as error:
            chat.fail(error)
            raise
        with guard("record a model's reply"):
            end_chat(chat, from_create_result(result))
        return result

    return create


def observe_create_stream(client: Any, original: Any, hooked_teams: list[HookedTeam]) -> Any:
    """Replaces ``create_stream``."""
    known = _describe_client(client, streams=True)

    def create_stream(*args: Any, **kwargs: Any) -> Any:
        chat = _begin_chat(known, hooked_teams, args, kwargs)
        if chat is None:
            return original(*args, **kwargs)
        if chat.run.intervention is not None:
            return stream_under_intervention(chat, original, args, kwargs)
        return drive_async(original(*args, **kwargs), chat, on_item=partial(_note_item, chat, None))

    return create_stream


@guarded("begin a model call", cast("ChatInvocation | None", None))
def _begin_chat(
    known: tuple[str, dict[str, Any]], hooked_teams: Sequence[HookedTeam], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> ChatInvocation | None:
    run = run_for(hooked_teams)
    # A client inside a client (ChatCompletionCache) makes the same call, not another one.
    if run is None or isinstance(current_invocation(), ChatInvocation):
        return None
    natives = args[0] if args else kwargs.get("messages") or ()
    messages = conversions_of(run).model_messages(natives)
    agent = manager_turn(run) or enclosing_agent(None, run) or run.manager()
    return ChatInvocation(run, known[0], messages=messages, agent=agent, attributes=known[1])


def _describe_client(client: Any, *, streams: bool = False) -> tuple[str, dict[str, Any]]:
    """Return the model's name, and the attributes that go onto each span of the client."""
    attributes: dict[str, Any] = {}
    with guard("describe a model client"):
        module = type(client).__module__.split(".")
        if module[:2] == ["autogen_ext", "models"] and module[2] in _PROVIDERS:
            attributes[semconv.PROVIDER_NAME] = _PROVIDERS[module[2]]
        if streams:
            attributes[semconv.REQUEST_STREAM] = True
        return model_name(client), attributes
    return type(client).__name__, attributes
