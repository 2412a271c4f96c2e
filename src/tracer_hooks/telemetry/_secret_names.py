"""Names whose value is a secret, in text and in data: ``DB_PASS=...``, ``"api_key": ...``, ``Cookie: ...``."""

from __future__ import annotations

import enum
import re
from functools import lru_cache


class Weight(enum.Enum):
    """How much a name says of its value."""

    NOTHING = 0
    """The value is no secret."""
    WEAK = 1
    """It may be one: ``token``, ``session``. What is written like a word or a number is none."""
    STRONG = 2
    """It is one: ``password``, ``api_key``."""
    LINE = 3
    """All that follows on the line is: ``Authorization``, ``Cookie``."""


_LINE = ("authorization", "cookie", "setcookie", "proxyauthorization")
_STRONG = (
    "password", "passwd", "passphrase", "passcode", "passwort", "pwd", "secret", "apikey", "accesskey", "privatekey",
    "signingkey", "encryptionkey", "secretkey", "accountkey", "subscriptionkey", "masterkey", "sharedkey", "licensekey",
    "credential", "accesstoken", "authtoken", "refreshtoken", "bearertoken", "idtoken", "privatetoken", "sessiontoken",
    "apitoken", "dbpass", "clientsecret", "authkey", "hmackey", "connectionstring",
)  # fmt: skip
_STRONG_END = ("pass", "passw", "jwt", "apikeys")
_WEAK_END = ("token", "tokens", "auth", "sessionid", "session", "sid", "signature", "sig", "otp", "pin", "key", "keys")
_PARAMETERS = frozenset({"key", "code", "sig", "signature", "token", "auth", "hash", "jwt", "state", "ticket"})
"""In the query of a URL these names stand for little else."""
_NO_KEYS = frozenset(
    {
        "public", "primary", "foreign", "sort", "partition", "cache", "dict", "by", "hot", "short", "row", "max",
        "min", "num", "n", "total", "input", "output", "prompt", "completion", "cached", "reasoning", "used",
        "count", "keyword", "stop", "special", "pad", "eos", "bos", "unk", "next", "per", "publishable",
        "translation", "message", "lookup", "order", "group", "index", "unique", "kept", "answer",
    }
)  # fmt: skip
"""Words before ``key`` and ``token`` that say that it is another kind of key, or a piece of text."""
_ABOUT = frozenset(
    {
        "name", "names", "id", "ids", "type", "types", "count", "length", "len", "limit", "limits", "policy",
        "manager", "scanner", "version", "url", "uri", "endpoint", "file", "path", "field", "hint", "reset",
        "required", "error", "errors", "store", "strength", "format", "prefix", "budget", "usage",
    }
)  # fmt: skip
"""Last words of names that stand for something about a secret."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SEPARATORS = re.compile(r"[\W_]+")


@lru_cache(maxsize=4096)
def weight_of(name: str, *, is_parameter: bool = False) -> Weight:
    """How much ``name`` says of the value that stands under it.

    Args:
        name: As it is written.
        is_parameter: Whether it is a parameter of a URL.
    """
    plain = _SEPARATORS.sub("", name[:200]).lower()
    if plain.endswith(_LINE):
        return Weight.LINE
    if is_parameter and plain in _PARAMETERS:
        return Weight.STRONG
    words = [word.lower() for word in _WORDS.findall(name[:200])]
    if words and (
        words[-1] in _ABOUT or (words[-1].rstrip("s") in ("key", "token") and _NO_KEYS.intersection(words[-2:-1]))
    ):
        return Weight.NOTHING
    if any(word in plain for word in _STRONG) or plain.endswith(_STRONG_END):
        return Weight.STRONG
    return Weight.WEAK if plain.endswith(_WEAK_END) else Weight.NOTHING


_WORD = re.compile(r"[A-Za-z][a-z]*(?:[-_.' ][A-Za-z]?[a-z]*)*[.,;:!?)]*")
_NUMBER = re.compile(r"[\d.,_%$]*")


def is_random(value: str, *, least: int = 8) -> bool:
    """Whether ``value`` is written like a secret: long enough, and neither a word nor a number."""
    return len(value) >= least and not _NUMBER.fullmatch(value) and not _WORD.fullmatch(value)
