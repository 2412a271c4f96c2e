"""The operations inside a run: an agent's turn, a model call, a tool call; and how they are numbered as steps."""

from __future__ import annotations

import functools
import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from opentelemetry.trace import SpanKind

from tracer_hooks import semconv
from tracer_hooks._guard import report
from tracer_hooks.schema import AgentSpec, to_text
from tracer_hooks.telemetry._invocation import ABANDONED, OTHERS_SILENT, Invocation, current_invocation
from tracer_hooks.telemetry._records import ChatReply, Message, SpanStatus, usage_attributes

if TYPE_CHECKING:
    from tracer_hooks.telemetry._run import RunInvocation


class AgentInvocation(Invocation):
    """One turn of one agent: it may hold several model calls, tool calls and turns of agents that it delegates to.

    Args:
        run: The run.
        spec: The agent; its instructions and tools go into the run's roster.
        inputs: The messages that the agent was handed.
        parent: The enclosing operation; default the current one.
        retry_of: The failed turn that the framework starts over: model calls then count as further attempts at the
            same step.
        start_ns: When it began; default now.
    """

    operation = semconv.OP_INVOKE_AGENT
    openinference_kind = semconv.OI_KIND_AGENT

    def __init__(
        self,
        run: RunInvocation,
        spec: AgentSpec,
        *,
        inputs: Sequence[Message] = (),
        parent: Invocation | None = None,
        retry_of: AgentInvocation | None = None,
        start_ns: int | None = None,
    ) -> None:
        self.spec = spec
        self.last_step: int | None = None
        self.failed_step: tuple[int, int] | None = retry_of.failed_step if retry_of is not None else None
        self._spoke = False
        self._nested_outputs: list[str] = []
        self._has_nested = False
        attributes: dict[str, Any] = {
            semconv.AGENT_NAME: spec.name,
            semconv.INPUT_MESSAGES: list(inputs) or None,
            semconv.TOOL_DEFINITIONS: tool_definitions(spec.tools),
            **prompt_identity(run.name, spec.name, spec.instructions),
        }
        super().__init__(run, spec.name, parent=parent, start_ns=start_ns, attributes=attributes)
        run.add_agent(spec)
        outer = self.parent_agent
        if outer is not None:
            outer._has_nested = True
            self.set(semconv.OI_GRAPH_NODE_PARENT_ID, outer.spec.name)

    @property
    def parent_agent(self) -> AgentInvocation | None:
        """The agent on whose behalf this one acts."""
        return enclosing_agent(self.parent)

    def begin_step(self) -> tuple[int, int]:
        """Number a model call: the step's index and the attempt, counted from 1; a failed call is attempted again."""
        self._spoke = True
        if self.failed_step is not None:
            index, attempts = self.failed_step
            step = (index, attempts + 1)
        else:
            step = (self.run.next_step(self.spec.name), 1)
        self.last_step = step[0]
        return step

    def hand_off(self, recipient: str) -> None:
        """Say that this turn's last step passes control to ``recipient``."""
        self.set(semconv.STEP_RECIPIENT, recipient)

    def stop(self, output: object = None, *, end_ns: int | None = None) -> None:
        """End the turn with the text that the agent gave to the team."""
        try:
            if self.ended:
                return
            text = None if output is None else to_text(output)
            if text is not None:
                self.attributes[semconv.OUTPUT_MESSAGES] = [ChatReply(content=text).to_message()]
                if (outer := self.parent_agent) is not None:
                    outer._nested_outputs.append(text)
            # A turn without any model call is a step of its own (user proxies, code executors, plain functions), unless
            # it only handed on what agents inside it said.
            if not self._spoke and not (self._has_nested and (text is None or text in self._nested_outputs)):
                self._own_step()
            self._end(SpanStatus.UNSET, "", end_ns)
        except Exception as failure:
            report(f"record the end of {self.span_name!r}", failure)

    def fail(self, error: BaseException, *, end_ns: int | None = None) -> None:
        """End the turn with ``error``; it is an ERROR step unless an operation inside failed with the same error."""
        try:
            if not self.ended and isinstance(error, Exception) and not self.run.is_known(error, self):
                self._own_step()
        except Exception as failure:
            report(f"number the failure of {self.span_name!r}", failure)
        super().fail(error, end_ns=end_ns)

    def _own_step(self) -> None:
        self.last_step = self.run.next_step(self.spec.name)
        self.attributes[semconv.STEP_INDEX] = self.last_step


class ChatInvocation(Invocation):
    """One call of a model.

    Args:
        run: The run.
        model: The model's name.
        agent: The turn that it belongs to; default the enclosing one.
        messages: What the model is shown.
        attributes: More request attributes (provider, temperature, whether it streams).
        parent: The enclosing operation; default the current one.

    Attributes:
        step: Index of the step that it belongs to.
        reply: What the model answered; None while it is open, and when it failed.
    """

    operation = semconv.OP_CHAT
    span_kind = SpanKind.CLIENT
    openinference_kind = semconv.OI_KIND_LLM

    def __init__(
        self,
        run: RunInvocation,
        model: str,
        *,
        messages: Sequence[Message] = (),
        agent: AgentInvocation | None = None,
        attributes: dict[str, Any] | None = None,
        parent: Invocation | None = None,
    ) -> None:
        around = parent if parent is not None else current_invocation()
        self.agent = agent if agent is not None else enclosing_agent(around, run) or run.manager()
        # In a tool that asks a model, the call nests below the tool; in a thread without context, below its agent.
        parent = around if enclosing_agent(around, run) is self.agent else self.agent
        self.step, attempt = self.agent.begin_step()
        self._first_chunk_ns: int | None = None
        self._partial: list[str] = []
        self.reply: ChatReply | None = None
        known = {
            semconv.REQUEST_MODEL: model,
            semconv.AGENT_NAME: self.agent.spec.name,
            semconv.PROMPT_NAME: self.agent.attributes.get(semconv.PROMPT_NAME),
            semconv.PROMPT_VERSION: self.agent.attributes.get(semconv.PROMPT_VERSION),
            semconv.INPUT_MESSAGES: list(messages) or None,
            semconv.STEP_INDEX: self.step,
            semconv.STEP_ATTEMPT: attempt if attempt > 1 else None,
        }
        super().__init__(run, model, parent=parent, attributes={**known, **(attributes or {})})
        self.attempt = attempt

    @property
    def _also_set(self) -> Mapping[str, object]:
        return OTHERS_SILENT if self.run.capture.config.suppress_others else super()._also_set

    def chunk(self, text: str = "") -> None:
        """Note a streamed chunk: the first one is timed, and the text is kept in case the stream is broken off."""
        if self._first_chunk_ns is None:
            self._first_chunk_ns = time.time_ns()
            self.set(semconv.RESPONSE_TIME_TO_FIRST_CHUNK, (self._first_chunk_ns - self.start_ns) / 1e9)
        if text:
            self._partial.append(text)

    def worded(self, text: str) -> None:
        """Note what the model wrote in so many words, where the reply's text is only a part of that (ReAct)."""
        if not self._partial and not self.ended:
            self._partial.append(text)

    def stream_anew(self, reply: ChatReply) -> tuple[str, ...]:
        """Take ``reply``, which was supplied or changed, as what is streamed; gives the pieces for the caller.

        They are the reply's own where they still say what it says, else its text in one piece.
        """
        self._partial.clear()
        fitting = "".join(reply.chunks) == reply.content
        for piece in reply.chunks if fitting else (reply.content,):
            self.chunk(piece)
        return self.chunks

    @property
    def chunks(self) -> tuple[str, ...]:
        """The text as it was streamed; empty when it came in one piece, unless that was :meth:`worded`."""
        return tuple(self._partial)

    def hand_off(self, recipient: str) -> None:
        """Say that this reply passes control to ``recipient``."""
        self.set(semconv.STEP_RECIPIENT, recipient)

    def stop(self, reply: ChatReply, *, end_ns: int | None = None) -> None:
        """End the call with the model's reply."""
        try:
            if self.ended:
                return
            self.agent.failed_step = None
            self.reply = reply
            self.attributes[semconv.OUTPUT_MESSAGES] = [reply.to_message()]
            self.set(semconv.RESPONSE_MODEL, reply.model)
            self.set(semconv.RESPONSE_ID, reply.response_id)
            if reply.finish_reason is not None:
                self.attributes[semconv.RESPONSE_FINISH_REASONS] = [reply.finish_reason]
            if reply.usage is not None:
                self.attributes.update(usage_attributes(reply.usage))
                self.run.count(reply.usage)
            for call in reply.tool_calls:
                self.run.expect_tool(self.agent, call.id, self.step)
            self._end(SpanStatus.UNSET, "", end_ns)
        except Exception as failure:
            report(f"record the end of {self.span_name!r}", failure)

    def fail(self, error: BaseException, *, end_ns: int | None = None) -> None:
        """End the call without a reply; the agent's next call counts as another attempt at this step."""
        if not self.ended and isinstance(error, Exception):
            self.agent.failed_step = (self.step, self.attempt)
        super().fail(error, end_ns=end_ns)

    def abandon(self, reason: str = ABANDONED, *, end_ns: int | None = None) -> None:
        if not self.ended and self._partial:
            self.attributes[semconv.OUTPUT_MESSAGES] = [ChatReply(content="".join(self._partial)).to_message()]
        super().abandon(reason, end_ns=end_ns)


class ToolInvocation(Invocation):
    """One call of a tool.

    Args:
        run: The run.
        name: The tool's name.
        arguments: What it is called with.
        call_id: The model's id of the call, which says which reply asked for it.
        attributes: More attributes (description, type).
        parent: The enclosing operation; default the current one.
        start_ns: When it began; default now.

    Attributes:
        step: Index of the step that it belongs to.
        value: What a tool in plain Python returned, when that is plain data and not text; :attr:`NONE` when it
            returned None; else None.
    """

    NONE: ClassVar[Any] = object()
    """Stands for a result that is None, where None itself says that there is nothing to say."""

    operation = semconv.OP_EXECUTE_TOOL
    openinference_kind = semconv.OI_KIND_TOOL

    def __init__(
        self,
        run: RunInvocation,
        name: str,
        *,
        arguments: object = None,
        call_id: str | None = None,
        attributes: dict[str, Any] | None = None,
        parent: Invocation | None = None,
        start_ns: int | None = None,
    ) -> None:
        agent = enclosing_agent(parent, run)
        self.value: Any = None
        self.step, owner = run.step_of_tool(agent, call_id)
        known = {
            semconv.TOOL_NAME: name,
            semconv.TOOL_CALL_ID: call_id or None,
            semconv.TOOL_CALL_ARGUMENTS: arguments,
            semconv.AGENT_NAME: owner,
            semconv.STEP_INDEX: self.step,
        }
        super().__init__(run, name, parent=parent, start_ns=start_ns, attributes={**known, **(attributes or {})})

    def hand_off(self, recipient: str, *, returns: bool = False) -> None:
        """Say that this call passes control to ``recipient``; ``returns`` when the caller gets it back (delegation)."""
        self.set(semconv.STEP_RECIPIENT, recipient)
        self.set(semconv.TRANSFER_TARGET, recipient)
        self.set(semconv.TRANSFER_MODE, semconv.TRANSFER_RETURN if returns else semconv.TRANSFER_PASS_CONTROL)

    def stop(self, result: object = None, *, error: str | None = None, end_ns: int | None = None) -> None:
        """End the call with its result as the agent sees it; ``error`` when that result says that the tool failed."""
        try:
            if self.ended:
                return
            self.attributes[semconv.TOOL_CALL_RESULT] = None if result is None else to_text(result)
            if error is not None:
                self.attributes[semconv.ERROR_TYPE] = "tool_error"
                self._end(SpanStatus.ERROR, to_text(error), end_ns)
            else:
                self._end(SpanStatus.UNSET, "", end_ns)
        except Exception as failure:
            report(f"record the end of {self.span_name!r}", failure)


def enclosing_agent(invocation: Invocation | None, run: RunInvocation | None = None) -> AgentInvocation | None:
    """The nearest agent turn around ``invocation`` (itself included), or around the current code when None.

    With ``run``, only a turn of that run: inside a run that another team's agent started, that agent is not meant.
    """
    found = invocation if invocation is not None else current_invocation()
    while found is not None and not isinstance(found, AgentInvocation):
        found = found.parent
    return found if found is None or run is None or found.run is run else None


@functools.lru_cache(maxsize=256)  # of a few agents, for every turn, as the two that follow
def prompt_identity(team: str, agent: str, instructions: str | None) -> Mapping[str, Any]:
    """What names an agent's instructions, by our key and by those of the conventions; its id is their version."""
    version = prompt_id(instructions)
    known = {semconv.PROMPT_NAME: f"{team}/{agent}", semconv.PROMPT_VERSION: version, semconv.PROMPT_ID: version}
    return known if version is not None else {}


@functools.lru_cache(maxsize=256)
def tool_definitions(tools: tuple[str, ...]) -> str | None:
    """The tools that an agent may call as the conventions define them, by name alone."""
    return json.dumps([{"type": "function", "name": tool} for tool in tools], ensure_ascii=False) if tools else None


@functools.lru_cache(maxsize=256)
def prompt_id(instructions: str | None) -> str | None:
    """A short stable id of an agent's instructions: 16 hex digits of their SHA-256."""
    return None if instructions is None else hashlib.sha256(instructions.encode("utf-8", "replace")).hexdigest()[:16]
