"""Exceptions of model clients that say that the server could not be reached, or was too busy to answer.

They are known by their class, since their texts differ by version and platform. No client is imported for that: the
class has the name of its module, and a record of a run holds no more than that name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

_HTTPCORE = (
    "ConnectError ConnectTimeout NetworkError PoolTimeout ProxyError ReadError ReadTimeout RemoteProtocolError"
    " TimeoutException WriteError WriteTimeout"
)
_OPENAI = "APIConnectionError APITimeoutError InternalServerError RateLimitError"
_NAMES = {
    "builtins": "BrokenPipeError ConnectionAbortedError ConnectionError ConnectionRefusedError ConnectionResetError"
    " TimeoutError",
    "asyncio": "IncompleteReadError TimeoutError",
    "socket": "gaierror herror timeout",
    "ssl": "SSLEOFError SSLError SSLSyscallError SSLZeroReturnError",
    "http": "IncompleteRead RemoteDisconnected",
    "httpcore": _HTTPCORE,
    "httpx": f"{_HTTPCORE} CloseError",
    "aiohttp": "ClientConnectionError ClientConnectionResetError ClientConnectorDNSError ClientConnectorError"
    " ClientConnectorSSLError ClientOSError ClientPayloadError ClientProxyConnectionError ClientSSLError"
    " ConnectionTimeoutError ServerConnectionError ServerDisconnectedError ServerTimeoutError SocketTimeoutError",
    "requests": "ChunkedEncodingError ConnectTimeout ConnectionError ProxyError ReadTimeout RetryError SSLError"
    " Timeout",
    "urllib3": "ConnectTimeoutError IncompleteRead MaxRetryError NameResolutionError NewConnectionError ProtocolError"
    " ProxyError ReadTimeoutError SSLError TimeoutError",
    "openai": _OPENAI,
    "anthropic": f"{_OPENAI} DeadlineExceededError OverloadedError ServiceUnavailableError",
    "litellm": f"{_OPENAI} BadGatewayError ServiceUnavailableError Timeout",
}
_CLASSES = {package: frozenset(names.split()) for package, names in _NAMES.items()}
"""Names of the classes by the package that has them."""
_BARE_NAMES = frozenset().union(*_CLASSES.values())
_BUSY = (408, 429)
"""Answers that ask to try again, beside those from 500 on."""


def error_type(error: BaseException) -> str:
    """Give the value of ``error.type`` for an exception: the full name of its class.

    An exception that is, or was raised from, one of those that mean an outage has the name of that one's class; an
    answer with such a status that no class tells has the status, as the conventions ask.
    """
    for raised in _with_causes(error):
        for name in map(class_name, type(raised).__mro__):
            if is_outage(name):
                return name
        status = _status(raised)
        if status is not None and is_outage(str(status)):
            return str(status)
        if status is not None:  # the server answered, whatever the client met before
            break
    return class_name(type(error))


def class_name(kind: type) -> str:
    """Give the full name of a class, a built-in one's without its module."""
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def is_outage(error_type: str) -> bool:
    """Tell whether an ``error.type``, of our spans or of another library's, means that a server was not to be had."""
    if error_type.isdecimal():
        return int(error_type) in _BUSY or 500 <= int(error_type) < 600
    if "." not in error_type:
        return error_type in _BARE_NAMES
    return error_type.rpartition(".")[2] in _CLASSES.get(error_type.partition(".")[0], ())


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    followed: set[int] = set()  # exceptions may refer to each other
    raised: BaseException | None = error
    while raised is not None and id(raised) not in followed:
        yield raised
        followed.add(id(raised))
        raised = raised.__cause__ or (None if raised.__suppress_context__ else raised.__context__)


def _status(error: BaseException) -> int | None:
    """The HTTP status that an exception of a client tells."""
    with suppress(Exception):  # properties of a user's exception may raise
        response = getattr(error, "response", None)
        for holder, name in ((error, "status_code"), (error, "status"), (error, "code"), (response, "status_code")):
            status = getattr(holder, name, None)
            if isinstance(status, int) and 400 <= status < 600:
                return status
    return None
