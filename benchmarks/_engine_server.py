"""An OpenAI-compatible HTTP server over the chats of one model."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from _engine_chat import RequestError, read_request
from _engine_service import Service


class ChatServer(ThreadingHTTPServer):
    """Listens as soon as it is made; ``serve_forever`` answers.

    Attributes:
        last_request: When a request last came, on the monotonic clock.
    """

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, address: tuple[str, int], service: Service) -> None:
        self.service = service
        self.last_request = time.monotonic()
        super().__init__(address, ChatHandler)


class ChatHandler(BaseHTTPRequestHandler):
    """Answers one connection's requests."""

    server: ChatServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        path = self._path()
        if path in ("/v1/models", "/models"):
            model = {"id": self.server.service.name, "object": "model", "created": 0, "owned_by": "local"}
            self._send(HTTPStatus.OK, {"object": "list", "data": [model]})
        elif path in ("/stats", "/v1/stats"):
            self._send(HTTPStatus.OK, self.server.service.stats())
        else:
            self._refuse(HTTPStatus.NOT_FOUND, f"nothing at {path!r}: expected /v1/models or /stats")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self._path() not in ("/v1/chat/completions", "/chat/completions"):
            self._refuse(HTTPStatus.NOT_FOUND, f"nothing at {self.path!r}: expected /v1/chat/completions")
            return
        self.server.last_request = time.monotonic()
        try:
            request = read_request(json.loads(body))
            if request.stream:
                self._send_events(self.server.service.stream(request))
            else:
                self._send(HTTPStatus.OK, self.server.service.complete(request))
        except json.JSONDecodeError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, f"the body is not JSON: {error}")
        except RequestError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, str(error), param=error.param, code=error.code)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        except Exception as error:
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, f"{type(error).__name__}: {error}", kind="server_error")
        finally:
            self.server.last_request = time.monotonic()

    def log_message(self, format: str, *args: object) -> None:
        """Write no line for each request: there are thousands."""

    def _path(self) -> str:
        return self.path.partition("?")[0].rstrip("/")

    def _send(self, status: HTTPStatus, document: dict[str, Any]) -> None:
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _refuse(
        self,
        status: HTTPStatus,
        message: str,
        *,
        kind: str = "invalid_request_error",
        param: str | None = None,
        code: str | None = None,
    ) -> None:
        self._send(status, {"error": {"message": message, "type": kind, "param": param, "code": code}})

    def _send_events(self, chunks: Iterator[dict[str, Any]]) -> None:
        self.close_connection = True
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            for chunk in chunks:
                self._send_event(json.dumps(chunk))
        except (BrokenPipeError, ConnectionResetError):
            chunks.close()  # type: ignore[attr-defined]
            raise
        except Exception as error:
            failure = {
                "message": f"{type(error).__name__}: {error}",
                "type": "server_error",
                "param": None,
                "code": None,
            }
            self._send_event(json.dumps({"error": failure}))
        self._send_event("[DONE]")

    def _send_event(self, data: str) -> None:
        self.wfile.write(f"data: {data}\n\n".encode())
        self.wfile.flush()
