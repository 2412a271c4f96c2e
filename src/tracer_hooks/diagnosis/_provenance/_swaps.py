"""Calls whose two ends stand the wrong way round."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind
from tracer_hooks.diagnosis._provenance._entries import Entry
from tracer_hooks.diagnosis._provenance._ledger import Ledger
from tracer_hooks.schema import ToolCall

_FIRST = re.compile(r"from|source|src|origin|start|departure|depart|sender|base|old|before|current", re.IGNORECASE)
_SECOND = re.compile(
    r"to|target|dest|destination|end|arrival|arrive|receiver|recipient|quote|new|after|into", re.IGNORECASE
)
_TO = r"\s(?:to|into|in|towards?|for|nach|→|->)\s"
_FAR = 60


def swapped_arguments(ledger: Ledger, entry: Entry) -> Iterator[Departure]:
    """The departure at a call that a value of the answer comes from, when the task has its two ends in other order."""
    step = ledger.trace.steps[entry.step]
    for call in step.tool_calls:
        ends = _ends_of(call)
        if ends is None:
            continue
        (first_key, first), (second_key, second) = ends
        for where, said in _texts(ledger, entry.step):
            order = _order(said, first, second)
            if order is None:
                continue
            if order < 0:
                yield Departure(
                    kind=DepartureKind.SWAPPED,
                    step=entry.step,
                    why=f"{step.agent!r} asks {call.name!r} for {first_key} {first!r} and {second_key} {second!r}, "
                    f"but {where} goes from {second!r} to {first!r}",
                    quote=first,
                    value=entry.value.text.strip(),
                    strength=0.9,
                    leads_to_answer=True,
                )
            return


def _texts(ledger: Ledger, step: int) -> Iterator[tuple[str, str]]:
    yield "the task", ledger.trace.trajectory.task[:4_000]
    for earlier in range(step - 1, max(-1, step - 6), -1):
        yield f"step {earlier}", ledger.trace.steps[earlier].content[:4_000]


def _ends_of(call: ToolCall) -> tuple[tuple[str, str], tuple[str, str]] | None:
    if not isinstance(call.arguments, dict):
        return None
    words = {key: value for key, value in call.arguments.items() if isinstance(value, str) and 1 < len(value) <= 40}
    first = next(((key, value) for key, value in words.items() if _is_named(key, _FIRST)), None)
    second = next(((key, value) for key, value in words.items() if _is_named(key, _SECOND)), None)
    if first is None or second is None or first[1].casefold() == second[1].casefold():
        return None
    return first, second


def _is_named(key: str, names: re.Pattern[str]) -> bool:
    return any(names.fullmatch(part) for part in re.split(r"_|(?<=[a-z])(?=[A-Z])", key) if part)


def _order(text: str, first: str, second: str) -> int | None:
    """1 when ``text`` goes from the first to the second, -1 for the other way, None when it does not tell."""
    ahead, back = _goes(text, first, second), _goes(text, second, first)
    if ahead == back:
        return None
    return 1 if ahead else -1


def _goes(text: str, one: str, other: str) -> bool:
    pattern = (
        rf"(?<!\w){re.escape(one)}(?!\w)[^.?!\n]{{0,{_FAR}}}?{_TO}[^.?!\n]{{0,20}}?(?<!\w){re.escape(other)}(?!\w)"
    )
    return re.search(pattern, text, re.IGNORECASE) is not None or _asks_in(text, one, other)


def _asks_in(text: str, one: str, other: str) -> bool:
    """Tell whether a text has an amount in one and asks for the other: "The bill is 500 USD. What is that in EUR?"."""
    amount = re.search(rf"\d\s?{re.escape(one)}(?!\w)", text)
    asked = re.search(rf"\b(?:in|to|into)\s{re.escape(other)}(?!\w)", text)
    return amount is not None and asked is not None
