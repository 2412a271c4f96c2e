"""A loopback HTTP/1.1 server that knows nothing of models: a function answers its requests."""

from __future__ import annotations

import atexit
import json
import logging
import os
import socket
import socketserver
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

_log = logging.getLogger(__name__)
_JOIN_S = 2.0
_MAX_BODY = 64 * 1024 * 1024
_PORT_TRIES = 32
_ports_given: set[int] = set()


@dataclass(frozen=True)
class HttpRequest:
    """A request with its whole body."""

    method: str
    """`GET` or `POST`."""

    path: str
    """Path without the query."""

    headers: Mapping[str, str]
    """Headers as sent."""

    body: bytes = b""
    """The whole body."""


@dataclass(frozen=True)
class HttpReply:
    """An answer, whole (`body`) or streamed (`frames`)."""

    status: int
    """HTTP status."""

    body: bytes = b""
    """The body of an answer that is not streamed."""

    frames: Sequence[bytes] | None = None
    """Pieces of a streamed body, one HTTP chunk each; None for a whole one."""

    content_type: str = "application/json"
    """Content type."""

    headers: Mapping[str, str] = field(default_factory=dict)
    """More headers."""

    delay_s: float = 0.0
    """Seconds before the first byte."""

    pause_s: float = 0.0
    """Seconds between one frame and the next."""

    sent: float = 1.0
    """Part of the body, or of the frames, that is sent; below 1 the connection breaks off there, at 0
    unanswered.
    """


Respond: TypeAlias = Callable[[HttpRequest], HttpReply]
"""Gives the answer to a request; called from one thread a connection."""


class LoopbackServer:
    """Serves `respond` on a free port of 127.0.0.1, in daemon threads, from construction to `stop`.

    The port is one that this process has not had before: LangChain and LiteLLM keep their HTTP clients by address, and
    the client of a server that is gone holds connections of an event loop that is closed.
    """

    def __init__(self, respond: Respond) -> None:
        """Open the port and start to serve.

        Raises:
            OSError: No loopback port is free.
        """
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
        request = HttpRequest(self.command, self.path.partition("?")[0], dict(self.headers.items()), body)
        reply = self.server.respond(request)
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
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        # The client closed it first, which is what was wanted.
        return
