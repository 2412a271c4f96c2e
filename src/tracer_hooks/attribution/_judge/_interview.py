"""Asking the judge about one trajectory: within the budget, from the cache where it can be, repaired once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar, Unpack

from tracer_hooks.attribution._judge._budget import Meter
from tracer_hooks.attribution._judge._cache import ReplyCache
from tracer_hooks.attribution._judge._call_log import Call, CallDetails, CallLog
from tracer_hooks.attribution._judge._case import Case, ReplyError
from tracer_hooks.attribution._judge._chat import ChatMessage, ChatModel, ChatReply, ChatRequest
from tracer_hooks.attribution._judge._excerpt import cut
from tracer_hooks.attribution._judge._options import JudgeOptions, variable_of
from tracer_hooks.attribution._judge._parsing import parse_reply
from tracer_hooks.attribution._judge._prompts import render
from tracer_hooks.attribution._judge._replies import Reply
from tracer_hooks.attribution._judge._schemas import reply_schema
from tracer_hooks.attribution._judge._transcript import Transcript
from tracer_hooks.attribution._judge._verdict import Verdict
from tracer_hooks.errors import AttributionError, OutputParseError

R = TypeVar("R", bound=Reply)
T = TypeVar("T")

_BAD_REPLY_CHARS, _COMPLAINT_CHARS = 500, 400
_REPAIR_TOKENS = 700
"""What the second attempt adds to a prompt at most, in any script: the bad reply and what was wrong with it, cut."""
_LEAST_ROOM = 200


@dataclass(frozen=True, kw_only=True)
class Question(Generic[R, T]):
    """One thing to ask: a prompt, the form of the reply, and what is made of it."""

    prompt: str
    """Name of the template."""
    values: Mapping[str, object]
    """What the template is filled with, besides the case."""
    kind: type[R]
    """Form of the reply."""
    read: Callable[[R, ChatReply], T]
    """Makes the answer of a reply, or raises :class:`ReplyError`."""
    steps: Sequence[int] | None = None
    """The steps that the reply may name; None allows all that may be the answer."""
    labels: tuple[str, ...] = ()
    """Labels of the options, when the reply is a choice among them."""


@dataclass(frozen=True, kw_only=True)
class Desk:
    """What all interviews of one attributor share."""

    model: ChatModel
    options: JudgeOptions
    cache: ReplyCache
    log: CallLog


@dataclass(kw_only=True)
class Interview:
    """The conversation about one trajectory."""

    desk: Desk
    case: Case
    protocol: str
    meter: Meter
    best: Verdict | None = None
    """The best answer so far, for when the budget is spent."""
    transcript: Transcript = field(init=False)

    def __post_init__(self) -> None:
        model, options = self.desk.model, self.desk.options
        self.transcript = Transcript(self.case.trajectory, model.count_tokens, options.step_chars)

    def room(self, prompt: str, **values: object) -> int:
        """Tokens that the steps of the run may take in a prompt.

        Raises:
            AttributionError: The context is too small for the question alone.
        """
        model, options = self.desk.model, self.desk.options
        fixed = model.count_tokens(self._system()) + model.count_tokens(self._ask(prompt, {**values, "steps": ""}))
        left = model.context_tokens - options.reply_tokens - fixed - _REPAIR_TOKENS
        if left < _LEAST_ROOM:
            needed = model.context_tokens - left + _LEAST_ROOM
            raise AttributionError(
                f"a context of {model.context_tokens} tokens is too small for the judge {model.name!r}, expected "
                f"{needed} or more. Set {variable_of('context_tokens')} to what the model takes"
            )
        return left

    def messages(self, prompt: str, values: Mapping[str, object]) -> tuple[ChatMessage, ...]:
        """What the model is told and asked, before it has said anything."""
        return ChatMessage("system", self._system()), ChatMessage("user", self._ask(prompt, values))

    def ask(self, question: Question[R, T]) -> T:
        """The answer to ``question``.

        Raises:
            OutputParseError: Neither the reply nor its repair can be used.
            BudgetSpentError: The call would go beyond the budget.
            AttributionError: The model gave no reply.
        """
        asked = self.messages(question.prompt, question.values)
        request, cache, identity = self._request(question, asked), self.desk.cache, self.desk.model.identity
        known = cache.get(identity, request)
        if known is not None:
            self._log(question, request, known, is_cached=True)
        reply = known if known is not None else self._call(question, request)
        try:
            answer = self._read(question, reply)
        except ReplyError as problem:
            reply, answer = self._repair(question, asked, reply, problem)
        if reply is not known:
            cache.put(identity, request, reply)
        return answer

    def _repair(
        self, question: Question[R, T], asked: tuple[ChatMessage, ...], bad: ChatReply, problem: ReplyError
    ) -> tuple[ChatReply, T]:
        """A second reply to the same question, after what was wrong with the first."""
        complaint = render("repair", problem=str(problem)[:_COMPLAINT_CHARS])
        shown = cut(bad.text.strip(), _BAD_REPLY_CHARS) or "(nothing)"
        messages = (*asked, ChatMessage("assistant", shown), ChatMessage("user", complaint))
        reply = self._call(question, self._request(question, messages), problem=f"repairs: {problem}")
        try:
            return reply, self._read(question, reply)
        except ReplyError as again:
            raise OutputParseError(
                f"the judge {self.desk.model.name!r} gave no usable reply about run {self.case.trajectory.run_id!r}, "
                f"also when shown its error: {again}. Expected the JSON of the prompt {question.prompt!r}; try a "
                f"larger model, or another {variable_of('protocol')}",
                raw=reply.text,
            ) from again

    def _read(self, question: Question[R, T], reply: ChatReply) -> T:
        return question.read(parse_reply(reply.text, question.kind, is_cut=reply.is_cut), reply)

    def _call(self, question: Question[R, T], request: ChatRequest, *, problem: str | None = None) -> ChatReply:
        model, began = self.desk.model, time.monotonic()
        self.meter.admit(sum(model.count_tokens(message.content) for message in request.messages))
        try:
            reply = model.complete(request, timeout_s=self.meter.seconds_left())
        except AttributionError as error:
            self._log(question, request, None, elapsed_s=time.monotonic() - began, problem=str(error))
            self.meter.check_time()  # a call that was cut short by the budget is no failure of the endpoint
            raise
        self.meter.spend(reply.usage)
        self._log(question, request, reply, elapsed_s=time.monotonic() - began, problem=problem)
        return reply

    def _request(self, question: Question[R, T], messages: tuple[ChatMessage, ...]) -> ChatRequest:
        options = self.desk.options
        return ChatRequest(
            messages=messages,
            schema=reply_schema(question.kind, self.case, steps=question.steps, labels=question.labels),
            schema_name=question.prompt,
            max_tokens=options.reply_tokens,
            temperature=options.temperature,
            seed=options.seed,
            labels=question.labels,
        )

    def _log(
        self, question: Question[R, T], request: ChatRequest, reply: ChatReply | None, **details: Unpack[CallDetails]
    ) -> None:
        self.desk.log.add(
            Call(
                run_id=self.case.trajectory.run_id,
                protocol=self.protocol,
                question=question.prompt,
                model=self.desk.model.name,
                request=request,
                reply=reply,
                **details,
            )
        )

    def _system(self) -> str:
        return render("system", case=self.case)

    def _ask(self, prompt: str, values: Mapping[str, object]) -> str:
        return render(prompt, case=self.case, **values)
