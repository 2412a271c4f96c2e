"""Sentences about what came before and after a step: errors, objections, hand-offs, the leader's verdict."""

from __future__ import annotations

import re

from tracer_hooks.attribution._features import View
from tracer_hooks.attribution._features._failure import EMPTY_HANDED, OBJECTS
from tracer_hooks.attribution._features._work import LOOP, NO_PROGRESS, STALLED
from tracer_hooks.attribution._rules._errors import ERROR_MARKER, first_code_line, line_at_fault, marker_in
from tracer_hooks.attribution._structural._sentences._telling import (
    Said,
    has_code,
    shown,
    stands_in,
    texts_of,
)
from tracer_hooks.schema import StepKind

_SAME_WORDS = 0.5
"""Share of words that two requests must have in common to be much the same."""
_NO_CODE = re.compile(r"there is no code|no code (?:block|from)|nothing to execute", re.IGNORECASE)
_HEAD = 4_000


def error_follows(view: View, step: int) -> Said | None:
    """The step fails, or the machine reports an error right after it."""
    record = view.steps[step]
    if record.failed_tools:
        call = record.failed_tools[0]
        return Said(f"The tool {call.name!r} that it calls fails.", view.trace.locate(step, call.error or "") or "")
    if record.error is not None or record.kind is StepKind.ERROR:
        return Said("An error is raised in this step.", marker_in(view.trace, step) or "")
    marker = marker_in(view.trace, step + 1) if step + 1 < view.count and view.is_report[step + 1] else None
    if marker is None:
        return None
    text = f"Right after it, {view.agents[step + 1]!r} reports an error in step {step + 1}: {shown(marker)}."
    return Said(text, line_at_fault(view.trace, step, step + 1) or "")


def error_before(view: View, step: int) -> Said | None:
    """The step before failed or printed an error."""
    if step == 0 or not _troubled(view, step - 1):
        return None
    return Said(f"The step before, by {view.agents[step - 1]!r}, failed or shows an error.")


def repairs(view: View, step: int) -> Said | None:
    """New code right after an error."""
    if step == 0 or not _troubled(view, step - 1) or not has_code(view, step):
        return None
    return Said(f"It writes code right after an error in step {step - 1}.", first_code_line(view.trace, step) or "")


def ran_well(view: View, step: int) -> Said | None:
    """The step's code ran without an error."""
    if step + 1 >= view.count or not view.is_report[step + 1] or marker_in(view.trace, step + 1):
        return None
    runner = view.agents[step + 1]
    return Said(
        f"Right after its code, {runner!r} reports no error in step {step + 1}.",
        first_code_line(view.trace, step) or "",
    )


def empty_follows(view: View, step: int) -> Said | None:
    """The next step comes back empty-handed."""
    return _next_says(view, step, EMPTY_HANDED, "speaks of something missing, not found or not possible")


def no_code_follows(view: View, step: int) -> Said | None:
    """The next step finds no code to run."""
    return _next_says(view, step, _NO_CODE, "finds no code to run")


def objected_to(view: View, step: int) -> Said | None:
    """The next speaker objects."""
    following = next((j for j in view.acts if j > step and view.agents[j] != view.agents[step]), None)
    if following is None:
        return None
    match = OBJECTS.search(view.trace.prose(following))
    if match is None:
        return None
    speaker = view.agents[following]
    found = shown(match.group())
    return Said(f"{speaker!r}, who speaks next, uses words of objection or correction in step {following}: {found}.")


def leader_disappointed(view: View, step: int) -> Said | None:
    """The leader finds that the work goes in a circle or nowhere."""
    following = next((j for j in range(step + 1, min(view.count, step + 4)) if not view.is_routing[j]), None)
    if following is None or view.agents[following] not in view.planners:
        return None
    head = view.steps[following].content[:_HEAD]
    if not any(pattern.search(head) for pattern in (LOOP, NO_PROGRESS, STALLED)):
        return None
    quote = next(
        (found for pattern in (STALLED, LOOP, NO_PROGRESS) if (found := _raw_quote(view, following, pattern))), ""
    )
    return Said(f"Right after step {step}, it writes of a loop, of no progress or of planning anew.", quote, following)


def asked_again(view: View, step: int) -> Said | None:
    """The request before this reply is made again after it."""
    asked = [i for i in range(view.count) if view.steps[i].recipient is not None and not view.is_routing[i]]
    before = next((i for i in reversed(asked) if i < step), None)
    after = next((i for i in asked if i > step), None)
    if before is None or after is None or _shared(view, before, after) < _SAME_WORDS:
        return None
    text = f"It asks again, in much the same words, for what step {before} asked for, after the reply in step {step}."
    return Said(text, view.trace.first_words(after) or "", after)


def answers_hand_off(view: View, step: int) -> Said | None:
    """The step answers a hand-off."""
    giver = next((i for i in range(step - 1, -1, -1) if view.steps[i].recipient == view.agents[step]), None)
    if giver is None:
        return None
    return Said(f"It answers the hand-off by {view.agents[giver]!r} in step {giver}.")


def hands_over(view: View, step: int) -> Said | None:
    """The step hands work to somebody."""
    recipient = view.steps[step].recipient
    return Said(f"It hands the work to {recipient!r}.") if recipient else None


def calls_tools(view: View, step: int) -> Said | None:
    """The step calls tools."""
    names = list(dict.fromkeys(call.name for call in view.steps[step].tool_calls))
    return Said(f"It calls {' and '.join(map(repr, names[:3]))}.") if names else None


def says_again(view: View, step: int) -> Said | None:
    """The step repeats an earlier one."""
    own = " ".join(texts_of(view, step).split())
    if not own:
        return None
    for earlier in range(step):
        if " ".join(texts_of(view, earlier).split()) == own:
            return Said(f"It says the same again as step {earlier}, word for word.", view.trace.first_words(step) or "")
    return None


def says_task_again(view: View, step: int) -> Said | None:
    """The step hands the task on."""
    if view.trace.is_brief(step):
        return Said("It hands the task on word for word.")
    own = texts_of(view, step)
    again = [word for word in view.task_words if stands_in(own, word)]
    if len(again) * 2 <= len(view.task_words):
        return None
    return Said(f"It says {len(again)} of the task's {len(view.task_words)} telling words again.")


def is_short(view: View, step: int) -> Said | None:
    """How short the step is."""
    length = len(view.steps[step].content)
    return Said(f"It is short: {length} characters.") if 0 < length < 120 else None


def first_code(view: View, step: int) -> Said | None:
    """The first code of the run."""
    if not has_code(view, step) or any(has_code(view, earlier) for earlier in range(step)):
        return None
    return Said("This is the first step of the run that contains code.", first_code_line(view.trace, step) or "")


def last_code(view: View, step: int) -> Said | None:
    """The last code of the run."""
    if not has_code(view, step) or any(has_code(view, later) for later in range(step + 1, view.count)):
        return None
    return Said("This is the last step of the run that contains code.", first_code_line(view.trace, step) or "")


def has_some_code(view: View, step: int) -> Said | None:
    """Code in the step."""
    return Said("It contains code.", first_code_line(view.trace, step) or "") if has_code(view, step) else None


def _next_says(view: View, step: int, pattern: re.Pattern[str], what: str) -> Said | None:
    if step + 1 >= view.count:
        return None
    for passage in view.trace.passages(step + 1):
        match = pattern.search(passage.prose)
        if match is not None:
            return Said(f"The next step, by {view.agents[step + 1]!r}, {what}: {shown(match.group())}.")
    return None


def _raw_quote(view: View, step: int, pattern: re.Pattern[str]) -> str:
    content = view.trace.content(step)
    match = pattern.search(content.raw[:_HEAD]) if content is not None else None
    return content.quote_raw(match.start(), match.end()) if content is not None and match is not None else ""


def _troubled(view: View, step: int) -> bool:
    record = view.steps[step]
    if record.failed_tools or record.error is not None:
        return True
    parts = ("content",) if view.is_report[step] else ("result", "tool error", "error")
    return any(ERROR_MARKER.search(passage.text) for passage in view.trace.passages(step, *parts))


def _shared(view: View, one: int, other: int) -> float:
    first, second = (set(re.findall(r"\w+", view.steps[i].content.casefold())) for i in (one, other))
    return len(first & second) / max(1, len(first | second))
