"""Corrections that an agent was given and did not take."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tracer_hooks.diagnosis._reading._roles import Role
from tracer_hooks.diagnosis._reading._run import RunReading, says_something
from tracer_hooks.diagnosis._reading._text import find_value
from tracer_hooks.diagnosis._rules._signal import STRONG, WEAK, Family, Signal
from tracer_hooks.schema import ErrorMode

_VALUE = r"(?:[$€£]?(?P<{0}>\d[\d,]*(?:\.\d+)?)|['\"“`](?P<{0}q>[^'\"”`\n]{{1,60}})['\"”`])"
_CORRECTION = re.compile(
    r"(?:should (?:have been|be|read)|must be|correct (?:\w+ ){0,2}(?:is|was)|(?:actually"
    r"|rather)[, ]+(?:it(?:'s| is) )?|replace .{1,40}? with|change .{1,40}? to"
    r"|please use|use)\s+" + _VALUE.format("new"),
    re.IGNORECASE,
)
_CORRECTS = ("should", "must be", "correct ", "actually", "rather", "replace ", "change ", "use")
_NOT_THIS = re.compile(r"\b(?:not|instead of|rather than)\s+" + _VALUE.format("old"), re.IGNORECASE)
_MAX_CORRECTION = 3_000
"""A longer text is a page or a document rather than a correction."""


class _Kept(NamedTuple):
    told: str
    """The end of the sentence."""
    quote: str | None


def ignored_corrections(trace: RunReading) -> Iterator[Signal]:
    """Replies to a correction that keep the old value, or leave the new one out."""
    for index in range(len(trace.steps) - 1):
        if trace.roles[index] is Role.REPORTER or trace.is_brief(index):
            continue
        prose = trace.prose(index)
        match = _CORRECTION.search(prose) if len(prose) <= _MAX_CORRECTION and _may_correct(prose) else None
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
        speaker, corrector = trace.steps[reply].agent, trace.steps[index].agent
        yield Signal(
            family=Family.IGNORED_INPUT,
            step=reply,
            weight=STRONG if kept else WEAK,
            mode=ErrorMode.FM_2_5,
            why=f"In step {index}, {corrector!r} gives {new!r} as what is right or to be used, and this reply of "
            f"{speaker!r} does not have it{kept.told if kept else ''}.",
            quote=kept.quote if kept else None,
            kind="contradiction" if kept else None,
        )


def _may_correct(prose: str) -> bool:
    lower = prose.lower()
    return any(word in lower for word in _CORRECTS)


def _kept_value(trace: RunReading, correction: int, reply: int, prose: str) -> _Kept | None:
    """How the reply still has the value which the correction rejects; None when it does not."""
    match = _NOT_THIS.search(prose)
    old = (match.group("old") or match.group("oldq")) if match else None
    if old:
        quote = trace.locate(reply, old, "content", "arguments")
        return _Kept(f" but still has {old!r}", quote) if quote else None
    before = trace.act_before(correction, trace.steps[reply].agent)
    if before is not None and _plain(trace.steps[before].content) == _plain(trace.steps[reply].content):
        return _Kept(f" but says the same again as step {before}", trace.first_words(reply))
    return None


def _plain(text: str) -> str:
    return " ".join(text[:4_000].casefold().split())


def _was_shown(trace: RunReading, source: int, reader: int) -> bool:
    inputs = trace.steps[reader].inputs
    return not inputs or source in {one.step for one in inputs} or all(one.step is None for one in inputs)
