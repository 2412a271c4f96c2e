"""Checks of what is said of the place of a step in the run."""

from __future__ import annotations

import re

from _audit_checks import LEADS, last_speaks, speaker, words
from _audit_patterns import Check, Claim, Template, all_of, first_fault, template, unless
from _audit_text import whole, within

from tracer_hooks.schema import StepKind


def _nothing_else(claim: Claim) -> str:
    findings = [
        one.why
        for one in claim.diagnosis.evidence
        if one.step == claim.index and not one.why.startswith("Nothing that was said or done")
    ]
    return unless(not findings, "another line tells of something that stands out")


def _nth_act(place: int) -> Check:
    return lambda claim: unless(claim.run.nth_act(place) == claim.index, f"that is step {claim.run.nth_act(place)}")


INTENT = words(r"\bI\b|\bwe\b|\blet|proceed|next|start|begin")


def _last_before(claim: Claim) -> str:
    last = claim.run.steps[-1]
    between = [one.index for one in claim.run.steps[claim.index + 1 : -1] if not LEADS.search(one.agent)]
    return first_fault(
        unless(last.index == claim.number("n") and last.agent == claim.text("who"), "the run ends elsewhere"),
        unless(LEADS.search(last.agent) is not None, f"{last.agent!r} does not lead"),
        unless(not between, f"step {between[:1]} comes after it"),
    )


def _part_of_answer(claim: Claim) -> str:
    value = claim.text("value")
    return first_fault(
        unless(within(value, claim.run.final_text()), f"{value!r} is not in the answer"),
        unless(within(value, whole(claim.step)), f"{value!r} is not in the step"),
    )


def _early(claim: Claim) -> str:
    steps = claim.run.steps
    replies = [
        one.index
        for one in steps
        if not LEADS.search(one.agent) and not claim.run.is_person(one.index) and not claim.run.hands_task_on(one.index)
    ]
    return first_fault(
        unless(any(one.agent == claim.text("who") for one in steps), "no such agent"),
        unless(LEADS.search(claim.text("who")) is not None, "it does not lead"),
        unless(claim.index in replies[:3], f"the first replies are {replies[:3]}"),
    )


def _ends(claim: Claim) -> str:
    last, leader = claim.run.steps[-1], claim.text("who")
    return {
        "without": unless(last.agent.partition(" ")[0] != leader.partition(" ")[0], f"{leader!r} has the last word"),
        "hand": unless(
            last.kind is StepKind.HANDOFF or "next speaker" in last.content.casefold() or "->" in last.agent,
            "it does not end so",
        ),
        "limit": unless(
            re.search(
                r"max|limit|stall|terminat|reached",
                f"{last.content} {claim.run.trajectory.outcome_reason}",
                re.IGNORECASE,
            )
            is not None,
            "nothing says that a limit was reached",
        ),
    }[claim.words["end"]]


def _after_the_task(claim: Claim) -> str:
    people = [step.index for step in claim.run.steps if claim.run.is_person(step.index)]
    return unless(not people or people[0] < claim.index, "a person gives the task only later")


_FIRST_ACT = "it is the team's first act after the task was given"


_LAST_REPLY = "it is the last reply before {who!} ends the run in step {n#}"


_ENDINGS = {
    "without": "ends without a last word of {who2!}",
    "hand": "ends on a hand-over",
    "limit": "stopped at a limit",
}


def _placed(text: str, *checks: Check) -> tuple[Template, ...]:
    leads = (
        "Its place in the run speaks for it: ",
        "Nothing that was said or done in this step stands out; it is listed since ",
    )
    return (
        template(f"{leads[0]}{text}.", all_of(checks)),
        template(f"{leads[1]}{text}.", all_of((_nothing_else, *checks))),
    )


def _ending(kind: str) -> Check:
    return lambda claim: _ends(
        Claim(claim.run, claim.diagnosis, claim.index, claim.quote, {**claim.words, "end": kind})
    )


def _early_places() -> tuple[Template, ...]:
    found: tuple[Template, ...] = ()
    did = words(r"\bI\b")
    for kind, end in _ENDINGS.items():
        text = f"it is one of the first three replies under {{who!}}, in a run that {end}"
        found += _placed(text + "; it says what was done ({words!})", _early, _ending(kind), did)
        found += _placed(text, _early, _ending(kind))
    return found


PLACES: tuple[Template, ...] = (
    *_placed(_FIRST_ACT + ", and it says what comes next ({words!})", _nth_act(1), INTENT),
    *_placed(_FIRST_ACT, _nth_act(1)),
    *_placed("it is the team's second act after the task was given", _nth_act(2)),
    *_placed("it is the team's third act after the task was given", _nth_act(3)),
    *_placed(_LAST_REPLY + ", and {value!} of the final answer stands in it", _last_before, _part_of_answer),
    *_placed(_LAST_REPLY, _last_before),
    *_early_places(),
    *_placed(
        "it is the first act of the team",
        lambda c: unless(all(c.run.is_person(i) for i in range(c.index)), "others act before"),
    ),
    *_placed(
        "it is the last act of the team",
        lambda c: unless(
            all(c.run.is_person(i) or c.run.is_machine(i) for i in range(c.index + 1, len(c.run.steps))),
            "others act after",
        ),
    ),
    *_placed("it is the first step of the run", lambda c: unless(c.index == 0, "it is not")),
    *_placed("it is the last step of the run", lambda c: unless(c.index == len(c.run.steps) - 1, "it is not")),
    *_placed(
        "it is the only step of {agent!}",
        lambda c: unless(sum(s.agent == c.text("agent") for s in c.run.steps) == 1, "it has others"),
    ),
    *_placed("{agent!} was the first to work on the task", speaker, _after_the_task),
    *_placed(
        "{agent!} was the first to speak",
        speaker,
        lambda c: unless(c.index == c.run.first_speaker(), "others spoke before"),
    ),
    *_placed("{agent!} was the last to speak", last_speaks),
    template("It announces what comes next: {words!}.", INTENT),
    template(
        "Nothing that was said or done in this step stands out.",
        lambda c: unless(len([e for e in c.diagnosis.evidence if e.step == c.index]) == 1, "another line tells of it"),
    ),
)
