"""Checks of what is said of planned calculations."""

from __future__ import annotations

import re

from _audit_text import (
    Claim,
    Template,
    evaluate,
    first_fault,
    flat,
    number,
    same_value,
    template,
    unless,
    within,
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
)
"""What is said of planned calculations."""
