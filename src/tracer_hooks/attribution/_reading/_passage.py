"""Text of a step to look things up in, and to quote from word for word.

Messages can be megabytes long. Rules therefore look at a clipped copy (its head and its tail) in which the keys of JSON
objects are blanked, so that a rule for the word "loop" does not fire on Magentic-One's key ``is_in_loop``. Blanking
keeps every length, so a place in the copy is a place in the original, and quotations are always slices of the original.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from tracer_hooks._lazy import cached_property
from tracer_hooks.schema import Step

MAX_QUOTE = 240
_JSON_KEY = re.compile(r"""(?:"[^"\n\\]{1,80}"|'[^'\n\\]{1,80}')\s{0,4}:""")
_CODE_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_BREAK = re.compile(r"\n|(?<=[.!?])\s")
_NEEDS_ESCAPE = re.compile(r"""["'\\\x00-\x1f]|[^\x00-\x7f]""")


class Passage:
    """One text of one step: its content, its error, or a part of a tool call."""

    def __init__(self, raw: str, *, part: str, limit: int) -> None:
        self.raw = raw
        self.part = part
        """``content``, ``error``, ``arguments``, ``result`` or ``tool error``."""
        self._head = limit // 2 if len(raw) > limit else len(raw)
        self._skipped = len(raw) - limit if len(raw) > limit else 0

    @cached_property
    def text(self) -> str:
        """The clipped copy without JSON keys."""
        clipped = self.raw
        if self._skipped:
            clipped = self.raw[: self._head] + self.raw[self._head + self._skipped :]
        return _JSON_KEY.sub(lambda match: " " * len(match.group()), clipped)

    @cached_property
    def prose(self) -> str:
        """The same without fenced code."""
        return _CODE_FENCE.sub(lambda match: " " * len(match.group()), self.text) if "```" in self.text else self.text

    def quote_at(self, start: int, end: int) -> str:
        """The sentence around a place in :attr:`text`, as it stands in the original."""
        return self.quote_raw(self._to_raw(start), self._to_raw(max(start, end - 1)) + 1)

    def quote_raw(self, start: int, end: int) -> str:
        """The sentence around a place in :attr:`raw`."""
        end = min(end, start + MAX_QUOTE)
        room = MAX_QUOTE - (end - start)
        before = self.raw[max(0, start - room // 2) : start]
        after = self.raw[end : end + room - room // 2]
        breaks = [match.end() for match in _BREAK.finditer(before)]
        first = start - len(before) + (breaks[-1] if breaks else 0)
        following = _BREAK.search(after)
        last = end + (following.start() if following else len(after))
        return self.raw[first:last].strip()

    def search(self, pattern: re.Pattern[str], *, prose: bool = False) -> str | None:
        """A quotation around the first match of ``pattern``."""
        match = pattern.search(self.prose if prose else self.text)
        if match is None:
            return None
        return self.quote_at(match.start(), match.end()) or None

    def _to_raw(self, position: int) -> int:
        return position if position < self._head else position + self._skipped


def code_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where fenced code stands in ``text``, without its fences; plain string search, since it may be megabytes long."""
    at = 0
    while True:
        opened = text.find("```", at)
        line = text.find("\n", opened) if opened >= 0 else -1
        if line < 0:
            return
        closed = text.find("```", line)
        end = closed if closed >= 0 else len(text)
        yield line + 1, end
        at = end + 3


def passages_of(step: Step, limit: int) -> Iterator[Passage]:
    """Every text of ``step``, the agent's own words first."""
    if step.content:
        yield Passage(step.content, part="content", limit=limit)
    if step.error:
        yield Passage(step.error, part="error", limit=limit)
    for call in step.tool_calls:
        for leaf in _leaves(call.arguments):
            yield Passage(leaf, part="arguments", limit=limit)
        if call.result:
            yield Passage(call.result, part="result", limit=limit)
        if call.error:
            yield Passage(call.error, part="tool error", limit=limit)


def _leaves(value: object, room: int = 200) -> Iterator[str]:
    """The texts and numbers in tool arguments, each as it reads in any way of writing JSON."""
    stack, seen = [value], 0
    while stack and seen < room:
        item = stack.pop()
        seen += 1
        if isinstance(item, dict):
            stack.extend(reversed(list(item.values())))
        elif isinstance(item, list):
            stack.extend(reversed(item))
        elif isinstance(item, str) and item:
            # What JSON would escape cannot be quoted from the written arguments: stop short of it.
            match = None if value is item else _NEEDS_ESCAPE.search(item)
            text = item[: match.start()] if match else item
            if text.strip():
                yield text
        elif isinstance(item, (int, float)) and not isinstance(item, bool):
            yield json.dumps(item)
