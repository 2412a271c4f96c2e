"""Checks of what is said of a step's words and answers, and of its place in the run."""

from __future__ import annotations

import re

from _audit_text import (
    CHECKS,
    FENCE,
    LEADS,
    Check,
    Claim,
    Template,
    all_of,
    bare,
    first_fault,
    flat,
    folded,
    last_speaks,
    own,
    prose,
    same_value,
    speaker,
    stands,
    template,
    unless,
    whole,
    within,
    words,
)

from tracer_hooks.schema import RunOutcome, StepKind


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
    *_placed(_LAST_REPLY + ", and {value!} of the final answer stands in it", _last_before, _part_of_answer),
    *_placed(_LAST_REPLY, _last_before),
    *_early_places(),
    *_placed(
        "{agent!} was the first to speak",
        speaker,
        lambda c: unless(c.index == c.run.first_speaker(), "others spoke before"),
    ),
    *_placed("{agent!} was the last to speak", last_speaks),
)


_VERB = re.compile(r"\D*\b(?:is|are|was|were|has|have|had|been|can|may|will|does|did)\b")


def _states(claim: Claim) -> str:
    value = claim.text("value")
    if _VERB.match(value):
        return f"{value!r} is a piece of a sentence and no result"
    given = re.search(
        r"(?:answer|result|solution|total|boxed|=)[^\n]{0,40}?" + re.escape(folded(value.rstrip("…"))),
        "\n".join(folded(line) for line in own(claim.step).splitlines()),
    )
    return unless(given is not None, f"{value!r} is not given as a result")


def _not_before(claim: Claim) -> str:
    return unless(
        not claim.run.said_before(claim.text("value"), claim.index), f"{claim.text('value')!r} was said before"
    )


def _first_of_answer(claim: Claim) -> str:
    answer = claim.run.final_text()
    for value in claim.texts("values"):
        fault = first_fault(
            unless(within(value, own(claim.step)), f"{value!r} is not said in the step"),
            unless(within(value, answer), f"{value!r} does not stand in the answer"),
            unless(not claim.run.said_before(value, claim.index), f"{value!r} was said before"),
        )
        if fault:
            return fault
    return unless(flat(answer) not in flat(claim.step.content), "the answer is this step's own text")


def _first_then(claim: Claim) -> str:
    later, value = claim.other(), claim.text("value")
    return first_fault(
        unless(same_value(value, own(claim.step)), f"{value!r} is not said in the step"),
        _not_before(claim),
        unless(later is not None and later.agent == claim.text("agent"), "the later step is by another"),
        unless(later is not None and same_value(value, own(later)), f"{value!r} is not said there"),
    )


def _first_leaves_out(claim: Claim) -> str:
    missing = [word for word in claim.texts("values") if stands(word, whole(claim.step))]
    unknown = [word for word in claim.texts("values") if not stands(word, claim.run.task)]
    earlier = [
        step.index
        for step in claim.run.steps[: claim.index]
        if not claim.run.is_person(step.index) and not claim.run.hands_task_on(step.index)
    ]
    return first_fault(
        unless(not missing, f"{missing} stand in the step"),
        unless(not unknown, f"{unknown} do not stand in the task"),
        unless(not earlier, f"step {earlier[:1]} acts before it"),
    )


def _first_of_team(claim: Claim) -> str:
    value = claim.text("value")
    earlier = (
        step.index
        for step in claim.run.steps[: claim.index]
        if not claim.run.is_person(step.index)
        and not claim.run.hands_task_on(step.index)
        and same_value(value, whole(step))
    )
    before = next(earlier, None)
    return first_fault(
        speaker(claim),
        unless(same_value(value, own(claim.step)), f"{value!r} is not said in the step"),
        unless(before is None, f"{value!r} stands in step {before}"),
    )


def _in_answer(claim: Claim) -> str:
    return unless(same_value(claim.text("value"), claim.run.final_text()), "it does not stand in the answer")


def _tool_gave_first(claim: Claim) -> str:
    return unless(same_value(claim.text("value"), whole(claim.step)), "it does not stand in the step")


_ASSUMED = words(
    r"assum|suppos|pretend|imagin|simulat|hypothetical|placeholder|demonstration|illustrat|mock|dummy|"
    r"fake|made-up|fabricat|synthetic|guess|YOUR_|path.to|X{4}|replace|<insert|<your",
    own,
)


def _approval(claim: Claim) -> str:
    return first_fault(
        speaker(claim),
        unless(CHECKS.search(claim.step.agent) is not None, "its name does not say that it checks"),
        unless(within(claim.text("words"), prose(claim.step)), "the words do not stand in it"),
        unless(claim.run.trajectory.outcome is RunOutcome.FAILED, "the run did not fail"),
        unless(FENCE not in claim.step.content and not claim.step.tool_calls, "it has code or calls a tool"),
        unless(
            not re.search(
                rf"(?:\bnot|n't|cannot|to)\s+{re.escape(claim.text('words'))}", claim.step.content, re.IGNORECASE
            ),
            "it is no approval",
        ),
    )


def _short(claim: Claim) -> str:
    return unless(len(claim.step.content) == claim.number("n") < 120, f"it has {len(claim.step.content)}")


_UNBACKED = "yet it has no code and calls no tool, and no terminal reports right before it."


_DONE = words(r"\b(?:i|we)\b.*(?:ed|found|read|looked)\b")


WORDS: tuple[Template, ...] = (
    template("It has words of work done ({words!}), " + _UNBACKED, all_of((_DONE, bare))),
    template("It states {value!} as a result, which nobody has said before.", all_of((_states, _not_before))),
    template("It states {value!} as a result, " + _UNBACKED, all_of((_states, bare))),
    template("It is the first to say what the final answer says again: {values*}.", _first_of_answer),
    template("It is the first to say what the team's last words say again: {values*}.", _first_of_answer),
    template("It is the first to say {value!}, which {agent!} says again in step {n#}.", _first_then),
    template("It is the first act of the team and leaves out words of the task: {values*}.", _first_leaves_out),
    template("It is short: {n#} characters.", _short),
    template(
        "{agent!} speaks here of something assumed, simulated, hypothetical or a placeholder: {words!}.",
        all_of((speaker, _ASSUMED)),
    ),
    template(
        "It appeals to memory or to what is already known: {words!}.",
        words("know|memory|information|data|understanding|as of my"),
    ),
    template(
        "It hedges: {words!}.",
        words(
            "might|may|perhaps|possib|probab|likely|appear|seem|approx|rough|think|believe|typical|general|"
            "usual|estimat|sure|unclear"
        ),
    ),
    template(
        "{agent!}, whose name says that it checks, writes {words!} in a run that failed, with no code and "
        "no tool call in this step.",
        _approval,
    ),
    template(
        "{agent!} is the first of the team to say {value!}; it stands in the rejected answer.",
        all_of((_first_of_team, _in_answer)),
    ),
    template(
        "{value!} first comes up here, in what a tool gave {agent!}; it stands in the rejected answer.",
        all_of((_tool_gave_first, _in_answer)),
    ),
)
