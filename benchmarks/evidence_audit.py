"""What diagnoses say, recomputed from the raw text of the runs: is each sentence true of its step?

    python benchmarks/evidence_audit.py --whowhen DIR [--attributor structural] [--json OUT]

``DIR`` holds the Who&When folders ``Algorithm-Generated`` and ``Hand-Crafted``. The attributor is not told the expected
answer. Nothing of what makes the sentences is used to check them: the audit has patterns, a reader and an evaluator of
its own. A sentence that no pattern fits is counted apart and printed.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from _audit_kinds import KINDS
from _audit_plans import PLANS
from _audit_text import Claim, Run, Template, arguments, sentences, unless, whole, within
from _audit_values import CALCULATION, VALUES

from tracer_hooks.datasets import load
from tracer_hooks.diagnosis import Attributor, get_attributor
from tracer_hooks.report import suggestion
from tracer_hooks.schema import Attribution, Evidence, Step, Trajectory

TEMPLATES: tuple[Template, ...] = (*KINDS, *PLANS, *VALUES, CALCULATION)

_INTERNAL = re.compile(
    r"log-?odds|\bFM-\d|\b(?:failure|code|brief|language|claims|agreement|novelty|survival|repetition|shape|role|flow"
    r"|work|position|turns): [a-z]"
)
_FENCE = re.compile(r"[`~]{3,}[\w+-]*")
_CLEAR, _LIKELY = 0.9, 0.65
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
    told = [Evidence(step=each.step or 0, quote=each.quote, why=each.text) for each in diagnosis.findings]
    known = {each.why for each in told}
    told += [each for each in diagnosis.evidence if each.why not in known]
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
    quotes = [(one.step, one.quote) for one in diagnosis.evidence if one.quote]
    for place in sorted({one for one in quotes if quotes.count(one) > 1}):
        yield Finding("(each quote once)", place[0], place[1], Verdict.FALSE, "the same quote twice", place[1])


def _headline(run: Run, diagnosis: Attribution) -> Finding:
    text = diagnosis.headline
    return _found("(the headline fits the certainty)", diagnosis.step, text, _headline_fault(run, diagnosis, text))


def _headline_fault(run: Run, diagnosis: Attribution, text: str) -> str:
    heading = diagnosis.heading_finding
    if heading is not None:
        return unless(text == heading.text, "it is not the finding that it stands for")
    if diagnosis.abstained or diagnosis.agent is None:
        return "" if text.startswith("No agent is named") else "it names an agent"
    shown = any(one.step == diagnosis.step and one.leads_to_answer for one in diagnosis.findings)
    certainty = (
        "clear" if diagnosis.confidence >= _CLEAR and shown else "likely" if diagnosis.confidence >= _LIKELY else "weak"
    )
    if diagnosis.certainty != certainty:
        return f"the certainty is {diagnosis.certainty}, not {certainty}"
    start = {
        "clear": f"{diagnosis.agent} went wrong",
        "likely": f"Probably: {diagnosis.agent}",
        "weak": "No step stands out.",
    }
    if not text.startswith(start[certainty]):
        return "it is surer, or less sure, than the certainty"
    if diagnosis.step is not None and run.steps[diagnosis.step].agent != diagnosis.agent:
        return "the step is another agent's"
    return "an internal name" if _INTERNAL.search(text) else ""


def _advice(run: Run, diagnosis: Attribution, text: str) -> Finding:
    everything = "\n".join(whole(step) for step in run.steps) + repr(run.trajectory.agent_names)
    everything += "\n".join(call.name for step in run.steps for call in step.tool_calls)
    named = [str(ast.literal_eval(found.group())) for found in _LITERAL.finditer(text)]
    unknown = [one for one in named if not within(one, everything)]
    fault = ""
    if unknown:
        fault = f"{unknown[0]!r} does not stand in the run"
    elif diagnosis.certainty == "weak" and diagnosis.heading_finding is None:
        fault = "it is surer than the headline"
    elif _INTERNAL.search(text):
        fault = "an internal name"
    return _found("(the advice names what is there)", diagnosis.step, text, fault)


SUBSETS = ("Algorithm-Generated", "Hand-Crafted")


@dataclass(frozen=True)
class Audited:
    """One run, its diagnosis, and what the audit found."""

    name: str
    trajectory: Trajectory
    diagnosis: Attribution
    agent: str
    step: int
    findings: tuple[Finding, ...]

    @property
    def is_right(self) -> bool:
        """Whether agent and step are the labelled ones."""
        named = self.diagnosis.agent
        return named is not None and _fold(named) == _fold(self.agent) and self.diagnosis.step == self.step

    def of(self, verdict: Verdict) -> list[Finding]:
        """The findings of one verdict."""
        return [one for one in self.findings if one.verdict is verdict]


def _fold(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())


def audited(folder: Path, attributor: Attributor) -> Iterator[Audited]:
    """Every labelled run of a folder, diagnosed and audited."""
    for record in load(folder, format="whowhen"):
        labelled = record.labeled
        if labelled is None or labelled.decisive is None:
            print(f"passed over {record.source}: {record.error or 'no label'}", file=sys.stderr)
            continue
        run = labelled.trajectory.model_copy(update={"reference": None})
        diagnosis = attributor.attribute(run)
        found = tuple(audit(run, diagnosis, advice=suggestion(diagnosis, run)))
        name = f"{folder.name}/{Path(str(record.source)).stem}"
        yield Audited(name, run, diagnosis, labelled.decisive.agent, labelled.decisive.step, found)


def figures(runs: Sequence[Audited]) -> dict[str, Any]:
    """What is printed and written as JSON."""
    by_template: dict[str, Counter[str]] = defaultdict(Counter)
    for run in runs:
        for one in run.findings:
            by_template[one.template][one.verdict] += 1
    every = [one for run in runs for one in run.findings]
    return {
        "diagnoses": len(runs),
        "with a line that is not true": sum(bool(run.of(Verdict.FALSE)) for run in runs),
        "with a line that was not checked": sum(bool(run.of(Verdict.UNCHECKED)) for run in runs),
        "with a quote": sum(any(one.quote for one in run.diagnosis.evidence) for run in runs),
        "claims": {verdict.value: sum(one.verdict is verdict for one in every) for verdict in Verdict},
        "certainty": _by_certainty(runs),
        "templates": {name: dict(counts) for name, counts in sorted(by_template.items())},
        "false": [
            {"run": run.name, **asdict(one)} for run in runs for one in run.findings if one.verdict is not Verdict.TRUE
        ],
    }


def _by_certainty(runs: Sequence[Audited]) -> dict[str, dict[str, float]]:
    groups: dict[str, list[Audited]] = defaultdict(list)
    for run in runs:
        groups[run.diagnosis.certainty or "abstained"].append(run)
    return {
        name: {"runs": len(group), "agent and step right": sum(run.is_right for run in group) / len(group)}
        for name, group in sorted(groups.items())
    }


def show(found: dict[str, Any]) -> None:
    """The figures, and each claim that is not true or was not checked."""
    total = found["diagnoses"]
    for name in ("with a line that is not true", "with a line that was not checked", "with a quote"):
        print(f"diagnoses {name:34} {found[name]} of {total}")
    print("claims", ", ".join(f"{name} {count}" for name, count in found["claims"].items()))
    print("\ncertainty    runs  agent and step right")
    for name, row in found["certainty"].items():
        print(f"  {name:10} {row['runs']:4}  {row['agent and step right']:.0%}")
    print("\n  true false unchecked  template")
    for name, counts in sorted(found["templates"].items(), key=lambda one: (-one[1].get("false", 0), one[0])):
        print(f"  {counts.get('true', 0):4} {counts.get('false', 0):5} {counts.get('unchecked', 0):9}  {name}")
    for one in found["false"]:
        print(f"\n{one['verdict'].upper()} {one['run']} step {one['step']}: {one['text']}")
        print(f"  fault: {one['fault']}" + (f"\n  quote: {one['quote']!r}" if one["quote"] else ""))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--whowhen", type=Path, required=True, help="folder with the Who&When subsets")
    parser.add_argument("--attributor", default="structural", help="whose diagnoses are audited")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    attributor = get_attributor(options.attributor)
    runs = [run for subset in SUBSETS for run in audited(options.whowhen / subset, attributor)]
    if not runs:
        print(f"no labelled runs in {str(options.whowhen)!r}", file=sys.stderr)
        return 1
    found = figures(runs)
    show(found)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
