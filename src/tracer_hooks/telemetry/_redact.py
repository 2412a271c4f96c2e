"""Redaction of secrets in text and in data."""

from __future__ import annotations

import json
import re

from pydantic import JsonValue

from tracer_hooks.schema import to_json_value
from tracer_hooks.telemetry._secrets import (
    CARD,
    COMPILED_FORMS,
    IBAN,
    SecrecyOfName,
    iban_length,
    is_card,
    is_random,
    weight_of,
)

BLANK = "[redacted]"
_HINTS = (
    "pass", "pwd", "secret", "token", "key", "auth", "cookie", "credential", "session", "sid", "sig", "jwt", "code",
    "otp", "pin", "connection", "hash", "state", "ticket",
)  # fmt: skip

# A name begins where a word begins, and is taken whole, so each character is looked at once.
_NAME = re.compile(
    r"(?<![\w.-])(?P<name>[\w.-]{2,80}+)(?P<closing>\\{0,4}[\"'`]?\]?)(?P<space>[ \t]{0,8}+)"
    r"(?P<mark>:=|=>|==?|:(?!//))(?P<after>[ \t]{0,8}+)"
)
_QUOTED = re.compile(
    r"(?P<mark>\\{0,8}(?:\"\"\"|[\"'`]))(?P<value>[^\"'`\\\r\n]{1,4096}+|(?:(?!(?P=mark)).){1,4096})(?P=mark)"
)
_BARE = re.compile(r"[^\s,;&\"'`<>(){}\[\]\\]{1,4096}+")
_PARAMETER = re.compile(r"[^\s&#\"'`<>\\]{1,4096}+")
_ASSIGNED_LINE = re.compile(r"[^\r\n\"'`\\]{1,4096}+")
_BLOCK = re.compile(r"(?:[|>][-+]?)?[ \t]{0,8}+\r?\n[ \t]{1,40}+(?P<value>[^\s:]{4,4096}+)(?![ \t]*:)")
_EMPTY_VALUES = re.compile(
    r"(?:none|null|nil|true|false|undefined|str|string|int|bool|bytes|any|optional|\W+)[.,;]?", re.IGNORECASE
)
_ASSIGNED_SCHEME = re.compile(r"(?:bearer|basic|token|digest|apikey|negotiate)[ \t]+", re.IGNORECASE)


def blank_assigned(text: str, lowered: str) -> str:
    """``text`` with the values of secret names blanked."""
    if not any(hint in lowered for hint in _HINTS):
        return text
    pieces, done = [], 0
    for match in _NAME.finditer(text):
        if match.start() < done:  # inside a value that was blanked
            continue
        found = _value_at(text, match)
        if found is not None:
            pieces += [text[done : found[0]], BLANK]
            done = found[1]
    return "".join([*pieces, text[done:]]) if pieces else text


def _value_at(text: str, match: re.Match[str]) -> tuple[int, int] | None:
    """Find the secret that ``match`` is the name of; None when there is none."""
    is_parameter = text[match.start() - 1 : match.start()] in ("?", "&", ";") and match["mark"] == "="
    weight = weight_of(match["name"], is_parameter=is_parameter)
    if weight is SecrecyOfName.NOTHING:
        return None
    place = match.end()
    if is_parameter:
        return _secret_span(_PARAMETER.match(text, place), weight)
    quoted = _QUOTED.match(text, place)
    if quoted is not None:
        is_word = weight is SecrecyOfName.WEAK and not is_random(quoted["value"])
        return None if is_word else _secret_span(quoted, weight, "value")
    if weight is SecrecyOfName.LINE:
        scheme = _ASSIGNED_SCHEME.match(text, place)
        return _secret_span(_ASSIGNED_LINE.match(text, scheme.end() if scheme else place), weight)
    if match["mark"] == ":" and not match["after"] and match["closing"] == "" and text[place : place + 1].strip():
        weight = SecrecyOfName.WEAK  # "secret:name" is seldom an assignment
    block = _BLOCK.match(text, place)
    if block is not None:
        return _secret_span(block, weight, "value") if is_random(block["value"]) else None
    whole = _ASSIGNED_LINE if "phrase" in match["name"].lower() else _BARE
    bare = whole.match(text, place)
    if bare is None or text[bare.end() : bare.end() + 1] in ("(", "["):  # code that gets it from somewhere
        return None
    is_prose = match["mark"] == ":" and match["space"] == "" and match["after"] == " " and match["closing"] == ""
    if weight is SecrecyOfName.WEAK and "://" in bare[0]:
        return None
    if (weight is SecrecyOfName.WEAK or (is_prose and whole is _BARE)) and not is_random(bare[0], least=6):
        return None
    return _secret_span(bare, weight)


def _secret_span(found: re.Match[str] | None, weight: SecrecyOfName, group: str | int = 0) -> tuple[int, int] | None:
    if found is None:
        return None
    value = found[group]
    if weight is SecrecyOfName.LINE:
        return None if value.strip() == BLANK else found.span(group)
    if _EMPTY_VALUES.fullmatch(value) or BLANK in value or len(value) < 4:
        return None
    return found.span(group)


_MOST_JSON = 2_000_000
"""Characters of a text that is tried as JSON."""
_DEEPEST = 100
_MAIL = re.compile(
    # Lengths as in RFC 5321, and only from the beginning of a word, so that "a.a.a." and "aaaa@" take no longer.
    r"(?<![\w.%+-])(?:[\w.%+-]{1,64}+|\"[^\"\r\n]{1,62}\")@(?:[\w-]{1,63}+\.){1,8}[^\W\d_]{2,63}+"
)
_SCHEME = re.compile(
    r"\b(?P<before>(?:bearer|basic|token|digest)[ \t]+)(?P<value>[A-Za-z0-9._~+/=-]{12,4096}+)", re.IGNORECASE
)
_STATED = re.compile(
    r"\b(?P<before>(?:password|passphrase|passcode|pin|api[ _-]?key|access[ _-]?key|secret(?: key)?|token)[ \t]+"
    # Without "is" only what has a digit and a letter in it: "password hunter2-XY", and not "token sequence".
    r"(?:(?:is|was)(?:[ \t]+now)?:?[ \t]+|(?=[^\s\d]{0,64}\d)(?=[^\sA-Za-z]{0,64}[A-Za-z]))[\"'`*]{0,2})"
    r"(?P<value>[^\s\"'`*]{4,256}+)",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"(?P<before>\blogin\s{1,8}\S{1,64}\s{1,8}password\s{1,8})(?P<value>\S{1,256}+)")
_OPTION = re.compile(
    r"(?P<before>(?<![\w-])--(?:password|passwd|token|api-?key|secret|access-?token|client-?secret)[ \t]{1,4}[\"']?)"
    r"(?P<value>[^\s\"'-][^\s\"']{3,256}+)"
)
_USER_OPTION = re.compile(r"(?P<before>(?<!\S)(?:-u|--user)[ =][\"']?[^\s:\"']{1,64}+:)(?P<value>[^\s\"':]{3,256}+)")
_USER_INFO = re.compile(r"(?P<before>://[^\s/?#@:\"'<>]{0,128}+:)(?P<value>[^\s/?#@\"'<>]{1,256}+)(?=@)")
_USER = re.compile(r"(?P<before>://)(?P<value>[^\s/?#@:\"'<>]{16,256}+)(?=@)")
_ELEMENT = re.compile(r"(?P<before><(?P<name>[\w.:-]{2,80}+)>)(?P<value>[^<]{1,1024}+)(?=</)")


class Redactor:
    """Blanks keys and tokens, passwords, cookies, e-mail addresses, card and account numbers, and the user's patterns.

    The time is linear in the text; that of the user's own patterns is their own.
    """

    def __init__(self, patterns: tuple[re.Pattern[str], ...] = ()) -> None:
        self.patterns = patterns

    def text(self, value: str) -> str:
        """``value`` with every secret replaced by ``[redacted]``; JSON in it is read as such."""
        return self._text(value, 0)

    def value(self, value: object) -> object:
        """``value`` as plain data with every string redacted; values of keys such as ``password`` are blanked whole."""
        # Opens models and dataclasses, which would else be opened at export.
        return self._plain(to_json_value(value), 0)

    def _text(self, text: str, depth: int) -> str:
        lowered = text.lower()
        opened = self._json(text, depth) if text.lstrip()[:1] in ("{", "[") else None
        if opened is not None:
            return self._own(opened)
        for keywords, pattern in COMPILED_FORMS:
            if any(keyword in lowered for keyword in keywords):
                text = pattern.sub(BLANK, text)
        text = _by_surroundings(text, lowered)
        text = blank_assigned(text, lowered)
        if "@" in text:
            text = _MAIL.sub(BLANK, text)
        text = CARD.sub(lambda found: BLANK if is_card(found[0]) else found[0], text)
        return self._own(IBAN.sub(_blank_iban, text))

    def _own(self, text: str) -> str:
        for pattern in self.patterns:
            text = pattern.sub(BLANK, text)
        return text

    def _json(self, text: str, depth: int) -> str | None:
        """A text that is JSON, redacted as the data that it stands for; None when it is none."""
        if len(text) > _MOST_JSON or depth > _DEEPEST or '"' not in text:
            return None
        try:
            data = json.loads(text)
            shown = self._plain(data, depth + 1)
        except (ValueError, RecursionError):
            return None
        return text if shown == data else json.dumps(shown, ensure_ascii=False)

    def _plain(self, value: JsonValue, depth: int) -> JsonValue:
        if isinstance(value, str):
            return self._text(value, depth + 1)
        if isinstance(value, dict):
            result: dict[str, JsonValue] = {}
            for key, item in value.items():
                shown = self._text(key, depth + 1)
                if shown != key and shown in result:  # two keys with nothing left to tell them apart
                    shown = f"{shown} {len(result) + 1}"
                weight = weight_of(key)
                is_plain = weight is SecrecyOfName.NOTHING
                result[shown] = self._plain(item, depth + 1) if is_plain else self._blanked(item, weight, depth + 1)
            return result
        if isinstance(value, list):
            return [self._plain(item, depth + 1) for item in value]
        return value

    def _blanked(self, value: JsonValue, weight: SecrecyOfName, depth: int) -> JsonValue:
        """Blank the value of a secret name: every string in it, and numbers where the name leaves no doubt."""
        if isinstance(value, list):
            return [self._blanked(item, weight, depth + 1) for item in value]
        if isinstance(value, dict):
            return {
                self._text(key, depth + 1): self._blanked(item, max(weight, weight_of(key)), depth + 1)
                for key, item in value.items()
            }
        if isinstance(value, str):
            is_word = weight is SecrecyOfName.WEAK and " " in value and not is_random(value)
            return self._text(value, depth + 1) if is_word or not value else BLANK
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return BLANK if is_number and weight is not SecrecyOfName.WEAK else value


def _by_surroundings(text: str, lowered: str) -> str:
    """Secrets that are found by what stands around them and is no name with a mark."""
    if "bearer" in lowered or "basic" in lowered or "token" in lowered or "digest" in lowered:
        text = _SCHEME.sub(_blank_if_random, text)
    if any(word in lowered for word in ("pass", "key", "secret", "token", "pin")):
        text = _STATED.sub(_blank_if_random, text)
        text = _OPTION.sub(_blank_value, text)
    if "login" in lowered:
        text = _LOGIN.sub(_blank_value, text)
    if "-u" in lowered or "--user" in lowered:
        text = _USER_OPTION.sub(_blank_value, text)
    if "://" in text and "@" in text:
        text = _USER_INFO.sub(_blank_value, text)
        text = _USER.sub(_blank_if_random, text)
    if "</" in text:
        text = _ELEMENT.sub(_blank_if_secret_element, text)
    return text


def _blank_value(found: re.Match[str]) -> str:
    return found["before"] + BLANK


def _blank_if_random(found: re.Match[str]) -> str:
    value = found["value"].rstrip(".,;:!?)")
    if not is_random(value, least=6) or BLANK in value or value.endswith(("(", "[")):
        return found[0]
    return found["before"] + BLANK + found["value"][len(value) :]


def _blank_if_secret_element(found: re.Match[str]) -> str:
    return found["before"] + BLANK if weight_of(found["name"]) is SecrecyOfName.STRONG else found[0]


def _blank_iban(found: re.Match[str]) -> str:
    length = iban_length(found[0])
    return BLANK + found[0][length:] if length else found[0]
