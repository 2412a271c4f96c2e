"""Backends of traces as URLs name them, the keys for them, and requests to them over HTTP."""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import os
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from tracer_hooks._version import __version__
from tracer_hooks.errors import BackendError, ConfigError

EXAMPLES = "phoenix://localhost:6006/project, mlflow://localhost:5000/experiment or langfuse://cloud.langfuse.com"
TIMEOUT_S = 10.0
_MOST_BYTES = 64 * 2**20
_SHOWN = 200


class _Backend(NamedTuple):
    title: str
    tried_with: str
    keys: str
    """Variables of its own that hold its key."""
    no_trace: str
    """What it says, with the status 404, of a trace that is not there, and not of a path that is unknown."""


_MLFLOW_KEYS = "MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"
_BACKENDS = {
    "phoenix": _Backend("Phoenix", "20.26.1", "PHOENIX_API_KEY", "do not exist"),
    "mlflow": _Backend("MLflow", "3.17.2", _MLFLOW_KEYS, "RESOURCE_DOES_NOT_EXIST"),
    "langfuse": _Backend("Langfuse", "5.0.4's SDK", "LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY", "\0"),
}


@dataclass(frozen=True)
class Destination:
    """A backend of traces."""

    kind: str
    """``phoenix``, ``mlflow`` or ``langfuse``."""
    url: str
    """As the user names it; holds no key."""
    address: str
    """Up to the path of its API, without a slash at the end."""
    project: str | None
    """Phoenix' project, or MLflow's experiment by name or id; None where the URL names none."""
    authorization: str = field(repr=False)
    """Header with the key; empty where there is none."""

    @property
    def title(self) -> str:
        """The backend with its address, in words."""
        return f"{_BACKENDS[self.kind].title} at {self.address!r}"

    def failure(self, kind: str, reason: str, *, status: int | None = None, next_step: str = "") -> BackendError:
        """The error that says what the backend did, and what to do: ``next_step``, or what is usual for the kind."""
        backend = _BACKENDS[self.kind]
        usual = {
            "unreachable": "Start it, or correct the URL",
            "key": f"Set {backend.keys}, and start again",
            "missing": "Set a TracerProvider that exports to it, and a sampler that keeps the run",
        }.get(kind, f"Check what is there: this was tried with {backend.title} {backend.tried_with}")
        return BackendError(f"{self.title} {reason}. {next_step or usual}", kind=kind, status=status)


def destinations_of(named: str | Iterable[str]) -> tuple[Destination, ...]:
    """The backends that URLs name, in a list or separated by commas, each once; with keys from the environment.

    Raises:
        ConfigError: A URL cannot be used, or a key is missing. The message shows no key and no password.
    """
    texts = [named] if isinstance(named, str) else named
    urls = [url.strip() for text in texts for url in text.split(",") if url.strip()]
    if not urls:
        raise ConfigError(f"publish names no backend, expected a URL such as {EXAMPLES}")
    _opener()
    return tuple(dict.fromkeys(map(_destination, urls)))


def _destination(url: str) -> Destination:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # its message may quote a password
        raise ConfigError(f"publish names a host or a port that cannot be read, expected {EXAMPLES}") from None
    kind, _, transport = parts.scheme.partition("+")
    if kind not in _BACKENDS or transport not in ("", "http", "https"):  # nothing else is shown: it may hold a key
        raise ConfigError(f"publish is a URL of {parts.scheme or 'no scheme'!r}, expected {EXAMPLES}")
    if "@" in parts.netloc:
        raise ConfigError(
            f"publish names {kind} with a user or a password, which end up in logs. Take them out of the URL, and set "
            f"{_BACKENDS[kind].keys}"
        )
    if not host or parts.query or parts.fragment or re.search(r"\s", url):
        raise ConfigError(f"publish names {kind} with something else than a host and a path, expected {EXAMPLES}")
    is_loopback = host in ("localhost", "::1") or re.fullmatch(r"127(\.\d+){3}", host) is not None
    is_plain = transport == "http" or (not transport and (kind != "langfuse" or is_loopback))
    prefix, _, project = parts.path.rpartition("/") if kind != "langfuse" else (parts.path, "", "")
    place = (f"[{host}]" if ":" in host else host) + (f":{port}" if port is not None else "")
    address = f"http{'' if is_plain else 's'}://{place}{prefix}".rstrip("/")
    return Destination(kind, url, address, unquote(project) or None, _authorization(kind))


def _authorization(kind: str) -> str:
    token, user, password = "", "", ""
    if kind == "phoenix":
        token = _key("PHOENIX_API_KEY")
    elif kind == "mlflow":
        token, user = _key("MLFLOW_TRACKING_TOKEN"), _key("MLFLOW_TRACKING_USERNAME")
        password = _key("MLFLOW_TRACKING_PASSWORD")
    else:
        user, password = _key("LANGFUSE_PUBLIC_KEY"), _key("LANGFUSE_SECRET_KEY")
        if not user or not password:
            raise ConfigError(f"publish names Langfuse, which needs keys. Set {_BACKENDS[kind].keys}")
    if token or not user:
        return f"Bearer {token}" if token else ""
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def _key(variable: str) -> str:
    key = os.environ.get(variable, "").strip()
    if not key.isprintable() or not key.isascii():  # http.client would quote it in its message
        raise ConfigError(f"{variable} holds a character that no key has, expected letters, digits and signs")
    return key


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows nothing: a redirect may lead to another host, which must not get the key."""

    def redirect_request(self, *_: Any) -> None:
        return None


@functools.cache
def _opener() -> urllib.request.OpenerDirector:
    """Made once, and before the first run: it reads the system's certificates, for milliseconds."""
    https = urllib.request.HTTPSHandler(context=ssl.create_default_context())
    return urllib.request.build_opener(_NoRedirects, https)


def send_request(
    destination: Destination, method: str, path: str, body: object = None, *, timeout_s: float = TIMEOUT_S
) -> Any:
    """Send one request; gives the JSON that is answered, None for an empty answer.

    Args:
        destination: The backend.
        method: Of HTTP.
        path: With the query, from the slash on.
        body: JSON to send; None sends none.
        timeout_s: Seconds without a sign of the server.

    Raises:
        BackendError: There is no such answer.
    """
    headers = {"Accept": "application/json", "User-Agent": f"tracer-hooks/{__version__}"}
    if destination.authorization:
        headers["Authorization"] = destination.authorization
    if body is not None:
        headers["Content-Type"] = "application/json"
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(destination.address + path, data, headers, method=method)
    try:
        with _opener().open(request, timeout=timeout_s) as answer:
            text = answer.read(_MOST_BYTES)
    except urllib.error.HTTPError as error:
        raise _refusal(destination, error) from None
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        is_late = isinstance(reason, TimeoutError)
        said = f"did not answer within {timeout_s:g} s" if is_late else f"cannot be reached ({reason!s})"
        raise destination.failure("unreachable", said) from None
    try:
        return json.loads(text) if text.strip() else None
    except ValueError:
        raise destination.failure("odd", "answered with something else than JSON") from None


def _refusal(destination: Destination, error: urllib.error.HTTPError) -> BackendError:
    status, reply = error.code, ""
    with error, contextlib.suppress(OSError, HTTPException):
        reply = error.read(2**16).decode("utf-8", "replace")
    if status in (401, 403):  # what it says may repeat the key
        what = "the key" if destination.authorization else "a request without a key"
        return destination.failure("key", f"refuses {what} ({status})", status=status)
    if status == 404 and _BACKENDS[destination.kind].no_trace in reply:
        return destination.failure("missing", "has no such trace", status=status)
    said = f"answered with {status}"
    if 300 <= status < 400:
        said += f", a redirect to {urlsplit(error.headers.get('Location', '')).hostname or 'another path'!r}"
    elif "<" not in reply[:_SHOWN]:  # a page says nothing
        key = destination.authorization.rpartition(" ")[2] or "\0"
        said += f": {' '.join(reply.split())[:_SHOWN]}".replace(key, "[key]").rstrip(": ")
    is_refused = 400 <= status < 500 and status not in (404, 405, 408, 425, 429)
    return destination.failure("refused" if is_refused else "odd", said, status=status)
