"""Real functions for the tools of a case: they look up what the case says they return."""

from __future__ import annotations

import inspect
import json
import keyword
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from _provenance_cases import Call

Tool = Callable[..., str]

_TAKEN = frozenset({"self", "cls", "config", "runtime", "callbacks", "run_manager", "cancellation_token", "schema"})
"""Names that a framework fills in, or that its argument models own."""


def parameter(name: str) -> str:
    """An argument's name as a function can have it: a case may well say ``from`` and ``to``."""
    free = "".join(char if char.isalnum() or char == "_" else "_" for char in name)
    return f"{free}_" if keyword.iskeyword(free) or free in _TAKEN else free


def arguments_of(call: Call) -> dict[str, Any]:
    """The arguments under names that a function can have."""
    return {parameter(name): value for name, value in call.arguments.items()}


def tools_of(calls: Sequence[Call]) -> list[Tool]:
    """One function for each tool that is called."""
    by_name: dict[str, list[Call]] = {}
    for call in calls:
        by_name.setdefault(call.tool, []).append(call)
    return [_function(name, own) for name, own in by_name.items()]


def _function(name: str, calls: Sequence[Call]) -> Tool:
    results = {_key(arguments_of(call)): call.result for call in calls}
    seen = [arguments_of(call) for call in calls]
    names = dict.fromkeys(key for arguments in seen for key in arguments)

    def look_up(**arguments: Any) -> str:
        given = {key: value for key, value in arguments.items() if value is not None}
        return results[_key(given)]

    types = {key: _type([arguments[key] for arguments in seen if key in arguments]) for key in names}
    look_up.__name__ = look_up.__qualname__ = name
    look_up.__doc__ = f"{name.replace('_', ' ').capitalize()}."
    look_up.__annotations__ = {**types, "return": str}
    look_up.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [_parameter(key, types[key], seen) for key in names], return_annotation=str
    )
    return look_up


def _parameter(name: str, kind: Any, seen: Sequence[Mapping[str, Any]]) -> inspect.Parameter:
    always = all(name in arguments for arguments in seen)
    default = inspect.Parameter.empty if always else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _type(values: Sequence[Any]) -> Any:
    kinds = {type(value) for value in values}
    only = kinds.pop() if len(kinds) == 1 else object
    return only if only in (str, int, float, bool) else Any


def _key(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, sort_keys=True, ensure_ascii=False, default=str)
