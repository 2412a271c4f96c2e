"""Chats on top of the engine, and the OpenAI-compatible HTTP server over them."""

from __future__ import annotations

import hashlib
import json
import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from _engine_batch import Engine, Generation, Ticket
from _engine_chat import CALL_CLOSES, ChatRequest, RequestError, TextStream, parse_calls, read_request, render

_ENDS = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "</s>")


@dataclass
class Chat:
    """One request under way."""

    request: ChatRequest
    prompt: str
    count: int
    ticket: Ticket
    text: TextStream
    pieces: queue.SimpleQueue[str | None]


class Service:
    """Answers chats.

    Args:
        engine: Generates.
        tokenizer: A fast tokenizer of transformers.
        ends: Tokens that end an answer, besides those the tokenizer names.
        name: The model's name in answers.
        context: Prompt and answer together have at most this many tokens.
        default_most: The most tokens of an answer where a request does not say.
    """

    def __init__(
        self, engine: Engine, tokenizer: Any, *, ends: frozenset[int], name: str, context: int, default_most: int
    ) -> None:
        self._engine, self._tokenizer, self.name = engine, tokenizer, name
        self._context, self._default_most = context, default_most
        # A fast tokenizer must not be used by two threads while it changes its own padding and truncation.
        self._lock = threading.Lock()
        known = tokenizer.get_vocab()
        self._ends = ends | {known[end] for end in _ENDS if end in known}
        if tokenizer.eos_token_id is not None:
            self._ends |= {tokenizer.eos_token_id}
        self._began = time.time()

    def complete(self, request: ChatRequest) -> dict[str, Any]:
        """The whole completion."""
        chat = self._start(request)
        chat.ticket.done.wait()
        text, calls = self._finish(chat)
        message: dict[str, Any] = {"role": "assistant", "content": text or (None if calls else "")}
        if calls:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _reason(chat, calls)}
        return {**self._head(chat, "chat.completion"), "choices": [choice], "usage": _usage(chat)}

    def stream(self, request: ChatRequest) -> Iterator[dict[str, Any]]:
        """The completion in chunks; the text comes at once where tools are offered. Closing it cancels the request."""
        chat = self._start(request)
        return self._chunks(chat)

    def _chunks(self, chat: Chat) -> Iterator[dict[str, Any]]:
        head = self._head(chat, "chat.completion.chunk")
        if chat.request.include_usage:
            head["usage"] = None

        def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
            return {**head, "choices": [choice]}

        try:
            yield chunk({"role": "assistant", "content": ""})
            while (piece := chat.pieces.get()) is not None:
                yield chunk({"content": piece})
            chat.ticket.done.wait()
            text, calls = self._finish(chat)
            if text:
                yield chunk({"content": text})
            if calls:
                yield chunk({"tool_calls": [{"index": at, **call} for at, call in enumerate(calls)]})
            yield chunk({}, _reason(chat, calls))
            if chat.request.include_usage:
                yield {**head, "choices": [], "usage": _usage(chat)}
        finally:
            chat.ticket.cancelled = True

    def stats(self) -> dict[str, Any]:
        """What the engine has done since it began, and how fast."""
        counts = self._engine.counts
        running, waiting = self._engine.load
        return {
            "seconds": time.time() - self._began,
            "running": running,
            "waiting": waiting,
            **vars(counts),
            "prefill_tokens_per_second": counts.read_tokens / (counts.prefill_seconds or 1),
            "decode_tokens_per_second": counts.written_tokens
            / ((counts.decode_seconds + counts.sampling_seconds) or 1),
        }

    def _start(self, request: ChatRequest) -> Chat:
        with self._lock:
            try:
                prompt = render(self._tokenizer, request)
            except Exception as error:  # a template may refuse messages with an error of any kind
                raise RequestError(f"the chat template refused the messages: {error}", param="messages") from error
            tokens = self._tokenizer(prompt, add_special_tokens=False)["input_ids"]
        room = self._context - len(tokens)
        if room < 1 or (request.most or 1) > room:
            raise RequestError(
                f"This model's maximum context length is {self._context} tokens. However, you requested "
                f"{len(tokens) + (request.most or 1)} tokens ({len(tokens)} in the messages, {request.most or 1} in "
                "the completion). Please reduce the length of the messages or completion.",
                param="messages",
                code="context_length_exceeded",
            )
        most = request.most or min(self._default_most, room)
        text = TextStream(self._tokenizer, request.stops + ((CALL_CLOSES,) if request.forced else ()))
        chat_pieces: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        live = request.stream and not request.tools

        def accept(token: int) -> bool:
            text.push(token)
            if live and (piece := text.ready()):
                chat_pieces.put(piece)
            return text.stopped

        generation = Generation(tokens, most, request.sampling, self._ends, accept, lambda: chat_pieces.put(None))
        return Chat(request, prompt, len(tokens), self._engine.submit(generation), text, chat_pieces)

    def _finish(self, chat: Chat) -> tuple[str, list[dict[str, Any]]]:
        """The text not yet sent, and the calls."""
        if chat.ticket.failure is not None:
            raise chat.ticket.failure
        chat.text.finish()
        rest = chat.text.ready(whole=True)
        if not chat.request.tools:
            return rest, []
        names = {tool["function"]["name"] for tool in chat.request.tools}
        return parse_calls(chat.request.forced + rest, names, chat.prompt)

    def _head(self, chat: Chat, kind: str) -> dict[str, Any]:
        sign = hashlib.sha256(f"{id(chat)}\0{time.time_ns()}\0{chat.prompt}".encode()).hexdigest()
        return {"id": f"chatcmpl-{sign[:24]}", "object": kind, "created": int(time.time()), "model": self.name}


def _reason(chat: Chat, calls: list[dict[str, Any]]) -> str:
    return "tool_calls" if calls and chat.ticket.reason == "stop" else chat.ticket.reason


def _usage(chat: Chat) -> dict[str, Any]:
    written, cached = chat.ticket.written, chat.ticket.cached
    return {
        "prompt_tokens": chat.count,
        "completion_tokens": written,
        "total_tokens": chat.count + written,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


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
