"""Checks of what is said of a step beside others, of code, tools and errors."""

from __future__ import annotations

import re
from collections.abc import Callable

from _audit_patterns import (
    FENCE,
    LEADS,
    Check,
    Claim,
    Template,
    all_of,
    first_fault,
    hand_off,
    has_code,
    says_again,
    speaker,
    template,
    unless,
    words,
)
from _audit_text import ERROR, arguments, code, flat, own, prose, results, same_value, whole, within

from tracer_hooks.schema import StepKind


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


def _no_code_elsewhere(places: Callable[[Claim], range]) -> Check:
    def check(claim: Claim) -> str:
        other = next((at for at in places(claim) if FENCE in own(claim.run.steps[at])), None)
        return first_fault(has_code(claim), unless(other is None, f"step {other} has code too"))

    return check


def _reports_error(claim: Claim) -> str:
    """An error in step n, after code or words of the step, with nobody else's code between."""
    report, error = claim.other(), claim.text("error")
    if report is None or report.index <= claim.index:
        return "no such later step"
    between = [step.index for step in claim.run.steps[claim.index + 1 : report.index] if FENCE in step.content]
    return first_fault(
        speaker(claim) if "agent" in claim.words else "",
        unless(report.agent == claim.text("who"), f"step {report.index} is by {report.agent!r}"),
        unless(within(error, whole(report)), f"{error!r} does not stand in step {report.index}"),
        unless(ERROR.search(error) is not None, f"{error!r} is no error"),
        unless(not between, f"the code of step {between[:1]} comes between"),
    )


def _after_code(claim: Claim) -> str:
    return first_fault(unless(bool(code(claim.step)), "it writes no code"), _reports_error(claim))


def _spread_error(claim: Claim) -> str:
    return first_fault(
        speaker(claim),
        unless(claim.number("n") < claim.index, "it does not come after it"),
        unless(claim.run.reads_error(claim.index), "no error in the step"),
        unless(ERROR.search(claim.quote) is not None, f"{claim.quote!r} is no error"),
    )


def _tool_failed(claim: Claim) -> str:
    failed = [call for call in claim.step.tool_calls if call.name == claim.text("tool")]
    bad = any(
        call.error is not None
        or ERROR.search((call.result or "")[:400])
        or re.search(r"\b[45]\d\d\b|invalid", (call.result or "")[:400])
        for call in failed
    )
    return first_fault(unless(bool(failed), "no such call"), unless(bad, "the call did not fail"))


def _tool_failed_by(well: bool) -> Check:
    def check(claim: Claim) -> str:
        later = [
            call
            for step in claim.run.steps[claim.index + 1 :]
            for call in step.tool_calls
            if call.name == claim.text("tool") and call.error is None and not ERROR.search((call.result or "")[:100])
        ]
        return first_fault(
            speaker(claim), _tool_failed(claim), unless(bool(later) is well, "the later calls went otherwise")
        )

    return check


def _silent_on_failure(claim: Claim) -> str:
    source, tool = claim.other(), claim.text("tool")
    failed = source is not None and any(call.name == tool for call in source.tool_calls)
    return first_fault(
        speaker(claim),
        unless(failed, "no such call there"),
        unless(
            not re.search(r"\bfail|\berror|unable|unavailable|sorry", claim.step.content, re.IGNORECASE),
            "it speaks of a failure",
        ),
    )


def _result_missed(claim: Claim) -> str:
    source, value = claim.other(), claim.text("value")
    words = re.findall(r"\w{4,}", value.casefold())
    return first_fault(
        unless(source is not None and within(value, results(source)), "the tool did not return that"),
        unless(not any(word in claim.step.content.casefold() for word in words), "a word of it stands in the reply"),
    )


def _result_differs(claim: Claim) -> str:
    source = claim.other()
    return first_fault(
        speaker(claim),
        unless(same_value(claim.words["value"], claim.step.content), "it does not say that"),
        unless(
            source is not None and same_value(claim.words["other"], results(source)), "the tool did not return that"
        ),
        unless(claim.words["value"] != claim.words["other"], "both are the same"),
    )


def _error_before(claim: Claim) -> str:
    before = claim.index - 1
    return first_fault(
        unless(before >= 0 and claim.run.steps[before].agent == claim.text("who"), "another acts before"),
        unless(claim.run.reads_error(before), "no error there"),
    )


def _repairs(claim: Claim) -> str:
    return first_fault(
        has_code(claim),
        unless(claim.number("n") == claim.index - 1 and claim.run.reads_error(claim.index - 1), "no error there"),
    )


def _ran(claim: Claim) -> str:
    report = claim.other()
    clean = report is not None and not re.search(
        r"exit ?code:?\s*-?[1-9]|traceback|execution failed", report.content, re.IGNORECASE
    )
    return first_fault(
        has_code(claim),
        unless(report is not None and report.agent == claim.text("who"), "another reports"),
        unless(clean, "it reports an error"),
    )


def _calls(claim: Claim) -> str:
    names = [call.name for call in claim.step.tool_calls]
    called = re.findall(r"'([^']*)'", claim.words["names"])
    return unless(bool(names) and all(name in names for name in called), "it does not call them")


def _raised(ended: bool) -> Check:
    def check(claim: Claim) -> str:
        later = [step for step in claim.run.steps[claim.index + 1 :] if not claim.run.is_person(step.index)]
        reason = claim.run.trajectory.outcome_reason or ""
        over = not later or bool(claim.step.error and claim.step.error.strip()[:80] in reason)
        return first_fault(
            speaker(claim),
            unless(claim.step.error is not None or claim.step.kind is StepKind.ERROR, "nothing raised"),
            unless(over is ended, "the run went otherwise"),
        )

    return check


ERRORS: tuple[Template, ...] = (
    template("This is the first step of the run that contains code.", _no_code_elsewhere(lambda c: range(c.index))),
    template(
        "This is the last step of the run that contains code.",
        _no_code_elsewhere(lambda c: range(c.index + 1, len(c.run.steps))),
    ),
    template("It contains code.", has_code),
    template("After the code that {agent!} writes here, {who!} reports an error in step {n#}: {error!}.", _after_code),
    template("After what {agent!} says here, {who!} reports an error in step {n#}: {error!}.", _reports_error),
    template("Right after it, {who!} reports an error in step {n#}: {error!}.", _reports_error),
    template("Right after its code, {who!} reports no error in step {n#}.", _ran),
    template("{agent!} reports an error after step {n#}.", _spread_error),
    template("The tool {tool!} that it calls fails.", _tool_failed),
    template(
        "An error is raised in this step.",
        lambda c: unless(c.step.error is not None or c.step.kind is StepKind.ERROR, "nothing raised"),
    ),
    template("The step before, by {who!}, failed or shows an error.", _error_before),
    template("It writes code right after an error in step {n#}.", _repairs),
    template("It calls {names~}.", _calls),
    template("It shows an error: {words!}.", words(ERROR.pattern, whole)),
    template(
        "Its words are those of an objection or a correction: {words!}.",
        words(
            "correct|wrong|mistake|error|not |accura|flaw|issue|should|instead|misinter|overlook|contradict|"
            "discrep|disagree|need"
        ),
    ),
    template("It apologises or admits a mistake: {words!}.", words("sorry|apolog|mistake|error|wrong|oversight")),
    template(
        "Its words are those of doubt or refusal: {words!}.",
        words("not|incorrect|wrong|inaccurate|error|mistake|reject|unable|however"),
    ),
    template("Its code reaches outside: {words!}.", words("request|url|search|fetch|scrap|selenium|api|http", code)),
    template("Its code reads or opens something: {words!}.", words("read|open|load|extract", code)),
    template("Its code calculates: {words!}.", words(r"for|random|simul|sum|math|np|sympy|while|def", code)),
    template("Its code guards against a failure: {words!}.", words("try|except|if not|None|get|assert", code)),
    template("Data is written into its code: {words!}.", words(r"[\[{]", code)),
    template(
        "The tool {tool!}, called by {agent!}, failed here, and a later call of it went well.", _tool_failed_by(True)
    ),
    template(
        "The tool {tool!}, called by {agent!}, failed here, and no later call of it went well.", _tool_failed_by(False)
    ),
    template(
        "{agent!} goes on here without a word about the tool {tool!}, which failed in step {n#}.", _silent_on_failure
    ),
    template(
        "No word of {value!}, which the tool {tool!} returned in step {n#}, stands in this reply.", _result_missed
    ),
    template("{agent!} says {value~} here, where the tool {tool!} returned {other~} in step {n#}.", _result_differs),
    template("{agent!} raised an error here, and the run ended there.", _raised(True)),
    template("{agent!} raised an error here, and the run went on after it.", _raised(False)),
    template(
        "The model endpoint could not be reached or refused to answer, and the run ended there.",
        lambda c: unless(c.step.kind is StepKind.ERROR, "no error ends the run"),
    ),
)
