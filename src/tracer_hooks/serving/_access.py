"""Who may ask a server: hosts, origins and tokens, and the headers that every answer has."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tracer_hooks.errors import ConfigError

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_LOOKS = ("GET", "HEAD")
_FEWEST = 16
"""Characters of a token that somebody chose."""
_WAYS = (
    "This server asks for a token. Open the address that it printed when it started, which ends in ?token=..., or send "
    "the header 'Authorization: Bearer TOKEN'.\n"
)


@dataclass(frozen=True, kw_only=True)
class Access:
    """The rules by which requests are let in.

    On this machine alone anybody may ask who names the server as it is called here, which a page of a stranger in the
    same browser cannot. Any other server asks every request for its token, and may have whatever name.
    """

    hosts: frozenset[str] | None
    """Values of ``Host`` that are let in; None for all, where a token is asked for."""
    origins: frozenset[str]
    """Origins of forms that are let in, beside the address that was asked."""
    token: str | None
    """What every request has to bring; None where nothing is asked for."""
    is_secure: bool = False
    """Whether browsers see it by https."""
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    """Signs the forms of this process."""

    @classmethod
    def of(cls, host: str, port: int, *, token: str | None = None, public_url: str | None = None) -> Access:
        """The rules for a server that listens there.

        Args:
            host: The name or address that it listens on.
            port: The port that it listens on.
            token: What every request has to bring. None makes one, where it does not listen on this machine alone.
            public_url: How browsers call it, where a proxy stands before it.

        Raises:
            ConfigError: The token is too short, or the URL is none.
        """
        if token is not None and (len(token) < _FEWEST or not token.isascii() or not token.isprintable()):
            raise ConfigError(
                f"the token has {len(token)} characters, expected {_FEWEST} or more that can stand in a header. Make "
                "one: python -c 'import secrets; print(secrets.token_urlsafe())'"
            )
        told = urlsplit(public_url or "")
        if public_url is not None and not (told.scheme in ("http", "https") and told.netloc):
            raise ConfigError(f"--public-url is {public_url!r}, expected one such as https://runs.example.com")
        is_alone = is_loopback(host)
        names = {*_LOOPBACK, f"[{host}]" if ":" in host else host.lower(), *filter(None, [told.netloc.lower()])}
        hosts = frozenset(names | {f"{name}:{port}" for name in names}) if is_alone else None
        origins = frozenset({f"{told.scheme}://{told.netloc.lower()}"} if public_url else ())
        asked = token or (None if is_alone else secrets.token_urlsafe(32))
        return cls(hosts=hosts, origins=origins, token=asked, is_secure=told.scheme == "https")

    @property
    def cookie(self) -> str:
        """The value of the cookie that stands for the token."""
        return hmac.new((self.token or "").encode(), b"cookie of tracer-hooks serve", hashlib.sha256).hexdigest()

    def form_token(self, run_id: str) -> str:
        """What a form about this run has to bring."""
        return hmac.new(self.key, run_id.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()

    def is_form_token(self, given: str, run_id: str) -> bool:
        """Tell whether ``given`` is that."""
        return _is_same(given, self.form_token(run_id))

    def is_known_host(self, headers: Headers) -> bool:
        """Tell whether a request names a server that this is."""
        named = headers.getlist("host")
        return len(named) == 1 and (self.hosts is None or named[0].lower() in self.hosts)

    def is_own_origin(self, headers: Headers) -> bool:
        """Tell whether what changes something comes from a page of this server, or from no page at all."""
        origin = headers.get("origin")
        if origin is None:
            return headers.get("sec-fetch-site", "none") in ("same-origin", "none")
        if origin == "null":  # what browsers say of pages that tell nobody where they come from, as ours
            return headers.get("sec-fetch-site") == "same-origin"
        host = headers.get("host", "").lower()
        return origin.lower() in self.origins | {f"http://{host}", f"https://{host}"}


def is_loopback(host: str) -> bool:
    """Tell whether nobody but this machine reaches ``host``."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _is_same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(errors="surrogatepass"), expected.encode())


class GuardedApp:
    """An application behind the rules; every answer, a refusal too, has the headers."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access
        # Browsers keep cookies by host, whatever the port: two servers must not take each other's.
        self._cookie_name = f"tracer_hooks_{access.cookie[:8]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        answer: ASGIApp = self._refusal(scope, Headers(scope=scope)) or self._app
        await answer(scope, receive, with_headers)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        access = self._access
        if not access.is_known_host(headers):
            return PlainTextResponse(
                f"This server is not called {headers.get('host', '')[:200]!r}. Ask it as it calls itself, or start it "
                "with --public-url and the address that you use.\n",
                status_code=421,
            )
        if access.token is not None:
            is_trusted = self._is_trusted(headers)
            if not is_trusted or (scope["method"] in _LOOKS and b"token=" in scope["query_string"]):
                return self._asking(scope, is_trusted=is_trusted)
        if scope["method"] not in _LOOKS and not access.is_own_origin(headers):
            return PlainTextResponse("A page of another server may not send this.\n", status_code=403)
        return None

    def _is_trusted(self, headers: Headers) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and _is_same(given.strip(), self._access.token or ""):
            return True
        cookies = (cookie_parser(line).get(self._cookie_name, "") for line in headers.getlist("cookie"))
        return any([_is_same(value, self._access.cookie) for value in cookies])

    def _asking(self, scope: Scope, *, is_trusted: bool) -> Response | None:
        """Ask for the token; one that stands in the address becomes a cookie, and leaves the address."""
        asked = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in asked if name == "token"]
        if is_trusted and not given:
            return None
        is_right = bool(given) and scope["method"] in _LOOKS and _is_same(given[0], self._access.token or "")
        if not is_right and not is_trusted:
            return PlainTextResponse(_WAYS, status_code=401, headers={"WWW-Authenticate": "Bearer"})
        answer = RedirectResponse(_address(scope, ((name, value) for name, value in asked if name != "token")), 303)
        if is_right:
            answer.set_cookie(
                self._cookie_name, self._access.cookie, httponly=True, samesite="strict", secure=self._access.is_secure
            )
        return answer


def _address(scope: Scope, asked: Iterable[tuple[str, str]]) -> str:
    path = "/" + scope.get("raw_path", scope["path"].encode()).decode("latin-1").partition("?")[0].lstrip("/\\")
    query = urlencode(list(asked))
    return f"{path}?{query}" if query else path
