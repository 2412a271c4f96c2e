"""Runs of the cases' teams, recorded once: real frameworks on a scripted model, hooked, with a check that says no."""

from __future__ import annotations

import itertools
import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from _provenance_cases import Case

from tracer_hooks.schema import StepKind, Trajectory, from_json, to_json

TWINS = ("failed", "clean")

_QUIET = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_TRACKING": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "AUTOGEN_DISABLE_RUNTIME_TRACING": "true",
    "LANGSMITH_TRACING": "false",
}


@dataclass(frozen=True)
class Run:
    """A recorded run, and what is to be found in it."""

    case: str
    digest: str
    fault: str
    half: str
    framework: str
    twin: str
    agent: str
    step: int
    """The step that the mistake stands in; -1 in a clean run."""
    trajectory: Trajectory

    def line(self) -> str:
        about = {key: value for key, value in vars(self).items() if key != "trajectory"}
        return json.dumps({**about, "trajectory": json.loads(to_json(self.trajectory))}, ensure_ascii=False)


def read_runs(path: Path) -> Iterator[Run]:
    """The runs of a file that :func:`record` wrote."""
    for line in path.read_text(encoding="utf-8").splitlines():
        data = json.loads(line)
        yield Run(**{**data, "trajectory": from_json(json.dumps(data["trajectory"]), Trajectory)})


def recorded(cases: Sequence[tuple[str, Case]], frameworks: Sequence[str], path: Path, *, anew: bool) -> list[Run]:
    """The runs of all cases, each pair of half and case, from the file; what is missing there is run and added."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if anew or not path.exists():
        path.write_text("", encoding="utf-8")
    known = {(run.digest, run.framework, run.twin): run for run in read_runs(path)}
    pairs = list(itertools.product(frameworks, TWINS))
    wanted = [(half, case, *pair) for pair in pairs for half, case in cases]
    missing = [one for one in wanted if (one[1].digest, *one[2:]) not in known]
    with path.open("a", encoding="utf-8") as file:
        for run in _record(missing):
            known[run.digest, run.framework, run.twin] = run
            file.write(run.line() + "\n")
    return [replace(known[case.digest, framework, twin], half=half) for half, case, framework, twin in wanted]


def _record(missing: Iterable[tuple[str, Case, str, str]]) -> Iterator[Run]:
    os.environ.update(_QUIET)
    os.environ.setdefault("CREWAI_STORAGE_DIR", tempfile.mkdtemp(prefix="provenance-crewai-"))
    logging.getLogger("crewai.llms").setLevel(logging.ERROR)  # it warns of each guess at a number of tokens
    begun, count = time.monotonic(), 0
    for count, (half, case, framework, twin) in enumerate(missing, start=1):
        yield _run(half, case, framework, twin)
        if count % 50 == 0:
            print(f"{count} runs recorded in {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    if count:
        print(f"{count} runs recorded in {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)


def _run(half: str, case: Case, framework: str, twin: str) -> Run:
    from _provenance_teams import build, script_of

    import tracer_hooks
    from tracer_hooks.testing import ScriptedLLM

    shown = case if twin == "failed" else case.clean
    with ScriptedLLM(rules=script_of(shown)) as llm:
        built = build(framework, shown, llm)
        hooked = tracer_hooks.hook(built.team, check=lambda result: False, diagnose="off", store="off", capture="full")
        built.start(hooked, case.task)
        if llm.unmatched or llm.script_errors:
            raise SystemExit(f"{case.id} in {framework}: the script does not fit the team")
    run = tracer_hooks.last_run(hooked)
    assert run is not None
    trajectory = run.wait().trajectory
    _check(shown, framework, trajectory)
    step = guilty_step(case, trajectory) if twin == "failed" else -1
    return Run(case.id, case.digest, case.fault, half, framework, twin, case.guilty, step, trajectory)


def _check(case: Case, framework: str, trajectory: Trajectory) -> None:
    """The recording holds what the case says, or the benchmark would measure something else."""
    acted = list(dict.fromkeys(step.agent for step in trajectory.steps))
    results = [call.result for step in trajectory.steps for call in step.tool_calls]
    said = {(step.agent, step.content) for step in trajectory.steps}
    if (
        acted != [part.agent for part in case.parts]
        or results != [call.result for part in case.parts for call in part.calls]
        or any((part.agent, part.says) not in said for part in case.parts)
    ):
        raise SystemExit(f"{case.id} in {framework}: the recorded run is not that of the case")


def guilty_step(case: Case, trajectory: Trajectory) -> int:
    """The step with the guilty agent's words, or with its wrong tool call."""
    own = [step for step in trajectory.steps if step.agent == case.guilty]
    if case.act == "call":
        wrong = {(call.tool, call.result) for call in case.wrong_calls}
        found = [step.index for step in own if wrong & {(call.name, call.result) for call in step.tool_calls}]
    else:
        found = [
            step.index for step in own if step.kind is StepKind.MESSAGE and step.content == case.guilty_part.says
        ] or [step.index for step in own if step.content == case.guilty_part.says]
    if not found:
        raise SystemExit(f"{case.id}: the guilty step was not recorded")
    return found[0]
