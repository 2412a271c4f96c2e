"""What CrewAI's own models tell of a call, told of a call that was not made because its reply was supplied.

Streams of crews and flows, token counts and listeners live on these events. A model that a user wrote emits none, and
none are emitted for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tracer_hooks.frameworks import guard
from tracer_hooks.telemetry import ChatReply
from tracer_hooks_crewai._replies import as_json, wording


@dataclass(frozen=True, kw_only=True)
class SuppliedCall:
    """A model call whose reply, or failure, does not come from the model."""

    llm: Any
    """The model that was to be asked."""
    messages: Any
    """What it would have been shown."""
    tools: Any
    """What it would have been offered."""
    about: dict[str, Any]
    """``from_task`` and ``from_agent`` of the call."""

    def tell_reply(self, reply: ChatReply, native: Any) -> None:
        """Tell that the model was asked and gave ``reply``, which its caller gets as ``native``."""
        with guard("tell CrewAI of a supplied reply"), self._call() as tells:
            if not tells:
                return
            if _streams(self.llm):
                self._stream(reply)
            self._complete(reply, native)

    def tell_failure(self, error: Exception) -> None:
        """Tell that the model was asked and failed with ``error``."""
        with guard("tell CrewAI of a recorded failure"), self._call() as tells:
            if tells:
                self.llm._emit_call_failed_event(error=str(error), **self.about)

    @contextmanager
    def _call(self) -> Iterator[bool]:
        if not _tells(self.llm):
            yield False
            return
        from crewai.llms.base_llm import llm_call_context

        with llm_call_context():
            self.llm._emit_call_started_event(messages=self.messages, tools=self.tools, **self.about)
            yield True

    def _stream(self, reply: ChatReply) -> None:
        """The chunks. The pieces of a tool call's arguments are not recorded: each call is one chunk."""
        from crewai.events.types.llm_events import LLMCallType

        common = {"response_id": reply.response_id, **self.about}
        for piece in _pieces(reply, native_tools=bool(self.tools)):
            self.llm._emit_stream_chunk_event(chunk=piece, **common)
        for index, call in enumerate(reply.tool_calls if self.tools else ()):
            arguments = as_json(call.arguments)
            function = {"name": call.name, "arguments": arguments}
            asked = {"id": call.id, "function": function, "type": "function", "index": index}
            self.llm._emit_stream_chunk_event(
                chunk=arguments, tool_call=asked, call_type=LLMCallType.TOOL_CALL, **common
            )

    def _complete(self, reply: ChatReply, native: Any) -> None:
        from crewai.events.types.llm_events import LLMCallType

        usage = _counts(reply)
        if usage is not None:
            self.llm._track_token_usage_internal(usage)
        self.llm._emit_call_completed_event(
            response=native,
            call_type=LLMCallType.TOOL_CALL if isinstance(native, list) else LLMCallType.LLM_CALL,
            messages=self.messages,
            usage=usage,
            finish_reason=reply.finish_reason,
            response_id=reply.response_id,
            **self.about,
        )


def _tells(llm: Any) -> bool:
    """Whether the method by which ``llm`` is called is CrewAI's own, which emits events."""
    definer = next((cls for cls in type(llm).__mro__ if "call" in vars(cls)), None)
    return definer is not None and definer.__module__.partition(".")[0] == "crewai"


def _streams(llm: Any) -> bool:
    # A flow's conversation makes a model stream for one call, in versions that have this method.
    effective = getattr(llm, "_effective_stream", None)
    return bool(effective() if callable(effective) else getattr(llm, "stream", None))


def _pieces(reply: ChatReply, *, native_tools: bool) -> Sequence[str]:
    if reply.tool_calls and native_tools:
        return reply.chunks  # what CrewAI was told beside the calls, and does not keep
    if reply.chunks and wording(reply) is not None:
        return reply.chunks
    return (reply.content,) if reply.content else ()


def _counts(reply: ChatReply) -> dict[str, int] | None:
    """Tokens under OpenAI's names, which CrewAI reads of every provider."""
    usage = reply.usage
    if usage is None:
        return None
    read, written = usage.input_tokens, usage.output_tokens
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
