"""Checks of planned calculations, and of why a run of unknown outcome is held to have failed."""

from __future__ import annotations

import re

from _audit_patterns import Check, Claim, Template, first_fault, template, unless
from _audit_text import evaluate, flat, number, same_value, stands, whole, within

from tracer_hooks.schema import StepKind

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


def _is_last(claim: Claim) -> bool:
    return claim.index >= claim.run.last_speaker() or claim.index == len(claim.run.steps) - 1


def _last(pattern: str) -> Check:
    def check(claim: Claim) -> str:
        text = claim.quote or whole(claim.step)
        return unless(_is_last(claim) and re.search(pattern, text, re.IGNORECASE) is not None, "the last words do not")

    return check


def _words(pattern: str) -> Check:
    means = re.compile(pattern, re.IGNORECASE)
    return lambda claim: unless(means.search(claim.quote or whole(claim.step)) is not None, "no such words in the step")


def _late(pattern: str) -> Check:
    words = _words(pattern)
    return lambda claim: words(claim) or unless(claim.index * 2 >= len(claim.run.steps) - 1, "it is not late")


def _much_the_same(claim: Claim) -> str:
    mine = set(re.findall(r"\w+", claim.step.content.casefold()))
    before = (
        set(re.findall(r"\w+", step.content.casefold()))
        for step in claim.run.steps[: claim.index]
        if step.agent == claim.step.agent
    )
    return unless(any(len(mine & one) * 2 >= len(mine | one) for one in before), "its agent said nothing alike")


def _off_the_task(claim: Claim) -> str:
    mine, task = (set(re.findall(r"\w{4,}", text.casefold())) for text in (claim.step.content, claim.run.task))
    return unless(len(mine & task) * 4 <= len(task) or len(mine & task) <= 3, "they share many words")


def _unbacked(claim: Claim) -> str:
    near = claim.run.steps[max(0, claim.index - 1) : claim.index + 1]
    return unless(not any(step.tool_calls or "```" in step.content for step in near), "code or a call is there")


_ERROR = r"error|exception|traceback|fail|exit ?code:? ?[1-9]|unable|not found|invalid|denied"

SYMPTOMS: tuple[Template, ...] = (
    template("The run ends with code that was not run.", _last("```|def |import |print")),
    template(
        "The run ends on a request, a call or a hand-over that nobody answers.",
        lambda c: unless(_is_last(c) or c.step.kind is not StepKind.MESSAGE, "it goes on"),
    ),
    template(
        "The last words of the run are a machine's.", lambda c: unless(c.run.is_machine(len(c.run.steps) - 1), "no")
    ),
    template("The run ends on an error.", _last(_ERROR)),
    template("The run ends on an announcement of work.", _last(r"\bI\b|\bwe\b|let|next|proceed|will")),
    template(
        "The last words say that no answer was found, or there are none.", _last(r"\bno\b|not|n't|unable|^\s*$|none")
    ),
    template(
        "The last words doubt what they say, or ask for a check of it.",
        _last(r"may|might|check|verif|confirm|if |appear|seem|could|not|please|assum|likely|approx"),
    ),
    template(
        "The last words leave something open.",
        _last(r"will|next|still|please|need|remain|could not|unable|to be|if you|proceed|further"),
    ),
    template("The last words share hardly a word with the task.", _off_the_task),
    template(
        "The run was stopped for its length.",
        lambda c: unless(
            re.search(r"max|limit|stop", f"{c.run.trajectory.outcome_reason} {c.step.content}", re.I) is not None,
            "nothing says so",
        ),
    ),
    template("The last that a machine or a tool gave back is a failure.", _words(_ERROR)),
    template("A machine or a tool reports a failure here.", _words(_ERROR)),
    template(
        "It speaks of something missing, not found or not possible.",
        _words(r"\bno\b|not|n't|unable|fail|missing|40[34]|unavail|insufficient|time|blocked|error|verify|captcha"),
    ),
    template(
        "It speaks of something assumed, simulated or left as a placeholder.",
        _words("assum|suppos|simul|placeholder|hypoth|mock|dummy|imagin|pretend|example|guess|your_|path"),
    ),
    template(
        "It appeals to what is already known or remembered.", _words("know|memory|information|data|understanding|as of")
    ),
    template("It says what was done, and no code, tool or report just before it shows that.", _unbacked),
    template(
        "It apologises, admits a mistake or refuses, late in the run.",
        _late("sorry|apolog|mistake|error|wrong|oversight|cannot|can't|unable|not able"),
    ),
    template(
        "It hedges, late in the run.",
        _late(
            "might|may|perhaps|possib|probab|likely|appear|seem|approx|rough|think|believe|typical|general|"
            "usual|estimat|sure|unclear"
        ),
    ),
    template(
        "It states another answer than the last one of the run.",
        lambda c: unless(flat(c.step.content) != flat(c.run.final_text()), "it is the same"),
    ),
    template(
        "Its agent had stated another answer before.",
        lambda c: unless(any(s.agent == c.step.agent for s in c.run.steps[: c.index]), "it said nothing before"),
    ),
    template(
        "It finds fault with something, late in the run.",
        _late(
            "incorrect|wrong|mistake|error|not |accura|flaw|issue|should|instead|overlook|contradict|discrep|"
            "disagree|need"
        ),
    ),
    template(
        "It finds fault with something.",
        _words(
            "incorrect|wrong|mistake|error|not |accura|flaw|issue|should|instead|overlook|contradict|discrep|"
            "disagree|need"
        ),
    ),
    template(
        "It finds no progress, plans anew, or gives the whole task out again.",
        _words("loop|progress|stall|plan|task|circle"),
    ),
    template("It says much the same as its agent had said before.", _much_the_same),
    template("It is an empty reply.", lambda c: unless(not c.step.content.strip(), "it says something")),
    template(
        "Its words are those of a short cut or a way round.",
        _words("need|necessary|skip|without|instead|ignor|regardless|irrelevant|simpl|alternativ|bypass"),
    ),
    template(
        "An error shows in this step, or right after it.",
        lambda c: unless(any(c.run.reads_error(i) for i in (c.index, c.index + 1)), "no error there"),
    ),
)
