"""``tracer-hooks demo``: a team that fails, its diagnosis, and the search for a repair that it passes with."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from rich.panel import Panel
from rich.text import Text

import tracer_hooks
from tracer_hooks._api.runs import Archive
from tracer_hooks._guard import is_strict
from tracer_hooks.attribution import get_attributor
from tracer_hooks.cli._console import DONE, FAILED, out
from tracer_hooks.cli._live import LiveSteps
from tracer_hooks.cli._plain_demo import build_team as build_plain_team
from tracer_hooks.config import store_path
from tracer_hooks.errors import ConfigError
from tracer_hooks.feedback import RetryPolicy
from tracer_hooks.report import diagnosis_text, repair_line, repair_reason
from tracer_hooks.schema import Attribution, RunOutcome, Trajectory
from tracer_hooks.testing import ScriptedLLM
from tracer_hooks.testing.ticket_office import ANSWER, FEEDBACK, TASK, Endpoint, script

GROUP = "tracer_hooks.demos"
_WITHOUT_FEE = "75.00"
_POLICY = RetryPolicy(max_retries=3, seed=24)
"""Seeded, so that every demo tries the same."""

# The frameworks phone home, print panels and trace on their own unless told otherwise; a demo should not.
_QUIET = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "AUTOGEN_DISABLE_RUNTIME_TRACING": "true",
}

Build = Callable[[Endpoint, Mapping[str, str] | None], Any]


def run_demo(*, base_url: str, model: str, frameworks: Sequence[str], out: Path) -> int:
    """Run the demo in every installed framework, or in those named; gives the exit code."""
    for key, value in _QUIET.items():
        os.environ.setdefault(key, value)
    logging.getLogger("crewai").setLevel(logging.ERROR)  # it warns at every call that it does not know the model
    logging.getLogger("autogen_core").setLevel(logging.CRITICAL)  # it logs a failed run's traceback for every agent
    builders = _builders(frameworks)
    is_scripted = not (base_url or model or os.environ.get("OPENAI_API_KEY"))
    with ExitStack() as stack:
        if is_scripted:
            llm = stack.enter_context(ScriptedLLM(rules=script()))
            endpoint = Endpoint(base_url=llm.base_url, model=llm.model, api_key=llm.api_key)
        else:
            endpoint = Endpoint.from_env(base_url=base_url, model=model)
        _introduce(endpoint, is_scripted)
        passed = [_show(name, load, endpoint, out) for name, load in builders.items()]
    _conclude(passed, list(builders), is_scripted)
    return DONE if all(passed) or not is_scripted else FAILED


def judge(result: tracer_hooks.RunResult, task: str) -> tracer_hooks.Verdict:
    """The demo's check: the right total stands in the answer."""
    if ANSWER in result.text:
        return tracer_hooks.Verdict(passed=True)
    told = FEEDBACK if _WITHOUT_FEE in result.text else "the total does not follow from the price and the fee"
    reason = f"expected {ANSWER} EUR, got {result.text[:200]!r}"
    return tracer_hooks.Verdict(passed=False, reason=reason, feedback=told)


def _builders(wanted: Sequence[str]) -> dict[str, Callable[[], Build]]:
    found: dict[str, Callable[[], Build]] = {"python": lambda: build_plain_team}
    found |= {point.name: point.load for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}
    unknown = [name for name in wanted if name not in found]
    if unknown:
        raise ConfigError(
            f"--framework is {unknown[0]!r}, expected one of: {', '.join(found)}. "
            f"For more: pip install 'tracer-hooks[{unknown[0]}]'"
        )
    return {name: load for name, load in found.items() if name in wanted or not wanted}


def _introduce(endpoint: Endpoint, is_scripted: bool) -> None:
    console = out()
    console.print(Text("tracer-hooks demo", style="bold"))
    console.print(Text(f"task: {TASK}"))
    if is_scripted:
        console.print(
            Text(
                "model: a scripted server on this machine; no language model is called. "
                "Give --base-url and --model for a real one.",
                style="dim",
            )
        )
    else:
        console.print(Text(f"model: {endpoint.model} at {endpoint.base_url}", style="dim"))


def _show(name: str, load: Callable[[], Build], endpoint: Endpoint, folder: Path) -> bool:
    console = out()
    console.print()
    console.rule(Text(name, style="bold"), align="left")
    try:
        with console.status(f"importing {name}"):
            build = load()
    except ImportError as error:
        console.print(Text(f"skipped: {error}. Run: pip install 'tracer-hooks[{name}]'", style="yellow"))
        return False
    started = time.perf_counter()
    try:
        run = _run(build, endpoint)
    except Exception as error:  # one framework that cannot be shown must not keep the others from it
        if is_strict():
            raise
        console.print(Text(f"cannot be shown: {type(error).__name__}: {error}. Run: tracer-hooks doctor", style="red"))
        return False
    _show_recovery(run)
    path = _write_report(run, folder / f"{name}.html")
    passed = run.outcome is RunOutcome.SUCCEEDED
    mark = Text("SUCCEEDED" if passed else str(run.outcome).upper(), style="bold green" if passed else "bold red")
    seconds = time.perf_counter() - started
    console.print(Text.assemble(mark, f" after {len(run.attempts)} attempt(s), {seconds:.1f} s; report: {path}"))
    return passed


def _write_report(run: tracer_hooks.TeamRun, path: Path) -> Path:
    try:
        return run.report(path)
    except OSError as error:
        raise ConfigError(
            f"cannot write {str(path)!r}: {error.strerror}; expected a folder for reports. Give one with --out"
        ) from error


def _run(build: Build, endpoint: Endpoint) -> tracer_hooks.TeamRun:
    provider = TracerProvider()
    provider.add_span_processor(LiveSteps(out()))

    def build_team(prompts: Mapping[str, str] | None = None) -> Any:
        return build(endpoint, prompts)

    try:
        run = tracer_hooks.run(
            build_team,
            TASK,
            check=judge,
            retries=_POLICY,
            attributor=ShowingAttributor(),
            on_attempt=_show_trial,
            tracer_provider=provider,
            capture="full",
            store="off",
        )
    finally:
        provider.shutdown()
    # Kept afterwards, without what the search learned: what a script heeds must not count for a team of the same name.
    Archive(store_path(None)).save(run)
    return run


class ShowingAttributor:
    """Shows the diagnosis of the failed run when it is made, before anything is tried; those of failed trials not."""

    name = "auto"

    def __init__(self) -> None:
        self._attributor = get_attributor("auto")
        self._has_shown = False

    def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
        """Diagnose, and show the first diagnosis."""
        found = self._attributor.attribute(trajectory, reference=reference)
        if not self._has_shown:
            self._has_shown = True
            out().print(Panel(diagnosis_text(trajectory, found), title="diagnosis", title_align="left"))
        return found


def _show_trial(attempt: tracer_hooks.Attempt) -> None:
    """A line for each trial, when it has ended."""
    repair = attempt.repair
    if repair is None:
        return
    said = repair_line(repair, attempt.trajectory)
    passed = attempt.outcome is RunOutcome.SUCCEEDED
    ended = Text("it passed" if passed else "it did not help", style="green" if passed else "yellow")
    out().print(Text.assemble((f"trial {attempt.number - 1}: ", "bold"), f"{said}: ", ended))
    if repair.text:
        out().print(Text(f"  “{repair.text}”", style="italic"))
    if why := repair_reason(repair):
        out().print(Text(f"  {why}", style="dim"))


def _show_recovery(run: tracer_hooks.TeamRun) -> None:
    log = run.repair
    if log is None:
        return
    spent = f"{log.usage.total:,} tokens"
    saved = f"{log.kept_usage.total:,} saved by the steps that were kept"
    if log.verified is not None:
        where = f"at step {log.verified.step} ({log.verified.agent})"
        out().print(Text(f"recovered {where}, {spent} for all trials, {saved}", style="green"))
    elif log.recovered:
        out().print(Text(f"recovered from scratch, {spent} for all trials", style="green"))
    else:
        out().print(Text(f"not recovered: {log.stopped}; {spent} for all trials", style="yellow"))


def _conclude(passed: Sequence[bool], names: Sequence[str], is_scripted: bool) -> None:
    console = out()
    console.print()
    console.rule(align="left")
    good = [name for name, ok in zip(names, passed, strict=True) if ok]
    console.print(Text(f"{len(good)} of {len(names)} teams were repaired or passed: {', '.join(good) or 'none'}"))
    console.print(Text("next: tracer-hooks runs list | tracer-hooks runs show RUN | tracer-hooks doctor", style="dim"))
    if not is_scripted and len(good) < len(names):
        console.print(Text("a real model may fail in other ways than the script; see the reports", style="dim"))
