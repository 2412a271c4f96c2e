"""Calls whose own reply shows that they were asked with another value than the one that was meant."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import parsed_json
from tracer_hooks.schema import ToolCall

_MOST_CHARS = 20_000
_MOST_LEAVES = 60
_OWN_KEYS = frozenset({"message", "messages", "response", "result"})
"""Under these a reply speaks of itself, whatever the argument of that name was."""
_DONE = re.compile(
    r"ok(?:ay)?|done|true|success(?:ful(?:ly)?)?|succeeded|complete[d]?|accepted|pending|queued|sent|saved|created"
    r"|updated|deleted|booked|confirmed|error|failed|failure|not[ _]found|rejected|denied|invalid",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")


def contradicted_calls(trace: RunReading) -> Iterator[Departure]:
    """Calls whose reply is a record with another value under the argument's own key, or without one that it echoes."""
    for index in trace.acts:
        step = trace.steps[index]
        for call in step.tool_calls:
            found = _contradiction(call)
            if found is not None:
                value, ending = found
                yield Departure(
                    kind=DepartureKind.MISREAD,
                    step=index,
                    why=f"{step.agent!r} passes {value!r} to {call.name!r}, whose reply {ending}",
                    quote=value,
                    value=value,
                    strength=0.9,
                    is_recorded=True,
                )


def _contradiction(call: ToolCall) -> tuple[str, str] | None:
    if not isinstance(call.arguments, dict) or not call.result or len(call.result) > _MOST_CHARS:
        return None
    reply = parsed_json(call.result)
    if not isinstance(reply, dict):
        return None
    for key, value in call.arguments.items():
        other = reply.get(key)
        if isinstance(value, str) and isinstance(other, str) and key not in _OWN_KEYS and _is_another(value, other):
            return value, f"has {other!r} as {key!r}"
    if any(one != other and str(other).endswith(str(one)) for one in call.arguments for other in call.arguments):
        return None  # "item_ids" and "new_item_ids": the reply has the new ones
    leaves = [leaf for leaf in _leaves(call.arguments) if len(leaf) > 3]
    echoed = [leaf for leaf in leaves if leaf in call.result]
    missing = [leaf for leaf in leaves if leaf not in call.result and any(char.isdigit() for char in leaf)]
    if len(missing) == 1 and len(leaves) >= 3 and len(echoed) == len(leaves) - 1:
        return missing[0], "repeats all of the call but this"
    return None


def _is_another(value: str, other: str) -> bool:
    """Whether a reply names something else, rather than the same in a longer form, or that the call was carried out."""
    asked, given = _WORD.findall(value.casefold()), _WORD.findall(other.casefold())
    if not asked or not given or _DONE.fullmatch(other.strip(" .!")) is not None:
        return False
    is_longer = set(asked) <= set(given) or set(given) <= set(asked)
    return not is_longer and "".join(asked) != "".join(given)


def _leaves(value: object) -> list[str]:
    stack: list[object] = [value]
    found: list[str] = []
    while stack and len(found) < _MOST_LEAVES:
        item = stack.pop()
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, str):
            found.append(item)
    return found
