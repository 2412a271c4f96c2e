"""What diagnoses say, recomputed from the raw text of the runs: is each sentence true of its step?

    python benchmarks/evidence_audit.py --whowhen DIR [--attributor structural] [--json OUT]

``DIR`` holds the Who&When folders ``Algorithm-Generated`` and ``Hand-Crafted``. The attributor is not told the expected
answer. Nothing of what makes the sentences is used to check them: the audit has patterns, a reader and an evaluator of
its own. A sentence that no pattern fits is counted apart and printed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from _audit_diagnosis import Finding, Verdict, audit

from tracer_hooks.attribution import Attributor, get_attributor
from tracer_hooks.datasets import load
from tracer_hooks.report import suggestion
from tracer_hooks.schema import Attribution, Trajectory

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
