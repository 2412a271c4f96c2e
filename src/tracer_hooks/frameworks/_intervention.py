"""The seam at the model client and at the tool call: a reply can be recorded, replayed, replaced or prefixed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from tracer_hooks import semconv
from tracer_hooks._guard import report, warn_once
from tracer_hooks.errors import ReplayError
from tracer_hooks.schema import to_json_value
from tracer_hooks.telemetry import (
    ChatInvocation,
    ChatReply,
    Message,
    RunInvocation,
    ToolInvocation,
    enclosing_agent,
    message_text,
)


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """Request that an agent is about to send to its model."""

    agent: str
    """The agent's name."""
    model: str = ""
    """The model's name."""
    messages: tuple[Message, ...] = ()
    """What the model will be shown, system message included."""
    tools: tuple[str, ...] = ()
    """Names of the tools it is offered."""
    step: int | None = None
    """The step that the call belongs to."""
    covert: bool = False
    """Set on a changed request whose change must not show in the trace: the record keeps what was asked before it."""
    told: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """What the agent's instructions are known to be: the team's own first, then what was put in their place. Empty
    where only the messages show them. Filled in by :func:`before_model`."""
    shown: list[ModelRequest] = field(default_factory=list, compare=False, repr=False)
    """The request as the record is to show it, put here by the one who answers it otherwise; shared with its copies."""

    def digest(self) -> str:
        """A hash of agent, messages and tools; equal requests have equal digests in every process."""
        return _digest(self.agent, [*self.messages], [*self.tools])


@dataclass(frozen=True, kw_only=True)
class ToolRequest:
    """A tool call about to be made."""

    agent: str
    """The agent that asked for it."""
    name: str
    """The tool's name."""
    arguments: Any = None
    """Its arguments, as plain data."""
    call_id: str | None = None
    """The model's id of the call."""
    step: int | None = None
    """The step that the call belongs to."""

    def digest(self) -> str:
        """A hash of agent, tool and arguments."""
        return _digest(self.agent, self.name, self.arguments)


@dataclass(frozen=True, kw_only=True)
class ToolReply:
    """Result of a tool call, as the agent gets it."""

    content: str
    """The result as text, or the error's text."""
    is_error: bool = False
    """Whether the tool failed."""
    value: Any = None
    """What the tool itself returned, where that is plain data and not text and the caller is plain Python."""


_Reply = TypeVar("_Reply", ChatReply, ToolReply)


class Intervention:
    """Asked before and after every model and tool call of a run; the default changes nothing.

    A method returns None to leave things as they are. Override what is needed. An exception in a method is our bug and
    is logged, but a :class:`~tracer_hooks.errors.ReplayError` stops the run: a replay that left its record is
    worthless.
    """

    @property
    def changes_replies(self) -> bool:
        """Tell whether :meth:`after_model` may give another reply: no piece of a reply is handed out before it.

        So streams come in one piece where this is true. Default: whether there is an :meth:`after_model` of one's own;
        say False in a class whose :meth:`after_model` only looks, or raises.
        """
        return not _inherits_after_model(self, Intervention)

    def before_model(self, request: ModelRequest) -> ModelRequest | ChatReply | None:
        """Give a reply to skip the call, or a request whose message *texts* were changed."""
        return None

    def after_model(self, request: ModelRequest, reply: ChatReply) -> ChatReply | None:
        """Give another reply in place of ``reply``. Also called for a reply that :meth:`before_model` supplied."""
        return None

    def before_tool(self, request: ToolRequest) -> ToolRequest | ToolReply | None:
        """Give a reply to skip the call, or a request with changed arguments."""
        return None

    def after_tool(self, request: ToolRequest, reply: ToolReply) -> ToolReply | None:
        """Give another reply in place of ``reply``, a failed one included."""
        return None


class Interventions(Intervention):
    """Several interventions as one: the first that supplies a reply wins; changes add up."""

    def __init__(self, parts: Sequence[Intervention]) -> None:
        self.parts = tuple(parts)

    @property
    def changes_replies(self) -> bool:
        return any(part.changes_replies for part in self.parts) or not _inherits_after_model(self, Interventions)

    def before_model(self, request: ModelRequest) -> ModelRequest | ChatReply | None:
        changed = request
        for part in self.parts:
            answer = part.before_model(changed)
            if isinstance(answer, ChatReply) or (answer is not None and answer.covert and not changed.covert):
                # What was changed openly up to here belongs into the record all the same.
                if changed is not request and not changed.covert:
                    request.shown.append(changed)
                if isinstance(answer, ChatReply):
                    return answer
            changed = answer or changed
        return None if changed is request else changed

    def after_model(self, request: ModelRequest, reply: ChatReply) -> ChatReply | None:
        return self._after("after_model", request, reply)

    def before_tool(self, request: ToolRequest) -> ToolRequest | ToolReply | None:
        changed = request
        for part in self.parts:
            answer = part.before_tool(changed)
            if isinstance(answer, ToolReply):
                return answer
            changed = answer or changed
        return None if changed is request else changed

    def after_tool(self, request: ToolRequest, reply: ToolReply) -> ToolReply | None:
        return self._after("after_tool", request, reply)

    def _after(self, method: str, request: ModelRequest | ToolRequest, reply: _Reply) -> _Reply | None:
        changed = reply
        for part in self.parts:
            changed = getattr(part, method)(request, changed) or changed
        return None if changed is reply else changed


@dataclass
class ReplaceModelReply(Intervention):
    """Replaces, or with a function changes, the model replies that ``matches`` picks."""

    matches: Callable[[ModelRequest], bool]
    change: Callable[[ChatReply], ChatReply]

    def after_model(self, request: ModelRequest, reply: ChatReply) -> ChatReply | None:
        return self.change(reply) if self.matches(request) else None

    @classmethod
    def at_step(cls, step: int, content: str) -> ReplaceModelReply:
        """Replaces the text of the reply at one step; the tools it called are called no more."""
        return cls(lambda request: request.step == step, lambda reply: replace(reply, content=content, tool_calls=()))

    @classmethod
    def prefix(cls, step: int, text: str) -> ReplaceModelReply:
        """Puts ``text`` before the reply at one step."""
        return cls(lambda request: request.step == step, lambda reply: replace(reply, content=text + reply.content))


@dataclass
class ReplaceToolReply(Intervention):
    """Replaces, or with a function changes, the tool results that ``matches`` picks."""

    matches: Callable[[ToolRequest], bool]
    change: Callable[[ToolReply], ToolReply]

    def after_tool(self, request: ToolRequest, reply: ToolReply) -> ToolReply | None:
        return self.change(reply) if self.matches(request) else None


@dataclass
class RecordReplies(Intervention):
    """Keeps every model and tool reply of a run, in order."""

    models: list[tuple[ModelRequest, ChatReply]] = field(default_factory=list)
    tools: list[tuple[ToolRequest, ToolReply]] = field(default_factory=list)

    @property
    def changes_replies(self) -> bool:
        return not _inherits_after_model(self, RecordReplies)

    def after_model(self, request: ModelRequest, reply: ChatReply) -> None:
        self.models.append((request, reply))

    def after_tool(self, request: ToolRequest, reply: ToolReply) -> None:
        self.tools.append((request, reply))


def before_model(run: RunInvocation, request: ModelRequest) -> ModelRequest | ChatReply | None:
    """Ask the run's intervention before a model call. For adapters."""
    if run.intervention is None:
        return None
    given = replace(request, told=(*request.told, *_known_instructions(run, request.agent)), shown=[])
    answer: ModelRequest | ChatReply | None = _ask(run, "before_model", given)
    if answer is None or answer is given:
        return None
    shown = given.shown[-1] if given.shown else answer
    if isinstance(shown, ModelRequest) and (given.shown or not shown.covert):
        # What an adapter does not record: the instructions in use, and what was changed before a reply.
        if shown.told != given.told:
            run.use_instructions(given.agent, shown.told[-1])
        if shown is not answer:
            run.show_request(given.agent, given.step, shown.messages)
    return answer


@dataclass(frozen=True, kw_only=True)
class AskedModel:
    """Answer to asking before a model call."""

    request: ModelRequest
    """The request, with the changes that the record shows."""
    reply: ChatReply | None = None
    """The reply in place of the call."""
    texts: Mapping[int, str] = field(default_factory=dict)
    """Texts to put into the native messages, by position."""


def ask_model(chat: ChatInvocation, tools: Iterable[str], *, told: tuple[str, ...] = ()) -> AskedModel:
    """Ask the run's intervention before a model call that is open; what it changes goes into the record. For adapters.

    Args:
        chat: The call.
        tools: Names of the tools that the model is offered.
        told: The agent's instructions, as far as the framework knows them.
    """
    request = ModelRequest(
        agent=chat.agent.spec.name,
        model=chat.name,
        messages=tuple(chat.attributes.get(semconv.INPUT_MESSAGES) or ()),
        tools=tuple(tools),
        step=chat.step,
        told=told,
    )
    answer = before_model(chat.run, request)
    if answer is None or isinstance(answer, ChatReply):
        return AskedModel(request=request, reply=answer)
    texts = changed_texts(request.messages, answer.messages)
    if answer.covert:
        return AskedModel(request=request, texts=texts)
    chat.set(semconv.INPUT_MESSAGES, list(answer.messages))
    return AskedModel(request=answer, texts=texts)


def after_model(run: RunInvocation, request: ModelRequest, reply: ChatReply) -> ChatReply:
    """Ask the run's intervention after a model call; gives the reply to use. For adapters."""
    return _ask(run, "after_model", request, reply) or reply


def may_change_replies(run: RunInvocation) -> bool:
    """Tell whether a streamed reply has to be held back until :func:`after_model` was asked about it. For adapters."""
    intervention = run.intervention
    if intervention is None:
        return False
    try:
        return bool(intervention.changes_replies)
    except Exception as error:
        report(f"ask whether {type(intervention).__name__} changes replies", error)
        return True


def after_stream(run: RunInvocation, request: ModelRequest, reply: ChatReply) -> None:
    """Show the run's intervention a reply whose pieces were handed out as they came. For adapters.

    It takes the place of :func:`after_model` where :func:`may_change_replies` says no.
    """
    if after_model(run, request, reply) is not reply:
        name = type(run.intervention).__name__
        warn_once(
            f"late reply {name}",
            "the intervention %s gave another reply after the first had been streamed, so that stays. Say "
            "changes_replies = True in its class",
            name,
        )


def tool_request(call: ToolInvocation) -> ToolRequest:
    """Return the request that the run's intervention is given for a tool call that is open. For adapters."""
    return ToolRequest(
        agent=str(call.attributes.get(semconv.AGENT_NAME)),
        name=call.name,
        arguments=to_json_value(call.attributes.get(semconv.TOOL_CALL_ARGUMENTS)),
        call_id=call.attributes.get(semconv.TOOL_CALL_ID),
        step=call.step,
    )


def before_tool(run: RunInvocation, request: ToolRequest) -> ToolRequest | ToolReply | None:
    """Ask the run's intervention before a tool call. For adapters."""
    return _ask(run, "before_tool", request)  # type: ignore[no-any-return]


def after_tool(run: RunInvocation, request: ToolRequest, reply: ToolReply) -> ToolReply:
    """Ask the run's intervention after a tool call; gives the reply to use. For adapters."""
    return _ask(run, "after_tool", request, reply) or reply


def changed_texts(before: Sequence[Message], after: Sequence[Message]) -> dict[int, str]:
    """The texts that a changed request has at each position where it differs; adapters put them into native messages.

    Raises:
        ReplayError: The number of messages differs, which no adapter can carry out.
    """
    if len(before) != len(after):
        raise ReplayError(
            f"an intervention changed the number of messages from {len(before)} to {len(after)}; "
            "it may only change their texts"
        )
    return {i: message_text(new) for i, (old, new) in enumerate(zip(before, after, strict=True)) if old != new}


def _known_instructions(run: RunInvocation, agent: str) -> tuple[str, ...]:
    """The team's own instructions of an agent: those of the roster, and those of its present turn."""
    turn = enclosing_agent(None, run)
    own = (run.instructions_of(agent), turn.spec.instructions if turn is not None and turn.spec.name == agent else None)
    return tuple(dict.fromkeys(text for text in own if text is not None))


def _ask(run: RunInvocation, method: str, *args: Any) -> Any:
    intervention = run.intervention
    if intervention is None:
        return None
    try:
        return getattr(intervention, method)(*args)
    except ReplayError:
        raise
    except Exception as error:
        report(f"ask the intervention {type(intervention).__name__}.{method}", error)
        return None


def _inherits_after_model(intervention: Intervention, owner: type[Intervention]) -> bool:
    """Tell whether its ``after_model`` is that of ``owner``: no class below, nor the object itself, has put another."""
    return getattr(intervention.after_model, "__func__", None) is owner.after_model


def _digest(*parts: Any) -> str:
    text = json.dumps([to_json_value(part) for part in parts], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
