"""Corrections that an agent was given and did not take."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracer_hooks.attribution._reading._numbers import find_value
from tracer_hooks.attribution._reading._roles import Role
from tracer_hooks.attribution._reading._trace import Trace, says_something
from tracer_hooks.attribution._rules._signal import STRONG, WEAK, Family, Signal
from tracer_hooks.schema import ErrorMode

_VALUE = r"(?:[$€£]?(?P<{0}>\d[\d,]*(?:\.\d+)?)|['\"“`](?P<{0}q>[^'\"”`\n]{{1,60}})['\"”`])"
_CORRECTION = re.compile(
    r"(?:should (?:have been|be|read)|must be|correct (?:\w+ ){0,2}(?:is|was)|(?:actually"
    r"|rather)[, ]+(?:it(?:'s| is) )?|replace .{1,40}? with|change .{1,40}? to"
    r"|please use|use)\s+" + _VALUE.format("new"),
    re.IGNORECASE,
)
_NOT_THIS = re.compile(r"\b(?:not|instead of|rather than)\s+" + _VALUE.format("old"), re.IGNORECASE)
_MAX_CORRECTION = 3_000
"""A longer text is a page or a document rather than a correction."""


def ignored_corrections(trace: Trace) -> Iterator[Signal]:
    """Replies to a correction that keep the old value, or leave the new one out."""
    for index in range(len(trace.steps) - 1):
        if trace.roles[index] is Role.REPORTER or trace.is_brief(index):
            continue
        prose = trace.prose(index)
        match = _CORRECTION.search(prose) if len(prose) <= _MAX_CORRECTION else None
        if match is None:
            continue
        new = match.group("new") or match.group("newq")
        reply = trace.next_act(index)
        if reply is None or trace.steps[reply].agent == trace.steps[index].agent or not _was_shown(trace, index, reply):
            continue
        if any(find_value(passage.raw, new) >= 0 for passage in trace.passages(reply)) or not says_something(
            trace.steps[reply].content
        ):
            continue
        kept = _kept_value(trace, index, reply, prose)
        yield Signal(
            family=Family.IGNORED_INPUT,
            step=reply,
            weight=STRONG if kept else WEAK,
            mode=ErrorMode.FM_2_5,
            why=f"{trace.steps[reply].agent!r} was corrected in step {index} and does not take it up",
            quote=kept or trace.first_words(reply),
        )


def _kept_value(trace: Trace, correction: int, reply: int, prose: str) -> str | None:
    """A quotation of the reply that still has the value which the correction rejects."""
    match = _NOT_THIS.search(prose)
    old = (match.group("old") or match.group("oldq")) if match else None
    if old:
        return trace.locate(reply, old, "content", "arguments")
    same = [
        index for index in trace.acts if index < correction and trace.steps[index].agent == trace.steps[reply].agent
    ]
    if same and _plain(trace.steps[same[-1]].content) == _plain(trace.steps[reply].content):
        return trace.first_words(reply)
    return None


def _plain(text: str) -> str:
    return " ".join(text[:4_000].casefold().split())


def _was_shown(trace: Trace, source: int, reader: int) -> bool:
    inputs = trace.steps[reader].inputs
    return not inputs or source in {one.step for one in inputs} or all(one.step is None for one in inputs)
