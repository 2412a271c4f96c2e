"""A language model that follows a script, behind a real OpenAI-compatible HTTP server on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

from tracer_hooks.testing._scripted_http import HttpReply, HttpRequest, LoopbackServer
from tracer_hooks.testing._scripted_replies import (
    Answer,
    Drop,
    ErrorReply,
    Garbage,
    Reply,
    ReplyLike,
    as_answer,
)
from tracer_hooks.testing._scripted_request import MalformedRequestError, ScriptedRequest, read_request
from tracer_hooks.testing._scripted_responses import response_body, response_events
from tracer_hooks.testing._scripted_rules import Rule, Script
from tracer_hooks.testing._scripted_wire import (
    CREATED,
    DONE,
    WireReply,
    completion_body,
    completion_events,
    error_body,
)

_ENDPOINTS = {"/v1/chat/completions": "chat/completions", "/v1/responses": "responses"}
_SHOWN = 300

_Body = Callable[[WireReply], dict[str, Any]]
_Events = Callable[[WireReply], Iterator[bytes]]
_FORMATS: dict[str, tuple[_Body, _Events]] = {
    "chat/completions": (completion_body, completion_events),
    "responses": (response_body, response_events),
}


class ScriptedLLM:
    """A model whose every reply is in a script, for tests and demos without a key or a network.

    It serves OpenAI's Chat Completions and Responses APIs on a free port of 127.0.0.1, so AutoGen, CrewAI,
    LangChain and anything else that takes a base URL runs its real client code against it. It starts in
    milliseconds on construction and stops on `close`, at the end of a `with` block, or when the program
    ends::

        with ScriptedLLM(rules=[When(agent="planner").then("Ask the coder."), When().then("42")]) as llm:
            client = openai.OpenAI(base_url=llm.base_url, api_key=llm.api_key)

    The first rule that matches a request answers it, then the ordered replies, then the default. A request
    that nothing answers gets an HTTP 400 that quotes its last message, and is listed in `unmatched`: there is
    no silent default. A reply that is a function is called in a server thread; if it raises, the client gets
    an HTTP 400 and the exception is listed in `script_errors`. Equal runs give equal bytes: ids count the
    uses of each rule and the creation time is fixed.
    """

    def __init__(
        self,
        replies: Sequence[ReplyLike] = (),
        *,
        rules: Iterable[Rule] = (),
        default: ReplyLike | None = None,
        model: str = "scripted",
    ) -> None:
        """Start to serve the script.

        Args:
            replies: Replies in the order of the requests that no rule answered; each is given once.
            rules: `When(...).then(...)`, the first that matches answers.
            default: Answers what neither rules nor replies answered, any number of times.
            model: Name under `/v1/models`, and value of `model`. Requests may ask for any model.

        Raises:
            ConfigError: A rule or reply is of the wrong type.
            OSError: No loopback port is free.
        """
        if isinstance(replies, str):
            replies = (replies,)
        self.model = model
        self._script = Script(tuple(rules), replies, default)
        self._lock = threading.Lock()
        self._arrived = 0
        self._requests: list[ScriptedRequest] = []
        self._unmatched: list[ScriptedRequest] = []
        self._script_errors: list[Exception] = []
        self._server = LoopbackServer(self._respond)

    @property
    def base_url(self) -> str:
        """Base URL for the client, `http://127.0.0.1:PORT/v1`."""
        return f"http://127.0.0.1:{self._server.port}/v1"

    @property
    def api_key(self) -> str:
        """A key for clients that insist on one; the server accepts any."""
        return "sk-scripted"

    @property
    def requests(self) -> list[ScriptedRequest]:
        """Requests so far, in order of arrival, as a new list; malformed ones are left out."""
        with self._lock:
            return list(self._requests)

    @property
    def unmatched(self) -> list[ScriptedRequest]:
        """Requests that nothing in the script answered, as a new list."""
        with self._lock:
            return list(self._unmatched)

    @property
    def script_errors(self) -> list[Exception]:
        """What the script's own functions raised, as a new list."""
        with self._lock:
            return list(self._script_errors)

    @property
    def calls(self) -> int:
        """Number of requests so far, retries of the client included."""
        with self._lock:
            return len(self._requests)

    def env(self) -> dict[str, str]:
        """Give the environment variables that point an OpenAI client at this server."""
        return {
            "OPENAI_BASE_URL": self.base_url,
            "OPENAI_API_BASE": self.base_url,
            "OPENAI_API_KEY": self.api_key,
        }

    def reset(self) -> None:
        """Forget all requests and start the script from its beginning; the port stays."""
        with self._lock:
            self._arrived = 0
            self._requests.clear()
            self._unmatched.clear()
            self._script_errors.clear()
            self._script.reset()

    def close(self) -> None:
        """Stop the server and cut open connections off.

        A second call does nothing; the record of requests stays.
        """
        self._server.stop()

    def __enter__(self) -> ScriptedLLM:
        """Give the running server."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the server."""
        self.close()

    def __repr__(self) -> str:
        """Name the server by its address."""
        return f"ScriptedLLM(base_url={self.base_url!r}, calls={self.calls})"

    def _respond(self, http: HttpRequest) -> HttpReply:
        if http.method == "POST" and http.path in _ENDPOINTS:
            return self._complete(http)
        if http.method == "GET" and http.path == "/health":
            return _json(200, {"status": "ok"})
        if http.method == "GET" and http.path == "/v1/models":
            entry = {"id": self.model, "object": "model", "created": CREATED, "owned_by": "scripted"}
            return _json(200, {"object": "list", "data": [entry]})
        served = ", ".join(f"POST {path}" for path in _ENDPOINTS)
        message = f"{http.method} {http.path} is not served here, expected {served}, GET /v1/models or GET /health."
        return _json(404, error_body(404, message))

    def _complete(self, http: HttpRequest) -> HttpReply:
        try:
            request = self._record(http)
        except MalformedRequestError as error:
            return _json(400, error_body(400, str(error)))
        try:
            turn = self._script.choose(request)
            if turn is None:
                return self._refuse(request)
            answer = as_answer(turn.reply(request) if callable(turn.reply) else turn.reply)
            return _encode(answer, request, turn.key)
        except Exception as error:
            # The script is the test author's code: tell them through the client and through `script_errors`.
            # Not with a 5xx, which clients retry.
            with self._lock:
                self._script_errors.append(error)
            message = f"The script failed on this request with {error!r}; see ScriptedLLM.script_errors."
            return _json(400, error_body(400, message, code="script_error"))

    def _record(self, http: HttpRequest) -> ScriptedRequest:
        try:
            raw = json.loads(http.body)
        except ValueError as error:
            raise MalformedRequestError(f"The body is not JSON: {error}.") from error
        with self._lock:
            request = read_request(self._arrived, _ENDPOINTS[http.path], raw, http.headers)
            self._arrived += 1
            self._requests.append(request)
        return request

    def _refuse(self, request: ScriptedRequest) -> HttpReply:
        with self._lock:
            self._unmatched.append(request)
        spent = self._script.used_up(request)
        why = f" ({spent} that match have no reply left)" if spent else ""
        message = (
            f"Nothing in the script answers request {request.index}{why}. "
            f"Its last message ({request.messages[-1].get('role')}): {request.last[:_SHOWN]!r}. "
            f"Its system text: {request.system[:_SHOWN]!r}. "
            'Add a rule such as When(last="...").then("..."), or default=... for all other requests.'
        )
        return _json(400, error_body(400, message, code="unmatched_request"))


def _encode(answer: Answer, request: ScriptedRequest, key: str) -> HttpReply:
    if isinstance(answer, ErrorReply):
        return _encode_error(answer)
    if isinstance(answer, Garbage):
        return _encode_garbage(answer, request)
    sent = 1.0
    if isinstance(answer, Drop):
        sent, answer = answer.sent, Reply(answer.text, delay_s=answer.delay_s)
    wire = WireReply(answer, request, key)
    body, events = _FORMATS[request.endpoint]
    headers = {"x-request-id": f"req_{key}"}
    if request.stream:
        frames = list(events(wire))
        return HttpReply(
            200, b"", frames, "text/event-stream", headers, delay_s=answer.delay_s, pause_s=answer.pause_s, sent=sent
        )
    return _json(200, body(wire), headers=headers, delay_s=answer.delay_s, sent=sent)


def _encode_error(answer: ErrorReply) -> HttpReply:
    headers = {}
    if answer.retry_after is not None:
        # RFC 9110 knows whole seconds only; OpenAI's clients read the second header first.
        headers["Retry-After"] = str(-int(-answer.retry_after // 1))
        headers["retry-after-ms"] = f"{answer.retry_after * 1000:g}"
    body = error_body(answer.status, answer.message, type=answer.type, code=answer.code)
    return _json(answer.status, body, headers=headers, delay_s=answer.delay_s)


def _encode_garbage(answer: Garbage, request: ScriptedRequest) -> HttpReply:
    if request.stream:
        lines = "".join(f"data: {line}\n" for line in answer.text.splitlines() or [""])
        return HttpReply(
            200,
            frames=[f"{lines}\n".encode(), DONE],
            content_type="text/event-stream",
            delay_s=answer.delay_s,
        )
    return HttpReply(200, answer.text.encode(), content_type=answer.content_type, delay_s=answer.delay_s)


def _json(
    status: int,
    body: Mapping[str, Any],
    *,
    headers: Mapping[str, str] | None = None,
    delay_s: float = 0.0,
    sent: float = 1.0,
) -> HttpReply:
    encoded = json.dumps(body).encode()
    return HttpReply(status, encoded, headers=headers or {}, delay_s=delay_s, sent=sent)
