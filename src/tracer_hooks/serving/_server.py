"""The server: its addresses, its socket, and its end."""

from __future__ import annotations

import errno
import functools
import re
import socket
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from tracer_hooks._version import __version__
from tracer_hooks.config import ServerUrl, StorePlace, home_folder
from tracer_hooks.errors import ConfigError, StoreError, TracerHooksError
from tracer_hooks.serving._access import Access, GuardedApp
from tracer_hooks.serving._label_pages import LabelPages
from tracer_hooks.serving._labels import LabelDesk
from tracer_hooks.serving._pages import LivePages, asset_response
from tracer_hooks.serving._receiver import TraceReceiver
from tracer_hooks.serving._spool import Spool
from tracer_hooks.serving._traces import ReceivedTraces, TracePatience
from tracer_hooks.store import RunStore

_GRACE_S = 1
"""How long answers that are being sent have at the end."""


class Server:
    """The pages of one store, labels in one file, and a receiver of traces.

    Args:
        store: The run store's file or server; there need not be a store yet.
        labels: The labelled file, which need not be there yet.
        access: Who may ask.
        patience: How long is waited for the rest of a received trace.
    """

    def __init__(
        self, store: StorePlace, labels: Path, access: Access, *, patience: TracePatience | None = None
    ) -> None:
        self.access = access
        self.store = RunStore(store, read_only=True, stays_open=isinstance(store, ServerUrl))
        place = self.store.place
        name = place.name if isinstance(place, Path) else re.sub(r"\W+", "-", str(place))
        self._spool = Spool(home_folder(place) / f"{name}-received")
        self._traces = ReceivedTraces(place, self._spool, patience=patience)
        self._pages = LivePages(self.store, LabelDesk(labels), access)
        self.app: ASGIApp = GuardedApp(self._routed(), access)

    def start(self) -> None:
        """Begin to store what is received."""
        self._traces.start()

    def stop(self) -> None:
        """End the threads; what is not stored is taken up by the next server."""
        self._traces.stop()

    def run(self, listening: socket.socket) -> None:
        """Serve until a signal ends it."""
        config = uvicorn.Config(
            self.app,
            access_log=False,  # a token may stand in an address
            date_header=True,
            lifespan="off",
            log_config=None,
            log_level="warning",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE_S,
            ws="none",
        )
        self.start()
        try:
            uvicorn.Server(config).run(sockets=[listening])
        finally:
            self.stop()

    def _health(self, request: Request) -> Response:
        waiting = {"open_traces": self._traces.open, "spool_bytes": self._spool.size}
        return JSONResponse({"status": "ok", "version": __version__, **waiting})

    def _routed(self) -> ASGIApp:
        pages, labels = self._pages, LabelPages(self._pages)
        receiver = TraceReceiver(self._spool, self._traces)
        routes = [
            Route("/", pages.overview),
            Route("/runs", pages.runs),
            Route("/runs/{run_id:path}", pages.run),
            Route("/issues", pages.issues),
            Route("/prompts", pages.prompts),
            Route("/label", labels.show, methods=["GET"]),
            Route("/label", labels.give, methods=["POST"]),
            Route("/v1/traces", receiver.receive, methods=["POST"]),
            Route("/healthz", self._health),
            *(Route(f"/{name}", asset_response) for name in ("style.css", "page.js", "label.js")),
        ]
        return Starlette(
            routes=routes,
            exception_handlers={TracerHooksError: pages.refusal, HTTPException: functools.partial(_of_status, pages)},
        )


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there.

    Raises:
        ConfigError: The port is in use, or the address is none of this machine.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(128)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            why = (
                f"port {port} of {host!r} is in use. Run: tracer-hooks serve --port {port + 1 if port < 65_535 else 0}"
            )
        else:
            why = f"cannot listen on {host!r}, port {port}: {error.strerror or error}; expected an address of this host"
        raise ConfigError(why) from error
    return listening


def _of_status(pages: LivePages, request: Request, error: Exception) -> Response:
    """A page for an address that there is not, or a method that it does not have."""
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return pages.refusal(request, error)
    return Response(f"{error.detail}\n", status_code=error.status_code, headers=error.headers, media_type="text/plain")
