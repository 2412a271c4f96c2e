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


def _always(claim: Claim) -> str:
    return unless(claim.step.agent == claim.text("agent"), f"step {claim.index} is by {claim.step.agent!r}")


def _returned(claim: Claim) -> str:
    """The value stands in what came back at the step, and in nothing before it."""
    value = claim.text("value")
    before = [step.index for step in claim.run.steps[: claim.number("n")] if stands(value, whole(step))]
    at = claim.run.steps[claim.number("n")]
    return first_fault(
        unless(stands(value, whole(at)), f"{value!r} does not stand in step {at.index}"),
        unless(not before, f"step {before[:1]} has it, too"),
    )


def _only_last(claim: Claim) -> str:
    """The value stands in the last words and nowhere before."""
    value, last = claim.text("value"), claim.index
    before = [step.index for step in claim.run.steps[:last] if stands(value, whole(step))]
    task = stands(value, claim.run.trajectory.task)
    return unless(not before and not task, f"{'the task' if task else f'step {before[:1]}'} has it")


def _says_words(claim: Claim) -> str:
    """The agent of the step says the words that are quoted."""
    said = claim.text("words").removesuffix("…").rstrip()
    text = " ".join(whole(claim.run.steps[claim.number("n")]).split())
    agent = claim.run.steps[claim.number("n")].agent
    return first_fault(
        unless(said in text, f"{said!r} does not stand in the step"),
        unless(agent == claim.text("agent"), f"the step is by {agent!r}"),
    )


def _claims_act(claim: Claim) -> str:
    """The words stand in the step, which has neither a call nor code."""
    step = claim.run.steps[claim.number("n")]
    return first_fault(
        _says_words(claim), unless(not step.tool_calls and "```" not in step.content, "the step has a call or code")
    )


def _types(claim: Claim) -> str:
    """Both values stand in the step, and in nothing before it."""
    step = claim.run.steps[claim.number("n")]
    missing = [name for name in ("value", "other") if not stands(claim.text(name), whole(step).replace("_", ""))]
    early = [name for name in ("value", "other") if claim.run.said_before(claim.text(name), step.index)]
    return first_fault(unless(not missing, f"{missing} not in the step"), unless(not early, f"{early} said before"))


def _breaks_off(claim: Claim) -> str:
    """The step is the last one, by that agent."""
    step = claim.run.steps[claim.number("n")]
    return first_fault(
        unless(step.agent == claim.text("agent"), f"the step is by {step.agent!r}"),
        unless(step.index == len(claim.run.steps) - 1, "it is not the last step"),
    )


KINDS: tuple[Template, ...] = (
    template(
        "{agent!} is the first to say the answer {value!}, in step {n#}; no tool or person gave it before.", _says_first
    ),
    template("{agent!} works out the answer {value!} in step {n#}: {sum~}.", _says),
    template("The answer {value!} first stands in what {who!} returned in step {n#}.", _returned),
    template("The answer {value!} first stands in what {who!} reports of a page in step {n#}.", _returned),
    template("The answer {value!} is {field!} in what {who!} returned in step {n#}.", _returned),
    template("The answer {value!} is what the code of {agent!} in step {n#} computes, which reads no source.", _always),
    template(
        "The answer {value!} stands in the last words of {agent!} only: no earlier step, tool or task has it.",
        _only_last,
    ),
    template("The answer {value!} stands in no step, tool result or task.", _nowhere),
    template("{agent!} says nearly the same {times#} times, in steps {steps~}.", _repeats),
    template(
        "{agent!} makes the same call of {tool!} with the same result {times#} times, in steps {steps~}.", _repeats
    ),
    template("{tool!} failed with {error!}, and no later call of it went well.", _fails),
    template("{agent!} goes on in step {n#} with something assumed or made up: {words!}.", _says_words),
    template("The code of {agent!} in step {n#} has a stand-in where data belongs: {words!}.", _says_words),
    template("{agent!} types {value!} and {other!} into its code in step {n#}, and nothing before gives them.", _types),
    template("{agent!} says in step {n#} {words!}, and no tool call, code or terminal shows it.", _claims_act),
    template("{agent!} says in step {n#} {words!}, and its step has no tool call and no code.", _claims_act),
    template("After the words of {agent!} the log has an error of the model's endpoint: {line!}.", _quotes),
    template("The log ends in an exception after the words of {agent!}: {line!}.", _quotes),
    template("The run was stopped at a limit: {line!}.", _quotes),
    template("The run ends in step {n#} with {line!}.", _quotes),
    template("The run breaks off at the words of {agent!} in step {n#}; no agent takes them up.", _breaks_off),
    template("The run breaks off at code of {agent!} in step {n#} that nobody runs.", _breaks_off),
    template("The run ends where {agent!} announces its next act in step {n#}: {words!}.", _says_words),
    template("{agent!} gave up in its last words.", _always),
    template("The run ended without an answer; {agent!} was the last to act.", _always),
)
"""What is said of endings, origins, loops, failed tools and made-up data."""
