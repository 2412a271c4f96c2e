"""The text of the prompts: templates beside this module, the run's text cut and fenced for them, its quotations."""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tracer_hooks._text import in_prompt
from tracer_hooks.diagnosis._reading._text import passages_of
from tracer_hooks.schema import ErrorMode, Step, Trajectory

if TYPE_CHECKING:
    import jinja2

VERSION = 2
"""Version of the prompts and of what is made of the replies; part of the attributor's name in every answer."""
# The lines that the templates and the transcript write themselves.
_OWN_LINE = re.compile(
    r"^(?=[ \t]*(?:={3,}|\[steps?\b|(?:task|agents|how it ended|steps|end of the record)[ \t:]*$"
    r"|the (?:run's|expected) answer:))",
    re.IGNORECASE | re.MULTILINE,
)
_LEAST_LEFT_OUT = 60
_LEAST_CHARS = 80
_SMALLER = 0.7
_GAP_TOKENS = 12
MAX_QUOTE = 400
_FRAME = " \t\r\n\"'`\u201c\u201d\u2018\u2019\u00ab\u00bb"
_LEFT_OUT = re.compile(r"\[?\.{3,}(?:\s*\d+ characters left out\s*\.{3,}\s*\])?|\[?…\]?")
_LEAST_PIECE = 12


def render(name: str, **values: object) -> str:
    """The prompt ``name`` with its values filled in; text from a run is never read as a template."""
    return _environment().get_template(f"{name}.md.j2").render(modes=tuple(ErrorMode), **values).strip()


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("tracer_hooks.diagnosis.judge"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def fenced(text: str) -> str:
    """``text`` with one kind of line break, visible control characters, and a mark before lines like the prompt's own.

    Control characters and those that change the direction of writing are shown as their code, such as ``<U+202E>``.
    """
    return _OWN_LINE.sub("| ", in_prompt(text))


def flat(text: str, limit: int = 200) -> str:
    """``text`` in one line of about ``limit`` characters at most, for names and short notes."""
    words = " ".join(in_prompt(text).split())
    return words if len(words) <= limit else f"{words[:limit]}…"


def cut(text: str, limit: int) -> str:
    """``text`` itself, or about ``limit`` characters of its head and tail around "[... n characters left out ...]"."""
    left_out = len(text) - limit
    if left_out < _LEAST_LEFT_OUT:  # the mark would be longer than what it stands for
        return text
    head = limit - limit // 2
    return f"{text[:head]}\n[... {left_out} characters left out ...]\n{text[len(text) - limit // 2 :]}"


def shares(lengths: Sequence[int], total: int) -> list[int]:
    """Divide ``total`` characters among texts: short ones are shown whole, the long ones evenly."""
    given = [0] * len(lengths)
    left, waiting = total, sorted(range(len(lengths)), key=lambda position: lengths[position])
    for count, position in enumerate(waiting):
        given[position] = min(lengths[position], left // (len(waiting) - count))
        left -= given[position]
    return given


@dataclass(frozen=True, slots=True)
class StepParts:
    """The texts of one step, not yet cut."""

    head: tuple[str, ...]
    """Its first lines: number, agent and kind, where its inputs came from, whom it hands over to."""
    parts: tuple[tuple[str, str], ...]
    """A caption and a text, in the order in which they are read."""


def _step_texts(trajectory: Trajectory) -> Iterator[StepParts]:
    task = trajectory.task.split()
    before: dict[str, int] = {}
    for step in trajectory.steps:
        since = range(before.get(step.agent, -1) + 1, step.index)
        yield StepParts(tuple(_head(step, since)), tuple(_parts(step, task)))
        before[step.agent] = step.index


def _head(step: Step, since: range) -> Iterator[str]:
    yield f"=== step {step.index} | {flat(step.agent)} | {step.kind.value} ==="
    received = sorted({received.step for received in step.inputs if received.step is not None})
    if received and received != list(since):  # in a plain conversation everybody hears everything
        yield "received the output of step" + ("s " if len(received) > 1 else " ") + ", ".join(map(str, received))
    if step.recipient:
        yield f"hands over to {flat(step.recipient)}"


def _parts(step: Step, task: list[str]) -> Iterator[tuple[str, str]]:
    for received in step.inputs:
        if received.step is None and received.text and received.text.strip() and received.text.split() != task:
            yield f"received from {flat(received.source)}: ", received.text
    if step.content.strip():
        yield "", step.content
    for call in step.tool_calls:
        arguments = call.arguments
        written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        yield f"calls the tool {flat(call.name)} with: ", written
        if call.result is not None:
            yield "result: ", call.result
        if call.error is not None:
            yield "the tool failed: ", call.error
    if step.error:
        yield "the step failed: ", step.error


class RunTranscript:
    """Renders steps for prompts; each begins with a line ``=== step 4 | Coder | message ===``.

    Args:
        trajectory: Whose steps.
        count_tokens: Of the model that reads them.
        step_chars: Characters of one step that are shown at most.
    """

    def __init__(self, trajectory: Trajectory, count_tokens: Callable[[str], int], step_chars: int) -> None:
        self._texts = list(_step_texts(trajectory))
        self._count = count_tokens
        self._step_chars = step_chars
        self._known: dict[tuple[int, int], int] = {}

    @property
    def everything(self) -> range:
        """The indices of all steps."""
        return range(len(self._texts))

    def fits(self, room: int) -> bool:
        """Test if all steps, each cut to the usual limit, take at most ``room`` tokens."""
        return self._cost(self.everything, self._step_chars) <= room

    def fitted(self, steps: Sequence[int], room: int, *, focus: Iterable[int] = ()) -> str:
        """``steps`` in at most ``room`` tokens, in their order.

        When they take more, the steps outside ``focus`` are cut shorter first, then those in it. When even stubs take
        more, steps are left out, with a mark: those far from ``focus``, or without one those in the middle.
        """
        focused = set(focus) & set(steps)
        near, rest = sorted(focused), [index for index in steps if index not in focused]
        near_limit = self._limit(near, room if self._cost(steps, self._step_chars) <= room else room // 2)
        room_left = room - self._cost(near, near_limit)
        rest_limit = self._limit(rest, room_left)
        kept = near + self._affordable(rest, rest_limit, room_left, near or [steps[0], steps[-1]])
        limits = {index: near_limit if index in focused else rest_limit for index in kept}
        return "\n\n".join(self._pieces(steps, limits))

    def windows(self, room: int, overlap: int) -> list[range]:
        """Stretches of consecutive steps of at most ``room`` tokens; each begins ``overlap`` steps before its turn."""
        limit, count, start = self._step_chars, len(self._texts), 0
        while limit > _LEAST_CHARS and max(self._tokens(index, limit) for index in self.everything) > room // 2:
            limit = max(_LEAST_CHARS, int(limit * _SMALLER))
        found: list[range] = []
        while not found or found[-1].stop < count:
            stop = start + 1
            while stop < count and self._cost(range(start, stop + 1), limit) <= room:
                stop += 1
            found.append(range(start, stop))
            start = max(start + 1, stop - overlap)
        return found

    def _limit(self, steps: Sequence[int], room: int) -> int:
        """The largest limit for one step, of a few tried, with which ``steps`` take at most ``room`` tokens."""
        limit = self._step_chars
        while limit > _LEAST_CHARS and self._cost(steps, limit) > room:
            limit = max(_LEAST_CHARS, int(limit * _SMALLER))
        return limit

    def _affordable(self, steps: Sequence[int], limit: int, room: int, near: Sequence[int]) -> list[int]:
        """Those of ``steps`` that ``room`` tokens are enough for, the nearest first."""
        if self._cost(steps, limit) <= room:
            return list(steps)
        kept, left = [], room
        for index in sorted(steps, key=lambda index: min(abs(index - other) for other in near)):
            left -= self._tokens(index, limit) + _GAP_TOKENS
            if left < 0:
                break
            kept.append(index)
        return kept

    def _pieces(self, steps: Sequence[int], limits: dict[int, int]) -> Iterator[str]:
        missing: list[int] = []
        for index in steps:
            if index not in limits:
                missing.append(index)
                continue
            yield from _gap(missing)
            missing = []
            yield self._block(index, limits[index])
        yield from _gap(missing)

    def _cost(self, steps: Sequence[int], limit: int) -> int:
        return sum(self._tokens(index, limit) for index in steps)

    def _tokens(self, index: int, limit: int) -> int:
        if (index, limit) not in self._known:
            self._known[index, limit] = self._count(self._block(index, limit)) + 2
        return self._known[index, limit]

    def _block(self, index: int, limit: int) -> str:
        text = self._texts[index]
        given = shares([len(part) for _, part in text.parts], limit)
        lines = list(text.head)
        for (caption, part), share in zip(text.parts, given, strict=True):
            lines.append(caption + fenced(cut(part, share)))
        return "\n".join(lines)


def _gap(missing: Sequence[int]) -> Iterator[str]:
    if missing:
        yield f"[steps {missing[0]} to {missing[-1]} left out]" if len(missing) > 1 else f"[step {missing[0]} left out]"


def find_quote(step: Step, quote: str) -> str | None:
    """The passage of ``step`` that ``quote`` repeats word for word, as it stands there; None when there is none.

    White space may differ. Of a quotation with an ellipsis the longest piece that stands in the step is taken.
    """
    texts = [passage.raw for passage in passages_of(step, sys.maxsize)]
    whole = quote.strip(_FRAME)
    pieces = [piece.strip(_FRAME) for piece in _LEFT_OUT.split(whole)]
    long_enough = sorted((piece for piece in pieces if len(piece) >= _LEAST_PIECE), key=len, reverse=True)
    for wanted in [whole, *long_enough]:
        for text in texts:
            if found := _find(text, wanted):
                return _shortened(found)
    return None


def opening(step: Step) -> str | None:
    """The first words of a step, to hang a remark on; None when it has no text."""
    for passage in passages_of(step, sys.maxsize):
        if words := passage.raw.strip():
            return _shortened(words.splitlines()[0].strip())
    return None


def _find(text: str, wanted: str) -> str:
    words = wanted.split() if any(map(str.isalnum, wanted)) else ()
    match = re.search(r"\s+".join(map(re.escape, words)), text)
    return match.group() if match else ""


def _shortened(text: str) -> str:
    """At most ``MAX_QUOTE`` characters, ending with a whole word where there is one."""
    if len(text) <= MAX_QUOTE:
        return text
    return text[:MAX_QUOTE].rsplit(None, 1)[0]
