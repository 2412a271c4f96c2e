"""Checks of what is said of a step beside others, of code, tools and errors, and of planned calculations."""

from __future__ import annotations

import re
from collections.abc import Callable

from _audit_text import (
    ERROR,
    FENCE,
    Check,
    Claim,
    Template,
    code,
    evaluate,
    first_fault,
    flat,
    has_code,
    number,
    own,
    same_value,
    says_again,
    speaker,
    stands,
    template,
    unless,
    whole,
    within,
)


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


def _asked_again(claim: Claim) -> str:
    before = claim.other("n")
    mine = set(re.findall(r"\w+", claim.step.content.casefold()))
    theirs = set(re.findall(r"\w+", before.content.casefold())) if before is not None else set()
    return first_fault(
        unless(claim.number("n") < claim.number("m") < claim.index, "the order is another"),
        unless(len(mine & theirs) * 2 >= len(mine | theirs) - 1, "the words differ"),
    )


EMPTY = r"\bno\b|not|n't|unable|fail|40[34]|denied|captcha|blocked|time|inaccess|unavail|error|insufficient|verify"


TEAM: tuple[Template, ...] = (
    template("It repeats {value~}, which step {n#} was the first to say.", _repeats_first),
    template("It repeats {value~} of step {n#}.", _repeats_value),
    template("It was shown what step {n#} says.", _was_shown),
    template(
        "It asks again, in much the same words, for what step {n#} asked for, after the reply in step {m#}.",
        _asked_again,
    ),
    template("{agent!} repeats the message of step {n#} here; it makes it {times#} times in all.", _repeats_message),
    template("{agent!} gives {value~} for {key!} here, and {who!} gave {other~} in step {n#}.", _gives_other),
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


def _calls(claim: Claim) -> str:
    names = [call.name for call in claim.step.tool_calls]
    called = re.findall(r"'([^']*)'", claim.words["names"])
    return unless(bool(names) and all(name in names for name in called), "it does not call them")


ERRORS: tuple[Template, ...] = (
    template("This is the first step of the run that contains code.", _no_code_elsewhere(lambda c: range(c.index))),
    template("It contains code.", has_code),
    template("After the code that {agent!} writes here, {who!} reports an error in step {n#}: {error!}.", _after_code),
    template("{agent!} reports an error after step {n#}.", _spread_error),
    template("The tool {tool!} that it calls fails.", _tool_failed),
    template("It calls {names~}.", _calls),
    template(
        "The tool {tool!}, called by {agent!}, failed here, and no later call of it went well.", _tool_failed_by(False)
    ),
)


_RESULT = re.compile(r"\s*(?:=|equals|is)\s*[$€£]?\d")


def _asks(claim: Claim) -> str:
    """The calculation stands in the step without a result, is not the task's, and comes to what is said."""
    calculation, text = claim.text("calc"), flat(claim.step.content)
    at = text.find(calculation)
    value = number(claim.words["value"])
    return first_fault(
        unless(claim.step.agent == claim.text("agent"), f"step {claim.index} is by {claim.step.agent!r}"),
        unless(at >= 0, f"{calculation!r} does not stand in the step"),
        unless(_RESULT.match(text[at + len(calculation) :]) is None, "the step gives the result itself"),
        unless(not within(calculation, claim.run.task), "the task itself asks for it"),
        unless(evaluate(calculation) == value, f"{calculation!r} is {evaluate(calculation)}"),
        _worked_out(claim) if "who" in claim.words else "",
    )


def _worked_out(claim: Claim) -> str:
    other = claim.other()
    if other is None or other.index <= claim.index:
        return f"step {claim.number('n')} does not come after it"
    text, value = flat(other.content), claim.words["value"]
    wrong = [line for line in re.findall(r"[\d\s.+*×/()-]+=\s*[\d.]+", text) if not _holds(line)]
    return first_fault(
        unless(other.agent == claim.text("who"), f"step {other.index} is by {other.agent!r}"),
        unless(same_value(value, text), f"{value!r} does not stand in step {other.index}"),
        unless(not wrong, f"{wrong[:1]} is wrong"),
    )


def _holds(line: str) -> bool:
    left, _, right = line.rpartition("=")
    worth = evaluate(left.strip(" ="))
    return worth is None or worth == evaluate(right)


def _is_answered(claim: Claim) -> str:
    answer = claim.run.trajectory.final_output or claim.run.steps[-1].content
    return first_fault(
        unless(same_value(claim.words["value"], answer), f"{claim.words['value']!r} is not in the answer"), _asks(claim)
    )


def _instead(claim: Claim) -> str:
    other = claim.other()
    if other is None or other.index >= claim.index:
        return f"step {claim.number('n')} does not come before it"
    asked, done = claim.text("calc"), claim.text("own")
    return first_fault(
        unless(other.agent == claim.text("agent"), f"step {other.index} is by {other.agent!r}"),
        unless(claim.step.agent == claim.text("who"), f"step {claim.index} is by {claim.step.agent!r}"),
        unless(asked in flat(other.content), f"{asked!r} does not stand in step {other.index}"),
        unless(
            all(stands(one, claim.step.content) for one in re.findall(r"\d+", done)), f"{done!r} does not stand here"
        ),
        unless(evaluate(asked) != evaluate(done), "both come to the same"),
    )


def _is_asked_for(claim: Claim) -> str:
    """Some calculation of the earlier step comes to the value."""
    other = claim.other()
    if other is None or other.index >= claim.index:
        return f"step {claim.number('n')} does not come before it"
    asked = (evaluate(one.strip()) for one in re.findall(r"[\d\s.,$€£+*×/()-]+", flat(other.content)) if one != ".")
    value = claim.words["value"]
    return first_fault(
        unless(same_value(value, claim.step.content), f"{value!r} does not stand in the step"),
        unless(number(value) in set(asked), f"no calculation of step {other.index} comes to {value!r}"),
    )


_TAILS = ("; {who!} works it out without an error in step {n#}.", ".")

PLANS: tuple[Template, ...] = (
    *(
        template("{agent!} asks for {calc!}, and that gives " + said + tail, _is_answered)
        for said in ("the rejected answer, {value~}", "{value~}, which stands in the rejected answer")
        for tail in _TAILS
    ),
    *(
        template("{agent!} asks for {calc!}, and that gives {value~}, which the rejected answer rests on" + tail, _asks)
        for tail in _TAILS
    ),
    template("It says {value~}, which is what step {n#} asks for.", _is_asked_for),
    template("{agent!} asks for {calc!} in step {n#}; {who!} works out {own!} instead.", _instead),
)
"""What is said of planned calculations."""
