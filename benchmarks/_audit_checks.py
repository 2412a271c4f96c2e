"""Checks of a step that many sentences need: who speaks, which words stand in it, whether it has code."""

from __future__ import annotations

import re
from collections.abc import Callable

from _audit_patterns import Check, Claim, first_fault, unless
from _audit_text import flat, folded, own, prose, within

FENCE = "```"


LEADS = re.compile(
    r"orchestrat|manag|supervis|coordinat|router|selector|plan|triage|dispatch|moderator|lead", re.IGNORECASE
)


CHECKS = re.compile(r"verif|review|valid|critic|check|test|qa|judge|audit|evaluat|proof|inspect", re.IGNORECASE)


def speaker(claim: Claim) -> str:
    """The agent that is named acted in the step."""
    return unless(claim.step.agent == claim.text("agent"), f"step {claim.index} is by {claim.step.agent!r}")


def words(meaning: str, read: Callable[..., str] = prose) -> Check:
    """The words stand in the step, mean what is said of them, and are not those of the task."""
    means = re.compile(meaning, re.IGNORECASE)

    def check(claim: Claim) -> str:
        words = claim.text("words")
        return first_fault(
            unless(within(words, read(claim.step)), f"{words!r} does not stand in the step"),
            unless(means.search(words) is not None, f"{words!r} does not mean that"),
            unless(not is_the_task(claim), "the passage is the task's"),
        )

    return check


def is_the_task(claim: Claim) -> bool:
    return len(claim.quote) > 20 and flat(claim.quote) in flat(claim.run.task)


def bare(claim: Claim) -> str:
    before = claim.index - 1
    return first_fault(
        unless(FENCE not in claim.step.content, "it has code"),
        unless(not claim.step.tool_calls, "it calls a tool"),
        unless(before < 0 or not claim.run.is_machine(before), f"step {before} is a report"),
    )


def has_code(claim: Claim) -> str:
    return unless(FENCE in own(claim.step), "no code in it")


def says_again(claim: Claim) -> str:
    other = claim.other()
    return unless(other is not None and folded(other.content) == folded(claim.step.content), "the texts differ")


def last_speaks(claim: Claim) -> str:
    return first_fault(
        speaker(claim), unless(claim.run.last_speaker() == claim.index, f"step {claim.run.last_speaker()} is the last")
    )


def hand_off(claim: Claim) -> str:
    return unless(claim.step.recipient == claim.text("who"), f"it goes to {claim.step.recipient!r}")
