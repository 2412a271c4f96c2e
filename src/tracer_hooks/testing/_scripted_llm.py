"""Scripted model: an OpenAI-compatible server on loopback whose replies follow rules."""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import os
import socket
import socketserver
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, TypeAlias

from tracer_hooks.testing._scripted_rules import (
    Answer,
    Drop,
    ErrorReply,
    Garbage,
    MalformedRequestError,
    Reply,
    ReplyLike,
    Rule,
    Script,
    ScriptedRequest,
    as_answer,
    read_request,
)
from tracer_hooks.testing._scripted_wire import (
    CREATED,
    DONE,
    WireReply,
    completion_body,
    completion_events,
    error_body,
    response_body,
    response_events,
)

_log = logging.getLogger(__name__)
_JOIN_S = 2.0
_MAX_BODY = 64 * 1024 * 1024
_PORT_TRIES = 32
_ports_given: set[int] = set()


@dataclass(frozen=True)
class HttpReply:
    """An answer, whole (`body`) or streamed (`frames`)."""

    status: int
    body: bytes = b""
    """The body of an answer that is not streamed."""
    frames: Sequence[bytes] | None = None
    """Pieces of a streamed body, one HTTP chunk each; None for a whole one."""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    """Seconds before the first byte."""
    pause_s: float = 0.0
    """Seconds between one frame and the next."""
    sent: float = 1.0
    """Part of the body, or of the frames, that is sent; below 1 the connection breaks off there, at 0 unanswered."""


Respond: TypeAlias = Callable[[str, str, Mapping[str, str], bytes], HttpReply]
"""Gives the answer to a request: method, path without query, headers, body. Called from one thread a connection."""


class LoopbackServer:
    """Serves `respond` on a free port of 127.0.0.1, in daemon threads, from construction to `stop`.

    The port is one that this process has not had before: LangChain and LiteLLM keep their HTTP clients by address, and
    the client of a server that is gone holds connections of an event loop that is closed.
    """

    def __init__(self, respond: Respond) -> None:
        """Open the port and start to serve."""
        self._server = _on_new_port()
        self._server.respond = respond
        self._owner = os.getpid()
        self._stopping = threading.Lock()
        self._stopped = False
        # http.server looks at the stop flag once per interval: 20 ms bounds the time that `stop` takes.
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.02},
            name=f"scripted-llm-{self.port}",
            daemon=True,
        )
        self._thread.start()
        atexit.register(self.stop)

    @property
    def port(self) -> int:
        """The port, fixed for the life of the server."""
        return int(self._server.server_address[1])

    def stop(self) -> None:
        """Close the port and every open connection, and wait for the threads. A second call does nothing."""
        with self._stopping:
            if self._stopped:
                return
            self._stopped = True
        atexit.unregister(self.stop)
        if os.getpid() != self._owner:
            # A forked child has the sockets but not the threads: waiting for them would never end, and
            # shutting a connection down would cut the parent's off.
            self._server.socket.close()
            return
        self._server.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._server.end_connections()
        self._thread.join(_JOIN_S)


def _on_new_port() -> _Server:
    """A server on a port that was not given before; one of those if the system has hardly another."""
    refused: list[_Server] = []
    try:
        while True:
            # Those refused stay open until the end, so that the system names another.
            server = _Server(("127.0.0.1", 0), _Handler)
            if server.server_port not in _ports_given or len(refused) == _PORT_TRIES:
                _ports_given.add(server.server_port)
                return server
            refused.append(server)
    finally:
        for server in refused:
            server.server_close()


class _Server(ThreadingHTTPServer):
    """Knows its open connections, and looks nothing up in DNS."""

    daemon_threads = True
    request_queue_size = 128
    respond: Respond

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.closing = threading.Event()
        self._open: dict[threading.Thread, Any] = {}
        self._open_lock = threading.Lock()
        super().__init__(address, handler)

    def server_bind(self) -> None:
        # HTTPServer.server_bind asks DNS for the host's name: seconds on a machine without a resolver.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", int(self.server_address[1])

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        with self._open_lock:
            accepted = not self.closing.is_set()
            if accepted:
                self._open[threading.current_thread()] = request
        if not accepted:
            self.shutdown_request(request)
            return
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._open_lock:
                self._open.pop(threading.current_thread(), None)

    def end_connections(self) -> None:
        """Cut every open connection off, and wait for its thread."""
        with self._open_lock:
            connections = dict(self._open)
        for connection in connections.values():
            _shut_down(connection)
        for thread in connections:
            if thread is not threading.current_thread():
                thread.join(_JOIN_S)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that went away is no news: an agent that is cancelled or times out does that on purpose.
        if not isinstance(sys.exc_info()[1], OSError):
            _log.exception("the scripted server failed on a request")


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    # Head and body are two writes; with Nagle's algorithm the second waits 40 ms for a delayed ACK.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _MAX_BODY:
            # The end of the body is unknown, so the connection cannot be used again.
            self.close_connection = True
            message = f"Content-Length {length!r}: expected a number up to {_MAX_BODY}"
            body = json.dumps({"error": {"message": message, "type": "invalid_request_error"}}).encode()
            self._send(HttpReply(413 if length.isdecimal() else 411, body, headers={"Connection": "close"}))
            return
        self._answer(self.rfile.read(int(length)))

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing: stderr belongs to the program under test."""

    def _answer(self, body: bytes) -> None:
        reply = self.server.respond(self.command, self.path.partition("?")[0], dict(self.headers.items()), body)
        if reply.delay_s and self.server.closing.wait(reply.delay_s):
            self.close_connection = True
        elif reply.sent <= 0:
            self._break_off()
        else:
            self._send(reply)

    def _send(self, reply: HttpReply) -> None:
        self.send_response_only(reply.status)
        self.send_header("Content-Type", reply.content_type)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.frames is None:
            self._send_whole(reply)
        else:
            self._send_stream(reply, reply.frames)
        if reply.sent < 1:
            self._break_off()

    def _send_whole(self, reply: HttpReply) -> None:
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body[: int(len(reply.body) * reply.sent)])

    def _send_stream(self, reply: HttpReply, frames: Sequence[bytes]) -> None:
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for position, frame in enumerate(frames[: int(len(frames) * reply.sent)]):
            if position and reply.pause_s:
                self.server.closing.wait(reply.pause_s)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(frame), frame))
        if reply.sent >= 1:
            self.wfile.write(b"0\r\n\r\n")

    def _break_off(self) -> None:
        self.close_connection = True
        _shut_down(self.connection)


def _shut_down(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the client closed it first, which is what was wanted
        connection.shutdown(socket.SHUT_RDWR)


_ENDPOINTS = {"/v1/chat/completions": "chat/completions", "/v1/responses": "responses"}
_SHOWN = 300
_FORMATS: dict[str, tuple[Callable[[WireReply], dict[str, Any]], Callable[[WireReply], Iterator[bytes]]]] = {
    "chat/completions": (completion_body, completion_events),
    "responses": (response_body, response_events),
}


class ScriptedLLM:
    """A model whose every reply is in a script, for tests and demos without a key or a network.

    It serves OpenAI's Chat Completions and Responses APIs on a free port of 127.0.0.1, so AutoGen, CrewAI, LangChain
    and anything else that takes a base URL runs its real client code against it. It starts in milliseconds on
    construction and stops on `close`, at the end of a `with` block, or when the program ends::

        with ScriptedLLM(rules=[When(agent="planner").then("Ask the coder."), When().then("42")]) as llm:
            client = openai.OpenAI(base_url=llm.base_url, api_key=llm.api_key)

    The first rule that matches a request answers it, then the ordered replies, then the default. A request that nothing
    answers gets an HTTP 400 that quotes its last message, and is listed in `unmatched`: there is no silent default. A
    reply that is a function is called in a server thread; if it raises, the client gets an HTTP 400 and the exception
    is listed in `script_errors`. Equal runs give equal bytes: ids count the uses of each rule and the creation time is
    fixed.
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
        """Errors that the script's own functions raised, as a new list."""
        with self._lock:
            return list(self._script_errors)

    @property
    def calls(self) -> int:
        """Number of requests so far, retries of the client included."""
        with self._lock:
            return len(self._requests)

    def env(self) -> dict[str, str]:
        """Give the environment variables that point an OpenAI client at this server."""
        return {"OPENAI_BASE_URL": self.base_url, "OPENAI_API_BASE": self.base_url, "OPENAI_API_KEY": self.api_key}

    def reset(self) -> None:
        """Forget all requests and start the script from its beginning; the port stays."""
        with self._lock:
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

    def _respond(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> HttpReply:
        if method == "POST" and path in _ENDPOINTS:
            return self._complete(_ENDPOINTS[path], headers, body)
        if method == "GET" and path == "/health":
            return _json(200, {"status": "ok"})
        if method == "GET" and path == "/v1/models":
            entry = {"id": self.model, "object": "model", "created": CREATED, "owned_by": "scripted"}
            return _json(200, {"object": "list", "data": [entry]})
        served = ", ".join(f"POST {known}" for known in _ENDPOINTS)
        message = f"{method} {path} is not served here, expected {served}, GET /v1/models or GET /health."
        return _json(404, error_body(404, message))

    def _complete(self, endpoint: str, headers: Mapping[str, str], body: bytes) -> HttpReply:
        try:
            request = self._record(endpoint, headers, body)
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

    def _record(self, endpoint: str, headers: Mapping[str, str], body: bytes) -> ScriptedRequest:
        try:
            raw = json.loads(body)
        except ValueError as error:
            raise MalformedRequestError(f"The body is not JSON: {error}.") from error
        with self._lock:
            request = read_request(len(self._requests), endpoint, raw, headers)
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
            200, frames=[f"{lines}\n".encode(), DONE], content_type="text/event-stream", delay_s=answer.delay_s
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
