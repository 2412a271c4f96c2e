"""Backends of traces as URLs name them, the keys for them, and requests to them over HTTP."""

from __future__ import annotations

import base64
import ipaddress
import json
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any, Literal
from urllib.parse import SplitResult, unquote, urlsplit

from tracer_hooks._version import __version__
from tracer_hooks.errors import BackendError, ConfigError

BackendKind = Literal["phoenix", "mlflow", "langfuse"]
_TITLES: dict[str, str] = {"phoenix": "Phoenix", "mlflow": "MLflow", "langfuse": "Langfuse"}
_VERSIONS: dict[str, str] = {"phoenix": "20.26.1", "mlflow": "3.17.2", "langfuse": "the API of SDK 5.0.4"}
"""Versions that requests were tried with."""
_KEYS: dict[str, str] = {
    "phoenix": "PHOENIX_API_KEY",
    "mlflow": "MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD",
    "langfuse": "LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY",
}
"""Variables of the backends' own that hold their keys."""
_NO_TRACE: dict[str, str] = {"phoenix": "do not exist", "mlflow": "RESOURCE_DOES_NOT_EXIST"}
"""Words that come with the status 404 for a trace that has not arrived, and not for a path that is unknown."""
EXAMPLES = "phoenix://localhost:6006/project, mlflow://localhost:5000/experiment or langfuse://cloud.langfuse.com"
TIMEOUT_S = 10.0
_MOST_BYTES = 64 * 2**20
_SHOWN = 200


@dataclass(frozen=True)
class Destination:
    """A backend of traces."""

    kind: BackendKind
    """Which it is."""
    url: str
    """As the user names it; holds no key."""
    address: str
    """Up to the path of its API, without a slash at the end."""
    project: str | None
    """Phoenix' project, or MLflow's experiment by name or id; None where the URL names none."""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """The key's header, where there is a key."""

    @property
    def title(self) -> str:
        """The backend with its address, in words."""
        return f"{_TITLES[self.kind]} at {self.address!r}"

    def failure(
        self, kind: str, reason: str, *, status: int | None = None, reply: str = "", next_step: str = ""
    ) -> BackendError:
        """The error that says what the backend did; ``next_step`` in the place of the usual one."""
        known = f"tried with {_VERSIONS[self.kind]}"
        usual = {
            "unreachable": "Start it, or correct the URL",
            "key": f"Set {_KEYS[self.kind]} to what it takes, and start again",
            "missing": f"Set a TracerProvider that exports to it, and sampling that keeps the run; {known}",
        }
        said = next_step or usual.get(kind) or f"Check that {_TITLES[self.kind]} is there, and its version: {known}"
        return BackendError(f"{self.title} {reason}. {said}", kind=kind, status=status, reply=reply)


def destinations_of(named: str | Iterable[str]) -> tuple[Destination, ...]:
    """The backends that URLs name, in a list or separated by commas, each once; with keys from the environment.

    Raises:
        ConfigError: A URL cannot be used, or a key is missing. The message shows no key and no password.
    """
    texts = [named] if isinstance(named, str) else list(named)
    urls = [url.strip() for text in texts for url in text.split(",") if url.strip()]
    if not urls:
        raise ConfigError(f"publish names no backend, expected a URL such as {EXAMPLES}")
    return tuple(dict.fromkeys(_destination(url) for url in urls))


def _destination(url: str) -> Destination:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:  # its message may quote a password
        raise ConfigError(
            f"a URL to publish to has a port or a host that cannot be read, expected {EXAMPLES}"
        ) from error
    kind, _, transport = parts.scheme.partition("+")
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    if kind not in _TITLES or transport not in ("", "http", "https"):
        # Of another URL nothing else is shown, since it may hold a key anywhere.
        raise ConfigError(f"publish is a URL of {parts.scheme or 'no scheme'!r}, expected {EXAMPLES}")
    if "@" in parts.netloc:
        raise ConfigError(
            f"publish names {shown!r} with a user or a password, which end up in logs. Take them out of the URL, and "
            f"set {_KEYS[kind]}"
        )
    if not host:
        raise ConfigError(f"publish names no host in {shown!r}, expected a URL such as {EXAMPLES}")
    if parts.query or parts.fragment or re.search(r"[\s\x00-\x1f\x7f]", url):
        raise ConfigError(f"publish names {shown!r} with more than a host and a path, expected {EXAMPLES}")
    is_plain = transport == "http" or (not transport and (kind != "langfuse" or _is_loopback(host)))
    prefix, project = _path(kind, parts)
    at = f"[{host}]" if ":" in host else host
    address = f"http{'' if is_plain else 's'}://{at}{f':{port}' if port is not None else ''}{prefix}"
    return Destination(kind, url, address, project, tuple(_key_headers(kind)))  # type: ignore[arg-type]


def _path(kind: str, parts: SplitResult) -> tuple[str, str | None]:
    """Prefix of the API's paths, and the project: the last part of the URL's path, where the backend has projects."""
    if kind == "langfuse":
        return parts.path.rstrip("/"), None
    prefix, _, project = parts.path.rpartition("/")
    return prefix.rstrip("/"), unquote(project) or None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _key_headers(kind: str) -> Iterator[tuple[str, str]]:
    if kind == "phoenix" and (key := _key("PHOENIX_API_KEY")):
        yield "Authorization", f"Bearer {key}"
    elif kind == "mlflow" and (token := _key("MLFLOW_TRACKING_TOKEN")):
        yield "Authorization", f"Bearer {token}"
    elif kind == "mlflow" and (user := _key("MLFLOW_TRACKING_USERNAME")):
        yield "Authorization", _basic(user, _key("MLFLOW_TRACKING_PASSWORD"))
    elif kind == "langfuse":
        public, secret = _key("LANGFUSE_PUBLIC_KEY"), _key("LANGFUSE_SECRET_KEY")
        if not public or not secret:
            missing = " and ".join(name for name in _KEYS[kind].split(" and ") if not _key(name))
            raise ConfigError(f"publish names Langfuse, which needs a key: set {missing}, as its project settings show")
        yield "Authorization", _basic(public, secret)


def _basic(user: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def _key(variable: str) -> str:
    key = os.environ.get(variable, "").strip()
    if not key.isprintable() or not key.isascii():  # http.client would quote it in its message
        raise ConfigError(f"{variable} holds a character that no key has, expected plain letters, digits and signs")
    return key


# --- HTTP ------------------------------------------------------------------------------------------------------------
class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows nothing: a redirect may lead to another host, which must not get the key."""

    def redirect_request(self, *arguments: Any, **options: Any) -> None:
        return None


def send_request(
    destination: Destination, method: str, path: str, body: object = None, *, timeout_s: float = TIMEOUT_S
) -> Any:
    """Send one request; gives the JSON that is answered, None for an empty answer.

    Args:
        destination: The backend.
        method: Of HTTP.
        path: With the query, from the slash on.
        body: JSON to send; None sends none.
        timeout_s: Seconds that the answer may take.

    Raises:
        BackendError: There is no such answer; its ``kind`` and ``status`` say why.
    """
    headers = {"Accept": "application/json", "User-Agent": f"tracer-hooks/{__version__}", **dict(destination.headers)}
    data = None
    if body is not None:
        headers["Content-Type"] = "application/json"
        data = json.dumps(body).encode()
    request = urllib.request.Request(destination.address + path, data, headers, method=method)
    deadline = time.monotonic() + timeout_s
    try:
        with urllib.request.build_opener(_NoRedirects).open(request, timeout=timeout_s) as reply:
            text = _read(reply, deadline)
    except urllib.error.HTTPError as error:
        with error:
            raise _refusal(destination, error, _read_some(error)) from None
    except (OSError, HTTPException) as error:  # URLError and timeouts are OSErrors
        reason = getattr(error, "reason", error)
        is_late = isinstance(reason, TimeoutError)
        said = f"did not answer within {timeout_s:g} s" if is_late else f"cannot be reached ({_words(reason)})"
        raise destination.failure("unreachable", said) from None
    try:
        return json.loads(text) if text.strip() else None
    except ValueError:
        raise destination.failure("odd", "answered with something else than JSON") from None


def _read(reply: Any, deadline: float) -> bytes:
    """The body; a server that sends a byte now and then does not get more time."""
    text = b""
    while chunk := reply.read1(2**16):
        text += chunk
        if time.monotonic() > deadline:
            raise TimeoutError
        if len(text) > _MOST_BYTES:
            raise HTTPException(f"more than {_MOST_BYTES} bytes")
    return text


def _read_some(error: urllib.error.HTTPError) -> str:
    try:
        return error.read(2**16).decode("utf-8", "replace")
    except (OSError, HTTPException):
        return ""


def _refusal(destination: Destination, error: urllib.error.HTTPError, reply: str) -> BackendError:
    status = error.code
    if status in (401, 403):  # what it says may repeat the key
        has_key = "the key" if destination.headers else "a request without a key"
        return destination.failure("key", f"refuses {has_key} ({status})", status=status)
    if status == 404 and _NO_TRACE.get(destination.kind, "\0") in reply:
        return destination.failure("missing", "has no such trace", status=status, reply=reply)
    if 300 <= status < 400:
        place = urlsplit(error.headers.get("Location", ""))
        to = f"{place.scheme}://{place.hostname}" if place.hostname else "another path"
        step = "Name the address itself"
        return destination.failure("odd", f"redirects to {to} ({status})", status=status, next_step=step)
    said = "" if "<" in reply[:_SHOWN] else f": {' '.join(reply.split())[:_SHOWN]}"  # a page says nothing
    for _, secret in destination.headers:
        said = said.replace(secret.rpartition(" ")[2], "[key]")
    is_refused = 400 <= status < 500 and status not in (404, 405, 408, 425, 429)
    kind = "refused" if is_refused else "odd"
    return destination.failure(kind, f"answered with {status}{said}", status=status, reply=reply)


def _words(reason: object) -> str:
    return str(reason) or type(reason).__name__
