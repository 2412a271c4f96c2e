"""The audit of one diagnosis: each of its sentences and quotes against the raw text of the run."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from _audit_errors import ERRORS
from _audit_patterns import Claim, Template, sentences
from _audit_places import PLACES
from _audit_plans import PLANS
from _audit_symptoms import SYMPTOMS
from _audit_team import TEAM
from _audit_text import Run, arguments, whole, within
from _audit_values import CALCULATION, VALUES
from _audit_words import WORDS

from tracer_hooks.schema import Attribution, Evidence, Step, Trajectory

TEMPLATES: tuple[Template, ...] = (*PLACES, *ERRORS, *TEAM, *WORDS, *PLANS, *VALUES, *SYMPTOMS, CALCULATION)

_INTERNAL = re.compile(
    r"log-?odds|\bFM-\d|\b(?:failure|code|brief|language|claims|agreement|novelty|survival|repetition|shape|role|flow"
    r"|work|position|turns): [a-z]"
)
_FENCE = re.compile(r"[`~]{3,}[\w+-]*")
_CLEAR, _LIKELY = 0.6, 0.3
_LITERAL = re.compile(r"""(?<!\w)(?:'(?:[^'\\\n]|\\.)+'|"(?:[^"\\\n]|\\.)+")""")


class Verdict(StrEnum):
    """What the audit says of one claim."""

    TRUE = "true"
    FALSE = "false"
    UNCHECKED = "unchecked"


@dataclass(frozen=True)
class Finding:
    """One claim of a diagnosis and whether the run bears it out."""

    template: str
    """The form of the sentence, or what is checked of a quote, the headline or the advice."""
    step: int | None
    text: str
    verdict: Verdict
    fault: str = ""
    quote: str = ""


def audit(trajectory: Trajectory, diagnosis: Attribution, *, advice: str = "") -> list[Finding]:
    """Every claim of a diagnosis, checked.

    Args:
        trajectory: The run.
        diagnosis: What is said of it.
        advice: The advice that goes with it; empty when there is none to check.
    """
    run = Run(trajectory)
    told = [*diagnosis.evidence, *diagnosis.spread]
    findings = [found for one in told for found in _entry(run, diagnosis, one)]
    findings += _twice(diagnosis)
    findings.append(_headline(run, diagnosis))
    if advice:
        findings.append(_advice(run, diagnosis, advice))
    return findings


def _entry(run: Run, diagnosis: Attribution, entry: Evidence) -> Iterator[Finding]:
    if entry.step >= len(run.steps):
        yield Finding("the step exists", entry.step, entry.why, Verdict.FALSE, "no such step")
        return
    yield from _quote(run.steps[entry.step], entry)
    for one in sentences(entry.why, TEMPLATES):
        if one.template is None:
            yield Finding("no pattern", entry.step, one.text, Verdict.UNCHECKED, quote=entry.quote)
            continue
        fault = one.template.check(Claim(run, diagnosis, entry.step, entry.quote, one.words))
        if not fault and _INTERNAL.search(re.sub(_LITERAL, "", one.text)):
            fault = "an internal name"
        yield _found(one.template.sentence, entry.step, one.text, fault, entry.quote)


def _found(form: str, step: int | None, text: str, fault: str, quote: str = "") -> Finding:
    return Finding(form, step, text, Verdict.FALSE if fault else Verdict.TRUE, fault, quote)


def _quote(step: Step, entry: Evidence) -> Iterator[Finding]:
    if not entry.quote:
        return
    fault = ""
    if not any(entry.quote in text for text in _texts(step)):
        fault = "the quote does not stand in the step word for word"
    elif not any(char.isalnum() for char in entry.quote):
        fault = "a quote without a letter or a digit"
    elif _FENCE.fullmatch(entry.quote.strip()):
        fault = "a bare code fence"
    yield _found("(the quote stands in the step)", entry.step, entry.why, fault, entry.quote)


def _texts(step: Step) -> Iterator[str]:
    yield from (step.content, step.error or "", arguments(step))
    for call in step.tool_calls:
        yield from (call.result or "", call.error or "", json.dumps(call.arguments))


def _twice(diagnosis: Attribution) -> Iterator[Finding]:
    for entries in (diagnosis.evidence, diagnosis.spread):
        quotes = [(one.step, one.quote) for one in entries if one.quote]
        for place in sorted({one for one in quotes if quotes.count(one) > 1}):
            yield Finding("(each quote once)", place[0], place[1], Verdict.FALSE, "the same quote twice", place[1])


def _headline(run: Run, diagnosis: Attribution) -> Finding:
    text = diagnosis.headline
    return _found("(the headline fits the certainty)", diagnosis.step, text, _headline_fault(run, diagnosis, text))


def _headline_fault(run: Run, diagnosis: Attribution, text: str) -> str:
    if diagnosis.abstained or diagnosis.agent is None:
        return "" if text.startswith("No agent is named") else "it names an agent"
    shown = any(one.step == diagnosis.step and one.kind != "sign" for one in diagnosis.evidence)
    certainty = (
        "clear" if diagnosis.confidence >= _CLEAR and shown else "likely" if diagnosis.confidence >= _LIKELY else "weak"
    )
    if diagnosis.certainty != certainty:
        return f"the certainty is {diagnosis.certainty}, not {certainty}"
    start = {
        "clear": f"{diagnosis.agent} went wrong",
        "likely": f"Probably: {diagnosis.agent}",
        "weak": "No clear sign.",
    }
    if not text.startswith(start[certainty]):
        return "it is surer, or less sure, than the certainty"
    named = re.findall(r"step (\d+) \(([^)]*)\)", text) if certainty == "weak" else []
    if any(
        int(index) >= len(run.steps) or run.steps[int(index)].agent.partition(" (")[0] != agent.partition(" (")[0]
        for index, agent in named
    ):
        return "a step that it names is another agent's"
    if diagnosis.step is not None and run.steps[diagnosis.step].agent != diagnosis.agent:
        return "the step is another agent's"
    return "an internal name" if _INTERNAL.search(text) else ""


def _advice(run: Run, diagnosis: Attribution, text: str) -> Finding:
    everything = "\n".join(whole(step) for step in run.steps) + repr(run.trajectory.agent_names)
    everything += "\n".join(call.name for step in run.steps for call in step.tool_calls)
    named = [str(ast.literal_eval(found.group())) for found in _LITERAL.finditer(text)]
    unknown = [one for one in named if not within(one, everything)]
    placed = re.match(r"If it is step (\d+)", text)
    fault = ""
    if unknown:
        fault = f"{unknown[0]!r} does not stand in the run"
    elif placed is not None and int(placed[1]) != diagnosis.step:
        fault = "it names another step"
    elif (diagnosis.certainty == "weak") and not (placed or text.startswith("Read these")):
        fault = "it is surer than the headline"
    elif _INTERNAL.search(text):
        fault = "an internal name"
    else:
        value = re.search(r"say where (\S+) comes from", text)
        if (
            value is not None
            and diagnosis.step is not None
            and value[1] != "this"
            and not within(value[1], whole(run.steps[diagnosis.step]))
        ):
            fault = f"{value[1]} does not stand in the step"
    return _found("(the advice names what is there)", diagnosis.step, text, fault)
