"""Sentences of findings that are about acts rather than values, and how each is checked against the raw text."""

from __future__ import annotations

import re

from _audit_text import Claim, Template, first_fault, stands, template, unless, whole


def _says(claim: Claim) -> str:
    """The agent says the value at the step."""
    value = claim.text("value")
    return first_fault(
        unless(claim.step.agent == claim.text("agent"), f"step {claim.index} is by {claim.step.agent!r}"),
        unless(stands(value, whole(claim.step)), f"{value!r} does not stand in the step"),
    )


def _says_first(claim: Claim) -> str:
    """Nothing before the step has the value."""
    value = claim.text("value")
    before = [step.index for step in claim.run.steps[: claim.index] if stands(value, whole(step))]
    return first_fault(_says(claim), unless(not before, f"step {before[:1]} has it, too"))


def _nowhere(claim: Claim) -> str:
    value = claim.text("value")
    having = [step.index for step in claim.run.steps if stands(value, whole(step))]
    return unless(not having, f"step {having[:1]} has it")


def _repeats(claim: Claim) -> str:
    """The agent acts in every step that is listed."""
    listed = [int(found) for found in re.findall(r"\d+", claim.words["steps"])]
    others = [index for index in listed if claim.run.steps[index].agent != claim.text("agent")]
    enough = len(listed) == claim.number("times") or "later" in claim.words["steps"]
    return first_fault(
        unless(not others, f"step {others[:1]} is another agent's"), unless(enough, "the count is another")
    )


def _fails(claim: Claim) -> str:
    """A call of the tool has the error, or a result that begins with it."""
    error = claim.text("error").removesuffix("…")
    texts = [call.error or call.result or "" for call in claim.step.tool_calls if call.name == claim.text("tool")]
    return unless(any(error in " ".join(text.split()) for text in texts), f"no call fails with {error!r}")


def _quotes(claim: Claim) -> str:
    """What is quoted stands in the run's last steps or the reason of its outcome."""
    line = claim.text("line").removesuffix("…")
    texts = [whole(step) for step in claim.run.steps[-2:]] + [claim.run.trajectory.outcome_reason or ""]
    return unless(any(line in " ".join(text.split()) for text in texts), f"{line!r} does not stand at the end")


def _calls_own(claim: Claim) -> str:
    said = " ".join(whole(claim.step).split())
    return unless(claim.text("value").removesuffix("…") in said, f"{claim.text('value')!r} does not stand in the step")


def _always(claim: Claim) -> str:
    return unless(claim.step.agent == claim.text("agent"), f"step {claim.index} is by {claim.step.agent!r}")


_FIRST = "{agent!} is the first to say {value!}, in step {n#}; nothing before it returned or said it."
_CALLS = "{agent!} makes the same call of {tool!} with the same result {times#} times, in steps {steps~}."
KINDS: tuple[Template, ...] = (
    template(
        "{agent!} is the first to say {value!}, in step {n#}; nothing before it returned or said it.", _says_first
    ),
    template("{agent!} works {value!} out in step {n#}.", _says),
    template("{agent!} typed {value!} in itself, and step {n#} printed it back.", _says),
    template("The answer {value!} was returned by {tool!} in step {n#}.", lambda claim: ""),
    template("The answer {value!} stands in no step of the run.", _nowhere),
    template("{agent!} says nearly the same {times#} times, in steps {steps~}.", _repeats),
    template(
        "{agent!} makes the same call of {tool!} with the same result {times#} times, in steps {steps~}.", _repeats
    ),
    template("{tool!} failed with {error!}, and no later call of it went well.", _fails),
    template("{agent!} goes on with data that it calls its own: {value!}.", _calls_own),
    template("After the words of {agent!} the log has an error of the model's endpoint: {line!}.", _quotes),
    template("The log ends in an exception after the words of {agent!}: {line!}.", _quotes),
    template("The last words tell of a limit: {line!}.", _quotes),
    template("The run was stopped at a limit: {line!}.", _quotes),
    template("{agent!} gave up in its last words.", _always),
    template("The run ended without an answer; {agent!} was the last to act.", _always),
)
"""What is said of endings, origins, loops, failed tools and made-up data."""
