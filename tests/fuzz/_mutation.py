"""Small changes to valid data: of its structure, so that readers are reached deep inside, and of its bytes."""

import contextlib
import json
from random import Random
from typing import Any

Path = tuple[str | int, ...]


def _nested(kind: str, levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value] if kind == "list" else {"a": value}
    return value


ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 2**31, 2**63, -(2**63), 2**64, 10**400, 0.5, -0.0, 1e308,
    float("nan"), float("inf"), float("-inf"),
    "", " ", "\x00", "a\x00", "\ud800", "\udfff\ud800", "\u202eabc", "\u2028", "\x1b[2J", "²", "٣", "1_000", "0x10",
    "9" * 30, "9" * 5000, "-5", "1e999", "NaN", "null", "[]", "{}", '{"a":', "[" * 2000, "[" * 390 + "]" * 390,
    "user", "assistant", "system", "FM-1.1", "FM-9.9", "failed", "chat", "invoke_agent", "__class__", "x" * 20_000,
    "2026-13-99T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-01-01", "PT1.1.1S",
    "PT" + "9" * 400 + "S", "0" * 32, "g" * 16, "00000000000000aa",
    [], {}, [[]], [{}], [None], {"a": None}, {"": ""}, [1, "a", None, {}], ["a"] * 50,
    _nested("list", 30), _nested("dict", 90), _nested("list", 390),
    {"stringValue": 5}, {"intValue": "x"}, {"intValue": float("inf")}, {"doubleValue": "abc"}, {"boolValue": "x"},
    {"bytesValue": "!!"}, {"arrayValue": 5}, {"arrayValue": {"values": [{"stringValue": "x"}]}},
    {"kvlistValue": {"values": 5}}, {"role": "user", "content": "x"}, [{"type": "text", "text": 5}],
    [{"role": "user", "content": [{"type": "text", "text": 5}]}],
)  # fmt: skip
KEYS = (
    "", "\x00", "\ud800", "a" * 3000, "role", "name", "type", "content", "input.value", "output.value",
    "llm.input_messages.x.y", "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments",
    "gen_ai.prompt.-1.content", "gen_ai.prompt.99999999.content", "gen_ai.system_instructions",
    "gen_ai.tool.definitions", "gen_ai.operation.name", "openinference.span.kind", "schema_version", "errors",
    "failures", "history", "steps", "trajectory", "spans", "child_spans", "run_id",
)  # fmt: skip
_PIECES = (
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r\n", b"\n", b"NaN", b"1e999", b"\xed\xa0\x80", b"[[[[", b"}{", b"\\",
    b"\x0a\xff\xff\xff\xff\x0f", b"\x1f\x8b\x08\x00", b"\xfd7zXZ\x00", b"-", b"\\ud800",
)  # fmt: skip


def changed(value: Any, chance: Random) -> Any:
    """``value``, plain JSON data, with one to three small changes; it is not changed itself."""
    value = _copied(value)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        places = [place for place in _places(value) if place]
        if not places:
            break
        with contextlib.suppress(KeyError, IndexError, TypeError):  # an earlier change took the place away
            _CHANGES[chance.randrange(len(_CHANGES))](value, places, chance)
    return value


def changed_bytes(data: bytes, chance: Random) -> bytes:
    """``data`` with some bytes changed, taken away, doubled or put in."""
    found = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5))):
        at, kind = chance.randrange(len(found) + 1), chance.randrange(6)
        if kind <= 1 and at < len(found):
            found[at] = chance.randrange(256)
        elif kind == 2:
            del found[at : at + chance.randrange(1, 40)]
        elif kind == 3:
            del found[at:]
        elif kind == 4:
            found[at:at] = found[at : at + chance.randrange(1, 200)]
        else:
            found[at:at] = chance.choice(_PIECES)
    return bytes(found)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(one) for key, one in value.items()}
    return [_copied(one) for one in value] if isinstance(value, list) else value


def _places(value: Any, here: Path = ()) -> list[Path]:
    found: list[Path] = [here]
    if len(here) < 60:
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, one in items:
            found += _places(one, (*here, key))
    return found


def _at(value: Any, place: Path) -> Any:
    for key in place:
        value = value[key]
    return value


def _put(value: Any, place: Path, new: Any) -> None:
    _at(value, place[:-1])[place[-1]] = new


def _replace(value: Any, places: list[Path], chance: Random) -> None:
    _put(value, chance.choice(places), _copied(chance.choice(ODD)))


def _remove(value: Any, places: list[Path], chance: Random) -> None:
    place = chance.choice(places)
    del _at(value, place[:-1])[place[-1]]


def _transplant(value: Any, places: list[Path], chance: Random) -> None:
    """A part in the place of another: of its own inside, too, which makes a span its own ancestor."""
    _put(value, chance.choice(places), _copied(_at(value, chance.choice(places))))


def _same_key(value: Any, places: list[Path], chance: Random) -> None:
    """The value of a key under another key of that name: doubled ids, parents in a circle."""
    place = chance.choice(places)
    alike = [other for other in places if other[-1] == place[-1] and other != place]
    if alike:
        _put(value, place, _copied(_at(value, chance.choice(alike))))


def _swap_ids(value: Any, places: list[Path], chance: Random) -> None:
    """One identifier in the place of another kind of identifier: a span that is its own parent."""
    ids = [place for place in places if isinstance(place[-1], str) and "id" in place[-1].lower()]
    if len(ids) > 1:
        _put(value, chance.choice(ids), _copied(_at(value, chance.choice(ids))))


def _append(value: Any, places: list[Path], chance: Random) -> None:
    place = chance.choice(places)
    holder = _at(value, place[:-1])
    if isinstance(holder, list):
        holder.extend(_copied(holder[int(place[-1])]) for _ in range(chance.choice((1, 1, 40))))
    else:
        holder[chance.choice(KEYS)] = _copied(chance.choice(ODD))


def _wrap(value: Any, places: list[Path], chance: Random) -> None:
    place = chance.choice(places)
    inner = _at(value, place)
    _put(value, place, chance.choice(([inner], {"a": inner}, {"value": inner}, [[inner, inner]])))


def _inside_text(value: Any, places: list[Path], chance: Random) -> None:
    """A change inside a text that holds JSON."""
    texts = [place for place in places if isinstance(one := _at(value, place), str) and one[:1] in ("[", "{")]
    if not texts:
        _replace(value, places, chance)
        return
    place = chance.choice(texts)
    with contextlib.suppress(ValueError, RecursionError):
        _put(value, place, json.dumps(changed(json.loads(_at(value, place)), chance)))


_CHANGES = (_replace, _replace, _replace, _remove, _transplant, _same_key, _swap_ids, _append, _wrap, _inside_text)
