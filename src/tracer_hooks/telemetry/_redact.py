"""Blank secrets in text and in plain data."""

from __future__ import annotations

import json
import re

from pydantic import JsonValue

from tracer_hooks.schema import to_json_value
from tracer_hooks.telemetry._assignments import BLANK, blank_assigned
from tracer_hooks.telemetry._check_digits import CARD, IBAN, iban_length, is_card
from tracer_hooks.telemetry._secret_forms import COMPILED
from tracer_hooks.telemetry._secret_names import Weight, is_random, weight_of

__all__ = ["BLANK", "Redactor"]

_MOST_JSON = 2_000_000
"""Characters of a text that is tried as JSON."""
_DEEPEST = 100

_MAIL = re.compile(
    # Lengths as in RFC 5321, and only from the beginning of a word, so that "a.a.a." and "aaaa@" take no longer.
    r"(?<![\w.%+-])(?:[\w.%+-]{1,64}+|\"[^\"\r\n]{1,62}\")@(?:[\w-]{1,63}+\.){1,8}[^\W\d_]{2,63}+"
)
_SCHEME = re.compile(
    r"\b(?P<said>(?:bearer|basic|token|digest)[ \t]+)(?P<value>[A-Za-z0-9._~+/=-]{12,4096}+)", re.IGNORECASE
)
_SAID = re.compile(
    r"\b(?P<said>(?:password|passphrase|passcode|pin|api[ _-]?key|access[ _-]?key|secret(?: key)?|token)"
    r"[ \t]+(?:is|was)(?:[ \t]+now)?:?[ \t]+[\"'`*]{0,2})(?P<value>[^\s\"'`*]{4,256}+)",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"(?P<said>\blogin\s{1,8}\S{1,64}\s{1,8}password\s{1,8})(?P<value>\S{1,256}+)")
_OPTION = re.compile(
    r"(?P<said>(?<![\w-])--(?:password|passwd|token|api-?key|secret|access-?token|client-?secret)[ \t]{1,4}[\"']?)"
    r"(?P<value>[^\s\"'-][^\s\"']{3,256}+)"
)
_USER_OPTION = re.compile(r"(?P<said>(?<!\S)(?:-u|--user)[ =][\"']?[^\s:\"']{1,64}+:)(?P<value>[^\s\"':]{3,256}+)")
_USER_INFO = re.compile(r"(?P<said>://[^\s/?#@:\"'<>]{0,128}+:)(?P<value>[^\s/?#@\"'<>]{1,256}+)(?=@)")
_USER = re.compile(r"(?P<said>://)(?P<value>[^\s/?#@:\"'<>]{16,256}+)(?=@)")
_ELEMENT = re.compile(r"(?P<said><(?P<name>[\w.:-]{2,80}+)>)(?P<value>[^<]{1,1024}+)(?=</)")


class Redactor:
    """Blanks keys and tokens, passwords, cookies, e-mail addresses, card and account numbers, and the user's patterns.

    The time is linear in the text; that of the user's own patterns is their own.

    Args:
        patterns: More patterns to blank.
    """

    def __init__(self, patterns: tuple[re.Pattern[str], ...] = ()) -> None:
        self.patterns = patterns

    def text(self, value: str) -> str:
        """``value`` with every secret replaced by ``[redacted]``; JSON in it is read as such."""
        return self._text(value, 0)

    def value(self, value: object) -> object:
        """``value`` as plain data with every string redacted; values of keys such as ``password`` are blanked whole."""
        return self._plain(
            to_json_value(value), 0
        )  # opens models and dataclasses, which would else be opened at export

    def _text(self, text: str, depth: int) -> str:
        lowered = text.lower()
        opened = self._json(text, depth) if text.lstrip()[:1] in ("{", "[") else None
        if opened is not None:
            return self._own(opened)
        for keywords, pattern in COMPILED:
            if any(keyword in lowered for keyword in keywords):
                text = pattern.sub(BLANK, text)
        text = _by_surroundings(text, lowered)
        text = blank_assigned(text, lowered)
        if "@" in text:
            text = _MAIL.sub(BLANK, text)
        text = CARD.sub(lambda found: BLANK if is_card(found[0]) else found[0], text)
        return self._own(IBAN.sub(_without_iban, text))

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
                is_plain = weight is Weight.NOTHING
                result[shown] = self._plain(item, depth + 1) if is_plain else self._blanked(item, weight, depth + 1)
            return result
        if isinstance(value, list):
            return [self._plain(item, depth + 1) for item in value]
        return value

    def _blanked(self, value: JsonValue, weight: Weight, depth: int) -> JsonValue:
        """What stands under a secret name: every string in it, and numbers where the name leaves no doubt."""
        if isinstance(value, list):
            return [self._blanked(item, weight, depth + 1) for item in value]
        if isinstance(value, dict):
            return {
                self._text(key, depth + 1): self._blanked(item, _heavier(weight, weight_of(key)), depth + 1)
                for key, item in value.items()
            }
        if isinstance(value, str):
            is_word = weight is Weight.WEAK and " " in value and not is_random(value)
            return self._text(value, depth + 1) if is_word or not value else BLANK
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return BLANK if is_number and weight is not Weight.WEAK else value


def _heavier(one: Weight, other: Weight) -> Weight:
    return max(one, other, key=lambda weight: weight.value)


def _by_surroundings(text: str, lowered: str) -> str:
    """Secrets that are found by what stands around them and is no name with a mark."""
    if "bearer" in lowered or "basic" in lowered or "token" in lowered or "digest" in lowered:
        text = _SCHEME.sub(_if_random, text)
    if any(word in lowered for word in ("pass", "key", "secret", "token", "pin")):
        text = _SAID.sub(_if_random, text)
        text = _OPTION.sub(_all, text)
    if "login" in lowered:
        text = _LOGIN.sub(_all, text)
    if "-u" in lowered or "--user" in lowered:
        text = _USER_OPTION.sub(_all, text)
    if "://" in text and "@" in text:
        text = _USER_INFO.sub(_all, text)
        text = _USER.sub(_if_random, text)
    if "</" in text:
        text = _ELEMENT.sub(_if_secret_element, text)
    return text


def _all(found: re.Match[str]) -> str:
    return found["said"] + BLANK


def _if_random(found: re.Match[str]) -> str:
    value = found["value"].rstrip(".,;:!?)")
    if not is_random(value, least=6) or BLANK in value or value.endswith(("(", "[")):
        return found[0]
    return found["said"] + BLANK + found["value"][len(value) :]


def _if_secret_element(found: re.Match[str]) -> str:
    return found["said"] + BLANK if weight_of(found["name"]) is Weight.STRONG else found[0]


def _without_iban(found: re.Match[str]) -> str:
    length = iban_length(found[0])
    return BLANK + found[0][length:] if length else found[0]
