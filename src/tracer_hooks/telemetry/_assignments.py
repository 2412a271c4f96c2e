"""Secrets in text that are found by the name before them."""

from __future__ import annotations

import re

from tracer_hooks.telemetry._secret_names import Weight, is_random, weight_of

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
_LINE = re.compile(r"[^\r\n\"'`\\]{1,4096}+")
_BLOCK = re.compile(r"(?:[|>][-+]?)?[ \t]{0,8}+\r?\n[ \t]{1,40}+(?P<value>[^\s:]{4,4096}+)(?![ \t]*:)")
_NOTHING = re.compile(
    r"(?:none|null|nil|true|false|undefined|str|string|int|bool|bytes|any|optional|\W+)[.,;]?", re.IGNORECASE
)
_SCHEME = re.compile(r"(?:bearer|basic|token|digest|apikey|negotiate)[ \t]+", re.IGNORECASE)


def blank_assigned(text: str, lowered: str) -> str:
    """``text`` with the values of secret names blanked.

    Args:
        text: What to look through.
        lowered: The same in lower case.
    """
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
    """Where the secret stands that ``match`` is the name of; None when there is none."""
    is_parameter = text[match.start() - 1 : match.start()] in ("?", "&", ";") and match["mark"] == "="
    weight = weight_of(match["name"], is_parameter=is_parameter)
    if weight is Weight.NOTHING:
        return None
    place = match.end()
    if is_parameter:
        return _span(_PARAMETER.match(text, place), weight)
    quoted = _QUOTED.match(text, place)
    if quoted is not None:
        return None if weight is Weight.WEAK and not is_random(quoted["value"]) else _span(quoted, weight, "value")
    if weight is Weight.LINE:
        scheme = _SCHEME.match(text, place)
        return _span(_LINE.match(text, scheme.end() if scheme else place), weight)
    if match["mark"] == ":" and not match["after"] and match["closing"] == "" and text[place : place + 1].strip():
        weight = Weight.WEAK  # "secret:name" is seldom an assignment
    block = _BLOCK.match(text, place)
    if block is not None:
        return _span(block, weight, "value") if is_random(block["value"]) else None
    whole = _LINE if "phrase" in match["name"].lower() else _BARE
    bare = whole.match(text, place)
    if bare is None or text[bare.end() : bare.end() + 1] in ("(", "["):  # code that gets it from somewhere
        return None
    is_prose = match["mark"] == ":" and match["space"] == "" and match["after"] == " " and match["closing"] == ""
    if weight is Weight.WEAK and "://" in bare[0]:
        return None
    if (weight is Weight.WEAK or (is_prose and whole is _BARE)) and not is_random(bare[0], least=6):
        return None
    return _span(bare, weight)


def _span(found: re.Match[str] | None, weight: Weight, group: str | int = 0) -> tuple[int, int] | None:
    if found is None:
        return None
    value = found[group]
    if weight is Weight.LINE:
        return None if value.strip() == BLANK else found.span(group)
    if _NOTHING.fullmatch(value) or BLANK in value or len(value) < 4:
        return None
    return found.span(group)
