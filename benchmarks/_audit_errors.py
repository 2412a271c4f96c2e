"""Checks of what is said of code, tools and errors."""

from __future__ import annotations

import re
from collections.abc import Callable

from _audit_checks import FENCE, has_code, speaker, words
from _audit_patterns import Check, Claim, Template, first_fault, template, unless
from _audit_text import ERROR, code, own, results, same_value, whole, within

from tracer_hooks.schema import StepKind


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
