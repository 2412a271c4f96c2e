"""Model calls: ``call`` and ``acall`` of a model class, observed, with the intervene seam.

Streams of crews and flows, token counts and listeners live on the events of CrewAI's own models. A model that a user
wrote emits none, and none are emitted for it.

CrewAI's own hooks around model calls cannot supply a reply and do not fire when a call fails, and models that a user
writes emit no events. So the methods themselves are wrapped; events only add usage, finish reason and chunks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from tracer_hooks import semconv
from tracer_hooks.errors import RecordedFailureError, ReplayError
from tracer_hooks.frameworks import ModelRequest, after_model, ask_model, guard, report
from tracer_hooks.schema import Usage
from tracer_hooks.telemetry import ChatInvocation, ChatReply, RunInvocation, current_run
from tracer_hooks_crewai import _turns
from tracer_hooks_crewai._convert import (
    agent_name,
    as_json,
    instructions,
    to_messages,
    to_native,
    to_reply,
    tool_name,
    with_texts,
    wording,
)
from tracer_hooks_crewai._turns import OpenChat, is_control_flow


def _emits_events(llm: Any) -> bool:
    """Tell whether the method by which ``llm`` is called is CrewAI's own, which emits events."""
    definer = next((cls for cls in type(llm).__mro__ if "call" in vars(cls)), None)
    return definer is not None and definer.__module__.partition(".")[0] == "crewai"


def _is_streaming_model(llm: Any) -> bool:
    # A flow's conversation makes a model stream for one call, in versions that have this method.
    effective = getattr(llm, "_effective_stream", None)
    return bool(effective() if callable(effective) else getattr(llm, "stream", None))


def _pieces(reply: ChatReply, *, native_tools: bool) -> Sequence[str]:
    if reply.tool_calls and native_tools:
        return reply.chunks  # what CrewAI was told beside the calls, and does not keep
    if reply.chunks and wording(reply) is not None:
        return reply.chunks
    return (reply.content,) if reply.content else ()


def _openai_counts(reply: ChatReply) -> dict[str, int] | None:
    """Tokens under OpenAI's names, which CrewAI reads of every provider."""
    usage = reply.usage
    if usage is None:
        return None
    read, written = usage.input_tokens, usage.output_tokens
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def wrap_call(original: Callable[..., Any]) -> Callable[..., Any]:
    """A model's ``call``, observed."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        run = _observing_run()
        if run is None:
            return original(self, *args, **kwargs)
        with _observe_call(run, self, args, kwargs) as model_call:
            if model_call is None:
                return original(self, *args, **kwargs)
            if model_call.supplied is None:
                model_call.native = original(self, *model_call.args, **model_call.kwargs)
            return model_call.finish()

    return call


def wrap_acall(original: Callable[..., Any]) -> Callable[..., Any]:
    """A model's ``acall``, observed."""

    async def acall(self: Any, *args: Any, **kwargs: Any) -> Any:
        run = _observing_run()
        if run is None:
            return await original(self, *args, **kwargs)
        with _observe_call(run, self, args, kwargs) as model_call:
            if model_call is None:
                return await original(self, *args, **kwargs)
            if model_call.supplied is None:
                model_call.native = await original(self, *model_call.args, **model_call.kwargs)
            return model_call.finish()

    return acall


def _observing_run() -> RunInvocation | None:
    """The run to report to; None outside runs, and inside a call that is observed already.

    A class may call its base's method, and a model may ask another one: both are the inside of one model call.
    """
    run = current_run()
    current = _turns.open_call.get()
    inside = isinstance(current, OpenChat) and not current.invocation.ended and current.invocation.run is run
    return None if inside else run


class _ModelCall:
    """One model call in progress."""

    def __init__(self, run: RunInvocation, llm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.run, self.llm, self.args, self.kwargs = run, llm, args, kwargs
        self.turn = _turns.current_turn()
        self.tools = tuple(_offered_tools(self._argument("tools", 1)))
        name = str(getattr(llm, "model", "") or type(llm).__name__)
        messages = to_messages(self._argument("messages", 0))
        self.chat = ChatInvocation(run, name, messages=messages, attributes=_attributes(llm))
        self.open = OpenChat(llm, self.chat)
        self.counter = _UsageCounter(llm)
        self.request: ModelRequest | None = None
        self.supplied: ChatReply | None = None
        self.native: Any = None

    def _argument(self, name: str, position: int) -> Any:
        return self.kwargs[name] if name in self.kwargs else (self.args[position : position + 1] or (None,))[0]

    def ask_before(self) -> None:
        """Ask the run's intervention, which may supply the reply or change what the model is shown."""
        if self.run.intervention is None:
            return
        try:
            self._ask_before()
        except RecordedFailureError as error:
            self._tell_failure(error)
            raise
        except ReplayError:
            raise
        except Exception as error:
            report("change a model request", error)

    def _ask_before(self) -> None:
        asked = ask_model(self.chat, self.tools, told=self._told())
        self.request, self.supplied = asked.request, asked.reply
        if asked.texts:
            changed = with_texts(self._argument("messages", 0), asked.texts)
            if "messages" in self.kwargs:
                self.kwargs = {**self.kwargs, "messages": changed}
            else:
                self.args = (changed, *self.args[1:])

    def _told(self) -> tuple[str, ...]:
        """The backstory as it was written, and with the crew's inputs filled in, as it stands in the messages."""
        if self.turn is None or agent_name(self.turn.agent) != self.chat.agent.spec.name:
            return ()
        texts = (instructions(self.turn.agent), getattr(self.turn.agent, "backstory", None))
        return tuple(dict.fromkeys(text for text in texts if isinstance(text, str)))

    @contextmanager
    def _announced(self) -> Iterator[dict[str, Any]]:
        """Tell CrewAI that the model is asked, although it is not; gives what each further event has to name."""
        from crewai.llms.base_llm import llm_call_context

        about = {"from_task": self._argument("from_task", 4), "from_agent": self._argument("from_agent", 5)}
        with llm_call_context():
            messages, tools = self._argument("messages", 0), self._argument("tools", 1)
            self.llm._emit_call_started_event(messages=messages, tools=tools, **about)
            yield about

    def _tell_failure(self, error: Exception) -> None:
        """Tell CrewAI that the model was asked and failed with ``error``."""
        with guard("tell CrewAI of a recorded failure"):
            if _emits_events(self.llm):
                with self._announced() as about:
                    self.llm._emit_call_failed_event(error=str(error), **about)

    def _tell_reply(self, reply: ChatReply, native: Any) -> None:
        """Tell CrewAI that the model was asked and gave ``reply``, which its caller gets as ``native``."""
        with guard("tell CrewAI of a supplied reply"):
            if _emits_events(self.llm):
                with self._announced() as about:
                    if _is_streaming_model(self.llm):
                        self._emit_chunks(reply, about)
                    self._emit_completion(reply, native, about)

    def _emit_chunks(self, reply: ChatReply, about: dict[str, Any]) -> None:
        """Emit the chunks. The pieces of a tool call's arguments are not recorded: each call is one chunk."""
        from crewai.events.types.llm_events import LLMCallType

        tools, common = self._argument("tools", 1), {"response_id": reply.response_id, **about}
        for piece in _pieces(reply, native_tools=bool(tools)):
            self.llm._emit_stream_chunk_event(chunk=piece, **common)
        for index, call in enumerate(reply.tool_calls if tools else ()):
            arguments = as_json(call.arguments)
            function = {"name": call.name, "arguments": arguments}
            asked = {"id": call.id, "function": function, "type": "function", "index": index}
            self.llm._emit_stream_chunk_event(
                chunk=arguments, tool_call=asked, call_type=LLMCallType.TOOL_CALL, **common
            )

    def _emit_completion(self, reply: ChatReply, native: Any, about: dict[str, Any]) -> None:
        from crewai.events.types.llm_events import LLMCallType

        usage = _openai_counts(reply)
        if usage is not None:
            self.llm._track_token_usage_internal(usage)
        self.llm._emit_call_completed_event(
            response=native,
            call_type=LLMCallType.TOOL_CALL if isinstance(native, list) else LLMCallType.LLM_CALL,
            messages=self._argument("messages", 0),
            usage=usage,
            finish_reason=reply.finish_reason,
            response_id=reply.response_id,
            **about,
        )

    def finish(self) -> Any:
        """End the span with what the agent gets, and give it that."""
        try:
            return self._finish()
        except ReplayError:
            raise
        except Exception as error:
            report("end a model call", error)
        return self.native if self.supplied is None else self.supplied.content

    def _finish(self) -> Any:
        native = self.native
        reply = self.supplied if self.supplied is not None else self._read(native)
        final = reply
        if self.request is not None:
            final = after_model(self.run, self.request, reply)
        if self.supplied is not None or final is not reply:
            response_model = self._argument("response_model", 6)
            native = to_native(final, native_tools=bool(self.tools), response_model=response_model)
        if self.supplied is not None:
            self._tell_reply(final, native)
        if isinstance(native, str) and native != final.content:
            self.chat.worded(native)
        if self.turn is not None:
            self.turn.requested = list(final.tool_calls)
        self.chat.stop(final)
        return native

    def _read(self, native: Any) -> ChatReply:
        with guard("read a model's reply"):
            usage = self.open.usage if self.open.usage is not None else self.counter.added()
            return replace(
                to_reply(native), usage=usage, finish_reason=self.open.finish_reason, response_id=self.open.response_id
            )
        return ChatReply()

    def fail(self, error: BaseException) -> None:
        """End the span without a reply."""
        if is_control_flow(error):
            self.chat.abandon()
        else:
            self.chat.fail(error)


@contextmanager
def _observe_call(
    run: RunInvocation, llm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[_ModelCall | None]:
    model_call = None
    with guard("observe a model call"):
        model_call = _ModelCall(run, llm, args, kwargs)
    if model_call is None:
        yield None
        return
    mark = _turns.open_call.set(model_call.open)
    try:
        with model_call.chat.active(), _turns.listen_to_events():
            if model_call.turn is not None:
                model_call.turn.raise_stop()
            model_call.ask_before()
            yield model_call
    except BaseException as error:
        model_call.fail(error)
        raise
    finally:
        _turns.open_call.reset(mark)
        model_call.counter.close()
        model_call.chat.abandon()  # does nothing where the call has ended, as it nearly always has


def _attributes(llm: Any) -> dict[str, Any]:
    return {
        semconv.PROVIDER_NAME: getattr(llm, "provider", None),
        semconv.REQUEST_TEMPERATURE: getattr(llm, "temperature", None),
        semconv.REQUEST_STREAM: getattr(llm, "stream", None) or None,
    }


def _offered_tools(tools: Any) -> Iterator[str]:
    for tool in tools or ():
        function = tool.get("function", tool) if isinstance(tool, dict) else tool
        name = function.get("name") if isinstance(function, dict) else getattr(function, "name", None)
        if name:
            yield tool_name(name)


class _UsageCounter:
    """Count of a model's usage during one call, for models that count without telling events.

    ``get_token_usage_summary`` counts over the model's whole life. Two calls of one model at the same time cannot be
    told apart in it: then nothing is said rather than something wrong.
    """

    _lock = threading.Lock()
    _open: dict[int, list[_UsageCounter]] = {}  # noqa: RUF012 - shared on purpose, by the model's identity

    def __init__(self, llm: Any) -> None:
        self.llm, self.alone = llm, True
        with self._lock:
            others = self._open.setdefault(id(llm), [])
            for other in (*others, self):
                other.alone = not others
            others.append(self)
        self.before = self._counted()

    def added(self) -> Usage | None:
        after = self._counted()
        if self.before is None or after is None or not self.alone:
            return None
        read, written = after[0] - self.before[0], after[1] - self.before[1]
        return Usage(input_tokens=read, output_tokens=written) if read > 0 or written > 0 else None

    def close(self) -> None:
        with self._lock:
            others = self._open.get(id(self.llm), [])
            if self in others:
                others.remove(self)
            if not others:
                self._open.pop(id(self.llm), None)

    def _counted(self) -> tuple[int, int] | None:
        summary = getattr(self.llm, "get_token_usage_summary", None)
        if not callable(summary):
            return None
        with guard("read a model's token counts"):
            counts = summary()
            return int(counts.prompt_tokens), int(counts.completion_tokens)
        return None
