"""The questions to the judge about one trajectory: within a budget, from a cache where it can be, and logged."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar, Unpack

from tracer_hooks.diagnosis.judge._case import JudgeCase, JudgeVerdict
from tracer_hooks.diagnosis.judge._options import JudgeBudget, JudgeOptions, variable_of
from tracer_hooks.diagnosis.judge._prompts import RunTranscript, cut, render
from tracer_hooks.diagnosis.judge._replies import JudgeReply, ReplyError, parse_reply, reply_schema
from tracer_hooks.endpoint import ChatCompletion, ChatMessage, ChatModel, ChatRequest
from tracer_hooks.errors import AttributionError, ConfigError, OutputParseError
from tracer_hooks.schema import Usage

R = TypeVar("R", bound=JudgeReply)
T = TypeVar("T")

_BAD_REPLY_CHARS, _COMPLAINT_CHARS = 500, 400
_REPAIR_TOKENS = 700
"""The tokens that the second attempt adds to a prompt at most, in any script: the bad reply and its complaint, cut."""
_LEAST_ROOM = 200
_log = logging.getLogger("tracer_hooks")


class JudgeBudgetSpentError(AttributionError):
    """No further call may be made; never leaves the attributor, which then gives the best answer so far."""


class Meter:
    """Counts what one diagnosis has cost so far."""

    def __init__(self, budget: JudgeBudget) -> None:
        self._budget = budget
        self._began = time.monotonic()
        self.calls = 0
        self.usage = Usage()

    def admit(self, prompt_tokens: int) -> None:
        """Count one call, or refuse it.

        Raises:
            JudgeBudgetSpentError: The call would go beyond a limit.
        """
        budget, used = self._budget, self.usage.total
        if budget.calls is not None and self.calls >= budget.calls:
            raise JudgeBudgetSpentError(f"judge budget spent: {self.calls} calls")
        if budget.tokens is not None and used + prompt_tokens > budget.tokens:
            raise JudgeBudgetSpentError(f"judge budget spent: {used} of {budget.tokens} tokens, more are needed")
        self.check_time()
        self.calls += 1

    def spend(self, usage: Usage) -> None:
        """Count the tokens of a call."""
        self.usage += usage

    def seconds_left(self) -> float | None:
        """Seconds that are left, not below 0; None when there is no limit."""
        if self._budget.seconds is None:
            return None
        return max(0.0, self._began + self._budget.seconds - time.monotonic())

    def check_time(self) -> None:
        """Refuse to go on when the time is over.

        Raises:
            JudgeBudgetSpentError: No second is left.
        """
        if self.seconds_left() == 0.0:
            raise JudgeBudgetSpentError(f"judge budget spent: {self._budget.seconds:g} seconds")


class ReplyCache:
    """Replies by everything that decides them: model, endpoint, messages, schema, sampling.

    Only replies that could be read are kept. A file that is damaged counts as absent, and a directory that cannot be
    written to costs a log line, not the diagnosis. Several processes may use one directory.
    """

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._is_broken = False

    def get(self, identity: str, request: ChatRequest) -> ChatCompletion | None:
        """The reply to ``request``, its usage 0; None when there is none."""
        if self._directory is None:
            return None
        try:
            data = json.loads(_path(self._directory, identity, request).read_text(encoding="utf-8"))
            return ChatCompletion(text=str(data["text"]), usage=Usage(), label_logprobs=_floats(data["label_logprobs"]))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None

    def put(self, identity: str, request: ChatRequest, reply: ChatCompletion) -> None:
        """Keep the reply to ``request``."""
        if self._directory is None or self._is_broken:
            return
        data = {"text": reply.text, "label_logprobs": _floats(reply.label_logprobs)}
        try:
            _write(_path(self._directory, identity, request), json.dumps(data, ensure_ascii=False))
        except OSError as error:
            self._is_broken = True
            _log.warning("the judge keeps no replies: cannot write to %r (%s)", str(self._directory), error.strerror)


def _path(directory: Path, identity: str, request: ChatRequest) -> Path:
    key = hashlib.sha256(json.dumps(_key(identity, request), sort_keys=True).encode()).hexdigest()
    return directory / key[:2] / f"{key}.json"


def _key(identity: str, request: ChatRequest) -> list[Any]:
    messages = [[message.role, message.content] for message in request.messages]
    sampling = [request.max_tokens, request.temperature, request.seed, list(request.labels)]
    return [identity, messages, request.schema, sampling]


def _floats(values: Mapping[str, Any] | None) -> dict[str, float] | None:
    return None if values is None else {name: float(value) for name, value in values.items()}


def _write(path: Path, text: str) -> None:
    """Write whole or not at all: another process may read at any time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


class CallDetails(TypedDict, total=False):
    """Details of how a call went."""

    elapsed_s: float
    is_cached: bool
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCall:
    """One question and what came of it."""

    run_id: str
    protocol: str
    question: str
    """Name of the prompt."""
    model: str
    request: ChatRequest
    reply: ChatCompletion | None
    """None when the call failed."""
    elapsed_s: float = 0.0
    is_cached: bool = False
    problem: str | None = None
    """Why the call failed, or why its reply could not be used."""


class CallLog:
    """A JSON lines file that grows; nothing is written without a path. Keys and tokens of access are never in it.

    Raises:
        ConfigError: The file cannot be written.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        if path is not None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.open("a", encoding="utf-8").close()
            except OSError as error:
                raise ConfigError(f"call_log={str(path)!r} of the attributor 'judge': {error.strerror}") from error

    def add(self, call: JudgeCall) -> None:
        """Write one line."""
        if self._path is None:
            return
        line = json.dumps(_line(call), ensure_ascii=False, default=str)
        with self._lock, self._path.open("a", encoding="utf-8", errors="replace") as file:
            file.write(line + "\n")


def _line(call: JudgeCall) -> dict[str, Any]:
    usage = None if call.reply is None else call.reply.usage.model_dump()
    return {
        "at": datetime.now(UTC).isoformat(),
        "run_id": call.run_id,
        "protocol": call.protocol,
        "question": call.question,
        "model": call.model,
        "messages": [asdict(message) for message in call.request.messages],
        "reply": None if call.reply is None else call.reply.text,
        "label_logprobs": None if call.reply is None else call.reply.label_logprobs,
        "usage": usage,
        "elapsed_s": round(call.elapsed_s, 4),
        "cached": call.is_cached,
        "problem": call.problem,
    }


@dataclass(frozen=True, kw_only=True)
class Question(Generic[R, T]):
    """One thing to ask: a prompt, the form of the reply, and what is made of it."""

    prompt: str
    """Name of the template."""
    values: Mapping[str, object]
    """The values of the template, besides the case."""
    kind: type[R]
    """Form of the reply."""
    read: Callable[[R, ChatCompletion], T]
    """Makes the answer of a reply, or raises :class:`ReplyError`."""
    steps: Sequence[int] | None = None
    """The steps that the reply may name; None allows all that may be the answer."""
    labels: tuple[str, ...] = ()
    """Labels of the options, when the reply is a choice among them."""


@dataclass(frozen=True, kw_only=True)
class JudgeResources:
    """Model, options, cache and log, which all sessions of one attributor share."""

    model: ChatModel
    options: JudgeOptions
    cache: ReplyCache
    log: CallLog


@dataclass(kw_only=True)
class JudgeSession:
    """The conversation about one trajectory."""

    resources: JudgeResources
    case: JudgeCase
    protocol: str
    meter: Meter
    best: JudgeVerdict | None = None
    """The best answer so far, for when the budget is spent."""
    transcript: RunTranscript = field(init=False)

    def __post_init__(self) -> None:
        model, options = self.resources.model, self.resources.options
        self.transcript = RunTranscript(self.case.trajectory, model.count_tokens, options.step_chars)

    def room(self, prompt: str, **values: object) -> int:
        """Tokens that the steps of the run may take in a prompt.

        Raises:
            AttributionError: The context is too small for the question alone.
        """
        model, options = self.resources.model, self.resources.options
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
        """The prompt, before the model has answered anything."""
        return ChatMessage("system", self._system()), ChatMessage("user", self._ask(prompt, values))

    def ask(self, question: Question[R, T]) -> T:
        """The answer to ``question``.

        Raises:
            OutputParseError: Neither the reply nor its repair can be used.
            JudgeBudgetSpentError: The call would go beyond the budget.
            AttributionError: The model gave no reply.
        """
        asked = self.messages(question.prompt, question.values)
        request, cache, identity = self._request(question, asked), self.resources.cache, self.resources.model.identity
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
        self, question: Question[R, T], asked: tuple[ChatMessage, ...], bad: ChatCompletion, problem: ReplyError
    ) -> tuple[ChatCompletion, T]:
        """A second reply to the same question, after what was wrong with the first."""
        complaint = render("repair", problem=str(problem)[:_COMPLAINT_CHARS])
        shown = cut(bad.text.strip(), _BAD_REPLY_CHARS) or "(nothing)"
        messages = (*asked, ChatMessage("assistant", shown), ChatMessage("user", complaint))
        reply = self._call(question, self._request(question, messages), problem=f"repairs: {problem}")
        try:
            return reply, self._read(question, reply)
        except ReplyError as again:
            raise OutputParseError(
                f"the judge {self.resources.model.name!r} gave no usable reply about run "
                f"{self.case.trajectory.run_id!r}, also when shown its error: {again}. Expected the JSON of the prompt "
                f"{question.prompt!r}; try a larger model, or another {variable_of('protocol')}",
                raw=reply.text,
            ) from again

    def _read(self, question: Question[R, T], reply: ChatCompletion) -> T:
        return question.read(parse_reply(reply.text, question.kind, is_cut=reply.is_cut), reply)

    def _call(self, question: Question[R, T], request: ChatRequest, *, problem: str | None = None) -> ChatCompletion:
        model, began = self.resources.model, time.monotonic()
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
        options = self.resources.options
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
        self,
        question: Question[R, T],
        request: ChatRequest,
        reply: ChatCompletion | None,
        **details: Unpack[CallDetails],
    ) -> None:
        self.resources.log.add(
            JudgeCall(
                run_id=self.case.trajectory.run_id,
                protocol=self.protocol,
                question=question.prompt,
                model=self.resources.model.name,
                request=request,
                reply=reply,
                **details,
            )
        )

    def _system(self) -> str:
        return render("system", case=self.case)

    def _ask(self, prompt: str, values: Mapping[str, object]) -> str:
        return render(prompt, case=self.case, **values)
