"""Checks of what is said of a step beside others: repeated, handed over, objected to, taken over."""

from __future__ import annotations

import re

from _audit_checks import LEADS, hand_off, says_again, speaker, words
from _audit_patterns import Check, Claim, Template, all_of, first_fault, template, unless
from _audit_text import arguments, flat, own, prose, results, same_value, whole, within


def _repeats_value(claim: Claim) -> str:
    origin, value = claim.other(), claim.words["value"]
    return first_fault(
        unless(origin is not None and same_value(value, whole(origin)), f"{value} does not stand in the earlier step"),
        unless(same_value(value, claim.step.content), f"{value} does not stand in the step"),
    )


def _repeats_first(claim: Claim) -> str:
    said = claim.run.said_before(claim.words["value"], claim.number("n"))
    return first_fault(_repeats_value(claim), unless(not said, "it was said before that step"))


def _was_shown(claim: Claim) -> str:
    return unless(claim.number("n") in {one.step for one in claim.step.inputs}, "it was not shown that step")


def _repeats_message(claim: Claim) -> str:
    same = [
        step
        for step in claim.run.steps
        if step.agent == claim.step.agent and flat(step.content).casefold() == flat(claim.step.content).casefold()
    ]
    return first_fault(
        speaker(claim), says_again(claim), unless(len(same) == claim.number("times"), f"it is {len(same)} times")
    )


def _repeats_call(claim: Claim) -> str:
    other = claim.other()
    return first_fault(
        speaker(claim),
        unless(bool(claim.step.tool_calls), "it calls no tool"),
        unless(other is not None and arguments(other) == arguments(claim.step), "the arguments differ"),
        unless(other is not None and results(other) == results(claim.step), "the results differ"),
    )


def _gives_other(claim: Claim) -> str:
    source, key = claim.other(), claim.text("key")
    near = rf"{re.escape(key)}\W+(?:\w+\W+){{0,3}}?[$€£]?"
    mine = re.search(near + re.escape(claim.words["value"]), claim.step.content, re.IGNORECASE)
    theirs = (
        source is not None
        and re.search(key, source.content, re.IGNORECASE)
        and same_value(claim.words["other"], source.content)
    )
    return first_fault(
        speaker(claim),
        unless(mine is not None, f"{claim.words['value']} is not given for {key!r}"),
        unless(
            source is not None and source.agent == claim.text("who") and bool(theirs), "the other did not give that"
        ),
    )


def _correction_missed(claim: Claim) -> str:
    source, value = claim.other(), claim.text("value")
    return first_fault(
        unless(claim.step.agent == claim.text("agent"), "another speaks"),
        unless(source is not None and source.agent == claim.text("who"), "another corrects"),
        unless(source is not None and same_value(value, source.content), "the correction has no such value"),
        unless(not same_value(value, whole(claim.step)), "the reply has it"),
    )


def _next_words(meaning: str) -> Check:
    means = re.compile(meaning, re.IGNORECASE)

    def check(claim: Claim) -> str:
        following = claim.run.steps[claim.index + 1] if claim.index + 1 < len(claim.run.steps) else None
        words = claim.text("words")
        return first_fault(
            unless(following is not None and following.agent == claim.text("who"), "another speaks next"),
            unless(following is not None and within(words, whole(following)), f"{words!r} does not stand there"),
            unless(means.search(words) is not None, f"{words!r} does not mean that"),
        )

    return check


def _objected(claim: Claim) -> str:
    other = claim.other()
    return first_fault(
        unless(other is not None and other.agent == claim.text("who") and other.index > claim.index, "another speaks"),
        unless(other is not None and within(claim.text("words"), prose(other)), "the words do not stand there"),
        unless(
            other is not None
            and all(
                one.agent == claim.step.agent or claim.run.is_machine(one.index) or one.agent == other.agent
                for one in claim.run.steps[claim.index + 1 : other.index]
            ),
            "it is not who speaks next",
        ),
    )


def _leader_notes(claim: Claim) -> str:
    return first_fault(
        unless(LEADS.search(claim.step.agent) is not None, f"{claim.step.agent!r} does not lead"),
        unless(claim.index > claim.number("n"), "it does not come after"),
        unless(
            re.search(r"loop|progress|stall|re-?plan|new plan|circle", claim.quote or claim.step.content, re.IGNORECASE)
            is not None,
            "the passage says nothing of that",
        ),
    )


def _asked_again(claim: Claim) -> str:
    before = claim.other("n")
    mine = set(re.findall(r"\w+", claim.step.content.casefold()))
    theirs = set(re.findall(r"\w+", before.content.casefold())) if before is not None else set()
    return first_fault(
        unless(claim.number("n") < claim.number("m") < claim.index, "the order is another"),
        unless(len(mine & theirs) * 2 >= len(mine | theirs) - 1, "the words differ"),
    )


def _answers_hand_off(claim: Claim) -> str:
    giver = claim.other()
    return unless(
        giver is not None and giver.agent == claim.text("who") and giver.recipient == claim.step.agent,
        "no such hand-off",
    )


def _lost_hand_off(claim: Claim) -> str:
    who = claim.text("who")
    return first_fault(
        speaker(claim),
        hand_off(claim),
        unless(all(step.agent != who for step in claim.run.steps[claim.index + 1 :]), "it acts after that"),
    )


def _unknown_member(claim: Claim) -> str:
    return first_fault(
        speaker(claim),
        hand_off(claim),
        unless(claim.text("who") not in claim.run.trajectory.agent_names, "the team has it"),
    )


def _turned_away(claim: Claim) -> str:
    answer = claim.other()
    return first_fault(
        speaker(claim),
        hand_off(claim),
        unless(answer is not None and within(claim.text("words"), prose(answer)), "the words do not stand there"),
    )


def _idle_member(claim: Claim) -> str:
    idle = claim.text("idle")
    return first_fault(
        speaker(claim), hand_off(claim), unless(all(step.agent != idle for step in claim.run.steps), "it acts")
    )


def _to_and_fro(claim: Claim) -> str:
    pair = {claim.text("agent"), claim.text("who")}
    transfers = [step for step in claim.run.steps if step.recipient and {step.agent, step.recipient} == pair]
    return first_fault(speaker(claim), unless(len(transfers) >= claim.number("times"), f"only {len(transfers)} times"))


EMPTY = r"\bno\b|not|n't|unable|fail|40[34]|denied|captcha|blocked|time|inaccess|unavail|error|insufficient|verify"


TEAM: tuple[Template, ...] = (
    template("It repeats {value~}, which step {n#} was the first to say.", _repeats_first),
    template("It repeats {value~} of step {n#}.", _repeats_value),
    template("It was shown what step {n#} says.", _was_shown),
    template(
        "The next step, by {who!}, speaks of something missing, not found or not possible: {words!}.",
        _next_words(EMPTY),
    ),
    template("The next step, by {who!}, finds no code to run: {words!}.", _next_words("code|execute")),
    template("{who!}, who speaks next, uses words of objection or correction in step {n#}: {words!}.", _objected),
    template("Right after step {n#}, it writes of a loop, of no progress or of planning anew.", _leader_notes),
    template(
        "It asks again, in much the same words, for what step {n#} asked for, after the reply in step {m#}.",
        _asked_again,
    ),
    template("It answers the hand-off by {who!} in step {n#}.", _answers_hand_off),
    template("It hands the work to {who!}.", hand_off),
    template("It says the same again as step {n#}, word for word.", says_again),
    template(
        "It hands the task on word for word.",
        lambda c: unless(c.run.hands_task_on(c.index), "the task does not stand in it"),
    ),
    template("It speaks of something missing, not found or not possible: {words!}.", words(EMPTY, whole)),
    template("It speaks of work by hand or by eye: {words!}.", words("manual|hand|visual|eye|mental")),
    template("{agent!} repeats the message of step {n#} here; it makes it {times#} times in all.", _repeats_message),
    template(
        "{agent!} repeats the tool call, with the same result, of step {n#} here; it makes it {times#} times in all.",
        _repeats_call,
    ),
    template("{agent!} gives {value~} for {key!} here, and {who!} gave {other~} in step {n#}.", _gives_other),
    template(
        "In step {n#}, {who!} gives {value!} as what is right or to be used, and this reply of {agent!} "
        "does not have it but still has {old!}.",
        all_of(
            (_correction_missed, lambda c: unless(same_value(c.text("old"), own(c.step)), "the old value is not there"))
        ),
    ),
    template(
        "In step {n#}, {who!} gives {value!} as what is right or to be used, and this reply of {agent!} "
        "does not have it but says the same again as step {m#}.",
        _correction_missed,
    ),
    template(
        "In step {n#}, {who!} gives {value!} as what is right or to be used, and this reply of {agent!} "
        "does not have it.",
        _correction_missed,
    ),
    template("{agent!} hands over to {who!}, whom the team does not have.", _unknown_member),
    template(
        "{agent!} hands over to {who!}, who does not act after that, and neither does anybody else of the team.",
        _lost_hand_off,
    ),
    template("{agent!} hands over to {who!}, who does not act after that.", _lost_hand_off),
    template("{agent!} hands over to {who!}, whose answer in step {n#} turns it away: {words!}.", _turned_away),
    template(
        "{agent!} hands over to {who!}, while {idle!}, whose name, tools and instructions share more words "
        "with the task, never acts.",
        _idle_member,
    ),
    template("{agent!} and {who!} pass the work to and fro, {times#} times in all.", _to_and_fro),
)
