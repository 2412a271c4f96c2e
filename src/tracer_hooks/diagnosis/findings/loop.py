"""``loop``: the same request, call or plan three times or more, in words as in calls.

Calls count as the same with the same arguments and the same result; messages of one agent when nearly all of their
words, and all of their names, numbers and quoted words, are the same; under one act, shown by the same first line,
nearly all of these. Numbers of attempts do not count. Silent in a run that passed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tracer_hooks.diagnosis._reading._errors import failure_text
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import quoted_in
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding
from tracer_hooks.schema import ErrorMode, Finding, FindingKind, RunOutcome, Step

_KIND = FindingKind.LOOP
_LEAST, _LONG = 3, 5
_MIN_WORDS = 6
_ALIKE = 0.8
_LOOK_BACK = 12
"""Groups of one agent that a message is compared with, the latest first."""
_WORD = re.compile(r"\w+")
_COUNT = re.compile(r"\b(?:attempt|try|retry|round|turn|step)\W{0,3}\d{1,3}\b", re.IGNORECASE)
_NAME = re.compile(r"[A-Z](?<=[\w,;] [A-Z])\w+")
"""A word with a capital letter that does not begin a sentence."""
_READ = 1_000
"""Characters of a message that are compared."""
_MOST_SHOWN = 5


def find(run: RunReading) -> Iterator[Finding]:
    """The longest loop of each agent."""
    if run.trajectory.outcome is RunOutcome.SUCCEEDED:
        return
    groups: dict[str, list[_Group]] = {}
    for index in run.acts:
        step = run.steps[index]
        if run.is_brief(index):
            continue
        key, words = _calls(step), _words(step.content)
        if key is None and len(words.all) < _MIN_WORDS:
            continue
        own = groups.setdefault(step.agent, [])
        same = next((group for group in reversed(own[-_LOOK_BACK:]) if group.holds(key, words)), None)
        if same is None:
            own.append(_Group(key, words, [index]))
        else:
            same.steps.append(index)
    for agent, own in groups.items():
        longest = max(own, key=lambda group: len(group.steps))
        if len(longest.steps) >= _LEAST:
            yield _finding(run, agent, longest)


class _Group:
    def __init__(self, key: str | None, words: _Words, steps: list[int]) -> None:
        self.key, self.words, self.steps = key, words, steps

    def holds(self, key: str | None, words: _Words) -> bool:
        if self.key is not None or key is not None:
            return self.key == key
        return self.words.are_like(words)


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a message without the numbers of attempts."""

    all: frozenset[str]
    telling: frozenset[str]
    """Names, numbers, ids, dates and quoted words: with another one it is another request."""
    act: str
    """The first line of several: under the same act a page that is shown may change a little."""

    def are_like(self, other: _Words) -> bool:
        if self.telling != other.telling and not (self.act == other.act and _alike(self.telling, other.telling)):
            return False
        return _alike(self.all, other.all)


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    shared = len(one & other)
    return shared >= _ALIKE * (len(one) + len(other) - shared)


def _words(content: str) -> _Words:
    text = _COUNT.sub(" ", content[:_READ])
    words = _WORD.findall(text)
    every = frozenset(map(str.casefold, words))
    if '{"' in text:
        return _Words(every, every, content)  # a call that is written out: each of its words tells
    quoted = (value for value, _ in quoted_in(text))
    coded = (word for word in words if not word.isalpha())
    first, _, rest = text.strip().partition("\n")
    return _Words(every, frozenset([*_NAME.findall(text), *quoted, *coded]), first if rest else text)


def _calls(step: Step) -> str | None:
    """The calls of a step with what came back; None for a step without calls."""
    if not step.tool_calls:
        return None
    parts = [(c.name, c.arguments, (c.result or "")[:500], (failure_text(c) or "")[:500]) for c in step.tool_calls]
    return json.dumps(parts, sort_keys=True, default=repr)[:8_000]


def _finding(run: RunReading, agent: str, group: _Group) -> Finding:
    steps = group.steps
    listed = ", ".join(map(str, steps[:_MOST_SHOWN])) + (" and later" if len(steps) > _MOST_SHOWN else "")
    call = run.steps[steps[0]].tool_calls
    asked = _asked_for(run, steps) if call else None
    if asked is not None:
        requests, value = asked
        who = run.steps[requests[0]].agent
        listed = ", ".join(map(str, requests[:_MOST_SHOWN])) + (" and later" if len(requests) > _MOST_SHOWN else "")
        return finding(
            run,
            _KIND,
            f"{who!r} asks for {value!r} {len(requests)} times, in steps {listed}, and the same comes back",
            step=requests[1],
            quote=run.locate(requests[1], value, "content"),
            subject=call[0].name,
            leads_to_answer=_is_to_the_end(run, steps),
        )
    what = f"makes the same call of {call[0].name!r} with the same result" if call else "says nearly the same"
    return finding(
        run,
        _KIND,
        f"{agent!r} {what} {len(steps)} times, in steps {listed}",
        step=steps[1],
        quote=run.first_words(steps[1]),
        subject=call[0].name if call else None,
        leads_to_answer=_is_to_the_end(run, steps),
    )


def _is_to_the_end(run: RunReading, steps: list[int]) -> bool:
    """Tell whether a failed run spent its last acts on a long loop."""
    ends = sum(1 for step in run.acts if step > steps[-1])
    return (
        run.trajectory.outcome is RunOutcome.FAILED and len(steps) >= _LONG and ends <= len(run.acts) // len(steps) + 1
    )


def _asked_for(run: RunReading, steps: list[int]) -> tuple[list[int], str] | None:
    """The requests that repeated calls answer, and the argument that each of them names; None where nobody asked."""
    given = run.steps[steps[0]].tool_calls[0].arguments
    values = [value for value in given.values() if isinstance(value, str)] if isinstance(given, dict) else []
    for value in values:
        before = [step - 1 if step else None for step in steps]
        requests = [
            each
            for each, step in zip(before, steps, strict=True)
            if each is not None
            and run.steps[each].agent != run.steps[step].agent
            and run.locate(each, value, "content") is not None
        ]
        if len(requests) == len(steps) and len({run.steps[each].agent for each in requests}) == 1:
            return requests, value
    return None


KIND = KindOfFinding(
    kind=_KIND,
    definition="One agent makes the same call with the same result, or says nearly the same, three times or more.",
    find=find,
    mode=ErrorMode.FM_1_3,
    advice=lambda found: f"Tell {found.agent!r} what was already tried, and limit how often it may try again.",
)
