"""The work of ``tracer-hooks dataset build``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.text import Text

from tracer_hooks._api.building import BuildEstimate, BuiltDataset, DatasetBuild, dataset_build
from tracer_hooks._api.rerunning import SuiteTeam, probe_endpoint
from tracer_hooks.cli._build_progress import BuildProgress, interruptible
from tracer_hooks.cli._console import DONE, err, out, print_json
from tracer_hooks.cli._fault_options import tool_rules
from tracer_hooks.cli._inject_job import llm_writer
from tracer_hooks.cli._load_object import load_function, load_object
from tracer_hooks.datasets import audit_tables, stats_tables
from tracer_hooks.errors import ConfigError
from tracer_hooks.replay import CostCap
from tracer_hooks.suites import Endpoint, get_suite
from tracer_hooks.suites.architectures import ARCHITECTURES

_INTERRUPTED = 130


@dataclass(frozen=True, kw_only=True)
class SuiteChoice:
    """Which tasks of which suite, and which of the teams that come with it."""

    name: str
    count: int
    difficulty: Any
    frameworks: Sequence[str]
    architectures: Sequence[str]
    temperature: float | None
    max_reply: int | None


@dataclass(frozen=True, kw_only=True)
class BuildJob:
    """One call of the command."""

    out: Path
    team: str | None
    tasks: Path | None
    check: str | None
    suite: SuiteChoice | None
    base_url: str
    model: str
    writer: str
    tools: Sequence[str]
    max_runs: int | None
    max_tokens: int | None
    max_seconds: float | None
    options: Mapping[str, Any]
    as_json: bool

    def work(self) -> int:
        """Build, and show what came of it; gives the exit code."""
        progress = BuildProgress(err())
        with redirect_stdout(sys.stderr):  # what the user's code prints is no part of our document
            build = self._build(progress)
            self._probe(build)
            _say(_estimated(build.estimate()))
            try:
                with interruptible(), progress:
                    built = build.run()
            except KeyboardInterrupt:
                _say(_interrupted(build))
                return _INTERRUPTED
        if self.as_json:
            print_json(_document(built, build))
        else:
            self._show(built, build)
        return DONE

    def _build(self, progress: BuildProgress) -> DatasetBuild:
        cap = CostCap(max_runs=self.max_runs, max_tokens=self.max_tokens, max_seconds=self.max_seconds)
        options: dict[str, Any] = {
            **self.options,
            "cap": cap,
            "tools": tool_rules(self.tools),
            "writer": llm_writer(self.base_url, self.model) if self.writer == "llm" else None,
            "command": shlex.join(["tracer-hooks", *sys.argv[1:]]),
            "on_progress": progress.tell,
        }
        if (self.team is None) == (self.suite is None):
            raise ConfigError("expected either your team, MODULE:build_team with --tasks FILE, or --suite NAME")
        if self.suite is not None:
            return self._suite_build(self.suite, options)
        if self.tasks is None:
            raise ConfigError(
                'your team needs tasks, expected --tasks FILE with lines such as {"task": ..., "reference": ...}'
            )
        target = load_object(str(self.team), option="TEAM")
        check = load_function(self.check, option="--check")
        return dataset_build(self.out, target, self.tasks, check=check, **options)

    def _suite_build(self, suite: SuiteChoice, options: Mapping[str, Any]) -> DatasetBuild:
        if self.tasks is not None or self.check is not None:
            raise ConfigError(
                "a suite has tasks and graders of its own, expected neither --tasks nor --check with --suite"
            )
        if not self.base_url or not self.model:
            raise ConfigError("the suite's teams need a model, expected --base-url URL and --model NAME")
        unknown = sorted(set(suite.architectures) - set(ARCHITECTURES))
        if unknown:
            raise ConfigError(f"unknown architecture {unknown[0]!r}, expected one of: {', '.join(ARCHITECTURES)}")
        key = Endpoint.from_env(base_url=self.base_url, model=self.model).api_key
        endpoint = Endpoint(
            base_url=self.base_url,
            model=self.model,
            api_key=key,
            temperature=suite.temperature,
            max_tokens=suite.max_reply,
        )
        teams = [
            SuiteTeam(framework=framework, architecture=architecture, endpoint=endpoint)
            for framework in dict.fromkeys(suite.frameworks)
            for architecture in suite.architectures or ARCHITECTURES
        ]
        tasks = get_suite(suite.name).tasks(suite.count, seed=self.options["seed"], difficulty=suite.difficulty)
        return dataset_build(self.out, teams, tasks, **options)

    def _probe(self, build: DatasetBuild) -> None:
        endpoints = {subject.endpoint for subject in build.subjects if isinstance(subject, SuiteTeam)}
        for endpoint in endpoints:
            probe_endpoint(endpoint, build.first_task.text)

    def _show(self, built: BuiltDataset, build: DatasetBuild) -> None:
        out().print(stats_tables(built.stats))
        if built.audit is not None:
            out().print(audit_tables(built.audit))
        else:
            _print(Text(f"not audited: {built.not_audited}", "yellow"))
        if built.stopped is not None:
            _print(Text(f"{built.stopped}: the same command goes on", "yellow"))
        if built.broken_off:
            _print(Text(f"{built.broken_off} units were broken off: the same command does them again", "yellow"))
        spent = build.spending
        _print(Text(f"this session: {spent.runs} runs, {spent.tokens} tokens, {spent.seconds:.0f} s"))
        _print(Text(f"card: {built.card}"))


def _estimated(plan: BuildEstimate) -> Text:
    text = f"{plan.runs} runs (teams {plan.teams} x tasks {plan.tasks} x repeats {plan.repeats})"
    if plan.done:
        text += f", {plan.done} of them done before"
    if plan.faults:
        text += f"; up to {plan.faults} faults with at most {plan.replays} replays"
    if plan.natural:
        text += "; replays of the runs that fail"
    if plan.skipped_modes:
        names = ", ".join(mode.value for mode in plan.skipped_modes)
        text += f". Skipped: {names}, which take a model that writes: --writer llm --base-url URL --model NAME"
    return Text(f"{text}. Tokens and time show after the first runs.")


def _interrupted(build: DatasetBuild) -> Text:
    injected, natural = build.counts()
    return Text(
        f"interrupted: {str(build.folder)!r} holds {injected} verified faults and {natural} labelled failures, and can "
        "be used as it is; the same command goes on"
    )


def _document(built: BuiltDataset, build: DatasetBuild) -> dict[str, Any]:
    injected, natural = build.counts()
    spent = build.spending
    return {
        "out": str(build.folder),
        "labeled": len(built.data.labeled),
        "injected": injected,
        "natural": natural,
        "clean": len(built.data.clean),
        "discarded": len(built.data.discarded),
        "injection_yield": built.stats.injection_yield.value,
        "audit": None if built.audit is None else {"passed": built.audit.passed},
        "not_audited": built.not_audited,
        "skipped_modes": [mode.value for mode in build.options.skipped_modes],
        "stopped": built.stopped,
        "broken_off": built.broken_off,
        "session": {"runs": spent.runs, "tokens": spent.tokens, "seconds": round(spent.seconds, 3)},
        "card": str(built.card),
    }


def _say(text: Text) -> None:
    err().print(text, soft_wrap=True)


def _print(text: Text) -> None:
    out().print(text, soft_wrap=True)
