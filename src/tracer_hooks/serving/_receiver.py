"""``POST /v1/traces``: OTLP over HTTP. What is acknowledged is on the disk."""

from __future__ import annotations

import asyncio
import contextlib
import zlib
from collections.abc import Iterator

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response

from tracer_hooks._guard import logger
from tracer_hooks.errors import TrajectoryError
from tracer_hooks.serving._spool import Spool
from tracer_hooks.serving._traces import MOST_SPANS, ReceivedTraces
from tracer_hooks.telemetry import decode_request

_JSON, _PROTOBUF = "application/json", "application/x-protobuf"
_RETRY_S = 5
_AT_ONCE = 4
"""Requests that are unpacked and read at one time: each may be large then."""
_DRAIN_S = 10.0
_BODY_S = 60.0
"""How long a request may take to arrive."""


class _RefusedError(Exception):
    """A request that is not taken: status and reason."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class TraceReceiver:
    """Takes requests of any OTLP exporter.

    Args:
        spool: Where they are kept.
        traces: What is made of them.
        most_body: Bytes of one request, unpacked.
        most_waiting: Bytes of all that are not done; beyond that, and while too much arrives at once, senders are
            told to come again.
    """

    def __init__(
        self, spool: Spool, traces: ReceivedTraces, *, most_body: int = 32 << 20, most_waiting: int = 128 << 20
    ) -> None:
        self._spool, self._traces = spool, traces
        self._most_body, self._most_waiting = most_body, most_waiting
        self._arriving = 0
        self._taking = asyncio.Semaphore(_AT_ONCE)

    async def receive(self, request: Request) -> Response:
        """Answer one request, in its own encoding."""
        try:
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            packing = request.headers.get("content-encoding", "identity").strip().lower()
            if kind not in (_JSON, _PROTOBUF):
                raise _RefusedError(415, f"Content-Type is {kind[:100]!r}, expected {_PROTOBUF} or {_JSON}")
            if packing not in ("identity", "gzip"):
                raise _RefusedError(415, f"Content-Encoding is {packing[:100]!r}, expected gzip or none")
            with self._room_for(request):
                async with asyncio.timeout(_BODY_S):
                    body = await self._body(request)
                async with self._taking:
                    answer = await run_in_threadpool(self._take, body, packing == "gzip", kind == _JSON)
        except _RefusedError as error:
            await self._drain(request)
            again = {"Retry-After": str(_RETRY_S)} if error.status in (429, 503) else {}
            return PlainTextResponse(f"{error}\n", status_code=error.status, headers=again)
        except TimeoutError:
            return PlainTextResponse(f"The request did not arrive within {_BODY_S:.0f} seconds\n", status_code=408)
        except ClientDisconnect:
            return Response(status_code=400)
        if kind == _JSON:
            return Response(json_format.MessageToJson(answer, indent=None), media_type=_JSON)
        return Response(answer.SerializeToString(), media_type=_PROTOBUF)

    @contextlib.contextmanager
    def _room_for(self, request: Request) -> Iterator[None]:
        """Count a request among those that arrive; one that does not say how long it is counts as a large one."""
        told = request.headers.get("content-length", "")
        size = int(told) if told.isascii() and told.isdigit() and len(told) < 19 else self._most_body
        if size > self._most_body:
            raise _RefusedError(413, self._too_large)
        if self._spool.size + self._arriving + size > self._most_waiting:
            raise _RefusedError(429, "Too much waits to be stored. Send it again later")
        self._arriving += size
        try:
            yield
        finally:
            self._arriving -= size

    async def _body(self, request: Request) -> bytes:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > self._most_body:
                raise _RefusedError(413, self._too_large)
        return bytes(body)

    async def _drain(self, request: Request) -> None:
        """Read the rest of a refused request: many senders read no answer before they have sent all."""
        left = 2 * self._most_body
        with contextlib.suppress(TimeoutError, ClientDisconnect, RuntimeError):  # the last: it was read to its end
            async with asyncio.timeout(_DRAIN_S):
                async for chunk in request.stream():
                    if (left := left - len(chunk)) < 0:
                        return

    @property
    def _too_large(self) -> str:
        return f"The request has more than {self._most_body:,} bytes, unpacked. Send smaller batches"

    def _take(self, body: bytes, is_packed: bool, is_json: bool) -> ExportTraceServiceResponse:
        """Keep a request; gives the answer."""
        if is_packed:
            body = self._unpacked(body)
        try:
            content = decode_request(body, is_json=is_json)
        except TrajectoryError as error:
            raise _RefusedError(400, str(error)) from error
        rejected = len(content.errors)
        said = [str(error) for error in content.errors[:3]]
        if content.spans:
            try:
                request = self._spool.append(body, is_json=is_json)
            except OSError as error:
                logger.warning("tracer-hooks cannot keep a request: %s", error)
                raise _RefusedError(503, f"It cannot be kept: {error.strerror or error}") from error
            left_out = self._traces.add(content.spans, request)
            rejected += left_out
            said += [f"a trace has more than {MOST_SPANS:,} spans"] if left_out else []
        if not rejected:
            return ExportTraceServiceResponse()
        told = ExportTracePartialSuccess(rejected_spans=rejected, error_message="; ".join(said))
        return ExportTraceServiceResponse(partial_success=told)

    def _unpacked(self, body: bytes) -> bytes:
        unpacker = zlib.decompressobj(wbits=31)
        try:
            data = unpacker.decompress(body, self._most_body + 1)
        except zlib.error as error:
            raise _RefusedError(400, f"The request is not gzip: {error}") from error
        if len(data) > self._most_body:
            raise _RefusedError(413, self._too_large)
        if not unpacker.eof:
            raise _RefusedError(400, "The request is not whole gzip: it breaks off")
        return data
