"""``tracer-hooks inject``."""

from __future__ import annotations

import difflib
import os
import sys
from contextlib import redirect_stdout
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from tracer_hooks.cli.plugin import (
    FAILED,
    Answer,
    BuildTeam,
    Json,
    MaxRuns,
    TrialProgress,
    err,
    load_function,
    load_object,
    model_chat,
    print_json,
    tool_option,
    tool_rules,
)
from tracer_hooks.cli.plugin import out as out_console
from tracer_hooks.errors import ConfigError, DatasetError

if TYPE_CHECKING:  # at run time with the work: help and usage errors need no team
    from tracer_hooks_lab.faults import FaultWriter, Injection

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


class Strategy(StrEnum):
    """Ways in which faults are put in."""

    RESPONSE_CORRUPTION = "response_corruption"
    PROMPT_INJECTION = "prompt_injection"
    TOOL = "tool"
    CHANNEL = "channel"


class WriterName(StrEnum):
    """Writers of faults."""

    PROGRAMMATIC = "programmatic"
    LLM = "llm"


def inject_command(
    team: BuildTeam,
    task: Annotated[str, typer.Option(help="What the team is asked.", metavar="TEXT", show_default=False)],
    mode: Annotated[
        str | None,
        typer.Option(help="How the agent errs: a MAST mode. Tool and channel faults go without.", metavar="FM-x.y"),
    ] = None,
    strategy: Annotated[Strategy, typer.Option(help="How the fault is put in.")] = Strategy.RESPONSE_CORRUPTION,
    kind: Annotated[
        str | None,
        typer.Option(help="The mutator, tool fault or channel fault; default one that fits.", metavar="KIND"),
    ] = None,
    agent: Annotated[str | None, typer.Option(help="The agent that errs; default any.", metavar="NAME")] = None,
    step: Annotated[int | None, typer.Option(help="The step that errs; default any.", min=0, metavar="N")] = None,
    check: Annotated[
        str | None, typer.Option(help="What says whether a run succeeded.", metavar="MODULE:check")
    ] = None,
    expected: Answer = None,
    trials: Annotated[int, typer.Option(help="Runs with the fault at most.", min=1)] = 3,
    failures: Annotated[int, typer.Option(help="How many of them have to fail.", min=1)] = 2,
    controls: Annotated[int, typer.Option(help="Runs without it; all have to succeed.", min=0)] = 3,
    clean_runs: Annotated[int, typer.Option(help="Tries to get a run that succeeds.", min=1)] = 3,
    tool: Annotated[list[str], tool_option("after the fault")] = [],  # noqa: B006
    writer: Annotated[WriterName, typer.Option(help="Who writes the fault.")] = WriterName.PROGRAMMATIC,
    base_url: Annotated[str, typer.Option(envvar="OPENAI_BASE_URL", help="The writer's endpoint.")] = "",
    model: Annotated[str, typer.Option(envvar="OPENAI_MODEL", help="The writer's model.")] = "",
    max_runs: MaxRuns = None,
    seed: Annotated[int, typer.Option(help="Of every choice that is left open.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Append the labelled run to this file.", metavar="FILE.jsonl")
    ] = None,
    as_json: Json = False,
) -> None:
    """Put one fault into one step of one agent, and verify that it, and nothing else, makes the run fail.

    Exits with 0 when the fault is verified, with 1 when it is discarded.
    """
    from tracer_hooks.budget import CostCap
    from tracer_hooks_lab import inject

    if mode is None and strategy in (Strategy.RESPONSE_CORRUPTION, Strategy.PROMPT_INJECTION):
        raise ConfigError(f"a fault by {strategy} needs its mode, expected --mode FM-2.6 or another")
    where = {"kind": kind, "agent": agent, "step": step}
    with TrialProgress(err(), "injecting") as progress, redirect_stdout(sys.stderr):
        found = inject(
            load_object(team, option="TEAM"),
            task,
            {"mode": mode, "strategy": str(strategy), **where, "writer": str(writer), "seed": seed},
            check=load_function(check, option="--check"),
            expected=expected,
            rule={"trials": trials, "failures": failures, "controls": controls},
            clean_runs=clean_runs,
            tools=tool_rules(tool),
            writer=llm_writer(base_url, model) if writer is WriterName.LLM else None,
            cap=CostCap(max_runs=max_runs),
            on_trial=progress.trial_ended,
        )
    if out is not None and found.is_verified:
        _append(out, found)
    if as_json:
        print_json(_document(found, out))
    else:
        _show(found, out)
    if not found.is_verified:
        raise typer.Exit(FAILED)


def _show(found: Injection, path: Path | None) -> None:
    spec, applied = found.spec, found.applied
    mode = f" {spec.mode.value} ({spec.mode.title})" if spec.mode is not None else ""
    kind = f", {applied.kind}" if applied is not None else ""
    _print(Text(f"step {spec.step}, agent {spec.agent}:{mode} by {spec.strategy.value}{kind}", "bold"))
    if applied is not None:
        for line in _diff(applied.before, applied.after):
            _print(Text(line, _STYLES.get(line[:1], "")))
    checked = found.verification
    _print(Text(f"with the fault    {checked.faulty_failures} of {checked.faulty_runs} runs failed"))
    _print(Text(f"without it        {checked.control_passes} of {checked.control_runs} runs succeeded"))
    _print(Text(f"cost              {checked.runs} runs, {checked.tokens} live tokens, {checked.seconds:.1f} s", "dim"))
    if found.is_verified:
        _print(Text("verified", "bold green"))
        if path is not None:
            _print(Text(f"appended to {path}"))
    else:
        _print(Text.assemble(("discarded", "bold yellow"), f": {found.discarded}"))


def llm_writer(base_url: str, model: str) -> FaultWriter:
    """A language model that writes faults.

    Raises:
        ConfigError: It is not said where it is.
        MissingExtraError: The client is not installed.
    """
    from tracer_hooks_lab.faults import LLMWriter

    if not base_url or not model:
        raise ConfigError("--writer llm needs the model that writes, expected --base-url URL and --model NAME")
    return LLMWriter(model_chat(base_url, model, needed_by="--writer llm"))


def _append(path: Path, found: Injection) -> None:
    from tracer_hooks.schema import to_json

    line = to_json(found.labeled()) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise DatasetError(
            f"cannot write {str(path)!r}: {error.strerror or error}; expected a file for --out"
        ) from error


def _diff(before: str, after: str) -> list[str]:
    """Return what was changed, line by line; texts without a line in common as one block each."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    return [line for line in lines if not line.startswith(("---", "+++"))]


def _document(found: Injection, path: Path | None) -> dict[str, Any]:
    spec = found.spec
    return {
        "verified": found.is_verified,
        "discarded": found.discarded,
        "fault": {**spec.model_dump(mode="json"), "fault_id": spec.fault_id},
        "applied": found.applied.model_dump(mode="json") if found.applied is not None else None,
        "verification": found.verification.model_dump(mode="json"),
        "clean_run_id": found.clean.run_id,
        "faulty_run_id": found.faulty.run_id if found.faulty is not None else None,
        "out": str(path) if path is not None and found.is_verified else None,
    }


def _print(line: Text) -> None:
    out_console().print(line, soft_wrap=True)
