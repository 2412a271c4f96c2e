"""Code that agents wrote: its cells, the values typed into them, and the step that printed their output."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from tracer_hooks.diagnosis._reading._roles import Role
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import StepPassage, canonical, code_spans, find_value, is_number, numbers_in

_LITERAL = re.compile(
    r"\"([^\"\n]{4,80})\"|'([^'\n]{4,80})'|(?<![\w.])(\d[\d,_]{2,15}(?:\.\d{1,8})?|\d{1,4}\.\d{2,8})(?!\w)"
)
_READS = (
    *("open(", "read", "request", "http", "search", "fetch", "urlopen", "load", "query", "input(", "connect"),
    *("execute", "subprocess", "curl", "wget", "api", "urllib", "scrape", "path"),
)
"""Words of code that gets its values from outside itself."""
_MOST_CELLS, _MOST_VALUES = 8, 6


@dataclass(frozen=True, slots=True)
class CodeCell:
    """One piece of code of a step."""

    passage: StepPassage
    start: int
    """Where it begins in the passage."""
    text: str

    @property
    def reads_outside(self) -> bool:
        """Tell whether it may get values from a file, a page or a service."""
        lower = self.text.lower()
        return any(word in lower for word in _READS)

    def quote(self, start: int, end: int) -> str:
        """The line around a place in the code; of an argument, whose quotes are recorded escaped, the place alone."""
        if self.passage.part == "arguments":
            return re.split(r"[\"'\\\n]", self.text[start:end].strip("\"'"))[0]
        return self.passage.quote_raw(self.start + start, self.start + end)


def cells_of(run: RunReading, step: int) -> Iterator[CodeCell]:
    """The code that an agent wrote in a step: fenced in its words, or an argument of several lines."""
    if run.roles[step] is not Role.AGENT:
        return
    for call in run.steps[step].tool_calls:
        for text in call.arguments.values() if isinstance(call.arguments, dict) else ():
            if isinstance(text, str) and "\n" in text and ("=" in text or "print(" in text):
                yield CodeCell(StepPassage(text, part="arguments", limit=run.limit), 0, text[: run.limit])
    passage = run.content(step)
    if passage is None:
        return
    for start, end in islice(code_spans(passage.raw), _MOST_CELLS):
        yield CodeCell(passage, start, passage.raw[start : min(end, start + run.limit)])


def typed_values(run: RunReading, step: int, cell: CodeCell, *, by_agents: bool = False) -> list[str]:
    """Values written out in code that no task, person, tool or terminal gives before the step.

    Args:
        run: The run.
        step: The step of the code.
        cell: The code.
        by_agents: Count what agents said before the step as given too.
    """
    if "=" not in cell.text:
        return []
    found: list[str] = []
    for match in _LITERAL.finditer(cell.text):
        value = next(group for group in match.groups() if group is not None)
        if match.group(3) is None and not _is_datum(value):
            continue
        plain = value.replace("_", "").rstrip(",")
        if (not is_number(plain) and match.group(3)) or _is_round(plain) or plain in found:
            continue
        if not _is_given(run, step, plain, by_agents):
            found.append(plain)
        if len(found) >= _MOST_VALUES:
            break
    return found


def output_of(run: RunReading, step: int) -> tuple[int, StepPassage] | None:
    """What the code of a step printed: the result of its own call, or the report that comes next."""
    own = next(run.passages(step, "result"), None)
    if own is not None:
        return step, own
    later = step + 1
    if later < len(run.steps) and run.roles[later] is Role.REPORTER:
        shown = run.content(later)
        return None if shown is None else (later, shown)
    return None


def rounds_to(text: str, value: str) -> bool:
    """Tell whether a text has a number that is the value in more digits."""
    number = float(canonical(value))
    digits = len(canonical(value).partition(".")[2])
    for found in numbers_in(text):
        if abs(float(found.group().replace(",", "")) - number) <= 0.5 * 10**-digits:
            return True
    return False


def _is_datum(text: str) -> bool:
    """A name or a fact, and neither a message to print, an address, a path, a key nor a format."""
    words = text.split()
    return (
        2 <= len(words) <= 8
        and text[:1].isupper()
        and sum(word[:1].isupper() or word[:1].isdigit() for word in words) * 2 > len(words)
        and not any(sign in text for sign in "{}%:/\\=<>?!*_")
    )


def _is_round(value: str) -> bool:
    number = canonical(value)
    return number.isdecimal() and (number.strip("0") == "1" or (len(number) == 4 and number[:2] in ("19", "20")))


def _is_given(run: RunReading, step: int, value: str, by_agents: bool) -> bool:
    if find_value(run.trajectory.task, value) >= 0:
        return True
    for index in range(step):
        every = by_agents or run.roles[index] is not Role.AGENT or run.is_brief(index)
        for passage in run.passages(index) if every else run.passages(index, "result"):
            if find_value(passage.raw, value) >= 0:
                return True
    return False
