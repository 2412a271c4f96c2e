"""``loop``: the same request, call or plan three times or more, in words as in calls.

Calls count as the same with the same arguments and the same result; messages of one agent when nearly all of their
words, and all of their numbers but those of attempts, are the same. Silent in a run that passed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._rules._tools import failure_text
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding
from tracer_hooks.schema import ErrorMode, Finding, FindingKind, RunOutcome, Step

_KIND = FindingKind.LOOP
_LEAST = 3
_MIN_WORDS = 6
_ALIKE = 0.8
_LOOK_BACK = 12
"""Groups of one agent that a message is compared with, the latest first."""
_WORD = re.compile(r"\w+")
_COUNT = re.compile(r"\b(?:attempt|try|retry|round|turn|step)\W{0,3}\d{1,3}\b")
_READ = 2_000
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
        if key is None and len(words) < _MIN_WORDS:
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
    def __init__(self, key: str | None, words: frozenset[str], steps: list[int]) -> None:
        self.key, self.words, self.steps = key, words, steps

    def holds(self, key: str | None, words: frozenset[str]) -> bool:
        if self.key is not None or key is not None:
            return self.key == key
        if min(len(self.words), len(words)) < _ALIKE * max(len(self.words), len(words)):
            return False  # costs less than the sets
        shared = len(self.words & words)
        if shared < _ALIKE * (len(self.words) + len(words) - shared):
            return False
        # Another number, date or id is another request; so is another word of a call that is written out as JSON.
        changed = self.words ^ words
        return not changed or ("{" not in words and not any(map(_has_digit, changed)))


def _words(content: str) -> frozenset[str]:
    """The words of a message without the numbers of attempts, and a brace when it holds JSON."""
    text = content[:_READ].casefold()
    words = _WORD.findall(_COUNT.sub(" ", text))
    return frozenset([*words, "{"] if '{"' in text else words)


def _has_digit(word: str) -> bool:
    return any(char.isdigit() for char in word)


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
    what = f"makes the same call of {call[0].name!r} with the same result" if call else "says nearly the same"
    return finding(
        run,
        _KIND,
        f"{agent!r} {what} {len(steps)} times, in steps {listed}",
        step=steps[1],
        quote=run.first_words(steps[1]),
        subject=call[0].name if call else None,
    )


KIND = KindOfFinding(
    kind=_KIND,
    definition="One agent makes the same call with the same result, or says nearly the same, three times or more.",
    find=find,
    mode=ErrorMode.FM_1_3,
    advice=lambda found: f"Tell {found.agent!r} what was already tried, and limit how often it may try again.",
)
