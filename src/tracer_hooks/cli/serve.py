"""``tracer-hooks serve``: the pages live, labels, and traces that are received."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from tracer_hooks._lazy import require
from tracer_hooks.cli._options import Store, needed_store
from tracer_hooks.cli.console import out

_TOKEN = "TRACER_HOOKS_SERVE_TOKEN"


def serve_command(
    host: Annotated[str, typer.Option(help="Where it listens; elsewhere than here, every request needs a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.", min=0, max=65_535)] = 8766,
    labels: Annotated[Path, typer.Option(help="The file that labels go into, JSON lines.")] = Path("labels.jsonl"),
    token: Annotated[
        str | None,
        typer.Option(help=f"What every request has to bring; better given by {_TOKEN}, where others do not see it."),
    ] = None,
    public_url: Annotated[
        str | None, typer.Option("--public-url", help="How browsers call it, behind a proxy.", metavar="URL")
    ] = None,
    store: Store = None,
) -> None:
    """Show the pages on stored runs live, take labels, and receive traces at /v1/traces.

    It listens on this machine alone, runs none of your code, and ends with Ctrl-C.
    """
    for name in ("starlette", "uvicorn"):
        require(name, extra="serve", feature="`tracer-hooks serve`")
    from tracer_hooks.serving import Access, Server, listen

    place = needed_store(store)
    chosen = token or os.environ.get(_TOKEN) or None
    Access.of(host, port, token=chosen, public_url=public_url)  # a wrong token or URL ends the call before any work
    with listen(host, port) as listening:
        port = listening.getsockname()[1]
        access = Access.of(host, port, token=chosen, public_url=public_url)
        server = Server(place, labels, access)
        address = public_url or f"http://{f'[{host}]' if ':' in host else host}:{port}"
        asked = "" if access.token is None or chosen else f"/?token={access.token}"
        out().print(f"runs of {server.store.name} at {address}{asked or '/'}", soft_wrap=True)
        out().print(f"traces are received at {address}/v1/traces; labels go into {labels}", soft_wrap=True)
        if chosen:
            out().print("every request needs the token that you gave; a browser brings it once as ?token=...")
        out().print("Ctrl-C ends it")
        try:
            server.run(listening)
        except KeyboardInterrupt:  # uvicorn hands it on when all is closed
            return
