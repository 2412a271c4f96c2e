"""Where a step stands in the run. A place is no finding: what is said here is the end of a sentence that says so."""

from __future__ import annotations

import re

from tracer_hooks.attribution._features import View
from tracer_hooks.attribution._reading._roles import Role
from tracer_hooks.attribution._structural._sentences._telling import Said, shown
from tracer_hooks.schema import StepKind

_INTENT = re.compile(r"\b(?:i(?:'ll| will| am going to)|we(?:'ll| will)|let(?:'s| us| me))\b", re.IGNORECASE)
_CLOSING = re.compile(r"final answer\W{1,6}(?P<answer>[^\n]{1,200})", re.IGNORECASE)
_DID = re.compile(
    r"\bI (?:have )?(?:typed|clicked|visited|opened|scrolled|searched|navigated|went|read|ran|looked|found|hovered)\b"
)
_MOST_PARTS = 8


def first_after_task(view: View, step: int) -> Said | None:
    """The team's first act after the task was given, with what it announces."""
    if not is_act_after_task(view, step, 0):
        return None
    text = "it is the team's first act after the task was given"
    for passage in view.trace.passages(step, "content"):
        match = _INTENT.search(passage.prose)
        if match is not None:
            return Said(
                f"{text}, and it says what comes next ({shown(match.group())})",
                passage.quote_at(match.start(), match.end()),
            )
    return Said(text)


def second_after_task(view: View, step: int) -> Said | None:
    """The team's second act after the task was given."""
    return Said("it is the team's second act after the task was given") if is_act_after_task(view, step, 1) else None


def third_after_task(view: View, step: int) -> Said | None:
    """The team's third act after the task was given."""
    return Said("it is the team's third act after the task was given") if is_act_after_task(view, step, 2) else None


def is_act_after_task(view: View, step: int, before: int) -> bool:
    """Whether the task was given, and the team acted ``before`` times since, other than by handing it on word for word.

    In a conversation that the team opens, a person gives the task later.
    """
    people = [index for index, role in enumerate(view.trace.roles) if role is Role.PERSON]
    if people and people[0] > step:
        return False
    return sum(view.is_act[earlier] and not view.trace.is_brief(earlier) for earlier in range(step)) == before


def last_reply_before_leader(view: View, step: int) -> Said | None:
    """The last reply before the leader ends the run, with what the final answer has from it."""
    last = view.count - 1
    if view.agents[last] not in view.planners or step == last:
        return None
    text = f"it is the last reply before {view.agents[last]!r} ends the run in step {last}"
    closing = _CLOSING.search(view.trace.final_text)
    for part in re.split(r"[,;]\s*", closing.group("answer"))[:_MOST_PARTS] if closing is not None else ():
        word = part.strip(" .*'\"")
        quote = view.trace.locate(step, word, "content") if len(word) > 1 else None
        if quote:
            return Said(f"{text}, and {shown(word)} of the final answer stands in it", quote)
    return Said(text)


def early_under_leader(view: View, step: int) -> Said | None:
    """One of the first replies in a run that did not come to an end of its own."""
    leader = next((name for name in view.agents if name in view.planners), None)
    if leader is None:
        return None
    text = f"it is one of the first three replies under {leader!r}, in a run that {_end(view, leader)}"
    for passage in view.trace.passages(step, "content"):
        match = _DID.search(passage.prose)
        if match is not None:
            did = passage.quote_at(match.start(), match.end())
            return Said(f"{text}; it says what was done ({shown(match.group())})", did)
    return Said(text)


def _end(view: View, leader: str) -> str:
    last = view.steps[-1]
    if last.agent not in view.planners:
        return f"ends without a last word of {leader!r}"
    return "ends on a hand-over" if last.kind is StepKind.HANDOFF or view.is_routing[-1] else "stopped at a limit"
