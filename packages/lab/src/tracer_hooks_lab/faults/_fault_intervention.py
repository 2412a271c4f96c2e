"""The intervention that puts one fault into a run, once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import replace
from random import Random
from typing import TypeVar

from tracer_hooks.errors import FaultError
from tracer_hooks.frameworks import Intervention, ModelRequest, ToolReply, ToolRequest
from tracer_hooks.schema import ErrorMode, Record, Text, Trajectory
from tracer_hooks.telemetry import ChatReply, Message, message_text, text_message
from tracer_hooks_lab.faults._context import FaultContext, SeenRun, context_of_request, reply_of
from tracer_hooks_lab.faults._corruption import reply_text
from tracer_hooks_lab.faults._spec import ChannelFault, FaultSpec, FaultStrategy, ToolFault
from tracer_hooks_lab.faults._tool_and_channel_faults import faulty_messages, faulty_tool_reply
from tracer_hooks_lab.faults._writer import FaultWriter, ProgrammaticWriter

Matches = Callable[[ModelRequest], bool]
"""Says whether a request is the one that the fault belongs to."""
Key = tuple[Hashable, ...]
Change = TypeVar("Change")


class AppliedFault(Record):
    """A fault as it was really put into a run."""

    step: int
    """The step that errs."""
    agent: Text
    """The agent that errs."""
    strategy: FaultStrategy
    """How the fault was put in."""
    mode: ErrorMode | None = None
    """How the agent errs."""
    kind: Text
    """The mutator, tool fault or channel fault; ``"instruction"`` for a prompt, ``"llm"`` for a model's reply."""
    before: Text
    """The reply, system message, tool result or request texts as they were."""
    after: Text
    """The same as the run went on with."""


class FaultInjector(Intervention):
    """Puts one fault into one run: at one step of one agent, once; use a new one for every run.

    What it changes, by strategy: the model's reply (*response corruption*), the system message of the request (*prompt
    injection*, covertly), the others' messages in the request (*channel*, covertly), or one tool result (*tool*). A
    step that the framework asks for again gets the same change again. Replies that a tape supplies are changed like
    live ones, but a prompt or channel fault needs a live model: no tape may supply the reply of its step.
    Branches may run in parallel threads.

    An injector never disturbs the run: when its fault cannot be put in, the run goes on unchanged, ``applied`` stays
    None, and ``problem`` says why, if the step was reached at all.

    Args:
        spec: The fault.
        trajectory: A recorded run of the same team and task, whose steps before the fault are the same: it gives the
            task, the roster and, for writers of instructions, the reply without the fault.
        task: What the team was asked, when there is no recorded run.
        writer: Who writes when the spec says ``llm``; the mutators do else. Wrap it in :class:`WriteOnce` when the same
            fault goes into several runs.
        matches: Decides which model request it is in place of the spec's step and agent; tool calls go by those.

    Raises:
        FaultError: The spec has no step and nothing else says where, or it wants a language model and has no writer.
    """

    def __init__(
        self,
        spec: FaultSpec,
        *,
        trajectory: Trajectory | None = None,
        task: str = "",
        writer: FaultWriter | None = None,
        matches: Matches | None = None,
    ) -> None:
        if spec.step is None and (matches is None or spec.strategy is FaultStrategy.TOOL):
            raise FaultError(f"fault {spec.fault_id} has no step, expected a step or matches=. Run: plan_faults(...)")
        if spec.writer == "llm" and writer is None:
            raise FaultError(f"fault {spec.fault_id} is written by 'llm', expected writer=LLMWriter(...)")
        self.spec = spec
        self.applied: AppliedFault | None = None
        """What was done; None as long as nothing was."""
        self.problem: FaultError | None = None
        """Why nothing could be done at the step."""
        self._recorded = trajectory
        self._writer: FaultWriter = writer if writer is not None and spec.writer == "llm" else ProgrammaticWriter()
        self._matches = matches or self._at_step
        self._seen = SeenRun(trajectory, task)
        self._turn = threading.RLock()
        self._done: dict[Key, object] = {}

    @property
    def changes_replies(self) -> bool:
        """Only where the fault is a corrupted reply; else :meth:`after_model` only keeps what was said."""
        return self.spec.strategy is FaultStrategy.RESPONSE_CORRUPTION

    def before_model(self, request: ModelRequest) -> ModelRequest | None:
        """The request with an instruction laid in, or with the others' messages changed."""
        if self.spec.strategy is FaultStrategy.PROMPT_INJECTION and self._matches(request):
            said = self._once(_key(request), lambda: self._instruction(request))
            return None if said is None else _instructed(request, said)
        if self.spec.strategy is FaultStrategy.CHANNEL and self._matches(request):
            messages = self._once(_key(request), lambda: self._changed_messages(request))
            same_length = messages is not None and len(messages) == len(request.messages)
            return replace(request, messages=messages, covert=True) if messages is not None and same_length else None
        return None

    def after_model(self, request: ModelRequest, reply: ChatReply) -> ChatReply | None:
        """The corrupted reply, at the step of the fault."""
        changed = None
        if self.spec.strategy is FaultStrategy.RESPONSE_CORRUPTION and self._matches(request):
            changed = self._once(_key(request), lambda: self._corrupted(request, reply))
        self._seen.reply(request, changed or reply)
        return changed

    def after_tool(self, request: ToolRequest, reply: ToolReply) -> ToolReply | None:
        """The faulty result, for the first tool call of the step that can carry the fault."""
        changed = None
        if self.spec.strategy is FaultStrategy.TOOL and self._at_step(request):
            changed = self._once(_tool_key(request), lambda: self._faulty_result(request, reply))
        self._seen.tool_result(request, changed or reply)
        return changed

    def _at_step(self, request: ModelRequest | ToolRequest) -> bool:
        return request.step == self.spec.step and self.spec.agent in (None, request.agent)

    def _once(self, key: Key, make: Callable[[], Change]) -> Change | None:
        """Return what ``make`` gives, made at most once in the run and the same whenever ``key`` comes again."""
        with self._turn:
            if key in self._done:
                return self._done[key]  # type: ignore[return-value]  # what make gave for this key
            if self.applied is not None:
                return None
            try:
                change: Change | None = make()
            except FaultError as error:
                self.problem, change = error, None
            else:
                self.problem = None
            self._done[key] = change
            return change

    def _corrupted(self, request: ModelRequest, reply: ChatReply) -> ChatReply:
        done = self._writer.corrupt(self.spec, self._context(request).with_reply(reply))
        self._note(request, done.kind, reply_text(reply), reply_text(done.reply))
        # The usage and the ids stay those of the call that was really made.
        return replace(reply, **{name: getattr(done.reply, name) for name in _WRITTEN})

    def _instruction(self, request: ModelRequest) -> str:
        if not request.messages:
            raise FaultError(f"the request of {request.agent!r} at step {request.step} has no message to lay it into")
        context = self._context(request)
        if self._recorded is not None and request.step is not None and request.step < len(self._recorded.steps):
            context = context.with_reply(reply_of(self._recorded.steps[request.step]))
        said = self._writer.instruct(self.spec, context)
        place = _instructed_place(request)
        changed = _instructed(request, said)
        self._note(request, "instruction", message_text(request.messages[place]), message_text(changed.messages[place]))
        return said

    def _changed_messages(self, request: ModelRequest) -> tuple[Message, ...]:
        others = self._context(request).others
        for kind in self._kinds(ChannelFault):
            changed = faulty_messages(kind, request.messages, others, self._rng(kind))
            if changed is not None:
                self._note(request, kind.value, _texts(request.messages), _texts(changed))
                return changed
        raise FaultError(f"no message of another agent that the request at step {request.step} shows can be changed so")

    def _faulty_result(self, request: ToolRequest, reply: ToolReply) -> ToolReply:
        earlier = self._seen.results_of(request.name)
        known = self._seen.texts()
        for kind in self._kinds(ToolFault):
            rng = self._rng(kind)
            changed = faulty_tool_reply(kind, request.name, reply, earlier=earlier, known=known, rng=rng)
            if changed is not None:
                self._note(request, kind.value, reply.content, changed.content)
                return changed
        raise FaultError(
            f"the result of {request.name!r} at step {request.step} cannot be changed so: {reply.content!r}"
        )

    def _kinds(self, kinds: type[Kind]) -> list[Kind]:
        if self.spec.kind is not None:
            return [kinds(self.spec.kind)]
        every = list(kinds)
        Random(self.spec.seed).shuffle(every)
        return every

    def _rng(self, kind: str) -> Random:
        return Random(f"{self.spec.seed}/{kind}")

    def _context(self, request: ModelRequest) -> FaultContext:
        return context_of_request(
            request, task=self._seen.task(request), roster=self._seen.roster, history=self._seen.before(request.step)
        )

    def _note(self, request: ModelRequest | ToolRequest, kind: str, before: str, after: str) -> None:
        step = request.step if request.step is not None else self.spec.step
        if step is None:
            raise FaultError(f"the request of {request.agent!r} has no step, expected a spec that names one")
        self.applied = AppliedFault(
            step=step,
            agent=request.agent,
            strategy=self.spec.strategy,
            mode=self.spec.mode,
            kind=kind,
            before=before,
            after=after,
        )


Kind = TypeVar("Kind", ToolFault, ChannelFault)
_WRITTEN = ("content", "tool_calls", "chunks", "finish_reason")


def _key(request: ModelRequest) -> Key:
    return (request.agent, request.step if request.step is not None else request.digest())


def _tool_key(request: ToolRequest) -> Key:
    return (request.agent, request.step, request.call_id or request.digest())


def _instructed_place(request: ModelRequest) -> int:
    """The last system message, or the first message of a model that gets none."""
    places = [place for place, message in enumerate(request.messages) if message.get("role") == "system"]
    return places[-1] if places else 0


def _instructed(request: ModelRequest, said: str) -> ModelRequest:
    messages = list(request.messages)
    place = _instructed_place(request)
    old = messages[place]
    text = f"{message_text(old)}\n\n{said}".strip()
    messages[place] = text_message(str(old.get("role", "user")), text, name=old.get("name"))
    return replace(request, messages=tuple(messages), covert=True)


def _texts(messages: tuple[Message, ...]) -> str:
    return "\n".join(message_text(m) for m in messages if m.get("role") != "system")
