"""``tracer-hooks demo``: a team that fails, its diagnosis, a rewritten prompt, and a retry that passes."""

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
from rich.syntax import Syntax
from rich.text import Text

import tracer_hooks
from tracer_hooks._guard import is_strict
from tracer_hooks.cli._console import out
from tracer_hooks.cli._exit import DONE, FAILED
from tracer_hooks.cli._live import LiveSteps
from tracer_hooks.cli._plain_demo import build_team as build_plain_team
from tracer_hooks.errors import ConfigError
from tracer_hooks.feedback import PromptRewrite, TemplateRewriter, prompt_diff
from tracer_hooks.report import diagnosis_text
from tracer_hooks.schema import Attribution, RunOutcome, Trajectory
from tracer_hooks.testing import ScriptedLLM
from tracer_hooks.testing.ticket_office import ANSWER, TASK, Endpoint, script

GROUP = "tracer_hooks.demos"

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
    return tracer_hooks.Verdict(passed=False, reason=f"expected {ANSWER} EUR, got {result.text[:200]!r}")


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
    console.rule(f"[bold]{name}[/bold]", align="left")
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
    _show_decisions(run)
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
        return tracer_hooks.run(
            build_team,
            TASK,
            check=judge,
            retries=2,
            rewriter=ShowingRewriter(),
            tracer_provider=provider,
            capture="full",
        )
    finally:
        provider.shutdown()


class ShowingRewriter(TemplateRewriter):
    """Shows each diagnosis and rewrite as it is made, between the attempts."""

    def rewrite(
        self, trajectory: Trajectory, attribution: Attribution, instructions: str | None
    ) -> PromptRewrite | None:
        """Rewrite, and show why and how."""
        rewrite = super().rewrite(trajectory, attribution, instructions)
        out().print(Panel(diagnosis_text(trajectory, attribution), title="diagnosis", title_align="left"))
        if rewrite is not None:
            diff = prompt_diff(rewrite.before or "", rewrite.after)
            title = Text(f"{rewrite.agent}'s prompt, rewritten")
            out().print(Panel(Syntax(diff, "diff", word_wrap=True), title=title, title_align="left"))
        return rewrite


def _show_decisions(run: tracer_hooks.TeamRun) -> None:
    for attempt in run.attempts:
        if attempt.rewrite is not None:
            fate = Text("kept", style="green") if attempt.kept else Text("dropped", style="yellow")
            out().print(Text.assemble(f"rewrite of {attempt.rewrite.agent}'s prompt: ", fate, f", {attempt.decision}"))


def _conclude(passed: Sequence[bool], names: Sequence[str], is_scripted: bool) -> None:
    console = out()
    console.print()
    console.rule(align="left")
    good = [name for name, ok in zip(names, passed, strict=True) if ok]
    console.print(Text(f"{len(good)} of {len(names)} teams were repaired or passed: {', '.join(good) or 'none'}"))
    console.print(Text("next: tracer-hooks runs list | tracer-hooks runs show RUN | tracer-hooks doctor", style="dim"))
    if not is_scripted and len(good) < len(names):
        console.print(Text("a real model may fail in other ways than the script; see the reports", style="dim"))
