"""The judge's model, and the questions to it about one run: within a budget, from a cache where it can be."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tracer_hooks._files import write_files
from tracer_hooks._guard import warn_once
from tracer_hooks.diagnosis.judge._prompts import RunTranscript, cut, render
from tracer_hooks.diagnosis.judge._replies import (
    JudgeCase,
    JudgeReply,
    JudgeVerdict,
    ReplyError,
    parse_reply,
    reply_schema,
)
from tracer_hooks.endpoint import (
    OPENAI,
    ChatCompletion,
    ChatMessage,
    ChatModel,
    ChatRequest,
    Endpoint,
    EndpointClient,
    estimated_tokens,
)
from tracer_hooks.errors import AttributionError, ConfigError, EndpointError, MissingExtraError, OutputParseError
from tracer_hooks.schema import Usage

if TYPE_CHECKING:
    from tracer_hooks.diagnosis.judge._attributor import JudgeBudget, JudgeOptions

R = TypeVar("R", bound=JudgeReply)
T = TypeVar("T")

PREFIX = "TRACER_HOOKS_JUDGE_"
GROUP = "tracer_hooks.judge_models"
"""Entry point group; ``local`` makes a :class:`~tracer_hooks.endpoint.ChatModel` of options whose model is a folder."""
_MOST_BYTES_PER_TOKEN = 8
"""Text of any kind has more tokens than this; Ollama cuts longer prompts to its context and answers all the same."""
_BAD_REPLY_CHARS, _COMPLAINT_CHARS = 500, 400
_REPAIR_TOKENS = 700
"""The tokens that the second attempt adds to a prompt at most, in any script: the bad reply and its complaint, cut."""
_LEAST_ROOM = 200


def variable_of(name: str) -> str:
    """The environment variable of an option that has one."""
    return PREFIX + {"context_tokens": "CONTEXT", "timeout_s": "TIMEOUT"}.get(name, name.upper())


_OWN_KEY = variable_of("api_key")


def model_of(options: JudgeOptions) -> ChatModel:
    """The model that ``options`` name.

    Raises:
        ConfigError: They name none, or there is no key for its endpoint; the message says what to set.
        MissingExtraError: It needs a distribution that is not installed.
    """
    if not options.model:
        raise ConfigError(
            f"the attributor 'judge' has no model: set {variable_of('model')} to the name of a model, and "
            f"{variable_of('base_url')} to the OpenAI-compatible endpoint that serves it, such as "
            f"http://127.0.0.1:8000/v1; or set {variable_of('model')} to a directory with a transformers model"
        )
    if options.base_url is not None or not Path(options.model).is_dir():
        return EndpointModel(options)
    for point in entry_points(group=GROUP, name="local"):
        found: Callable[[JudgeOptions], ChatModel] = point.load()
        return found(options)
    raise MissingExtraError("a judge from a local model", "tracer-hooks[models]")


class EndpointModel:
    """A :class:`~tracer_hooks.endpoint.ChatModel` behind an endpoint, whose errors name the judge's settings.

    Raises:
        MissingExtraError: ``openai`` is not installed.
        ConfigError: The endpoint needs a key, and there is none.
    """

    def __init__(self, options: JudgeOptions) -> None:
        self._options = options
        self.name = options.model
        self.context_tokens = options.context_tokens
        base_url = options.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI
        self._client = EndpointClient(
            Endpoint(base_url=base_url, model=options.model, api_key=_key(options), concurrency=options.concurrency),
            needed_by="a judge behind an OpenAI-compatible endpoint",
            timeout_s=options.timeout_s,
            attempts=options.attempts,
            backoff_s=options.backoff_s,
            extra_body=options.extra_body,
        )
        self.identity = json.dumps([self._client.address, self.name, dict(options.extra_body)], sort_keys=True)

    def count_tokens(self, text: str) -> int:
        """An upper estimate; the server's tokenizer is not known."""
        return estimated_tokens(text)

    def complete(self, request: ChatRequest, *, timeout_s: float | None = None) -> ChatCompletion:
        """Answer ``request``; see :class:`~tracer_hooks.endpoint.ChatModel`.

        Raises:
            AttributionError: The endpoint cannot be reached, refuses the request, or answers with something else.
        """
        try:
            reply = self._client.complete(request, timeout_s=timeout_s)
        except EndpointError as error:
            where = f"the judge's endpoint {self._client.address!r}"
            raise AttributionError(f"{where} {error.reason}. {self._next_step(error.kind)}") from error
        sent = sum(len(message.content.encode("utf-8", "replace")) for message in request.messages)
        if 0 < reply.usage.input_tokens < sent // _MOST_BYTES_PER_TOKEN:
            warn_once(
                f"judge's prompts cut by {self.identity}",
                "the judge's endpoint %r read %d tokens of a prompt of %d bytes: it seems to cut prompts. "
                "Set %s to the tokens that it takes, or raise its own limit",
                *(self._client.address, reply.usage.input_tokens, sent, variable_of("context_tokens")),
            )
        return reply

    def _next_step(self, kind: str) -> str:
        return {
            "timeout": f"Set {variable_of('timeout_s')} (now {self._options.timeout_s:g} s)",
            "key": f"Set {_OWN_KEY} to a key that it takes",
            "refused": f"Check the model's name {self.name!r}, and {variable_of('context_tokens')}, what fits",
        }.get(kind, f"Start the server, or set {variable_of('base_url')} to one that is OpenAI-compatible")


def _key(options: JudgeOptions) -> str:
    """The key; a word that means nothing for endpoints that want none. OpenAI's goes to no other endpoint."""
    if options.api_key_env:
        if named := os.environ.get(options.api_key_env):
            return named
        raise ConfigError(
            f"the attributor 'judge' expects its key in the variable {options.api_key_env!r}, which is not set. "
            "Set it, or api_key_env to the name of another one"
        )
    if own := os.environ.get(_OWN_KEY):
        return own
    shared_url = os.environ.get("OPENAI_BASE_URL")
    is_elsewhere = options.base_url is not None and options.base_url != shared_url
    shared = None if is_elsewhere else os.environ.get("OPENAI_API_KEY")
    if shared is None and options.base_url is None and not shared_url:
        raise ConfigError(
            f"the attributor 'judge' has no endpoint for the model {options.model!r}: set {variable_of('base_url')} to "
            f"an OpenAI-compatible one, or OPENAI_API_KEY to use OpenAI's, or {variable_of('model')} to a directory "
            "with a transformers model"
        )
    return shared or "none"


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

    def seconds_left(self) -> float | None:
        """Seconds that are left, not below 0; None when there is no limit."""
        limit = self._budget.seconds
        return None if limit is None else max(0.0, self._began + limit - time.monotonic())

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
        self._lock = threading.RLock()
        self._turns: dict[str, _Turn] = {}

    def __reduce__(self) -> tuple[type[ReplyCache], tuple[Path | None]]:
        """Sent to another process, it knows the directory alone."""
        return ReplyCache, (self._directory,)

    @contextmanager
    def turn(self, identity: str, request: ChatRequest, timeout_s: float | None) -> Iterator[None]:
        """Be the only thread that asks ``request``, after ``timeout_s`` seconds at most; who waited finds the reply.

        Without a directory, too, a reply is there for those who asked the same before it came.
        """
        key = _key_of(identity, request)
        with self._lock:
            turn = self._turns.setdefault(key, _Turn())
            turn.threads += 1
        is_ours = turn.lock.acquire(timeout=-1 if timeout_s is None else timeout_s)
        try:
            yield
        finally:
            if is_ours:
                turn.lock.release()
            with self._lock:
                turn.threads -= 1
                if not turn.threads:
                    del self._turns[key]

    def get(self, identity: str, request: ChatRequest) -> ChatCompletion | None:
        """The reply to ``request``, its usage 0; None when there is none."""
        turn = self._turns.get(_key_of(identity, request))
        if turn is not None and turn.reply is not None:
            return replace(turn.reply, usage=Usage())
        if self._directory is None:
            return None
        try:
            data = json.loads(_path(self._directory, identity, request).read_text(encoding="utf-8"))
            return ChatCompletion(text=str(data["text"]), usage=Usage(), label_logprobs=_floats(data["label_logprobs"]))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None

    def put(self, identity: str, request: ChatRequest, reply: ChatCompletion) -> None:
        """Keep the reply to ``request``."""
        if (turn := self._turns.get(_key_of(identity, request))) is not None:
            turn.reply = reply
        if self._directory is None:
            return
        data = {"text": reply.text, "label_logprobs": _floats(reply.label_logprobs)}
        path = _path(self._directory, identity, request)
        try:
            write_files({path: json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")})
        except OSError as error:
            folder = str(self._directory)
            warn_once(
                f"no replies kept in {folder}",
                "the judge keeps no replies: cannot write to %r (%s)",
                *(folder, error.strerror),
            )


@dataclass
class _Turn:
    """The threads that want the reply to one request, and the reply."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    threads: int = 0
    reply: ChatCompletion | None = None


def _key_of(identity: str, request: ChatRequest) -> str:
    messages = [[message.role, message.content] for message in request.messages]
    sampling = [request.max_tokens, request.temperature, request.seed, list(request.labels)]
    document = json.dumps([identity, messages, request.schema, sampling], sort_keys=True)
    return hashlib.sha256(document.encode()).hexdigest()


def _path(directory: Path, identity: str, request: ChatRequest) -> Path:
    key = _key_of(identity, request)
    return directory / key[:2] / f"{key}.json"


def _floats(values: Mapping[str, Any] | None) -> dict[str, float] | None:
    return None if values is None else {name: float(value) for name, value in values.items()}


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
    """Model, options and cache, which all sessions of one attributor share."""

    model: ChatModel
    options: JudgeOptions
    cache: ReplyCache


@dataclass(kw_only=True)
class JudgeSession:
    """The conversation about one trajectory."""

    resources: JudgeResources
    case: JudgeCase
    protocol: str
    meter: Meter
    system: str = "system"
    """Name of the prompt that goes before every question."""
    best: JudgeVerdict | None = None
    """The best answer so far, for when the budget is spent; in the end the answer."""
    problem: str | None = None
    """The reason that there is no answer, or no finished one."""
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
        fixed = sum(model.count_tokens(each.content) for each in self.messages(prompt, {**values, "steps": ""}))
        left = model.context_tokens - options.reply_tokens - fixed - _REPAIR_TOKENS
        if left < _LEAST_ROOM:
            needed = model.context_tokens - left + _LEAST_ROOM
            raise AttributionError(
                f"a context of {model.context_tokens} tokens is too small for the judge {model.name!r}, expected "
                f"{needed} or more. Set {variable_of('context_tokens')} to what the model takes"
            )
        return left

    def values(self, prompt: str, steps: Sequence[int], focus: Iterable[int], /, **values: object) -> dict[str, object]:
        """The values of a template with ``steps`` in the room that it leaves, those in ``focus`` cut last."""
        return {**values, "steps": self.transcript.fitted(steps, self.room(prompt, **values), focus=focus)}

    def messages(self, prompt: str, values: Mapping[str, object]) -> tuple[ChatMessage, ...]:
        """The prompt, before the model has answered anything."""
        question = render(prompt, case=self.case, **values)
        return ChatMessage("system", render(self.system, case=self.case)), ChatMessage("user", question)

    def ask(self, question: Question[R, T]) -> T:
        """The answer to ``question``.

        Raises:
            OutputParseError: Neither the reply nor its repair can be used.
            JudgeBudgetSpentError: The call would go beyond the budget.
            AttributionError: The model gave no reply.
        """
        asked = self.messages(question.prompt, question.values)
        request, cache, identity = self._request(question, asked), self.resources.cache, self.resources.model.identity
        with cache.turn(identity, request, self.meter.seconds_left()):
            known = cache.get(identity, request)
            reply = known if known is not None else self._call(request)
            try:
                answer = _read(question, reply)
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
        reply = self._call(self._request(question, messages))
        try:
            return reply, _read(question, reply)
        except ReplyError as again:
            raise OutputParseError(
                f"the judge {self.resources.model.name!r} gave no usable reply about run "
                f"{self.case.trajectory.run_id!r}, also when shown its error: {again}. Expected the JSON of the prompt "
                f"{question.prompt!r}; try a larger model, or another {variable_of('protocol')}",
                raw=reply.text,
            ) from again

    def _call(self, request: ChatRequest) -> ChatCompletion:
        model = self.resources.model
        self.meter.admit(sum(model.count_tokens(message.content) for message in request.messages))
        try:
            reply = model.complete(request, timeout_s=self.meter.seconds_left())
        except AttributionError:
            self.meter.check_time()  # a call that was cut short by the budget is no failure of the endpoint
            raise
        self.meter.usage += reply.usage
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


def _read(question: Question[R, T], reply: ChatCompletion) -> T:
    return question.read(parse_reply(reply.text, question.kind, is_cut=reply.is_cut), reply)
